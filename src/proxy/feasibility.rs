//! Whether a proxy may be where it is: no triangle of a link crosses one of a tissue, no link is wholly inside.

use crate::coupling::posture::Posture;
use crate::scene::{Link, RevisionGuard, TissueId, Tool, organ::Organ};
use crate::{geometry::Pose, surface::Surface, time_left::TimeLeft};

/// A link counts as wholly inside where the tissue is at least this sure of it: near an open sheet nothing is inside.
const INSIDE_CERTAINTY_MIN: f64 = 0.5;

/// No triangle of these links crosses one of the tissue at a place, exactly; and none of them is wholly inside its organ. False too when it
/// was `late` before that was known: a tissue that has no say for a tick longer holds nothing back, and one that has a
/// say where the proxy is in it would.
pub(super) fn is_feasible(
    (tissues, place): (&[(TissueId, RevisionGuard)], usize),
    tool: &Tool,
    posture: &Posture,
    constrained: &[usize],
    late: &dyn Fn() -> bool,
) -> bool {
    let clock = || u64::from(late());
    let time = TimeLeft::until(&clock, 1);
    let organ = Organ::of(tissues, place);
    constrained.iter().all(|&number| {
        let (link, pose) = (&tool.links[number], posture.scene_from_link(number));
        let crosses = crosses(organ.part(place), link, &pose, &time);
        !crosses && !is_wholly_inside(&organ, link, &pose, &time)
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
    tissue.overlap(&|b: &_| !time.was_over() && placed.may_meet(b), |t| {
        // By the clock: what the caller asks may itself read it only now and then.
        if !crosses && !time.is_over_now() {
            placed.meeting(&tissue.mesh().triangle(t), time, |_| crosses = true);
        }
    });
    crosses || time.was_over()
}

/// Whether a body of a link that crosses nothing is inside the organ. True too when the time was over first.
fn is_wholly_inside(organ: &Organ, link: &Link, scene_from_link: &Pose, time: &TimeLeft) -> bool {
    link.vertex_of_each_body().any(|v| {
        if time.is_over_now() {
            return true;
        }
        let p = scene_from_link.point(link.surface.mesh().position(v));
        let found = organ.signed_distance(p, 0.0, None);
        found.is_some_and(|(_, f)| f.signed_distance < 0.0 && f.certainty >= INSIDE_CERTAINTY_MIN)
    })
}
