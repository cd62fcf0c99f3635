//! Binding of a tissue to controls: the points or frames of a solver that carry its vertices.
//!
//! A vertex is carried by a few controls, each with a weight, and the weights sum to one. Points: its position is the
//! weighted sum of their positions. Frames: the weighted sum of the positions to which each frame alone would carry it
//! from rest (linear blending, which shrinks under twist; one frame alone carries it rigidly). A sum is taken in
//! double precision, in the order of the weights, and rounded once.
//!
//! A contact's force goes the opposite way, by the transpose: the controls bear, together, its force and its moment.

use glam::{DMat3, DVec3, Quat, Vec3};
use serde::{Deserialize, Serialize};

use super::deform::outside_world;
#[cfg(target_arch = "x86_64")]
use crate::geometry::four_lanes::Wide;
use crate::geometry::{
    four_lanes::{Four, FourLanes, Portable},
    tolerance::{QUATERNION_NORM_SLACK, WEIGHT_SUM_SLACK},
};

/// Maximum controls of an uploaded vertex: a cell with quadratic interpolation has 27 nodes.
pub const CONTROLS_PER_VERTEX_MAX: usize = 32;
/// Maximum controls of a vertex that a cut added: a blend of three vertices.
pub const BLENDED_CONTROLS_MAX: usize = 3 * CONTROLS_PER_VERTEX_MAX;

/// A control with an orientation, scene frame.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ControlFrame {
    /// Origin, metres.
    pub position: Vec3,
    /// Rotation; its norm is one to within [`QUATERNION_NORM_SLACK`].
    pub rotation: Quat,
}

/// The state of some or all controls of a tissue, scene frame.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Controls {
    /// Positions, metres.
    Points(Vec<Vec3>),
    /// Positions and orientations.
    Frames(Vec<ControlFrame>),
}

/// Weights of vertices, vertex by vertex.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct VertexWeights {
    /// End of each vertex's weights: `[n_vertices]`.
    ends: Vec<u32>,
    controls: Vec<u32>,
    weights: Vec<f64>,
}

/// New state of controls.
#[derive(Clone, Debug, PartialEq)]
pub struct ControlMove {
    /// Controls that move, each named once; `None`: all.
    pub controls: Option<Vec<u32>>,
    /// Their new state, in this order.
    pub to: Controls,
}

/// Weights of the vertices of a tissue, and their controls at rest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Binding {
    rest: Controls,
    weights: VertexWeights,
    /// Positions of the vertices with the controls at rest, metres; empty for points, which do not need them.
    rest_positions: Vec<Vec3>,
    /// The transpose, so that a move costs as much as it moves.
    #[serde(skip)]
    carried: CarriedVertices,
}

/// Vertices of each control, control by control.
#[derive(Clone, Debug, Default, PartialEq)]
struct CarriedVertices {
    starts: Vec<u32>,
    vertices: Vec<u32>,
}

/// Weights of vertices that a cut adds to a driven tissue.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AddedWeights {
    /// Their weights; of no vertex: weights are blended from those of the parents' corners.
    pub weights: VertexWeights,
    /// Their positions with frames at rest, once they are known.
    pub(super) rest_positions: Vec<Vec3>,
}

impl From<VertexWeights> for Box<AddedWeights> {
    fn from(weights: VertexWeights) -> Box<AddedWeights> {
        Box::new(AddedWeights { weights, rest_positions: Vec::new() })
    }
}

