//! Driven tissues: controls carry their vertices, and bear their loads.

use std::sync::Arc;

use glam::{DAffine3, DQuat, DVec3, Quat, Vec3};
use palpate::{
    geometry::{LoadOptions, MeshData, TriangleId, mesh::load::load},
    oracle::{Random, shapes},
    scene::{
        Limits, Tissue, TissueKind, TissueOptions,
        memory::binding_bytes_expected,
        saved::{SavedScene, SceneChange},
        tissue::{
            binding::{Binding, BindingError, ControlFrame, ControlMove, Controls},
            deform::{DeformError, Deformation},
            driven::Driven,
            edit::{EditError, TopologyEdit},
            vertex_weights::VertexWeights,
        },
    },
};

use crate::seed::Seed;

type Row = Vec<(u32, f64)>;

fn tissue(data: &MeshData) -> Tissue {
    let mesh = load(data.clone(), &LoadOptions::default()).expect("a mesh");
    Tissue::new(("t".to_owned(), TissueKind::Tissue), mesh, TissueOptions::default(), 0)
}

fn driven(data: &MeshData, rest: Controls, rows: &[Row]) -> Tissue {
    let mut tissue = tissue(data);
    let mut weights = VertexWeights::default();
    rows.iter().for_each(|row| weights.push(row.iter().copied()));
    let positions = tissue.current().surface.mesh().positions().to_vec();
    tissue.bind(Binding::new(rest, weights, &positions).expect("a binding"));
    tissue
}

/// Rows of 1 to 9 random weights, also negative ones. Many vertices have the controls of the one before.
fn random_rows(n_vertices: usize, n_controls: usize, random: &mut Random) -> Vec<Row> {
    let mut before = Row::new();
    let row = |_| {
        // Vertices with one and the same control would coincide.
        if before.len() < 2 || random.below(2) == 0 {
            let n = 1 + random.below(9.min(n_controls));
            before.clear();
            while before.len() < n {
                let control = random.below(n_controls) as u32;
                if before.iter().all(|(c, _)| *c != control) {
                    before.push((control, 0.0));
                }
            }
        }
        let mut row = before.clone();
        row.iter_mut().for_each(|(_, weight)| *weight = random.range(-0.2, 1.0));
        let others: f64 = row[1..].iter().map(|(_, w)| w).sum();
        row[0].1 = 1.0 - others;
        row
    };
    (0..n_vertices).map(row).collect()
}

fn random_points(n: usize, random: &mut Random) -> Vec<Vec3> {
    (0..n).map(|_| random.point(DVec3::splat(-0.1), DVec3::splat(0.1)).as_vec3()).collect()
}

fn random_frames(n: usize, random: &mut Random) -> Vec<ControlFrame> {
    let positions = random_points(n, random);
    let frame = |position| ControlFrame { position, rotation: random.rotation().as_quat() };
    positions.into_iter().map(frame).collect()
}

/// The product of rows and points, coordinate by coordinate.
fn product(rows: &[Row], points: &[Vec3]) -> Vec<Vec3> {
    let one = |row: &Row| {
        let coordinate = |axis: usize| {
            let mut sum = 0.0;
            for (control, weight) in row {
                sum += weight * f64::from(points[*control as usize][axis]);
            }
            sum as f32
        };
        Vec3::new(coordinate(0), coordinate(1), coordinate(2))
    };
    rows.iter().map(one).collect()
}

fn positions(tissue: &Tissue) -> Vec<Vec3> {
    tissue.current().surface.mesh().positions().to_vec()
}

fn affine(frame: &ControlFrame) -> DAffine3 {
    let rotation = frame.rotation.as_dquat().normalize();
    DAffine3::from_rotation_translation(rotation, frame.position.as_dvec3())
}

