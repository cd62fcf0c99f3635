//! A few tissues, a rendered tool, and a brute-force check of its proxy.

use std::sync::Arc;

use glam::{DQuat, DVec3};
use palpate::{
    coupling::{spring::Spring, wrench::WrenchLimits},
    geometry::{
        LoadOptions, LoadedMesh, MeshData, Pose, mesh::load::load, triangle_triangle::meet,
    },
    oracle::shapes,
    proxy::{ProxyTick, RenderOptions, Rendering, ToolProxy},
    scene::{
        Limits, Link, RevisionGuard, Scene, Tissue, TissueId, TissueOptions, Tool, ToolParts,
        tick::ToolPose, tool::field::field_of,
    },
    sdf::{Field, FieldOptions},
    surface::Surface,
    time_left::TimeLeft,
};

/// Stand-off of a proxy from tissue, metres, as its documentation states it.
pub const STAND_OFF: f64 = 20e-6;

/// Spring that resists rotation as a hand that holds fast.
pub const STIFF: Spring = Spring { rotational_stiffness_nm_per_rad: 100.0, ..Spring::DESKTOP };

/// A scene with one rendered tool and its proxy, all of it open to the tests.
pub struct ProxyStage {
    pub scene: Scene,
    pub tool: Arc<Tool>,
    pub proxy: ToolProxy,
    pub pose: ToolPose,
    pub dt_s: f64,
    pub sequence: u64,
    pub forbidden: Vec<TissueId>,
}

pub fn loaded(data: MeshData) -> LoadedMesh {
    load(data, &LoadOptions::default()).expect("a good mesh")
}

impl ProxyStage {
    pub fn new(
        tissues: &[MeshData],
        links: &[MeshData],
        options: impl FnOnce(RenderOptions) -> RenderOptions,
    ) -> ProxyStage {
        let loaded_links = links.iter().cloned().map(loaded).collect();
        ProxyStage::of(tissues.iter().cloned().map(loaded).collect(), loaded_links, options)
    }

    pub fn of(
        tissues: Vec<LoadedMesh>,
        links: Vec<LoadedMesh>,
        options: impl FnOnce(RenderOptions) -> RenderOptions,
    ) -> ProxyStage {
        let scene = Scene::new("stage".to_owned(), Limits::default());
        for (i, mesh) in tissues.into_iter().enumerate() {
            scene
                .add_tissue(&format!("tissue {i}"), mesh, TissueOptions::default(), 0)
                .expect("added");
        }
        let link = |(i, mesh)| Link::new(format!("link {i}"), mesh, Pose::IDENTITY, coarse_field);
        let parts = ToolParts {
            name: "tool".to_owned(),
            links: links.into_iter().enumerate().map(link).collect(),
            probes: Vec::new(),
        };
        let tool = scene.add_tool(parts).expect("added");
        let proxy =
            ToolProxy::new(Arc::clone(&tool), options(unlimited(tool.id))).expect("options");
        let pose = ToolPose {
            tool: tool.id,
            scene_from_tool: Pose::IDENTITY,
            tool_from_link: Vec::new(),
            teleport: false,
        };
        ProxyStage { scene, tool, proxy, pose, dt_s: 1e-3, sequence: 0, forbidden: Vec::new() }
    }

    pub fn tissue(&self, place: usize) -> Arc<Tissue> {
        Arc::clone(&self.scene.tissues()[place])
    }

    /// Ticks with the tool at a pose, without a time limit.
    pub fn tick(&mut self, scene_from_tool: Pose) -> Rendering {
        self.pose.scene_from_tool = scene_from_tool;
        self.tick_in_time(&|| false)
    }

    /// Ticks at the current pose.
    pub fn tick_in_time(&mut self, late: &dyn Fn() -> bool) -> Rendering {
        self.tick_in_times(late, late)
    }

    /// As [`ProxyStage::tick_in_time`], with separate limits for moving the proxy and for the whole tick.
    pub fn tick_in_times(
        &mut self,
        late_to_draw: &dyn Fn() -> bool,
        late: &dyn Fn() -> bool,
    ) -> Rendering {
        let tissues = self.revisions();
        self.sequence += 1;
        let [draw_clock, clock] = [late_to_draw, late].map(|late| move || u64::from(late()));
        let tick = ProxyTick {
            sequence: self.sequence,
            now_ns: 0,
            tissues: &tissues,
            forbidden: &self.forbidden,
            dt_s: self.dt_s,
            deadline_to_draw: &TimeLeft::until(&draw_clock, 1).read_each_time(),
            deadline: &TimeLeft::until(&clock, 1).read_each_time(),
        };
        self.proxy.tick(&self.pose, &tick);
        let rendering = self.proxy.send(self.dt_s).clone();
        self.pose.teleport = false;
        rendering
    }

