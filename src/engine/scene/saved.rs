//! The parts of a scene that can outlive its process, as plain data: the scene at one moment, each change after it, and
//! the scene restored from them.
//!
//! A saved scene with the later changes, applied in order, is the scene: its ids, revisions, triangles, positions and
//! the ids it will give next. Not saved is state that only a running client can use: held revisions, former vertex
//! positions, and contacts. Saved data may come from a damaged or foreign file: nothing in it is trusted.

#[cfg(test)]
mod tests;
mod undriven;

use std::sync::{Arc, atomic::AtomicBool};

pub use undriven::UndrivenScene;

use arc_swap::ArcSwap;
use glam::Vec3;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use super::{
    Limits, Link, NextIds, Probe, Revision, Scene, Tissue, TissueId, TissueKind, TissueOptions,
    Tool, ToolId, ToolParts,
    limits::FIELD_TOLERANCE_SHARE_MIN,
    tissue::{
        binding::Controls, deform::outside_world, driven::Driven, edit::TopologyEdit, feel::Feel,
    },
};
use crate::{
    geometry::{
        Aabb, MeshData, MeshReport, Pose, TriangleId, TriangleMesh, mesh::REMOVED,
        mesh::load::LoadedMesh,
    },
    sdf::{Field, FieldOptions},
    surface::Surface,
};

/// Maximum length of a scene's id, characters.
pub const SCENE_ID_CHARS_MAX: usize = 64;

/// A scene at one moment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SavedScene {
    /// Id that the client chose.
    pub id: String,
    /// Id of the next tissue; greater than all given.
    pub next_tissue: TissueId,
    /// Id of the next tool; greater than all given.
    pub next_tool: ToolId,
    /// Tissues, ordered by id.
    pub tissues: Vec<SavedTissue>,
    /// Tools, ordered by id.
    pub tools: Vec<SavedTool>,
    /// Materials of the tissues that have any, ordered by id. Last, so that format 3 lacks only this.
    pub feels: Vec<(TissueId, Feel)>,
}

/// A tissue at one revision.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SavedTissue {
    /// Id in its scene.
    pub id: TissueId,
    /// Name, unique in its scene.
    pub name: String,
    /// Kind of the tissue for an instrument.
    pub kind: TissueKind,
    /// Options of its index.
    pub options: TissueOptions,
    /// Report of the mesh as loaded.
    pub report: MeshReport,
    /// Number of deformations so far.
    pub geometry_revision: u64,
    /// Number of cuts so far.
    pub topology_revision: u64,
    /// Mesh in scene frame, metres; ids are indices in it.
    pub mesh: MeshData,
    /// For each triangle that a cut added, the triangle it was cut from, if the cut said so.
    pub parents: Vec<(TriangleId, TriangleId)>,
    /// Controls that carry its vertices.
    pub driven: Option<Box<Driven>>,
}

/// A tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SavedTool {
    /// Id in its scene.
    pub id: ToolId,
    /// Name, unique in its scene.
    pub name: String,
    /// Links, at least one.
    pub links: Vec<SavedLink>,
    /// Probes in the order they were declared.
    pub probes: Vec<Probe>,
}

/// A link of a tool. Its field is not saved: it follows from the mesh and the options.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SavedLink {
    /// Name, unique in its tool.
    pub name: String,
    /// Report of the mesh as loaded.
    pub report: MeshReport,
    /// Rest pose, tool frame from link frame.
    pub rest: Pose,
    /// Mesh in link frame, metres.
    pub mesh: MeshData,
    /// Requested error of its field, metres; `None`: the default.
    pub field_tolerance_m: Option<f64>,
}

/// Bytes behind a scene that was encoded in format 3: no materials. Behind a later scene they are ignored.
pub const ADDED_IN_FORMAT_4: [u8; 1] = [0];

/// Bytes behind a change that was encoded in format 2: the fields that format 3 added at the end of some, empty. Behind
/// other changes they are ignored.
pub const ADDED_IN_FORMAT_3: [u8; 4] = [0; 4];