#[test]
fn a_driven_tissue_is_the_dense_product_to_the_bit() {
    let seed = Seed::or(8101);
    let mut random = seed.random(0);
    for (data, n_controls) in [
        (shapes::sphere(0.05, 4), 1),
        (shapes::sphere(0.05, 6), 40),
        (shapes::organ(3_000, 3), 300),
    ] {
        let n = data.positions.len();
        let rows = random_rows(n, n_controls, &mut random);
        let mut points = random_points(n_controls, &mut random);
        let driven = driven(&data, Controls::Points(points.clone()), &rows);
        let dense = tissue(&data);
        assert_eq!(positions(&driven), product(&rows, &points), "at rest");
        for step in 0..30 {
            let n_moved = if step % 3 == 0 { n_controls } else { 1 + random.below(n_controls) };
            let mut ids: Vec<u32> = (0..n_controls as u32).collect();
            (0..n_moved).for_each(|k| ids.swap(k, k + random.below(n_controls - k)));
            ids.truncate(n_moved);
            let to = random_points(n_moved, &mut random);
            let mut is_named = vec![false; n_controls];
            for (id, p) in ids.iter().zip(&to) {
                (points[*id as usize], is_named[*id as usize]) = (*p, true);
            }
            // All of them in their order, once in three times without ids.
            let all = step % 3 == 0;
            let to = Controls::Points(if all { points.clone() } else { to });
            let moved = ControlMove { controls: (!all).then_some(ids), to };
            let done = driven.drive(&moved, step).expect("it fits");
            let expected = product(&rows, &points);
            let twin = dense.deform(Deformation::Dense(expected.clone()), step).expect("good");
            assert_eq!(done.geometry_revision, twin.geometry_revision);
            let bits = |p: Vec<Vec3>| p.iter().map(|p| p.to_array().map(f32::to_bits)).collect();
            let [got, expected]: [Vec<_>; 2] = [positions(&driven), expected].map(bits);
            assert_eq!(got, expected, "step {step}");
            let is_moved = |v: u32| rows[v as usize].iter().any(|(c, _)| is_named[*c as usize]);
            let touched = data.triangles.iter().filter(|t| t.iter().any(|v| is_moved(*v))).count();
            assert_eq!(done.triangles_touched, touched, "step {step}");
        }
        driven.current().surface.assert_well_formed();
    }
}

/// Controls that stay where they are cost nothing, and only the triangles of moved ones are touched.
#[test]
fn only_what_is_carried_by_moved_controls_is_updated() {
    let data = shapes::sphere(0.05, 8);
    let rows: Vec<Row> = (0..data.positions.len() as u32).map(|v| vec![(v, 1.0)]).collect();
    let tissue = driven(&data, Controls::Points(data.positions.clone()), &rows);
    let dense = crate::driven::tissue(&data);
    let mut points = data.positions.clone();
    points[7] *= 1.1;
    let sparse = Deformation::Sparse { vertices: vec![7], positions: vec![points[7]] };
    let expected = dense.deform(sparse, 0).expect("good");
    let all = ControlMove { controls: None, to: Controls::Points(points) };
    assert_eq!(tissue.drive(&all, 0).expect("it fits"), expected);
    let again = tissue.drive(&all, 0).expect("it fits");
    assert_eq!((again.geometry_revision, again.triangles_touched), (2, 0));
}

#[test]
fn frames_carry_as_their_closed_form() {
    let seed = Seed::or(8102);
    let mut random = seed.random(0);
    let data = shapes::sphere(0.05, 6);
    for n_frames in [1, 2, 7] {
        let rest = random_frames(n_frames, &mut random);
        let rows = random_rows(data.positions.len(), n_frames, &mut random);
        let tissue = driven(&data, Controls::Frames(rest.clone()), &rows);
        assert_eq!(
            positions(&tissue),
            data.positions,
            "frames at rest leave vertices where they are"
        );
        for step in 0..20 {
            let now = random_frames(n_frames, &mut random);
            let to = Controls::Frames(now.clone());
            tissue.drive(&ControlMove { controls: None, to }, step).expect("it fits");
            for (v, got) in positions(&tissue).into_iter().enumerate() {
                let at_rest = data.positions[v].as_dvec3();
                let expected: DVec3 = rows[v]
                    .iter()
                    .map(|(c, w)| {
                        let (rest, now) = (&rest[*c as usize], &now[*c as usize]);
                        *w * (affine(now) * affine(rest).inverse()).transform_point3(at_rest)
                    })
                    .sum();
                let off = (got.as_dvec3() - expected).length();
                assert!(off < 1e-7 * (0.1 + expected.length()), "vertex {v}: {got} for {expected}");
            }
        }
    }
}

