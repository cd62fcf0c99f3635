//! One elementary test through all filters, the cheap ones first.

use super::{
    coplanarity::Coplanarity,
    noncollinear::Outsides,
    separation::Separation,
    solve::{Solver, first_within},
    sweep::{Normal, Sweep},
};

/// What proved two features apart during the whole step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Culled {
    /// A coordinate axis.
    Axis,
    /// Their points are never in one plane.
    Coplanarity,
    /// One stays outside a line of the other.
    NonCollinear,
    /// Subdivision, or advancement where there is a thickness.
    Subdivision,
}

/// The outcome of one elementary test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Verdict {
    /// No contact, certainly.
    Apart(Culled),
    /// First contact at this time of the step, in [0, 1]: never later than the true one. Features that pass within
    /// rounding of each other count as touching.
    Touching(f64),
}

impl Verdict {
    /// The time of first contact.
    pub fn toi(self) -> Option<f64> {
        match self {
            Verdict::Apart(_) => None,
            Verdict::Touching(toi) => Some(toi),
        }
    }

    fn of(toi: Option<f64>) -> Verdict {
        toi.map_or(Verdict::Apart(Culled::Subdivision), Verdict::Touching)
    }
}

pub(super) fn judge(sweep: &Sweep, thickness: f64) -> Verdict {
    debug_assert!(thickness >= 0.0, "thickness {thickness}");
    if sweep.axes.separate(thickness) {
        return Verdict::Apart(Culled::Axis);
    }
    let extent = sweep.extent();
    let separation = Separation::new(sweep, extent, thickness);
    if thickness > 0.0 {
        // The polynomials only know contact at distance zero.
        return Verdict::of(first_within(&separation));
    }
    let n = Normal::of(&sweep.u, &sweep.v);
    let plane = Coplanarity::new(sweep, &n, extent);
    if plane.culls() {
        return Verdict::Apart(Culled::Coplanarity);
    }
    let Some(outsides) = Outsides::new(sweep, &n, extent) else {
        return Verdict::Apart(Culled::NonCollinear);
    };
    Verdict::of(Solver::new(&plane, &outsides, &separation).first_touch())
}
