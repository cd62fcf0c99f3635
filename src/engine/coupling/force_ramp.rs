//! Limits a force that returns after the hand has let go.

use super::wrench::{Wrench, WrenchLimits};

/// Time in which the greatest force that is sent grows from zero to the cap, seconds. Longer than a hand needs to
/// notice and to yield, some 0.2 s: the hand may have fallen deep into tissue meanwhile, and would be struck at the
/// rate of a contact.
pub const RAMP_S: f64 = 0.25;

/// The greatest force and torque that may be sent so far.
#[derive(Clone, Copy, Debug)]
pub struct ForceRamp {
    force_n: f64,
    torque_nm: f64,
}

impl ForceRamp {
    /// Begins a ramp at the wrench that is sent now.
    pub fn from(sent: &Wrench) -> ForceRamp {
        ForceRamp { force_n: sent.force.length(), torque_nm: sent.torque.length() }
    }

    /// Returns the limits for `dt_s` seconds later; `ramp` ends when they are the usual limits.
    pub fn limits(ramp: &mut Option<ForceRamp>, usual: &WrenchLimits, dt_s: f64) -> WrenchLimits {
        let Some(ForceRamp { force_n, torque_nm }) = ramp else { return *usual };
        let WrenchLimits { max_force_n, max_torque_nm, .. } = *usual;
        *force_n = (*force_n + max_force_n * dt_s / RAMP_S).min(max_force_n);
        *torque_nm = (*torque_nm + max_torque_nm * dt_s / RAMP_S).min(max_torque_nm);
        let limits = WrenchLimits { max_force_n: *force_n, max_torque_nm: *torque_nm, ..*usual };
        if limits == *usual {
            *ramp = None;
        }
        limits
    }
}