/// One change of a scene.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum SceneChange {
    /// A tissue was added, with the id that it got.
    TissueAdded(Box<SavedTissue>),
    /// A tissue was removed; its id is not given again.
    TissueRemoved(TissueId),
    /// A tool was added, with the id that it got.
    ToolAdded(Box<SavedTool>),
    /// A tool was removed; its id is not given again.
    ToolRemoved(ToolId),
    /// A cut. Its `base_revision` is that of the tissue before the cut, so that no cut is applied twice or left out.
    /// The ids that it gave are not saved: they follow from the request and the tissue before, counted on from the
    /// greatest. A change to how ids are given must therefore raise the store's `VERSION`, or old journals would mean
    /// other triangles.
    // Saving the first ids to compare them here would also be another format, with no remedy for a difference.
    Edited {
        /// Tissue that was cut.
        tissue: TissueId,
        /// The cut.
        edit: TopologyEdit,
    },
    /// Vertex positions at a deformation, without vertices that later cuts added; or the state of the controls that
    /// carry the vertices.
    Moved {
        /// Tissue that was deformed.
        tissue: TissueId,
        /// Revision that had these positions.
        geometry_revision: u64,
        /// Positions in scene frame, metres; none if the tissue is driven.
        positions: Vec<Vec3>,
        /// State of all controls of a driven tissue.
        controls: Option<Controls>,
    },
    /// A tissue got other materials, or none.
    Felt {
        /// Tissue whose materials these are.
        tissue: TissueId,
        /// Materials of its triangles.
        feel: Option<Feel>,
    },
}

/// Error for saved data that is not a valid scene, or a change that does not follow from the one before.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind} {id} {problem}")]
pub struct NotAScene {
    /// "tissue", "tool" or "scene".
    kind: &'static str,
    id: u32,
    problem: &'static str,
}

impl SavedScene {
    /// Creates an empty scene.
    pub fn new(id: String) -> SavedScene {
        let (next_tissue, next_tool) = (TissueId(1), ToolId(1));
        let (tissues, tools, feels) = Default::default();
        SavedScene { id, next_tissue, next_tool, tissues, tools, feels }
    }

    /// Checks that the data make a valid scene.
    ///
    /// # Errors
    ///
    /// Returns an error for the first invalid tissue or tool.
    pub fn check(&self) -> Result<(), NotAScene> {
        let in_id = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        let is_long = self.id.chars().count() > SCENE_ID_CHARS_MAX;
        if self.id.is_empty() || is_long || !self.id.chars().all(in_id) {
            return Err(NotAScene {
                kind: "scene",
                id: 0,
                problem: "has an id that none can have",
            });
        }
        for (at, tissue) in self.tissues.iter().enumerate() {
            tissue.check()?;
            let rises = at == 0 || self.tissues[at - 1].id < tissue.id;
            tissue.expect(rises && tissue.id < self.next_tissue, "has an id out of order")?;
        }
        for (at, tool) in self.tools.iter().enumerate() {
            tool.check()?;
            let rises = at == 0 || self.tools[at - 1].id < tool.id;
            tool.expect(rises && tool.id < self.next_tool, "has an id out of order")?;
        }
        for (at, (id, feel)) in self.feels.iter().enumerate() {
            let tissue = self.tissues.iter().find(|t| t.id == *id);
            let unknown = NotAScene { kind: "tissue", id: id.0, problem: "is not there" };
            let tissue = tissue.ok_or(unknown)?;
            let rises = at == 0 || self.feels[at - 1].0 < *id;
            tissue.expect(rises, "has materials twice")?;
            tissue.check_feel(feel)?;
        }
        Ok(())
    }

    /// Applies one change.
    ///
    /// # Errors
    /// Returns an error if the change does not fit; nothing has changed then.
    pub fn apply(&mut self, change: SceneChange) -> Result<(), NotAScene> {
        match change {
            SceneChange::TissueAdded(tissue) => {
                tissue.check()?;
                tissue.expect(tissue.id >= self.next_tissue, "was there before")?;
                self.next_tissue = TissueId(tissue.id.0 + 1);
                self.tissues.push(*tissue);
            }
            SceneChange::TissueRemoved(id) => {
                self.tissue(id)?;
                self.tissues.retain(|t| t.id != id);
                self.feels.retain(|(of, _)| *of != id);
            }
            SceneChange::ToolAdded(tool) => {
                tool.check()?;
                tool.expect(tool.id >= self.next_tool, "was there before")?;
                self.next_tool = ToolId(tool.id.0 + 1);
                self.tools.push(*tool);
            }
            SceneChange::ToolRemoved(id) => {
                let is_there = self.tools.iter().any(|t| t.id == id);
                let unknown = NotAScene { kind: "tool", id: id.0, problem: "is not there" };
                is_there.then_some(()).ok_or(unknown)?;
                self.tools.retain(|t| t.id != id);
            }
            SceneChange::Edited { tissue, edit } => {
                let felt = self.feels.iter().position(|(id, _)| *id == tissue);
                let felt = felt.map(|at| (at, self.feels[at].1.after(&edit)));
                self.tissue(tissue)?.edit(edit)?;
                felt.into_iter().for_each(|(at, feel)| self.feels[at].1 = feel);
            }
            SceneChange::Felt { tissue, feel } => {
                let of = self.tissue(tissue)?;
                feel.iter().try_for_each(|feel| of.check_feel(feel))?;
                self.feels.retain(|(id, _)| *id != tissue);
                let place = self.feels.partition_point(|(id, _)| *id < tissue);
                feel.into_iter().for_each(|feel| self.feels.insert(place, (tissue, feel)));
            }
            SceneChange::Moved { tissue, geometry_revision, positions, controls } => {
                // Positions are saved apart from other changes: the tissue may have been removed meanwhile.
                if tissue >= self.next_tissue || self.tissues.iter().any(|t| t.id == tissue) {
                    self.tissue(tissue)?.move_to(geometry_revision, positions, controls)?;
                }
            }
        }
        Ok(())
    }

