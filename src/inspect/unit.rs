//! Numbers in the unit that suits their size.

/// A unit of length.
#[derive(Clone, Copy, Debug)]
pub struct LengthUnit {
    /// Symbol.
    pub name: &'static str,
    /// Units per metre.
    pub per_m: f64,
}

impl LengthUnit {
    /// Returns the unit for a length, and for all values shown next to it.
    pub fn of(metres: f64) -> LengthUnit {
        match metres.abs() {
            m if m >= 1.0 => LengthUnit { name: "m", per_m: 1.0 },
            m if m >= 1e-3 || m == 0.0 => LengthUnit { name: "mm", per_m: 1e3 },
            _ => LengthUnit { name: "um", per_m: 1e6 },
        }
    }
}

/// Formats a length.
pub fn length(metres: f64) -> String {
    let LengthUnit { name, per_m } = LengthUnit::of(metres);
    format!("{:.3} {name}", metres * per_m)
}

/// Formats an amount of memory.
pub fn bytes(n: f64) -> String {
    match n {
        n if n >= 1e9 => format!("{:.2} GB", n * 1e-9),
        n if n >= 1e6 => format!("{:.2} MB", n * 1e-6),
        n => format!("{:.1} kB", n * 1e-3),
    }
}
