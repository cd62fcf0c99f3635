//! Probe and pliers pressed into liver and tongue, at rest and in motion; generated meshes if the shared ones are
//! missing.

use glam::{DQuat, DVec3, Vec3};
use palpate::{
    coupling::{posture::Posture, spring::Spring},
    geometry::{
        Basis, LoadOptions, LoadedMesh, MeshData, Pose, TriangleMesh,
        distance::point_triangle::{Feature, closest_point},
        mesh::{load::load, pseudonormal::pseudonormal},
    },
    mesh_io::{self, MeshFormat},
    oracle::{shapes, shared_data},
    proxy::{RenderOptions, RenderState, Rendering},
    scene::tissue::deform::Deformation,
    servo::{ServoOptions, ServoState},
};

use super::stage::{ProxyStage, UNLIMITED};

const SPRING: Spring = Spring { stiffness_n_per_m: 300.0, ..Spring::DESKTOP };
const STEP_M: f64 = 20e-6;
const DEPTH_M: f64 = 0.015;
/// Servo samples in a tick of one millisecond.
const SAMPLES: u32 = 4;
/// Largest change of the servo's force from sample to sample, newtons.
const SERVO_STEP_N_MAX: f64 = 0.05;
/// Largest angle between the force and the outward normal of the surface that bears the proxy.
const DEGREES_MAX: f64 = 10.0;
/// Duration of a tick, nanoseconds.
const TICK_NS: u64 = 1_000_000;

fn mesh(file: &str, scale_to_m: f64, or: impl FnOnce() -> MeshData) -> LoadedMesh {
    let format = if file.ends_with(".stl") { MeshFormat::Stl } else { MeshFormat::Obj };
    let of_file = shared_data().map(|folder| {
        let bytes = std::fs::read(folder.join("meshes").join(file)).expect("readable");
        mesh_io::read(&bytes, format).expect("a mesh")
    });
    let scale_to_m = if of_file.is_some() { scale_to_m } else { 1.0 };
    let options = LoadOptions { scale_to_m, basis: Basis::RightHanded, ..LoadOptions::default() };
    load(of_file.unwrap_or_else(or), &options).expect("a mesh")
}

pub struct Case {
    pub name: &'static str,
    pub stage: ProxyStage,
    /// Pose at which the tool's lowest point is on the surface, and the outward direction.
    at: Pose,
    pub out: DVec3,
    is_pliers: bool,
}

fn tool_mesh(is_pliers: bool) -> LoadedMesh {
    if is_pliers {
        mesh("pliers_binary.stl", 0.001, || shapes::jaw(0.05, 12))
    } else {
        mesh("dental_instrument_light.obj", 0.01, || shapes::capsule(0.001, 0.05, 12))
    }
}

/// The instrument across the surface or tip first, over one of its triangles.
pub fn cases() -> Vec<Case> {
    cases_of(SPRING, 0.0)
}

/// As [`cases`], with another spring and with friction.
pub fn cases_of(spring: Spring, friction: f64) -> Vec<Case> {
    let mut cases = Vec::new();
    for (name, is_pliers, is_tongue) in [
        ("probe, liver", false, false),
        ("pliers, tongue", true, true),
        ("probe, tongue", false, true),
        ("pliers, liver", true, false),
    ] {
        for tip_first in [false, true] {
            let tissue = if is_tongue {
                mesh("tongue.obj", 0.03, || shapes::organ(3_000, 2))
            } else {
                mesh("liver-smooth.obj", 0.03, || shapes::organ(4_384, 7))
            };
            let tool = tool_mesh(is_pliers);
            let place = if is_tongue { 5 } else { 3 };
            let t =
                tissue.mesh.triangle_ids().nth(tissue.mesh.n_triangles() / place).expect("some");
            let [p, q, r] = tissue.mesh.triangle(t);
            let (place, out) = ((p + q + r) / 3.0, (q - p).cross(r - p).normalize());
            let bounds = tool.mesh.used_box();
            let size = bounds.size();
            let long = (0..3).max_by(|i, j| size[*i].total_cmp(&size[*j])).expect("three");
            let long = DVec3::AXES[long];
            let along = if tip_first { -out } else { out.any_orthonormal_vector() };
            let rotation = DQuat::from_rotation_arc(long, along);
            let turned = Pose::new(rotation, DVec3::ZERO).expect("a rotation");
            let lowest = (0..tool.mesh.positions().len() as u32)
                .map(|v| turned.point(tool.mesh.position(v)))
                .min_by(|a, b| a.dot(out).total_cmp(&b.dot(out)))
                .expect("vertices");
            let at = Pose { translation: place - lowest, ..turned };
            let hold_point_m = bounds.centre();
            let options =
                |o| RenderOptions { spring, friction, hold_point_m, local_model: true, ..o };
            let name = match (name, tip_first) {
                (name, false) => format!("{name}, across"),
                (name, true) => format!("{name}, tip first"),
            };
            let stage = ProxyStage::of(vec![tissue], vec![tool], options);
            cases.push(Case { name: name.leak(), stage, at, out, is_pliers });
        }
    }
    cases
}

