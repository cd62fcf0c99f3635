//! Tests how far searches go on after a tick's deadline, counted in steps instead of time.

use std::sync::Arc;

use glam::{DQuat, DVec3};

use super::{RenderOptions, RenderState, RenderedSession, Rendering};
use crate::{
    geometry::{
        LoadOptions, LoadedMesh, MeshData, Pose, TriangleMesh, mesh::load::load,
        tolerance::STAND_OFF_M,
    },
    oracle::{Random, shapes},
    scene::{
        Distance, Limits, Link, LinkAnswer, Probe, Scene, TickAnswer, TissueOptions, Tool,
        ToolParts,
        tick::{Session, TickOptions, ToolPose},
        tissue::deform::Deformation,
        tool::field::field_of,
    },
    sdf::FieldOptions,
    surface::Surface,
    time_left::{STEPS, TimeLeft},
};

/// Maximum steps after a deadline. A step is a node of a tree, a pair of triangles or a triangle of a ring: 10 ns to 2
/// us.
const STEPS_MAX: u64 = 2_000;
/// Steps that each tick has, in turn: a millisecond has some 10,000.
const BUDGETS: [u64; 7] = [0, 20, 200, 1_000, 5_000, 20_000, 3];
const TICKS: u32 = 28;
/// Tolerance between truth and a late answer, metres: that of a coarse field.
const TOLERANCE_M: f64 = 1e-3;

fn loaded(data: MeshData) -> LoadedMesh {
    load(data, &LoadOptions::default()).expect("a mesh")
}

/// Triangles of one size about one point, each turned at random.
fn crowd(n: u32, size: f64, same: bool) -> MeshData {
    let mut random = Random::new(11);
    let mut corner = || (random.unit_vector() * size).as_vec3();
    let first = [corner(), corner(), corner()];
    let corners = (0..n).map(|_| if same { first } else { [corner(), corner(), corner()] });
    let positions = corners.flatten().collect();
    MeshData { positions, triangles: (0..n).map(|t| [3 * t, 3 * t + 1, 3 * t + 2]).collect() }
}

