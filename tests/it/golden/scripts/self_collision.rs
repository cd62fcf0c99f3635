//! A tissue that passes through itself between held revisions.

use palpate::proto::{CollisionScope, DetectSelfCollisionsRequest, TissueInterval};

use super::{dense, sparse};
use crate::golden::{conversation::Conversation, path::Path, tally::Tally};

pub const LEAST: Tally = Tally { answers: 20, feature_contacts: 500, ..Tally::NONE };

pub async fn play(c: &mut Conversation<'_>) {
    let surface = c.surface(1).await;
    let length_m = surface.length_m();
    let path = Path::over(&surface, 10, 4);
    let mut held = Vec::new();
    held.push(c.deform(1, sparse(&[]), true).await.expect("as it is").geometry_revision);
    for i in 0..3 {
        // A dent so deep that it comes out on the other side.
        let site = path.site(f64::from(i) / 2.0, 0.0);
        let push = site.outward * (-0.9 * length_m);
        let moved = surface.dented(site.surface, 0.15 * length_m, push);
        held.push(c.deform(1, sparse(&moved), true).await.expect("a dent").geometry_revision);
        let back: Vec<_> =
            moved.iter().map(|(v, _)| (*v, surface.positions[*v as usize])).collect();
        held.push(c.deform(1, sparse(&back), true).await.expect("and back").geometry_revision);
    }
    let swayed = c.deform(1, dense(surface.swayed(1.0)), false).await.expect("not held");
    held.push(swayed.geometry_revision);
    let ways = [(0, 1), (1, 2), (3, 4), (1, 5), (0, 7), (2, 6)];
    for (from, to) in ways {
        for (thickness_m, max_contacts) in [(0.0, 0), (0.0004, 300)] {
            let scope = if to % 2 == 0 { CollisionScope::WithinEach } else { CollisionScope::All };
            let interval = TissueInterval {
                tissue_id: 1,
                from_geometry_revision: Some(held[from]),
                to_geometry_revision: held[to],
            };
            let request = DetectSelfCollisionsRequest {
                scene_id: c.scene_id.clone(),
                tissues: vec![interval],
                thickness_m,
                scope: scope.into(),
                max_contacts,
            };
            c.self_collisions(request).await;
        }
    }
}
