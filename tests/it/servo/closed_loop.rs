//! A hand on a servo, in a closed loop over the engine in simulated time: answers are late, lost and jitter, and the
//! loop gives out no energy.

use std::{collections::VecDeque, f64::consts::TAU};

use glam::DVec3;
use palpate::{
    client::mesh_source::MeshSource,
    coupling::{contact_law::Friction, local_model::LocalModel, posture::Posture, spring::Spring},
    geometry::{MeshData, Pose},
    load::stage::{
        held_device::{DeviceMotion, HeldDevice},
        path::Site,
        phantom::{Instrument, PhantomTissue},
    },
    oracle::{Random, shapes},
    proxy::RenderOptions,
    scene::tissue::feel::Material,
    servo::{ServoOptions, ServoState},
};

use crate::{
    proxy::{
        feel, organs,
        stage::{ProxyStage, slab},
    },
    seed::{Seed, is_full},
};

/// Largest RMS of the force on a hand that holds still, newtons.
const RMS_N_MAX: f64 = 0.02;
/// Allowed energy beyond that put in: as a share of it, and in addition.
const ENERGY_SHARE: f64 = 1e-3;
const ENERGY_J: f64 = 1e-6;
/// Time before leaving in which the force on a hand that holds still is measured, seconds.
const STEADY_S: f64 = 0.4;

/// Conditions between proxy and hand.
#[derive(Clone, Copy, Debug)]
struct Cell {
    stiffness: f64,
    sample_s: f64,
    delay_s: f64,
    /// Share of the answers that never arrive.
    loss: f64,
    jitter_s: f64,
    /// Step of the encoders, metres.
    encoder_m: f64,
    friction: f64,
}

const USUAL: Cell = Cell {
    stiffness: 800.0,
    sample_s: 2.5e-4,
    delay_s: 0.02,
    loss: 0.05,
    jitter_s: 0.0,
    encoder_m: 0.0,
    friction: 0.0,
};

/// A tissue, a tool, and the hand's intended motion.
struct Scene {
    stage: ProxyStage,
    wanted: Box<dyn Fn(f64) -> Pose>,
    links: Vec<Pose>,
    /// Time until the hand has left again, seconds.
    seconds: f64,
    /// Time at which the hand begins to leave; before, it holds still if it does at all.
    leaves_s: f64,
    holds: bool,
}

/// Smooth step from 0 to 1, with no speed at either end.
fn eased(share: f64) -> f64 {
    let s = share.clamp(0.0, 1.0);
    s * s * (3.0 - 2.0 * s)
}

fn options(cell: Cell) -> impl FnOnce(RenderOptions) -> RenderOptions {
    let spring = Spring { stiffness_n_per_m: cell.stiffness, ..Spring::DESKTOP };
    move |o| RenderOptions { spring, local_model: true, friction: cell.friction, ..o }
}

/// Time that a hand holds still, seconds: five at full length.
fn held_s() -> f64 {
    if is_full() { 5.0 } else { 1.0 }
}

fn at(translation: DVec3) -> Pose {
    Pose { translation, ..Pose::IDENTITY }
}

fn pressed_slab(cell: Cell) -> Scene {
    let start = DVec3::new(0.002, 0.003, 0.007);
    let leaves_s = 0.3 + held_s();
    Scene {
        stage: ProxyStage::new(&[slab(2, 0.04, 0.02)], &[shapes::sphere(0.005, 3)], options(cell)),
        wanted: Box::new(move |t| {
            at(start - DVec3::Z * 0.008 * (eased(t / 0.3) - eased((t - leaves_s) / 0.3)))
        }),
        links: Vec::new(),
        seconds: leaves_s + 0.6,
        leaves_s,
        holds: true,
    }
}

/// A tool dragged over ridges 20 mm apart and `height` high, at 56 mm/s, there and back; at 100 mm/s if there are none.
fn dragged(cell: Cell, height: f64) -> Scene {
    let (speed, way) = (if height > 0.0 { 0.056 } else { 0.1 }, 0.07);
    let leaves_s = 0.4 + if is_full() { 2.0 } else { 1.0 } * way / speed;
    Scene {
        stage: ProxyStage::new(&[ridged(height)], &[shapes::sphere(0.003, 8)], options(cell)),
        wanted: Box::new(move |t| {
            let down = eased(t / 0.3) - eased((t - leaves_s) / 0.3);
            let gone = (t - 0.4).clamp(0.0, leaves_s - 0.4) * speed % (2.0 * way);
            let x = if gone < way { gone } else { 2.0 * way - gone };
            let depth = if height > 0.0 { 0.02 - 0.5 * height } else { 0.018 };
            at(DVec3::new(x - 0.5 * way, 5e-4, 0.02 - down * depth))
        }),
        links: Vec::new(),
        seconds: leaves_s + 0.6,
        leaves_s,
        holds: false,
    }
}

