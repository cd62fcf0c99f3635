//! Where a triangle is filed: bands along an axis, sectors and radii around it.
//!
//! Frozen between rebuilds, so a key is a function of a centroid alone. Nothing here bears on what a query
//! finds, only on how much it visits.

use std::f32::consts::PI;

use glam::{DMat3, DVec3, Mat3, Vec3};

use super::leaf::FilingKey;
use crate::geometry::{TriangleMesh, principal_axes::principal_axes};

/// How a surface is laid out in its index.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LatLonOptions {
    /// Direction of latitude; `None`: the longest principal axis.
    pub latitude_axis: Option<DVec3>,
    /// Height of a band in mean edge lengths; `None`: 8.
    pub band_edges: Option<f64>,
}

/// Height of a band in mean edge lengths. The source has 1; with cells in which neighbours stay neighbours,
/// measured best is 8 to 16.
pub const BAND_EDGES: f64 = 8.0;

/// Most bands of a grid. A mesh like a needle gets higher bands instead of a table of empty ones.
pub(super) const BANDS_MAX: usize = 4096;

/// Bits of a key: sector, cell along the radius, and place in the cell along each of its sides.
const SECTOR_BITS: u32 = 12;
const RADIUS_BITS: u32 = 8;
const STEP_BITS: u32 = 4;
const _: () = assert!(SECTOR_BITS + RADIUS_BITS + 3 * STEP_BITS == FilingKey::BITS);

const SECTORS_MAX: f32 = (1 << SECTOR_BITS) as f32;
const RADIUS_MAX: f32 = ((1 << RADIUS_BITS) - 1) as f32;
const STEPS: f32 = (1 << STEP_BITS) as f32;
/// A triangle may leave its band by this share of the band's height before it is filed elsewhere, so that
/// a trembling surface is not filed back and forth.
const BAND_OVERHANG: f32 = 0.25;

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
}

impl LatLonGrid {
    pub(super) fn heap_bytes(&self) -> usize {
        size_of::<BandCentre>() * self.bands.capacity()
    }

    pub(super) fn new(mesh: &TriangleMesh, options: &LatLonOptions) -> LatLonGrid {
        let centroids = || mesh.triangle_ids().map(|t| centroid(&mesh.corners(t)));
        // Latitude along the longest axis gives the most bands, and so the least to look through in each.
        let local_from_mesh = axes(mesh, options).transpose().as_mat3();
        let height = |c: Vec3| (local_from_mesh * c).z;
        let (bottom, top) = centroids()
            .map(height)
            .fold((f32::INFINITY, f32::NEG_INFINITY), |(a, b), z| (a.min(z), b.max(z)));
        let band_edges = options.band_edges.unwrap_or(BAND_EDGES);
        // Heights are infinite the wrong way round where there is no triangle.
        let length = (top - bottom).max(0.0);
        let band_height = ((band_edges * mesh.mean_edge()) as f32).max(length / BANDS_MAX as f32);
        // A surface without height, or so small that its bands to a metre overflow, is one band.
        let per_metre = 1.0 / band_height;
        let bands_per_metre = if per_metre.is_finite() { per_metre } else { 0.0 };
        let n_bands = ((length * bands_per_metre) as usize + 1).min(BANDS_MAX);
        let mut grid = LatLonGrid {
            local_from_mesh,
            top,
            bands_per_metre,
            bands: vec![BandCentre::default(); n_bands],
        };
        grid.centre_bands(&centroids().collect::<Vec<_>>(), band_height);
        grid
    }

    pub(super) fn n_bands(&self) -> usize {
        self.bands.len()
    }

    /// The band and key of a centroid.
    pub(super) fn locate(&self, centroid: Vec3) -> (usize, FilingKey) {
        debug_assert!(centroid.is_finite(), "{centroid}");
        // The last band also takes what has moved below it, the first what has moved above: any point has a band.
        let p = self.local_from_mesh * centroid;
        let band = (self.latitude(p.z) as usize).min(self.bands.len() - 1);
        debug_assert!(band < self.n_bands(), "band {band} of {}", self.n_bands());
        (band, self.key(band, p))
    }

