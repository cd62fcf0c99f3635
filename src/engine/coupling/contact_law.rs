//! Law of a contact: compliance in series with the coupling, damping against the approach, and friction.
//!
//! The proxy and its contacts do not depend on compliance and damping: tissue is where the solver says, and the proxy
//! lies on it. The law changes the contact's force alone. A rigid contact bears lambda; with a compliance c behind it,
//! two springs in series bear
//!
//! ```text
//! lambda a / (a + c)          a = J K^-1 J^T, the give of the coupling at the contact         (1)
//! ```
//! (springs in series: their compliances add). Friction bears the same share, so that a force in its cone stays in it.
//! Damping adds b v, with v the speed at which the device goes into the surface there, and nothing when the device
//! leaves. Friction falls from its static to its dynamic coefficient with the speed s of the slip. Both are speeds in
//! the scene, as if the tissue rested: a moving tissue does not damp a hand that rests.
//!
//! ```text
//! mu(s) = mu_d + (mu_s - mu_d) exp(-(s / s_0)^2)                                              (2)
//! ```
//! (the Gaussian form of the Stribeck curve: Armstrong-Helouvry, Dupont, Canudas de Wit, "A survey of models, analysis
//! tools and compensation methods for the control of machines with friction", Automatica 30(7), 1994).

use serde::{Deserialize, Serialize};

use super::{quadratic_programme::Displacement, spring::RangedOption};
use crate::geometry::tolerance::CONTACT_SLACK;

/// Coefficients of friction of a contact.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Friction {
    /// Coefficient of a contact that sticks, 0 to 2.
    pub sticking: f64,
    /// Coefficient of a contact that slips fast, 0 to that of one that sticks.
    pub slipping: f64,
    /// Speed s_0 of the slip at which a third of the difference is left, m/s, 0.0001 to 10.
    pub stribeck_m_s: f64,
}

/// Law of one contact.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContactLaw {
    /// Compliance in series with the coupling, m/N; 0: rigid.
    pub compliance_m_per_n: f64,
    /// Damping against the approach of the device, N s/m.
    pub damping_n_s_per_m: f64,
    /// Friction of the contact.
    pub friction: Friction,
}

impl Friction {
    /// Speed of the slip for materials that give none, m/s.
    pub const STRIBECK_M_S: f64 = 0.01;

    /// No friction.
    pub const NONE: Friction = Friction { sticking: 0.0, slipping: 0.0, stribeck_m_s: 0.0 };

    /// Returns Coulomb's friction, of one coefficient.
    pub const fn coulomb(coefficient: f64) -> Friction {
        let (sticking, slipping) = (coefficient, coefficient);
        Friction { sticking, slipping, stribeck_m_s: Friction::STRIBECK_M_S }
    }

    /// Returns the coefficient of a contact that slips at a speed, m/s: formula 2 of the module.
    pub fn slipping_at(&self, speed_m_s: f64) -> f64 {
        if speed_m_s == 0.0 || self.sticking == self.slipping {
            return self.sticking;
        }
        let ratio = speed_m_s / self.stribeck_m_s;
        self.slipping + (self.sticking - self.slipping) * (-ratio * ratio).exp()
    }
}

impl ContactLaw {
    /// Zero, from which a weighted mean is summed up.
    pub const NONE: ContactLaw =
        ContactLaw { compliance_m_per_n: 0.0, damping_n_s_per_m: 0.0, friction: Friction::NONE };

    /// Adds a share of another law: compliances, dampings and coefficients are averaged.
    pub fn add(&mut self, share: f64, other: &ContactLaw) {
        self.compliance_m_per_n += share * other.compliance_m_per_n;
        self.damping_n_s_per_m += share * other.damping_n_s_per_m;
        self.friction.sticking += share * other.friction.sticking;
        self.friction.slipping += share * other.friction.slipping;
        self.friction.stribeck_m_s += share * other.friction.stribeck_m_s;
    }

    /// Returns true if the contact bears the force of a rigid one.
    pub fn is_rigid(&self) -> bool {
        self.compliance_m_per_n == 0.0 && self.damping_n_s_per_m == 0.0
    }

