//! Tissue that closes on a proxy from several sides until no clearance is left.

use std::f64::consts::TAU;

use glam::{DVec3, Vec3};
use palpate::{
    geometry::{MeshData, Pose},
    oracle::shapes,
    proxy::{RenderOptions, RenderState, Rendering},
    scene::tissue::{deform::Deformation, edit::TopologyEdit},
};

use super::stage::{ProxyStage, STAND_OFF, slab, to, turned};

const RADIUS: f64 = 0.003;
/// Height of the device above the middle between the sides.
const OFF: f64 = 0.001;

fn ball() -> MeshData {
    shapes::sphere(RADIUS, 4)
}

/// A slab below the origin turned about the x axis, with its face at distance `far` from the axis.
fn wall(angle: f64, far: f64) -> MeshData {
    moved(&slab(8, 0.005, 0.002), &turned(DVec3::X, angle, DVec3::ZERO), DVec3::NEG_Z * far)
}

fn moved(data: &MeshData, turn: &Pose, by: DVec3) -> MeshData {
    let place = |p: &Vec3| turn.point(p.as_dvec3() + by).as_vec3();
    MeshData { positions: data.positions.iter().map(place).collect(), ..data.clone() }
}

fn joined(parts: &[MeshData]) -> MeshData {
    let mut all = MeshData { positions: Vec::new(), triangles: Vec::new() };
    for part in parts {
        let n = all.positions.len() as u32;
        all.positions.extend_from_slice(&part.positions);
        all.triangles.extend(part.triangles.iter().map(|t| t.map(|v| v + n)));
    }
    all
}

/// An open sheet folded about the x axis: two flat sides, `far` from the plane between them, with a round bend.
fn fold(far: f64) -> MeshData {
    let mut sheet = shapes::sheet(9, 41, 0.001);
    for p in &mut sheet.positions {
        let (x, s) = (5.0 * (f64::from(p.x) - 0.004), f64::from(p.y) - 0.02);
        // The middle 8 mm of 40 form the bend, at y = 8 mm and beyond.
        let (side, along) = (s.signum(), s.abs());
        let angle = (along / 0.004).min(1.0) * 0.25 * TAU;
        let y = if along < 0.004 { 0.008 + far * angle.cos() } else { 0.012 - along };
        *p = DVec3::new(x, y, side * far * angle.sin()).as_vec3();
    }
    sheet
}

/// Tissues that close in, as a function of the distance of their sides from the ball in the middle.
struct Sides {
    name: &'static str,
    at: fn(f64) -> Vec<MeshData>,
    /// Least distance of the sides.
    end: f64,
}

fn all_sides() -> [Sides; 6] {
    fn two(far: f64) -> Vec<MeshData> {
        vec![wall(0.0, far), wall(0.5 * TAU, far)]
    }
    fn one_of_two(far: f64) -> Vec<MeshData> {
        // Only the upper side moves, by twice the distance that each side would.
        let up = DVec3::Z * (far - 0.005);
        [wall(0.0, far), wall(0.5 * TAU, far)].map(|m| moved(&m, &Pose::IDENTITY, up)).to_vec()
    }
    fn three(far: f64) -> Vec<MeshData> {
        [0.0, TAU / 3.0, -TAU / 3.0].map(|angle| wall(angle, far)).to_vec()
    }
    fn sheets(far: f64) -> Vec<MeshData> {
        let mut sheet = shapes::sheet(9, 9, 0.005);
        sheet.positions.iter_mut().for_each(|p| *p -= Vec3::new(0.02, 0.02, 0.0));
        [-far, far].map(|z| moved(&sheet, &Pose::IDENTITY, DVec3::Z * z)).to_vec()
    }
    [
        Sides { name: "two tissues", at: two, end: 0.002 },
        Sides { name: "one of two tissues", at: one_of_two, end: 0.002 },
        Sides { name: "one tissue of two parts", at: |far| vec![joined(&two(far))], end: 0.002 },
        Sides { name: "a fold of a sheet", at: |far| vec![fold(far)], end: 0.002 },
        Sides { name: "sheets that pass through each other", at: sheets, end: -0.001 },
        Sides { name: "three tissues", at: three, end: 0.002 },
    ]
}

impl Sides {
    fn set(&self, stage: &ProxyStage, far: f64) {
        for (place, mesh) in (self.at)(far).into_iter().enumerate() {
            let deformation = Deformation::Dense(mesh.positions);
            stage.tissue(place).deform(deformation, 0).expect("good positions");
        }
    }