impl Case {
    /// A second copy of the tool's mesh.
    pub fn tool_mesh(&self) -> LoadedMesh {
        tool_mesh(self.is_pliers)
    }

    pub fn off(&self, out_m: f64) -> Pose {
        Pose { translation: self.at.translation + self.out * out_m, ..self.at }
    }

    /// Approaches from far outside to the first touch; returns the distance outwards at which it occurs.
    fn approach(&mut self) -> f64 {
        self.stage.pose.teleport = true;
        let mut out = 0.08;
        let start = self.stage.tick(self.off(out));
        assert_eq!(start.state, RenderState::Free, "{}", self.name);
        loop {
            out -= 10.0 * STEP_M;
            if self.stage.tick(self.off(out)).state == RenderState::Touching {
                return out;
            }
            assert!(out > -0.02, "{} touches nothing", self.name);
        }
    }
}

/// Sum of the contacts' own normals, weighted by their forces.
fn facet_normal(at: &Rendering) -> DVec3 {
    at.contacts.iter().map(|c| c.normal * c.force_n.length()).sum()
}

/// The outward normal of the surface that bears the proxy: vertex normals by each contact's barycentric weights,
/// weighted by its force.
fn surface_normal(stage: &ProxyStage, at: &Rendering) -> DVec3 {
    let tissue = stage.tissue(0).current();
    let mesh: &TriangleMesh = tissue.surface.mesh();
    let of = |c: &palpate::proxy::ProxyContact| {
        let weights = closest_point(c.position, &mesh.triangle(c.triangle)).barycentric;
        let normal = |k: u8| pseudonormal(mesh, c.triangle, Feature::Vertex(k)).direction;
        let smooth = normal(0) * weights.x + normal(1) * weights.y + normal(2) * weights.z;
        smooth.normalize() * c.force_n.length()
    };
    at.contacts.iter().map(of).sum()
}

/// Angle between force and surface normal, degrees; 0 if the force is too small to have a direction.
fn degrees_off_normal(stage: &ProxyStage, at: &Rendering) -> f64 {
    if at.force_n.length() < 0.1 {
        return 0.0;
    }
    at.force_n.angle_between(surface_normal(stage, at)).to_degrees()
}

/// A servo at the device, driven by the answers' local models.
struct Hand {
    servo: ServoState,
    force: DVec3,
    step_n_max: f64,
    /// Number of samples in which the proxy was beyond the radius within which its model is complete.
    beyond: usize,
}

impl Hand {
    fn new(at: &Rendering) -> Hand {
        // Neither cap nor rate limit hides a step.
        let options =
            ServoOptions { spring: SPRING, limits: UNLIMITED, ..ServoOptions::of(at.tool.0) };
        let servo = ServoState::new(options).expect("options");
        Hand { servo, force: DVec3::ZERO, step_n_max: 0.0, beyond: 0 }
    }

    /// Takes an answer's model and moves from the pose of its tick to that of the next.
    fn feel(&mut self, got: &Rendering, [from, to]: [Pose; 2]) {
        let model = got.local_model.as_ref().expect("asked for");
        self.servo.take(model, 0.0).expect("newer");
        for sample in 1..=SAMPLES {
            let share = f64::from(sample) / f64::from(SAMPLES);
            let translation = from.translation.lerp(to.translation, share);
            let scene_from_tool = Pose { translation, ..to };
            let device = Posture { scene_from_tool, ..Posture::AT_ORIGIN };
            let sample = self.servo.step(&device, 1e-3 / f64::from(SAMPLES));
            self.step_n_max = self.step_n_max.max(sample.force_n.distance(self.force));
            self.force = sample.force_n;
            self.beyond += usize::from(sample.is_beyond_radius);
        }
    }
}