    /// Moves the device through a pose whose tick is coalesced.
    pub fn coalesce(&mut self, scene_from_tool: Pose) {
        self.pose.scene_from_tool = scene_from_tool;
        self.proxy.coalesce(&self.pose);
    }

    pub fn revisions(&self) -> Vec<(TissueId, RevisionGuard)> {
        self.scene.tissues().iter().map(|t| (t.id(), t.current())).collect()
    }

    /// Returns true if any triangle of the proxy meets one of a tissue: every pair, decided exactly.
    pub fn crosses(&self, at: &Rendering) -> bool {
        self.tool.links.iter().zip(&at.tool_from_link).any(|(link, tool_from_link)| {
            let pose = at.scene_from_proxy.then_from(tool_from_link);
            let mesh = link.surface.mesh();
            let own: Vec<_> =
                mesh.triangle_ids().map(|t| mesh.triangle(t).map(|p| pose.point(p))).collect();
            self.revisions().iter().any(|(_, revision)| {
                let mesh = revision.surface.mesh();
                mesh.triangle_ids().any(|t| {
                    let triangle = mesh.triangle(t);
                    own.iter().any(|o| may_meet(o, &triangle) && meet(o, &triangle))
                })
            })
        })
    }

    /// Height of the tool's lowest vertex at a pose, with its current link poses.
    pub fn lowest(&self, at: &Pose) -> f64 {
        let heights = self.tool.links.iter().enumerate().flat_map(|(i, link)| {
            let mesh = link.surface.mesh();
            let place = self.pose.tool_from_link.get(i).map_or(*at, |link| at.then_from(link));
            (0..mesh.positions().len() as u32).map(move |v| place.point(mesh.position(v)).z)
        });
        heights.fold(f64::INFINITY, f64::min)
    }

    /// The tool's origin at the proxy.
    pub fn origin(at: &Rendering) -> DVec3 {
        at.scene_from_proxy.translation
    }
}

/// A coarse field: a field only proves that something is far, so a coarse one changes the work but no answer, and is
/// built in a hundredth of the time.
pub fn coarse_field(surface: &Surface) -> Field {
    let tolerance_m = Some(0.05 * surface.bounds().diagonal());
    field_of(surface, &FieldOptions { tolerance_m, ..FieldOptions::default() })
}

/// Returns true if their boxes overlap: exact, because the corners are compared without rounding.
fn may_meet(a: &[DVec3; 3], b: &[DVec3; 3]) -> bool {
    let low = |t: &[DVec3; 3]| t[0].min(t[1]).min(t[2]);
    let high = |t: &[DVec3; 3]| t[0].max(t[1]).max(t[2]);
    low(a).cmple(high(b)).all() && low(b).cmple(high(a)).all()
}

/// Caps and rates so large that the spring's own force is seen.
pub const UNLIMITED: WrenchLimits = WrenchLimits {
    max_force_n: 1e3,
    max_torque_nm: 100.0,
    max_force_rate_n_per_s: 1e6,
    max_torque_rate_nm_per_s: 1e5,
};

pub fn unlimited(tool: palpate::scene::ToolId) -> RenderOptions {
    RenderOptions { limits: UNLIMITED, ..RenderOptions::of(tool) }
}

pub fn to(x: f64, y: f64, z: f64) -> Pose {
    Pose { translation: DVec3::new(x, y, z), ..Pose::IDENTITY }
}

pub fn turned(axis: DVec3, angle: f64, translation: DVec3) -> Pose {
    Pose::new(DQuat::from_axis_angle(axis.normalize(), angle), translation).expect("a rotation")
}

/// A slab with its upper side in z = 0, `cells` by `cells` squares of `dx`, about the z axis.
pub fn slab(cells: u32, dx: f64, thickness: f64) -> MeshData {
    let mut data = shapes::sheet(cells + 1, cells + 1, dx);
    let n = data.positions.len() as u32;
    let half = (0.5 * f64::from(cells) * dx) as f32;
    data.positions.iter_mut().for_each(|p| *p -= glam::Vec3::new(half, half, 0.0));
    let below: Vec<_> =
        data.positions.iter().map(|p| *p - glam::Vec3::Z * thickness as f32).collect();
    data.positions.extend(below);
    let under: Vec<_> = data.triangles.iter().map(|[a, b, c]| [a + n, c + n, b + n]).collect();
    data.triangles.extend(under);
    let side = cells + 1;
    let id = |i: u32, j: u32| i * side + j;
    for k in 0..cells {
        for (a, b) in [
            (id(k + 1, 0), id(k, 0)),
            (id(k, cells), id(k + 1, cells)),
            (id(0, k), id(0, k + 1)),
            (id(cells, k + 1), id(cells, k)),
        ] {
            data.triangles.extend([[a, b, b + n], [a, b + n, a + n]]);
        }
    }
    data
}
