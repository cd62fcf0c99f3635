//! Velocity of a tissue from revision to revision, by which a local model extrapolates.

use glam::DVec3;

use crate::scene::Revision;

/// Number of intervals whose median is the time between revisions: a step that arrives late, and the next one at once
/// after it, make the tissue neither slow nor fast.
const INTERVALS_KEPT: usize = 5;
/// Least time between two revisions, seconds: a burst of deformations is no speed.
const INTERVAL_S_MIN: f64 = 0.001;
/// Number of intervals without a new revision after which the tissue counts as at rest.
const INTERVALS_MAX: f64 = 2.0;
const NS_PER_S: f64 = 1e9;

/// Velocity between the last two revisions that were seen.
#[derive(Clone, Copy, Debug)]
pub(super) struct TissueVelocity {
    from_revision: u64,
    to_revision: u64,
    published_ns: u64,
    /// Times from one revision to the next, seconds, the oldest overwritten first, and how many there have been.
    intervals_s: [f64; INTERVALS_KEPT],
    n_intervals: usize,
    /// Time from `from_revision` to `to_revision` at the usual pace.
    interval_s: f64,
    since_s: f64,
    /// Upper bound of the speed of any vertex, m/s; 0 at rest.
    pub(super) speed_m_s: f64,
}

impl TissueVelocity {
    pub(super) fn at_rest(revision: &Revision) -> TissueVelocity {
        TissueVelocity {
            from_revision: revision.geometry_revision,
            to_revision: revision.geometry_revision,
            published_ns: revision.published_ns,
            intervals_s: [0.0; INTERVALS_KEPT],
            n_intervals: 0,
            interval_s: INTERVAL_S_MIN,
            since_s: 0.0,
            speed_m_s: 0.0,
        }
    }

    /// Updates the velocity. `displacement_m`: upper bound of any vertex's motion since the last call, `dt_s` seconds
    /// ago.
    pub(super) fn look(&mut self, revision: &Revision, displacement_m: f64, dt_s: f64) {
        if revision.geometry_revision == self.to_revision {
            self.since_s += dt_s;
            if self.since_s > INTERVALS_MAX * self.interval_s {
                self.speed_m_s = 0.0;
            }
            return;
        }
        let passed_s = revision.published_ns.saturating_sub(self.published_ns) as f64 / NS_PER_S;
        let n_revisions = revision.geometry_revision.saturating_sub(self.to_revision).max(1) as f64;
        self.intervals_s[self.n_intervals % INTERVALS_KEPT] = passed_s / n_revisions;
        self.n_intervals += 1;
        // The begin of a motion after a rest is unknown: it counts as moving all along, or at the pace from before.
        self.interval_s = (self.usual_interval_s() * n_revisions).max(INTERVAL_S_MIN);
        self.from_revision = self.to_revision;
        self.to_revision = revision.geometry_revision;
        self.published_ns = revision.published_ns;
        self.since_s = 0.0;
        // If the tissue does not remember a revision that old, the proxy does, for all vertices together.
        let moved_m = revision.displacement_since(self.from_revision).unwrap_or(displacement_m);
        self.speed_m_s = moved_m / self.interval_s;
    }

    /// Returns the median of the known intervals; of an even number, the longer of the two in the middle.
    fn usual_interval_s(&self) -> f64 {
        let mut known = self.intervals_s;
        let known = &mut known[..self.n_intervals.min(INTERVALS_KEPT)];
        known.sort_unstable_by(f64::total_cmp);
        known[known.len() / 2]
    }

    /// Velocity of a vertex, m/s; zero if its motion is not remembered, in which case only the speed is known.
    pub(super) fn of(&self, revision: &Revision, v: u32) -> DVec3 {
        if self.speed_m_s == 0.0 {
            return DVec3::ZERO;
        }
        let moved = revision.moved_since(self.from_revision, v);
        moved.map_or(DVec3::ZERO, |moved| moved / self.interval_s)
    }
}

#[cfg(test)]
mod tests {
    use glam::Vec3;

    use super::*;
    use crate::{
        geometry::{LoadOptions, mesh::load::load},
        oracle::shapes,
        scene::{Limits, Scene, TissueOptions, tissue::deform::Deformation},
    };

    #[test]
    fn a_step_that_comes_late_makes_the_tissue_neither_slow_nor_fast() {
        let scene = Scene::new("test".to_owned(), Limits::default());
        let ball = shapes::sphere(0.05, 2);
        let rest = ball.positions.clone();
        let ball = load(ball, &LoadOptions::default()).expect("a mesh");
        let tissue = scene.add_tissue("ball", ball, TissueOptions::default(), 0).expect("room");
        let mut velocity = TissueVelocity::at_rest(&tissue.current());
        // The fourth is late, and the fifth comes at once after it.
        for (n, at_ms) in (1u8..).zip([16.0, 32.0, 48.0, 79.9, 80.0, 96.0]) {
            let moved = rest.iter().map(|p| *p + Vec3::Z * (5e-4 * f32::from(n)));
            let dense = Deformation::Dense(moved.collect());
            tissue.deform(dense, (at_ms * 1e6) as u64).expect("moved");
            velocity.look(&tissue.current(), 0.0, 0.001);
            let usual_m_s = 5e-4 / 0.016;
            assert!((velocity.speed_m_s / usual_m_s - 1.0).abs() < 1e-3, "{n}: {velocity:?}");
        }
    }
}
