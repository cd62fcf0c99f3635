//! The two lips of an open line, and the surface that gives way to them.

use std::collections::{HashMap, HashSet, VecDeque};

use glam::DVec3;

use super::{
    incision_error::IncisionError,
    line::{CutLine, area_vector},
};
use crate::geometry::{
    TriangleId,
    distance::point_triangle::nearest_on_segment,
    mesh::split_patch::{PatchFace, SplitPatch},
    tolerance::INCISION_AREA_SHARE_MIN,
};

/// The two sides of an open line.
pub(super) struct Lips {
    pub(super) left: Vec<u32>,
    pub(super) right: Vec<u32>,
    /// A triangle at each vertex, which the walls name as their parent.
    pub(super) parents: Vec<TriangleId>,
    /// Unit normals of the surface at the vertices.
    pub(super) normals: Vec<DVec3>,
    /// Vertices beside the line, each with the copy that takes its place.
    pub(super) moved: Vec<[u32; 2]>,
    pub(super) width_m: f64,
}

/// A vertex to move, the place in the line of the vertex that it goes along with, and its way, metres.
struct Moved {
    vertex: u32,
    near: usize,
    way: DVec3,
}

/// The width is reached so many widths from an end, and the surface gives way as far beside the line: neighbours then
/// move by a quarter of their distance apart at most.
const RETRACTION_WIDTHS: f64 = 2.0;
/// Edges of the line on either side among which the nearest to a vertex is looked for.
const NEAR_EDGES: usize = 4;

