//! The tracker against a model that keeps all known contacts in one list and compares each with each.

use glam::DVec3;

use super::*;
use crate::{
    geometry::{LoadOptions, TriangleMesh, mesh::load::load},
    oracle::{Random, shapes},
    scene::{Limits, Scene, TissueOptions, distance::SurfacePoint},
};

const CELLS: u32 = 12;

/// A contact on a triangle, off its centre.
fn contact(tissue: TissueId, mesh: &TriangleMesh, t: u32, off: DVec3) -> Contact {
    let triangle = TriangleId(t);
    let [a, b, c] = mesh.triangle(triangle);
    let position = (a + b + c) / 3.0 + off;
    let point = SurfacePoint { position, triangle, barycentric: DVec3::splat(1.0 / 3.0) };
    Contact {
        tissue,
        on_tissue: point,
        on_tool: point,
        normal: DVec3::Z,
        signed_distance_m: 0.0,
        sign_certainty: 1.0,
        depth_max_m: None,
        toi: None,
        left_behind: false,
        wholly_inside: false,
    }
}

/// A known contact of the model.
#[derive(Clone, Copy)]
struct Known {
    t: u32,
    id: u64,
    position: DVec3,
    is_checked: bool,
    is_taken: bool,
}

#[derive(Default)]
struct Model {
    known: Vec<Known>,
    last_id: u64,
}

impl Model {
    /// Returns the ids of the contacts, and those that ended.
    fn tick(&mut self, mesh: &TriangleMesh, contacts: &[Contact]) -> [Vec<u64>; 2] {
        let t_of = |c: &Contact| c.on_tissue.triangle.0;
        let is_near = |k: &Known, c: &Contact| {
            let [p, q, r] = mesh.triangle(c.on_tissue.triangle);
            let longest = p.distance(q).max(q.distance(r)).max(r.distance(p));
            k.position.distance(c.on_tissue.position) <= 2.0 * longest
        };
        let mut ids = vec![0; contacts.len()];
        for (id, c) in ids.iter_mut().zip(contacts) {
            let own = self.known.iter_mut().filter(|k| k.t == t_of(c) && !k.is_taken);
            if let Some(k) = own.min_by_key(|k| k.id).filter(|k| is_near(k, c)) {
                (k.is_taken, *id) = (true, k.id);
            }
        }
        for (id, c) in ids.iter_mut().zip(contacts).filter(|(id, _)| **id == 0) {
            let corners = mesh.vertices(c.on_tissue.triangle);
            let is_beside =
                |k: &Known| mesh.vertices(TriangleId(k.t)).iter().any(|v| corners.contains(v));
            let firsts = self.known.iter().filter(|k| {
                let own = self.known.iter().filter(|o| o.t == k.t && !o.is_taken);
                own.map(|o| o.id).min() == Some(k.id)
            });
            let far = |k: &Known| k.position.distance(c.on_tissue.position);
            let nearest = firsts
                .filter(|k| k.is_checked && is_beside(k) && is_near(k, c))
                .min_by(|a, b| far(a).total_cmp(&far(b)).then((a.t, a.id).cmp(&(b.t, b.id))))
                .map(|k| k.id);
            *id = nearest.unwrap_or_else(|| {
                self.last_id += 1;
                self.last_id
            });
            self.known.iter_mut().filter(|k| Some(k.id) == nearest).for_each(|k| k.is_taken = true);
        }
        let mut ended: Vec<(u32, u64)> = self
            .known
            .iter()
            .filter(|k| k.is_checked && !k.is_taken)
            .map(|k| (k.t, k.id))
            .collect();
        ended.sort_unstable();
        self.known.retain(|k| !k.is_checked && !k.is_taken);
        let new = contacts.iter().zip(&ids).map(|(c, id)| Known {
            t: t_of(c),
            id: *id,
            position: c.on_tissue.position,
            is_checked: false,
            is_taken: false,
        });
        self.known.extend(new);
        [ids, ended.into_iter().map(|(_, id)| id).collect()]
    }
}

#[test]
fn ids_are_those_of_a_plain_list() {
    let scene = Scene::new("contacts".to_owned(), Limits::default());
    let sheet = load(shapes::sheet(CELLS + 1, CELLS + 1, 1e-3), &LoadOptions::default());
    let tissue = scene.add_tissue("sheet", sheet.expect("a mesh"), TissueOptions::default(), 0);
    let tissue = tissue.expect("room");
    let (id, revision) = (tissue.id(), tissue.current());
    let tissues = [(id, revision)];
    let mesh = tissues[0].1.surface.mesh();
    let n = mesh.triangle_id_end();
    let mut random = Random::new(41);
    let (mut tracker, mut model) = (ContactTracker::with_room(64), Model::default());
    let (mut last_id, mut statuses, mut ended) = (0, Vec::new(), Vec::new());
    let (mut n_ended, mut n_unchecked) = (0, 0);
    for tick in 0..600 {
        // Contacts come and go all over the sheet, some of them two on a triangle.
        let share = if tick % 50 < 40 { 0.3 } else { 0.02 };
        let mut contacts = Vec::new();
        for t in 0..n {
            let there = if random.range(0.0, 1.0) < share {
                1 + usize::from(random.range(0.0, 1.0) < 0.1)
            } else {
                0
            };
            for _ in 0..there {
                contacts.push(contact(id, mesh, t, random.unit_vector() * random.range(0.0, 3e-3)));
            }
        }
        let complete = tick % 7 == 0;
        let from = TriangleId(random.below(n as usize) as u32);
        let mut left = random.below(80);
        let mut checked = Vec::new();
        tracker.check_each(id, from, |t| {
            left = left.saturating_sub(1);
            let is_done = left > 0;
            checked.extend(is_done.then_some(t.0));
            is_done
        });
        for known in &mut model.known {
            known.is_checked = complete || checked.contains(&known.t);
        }
        n_unchecked += model.known.iter().filter(|k| !k.is_checked).count();
        tracker.match_ids(&contacts, complete, &tissues, &mut last_id, &mut statuses, &mut ended);
        let [ids, ended_there] = model.tick(mesh, &contacts);
        assert_eq!(statuses.iter().map(|s| s.id).collect::<Vec<_>>(), ids, "tick {tick}");
        assert_eq!((&ended, last_id), (&ended_there, model.last_id), "tick {tick}");
        for t in 0..n {
            let is_known = model.known.iter().any(|k| k.t == t);
            assert_eq!(tracker.knows((id, TriangleId(t))), is_known, "tick {tick}, triangle {t}");
        }
        n_ended += ended.len();
    }
    assert!(n_ended > 1_000 && n_unchecked > 10_000, "{n_ended} ended, {n_unchecked} unchecked");
}