    /// Position at which the ball is held in the middle, and the clearance missing there, with the sides at distance
    /// `far`.
    fn middle(&self, far: f64) -> (DVec3, f64) {
        match self.name {
            "one of two tissues" => (DVec3::Z * (far - 0.005), RADIUS - far),
            "three tissues" => {
                // The ball has a vertex below and a facet towards the other two sides: its reach in their direction.
                let slanted = DVec3::new(0.0, 0.75f64.sqrt(), 0.5);
                let ball = ball().positions;
                let reach = ball.iter().map(|p| slanted.dot(p.as_dvec3())).fold(0.0, f64::max);
                // z up: far + z from the lower side, far - z / 2 from the others; both lack an equal clearance.
                let z = (RADIUS - reach) / 1.5;
                (DVec3::Z * z, RADIUS - far - z)
            }
            _ => (DVec3::ZERO, RADIUS - far),
        }
    }
}

fn assert_squeezed(what: &str, got: &Rendering, middle: DVec3, device: DVec3, missing: f64) {
    assert_eq!(got.state, RenderState::Squeezed, "{what}: {got:?}");
    let off = ProxyStage::origin(got).distance(middle);
    assert!(off < 5e-6 + 0.01 * missing, "{what}: the proxy is {off} m off the middle");
    let force = (middle - device) * 500.0;
    let off = got.force_n.distance(force);
    assert!(off < 0.02 * force.length(), "{what}: {} N, not {force}", got.force_n);
    let residual = got.residual_m;
    let expected = missing + STAND_OFF;
    assert!((residual - expected).abs() < 0.03 * expected, "{what}: {residual} m, not {expected}");
}

/// The sides close until the missing clearance is a third of the ball's radius, or all of it and more, in small steps
/// and in one; then they open, in small steps and in one. The ball is held in the middle throughout, and comes free
/// between the sides.
#[test]
fn tissue_that_leaves_no_room_holds_it_in_the_middle_and_lets_it_free_again() {
    let ways = [(2e-5, 0.0), (1.5e-4, 0.4), (2e-3, 0.0), (1.0, 0.0)];
    for sides in all_sides() {
        for (step, friction) in ways {
            let friction_of = |o| RenderOptions { friction, ..o };
            let mut stage = ProxyStage::new(&(sides.at)(0.005), &[ball()], friction_of);
            let what = format!("{}, {step} m a step, friction {friction}", sides.name);
            let device = to(0.0, 0.0, OFF);
            stage.tick(device);
            let (mut far, mut squeezed) = (0.005, 0);
            while far > sides.end {
                far = f64::max(far - step, sides.end);
                sides.set(&stage, far);
                let got = stage.tick(device);
                assert_ne!(got.state, RenderState::Embedded, "{what} at {far}");
                if far < RADIUS - 1e-4 {
                    squeezed += 1;
                }
            }
            assert!(squeezed > 0, "{what}");
            for _ in 0..8 {
                let got = stage.tick(device);
                let (middle, missing) = sides.middle(far);
                assert_squeezed(&what, &got, middle, device.translation, missing);
            }
            while far < 0.005 {
                far = f64::min(far + step, 0.005);
                sides.set(&stage, far);
                let got = stage.tick(device);
                assert_ne!(got.state, RenderState::Embedded, "{what} at {far}");
                // Allows for the rounding of the sides, which are no spheres.
                if far > RADIUS + 2e-4 {
                    assert!(!stage.crosses(&got), "{what} at {far}: it crosses");
                    assert_ne!(got.state, RenderState::Squeezed, "{what} at {far}: {got:?}");
                }
            }
            let got = stage.tick(to(0.0, 0.0, 0.0));
            assert_eq!(got.state, RenderState::Free, "{what}: {got:?}");
            let got = stage.tick(to(0.0, 0.0, 0.006));
            assert!(got.force_n.z < -0.5, "{what}: the upper side holds it, {}", got.force_n);
        }
    }
}

/// A squeezed ball follows the hand along the sides and comes out sideways into free space.
#[test]
fn squeezed_it_slides_out_sideways() {
    let sides = &all_sides()[0];
    let mut stage = ProxyStage::new(&(sides.at)(0.005), &[ball()], |o| o);
    stage.tick(to(0.0, 0.0, OFF));
    sides.set(&stage, 0.0026);
    stage.tick(to(0.0, 0.0, OFF));
    for i in 0..400 {
        let x = 1e-4 * f64::from(i);
        let got = stage.tick(to(x, 0.0, OFF));
        assert_ne!(got.state, RenderState::Embedded, "at {x}");
        if x < 0.015 {
            assert_squeezed("slid", &got, DVec3::X * x, DVec3::new(x, 0.0, OFF), 4e-4);
        }
    }
    // The sides end at 20 mm.
    assert_eq!(stage.tick(to(0.04, 0.0, OFF)).state, RenderState::Free);
}

