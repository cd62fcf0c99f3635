//! Whether a proxy may be where it is: no triangle of a link crosses one of a tissue, no link is wholly inside.

use std::ops::ControlFlow;

use crate::coupling::posture::Posture;
use crate::scene::{Link, Tool, distance::to_surface};
use crate::{geometry::Pose, surface::Surface, time_left::TimeLeft};

/// A link counts as wholly inside where the tissue is at least this sure of it: near an open sheet nothing is inside.
const INSIDE_CERTAINTY_MIN: f64 = 0.5;

/// No triangle of these links crosses one of the tissue, exactly; and none of them is wholly inside. False too when the
/// deadline passed before that was known: a tissue that has no say for a tick longer holds nothing back, and one that has
/// a say where the proxy is in it would.
pub(super) fn is_feasible(
    tissue: &Surface,
    tool: &Tool,
    posture: &Posture,
    constrained: &[usize],
    deadline: &TimeLeft,
) -> bool {
    constrained.iter().all(|&number| {
        let (link, pose) = (&tool.links[number], posture.scene_from_link(number));
        !crosses(tissue, link, &pose, deadline) && !is_wholly_inside(tissue, link, &pose, deadline)
    })
}

/// Whether any two triangles have a point in common; decided exactly. True too when the time was over first.
pub(super) fn crosses(
    tissue: &Surface,
    link: &Link,
    scene_from_link: &Pose,
    time: &TimeLeft,
) -> bool {
    let mut crosses = false;
    let placed = link.tree.placed(link.surface.mesh(), scene_from_link, tissue.bounds());
    tissue.overlap(&|b: &_| !time.is_over() && placed.may_meet(b), |t| {
        placed.meeting(&tissue.mesh().triangle(t), time, |_| crosses = true);
        if crosses || time.is_over() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    crosses || time.was_over()
}

/// Whether a body of a link that crosses nothing is inside the tissue. True too when the time was over first.
fn is_wholly_inside(
    tissue: &Surface,
    link: &Link,
    scene_from_link: &Pose,
    time: &TimeLeft,
) -> bool {
    link.vertex_of_each_body().any(|v| {
        if time.is_over() {
            return true;
        }
        let p = scene_from_link.point(link.surface.mesh().position(v));
        let found = to_surface(tissue, p, 0.0, None, time);
        time.was_over()
            || found.is_some_and(|f| f.signed_distance < 0.0 && f.certainty >= INSIDE_CERTAINTY_MIN)
    })
}
