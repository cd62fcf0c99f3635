//! Signed distances of many points at once.

use glam::DVec3;

use super::{
    Distance, NearestSurface, RevisionGuard, TissueId, Tool,
    coherence::probe_memory::ProbeMemory,
    distance::{to_link, to_tissue, to_tissues},
};
use crate::{geometry::Pose, time_left::TimeLeft};

/// Targets of a distance query.
pub enum QueryTarget<'a> {
    /// The nearest of these tissues.
    Tissues(&'a [(TissueId, RevisionGuard)]),
    /// The tissue at this index among all tissues of the scene: all parts of its organ decide if a point is inside.
    Tissue(&'a [(TissueId, RevisionGuard)], usize),
    /// A link at a pose (scene frame from link frame).
    Link(&'a Tool, usize, Pose),
}

/// Returns the signed distance of each point (scene frame, metres) to the target: within `max_distance_m` outside it,
/// at any depth inside. `None` if the time was over before all were measured.
pub fn distances(
    target: &QueryTarget,
    points: &[DVec3],
    max_distance_m: f64,
    time: &TimeLeft,
) -> Option<Vec<Distance<NearestSurface>>> {
    let mut memory = ProbeMemory::new();
    let mut last = None;
    // Neighbouring points of a query are mostly neighbours in space: each search starts where the last one ended.
    let mut one = |p: &DVec3| match target {
        QueryTarget::Tissues(tissues) => to_tissues(tissues, *p, max_distance_m, &mut memory, time),
        QueryTarget::Tissue(tissues, place) => {
            to_tissue(tissues, *place, *p, max_distance_m, &mut memory, time)
        }
        QueryTarget::Link(tool, link, pose) => {
            let link = &tool.links[*link].surface;
            let answer = to_link(link, pose, *p, max_distance_m, last, time);
            if let Some(Distance::Within(found)) = &answer {
                last = Some(found.on_surface.triangle);
            }
            answer
        }
    };
    points.iter().map(|p| (!time.is_over_now()).then(|| one(p)).flatten()).collect()
}
