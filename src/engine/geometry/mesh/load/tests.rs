use super::*;
use crate::{
    geometry::{
        Orientation, SignRule, mesh::topology::has_three_vertices, winding::winding_number,
    },
    oracle::{Random, shapes},
};

fn report(data: MeshData) -> MeshReport {
    let loaded = load(data, &LoadOptions::default()).expect("accepted");
    loaded.mesh.assert_well_formed();
    loaded.report
}

fn error(data: MeshData) -> String {
    load(data, &LoadOptions::default()).expect_err("refused").to_string()
}

fn joined(parts: &[MeshData]) -> MeshData {
    let mut all = MeshData::default();
    for part in parts {
        let first = all.positions.len() as u32;
        all.positions.extend(&part.positions);
        all.triangles.extend(part.triangles.iter().map(|t| t.map(|v| v + first)));
    }
    all
}

fn inside_out(mut data: MeshData) -> MeshData {
    data.triangles.iter_mut().for_each(|t| t.swap(1, 2));
    data
}

fn triangle() -> MeshData {
    MeshData { positions: vec![Vec3::ZERO, Vec3::X, Vec3::Y], triangles: vec![[0, 1, 2]] }
}

#[test]
fn refuses_what_has_no_meaning_and_names_the_place() {
    assert_eq!(error(MeshData::default()), "the mesh has no vertices, expected at least 1");
    assert_eq!(
        error(MeshData { triangles: vec![], ..triangle() }),
        "the mesh has no triangles, expected at least 1"
    );
    for (value, said) in [(f32::NAN, "NaN"), (f32::INFINITY, "inf"), (f32::NEG_INFINITY, "-inf")] {
        let mut data = triangle();
        data.positions[1].y = value;
        assert_eq!(error(data), format!("positions[1].y is {said}, expected a finite number"));
    }
    for index in [3, 99, u32::MAX] {
        let mut data = triangle();
        data.triangles.push([0, index, 1]);
        assert_eq!(error(data), format!("triangles[1][1] = {index}, expected < 3"));
    }
    let mut far = triangle();
    far.positions[2].z = 10_001.0;
    assert_eq!(
        error(far),
        "positions[2].z is 10001 m after scaling, expected at most 10000 m from 0"
    );
}

#[test]
fn refuses_a_scale_that_is_no_length_and_meshes_over_the_limits() {
    for scale_to_m in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let options = LoadOptions { scale_to_m, ..LoadOptions::default() };
        assert!(matches!(load(triangle(), &options), Err(MeshError::Scale { .. })));
    }
    let options = LoadOptions { scale_to_m: f64::MAX, ..LoadOptions::default() };
    assert!(matches!(load(triangle(), &options), Err(MeshError::TooFar { .. })));
    let options = LoadOptions { max_vertices: 2, ..LoadOptions::default() };
    let said = load(triangle(), &options).expect_err("too large").to_string();
    assert_eq!(said, "the mesh has 3 vertices, expected at most 2");
    let options = LoadOptions { max_triangles: 0, ..LoadOptions::default() };
    assert!(matches!(load(triangle(), &options), Err(MeshError::TooLarge { .. })));
}

#[test]
fn scales_in_double_precision_and_mirrors() {
    let mut data = triangle();
    data.positions[1] = Vec3::new(123.456_78, 0.0, 7.0);
    let options =
        LoadOptions { scale_to_m: 0.001, basis: Basis::LeftHanded, ..LoadOptions::default() };
    let mesh = load(data, &options).expect("accepted").mesh;
    let x = (f64::from(123.456_78f32) * 0.001) as f32;
    assert_eq!(mesh.positions()[1], Vec3::new(x, 0.0, -0.007));
    assert_eq!(mesh.vertices(crate::geometry::TriangleId(0)), [0, 2, 1]);
    assert!(mesh.positions().iter().all(|p| p.z.to_bits() != (-0.0f32).to_bits()));
}

#[test]
fn a_left_handed_closed_mesh_needs_no_repair() {
    let options = LoadOptions { basis: Basis::LeftHanded, ..LoadOptions::default() };
    let sent = shapes::mirrored_z(&shapes::sphere(1.0, 3));
    let loaded = load(sent, &options).expect("accepted");
    assert_eq!(loaded.report.reversed_triangles, 0);
    assert!(loaded.report.volume_m3 > 0.0);
}

