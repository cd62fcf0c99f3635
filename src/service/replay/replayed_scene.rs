//! A scene to which a recording's changes are applied, as far as needed.
//!
//! Each loop is replayed against its own scene: a tick names the revision of each tissue that it saw, and two
//! simultaneous loops may have seen two tissues change in different orders.

use std::{collections::BTreeMap, convert::Infallible, sync::Arc};

use super::difference::{Difference, difference};
use crate::{
    proto::{
        RecordedChange, TissueState,
        recorded_change::{Answer, Change},
    },
    scene::{
        Limits, Scene, TissueId, Tool, ToolId,
        saved::{ADDED_IN_FORMAT_3, SavedScene, SavedTissue, SceneChange},
        tissue::edit::TopologyEdit,
        tool::field::field_of,
    },
    sdf::{Field, FieldOptions},
    service::{convert, recording::timeless},
    store::FieldCache,
    surface::Surface,
};

/// Changes of a tissue between two rests of its writer; a server's writer rests between any two.
const CHANGES_A_REST: u64 = 32;

/// Builds or looks up the field of a link, given its name, surface and options.
pub type FieldOfLink<'a> = &'a (dyn Fn(&str, &Surface, &FieldOptions) -> Field + Sync);

/// Changes of a scene, prepared once for all loops.
pub struct SceneHistory {
    /// The scene when the recording began, without tools.
    initial: SavedScene,
    published_ns: u64,
    limits: Limits,
    /// All tools that ever existed, by id.
    tools: Vec<Arc<Tool>>,
    /// Tissues that were added, by id, and the time of each.
    tissues: Vec<(SavedTissue, u64)>,
    /// Tissues that were removed, each with the number of tissues added before.
    removals: Vec<(usize, TissueId)>,
    /// Changes of all tissues, in the order in which they were made.
    changes: Vec<TissueStep>,
}

/// A tissue was moved, cut or held.
struct TissueStep {
    tissue: TissueId,
    recorded: RecordedChange,
}

/// A scene at a point of its history.
pub struct ReplayedScene<'a> {
    /// The scene as it is now.
    pub scene: Arc<Scene>,
    history: &'a SceneHistory,
    /// Number of tissues added, and of tools present.
    n_tissues: usize,
    n_tools: usize,
    /// Position among all changes from which to look for the next change of each tissue.
    next: BTreeMap<TissueId, usize>,
    n_changes: u64,
}

/// Reason why a recording cannot be followed any further.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HistoryError {
    /// A change cannot be read.
    #[error("change {at} cannot be read: {reason}")]
    Unreadable {
        /// Index of the change, from 0.
        at: usize,
        /// Cause.
        reason: String,
    },
    /// The engine refuses a change that it had accepted.
    #[error("a change of tissue {tissue} was accepted and is refused now: {reason}")]
    Refused {
        /// Tissue id.
        tissue: u32,
        /// Cause.
        reason: String,
    },
    /// The recording breaks off before something that a tick saw.
    #[error("{0}, which the recording does not have")]
    Missing(String),
}

/// Looks up fields in a cache, if one is given, and builds those that it lacks.
pub fn cached_field(
    cache: Option<&FieldCache>,
) -> impl Fn(&str, &Surface, &FieldOptions) -> Field + Sync {
    move |_, surface, options| {
        let build = || Ok::<_, Infallible>(field_of(surface, options));
        // Nobody shares this process's memory.
        let reserve = |_| Ok(());
        let cached = |cache: &FieldCache| cache.get_or_build(surface, options, reserve, build);
        let field = cache.map_or_else(build, |cache| Ok(cached(cache)?.0));
        field.unwrap_or_else(|never| match never {})
    }
}

impl SceneHistory {
    /// Takes in the changes, and builds the fields of all tools.
    ///
    /// # Errors
    /// Returns an error if a change is not valid.
    pub fn new(
        mut initial: SavedScene,
        published_ns: u64,
        limits: Limits,
        recorded: Vec<RecordedChange>,
        field_of: FieldOfLink,
    ) -> Result<SceneHistory, HistoryError> {
        let tool = |saved: crate::scene::saved::SavedTool| {
            let made = saved.tool(|label, surface, options| {
                Ok::<_, Infallible>(field_of(label, surface, options))
            });
            Arc::new(made.unwrap_or_else(|never| match never {}))
        };
        let mut tools: Vec<Arc<Tool>> =
            std::mem::take(&mut initial.tools).into_iter().map(tool).collect();
        initial.next_tool = ToolId(1);
        let (mut tissues, mut removals, mut changes) = (Vec::new(), Vec::new(), Vec::new());
        for (at, recorded) in recorded.into_iter().enumerate() {
            let unreadable = |reason: String| HistoryError::Unreadable { at, reason };
            let tissue = match &recorded.change {
                Some(Change::Deform(request)) => request.tissue_id,
                Some(Change::Edit(request)) => request.tissue_id,
                Some(Change::Hold(request)) => request.tissue_id,
                Some(Change::Saved(bytes)) => match saved_change(bytes).map_err(unreadable)? {
                    SceneChange::Edited { tissue, .. } | SceneChange::Felt { tissue, .. } => {
                        tissue.0
                    }
                    added_or_removed => {
                        match added_or_removed {
                            SceneChange::TissueAdded(tissue) => {
                                tissues.push((*tissue, recorded.at_ns));
                            }
                            SceneChange::ToolAdded(saved) => tools.push(tool(*saved)),
                            SceneChange::TissueRemoved(id) => removals.push((tissues.len(), id)),
                            // A tick that saw the scene without a tool says so.
                            _ => {}
                        }
                        continue;
                    }
                },
                None => return Err(unreadable("it has no change".to_owned())),
            };
            changes.push(TissueStep { tissue: TissueId(tissue), recorded });
        }
        let rises = tools.is_sorted_by(|a, b| a.id < b.id)
            && tissues.is_sorted_by(|(a, _), (b, _)| a.id < b.id);
        if !rises {
            let reason = "ids do not rise".to_owned();
            return Err(HistoryError::Unreadable { at: 0, reason });
        }
        Ok(SceneHistory { initial, published_ns, limits, tools, tissues, removals, changes })
    }

