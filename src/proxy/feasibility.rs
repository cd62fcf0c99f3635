//! Whether a proxy may be where it is: no triangle of a link crosses one of a tissue, no link is wholly inside.

use crate::coupling::posture::Posture;
use crate::scene::{Link, Tool, distance::to_surface};
use crate::{geometry::Pose, surface::Surface, time_left::TimeLeft};

/// A link counts as wholly inside where the tissue is at least this sure of it: near an open sheet nothing is inside.
const INSIDE_CERTAINTY_MIN: f64 = 0.5;

/// No triangle of these links crosses one of the tissue, exactly; and none of them is wholly inside.
pub(super) fn is_feasible(
    tissue: &Surface,
    tool: &Tool,
    posture: &Posture,
    constrained: &[usize],
) -> bool {
    constrained.iter().all(|&number| {
        let (link, pose) = (&tool.links[number], posture.scene_from_link(number));
        !crosses(tissue, link, &pose) && !is_wholly_inside(tissue, link, &pose)
    })
}

/// Whether any two triangles have a point in common; decided exactly.
pub(super) fn crosses(tissue: &Surface, link: &Link, scene_from_link: &Pose) -> bool {
    let mut crosses = false;
    let placed = link.tree.placed(link.surface.mesh(), scene_from_link, tissue.bounds());
    tissue.overlap(&|b: &_| placed.may_meet(b), |t| {
        if !crosses {
            placed.meeting(&tissue.mesh().triangle(t), &TimeLeft::endless(), |_| crosses = true);
        }
    });
    crosses
}

/// Whether a body of a link that crosses nothing is inside the tissue.
fn is_wholly_inside(tissue: &Surface, link: &Link, scene_from_link: &Pose) -> bool {
    link.vertex_of_each_body().any(|v| {
        let p = scene_from_link.point(link.surface.mesh().position(v));
        let found = to_surface(tissue, p, 0.0, None);
        found.is_some_and(|f| f.signed_distance < 0.0 && f.certainty >= INSIDE_CERTAINTY_MIN)
    })
}
