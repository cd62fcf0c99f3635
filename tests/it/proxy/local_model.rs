//! Local models against brute force: within its radius a model omits nothing, and no gap exceeds its stated error.

use std::cell::Cell;

use glam::{DQuat, DVec3, Vec3};
use palpate::{
    coupling::{
        local_model::{LocalModel, LocalRow},
        posture::{FIRST_LINK, Posture},
        quadratic_programme::{COORDINATES_MAX, Displacement},
    },
    geometry::{MeshData, Pose},
    oracle::{
        Random, shapes,
        triangle::{closest_on_triangle, triangle_distance},
    },
    proxy::{RenderOptions, RenderState},
    scene::tissue::deform::Deformation,
};

use super::stage::{ProxyStage, slab, to, turned};
use crate::seed::{Seed, scaled};

/// Time between two deformations, nanoseconds.
const FRAME_NS: u64 = 16_000_000;
/// Many times the rounding of coordinates of a metre and of unit vectors.
const ROUNDING_M: f64 = 1e-9;
/// Motions of each model: some 1,400 in all, 10,000 with `PALPATE_TEST_SCALE=8`, 10^6 with 800.
const MOTIONS: usize = 10;
/// Number of cases, which take tissues and tools in turn; then the tissue rests or moves.
const RUNS: usize = 120;

/// Force shading of a run, radians: a third of the runs have it.
fn shading(run: usize) -> f64 {
    if run % 3 == 2 { 0.5 } else { 0.0 }
}

fn tissues() -> [MeshData; 5] {
    let mut bowl = shapes::sphere(0.05, 24);
    bowl.positions.iter_mut().for_each(|p| p.z -= 0.05);
    let mut organ = shapes::organ(4_000, 1);
    let top = organ.positions.iter().map(|p| p.z).fold(f32::MIN, f32::max);
    organ.positions.iter_mut().for_each(|p| p.z -= top);
    // A torus, concave about its hole, where facets rise next to a contact.
    let mut ring = shapes::torus(0.012, 0.006, 24, 16);
    ring.positions.iter_mut().for_each(|p| p.z -= 0.006);
    [slab(20, 0.004, 0.02), slab(2, 0.04, 0.02), bowl, organ, ring]
}

/// An instrument, the poses of its links during the approach, and their commanded poses after it.
struct Instrument {
    links: Vec<MeshData>,
    open: Vec<Pose>,
    closed: Vec<Pose>,
}

fn tools() -> [Instrument; 5] {
    let rigid = |mesh| Instrument { links: vec![mesh], open: Vec::new(), closed: Vec::new() };
    // Two jaws that hang down from their hinge, or from their slide.
    let jaw = |side: f64| {
        let mut jaw = shapes::subdivide(&shapes::cuboid(DVec3::new(0.002, 0.006, 0.02)));
        let place = DVec3::new(side * 0.0012, 0.0, -0.01).as_vec3();
        jaw.positions.iter_mut().for_each(|p| *p += place);
        jaw
    };
    let jaws = |at: [Vec<Pose>; 2]| {
        let [open, closed] = at;
        Instrument { links: vec![jaw(1.0), jaw(-1.0)], open, closed }
    };
    let hinged =
        |angle: f64| [-1.0, 1.0].map(|side| turned(DVec3::Y, side * angle, DVec3::ZERO)).to_vec();
    let sliding = |apart: f64| [1.0, -1.0].map(|side| to(side * apart, 0.0, 0.0)).to_vec();
    [
        rigid(shapes::sphere(0.004, 6)),
        rigid(shapes::cuboid(DVec3::new(0.03, 0.003, 0.003))),
        rigid(shapes::capsule(0.002, 0.03, 8)),
        jaws([hinged(0.3), hinged(0.05)]),
        jaws([sliding(0.004), sliding(0.0005)]),
    ]
}

/// A time limit that is over once it was queried more than `most` times.
struct Countdown {
    asked: Cell<usize>,
    most: usize,
}

impl Countdown {
    fn of(most: usize) -> Countdown {
        Countdown { asked: Cell::new(0), most }
    }

    fn is_over(&self) -> bool {
        self.asked.set(self.asked.get() + 1);
        self.asked.get() > self.most
    }
}

/// Velocity field of a tissue's vertices: a shift and a shear, metres per second.
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
    /// The object that a link closed on holds it back.
    lags: bool,
    is_shaded: bool,
    /// Triangles of the tissue at the model's time, and the velocities of their vertices.
    tissue: Vec<[DVec3; 3]>,
    velocities: Vec<[DVec3; 3]>,
}