    /// Returns the scene as it was when the recording began.
    pub fn begin(&self) -> ReplayedScene<'_> {
        let scene = Scene::restored(
            self.initial.clone(),
            self.limits.clone(),
            self.published_ns,
            |_, _, _| -> Result<Field, crate::scene::saved::NotAScene> {
                unreachable!("its tools are added by themselves")
            },
        );
        let scene = Arc::new(scene.expect("it was checked when it was read"));
        // The server's scene was made repeatable too.
        scene.make_repeatable();
        let (n_tissues, n_tools, next, n_changes) = Default::default();
        ReplayedScene { scene, history: self, n_tissues, n_tools, next, n_changes }
    }

    /// Number of changes of surfaces.
    pub fn n_changes(&self) -> usize {
        self.changes.len()
    }

    /// Applies all changes and compares each answer with the recorded one. Returns the number of equal answers, and the
    /// first difference.
    ///
    /// # Errors
    /// Returns an error if a change cannot be applied.
    pub fn replay(&self) -> Result<(usize, Option<Difference>), HistoryError> {
        let mut scene = self.begin();
        for (at, change) in self.changes.iter().enumerate() {
            scene.add_tissue(change.tissue)?;
            scene.next.insert(change.tissue, at);
            if let Some(difference) = scene.step(change.tissue)? {
                return Ok((at, Some(difference)));
            }
        }
        Ok((self.changes.len(), None))
    }
}

