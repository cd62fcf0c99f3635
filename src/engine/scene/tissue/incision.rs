//! An incision: a cut along a line on a surface, made from the points of the line.
//!
//! The line is drawn on the surface from point to point, by planes that contain two of them and the surface's normal.
//! It splits the triangles that it crosses, so that it runs along edges; then the vertices along it are doubled, and
//! the two lips are moved apart by the width. The line's two ends stay single, and hold the lips together; an end on the
//! border of an open surface is doubled too. With a depth, two walls go down from the lips to a floor: a closed surface
//! stays closed.

use std::collections::HashMap;

use glam::DVec3;

use super::edit::TopologyEdit;
use crate::{
    geometry::{
        Aabb, TriangleId,
        distance::point_triangle::{closest_point, nearest_on_segment},
        mesh::split_patch::{Face, SplitPatch},
        tolerance::{
            INCISION_AREA_SHARE_MIN, INCISION_REACH_M, INCISION_ROUNDING, INCISION_SNAP_SHARE,
        },
        triangle_triangle,
    },
    surface::Surface,
};

/// Maximum number of points of a line.
pub const PATH_POINTS_MAX: usize = 4096;
/// Maximum width and depth, metres.
pub const INCISION_MAX_M: f64 = 1.0;

/// Line and size of an incision.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Incision {
    /// Points of the line, at most [`INCISION_REACH_M`] from the surface: metres, scene frame. The first point again at
    /// the end closes the line.
    pub path: Vec<DVec3>,
    /// Greatest width of the gap, metres; 0: the lips touch each other.
    pub width_m: f64,
    /// Depth of the gap, metres; 0: the surface alone is cut.
    pub depth_m: f64,
}

/// An incision as a cut.
#[derive(Clone, Debug, PartialEq)]
pub struct Incised {
    /// The cut.
    pub edit: TopologyEdit,
    /// Vertices along the left lip, seen from outside in the direction of the line. At an end that is not doubled, both
    /// lips have its one vertex.
    pub left: Vec<u32>,
    /// Vertices opposite, along the right lip.
    pub right: Vec<u32>,
    /// Vertices of the floor between them; none without a depth.
    pub floor: Vec<u32>,
    /// Greatest width, metres: less than asked for where a triangle at a lip would have been turned over.
    pub width_m: f64,
}

/// Reasons why there is no such incision.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum IncisionError {
    /// Too few or too many points.
    #[error("has {got} points, expected 2 to {PATH_POINTS_MAX}")]
    Points {
        /// Number of points.
        got: usize,
    },
    /// A point that is not on the surface.
    #[error("point {at} is {distance_m} m from the surface, expected at most {INCISION_REACH_M}")]
    Far {
        /// Number of the point.
        at: usize,
        /// Its distance, metres; infinite or NaN for a point that is so, or if there is no surface.
        distance_m: f64,
    },
    /// A width or depth out of range.
    #[error("{what} is {got}, expected 0 to {INCISION_MAX_M}")]
    Size {
        /// "width_m" or "depth_m".
        what: &'static str,
        /// Given value, metres.
        got: f64,
    },
    /// No way on the surface from a point to the next.
    #[error(
        "no way on the surface from point {at} to the next that comes nearer at each step: expected a nearer point"
    )]
    NoWay {
        /// Number of the first of the two points.
        at: usize,
    },
    /// A line that meets itself.
    #[error("the line meets itself between points {at} and {}", at + 1)]
    MeetsItself {
        /// Number of the first of the two points.
        at: usize,
    },
    /// A line of one place.
    #[error("all points are in one place on the surface")]
    NoLength,
    /// Three triangles or more at an edge.
    #[error("the surface branches at vertex {vertex}, on the line")]
    Branches {
        /// The vertex.
        vertex: u32,
    },
    /// A depth in a surface that is not closed.
    #[error("depth_m is above 0, and the surface is not closed: it has no inside")]
    NotClosed,
    /// A depth in a tissue that points carry.
    #[error(
        "depth_m is above 0, and points carry the tissue: they carry no vertex below its surface"
    )]
    CarriedByPoints,
    /// A floor that comes out on the other side.
    #[error(
        "depth_m is {depth_m}: the incision comes out of the surface again, at triangle {triangle}"
    )]
    TooDeep {
        /// Given depth, metres.
        depth_m: f64,
        /// Triangle that a wall crosses.
        triangle: u32,
    },
}