#[test]
fn measures_a_box() {
    let r = report(shapes::cuboid(DVec3::new(1.0, 2.0, 4.0)));
    assert_eq!((r.vertices, r.triangles, r.bodies, r.closed), (8, 12, 1, true));
    assert_eq!((r.volume_m3, r.area_m2), (8.0, 28.0));
    assert_eq!((r.box_min_m, r.box_max_m), ([-0.5, -1.0, -2.0], [0.5, 1.0, 2.0]));
    assert_eq!(r.sign_rule, SignRule::Pseudonormal);
}

#[test]
fn extreme_sizes_are_measured_right() {
    for size in [100.0, 1e-5] {
        let r = report(shapes::cuboid(DVec3::splat(size)));
        assert!((r.volume_m3 / size.powi(3) - 1.0).abs() < 1e-6, "{} at {size}", r.volume_m3);
        assert_eq!((r.degenerate_triangles, r.closed), (0, true));
    }
    let smallest = f32::from_bits(1);
    let positions = [Vec3::ZERO, Vec3::X, Vec3::Y].map(|p| p * smallest).to_vec();
    let r = report(MeshData { positions, triangles: vec![[0, 1, 2]] });
    assert_eq!(r.degenerate_triangles, 0);
    assert!(r.area_m2 > 0.0);
}

#[test]
fn counts_degenerate_duplicate_and_unreferenced() {
    let mut data = shapes::sphere(1.0, 2);
    let n = data.positions.len() as u32;
    // Collinear with steps that are not powers of two, one point twice, one vertex twice, far away.
    let start = Vec3::new(3.0, 0.1, 0.7);
    let step = Vec3::new(0.25, 0.375, 0.5);
    data.positions.extend([start + step, start + step * 2.0, start + step * 4.0, Vec3::ONE]);
    data.positions[n as usize] = data.positions[n as usize + 1] - step;
    data.triangles.extend([[n, n + 1, n + 1], [n, n, n], [0, 1, 0]]);
    let [a, b, c] = data.triangles[5];
    data.triangles.extend([[b, c, a], [c, b, a]]);
    let r = report(data);
    assert_eq!((r.degenerate_triangles, r.duplicate_triangles, r.unreferenced_vertices), (3, 2, 2));
    assert_eq!((r.non_manifold_edges, r.closed, r.bodies), (3, false, 1));
}

#[test]
fn collinear_points_have_no_area_wherever_they_are() {
    let mut random = Random::new(11);
    for _ in 0..1000 {
        let grid =
            |r: &mut Random| DVec3::from_array([(); 3].map(|()| r.below(4096) as f64 / 1024.0));
        let (p, d) = (grid(&mut random), grid(&mut random));
        let positions = [p, p + d, p + d * 3.0].map(|q| q.as_vec3()).to_vec();
        let r = report(MeshData { positions, triangles: vec![[0, 1, 2]] });
        assert_eq!(r.degenerate_triangles, 1, "{p} + k * {d}");
    }
}

#[test]
fn all_at_one_point_and_slivers_are_accepted() {
    let positions = vec![Vec3::ONE; 3];
    let r = report(MeshData { positions, triangles: vec![[0, 1, 2], [2, 1, 0]] });
    assert_eq!((r.degenerate_triangles, r.duplicate_triangles, r.mean_edge_m), (2, 1, 0.0));
    let mut sliver = triangle();
    sliver.positions[2] = Vec3::new(0.5, 1e-30, 0.0);
    assert_eq!(report(sliver).degenerate_triangles, 0);
}

#[test]
fn turns_the_fewest_triangles_that_disagree() {
    let mut random = Random::new(3);
    for shape in [shapes::sphere(1.0, 4), shapes::sheet(9, 9, 0.1), shapes::torus(1.0, 0.3, 9, 7)] {
        let (mut data, n) = (shape.clone(), shape.triangles.len());
        for _ in 0..n / 5 {
            data.triangles[random.below(n)].swap(1, 2);
        }
        let same = |a: &[u32; 3], b: &[u32; 3]| a[1] == b[1];
        let n_turned =
            data.triangles.iter().zip(&shape.triangles).filter(|(a, b)| !same(a, b)).count();
        let loaded = load(data, &LoadOptions::default()).expect("accepted");
        let r = &loaded.report;
        assert_eq!((r.reversed_triangles as usize, r.inconsistent_edges), (n_turned, 0));
        let found: Vec<[u32; 3]> =
            loaded.mesh.triangle_ids().map(|t| loaded.mesh.vertices(t)).collect();
        assert_eq!(found, shape.triangles);
    }
}