impl ReplayedScene<'_> {
    /// Adds these tools.
    ///
    /// # Errors
    /// Returns an error if a tool is not in the recording.
    pub fn add_tools(&mut self, ids: &[u32]) -> Result<(), HistoryError> {
        for id in ids {
            while self.scene.tool(ToolId(*id)).is_err() {
                let missing = || HistoryError::Missing(format!("tool {id} was posed"));
                let next = self.history.tools.get(self.n_tools).ok_or_else(missing)?;
                self.scene.share_tool(Arc::clone(next));
                self.n_tools += 1;
            }
        }
        Ok(())
    }

    /// Removes these tools.
    pub fn remove_tools(&mut self, ids: &[u32]) {
        // A tool that is not in the scene is removed already.
        ids.iter().for_each(|id| drop(self.scene.remove_tool(ToolId(*id))));
    }

    /// Advances the scene to the state that a tick saw.
    ///
    /// # Errors
    /// Returns an error if that state is not in the recording, or cannot be reached.
    pub fn advance(&mut self, seen: &[TissueState]) -> Result<(), HistoryError> {
        for state in seen {
            self.add_tissue(TissueId(state.tissue_id))?;
        }
        let is_seen = |id: TissueId| seen.iter().any(|state| state.tissue_id == id.0);
        let gone: Vec<TissueId> =
            self.scene.tissues().iter().map(|t| t.id()).filter(|id| !is_seen(*id)).collect();
        gone.into_iter().for_each(|id| drop(self.scene.remove_tissue(id)));
        for state in seen {
            let id = TissueId(state.tissue_id);
            let target = (state.geometry_revision, state.topology_revision);
            while self.revisions(id)? != target {
                let (geometry, topology) = self.revisions(id)?;
                if geometry > target.0 || topology > target.1 {
                    let what = format!("tissue {} was seen at revision {target:?}", id.0);
                    return Err(HistoryError::Missing(what));
                }
                self.step(id)?;
            }
        }
        Ok(())
    }

    fn revisions(&self, id: TissueId) -> Result<(u64, u64), HistoryError> {
        let gone = |_| HistoryError::Missing(format!("tissue {} was seen again", id.0));
        let tissue = self.scene.tissue(id).map_err(gone)?;
        let now = tissue.current();
        Ok((now.geometry_revision, now.topology_revision))
    }

    /// Adds a tissue, and all added before it, as ids rise.
    fn add_tissue(&mut self, id: TissueId) -> Result<(), HistoryError> {
        while self.scene.tissue(id).is_err() {
            let missing = || HistoryError::Missing(format!("tissue {} was seen", id.0));
            let next = self.history.tissues.get(self.n_tissues);
            let (saved, at_ns) = next.ok_or_else(missing)?.clone();
            // The new tissue may have the name of one that was removed before, or its place among the most tissues.
            for (n_added, gone) in &self.history.removals {
                if *n_added <= self.n_tissues {
                    drop(self.scene.remove_tissue(*gone));
                }
            }
            self.n_tissues += 1;
            let (expected, tissue) = (saved.id, saved.tissue(at_ns));
            let refused = |reason: String| HistoryError::Refused { tissue: expected.0, reason };
            let added =
                self.scene.put_tissue(tissue).map_err(|error| refused(error.to_string()))?;
            if added.id() != expected {
                return Err(refused(format!("it got id {}", added.id().0)));
            }
        }
        Ok(())
    }

    /// Applies the next change of a tissue, and compares its answer with the recorded one.
    fn step(&mut self, id: TissueId) -> Result<Option<Difference>, HistoryError> {
        let from = self.next.get(&id).copied().unwrap_or(0);
        let mut rest = self.history.changes.iter().enumerate().skip(from);
        let next = rest.find(|(_, change)| change.tissue == id);
        let missing =
            || HistoryError::Missing(format!("a later revision of tissue {} was seen", id.0));
        let (at, TissueStep { recorded, .. }) = next.ok_or_else(missing)?;
        self.next.insert(id, at + 1);
        let refused = |reason: String| HistoryError::Refused { tissue: id.0, reason };
        let found = self.scene.tissue(id).map_err(|error| refused(error.to_string()))?;
        self.n_changes += 1;
        if self.n_changes.is_multiple_of(CHANGES_A_REST) {
            found.catch_up();
        }
        let at_ns = recorded.at_ns;
        match (&recorded.change, &recorded.answer) {
            (Some(Change::Deform(request)), Some(Answer::Deformed(expected))) => {
                let moved = convert::deform::tissue_move(request, &found);
                let moved = moved.map_err(|error| refused(error.to_string()))?;
                let done = moved.make(&found, at_ns);
                let done = done.map_err(|refusal| refused(refusal.error.to_string()))?;
                self.scene.join_borders(&found);
                let held = if request.hold { found.hold() } else { Vec::new() };
                let mut got = convert::deform::deformed(request.sequence, &done, held, 0.0, None);
                timeless::deformed(&mut got);
                Ok(difference(&got, expected))
            }
            (Some(cut @ (Change::Edit(_) | Change::Saved(_))), Some(Answer::Edited(expected))) => {
                let edit = cut_of(cut).map_err(refused)?;
                let done = found.edit(edit.clone(), self.scene.limits(), at_ns);
                let done = done.map_err(|error| refused(error.to_string()))?;
                self.scene.join_borders(&found);
                let is_driven = found.current().driven.is_some();
                let mut got = convert::deform::edited(&edit, &done, is_driven, 0.0, None);
                timeless::edited(&mut got);
                Ok(difference(&got, expected))
            }
            (Some(Change::Saved(bytes)), Some(Answer::Felt(expected))) => {
                let SceneChange::Felt { feel, .. } = saved_change(bytes).map_err(refused)? else {
                    return Err(refused("its answer is that of materials".to_owned()));
                };
                let done = found.set_feel(feel, at_ns);
                done.map_err(|error| refused(error.to_string()))?;
                Ok(difference(&convert::feel::felt(&found.current()), expected))
            }
            (Some(Change::Hold(_)), Some(Answer::Held(expected))) => {
                let held = found.hold();
                Ok(difference(&convert::deform::held(&found.current(), held), expected))
            }
            _ => Err(refused("its answer is missing".to_owned())),
        }
    }
}

/// Decodes a change that is recorded as it is kept.
fn saved_change(bytes: &[u8]) -> Result<SceneChange, String> {
    let bytes = [bytes, &ADDED_IN_FORMAT_3].concat();
    let change = postcard::from_bytes::<SceneChange>(&bytes).map_err(|error| error.to_string())?;
    change.check().map_err(|error| error.to_string())?;
    Ok(change)
}

/// Returns a recorded cut, with the weights that it had if it was kept.
fn cut_of(change: &Change) -> Result<TopologyEdit, String> {
    match change {
        Change::Edit(request) => convert::deform::edit(request).map_err(|error| error.to_string()),
        Change::Saved(bytes) => match saved_change(bytes)? {
            SceneChange::Edited { edit, .. } => Ok(edit),
            _ => Err("its answer is that of a cut".to_owned()),
        },
        Change::Deform(_) | Change::Hold(_) => Err("it is no cut".to_owned()),
    }
}
