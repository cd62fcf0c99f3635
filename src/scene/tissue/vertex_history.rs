//! Where a tissue's vertices were before its last deformations.

use std::sync::Arc;

use glam::{DVec3, Vec3};

use super::deform::Deformation;
use crate::geometry::TriangleMesh;

/// Deformations that are remembered: at 60 a second and a thousand ticks, more than one between two ticks is
/// a burst.
const MOVES_MAX: usize = 4;

/// The last deformations of a tissue, oldest first.
#[derive(Clone, Debug, Default)]
pub(in crate::scene) struct Motion {
    moves: Vec<Arc<Move>>,
}

/// One deformation, to be undone.
#[derive(Debug)]
struct Move {
    /// The geometry revision that it made.
    revision: u64,
    /// Ascending; `None`: all.
    vertices: Option<Vec<u32>>,
    /// Where they were.
    from: Vec<Vec3>,
    /// The farthest that one went, metres.
    farthest: f64,
}

/// The way from an older revision to the newest.
#[derive(Clone, Copy, Debug)]
pub(in crate::scene) struct Past<'a> {
    moves: &'a [Arc<Move>],
}

impl Motion {
    /// Notes a deformation before it is applied.
    pub(in crate::scene) fn note(
        &mut self,
        mesh: &TriangleMesh,
        deformation: &Deformation,
        revision: u64,
    ) {
        let now = |v: u32| mesh.positions()[v as usize];
        let gone = |v: u32, to: &Vec3| f64::from(now(v).distance(*to));
        let (vertices, from, farthest) = match deformation {
            Deformation::Sparse { vertices, positions } => {
                let mut ascending = vertices.clone();
                if !ascending.is_sorted() {
                    ascending.sort_unstable();
                }
                let from = ascending.iter().map(|v| now(*v)).collect();
                let ways = vertices.iter().zip(positions).map(|(v, to)| gone(*v, to));
                (Some(ascending), from, ways.fold(0.0, f64::max))
            }
            Deformation::Dense(positions) => {
                let ways = (0..).zip(positions).map(|(v, to)| gone(v, to));
                (None, mesh.positions().to_vec(), ways.fold(0.0, f64::max))
            }
        };
        // Rounding of a distance in f32.
        let farthest = farthest * (1.0 + 1e-6);
        if self.moves.len() == MOVES_MAX {
            self.moves.remove(0);
        }
        self.moves.push(Arc::new(Move { revision, vertices, from, farthest }));
    }

    /// From the given geometry revision to the newest; `None` when that is longer ago than is remembered.
    pub(in crate::scene) fn since(&self, revision: u64, newest: u64) -> Option<Past<'_>> {
        let missed = (newest - revision) as usize;
        let first = self.moves.len().checked_sub(missed)?;
        let moves = &self.moves[first..];
        debug_assert!(moves.first().is_none_or(|m| m.revision == revision + 1));
        Some(Past { moves })
    }
}

impl Motion {
    /// What it has allocated, the moves that it shares with `other` left out.
    pub(in crate::scene) fn heap_bytes_beside(&self, other: &Motion) -> usize {
        let is_own = |m: &&Arc<Move>| !other.moves.iter().any(|o| Arc::ptr_eq(m, o));
        let of = |m: &Arc<Move>| {
            let ids = m.vertices.as_ref().map_or(0, Vec::capacity);
            size_of::<Move>() + size_of::<u32>() * ids + size_of::<Vec3>() * m.from.capacity()
        };
        size_of::<Arc<Move>>() * self.moves.capacity()
            + self.moves.iter().filter(is_own).map(of).sum::<usize>()
    }
}

impl Past<'_> {
    /// No vertex moved farther, metres.
    pub(in crate::scene) fn farthest(&self) -> f64 {
        self.moves.iter().map(|m| m.farthest).sum()
    }

    /// Deformations on the way, one at least: each takes as long as the others.
    pub(in crate::scene) fn stages(&self) -> usize {
        self.moves.len().max(1)
    }

    /// Where a vertex that is at `now` was, 0 at the older revision and 1 at the newest; a vertex that a cut
    /// added since was nowhere else.
    pub(in crate::scene) fn position(&self, v: u32, now: DVec3, time: f64) -> DVec3 {
        let stages = self.stages();
        let place = time * stages as f64;
        let stage = (place as usize).min(stages - 1);
        let [start, end] = [stage, stage + 1].map(|i| self.before(i, v).unwrap_or(now));
        start.lerp(end, place - stage as f64)
    }

    /// Where a vertex was before the move of that number, if it has moved since.
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
