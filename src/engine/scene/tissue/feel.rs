//! Materials of a tissue: a table, and the material of each triangle.
//!
//! Materials are contact laws and no deformation: the surface is where the solver says. A contact takes the mean of the
//! materials about each vertex of its triangle, of at most 64 triangles each, weighed by its place there. So the law changes over a triangle's width
//! where materials meet, and not at once.

use std::ops::RangeInclusive;

use glam::DVec3;
use serde::{Deserialize, Serialize};

use super::edit::TopologyEdit;
use crate::coupling::contact_law::{
    COEFFICIENT_MAX, COMPLIANCE_MAX, ContactLaw, DAMPING_MAX, Friction, STRIBECK_MAX_M_S,
};
use crate::geometry::{TriangleId, TriangleMesh, mesh::hubs::VALENCE_MAX};

/// Maximum materials of a tissue: a triangle's material is one byte.
pub const MATERIALS_MAX: usize = 256;

const STIFFNESS_N_PER_M: RangeInclusive<f64> = 1.0 / COMPLIANCE_MAX..=1e5;
const STRIBECK_M_S: RangeInclusive<f64> = 0.000_1..=STRIBECK_MAX_M_S;

/// A material.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Material {
    /// Stiffness in series with the tool's coupling at the contact, N/m, 1 to 100,000; `None`: rigid.
    pub stiffness_n_per_m: Option<f64>,
    /// Damping against the approach of the device, N s/m, 0 to 4.
    pub damping_n_s_per_m: f64,
    /// Friction in the place of the tool's.
    pub friction: Option<Friction>,
}

/// Materials of a tissue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Feel {
    /// Materials, at least one.
    materials: Vec<Material>,
    /// Material of each triangle, by its id; none: all have the first.
    of_triangles: Vec<u8>,
}

/// Errors of a refused feel.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum FeelError {
    /// No materials, or more than a byte can name.
    #[error("materials has {got}, expected 1 to {MATERIALS_MAX}")]
    Materials {
        /// Number of materials given.
        got: usize,
    },
    /// A number out of its range.
    #[error("materials[{at}].{number} is {got}, expected {} to {}", expected.start(), expected.end())]
    Range {
        /// Index of the material.
        at: usize,
        /// Name of the number.
        number: &'static str,
        /// Given value.
        got: f64,
        /// Allowed values.
        expected: RangeInclusive<f64>,
    },
    /// A triangle with a material that is not in the table.
    #[error("triangle_materials[{at}] is {got}, expected less than {n_materials}")]
    UnknownMaterial {
        /// Triangle id.
        at: usize,
        /// Given index.
        got: u8,
        /// Number of materials.
        n_materials: usize,
    },
    /// A number of triangle materials that differs from the tissue's triangle ids.
    #[error("triangle_materials has {got}, expected {expected}, one for each triangle id, or none")]
    Triangles {
        /// Number given.
        got: usize,
        /// Triangle ids of the tissue, removed ones included.
        expected: usize,
    },
}

impl Material {
    fn check(&self, at: usize) -> Result<(), FeelError> {
        let stiffness = self.stiffness_n_per_m.map(|k| ("stiffness_n_per_m", k, STIFFNESS_N_PER_M));
        let friction = self.friction.map(|f| {
            [
                ("friction.static_coefficient", f.sticking, 0.0..=COEFFICIENT_MAX),
                ("friction.dynamic_coefficient", f.slipping, 0.0..=f.sticking),
                ("friction.stribeck_velocity_m_s", f.stribeck_m_s, STRIBECK_M_S),
            ]
        });
        let damping = ("damping_n_s_per_m", self.damping_n_s_per_m, 0.0..=DAMPING_MAX);
        let mut all = stiffness.into_iter().chain([damping]).chain(friction.into_iter().flatten());
        // A NaN is in no range.
        let outside = all.find(|(_, got, expected)| !expected.contains(got));
        outside.map_or(Ok(()), |(number, got, expected)| {
            Err(FeelError::Range { at, number, got, expected })
        })
    }