/// Errors of a binding that cannot be used.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum BindingError {
    /// Vertices without weights, or weights without a vertex.
    #[error("has weights of {got} vertices, the mesh has {expected} vertices")]
    Vertices {
        /// Vertices with weights.
        got: usize,
        /// Vertices of the mesh.
        expected: usize,
    },
    /// A vertex with no weight, or too many.
    #[error("vertex {vertex} has {got} weights, expected 1 to {max}")]
    Count {
        /// The vertex.
        vertex: usize,
        /// Its number of weights.
        got: usize,
        /// Maximum number of weights.
        max: usize,
    },
    /// A control that does not exist.
    #[error("vertex {vertex} has control {control}, expected less than {n_controls}")]
    UnknownControl {
        /// The vertex.
        vertex: usize,
        /// The given id.
        control: u32,
        /// Number of controls.
        n_controls: usize,
    },
    /// A cell with a corner that does not exist.
    #[error("cell {cell} has node {node}, expected less than {n_nodes}")]
    UnknownNode {
        /// The cell: a tetrahedron, or one of the six of a hexahedron, after all tetrahedra.
        cell: usize,
        /// The given id.
        node: u32,
        /// Number of nodes.
        n_nodes: usize,
    },
    /// Cells that are all flat.
    #[error("has no cell with a volume")]
    NoVolume,
    /// Weights that do not sum to one.
    #[error("the weights of vertex {vertex} sum to {got}, expected 1 to within {WEIGHT_SUM_SLACK}")]
    Sum {
        /// The vertex.
        vertex: usize,
        /// Sum of its weights; NaN or infinite if a weight is.
        got: f64,
    },
    /// A control's coordinate that is NaN, infinite or too large, or a rotation that is none.
    #[error("control {control} is no state of a control: a coordinate or rotation is out of range")]
    Control {
        /// The control.
        control: usize,
    },
    /// A vertex that its controls at rest carry out of the world.
    #[error("vertex {vertex} is carried to {got} m, out of range")]
    Vertex {
        /// The vertex.
        vertex: usize,
        /// Coordinate with the controls at rest, metres.
        got: f32,
    },
}

impl Controls {
    /// Number of controls.
    pub fn len(&self) -> usize {
        match self {
            Controls::Points(points) => points.len(),
            Controls::Frames(frames) => frames.len(),
        }
    }

    /// Returns true if there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Numbers of the state of one control in a flat array: x, y, z, and a frame's quaternion.
    pub fn numbers_each(are_frames: bool) -> usize {
        if are_frames { 7 } else { 3 }
    }

    /// Returns the controls of a flat array with [`Controls::numbers_each`] numbers for each; `None` if some are left.
    pub fn of_numbers(are_frames: bool, flat: &[f32]) -> Option<Controls> {
        let frame = |n: &[f32; 7]| ControlFrame {
            position: Vec3::new(n[0], n[1], n[2]),
            rotation: Quat::from_xyzw(n[3], n[4], n[5], n[6]),
        };
        match are_frames {
            false => match flat.as_chunks::<3>() {
                (points, []) => {
                    Some(Controls::Points(points.iter().map(|p| Vec3::from_array(*p)).collect()))
                }
                _ => None,
            },
            true => match flat.as_chunks::<7>() {
                (frames, []) => Some(Controls::Frames(frames.iter().map(frame).collect())),
                _ => None,
            },
        }
    }

    /// Returns the state as a flat array.
    pub fn numbers(&self) -> Vec<f32> {
        match self {
            Controls::Points(points) => points.iter().flat_map(|p| p.to_array()).collect(),
            Controls::Frames(frames) => {
                let of = |f: &ControlFrame| {
                    f.position.to_array().into_iter().chain(f.rotation.to_array())
                };
                frames.iter().flat_map(of).collect()
            }
        }
    }

    /// Returns "frames" or "points".
    pub(super) fn kind(&self) -> &'static str {
        if self.are_frames() { "frames" } else { "points" }
    }

    /// Returns true for frames.
    pub fn are_frames(&self) -> bool {
        matches!(self, Controls::Frames(_))
    }

    /// Returns the first that is outside the world or no rotation.
    pub(super) fn first_invalid(&self) -> Option<usize> {
        match self {
            Controls::Points(points) => outside_world(points).map(|(at, _)| at / 3),
            Controls::Frames(frames) => frames.iter().position(|f| {
                let off = (f.rotation.as_dquat().length() - 1.0).abs();
                let is_rotation = off <= QUATERNION_NORM_SLACK;
                outside_world(&[f.position]).is_some() || !is_rotation
            }),
        }
    }

    /// Gives control `at` the state `k` of another list, and returns true if it had another.
    pub(super) fn put(&mut self, at: usize, from: &Controls, k: usize) -> bool {
        match (self, from) {
            (Controls::Points(to), Controls::Points(from)) => {
                std::mem::replace(&mut to[at], from[k]) != from[k]
            }
            (Controls::Frames(to), Controls::Frames(from)) => {
                std::mem::replace(&mut to[at], from[k]) != from[k]
            }
            _ => unreachable!("the kinds were compared"),
        }
    }

    pub(super) fn heap_bytes(&self) -> usize {
        match self {
            Controls::Points(points) => size_of::<Vec3>() * points.capacity(),
            Controls::Frames(frames) => size_of::<ControlFrame>() * frames.capacity(),
        }
    }
}

