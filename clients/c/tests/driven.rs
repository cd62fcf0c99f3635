//! Driven tissues through the C calls, in this process and on a server: a frame and points that carry a slab, moved and
//! pressed.

#[path = "support/held.rs"]
#[allow(dead_code)] // other tests use more of it
mod held;
#[path = "support/served.rs"]
mod served;

use std::ptr;

use glam::DVec3;
use palpate::oracle::shapes::sphere;
use palpate_c::{
    code::*, driven::*, plain::*, report::*, rows::*, scene::*, server::*, session::*, tube::*,
    version::VERSION,
};
use palpate_code::*;

use held::{ball_at, ok, said, slab, text};
use served::{Served, connect};

const FRAME: [f32; 7] = [0.01, 0.0, -0.1, 0.0, 0.0, 0.0, 1.0];

/// A slab bound to one frame, or each vertex to a point of its own.
struct Bound {
    xyz: Vec<f32>,
    triangles: Vec<[u32; 3]>,
    controls: Vec<f32>,
    ids: Vec<u32>,
    counts: Vec<u32>,
    weights: Vec<f64>,
    are_frames: bool,
}

impl Bound {
    fn new(are_frames: bool) -> Bound {
        let slab = slab();
        let xyz: Vec<f32> = slab.positions.iter().flat_map(|p| p.to_array()).collect();
        let n = slab.positions.len();
        Bound {
            controls: if are_frames { FRAME.to_vec() } else { xyz.clone() },
            ids: (0..n as u32).map(|v| if are_frames { 0 } else { v }).collect(),
            counts: vec![1; n],
            weights: vec![1.0; n],
            triangles: slab.triangles,
            xyz,
            are_frames,
        }
    }

    fn n_controls(&self) -> usize {
        self.controls.len() / if self.are_frames { 7 } else { 3 }
    }

    fn mesh(&self) -> palpate_mesh {
        palpate_mesh {
            positions: self.xyz.as_ptr(),
            n_vertices: self.xyz.len() / 3,
            triangles: self.triangles.as_ptr().cast(),
            n_triangles: self.triangles.len(),
            scale_to_m: 0.0,
        }
    }

    fn binding(&self) -> palpate_binding {
        palpate_binding {
            kind: if self.are_frames { PALPATE_FRAMES } else { PALPATE_POINTS },
            controls: self.controls.as_ptr(),
            n_controls: self.n_controls(),
            weights_per_vertex: self.counts.as_ptr(),
            n_vertices: self.counts.len(),
            ids: self.ids.as_ptr(),
            weights: self.weights.as_ptr(),
            n_weights: self.weights.len(),
            ..Default::default()
        }
    }
}

#[track_caller]
fn refused(code: palpate_code, words: &str) {
    let is_so = said().contains(words);
    assert_eq!((code, is_so), (PALPATE_INVALID_ARGUMENT, true), "{}", said());
}

