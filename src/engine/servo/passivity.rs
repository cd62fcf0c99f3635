//! Energy balance of a spring, and a controller that gives out no energy that was not paid in.
//!
//! A wall that a late model reports first is already as deep as the hand went meanwhile: the spring is compressed, and
//! nobody has done that work. The hand would be given that energy on the way out. The balance compares the energy that
//! the spring stores with the energy that hand and tissue have put in. While part of it is unpaid, the force on the way
//! out is that of a spring that stores only the paid part; on the way in, a damper makes the hand pay.
//!
//! Hannaford and Ryu, "Time-domain passivity control of haptic interfaces", IEEE Trans. Robotics and Automation 18(1),
//! 2002, for observer and controller. Differences here: the stored energy is known, from the programme, so that it is
//! found unpaid before it is given out; the controller changes a force by a factor, and never pulls; and energy that
//! moving tissue puts in is no debt of the hand.

use glam::DVec3;

use crate::coupling::{
    posture::{FIRST_LINK, RENDERED_LINKS_MAX},
    quadratic_programme::Displacement,
    spring::Spring,
    wrench::Wrench,
};

/// Energy that may be paid in advance, joules: the damping of samples and the blending of models pay some microjoules
/// more or less than a spring stores, and without credit up to half a newton was missing although nothing was late.
const CREDIT_J: f64 = 0.001;
/// Time constant with which a debt is forgotten, seconds; a debt is also forgotten if nothing is stored. With 1 s a
/// hand that is dragged over ridges, with answers 20 ms late, is given 20 uJ; with 5 s pliers that press 8 mm into a
/// tongue give 30 uJ.
const FORGOTTEN_S: f64 = 100.0;
/// Outward speed from which the unpaid part of the force is withheld, m/s. A hand that holds still keeps its force.
const OUTWARD_M_S: f64 = 0.001;
/// Time constant with which the withheld part comes back, seconds. At once it would push the hand out again, and a
/// device with encoders of 20 um would buzz.
const RETURNED_S: f64 = 0.2;
/// Greatest strength of the damper by which a debt is paid inward, N s/m.
const INWARD_DAMPING_N_S_PER_M: f64 = 5.0;
/// Time over which the device's speed is smoothed, seconds: an encoder's step of 20 um is 20 mm/s for a millisecond.
const SMOOTHED_S: f64 = 0.005;

/// Motion of the device over a sample: of the hold point, metres, the turn about it, radians, and the coordinates of
/// its links.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Motion {
    pub(super) shift: DVec3,
    pub(super) turn: DVec3,
    links: [f64; RENDERED_LINKS_MAX],
}

/// Energy and forces of the springs at a sample.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Stored {
    /// Stored energy, joules.
    pub(super) energy_j: f64,
    /// Forces of the links' springs, newtons.
    pub(super) links_n: [f64; RENDERED_LINKS_MAX],
    /// Power of moving tissue on the springs, watts.
    pub(super) by_tissue_w: f64,
}

/// Work done on the springs since the servo began, by others than the hand, joules. Below 0: the springs did it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WorkOfOthers {
    /// Work of moving tissue, according to the models.
    pub tissue_j: f64,
    /// Work of the tool's links, such as closing jaws.
    pub links_j: f64,
}

/// Energy balance of the springs of one tool.
#[derive(Clone, Copy, Debug)]
pub(super) struct EnergyBooks {
    /// Stiffness of the spring, N/m.
    stiffness: f64,
    /// k_r / k_t, square metres.
    radius_squared: f64,
    /// Stored energy that nobody paid, joules; below 0 if more was paid than is stored.
    unpaid_j: f64,
    stored: Stored,
    pub(super) others: WorkOfOthers,
    /// Share of the force that is withheld.
    withheld: f64,
    /// Smoothed velocity of the device, m/s and rad/s.
    velocity: (DVec3, DVec3),
    /// Last motion along the force that was not zero, metres.
    last_step_m: f64,
}

impl Motion {
    /// Returns the motion of a displacement.
    pub(super) fn of(x: &Displacement) -> Motion {
        let mut links = [0.0; RENDERED_LINKS_MAX];
        links.copy_from_slice(&x[FIRST_LINK..]);
        Motion { shift: DVec3::new(x[0], x[1], x[2]), turn: DVec3::new(x[3], x[4], x[5]), links }
    }

    /// Work of a wrench that was held over the motion, joules: above 0 if the hand was given it.
    fn work_j(&self, wrench: &Wrench) -> f64 {
        wrench.force.dot(self.shift) + wrench.torque.dot(self.turn)
    }

    /// Motion along a wrench, metres, turns weighed by the springs' radius.
    fn along_m(&self, wrench: &Wrench, radius_squared: f64) -> f64 {
        let size_n = size_n(wrench, radius_squared);
        if size_n > 0.0 { self.work_j(wrench) / size_n } else { 0.0 }
    }
}