    /// Returns the law of a rigid tissue with Coulomb's friction.
    pub const fn rigid(coefficient: f64) -> ContactLaw {
        ContactLaw {
            compliance_m_per_n: 0.0,
            damping_n_s_per_m: 0.0,
            friction: Friction::coulomb(coefficient),
        }
    }

    /// Returns each number, with its name and the least and greatest that a servo accepts.
    pub fn ranged(&self) -> [RangedOption; 5] {
        let Friction { sticking, slipping, stribeck_m_s } = self.friction;
        // A mean of materials at their limit may exceed it by rounding.
        let up_to = |most: f64| [0.0, most * (1.0 + CONTACT_SLACK)];
        [
            ("compliance_m_per_n", self.compliance_m_per_n, up_to(COMPLIANCE_MAX)),
            ("damping_n_s_per_m", self.damping_n_s_per_m, up_to(DAMPING_MAX)),
            ("static_friction", sticking, up_to(COEFFICIENT_MAX)),
            ("dynamic_friction", slipping, up_to(COEFFICIENT_MAX)),
            ("stribeck_velocity_m_s", stribeck_m_s, up_to(STRIBECK_MAX_M_S)),
        ]
    }

    /// Returns the share of a rigid contact's force that the contact bears: formula 1 of the module. `jacobian`: its
    /// row.
    pub fn share(&self, stiffness: &Displacement, jacobian: &Displacement) -> f64 {
        if self.compliance_m_per_n == 0.0 {
            return 1.0;
        }
        let give: f64 = jacobian.iter().zip(stiffness).map(|(j, k)| j * j / k).sum();
        if give > 0.0 { give / (give + self.compliance_m_per_n) } else { 1.0 }
    }

    /// Returns the force of damping on the tool for a device that moves the contact's point by `along` m/s along the
    /// normal, newtons.
    pub fn damped_n(&self, along_m_s: f64) -> f64 {
        self.damping_n_s_per_m * (-along_m_s).max(0.0)
    }
}

/// Greatest compliance of a contact, m/N.
pub const COMPLIANCE_MAX: f64 = 1.0;
/// Greatest damping of a contact, N s/m. A held damping force is stable up to m / delay: 4 N s/m for a device of 80 g
/// whose answers are 20 ms late.
pub const DAMPING_MAX: f64 = 4.0;
/// Greatest coefficient of friction.
pub const COEFFICIENT_MAX: f64 = 2.0;
/// Greatest Stribeck velocity, m/s.
pub const STRIBECK_MAX_M_S: f64 = 10.0;

/// Time over which a speed is smoothed, seconds: an encoder's step of 20 um is 20 mm/s for a millisecond.
const SMOOTHED_S: f64 = 0.005;

/// Smoothed speed of a tool, for laws that depend on it: displacement for each second.
#[derive(Clone, Copy, Debug, Default)]
pub struct Speed(Displacement);

impl Speed {
    /// Takes the displacement of the last `dt_s` seconds. Without time there is no speed to learn.
    pub fn note(&mut self, moved: &Displacement, dt_s: f64) {
        if dt_s <= 0.0 {
            return;
        }
        let share = 1.0 - (-dt_s / SMOOTHED_S).exp();
        for (speed, moved) in self.0.iter_mut().zip(moved) {
            let next = *speed + (moved / dt_s - *speed) * share;
            // A leap in no time is no motion.
            *speed = if next.is_finite() { next } else { 0.0 };
        }
    }

    /// Returns the speed along a row, m/s.
    pub fn along(&self, jacobian: &Displacement) -> f64 {
        jacobian.iter().zip(&self.0).map(|(j, x)| j * x).sum()
    }

    /// Returns the speed in the plane of two rows at right angles, m/s.
    pub fn along_two(&self, jacobians: &[Displacement; 2]) -> f64 {
        let [a, b] = jacobians.each_ref().map(|jacobian| self.along(jacobian));
        (a * a + b * b).sqrt()
    }
}
