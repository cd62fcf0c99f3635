//! Binding of a tissue to controls: the points or frames of a solver that carry its vertices.
//!
//! A vertex is carried by a few controls, each with a weight, and the weights sum to one. Points: its position is the
//! weighted sum of their positions. Frames: the weighted sum of the positions to which each frame alone would carry it
//! from rest (linear blending, which shrinks under twist; one frame alone carries it rigidly). A sum is taken in
//! double precision, in the order of the weights, and rounded once.
//!
//! A contact's force goes the opposite way, by the transpose: the controls bear, together, its force and its moment.

use std::sync::OnceLock;

use glam::{DMat3, DVec3, Quat, Vec3};
use serde::{Deserialize, Serialize};

use super::{
    control_runs::{Carriers, ControlRuns, RigidMotion},
    deform::{Deformation, are_many, outside_world},
    id_set::IdSet,
    vertex_weights::VertexWeights,
};
use crate::geometry::tolerance::{QUATERNION_NORM_SLACK, WEIGHT_SUM_SLACK};

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

/// New state of controls.
#[derive(Clone, Debug, PartialEq)]
pub struct ControlMove {
    /// Controls that move, each named once; `None`: all.
    pub controls: Option<Vec<u32>>,
    /// Their new state, in this order.
    pub to: Controls,
}

/// Weights of the vertices of a tissue, and their controls at rest.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Binding {
    rest: Controls,
    weights: VertexWeights,
    /// Positions of the vertices with the controls at rest, metres; empty for points, which do not need them.
    rest_positions: Vec<Vec3>,
    /// Made from the weights when they are first needed.
    #[serde(skip)]
    runs: OnceLock<ControlRuns>,
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

impl PartialEq for Binding {
    fn eq(&self, other: &Binding) -> bool {
        let Binding { rest, weights, rest_positions, runs: _ } = self;
        (rest, weights, rest_positions) == (&other.rest, &other.weights, &other.rest_positions)
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
        check_weights(&weights, rest.len(), CONTROLS_PER_VERTEX_MAX)?;
        let rest_positions = if rest.are_frames() { positions.to_vec() } else { Vec::new() };
        let binding = Binding { rest, weights, rest_positions, runs: OnceLock::new() };
        binding.check_rest()?;
        Ok(binding)
    }

    fn runs(&self) -> &ControlRuns {
        self.runs.get_or_init(|| ControlRuns::of(&self.weights, self.rest.len()))
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
        let rest = self.rest.clone();
        Binding { rest, weights, rest_positions, runs: OnceLock::new() }
    }

    /// Returns the controls at rest.
    pub fn rest(&self) -> &Controls {
        &self.rest
    }

    /// Returns the positions of all vertices for a state of all controls.
    pub fn positions(&self, controls: &Controls) -> Vec<Vec3> {
        // Written in place: a list that may have to grow takes the registers of the loop.
        let mut positions = vec![Vec3::ZERO; self.weights.n_vertices()];
        self.carry(self.runs().all(), controls, |v, to| positions[v as usize] = to);
        positions
    }

    /// Calls `put` with each vertex of some runs, and its position. O(controls + vertices).
    fn carry(
        &self,
        runs: impl Iterator<Item = u32>,
        controls: &Controls,
        put: impl FnMut(u32, Vec3),
    ) {
        match (&self.rest, controls) {
            (Controls::Frames(rest), Controls::Frames(now)) => {
                let motions = rest.iter().zip(now).map(|(rest, now)| rest.carry_to(now));
                let motions: Vec<RigidMotion> = motions.collect();
                let carriers = Carriers::Frames(&motions, &self.rest_positions);
                self.runs().carry(runs, &self.weights, &carriers, put);
            }
            (_, Controls::Points(points)) => {
                self.runs().carry(runs, &self.weights, &Carriers::Points(points), put);
            }
            _ => unreachable!("the kinds were compared"),
        }
    }

    /// Returns the deformation of the vertices that some controls carry, `now` being the positions of all. If they are
    /// very many, it is one of all vertices, and the set of these is returned too. O(controls + carried vertices), and
    /// a bit for each vertex of the tissue.
    pub(super) fn carried_by(
        &self,
        is_carrier: &[bool],
        controls: &Controls,
        now: &[Vec3],
    ) -> (Deformation, Option<IdSet>) {
        let runs = self.runs().carried_by(is_carrier);
        let each = || runs.iter().map(|run| self.runs().vertices(*run));
        let n_carried = each().map(|run| run.len()).sum();
        if are_many(n_carried, now.len()) {
            let (mut positions, mut carried) = (now.to_vec(), IdSet::below(now.len()));
            each().for_each(|run| carried.extend(run));
            self.carry(runs.iter().copied(), controls, |v, to| positions[v as usize] = to);
            return (Deformation::Dense(positions), Some(carried));
        }
        let vertices = each().flatten().collect();
        let mut positions = vec![Vec3::ZERO; n_carried];
        let mut places = positions.iter_mut();
        self.carry(runs.iter().copied(), controls, |_, to| {
            *places.next().expect("a place each") = to
        });
        (Deformation::Sparse { vertices, positions }, None)
    }

    /// Checks data from outside for the vertices of a mesh.
    pub(super) fn is_valid(&self, n_vertices: usize) -> bool {
        let n_rest = if self.rest.are_frames() { n_vertices } else { 0 };
        self.weights.is_whole()
            && self.weights.n_vertices() == n_vertices
            && check_weights(&self.weights, self.rest.len(), BLENDED_CONTROLS_MAX).is_ok()
            && self.rest_positions.len() == n_rest
            && outside_world(&self.rest_positions).is_none()
            && self.check_rest().is_ok()
    }

    /// Returns the binding with more vertices.
    pub(super) fn with(&self, added: &AddedWeights) -> Binding {
        let mut more = self.clone();
        more.weights.extend(&added.weights);
        more.rest_positions.extend(&added.rest_positions);
        more.runs = OnceLock::new();
        more
    }

    /// Allocated bytes.
    pub(super) fn heap_bytes(&self) -> usize {
        let rest_positions = size_of::<Vec3>() * self.rest_positions.capacity();
        let of_rest = self.rest.heap_bytes() + rest_positions;
        let runs = self.runs().heap_bytes();
        size_of::<Binding>() + of_rest + self.weights.heap_bytes() + runs
    }
}

/// Checks that each vertex has 1 to `max` weights of existing controls that sum to one.
pub(super) fn check_weights(
    weights: &VertexWeights,
    n_controls: usize,
    max: usize,
) -> Result<(), BindingError> {
    for vertex in 0..weights.n_vertices() {
        let of = weights.of(vertex);
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