fn exported(scene: *mut palpate_scene, tissue: u32, n: usize) -> Vec<f32> {
    let mut xyz = vec![0.0_f32; 3 * n];
    let (mut n_vertices, mut n_triangles) = (0, 0);
    // SAFETY: all pointers point to live objects, or are NULL with a capacity of 0.
    let code = unsafe {
        let (ids, triangles, revision) = (ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
        let to = (xyz.as_mut_ptr(), &mut n_vertices);
        let numbers = &mut n_triangles;
        palpate_export_tissue(scene, tissue, to.0, n, to.1, ids, triangles, 0, numbers, revision)
    };
    assert_eq!((code, n_vertices), (PALPATE_TOO_SMALL, n), "only the vertices were asked for");
    xyz
}

fn check(mut server: *mut palpate_server, are_frames: bool) {
    let bound = Bound::new(are_frames);
    let binding = bound.binding();
    let options = palpate_tissue_options { binding: &binding, ..Default::default() };
    let (mut scene, mut session, mut tissue, mut tool) = (ptr::null_mut(), ptr::null_mut(), 0, 0);
    let ball = sphere(0.01, 6);
    let ball_xyz: Vec<f32> = ball.positions.iter().flat_map(|p| p.to_array()).collect();
    let name = text("ball");
    let mesh = palpate_mesh {
        positions: ball_xyz.as_ptr(),
        n_vertices: ball.positions.len(),
        triangles: ball.triangles.as_ptr().cast(),
        n_triangles: ball.triangles.len(),
        scale_to_m: 0.0,
    };
    let link = palpate_link { name: name.as_ptr(), mesh, ..Default::default() };
    let n = bound.counts.len();
    let kind = binding.kind;
    let id = text(if are_frames { "frames" } else { "points" });
    // SAFETY: all pointers point to live objects.
    unsafe {
        ok(palpate_create_scene(server, id.as_ptr(), &mut scene));
        let add = |binding: palpate_binding, tissue: &mut u32| {
            let options = palpate_tissue_options { binding: &binding, ..Default::default() };
            palpate_add_tissue(scene, text("bad").as_ptr(), &bound.mesh(), &options, tissue)
        };
        refused(add(palpate_binding { kind: 7, ..binding }, &mut tissue), "binding.kind is 7");
        refused(add(palpate_binding { n_controls: 1 << 40, ..binding }, &mut tissue), "n_controls");
        refused(add(palpate_binding { n_vertices: n - 1, ..binding }, &mut tissue), "weights");
        let half = [0.5; 8];
        let halves = palpate_binding { weights: half.as_ptr(), ..binding };
        refused(add(halves, &mut tissue), "vertex 0 sum to 0.5");
        binds_to_cells(scene);
        ok(palpate_add_tissue(scene, name.as_ptr(), &bound.mesh(), &options, &mut tissue));
        assert_eq!(exported(scene, tissue, n), bound.xyz);

        // By 1 cm along x and back, all controls and one.
        let mut moved = bound.controls.clone();
        let each = moved.len() / bound.n_controls();
        moved.iter_mut().step_by(each).for_each(|x| *x += 0.01);
        ok(palpate_drive(scene, tissue, kind, ptr::null(), moved.as_ptr(), bound.n_controls()));
        let there = exported(scene, tissue, n);
        for (got, from) in there.iter().zip(&bound.xyz).step_by(3) {
            assert!((got - from - 0.01).abs() < 1e-8, "{got} from {from}");
        }
        let first = [0_u32];
        ok(palpate_drive(scene, tissue, kind, first.as_ptr(), bound.controls.as_ptr(), 1));
        let back = exported(scene, tissue, n);
        assert_eq!(back[..3], bound.xyz[..3]);
        assert_eq!(back[3..] == there[3..], !are_frames);
        let all = bound.n_controls();
        ok(palpate_drive(scene, tissue, kind, ptr::null(), bound.controls.as_ptr(), all));
        // By a solver's own doubles, with a number between a control and the next.
        let own: Vec<f64> = moved
            .chunks(each)
            .flat_map(|control| control.iter().map(|x| f64::from(*x)).chain([f64::NAN]))
            .collect();
        let rows = palpate_rows {
            number: PALPATE_DOUBLE,
            data: own.as_ptr().cast(),
            n: all,
            stride: (each + 1) * size_of::<f64>(),
            ..Default::default()
        };
        ok(palpate_drive_rows(scene, tissue, kind, ptr::null(), &rows));
        assert_eq!(exported(scene, tissue, n), there);
        let one = palpate_rows { data: own.as_ptr().cast(), n: 1, ..rows };
        ok(palpate_drive(scene, tissue, kind, ptr::null(), bound.controls.as_ptr(), all));
        ok(palpate_drive_rows(scene, tissue, kind, first.as_ptr(), &one));
        assert_eq!(exported(scene, tissue, n)[..3], there[..3]);
        let more = palpate_rows { n: all + 1, ..rows };
        refused(palpate_drive_rows(scene, tissue, kind, ptr::null(), &more), "state.n is");
        ok(palpate_drive(scene, tissue, kind, ptr::null(), bound.controls.as_ptr(), all));
        let far = [all as u32];
        let state = bound.controls.as_ptr();
        let other = PALPATE_POINTS + PALPATE_FRAMES - kind;
        refused(palpate_drive(scene, tissue, other, ptr::null(), state, 1), "kind is");
        refused(palpate_drive(scene, tissue, 7, ptr::null(), state, 1), "kind is 7, expected");
        refused(palpate_drive(scene, tissue, kind, far.as_ptr(), state, 1), "expected less than");
        refused(palpate_drive(scene, tissue, kind, ptr::null(), state, all + 1), "n_controls is");
        refused(palpate_deform(scene, tissue, bound.xyz.as_ptr(), n), "driven");

        let mut session_options = palpate_session_options::default();
        ok(palpate_add_tool(scene, name.as_ptr(), &link, 1, &mut tool));
        ok(palpate_session_defaults(tool, &mut session_options));
        session_options.lock_step = 1;
        let mut wrench = palpate_wrench::default();
        ok(palpate_open_session(scene, &session_options, &mut session));
        for height in (0..200).map(|i| 0.001 - 0.004 * f64::from(i.min(100)) / 100.0) {
            let pose = ball_at(height);
            ok(palpate_step(session, &pose, ptr::null(), 0, 1e-3, &mut wrench));
        }
        let (mut controls, mut forces, mut torques) = ([0_u32; 9], [0.0; 27], [0.0; 27]);
        let (mut n_loads, mut contacts, mut n_contacts) = (0, [palpate_contact::default(); 64], 0);
        let (ids, f, t) = (controls.as_mut_ptr(), forces.as_mut_ptr(), torques.as_mut_ptr());
        let revision = ptr::null_mut();
        ok(palpate_control_loads(session, tissue, ids, f, t, 9, &mut n_loads, revision));
        let to = contacts.as_mut_ptr();
        ok(palpate_contacts(session, to, 64, &mut n_contacts));
        let sum = |n: &[f64]| n.chunks(3).map(DVec3::from_slice).sum::<DVec3>();
        let of = |v: palpate_vec3| DVec3::new(v.x, v.y, v.z);
        let contacts = &contacts[..n_contacts];
        let expected: DVec3 = contacts.iter().map(|c| of(c.force_n)).sum();
        assert!(expected.length() > 0.5, "{expected}");
        assert!((sum(&forces) + expected).length() < 1e-6, "{forces:?}");
        assert_eq!(n_loads > 1, !are_frames);
        let origin = DVec3::new(FRAME[0].into(), FRAME[1].into(), FRAME[2].into());
        let moment: DVec3 =
            contacts.iter().map(|c| (of(c.position_m) - origin).cross(of(c.force_n))).sum();
        let turn = sum(&torques);
        let expected = if are_frames { -moment } else { DVec3::ZERO };
        assert!((turn - expected).length() < 1e-6, "{turn} for {expected}");
        ok(palpate_close_session(&mut session));
        ok(palpate_close_scene(&mut scene));
        ok(palpate_close(&mut server));
    }
}

/// A cube of one hexahedron, or of six tetrahedra: a surface that it carries, and its own boundary.
///
/// # Safety
/// `scene` is open.
unsafe fn binds_to_cells(scene: *mut palpate_scene) {
    let square = [[0.0_f32, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]];
    let nodes: Vec<[f32; 3]> =
        [0.0, 1.0].iter().flat_map(|z| square.map(|[x, y]| [x, y, *z])).collect();
    let hexahedron = [0, 1, 2, 3, 4, 5, 6, 7];
    let tetrahedra = [0, 1, 3, 4_u32];
    let by_nodes = palpate_binding {
        controls: nodes.as_ptr().cast(),
        n_controls: nodes.len(),
        hexahedra: hexahedron.as_ptr(),
        n_hexahedra: 1,
        ..Default::default()
    };
    let ball = sphere(0.3, 4);
    let xyz: Vec<f32> = ball.positions.iter().flat_map(|p| (*p + 0.5).to_array()).collect();
    let mesh = palpate_mesh {
        positions: xyz.as_ptr(),
        n_vertices: xyz.len() / 3,
        triangles: ball.triangles.as_ptr().cast(),
        n_triangles: ball.triangles.len(),
        scale_to_m: 0.0,
    };
    // SAFETY: all pointers point to live objects, or are NULL where the header allows it.
    unsafe {
        let add = |mesh: *const palpate_mesh, binding: palpate_binding, tissue: &mut u32| {
            let options = palpate_tissue_options { binding: &binding, ..Default::default() };
            palpate_add_tissue(scene, text("of cells").as_ptr(), mesh, &options, tissue)
        };
        let mut tissue = 0;
        let (one, ids) = ([1.0], [0]);
        let both =
            palpate_binding { ids: ids.as_ptr(), weights: one.as_ptr(), n_weights: 1, ..by_nodes };
        refused(add(&mesh, both, &mut tissue), "weights");
        let frames = palpate_binding { kind: PALPATE_FRAMES, n_controls: 1, ..by_nodes };
        refused(add(&mesh, frames, &mut tissue), "points");
        let few = palpate_binding { n_controls: 7, ..by_nodes };
        refused(add(&mesh, few, &mut tissue), "expected");
        refused(add(ptr::null(), few, &mut tissue), "corner");
        let none = palpate_binding { n_hexahedra: 0, ..by_nodes };
        refused(add(ptr::null(), none, &mut tissue), "mesh is NULL");

        ok(add(&mesh, by_nodes, &mut tissue));
        // Sheared: linear in the corners, and so in each of the six tetrahedra.
        let sheared: Vec<[f32; 3]> = nodes.iter().map(|[x, y, z]| [x + 0.5 * z, *y, *z]).collect();
        let state = sheared.as_ptr().cast();
        ok(palpate_drive(scene, tissue, PALPATE_POINTS, ptr::null(), state, nodes.len()));
        for (got, rest) in exported(scene, tissue, xyz.len() / 3).chunks(3).zip(xyz.chunks(3)) {
            assert!((got[0] - rest[0] - 0.5 * rest[2]).abs() < 1e-6, "{got:?} from {rest:?}");
            assert_eq!(got[1..], rest[1..]);
        }
        ok(palpate_remove_tissue(scene, tissue));

        let one = palpate_binding {
            tetrahedra: tetrahedra.as_ptr(),
            n_tetrahedra: 1,
            hexahedra: ptr::null(),
            n_hexahedra: 0,
            ..by_nodes
        };
        ok(add(ptr::null(), one, &mut tissue));
        assert_eq!(exported(scene, tissue, nodes.len()), nodes.as_flattened());
        ok(palpate_remove_tissue(scene, tissue));
    }
}

/// A straight tube follows its line around a quarter of a circle, and each vertex keeps its distance from the line.
fn check_tube(mut server: *mut palpate_server) {
    const N: usize = 21;
    const RADIUS_M: f64 = 0.002;
    let quarter = std::f64::consts::FRAC_PI_2;
    let angle = |k: usize| quarter * k as f64 / (N - 1) as f64;
    let straight: Vec<f32> = (0..N).flat_map(|k| [0.0, 0.0, 0.05 * angle(k) as f32]).collect();
    let bent = |k: usize| DVec3::new(1.0 - angle(k).cos(), 0.0, angle(k).sin()) * 0.05;
    let bent_xyz: Vec<f32> = (0..N).flat_map(|k| bent(k).as_vec3().to_array()).collect();
    let (mut tube, mut scene, mut tissue) = (ptr::null_mut(), ptr::null_mut(), 0);
    let mut binding = palpate_binding::default();
    let mut mesh = palpate_mesh {
        positions: ptr::null(),
        n_vertices: 0,
        triangles: ptr::null(),
        n_triangles: 0,
        scale_to_m: 0.0,
    };
    let mut frames = [0.0; 7 * N];
    // SAFETY: all pointers point to live objects.
    unsafe {
        ok(palpate_create_tube(straight.as_ptr(), N, RADIUS_M, 0, &mut tube));
        ok(palpate_tube_mesh(tube, &mut mesh, &mut binding));
        let options = palpate_tissue_options { binding: &binding, ..Default::default() };
        ok(palpate_create_scene(server, text("tube").as_ptr(), &mut scene));
        ok(palpate_add_tissue(scene, text("catheter").as_ptr(), &mesh, &options, &mut tissue));
        let mut report = palpate_mesh_report::default();
        ok(palpate_tissue_report(scene, tissue, &mut report));
        assert_eq!((report.is_closed, report.n_bodies, report.reversed_triangles), (1, 1, 0));
        ok(palpate_tube_frames(tube, bent_xyz.as_ptr(), N, frames.as_mut_ptr()));
        ok(palpate_drive(scene, tissue, PALPATE_FRAMES, ptr::null(), frames.as_ptr(), N));
        for vertex in exported(scene, tissue, mesh.n_vertices).chunks(3) {
            let at = DVec3::new(vertex[0].into(), vertex[1].into(), vertex[2].into());
            let away = (0..N).map(|k| at.distance(bent(k))).fold(f64::MAX, f64::min);
            assert!((away - RADIUS_M).abs() < 1e-8, "{away}");
        }
        ok(palpate_close_tube(&mut tube));
        ok(palpate_close_scene(&mut scene));
        ok(palpate_close(&mut server));
    }
}

fn local() -> *mut palpate_server {
    let mut server = ptr::null_mut();
    // SAFETY: the pointer points to a live object.
    ok(unsafe { palpate_open_local(VERSION, &mut server) });
    server
}

#[test]
fn in_this_process() {
    check(local(), false);
    check(local(), true);
    check_tube(local());
}

#[test]
fn on_a_server() {
    for are_frames in [false, true] {
        let settings = [("PALPATE_STORE_SCENES", "false"), ("PALPATE_TICKS_TIME_MAX", "60s")];
        let Some(served) = Served::start(&settings) else { return };
        check(connect(&served.address), are_frames);
        check_tube(connect(&served.address));
    }
}
