//! Stiffness limits of a run's force, from the delays between the proxy and the hand.

use crate::servo::stiffness::{MORE, USUAL_DAMPING_N_S_PER_M, stiffness_max};

/// Delays and damping between a computed force and the hand.
#[derive(Clone, Copy, Debug)]
pub struct ForcePath {
    /// Damping of device and hand, N s/m.
    pub damping_n_s_per_m: f64,
    /// Period of the ticks, seconds: a server's force is held for this time.
    pub tick_s: f64,
    /// Sample period of a servo, seconds.
    pub sample_s: f64,
    /// Largest deliberate delay of an answer, seconds.
    pub delay_s: f64,
}

impl ForcePath {
    /// Ticks at 1 kHz, a servo at 4 kHz, the usual hand.
    pub const USUAL: ForcePath = ForcePath {
        damping_n_s_per_m: USUAL_DAMPING_N_S_PER_M,
        tick_s: 1e-3,
        sample_s: 2.5e-4,
        delay_s: 0.0,
    };

    /// Returns the greatest stiffness with a server's force that arrives `round_trip_us` late, N/m.
    pub fn server_max_n_per_m(&self, round_trip_us: f64) -> f64 {
        let late_s = round_trip_us / 1e6 + self.delay_s;
        stiffness_max(self.damping_n_s_per_m, self.tick_s, late_s)
    }

    /// Returns the greatest stiffness with a local model, which waits for no answer, N/m.
    pub fn local_max_n_per_m(&self) -> f64 {
        stiffness_max(self.damping_n_s_per_m, self.sample_s, 0.0)
    }

    /// Returns one line for people. `server_n_per_m`: limit with the measured round trip; `None` if none was measured.
    pub fn said(&self, server_n_per_m: Option<f64>) -> String {
        let khz = |period_s: f64| 1e-3 / period_s;
        let server = server_n_per_m.map_or_else(|| "unknown".to_owned(), |k| format!("{k:.0} N/m"));
        let delay = match self.delay_s {
            0.0 => String::new(),
            delay_s => format!(" and {} ms of delay", 1e3 * delay_s),
        };
        format!(
            "{server} at most with the server's force at {} kHz (p99 of the round trip{delay}), {:.0} with a local \
             model at {} kHz, in a hand of {:.2} N s/m. {MORE}",
            khz(self.tick_s),
            self.local_max_n_per_m(),
            khz(self.sample_s),
            self.damping_n_s_per_m
        )
    }
}
