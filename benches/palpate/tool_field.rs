//! P3: the tool's field with gradient, pose both ways and certified interval, for one point at a time, compared with
//! parry3d's exact signed projection; and the field's memory, compared with a dense grid.
//!
//! The floor of an interpolated read is that of a dense grid, eight samples at an index that needs no search: 20 GB for
//! the probe. A read of the tree waits for memory once or twice a level; if eight reads run in parallel (`-wide`) the
//! waits overlap, and little is gained, because in a cell with a list the exact tests take the time. `again_us` is a
//! second read of the same point: all of its tree is in cache, so no layout of memory can beat it.

use std::{hint::black_box, time::Instant};

use glam::{DQuat, DVec3};
use palpate::{
    geometry::{Pose, TriangleId, TriangleMesh},
    index::LatLonOptions,
    inspect::field::dense_bytes,
    oracle::Random,
    scene::tool::field::field_of,
    sdf::{Field, FieldOptions, Reading},
    surface::Surface,
};
use parry3d::{
    query::{PointProjection, PointQueryWithLocation},
    shape::{TriMesh, TriMeshFlags},
};

use crate::{
    inputs::{PARRY, TOOLS, Tool, parry},
    run::{Case, Figures, Run},
    turns::{Effort, by_turns},
};

/// Largest distance of the points, as a share of the tool's diagonal: the range that a haptic loop queries.
const NEAR_SHARE: f64 = 0.05;
/// Largest difference of a distance in `f32` coordinates, as a share of the diagonal.
const SINGLE_ROUNDING: f64 = 4e-6;
/// Reads of a point after the first, to see the cost of one that does not wait for memory.
const AGAIN: usize = 8;
/// Tolerance of the field in a smoke run, as a share of the diagonal.
const SMOKE_TOLERANCE: f64 = 5e-3;

/// Prints the lines of every tool.
pub fn run(run: &mut Run) {
    TOOLS.iter().for_each(|tool| run_tool(run, tool));
}

/// A tool in the scene, ours and the peer's.
struct Placed {
    surface: Surface,
    field: Field,
    scene_from_link: Pose,
    link_from_scene: Pose,
    peer: TriMesh,
    peer_pose: parry3d::math::Pose,
    diagonal: f64,
}

fn run_tool(run: &mut Run, tool: &Tool) {
    let (name, loaded) = tool.load(run.effort);
    let placed = Placed::new(loaded.mesh, run.effort);
    let mut random = Random::new(3);
    let n = run.effort.of(20_000, 200);
    let (mut interpolated, mut exact) = (Vec::new(), Vec::new());
    for _ in 0..1_000 * n {
        let p = placed.near_surface(&mut random);
        let reading = placed.read(p);
        let within = reading.upper - reading.lower <= 2.1 * placed.field.tolerance();
        match (reading.exact, within) {
            (Some(_), _) if exact.len() < n => exact.push(p),
            (None, true) if interpolated.len() < n => interpolated.push(p),
            _ if exact.len() == n && interpolated.len() == n => break,
            _ => {}
        }
    }
    placed.measure(run, &format!("{name}/interpolated"), &interpolated);
    placed.measure(run, &format!("{name}/exact"), &exact);
    placed.print_memory(run, &name);
}

impl Placed {
    fn new(mesh: TriangleMesh, effort: Effort) -> Placed {
        let diagonal = mesh.used_box().diagonal();
        let peer = parry(&mesh, TriMeshFlags::ORIENTED);
        let surface = Surface::new(mesh, LatLonOptions::default());
        let tolerance_m = (effort == Effort::Smoke).then_some(SMOKE_TOLERANCE * diagonal);
        let options = FieldOptions { tolerance_m, ..FieldOptions::default() };
        let start = Instant::now();
        let field = field_of(&surface, &options);
        eprintln!("P3: field built in {:.1} s", start.elapsed().as_secs_f64());
        let (axis, angle, translation) =
            (DVec3::new(0.48, -0.6, 0.64), 0.7, DVec3::new(0.03, -0.02, 0.05));
        let turn = DQuat::from_axis_angle(axis, angle);
        let scene_from_link = Pose::new(turn, translation).expect("a rotation");
        let peer_pose = parry3d::math::Pose::new(
            translation.as_vec3().to_array().into(),
            (axis * angle).as_vec3().to_array().into(),
        );
        let link_from_scene = scene_from_link.inverse();
        Placed { surface, field, scene_from_link, link_from_scene, peer, peer_pose, diagonal }
    }

    /// Reads a scene point as a tick does: into the link's frame, read, and back.
    fn read(&self, p: DVec3) -> Reading {
        let reading = self.field.read(self.surface.mesh(), self.link_from_scene.point(p));
        Reading { gradient: self.scene_from_link.vector(reading.gradient), ..reading }
    }

