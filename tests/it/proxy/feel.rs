//! Materials against their closed forms: springs in series, dampers, friction, and the border between two.

use glam::DVec3;
use palpate::{
    coupling::contact_law::Friction,
    geometry::Pose,
    oracle::shapes,
    proxy::{RenderOptions, Rendering},
    scene::{
        TissueId,
        tissue::{
            edit::TopologyEdit,
            feel::{Feel, Material},
        },
    },
};

use super::stage::{ProxyStage, STAND_OFF, STIFF, slab, to};

const RADIUS: f64 = 0.003;
/// Stiffness of the coupling, N/m.
const COUPLING: f64 = 500.0;
const TICK_S: f64 = 1e-3;

pub const SOFT: Material =
    Material { stiffness_n_per_m: Some(200.0), damping_n_s_per_m: 0.0, friction: None };
pub const HARD: Material = Material { stiffness_n_per_m: Some(2_000.0), ..SOFT };
const RUBBING: Friction = Friction { sticking: 0.5, slipping: 0.2, stribeck_m_s: 0.01 };

/// Gives the first tissue of a stage materials, by the centroids of its triangles.
pub fn paint(stage: &ProxyStage, materials: &[Material], of: impl Fn(DVec3) -> u8) {
    let tissue = stage.tissue(0);
    let now = tissue.current();
    let mesh = now.surface.mesh();
    let centre = |t| mesh.triangle(t).iter().sum::<DVec3>() / 3.0;
    let each = mesh.triangle_ids().map(|t| of(centre(t))).collect();
    let feel = Feel::new(materials.to_vec(), each).expect("materials");
    tissue.set_feel(Some(feel), 0).expect("one for each triangle");
}

/// A ball over a slab of squares of 1 mm, with options.
fn ball_on_slab(options: impl FnOnce(RenderOptions) -> RenderOptions) -> ProxyStage {
    let stage = ProxyStage::new(&[slab(30, 1e-3, 0.01)], &[shapes::sphere(RADIUS, 20)], |o| {
        options(RenderOptions { spring: STIFF, ..o })
    });
    ProxyStage { dt_s: TICK_S, ..stage }
}

/// Pose of the ball whose lowest point would be `depth` below the stand-off, if nothing held it.
fn pressed(x: f64, depth: f64) -> Pose {
    to(x, 3e-4, RADIUS + STAND_OFF - depth)
}

fn in_series(stiffness: f64) -> f64 {
    1.0 / (1.0 / COUPLING + 1.0 / stiffness)
}

/// Presses in steps of 0.1 mm.
fn press(stage: &mut ProxyStage, depth: f64) -> Rendering {
    stage.tick(pressed(0.0, -1e-3));
    let n = (depth / 1e-4).round() as u32;
    (1..=n)
        .map(|i| stage.tick(pressed(0.0, depth * f64::from(i) / f64::from(n))))
        .last()
        .expect("some")
}

fn assert_near(got: f64, expected: f64, share: f64, what: &str) {
    println!("{what}: {got:.5} for {expected:.5}");
    assert!((got - expected).abs() <= share * expected.abs(), "{what}: {got}, not {expected}");
}

#[test]
fn a_compliant_tissue_is_a_spring_in_series() {
    for stiffness in [50.0, 200.0, 3_000.0] {
        let mut stage = ball_on_slab(|o| o);
        let soft = Material { stiffness_n_per_m: Some(stiffness), ..SOFT };
        let feel = Feel::new(vec![soft], Vec::new()).expect("a material");
        stage.tissue(0).set_feel(Some(feel), 0).expect("one for all");
        let got = press(&mut stage, 0.005);
        assert_near(got.force_n.z, in_series(stiffness) * 0.005, 0.001, "force");
        assert!((ProxyStage::origin(&got).z - RADIUS - STAND_OFF).abs() < 1e-5, "{got:?}");
        let load: DVec3 = got.loads.iter().flat_map(|load| &load.forces_n).sum();
        assert!((load + got.force_n).length() < 1e-9, "{load} for {}", got.force_n);
        // Without materials the tissue is rigid again.
        stage.tissue(0).set_feel(None, 0).expect("none");
        let rigid = stage.tick(pressed(0.0, 0.005));
        assert_near(rigid.force_n.z, COUPLING * 0.005, 0.001, "rigid");
    }
}

