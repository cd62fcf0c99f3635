//! Saved scenes of format 2, in which no tissue is driven.

use serde::Deserialize;

use super::{SavedScene, SavedTissue, SavedTool};
use crate::{
    geometry::{MeshData, MeshReport, TriangleId},
    scene::{TissueId, TissueKind, TissueOptions, ToolId},
};

/// A scene of format 2.
#[derive(Debug, Deserialize)]
pub struct UndrivenScene {
    id: String,
    next_tissue: TissueId,
    next_tool: ToolId,
    tissues: Vec<UndrivenTissue>,
    tools: Vec<SavedTool>,
}

#[derive(Debug, Deserialize)]
struct UndrivenTissue {
    id: TissueId,
    name: String,
    kind: TissueKind,
    options: TissueOptions,
    report: MeshReport,
    geometry_revision: u64,
    topology_revision: u64,
    mesh: MeshData,
    parents: Vec<(TriangleId, TriangleId)>,
}

impl From<UndrivenScene> for SavedScene {
    fn from(scene: UndrivenScene) -> SavedScene {
        let UndrivenScene { id, next_tissue, next_tool, tissues, tools } = scene;
        let tissues = tissues.into_iter().map(SavedTissue::from).collect();
        SavedScene { id, next_tissue, next_tool, tissues, tools, feels: Vec::new() }
    }
}

impl From<UndrivenTissue> for SavedTissue {
    fn from(tissue: UndrivenTissue) -> SavedTissue {
        SavedTissue {
            id: tissue.id,
            name: tissue.name,
            kind: tissue.kind,
            options: tissue.options,
            report: tissue.report,
            geometry_revision: tissue.geometry_revision,
            topology_revision: tissue.topology_revision,
            mesh: tissue.mesh,
            parents: tissue.parents,
            driven: None,
        }
    }
}