/// Scenes, each with the height at which its surface is met from above, metres.
fn scenes() -> [(&'static str, MeshData, f64); 5] {
    [
        ("ball", shapes::sphere(0.05, 30), 0.05),
        ("fan", shapes::spindle(2_000, 0.05, 0.02), 0.02),
        ("point", crowd(1_500, 1e-6, false), 0.0),
        ("cluster", crowd(1_500, 0.01, false), 0.01),
        ("copies", crowd(1_500, 0.02, true), 0.01),
    ]
}

struct Stage {
    scene: Arc<Scene>,
    tool: Arc<Tool>,
    session: RenderedSession,
    sequence: u64,
}

impl Stage {
    fn new(tissue: MeshData, links: Vec<MeshData>, options: TickOptions, renders: bool) -> Stage {
        let scene = Arc::new(Scene::new("test".to_owned(), Limits::default()));
        scene.add_tissue("tissue", loaded(tissue), TissueOptions::default(), 0).expect("room");
        let link = |(i, data): (u32, MeshData)| {
            let rest = Pose::new(DQuat::IDENTITY, DVec3::X * 0.005 * f64::from(i)).expect("unit");
            let tolerance_m = Some(0.01 * TriangleMesh::new(data.clone()).used_box().diagonal());
            let field = FieldOptions { tolerance_m, ..FieldOptions::default() };
            let field = |surface: &Surface| field_of(surface, &field);
            Link::new(format!("link {i}"), loaded(data), rest, field)
        };
        let probe = |z: f64| {
            let (name, position) = (format!("at {z}"), DVec3::Z * z);
            Probe { name, link: 0, position, radius: 1e-3 }
        };
        let parts = ToolParts {
            name: "tool".to_owned(),
            links: (0..).zip(links).map(link).collect(),
            probes: vec![probe(-0.012), probe(0.0), probe(-0.01)],
        };
        let tool = scene.add_tool(parts).expect("added");
        let render =
            RenderOptions { local_model: true, friction: 0.3, ..RenderOptions::of(tool.id) };
        let render = if renders { vec![render] } else { Vec::new() };
        let session = RenderedSession::new(Arc::clone(&scene), &[tool.id], options, &render);
        Stage { session: session.expect("options"), scene, tool, sequence: 0 }
    }

    /// Answers a tick and returns the steps that followed its deadline.
    fn tick(&mut self, pose: &ToolPose, budget: u64) -> u64 {
        self.sequence += 1;
        let clock = || STEPS.get();
        let until = clock().saturating_add(budget);
        let time = TimeLeft::until(&clock, until);
        let now_ns = self.sequence * 1_000_000;
        self.session
            .tick(self.sequence, std::slice::from_ref(pose), now_ns, &time)
            .expect("accepted");
        clock().saturating_sub(until)
    }

    /// Returns the answer of a loop without memory and deadline at the poses of the last answer.
    fn truth(&self, pose: &ToolPose) -> TickAnswer {
        let mut pose = pose.clone();
        if let Some(rendering) = self.session.renderings().next() {
            pose.scene_from_tool = rendering.scene_from_proxy;
            pose.tool_from_link.clone_from(&rendering.tool_from_link);
        }
        let scene = Arc::clone(&self.scene);
        let mut session = Session::new(scene, &[self.tool.id], options_of_ticks()).expect("a tool");
        session.tick(1, &[pose], 0, &TimeLeft::endless()).expect("accepted").clone()
    }
}

fn options_of_ticks() -> TickOptions {
    TickOptions { triangle_pairs: true, link_pairs: true, ..TickOptions::default() }
}

/// Poses that go down to the surface, into it, aside and out.
fn pose(tool: &Tool, tick: u32, surface_m: f64) -> ToolPose {
    let t = f64::from(tick) / f64::from(TICKS);
    let height = surface_m + 0.01 + 0.02 * (1.0 - 4.0 * t).abs().min(1.0) - 0.004;
    let at = DVec3::new(0.01 * t, -0.004 * t, height);
    ToolPose {
        tool: tool.id,
        scene_from_tool: Pose::new(DQuat::from_rotation_z(t), at).expect("unit"),
        tool_from_link: Vec::new(),
        teleport: false,
    }
}

fn least_m<T>(distance: &Distance<T>, of: impl Fn(&T) -> f64) -> f64 {
    match distance {
        Distance::Within(found) => of(found),
        Distance::Beyond(bound) => *bound,
    }
}

/// Asserts that no distance is reported greater than it is, nor less if it is reported as exact.
fn assert_sound(late: &LinkAnswer, truth: &LinkAnswer, about: &str) {
    let true_m = least_m(&truth.distance, |d| d.signed_distance_m);
    let bound_m = late.lower_bound_m.min(true_m);
    assert!(late.lower_bound_m <= true_m + TOLERANCE_M, "{about}: {} {true_m}", late.lower_bound_m);
    if let Distance::Within(found) = &late.distance {
        let got = found.signed_distance_m;
        assert!(
            got >= true_m - TOLERANCE_M && bound_m <= got + TOLERANCE_M,
            "{about}: {got} {true_m}"
        );
    }
    if !late.is_cut_short {
        let got = least_m(&late.distance, |d| d.signed_distance_m);
        assert!((got - true_m).abs() <= TOLERANCE_M, "{about}: {got} {true_m}");
    }
}

/// A tick ends a stated number of steps after its deadline, whatever the tissue is like, and its answer is sound.
#[test]
fn ticks_end_soon_after_their_deadline() {
    for (name, tissue, surface_m) in scenes() {
        for is_rendered in [false, true] {
            let links = vec![shapes::sphere(0.01, 6), shapes::jaw(0.02, 4)];
            let mut stage = Stage::new(tissue.clone(), links, options_of_ticks(), is_rendered);
            let (mut most, mut n_cut) = (0, 0);
            for tick in 0..TICKS {
                let budget = BUDGETS[tick as usize % BUDGETS.len()];
                let pose = pose(&stage.tool, tick, surface_m);
                let after = stage.tick(&pose, budget);
                let about =
                    format!("{name}, rendered {is_rendered}, tick {tick} of {budget} steps");
                println!("{about}: {after} steps after its deadline");
                most = most.max(after);
                let answer = stage.session.last_answer();
                n_cut += u32::from(answer.links.iter().any(|l| l.is_cut_short));
                if tick % 12 == 4 {
                    let truth = stage.truth(&pose);
                    for (late, truth) in answer.links.iter().zip(&truth.links) {
                        assert_sound(late, truth, &about);
                    }
                    for (late, truth) in answer.probes.iter().zip(&truth.probes) {
                        let [late, truth] =
                            [late, truth].map(|p| least_m(&p.distance, |d| d.signed_distance_m));
                        assert!(late <= truth + TOLERANCE_M, "{about}: probe {late} {truth}");
                    }
                }
            }
            assert!(n_cut > TICKS / 4, "{name}: {n_cut} of {TICKS} ticks were late");
            assert!(most <= STEPS_MAX, "{name}, rendered {is_rendered}: {most} steps");
        }
    }
}

/// A tick whose proxy has no time to come along sends the force of the last tick that was in time.
#[test]
fn a_late_tick_holds_the_force_of_the_last_one() {
    let links = vec![shapes::sphere(0.003, 16)];
    let mut stage = Stage::new(shapes::sphere(0.05, 30), links, TickOptions::default(), true);
    let at = |x: f64, above_m: f64| ToolPose {
        tool: stage.tool.id,
        scene_from_tool: Pose {
            translation: DVec3::new(x, 0.0, 0.053 + above_m),
            ..Pose::IDENTITY
        },
        tool_from_link: Vec::new(),
        teleport: false,
    };
    let (above, pressed, aside) = (at(0.0, 2e-3), at(0.0, -1e-3), at(0.02, -1e-3));
    stage.tick(&above, u64::MAX);
    for _ in 0..20 {
        stage.tick(&pressed, u64::MAX);
    }
    let felt = |stage: &Stage| {
        let rendering = stage.session.renderings().next().expect("one tool");
        (rendering.state, rendering.force_n)
    };
    let (state, force) = felt(&stage);
    assert_eq!(state, RenderState::Touching);
    assert!((force.length() - 0.5).abs() < 0.05, "{force}");
    for _ in 0..5 {
        stage.tick(&aside, 20);
        let (state, held) = felt(&stage);
        assert_eq!(state, RenderState::Late);
        assert!(held.distance(force) < 1e-9, "{held} for {force}");
    }
    stage.tick(&aside, u64::MAX);
    assert_ne!(felt(&stage).0, RenderState::Late);
}

/// A flat box of two layers of `cells` by `cells` squares, `size` metres wide: its lower side in z = 0.
fn plate(cells: u32, size: f64) -> MeshData {
    let side = cells + 1;
    let mut data = shapes::sheet(side, side, size / f64::from(cells));
    let n = side * side;
    let half = (0.5 * size) as f32;
    data.positions.iter_mut().for_each(|p| *p -= glam::Vec3::new(half, half, 0.0));
    let above: Vec<_> = data.positions.iter().map(|p| *p + glam::Vec3::Z * 2e-3).collect();
    data.positions.extend(above);
    let upper: Vec<_> = data.triangles.iter().map(|t| t.map(|v| v + n)).collect();
    data.triangles.iter_mut().for_each(|t| t.swap(1, 2));
    data.triangles.extend(upper);
    let id = |i: u32, j: u32| i * side + j;
    for k in 0..cells {
        for (a, b) in [
            (id(k, 0), id(k + 1, 0)),
            (id(k + 1, cells), id(k, cells)),
            (id(0, k + 1), id(0, k)),
            (id(cells, k), id(cells, k + 1)),
        ] {
            data.triangles.extend([[a, b, b + n], [a, b + n, a + n]]);
        }
    }
    data
}

/// A rendered tool under a budget.
struct Budgeted {
    name: &'static str,
    tissue: MeshData,
    links: Vec<MeshData>,
    /// Height at which the tool touches, metres.
    surface_m: f64,
    /// Set if so much is near that the tool gets on by little: how near the tissue it comes, metres, and if it slips.
    crowded: Option<(f64, bool)>,
}

fn budgeted() -> Vec<Budgeted> {
    let sheet = || {
        let mut data = shapes::sheet(100, 100, 1e-3);
        data.positions.iter_mut().for_each(|p| *p -= glam::Vec3::new(0.05, 0.05, 0.0));
        data
    };
    let ball = || shapes::sphere(0.05, 30);
    let case = |name, tissue, links, surface_m, crowded| Budgeted {
        name,
        tissue,
        links,
        surface_m,
        crowded,
    };
    vec![
        case("plate", sheet(), vec![plate(13, 0.02)], 0.0, Some((STAND_OFF_M, true))),
        // More than a search may hold is within its stand-off.
        case("fine plate", sheet(), vec![plate(55, 0.02)], 0.0, Some((2e-4, false))),
        case("tip", ball(), vec![shapes::sphere(0.003, 16)], 0.053, None),
        case("jaws", ball(), vec![shapes::jaw(0.03, 12), shapes::jaw(0.02, 12)], 0.05, None),
    ]
}

/// Ticks of a hundred microseconds, of which a millisecond has ten, make progress: a tool that presses and slips, and
/// tissue that is dented below it, are followed to the end, if only over many ticks.
#[test]
fn ticks_get_on_under_any_budget() {
    for Budgeted { name, tissue, links, surface_m, crowded } in budgeted() {
        for budget in [1_000, 3_000, 9_000] {
            let options = TickOptions::default();
            let mut stage = Stage::new(tissue.clone(), links.clone(), options, true);
            let at = |x: f64, above_m: f64| ToolPose {
                tool: stage.tool.id,
                scene_from_tool: Pose {
                    translation: DVec3::new(x, 0.0, surface_m + above_m),
                    ..Pose::IDENTITY
                },
                tool_from_link: Vec::new(),
                teleport: false,
            };
            let (above, pressed, slipped) = (at(0.0, 2e-3), at(0.0, -1e-3), at(0.01, -1e-3));
            stage.tick(&above, u64::MAX);
            let what = |step: &str| format!("{name}, {budget} steps a tick: {step}");
            let get_on =
                |stage: &mut Stage, pose: &ToolPose, is_there: &dyn Fn(&Rendering) -> bool| {
                    let is_late = |stage: &mut Stage| {
                        stage.tick(pose, budget);
                        !is_there(stage.session.renderings().next().expect("one tool"))
                    };
                    (1..=1_000).find(|_| !is_late(stage))
                };
            let in_time = |r: &Rendering| r.state != RenderState::Late;
            if let Some((height_m, slips)) = crowded {
                let is_down = |r: &Rendering| r.scene_from_proxy.translation.z < height_m * 1.01;
                let ticks = get_on(&mut stage, &pressed, &is_down);
                println!("{} in {ticks:?}", what("down"));
                assert!(ticks.is_some(), "{}", what("down"));
                let is_aside = |r: &Rendering| r.scene_from_proxy.translation.x > 1e-5;
                let ticks = slips.then(|| get_on(&mut stage, &slipped, &is_aside));
                println!("{} in {ticks:?}", what("aside"));
                assert_ne!(ticks, Some(None), "{}", what("aside"));
                continue;
            }
            let mut arrive = |pose: &ToolPose, step: &str, dent: u32| {
                if dent > 0 {
                    let moved = tissue.positions.iter().map(|p| {
                        let off = p.as_dvec3().distance(slipped.scene_from_tool.translation);
                        let near = (1.0 - off / 0.03).max(0.0);
                        *p - glam::Vec3::Z * (f64::from(dent) * 5e-4 * near) as f32
                    });
                    let dense = Deformation::Dense(moved.collect());
                    stage.scene.tissues()[0].deform(dense, u64::from(dent)).expect("moved");
                }
                let ticks = get_on(&mut stage, pose, &in_time);
                println!("{} in {ticks:?}", what(step));
                assert!(ticks.is_some(), "{}", what(step));
            };
            arrive(&pressed, "pressed", 0);
            arrive(&slipped, "slipped", 0);
            (1..=4).for_each(|dent| arrive(&slipped, "dented", dent));
            arrive(&above, "gone", 0);
        }
    }
}

/// One tick that is cut short does not keep the next ones from being complete: with half as much time again as a usual
/// tick takes, at most the two after it are not.
#[test]
fn a_tick_cut_short_keeps_no_others_short() {
    let Some(Budgeted { tissue, links, surface_m, .. }) =
        budgeted().into_iter().find(|case| case.name == "jaws")
    else {
        panic!("there are jaws")
    };
    let mut stage = Stage::new(tissue, links, TickOptions::default(), true);
    let tool = stage.tool.id;
    let mut tick = |n: u32, above_m: f64, budget: u64| {
        let translation = DVec3::new(1e-5 * f64::from(n), 0.0, surface_m + above_m);
        let pose = ToolPose {
            tool,
            scene_from_tool: Pose { translation, ..Pose::IDENTITY },
            tool_from_link: Vec::new(),
            teleport: false,
        };
        let before = STEPS.get();
        stage.tick(&pose, budget);
        let steps = STEPS.get() - before;
        let is_cut_short = stage.session.last_answer().links.iter().any(|link| link.is_cut_short);
        (steps, is_cut_short)
    };
    tick(0, 2e-3, u64::MAX);
    // The first ticks press down from above.
    let usual = (1..30).map(|n| tick(n, -1e-3, u64::MAX).0).skip(10).max().expect("some");
    for n in [30, 60, 90] {
        assert!(tick(n, -1e-3, usual / 20).1, "a twentieth of {usual} steps suffices");
        let n_cut = (1..20).filter(|later| tick(n + later, -1e-3, usual * 3 / 2).1).count();
        assert!(n_cut <= 2, "{n_cut} ticks after one that was cut short at {n}");
    }
}
