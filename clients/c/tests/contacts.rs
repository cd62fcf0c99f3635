//! Tests contacts, distances of links and nearest points: against brute force over the meshes, and, of a server's
//! session, bit for bit against what the server answers to the Rust client.

#[path = "support/held.rs"]
#[allow(dead_code)] // other tests use more of it
mod held;
#[path = "support/served.rs"]
mod served;

use std::ptr;

use glam::DVec3;
use palpate::{
    client::{Client, LoopOptions, ServerAddress},
    geometry::{
        distance::{point_triangle::closest_point, triangle_triangle::closest_pair},
        mesh::MeshData,
    },
    oracle::{Random, shapes::sphere},
    proto::{self, ReportOptions, TrackMode, TrackStart},
};
use palpate_c::{code::*, plain::*, query::*, scene::*, server::*, session::*, version::VERSION};
use palpate_code::*;

use held::{Held, PROBES, ball_at, ok, said, slab, text};
use served::{Served, connect};

const TISSUE: u32 = 1;
const TOOL: u32 = 1;
const MARGIN_M: f64 = 0.001;
/// Heights of the ball's lowest point, in the order of the steps: free, near, touching, pressed, free.
const HEIGHTS_M: [f64; 8] = [0.01, 0.003, 0.0008, 0.0003, 0.0, -0.003, 0.0006, 0.02];
/// Rounding of a contract's `f32` at these coordinates, and of a plane's stand-off.
const ROUNDING_M: f64 = 1e-8;

/// Contacts, links and probes of a session's newest answer.
struct Found {
    contacts: Vec<palpate_surface_contact>,
    links: Vec<palpate_link_distance>,
    probes: Vec<palpate_probe_distance>,
}

/// Returns all values that a call of the newest answer gives, and the answer's sequence.
fn all<T: Copy + Default>(
    mut ask: impl FnMut(*mut T, usize, *mut usize, *mut u64) -> palpate_code,
) -> (Vec<T>, u64) {
    let (mut n, mut sequence) = (0, 0);
    let code = ask(ptr::null_mut(), 0, &mut n, &mut sequence);
    assert_eq!(code, if n == 0 { PALPATE_OK } else { PALPATE_TOO_SMALL });
    let mut found = vec![T::default(); n];
    ok(ask(found.as_mut_ptr(), found.len(), &mut n, &mut sequence));
    assert_eq!(n, found.len());
    if n > 1 {
        // As many as fit.
        let mut some = vec![T::default(); n - 1];
        assert_eq!(ask(some.as_mut_ptr(), n - 1, &mut n, ptr::null_mut()), PALPATE_TOO_SMALL);
        assert!(said().contains("expected"), "{}", said());
    }
    (found, sequence)
}

impl Held {
    fn found(&self) -> Found {
        // SAFETY: all pointers point to live objects, or are NULL with a capacity of 0.
        let (contacts, sequence) = all(|to, room, n, sequence| unsafe {
            palpate_surface_contacts(self.session, to, room, n, sequence)
        });
        // SAFETY: as above.
        let (links, same) = all(|to, room, n, sequence| unsafe {
            palpate_link_distances(self.session, to, room, n, sequence)
        });
        // SAFETY: as above.
        let (probes, also) = all(|to, room, n, sequence| unsafe {
            palpate_probe_distances(self.session, to, room, n, sequence)
        });
        assert_eq!((sequence, sequence), (same, also), "nothing steps meanwhile");
        Found { contacts, links, probes }
    }

    /// Steps to a pose; returns the proxy's position and what was found there.
    fn step(&self, pose: &palpate_pose) -> (DVec3, Found) {
        let mut wrench = palpate_wrench::default();
        let mut rendering = std::mem::MaybeUninit::uninit();
        // SAFETY: all pointers point to live objects, and a rendering is written if the call succeeds.
        let rendering = unsafe {
            ok(palpate_step(self.session, pose, ptr::null(), 0, 1e-3, &mut wrench));
            ok(palpate_newest(self.session, rendering.as_mut_ptr()));
            rendering.assume_init()
        };
        (dvec(rendering.proxy.position_m), self.found())
    }
}