impl Incision {
    /// Computes the cut of a surface. O(points log triangles + crossed triangles).
    ///
    /// # Errors
    /// Returns an error if the line cannot be drawn, or the depth not be reached.
    pub fn on(&self, surface: &Surface) -> Result<Incised, IncisionError> {
        if !(2..=PATH_POINTS_MAX).contains(&self.path.len()) {
            return Err(IncisionError::Points { got: self.path.len() });
        }
        for (what, got) in [("width_m", self.width_m), ("depth_m", self.depth_m)] {
            if !(0.0..=INCISION_MAX_M).contains(&got) {
                return Err(IncisionError::Size { what, got });
            }
        }
        if self.depth_m > 0.0 && !surface.is_closed() {
            return Err(IncisionError::NotClosed);
        }
        let mut line = Line::drawn(surface, &self.path)?;
        let lips = line.opened(self.width_m)?;
        let mut edit =
            TopologyEdit { removed: line.patch.split().to_vec(), ..TopologyEdit::default() };
        (edit.added, edit.parents) = line.patch.pieces().unzip();
        let mut floor = Vec::new();
        if self.depth_m > 0.0 {
            floor = line.deepened(&lips, self.depth_m, surface, &mut edit)?;
        }
        edit.added_positions = line.patch.added_positions().map(|p| p.as_vec3()).collect();
        let Lips { left, right, width_m, .. } = lips;
        Ok(Incised { edit, left, right, floor, width_m })
    }
}

/// A point of the line on the surface.
#[derive(Clone, Copy)]
struct OnSurface {
    triangle: TriangleId,
    at: DVec3,
    normal: DVec3,
}

/// A line along edges of a patch.
struct Line<'a> {
    patch: SplitPatch<'a>,
    /// Representatives of its vertices, in order, and the place of each.
    vertices: Vec<u32>,
    places: HashMap<u32, usize>,
    /// It ends where it begins; that vertex is in the list once.
    is_closed: bool,
}

/// The two sides of an open line.
struct Lips {
    left: Vec<u32>,
    right: Vec<u32>,
    /// A triangle at each vertex, which the walls name as their parent.
    parents: Vec<TriangleId>,
    /// Unit normals of the surface at the vertices.
    normals: Vec<DVec3>,
    width_m: f64,
}