/// A closed block whose upper side is waves along x.
fn ridged(height: f64) -> MeshData {
    let mut block = slab(100, 1e-3, 0.03);
    for p in block.positions.iter_mut().filter(|p| p.z == 0.0) {
        p.z = (height * (0.5 + 0.5 * (f64::from(p.x) * TAU / 0.02).cos())) as f32;
    }
    block
}

/// The grasper of the demo in the fold of its organ.
fn grasper(cell: Cell) -> Scene {
    let (organ, tool) = (PhantomTissue::folded(), Instrument::grasper());
    let links: Vec<MeshData> = (tool.links.iter())
        .map(|link| match &link.mesh {
            MeshSource::Raw(mesh) => mesh.clone(),
            other => panic!("{other:?}"),
        })
        .collect();
    let positions = organ.rest.clone();
    let tissue = MeshData { positions, triangles: organ.triangles.clone() };
    let outward = DVec3::new(-0.7, 0.1, 1.0).normalize();
    let top = organ.rest.iter().map(|p| p.as_dvec3());
    let surface = top.max_by(|a, b| a.dot(outward).total_cmp(&b.dot(outward))).expect("vertices");
    let (length_m, leaves_s) = (organ.length_m(), 0.7 + held_s());
    let closed = tool.link_poses(0.625);
    Scene {
        stage: ProxyStage::new(&[tissue], &links, options(cell)),
        wanted: Box::new(move |t| {
            let pressed = eased(t / 0.625) - eased((t - leaves_s) / 0.6);
            let height_m = length_m * (0.03 - 0.155 * pressed);
            tool.pose(&Site { surface, outward, height_m, dent_m: 0.0 }, DVec3::Y)
        }),
        links: closed,
        seconds: leaves_s + 1.0,
        leaves_s,
        holds: true,
    }
}

/// An instrument on an organ, across its surface: probe on liver, pliers on tongue.
fn instrument(cell: Cell, place: usize) -> Scene {
    let spring = Spring { stiffness_n_per_m: cell.stiffness, ..Spring::DESKTOP };
    let case = organs::cases_of(spring, cell.friction).swap_remove(place);
    let (above, below) = (case.off(0.05), case.off(-0.008));
    let leaves_s = 1.0 + held_s();
    Scene {
        stage: case.stage,
        wanted: Box::new(move |t| {
            let pressed = eased(t) - eased((t - leaves_s) / 0.8);
            Pose { translation: above.translation.lerp(below.translation, pressed), ..above }
        }),
        links: Vec::new(),
        seconds: leaves_s + 1.2,
        leaves_s,
        holds: true,
    }
}

/// Energy and force at the hand.
#[derive(Clone, Copy, Debug, Default)]
struct Felt {
    put_in_j: f64,
    given_j: f64,
    /// Largest energy given to the hand beyond the energy that it had put in and the allowance.
    beyond_j: f64,
    n: f64,
    sum_n: DVec3,
    squares: f64,
    step_n_max: f64,
}

impl Felt {
    fn rms_n(&self) -> f64 {
        let mean = self.sum_n / self.n;
        (self.squares / self.n - mean.length_squared()).max(0.0).sqrt()
    }
}

/// A tick's model in transit.
struct OnItsWay {
    due_s: f64,
    sent_s: f64,
    model: Box<LocalModel>,
}