fn dvec(v: palpate_vec3) -> DVec3 {
    DVec3::new(v.x, v.y, v.z)
}

fn triangle(mesh: &MeshData, triangle: u32, at: DVec3) -> [DVec3; 3] {
    mesh.triangles[triangle as usize].map(|v| mesh.positions[v as usize].as_dvec3() + at)
}

fn weighed(corners: [DVec3; 3], weights: palpate_vec3) -> DVec3 {
    corners[0] * weights.x + corners[1] * weights.y + corners[2] * weights.z
}

/// Checks an answer at a proxy's position, which never turns, against all pairs of triangles. `tolerance_m`: of the
/// ball's field.
fn check(Found { contacts, links, .. }: &Found, proxy: DVec3, tolerance_m: f64) {
    let (slab, ball) = (slab(), sphere(0.01, 6));
    let n_triangles = |mesh: &MeshData| 0..mesh.triangles.len() as u32;
    let distance = |t: u32| {
        let to = |own| {
            let (of_slab, of_ball) = (triangle(&slab, t, DVec3::ZERO), triangle(&ball, own, proxy));
            closest_pair(&of_slab, &of_ball).distance_squared.sqrt()
        };
        n_triangles(&ball).map(to).fold(f64::INFINITY, f64::min)
    };
    let distances: Vec<f64> = n_triangles(&slab).map(distance).collect();

    let [link] = links[..] else { panic!("one link: {links:?}") };
    assert_eq!((link.at.link, link.n_contacts), (0, contacts.len() as u32));
    let least_m = distances.iter().copied().fold(f64::INFINITY, f64::min);
    assert!((link.at.signed_distance_m - least_m).abs() < ROUNDING_M, "{link:?}, {least_m} m");
    assert_eq!((link.flags, link.at.tissue_id, link.sign_certainty), (0, TISSUE, 1.0));
    assert!((link.lower_bound_m - least_m).abs() < ROUNDING_M, "{link:?}");
    for c in contacts {
        assert_eq!((c.at.tissue_id, c.at.link, c.geometry_revision), (TISSUE, 0, 0));
        assert_eq!(c.flags & !PALPATE_CONTACT_BEGAN, 0);
        assert!(c.toi <= 1.0 && c.contact_id > 0);
    }
    for pair in contacts.iter().map(|c| c.at).chain([link.at]) {
        let (on_tissue, on_tool) = (dvec(pair.on_tissue_m), dvec(pair.on_tool_m));
        let of_slab = weighed(triangle(&slab, pair.triangle, DVec3::ZERO), pair.barycentric);
        assert!(of_slab.distance(on_tissue) < ROUNDING_M, "{of_slab} is not {on_tissue}");
        let of_ball = weighed(triangle(&ball, pair.link_triangle, proxy), pair.link_barycentric);
        assert!(of_ball.distance(on_tool) < ROUNDING_M, "{of_ball} is not {on_tool}");
        let along = on_tissue + pair.signed_distance_m * dvec(pair.normal);
        assert!(along.distance(on_tool) < ROUNDING_M, "{along} is not {on_tool}");
        assert!((dvec(pair.normal).length() - 1.0).abs() < 1e-6, "{pair:?}");
    }
    // Each triangle within the margin is a contact, once; one that is not is within the field's tolerance of it.
    for t in n_triangles(&slab) {
        let distance_m = distances[t as usize];
        match contacts.iter().filter(|c| c.at.triangle == t).count() {
            0 => assert!(distance_m > MARGIN_M, "{t}: {distance_m} m"),
            1 => assert!(distance_m < MARGIN_M + tolerance_m, "{t}: {distance_m} m"),
            n => panic!("{t} is given {n} times"),
        }
    }
}

