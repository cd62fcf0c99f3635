//! Local models against brute force: within their radius they leave nothing out, and no gap is off by more than it says.

use std::cell::Cell;

use glam::{DQuat, DVec3};
use palpate::{
    coupling::{
        local_model::LocalModel,
        posture::FIRST_LINK,
        quadratic_programme::{COORDINATES_MAX, Displacement},
    },
    geometry::{MeshData, Pose},
    oracle::{Random, shapes, triangle::triangle_distance},
    proxy::{RenderOptions, RenderState},
    scene::tissue::deform::Deformation,
};

use super::stage::{ProxyStage, slab};
use crate::seed::{Seed, scaled};

/// Between two deformations, nanoseconds.
const FRAME_NS: u64 = 16_000_000;
/// Rounding of coordinates of a metre, and of unit vectors, many times over.
const ROUNDING_M: f64 = 1e-9;
/// Of each model: some 1,100 in all, 10,000 with `PALPATE_TEST_SCALE=9`.
const MOTIONS: usize = 10;

fn tissues() -> [MeshData; 5] {
    let mut bowl = shapes::sphere(0.05, 24);
    bowl.positions.iter_mut().for_each(|p| p.z -= 0.05);
    let mut organ = shapes::organ(4_000, 1);
    let top = organ.positions.iter().map(|p| p.z).fold(f32::MIN, f32::max);
    organ.positions.iter_mut().for_each(|p| p.z -= top);
    // Hollow about its hole, where facets rise beside a contact.
    let mut ring = shapes::torus(0.012, 0.006, 24, 16);
    ring.positions.iter_mut().for_each(|p| p.z -= 0.006);
    [slab(20, 0.004, 0.02), slab(2, 0.04, 0.02), bowl, organ, ring]
}

fn tools() -> [MeshData; 3] {
    let bar = shapes::cuboid(DVec3::new(0.03, 0.003, 0.003));
    [shapes::sphere(0.004, 6), bar, shapes::capsule(0.002, 0.03, 8)]
}

/// What a tissue's vertices do: a shift and a shear, metres a second.
struct Flow {
    shift: DVec3,
    shear: DVec3,
}

impl Flow {
    fn at(&self, p: DVec3) -> DVec3 {
        self.shift + self.shear * (20.0 * (p.x + p.y)).sin()
    }
}

/// A proxy that lies on a tissue or hangs over it, and its model.
struct Case {
    stage: ProxyStage,
    model: LocalModel,
    /// The proxy had no time to arrive.
    is_late: bool,
    /// Where the tissue is at the model's time, and how its vertices move.
    tissue: Vec<[DVec3; 3]>,
    velocities: Vec<[DVec3; 3]>,
}

impl Case {
    fn new(random: &mut Random, tissue: &MeshData, tool: &MeshData, moves: bool) -> Option<Case> {
        let hold = random.unit_vector() * random.range(0.0, 0.05);
        let options =
            |o: RenderOptions| RenderOptions { local_model: true, hold_point_m: hold, ..o };
        let tissues = std::slice::from_ref(tissue);
        let mut stage = ProxyStage::new(tissues, std::slice::from_ref(tool), options);
        let turn = Pose::new(random.rotation(), DVec3::ZERO).expect("a rotation");
        let aside = DVec3::new(random.range(-0.01, 0.01), random.range(-0.01, 0.01), 0.0);
        let at = |z: f64| Pose { translation: aside + DVec3::Z * z, ..turn };
        stage.tick(at(0.05));
        let depth = random.range(-0.001, 0.004);
        let lowest = stage.lowest(&at(0.0));
        stage.tick(at(-lowest - depth));
        let flow = Flow {
            shift: random.unit_vector() * random.range(0.0, 0.03),
            shear: random.unit_vector() * random.range(0.0, 0.01),
        };
        let tissue = stage.tissue(0);
        for step in 0..if moves { 2 } else { 0 } {
            let revision = tissue.current();
            let moved = revision.surface.mesh().positions().iter().map(|p| {
                let p = p.as_dvec3();
                (p + flow.at(p) * (FRAME_NS as f64 * 1e-9)).as_vec3()
            });
            let deformation = Deformation::Dense(moved.collect());
            tissue.deform(deformation, FRAME_NS * (step + 1)).expect("accepted");
            if step == 0 {
                stage.tick(at(-lowest - depth));
            }
        }
        let before = (moves).then(|| stage.tissue(0).current());
        // A third has no time to arrive, or to follow the tissue: there is a model of where it came to, or none.
        let left = Cell::new(if random.below(3) == 0 { random.below(400) } else { usize::MAX });
        let late_to_draw = || {
            left.set(left.get().saturating_sub(1));
            left.get() == 0
        };
        stage.pose.scene_from_tool = at(-lowest - depth + random.range(-0.002, 0.002));
        let got = stage.tick_in_times(&late_to_draw, &|| false);
        drop(before);
        if got.state == RenderState::Embedded {
            return None;
        }
        assert!(got.local_model.is_some() || got.state == RenderState::Late, "{:?}", got.state);
        let is_late = got.state == RenderState::Late;
        let model = *got.local_model?;
        let revision = stage.tissue(0).current();
        let mesh = revision.surface.mesh();
        // By what a vertex moved in the last frame, as single precision has it.
        let velocity = |v: u32| {
            let moved = revision.moved_since(revision.geometry_revision.saturating_sub(1), v);
            moved.unwrap_or(DVec3::ZERO) / (FRAME_NS as f64 * 1e-9)
        };
        let ids: Vec<_> = mesh.triangle_ids().collect();
        let tissue = ids.iter().map(|t| mesh.triangle(*t)).collect();
        let velocities = ids.iter().map(|t| mesh.vertices(*t).map(velocity)).collect();
        Some(Case { stage, model, is_late, tissue, velocities })
    }