impl Case {
    /// `moves`: the tissue moves. `time`: time limit of the tick, after the proxy has been moved.
    fn new(
        random: &mut Random,
        tissue: &MeshData,
        tool: &Instrument,
        (moves, force_shading_rad): (bool, f64),
        time: &Countdown,
    ) -> Option<Case> {
        let hold = random.unit_vector() * random.range(0.0, 0.05);
        let options = |o: RenderOptions| RenderOptions {
            local_model: true,
            hold_point_m: hold,
            force_shading_rad,
            ..o
        };
        let tissues = std::slice::from_ref(tissue);
        let mut stage = ProxyStage::new(tissues, &tool.links, options);
        stage.pose.tool_from_link.clone_from(&tool.open);
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
        // A third of the proxies have no time to arrive or to follow the tissue: their model is at the position that
        // they reached, or there is none.
        let most = if random.below(3) == 0 { random.below(400) } else { usize::MAX };
        let to_draw = Countdown::of(most);
        // The links move in the last tick only: they close on what the tool lies on.
        stage.pose.tool_from_link.clone_from(&tool.closed);
        stage.pose.scene_from_tool = at(-lowest - depth + random.range(-0.002, 0.002));
        let got = stage.tick_in_times(&|| to_draw.is_over(), &|| time.is_over());
        drop(before);
        if got.state == RenderState::Embedded {
            return None;
        }
        let in_time = time.asked.get() <= time.most;
        let is_late = got.state == RenderState::Late;
        assert!(got.local_model.is_some() || is_late || !in_time, "{:?}", got.state);
        let lags = got.link_lag_m.iter().any(|lag| *lag > 1e-4);
        let model = *got.local_model?;
        let revision = stage.tissue(0).current();
        let mesh = revision.surface.mesh();
        // Velocity by the vertex's motion in the last frame, in single precision.
        let velocity = |v: u32| {
            let moved = revision.moved_since(revision.geometry_revision.saturating_sub(1), v);
            moved.unwrap_or(DVec3::ZERO) / (FRAME_NS as f64 * 1e-9)
        };
        let ids: Vec<_> = mesh.triangle_ids().collect();
        let tissue = ids.iter().map(|t| mesh.triangle(*t)).collect();
        let velocities = ids.iter().map(|t| mesh.vertices(*t).map(velocity)).collect();
        Some(Case {
            stage,
            model,
            is_late,
            lags,
            is_shaded: force_shading_rad > 0.0,
            tissue,
            velocities,
        })
    }

    /// A motion and an age within the model's stated bounds.
    fn motion(&self, random: &mut Random) -> (Displacement, f64) {
        let age_s = random.range(0.0, self.model.expires_s);
        let most = self.model.radius_after(age_s).max(0.0) * random.f64().sqrt();
        let mut x = [0.0; COORDINATES_MAX];
        let split = random.f64();
        x[..3].copy_from_slice(&(random.unit_vector() * most * split).to_array());
        let turn = random.unit_vector() * most * (1.0 - split) / self.model.reach_m;
        x[3..FIRST_LINK].copy_from_slice(&turn.to_array());
        let follows = random.f64();
        for (x, screw) in x[FIRST_LINK..].iter_mut().zip(&self.model.screws) {
            let lag = random.range(-1.0, 1.0) * most * follows;
            *x = screw.map_or(0.0, |_| lag);
        }
        (0..40).for_each(|_| {
            let extent = self.model.extent(&x);
            if extent.length_m + extent.curved_m > most {
                x.iter_mut().for_each(|x| *x *= 0.95);
            }
        });
        (x, age_s)
    }

    /// The tool's posture after a displacement.
    fn after(&self, x: &Displacement) -> Posture {
        let LocalModel { reference, hold_m, screws, .. } = &self.model;
        reference.moved(x, 1.0, *hold_m, screws)
    }

    /// The tissue `age_s` later.
    fn tissue_after(&self, age_s: f64) -> Vec<[DVec3; 3]> {
        let each = self.tissue.iter().zip(&self.velocities);
        each.map(|(t, v)| std::array::from_fn(|k| t[k] + v[k] * age_s)).collect()
    }