/// Checks the distances of the probes at a proxy's position.
fn check_probes(probes: &[palpate_probe_distance], proxy: DVec3) {
    let slab = slab();
    assert_eq!(probes.len(), PROBES.len());
    for (n, (probe, (centre, radius_m))) in probes.iter().zip(PROBES).enumerate() {
        // The slab's top is the plane z = 0, and its sides are far.
        let height_m = (proxy + centre).z;
        assert_eq!((probe.probe, probe.flags, probe.at.tissue_id), (n as u32, 0, TISSUE));
        let off_m = probe.at.signed_distance_m - (height_m - radius_m);
        assert!(off_m.abs() < ROUNDING_M, "{probe:?} at {height_m} m");
        let nearest = (proxy + centre).with_z(0.0);
        assert!(dvec(probe.at.position_m).distance(nearest) < ROUNDING_M, "{probe:?}");
        let of_slab =
            weighed(triangle(&slab, probe.at.triangle, DVec3::ZERO), probe.at.barycentric);
        assert!(of_slab.distance(nearest) < ROUNDING_M, "{probe:?}");
        assert!(dvec(probe.at.normal).distance(DVec3::Z) < 1e-6, "{probe:?}");
    }
}

/// Returns an engine in this process, or a server whose ticks take what they need.
fn local() -> *mut palpate_server {
    let mut server = ptr::null_mut();
    // SAFETY: the pointer points to a live object.
    ok(unsafe { palpate_open_local(VERSION, &mut server) });
    server
}

fn serve() -> Option<Served> {
    Served::start(&[("PALPATE_STORE_SCENES", "false"), ("PALPATE_TICKS_TIME_MAX", "60s")])
}

/// Plays all heights; returns what was found at each.
fn play(held: &Held) -> Vec<Found> {
    let mut n_contacts = 0;
    let step = |height_m: &f64| {
        let (proxy, found) = held.step(&ball_at(*height_m));
        check(&found, proxy, 1e-4);
        check_probes(&found.probes, proxy);
        n_contacts += found.contacts.len();
        found
    };
    let found = HEIGHTS_M.iter().map(step).collect();
    assert!(n_contacts >= 5, "{n_contacts} contacts");
    found
}

#[test]
fn contacts_of_the_process_are_those_of_brute_force() {
    let held = Held::open(local(), true);
    let found = play(&held);
    let is_new = |found: &Found| found.contacts[0].flags & PALPATE_CONTACT_BEGAN != 0;
    assert_eq!((is_new(&found[2]), is_new(&found[3])), (true, false), "it begins once, and lasts");
    assert_eq!(found[2].contacts[0].contact_id, found[3].contacts[0].contact_id);
}

impl Held {
    /// Asks for contacts at a pose, without the session.
    fn asked(&self, pose: &palpate_pose) -> Found {
        let query = palpate_contact_query { tool_id: TOOL, pose: *pose, ..Default::default() };
        let mut links = [palpate_link_distance::default()];
        let (contacts, _) = all(|to, room, n, _| {
            // SAFETY: all pointers point to live objects, or are NULL with a capacity of 0.
            unsafe {
                let links = links.as_mut_ptr();
                palpate_query_contacts(self.scene, &query, to, room, n, links, 1)
            }
        });
        Found { contacts, links: links.to_vec(), probes: Vec::new() }
    }
}

/// A ball that begins in the slab is embedded until it is out, and the wrench says so.
#[test]
fn a_wrench_has_the_state_of_its_answer() {
    let check = |held: Held| {
        let felt = |height_m| {
            let (mut wrench, at) = (palpate_wrench::default(), ball_at(height_m));
            // SAFETY: all pointers point to live objects.
            ok(unsafe { palpate_step(held.session, &at, ptr::null(), 0, 1e-3, &mut wrench) });
            (wrench.flags & PALPATE_IS_EMBEDDED != 0, dvec(wrench.force_n))
        };
        assert_eq!(felt(-0.01), (true, DVec3::ZERO));
        assert_eq!(felt(-0.009), (true, DVec3::ZERO));
        assert_eq!(felt(0.01), (false, DVec3::ZERO));
        for _ in 0..100 {
            felt(-0.001);
        }
        let (is_embedded, force_n) = felt(-0.001);
        assert!(!is_embedded && force_n.z > 0.4, "{force_n} N");
    };
    check(Held::open(local(), true));
    if let Some(served) = serve() {
        check(Held::open(connect(&served.address), true));
    }
}

