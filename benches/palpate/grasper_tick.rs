//! P8b: the demo's grasper on the demo's organ, in the engine alone: a shaft and two jaws that press and close while
//! the organ, with a fold, is dented under them at 62.5 Hz. Rendered with its local model, and not rendered.
//!
//! No peer answers as much. The measure looks for late ticks, so each tick is timed by itself; runs of two versions by
//! turns tell the versions apart. `still_us` is the floor: ticks in which neither hand nor organ moves, at positions
//! all along the way. Earlier findings hold there, and are only read and reported again.

use std::{sync::Arc, time::Instant};

use glam::{DVec3, Vec3};
use palpate::{
    client::mesh_source::MeshSource,
    geometry::{LoadOptions, LoadedMesh, MeshData, mesh::load::load},
    load::stage::{
        path::Site,
        phantom::{Instrument, PhantomTissue},
    },
    proxy::{RenderOptions, RenderedSession},
    scene::{
        Limits, Link, Scene, Tissue, TissueOptions, Tool, ToolParts,
        tick::{TickOptions, ToolPose},
        tissue::deform::Deformation,
        tool::field::field_of,
    },
    sdf::{Field, FieldOptions},
    surface::Surface,
    time_left::TimeLeft,
};

use crate::{
    run::{Figures, Run},
    tick::SMOKE_TOLERANCE,
    turns::Effort,
};

/// Ticks of a pass, ticks of a smoke run (the first press), and timed passes after an untimed one.
const TICKS: usize = 2_500;
const SMOKE_TICKS: usize = 900;
const PASSES: usize = 4;
/// Ticks at each position that measure the cost of standing.
const STANDS: usize = 3;
/// Ticks from one dent to the next.
const DENT_TICKS: usize = 16;
/// Radius of the dent, metres.
const DENT_RADIUS_M: f32 = 0.03;
/// Half angle of the tip's arc over the organ's length, radians, and the height from which the tip comes, metres.
const ARC: f64 = 0.8;
const ABOVE_M: f64 = 0.15;
/// Depth below the surface at rest, metres, and the part of it by which the organ gives way: if tissue holds the tool,
/// and if it does not.
const PRESSES: [(&str, bool, f64, f64); 2] =
    [("rendered", true, 0.025, 0.25), ("penetrating", false, 0.006, 0.6)];
const LIFT_M: f64 = 0.006;
/// Periods of the sweep there and back, and of a press down and up, seconds.
const SWEEP_S: f64 = 8.0;
const PRESS_S: f64 = 1.25;
const TICK_S: f64 = 1e-3;

/// Prints a line for each kind of press.
pub fn run(run: &mut Run) {
    for press in PRESSES {
        let mut grasp = Grasp::new(run.effort, press);
        let n = run.effort.of(TICKS, SMOKE_TICKS);
        grasp.pass(n, 0);
        let passes = run.effort.of(PASSES, 1);
        let (mut times, mut felt) = (Vec::with_capacity(passes * n), 0.0);
        for _ in 0..passes {
            let (us, sum) = grasp.pass(n, 0);
            times.extend(us);
            felt = sum;
        }
        let (mut stands, _) = grasp.pass(n, STANDS);
        times.sort_by(f64::total_cmp);
        stands.sort_by(f64::total_cmp);
        let part = |us: &[f64], share: f64| Figures(us[((us.len() - 1) as f64 * share) as usize]);
        let (at, still) = (|share| part(&times, share), |share| part(&stands, share));
        let late = times.iter().filter(|us| **us > 1e6 * TICK_S).count() as f64;
        let text = format!(
            "ours_us={} p90_us={} p99_us={} p999_us={} late_percent={:.1} still_us={} \
             still_p99_us={}",
            at(0.5),
            at(0.9),
            at(0.99),
            at(0.999),
            100.0 * late / times.len() as f64,
            still(0.5),
            still(0.99),
        );
        run.line("P8b", &format!("grasper/{}", press.0), felt, text);
    }
}

struct Grasp {
    instrument: Instrument,
    tissue: Arc<Tissue>,
    tool: Arc<Tool>,
    session: RenderedSession,
    sequence: u64,
    rest: Vec<Vec3>,
    /// Centre of the arc.
    centre: DVec3,
    depth_m: f64,
    give: f64,
}