/// Off the hold point the coupling gives way by 1/k and by r^2/k_r, and tissue gives way behind that.
#[test]
fn a_lever_and_a_compliant_tissue_are_in_series() {
    let arm = 0.05;
    let mut rod = shapes::sphere(RADIUS, 8);
    rod.positions.iter_mut().for_each(|p| p.x += arm as f32);
    let mut stage = ProxyStage::new(&[slab(30, 1e-3, 0.01)], &[rod], |o| o);
    paint(&stage, &[SOFT], |_| 0);
    for depth in [-1e-3, 0.0, 1e-3, 2e-3] {
        let got = stage.tick(to(-arm, 3e-4, RADIUS + STAND_OFF - depth));
        if depth > 0.0 {
            let give = 1.0 / COUPLING + arm * arm / 1.0 + 1.0 / 200.0;
            // The lever turns by up to 0.05 radians.
            assert_near(got.force_n.z, depth / give, 0.01, "lever");
        }
    }
}

/// A tissue whose only material changes nothing is the tissue without materials, to the bit.
#[test]
fn a_rigid_material_changes_no_bit() {
    let run = |painted: bool| {
        let mut stage = ball_on_slab(|o| RenderOptions { friction: 0.3, local_model: true, ..o });
        if painted {
            let feel = Feel::new(vec![Material::default()], Vec::new()).expect("a material");
            stage.tissue(0).set_feel(Some(feel), 0).expect("one for all");
        }
        let path = (0..200).map(|i| {
            let s = f64::from(i) / 200.0;
            stage.tick(pressed(0.01 * s, 0.004 * (6.0 * s).sin()))
        });
        path.map(|r| (r.force_n, r.torque_nm, r.contacts)).collect::<Vec<_>>()
    };
    assert!(run(true) == run(false));
}

/// At constant depth over a nodule, at 20 mm/s: the force rises from one closed form to the other, in small steps.
#[test]
fn a_nodule_is_felt_as_its_material_and_its_border_has_no_step() {
    let mut stage = ball_on_slab(|o| o);
    paint(&stage, &[SOFT, HARD], |p| u8::from(p.truncate().length() < 0.005));
    let depth = 0.003;
    for down in 0..50 {
        stage.tick(pressed(-0.012, depth * f64::from(down) / 50.0));
    }
    let (mut largest, mut last) = (0.0f64, None);
    let (mut outside, mut inside) = (Vec::new(), Vec::new());
    for i in 0..=1200 {
        let x = -0.012 + 2e-5 * f64::from(i);
        let force = stage.tick(pressed(x, depth)).force_n;
        largest = largest.max(last.map_or(0.0, |last: DVec3| force.distance(last)));
        last = Some(force);
        if x.abs() > 0.007 {
            outside.push(force.z);
        } else if x.abs() < 0.003 {
            inside.push(force.z);
        }
    }
    println!("largest step {largest:.4} N");
    assert!(largest <= 0.05, "a step of {largest} N");
    for (forces, stiffness) in [(outside, 200.0), (inside, 2_000.0)] {
        let expected = in_series(stiffness) * depth;
        forces.iter().for_each(|f| assert!((f / expected - 1.0).abs() < 0.01, "{f}, {expected}"));
        println!("{expected:.4} N over {} ticks", forces.len());
    }
}

#[test]
fn a_damped_tissue_resists_its_approach_alone() {
    let mut stage = ball_on_slab(|o| o);
    paint(&stage, &[Material { damping_n_s_per_m: 2.0, ..SOFT }], |_| 0);
    for speed in [0.02, 0.1] {
        stage.pose.teleport = true;
        let start = -0.003;
        stage.tick(pressed(0.0, start));
        let mut depth = start;
        let mut force = 0.0;
        while depth < 0.004 {
            depth += speed * TICK_S;
            force = stage.tick(pressed(0.0, depth)).force_n.z;
        }
        assert_near(force, in_series(200.0) * depth + 2.0 * speed, 0.01, "in");
        for _ in 0..100 {
            force = stage.tick(pressed(0.0, depth)).force_n.z;
        }
        assert_near(force, in_series(200.0) * depth, 0.001, "still");
        for _ in 0..20 {
            depth -= speed * TICK_S;
            force = stage.tick(pressed(0.0, depth)).force_n.z;
        }
        assert_near(force, in_series(200.0) * depth, 0.001, "out");
    }
}

