//! Haptic loops with well-formed and other poses while tissues move, are cut, come and go.

use std::sync::{Arc, LazyLock};

use arbitrary::{Arbitrary, Unstructured};
use glam::{DQuat, DVec3, Vec3};
use palpate::{
    geometry::{Pose, TriangleId, tolerance::COORDINATE_MAX_M},
    scene::{
        Limits, Scene, Tissue, Tool, ToolId,
        limits::{CONTACTS_MAX, DISTANCE_MAX_M, PAIRS_MAX},
        tick::{TickOptions, ToolPose},
        tissue::{deform::Deformation, edit::TopologyEdit},
    },
};

use crate::{stage, until_end, watched::Watched};

/// Steps of one sequence; more are left out.
const STEPS_MAX: usize = 12;

/// A session and what happens to it and around it.
#[derive(Arbitrary, Debug)]
pub struct Sequence {
    options: Options,
    tools: [bool; 3],
    #[arbitrary(with = |bytes: &mut Unstructured| until_end(bytes, STEPS_MAX))]
    steps: Vec<Step>,
}

#[derive(Arbitrary, Debug)]
struct Options {
    max_distance: u8,
    contact_margin: u8,
    max_contacts: u16,
    max_pairs: u16,
    leave_out: [bool; 3],
    pairs: [bool; 2],
    stale_after_ns: Option<u8>,
}

#[derive(Arbitrary, Debug)]
enum Step {
    Tick { number: Number, places: Vec<Placed>, late_after: Option<u8> },
    Pass { number: Number, places: Vec<Placed> },
    Any { number: Number, poses: Vec<(u8, Placed)>, answered: bool },
    Deform { sheet: bool, first: u8, to: Vec<Place> },
    Cut { sheet: bool, triangle: u8, to: Place },
    ReplaceOrgan,
    RemoveSheet,
    RemoveBlade,
    Restart,
}

#[derive(Arbitrary, Debug)]
enum Number {
    Next(u8),
    Back(u8),
    Any(u64),
}

#[derive(Arbitrary, Clone, Debug)]
pub(crate) struct Placed {
    at: Place,
    turned: [i8; 4],
    links: Vec<(Place, [i8; 4])>,
    teleport: bool,
}

#[derive(Arbitrary, Clone, Copy, Debug)]
pub(crate) enum Place {
    /// Steps of 2 mm.
    Near([i8; 3]),
    Any([f32; 3]),
}

/// Every answer is sound, and what is refused changes nothing: see [`Watched`].
pub fn check(sequence: Sequence) {
    static SCENE: LazyLock<Arc<Scene>> = LazyLock::new(stage::tools_only);
    let mut world = World::about(&SCENE);
    let ids = [ToolId(1), ToolId(2), world.blade.id].into_iter().zip(sequence.tools);
    let ids: Vec<ToolId> = ids.filter_map(|(id, tracked)| tracked.then_some(id)).collect();
    let tools: Vec<Arc<Tool>> = ids.iter().map(|id| SCENE.tool(*id).expect("there")).collect();
    let options = sequence.options.checked();
    if !tools.is_empty() {
        let mut session = Watched::new(&SCENE, &ids, &options).expect("the tools are there");
        for (step, now_ns) in sequence.steps.into_iter().zip(1..) {
            world.go_on(step, &mut session, &tools, now_ns);
        }
    }
    world.clear();
}

/// What is around the session.
pub(crate) struct World<'a> {
    scene: &'a Scene,
    organ: Arc<Tissue>,
    sheet: Arc<Tissue>,
    blade: Arc<Tool>,
}

