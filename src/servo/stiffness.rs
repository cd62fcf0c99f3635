//! How stiff a spring may be that is sampled, held and late.
//!
//! Colgate and Schenkel, "Passivity of a class of sampled-data systems", 1997, (10): b > K T/2; a delay adds to T/2.

/// Of a desktop device and the fingers that hold it lightly, N s/m: b of the rule where nothing better is known.
pub const USUAL_DAMPING_N_S_PER_M: f64 = 0.95;

/// How a spring may be stiffer, for a person to read.
pub const MORE: &str = "More: a local model, samples at a higher rate, a thread of real-time priority, a device with \
                        more damping";

/// The greatest stiffness, N/m: K = b / (T/2 + delay). `damping` is that of device and hand, N s/m; the force is held for
/// `sample_s`, and `delay_s` late.
pub fn stiffness_max(damping: f64, sample_s: f64, delay_s: f64) -> f64 {
    damping / (0.5 * sample_s + delay_s)
}
