//! A tissue that controls carry: where they carry its vertices now, and the load that they bear for them.

use std::sync::Arc;

use glam::{DMat3, DVec3, Vec3};
use serde::{Deserialize, Serialize};

use super::{
    binding::{AddedWeights, BLENDED_CONTROLS_MAX, Binding, ControlMove, Controls, check_weights},
    deform::{DeformError, Deformation, check_ids, n_touched, outside_world},
};
use crate::geometry::{
    TriangleMesh,
    tolerance::{BLEND_DETERMINANT_MIN, ON_EDGE_SHARE},
};

/// A binding and the present state of its controls.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Driven {
    /// Weights of the vertices.
    pub binding: Arc<Binding>,
    /// State of all controls.
    pub controls: Controls,
}

/// A load on controls.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ControlLoad {
    /// The control.
    pub control: u32,
    /// Force on it, newtons.
    pub force_n: DVec3,
    /// Torque about its origin, newton metres; zero for points.
    pub torque_nm: DVec3,
}

impl Driven {
    /// A binding with its controls at rest.
    pub fn at_rest(binding: Binding) -> Driven {
        let controls = binding.rest().clone();
        Driven { binding: Arc::new(binding), controls }
    }

    /// Checks data from outside for the vertices of a mesh.
    pub(in crate::scene) fn is_valid(&self, n_vertices: usize) -> bool {
        self.accepts(&self.controls)
            && self.binding.is_valid(n_vertices)
            && outside_world(&self.positions()).is_none()
    }

    /// Returns true for a valid state of all controls.
    pub(in crate::scene) fn accepts(&self, controls: &Controls) -> bool {
        controls.are_frames() == self.binding.rest().are_frames()
            && controls.len() == self.binding.rest().len()
            && controls.first_invalid().is_none()
    }

    /// Returns the positions of all vertices.
    pub fn positions(&self) -> Vec<Vec3> {
        self.binding.positions(&self.controls)
    }

    /// Returns the state after some controls have moved, and the vertices that they move. O(controls + moved vertices).
    ///
    /// # Errors
    /// Returns an error if the move does not fit the controls or carries a vertex out of the world.
    pub(super) fn after(
        &self,
        moved: &ControlMove,
        mesh: &TriangleMesh,
    ) -> Result<(Driven, (Deformation, Option<usize>)), DeformError> {
        let n_controls = self.controls.len();
        if moved.to.are_frames() != self.controls.are_frames() {
            let (got, expected) = (moved.to.kind(), self.controls.kind());
            return Err(DeformError::ControlKind { got, expected });
        }
        let expected = match &moved.controls {
            Some(ids) => {
                let unknown = |at, control| DeformError::UnknownControl { at, control, n_controls };
                let repeated = |at, control| DeformError::RepeatedControl { at, control };
                check_ids(ids, n_controls, unknown, repeated)?;
                ids.len()
            }
            None => n_controls,
        };
        let got = moved.to.len();
        if got != expected {
            return Err(DeformError::ControlCount { got, expected });
        }
        if let Some(at) = moved.to.first_invalid() {
            let each = Controls::numbers_each(moved.to.are_frames());
            return Err(DeformError::Control { at: at * each });
        }
        let mut controls = self.controls.clone();
        let mut has_moved = vec![false; n_controls];
        for k in 0..got {
            let at = moved.controls.as_ref().map_or(k, |ids| ids[k] as usize);
            has_moved[at] = controls.put(at, &moved.to, k);
        }
        let driven = Driven { binding: Arc::clone(&self.binding), controls };
        let deformation = driven.deformation(&has_moved, mesh)?;
        Ok((driven, deformation))
    }

    /// Returns the deformation of the vertices that have a control which has moved, and the number of triangles that it
    /// touches if it names more vertices than these.
    fn deformation(
        &self,
        has_moved: &[bool],
        mesh: &TriangleMesh,
    ) -> Result<(Deformation, Option<usize>), DeformError> {
        let (deformation, carried) = match has_moved.iter().all(|moved| *moved) {
            true => (Deformation::Dense(self.positions()), None),
            false => self.binding.carried_by(has_moved, &self.controls, mesh.positions()),
        };
        let found = match &deformation {
            Deformation::Sparse { vertices, positions } => {
                outside_world(positions).map(|(at, got)| (vertices[at / 3], got))
            }
            Deformation::Dense(positions) => {
                outside_world(positions).map(|(at, got)| ((at / 3) as u32, got))
            }
        };
        match found {
            Some((vertex, got)) => Err(DeformError::CarriedVertex { vertex, got }),
            None => Ok((deformation, carried.map(|carried| n_touched(mesh, &carried)))),
        }
    }

    /// Returns the state with the vertices that a cut added.
    pub(super) fn with(&self, added: &AddedWeights) -> Driven {
        let controls = self.controls.clone();
        Driven { binding: Arc::new(self.binding.with(added)), controls }
    }

    /// Checks vertices that a saved cut added.
    pub(in crate::scene) fn fits(&self, added: &AddedWeights, n_added: usize) -> bool {
        let n_rest = if self.controls.are_frames() { n_added } else { 0 };
        let weights = &added.weights;
        weights.is_whole()
            && weights.n_vertices() == n_added
            && check_weights(weights, self.controls.len(), BLENDED_CONTROLS_MAX).is_ok()
            && added.rest_positions.len() == n_rest
            && outside_world(&added.rest_positions).is_none()
    }