impl CutLine<'_> {
    /// Doubles the vertices of the line, and moves the two lips apart.
    pub(super) fn opened(&mut self, width_m: f64) -> Result<Lips, IncisionError> {
        let n = self.vertices.len();
        let mut sides: Vec<Option<HashSet<PatchFace>>> = Vec::new();
        let mut lips = Lips {
            left: self.vertices.clone(),
            right: self.vertices.clone(),
            parents: Vec::new(),
            normals: Vec::new(),
            moved: Vec::new(),
            width_m: 0.0,
        };
        let mut asides = Vec::new();
        for k in 0..n {
            let (v, (before, after)) = (self.vertices[k], self.neighbours(k));
            let faces = self.patch.faces_at(v);
            let normal: DVec3 = faces.iter().map(|f| area_vector(&self.patch.triangle(*f))).sum();
            lips.normals.push(normal.normalize_or_zero());
            lips.parents.push(self.patch.parent(faces[0]));
            let is_tip = before.is_none() || after.is_none();
            let fan = Fan::at(v, &self.patch)?;
            let is_doubled = !is_tip || fan.is_on_border();
            sides.push(is_doubled.then(|| fan.right_of(before, after)));
            // Over a width on either side: from vertex to vertex the line's direction wavers.
            let along = self.walked(k, width_m, true) - self.walked(k, width_m, false);
            let along = along.normalize_or_zero();
            asides.push(lips.normals[k].cross(along).normalize_or_zero() * (0.5 * width_m));
        }
        if width_m > 0.0 {
            self.taper(&sides, width_m, &mut asides);
        }
        let mut corners: HashMap<PatchFace, [u32; 3]> = HashMap::new();
        let mut moved: Vec<Moved> = Vec::new();
        for (k, right) in sides.iter().enumerate() {
            let Some(right) = right else { continue };
            let v = self.vertices[k];
            let mut doubles: HashMap<(u32, bool), u32> = HashMap::new();
            for face in self.patch.faces_at(v) {
                let is_right = right.contains(&face);
                let stored = self.patch.corners(face);
                let at = self.patch.corner_at(face, v);
                // An added vertex is the left lip's; one of the mesh stays where it is, if it has to be moved.
                let keeps = !is_right && (width_m == 0.0 || self.patch.is_added(stored[at]));
                let double = *doubles.entry((stored[at], is_right)).or_insert_with(|| {
                    let vertex = match keeps {
                        true => stored[at],
                        false => self.patch.add_vertex(self.patch.position(v), None),
                    };
                    let way = if is_right { -asides[k] } else { asides[k] };
                    moved.push(Moved { vertex, near: k, way });
                    vertex
                });
                let lip = if is_right { &mut lips.right[k] } else { &mut lips.left[k] };
                *lip = double;
                corners.entry(face).or_insert(stored)[at] = double;
            }
        }
        if width_m > 0.0 {
            self.retract(
                RETRACTION_WIDTHS * width_m,
                &sides,
                &asides,
                &mut corners,
                &mut moved,
                &mut lips.moved,
            );
        }
        let mut faces: Vec<(PatchFace, [u32; 3])> = corners.into_iter().collect();
        faces.sort_unstable();
        for (face, corners) in &faces {
            self.patch.replace(*face, &[*corners]);
        }
        if width_m > 0.0 {
            let faces: Vec<[u32; 3]> = faces.into_iter().map(|(_, corners)| corners).collect();
            lips.width_m = self.moved_apart(&faces, &moved, &asides).min(width_m);
        }
        Ok(lips)
    }

    /// Position of the vertex at least `way_m` and one vertex along the line from `k`, or of its end.
    fn walked(&self, k: usize, way_m: f64, is_ahead: bool) -> DVec3 {
        let n = self.vertices.len();
        let mut at = k;
        let mut way = 0.0;
        for _ in 1..n {
            let next = match (is_ahead, self.is_closed) {
                (true, true) => (at + 1) % n,
                (false, true) => (at + n - 1) % n,
                (true, false) => (at + 1).min(n - 1),
                (false, false) => at.saturating_sub(1),
            };
            let [a, b] = [at, next].map(|k| self.patch.position(self.vertices[k]));
            (at, way) = (next, way + a.distance(b));
            if way >= way_m {
                break;
            }
        }
        self.patch.position(self.vertices[at])
    }

    /// Lessens the ways of the lips towards ends that are single, where the width is 0.
    fn taper(&self, sides: &[Option<HashSet<PatchFace>>], width_m: f64, asides: &mut [DVec3]) {
        let n = self.vertices.len();
        let step = |k: usize| {
            let [a, b] = [self.vertices[k], self.vertices[(k + 1) % n]];
            self.patch.position(a).distance(self.patch.position(b))
        };
        let single = |k: usize| if sides[k].is_none() { 0.0 } else { f64::INFINITY };
        let mut from_end: Vec<f64> = (0..n).map(single).collect();
        for k in 1..n {
            from_end[k] = from_end[k].min(from_end[k - 1] + step(k - 1));
        }
        for k in (0..n - 1).rev() {
            from_end[k] = from_end[k].min(from_end[k + 1] + step(k));
        }
        for (aside, from_end) in asides.iter_mut().zip(from_end) {
            *aside *= (from_end / (RETRACTION_WIDTHS * width_m)).min(1.0);
        }
    }

    /// Lets the surface about the line give way to the lips: copies of its vertices move with them, by less the farther
    /// they are. No two change places, as none moves by more than a quarter of its distance from another beyond it.
    fn retract(
        &mut self,
        reach_m: f64,
        sides: &[Option<HashSet<PatchFace>>],
        asides: &[DVec3],
        corners: &mut HashMap<PatchFace, [u32; 3]>,
        moved: &mut Vec<Moved>,
        copies: &mut Vec<[u32; 2]>,
    ) {
        // Breadth first from the line: each vertex with a place in the line and the sign of its side.
        let mut seen: HashSet<u32> = self.vertices.iter().copied().collect();
        let mut open: VecDeque<(u32, usize, f64)> = VecDeque::new();
        let doubled = (0..self.vertices.len()).filter(|k| sides[*k].is_some());
        for k in doubled {
            let right = sides[k].as_ref().expect("doubled");
            for face in self.patch.faces_at(self.vertices[k]) {
                let sign = if right.contains(&face) { -1.0 } else { 1.0 };
                let beside = self.patch.joined_corners(face).into_iter();
                open.extend(beside.filter(|v| seen.insert(*v)).map(|v| (v, k, sign)));
            }
        }
        while let Some((v, near, sign)) = open.pop_front() {
            let p = self.patch.position(v);
            let (distance, near, aside) = self.nearest_edge(p, near, asides);
            if distance >= reach_m {
                continue;
            }
            let faces = self.patch.faces_at(v);
            for face in &faces {
                let beside = self.patch.joined_corners(*face).into_iter();
                open.extend(beside.filter(|v| seen.insert(*v)).map(|v| (v, near, sign)));
            }
            let way = aside * (sign * (1.0 - distance / reach_m));
            if way == DVec3::ZERO {
                continue;
            }
            let mut made: HashMap<u32, u32> = HashMap::new();
            for face in faces {
                let stored = self.patch.corners(face);
                let at = self.patch.corner_at(face, v);
                let copy = *made.entry(stored[at]).or_insert_with(|| {
                    let vertex = self.patch.add_vertex(p, None);
                    moved.push(Moved { vertex, near, way });
                    copies.push([stored[at], vertex]);
                    vertex
                });
                corners.entry(face).or_insert(stored)[at] = copy;
            }
        }
    }

    /// Returns the distance of a point from the line about a place in it, the vertex there, and the way of the lip.
    fn nearest_edge(&self, p: DVec3, near: usize, asides: &[DVec3]) -> (f64, usize, DVec3) {
        let n = self.vertices.len();
        // A closed line goes on at its other end; it has three vertices at least.
        let beyond = if self.is_closed { 2 * n } else { 0 };
        let first = (near + beyond).saturating_sub(NEAR_EDGES);
        let edges = (first..=near + beyond + NEAR_EDGES)
            .filter(|k| self.is_closed || *k + 1 < n)
            .map(|k| (k % n, (k + 1) % n));
        let to_edge = edges.map(|(k, j)| {
            let [a, b] = [k, j].map(|k| self.patch.position(self.vertices[k]));
            let share = nearest_on_segment(p, a, b);
            let nearer = if share < 0.5 { k } else { j };
            (p.distance(a.lerp(b, share)), nearer, asides[k].lerp(asides[j], share))
        });
        to_edge.min_by(|a, b| a.0.total_cmp(&b.0)).expect("an edge")
    }

    /// Moves vertices as far as no triangle at them turns over or shrinks to nothing. Returns the greatest width.
    fn moved_apart(&mut self, faces: &[[u32; 3]], moved: &[Moved], asides: &[DVec3]) -> f64 {
        let at: HashMap<u32, usize> = moved.iter().map(|m| (m.vertex, m.near)).collect();
        let from: Vec<DVec3> = moved.iter().map(|m| self.patch.position(m.vertex)).collect();
        let before: Vec<DVec3> =
            faces.iter().map(|f| area_vector(&f.map(|v| self.patch.position(v)))).collect();
        let mut shares = vec![1.0; asides.len()];
        // Each round takes a fifth off what is too far: 100 rounds leave nothing of a metre.
        for _ in 0..100 {
            for (Moved { vertex, near, way }, from) in moved.iter().zip(&from) {
                self.patch.move_added(*vertex, from + *way * shares[*near]);
            }
            let mut too_far = vec![false; shares.len()];
            for (face, before) in faces.iter().zip(&before) {
                let now = area_vector(&face.map(|v| self.patch.position(v)));
                if now.dot(*before) < INCISION_AREA_SHARE_MIN * before.length_squared() {
                    face.iter().filter_map(|v| at.get(v)).for_each(|k| too_far[*k] = true);
                }
            }
            if !too_far.contains(&true) {
                break;
            }
            for (share, _) in shares.iter_mut().zip(too_far).filter(|(_, far)| *far) {
                *share *= 0.8;
            }
        }
        let widths = asides.iter().zip(&shares).map(|(aside, share)| 2.0 * aside.length() * share);
        widths.fold(0.0, f64::max)
    }
}