fn size_n(wrench: &Wrench, radius_squared: f64) -> f64 {
    (wrench.force.length_squared() + wrench.torque.length_squared() / radius_squared).sqrt()
}

impl EnergyBooks {
    /// Balance of springs that store nothing.
    pub(super) fn of(spring: &Spring) -> EnergyBooks {
        let stiffness = spring.stiffness_n_per_m;
        EnergyBooks {
            stiffness,
            radius_squared: spring.rotational_stiffness_nm_per_rad / stiffness,
            unpaid_j: 0.0,
            stored: Stored::default(),
            others: WorkOfOthers::default(),
            withheld: 0.0,
            velocity: (DVec3::ZERO, DVec3::ZERO),
            last_step_m: 0.0,
        }
    }

    /// Enters a sample of `dt_s` seconds: the present state of the springs, and the motion since the last sample under
    /// the wrench that was sent.
    pub(super) fn enter(&mut self, stored: Stored, sent: &Wrench, motion: &Motion, dt_s: f64) {
        let to_links = motion.links.iter().zip(&self.stored.links_n).map(|(x, f)| x * f);
        let to_links_j = to_links.sum::<f64>();
        let given_j = motion.work_j(sent) + to_links_j;
        self.others.links_j -= to_links_j;
        self.others.tissue_j += stored.by_tissue_w * dt_s;
        let change_j = stored.energy_j - self.stored.energy_j;
        let kept = (-dt_s / FORGOTTEN_S).exp();
        let unpaid_j = self.unpaid_j * kept + change_j + given_j - stored.by_tissue_w * dt_s;
        self.unpaid_j = (unpaid_j - self.made_by_steps_j(sent, motion)).max(-CREDIT_J);
        if stored.energy_j == 0.0 {
            self.unpaid_j = self.unpaid_j.min(0.0);
        }
        self.stored = stored;
        if dt_s > 0.0 {
            let share = 1.0 - (-dt_s / SMOOTHED_S).exp();
            self.velocity.0 += (motion.shift / dt_s - self.velocity.0) * share;
            self.velocity.1 += (motion.turn / dt_s - self.velocity.1) * share;
        }
    }

    /// Energy that a force held over a sample generates if a still hand flickers between two steps of an encoder: K a^2
    /// to and fro. The damping of the samples compensates it, and as a debt it would add up.
    fn made_by_steps_j(&mut self, sent: &Wrench, motion: &Motion) -> f64 {
        let step_m = motion.along_m(sent, self.radius_squared);
        if step_m == 0.0 {
            return 0.0;
        }
        let before_m = std::mem::replace(&mut self.last_step_m, step_m);
        let is_back = step_m * before_m < 0.0;
        if is_back { self.stiffness * step_m.abs().min(before_m.abs()).powi(2) } else { 0.0 }
    }

