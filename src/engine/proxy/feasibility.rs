//! Tests if a proxy's pose is feasible: no triangle of a link crosses one of a tissue, and no link is wholly inside.

use std::ops::ControlFlow;

use super::{pair_list::Around, tissue_view::TissueView};
use crate::scene::{Link, organ::Organ};
use crate::{
    geometry::{Aabb, Pose, TriangleId},
    surface::SignedNearest,
    time_left::TimeLeft,
};

/// Least certainty of the tissue for a link to count as wholly inside: near an open sheet nothing is inside.
const INSIDE_CERTAINTY_MIN: f64 = 0.5;

/// Returns true if no triangle of these links crosses one of the tissue, exactly, and none of the links is wholly
/// inside the tissue's organ, deeper than `depth_m` metres below its newest surface. Also returns false if the deadline
/// passed first: a tissue that is ignored for a tick longer holds nothing back, a tissue that constrains a proxy inside
/// it would.
pub(super) fn is_feasible(
    tissue: &TissueView,
    organ: &Organ,
    around: &Around,
    depth_m: f64,
    deadline: &TimeLeft,
) -> bool {
    around.constrained.iter().all(|&number| {
        let (link, pose) = (&around.tool.links[number], around.posture.scene_from_link(number));
        !crosses(tissue, link, &pose, deadline)
            && !is_wholly_inside(organ, link, &pose, depth_m, deadline)
    })
}

/// Finds the triangles of a tissue that cross these links, ascending. Returns false if the deadline passed before the
/// end.
pub(super) fn find_crossing(
    tissue: &TissueView,
    around: &Around,
    deadline: &TimeLeft,
    found: &mut Vec<TriangleId>,
) -> bool {
    found.clear();
    for &number in around.constrained {
        let (link, pose) = (&around.tool.links[number], around.posture.scene_from_link(number));
        each_crossing(tissue, link, &pose, deadline, |t| {
            found.push(t);
            ControlFlow::Continue(())
        });
    }
    found.sort_unstable();
    found.dedup();
    !deadline.was_over()
}

/// Returns true if any two triangles have a point in common, decided exactly. Also true if the time was over first.
pub(super) fn crosses(
    tissue: &TissueView,
    link: &Link,
    scene_from_link: &Pose,
    time: &TimeLeft,
) -> bool {
    let mut crosses = false;
    each_crossing(tissue, link, scene_from_link, time, |_| {
        crosses = true;
        ControlFlow::Break(())
    });
    crosses || time.was_over()
}

/// Calls `visit` with the tissue's triangles that cross the link, until it breaks or the time is over.
fn each_crossing(
    tissue: &TissueView,
    link: &Link,
    scene_from_link: &Pose,
    time: &TimeLeft,
    mut visit: impl FnMut(TriangleId) -> ControlFlow<()>,
) {
    let surface = tissue.surface;
    // The index holds the newest positions only.
    let bounds = surface.bounds().grown(tissue.slack_m);
    let placed = link.tree.placed(link.surface.mesh(), scene_from_link, &bounds);
    let may_meet = |b: &Aabb| !time.is_over() && placed.may_meet(&b.grown(tissue.slack_m));
    surface.overlap(&may_meet, |t| {
        let mut crosses = false;
        placed.meeting(&tissue.triangle_at(t, tissue.time), time, |_| crosses = true);
        let wanted = if crosses { visit(t) } else { ControlFlow::Continue(()) };
        if time.is_over() { ControlFlow::Break(()) } else { wanted }
    });
}

/// Returns true if a body of a link that crosses nothing is inside the organ. Also true if the time was over first.
fn is_wholly_inside(
    organ: &Organ,
    link: &Link,
    scene_from_link: &Pose,
    depth_m: f64,
    time: &TimeLeft,
) -> bool {
    link.vertex_of_each_body().any(|v| {
        if time.is_over() {
            return true;
        }
        let p = scene_from_link.point(link.surface.mesh().position(v));
        let found = organ.signed_distance(p, 0.0, None, time);
        let is_inside =
            |f: SignedNearest| f.signed_distance < -depth_m && f.certainty >= INSIDE_CERTAINTY_MIN;
        time.was_over() || found.is_some_and(|(_, f)| is_inside(f))
    })
}
