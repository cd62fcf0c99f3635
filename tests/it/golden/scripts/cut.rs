//! Cuts near the tip between ticks: triangles split, holes opened, a slit along the path, and dents after them.

use glam::DVec3;
use palpate::proto::{EditTopologyRequest, ReportOptions, TrackMode};

use super::{sparse, start, tick, xyz};
use crate::golden::{
    conversation::Conversation,
    path::{Path, Site},
    surface::Surface,
    tally::Tally,
};

pub const LEAST: Tally =
    Tally { answers: TICKS + 18, contacts: 100, met: 10, ended: 30, pairs: 300, ..Tally::NONE };
const TICKS: u64 = 96;

pub async fn play(c: &mut Conversation<'_>) {
    let mut surface = c.surface(1).await;
    let path = Path::over(&surface, 5, 4);
    let report = ReportOptions { triangle_pairs: true, ..ReportOptions::default() };
    let mut track = c.track(start(TrackMode::Every, report)).await;
    for i in 1..=TICKS {
        let site = path.pressed(i as f64 / TICKS as f64, 3.0, 0.03);
        match i % 12 {
            4 => split(c, &mut surface, &site, 4).await,
            8 => open(c, &mut surface, &site, if i > 60 { 12 } else { 2 }).await,
            10 => {
                let length_m = surface.length_m();
                let push = site.outward * (-0.01 * length_m);
                let moved = surface.dented(site.surface, 0.06 * length_m, push);
                moved.iter().for_each(|(v, p)| surface.positions[*v as usize] = *p);
                c.deform(1, sparse(&moved), false).await.expect("a dent");
            }
            _ => {}
        }
        let tools = vec![site.pose(1, &c.stage.grip)];
        c.ask(&mut track, vec![tick(i, tools)]).await.expect("an answer");
    }
    c.surface(1).await;
}

/// Splits each of the nearest triangles in three at a point a little below its middle.
async fn split(c: &mut Conversation<'_>, surface: &mut Surface, site: &Site, n: usize) {
    let removed = surface.nearest_triangles(site.surface, n);
    let first = surface.positions.len() as u32;
    let (mut added, mut positions, mut parents) = (Vec::new(), Vec::new(), Vec::new());
    for (old, new) in removed.iter().zip(first..) {
        let [a, b, d] = surface.triangles[old];
        let corners = [a, b, d].map(|v| surface.positions[v as usize]);
        let below = site.outward * (0.001 * surface.length_m());
        positions.push(corners.iter().sum::<DVec3>() / 3.0 - below);
        added.extend([[a, b, new], [b, d, new], [d, a, new]]);
        parents.extend([*old; 3]);
    }
    edit(c, surface, removed, positions, added, parents).await;
}

/// Removes the nearest triangles, so that the surface is open there.
async fn open(c: &mut Conversation<'_>, surface: &mut Surface, site: &Site, n: usize) {
    let removed = surface.nearest_triangles(site.surface, n);
    edit(c, surface, removed, Vec::new(), Vec::new(), Vec::new()).await;
}

async fn edit(
    c: &mut Conversation<'_>,
    surface: &mut Surface,
    removed: Vec<u32>,
    positions: Vec<DVec3>,
    added: Vec<[u32; 3]>,
    parents: Vec<u32>,
) {
    let request = EditTopologyRequest {
        scene_id: c.scene_id.clone(),
        tissue_id: 1,
        base_topology_revision: None,
        removed_triangles: removed.clone(),
        added_positions_m: xyz(positions.iter().copied()),
        added_triangles: added.concat(),
        added_triangle_parents: parents,
        ..EditTopologyRequest::default()
    };
    let answer = c.edit(request).await.expect("a good cut");
    // Positions as the server has them: in single precision.
    surface.positions.extend(positions.iter().map(|p| p.as_vec3().as_dvec3()));
    surface.triangles.retain(|t, _| !removed.contains(t));
    surface.triangles.extend((answer.first_triangle..).zip(added));
}
