//! Fields and the truth about their surfaces, each built once for all tests.

use std::sync::OnceLock;

use glam::DVec3;
use palpate::{
    geometry::TriangleMesh,
    oracle::{brute_force, shapes, solid_angle::winding_number},
    scene::tool::field::field_of,
    sdf::{Field, FieldOptions},
    surface::Surface,
};

use crate::{
    differential::{
        bound::distance_error,
        inputs::{self, Input},
    },
    seed::scaled,
};

/// A surface and its field.
pub struct Case {
    pub name: String,
    pub surface: Surface,
    pub field: Field,
    judge: Judge,
}

/// Source of the truth.
#[derive(Clone, Copy, PartialEq)]
enum Judge {
    /// All triangles, one by one.
    BruteForce,
    /// The index, which `differential` compares with brute force on the same meshes.
    Index,
}

/// Truth at a point.
pub struct Truth {
    /// Unsigned distance, metres.
    pub distance: f64,
    /// Set if the point is inside; `None` if that is a matter of rounding.
    pub inside: Option<bool>,
    /// Largest difference of another correct distance from this one, metres.
    pub error: f64,
}

/// Winding numbers this near a half, and distances of this share of the diagonal, leave the side open.
const UNDECIDED: f64 = 1e-6;

impl Case {
    fn new(input: &Input, judge: Judge, tolerance_share: Option<f64>) -> Case {
        let surface = input.surface();
        let diagonal = surface.mesh().used_box().diagonal();
        let tolerance_m = tolerance_share.map(|share| share * diagonal);
        let options = FieldOptions { tolerance_m, ..FieldOptions::default() };
        let field = field_of(&surface, &options);
        Case { name: input.name.clone(), surface, field, judge }
    }

    pub fn mesh(&self) -> &TriangleMesh {
        self.surface.mesh()
    }

    pub fn truth(&self, p: DVec3) -> Truth {
        let (distance, triangle, winding) = match self.judge {
            Judge::BruteForce => {
                let nearest = brute_force::nearest(self.mesh(), p).expect("has triangles");
                let winding = Some(winding_number(self.mesh(), p));
                (nearest.distance, nearest.triangle, winding)
            }
            Judge::Index => {
                let found = self.surface.signed_distance(p, f64::INFINITY, None);
                let found = found.expect("has triangles");
                (found.signed_distance.abs(), found.triangle, found.winding)
            }
        };
        let error = distance_error(self.mesh(), triangle, p);
        // The index has a winding number for every point, except on its surface.
        let is_on = distance < UNDECIDED * self.surface.bounds().diagonal();
        assert!(winding.is_some() || is_on, "no winding number at {p}, {distance} m away");
        let decided = winding.filter(|w| (w - 0.5).abs() > UNDECIDED && distance > error);
        Truth { distance, inside: decided.map(|w| w > 0.5), error }
    }
}

/// The box, capsule and torus of the source's tests, a finer box, a thin plate, and surfaces with few vertices.
pub fn small() -> &'static [Case] {
    static CASES: OnceLock<Vec<Case>> = OnceLock::new();
    CASES.get_or_init(|| {
        let inputs = [
            Input::new("box", shapes::cuboid(DVec3::new(0.02, 0.03, 0.05))),
            Input::new("box of squares", shapes::subdivide(&shapes::cuboid(DVec3::splat(0.01)))),
            Input::new("capsule", shapes::capsule(0.004, 0.02, 16)),
            Input::new("torus", shapes::torus(0.01, 0.003, 24, 12)),
            Input::new("plate", shapes::cuboid(DVec3::new(0.03, 0.02, 0.0002))),
            Input::new("tube", shapes::tube(0.003, 0.02, 12, 6)),
            Input::new("large faces and a fine tip", spade()),
        ];
        inputs.iter().map(|input| Case::new(input, Judge::BruteForce, None)).collect()
    })
}

/// A long box of twelve triangles with a small fine ball beyond its end: faces cross many leaves that
/// hold no vertex.
fn spade() -> palpate::geometry::MeshData {
    let mut ball = shapes::sphere(0.001, 4);
    ball.positions.iter_mut().for_each(|p| p.z += 0.042);
    inputs::joined(&[shapes::cuboid(DVec3::new(0.03, 0.002, 0.08)), ball])
}

/// The dental probe, which is open; `None` without the shared data.
pub fn probe() -> Option<&'static Case> {
    static CASE: OnceLock<Option<Case>> = OnceLock::new();
    CASE.get_or_init(|| shared("dental_instrument_light.obj", 0.01)).as_ref()
}

/// The pliers, which are of eight bodies and open; `None` without the shared data.
pub fn pliers() -> Option<&'static Case> {
    static CASE: OnceLock<Option<Case>> = OnceLock::new();
    CASE.get_or_init(|| shared("pliers_binary.stl", 0.001)).as_ref()
}

/// Builds a coarser field than usual, in a fraction of the time, unless a long run is requested.
fn shared(file: &str, scale_to_m: f64) -> Option<Case> {
    const COARSE: f64 = 4e-3;
    let coarse = (scaled(1) == 1).then_some(COARSE);
    Some(Case::new(&inputs::shared(file, scale_to_m)?, Judge::Index, coarse))
}