/// The faces around a vertex, by the edges that they have there.
struct Fan {
    /// By the vertex to which an edge goes: its face, and the face's third vertex.
    out: HashMap<u32, (PatchFace, u32)>,
    /// By the vertex from which an edge comes.
    into: HashMap<u32, (PatchFace, u32)>,
}

impl Fan {
    /// Collects the faces around a vertex. O(faces).
    fn at(v: u32, patch: &SplitPatch) -> Result<Fan, IncisionError> {
        let mut fan = Fan { out: HashMap::new(), into: HashMap::new() };
        for face in patch.faces_at(v) {
            let corners = patch.joined_corners(face);
            let k = patch.corner_at(face, v);
            let [next, before] = [corners[(k + 1) % 3], corners[(k + 2) % 3]];
            let known = [
                fan.out.insert(next, (face, before)).is_some(),
                fan.into.insert(before, (face, next)).is_some(),
            ];
            if known.contains(&true) {
                return Err(IncisionError::Branches { vertex: v });
            }
        }
        Ok(fan)
    }

    /// Returns true if the faces do not go all the way around.
    fn is_on_border(&self) -> bool {
        self.out.keys().any(|next| !self.into.contains_key(next))
            || self.into.keys().any(|before| !self.out.contains_key(before))
    }

    /// Returns the faces on the right of a line through the vertex, seen from outside.
    fn right_of(&self, before: Option<u32>, after: Option<u32>) -> HashSet<PatchFace> {
        let mut found = HashSet::new();
        // Clockwise from the edge ahead to the edge behind, or to a border.
        let mut from = after;
        while let Some((face, third)) = from.and_then(|w| self.into.get(&w)) {
            if !found.insert(*face) || Some(*third) == before {
                return found;
            }
            from = Some(*third);
        }
        // Behind a border, the other way around from the edge behind.
        let mut to = before;
        while let Some((face, third)) = to.and_then(|u| self.out.get(&u)) {
            if !found.insert(*face) {
                break;
            }
            to = Some(*third);
        }
        found
    }
}