impl VertexWeights {
    /// Lets each vertex be a control of its own.
    pub fn each_alone(n_vertices: u32) -> VertexWeights {
        let n = n_vertices as usize;
        VertexWeights {
            ends: (1..=n_vertices).collect(),
            controls: (0..n_vertices).collect(),
            weights: vec![1.0; n],
        }
    }

    /// Makes the weights of vertices from the number of weights of each, and the control of each weight; `None` if the
    /// lists do not fit each other.
    pub fn of_counts(
        counts: &[u32],
        controls: Vec<u32>,
        weights: Vec<f64>,
    ) -> Option<VertexWeights> {
        let mut end = 0_u32;
        let mut ends = Vec::with_capacity(counts.len());
        for count in counts {
            end = end.checked_add(*count)?;
            ends.push(end);
        }
        let made = VertexWeights { ends, controls, weights };
        made.is_whole().then_some(made)
    }

    /// Number of vertices.
    pub fn n_vertices(&self) -> usize {
        self.ends.len()
    }

    /// Number of weights of all vertices.
    pub fn n_weights(&self) -> usize {
        self.weights.len()
    }

    /// Adds the next vertex with its controls and weights.
    pub fn push(&mut self, weights: impl IntoIterator<Item = (u32, f64)>) {
        for (control, weight) in weights {
            self.controls.push(control);
            self.weights.push(weight);
        }
        self.ends.push(self.weights.len() as u32);
    }

    /// Returns the controls of a vertex, each with its weight.
    pub fn of(&self, vertex: usize) -> impl ExactSizeIterator<Item = (u32, f64)> + Clone + '_ {
        let (controls, weights) = self.row(vertex);
        controls.iter().zip(weights).map(|(c, w)| (*c, *w))
    }

    #[inline(always)]
    fn row(&self, vertex: usize) -> (&[u32], &[f64]) {
        let start = vertex.checked_sub(1).map_or(0, |before| self.ends[before] as usize);
        let range = start..self.ends[vertex] as usize;
        (&self.controls[range.clone()], &self.weights[range])
    }

    /// Returns the weighted sum of the points of each vertex.
    fn sums(&self, vertices: impl Iterator<Item = usize>, points: &[Vec3]) -> Vec<Vec3> {
        #[cfg(target_arch = "x86_64")]
        if let Some(lanes) = Wide::here() {
            // SAFETY: lanes are wide only if the processor has AVX2.
            return unsafe { sums_wide(lanes, self, vertices, points) };
        }
        self.sums_by(Portable, vertices, points)
    }

    // A loop and no iterator adapter, whose `fold` would be compiled apart, without the wide instructions.
    #[inline(always)]
    fn sums_by<L: FourLanes>(
        &self,
        lanes: L,
        vertices: impl Iterator<Item = usize>,
        points: &[Vec3],
    ) -> Vec<Vec3> {
        let mut wide = Vec::with_capacity(points.len());
        for p in points {
            wide.push(lanes.of(p.extend(0.0).to_array().map(f64::from)));
        }
        let mut made = Vec::with_capacity(vertices.size_hint().0);
        for v in vertices {
            let (controls, weights) = self.row(v);
            let term = |c: u32, w: f64| lanes.all(w) * wide[c as usize];
            let mut sum = lanes.all(0.0);
            // Four to a turn: in a loop of single terms the sum would be in memory.
            let ((controls, last), (weights, last_weights)) =
                (controls.as_chunks(), weights.as_chunks());
            for ([a, b, c, d], [u, v, w, x]) in controls.iter().zip(weights) {
                sum = sum + term(*a, *u) + term(*b, *v) + term(*c, *w) + term(*d, *x);
            }
            for (c, w) in last.iter().zip(last_weights) {
                sum = sum + term(*c, *w);
            }
            let [x, y, z, _] = sum.numbers();
            made.push(DVec3::new(x, y, z).as_vec3());
        }
        made
    }

    fn extend(&mut self, more: &VertexWeights) {
        (0..more.n_vertices()).for_each(|v| self.push(more.of(v)));
    }

    /// Returns true if the three lists fit each other: data from outside may not.
    pub(super) fn is_whole(&self) -> bool {
        self.ends.is_sorted()
            && self.ends.last().copied().unwrap_or(0) as usize == self.weights.len()
            && self.controls.len() == self.weights.len()
    }

    /// Checks that each vertex has 1 to `max` weights of existing controls that sum to one.
    pub(super) fn check(&self, n_controls: usize, max: usize) -> Result<(), BindingError> {
        for vertex in 0..self.n_vertices() {
            let of = self.of(vertex);
            let got = of.len();
            if got == 0 || got > max {
                return Err(BindingError::Count { vertex, got, max });
            }
            if let Some((control, _)) = of.clone().find(|(c, _)| *c as usize >= n_controls) {
                return Err(BindingError::UnknownControl { vertex, control, n_controls });
            }
            let sum: f64 = of.map(|(_, w)| w).sum();
            let is_one = (sum - 1.0).abs() <= WEIGHT_SUM_SLACK;
            if !is_one {
                return Err(BindingError::Sum { vertex, got: sum });
            }
        }
        Ok(())
    }

    pub(super) fn heap_bytes(&self) -> usize {
        size_of::<u32>() * (self.ends.capacity() + self.controls.capacity())
            + size_of::<f64>() * self.weights.capacity()
    }
}