    /// The least distance of all pairs of triangles, if it is less than `limit`.
    fn distance(&self, there: &Posture, tissue: &[[DVec3; 3]], limit: f64) -> f64 {
        let mut least = limit;
        for (number, link) in self.stage.tool.links.iter().enumerate() {
            let pose = there.scene_from_link(number);
            let mesh = link.surface.mesh();
            let own: Vec<_> =
                mesh.triangle_ids().map(|t| mesh.triangle(t).map(|p| pose.point(p))).collect();
            let all = bounds(own.iter().flatten());
            for now in tissue {
                let near = bounds(now.iter());
                if apart(&near, &all) >= least {
                    continue;
                }
                for own in &own {
                    if apart(&near, &bounds(own.iter())) < least {
                        least = least.min(triangle_distance(now, own));
                    }
                }
            }
        }
        least
    }
}

/// Error of a row's gap, metres.
enum GapError {
    /// Height of the tissue above the row's plane, along its normal, at the true position of the row's point.
    Along(f64),
    /// There is no tissue along the normal, on the row's side and within its error: distance from there to the row's
    /// own triangle.
    Aside(f64),
}

impl Case {
    /// `moved`: the tissue at that age.
    fn gap_error(
        &self,
        row: &LocalRow,
        (x, there, age_s): (&Displacement, &Posture, f64),
        moved: &[[DVec3; 3]],
    ) -> GapError {
        let of_link = self.model.reference.scene_from_link(row.link).inverse().point(row.on_tool);
        let on_tool = there.scene_from_link(row.link).point(of_link);
        let on_plane = on_tool - row.normal * self.model.gap_after(row, x, age_s);
        let most = row.gap_error_m + ROUNDING_M;
        let near = |t: &&[DVec3; 3]| apart(&bounds(t.iter()), &[on_plane; 2]) <= most;
        let heights = moved.iter().filter(near);
        let heights = heights.filter_map(|t| height_along(t, on_plane, row.normal));
        if let Some(least) =
            heights.filter(|h| h.abs() <= most).min_by(|a, b| a.abs().total_cmp(&b.abs()))
        {
            return GapError::Along(least);
        }
        let on_tissue = row.on_tool - row.normal * row.gap_m;
        // The point of a smooth surface is off its triangle, by less than the stated error.
        let off = ROUNDING_M + if self.is_shaded { row.gap_error_m } else { 0.0 };
        let is_own = |t: &[DVec3; 3]| closest_on_triangle(on_tissue, t).distance(on_tissue) <= off;
        let own = self.tissue.iter().zip(moved).filter(|(t, _)| is_own(t));
        let aside = own.map(|(_, now)| closest_on_triangle(on_plane, now).distance(on_plane));
        GapError::Aside(aside.fold(f64::INFINITY, f64::min))
    }
}

/// Distance along a direction from a point to a triangle that faces that direction; `None` if the line does not meet
/// it.
fn height_along([a, b, c]: &[DVec3; 3], from: DVec3, along: DVec3) -> Option<f64> {
    let (ab, ac) = (*b - *a, *c - *a);
    let normal = ab.cross(ac);
    let facing = normal.dot(along);
    if facing <= ROUNDING_M * normal.length() {
        return None;
    }
    let height = normal.dot(*a - from) / facing;
    let at = from + along * height - *a;
    // Barycentric coordinates, with a small margin around each triangle, so that no line passes between two.
    let (v, w) = (at.cross(ac).dot(normal), ab.cross(at).dot(normal));
    let area = normal.length_squared();
    let slack = -ROUNDING_M * area;
    (v >= slack && w >= slack && v + w <= area - slack).then_some(height)
}

fn bounds<'a>(points: impl Iterator<Item = &'a DVec3>) -> [DVec3; 2] {
    points.fold([DVec3::INFINITY, DVec3::NEG_INFINITY], |[a, b], p| [a.min(*p), b.max(*p)])
}

fn apart(a: &[DVec3; 2], b: &[DVec3; 2]) -> f64 {
    (a[0] - b[1]).max(b[0] - a[1]).max(DVec3::ZERO).length()
}

/// Results of the motions of all models.
#[derive(Default)]
struct Shown {
    radii: Vec<f64>,
    /// Gap errors that the rows state, over the radius.
    errors: Vec<f64>,
    /// Observed gap errors over the bound that the row states; only those above 1e-9 m.
    shares: Vec<f64>,
    motions: usize,
    touching: usize,
    rows: usize,
    /// Rows among them that are planes of pairs that no contact's plane holds.
    own_planes: usize,
    /// Gaps that were measured, and those of rows that have no tissue along their normal.
    gaps: usize,
    aside: usize,
}

