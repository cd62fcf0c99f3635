//! Pictures for a viewer of recordings: tissues and tools as Foxglove's well-known messages.
//!
//! Frames: `scene`; of a tool in session 1 `1/NAME`, of its links `1/NAME/LINK`; of its proxy `1/NAME/proxy` and
//! `1/NAME/proxy/LINK`.

use std::{collections::BTreeMap, sync::Arc};

use prost::Message;
use prost_types::Timestamp;

use super::tick_recorder::TickBuffer;
use crate::{
    geometry::{TriangleId, TriangleMesh},
    proto::{
        self, RecordedSession, Tick, TrackResponse,
        foxglove::{
            Color, FrameTransform, FrameTransforms, Point3, Quaternion, SceneEntity,
            SceneEntityDeletion, SceneUpdate, TriangleListPrimitive, Vector3,
            scene_entity_deletion::Type as Deletion,
        },
    },
    scene::{Scene, TissueId, Tool, ToolId},
    service::pose_message::pose_message,
};

/// Parent frame of all others.
const SCENE: &str = "scene";
/// Interval between pictures of a tissue that deforms: its mesh is sent whole.
const SURFACES_INTERVAL_NS: u64 = 500_000_000;
/// Interval between transforms of a session's tools.
const TRANSFORMS_INTERVAL_NS: u64 = 10_000_000;
const TISSUE: [f64; 4] = [0.78, 0.35, 0.32, 0.9];
const TOOL: [f64; 4] = [0.75, 0.78, 0.82, 1.0];
/// Colour of a device whose proxy is drawn too.
const GHOST: [f64; 4] = [0.45, 0.65, 1.0, 0.3];

/// State of the pictures drawn of a scene.
pub struct Pictures {
    scene: Arc<Scene>,
    /// Geometry and topology revisions drawn.
    drawn: BTreeMap<TissueId, (u64, u64)>,
    surfaces_due_ns: u64,
    /// Tools of each session, and the time when they are drawn next.
    tools: BTreeMap<u32, (Vec<Arc<Tool>>, u64)>,
}

impl Pictures {
    /// Creates the state of a scene of which nothing is drawn yet.
    pub fn of(scene: &Arc<Scene>) -> Pictures {
        let (drawn, surfaces_due_ns, tools) = Default::default();
        Pictures { scene: Arc::clone(scene), drawn, surfaces_due_ns, tools }
    }

    /// Returns tissues that are new or gone, and periodically those that have changed; `None` if there are none.
    pub fn surfaces(&mut self, epoch_ns: i64, at_ns: u64) -> Option<SceneUpdate> {
        let is_due = at_ns >= self.surfaces_due_ns;
        if is_due {
            self.surfaces_due_ns = at_ns + SURFACES_INTERVAL_NS;
        }
        let (tissues, timestamp) = (self.scene.tissues(), timestamp(epoch_ns, at_ns));
        let mut update = SceneUpdate::default();
        self.drawn.retain(|id, _| {
            let is_there = tissues.iter().any(|t| t.id() == *id);
            if !is_there {
                update.deletions.push(SceneEntityDeletion {
                    timestamp: Some(timestamp),
                    r#type: Deletion::MatchingId.into(),
                    id: tissue_name(*id),
                });
            }
            is_there
        });
        for tissue in tissues.iter() {
            if !is_due && self.drawn.contains_key(&tissue.id()) {
                continue;
            }
            let now = tissue.current();
            let revisions = (now.geometry_revision, now.topology_revision);
            if self.drawn.insert(tissue.id(), revisions) != Some(revisions) {
                let mesh = now.surface.mesh();
                let id = tissue_name(tissue.id());
                update.entities.push(entity(SCENE.to_owned(), id, mesh, TISSUE, timestamp));
            }
        }
        let is_empty = update.entities.is_empty() && update.deletions.is_empty();
        (!is_empty).then_some(update)
    }

    /// Returns the links of a session's tools, each in its own frame.
    pub fn begin(&mut self, session: &RecordedSession, epoch_ns: i64) -> SceneUpdate {
        let start = session.start.clone().unwrap_or_default();
        let tools = start.tool_ids.iter().filter_map(|id| self.scene.tool(ToolId(*id)).ok());
        let tools: Vec<Arc<Tool>> = tools.collect();
        let timestamp = timestamp(epoch_ns, session.at_ns);
        let mut update = SceneUpdate::default();
        for tool in &tools {
            let is_rendered = start.render.iter().any(|r| r.tool_id == tool.id.0);
            for link in &tool.links {
                let mut add = |frame: String, color| {
                    let (id, mesh) = (frame.clone(), link.surface.mesh());
                    update.entities.push(entity(frame, id, mesh, color, timestamp));
                };
                let of = |tool_frame: String| format!("{tool_frame}/{}", link.name);
                let device = if is_rendered { GHOST } else { TOOL };
                add(of(device_frame(session.session, tool)), device);
                if is_rendered {
                    add(of(proxy_frame(session.session, tool)), TOOL);
                }
            }
        }
        self.tools.insert(session.session, (tools, 0));
        update
    }