/// A tick whose time is over holds its force, and says so.
#[test]
fn a_tick_ends_at_its_deadline() {
    let check = |server| {
        let held = Held::open_with(server, |options| {
            options.lock_step = 1;
            options.deadline_s = 1e-6;
        });
        let (mut wrench, at) = (palpate_wrench::default(), ball_at(0.0005));
        for _ in 0..3 {
            // SAFETY: all pointers point to live objects.
            ok(unsafe { palpate_step(held.session, &at, ptr::null(), 0, 1e-3, &mut wrench) });
        }
        let links = held.found().links;
        assert_ne!(links[0].flags & PALPATE_DISTANCE_CUT_SHORT, 0, "{links:?}");
    };
    check(local());
    if let Some(served) = serve() {
        check(connect(&served.address));
    }
}

/// Contacts of a pose are those of brute force, and of a server bit for bit those of the process.
#[test]
fn a_pose_is_asked_about_without_a_session() {
    let near = Held::open(local(), true);
    let served = serve();
    let far = served.as_ref().map(|served| Held::open(connect(&served.address), true));
    let mut n_contacts = 0;
    for height_m in HEIGHTS_M {
        let pose = ball_at(height_m);
        let found = near.asked(&pose);
        n_contacts += found.contacts.len();
        if height_m > 0.0 {
            check(&found, dvec(pose.position_m), 1e-4);
        }
        let Some(far) = &far else { continue };
        let told = far.asked(&pose);
        assert_eq!(told.links, found.links, "{height_m}");
        // The contract has contacts as f32.
        let narrow = |v: palpate_vec3| [v.x as f32, v.y as f32, v.z as f32];
        let ids = |found: &Found| {
            let of = |c: &palpate_surface_contact| (c.at.triangle, c.at.link_triangle, c.flags);
            found.contacts.iter().map(of).collect::<Vec<_>>()
        };
        assert_eq!(ids(&told), ids(&found), "{height_m}");
        for (told, found) in told.contacts.iter().zip(&found.contacts) {
            assert_eq!(narrow(told.at.on_tissue_m), narrow(found.at.on_tissue_m));
            assert_eq!(narrow(told.at.normal), narrow(found.at.normal));
            assert_eq!(told.at.signed_distance_m as f32, found.at.signed_distance_m as f32);
        }
    }
    assert!(n_contacts >= 5, "{n_contacts} contacts");
}