    fn tissue(&mut self, id: TissueId) -> Result<&mut SavedTissue, NotAScene> {
        let unknown = NotAScene { kind: "tissue", id: id.0, problem: "is not there" };
        self.tissues.iter_mut().find(|t| t.id == id).ok_or(unknown)
    }
}

impl SceneChange {
    /// Checks an added tissue or tool, or materials.
    ///
    /// # Errors
    ///
    /// Returns what is wrong with it.
    pub fn check(&self) -> Result<(), NotAScene> {
        match self {
            SceneChange::TissueAdded(tissue) => tissue.check(),
            SceneChange::ToolAdded(tool) => tool.check(),
            SceneChange::Felt { tissue, feel: Some(feel) } if !feel.is_table() => {
                let (kind, id) = ("tissue", tissue.0);
                Err(NotAScene { kind, id, problem: "has materials that none can have" })
            }
            _ => Ok(()),
        }
    }
}

impl SavedTissue {
    fn edit(&mut self, edit: TopologyEdit) -> Result<(), NotAScene> {
        let TopologyEdit { base_revision, removed, mut added_positions, added, parents, weights } =
            edit;
        let is_next = base_revision == Some(self.topology_revision);
        self.expect(is_next, "has a cut that was made for another revision")?;
        let first = self.mesh.triangles.len() as u32;
        let n_vertices = self.mesh.positions.len() + added_positions.len();
        let is_there =
            |t: &TriangleId| self.mesh.triangles.get(t.0 as usize).is_some_and(|v| *v != REMOVED);
        let mut once = removed.clone();
        once.sort_unstable();
        once.dedup();
        let fits = once.len() == removed.len()
            && removed.iter().all(is_there)
            && added.iter().flatten().all(|v| (*v as usize) < n_vertices)
            && outside_world(&added_positions).is_none()
            && (parents.is_empty() || parents.len() == added.len())
            && parents.iter().all(|t| t.0 < first);
        self.expect(fits, "has a cut of what is not there")?;
        let is_carried = match &self.driven {
            Some(driven) => driven.fits(&weights, added_positions.len()),
            None => weights.weights.n_vertices() == 0,
        };
        self.expect(is_carried, "has a cut with weights of other vertices")?;
        if let Some(driven) = &mut self.driven {
            // The controls may have moved since the cut was kept.
            added_positions = driven.added_positions(&weights);
            driven.add(&weights);
        }
        removed.iter().for_each(|t| self.mesh.triangles[t.0 as usize] = REMOVED);
        self.mesh.positions.extend(added_positions);
        self.mesh.triangles.extend(added);
        self.parents.extend((first..).map(TriangleId).zip(parents));
        self.topology_revision += 1;
        Ok(())
    }

    fn move_to(
        &mut self,
        geometry_revision: u64,
        mut positions: Vec<Vec3>,
        controls: Option<Controls>,
    ) -> Result<(), NotAScene> {
        let driven = match (&self.driven, controls) {
            (Some(driven), Some(controls)) if driven.accepts(&controls) => {
                let moved = Driven { binding: Arc::clone(&driven.binding), controls };
                positions = moved.positions();
                Some(Box::new(moved))
            }
            (None, None) => None,
            _ => return self.expect(false, "has controls of another tissue"),
        };
        let fits = positions.len() <= self.mesh.positions.len();
        self.expect(
            fits && outside_world(&positions).is_none(),
            "has positions of other vertices",
        )?;
        // Two writers may save positions at a time, and the older positions may come last.
        if geometry_revision > self.geometry_revision {
            self.geometry_revision = geometry_revision;
            self.mesh.positions[..positions.len()].copy_from_slice(&positions);
            self.driven = driven;
        }
        Ok(())
    }

