//! Cuts a polygon into ears: triangles of three consecutive corners that no other part of the polygon enters.
//!
//! Meisters, Polygons have ears, 1975. Polygons that touch themselves (holes with keyholes, repeated corners) follow
//! the cone tests of Held, FIST: Fast industrial-strength triangulation of polygons, 2001. Own code: `earcut` and its
//! relatives drop corners on a straight edge, and so open the seam to the neighbour that uses them.

use std::collections::VecDeque;

use glam::DVec2;

use super::blockers::Blockers;
use crate::{
    geometry::triangle_triangle::orient_2d,
    mesh_io::{
        read_error::{FilePlace, MeshReadError},
        read_room::ReadRoom,
    },
};

/// Maximum steps for each corner in the search for corners that enter an ear. Combs, spirals and random outlines of
/// 100,000 corners take less than 100.
const STEPS_PER_CORNER: u64 = 500;
/// Bytes of memory for each corner of the largest polygon.
const BYTES_PER_CORNER: usize =
    size_of::<DVec2>() + 4 * size_of::<u32>() + size_of::<bool>() + Blockers::BYTES_PER_CORNER;

/// Maximum number of times that all corners of a polygon are judged again when no ear is left.
const ROUNDS_MAX: u32 = 64;
/// Marks a corner that was cut off.
const CUT_OFF: u32 = u32::MAX;

/// Remaining corners of a polygon, numbered from 0, with buffers that the next polygon re-uses.
#[derive(Default)]
pub(super) struct EarCutter {
    vertices: Vec<u32>,
    points: Vec<DVec2>,
    before: Vec<u32>,
    after: Vec<u32>,
    /// Corners that may have become ears.
    queue: VecDeque<u32>,
    is_queued: Vec<bool>,
    /// Corners that are not convex: only these can lie in an ear.
    blockers: Blockers,
    n_left: usize,
    /// Remaining corners when all were last queued.
    n_left_when_queued: usize,
    n_rounds_left: u32,
    /// Steps left for all polygons of a file.
    n_steps_left: u64,
}

impl EarCutter {
    /// Loads the corners of a fan.
    pub(super) fn start(
        &mut self,
        fan: &[[u32; 3]],
        point: impl Fn(u32) -> DVec2,
        room: &mut ReadRoom,
        place: FilePlace,
    ) -> Result<(), MeshReadError> {
        let n = fan.len() + 2;
        if let Some(n_more @ 1..) = n.checked_sub(self.vertices.capacity()) {
            room.take((n_more * BYTES_PER_CORNER) as u64, n as u64, "corners of a polygon", place)?;
            // Old buffers are freed before larger ones are allocated.
            *self = EarCutter { n_steps_left: self.n_steps_left, ..EarCutter::default() };
            self.reserve(n);
        }
        self.vertices.clear();
        self.vertices.extend(fan[0][..2].iter().chain(fan.iter().map(|t| &t[2])));
        self.points.clear();
        self.points.extend(self.vertices.iter().map(|v| point(*v)));
        let n_corners = n as u32;
        self.before.clear();
        self.before.extend((0..n_corners).map(|corner| (corner + n_corners - 1) % n_corners));
        self.after.clear();
        self.after.extend((0..n_corners).map(|corner| (corner + 1) % n_corners));
        self.is_queued.clear();
        self.is_queued.resize(n, false);
        self.queue.clear();
        self.n_left = n;
        self.n_rounds_left = ROUNDS_MAX;
        self.queue_all();
        let (points, before, after) = (&self.points, &self.before, &self.after);
        let is_convex = |corner: u32| turn(points, before, after, corner) > 0.0;
        self.blockers.fill(points, (0..n_corners).filter(|corner| !is_convex(*corner)));
        self.n_steps_left += STEPS_PER_CORNER * n as u64;
        Ok(())
    }

    fn reserve(&mut self, n: usize) {
        self.vertices.reserve_exact(n);
        self.points.reserve_exact(n);
        self.before.reserve_exact(n);
        self.after.reserve_exact(n);
        self.queue.reserve_exact(n);
        self.is_queued.reserve_exact(n);
        self.blockers.reserve(n);
    }

    /// Overwrites the fan with the ears.
    ///
    /// # Errors
    /// Returns an error if the polygon takes too many steps.
    pub(super) fn cut(
        &mut self,
        fan: &mut [[u32; 3]],
        place: FilePlace,
    ) -> Result<(), MeshReadError> {
        let n_corners = self.vertices.len();
        for triangle in fan {
            let ear = self.next_ear().ok_or_else(|| MeshReadError::Unexpected {
                place,
                expected: format!(
                    "a polygon that {STEPS_PER_CORNER} steps a corner cut into triangles"
                ),
                got: format!("one of {n_corners} corners that takes more"),
            })?;
            *triangle = [self.before[ear as usize], ear, self.after[ear as usize]]
                .map(|corner| self.vertices[corner as usize]);
            self.cut_off(ear);
        }
        Ok(())
    }