/// A contact's force on a triangle comes to the controls whole, and turns about any point as it does on the triangle.
#[test]
fn controls_bear_the_force_and_the_moment_of_each_contact() {
    let seed = Seed::or(8103);
    let mut random = seed.random(0);
    let data = shapes::sphere(0.05, 6);
    let n = data.positions.len();
    for are_frames in [false, true] {
        let n_controls = 30;
        let rows = random_rows(n, n_controls, &mut random);
        let rest = match are_frames {
            false => Controls::Points(random_points(n_controls, &mut random)),
            true => Controls::Frames(random_frames(n_controls, &mut random)),
        };
        let tissue = driven(&data, rest.clone(), &rows);
        let to = match are_frames {
            false => Controls::Points(random_points(n_controls, &mut random)),
            true => Controls::Frames(random_frames(n_controls, &mut random)),
        };
        tissue.drive(&ControlMove { controls: None, to: to.clone() }, 0).expect("it fits");
        let carried = |v: u32| -> DVec3 {
            let carry = |(c, w): &(u32, f64)| match (&rest, &to) {
                (Controls::Frames(rest), Controls::Frames(now)) => {
                    let (rest, now) = (&rest[*c as usize], &now[*c as usize]);
                    let at = data.positions[v as usize].as_dvec3();
                    *w * (affine(now) * affine(rest).inverse()).transform_point3(at)
                }
                (_, Controls::Points(points)) => *w * points[*c as usize].as_dvec3(),
                _ => unreachable!("of one kind"),
            };
            rows[v as usize].iter().map(carry).sum()
        };
        let origin = |c: u32| match &to {
            Controls::Points(points) => points[c as usize].as_dvec3(),
            Controls::Frames(frames) => frames[c as usize].position.as_dvec3(),
        };
        let current = tissue.current();
        let state = current.driven.as_deref().expect("it is driven");
        for _ in 0..10_000 {
            let corners = data.triangles[random.below(data.triangles.len())];
            let (a, b) = (random.f64(), random.f64());
            let (a, b) = if a + b > 1.0 { (1.0 - a, 1.0 - b) } else { (a, b) };
            let force = random.unit_vector() * random.range(0.01, 10.0);
            let about = random.point(DVec3::splat(-0.1), DVec3::splat(0.1));
            let (mut loads, mut moment) = (Vec::new(), DVec3::ZERO);
            let mut whole = DVec3::ZERO;
            for (v, w) in corners.into_iter().zip([1.0 - a - b, a, b]) {
                state.add_loads(v, force * w, &mut loads);
                moment += (carried(v) - about).cross(force * w);
                whole += force * w;
            }
            let borne: DVec3 = loads.iter().map(|l| l.force_n).sum();
            let turn: DVec3 = loads
                .iter()
                .map(|l| (origin(l.control) - about).cross(l.force_n) + l.torque_nm)
                .sum();
            assert!((borne - whole).length() < 1e-12 * force.length(), "{borne} for {whole}");
            let scale = loads.iter().map(|l| l.force_n.length()).sum::<f64>() * 0.3;
            assert!((turn - moment).length() < 1e-12 * scale, "{turn} for {moment}");
            let has_torque = loads.iter().any(|l| l.torque_nm != DVec3::ZERO);
            assert_eq!(has_torque, are_frames);
        }
    }
}

fn cut_of(tissue: &Tissue, random: &mut Random) -> TopologyEdit {
    let current = tissue.current();
    let mesh = current.surface.mesh();
    let ids: Vec<TriangleId> = mesh.triangle_ids().collect();
    let t = ids[random.below(ids.len())];
    let [a, b, c] = mesh.vertices(t);
    let (u, v) = (random.range(0.1, 0.45), random.range(0.1, 0.45));
    let at = [a, b, c].map(|v| mesh.position(v));
    let point = at[0] * (1.0 - u - v) + at[1] * u + at[2] * v;
    let m = mesh.positions().len() as u32;
    TopologyEdit {
        base_revision: Some(current.topology_revision),
        removed: vec![t],
        added_positions: vec![point.as_vec3()],
        added: vec![[a, b, m], [b, c, m], [c, a, m]],
        parents: vec![t; 3],
        ..TopologyEdit::default()
    }
}