/// A forbidden region as one of two sides holds the ball as tissue does, and bears no load.
#[test]
fn a_forbidden_region_may_be_one_side() {
    let sides = &all_sides()[0];
    let mut stage = ProxyStage::new(&(sides.at)(0.005), &[ball()], |o| o);
    stage.forbidden.push(stage.tissue(1).id());
    stage.tick(to(0.0, 0.0, OFF));
    sides.set(&stage, 0.0027);
    for device in [OFF, -OFF] {
        stage.tick(to(0.0, 0.0, device));
        let got = stage.tick(to(0.0, 0.0, device));
        assert_squeezed("forbidden", &got, DVec3::ZERO, DVec3::Z * device, 3e-4);
        assert!(got.contacts.iter().all(|c| c.is_forbidden == (c.tissue == stage.forbidden[0])));
        // The lower side is a tissue and bears the force that presses on it.
        let borne: DVec3 = got.loads.iter().flat_map(|l| &l.forces_n).sum();
        let expected = if device < 0.0 { -got.force_n } else { DVec3::ZERO };
        assert!(borne.distance(expected) < 1e-6, "{borne}, {}", got.force_n);
    }
}

/// Tissue closes on one jaw while the other is away from it: the jaw stays in the middle.
#[test]
fn a_jaw_is_squeezed_as_a_tool_is() {
    let jaw = shapes::cuboid(DVec3::new(0.02, 0.004, 0.006));
    let sides = &all_sides()[0];
    let mut stage = ProxyStage::new(&(sides.at)(0.005), &[jaw.clone(), jaw], |o| o);
    stage.pose.tool_from_link = vec![to(0.0, 0.0, 0.05), Pose::IDENTITY];
    stage.tick(Pose::IDENTITY);
    sides.set(&stage, 0.0025);
    for _ in 0..3 {
        let got = stage.tick(to(0.0, 0.0, OFF));
        assert_squeezed("jaw", &got, DVec3::ZERO, DVec3::Z * OFF, 5e-4);
    }
}

/// A cut puts a wall through a ball that lies on the same tissue: the floor holds the ball as before, and after the
/// ball has been outside, the wall holds it too.
#[test]
fn tissue_put_through_the_proxy_leaves_their_say_to_its_other_parts() {
    let mut stage = ProxyStage::new(&[slab(8, 0.01, 0.03)], &[ball()], |o| o);
    let pressed = to(0.0, 0.0, RADIUS - 0.001);
    stage.tick(to(0.0, 0.0, RADIUS + 0.001));
    let before = stage.tick(pressed);
    let middle = ProxyStage::origin(&before).as_vec3();
    let tissue = stage.tissue(0);
    let n = tissue.current().surface.mesh().positions().len() as u32;
    let wall = [[-1.0, -0.2], [1.0, -0.2], [1.0, 1.0], [-1.0, 1.0]];
    let edit = TopologyEdit {
        added_positions: wall.map(|[y, z]| middle + 0.01 * Vec3::new(0.0, y, z)).to_vec(),
        added: vec![[n, n + 1, n + 2], [n, n + 2, n + 3]],
        ..TopologyEdit::default()
    };
    tissue.edit(edit, stage.scene.limits(), 0).expect("cut");
    let expected = 500.0 * (0.001 + STAND_OFF);
    for x in [0.0, 1e-4, 0.001, 0.002] {
        let got = stage.tick(to(x, 0.0, RADIUS - 0.001));
        assert_eq!(got.state, RenderState::Embedded, "{x}");
        let off = got.force_n.distance(DVec3::Z * expected);
        assert!(off < 0.01 * expected, "{x}: the floor holds it: {}", got.force_n);
    }
    let got = stage.tick(to(0.02, 0.0, RADIUS - 0.001));
    assert_eq!(got.state, RenderState::Touching, "{got:?}");
    let got = stage.tick(to(-0.02, 0.0, RADIUS - 0.001));
    assert!(got.force_n.x > 1.0 && ProxyStage::origin(&got).x >= RADIUS, "{got:?}");
}