    /// Adds the vertices of a saved cut that [`Driven::fits`].
    pub(in crate::scene) fn add(&mut self, added: &AddedWeights) {
        *self = self.with(added);
    }

    /// Returns where the controls carry vertices that a cut adds.
    pub(in crate::scene) fn added_positions(&self, added: &AddedWeights) -> Vec<Vec3> {
        self.binding.of_added(added).positions(&self.controls)
    }

    /// Returns the rest position from which frames carry a vertex with these weights to `to`; `None` if they carry
    /// nothing there, because the blend of their rotations has no inverse.
    pub(super) fn rest_position(
        &self,
        weights: impl Iterator<Item = (u32, f64)>,
        to: DVec3,
    ) -> Option<Vec3> {
        let (Controls::Frames(rest), Controls::Frames(now)) = (self.binding.rest(), &self.controls)
        else {
            return None;
        };
        let (mut turn, mut shift) = (DMat3::ZERO, DVec3::ZERO);
        for (control, weight) in weights {
            let motion = rest[control as usize].carry_to(&now[control as usize]);
            turn += motion.turn * weight;
            shift += motion.shift * weight;
        }
        let has_inverse = turn.determinant().abs() > BLEND_DETERMINANT_MIN;
        let at = has_inverse.then(|| turn.inverse() * (to - shift))?.as_vec3();
        outside_world(&[at]).is_none().then_some(at)
    }

    /// Returns the blend of the weights of a triangle's corners at a point; corners and point at the same time.
    pub(super) fn blend(&self, corners: [u32; 3], at: [DVec3; 3], point: DVec3) -> Vec<(u32, f64)> {
        let mut blend: Vec<(u32, f64)> = Vec::new();
        for (corner, share) in shares(corners, at, point) {
            for (control, weight) in self.binding.weights().of(corner as usize) {
                match blend.iter_mut().find(|(c, _)| *c == control) {
                    Some((_, sum)) => *sum += share * weight,
                    None => blend.push((control, share * weight)),
                }
            }
        }
        blend
    }

    /// Adds to `loads` those of the controls that carry a vertex with a force on it.
    pub fn add_loads(&self, vertex: u32, force_n: DVec3, loads: &mut Vec<ControlLoad>) {
        let of = self.binding.weights().of(vertex as usize);
        let sum: f64 = of.clone().map(|(_, w)| w).sum();
        for (control, weight) in of {
            // The weights may sum to one only nearly; the force is borne whole.
            let force_n = force_n * (weight / sum);
            let torque_nm = match (self.binding.rest(), &self.controls) {
                (Controls::Frames(rest), Controls::Frames(now)) => {
                    let (rest, now) = (&rest[control as usize], &now[control as usize]);
                    let at = self.binding.rest_position(vertex);
                    (rest.carry_to(now).apply(at) - now.position.as_dvec3()).cross(force_n)
                }
                _ => DVec3::ZERO,
            };
            loads.push(ControlLoad { control, force_n, torque_nm });
        }
    }

    /// Allocated bytes.
    pub fn heap_bytes(&self) -> usize {
        size_of::<Driven>() + self.binding.heap_bytes() + self.controls.heap_bytes()
    }
}

/// Returns the share of each corner in a point of a triangle's plane. A point on an edge has shares of its two ends
/// alone, computed in the order of their ids.
fn shares(corners: [u32; 3], at: [DVec3; 3], point: DVec3) -> Vec<(u32, f64)> {
    let normal = (at[1] - at[0]).cross(at[2] - at[0]);
    let area = normal.length_squared();
    let share = |k: usize| {
        let (b, c) = (at[(k + 1) % 3] - point, at[(k + 2) % 3] - point);
        if area > 0.0 { b.cross(c).dot(normal) / area } else { 0.0 }
    };
    let all = [0, 1, 2].map(share);
    if all.iter().all(|s| s.abs() > ON_EDGE_SHARE) {
        // Divided by their sum: rounding must not move a vertex towards the origin.
        let sum: f64 = all.iter().sum();
        return corners.into_iter().zip(all.map(|s| s / sum)).collect();
    }
    // The edge opposite the corner with the smallest share; of a triangle without an area, its longest edge.
    let length = |k: usize| at[(k + 1) % 3].distance_squared(at[(k + 2) % 3]);
    let smallest = |a: &usize, b: &usize| match area > 0.0 {
        true => all[*a].abs().total_cmp(&all[*b].abs()),
        false => length(*b).total_cmp(&length(*a)),
    };
    let k = (0..3).min_by(smallest).expect("three corners");
    let (mut from, mut to) = ((k + 1) % 3, (k + 2) % 3);
    if corners[to] < corners[from] {
        std::mem::swap(&mut from, &mut to);
    }
    let along = at[to] - at[from];
    let length = along.length_squared();
    let t = if length > 0.0 { (point - at[from]).dot(along) / length } else { 0.0 };
    if t.abs() <= ON_EDGE_SHARE {
        return vec![(corners[from], 1.0)];
    }
    if (t - 1.0).abs() <= ON_EDGE_SHARE {
        return vec![(corners[to], 1.0)];
    }
    vec![(corners[from], 1.0 - t), (corners[to], t)]
}