    /// Returns the part of the spring's wrench that may be sent.
    pub(super) fn passive(&mut self, sprung: &Wrench, motion: &Motion, dt_s: f64) -> Wrench {
        let radius_squared = self.radius_squared;
        if self.unpaid_j <= 0.0 || dt_s == 0.0 || *sprung == Wrench::default() {
            self.withheld = 0.0;
            return *sprung;
        }
        // A spring that stores a share of the energy has the root of that share of the force.
        let unpaid = 1.0 - (1.0 - self.unpaid_j / self.stored.energy_j).max(0.0).sqrt();
        let outward_m_s = motion.along_m(sprung, radius_squared) / dt_s;
        let due = unpaid * (outward_m_s / OUTWARD_M_S).clamp(0.0, 1.0);
        self.withheld = (self.withheld * (-dt_s / RETURNED_S).exp()).max(due).min(unpaid);
        let left = 1.0 - self.withheld;
        let lessened = Wrench { force: sprung.force * left, torque: sprung.torque * left };
        let moved = motion.shift.length_squared() + radius_squared * motion.turn.length_squared();
        if outward_m_s > 0.0 || moved < f64::MIN_POSITIVE {
            return lessened;
        }
        // Over a sample the damper takes b v^2 dt, and no more than is unpaid.
        let damping = INWARD_DAMPING_N_S_PER_M.min(self.unpaid_j * dt_s / moved);
        let (shift, turn) = self.velocity;
        Wrench {
            force: lessened.force - shift * damping,
            torque: lessened.torque - turn * (damping * radius_squared),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DT_S: f64 = 2.5e-4;
    const STIFFNESS: f64 = 800.0;
    const SPRING: Spring = Spring { stiffness_n_per_m: STIFFNESS, ..Spring::DESKTOP };

    fn moved(by_m: f64) -> Motion {
        Motion { shift: DVec3::Z * by_m, ..Motion::default() }
    }

    /// A spring over a wall, part of which is unpaid, and the energy that the hand was given of it, joules.
    struct Pressed {
        books: EnergyBooks,
        sent: Wrench,
        depth_m: f64,
        given_j: f64,
    }

    impl Pressed {
        /// A spring at a depth, whose first part was passed before the wall was known.
        fn known_at(depth_m: f64) -> Pressed {
            let books = EnergyBooks::of(&SPRING);
            let mut pressed = Pressed { books, sent: Wrench::default(), depth_m, given_j: 0.0 };
            pressed.go(0.0);
            pressed
        }

        fn go(&mut self, out_m: f64) {
            let motion = moved(out_m);
            self.given_j += motion.work_j(&self.sent);
            self.depth_m = (self.depth_m - out_m).max(0.0);
            let force = DVec3::Z * (STIFFNESS * self.depth_m);
            let energy_j = 0.5 * STIFFNESS * self.depth_m * self.depth_m;
            self.books.enter(Stored { energy_j, ..Stored::default() }, &self.sent, &motion, DT_S);
            let sprung = Wrench { force, torque: DVec3::ZERO };
            self.sent = self.books.passive(&sprung, &motion, DT_S);
        }

        fn force_n(&self) -> f64 {
            self.sent.force.z
        }
    }

    #[test]
    fn a_hand_that_holds_still_keeps_its_force() {
        let mut pressed = Pressed::known_at(1e-3);
        for _ in 0..4_000 {
            pressed.go(0.0);
        }
        assert_eq!(pressed.force_n(), STIFFNESS * 1e-3);
    }

    /// At any speed of the hand: the rest is the work of the sample in which it begins, and the debt forgotten
    /// meanwhile.
    #[test]
    fn a_hand_that_leaves_is_given_nothing_that_was_not_paid() {
        for speed_m_s in [0.001, 0.01, 0.1] {
            let mut pressed = Pressed::known_at(0.001);
            let owed_j = pressed.books.unpaid_j;
            while pressed.depth_m > 0.0 {
                pressed.go(speed_m_s * DT_S);
            }
            let first_j = STIFFNESS * 0.001 * speed_m_s * DT_S;
            let forgotten_j = owed_j * (1.0 - (-0.001 / speed_m_s / FORGOTTEN_S).exp());
            let most_j = 1.01 * (first_j + forgotten_j);
            assert!(pressed.given_j <= most_j, "{} J at {speed_m_s} m/s", pressed.given_j);
        }
    }

    #[test]
    fn what_was_paid_is_given_back() {
        let mut pressed = Pressed::known_at(0.0);
        let (step_m, n) = (1e-6, 2_000);
        for _ in 0..n {
            pressed.go(-step_m);
        }
        while pressed.depth_m > 0.0 {
            pressed.go(step_m);
            let due_n = STIFFNESS * (pressed.depth_m - step_m);
            assert!(pressed.depth_m < 5e-4 || pressed.force_n() > 0.97 * due_n, "{due_n} N");
        }
        // A force that is held over a sample is that of its beginning, for which the damping of the servo makes up.
        let sampled_j = STIFFNESS * step_m * step_m * f64::from(n);
        assert!(pressed.given_j.abs() <= 1.01 * sampled_j, "{} J", pressed.given_j);
    }

    /// A hand that goes in deeper pays for that, and for some of the rest.
    #[test]
    fn on_the_way_in_a_debt_is_paid() {
        let mut pressed = Pressed::known_at(1e-3);
        let owed_j = pressed.books.unpaid_j;
        assert!((owed_j - 0.5 * STIFFNESS * 1e-6).abs() < 1e-12);
        for _ in 0..100 {
            pressed.go(-1e-5);
            assert!(pressed.force_n() >= STIFFNESS * pressed.depth_m, "{}", pressed.force_n());
        }
        assert!(pressed.books.unpaid_j < 0.8 * owed_j, "{} of {owed_j}", pressed.books.unpaid_j);
    }

    /// Tissue that presses a hand that holds still has paid for the energy.
    #[test]
    fn what_tissue_puts_in_is_no_debt() {
        let mut books = EnergyBooks::of(&SPRING);
        let speed_m_s = 0.05;
        for k in 1..=400 {
            let depth_m = f64::from(k) * speed_m_s * DT_S;
            let stored = Stored {
                energy_j: 0.5 * STIFFNESS * depth_m * depth_m,
                by_tissue_w: STIFFNESS * depth_m * speed_m_s,
                ..Stored::default()
            };
            books.enter(stored, &Wrench::default(), &Motion::default(), DT_S);
        }
        assert!(books.unpaid_j <= 0.0, "{} J", books.unpaid_j);
    }
}