/// Pulled aside, a contact sticks up to its static coefficient. Slipping, it has that of the Stribeck curve at its speed.
#[test]
fn friction_sticks_and_slips_as_the_material_says() {
    let rubbing = Material { friction: Some(RUBBING), ..SOFT };
    // Slowly, to see where it breaks away.
    let mut stage = ball_on_slab(|o| o);
    paint(&stage, &[rubbing], |_| 0);
    press(&mut stage, 0.005);
    let mut most = 0.0f64;
    for i in 0..4_000 {
        let got = stage.tick(pressed(1e-6 * f64::from(i), 0.005)).force_n;
        most = most.max(-got.x / got.z);
    }
    assert_near(most, 0.5, 0.02, "breaks away");
    for speed in [0.003, 0.02, 0.05] {
        let mut stage = ball_on_slab(|o| o);
        paint(&stage, &[rubbing], |_| 0);
        press(&mut stage, 0.002);
        let n = (0.012 / (speed * TICK_S)) as u32;
        let mut ratios = Vec::new();
        for i in 0..n {
            let x = -0.006 + speed * TICK_S * f64::from(i);
            // A pull below the curve's steepest part sticks and slips by turns.
            let got = stage.tick(pressed(x, 0.002)).force_n;
            ratios.push(-got.x / got.z);
        }
        let last = &ratios[ratios.len() / 2..];
        let mean = last.iter().sum::<f64>() / last.len() as f64;
        let ratio = speed / RUBBING.stribeck_m_s;
        let expected = 0.2 + 0.3 * (-ratio * ratio).exp();
        println!("{speed} m/s: {mean:.4}, curve {expected:.4}");
        if speed >= RUBBING.stribeck_m_s {
            assert_near(mean, expected, 0.02, "slips");
        } else {
            let [low, high] =
                [f64::min, f64::max].map(|of| last.iter().copied().reduce(of).expect("some"));
            println!("between {low:.3} and {high:.3}");
            assert!(low < 0.4 && high > 0.49, "it sticks and slips by turns: {low}, {high}");
        }
    }
}

/// A mean of materials at their limits is within the limits of a servo, wherever the tool is.
#[test]
fn materials_at_their_limits_make_a_model() {
    let friction = Friction { sticking: 2.0, slipping: 2.0, stribeck_m_s: 10.0 };
    let most =
        Material { stiffness_n_per_m: Some(1.0), damping_n_s_per_m: 4.0, friction: Some(friction) };
    let mut stage = ball_on_slab(|o| RenderOptions { local_model: true, ..o });
    paint(&stage, &[most], |_| 0);
    press(&mut stage, 1e-3);
    for i in 0..200 {
        let got = stage.tick(pressed(1.3e-5 * f64::from(i), 1e-3));
        let model = got.local_model.expect("in time");
        assert!(!model.rows().is_empty());
        model.check().expect("a model");
    }
}

/// New triangles of a cut have the material of those that they were cut from.
#[test]
fn a_cut_keeps_the_materials() {
    let mut stage = ball_on_slab(|o| o);
    paint(&stage, &[SOFT, HARD], |p| u8::from(p.truncate().length() < 0.005));
    let tissue = stage.tissue(0);
    let now = tissue.current();
    let mesh = now.surface.mesh();
    // Every triangle of the nodule's upper side is split at its centre.
    let near: Vec<_> = mesh
        .triangle_ids()
        .filter(|t| mesh.triangle(*t).iter().all(|p| p.z == 0.0 && p.length() < 0.004))
        .collect();
    let mut edit = TopologyEdit { removed: near.clone(), ..TopologyEdit::default() };
    let n = mesh.positions().len() as u32;
    for (i, t) in near.iter().enumerate() {
        let centre = mesh.triangle(*t).iter().sum::<DVec3>() / 3.0;
        edit.added_positions.push(centre.as_vec3());
        let ([a, b, c], m) = (mesh.vertices(*t), n + i as u32);
        edit.added.extend([[a, b, m], [b, c, m], [c, a, m]]);
        edit.parents.extend([*t; 3]);
    }
    assert!(near.len() > 20);
    tissue.edit(edit, stage.scene.limits(), 0).expect("a cut");
    let got = press(&mut stage, 0.003);
    assert_near(got.force_n.z, in_series(2_000.0) * 0.003, 0.01, "hard");
    // Materials for the triangles of before the cut are refused now.
    let old = Feel::new(vec![SOFT], vec![0; 10]).expect("materials");
    let refused = tissue.set_feel(Some(old), 0).expect_err("too few");
    assert!(refused.to_string().starts_with("triangle_materials has 10, expected "), "{refused}");
    assert_eq!(tissue.id(), TissueId(1));
}