#[test]
fn contacts_of_a_server_are_those_of_its_answers() {
    let Some(served) = serve() else { return };
    let held = Held::open(connect(&served.address), true);
    let found = play(&held);

    let address = ServerAddress::new(&served.address);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let answers = runtime.expect("a thread").block_on(async {
        let client = Client::connect(&address).await.expect("it serves");
        let report = ReportOptions { link_barycentrics: true, ..ReportOptions::default() };
        let render =
            proto::RenderOptions { tool_id: TOOL, local_model: true, ..Default::default() };
        let start = TrackStart {
            scene_id: "held".to_owned(),
            tool_ids: vec![TOOL],
            mode: TrackMode::Every.into(),
            render: vec![render],
            report: Some(report),
            ..TrackStart::default()
        };
        let options = LoopOptions { rate_hz: 0.0, ..LoopOptions::default() };
        let haptics = client.haptics_with(start, options).await.expect("a loop");
        let mut answers = Vec::new();
        for height_m in HEIGHTS_M {
            let at = ball_at(height_m).position_m;
            let position_m = Some(proto::Vec3 { x: at.x, y: at.y, z: at.z });
            let pose = proto::Pose { position_m, orientation: None };
            answers.push(haptics.tick(&[(TOOL, pose)]).await.expect("an answer"));
        }
        answers
    });
    for (Found { contacts, links, probes }, answer) in found.iter().zip(&answers) {
        assert_eq!(probes.len(), answer.probes.len());
        for (told, sent) in probes.iter().zip(&answer.probes) {
            assert_eq!(told.at.signed_distance_m.to_bits(), sent.signed_distance_m.to_bits());
            assert_eq!((told.probe, told.at.tissue_id), (sent.probe, sent.tissue_id));
            let at = sent.on_tissue.expect("near").position_m.expect("a place");
            assert_eq!(told.at.position_m, palpate_vec3 { x: at.x, y: at.y, z: at.z });
        }
        let [link] = &answer.links[..] else { panic!("one link") };
        let [palpate_link_distance { at: told, .. }] = links[..] else { panic!("one link") };
        assert_eq!(told.signed_distance_m.to_bits(), link.signed_distance_m.to_bits());
        let (on_tissue, on_tool) = (link.on_tissue.expect("near"), link.on_tool.expect("near"));
        let ids = (link.tissue_id, on_tissue.triangle_id, on_tool.triangle_id);
        assert_eq!((told.tissue_id, told.triangle, told.link_triangle), ids);
        for (told, sent) in [
            (told.on_tissue_m, on_tissue.position_m),
            (told.barycentric, on_tissue.barycentric),
            (told.on_tool_m, on_tool.position_m),
            (told.link_barycentric, on_tool.barycentric),
            (told.normal, link.normal),
        ] {
            let sent = sent.expect("near");
            assert_eq!([told.x, told.y, told.z], [sent.x, sent.y, sent.z]);
        }
        let empty = proto::Contacts::default();
        let sent = link.contacts.as_ref().unwrap_or(&empty);
        let xyz = |of: fn(&palpate_point_pair) -> palpate_vec3| {
            let each = contacts
                .iter()
                .map(|c| of(&c.at))
                .flat_map(|v| [v.x as f32, v.y as f32, v.z as f32]);
            each.collect::<Vec<_>>()
        };
        assert_eq!(xyz(|c| c.barycentric), sent.barycentric_xyz);
        assert_eq!(xyz(|c| c.link_barycentric), sent.link_barycentric_xyz);
        assert_eq!(xyz(|c| c.on_tissue_m), sent.on_tissue_xyz_m);
        assert_eq!(xyz(|c| c.on_tool_m), sent.on_tool_xyz_m);
        assert_eq!(xyz(|c| c.normal), sent.normal_xyz);
        let ids = |of: fn(&palpate_point_pair) -> u32| contacts.iter().map(|c| of(&c.at)).collect();
        let (triangles, own): (Vec<u32>, Vec<u32>) =
            (ids(|c| c.triangle), ids(|c| c.link_triangle));
        assert_eq!((triangles, own), (sent.triangle_ids.clone(), sent.link_triangle_ids.clone()));
        assert!(contacts.iter().map(|c| c.contact_id).eq(sent.contact_ids.iter().copied()));
        assert!(
            contacts
                .iter()
                .map(|c| c.at.signed_distance_m as f32)
                .eq(sent.signed_distance_m.clone())
        );
        assert!(contacts.iter().map(|c| c.toi as f32).eq(sent.toi.clone()));
        let began = |state: &i32| *state == proto::ContactState::Begin as i32;
        let told = contacts.iter().map(|c| c.flags & PALPATE_CONTACT_BEGAN != 0);
        assert!(told.eq(sent.states.iter().map(began)));
    }
}

/// Returns the pairs of features at each height.
fn features(held: &Held) -> Vec<Vec<palpate_feature_pair>> {
    let at = |height_m: &f64| {
        held.step(&ball_at(*height_m));
        // SAFETY: all pointers point to live objects, or are NULL with a capacity of 0.
        let (pairs, _) = all(|to, room, n, sequence| unsafe {
            palpate_feature_pairs(held.session, to, room, n, sequence)
        });
        pairs
    };
    HEIGHTS_M.iter().map(at).collect()
}

