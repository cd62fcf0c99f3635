//! Numbers in the unit that suits their size.

/// A length.
pub fn length(metres: f64) -> String {
    match metres.abs() {
        m if m >= 1.0 => format!("{metres:.3} m"),
        m if m >= 1e-3 || m == 0.0 => format!("{:.3} mm", metres * 1e3),
        _ => format!("{:.3} um", metres * 1e6),
    }
}

/// An amount of memory.
pub fn bytes(n: f64) -> String {
    match n {
        n if n >= 1e9 => format!("{:.2} GB", n * 1e-9),
        n if n >= 1e6 => format!("{:.2} MB", n * 1e-6),
        n => format!("{:.1} kB", n * 1e-3),
    }
}