/// Cuts and moves in turn, kept as changes: the scene that they make is the scene, and stays it.
#[test]
fn two_hundred_cuts_of_driven_tissues_are_kept_and_stay_carried() {
    for are_frames in [false, true] {
        let seed = Seed::or(8104);
        let mut random = seed.random(0);
        let data = shapes::sphere(0.05, 5);
        let n_controls = 20;
        let rows = random_rows(data.positions.len(), n_controls, &mut random);
        let near = |random: &mut Random| match are_frames {
            false => Controls::Points(random_points(n_controls, random)),
            // Frames that turn by up to a radian against each other, so that a blend has an inverse.
            true => Controls::Frames(
                random_points(n_controls, random)
                    .into_iter()
                    .map(|position| {
                        let turn =
                            DQuat::from_scaled_axis(random.unit_vector() * 0.5 * random.f64());
                        ControlFrame { position, rotation: turn.as_quat() }
                    })
                    .collect(),
            ),
        };
        let rest = near(&mut random);
        let tissue = driven(&data, rest, &rows);
        let mut kept = SavedScene::new("s".to_owned());
        let id = kept.next_tissue;
        let added = palpate::scene::saved::SavedTissue { id, ..tissue.saved() };
        kept.apply(SceneChange::TissueAdded(Box::new(added))).expect("it fits");
        let of_scene = |change: SceneChange| match change {
            SceneChange::Moved { geometry_revision, positions, controls, .. } => {
                SceneChange::Moved { tissue: id, geometry_revision, positions, controls }
            }
            other => other,
        };
        for step in 0..200 {
            let mut edit = cut_of(&tissue, &mut random);
            let asked = edit.added_positions[0];
            tissue.prepare_edit(&mut edit, &Limits::default()).expect("it fits");
            kept.apply(SceneChange::Edited { tissue: id, edit: edit.clone() }).expect("it fits");
            let done = tissue.edit(edit, &Limits::default(), step).expect("it fits");
            let off = done.added_positions[0].distance(asked);
            assert!(
                off < 1e-5,
                "cut {step}: the new vertex is {off} m from where it was asked for"
            );
            let to = near(&mut random);
            tissue.drive(&ControlMove { controls: None, to: to.clone() }, step).expect("it fits");
            let now = positions(&tissue);
            // Carried as all others: the same controls once more change nothing.
            let again = tissue.drive(&ControlMove { controls: None, to }, step).expect("it fits");
            assert_eq!((positions(&tissue), again.triangles_touched), (now, 0), "cut {step}");
            kept.apply(of_scene(tissue.moved())).expect("it fits");
            assert_eq!(kept.tissues[0].mesh.positions, positions(&tissue), "cut {step}");
        }
        tissue.current().surface.assert_well_formed();
        let bytes = postcard::to_stdvec(&kept).expect("plain data");
        let read: SavedScene = postcard::from_bytes(&bytes).expect("as written");
        read.check().expect("a scene");
        let restored = read.tissues[0].clone().tissue(0);
        for tissue in [&tissue, &restored] {
            let to = near(&mut Random::new(5));
            tissue.drive(&ControlMove { controls: None, to }, 0).expect("it fits");
        }
        assert_eq!(positions(&restored), positions(&tissue));
    }
}