#[test]
fn feature_pairs_of_a_server_are_those_of_the_process() {
    let Some(served) = serve() else { return };
    let here = features(&Held::open(local(), true));
    let there = features(&Held::open(connect(&served.address), true));
    assert!(here.iter().map(Vec::len).sum::<usize>() > 20, "{here:?}");
    for (here, there) in here.iter().flatten().zip(there.iter().flatten()) {
        let single = |pair: &palpate_feature_pair| {
            let palpate_feature_pair { normal: n, weights, distance_m, .. } = *pair;
            (weights.map(|w| w as f32), distance_m as f32, [n.x, n.y, n.z].map(|x| x as f32))
        };
        assert_eq!(single(here), single(there), "{here:?}");
        let ids =
            |p: &palpate_feature_pair| (p.tissue_id, p.link, p.kind, p.n_of_tissue, p.vertices);
        assert_eq!(ids(here), ids(there));
    }
    assert!(here.iter().map(Vec::len).eq(there.iter().map(Vec::len)));
}

/// Compares the nearest points of the slab with those of all its triangles.
fn check_nearest(held: &Held) {
    let (slab, mut random) = (slab(), Random::new(45));
    let points: Vec<palpate_vec3> = (0..500)
        .map(|_| random.point(DVec3::splat(-0.15), DVec3::splat(0.15)))
        .map(|p| palpate_vec3 { x: p.x, y: p.y, z: p.z })
        .collect();
    let mut found = vec![palpate_surface_point::default(); points.len()];
    let mut metres = vec![0.0; points.len()];
    // SAFETY: all pointers point to live objects, and the arrays have as many values.
    unsafe {
        let (from, n) = (points.as_ptr(), points.len());
        ok(palpate_nearest(held.scene, 0, from, found.as_mut_ptr(), n));
        ok(palpate_distances(held.scene, TISSUE, from, metres.as_mut_ptr(), n));
    }
    let half = DVec3::new(0.1, 0.1, 0.02);
    for ((point, near), metres) in points.iter().zip(&found).zip(&metres) {
        let p = dvec(*point);
        let corners = |t| triangle(&slab, t, DVec3::ZERO);
        let each = (0..12).map(|t| closest_point(p, &corners(t)).point.distance(p));
        let least_m = each.fold(f64::INFINITY, f64::min);
        let is_inside = ((p + DVec3::Z * 0.02).abs().cmplt(half)).all();
        let signed_m = if is_inside { -least_m } else { least_m };
        assert!(
            (near.signed_distance_m - signed_m).abs() < ROUNDING_M,
            "{p}: {near:?}, {signed_m}"
        );
        assert_eq!(near.signed_distance_m.to_bits(), metres.to_bits());
        assert_eq!((near.tissue_id, near.sign_certainty), (TISSUE, 1.0));
        let at = dvec(near.position_m);
        assert!(weighed(corners(near.triangle), near.barycentric).distance(at) < 2.0 * ROUNDING_M);
        assert!((at.distance(p) - least_m).abs() < 2.0 * ROUNDING_M, "{p}: {near:?}");
        assert!((dvec(near.normal).length() - 1.0).abs() < 1e-6);
    }
}

#[test]
fn nearest_points_are_those_of_brute_force() {
    check_nearest(&Held::open(local(), true));
    if let Some(served) = serve() {
        check_nearest(&Held::open(connect(&served.address), true));
    }
}

