//! Changes of a scene's parts: tissues and tools that are added or removed.

use std::sync::Arc;

use crate::{
    scene::{
        Scene, SceneError, Tissue, TissueId, Tool, ToolId,
        saved::{SavedTissue, SavedTool, SceneChange},
    },
    service::clock::now_ns,
};

/// A tissue or tool that is to be added to a scene or removed from it.
pub trait PartChange: Sized {
    /// Id of the part.
    type Id: Copy;
    /// The added part.
    type Made;

    /// Checks that the scene can be changed so, and returns the part's id.
    fn check(&self, scene: &Scene) -> Result<Self::Id, SceneError>;

    /// Returns the change as it is persisted and recorded.
    fn saved(&self, id: Self::Id) -> SceneChange;

    /// Time of the change, nanoseconds of the process's clock.
    fn at_ns(&self) -> u64 {
        now_ns()
    }

    /// Changes the scene.
    fn make(self, scene: &Scene) -> Result<Self::Made, SceneError>;
}

/// A tissue that is to be removed.
pub struct RemovedTissue(pub TissueId);

/// A tool that is to be removed.
pub struct RemovedTool(pub ToolId);

impl PartChange for Tissue {
    type Id = TissueId;
    type Made = Arc<Tissue>;

    fn check(&self, scene: &Scene) -> Result<TissueId, SceneError> {
        scene.next_tissue(self.name())
    }

    fn saved(&self, id: TissueId) -> SceneChange {
        SceneChange::TissueAdded(Box::new(SavedTissue { id, ..Tissue::saved(self) }))
    }

    fn at_ns(&self) -> u64 {
        self.current().published_ns
    }

    fn make(self, scene: &Scene) -> Result<Arc<Tissue>, SceneError> {
        scene.put_tissue(self)
    }
}

impl PartChange for Tool {
    type Id = ToolId;
    type Made = Arc<Tool>;

    fn check(&self, scene: &Scene) -> Result<ToolId, SceneError> {
        scene.next_tool(&self.name)
    }

    fn saved(&self, id: ToolId) -> SceneChange {
        SceneChange::ToolAdded(Box::new(SavedTool { id, ..Tool::saved(self) }))
    }

    fn make(self, scene: &Scene) -> Result<Arc<Tool>, SceneError> {
        scene.put_tool(self)
    }
}

impl PartChange for RemovedTissue {
    type Id = TissueId;
    type Made = ();

    fn check(&self, scene: &Scene) -> Result<TissueId, SceneError> {
        scene.tissue(self.0).map(|tissue| tissue.id())
    }

    fn saved(&self, id: TissueId) -> SceneChange {
        SceneChange::TissueRemoved(id)
    }

    fn make(self, scene: &Scene) -> Result<(), SceneError> {
        scene.remove_tissue(self.0)
    }
}

impl PartChange for RemovedTool {
    type Id = ToolId;
    type Made = ();

    fn check(&self, scene: &Scene) -> Result<ToolId, SceneError> {
        scene.tool(self.0).map(|tool| tool.id)
    }

    fn saved(&self, id: ToolId) -> SceneChange {
        SceneChange::ToolRemoved(id)
    }

    fn make(self, scene: &Scene) -> Result<(), SceneError> {
        scene.remove_tool(self.0)
    }
}
