//! Claims of scenes that are about to be created.

use std::{io, sync::Arc};

use super::{membership::Membership, scene_lease::SceneLease};
use crate::service::host::scene_error::SceneRegistryError;
use crate::store::{
    lease::claim::{ClaimState, SceneClaim},
    scenes::folder::SceneFolder,
};

/// Claims the id of a new scene, whose files will be in `folder`.
///
/// # Errors
/// Returns an error if there is such a scene, or another server claims it; or I/O errors of the store.
pub fn claim_new(
    membership: &Arc<Membership>,
    folder: &SceneFolder,
    id: &str,
) -> Result<Arc<SceneLease>, SceneRegistryError> {
    let failed = |source: io::Error| SceneRegistryError::Claims { id: id.to_owned(), source };
    let epoch = match check_unclaimed(membership, folder, id)? {
        Some(deleted) => {
            // The server that deleted the scene may have been stopped before its files were gone.
            folder.remove_before(deleted + 1).map_err(failed)?;
            deleted + 1
        }
        None => 1,
    };
    let state = ClaimState::Owned(membership.own().clone());
    if !membership.put(id, &SceneClaim { epoch, state }).map_err(failed)? {
        return Err(SceneRegistryError::Taken { id: id.to_owned() });
    }
    Ok(Arc::new(SceneLease::new(membership, id, epoch)))
}

/// Returns the epoch in which a scene of that id was deleted, if there ever was one.
///
/// # Errors
/// Returns an error if there is such a scene; or I/O errors of the store.
pub fn check_unclaimed(
    membership: &Membership,
    folder: &SceneFolder,
    id: &str,
) -> Result<Option<u64>, SceneRegistryError> {
    let failed = |source: io::Error| SceneRegistryError::Claims { id: id.to_owned(), source };
    match membership.newest(id).map_err(failed)? {
        Some(SceneClaim { epoch, state: ClaimState::Deleted }) => Ok(Some(epoch)),
        None if !folder.is_there().map_err(failed)? => Ok(None),
        _ => Err(SceneRegistryError::Taken { id: id.to_owned() }),
    }
}