impl Binding {
    /// Binds vertices at `positions` to controls at rest.
    ///
    /// # Errors
    /// Returns an error if a control, a weight or a vertex is not valid.
    pub fn new(
        rest: Controls,
        weights: VertexWeights,
        positions: &[Vec3],
    ) -> Result<Binding, BindingError> {
        let (got, expected) = (weights.n_vertices(), positions.len());
        if got != expected {
            return Err(BindingError::Vertices { got, expected });
        }
        weights.check(rest.len(), CONTROLS_PER_VERTEX_MAX)?;
        let rest_positions = if rest.are_frames() { positions.to_vec() } else { Vec::new() };
        let binding = Binding { rest, weights, rest_positions, carried: Default::default() };
        binding.check_rest()?;
        Ok(binding.indexed())
    }

    /// Returns the binding with its transpose, which is not saved.
    pub(super) fn indexed(mut self) -> Binding {
        self.carried = CarriedVertices::of(&self.weights, self.rest.len());
        self
    }

    fn check_rest(&self) -> Result<(), BindingError> {
        if let Some(control) = self.rest.first_invalid() {
            return Err(BindingError::Control { control });
        }
        let carried = self.positions(&self.rest);
        let out = outside_world(&carried);
        out.map_or(Ok(()), |(at, got)| Err(BindingError::Vertex { vertex: at / 3, got }))
    }

    /// Returns the weights of the vertices.
    pub fn weights(&self) -> &VertexWeights {
        &self.weights
    }

    /// Returns the position of a vertex with frames at rest.
    pub(super) fn rest_position(&self, vertex: u32) -> DVec3 {
        self.rest_positions[vertex as usize].as_dvec3()
    }

    /// Returns the binding of the vertices that a cut adds alone.
    pub(super) fn of_added(&self, added: &AddedWeights) -> Binding {
        let AddedWeights { weights, rest_positions } = added.clone();
        Binding { rest: self.rest.clone(), weights, rest_positions, carried: Default::default() }
    }

    /// Returns the controls at rest.
    pub fn rest(&self) -> &Controls {
        &self.rest
    }

    /// Returns the positions of all vertices for a state of all controls.
    pub fn positions(&self, controls: &Controls) -> Vec<Vec3> {
        self.positions_of(0..self.weights.n_vertices(), controls)
    }

    /// Returns the positions of some vertices. O(controls + vertices).
    pub(super) fn positions_of(
        &self,
        vertices: impl Iterator<Item = usize>,
        controls: &Controls,
    ) -> Vec<Vec3> {
        match (&self.rest, controls) {
            (Controls::Frames(rest), Controls::Frames(now)) => {
                let carry = rest.iter().zip(now).map(|(rest, now)| rest.carry_to(now));
                let carry: Vec<RigidMotion> = carry.collect();
                let position = |v: usize| {
                    let at_rest = self.rest_positions[v].as_dvec3();
                    let add = |sum, (c, w)| sum + w * carry[c as usize].apply(at_rest);
                    self.weights.of(v).fold(DVec3::ZERO, add).as_vec3()
                };
                vertices.map(position).collect()
            }
            (_, Controls::Points(points)) => self.weights.sums(vertices, points),
            _ => unreachable!("the kinds were compared"),
        }
    }

