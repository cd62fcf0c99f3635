//! Whether a proxy may be where it is: no triangle of a link crosses one of a tissue, no link is wholly inside.

use super::{pair_list::Around, tissue_view::TissueView};
use crate::scene::{Link, distance::to_surface};
use crate::{
    geometry::{Aabb, Pose, TriangleId},
    surface::Surface,
    time_left::TimeLeft,
};

/// A link counts as wholly inside where the tissue is at least this sure of it: near an open sheet nothing is inside.
const INSIDE_CERTAINTY_MIN: f64 = 0.5;

/// No triangle of these links crosses one of the tissue, exactly; and none of them is wholly inside, deeper than
/// `depth_m` metres below its newest surface. False too when it was `late` before that was known: a tissue that has no
/// say for a tick longer holds nothing back, and one that has a say where the proxy is in it would.
pub(super) fn is_feasible(
    tissue: &TissueView,
    around: &Around,
    depth_m: f64,
    late: &dyn Fn() -> bool,
) -> bool {
    let clock = || u64::from(late());
    let time = TimeLeft::until(&clock, 1);
    around.constrained.iter().all(|&number| {
        let (link, pose) = (&around.tool.links[number], around.posture.scene_from_link(number));
        !crosses(tissue, link, &pose, &time)
            && !is_wholly_inside(tissue.surface, link, &pose, depth_m, &time)
    })
}

/// Finds the triangles of a tissue that cross these links, ascending. False when it was `late` before all were known.
pub(super) fn find_crossing(
    tissue: &TissueView,
    around: &Around,
    late: &dyn Fn() -> bool,
    found: &mut Vec<TriangleId>,
) -> bool {
    let clock = || u64::from(late());
    let time = TimeLeft::until(&clock, 1);
    found.clear();
    for &number in around.constrained {
        let (link, pose) = (&around.tool.links[number], around.posture.scene_from_link(number));
        each_crossing(tissue, link, &pose, &time, |t| found.push(t));
    }
    found.sort_unstable();
    found.dedup();
    !time.was_over()
}

/// Whether any two triangles have a point in common; decided exactly. True too when the time was over first.
pub(super) fn crosses(
    tissue: &TissueView,
    link: &Link,
    scene_from_link: &Pose,
    time: &TimeLeft,
) -> bool {
    let mut crosses = false;
    each_crossing(tissue, link, scene_from_link, time, |_| crosses = true);
    crosses || time.was_over()
}

fn each_crossing(
    tissue: &TissueView,
    link: &Link,
    scene_from_link: &Pose,
    time: &TimeLeft,
    mut visit: impl FnMut(TriangleId),
) {
    let surface = tissue.surface;
    // The index knows the newest positions only.
    let bounds = surface.bounds().grown(tissue.slack_m);
    let placed = link.tree.placed(link.surface.mesh(), scene_from_link, &bounds);
    let may_meet = |b: &Aabb| !time.was_over() && placed.may_meet(&b.grown(tissue.slack_m));
    surface.overlap(&may_meet, |t| {
        // By the clock: what the caller asks may itself read it only now and then.
        if !time.is_over_now() {
            let mut crosses = false;
            placed.meeting(&tissue.triangle_at(t, tissue.time), time, |_| crosses = true);
            if crosses {
                visit(t);
            }
        }
    });
}

/// Whether a body of a link that crosses nothing is inside the tissue. True too when the time was over first.
fn is_wholly_inside(
    tissue: &Surface,
    link: &Link,
    scene_from_link: &Pose,
    depth_m: f64,
    time: &TimeLeft,
) -> bool {
    link.vertex_of_each_body().any(|v| {
        if time.is_over_now() {
            return true;
        }
        let p = scene_from_link.point(link.surface.mesh().position(v));
        let found = to_surface(tissue, p, 0.0, None);
        found.is_some_and(|f| f.signed_distance < -depth_m && f.certainty >= INSIDE_CERTAINTY_MIN)
    })
}
