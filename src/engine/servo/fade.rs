//! Fades out a force that no model vouches for any more.

use crate::coupling::wrench::{FADE_S, Wrench, WrenchLimits};

/// A force that fades to zero.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fade {
    /// Wrench sent when the fade began.
    from: Wrench,
    since_s: f64,
}

impl Fade {
    pub(super) fn from(sent: &Wrench) -> Fade {
        Fade { from: *sent, since_s: 0.0 }
    }

    /// Returns true once the hand has let go.
    pub(super) fn is_over(&self) -> bool {
        self.since_s >= FADE_S
    }

    /// Returns the wrench sent `dt_s` seconds after `sent`: towards the wanted wrench, but never more than before, and
    /// zero once [`FADE_S`] has passed. Keeps to `limits`.
    pub(super) fn step(
        &mut self,
        sent: &Wrench,
        wanted: &Wrench,
        limits: &WrenchLimits,
        dt_s: f64,
    ) -> Wrench {
        self.since_s += dt_s;
        let share = (1.0 - self.since_s / FADE_S).max(0.0);
        let most = [self.from.force.length() * share, self.from.torque.length() * share];
        // The envelope falls by at most cap / FADE_S, so the rest of the rate is for turning: a force that was inside
        // the envelope and has turned is brought back inside by no more than the envelope fell.
        let turning = WrenchLimits {
            max_force_rate_n_per_s: left(limits.max_force_rate_n_per_s, limits.max_force_n),
            max_torque_rate_nm_per_s: left(limits.max_torque_rate_nm_per_s, limits.max_torque_nm),
            ..*limits
        };
        let no_more = Wrench {
            force: wanted.force.clamp_length_max(sent.force.length()),
            torque: wanted.torque.clamp_length_max(sent.torque.length()),
        };
        let (turned, _) = sent.towards(&no_more, &turning, dt_s);
        Wrench {
            force: turned.force.clamp_length_max(most[0]),
            torque: turned.torque.clamp_length_max(most[1]),
        }
    }
}

fn left(rate: f64, cap: f64) -> f64 {
    (rate - cap / FADE_S).max(0.0)
}
