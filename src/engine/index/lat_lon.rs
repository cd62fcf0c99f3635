//! Selection of a triangle's list: bands along an axis, and sectors around it.
//!
//! The grid is frozen between rebuilds, so a cell is a function of a centroid alone. The grid never affects a query's
//! result, only the number of nodes that it visits.

use std::f32::consts::PI;

use glam::{DMat3, DVec3, Mat3, Vec3};
use serde::{Deserialize, Serialize};

use crate::geometry::{Aabb, TriangleMesh};

/// Layout options of a surface's index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LatLonOptions {
    /// Direction of latitude; `None`: the coordinate axis along which the surface is longest.
    pub latitude_axis: Option<DVec3>,
    /// Height of a band in mean edge lengths; `None`: 64.
    pub band_edges: Option<f64>,
}

/// Default height of a band in mean edge lengths. The source has 1, and one list a band that is sorted by longitude.
// Thin bands overlap if the surface lies along them. A cold point about the 70 k liver visits 10.5 runs and 6.1 leaves
// with bands of 16 edges, 8.7 and 5.9 with 64, and as many if all is one list.
pub const BAND_EDGES: f64 = 64.0;

/// Maximum bands of a grid, and maximum sectors of a band. A mesh like a needle gets higher bands instead of a table of
/// empty lists.
const BANDS_MAX: usize = 64;
const SECTORS_MAX: usize = 64;

/// Maximum lists of a grid.
pub(super) const CELLS_MAX: usize = BANDS_MAX * SECTORS_MAX;

/// Latitude bands around an axis.
#[derive(Clone, Debug)]
pub(super) struct LatLonGrid {
    /// Rows: two directions across, then latitude.
    local_from_mesh: Mat3,
    top: f32,
    bands_per_metre: f32,
    bands: Vec<BandCentre>,
}

#[derive(Clone, Copy, Debug, Default)]
struct BandCentre {
    x: f32,
    y: f32,
    sectors: f32,
    /// Cell of the band's first sector; the others follow.
    first_cell: u32,
}

impl LatLonGrid {
    pub(super) fn heap_bytes(&self) -> usize {
        size_of::<BandCentre>() * self.bands.capacity()
    }

    pub(super) fn new(mesh: &TriangleMesh, options: &LatLonOptions) -> LatLonGrid {
        let centroids: Vec<Vec3> =
            mesh.triangle_ids().map(|t| centroid(&mesh.corners(t))).collect();
        // Latitude along the longest axis gives the most bands, and so the fewest triangles in each.
        let local_from_mesh = axes(&centroids, options).transpose().as_mat3();
        let height = |c: &Vec3| (local_from_mesh * *c).z;
        let (bottom, top) = centroids
            .iter()
            .map(height)
            .fold((f32::INFINITY, f32::NEG_INFINITY), |(a, b), z| (a.min(z), b.max(z)));
        let band_edges = options.band_edges.unwrap_or(BAND_EDGES);
        // Heights are infinite and reversed if there is no triangle.
        let length = (top - bottom).max(0.0);
        let band_height = ((band_edges * mesh.mean_edge()) as f32).max(length / BANDS_MAX as f32);
        // A surface without height, or one so small that its bands to a metre overflow, is one band.
        let per_metre = 1.0 / band_height;
        let bands_per_metre = if per_metre.is_finite() { per_metre } else { 0.0 };
        let n_bands = ((length * bands_per_metre) as usize + 1).min(BANDS_MAX);
        let bands = vec![BandCentre::default(); n_bands];
        let mut grid = LatLonGrid { local_from_mesh, top, bands_per_metre, bands };
        grid.centre_bands(&centroids, band_height);
        grid
    }

    pub(super) fn n_cells(&self) -> usize {
        self.bands.last().map_or(0, |band| (band.first_cell + band.sectors as u32) as usize)
    }

    /// Cell of a centroid.
    pub(super) fn locate(&self, centroid: Vec3) -> u32 {
        let p = self.local_from_mesh * centroid;
        let BandCentre { x, y, sectors, first_cell } = self.bands[self.band(p)];
        let sector = (longitude(p.x - x, p.y - y) * sectors).min(sectors - 1.0) as u32;
        debug_assert!((first_cell + sector) < self.n_cells() as u32, "sector {sector}");
        first_cell + sector
    }

    /// Band of a point in the grid's frame.
    fn band(&self, p: Vec3) -> usize {
        debug_assert!(p.is_finite(), "{p}");
        // The last band also takes points that have moved below it, the first points that have moved above: any point
        // has a band.
        let latitude = (self.top - p.z) * self.bands_per_metre;
        (latitude as usize).min(self.bands.len() - 1)
    }