impl Shown {
    /// Moves a model's tool within its radius and compares its surroundings with the model.
    fn look(&mut self, case: &Case, random: &mut Random, run: usize) {
        let model = &case.model;
        self.radii.push(model.complete_radius_m);
        self.rows += model.rows().len();
        let is_own = |row: &&LocalRow| row.contact_id == LocalRow::OF_NO_CONTACT;
        self.own_planes += model.rows().iter().filter(is_own).count();
        let errors = model.rows().iter().map(|r| r.gap_error_m / model.complete_radius_m);
        self.errors.extend(errors);
        for _ in 0..MOTIONS {
            let (x, age_s) = case.motion(random);
            let extent = model.extent(&x);
            let left = model.radius_after(age_s) - extent.length_m - extent.curved_m;
            if left < 0.0 {
                continue;
            }
            self.motions += 1;
            let (there, tissue) = (case.after(&x), case.tissue_after(age_s));
            let above = |row: &LocalRow| model.gap_after(row, &x, age_s) - row.gap_error_m;
            let nearest = model.rows().iter().map(above).fold(left, f64::min);
            let limit = left.max(nearest) + 2.0 * ROUNDING_M;
            let distance = case.distance(&there, &tissue, limit);
            self.touching += usize::from(distance == 0.0);
            let at = format!("run {run}, {x:?}, {age_s} s, {left} m left, {model:?}");
            assert!(distance >= nearest - ROUNDING_M, "{distance} m, not {nearest} m: {at}");
            for row in model.rows() {
                let most = row.gap_error_m + ROUNDING_M;
                self.gaps += 1;
                let off = match case.gap_error(row, (&x, &there, age_s), &tissue) {
                    GapError::Along(off) => off.abs(),
                    GapError::Aside(off) => {
                        // Next to an edge or a wall, a plane says only that there is tissue within the radius.
                        let says_little = row.gap_error_m >= model.complete_radius_m;
                        assert!(says_little, "no tissue within {most} m along {row:?}: {at}");
                        self.aside += 1;
                        off
                    }
                };
                assert!(off <= most, "off by {off} m, at most {most} m: {row:?} {at}");
                if off > ROUNDING_M {
                    self.shares.push(off / most);
                }
            }
        }
    }
}

#[test]
fn within_its_radius_a_model_leaves_nothing_out_and_is_as_right_as_it_says() {
    let seed = Seed::or(41);
    let (tissues, tools) = (tissues(), tools());
    let mut shown = Shown::default();
    let (mut n_late, mut n_jaws, mut n_lags) = (0, 0, 0);
    for run in 0..scaled(RUNS) {
        let mut random = seed.random(run as u64);
        let (tissue, tool) = (&tissues[run % 5], &tools[run / 5 % 5]);
        let time = Countdown::of(usize::MAX);
        let how = (run / 25 % 2 == 1, shading(run));
        let case = Case::new(&mut random, tissue, tool, how, &time);
        let Some(case) = case else { continue };
        n_late += usize::from(case.is_late);
        let n_screws = case.model.screws.iter().flatten().count();
        n_jaws += usize::from(n_screws == 2);
        n_lags += usize::from(case.lags);
        shown.look(&case, &mut random, run);
    }
    let n_models = shown.radii.len();
    for sorted in [&mut shown.radii, &mut shown.errors, &mut shown.shares] {
        sorted.sort_by(f64::total_cmp);
    }
    let of = |all: &[f64], share: f64| all[(share * (all.len() - 1) as f64) as usize];
    println!(
        "{n_models} models, {n_late} of late proxies, {n_jaws} of jaws, {n_lags} with one that is held, with {} rows, \
         {} of them of no contact, {} motions, {} touch; {} gaps, {} without tissue along the normal; radius mm: least {:.3}, 10 % {:.3}, half \
         {:.3}, most {:.3}; error over radius: half {:.2}, 90 % {:.2}, most {:.2}; gaps off by, of what is said: half \
         {:.3}, 90 % {:.3}, most {:.3}",
        shown.rows,
        shown.own_planes,
        shown.motions,
        shown.touching,
        shown.gaps,
        shown.aside,
        1e3 * of(&shown.radii, 0.0),
        1e3 * of(&shown.radii, 0.1),
        1e3 * of(&shown.radii, 0.5),
        1e3 * of(&shown.radii, 1.0),
        of(&shown.errors, 0.5),
        of(&shown.errors, 0.9),
        of(&shown.errors, 1.0),
        of(&shown.shares, 0.5),
        of(&shown.shares, 0.9),
        of(&shown.shares, 1.0),
    );
    // A device at 100 mm/s moves 0.5 mm in 5 ms.
    let half = of(&shown.radii, 0.5);
    assert!(half > 5e-4, "half of the radii are below {half} m");
    assert!(n_late * 20 > n_models, "{n_late} models of late proxies");
    assert!(n_jaws * 4 > n_models && n_lags * 20 > n_models, "{n_jaws} of jaws, {n_lags} held");
    assert!(shown.touching * 20 > shown.motions, "{} touch", shown.touching);
    assert!(shown.aside * 5 < shown.gaps, "{} of {} rows say little", shown.aside, shown.gaps);
}