impl World<'_> {
    pub(crate) fn about(scene: &Scene) -> World<'_> {
        let (organ, sheet) = (stage::add_organ(scene), stage::add_sheet(scene));
        World { scene, organ, sheet, blade: stage::add_blade(scene) }
    }

    fn go_on(&mut self, step: Step, session: &mut Watched, tools: &[Arc<Tool>], now_ns: u64) {
        let ids = tools.iter().map(|t| t.id);
        match step {
            Step::Tick { number, places, late_after } => {
                let poses: Vec<ToolPose> =
                    ids.zip(all(&places)).map(|(id, p)| p.pose(id)).collect();
                session.tick(number.after(session), &poses, now_ns, late_after.map(u32::from));
            }
            Step::Pass { number, places } => {
                let poses: Vec<ToolPose> =
                    ids.zip(all(&places)).map(|(id, p)| p.pose(id)).collect();
                session.coalesce(number.after(session), &poses);
            }
            Step::Any { number, poses, answered } => {
                let of = |(id, p): &(u8, Placed)| p.pose(ToolId(u32::from(*id)));
                let poses: Vec<ToolPose> = poses.iter().map(of).collect();
                let number = number.after(session);
                if answered {
                    session.tick(number, &poses, now_ns, None);
                } else {
                    session.coalesce(number, &poses);
                }
            }
            Step::Deform { sheet, first, to } => self.deform(sheet, first, &to, now_ns),
            Step::Cut { sheet, triangle, to } => self.cut(sheet, triangle, to, now_ns),
            Step::ReplaceOrgan => {
                self.scene.remove_tissue(self.organ.id()).expect("there");
                self.organ = stage::add_organ(self.scene);
            }
            // Gone already the second time.
            Step::RemoveSheet => drop(self.scene.remove_tissue(self.sheet.id())),
            Step::RemoveBlade => drop(self.scene.remove_tool(self.blade.id)),
            Step::Restart => session.restart(),
        }
    }

    fn tissue(&self, sheet: bool) -> &Tissue {
        if sheet { &self.sheet } else { &self.organ }
    }

    pub(crate) fn deform(&self, sheet: bool, first: u8, to: &[Place], now_ns: u64) {
        let tissue = self.tissue(sheet);
        let n_vertices = tissue.current().surface.mesh().positions().len() as u32;
        let vertices = (u32::from(first)..n_vertices).take(to.len()).collect::<Vec<_>>();
        let positions = to.iter().take(vertices.len()).map(|p| p.point().as_vec3()).collect();
        tissue.deform(Deformation::Sparse { vertices, positions }, now_ns).expect("accepted");
        tissue.catch_up();
    }

    pub(crate) fn cut(&self, sheet: bool, triangle: u8, to: Place, now_ns: u64) {
        let tissue = self.tissue(sheet);
        let edit = {
            let current = tissue.current();
            let mesh = current.surface.mesh();
            let t = TriangleId(u32::from(triangle));
            let Some([a, b, c]) = mesh.get(t) else { return };
            let centre = mesh.positions().len() as u32;
            TopologyEdit {
                base_revision: None,
                removed: vec![t],
                added_positions: vec![to.point().as_vec3()],
                added: vec![[a, b, centre], [b, c, centre], [c, a, centre]],
                parents: vec![t; 3],
                ..TopologyEdit::default()
            }
        };
        tissue.edit(edit, &Limits::default(), now_ns).expect("accepted");
    }

    pub(crate) fn clear(self) {
        for tissue in self.scene.tissues().iter() {
            self.scene.remove_tissue(tissue.id()).expect("there");
        }
        drop(self.scene.remove_tool(self.blade.id));
    }
}

impl Options {
    fn checked(&self) -> TickOptions {
        let max_distance_m = (f64::from(self.max_distance) * 0.002).clamp(1e-4, DISTANCE_MAX_M);
        let [contacts, probes, sweep] = self.leave_out.map(|left_out| !left_out);
        let [triangle_pairs, link_pairs] = self.pairs;
        TickOptions {
            max_distance_m,
            contact_margin_m: (f64::from(self.contact_margin) * 5e-5).min(max_distance_m),
            max_contacts: usize::from(self.max_contacts).min(CONTACTS_MAX),
            contacts,
            probes,
            sweep,
            triangle_pairs,
            link_pairs,
            max_pairs: usize::from(self.max_pairs).min(PAIRS_MAX),
            stale_after_ns: self.stale_after_ns.map(u64::from),
        }
    }
}

impl Number {
    fn after(&self, session: &Watched) -> u64 {
        let last = session.last_sequence().unwrap_or(0);
        match self {
            Number::Next(more) => last.saturating_add(1 + u64::from(*more)),
            Number::Back(less) => last.saturating_sub(u64::from(*less)),
            Number::Any(number) => *number,
        }
    }
}

/// The last one stands for the tools that it is not enough for.
pub(crate) fn all(places: &[Placed]) -> impl Iterator<Item = Placed> {
    let last = places.last().cloned().unwrap_or(Placed {
        at: Place::Near([0; 3]),
        turned: [0; 4],
        links: Vec::new(),
        teleport: false,
    });
    places.iter().cloned().chain(std::iter::repeat(last))
}

impl Placed {
    pub(crate) fn pose(&self, tool: ToolId) -> ToolPose {
        ToolPose {
            tool,
            scene_from_tool: pose(self.at, self.turned),
            tool_from_link: self.links.iter().map(|(at, turned)| pose(*at, *turned)).collect(),
            teleport: self.teleport,
        }
    }
}

fn pose(at: Place, turned: [i8; 4]) -> Pose {
    let rotation = DQuat::from_array(turned.map(f64::from));
    let rotation = if rotation.length() > 0.0 { rotation.normalize() } else { DQuat::IDENTITY };
    Pose::new(rotation, at.point()).expect("a rotation")
}

impl Place {
    /// Within the world, as parsing sees to.
    pub(crate) fn point(self) -> DVec3 {
        match self {
            Place::Near(steps) => DVec3::from_array(steps.map(|s| f64::from(s) * 0.002)),
            Place::Any(p) => {
                let far = COORDINATE_MAX_M as f32;
                let p = Vec3::from_array(p.map(|c| if c.is_finite() { c } else { 0.0 }));
                p.clamp(Vec3::splat(-far), Vec3::splat(far)).as_dvec3()
            }
        }
    }
}