#[test]
fn a_moebius_strip_is_left_as_it_came() {
    let n = 12;
    let id = |i: u32, side: u32| if i < n { 2 * i + side } else { 1 - side };
    let at = |i: u32| {
        let (s, c) = (std::f32::consts::TAU * i as f32 / n as f32).sin_cos();
        let (hs, hc) = (std::f32::consts::PI * i as f32 / n as f32).sin_cos();
        [-0.2f32, 0.2].map(|w| Vec3::new((1.0 + w * hc) * c, (1.0 + w * hc) * s, w * hs))
    };
    let triangles = (0..n)
        .flat_map(|i| {
            let [a, b, c, d] = [id(i, 0), id(i + 1, 0), id(i + 1, 1), id(i, 1)];
            [[a, b, c], [a, c, d]]
        })
        .collect();
    let r = report(MeshData { positions: (0..n).flat_map(at).collect(), triangles });
    assert_eq!((r.reversed_triangles, r.inconsistent_edges, r.closed), (0, 1, false));
}

#[test]
fn closed_bodies_face_outwards_and_cavities_inwards() {
    let ball = |r: f64| shapes::sphere(r, 3);
    let n = ball(1.0).triangles.len() as u32;
    let cavity = joined(&[ball(1.0), inside_out(ball(0.5))]);
    let with_solid_inside = joined(&[cavity.clone(), ball(0.2)]);
    for (data, n_turned, volume) in [
        (inside_out(ball(1.0)), n, 1.0),
        (cavity.clone(), 0, 0.875),
        (inside_out(cavity.clone()), 2 * n, 0.875),
        (joined(&[ball(1.0), ball(0.5)]), 0, 1.125),
        (with_solid_inside.clone(), 0, 0.883),
        (inside_out(with_solid_inside), 3 * n, 0.883),
        (joined(&[cavity, inside_out(ball(0.2))]), n, 0.883),
    ] {
        let r = report(data);
        assert_eq!(r.reversed_triangles, n_turned);
        let whole = report(ball(1.0)).volume_m3;
        assert!((r.volume_m3 / whole - volume).abs() < 1e-5, "{} of {whole}", r.volume_m3);
        assert!(r.closed && r.bodies >= 1);
    }
}

#[test]
fn a_lumen_is_turned_unless_it_is_taken_as_wound() {
    let lumen = inside_out(shapes::sphere(1.0, 3));
    let n = lumen.triangles.len() as u32;
    let as_wound = LoadOptions { orientation: Orientation::AsWound, ..LoadOptions::default() };
    let taken = |data: &MeshData, options: &LoadOptions| {
        let r = load(data.clone(), options).expect("accepted").report;
        (r.reversed_triangles, r.is_lumen(), r.volume_m3 < 0.0)
    };
    assert_eq!(taken(&lumen, &LoadOptions::default()), (n, false, false));
    assert_eq!(taken(&lumen, &as_wound), (0, true, true));
    // The minority of disagreeing triangles is turned.
    let mut mixed = lumen.clone();
    mixed.triangles[5..8].iter_mut().for_each(|t| t.swap(1, 2));
    assert_eq!(taken(&mixed, &as_wound), (3, true, true));
    // A left-handed lumen faces inwards as sent.
    let mut mirrored = inside_out(lumen.clone());
    mirrored.positions.iter_mut().for_each(|p| p.z = -p.z);
    let left_handed = LoadOptions { basis: Basis::LeftHanded, ..as_wound.clone() };
    assert_eq!(taken(&mirrored, &left_handed), (0, true, true));
    // A wall with thickness, a solid and an open tube are no lumen.
    let wall = joined(&[shapes::sphere(1.2, 3), lumen.clone()]);
    for data in [&wall, &shapes::sphere(1.0, 3), &inside_out(shapes::tube(1.0, 3.0, 8, 3))] {
        let r = load(data.clone(), &as_wound).expect("accepted").report;
        assert_eq!((r.reversed_triangles, r.is_lumen()), (0, false));
    }
    // Filled, it equals the lumen before it was torn.
    let torn = shapes::torn(lumen, 4, &mut Random::new(3));
    let filled = LoadOptions { fill_holes_m: 2.0, ..as_wound };
    let r = load(torn, &filled).expect("accepted").report;
    assert_eq!((r.reversed_triangles, r.is_lumen(), r.filled_holes > 0), (0, true, true));
}

