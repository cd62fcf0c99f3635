//! The coupling creates no energy: random closed motions of the device against resting tissue.

use glam::{DQuat, DVec3};
use palpate::{
    geometry::{MeshData, Pose},
    oracle::{Random, shapes},
    proxy::{RenderOptions, Rendering},
    scene::tissue::feel::Material,
};

use super::{
    feel,
    stage::{ProxyStage, slab},
};
use crate::seed::{Seed, scaled};

/// Largest step of the tool's origin and of a tool point 15 mm away, metres.
const STEP_M: f64 = 20e-6;
const CLEAR_M: f64 = 0.02;
const DOWN_M: f64 = 0.024;

/// A closed motion that begins and ends clear of the tissue; its parameter runs from 0 to 1.
struct Loop {
    waves: [[DVec3; 2]; 3],
    turns: [DVec3; 2],
}

impl Loop {
    fn new(random: &mut Random) -> Loop {
        let mut wave = |size: f64| random.unit_vector() * size;
        let waves = [[wave(0.003), wave(0.003)], [wave(0.001), wave(0.001)], [wave(5e-4); 2]];
        let turns = [wave(0.3), wave(0.2)];
        Loop { waves, turns }
    }

    fn at(&self, s: f64) -> Pose {
        let phase = std::f64::consts::TAU * s;
        let mut at = DVec3::Z * (CLEAR_M - DOWN_M * 0.5 * (1.0 - phase.cos()));
        for (k, [sin, cos]) in self.waves.iter().enumerate() {
            let angle = (k + 1) as f64 * phase;
            at += *sin * angle.sin() + *cos * (angle.cos() - 1.0);
        }
        let turn = self.turns[0] * phase.sin() + self.turns[1] * (phase.cos() - 1.0);
        Pose::new(DQuat::from_scaled_axis(turn), at).expect("a rotation")
    }
}

fn tissues() -> [MeshData; 3] {
    let mut bowl = shapes::sphere(0.05, 12);
    bowl.positions.iter_mut().for_each(|p| p.z -= 0.05);
    let mut organ = shapes::organ(2_000, 1);
    let top = organ.positions.iter().map(|p| p.z).fold(f32::MIN, f32::max);
    organ.positions.iter_mut().for_each(|p| p.z -= top);
    [slab(20, 0.004, 0.02), bowl, organ]
}

/// Work that the coupling does on the hand between two ticks, by the trapezoidal rule.
fn work(before: (&Pose, &Rendering), after: (&Pose, &Rendering)) -> f64 {
    let turn = DQuat::from_mat3(&(after.0.rotation * before.0.rotation.transpose()));
    let turn = if turn.w < 0.0 { -turn } else { turn };
    let shift = after.0.translation - before.0.translation;
    0.5 * (before.1.force_n + after.1.force_n).dot(shift)
        + 0.5 * (before.1.torque_nm + after.1.torque_nm).dot(turn.to_scaled_axis())
}

#[test]
fn closed_motions_give_no_energy_out() {
    for (force_shading_rad, share) in [(0.0, 1e-3), (0.5, 0.05)] {
        closed_motions(force_shading_rad, share, None);
    }
}

/// A tissue of one material is a spring in series everywhere, and damping takes energy alone. The give of the coupling
/// is that at the contacts of the proxy, which lies on the surface: a bar that is pressed deep and turned touches
/// elsewhere, which makes some energy.
#[test]
fn closed_motions_against_a_material_give_little_energy_out() {
    closed_motions(0.0, 0.01, Some(feel::SOFT));
    closed_motions(0.5, 0.05, Some(Material { damping_n_s_per_m: 2.0, ..feel::SOFT }));
}

/// Asserts that no closed motion gives out more than a share of the energy put in, beyond it.
fn closed_motions(force_shading_rad: f64, share: f64, material: Option<Material>) {
    let seed = Seed::or(13);
    let tools = [shapes::sphere(0.004, 6), shapes::cuboid(DVec3::new(0.03, 0.003, 0.003))];
    let (mut worst, mut n_ticks) = (f64::NEG_INFINITY, 0);
    for (i, tissue) in tissues().into_iter().enumerate() {
        for (j, tool) in tools.iter().enumerate() {
            for run in 0..scaled(1) {
                let mut random = seed.random((run * 6 + i * 2 + j) as u64);
                let motion = Loop::new(&mut random);
                let mut stage = ProxyStage::new(
                    std::slice::from_ref(&tissue),
                    std::slice::from_ref(tool),
                    |o| RenderOptions { force_shading_rad, ..o },
                );
                if let Some(material) = material {
                    feel::paint(&stage, &[material], |_| 0);
                }
                let n = 8000;
                let (mut put_in, mut given) = (0.0, 0.0);
                let start = motion.at(0.0);
                let mut last = (start, stage.tick(start));
                assert_eq!(last.1.force_n, DVec3::ZERO);
                for k in 1..=n {
                    let pose = motion.at(k as f64 / n as f64);
                    let got = stage.tick(pose);
                    let tip = |p: &Pose| {
                        p.point(DVec3::X * 0.015).distance(last.0.point(DVec3::X * 0.015))
                    };
                    let step = pose.translation.distance(last.0.translation).max(tip(&pose));
                    assert!(step <= STEP_M, "a step of {step} m");
                    let work = work((&last.0, &last.1), (&pose, &got));
                    if work < 0.0 {
                        put_in -= work
                    } else {
                        given += work
                    }
                    last = (pose, got);
                    n_ticks += 1;
                }
                assert_eq!(last.1.force_n, DVec3::ZERO);
                let out = given - put_in;
                println!(
                    "tissue {i}, tool {j}: {:.3} mJ put in, {:.3} uJ given out beyond it",
                    1e3 * put_in,
                    1e6 * out
                );
                worst = worst.max(out - share * put_in);
                assert!(out <= share * put_in + 1e-6, "{out} J of {put_in} J");
            }
        }
    }
    println!("{n_ticks} ticks, at most {:.3} uJ beyond {} %", 1e6 * worst, 1e2 * share);
}