    fn check(&self) -> Result<(), NotAScene> {
        self.expect(self.id.0 < u32::MAX && is_mesh(&self.mesh), "has no mesh")?;
        let n_ids = self.mesh.triangles.len() as u32;
        let n_vertices = self.mesh.positions.len();
        let is_driven = self.driven.as_ref().is_none_or(|driven| driven.is_valid(n_vertices));
        self.expect(is_driven, "has controls of other vertices")?;
        let falls = |(t, parent): &(TriangleId, TriangleId)| parent < t && t.0 < n_ids;
        self.expect(self.parents.iter().all(falls), "has triangles cut from later ones")
    }

    fn check_feel(&self, feel: &Feel) -> Result<(), NotAScene> {
        let fits = feel.is_valid(self.mesh.triangles.len());
        self.expect(fits, "has materials of other triangles")
    }

    fn expect(&self, holds: bool, problem: &'static str) -> Result<(), NotAScene> {
        let error = NotAScene { kind: "tissue", id: self.id.0, problem };
        holds.then_some(()).ok_or(error)
    }

    /// Restores the tissue, without materials; `now_ns`: when its revision counts as published.
    pub fn tissue(self, now_ns: u64) -> Tissue {
        self.felt(None, now_ns)
    }

    fn felt(self, feel: Option<Feel>, now_ns: u64) -> Tissue {
        let revisions = (self.geometry_revision, self.topology_revision);
        let is_lumen = self.report.is_lumen();
        let surface = Surface::of(TriangleMesh::new(self.mesh), self.options, is_lumen);
        let first = Revision::first(surface, now_ns);
        let report = MeshReport { welded_edges: first.surface.welded_edges(), ..self.report };
        let driven = self.driven.map(|driven| *driven);
        let revision = Revision::restored(first, revisions, self.parents, driven, feel);
        Tissue::of_revision(self.id, (self.name, self.kind), report, revision)
    }
}

impl SavedTool {
    /// Restores the tool; `field_of` builds a link's field, or has it already.
    ///
    /// # Errors
    /// Returns the errors of `field_of`.
    pub fn tool<F: Into<Arc<Field>>, E>(
        self,
        field_of: impl Fn(&str, &Surface, &FieldOptions) -> Result<F, E>,
    ) -> Result<Tool, E> {
        let SavedTool { id, name, links, probes } = self;
        let mut made = Vec::with_capacity(links.len());
        for SavedLink { name, report, rest, mesh, field_tolerance_m } in links {
            let loaded = LoadedMesh { mesh: TriangleMesh::new(mesh), report };
            let label = name.clone();
            let field = FieldOptions { tolerance_m: field_tolerance_m, ..FieldOptions::default() };
            let mut link = Link::try_new(name, loaded, rest, |s| field_of(&label, s, &field))?;
            link.field_tolerance_m = field_tolerance_m;
            made.push(link);
        }
        Ok(Tool { id, ..Tool::new(ToolParts { name, links: made, probes }) })
    }

    fn check(&self) -> Result<(), NotAScene> {
        self.expect(self.id.0 < u32::MAX && !self.links.is_empty(), "has no links")?;
        self.expect(self.links.iter().all(SavedLink::is_link), "has a link that is none")?;
        let is_probe =
            |p: &Probe| p.link < self.links.len() && p.position.is_finite() && p.radius >= 0.0;
        self.expect(
            !self.links.is_empty() && self.probes.iter().all(is_probe),
            "has a probe of no link",
        )
    }

    fn expect(&self, holds: bool, problem: &'static str) -> Result<(), NotAScene> {
        let error = NotAScene { kind: "tool", id: self.id.0, problem };
        holds.then_some(()).ok_or(error)
    }
}

impl SavedLink {
    fn is_link(&self) -> bool {
        if !is_mesh(&self.mesh) {
            return false;
        }
        let used = self.mesh.triangles.iter().filter(|t| **t != REMOVED).flatten();
        let corners = used.map(|v| self.mesh.positions[*v as usize].as_dvec3());
        // Coarse enough for its field to be built, as for an upload.
        let finest = FIELD_TOLERANCE_SHARE_MIN * Aabb::around(corners).diagonal();
        let is_tolerance = |t: f64| t.is_finite() && t > 0.0 && t >= finest;
        self.mesh.triangles.iter().any(|t| *t != REMOVED)
            && self.rest.rotation.is_finite()
            && self.rest.translation.is_finite()
            && self.field_tolerance_m.is_none_or(is_tolerance)
    }
}

