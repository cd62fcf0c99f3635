//! Signed distances that a search found, and the bounds that they give for other points.
//!
//! The search for a link's deepest vertex measures the signed distance of a tissue at the centres of boxes. Signed
//! distance is 1-Lipschitz, so each result bounds all points about it, and most boxes need no measurement of their own:
//! with the pliers, 21 exact searches in a tick instead of 223.

use std::cell::Cell;

use glam::DVec3;

use super::last_seen::LastSeen;
use crate::geometry::tolerance::SAMPLE_ROUNDING;
use crate::scene::{Revision, TissueId};

/// The last samples of a tissue. They outlive a search, and a deformation too: no distance changes by more than the
/// surface moved. For a tissue with open ends they then bound only depth, for its side may change where the ends have
/// gone.
#[derive(Debug, Default)]
pub(in crate::scene) struct DistanceSamples {
    last: Box<[Cell<DistanceSample>]>,
    /// Number of samples ever noted; the last ones are kept.
    n_noted: Cell<usize>,
    /// The sample that decided last: a search goes from box to neighbouring box.
    last_hit: Cell<usize>,
    seen: LastSeen,
}

/// Bounds of the signed distance at a point, metres.
#[derive(Clone, Copy, Debug, Default)]
struct DistanceSample {
    at: DVec3,
    least: f64,
    most: f64,
    /// Distance within which the side changes only at triangles and the signed distance is 1-Lipschitz; infinite if a
    /// tissue has no boundary.
    side_reach: f64,
}

/// Maximum samples that are kept. Twice as many take longer to search than they save.
const SAMPLES_MAX: usize = 32;

impl DistanceSamples {
    /// Creates an empty set of samples.
    pub(in crate::scene) fn new() -> DistanceSamples {
        let last = vec![Cell::default(); SAMPLES_MAX].into();
        DistanceSamples { last, ..DistanceSamples::default() }
    }

    /// Updates the samples to a revision, or drops them.
    pub(in crate::scene) fn follow(&mut self, tissue: TissueId, revision: &Revision) {
        match self.seen.follow(tissue, revision) {
            Some(0.0) => {}
            Some(moved) => {
                for sample in &self.last {
                    let DistanceSample { at, least, most, side_reach } = sample.get();
                    // An open end may have moved too.
                    let side_reach =
                        if side_reach < f64::INFINITY { f64::NEG_INFINITY } else { side_reach };
                    let (least, most) = (least - moved, most + moved);
                    sample.set(DistanceSample { at, least, most, side_reach });
                }
            }
            None => self.forget(),
        }
    }

    /// Drops all samples.
    pub(in crate::scene) fn forget(&self) {
        self.n_noted.set(0);
    }

    /// Notes a signed distance, metres, and how far about the point the side changes only at triangles.
    pub(in crate::scene) fn note(&self, at: DVec3, signed_distance: f64, side_reach: f64) {
        debug_assert!(signed_distance.is_finite() && side_reach >= 0.0, "{signed_distance} m");
        let n = self.n_noted.get();
        let (least, most) = (signed_distance, signed_distance);
        self.last[n % SAMPLES_MAX].set(DistanceSample { at, least, most, side_reach });
        self.n_noted.set(n + 1);
    }

    /// Returns whether something within `radius` metres of a point may be deeper than `depth` metres, if that is known.
    pub(in crate::scene) fn may_be_deeper(
        &self,
        p: DVec3,
        radius: f64,
        depth: f64,
    ) -> Option<bool> {
        // Every sample that decides is right, so the first one is enough.
        let told = |i: usize| self.last[i].get().may_be_deeper(p, radius, depth);
        let n_known = self.n_noted.get().min(SAMPLES_MAX);
        let last_hit = self.last_hit.get();
        if last_hit < n_known
            && let Some(told) = told(last_hit)
        {
            return Some(told);
        }
        (0..n_known).find_map(|i| {
            let told = told(i)?;
            self.last_hit.set(i);
            Some(told)
        })
    }
}

impl DistanceSample {
    fn may_be_deeper(&self, p: DVec3, radius: f64, depth: f64) -> Option<bool> {
        debug_assert!(self.least <= self.most, "{self:?}");
        let (away_squared, reach) =
            (p.distance_squared(self.at) * (1.0 + SAMPLE_ROUNDING), radius - depth);
        // Nothing in the ball is deeper if the sample lies so far outside that the way to the ball's far side does not
        // reach the depth; something may be if its centre is certainly within `reach` of the surface or inside.
        let (above, below) = (self.least - reach, reach - self.most);
        let told = above.min(self.side_reach - radius);
        if told > 0.0 && away_squared < told * told {
            Some(false)
        } else {
            (below >= 0.0 && away_squared <= below * below).then_some(true)
        }
    }
}

#[cfg(test)]
mod tests {
    use glam::Vec3;

    use super::*;
    use crate::{
        geometry::{LoadOptions, mesh::load::load},
        oracle::{Random, shapes},
        scene::{Limits, Scene, TissueOptions, tissue::deform::Deformation},
    };

    /// While the tissue swells and shrinks, the bounds of earlier samples hold, and some samples decide.
    #[test]
    fn samples_outlive_a_deformation() {
        let seed = 8;
        println!("seed {seed}");
        let mut random = Random::new(seed);
        let mesh = load(shapes::sphere(0.05, 8), &LoadOptions::default()).expect("a mesh");
        let rest: Vec<Vec3> = mesh.mesh.positions().to_vec();
        let scene = Scene::new("test".to_owned(), Limits::default());
        let tissue = scene.add_tissue("tissue", mesh, TissueOptions::default(), 0).expect("room");
        let mut samples = DistanceSamples::new();
        let (mut told, mut asked) = (0, 0);
        for round in 0..40 {
            let held = tissue.current();
            samples.follow(tissue.id(), &held);
            let distance = |p: DVec3| {
                let found = held.surface.signed_distance(p, f64::INFINITY, None);
                found.expect("a surface").signed_distance
            };
            let point = |random: &mut Random| random.point(DVec3::splat(-0.07), DVec3::splat(0.07));
            for _ in 0..200 {
                let (p, radius) = (point(&mut random), random.range(0.0, 0.01));
                let depth = random.range(-0.01, 0.02);
                asked += 1;
                if let Some(may_be) = samples.may_be_deeper(p, radius, depth) {
                    told += 1;
                    let truth = distance(p);
                    let expected = truth <= radius - depth;
                    assert_eq!(
                        may_be, expected,
                        "round {round}: {truth}, {radius}, {depth} at {p}"
                    );
                }
            }
            // Few points, so that earlier samples are still there.
            for _ in 0..8 {
                let p = point(&mut random);
                samples.note(p, distance(p), f64::INFINITY);
            }
            let size = 1.0 + 0.04 * (0.9 * round as f32).sin();
            let moved = Deformation::Dense(rest.iter().map(|p| *p * size).collect());
            tissue.deform(moved, 0).expect("all are there");
        }
        assert!(told > asked / 10, "{told} of {asked} told");
    }
}
