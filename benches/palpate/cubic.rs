//! The usual continuous test, as a peer: roots of the coplanarity cubic in `f64`, and at each a test if the features
//! meet there. It misses motion in one plane, and contacts that rounding moves off an edge.

use glam::DVec3;

/// Returns the first contact of (vertex, a, b, c).
pub fn vertex_face(t0: &[DVec3; 4], t1: &[DVec3; 4]) -> Option<f64> {
    let at = |t: f64| -> [DVec3; 4] { std::array::from_fn(|k| t0[k].lerp(t1[k], t)) };
    first_root(t0, t1, |t| {
        let [p, a, b, c] = at(t);
        let n = (b - a).cross(c - a);
        let side = |u: DVec3, v: DVec3| (v - u).cross(p - u).dot(n) >= 0.0;
        side(a, b) && side(b, c) && side(c, a)
    })
}

/// Returns the first contact of edges (a, b) and (c, d).
pub fn edge_edge(t0: &[DVec3; 4], t1: &[DVec3; 4]) -> Option<f64> {
    let at = |t: f64| -> [DVec3; 4] { std::array::from_fn(|k| t0[k].lerp(t1[k], t)) };
    first_root(t0, t1, |t| {
        let [a, b, c, d] = at(t);
        let n = (b - a).cross(d - c);
        let nn = n.length_squared();
        let (s, w) = ((c - a).cross(d - c).dot(n), (c - a).cross(b - a).dot(n));
        nn > 0.0 && (0.0..=nn).contains(&s) && (0.0..=nn).contains(&w)
    })
}

/// Returns the least root in [0, 1] of the volume of the four points at which they touch.
fn first_root(t0: &[DVec3; 4], t1: &[DVec3; 4], touches: impl Fn(f64) -> bool) -> Option<f64> {
    let from = |k: usize| t0[k] - t0[0];
    let by = |k: usize| (t1[k] - t1[0]) - from(k);
    let (a, b, c) = (from(1), from(2), from(3));
    let (u, v, w) = (by(1), by(2), by(3));
    let k0 = a.dot(b.cross(c));
    let k1 = u.dot(b.cross(c)) + a.dot(v.cross(c)) + a.dot(b.cross(w));
    let k2 = u.dot(v.cross(c)) + u.dot(b.cross(w)) + a.dot(v.cross(w));
    let k3 = u.dot(v.cross(w));
    let value = |t: f64| ((k3 * t + k2) * t + k1) * t + k0;
    let mut ends = [0.0, 1.0, 1.0, 1.0];
    let mut n = 1;
    for turn in turning_points(3.0 * k3, 2.0 * k2, k1) {
        if turn > 0.0 && turn < 1.0 {
            ends[n] = turn;
            n += 1;
        }
    }
    let roots = ends[..=n].windows(2).filter_map(|e| root_between(e[0], e[1], &value));
    roots.into_iter().find(|t| touches(*t))
}

/// Returns the turning points in ascending order; infinite if there are none.
fn turning_points(a: f64, b: f64, c: f64) -> [f64; 2] {
    let discriminant = b * b - 4.0 * a * c;
    if discriminant < 0.0 {
        return [f64::INFINITY; 2];
    }
    let q = -0.5 * (b + discriminant.sqrt().copysign(b));
    let (r, s) = (q / a, c / q);
    if r < s { [r, s] } else { [s, r] }
}

/// Finds a root by secants (the Illinois rule: an end that stays counts half).
fn root_between(mut low: f64, mut high: f64, value: &impl Fn(f64) -> f64) -> Option<f64> {
    let (at_low, at_high) = (value(low), value(high));
    if at_low == 0.0 {
        return Some(low);
    }
    if at_low * at_high > 0.0 {
        return None;
    }
    let (mut f_low, mut f_high) = (at_low, at_high);
    for _ in 0..60 {
        let t = (low * f_high - high * f_low) / (f_high - f_low);
        let f = value(t);
        if f == 0.0 || high - low < 1e-15 {
            return Some(t);
        }
        if (f > 0.0) == (f_high > 0.0) {
            (high, f_high, f_low) = (t, f, 0.5 * f_low);
        } else {
            (low, f_low, f_high) = (t, f, 0.5 * f_high);
        }
        if f.abs() < 1e-17 * at_low.abs().max(at_high.abs()) {
            return Some(t);
        }
    }
    Some(0.5 * (low + high))
}