/// The two lips of a cut of no width have vertices of their own, given weights by two triangles: they part only if they
/// are moved apart.
#[test]
fn lips_of_a_cut_along_an_edge_stay_together() {
    let seed = Seed::or(8105);
    let mut random = seed.random(0);
    let data = shapes::sphere(0.05, 5);
    let rows = random_rows(data.positions.len(), 20, &mut random);
    let mut points = random_points(20, &mut random);
    let tissue = driven(&data, Controls::Points(points.clone()), &rows);
    for cut in 0..20 {
        let current = tissue.current();
        let mesh = current.surface.mesh();
        let ids: Vec<TriangleId> = mesh.triangle_ids().collect();
        let t = ids[random.below(ids.len())];
        let [a, b, c] = mesh.vertices(t);
        let has_edge = |s: &&TriangleId| {
            let v = mesh.vertices(**s);
            **s != t && v.contains(&a) && v.contains(&b)
        };
        let Some(other) = ids.iter().find(has_edge).copied() else { continue };
        let d = mesh.vertices(other).into_iter().find(|v| *v != a && *v != b).expect("a third");
        let share = random.range(0.1, 0.9);
        let at = mesh.position(a).lerp(mesh.position(b), share).as_vec3();
        let m = mesh.positions().len() as u32;
        let edit = TopologyEdit {
            removed: vec![t, other],
            added_positions: vec![at; 2],
            added: vec![[a, m, c], [m, b, c], [b, m + 1, d], [m + 1, a, d]],
            parents: vec![t, t, other, other],
            ..TopologyEdit::default()
        };
        let before = current.surface.welded_edges();
        drop(current);
        let done = tissue.edit(edit, &Limits::default(), 0).expect("it fits");
        assert_eq!(done.added_positions[0], done.added_positions[1], "cut {cut}");
        assert_eq!(done.welded_edges, before + 2, "cut {cut}");
        points = random_points(20, &mut random);
        let to = Controls::Points(points.clone());
        let moved = tissue.drive(&ControlMove { controls: None, to }, 0).expect("it fits");
        assert_eq!(moved.welded_edges, done.welded_edges, "cut {cut}");
    }
}

#[test]
fn weights_of_a_cut_are_the_caller_s_if_given() {
    let data = shapes::sphere(0.05, 5);
    let rows: Vec<Row> = (0..data.positions.len() as u32).map(|v| vec![(v, 1.0)]).collect();
    let tissue = driven(&data, Controls::Points(data.positions.clone()), &rows);
    let mut random = Random::new(4);
    let with = |row: Row| {
        let mut weights = VertexWeights::default();
        weights.push(row);
        let edit = cut_of(&tissue, &mut Random::new(4));
        TopologyEdit { parents: Vec::new(), weights: weights.into(), ..edit }
    };
    let sum = tissue.edit(with(vec![(0, 0.5), (1, 0.4)]), &Limits::default(), 0);
    assert!(matches!(sum, Err(EditError::Weights(BindingError::Sum { vertex: 0, .. }))), "{sum:?}");
    let orphan = TopologyEdit { parents: Vec::new(), ..cut_of(&tissue, &mut random) };
    let orphan = tissue.edit(orphan, &Limits::default(), 0);
    assert_eq!(orphan, Err(EditError::NoWeights { at: 0 }));
    let done = tissue.edit(with(vec![(0, 0.5), (1, 0.5)]), &Limits::default(), 0).expect("good");
    let [a, b] = [0, 1].map(|v| data.positions[v].as_dvec3());
    assert_eq!(done.added_positions, [(a * 0.5 + b * 0.5).as_vec3()]);
}

