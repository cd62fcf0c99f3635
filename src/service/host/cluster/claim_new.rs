//! The claim of a scene that is about to be made.

use std::{io, sync::Arc};

use super::{membership::Membership, scene_lease::SceneLease};
use crate::service::host::scene_error::SceneRegistryError;
use crate::store::{
    lease::claim::{ClaimState, SceneClaim},
    scenes::folder::SceneFolder,
};

/// Claims the id of a new scene, whose files are to be in `folder`.
///
/// # Errors
/// When there is such a scene, or another server claims it; or the system's.
pub fn claim_new(
    membership: &Arc<Membership>,
    folder: &SceneFolder,
    id: &str,
) -> Result<Arc<SceneLease>, SceneRegistryError> {
    let failed = |source: io::Error| SceneRegistryError::Claims { id: id.to_owned(), source };
    let taken = || SceneRegistryError::Taken { id: id.to_owned() };
    let epoch = match membership.newest(id).map_err(failed)? {
        Some(claim) if claim.state != ClaimState::Deleted => return Err(taken()),
        Some(claim) => {
            let epoch = claim.epoch + 1;
            // Whoever deleted it may have been stopped before its files were gone.
            folder.remove_before(epoch).map_err(failed)?;
            epoch
        }
        None if folder.is_there().map_err(failed)? => return Err(taken()),
        None => 1,
    };
    let state = ClaimState::Owned(membership.own().clone());
    if !membership.put(id, &SceneClaim { epoch, state }).map_err(failed)? {
        return Err(taken());
    }
    Ok(Arc::new(SceneLease::new(membership, id, epoch)))
}