    /// Forgets the tools of a session that is over.
    pub fn end(&mut self, session: u32) {
        self.tools.remove(&session);
    }

    /// Returns the poses of a session's tools and proxies; `None` if it is too soon.
    pub fn transforms(
        &mut self,
        session: u32,
        tick: &TickBuffer,
        epoch_ns: i64,
    ) -> Option<FrameTransforms> {
        let (tools, due_ns) = self.tools.get_mut(&session)?;
        if tick.at_ns < *due_ns {
            return None;
        }
        *due_ns = tick.at_ns + TRANSFORMS_INTERVAL_NS;
        let timestamp = timestamp(epoch_ns, tick.at_ns);
        // Decodable, as it was encoded here.
        let (sent, answer) =
            (Tick::decode(tick.tick()).ok()?, TrackResponse::decode(tick.answer()).ok()?);
        let mut transforms = Vec::new();
        for tool in tools {
            let mut add = |frame: &str, pose: Option<&proto::Pose>, links: &[proto::Pose]| {
                transforms.push(transform(SCENE, frame, pose, timestamp));
                for (at, link) in tool.links.iter().enumerate() {
                    let rest = pose_message(&link.rest);
                    let (child, pose) = (format!("{frame}/{}", link.name), links.get(at));
                    transforms.push(transform(frame, &child, pose.or(Some(&rest)), timestamp));
                }
            };
            if let Some(posed) = sent.tools.iter().find(|t| t.tool_id == tool.id.0) {
                add(&device_frame(session, tool), posed.pose.as_ref(), &posed.link_poses);
            }
            if let Some(of) = answer.renderings.iter().find(|r| r.tool_id == tool.id.0) {
                add(&proxy_frame(session, tool), of.proxy.as_ref(), &of.proxy_link_poses);
            }
        }
        Some(FrameTransforms { transforms })
    }
}

fn tissue_name(id: TissueId) -> String {
    format!("tissue {}", id.0)
}

fn device_frame(session: u32, tool: &Tool) -> String {
    format!("{session}/{}", tool.name)
}

fn proxy_frame(session: u32, tool: &Tool) -> String {
    format!("{}/proxy", device_frame(session, tool))
}

fn timestamp(epoch_ns: i64, at_ns: u64) -> Timestamp {
    let ns = (epoch_ns + at_ns as i64).max(0);
    Timestamp { seconds: ns / 1_000_000_000, nanos: (ns % 1_000_000_000) as i32 }
}

fn transform(
    parent: &str,
    child: &str,
    pose: Option<&proto::Pose>,
    timestamp: Timestamp,
) -> FrameTransform {
    let position = pose.and_then(|p| p.position_m).unwrap_or_default();
    let turned = pose.and_then(|p| p.orientation);
    let q = turned.unwrap_or(proto::Quaternion { x: 0.0, y: 0.0, z: 0.0, w: 1.0 });
    FrameTransform {
        timestamp: Some(timestamp),
        parent_frame_id: parent.to_owned(),
        child_frame_id: child.to_owned(),
        translation: Some(Vector3 { x: position.x, y: position.y, z: position.z }),
        rotation: Some(Quaternion { x: q.x, y: q.y, z: q.z, w: q.w }),
    }
}

fn entity(
    frame_id: String,
    id: String,
    mesh: &TriangleMesh,
    [r, g, b, a]: [f64; 4],
    timestamp: Timestamp,
) -> SceneEntity {
    let point = |p: &glam::Vec3| Point3 { x: p.x.into(), y: p.y.into(), z: p.z.into() };
    let triangles = (0..mesh.triangle_id_end()).filter_map(|t| mesh.get(TriangleId(t)));
    let list = TriangleListPrimitive {
        points: mesh.positions().iter().map(point).collect(),
        indices: triangles.flatten().collect(),
        color: Some(Color { r, g, b, a }),
        ..TriangleListPrimitive::default()
    };
    SceneEntity {
        timestamp: Some(timestamp),
        frame_id,
        id,
        frame_locked: true,
        triangles: vec![list],
        ..SceneEntity::default()
    }
}