impl<'a> Line<'a> {
    /// Draws a line on the surface.
    fn drawn(surface: &'a Surface, path: &[DVec3]) -> Result<Line<'a>, IncisionError> {
        let ends = path.iter().enumerate().map(|(at, p)| on_surface(surface, at, *p));
        let ends = ends.collect::<Result<Vec<_>, _>>()?;
        let slack = INCISION_SNAP_SHARE * surface.mesh().mean_edge();
        let corners = corners(&ends.iter().map(|end| end.at).collect::<Vec<_>>(), slack);
        let patch = SplitPatch::of(surface.mesh());
        let (vertices, places) = Default::default();
        let mut line = Line { patch, vertices, places, is_closed: false };
        let first = line.put(Face::Whole(ends[0].triangle), ends[0].at);
        line.push(first.expect("the line has no edge yet"));
        for pair in corners.windows(2) {
            let [at, to] = [pair[0], pair[1]];
            line.draw_to(at, &ends[to], ends[at].normal, to + 1 == ends.len())?;
        }
        match line.vertices[..] {
            [_] => Err(IncisionError::NoLength),
            // Its two ends hold together a line of one edge.
            [a, b] => {
                let middle = line.patch.position(a).midpoint(line.patch.position(b));
                line.vertices.insert(1, line.patch.split_edge(a, b, middle));
                line.places.extend([(line.vertices[1], 1), (b, 2)]);
                Ok(line)
            }
            _ => Ok(line),
        }
    }

    fn push(&mut self, v: u32) {
        self.places.insert(v, self.vertices.len());
        self.vertices.push(v);
    }

    /// Goes on to a point, from face to face.
    fn draw_to(
        &mut self,
        at: usize,
        to: &OnSurface,
        normal: DVec3,
        is_last: bool,
    ) -> Result<(), IncisionError> {
        // The mean of two opposite normals has no direction, and no plane.
        let normal = (normal + to.normal).try_normalize().ok_or(IncisionError::NoWay { at })?;
        let meets = || IncisionError::MeetsItself { at };
        loop {
            let here = *self.vertices.last().expect("it has begun");
            let distance = |line: &Line, v: u32| line.patch.position(v).distance(to.at);
            if let Some(face) = self.holder(to, here) {
                let next = self.put(face, to.at).ok_or_else(meets)?;
                match self.places.get(&next) {
                    None => self.push(next),
                    Some(0) if is_last && self.vertices.len() > 2 => self.is_closed = true,
                    Some(_) if next == here => {}
                    Some(_) => return Err(meets()),
                }
                return Ok(());
            }
            let before = distance(self, here);
            let (edge, share) =
                self.ahead(here, to.at, normal).ok_or(IncisionError::NoWay { at })?;
            let next = self.put_on_edge(edge, share).ok_or_else(meets)?;
            if self.places.contains_key(&next) {
                return Err(meets());
            }
            if distance(self, next) >= before {
                return Err(IncisionError::NoWay { at });
            }
            self.push(next);
        }
    }

    /// Returns the part of the triangle of `to` in which it is, if that part is at a vertex.
    fn holder(&self, to: &OnSurface, at: u32) -> Option<Face> {
        let holds = |face: &Face| {
            let corners = self.patch.triangle(*face);
            let slack = INCISION_ROUNDING * extent(&corners);
            closest_point(to.at, &corners).distance_squared <= slack * slack
        };
        let mut parts = self.patch.parts_of(to.triangle).into_iter();
        parts.find(|face| self.patch.joined_corners(*face).contains(&at) && holds(face))
    }

    /// Puts a vertex at a point of a face, or takes one that is there nearly, and returns its representative; `None` on
    /// an edge of the line.
    fn put(&mut self, face: Face, at: DVec3) -> Option<u32> {
        let corners = self.patch.joined_corners(face);
        let shares = closest_point(at, &self.patch.triangle(face)).barycentric.to_array();
        let k = (0..3).min_by(|a, b| shares[*a].total_cmp(&shares[*b])).expect("three");
        if shares[k] > INCISION_SNAP_SHARE {
            return Some(self.patch.split_face(face, at));
        }
        let (a, b) = ((k + 1) % 3, (k + 2) % 3);
        self.put_on_edge([corners[a], corners[b]], shares[b] / (shares[a] + shares[b]))
    }

    fn put_on_edge(&mut self, [a, b]: [u32; 2], share: f64) -> Option<u32> {
        if share < INCISION_SNAP_SHARE {
            return Some(a);
        }
        if share > 1.0 - INCISION_SNAP_SHARE {
            return Some(b);
        }
        let place = |v: u32| self.places.get(&v).copied();
        if place(a).zip(place(b)).is_some_and(|(a, b)| a.abs_diff(b) == 1) {
            return None;
        }
        let at = self.patch.position(a).lerp(self.patch.position(b), share);
        Some(self.patch.split_edge(a, b, at))
    }

    /// Returns the edge opposite a vertex that a line to a point crosses first, and where.
    fn ahead(&self, from: u32, to: DVec3, normal: DVec3) -> Option<([u32; 2], f64)> {
        let p = self.patch.position(from);
        let side = (to - p).cross(normal);
        let way = (to - p).normalize_or_zero();
        let mut best = None;
        let mut most = 0.0;
        for face in self.patch.faces_at(from) {
            let corners = self.patch.joined_corners(face);
            let k = corners.iter().position(|v| *v == from).expect("it is at the vertex");
            let edge = [corners[(k + 1) % 3], corners[(k + 2) % 3]];
            let [a, b] = edge.map(|v| self.patch.position(v));
            let [on_a, on_b] = [a, b].map(|at| side.dot(at - p));
            if on_a * on_b > 0.0 || on_a == on_b {
                continue;
            }
            let share = on_a / (on_a - on_b);
            let cosine = (a.lerp(b, share) - p).normalize_or_zero().dot(way);
            if cosine > most {
                (best, most) = (Some((edge, share)), cosine);
            }
        }
        best
    }

    /// Vertices before and after the one at `k`.
    fn neighbours(&self, k: usize) -> (Option<u32>, Option<u32>) {
        let n = self.vertices.len();
        match self.is_closed {
            true => (Some(self.vertices[(k + n - 1) % n]), Some(self.vertices[(k + 1) % n])),
            false => {
                let before = k.checked_sub(1).map(|k| self.vertices[k]);
                (before, self.vertices.get(k + 1).copied())
            }
        }
    }

    /// Doubles the vertices of the line, and moves the two lips apart.
    fn opened(&mut self, width_m: f64) -> Result<Lips, IncisionError> {
        let n = self.vertices.len();
        let mut sides: Vec<Option<Vec<Face>>> = Vec::new();
        let mut lips = Lips {
            left: self.vertices.clone(),
            right: self.vertices.clone(),
            parents: Vec::new(),
            normals: Vec::new(),
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
            let is_doubled = !is_tip || self.is_on_border(v)?;
            sides.push(is_doubled.then(|| self.right_of(v, before, after)).transpose()?);
            let place = |v: Option<u32>| self.patch.position(v.unwrap_or(self.vertices[k]));
            let along = (place(after) - place(before)).normalize_or_zero();
            asides.push(lips.normals[k].cross(along).normalize_or_zero() * (0.5 * width_m));
        }
        let mut corners: HashMap<Face, [u32; 3]> = HashMap::new();
        // Vertices to move, with their way and the place in the line.
        let mut moved: Vec<(u32, usize, f64)> = Vec::new();
        for (k, right) in sides.iter().enumerate() {
            let Some(right) = right else { continue };
            let v = self.vertices[k];
            let mut doubles: HashMap<(u32, bool), u32> = HashMap::new();
            for face in self.patch.faces_at(v) {
                let is_right = right.contains(&face);
                let stored = self.patch.corners(face);
                let at = stored.iter().position(|c| self.patch.joined(*c) == v).expect("at it");
                // An added vertex is the left lip's; one of the mesh stays where it is, if it has to be moved.
                let keeps = !is_right && (width_m == 0.0 || self.patch.is_added(stored[at]));
                let double = *doubles.entry((stored[at], is_right)).or_insert_with(|| {
                    let own = match keeps {
                        true => stored[at],
                        false => self.patch.add_vertex(self.patch.position(v), None),
                    };
                    let sign = if is_right { -1.0 } else { 1.0 };
                    moved.push((own, k, sign));
                    own
                });
                let lip = if is_right { &mut lips.right[k] } else { &mut lips.left[k] };
                *lip = double;
                corners.entry(face).or_insert(stored)[at] = double;
            }
        }
        let mut faces: Vec<(Face, [u32; 3])> = corners.into_iter().collect();
        faces.sort_unstable();
        for (face, corners) in &faces {
            self.patch.replace(*face, &[*corners]);
        }
        if width_m > 0.0 {
            let at_lips: Vec<[u32; 3]> = faces.into_iter().map(|(_, corners)| corners).collect();
            lips.width_m = self.moved_apart(&at_lips, &moved, &asides) * width_m;
        }
        Ok(lips)
    }

    /// Moves lips as far as no triangle at them turns over or shrinks to nothing. Returns the greatest share.
    fn moved_apart(
        &mut self,
        faces: &[[u32; 3]],
        moved: &[(u32, usize, f64)],
        asides: &[DVec3],
    ) -> f64 {
        let at: HashMap<u32, usize> = moved.iter().map(|(v, k, _)| (*v, *k)).collect();
        let from: Vec<DVec3> = moved.iter().map(|(v, ..)| self.patch.position(*v)).collect();
        let before: Vec<DVec3> =
            faces.iter().map(|f| area_vector(&f.map(|v| self.patch.position(v)))).collect();
        let mut shares = vec![1.0; asides.len()];
        // Each round takes a fifth off what is too far: 100 rounds leave nothing of a metre.
        for _ in 0..100 {
            for ((v, k, sign), from) in moved.iter().zip(&from) {
                self.patch.move_added(*v, from + asides[*k] * (shares[*k] * sign));
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
        moved.iter().map(|(_, k, _)| shares[*k]).fold(0.0, f64::max)
    }

    /// Returns the faces at a vertex on the right of the line, seen from outside.
    fn right_of(
        &self,
        v: u32,
        before: Option<u32>,
        after: Option<u32>,
    ) -> Result<Vec<Face>, IncisionError> {
        let n_faces = self.patch.faces_at(v).len();
        let mut found = Vec::new();
        // Clockwise from the edge ahead to the edge behind, or to a border.
        let mut from = after;
        while let Some(w) = from {
            let Some((face, third)) = self.face_with(w, v, v)? else { break };
            found.push(face);
            from = Some(third);
            if from == before {
                return Ok(found);
            }
            if found.len() > n_faces {
                return Err(IncisionError::Branches { vertex: v });
            }
        }
        // Behind a border, the other way around from the edge behind.
        let mut to = before;
        while let Some(u) = to {
            let Some((face, third)) = self.face_with(v, u, v)? else { break };
            if found.len() > n_faces {
                return Err(IncisionError::Branches { vertex: v });
            }
            found.push(face);
            to = Some(third);
        }
        Ok(found)
    }

    fn is_on_border(&self, v: u32) -> Result<bool, IncisionError> {
        for face in self.patch.faces_at(v) {
            let corners = self.patch.joined_corners(face);
            let k = corners.iter().position(|c| *c == v).expect("at it");
            let [next, before] = [corners[(k + 1) % 3], corners[(k + 2) % 3]];
            if self.face_with(next, v, v)?.is_none() || self.face_with(v, before, v)?.is_none() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns the face at `v` in which the edge goes from `a` to `b`, and its third vertex.
    fn face_with(&self, a: u32, b: u32, v: u32) -> Result<Option<(Face, u32)>, IncisionError> {
        let third = |face: Face| {
            let corners = self.patch.joined_corners(face);
            let k = (0..3).find(|k| corners[*k] == a && corners[(k + 1) % 3] == b)?;
            Some((face, corners[(k + 2) % 3]))
        };
        let mut faces = self.patch.faces_at(v).into_iter().filter_map(third);
        let found = faces.next();
        match faces.next() {
            None => Ok(found),
            Some(_) => Err(IncisionError::Branches { vertex: v }),
        }
    }

    /// Adds walls and floor, and returns the floor's vertices.
    fn deepened(
        &mut self,
        lips: &Lips,
        depth_m: f64,
        surface: &Surface,
        edit: &mut TopologyEdit,
    ) -> Result<Vec<u32>, IncisionError> {
        let n = self.vertices.len();
        let middle = |k: usize| {
            self.patch.position(lips.left[k]).midpoint(self.patch.position(lips.right[k]))
        };
        let deep: Vec<DVec3> = (0..n).map(|k| middle(k) - lips.normals[k] * depth_m).collect();
        let floor: Vec<u32> = (0..n)
            .map(|k| match lips.left[k] == lips.right[k] {
                true => lips.left[k],
                false => self.patch.add_vertex(deep[k], None),
            })
            .collect();
        for k in 0..n - usize::from(!self.is_closed) {
            let j = (k + 1) % n;
            let (l, r, f) = (&lips.left, &lips.right, &floor);
            let walls =
                [[l[j], l[k], f[k]], [l[j], f[k], f[j]], [r[k], r[j], f[j]], [r[k], f[j], f[k]]];
            // The triangles at an end that is single may be whole.
            let parent = lips.parents[if l[k] == r[k] { j } else { k }];
            let whole = |[a, b, c]: &[u32; 3]| a != b && b != c && c != a;
            for wall in walls.into_iter().filter(whole) {
                if let Some(triangle) = self.crossed(&wall, surface) {
                    return Err(IncisionError::TooDeep { depth_m, triangle: triangle.0 });
                }
                edit.added.push(wall);
                edit.parents.push(parent);
            }
        }
        Ok(floor)
    }

    /// Returns a triangle of the surface, away from the line, that a wall crosses.
    fn crossed(&self, wall: &[u32; 3], surface: &Surface) -> Option<TriangleId> {
        let corners = wall.map(|v| self.patch.position(v).as_vec3());
        let wall = corners.map(|c| c.as_dvec3());
        let is_at_line = |t: &TriangleId| {
            surface.mesh().joined_vertices(*t).iter().any(|v| self.places.contains_key(v))
        };
        let split = self.patch.split();
        let mut found = None;
        surface.overlap(&Aabb::of_points(corners), |t| {
            if !split.contains(&t)
                && !is_at_line(&t)
                && triangle_triangle::meet(&wall, &surface.mesh().triangle(t))
            {
                found = Some(t);
            }
        });
        found
    }
}

fn on_surface(surface: &Surface, at: usize, p: DVec3) -> Result<OnSurface, IncisionError> {
    let far = |distance_m| IncisionError::Far { at, distance_m };
    if !p.is_finite() {
        return Err(far(p.length()));
    }
    let found = surface.nearest(p, f64::INFINITY, None).ok_or_else(|| far(f64::INFINITY))?;
    let distance = found.closest.distance_squared.sqrt();
    if distance > INCISION_REACH_M {
        return Err(far(distance));
    }
    let normal = area_vector(&surface.mesh().triangle(found.triangle)).normalize_or_zero();
    Ok(OnSurface { triangle: found.triangle, at: found.closest.point, normal })
}

/// Returns the numbers of the points that a line through them needs, if it may be off by `slack` metres (Douglas and
/// Peucker 1973): a point in a triangle splits it, and small triangles at the lips do not let them part.
fn corners(line: &[DVec3], slack: f64) -> Vec<usize> {
    let last = line.len() - 1;
    let mut kept = vec![0, last];
    let mut spans = vec![(0, last)];
    while let Some((from, to)) = spans.pop() {
        let off = |k: &usize| {
            let share = nearest_on_segment(line[*k], line[from], line[to]);
            line[*k].distance(line[from].lerp(line[to], share))
        };
        let Some(farthest) = (from + 1..to).max_by(|a, b| off(a).total_cmp(&off(b))) else {
            continue;
        };
        if off(&farthest) > slack {
            kept.push(farthest);
            spans.extend([(from, farthest), (farthest, to)]);
        }
    }
    kept.sort_unstable();
    kept
}

/// Returns the normal of a triangle, twice as long as its area.
fn area_vector([a, b, c]: &[DVec3; 3]) -> DVec3 {
    (b - a).cross(c - a)
}

fn extent([a, b, c]: &[DVec3; 3]) -> f64 {
    a.distance(*b).max(b.distance(*c)).max(c.distance(*a))
}
