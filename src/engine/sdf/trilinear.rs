//! Interpolation between the eight corners of a box.

use glam::DVec3;

/// Value at `s`, 0 to 1 on each axis, and its slope along each, for corners whose bit k is the upper one on axis k.
#[inline(always)]
pub(super) fn trilinear(d: &[f64; 8], s: DVec3) -> (f64, DVec3) {
    let mix = |a: f64, b: f64, t: f64| a + (b - a) * t;
    // Slopes are by-products: the value needs the differences anyway.
    let along_x = [0, 2, 4, 6].map(|k| d[k + 1] - d[k]);
    let x = [0, 1, 2, 3].map(|k| d[2 * k] + along_x[k] * s.x);
    let y = [mix(x[0], x[1], s.y), mix(x[2], x[3], s.y)];
    let dx = mix(mix(along_x[0], along_x[1], s.y), mix(along_x[2], along_x[3], s.y), s.z);
    let dy = mix(x[1] - x[0], x[3] - x[2], s.z);
    (mix(y[0], y[1], s.z), DVec3::new(dx, dy, y[1] - y[0]))
}