    /// A motion and an age within what the model says of itself.
    fn motion(&self, random: &mut Random) -> (Displacement, f64) {
        let age_s = random.range(0.0, self.model.expires_s);
        let most = self.model.radius_after(age_s).max(0.0) * random.f64().sqrt();
        let mut x = [0.0; COORDINATES_MAX];
        let split = random.f64();
        x[..3].copy_from_slice(&(random.unit_vector() * most * split).to_array());
        let turn = random.unit_vector() * most * (1.0 - split) / self.model.reach_m;
        x[3..FIRST_LINK].copy_from_slice(&turn.to_array());
        (0..40).for_each(|_| {
            let extent = self.model.extent(&x);
            if extent.length_m + extent.curved_m > most {
                x.iter_mut().for_each(|x| *x *= 0.95);
            }
        });
        (x, age_s)
    }

    /// The least distance of all pairs of triangles, if it is less than `limit`.
    fn distance(&self, x: &Displacement, age_s: f64, limit: f64) -> f64 {
        let LocalModel { reference, hold_m, screws, .. } = &self.model;
        let there = reference.moved(x, 1.0, *hold_m, screws);
        let mut least = limit;
        for (number, link) in self.stage.tool.links.iter().enumerate() {
            let pose = there.scene_from_link(number);
            let mesh = link.surface.mesh();
            let own: Vec<_> =
                mesh.triangle_ids().map(|t| mesh.triangle(t).map(|p| pose.point(p))).collect();
            let all = bounds(own.iter().flatten());
            for (triangle, velocity) in self.tissue.iter().zip(&self.velocities) {
                let now: [DVec3; 3] = std::array::from_fn(|k| triangle[k] + velocity[k] * age_s);
                let near = bounds(now.iter());
                if apart(&near, &all) >= least {
                    continue;
                }
                for own in &own {
                    if apart(&near, &bounds(own.iter())) < least {
                        least = least.min(triangle_distance(&now, own));
                    }
                }
            }
        }
        least
    }
}

fn bounds<'a>(points: impl Iterator<Item = &'a DVec3>) -> [DVec3; 2] {
    points.fold([DVec3::INFINITY, DVec3::NEG_INFINITY], |[a, b], p| [a.min(*p), b.max(*p)])
}

fn apart(a: &[DVec3; 2], b: &[DVec3; 2]) -> f64 {
    (a[0] - b[1]).max(b[0] - a[1]).max(DVec3::ZERO).length()
}