fn is_mesh(mesh: &MeshData) -> bool {
    let n_vertices = mesh.positions.len();
    let is_there = |t: &[u32; 3]| *t == REMOVED || t.iter().all(|v| (*v as usize) < n_vertices);
    // A corner is numbered 3 * triangle + k in 32 bits, the greatest of which means none.
    mesh.triangles.len() < (u32::MAX / 3) as usize
        && mesh.triangles.iter().all(is_there)
        && outside_world(&mesh.positions).is_none()
}

impl Scene {
    /// Returns the scene as it is now. Concurrent changes may be in it or not: a caller that needs to know must prevent
    /// them.
    pub fn saved(&self) -> SavedScene {
        let ids = self.ids.lock();
        let (mut tissues, mut feels) = (Vec::new(), Vec::new());
        for tissue in self.tissues().iter() {
            // Mesh and materials are those of one revision: a cut changes both.
            let now = tissue.current();
            tissues.push(tissue.saved_at(&now));
            feels.extend(now.feel.as_deref().map(|feel| (tissue.id(), feel.clone())));
        }
        SavedScene {
            id: self.id.clone(),
            next_tissue: TissueId(ids.tissue),
            next_tool: ToolId(ids.tool),
            tissues,
            tools: self.tools().iter().map(|t| t.saved()).collect(),
            feels,
        }
    }

    /// Restores a scene as it was saved; whatever the limits are, it keeps what it had. `field_of` builds a link's
    /// field, or has it already. `now_ns`: the caller's monotonic clock.
    ///
    /// # Errors
    ///
    /// Returns the errors of `field_of`, and an error if the data are [no valid scene](SavedScene::check).
    pub fn restored<F: Into<Arc<Field>>, E: From<NotAScene>>(
        saved: SavedScene,
        limits: Limits,
        now_ns: u64,
        field_of: impl Fn(&str, &Surface, &FieldOptions) -> Result<F, E>,
    ) -> Result<Scene, E> {
        saved.check()?;
        let tools = saved.tools.into_iter().map(|tool| Ok(Arc::new(tool.tool(&field_of)?)));
        let tools = tools.collect::<Result<_, E>>()?;
        let mut feels = saved.feels.into_iter().peekable();
        let restored = |tissue: SavedTissue| {
            let feel = feels.next_if(|(id, _)| *id == tissue.id).map(|(_, feel)| feel);
            Arc::new(tissue.felt(feel, now_ns))
        };
        let tissues = saved.tissues.into_iter().map(restored).collect();
        let scene = Scene {
            id: saved.id,
            limits,
            tissues: ArcSwap::from_pointee(tissues),
            tools: ArcSwap::from_pointee(tools),
            ids: Mutex::new(NextIds { tissue: saved.next_tissue.0, tool: saved.next_tool.0 }),
            is_repeatable: AtomicBool::new(false),
        };
        scene.tissues().iter().for_each(|tissue| scene.join_borders(tissue));
        Ok(scene)
    }
}

impl Tissue {
    /// Returns the newest revision as saved data, without its materials.
    pub fn saved(&self) -> SavedTissue {
        self.saved_at(&self.current())
    }

    fn saved_at(&self, now: &Revision) -> SavedTissue {
        SavedTissue {
            id: self.id(),
            name: self.name().to_owned(),
            kind: self.kind(),
            options: now.surface.options(),
            report: self.report().clone(),
            geometry_revision: now.geometry_revision,
            topology_revision: now.topology_revision,
            mesh: now.surface.mesh().data(),
            parents: now.parents(),
            driven: now.driven.as_ref().map(|driven| Box::new(Driven::clone(driven))),
        }
    }

    /// Returns the present vertex positions, or the state of the controls that carry them, as a change.
    pub fn moved(&self) -> SceneChange {
        let now = self.current();
        let controls = now.driven.as_ref().map(|driven| driven.controls.clone());
        let positions = match &controls {
            Some(_) => Vec::new(),
            None => now.surface.mesh().positions().to_vec(),
        };
        let geometry_revision = now.geometry_revision;
        SceneChange::Moved { tissue: self.id(), geometry_revision, positions, controls }
    }
}

impl Tool {
    /// Returns the tool without its fields as saved data.
    pub fn saved(&self) -> SavedTool {
        let link = |link: &Link| SavedLink {
            name: link.name.clone(),
            report: link.report.clone(),
            rest: link.rest,
            mesh: link.surface.mesh().data(),
            field_tolerance_m: link.field_tolerance_m,
        };
        let (name, probes) = (self.name.clone(), self.probes.clone());
        SavedTool { id: self.id, name, links: self.links.iter().map(link).collect(), probes }
    }
}