#[test]
fn an_unusual_size_names_the_unit_that_would_suit() {
    let warnings =
        |size_m: f64| report(shapes::cuboid(DVec3::new(0.1, 0.4, 1.0) * size_m)).warnings();
    for size_m in [0.5e-3, 2.0e-3, 0.2, 2.5] {
        assert_eq!(warnings(size_m), [""; 0], "{size_m} m");
    }
    for (size_m, said) in [
        (
            64.0,
            "the longest side is 64 m, as of a mesh in millimetres: multiply scale_to_m by 0.001",
        ),
        (
            6.5,
            "the longest side is 6.5 m, as of a mesh in centimetres: multiply scale_to_m by 0.01",
        ),
        (
            0.25e-3,
            "the longest side is 0.00025 m, as of a mesh that was in metres: multiply scale_to_m by 1000",
        ),
        (9000.0, "the longest side is 9000 m"),
        (1e-6, "the longest side is 1e-6 m"),
    ] {
        assert_eq!(warnings(size_m), [format!("may be in another unit: {said}")]);
    }
}

/// Each mistake in a mesh is named, and nothing else.
#[test]
fn mistakes_are_named() {
    let ball = || shapes::sphere(0.05, 3);
    let mut open = ball();
    open.triangles.pop();
    let mut split = ball();
    let [a, b, c] = split.triangles[0];
    let copies = [a, b, c].map(|v| split.positions[v as usize]);
    let n = split.positions.len() as u32;
    split.positions.extend(copies);
    split.triangles[0] = [n, n + 1, n + 2];
    let mut turned = ball();
    turned.triangles[7].swap(1, 2);
    let mut flat = ball();
    flat.triangles.push([0, 0, 1]);
    let mut twice = ball();
    twice.triangles.push(twice.triangles[0]);
    let apart = |p: &Vec3| *p + Vec3::X;
    let away = MeshData { positions: ball().positions.iter().map(apart).collect(), ..ball() };
    let moebius = MeshData {
        positions: (0..6)
            .map(|i| Vec3::new(i as f32, (i * i) as f32, (i % 2) as f32) * 0.01)
            .collect(),
        triangles: vec![[0, 1, 2], [1, 3, 2], [2, 3, 4], [3, 5, 4], [4, 5, 1], [5, 0, 1]],
    };
    for (data, said) in [
        (open, vec!["is open, with one triangle at 3 edges"]),
        (split, vec!["has different vertices on the two sides of 3 edges"]),
        (inside_out(ball()), vec!["was inside out"]),
        (turned, vec!["had 1 triangle wound against the rest"]),
        (flat, vec!["has 1 triangle without an area"]),
        (twice, vec!["has more than two triangles at 3 edges", "has 1 triangle more than once"]),
        (joined(&[ball(), away]), vec!["has 2 bodies"]),
        (moebius, vec!["is open", "has no consistent side"]),
    ] {
        let warnings = report(data).warnings();
        let begins = |(warning, said): (&String, &&str)| warning.starts_with(said);
        let is_said = warnings.len() == said.len() && warnings.iter().zip(&said).all(begins);
        assert!(is_said, "{warnings:#?} for {said:?}");
    }
}

#[test]
fn thousands_of_nested_bodies_are_taken_in_bounded_time() {
    let shells: Vec<MeshData> = (1..12_000)
        .map(|i| inside_out(shapes::cuboid(DVec3::splat(f64::from(i) * 1e-4))))
        .collect();
    let data = joined(&shells);
    assert!(data.triangles.iter().all(|t| has_three_vertices(*t)));
    let r = report(data);
    assert_eq!((r.bodies, r.closed, r.sign_rule), (11_999, true, SignRule::WindingNumber));
}

fn filled(data: MeshData, fill_holes_m: f64) -> LoadedMesh {
    load(data, &LoadOptions { fill_holes_m, ..LoadOptions::default() }).expect("accepted")
}