fn run(mut scene: Scene, cell: Cell, is_passive: bool, random: &mut Random) -> Felt {
    let spring = Spring { stiffness_n_per_m: cell.stiffness, ..Spring::DESKTOP };
    let options = ServoOptions { spring, observes_passivity: is_passive, ..ServoOptions::of(1) };
    let mut servo = ServoState::new(options).expect("options");
    let device = HeldDevice::default();
    let position = (scene.wanted)(0.0).translation;
    let mut motion = DeviceMotion { position, velocity: DVec3::ZERO };
    let mut on_its_way = VecDeque::<OnItsWay>::new();
    let (mut felt, mut last) = (Felt::default(), DVec3::ZERO);
    let seen = |position: DVec3| match cell.encoder_m {
        0.0 => position,
        step => (position / step).round() * step,
    };
    scene.stage.pose.tool_from_link.clone_from(&scene.links);
    for tick in 0..(scene.seconds * 1e3) as u64 {
        let sent_s = tick as f64 * 1e-3;
        let wanted = (scene.wanted)(sent_s);
        let answer = scene.stage.tick(Pose { translation: seen(motion.position), ..wanted });
        if let Some(model) = answer.local_model.filter(|_| random.f64() >= cell.loss) {
            let due_s = sent_s + cell.delay_s + cell.jitter_s * random.f64();
            on_its_way.push_back(OnItsWay { due_s, sent_s, model });
        }
        for sample in 0..(1e-3 / cell.sample_s).round() as u32 {
            let now_s = sent_s + f64::from(sample) * cell.sample_s;
            while let Some(OnItsWay { sent_s, model, .. }) =
                on_its_way.pop_front_if(|way| way.due_s <= now_s)
            {
                servo.take(&model, now_s - sent_s).expect("newer");
            }
            let wanted = (scene.wanted)(now_s);
            let scene_from_tool = Pose { translation: seen(motion.position), ..wanted };
            let mut posture = Posture { scene_from_tool, ..Posture::AT_ORIGIN };
            posture.tool_from_link[..scene.links.len()].copy_from_slice(&scene.links);
            let force = servo.step(&posture, cell.sample_s).force_n;
            let before = motion.position;
            device.step(&mut motion, wanted.translation, force, cell.sample_s);
            let work = force.dot(motion.position - before);
            if work < 0.0 {
                felt.put_in_j -= work
            } else {
                felt.given_j += work
            }
            let allowed_j = (1.0 + ENERGY_SHARE) * felt.put_in_j + ENERGY_J;
            felt.beyond_j = felt.beyond_j.max(felt.given_j - allowed_j);
            felt.step_n_max = felt.step_n_max.max(force.distance(last));
            last = force;
            if scene.holds && (scene.leaves_s - STEADY_S..scene.leaves_s).contains(&now_s) {
                felt.n += 1.0;
                felt.sum_n += force;
                felt.squares += force.length_squared();
            }
        }
    }
    felt
}

type MakeScene = Box<dyn Fn(Cell) -> Scene>;

fn scenes() -> Vec<(&'static str, MakeScene)> {
    vec![
        ("ball on a slab", Box::new(pressed_slab)),
        ("over ridges of 5 mm", Box::new(|cell| dragged(cell, 0.005))),
        ("over ridges of 8 mm", Box::new(|cell| dragged(cell, 0.008))),
        ("slide", Box::new(|cell| dragged(cell, 0.0))),
        ("grasper in a fold", Box::new(grasper)),
        ("probe on liver", Box::new(|cell| instrument(cell, 0))),
        ("pliers on tongue", Box::new(|cell| instrument(cell, 2))),
    ]
}

/// Cells of the grid; only two of them unless tests run at full length.
fn cells() -> Vec<Cell> {
    let mut cells = Vec::new();
    for stiffness in [300.0, 800.0, 1_500.0] {
        for sample_s in [1e-3, 2.5e-4] {
            for delay_s in [0.0, 0.005, 0.02] {
                for loss in [0.0, 0.05] {
                    cells.push(Cell { stiffness, sample_s, delay_s, loss, ..USUAL });
                }
            }
        }
    }
    if !is_full() {
        let is_kept = |c: &Cell| {
            let of_it = (c.stiffness, c.sample_s, c.delay_s, c.loss);
            [(800.0, 2.5e-4, 0.02, 0.05), (1_500.0, 1e-3, 0.005, 0.0)].contains(&of_it)
        };
        cells.retain(is_kept);
    }
    cells
}

/// Whatever is late or lost, and wherever the hand goes, the hand is given no energy beyond what it put in, and the
/// force on a hand that holds still is steady.
#[test]
fn a_hand_is_given_no_energy() {
    let seed = Seed::or(61);
    for (part, (name, make)) in scenes().into_iter().enumerate() {
        for cell in cells() {
            let felt = run(make(cell), cell, true, &mut seed.random(part as u64));
            let rms_n = if felt.n > 0.0 { felt.rms_n() } else { 0.0 };
            println!(
                "{name}: {} N/m, {:.2} ms, {:.0} ms late, {:.0} % lost: {:.2} mJ put in, {:.2} given back, {:.4} \
                 beyond; {rms_n:.4} N RMS about {:.2} N; steps of {:.3} N",
                cell.stiffness,
                1e3 * cell.sample_s,
                1e3 * cell.delay_s,
                1e2 * cell.loss,
                1e3 * felt.put_in_j,
                1e3 * felt.given_j,
                1e3 * felt.beyond_j,
                (felt.sum_n / felt.n.max(1.0)).length(),
                felt.step_n_max
            );
            assert!(felt.put_in_j > 1e-5, "{name}: nothing was touched");
            assert!(felt.beyond_j <= 0.0, "{name}: {} J given, {cell:?}", felt.beyond_j);
            assert!(rms_n < RMS_N_MAX, "{name}: {rms_n} N, {cell:?}");
        }
    }
}