    /// Corner to cut off; `None` if no steps are left.
    fn next_ear(&mut self) -> Option<u32> {
        // A polygon that crosses itself may have no ear. A convex corner is then the next best.
        let mut next_best = None;
        loop {
            while let Some(corner) = self.queue.pop_front() {
                self.is_queued[corner as usize] = false;
                if self.after[corner as usize] == CUT_OFF {
                    continue;
                }
                self.n_steps_left = self.n_steps_left.checked_sub(1)?;
                match self.judge(corner)? {
                    Judged::Ear => return Some(corner),
                    Judged::Entered => next_best = Some(corner),
                    Judged::NotConvex => next_best = next_best.or(Some(corner)),
                }
            }
            // In a polygon that touches itself a corner may become an ear although no neighbour was cut off.
            let is_worth_a_round = self.n_left < self.n_left_when_queued && self.n_rounds_left > 0;
            if next_best.is_some() && !is_worth_a_round {
                return next_best;
            }
            self.n_rounds_left = self.n_rounds_left.saturating_sub(1);
            self.queue_all();
        }
    }

    fn queue_all(&mut self) {
        let is_left = |corner: &u32| self.after[*corner as usize] != CUT_OFF;
        self.queue.extend((0..self.vertices.len() as u32).filter(is_left));
        self.queue.iter().for_each(|corner| self.is_queued[*corner as usize] = true);
        self.n_left_when_queued = self.n_left;
    }

    fn cut_off(&mut self, ear: u32) {
        let (before, after) = (self.before[ear as usize], self.after[ear as usize]);
        self.after[before as usize] = after;
        self.before[after as usize] = before;
        self.after[ear as usize] = CUT_OFF;
        self.n_left -= 1;
        self.blockers.remove(ear);
        for corner in [before, after] {
            if self.turn(corner) > 0.0 {
                self.blockers.remove(corner);
            }
            if !self.is_queued[corner as usize] {
                self.is_queued[corner as usize] = true;
                self.queue.push_back(corner);
            }
        }
    }

    fn point(&self, corner: u32) -> DVec2 {
        self.points[corner as usize]
    }

    fn turn(&self, corner: u32) -> f64 {
        turn(&self.points, &self.before, &self.after, corner)
    }

    /// Judges a corner; `None` if no steps are left.
    fn judge(&mut self, corner: u32) -> Option<Judged> {
        let (before, after) = (self.before[corner as usize], self.after[corner as usize]);
        let ear @ [a, b, c] = [before, corner, after].map(|corner| self.point(corner));
        let turn = orient_2d(a, b, c);
        if turn == 0.0 && (a - b).dot(c - b) >= 0.0 {
            // A repeated corner, or an edge that goes back over itself: nothing lies in between.
            return Some(Judged::Ear);
        }
        if turn <= 0.0 && self.n_left > 3 {
            return Some(Judged::NotConvex);
        }
        // The diagonal from `a` to `c` must lie in the polygon at both of its ends.
        let begins_inside = self.turn(before) <= 0.0
            || orient_2d(a, c, self.point(self.before[before as usize])) > 0.0;
        let ends_inside = self.turn(after) <= 0.0
            || orient_2d(c, self.point(self.after[after as usize]), a) > 0.0;
        if self.n_left > 3 && !(begins_inside && ends_inside) {
            return Some(Judged::Entered);
        }
        let mut n_steps_left = self.n_steps_left;
        let enters =
            |other: u32| ![before, corner, after].contains(&other) && self.enters(other, &ear);
        let is_entered = self.blockers.any(&self.points, &ear, &mut n_steps_left, &enters);
        self.n_steps_left = n_steps_left;
        Some(if is_entered? { Judged::Entered } else { Judged::Ear })
    }

    /// Returns true if the polygon, at a corner that is not convex, enters a triangle that is wound counter-clockwise.
    fn enters(&self, corner: u32, triangle: &[DVec2; 3]) -> bool {
        let [a, b, c] = *triangle;
        let sides_of = |p: DVec2| [orient_2d(a, b, p), orient_2d(b, c, p), orient_2d(c, a, p)];
        let p = self.point(corner);
        let sides = sides_of(p);
        if sides.iter().any(|side| *side < 0.0) {
            return false;
        }
        // The corner is within the triangle or on the diagonal of the cut.
        if sides.iter().all(|side| *side > 0.0) || sides[2] == 0.0 && p != a && p != c {
            return true;
        }
        // The polygon touches the triangle from outside unless one of its edges leads inwards from the sides that the
        // corner lies on.
        [self.before[corner as usize], self.after[corner as usize]].into_iter().any(|neighbour| {
            let there = sides_of(self.point(neighbour));
            sides.iter().zip(there).all(|(here, there)| *here > 0.0 || there > 0.0)
        })
    }
}

enum Judged {
    Ear,
    /// The corner is convex, but the polygon enters its triangle.
    Entered,
    NotConvex,
}

/// Positive if the polygon turns left at a corner: the corner is convex.
fn turn(points: &[DVec2], before: &[u32], after: &[u32], corner: u32) -> f64 {
    let [before, after] = [before, after].map(|link| points[link[corner as usize] as usize]);
    orient_2d(before, points[corner as usize], after)
}
