//! Principal axes of a point cloud.

use glam::{DMat3, DVec3};

/// Unit eigenvectors of the points' covariance as columns, widest spread first, right-handed. Ties keep
/// x, y, z order.
pub fn principal_axes(points: &[DVec3]) -> DMat3 {
    let n = points.len().max(1) as f64;
    let mean = points.iter().sum::<DVec3>() / n;
    let mut c = [[0.0; 3]; 3];
    for p in points {
        let d = (*p - mean).to_array();
        for i in 0..3 {
            for j in 0..3 {
                c[i][j] += d[i] * d[j] / n;
            }
        }
    }
    let (values, vectors) = eigen_symmetric(c);
    let mut order = [0, 1, 2];
    order.sort_by(|&i, &j| values[j].total_cmp(&values[i]));
    // The third axis follows from the other two, so that the frame is right-handed for any signs from Jacobi's method.
    let (first, second) = (vectors[order[0]], vectors[order[1]]);
    DMat3::from_cols(first, second, first.cross(second))
}

/// Jacobi rotations: (eigenvalues, unit eigenvectors). Converges quadratically; 3 x 3 needs few sweeps.
fn eigen_symmetric(mut c: [[f64; 3]; 3]) -> ([f64; 3], [DVec3; 3]) {
    // A limit for points with NaN: the off-diagonal part then never compares as small.
    const SWEEPS_MAX: usize = 32;
    let mut v = DMat3::IDENTITY.to_cols_array_2d();
    for _ in 0..SWEEPS_MAX {
        let off = c[0][1].abs() + c[0][2].abs() + c[1][2].abs();
        if off <= f64::EPSILON * (c[0][0].abs() + c[1][1].abs() + c[2][2].abs()) {
            break;
        }
        for (p, q) in [(0, 1), (0, 2), (1, 2)] {
            // No rotation is needed, and theta would be infinite or NaN.
            if c[p][q] == 0.0 {
                continue;
            }
            let theta = (c[q][q] - c[p][p]) / (2.0 * c[p][q]);
            // The smaller of two possible angles: rotations then converge.
            let t = theta.signum() / (theta.abs() + (theta * theta + 1.0).sqrt());
            let cos = 1.0 / (t * t + 1.0).sqrt();
            let sin = t * cos;
            for row in &mut c {
                (row[p], row[q]) = (cos * row[p] - sin * row[q], sin * row[p] + cos * row[q]);
            }
            let (row_p, row_q) = (c[p], c[q]);
            for k in 0..3 {
                c[p][k] = cos * row_p[k] - sin * row_q[k];
                c[q][k] = sin * row_p[k] + cos * row_q[k];
            }
            let (col_p, col_q) = (v[p], v[q]);
            for k in 0..3 {
                v[p][k] = cos * col_p[k] - sin * col_q[k];
                v[q][k] = sin * col_p[k] + cos * col_q[k];
            }
        }
    }
    ([c[0][0], c[1][1], c[2][2]], v.map(|a| DVec3::from_array(a).normalize()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_long_axis_of_a_turned_box() {
        let turn = DMat3::from_euler(glam::EulerRot::XYZ, 0.3, -0.7, 1.1);
        let turned = |i: i32| {
            let s = |k: i32| f64::from(i / k % 10) - 4.5;
            turn * DVec3::new(s(1) * 3.0, s(10) * 2.0, s(100))
        };
        let axes = principal_axes(&(0..1000).map(turned).collect::<Vec<_>>());
        for k in 0..3 {
            assert!((axes.col(k).dot(turn.col(k)).abs() - 1.0).abs() < 1e-12, "axis {k}: {axes:?}");
        }
        assert!((axes.determinant() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn one_point_has_axes_too() {
        assert_eq!(principal_axes(&[DVec3::ONE]), DMat3::IDENTITY);
    }
}
