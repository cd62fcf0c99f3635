//! The elementary test of two features: all filters, cheapest first.

use super::{
    coplanarity::Coplanarity,
    moving_features::{MovingFeatures, MovingNormal},
    noncollinear::Outsides,
    separation::Separation,
    solve::{Solver, first_within},
    step_budget::StepBudget,
};

/// Filter that proved two features apart during the whole step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Culled {
    /// A coordinate axis.
    Axis,
    /// The features' points are never in one plane.
    Coplanarity,
    /// A feature stays outside a line of the other.
    NonCollinear,
    /// Subdivision, or advancement if there is a thickness.
    Subdivision,
}

/// The outcome of one elementary test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FeatureVerdict {
    /// No contact, certainly.
    Apart(Culled),
    /// First contact at this time of the step, in [0, 1]: never later than the true one. Features that pass within
    /// rounding of each other count as touching.
    Touching(f64),
}

impl FeatureVerdict {
    /// The time of first contact.
    pub fn toi(self) -> Option<f64> {
        match self {
            FeatureVerdict::Apart(_) => None,
            FeatureVerdict::Touching(toi) => Some(toi),
        }
    }

    fn of(toi: Option<f64>) -> FeatureVerdict {
        debug_assert!(toi.is_none_or(|t| (0.0..=1.0).contains(&t)), "{toi:?}");
        toi.map_or(FeatureVerdict::Apart(Culled::Subdivision), FeatureVerdict::Touching)
    }
}

/// `budget`: the step budget of the features' pair of triangles.
pub(super) fn judge(
    moving: &MovingFeatures,
    thickness: f64,
    budget: &mut StepBudget,
) -> FeatureVerdict {
    debug_assert!(thickness >= 0.0, "thickness {thickness}");
    if moving.axes.separate(thickness) {
        return FeatureVerdict::Apart(Culled::Axis);
    }
    // Cheap filters come first: each costs more than the one before it and sees only the pairs left by those.
    let extent = moving.extent();
    let separation = Separation::new(moving, extent, thickness);
    if thickness > 0.0 {
        // The polynomials only detect contact at distance zero.
        return FeatureVerdict::of(first_within(&separation, budget));
    }
    let n = MovingNormal::of(&moving.u, &moving.v);
    let plane = Coplanarity::new(moving, &n, extent);
    if plane.culls() {
        return FeatureVerdict::Apart(Culled::Coplanarity);
    }
    let Some(outsides) = Outsides::new(moving, &n, extent) else {
        return FeatureVerdict::Apart(Culled::NonCollinear);
    };
    FeatureVerdict::of(Solver::new(&plane, &outsides, &separation).first_touch(budget))
}