/// Friction, encoders and answers at irregular times change nothing about it.
#[test]
fn friction_encoders_and_jitter_give_no_energy() {
    let seed = Seed::or(62);
    for (name, cell) in [
        ("friction", Cell { friction: 0.3, ..USUAL }),
        ("encoders", Cell { encoder_m: 20e-6, ..USUAL }),
        ("encoders at 1 kHz", Cell { encoder_m: 20e-6, sample_s: 1e-3, ..USUAL }),
        ("jitter", Cell { delay_s: 0.005, jitter_s: 0.01, ..USUAL }),
    ] {
        for scene in [dragged(cell, 0.008), pressed_slab(cell)] {
            let felt = run(scene, cell, true, &mut seed.random(0));
            let rms_n = if felt.n > 0.0 { felt.rms_n() } else { 0.0 };
            println!("{name}: {:.4} mJ beyond, {rms_n:.4} N RMS", 1e3 * felt.beyond_j);
            assert!(felt.beyond_j <= 0.0, "{name}: {} J given", felt.beyond_j);
            assert!(rms_n < RMS_N_MAX, "{name}: {rms_n} N");
        }
    }
}

/// A soft, damped and rubbing tissue with hard nodules gives no energy either, nor a step at a nodule's border.
#[test]
fn materials_give_no_energy() {
    let seed = Seed::or(64);
    let friction = Friction { sticking: 0.4, slipping: 0.2, stribeck_m_s: 0.01 };
    let soft = Material { damping_n_s_per_m: 2.0, ..feel::SOFT };
    let rubbing = Material { friction: Some(friction), ..soft };
    let cells = [USUAL, Cell { sample_s: 1e-3, delay_s: 0.005, loss: 0.0, ..USUAL }];
    for (name, make, materials) in [
        ("pressed", pressed_slab as fn(Cell) -> Scene, [soft, feel::HARD]),
        ("slide", |cell| dragged(cell, 0.0), [feel::SOFT, feel::HARD]),
        ("slide, damped", |cell| dragged(cell, 0.0), [soft, feel::HARD]),
        ("slide, rubbing", |cell| dragged(cell, 0.0), [rubbing, feel::HARD]),
        ("over ridges", |cell| dragged(cell, 0.005), [soft, feel::HARD]),
    ] {
        for cell in cells {
            let scene = make(cell);
            let is_nodule = |p: DVec3| (p.x / 0.01).rem_euclid(2.0) < 0.8;
            feel::paint(&scene.stage, &materials, |p| u8::from(is_nodule(p)));
            let felt = run(scene, cell, true, &mut seed.random(0));
            let rms_n = if felt.n > 0.0 { felt.rms_n() } else { 0.0 };
            println!(
                "{name}, {:.0} ms late: {:.3} mJ put in, {:.4} mJ beyond, {rms_n:.4} N RMS, steps of {:.3} N",
                1e3 * cell.delay_s,
                1e3 * felt.put_in_j,
                1e3 * felt.beyond_j,
                felt.step_n_max
            );
            assert!(felt.put_in_j > 1e-5, "{name}: nothing was touched");
            assert!(felt.beyond_j <= 0.0, "{name}: {} J given", felt.beyond_j);
            assert!(rms_n < RMS_N_MAX, "{name}: {rms_n} N");
        }
    }
}

/// Without the passivity observer, the same hand over the same ridges is given energy.
#[test]
fn without_books_late_answers_give_energy() {
    let felt = run(dragged(USUAL, 0.008), USUAL, false, &mut Seed::or(63).random(0));
    println!("{:.2} mJ put in, {:.2} given back", 1e3 * felt.put_in_j, 1e3 * felt.given_j);
    assert!(felt.beyond_j > 1e-3, "{felt:?}");
}