impl Grasp {
    fn new(effort: Effort, (_, is_rendered, depth_m, give): (&str, bool, f64, f64)) -> Grasp {
        let (organ, instrument) = (PhantomTissue::folded(), Instrument::grasper());
        let scene = Arc::new(Scene::new("bench".to_owned(), Limits::default()));
        let rests = instrument.link_poses(0.0);
        let links = instrument.links.iter().zip(rests).map(|(upload, rest)| {
            let MeshSource::Raw(mesh) = &upload.mesh else { unreachable!("it is generated") };
            Link::new(upload.name.clone(), loaded(mesh.clone()), rest, |s| field(effort, s))
        });
        let parts =
            ToolParts { name: "grasper".to_owned(), links: links.collect(), probes: vec![] };
        let tool = scene.add_tool(parts).expect("room");
        let rest = organ.rest.clone();
        let mesh = loaded(MeshData { positions: organ.rest, triangles: organ.triangles });
        let tissue = scene.add_tissue("organ", mesh, TissueOptions::default(), 0).expect("room");
        let render = RenderOptions { local_model: true, ..RenderOptions::of(tool.id) };
        let render: &[RenderOptions] = if is_rendered { &[render] } else { &[] };
        let options = TickOptions::default();
        let session = RenderedSession::new(Arc::clone(&scene), &[tool.id], options, render);
        let session = session.expect("the tool is there");
        let centre = organ.bounds.centre();
        Grasp { instrument, tissue, tool, session, sequence: 0, rest, centre, depth_m, give }
    }

    /// Returns the microseconds of each tick, and the sum of all contacts' depths and, if rendered, of all forces. Hand
    /// and organ stand still for `stands` ticks at each position, of which the last is timed.
    fn pass(&mut self, n: usize, stands: usize) -> (Vec<f64>, f64) {
        let (mut us, mut sum) = (Vec::with_capacity(n), 0.0);
        // Each pass starts from the organ at rest, so that all passes are equal.
        self.dent(self.rest.clone());
        let stations: Vec<DVec3> = (0..n).map(|i| self.surface(i)).collect();
        for (i, surface) in stations.into_iter().enumerate() {
            let site = self.site(i, surface);
            if i.is_multiple_of(DENT_TICKS) {
                self.dent(self.dented(&site));
            }
            let seconds = i as f64 * TICK_S;
            let pose = [ToolPose {
                tool: self.tool.id,
                scene_from_tool: self.instrument.pose(&site, DVec3::Y),
                tool_from_link: self.instrument.link_poses(seconds),
                teleport: i == 0,
            }];
            let mut took = 0.0;
            for _ in 0..=stands {
                self.sequence += 1;
                let now_ns = self.sequence * 1_000_000;
                let before = Instant::now();
                let answer = self.session.tick(self.sequence, &pose, now_ns, &TimeLeft::endless());
                took = before.elapsed().as_secs_f64() * 1e6;
                assert!(answer.is_ok(), "{answer:?}");
            }
            us.push(took);
            let contacts = self.session.last_answer().links.iter().flat_map(|l| &l.contacts);
            sum += contacts.map(|c| c.signed_distance_m).sum::<f64>();
            sum += self.session.renderings().map(|r| r.force_n.length()).sum::<f64>();
        }
        (us, sum)
    }

    fn surface(&self, i: usize) -> DVec3 {
        let current = self.tissue.current();
        let from = self.centre + self.up(i) * ABOVE_M;
        let found = current.surface.signed_distance(from, f64::INFINITY, None);
        found.expect("a surface").closest.point
    }

    fn up(&self, i: usize) -> DVec3 {
        let (sin, cos) = (ARC * (2.0 * wave(i, SWEEP_S) - 1.0)).sin_cos();
        DVec3::new(sin, 0.0, cos)
    }

    fn site(&self, i: usize, surface: DVec3) -> Site {
        let height_m = LIFT_M - (LIFT_M + self.depth_m) * wave(i, PRESS_S);
        let dent_m = self.give * (-height_m).max(0.0);
        Site { surface, outward: self.up(i), height_m, dent_m }
    }

    fn dented(&self, site: &Site) -> Vec<Vec3> {
        let (push, at) = ((site.outward * -site.dent_m).as_vec3(), site.surface.as_vec3());
        let moved = self.rest.iter().map(|p| {
            let weight = (1.0 - p.distance_squared(at) / DENT_RADIUS_M.powi(2)).max(0.0);
            *p + push * (weight * weight)
        });
        moved.collect()
    }

    fn dent(&self, positions: Vec<Vec3>) {
        self.tissue.deform(Deformation::Dense(positions), 0).expect("all are there");
    }
}

/// Goes from 0 to 1 and back in `period_s` seconds.
fn wave(i: usize, period_s: f64) -> f64 {
    0.5 - 0.5 * (std::f64::consts::TAU * i as f64 * TICK_S / period_s).cos()
}

fn loaded(data: MeshData) -> LoadedMesh {
    load(data, &LoadOptions::default()).expect("a mesh")
}

fn field(effort: Effort, surface: &Surface) -> Field {
    let tolerance_m = effort.of(None, Some(SMOKE_TOLERANCE * surface.bounds().diagonal()));
    field_of(surface, &FieldOptions { tolerance_m, ..FieldOptions::default() })
}