    fn law(&self, of_tool: f64) -> ContactLaw {
        ContactLaw {
            compliance_m_per_n: self.stiffness_n_per_m.map_or(0.0, f64::recip),
            damping_n_s_per_m: self.damping_n_s_per_m,
            friction: self.friction.unwrap_or(Friction::coulomb(of_tool)),
        }
    }
}

impl Feel {
    /// Creates the feel of a tissue. `of_triangles`: index of each triangle's material, by triangle id; none: all have
    /// the first.
    ///
    /// # Errors
    /// Returns an error for the first number that is out of its range.
    pub fn new(materials: Vec<Material>, of_triangles: Vec<u8>) -> Result<Feel, FeelError> {
        let feel = Feel { materials, of_triangles };
        feel.check()?;
        Ok(feel)
    }

    fn check(&self) -> Result<(), FeelError> {
        let n_materials = self.materials.len();
        if !(1..=MATERIALS_MAX).contains(&n_materials) {
            return Err(FeelError::Materials { got: n_materials });
        }
        self.materials.iter().enumerate().try_for_each(|(at, material)| material.check(at))?;
        let is_unknown = |m: &u8| usize::from(*m) >= n_materials;
        match self.of_triangles.iter().position(is_unknown) {
            Some(at) => {
                let got = self.of_triangles[at];
                Err(FeelError::UnknownMaterial { at, got, n_materials })
            }
            None => Ok(()),
        }
    }

    /// Returns the table of materials.
    pub fn materials(&self) -> &[Material] {
        &self.materials
    }

    /// Returns the index of each triangle's material, by triangle id; empty: all have the first.
    pub fn of_triangles(&self) -> &[u8] {
        &self.of_triangles
    }

    /// Returns the materials after a cut: each new triangle has that of its parent, or the first.
    pub(in crate::scene) fn after(&self, cut: &TopologyEdit) -> Feel {
        let mut after = self.clone();
        if !self.of_triangles.is_empty() {
            let of = |t: &TriangleId| self.of_triangles.get(t.0 as usize).copied();
            let parent = |i: usize| cut.parents.get(i).and_then(of);
            after.of_triangles.extend((0..cut.added.len()).map(|i| parent(i).unwrap_or(0)));
        }
        after
    }

    /// Checks that the feel was made for a tissue with so many triangle ids.
    pub(super) fn check_triangles(&self, expected: usize) -> Result<(), FeelError> {
        let got = self.of_triangles.len();
        let fits = got == 0 || got == expected;
        fits.then_some(()).ok_or(FeelError::Triangles { got, expected })
    }

    /// Returns true if saved data are materials of some tissue.
    pub(in crate::scene) fn is_table(&self) -> bool {
        self.check().is_ok()
    }

    /// Returns true if saved data are the feel of a tissue with so many triangle ids.
    pub(in crate::scene) fn is_valid(&self, n_triangles: usize) -> bool {
        self.check().and(self.check_triangles(n_triangles)).is_ok()
    }

    /// Returns the allocated memory.
    pub fn heap_bytes(&self) -> usize {
        size_of::<Feel>()
            + size_of::<Material>() * self.materials.capacity()
            + self.of_triangles.capacity()
    }

    /// Returns the law of a contact at a point of a triangle. `of_tool`: the tool's coefficient of friction, for
    /// materials without their own.
    pub(super) fn law(
        &self,
        mesh: &TriangleMesh,
        (t, weights): (TriangleId, DVec3),
        of_tool: f64,
    ) -> ContactLaw {
        if self.of_triangles.is_empty() {
            return self.materials[0].law(of_tool);
        }
        let material =
            |t: TriangleId| &self.materials[usize::from(self.of_triangles[t.0 as usize])];
        let mut mean = ContactLaw::NONE;
        for (v, weight) in mesh.vertices(t).into_iter().zip(weights.to_array()) {
            // A weight may be negative by rounding, and no law is.
            if weight <= 0.0 {
                continue;
            }
            let about = || mesh.around(v).take(VALENCE_MAX);
            let share = weight / about().count() as f64;
            about().for_each(|(other, _)| mean.add(share, &material(other).law(of_tool)));
        }
        mean
    }
}