    fn centre_bands(&mut self, centroids: &[Vec3], band_height: f32) {
        let mut sums = vec![(0.0, 0.0, 0.0); self.bands.len()];
        let local: Vec<Vec3> = centroids.iter().map(|c| self.local_from_mesh * *c).collect();
        for p in &local {
            let sum = &mut sums[self.band(*p)];
            *sum = (sum.0 + f64::from(p.x), sum.1 + f64::from(p.y), sum.2 + 1.0);
        }
        // An empty band takes its neighbour's centre.
        let mut centre = (0.0, 0.0);
        for (band, (x, y, n)) in self.bands.iter_mut().zip(&sums) {
            if *n > 0.0 {
                centre = ((x / n) as f32, (y / n) as f32);
            }
            (band.x, band.y) = centre;
        }
        // Sectors of a band are as wide as the band is high, at the mean radius: cells are then about as long as high.
        let mut radii = vec![0.0f32; self.bands.len()];
        for p in &local {
            let band = self.band(*p);
            let (x, y) = (p.x - self.bands[band].x, p.y - self.bands[band].y);
            // Squares of f32 are exact in f64 and do not overflow.
            let squares = [x, y].map(|c| f64::from(c) * f64::from(c));
            radii[band] += (squares[0] + squares[1]).sqrt() as f32;
        }
        let mut first_cell = 0;
        for ((band, sum), (_, _, n)) in self.bands.iter_mut().zip(radii).zip(sums) {
            let mean = if n > 0.0 { sum / n as f32 } else { 0.0 };
            let around = if band_height > 0.0 { 2.0 * PI * mean / band_height } else { 0.0 };
            band.sectors = around.round().clamp(1.0, SECTORS_MAX as f32);
            band.first_cell = first_cell;
            first_cell += band.sectors as u32;
        }
    }
}

/// Longitude as a share of a turn in [0, 1], rising with atan2(y, x) but without its cost: sectors of equal
/// share differ in angle by at most a factor of 2. On the axis itself it is 0.
fn longitude(x: f32, y: f32) -> f32 {
    let sum = x.abs() + y.abs();
    if sum == 0.0 {
        return 0.0;
    }
    let quarter = y / sum;
    let turn = if x < 0.0 { 2.0 - quarter } else { quarter + 4.0 * f32::from(y < 0.0) };
    debug_assert!((0.0..=4.0).contains(&turn), "{turn} quarters at {x}, {y}");
    turn * 0.25
}

pub(super) fn centroid([a, b, c]: &[Vec3; 3]) -> Vec3 {
    (*a + *b + *c) / 3.0
}

/// Columns: two directions across, then latitude.
fn axes(centroids: &[Vec3], options: &LatLonOptions) -> DMat3 {
    match options.latitude_axis.and_then(DVec3::try_normalize) {
        Some(axis) => {
            let x = axis.any_orthonormal_vector();
            DMat3::from_cols(x, axis.cross(x), axis)
        }
        // Not the longest principal axis: boxes of bands oblique to the coordinate axes overlap, and a cold point about
        // the 70 k liver visits 12.6 runs and 10.4 leaves instead of 8.7 and 5.9.
        None => {
            let size = Aabb::of_points(centroids.iter().copied()).size();
            let [x, y, z] = DVec3::AXES;
            if size.x >= size.y && size.x >= size.z {
                DMat3::from_cols(y, z, x)
            } else if size.y >= size.z {
                DMat3::from_cols(z, x, y)
            } else {
                DMat3::from_cols(x, y, z)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::shapes;

    #[test]
    fn a_surface_of_denormal_size_is_one_band() {
        let mut data = shapes::sphere(1.0, 2);
        data.positions.iter_mut().for_each(|p| *p *= 1e-40);
        let mesh = TriangleMesh::new(data);
        let grid = LatLonGrid::new(&mesh, &LatLonOptions::default());
        assert_eq!(grid.n_cells(), 1);
        assert!(mesh.triangle_ids().all(|t| grid.locate(centroid(&mesh.corners(t))) == 0));
    }

    #[test]
    fn longitude_rises_around_the_axis() {
        let turn = |i: i32| f64::from(i).to_radians();
        let shares: Vec<f32> =
            (0..360).map(|i| longitude(turn(i).cos() as f32, turn(i).sin() as f32)).collect();
        assert!(shares.windows(2).all(|w| w[0] < w[1]), "{shares:?}");
        assert!(shares[0] >= 0.0 && shares[359] < 1.0);
        assert_eq!(longitude(0.0, 0.0), 0.0);
    }
}