/// Flanks of folds are no contacts of a tool that lies in the valley between them, and the model holds beyond them.
#[test]
fn planes_of_no_contact_hold_the_flanks_of_folds() {
    let seed = Seed::or(43);
    let tools = tools();
    let mut folds = shapes::sheet(61, 61, 1e-3);
    for p in &mut folds.positions {
        *p -= Vec3::new(0.03, 0.03, 0.0);
        p.z = -0.002 * (1.0 - (p.x * 1_200.0).cos());
    }
    let mut shown = Shown::default();
    for run in 0..scaled(50) {
        let mut random = seed.random(run as u64);
        let time = Countdown::of(usize::MAX);
        let how = (run / 5 % 2 == 1, shading(run));
        let case = Case::new(&mut random, &folds, &tools[run % 5], how, &time);
        if let Some(case) = case {
            shown.look(&case, &mut random, run);
        }
    }
    let n_models = shown.radii.len();
    shown.radii.sort_by(f64::total_cmp);
    println!(
        "{n_models} models with {} rows, {} of them of no contact; half of the radii above {:.3} mm",
        shown.rows,
        shown.own_planes,
        1e3 * shown.radii[n_models / 2]
    );
    assert!(shown.own_planes > 0, "{} planes of no contact", shown.own_planes);
}

/// A tick that runs out of time while the model is bounded returns a smaller model: equal rows, and a smaller radius
/// within which everything is as true.
#[test]
fn a_model_that_time_cuts_short_is_complete_in_a_smaller_radius() {
    let seed = Seed::or(42);
    let (tissues, tools) = (tissues(), tools());
    let mut shown = Shown::default();
    let mut n_smaller = 0;
    for run in 0..scaled(60) {
        let mut random = seed.random(run as u64);
        let (tissue, tool) = (&tissues[run % 5], &tools[run / 5 % 5]);
        let how = (run / 25 % 2 == 1, shading(run));
        let time = Countdown::of(usize::MAX);
        // Equal random numbers give an equal proxy.
        let whole = Case::new(&mut random.clone(), tissue, tool, how, &time);
        let Some(whole) = whole else { continue };
        // The search around the tool comes first; the bounds come in the second half.
        let asked = time.asked.get();
        let most =
            asked / 2 + seed.random(1_000_000 + run as u64).below((asked - asked / 2).max(1));
        let short = Case::new(&mut random, tissue, tool, how, &Countdown::of(most));
        // Time ran out before the search around the tool ended: no model.
        let Some(short) = short else { continue };
        let radii = [&short, &whole].map(|case| case.model.complete_radius_m);
        assert_eq!(short.model.reference, whole.model.reference);
        // Planes of no contact are added as long as there is time.
        let n_contacts = |case: &Case| {
            case.model.rows().iter().filter(|r| r.contact_id != LocalRow::OF_NO_CONTACT).count()
        };
        assert_eq!(n_contacts(&short), n_contacts(&whole));
        assert!(radii[0] <= radii[1], "run {run}: {radii:?} m with {most} of {asked} looks");
        if radii[0] < radii[1] {
            n_smaller += 1;
            shown.look(&short, &mut random, run);
        }
    }
    println!(
        "{n_smaller} models that time cut short, with {} rows, {} motions, {} touch",
        shown.rows, shown.motions, shown.touching
    );
    assert!(n_smaller * 6 > scaled(60) && shown.touching > 0, "{n_smaller} were cut short");
}

/// The rows have the ids of the rendering's contacts, and the spring over them gives the rendering's force.
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
