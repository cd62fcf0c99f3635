//! Bounds how far a displacement moves the points of a tool, and the error of its first order.

use glam::DVec3;

use super::{
    posture::{FIRST_LINK, LinkScrews},
    quadratic_programme::Displacement,
};

/// Effect of a displacement on the points of a tool that reaches `radius` metres from its hold point.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    /// Upper bound of the motion of any point, metres.
    pub length_m: f64,
    /// Upper bound of the deviation of any point from its position to first order in the coordinates, metres.
    pub curved_m: f64,
}

impl Extent {
    /// Computes the extent for a tool whose points are no farther than `radius` metres from its hold point.
    pub fn of(x: &Displacement, screws: &LinkScrews, radius: f64) -> Extent {
        let shift = DVec3::new(x[0], x[1], x[2]).length();
        let angle = DVec3::new(x[3], x[4], x[5]).length();
        let (mut lag, mut link_angle) = (0.0f64, 0.0f64);
        for (x, screw) in x[FIRST_LINK..].iter().zip(screws) {
            lag = lag.max(x.abs());
            link_angle = link_angle.max(x.abs() * screw.map_or(0.0, |s| s.turn.length()));
        }
        // The hold point moves straight and evenly. A point r from it has the acceleration a^2 r of the rotation by a,
        // 2 a l of a link that moves l meanwhile, and b l of a link that turns by b; half of it is the second-order
        // term.
        let reach = radius + lag;
        let acceleration = angle * angle * reach + 2.0 * angle * lag + link_angle * lag;
        Extent { length_m: shift + angle * reach + lag, curved_m: 0.5 * acceleration }
    }

    /// Returns the greatest share of the displacement with which no point moves farther than `margin` metres,
    /// second-order terms included; at most 1.
    pub fn share_within(&self, margin: f64) -> f64 {
        debug_assert!(margin >= 0.0, "{margin} m");
        let whole = self.length_m + self.curved_m;
        // s l + s^2 c <= s (l + c) for s <= 1.
        if whole <= margin { 1.0 } else { margin / whole }
    }
}