    /// As [`Placed::read`], for many points at once.
    fn read_many<'a>(
        &'a self,
        points: &[DVec3],
        (local, readings): &'a mut (Vec<DVec3>, Vec<Reading>),
    ) -> impl Iterator<Item = Reading> + 'a {
        local.clear();
        local.extend(points.iter().map(|p| self.link_from_scene.point(*p)));
        self.field.read_many(self.surface.mesh(), local, readings);
        let back =
            |r: &Reading| Reading { gradient: self.scene_from_link.vector(r.gradient), ..*r };
        readings.iter().map(back)
    }

    /// Returns the peer's answer: nearest point in the scene's frame, and the side by pseudonormal.
    fn project(&self, p: [f32; 3]) -> PointProjection {
        self.peer.project_point_and_get_location(&self.peer_pose, p.into(), false).0
    }

    fn near_surface(&self, random: &mut Random) -> DVec3 {
        let mesh = self.surface.mesh();
        let t = TriangleId(random.below(mesh.triangle_id_end() as usize) as u32);
        let [a, b, c] = mesh.triangle(t);
        let (u, v) = (random.f64(), random.f64());
        let (u, v) = if u + v > 1.0 { (1.0 - u, 1.0 - v) } else { (u, v) };
        let on = a + (b - a) * u + (c - a) * v;
        let away = random.unit_vector() * random.range(0.0, NEAR_SHARE * self.diagonal);
        self.scene_from_link.point(on + away)
    }

    fn measure(&self, run: &mut Run, case: &str, points: &[DVec3]) {
        if points.is_empty() {
            eprintln!("P3 case={case}: no point near the surface is answered so");
            return;
        }
        let singles: Vec<[f32; 3]> = points.iter().map(|p| p.as_vec3().to_array()).collect();
        let other_side = self.check(case, points, &singles);
        let checksum = points.iter().map(|p| self.read(*p)).map(|r| r.lower + r.upper).sum();
        let case_of = |case| Case { measure: "P3", case, peer: PARRY, items: points.len() };
        let more = format!(
            "points={} other_side={other_side} again_us={}",
            points.len(),
            Figures(self.again_us(run.effort, points))
        );
        let one_by_one = || points.iter().for_each(|p| hide(self.read(black_box(*p))));
        let mut room = (Vec::new(), Vec::new());
        let side_by_side = || self.read_many(black_box(points), &mut room).for_each(hide);
        let peer = || {
            for p in &singles {
                let projection = self.project(black_box(*p));
                hide((projection, away(&projection, *p)));
            }
        };
        run.compare(&case_of(case), checksum, &more, one_by_one, peer);
        run.compare(&case_of(&format!("{case}-wide")), checksum, &more, side_by_side, peer);
    }

    /// Returns the time of one read of a point that was read just before.
    fn again_us(&self, effort: Effort, points: &[DVec3]) -> f64 {
        let read_each = |times: usize| {
            for p in points {
                (0..times).for_each(|_| hide(self.read(black_box(*p))));
            }
        };
        let (mut once, mut often) = (|| read_each(1), || read_each(1 + AGAIN));
        let [once, often] = by_turns(effort, points.len(), [&mut once, &mut often]);
        (often.p50 - once.p50) / AGAIN as f64
    }

    /// Checks that the peer's distance is in our interval at every point. Returns the number of points at which the
    /// peer is on the other side: around open surfaces and where bodies overlap it goes by the nearest normal alone.
    fn check(&self, case: &str, points: &[DVec3], singles: &[[f32; 3]]) -> usize {
        let slack = SINGLE_ROUNDING * self.diagonal;
        let mut other_side = 0;
        for (p, single) in points.iter().zip(singles) {
            let ours = self.read(*p);
            let projection = self.project(*single);
            let distance = away(&projection, *single);
            let within = |d: f64| ours.lower - slack <= d && d <= ours.upper + slack;
            assert!(
                within(distance) || within(-distance),
                "{case}: {distance} and {ours:?} at {p}"
            );
            let side = if projection.is_inside { -distance } else { distance };
            other_side += usize::from(!within(side));
        }
        other_side
    }

    fn print_memory(&self, run: &mut Run, name: &str) {
        let report = self.field.report();
        let edge = self.field.bounds().size().max_element();
        let dense = dense_bytes(edge, report.bound_m);
        let text = format!(
            "ours_bytes={} peer=dense-grid peer_bytes={dense:.0} ratio={:.2} bound_m={:.3e} \
             tolerance_m={:.3e}",
            report.bytes,
            dense / report.bytes as f64,
            report.bound_m,
            report.tolerance_m,
        );
        run.line("P3", &format!("{name}/memory"), report.tolerance_m, text);
    }
}

fn away(projection: &PointProjection, p: [f32; 3]) -> f64 {
    let [x, y, z] = projection.point.to_array();
    DVec3::new(x.into(), y.into(), z.into()).distance(DVec3::from_array(p.map(f64::from)))
}

fn hide<T>(answer: T) {
    black_box(answer);
}