    /// The key of a centroid in a band that it is filed in, unless it has left that band.
    pub(super) fn key_in_band(&self, centroid: Vec3, band: usize) -> Option<FilingKey> {
        let p = self.local_from_mesh * centroid;
        let above = band as f32 - self.latitude(p.z);
        let outside = (above > BAND_OVERHANG && band > 0)
            || (above < -1.0 - BAND_OVERHANG && band + 1 < self.bands.len());
        (!outside).then(|| self.key(band, p))
    }

    /// The cell of a point, sector by sector and each outwards, then where in the cell: along longitude,
    /// latitude and radius in turn, a bit each (Morton's order), so that neighbours in the list are neighbours
    /// in space in all three. Every other sector goes inwards, so that they are across a change of sector too.
    fn key(&self, band: usize, p: Vec3) -> FilingKey {
        let BandCentre { x, y, sectors } = self.bands[band];
        let (dx, dy) = (p.x - x, p.y - y);
        // Longitude as a diamond angle instead of atan2: monotonic in it and free of its cost.
        let around = longitude(dx, dy) * sectors;
        let sector = around.min(sectors - 1.0) as u32;
        let radius = ((dx * dx + dy * dy).sqrt() * self.bands_per_metre).min(RADIUS_MAX);
        let cell = radius as u32;
        let depth = self.latitude(p.z) - band as f32;
        let place =
            spread(around - sector as f32) << 2 | spread(depth) << 1 | spread(radius - cell as f32);
        // Every other sector runs inwards: where one ends the next begins at the same radius.
        let cell = if sector.is_multiple_of(2) { cell } else { RADIUS_MAX as u32 - cell };
        debug_assert!(
            cell <= RADIUS_MAX as u32 && (sector as f32) < SECTORS_MAX,
            "{sector}, {cell}"
        );
        (sector << RADIUS_BITS | cell) << (3 * STEP_BITS) | place
    }

    /// Bands below the top; fractional, may be negative.
    fn latitude(&self, z: f32) -> f32 {
        (self.top - z) * self.bands_per_metre
    }

    fn centre_bands(&mut self, centroids: &[Vec3], band_height: f32) {
        let mut sums = vec![(0.0, 0.0, 0.0); self.bands.len()];
        let local: Vec<(usize, Vec3)> =
            centroids.iter().map(|c| (self.locate(*c).0, self.local_from_mesh * *c)).collect();
        for (band, p) in &local {
            let sum = &mut sums[*band];
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
        // Sectors of a band are as wide as the band is high, at the mean radius: cells are then about as long as
        // high.
        let mut radii = vec![0.0f32; self.bands.len()];
        for (band, p) in &local {
            radii[*band] += (p.x - self.bands[*band].x).hypot(p.y - self.bands[*band].y);
        }
        for ((band, sum), (_, _, n)) in self.bands.iter_mut().zip(radii).zip(sums) {
            let mean = if n > 0.0 { sum / n as f32 } else { 0.0 };
            let around = if band_height > 0.0 { 2.0 * PI * mean / band_height } else { 0.0 };
            band.sectors = around.ceil().clamp(1.0, SECTORS_MAX);
        }
    }
}

/// A share of a cell's side in [`STEPS`], two places left free behind each bit.
fn spread(share: f32) -> FilingKey {
    let step = (share * STEPS).clamp(0.0, STEPS - 1.0) as FilingKey;
    (0..STEP_BITS).fold(0, |spread, bit| spread | (step >> bit & 1) << (3 * bit))
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
fn axes(mesh: &TriangleMesh, options: &LatLonOptions) -> DMat3 {
    let [long, across, other] = {
        let centroids: Vec<DVec3> =
            mesh.triangle_ids().map(|t| centroid(&mesh.corners(t)).as_dvec3()).collect();
        let m = principal_axes(&centroids);
        [m.x_axis, m.y_axis, m.z_axis]
    };
    match options.latitude_axis.and_then(DVec3::try_normalize) {
        Some(axis) => {
            let x = axis.any_orthonormal_vector();
            DMat3::from_cols(x, axis.cross(x), axis)
        }
        None => DMat3::from_cols(across, other, long),
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
        assert_eq!(grid.n_bands(), 1);
        assert!(mesh.triangle_ids().all(|t| grid.locate(centroid(&mesh.corners(t))).0 == 0));
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
