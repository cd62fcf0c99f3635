//! A scene with one tool, and a session that poses it.

use std::{cell::Cell, collections::HashSet, sync::Arc};

use glam::{DQuat, DVec3};
use palpate::{
    geometry::{LoadOptions, MeshData, Pose, TriangleId, mesh::load::load},
    oracle::{Random, brute_force::beside_crossings},
    scene::{
        Limits, Link, Probe, RevisionGuard, Scene, TickAnswer, TissueId, TissueOptions, Tool,
        ToolId, ToolParts,
        tick::{Session, TickOptions, ToolPose, scene_from_link},
        tool::field::default_field,
    },
    time_left::TimeLeft,
};

use super::{
    answer::{Compared, check_link},
    collision_pair::{Body, CollisionPair},
};

/// Maximum number of contacts if all are wanted.
const ALL: usize = 100_000;

pub struct Stage {
    pub scene: Arc<Scene>,
    pub tool: Arc<Tool>,
    pub options: TickOptions,
    pub compared: Compared,
    /// Triangles whose side decides nothing, of each tissue and each link.
    crossings: [Vec<HashSet<TriangleId>>; 2],
    sequence: u64,
    session: Session,
}

impl Stage {
    /// Creates a stage whose links rest where they are, with a probe at the first vertex of each.
    pub fn new(tissues: &[MeshData], links: &[MeshData]) -> Stage {
        let loaded = |data: &MeshData| load(data.clone(), &LoadOptions::default()).expect("a mesh");
        let scene = Arc::new(Scene::new("stage".to_owned(), Limits::default()));
        for (i, data) in tissues.iter().enumerate() {
            let options = TissueOptions::default();
            scene.add_tissue(&format!("tissue {i}"), loaded(data), options, 0).expect("added");
        }
        let link =
            |(i, data)| Link::new(format!("link {i}"), loaded(data), Pose::IDENTITY, default_field);
        let probe = |(i, data): (usize, &MeshData)| Probe {
            name: format!("probe {i}"),
            link: i,
            position: data.positions[0].as_dvec3(),
            radius: 0.001 * i as f64,
        };
        let parts = ToolParts {
            name: "tool".to_owned(),
            links: links.iter().enumerate().map(link).collect(),
            probes: links.iter().enumerate().map(probe).collect(),
        };
        let tool = scene.add_tool(parts).expect("added");
        let options = TickOptions {
            max_distance_m: 0.5,
            contact_margin_m: 0.001,
            max_contacts: ALL,
            ..TickOptions::default()
        };
        let session = session(&scene, tool.id, &options);
        let tissues = scene.tissues();
        let tissues =
            tissues.iter().map(|t| beside_crossings(t.current().surface.mesh())).collect();
        let links = tool.links.iter().map(|l| beside_crossings(l.surface.mesh())).collect();
        let crossings = [tissues, links];
        Stage {
            scene,
            tool,
            options,
            compared: Compared::default(),
            crossings,
            sequence: 0,
            session,
        }
    }

    /// Changes the options, with a new session on the scene.
    pub fn set_options(&mut self, change: impl FnOnce(&mut TickOptions)) {
        change(&mut self.options);
        self.session = session(&self.scene, self.tool.id, &self.options);
    }

    pub fn tissues(&self) -> Vec<(TissueId, RevisionGuard)> {
        self.scene.tissues().iter().map(|t| (t.id(), t.current())).collect()
    }

    pub fn pose(&self, scene_from_tool: Pose) -> ToolPose {
        ToolPose { tool: self.tool.id, scene_from_tool, tool_from_link: vec![], teleport: true }
    }

    /// Answers one tick of the session.
    pub fn tick(&mut self, pose: &ToolPose) -> TickAnswer {
        self.sequence += 1;
        let poses = [pose.clone()];
        self.session.tick(self.sequence, &poses, 0, &TimeLeft::endless()).expect("accepted").clone()
    }