/// Positions and triangles of a tissue, with ids from 0 to their number.
fn exported(held: &Held, tissue: u32) -> MeshData {
    let (mut n_vertices, mut n_triangles, mut revision) = (0, 0, 7);
    let mut ask = |xyz: &mut [[f32; 3]], ids: &mut [u32], sides: &mut [[u32; 3]]| {
        // SAFETY: all pointers point to live objects, and the buffers are as long as told.
        unsafe {
            palpate_export_tissue(
                held.scene,
                tissue,
                xyz.as_mut_ptr().cast(),
                xyz.len(),
                &mut n_vertices,
                ids.as_mut_ptr(),
                sides.as_mut_ptr().cast(),
                ids.len(),
                &mut n_triangles,
                &mut revision,
            )
        }
    };
    assert_eq!(ask(&mut [], &mut [], &mut []), PALPATE_TOO_SMALL);
    let (mut xyz, mut ids, mut triangles) = ([[0.0; 3]; 8], [0; 12], [[0; 3]; 12]);
    ok(ask(&mut xyz, &mut ids, &mut triangles));
    assert_eq!((n_vertices, n_triangles, revision), (8, 12, 0));
    assert!(ids.into_iter().eq(0..12));
    MeshData { positions: xyz.map(glam::Vec3::from_array).to_vec(), triangles: triangles.to_vec() }
}

/// A tissue that is wound inwards is turned: weights belong to the vertices as they are stored.
fn check_export(held: &Held) {
    let MeshData { positions, triangles } = slab();
    assert_eq!(exported(held, TISSUE), slab());
    let inwards: Vec<[u32; 3]> = triangles.iter().map(|[a, b, c]| [*a, *c, *b]).collect();
    let xyz: Vec<f32> = positions.iter().flat_map(|p| p.to_array()).collect();
    let mesh = palpate_mesh {
        positions: xyz.as_ptr(),
        n_vertices: positions.len(),
        triangles: inwards.as_ptr().cast(),
        n_triangles: inwards.len(),
        scale_to_m: 0.0,
    };
    let name = text("inwards");
    let mut tissue = 0;
    // SAFETY: all pointers point to live objects.
    ok(unsafe { palpate_add_tissue(held.scene, name.as_ptr(), &mesh, ptr::null(), &mut tissue) });
    let stored = exported(held, tissue);
    assert_eq!(stored, MeshData { positions, triangles });
    let point = palpate_vec3 { x: 0.03, y: 0.01, z: 0.02 };
    let mut near = palpate_surface_point::default();
    // SAFETY: all pointers point to live objects.
    ok(unsafe { palpate_nearest(held.scene, tissue, &point, &mut near, 1) });
    let at = weighed(triangle(&stored, near.triangle, DVec3::ZERO), near.barycentric);
    assert!(at.distance(DVec3::new(0.03, 0.01, 0.0)) < ROUNDING_M, "{at}");
}

#[test]
fn weights_belong_to_the_exported_surface() {
    check_export(&Held::open(local(), true));
    if let Some(served) = serve() {
        check_export(&Held::open(connect(&served.address), true));
    }
}

#[test]
fn without_tissue_nothing_is_near() {
    let held = Held::open(local(), true);
    // SAFETY: the scene is live.
    ok(unsafe { palpate_remove_tissue(held.scene, TISSUE) });
    let (_, Found { contacts, links, probes }) = held.step(&ball_at(0.001));
    assert_eq!((contacts.len(), links.len(), probes.len()), (0, 1, PROBES.len()));
    let is_beyond = |probe: &palpate_probe_distance| probe.flags == PALPATE_DISTANCE_BEYOND;
    assert!(probes.iter().all(is_beyond), "{probes:?}");
    assert_eq!((links[0].flags, links[0].at.tissue_id), (PALPATE_DISTANCE_BEYOND, 0));
    assert!((links[0].at.signed_distance_m - 0.05).abs() < 1e-12, "{:?}", links[0]);
    let (point, mut near) = (palpate_vec3::default(), palpate_surface_point::default());
    // SAFETY: all pointers point to live objects.
    ok(unsafe { palpate_nearest(held.scene, 0, &point, &mut near, 1) });
    let expected = palpate_surface_point { signed_distance_m: f64::INFINITY, ..Default::default() };
    assert_eq!(near, expected);
}
