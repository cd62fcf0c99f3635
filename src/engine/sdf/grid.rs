//! A subspace: samples on a regular grid, with a cell between every eight of them.

use glam::{DVec3, UVec3};
use serde::{Deserialize, Serialize};

use super::{
    candidate_lists::CandidateLists,
    cell::{Cell, Classified, PackedCell, classify},
    exact::{Corner, Exact, ExactDistance},
    region::Region,
    source::FieldSource,
};
use crate::geometry::TriangleId;

/// A box of the link with its samples.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Grid {
    pub(super) region: Region,
    /// Samples on each axis, at least 3.
    pub(super) dims: UVec3,
    /// Distance between samples on each axis, metres.
    pub(super) step: DVec3,
    /// Grid units of `local_from_link`: sample (i, j, k) is at (i, j, k).
    pub(super) per_metre: DVec3,
    /// Signed distances, x fastest.
    pub(super) samples: Vec<f32>,
    /// Cells, one fewer than samples on each axis, x fastest.
    pub(super) cells: Vec<PackedCell>,
    pub(super) lists: CandidateLists,
    /// Largest rounding error of a stored sample, metres.
    pub(super) rounding: f64,
}

/// Minimum samples on an axis: the source's minimum.
const SAMPLES_MIN: u32 = 3;
/// A leaf is split further while more than this share of its cells is wide or has a list longer than `LIST_GOOD`.
const POOR_SHARE_MAX: f64 = 0.2;
/// A list longer than this costs more search time than smaller cells cost memory.
const LIST_GOOD: usize = 12;

impl Grid {
    /// Builds a grid with samples in proportion to the region's vertices.
    pub(super) fn build(source: &FieldSource, region: Region, n_vertices: u32) -> Grid {
        let options = source.options;
        let n = options.samples_per_vertex * f64::from(n_vertices);
        let step = (region.volume() / n.max(options.samples_min)).cbrt();
        Grid::sample(source, region, step)
    }

    /// Returns true if the leaf should be split further.
    pub(super) fn is_poor(&self, tolerance: f64) -> bool {
        self.poor_share(tolerance) > POOR_SHARE_MAX
    }

    fn sample(source: &FieldSource, region: Region, step: f64) -> Grid {
        debug_assert!(step > 0.0, "{step} m between samples of {region:?}");
        let size = region.size();
        // Steps divide the region evenly on each axis, so that samples of neighbouring regions need not match.
        let cells_on = |w: f64| (w / step).ceil().clamp(f64::from(SAMPLES_MIN - 1), 1e6) as u32;
        let cells = UVec3::new(cells_on(size.x), cells_on(size.y), cells_on(size.z));
        let step = size / cells.as_dvec3();
        let dims = cells + 1;
        let mut grid = Grid {
            region,
            dims,
            step,
            per_metre: step.recip(),
            samples: Vec::new(),
            cells: Vec::with_capacity(cells.element_product() as usize),
            lists: CandidateLists::new(source.mesh.triangle_id_end()),
            rounding: 0.0,
        };
        debug_assert!(dims.cmpge(UVec3::splat(SAMPLES_MIN)).all(), "{dims} samples");
        let mut corners: Vec<Corner> = Vec::with_capacity(dims.element_product() as usize);
        for i in indices(dims) {
            // The nearest triangle of the previous sample is near this one too.
            let last = corners.last().map(|c| c.triangle);
            corners.push(grid.corner(source.exact, i, last));
        }
        grid.samples = corners.iter().map(|c| c.signed_distance as f32).collect();
        let largest = corners.iter().map(|c| c.signed_distance.abs()).fold(0.0, f64::max);
        // One rounding to f32 for each sample; interpolation with weights that sum to one loses no more than the worst
        // corner.
        grid.rounding = largest * f64::from(f32::EPSILON);
        for i in indices(cells) {
            let around: [Corner; 8] =
                std::array::from_fn(|k| corners[grid.sample_index(i + offset(k))]);
            let cell = grid.cell_region(i);
            let cell = match classify(source, &cell, &around) {
                Classified::Cell(cell) => cell,
                Classified::List(list) => Cell::List(grid.lists.add(&list)),
            };
            grid.cells.push(PackedCell::of(cell));
        }
        grid.lists.shrink();
        grid
    }

    fn corner(&self, exact: &Exact, i: UVec3, near: Option<TriangleId>) -> Corner {
        let at = self.region.min + i.as_dvec3() * self.step;
        let ExactDistance { signed_distance, triangle, winding } = (exact.distance)(at, near);
        Corner { at, signed_distance, triangle, winding }
    }

    fn cell_region(&self, i: UVec3) -> Region {
        let min = self.region.min + i.as_dvec3() * self.step;
        Region { min, max: min + self.step }
    }

    pub(super) fn sample_index(&self, i: UVec3) -> usize {
        debug_assert!(i.cmplt(self.dims).all(), "sample {i} of {}", self.dims);
        (i.x + self.dims.x * (i.y + self.dims.y * i.z)) as usize
    }

    pub(super) fn cell_index(&self, i: UVec3) -> usize {
        debug_assert!((i + 1).cmplt(self.dims).all(), "cell {i} of {}", self.dims - 1);
        (i.x + (self.dims.x - 1) * (i.y + (self.dims.y - 1) * i.z)) as usize
    }

    pub(super) fn cells(&self) -> impl Iterator<Item = Cell> + '_ {
        self.cells.iter().map(|cell| cell.get())
    }

    /// Share of cells that should be smaller.
    fn poor_share(&self, tolerance: f64) -> f64 {
        let poor = |cell: &Cell| match cell {
            Cell::Interpolate { below, above } => below.value().max(above.value()) > tolerance,
            Cell::List(n) => self.lists.get(*n).len() > LIST_GOOD,
            Cell::Wide => true,
        };
        self.cells().filter(poor).count() as f64 / self.cells.len() as f64
    }

    /// Largest certified error of a cell that interpolates, metres.
    pub(super) fn bound(&self) -> f64 {
        debug_assert!(self.rounding >= 0.0, "{}", self.rounding);
        let error = |cell: Cell| match cell {
            Cell::Interpolate { below, above } => below.value().max(above.value()),
            Cell::List(_) => 0.0,
            // Half a diagonal: the Lipschitz bound from the nearest corner.
            Cell::Wide => self.step.length() * 0.5,
        };
        self.cells().map(error).fold(0.0, f64::max) + self.rounding
    }

    /// Bytes of samples, cells and lists.
    pub(super) fn bytes(&self) -> usize {
        size_of::<Grid>()
            + size_of_val(&self.samples[..])
            + size_of_val(&self.cells[..])
            + self.lists.bytes()
    }
}

/// All indices below `n`, x fastest.
fn indices(n: UVec3) -> impl Iterator<Item = UVec3> {
    (0..n.z)
        .flat_map(move |z| (0..n.y).flat_map(move |y| (0..n.x).map(move |x| UVec3::new(x, y, z))))
}

/// The corner of a cell with bit k set: the upper one on axis k.
pub(super) fn offset(k: usize) -> UVec3 {
    UVec3::new(k as u32 & 1, k as u32 >> 1 & 1, k as u32 >> 2 & 1)
}