#[test]
fn pressed_into_resting_organs_the_force_is_smooth_and_points_out() {
    for mut case in cases() {
        let first = case.approach();
        let mut last = case.stage.proxy.rendering().clone();
        let (mut step_max, mut degrees_max, mut ridge_max) = (0.0f64, 0.0f64, 0.0f64);
        let (mut rows, mut late, mut ridges) = (0, 0, 0);
        let mut hand = Hand::new(&last);
        for i in 1..=(DEPTH_M / STEP_M) as i32 {
            let at = [i, i + 1].map(|i| case.off(first - STEP_M * f64::from(i)));
            let got = case.stage.tick(at[0]);
            hand.feel(&got, at);
            assert!(
                matches!(got.state, RenderState::Touching | RenderState::Free | RenderState::Late),
                "{}: {:?} at {i}",
                case.name,
                got.state
            );
            late += usize::from(got.state == RenderState::Late);
            let step = got.force_n.distance(last.force_n);
            // At a ridge between two facets a force F turns at once by the angle a between their normals: a deep point
            // is equally near to the surface far from the ridge on either side, and nowhere nearer to it in between.
            let turned = facet_normal(&got).angle_between(facet_normal(&last));
            if step > 0.05 {
                ridges += 1;
                ridge_max = ridge_max.max(step);
                assert!(step <= 0.05 + got.force_n.length() * turned, "{}: {step} N", case.name);
            } else {
                step_max = step_max.max(step);
            }
            degrees_max = degrees_max.max(degrees_off_normal(&case.stage, &got));
            rows = rows.max(got.contacts.len());
            assert!(i % 250 != 0 || !case.stage.crosses(&got), "{} crosses at {i}", case.name);
            last = got;
        }
        println!(
            "{}: {:.3} N at 15 mm, step {step_max:.4} N, {ridges} ridges with a step of up to {ridge_max:.4} N, \
             through the servo {:.4} N, {degrees_max:.2} degrees, {rows} contacts, {late} late, {} samples beyond \
             the radius",
            case.name,
            last.force_n.length(),
            hand.step_n_max,
            hand.beyond
        );
        assert!(late == 0 && ridges <= 2, "{}: {late} late, {ridges} ridges", case.name);
        assert!(degrees_max <= DEGREES_MAX, "{}: {degrees_max} degrees", case.name);
        let step = hand.step_n_max;
        assert!(step <= SERVO_STEP_N_MAX, "{}: {step} N through the servo", case.name);
    }
}

/// The organ oscillates at up to 100 mm/s, deformed 60 times a second, against an instrument held still in it.
#[test]
fn moving_organs_push_the_proxy_and_never_pass_it() {
    for mut case in cases() {
        let first = case.approach();
        let mut hand = Hand::new(case.stage.proxy.rendering());
        for i in 1..=100 {
            let at = [i, (i + 1).min(100)].map(|i| case.off(first - 5.0 * STEP_M * f64::from(i)));
            let got = case.stage.tick(at[0]);
            hand.feel(&got, at);
        }
        let held = case.off(first - 0.01);
        let rest: Vec<Vec3> = case.stage.tissue(0).current().surface.mesh().positions().to_vec();
        let mut last = case.stage.proxy.rendering().clone();
        let (amplitude, mut before) = (0.008, 0.0);
        let (mut over, mut step_max, mut states) = (f64::NEG_INFINITY, 0.0f64, 0);
        let mut degrees_max = 0.0f64;
        for tick in 0..300_u32 {
            let mut jump = 0.0;
            if tick % 17 == 0 {
                let now = amplitude * (0.1 / amplitude * f64::from(tick) * 1e-3).sin();
                let shift = (case.out * now).as_vec3();
                let positions = rest.iter().map(|p| *p + shift).collect();
                let now_ns = u64::from(tick + 1) * TICK_NS;
                let tissue = case.stage.tissue(0);
                tissue.deform(Deformation::Dense(positions), now_ns).expect("deformed");
                jump = f64::abs(now - before);
                before = now;
            }
            let got = case.stage.tick(held);
            hand.feel(&got, [held; 2]);
            degrees_max = degrees_max.max(degrees_off_normal(&case.stage, &got));
            states += usize::from(got.state == RenderState::Embedded);
            let step = got.force_n.distance(last.force_n);
            step_max = step_max.max(step);
            over = over.max(step - SPRING.stiffness_n_per_m * jump);
            assert!(tick % 100 != 0 || !case.stage.crosses(&got), "{} crosses", case.name);
            last = got;
        }
        println!(
            "{}: moving, step {step_max:.4} N, {over:.4} N beyond its revision's, through the servo {:.4} N, \
             {degrees_max:.2} degrees, {states} embedded, {} samples beyond the radius",
            case.name, hand.step_n_max, hand.beyond
        );
        assert!(over <= 0.05 && states == 0, "{}: {over} N, {states} embedded", case.name);
        assert!(degrees_max <= DEGREES_MAX, "{}: {degrees_max} degrees", case.name);
        let step = hand.step_n_max;
        assert!(step <= SERVO_STEP_N_MAX, "{}: {step} N through the servo", case.name);
    }
}
