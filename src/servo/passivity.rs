//! Energy that a coupling gives out, seen and taken back.
//!
//! Hannaford and Ryu, "Time-domain passivity control of haptic interfaces", IEEE Trans. Robotics and Automation 18(1),
//! 2002. Where we differ: the energy is that of six coordinates, turns weighed by the springs' own radius, and counts
//! the force that was held over the sample, which is what a device does.

use glam::DVec3;

use crate::coupling::wrench::Wrench;

/// What the hand has put into the coupling and not got back.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PassivityObserver {
    /// Joules; negative when the coupling gave out more than it was given.
    energy_j: f64,
}

impl PassivityObserver {
    /// (8): the work of one sample, with what was sent during it.
    pub(super) fn note(&mut self, sent: &Wrench, shift: DVec3, turn: DVec3) {
        self.energy_j -= sent.force.dot(shift) + sent.torque.dot(turn);
        // What was put in long ago may not pay for what is made up now: a spring's energy is all that it may owe, and
        // that is given back when the hand lets go.
        if sent.force == DVec3::ZERO && sent.torque == DVec3::ZERO {
            self.energy_j = self.energy_j.min(0.0);
        }
    }

    /// (12): the force less a damper's that would take back, over a sample with the same motion, what was given out.
    /// `radius_squared`: k_r / k_t, square metres.
    pub(super) fn control(
        &self,
        wanted: &Wrench,
        shift: DVec3,
        turn: DVec3,
        radius_squared: f64,
    ) -> Wrench {
        let squared = shift.length_squared() + radius_squared * turn.length_squared();
        // In the air nothing is felt, whatever is owed.
        let is_free = *wanted == Wrench::default();
        if self.energy_j >= 0.0 || is_free || squared < f64::MIN_POSITIVE {
            return *wanted;
        }
        // alpha v dt, with v dt the motion of the sample.
        let alpha_dt = -self.energy_j / squared;
        Wrench {
            force: wanted.force - shift * alpha_dt,
            torque: wanted.torque - turn * (alpha_dt * radius_squared),
        }
    }
}