    /// Answers a tick whose time is over before it begins.
    pub fn late_tick(&mut self, pose: &ToolPose) -> TickAnswer {
        self.tick_until(pose, 0)
    }

    /// Answers a tick whose time is over once the clock has been read `n_readings` times.
    pub fn tick_until(&mut self, pose: &ToolPose, n_readings: u64) -> TickAnswer {
        self.sequence += 1;
        let (poses, n_read) = ([pose.clone()], Cell::new(0));
        let clock = || n_read.replace(n_read.get() + 1);
        let time = TimeLeft::until(&clock, n_readings);
        self.session.tick(self.sequence, &poses, 0, &time).expect("accepted").clone()
    }

    /// Compares every link of a tick with brute force, and with a session without a past.
    pub fn check(&mut self, pose: &ToolPose, about: &str) -> TickAnswer {
        let answer = self.tick(pose);
        let held = self.tissues();
        for link in &answer.links {
            let surface = &self.tool.links[link.link].surface;
            let margin = self.options.contact_margin_m;
            let pairs: Vec<CollisionPair> = held
                .iter()
                .zip(&self.crossings[0])
                .map(|((id, revision), crossings)| CollisionPair {
                    id: *id,
                    tissue: Body { mesh: revision.surface.mesh(), crossings },
                    link: Body { mesh: surface.mesh(), crossings: &self.crossings[1][link.link] },
                    scene_from_link: scene_from_link(&self.tool, link.link, pose),
                    margin,
                    // The field has this error at the point found and at the point missed, and the search ends when no
                    // more can be gained.
                    tolerance: 3.0 * self.tool.links[link.link].field.tolerance(),
                })
                .collect();
            let reach = self.options.max_distance_m;
            check_link(link, &pairs, reach, &mut self.compared, about);
        }
        let mut fresh = session(&self.scene, self.tool.id, &self.options);
        let poses = [pose.clone()];
        let anew = fresh.tick(1, &poses, 0, &TimeLeft::endless()).expect("accepted");
        let (here, anew) = (without_lives(&answer), without_lives(anew));
        assert_eq!(here, anew, "{about}: the answer depends on the ticks before");
        answer
    }

    /// Returns a pose that brings a random point of the tool's surface to `offset` metres from a random point of a
    /// tissue's, along that triangle's normal.
    pub fn random_pose(&self, offset: f64, random: &mut Random) -> Pose {
        let held = self.tissues();
        let (_, revision) = &held[random.below(held.len())];
        let on = |mesh: &palpate::geometry::TriangleMesh, random: &mut Random| {
            let t = mesh.triangle_ids().nth(random.below(mesh.n_triangles())).expect("is there");
            let [p, q, r] = mesh.triangle(t);
            ((p + q + r) / 3.0, (q - p).cross(r - p).normalize_or_zero())
        };
        let (target, normal) = on(revision.surface.mesh(), random);
        let link = &self.tool.links[random.below(self.tool.links.len())];
        let (point, _) = on(link.surface.mesh(), random);
        let turned = Pose::new(random.rotation(), DVec3::ZERO).expect("a unit quaternion");
        let translation = target + normal * offset - turned.point(link.rest.point(point));
        Pose { translation, ..turned }
    }
}

fn session(scene: &Arc<Scene>, tool: ToolId, options: &TickOptions) -> Session {
    Session::new(scene.clone(), &[tool], options.clone()).expect("the tool is there")
}

/// Returns a pose without a rotation.
pub fn at(translation: DVec3) -> Pose {
    Pose::new(DQuat::IDENTITY, translation).expect("a unit quaternion")
}

/// Returns the part of an answer that does not depend on earlier ticks; the statuses of contacts do.
pub fn without_lives(answer: &TickAnswer) -> TickAnswer {
    let mut answer = answer.clone();
    for link in &mut answer.links {
        link.statuses.clear();
        link.ended.clear();
    }
    (answer.flags.pose_jump, answer.flags.unswept_reason) = (false, None);
    answer
}