#[test]
fn what_is_no_binding_or_no_move_is_refused_with_its_number() {
    let data = shapes::cuboid(DVec3::splat(0.1));
    let n = data.positions.len();
    let rest = || Controls::Points(vec![Vec3::ZERO, Vec3::X]);
    let bound = |rest: Controls, rows: &[Row]| {
        let mut weights = VertexWeights::default();
        rows.iter().for_each(|row| weights.push(row.iter().copied()));
        Binding::new(rest, weights, &data.positions)
    };
    let good = vec![vec![(0, 1.0)]; n];
    let with = |v: usize, row: Row| {
        let mut rows = good.clone();
        rows[v] = row;
        rows
    };
    let short = bound(rest(), &good[1..]);
    assert_eq!(short, Err(BindingError::Vertices { got: n - 1, expected: n }));
    let none = bound(rest(), &with(2, vec![]));
    assert_eq!(none, Err(BindingError::Count { vertex: 2, got: 0, max: 32 }));
    let many = bound(rest(), &with(3, vec![(0, 1.0 / 33.0); 33]));
    assert_eq!(many, Err(BindingError::Count { vertex: 3, got: 33, max: 32 }));
    let unknown = bound(rest(), &with(4, vec![(0, 0.5), (2, 0.5)]));
    assert_eq!(unknown, Err(BindingError::UnknownControl { vertex: 4, control: 2, n_controls: 2 }));
    let sum = bound(rest(), &with(5, vec![(0, 0.5), (1, 0.5 + 2e-6)]));
    assert!(matches!(sum, Err(BindingError::Sum { vertex: 5, .. })), "{sum:?}");
    let nan = bound(rest(), &with(6, vec![(0, f64::NAN)]));
    assert!(matches!(nan, Err(BindingError::Sum { vertex: 6, .. })), "{nan:?}");
    let far = bound(rest(), &with(7, vec![(0, -1e6), (1, 1e6 + 1.0)]));
    assert!(matches!(far, Err(BindingError::Vertex { vertex: 7, .. })), "{far:?}");
    let control = bound(Controls::Points(vec![Vec3::ZERO, Vec3::splat(f32::NAN)]), &good);
    assert_eq!(control, Err(BindingError::Control { control: 1 }));
    let turned =
        ControlFrame { position: Vec3::ZERO, rotation: Quat::from_xyzw(0.0, 0.0, 0.0, 1.1) };
    let control = bound(Controls::Frames(vec![turned]), &good);
    assert_eq!(control, Err(BindingError::Control { control: 0 }));

    let tissue = driven(&data, rest(), &good);
    let before = positions(&tissue);
    let drive = |controls: Option<Vec<u32>>, to: Controls| {
        tissue.drive(&ControlMove { controls, to }, 0).expect_err("refused")
    };
    let points = |n: usize| Controls::Points(vec![Vec3::ONE; n]);
    assert_eq!(drive(None, points(3)), DeformError::ControlCount { got: 3, expected: 2 });
    assert_eq!(drive(Some(vec![1]), points(2)), DeformError::ControlCount { got: 2, expected: 1 });
    let unknown = DeformError::UnknownControl { at: 1, control: 2, n_controls: 2 };
    assert_eq!(drive(Some(vec![0, 2]), points(2)), unknown);
    let repeated = DeformError::RepeatedControl { at: 1, control: 1 };
    assert_eq!(drive(Some(vec![1, 1]), points(2)), repeated);
    let kind = drive(None, Controls::Frames(vec![turned; 2]));
    assert_eq!(kind, DeformError::ControlKind { got: "frames", expected: "points" });
    let far = Controls::Points(vec![Vec3::ZERO, Vec3::splat(2e4)]);
    assert_eq!(drive(None, far), DeformError::Control { at: 3 });
    let plain = tissue.deform(Deformation::Dense(before.clone()), 0);
    assert_eq!(plain, Err(DeformError::Driven));
    let undriven =
        crate::driven::tissue(&data).drive(&ControlMove { controls: None, to: rest() }, 0);
    assert_eq!(undriven, Err(DeformError::NotDriven));
    assert_eq!((positions(&tissue), tissue.current().geometry_revision), (before, 0));
}

/// The memory of a binding is counted, once for both copies of the tissue.
#[test]
fn the_memory_of_a_binding_counts() {
    let data = shapes::sphere(0.05, 12);
    let rows = random_rows(data.positions.len(), 50, &mut Random::new(1));
    let rest = Controls::Points(random_points(50, &mut Random::new(2)));
    let n_weights: usize = rows.iter().map(Vec::len).sum();
    let [bound, free] = [driven(&data, rest, &rows), tissue(&data)];
    let more = bound.heap_bytes() as i64 - free.heap_bytes() as i64;
    assert!((16 * n_weights as i64..64 * n_weights as i64).contains(&more), "{more} bytes");
    let state: Arc<Driven> = bound.current().driven.clone().expect("it is driven");
    assert_eq!(state.binding.weights().n_weights(), n_weights);

    // The worst for each weight: vertices with a frame each, and no two alike.
    let n = data.positions.len() as u32;
    let weights = VertexWeights::each_alone(n);
    let frames = Controls::Frames(random_frames(n as usize, &mut Random::new(3)));
    let made = Binding::new(frames, weights, &data.positions).expect("a binding");
    let state = Driven::at_rest(made);
    let (bytes, n) = (state.heap_bytes() as u64, u64::from(n));
    assert!(bytes < binding_bytes_expected(n, n), "{bytes} bytes for {n} weights");
    assert!(3 * bytes > binding_bytes_expected(n, n), "{bytes} bytes for {n} weights");
}
