//! A triangle clipped by half spaces.
//!
//! Sutherland and Hodgman, Reentrant polygon clipping, 1974, applied to the triangle's corners or to the weights of its
//! vertices.

use glam::DVec3;

/// Maximum corners after six cuts.
const CORNERS_MAX: usize = 15;

/// A triangle cut by half spaces: a convex polygon.
pub struct ClippedTriangle {
    /// Six cuts of a convex polygon add one corner each; a polygon that rounding has dented may get twice as many.
    corners: [DVec3; CORNERS_MAX],
    len: usize,
}

impl ClippedTriangle {
    /// The uncut triangle.
    pub fn new([a, b, c]: [DVec3; 3]) -> ClippedTriangle {
        let mut corners = [a; CORNERS_MAX];
        (corners[1], corners[2]) = (b, c);
        ClippedTriangle { corners, len: 3 }
    }

    /// Keeps the part that is not below 0; `height` is linear.
    pub fn clip(&mut self, height: impl Fn(DVec3) -> f64) {
        if self.corners().iter().all(|p| height(*p) >= 0.0) {
            return;
        }
        let (from, len) = (self.corners, self.len);
        self.len = 0;
        for i in 0..len {
            let [p, q] = [from[i], from[(i + 1) % len]];
            let (h, k) = (height(p), height(q));
            if h >= 0.0 {
                self.push(p);
            }
            if (h < 0.0) != (k < 0.0) {
                self.push(p.lerp(q, h / (h - k)));
            }
        }
    }

    fn push(&mut self, corner: DVec3) {
        debug_assert!(self.len < CORNERS_MAX, "{:?} has no room for {corner}", self.corners);
        self.corners[self.len] = corner;
        self.len += 1;
    }

    /// Corners of the remaining polygon, in order.
    pub fn corners(&self) -> &[DVec3] {
        &self.corners[..self.len]
    }

    /// Triangles that together are the remaining polygon.
    pub fn triangles(&self) -> impl Iterator<Item = [DVec3; 3]> + '_ {
        let corners = &self.corners[..self.len];
        corners.windows(2).skip(1).map(|pair| [corners[0], pair[0], pair[1]])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::Random;

    /// A point of the triangle is in the remaining part if it is on the right side of each cut.
    #[test]
    fn what_is_left_is_what_all_cuts_keep() {
        let seed = 17;
        println!("seed {seed}");
        let mut random = Random::new(seed);
        let (mut kept, mut cut) = (0, 0);
        for _ in 0..400 {
            let mut polygon = ClippedTriangle::new(DVec3::AXES);
            let cuts: Vec<(DVec3, f64)> =
                (0..6).map(|_| (random.unit_vector(), random.range(-0.2, 0.7))).collect();
            cuts.iter().for_each(|(n, d)| polygon.clip(|w| n.dot(w) + d));
            let left: Vec<[DVec3; 3]> = polygon.triangles().collect();
            for _ in 0..50 {
                let w = DVec3::new(random.f64(), random.f64(), random.f64());
                let w = w / w.element_sum();
                let least = cuts.iter().map(|(n, d)| n.dot(w) + d).fold(f64::INFINITY, f64::min);
                let side = |p: DVec3, q: DVec3| p.dot(q.cross(w));
                let is_in = |[a, b, c]: &[DVec3; 3]| {
                    [side(*a, *b), side(*b, *c), side(*c, *a)].iter().all(|s| *s >= 0.0)
                };
                // Points nearer to a border may count as either.
                if least.abs() > 1e-9 {
                    assert_eq!(left.iter().any(is_in), least > 0.0, "{w} {cuts:?}");
                    *(if least > 0.0 { &mut kept } else { &mut cut }) += 1;
                }
            }
        }
        assert!(kept > 1_000 && cut > 1_000, "{kept} kept, {cut} cut");
    }
}
