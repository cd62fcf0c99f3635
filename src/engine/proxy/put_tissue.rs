//! Tissue placed about a proxy, and tissue that a proxy is placed into: decides if the proxy touches it or is inside.
//!
//! A proxy in exact contact, or inside by no more than its stand-off, touches: the tissue is taken to have been a
//! little farther in, with the proxy outside, and moves from there to where it is. The proxy follows it as any tissue
//! that moves, and so ends at its stand-off, on the side that it was on.

use std::ops::ControlFlow;

use glam::{DVec3, Vec3};

use super::{
    feasibility::{find_crossing, is_feasible},
    god_object::{GodObject, TickTissues},
    pair_list::Around,
    seen_tissues::SeenTissue,
};
use crate::geometry::{
    Aabb, TriangleId, TriangleMesh,
    distance::point_triangle::Feature,
    mesh::pseudonormal::{pseudonormal, unit_normal},
    tolerance::STAND_OFF_M,
};
use crate::{
    scene::{Revision, organ::Organ},
    time_left::{TimeLeft, note_step},
};

/// Maximum motion of a vertex as a multiple of the motion of the triangles about it.
const STEEPEST: f64 = 5.0;

/// Examines a tissue that was placed about the proxy. Near the proxy the tissue is seen farther in, to be followed from
/// there. Tissue that crosses the proxy does not constrain it; none of the tissue does if a link is wholly inside or
/// the deadline passed.
pub(super) fn meet(
    seen: &mut SeenTissue,
    (tissues, place): (TickTissues, usize),
    around: &Around,
    deadline: &TimeLeft,
) {
    let (organ, revision) = (Organ::of(tissues, place), &*tissues[place].1);
    if !links_reach(&organ, around) {
        return;
    }
    // A gap may be as small as rounding, with no direction to tell the sides: tissue outside the proxy is seen farther
    // in as well.
    let is_clear = is_feasible(&seen.newest(revision), &organ, around, 0.0, deadline);
    // The inside of a closed tissue is known; an open one is touched from either side.
    let sides: &[f64] = if revision.surface.is_closed() { &[1.0] } else { &[1.0, -1.0] };
    for side in sides {
        // If the proxy is outside the surface moved in by the stand-off, it touches; it needs as much again to begin
        // from.
        let is_outside = |depth_m: f64| {
            seen.see(revision, |positions| {
                recede(positions, revision, around, side * depth_m, deadline)
            });
            is_feasible(&seen.as_seen(revision), &organ, around, depth_m, deadline)
        };
        if [STAND_OFF_M, 2.0 * STAND_OFF_M].into_iter().all(is_outside) {
            return;
        }
    }
    seen.take(revision);
    if !is_clear {
        find_put_through(seen, revision, around, deadline);
    }
}

/// Examines a tissue that does not constrain the proxy, or only in part: all of it does again once the proxy is
/// outside. Returns true if the proxy is.
pub(super) fn leave(
    seen: &mut SeenTissue,
    (tissues, place): (TickTissues, usize),
    around: &Around,
    deadline: &TimeLeft,
) -> bool {
    let (organ, revision) = (Organ::of(tissues, place), &*tissues[place].1);
    // Triangles placed through the proxy are known from the last tick; without time nothing about them would be known.
    if deadline.is_over_now() {
        return false;
    }
    if !seen.is_embedding {
        find_put_through(seen, revision, around, deadline);
    }
    let is_outside = seen.put_through.is_empty()
        && is_feasible(&seen.newest(revision), &organ, around, 0.0, deadline);
    if is_outside {
        seen.set_free();
    }
    is_outside
}

impl GodObject {
    /// Excludes triangles that cross the proxy from its constraints: they were placed through it. Returns true if there
    /// were any.
    pub(super) fn embed_crossing(&mut self, seen: &mut [SeenTissue]) -> bool {
        if self.search.clearance_m > 0.0 {
            return false;
        }
        for pair in self.search.pairs.iter().filter(|p| p.distance_m == 0.0) {
            seen[pair.tissue].put_through.push(pair.tissue_triangle);
        }
        for put_through in seen.iter_mut().map(|s| &mut s.put_through) {
            put_through.sort_unstable();
            put_through.dedup();
        }
        self.search.list.forget();
        self.let_go();
        true
    }
}