/// Torn spheres, wound either way, become closed and face outwards; sent triangles keep their numbers, and inside
/// agrees with the winding number of the filled triangles.
#[test]
fn holes_are_filled_and_what_they_opened_is_closed() {
    let seed = 12;
    println!("seed {seed}");
    let mut random = Random::new(seed);
    for round in 0..60 {
        let whole = shapes::sphere(0.05, 8);
        let mut data = shapes::torn(whole, 1 + random.below(6), &mut random);
        if round % 2 == 0 {
            data.triangles.iter_mut().for_each(|t| t.swap(1, 2));
        }
        let open = report(data.clone());
        let LoadedMesh { mesh, report } = filled(data.clone(), 1.0);
        assert!(!open.closed && report.closed && report.volume_m3 > 0.0, "{report:?}");
        assert_eq!(report.triangles, open.triangles + report.added_triangles);
        assert!(report.filled_holes > 0, "{report:?}");
        for (t, sent) in mesh.triangle_ids().zip(&data.triangles) {
            let mut both = [mesh.vertices(t), *sent];
            both.iter_mut().for_each(|t| t.sort_unstable());
            assert_eq!(both[0], both[1], "{t:?} is in its place");
        }
        let centre = mesh.used_box().centre();
        assert!((winding_number(&mesh, centre) - 1.0).abs() < 1e-9, "{report:?}");
    }
}

#[test]
fn larger_holes_stay_open_and_what_fills_them_is_limited() {
    // The tube's ends are 1 mm wide: the diagonal of their box is 1.4 mm.
    let tube = || shapes::tube(0.0005, 0.07, 14, 28);
    let open = filled(tube(), 1e-3).report;
    assert_eq!((open.filled_holes, open.added_triangles, open.closed), (0, 0, false));
    let r = filled(tube(), 2e-3).report;
    assert!(r.closed && r.filled_holes > 0 && r.sign_rule == SignRule::Pseudonormal, "{r:?}");
    let max_triangles = open.triangles;
    let options = LoadOptions { fill_holes_m: 2e-3, max_triangles, ..LoadOptions::default() };
    let said = load(tube(), &options).expect_err("more than that").to_string();
    assert_eq!(
        said,
        format!("the mesh has {} triangles, expected at most {max_triangles}", r.triangles)
    );
}

/// Copies of a vertex that rounding has separated are joined within the distance, at the vertex with the least id; a
/// smaller distance joins nothing, and joined vertices do not move.
#[test]
fn edges_are_welded_within_a_distance() {
    let mut random = Random::new(33);
    let whole = shapes::sphere(0.05, 4);
    let mut split = shapes::split(whole.clone(), 0.3, &mut random);
    for p in &mut split.positions[whole.positions.len()..] {
        *p += random.unit_vector().as_vec3() * 1e-6;
    }
    let within = |weld_m| load(split.clone(), &LoadOptions { weld_m, ..LoadOptions::default() });
    let apart = within(1e-7).expect("accepted");
    assert!(!apart.report.closed && apart.report.welded_edges == 0, "{:?}", apart.report);
    let welded = within(3e-6).expect("accepted");
    assert!(welded.report.closed && welded.report.bodies == 1, "{:?}", welded.report);
    assert_eq!(welded.mesh.positions()[..whole.positions.len()], whole.positions);
    for (v, p) in (0..).zip(welded.mesh.positions()) {
        assert_eq!(*p, welded.mesh.positions()[welded.mesh.joined(v) as usize]);
        assert!(p.distance(split.positions[v as usize]) < 3e-6, "vertex {v}");
    }
    // Weld distance longer than every edge.
    assert_eq!(within(1.0).expect("accepted").mesh.positions(), apart.mesh.positions());
    let fan = (0..4_000u32).map(|i| [3 * i, 3 * i + 1, 3 * i + 2]).collect();
    let near = |i: u32| Vec3::new((i % 3) as f32, (i / 3) as f32 * 1e-6, (i % 3 / 2) as f32);
    let crowd = MeshData { positions: (0..12_000).map(near).collect(), triangles: fan };
    let error = load(crowd, &LoadOptions { weld_m: 0.5, ..LoadOptions::default() });
    assert_eq!(error.expect_err("too many"), MeshError::Weld { got_m: 0.5 });
}
