//! Spring between a device and its proxy, and the ranges of a coupling's options, for proxies and servos alike.

use super::{
    posture::FIRST_LINK,
    quadratic_programme::{COORDINATES_MAX, Displacement},
    wrench::WrenchLimits,
};

/// Stiffnesses of the spring.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spring {
    /// Translational stiffness, N/m, 1 to 100,000.
    pub stiffness_n_per_m: f64,
    /// Stiffness against turning, N m/rad, 0.001 to 1,000.
    pub rotational_stiffness_nm_per_rad: f64,
    /// Stiffness of a link against its commanded pose, at its farthest point, N/m, 1 to 100,000.
    pub link_stiffness_n_per_m: f64,
}

/// Name of an option, its value, and the least and greatest allowed value.
pub type RangedOption = (&'static str, f64, [f64; 2]);

impl Spring {
    /// Spring for a desktop device of 3.3 N.
    pub const DESKTOP: Spring = Spring {
        stiffness_n_per_m: 500.0,
        rotational_stiffness_nm_per_rad: 1.0,
        link_stiffness_n_per_m: 500.0,
    };

    /// Replaces each value of 0 by that for a desktop device, as the contract requires.
    pub fn or_desktop(self) -> Spring {
        let or = |given: f64, usual: f64| if given == 0.0 { usual } else { given };
        let usual = Spring::DESKTOP;
        Spring {
            stiffness_n_per_m: or(self.stiffness_n_per_m, usual.stiffness_n_per_m),
            rotational_stiffness_nm_per_rad: or(
                self.rotational_stiffness_nm_per_rad,
                usual.rotational_stiffness_nm_per_rad,
            ),
            link_stiffness_n_per_m: or(self.link_stiffness_n_per_m, usual.link_stiffness_n_per_m),
        }
    }

    /// Returns the diagonal of K.
    pub fn diagonal(&self) -> Displacement {
        let mut stiffness = [self.link_stiffness_n_per_m; COORDINATES_MAX];
        stiffness[..3].fill(self.stiffness_n_per_m);
        stiffness[3..FIRST_LINK].fill(self.rotational_stiffness_nm_per_rad);
        stiffness
    }

    fn ranged(&self) -> [RangedOption; 3] {
        let rotational = self.rotational_stiffness_nm_per_rad;
        [
            ("stiffness_n_per_m", self.stiffness_n_per_m, [1.0, 1e5]),
            ("rotational_stiffness_nm_per_rad", rotational, [0.001, 1e3]),
            ("link_stiffness_n_per_m", self.link_stiffness_n_per_m, [1.0, 1e5]),
        ]
    }
}

fn ranged_limits(limits: &WrenchLimits) -> [RangedOption; 4] {
    [
        ("max_force_n", limits.max_force_n, [0.0, 1e3]),
        ("max_torque_nm", limits.max_torque_nm, [0.0, 100.0]),
        ("max_force_rate_n_per_s", limits.max_force_rate_n_per_s, [0.001, 1e6]),
        ("max_torque_rate_nm_per_s", limits.max_torque_rate_nm_per_s, [0.001, 1e5]),
    ]
}

/// Returns the first option out of its range; a NaN is in none. `own`: options that only a proxy, or only a servo, has.
pub fn first_outside(
    spring: &Spring,
    own: &[RangedOption],
    limits: &WrenchLimits,
) -> Option<RangedOption> {
    let mut all =
        spring.ranged().into_iter().chain(own.iter().copied()).chain(ranged_limits(limits));
    all.find(|(_, got, [least, most])| !(least..=most).contains(&got))
}