/// Finds the triangles that cross the proxy. If there are none, it is wholly inside or outside: no tissue constrains
/// it.
fn find_put_through(
    seen: &mut SeenTissue,
    revision: &Revision,
    around: &Around,
    deadline: &TimeLeft,
) {
    let mut found = std::mem::take(&mut seen.put_through);
    let is_known = find_crossing(&seen.newest(revision), around, deadline, &mut found);
    if !is_known {
        found.clear();
    }
    seen.is_embedding = found.is_empty();
    seen.put_through = found;
}

/// Returns true if some link may touch an organ, or be inside.
fn links_reach(organ: &Organ, around: &Around) -> bool {
    around
        .constrained
        .iter()
        .any(|&number| organ.may_be_inside(&reach(number, around, STAND_OFF_M)))
}

/// Returns the bounds of all that a link may touch with surfaces farther in by a depth, metres.
fn reach(number: usize, around: &Around, depth_m: f64) -> Aabb {
    let bounds = around.tool.links[number].surface.bounds();
    around.posture.scene_from_link(number).aabb(bounds).grown(2.0 * STEEPEST * depth_m)
}

/// Moves the surface about a tool in by a depth, metres; negative: out. Moves some of it once the deadline has passed.
fn recede(
    positions: &mut [Vec3],
    revision: &Revision,
    around: &Around,
    depth_m: f64,
    deadline: &TimeLeft,
) {
    let mesh = revision.surface.mesh();
    for &number in around.constrained {
        revision.surface.overlap(&reach(number, around, depth_m.abs()), |t| {
            note_step();
            if deadline.is_over() {
                return ControlFlow::Break(());
            }
            for (k, v) in mesh.vertices(t).into_iter().enumerate() {
                let (newest, seen) = (mesh.positions()[v as usize], &mut positions[v as usize]);
                // Each vertex once: it may have any number of triangles.
                if *seen == newest {
                    let outwards = way_out(mesh, t, k as u8);
                    let aside = way_from_border(mesh, v);
                    *seen =
                        (newest.as_dvec3() + aside * depth_m.abs() - outwards * depth_m).as_vec3();
                }
            }
            ControlFlow::Continue(())
        });
    }
}

/// Returns the displacement of a vertex that moves every triangle about it outwards by at least 1.
fn way_out(mesh: &TriangleMesh, t: TriangleId, k: u8) -> DVec3 {
    let out = pseudonormal(mesh, t, Feature::Vertex(k)).direction;
    let about = mesh.ring(mesh.vertices(t)[k as usize]).map(|(t, _)| unit_normal(mesh, t));
    along_all(out, about.filter(|n| *n != DVec3::ZERO))
}

/// Returns the displacement of a vertex that moves every open edge at it into the surface by at least 1; zero if there
/// is none.
fn way_from_border(mesh: &TriangleMesh, v: u32) -> DVec3 {
    let into = |t: TriangleId, k: usize, turn: usize| {
        let [w, other] = [turn, 3 - turn].map(|by| mesh.vertices(t)[(k + by) % 3]);
        let is_open = mesh.at_edge(v, w).take(2).count() == 1;
        let edge = mesh.position(w) - mesh.position(v);
        let out = (mesh.position(other) - mesh.position(v)).reject_from(edge).normalize_or_zero();
        (is_open && out.is_finite() && out != DVec3::ZERO).then_some(out)
    };
    let each = || mesh.ring(v).flat_map(|(t, k)| [into(t, k, 1), into(t, k, 2)]).flatten();
    along_all(each().sum::<DVec3>().normalize_or_zero(), each())
}

/// Scales a direction so that it goes along each of `others` by at least 1, by at most [`STEEPEST`].
fn along_all(direction: DVec3, others: impl Iterator<Item = DVec3>) -> DVec3 {
    let least = others.map(|n| n.dot(direction)).fold(1.0, f64::min);
    direction / least.max(1.0 / STEEPEST)
}