#[test]
fn within_its_radius_a_model_leaves_nothing_out_and_is_as_right_as_it_says() {
    let seed = Seed::or(41);
    let (tissues, tools) = (tissues(), tools());
    let (mut radii, mut errors) = (Vec::new(), Vec::new());
    let (mut n_motions, mut n_touching, mut n_rows, mut n_late) = (0, 0, 0, 0);
    for run in 0..scaled(120) {
        let mut random = seed.random(run as u64);
        let (tissue, tool) = (&tissues[run % 5], &tools[run / 5 % 3]);
        let Some(case) = Case::new(&mut random, tissue, tool, run / 15 % 2 == 1) else { continue };
        let model = &case.model;
        radii.push(model.complete_radius_m);
        n_late += usize::from(case.is_late);
        n_rows += model.rows().len();
        errors.extend(model.rows().iter().map(|r| r.gap_error_m / model.complete_radius_m));
        for _ in 0..MOTIONS {
            let (x, age_s) = case.motion(&mut random);
            let extent = model.extent(&x);
            let left = model.radius_after(age_s) - extent.length_m - extent.curved_m;
            if left < 0.0 {
                continue;
            }
            n_motions += 1;
            let gaps = model.rows().iter().map(|row| (model.gap_after(row, &x, age_s), row));
            let gaps: Vec<_> = gaps.collect();
            let nearest = gaps.iter().map(|(gap, row)| gap - row.gap_error_m).fold(left, f64::min);
            let limit = gaps.iter().map(|(gap, row)| gap.abs() + row.gap_error_m);
            let limit = limit.fold(left.max(0.0), f64::max) + 2.0 * ROUNDING_M;
            let distance = case.distance(&x, age_s, limit);
            n_touching += usize::from(distance == 0.0);
            let at = format!("run {run}, {x:?}, {age_s} s, {left} m left, {model:?}");
            assert!(distance >= nearest - ROUNDING_M, "{distance} m, not {nearest} m: {at}");
            for (gap, row) in gaps {
                let most = gap.abs() + row.gap_error_m + ROUNDING_M;
                assert!(distance <= most, "{distance} m, at most {most} m: {row:?} {at}");
            }
        }
    }
    radii.sort_by(f64::total_cmp);
    errors.sort_by(f64::total_cmp);
    let of = |all: &[f64], share: f64| all[(share * (all.len() - 1) as f64) as usize];
    println!(
        "{} models, {n_late} of late proxies, with {n_rows} rows, {n_motions} motions, {n_touching} touch; radius mm: least {:.3}, \
         10 % {:.3}, half {:.3}, most {:.3}; error over radius: half {:.2}, 90 % {:.2}, most {:.2}",
        radii.len(),
        1e3 * of(&radii, 0.0),
        1e3 * of(&radii, 0.1),
        1e3 * of(&radii, 0.5),
        1e3 * of(&radii, 1.0),
        of(&errors, 0.5),
        of(&errors, 0.9),
        of(&errors, 1.0)
    );
    // A device at 100 mm/s goes 0.5 mm in 5 ms.
    assert!(of(&radii, 0.5) > 5e-4, "half of the radii are below {} m", of(&radii, 0.5));
    assert!(n_late * 20 > radii.len(), "{n_late} models of late proxies");
    assert!(n_touching * 20 > n_motions, "{n_touching} of {n_motions} motions touch");
}

/// The rows' ids are those of the rendering's contacts, and the spring over them is the rendering's force.
#[test]
fn a_model_has_the_contacts_of_its_rendering() {
    let options = |o: RenderOptions| RenderOptions { local_model: true, ..o };
    let mut stage = ProxyStage::new(&[slab(20, 0.004, 0.02)], &[shapes::sphere(0.004, 6)], options);
    let at = |z: f64| Pose { translation: DVec3::new(0.001, 0.002, z), ..Pose::IDENTITY };
    stage.tick(at(0.01));
    let first = stage.tick(at(0.002));
    let second = stage.tick(at(0.0021));
    for got in [&first, &second] {
        let model = got.local_model.as_ref().expect("asked for");
        let bearing = got.contacts.iter().filter(|c| c.force_n != DVec3::ZERO);
        for contact in bearing {
            let row = model.rows().iter().find(|r| r.contact_id == contact.id).expect("a row");
            assert!((row.gap_m - contact.gap_m).abs() < 1e-12, "{row:?} {contact:?}");
            assert!((row.normal - contact.normal).length() < 1e-12);
        }
    }
    let ids = |got: &palpate::proxy::Rendering| {
        let model = got.local_model.as_ref().expect("asked for");
        model.rows().iter().map(|r| r.contact_id).collect::<Vec<_>>()
    };
    assert_eq!(ids(&first), ids(&second));
    let turned = Pose::new(DQuat::from_rotation_x(0.3), DVec3::Z * 0.03).expect("a rotation");
    let free = stage.tick(turned);
    assert!(free.local_model.expect("asked for").rows().is_empty());
}
