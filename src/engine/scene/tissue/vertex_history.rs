//! Vertex positions of a tissue before its last deformations.
//!
//! A tick that comes after a deformation has to know how the tissue moved since the last one: the sweep tests the
//! motion of both sides, and bounds kept from tick to tick are loosened by how far a vertex moved.

use std::sync::Arc;

use glam::{DVec3, Vec3};

use super::deform::Deformation;
use crate::geometry::{TriangleMesh, tolerance::SINGLE_LENGTH_COVER};

/// Maximum deformations that are remembered: at 60 a second and a thousand ticks, more than one between two ticks is a
/// burst.
const MOVES_MAX: usize = 4;

/// The last deformations of a tissue, oldest first.
#[derive(Clone, Debug, Default)]
pub(in crate::scene) struct VertexHistory {
    moves: Vec<Arc<PastMove>>,
    /// Sum of the motion of all deformations ever, metres.
    travel_m: f64,
}

/// One deformation that can be undone.
#[derive(Debug)]
struct PastMove {
    /// The geometry revision that it made.
    revision: u64,
    /// Moved vertices, ascending; `None`: all.
    vertices: Option<Vec<u32>>,
    /// Positions before the move.
    from: Vec<Vec3>,
    /// Upper bound of any vertex's motion, metres.
    displacement_max: f64,
}

/// Motion of vertices from an older revision to the newest.
#[derive(Clone, Copy, Debug)]
pub(in crate::scene) struct MotionSince<'a> {
    moves: &'a [Arc<PastMove>],
}

impl VertexHistory {
    /// Notes a deformation before it is applied.
    pub(super) fn note(&mut self, mesh: &TriangleMesh, deformation: &Deformation, revision: u64) {
        let now = |v: u32| mesh.positions()[v as usize];
        // The root of the greatest square is the greatest root, to the bit; and as integers, whose greatest is found in
        // half the time, squares have the same order.
        let square = |from: Vec3, to: &Vec3| from.distance_squared(*to).to_bits();
        let (vertices, from, farthest) = match deformation {
            Deformation::Sparse { vertices, positions } => {
                // Looked up by binary search; clients mostly send them in order.
                let mut ascending = vertices.clone();
                if !ascending.is_sorted() {
                    ascending.sort_unstable();
                }
                let from = ascending.iter().map(|v| now(*v)).collect();
                let each = vertices.iter().zip(positions).map(|(v, to)| square(now(*v), to));
                (Some(ascending), from, each.fold(0, u32::max))
            }
            Deformation::Dense(positions) => {
                let each = mesh.positions().iter().zip(positions).map(|(now, to)| square(*now, to));
                (None, mesh.positions().to_vec(), each.fold(0, u32::max))
            }
        };
        let displacement_max = f64::from(f32::from_bits(farthest).sqrt()) * SINGLE_LENGTH_COVER;
        debug_assert!(displacement_max.is_finite(), "moved by {displacement_max} m");
        self.travel_m += displacement_max;
        if self.moves.len() == MOVES_MAX {
            self.moves.remove(0);
        }
        // The two copies share it: a dense move is as large as the positions.
        self.moves.push(Arc::new(PastMove { revision, vertices, from, displacement_max }));
        debug_assert!(self.moves.windows(2).all(|m| m[1].revision == m[0].revision + 1));
    }

    /// Returns the motion from the given geometry revision to the newest; `None` if older than the history.
    pub(super) fn since(&self, revision: u64, newest: u64) -> Option<MotionSince<'_>> {
        let missed = (newest - revision) as usize;
        let first = self.moves.len().checked_sub(missed)?;
        let moves = &self.moves[first..];
        debug_assert!(moves.first().is_none_or(|m| m.revision == revision + 1));
        Some(MotionSince { moves })
    }

    /// Bound of motion, metres: no vertex has moved farther between two revisions than this has grown. It also covers
    /// deformations that are no longer remembered.
    pub(super) fn travel_m(&self) -> f64 {
        self.travel_m
    }

    /// Returns the allocated memory without the moves that it shares with `other`.
    pub(super) fn heap_bytes_beside(&self, other: &VertexHistory) -> usize {
        let is_own = |m: &&Arc<PastMove>| !other.moves.iter().any(|o| Arc::ptr_eq(m, o));
        let of = |m: &Arc<PastMove>| {
            let ids = m.vertices.as_ref().map_or(0, Vec::capacity);
            size_of::<PastMove>() + size_of::<u32>() * ids + size_of::<Vec3>() * m.from.capacity()
        };
        size_of::<Arc<PastMove>>() * self.moves.capacity()
            + self.moves.iter().filter(is_own).map(of).sum::<usize>()
    }
}

impl MotionSince<'_> {
    /// No motion.
    pub(in crate::scene) const NONE: MotionSince<'static> = MotionSince { moves: &[] };

    /// Upper bound of any vertex's motion, metres.
    pub(in crate::scene) fn displacement_max(&self) -> f64 {
        self.moves.iter().map(|m| m.displacement_max).sum()
    }

    /// Number of deformations since, at least one: each takes as long as the others.
    pub(in crate::scene) fn n_stages(&self) -> usize {
        self.moves.len().max(1)
    }

    /// Position at `time` of a vertex that is at `now`, 0 at the older revision and 1 at the newest; a vertex that a
    /// cut added since was nowhere else.
    pub(in crate::scene) fn position(&self, v: u32, now: DVec3, time: f64) -> DVec3 {
        debug_assert!((0.0..=1.0).contains(&time), "time {time}");
        let n = self.n_stages();
        let at = time * n as f64;
        let stage = (at as usize).min(n - 1);
        // Before stage i, a vertex was at the position from which the first later move that names it took it.
        let [start, end] = [stage, stage + 1].map(|i| self.before(i, v).unwrap_or(now));
        start.lerp(end, at - stage as f64)
    }

    /// Returns the position of a vertex before the move of that number, if it has moved since.
    fn before(&self, i: usize, v: u32) -> Option<DVec3> {
        self.moves.iter().skip(i).find_map(|m| {
            let at = match &m.vertices {
                Some(vertices) => vertices.binary_search(&v).ok()?,
                None => v as usize,
            };
            m.from.get(at).map(|p| p.as_dvec3())
        })
    }
}
