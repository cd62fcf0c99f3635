//! Greatest stiffness of a spring that is sampled, held and late.
//!
//! Colgate and Schenkel, "Passivity of a class of sampled-data systems", 1997, (10): b > K T/2; a delay adds to T/2.

/// Damping of a desktop device and the fingers that hold it lightly, N s/m: b of the rule if nothing better is known.
pub const USUAL_DAMPING_N_S_PER_M: f64 = 0.95;

/// Ways to a stiffer spring, as a text for people.
pub const MORE: &str = "More: a local model, samples at a higher rate, a thread of real-time priority, a device with \
                        more damping";

/// Returns the greatest stiffness, N/m: K = b / (T/2 + delay). `damping`: that of device and hand, N s/m. The force is
/// held for `sample_s` seconds, and `delay_s` seconds late.
pub fn stiffness_max(damping: f64, sample_s: f64, delay_s: f64) -> f64 {
    damping / (0.5 * sample_s + delay_s)
}
