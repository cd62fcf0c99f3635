//! What the options of a coupling may be: those of a proxy and those of a servo alike.

use super::wrench::WrenchLimits;

/// An option's name, what it is, and the least and the greatest that it may be.
pub type RangedOption = (&'static str, f64, [f64; 2]);

/// The stiffness of the spring, N/m, of its turning, N m/rad, and of each link, N/m.
pub fn of_stiffness(spring: f64, rotational: f64, link: f64) -> [RangedOption; 3] {
    [
        ("stiffness_n_per_m", spring, [1.0, 1e5]),
        ("rotational_stiffness_nm_per_rad", rotational, [0.001, 1e3]),
        ("link_stiffness_n_per_m", link, [1.0, 1e5]),
    ]
}

/// Caps and rates.
pub fn of_limits(limits: &WrenchLimits) -> [RangedOption; 4] {
    [
        ("max_force_n", limits.max_force_n, [0.0, 1e3]),
        ("max_torque_nm", limits.max_torque_nm, [0.0, 100.0]),
        ("max_force_rate_n_per_s", limits.max_force_rate_n_per_s, [0.001, 1e6]),
        ("max_torque_rate_nm_per_s", limits.max_torque_rate_nm_per_s, [0.001, 1e5]),
    ]
}

/// The first that is out of its range; a NaN is in none.
pub fn first_outside(options: impl IntoIterator<Item = RangedOption>) -> Option<RangedOption> {
    options.into_iter().find(|(_, got, [least, most])| !(least..=most).contains(&got))
}