    /// Returns the vertices that some controls carry, ascending. O(controls + carried vertices), and a bit for each
    /// vertex of the tissue.
    pub(super) fn carried_by(&self, is_carrier: &[bool]) -> Vec<u32> {
        let mut words = vec![0_u64; self.weights.n_vertices().div_ceil(64)];
        for control in (0..is_carrier.len()).filter(|c| is_carrier[*c]) {
            self.carried.by(control).iter().for_each(|v| words[*v as usize / 64] |= 1 << (v % 64));
        }
        let count: u32 = words.iter().map(|word| word.count_ones()).sum();
        let mut vertices = Vec::with_capacity(count as usize);
        for (first, mut word) in (0..).step_by(64).zip(words) {
            while word != 0 {
                vertices.push(first + word.trailing_zeros());
                word &= word - 1;
            }
        }
        vertices
    }

    /// Checks data from outside for the vertices of a mesh.
    pub(super) fn is_valid(&self, n_vertices: usize) -> bool {
        let n_rest = if self.rest.are_frames() { n_vertices } else { 0 };
        self.weights.is_whole()
            && self.weights.n_vertices() == n_vertices
            && self.weights.check(self.rest.len(), BLENDED_CONTROLS_MAX).is_ok()
            && self.rest_positions.len() == n_rest
            && outside_world(&self.rest_positions).is_none()
            && self.check_rest().is_ok()
    }

    /// Returns the binding with more vertices.
    pub(super) fn with(&self, added: &AddedWeights) -> Binding {
        let mut more = self.clone();
        more.weights.extend(&added.weights);
        more.rest_positions.extend(&added.rest_positions);
        more.indexed()
    }

    /// Allocated bytes.
    pub(super) fn heap_bytes(&self) -> usize {
        let rest_positions = size_of::<Vec3>() * self.rest_positions.capacity();
        let carried = &self.carried;
        let carried = size_of::<u32>() * (carried.starts.capacity() + carried.vertices.capacity());
        let of_rest = self.rest.heap_bytes() + rest_positions;
        size_of::<Binding>() + of_rest + self.weights.heap_bytes() + carried
    }
}

impl CarriedVertices {
    fn of(weights: &VertexWeights, n_controls: usize) -> CarriedVertices {
        let mut starts = vec![0; n_controls + 1];
        weights.controls.iter().for_each(|c| starts[*c as usize + 1] += 1);
        for c in 0..n_controls {
            starts[c + 1] += starts[c];
        }
        let (mut next, mut vertices) = (starts.clone(), vec![0; weights.n_weights()]);
        for v in 0..weights.n_vertices() {
            for (c, _) in weights.of(v) {
                vertices[next[c as usize] as usize] = v as u32;
                next[c as usize] += 1;
            }
        }
        CarriedVertices { starts, vertices }
    }

    fn by(&self, control: usize) -> &[u32] {
        &self.vertices[self.starts[control] as usize..self.starts[control + 1] as usize]
    }
}

/// As [`VertexWeights::sums_by`], with four lanes to an instruction instead of two.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn sums_wide(
    lanes: Wide,
    weights: &VertexWeights,
    vertices: impl Iterator<Item = usize>,
    points: &[Vec3],
) -> Vec<Vec3> {
    weights.sums_by(lanes, vertices, points)
}

/// Motion of a frame from rest.
pub(super) struct RigidMotion {
    pub(super) turn: DMat3,
    pub(super) shift: DVec3,
}

impl ControlFrame {
    fn turn(&self) -> DMat3 {
        DMat3::from_quat(self.rotation.as_dquat().normalize())
    }

    pub(super) fn carry_to(&self, now: &ControlFrame) -> RigidMotion {
        // A frame that has not turned carries without rounding.
        let has_turned = self.rotation != now.rotation;
        let turn = if has_turned { now.turn() * self.turn().transpose() } else { DMat3::IDENTITY };
        let shift = now.position.as_dvec3() - turn * self.position.as_dvec3();
        RigidMotion { turn, shift }
    }
}

impl RigidMotion {
    pub(super) fn apply(&self, at: DVec3) -> DVec3 {
        self.turn * at + self.shift
    }
}
