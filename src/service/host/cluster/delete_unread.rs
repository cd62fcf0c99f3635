//! Deletion of scenes that cannot be read, if servers share scenes.

use std::{io, sync::Arc};

use super::{membership::Membership, scene_lease::NewOwner};
use crate::service::host::{
    durable::not_kept::NotKept, scene_error::SceneRegistryError, scene_life::Ended,
    scene_registry::SceneRegistry,
};
use crate::store::{
    lease::claim::{ClaimState, SceneClaim},
    scenes::folder::SceneFolder,
};

/// Deletes a scene that this server could not read and that no server has taken since.
///
/// # Errors
/// Names the server that has taken the scene; or I/O errors of the store.
pub fn delete_unread(
    membership: &Membership,
    registry: &SceneRegistry,
    folder: &SceneFolder,
    id: &str,
) -> Result<(), SceneRegistryError> {
    let failed = |error: io::Error| NotKept::Disk(Arc::new(error));
    let newest = membership.newest(id).map_err(failed)?;
    // Time 0: regardless of whether the scene is due to be read again.
    if !registry.entries_mut().is_still_unread(id, newest.as_ref(), membership.own(), 0) {
        let id = id.to_owned();
        return Err(match newest {
            Some(claim) if claim.holder().is_some() => {
                Ended::Elsewhere { id, owner: NewOwner::of(&claim) }.into()
            }
            Some(SceneClaim { state: ClaimState::Deleted, .. }) => {
                SceneRegistryError::Unknown { id }
            }
            // A server had the scene and has given it up: the client must ask for it again.
            _ => Ended::Opening { id }.into(),
        });
    }
    let epoch = newest.map_or(0, |claim| claim.epoch) + 1;
    // If another server claims the scene meanwhile, it is that server's.
    let end = SceneClaim { epoch, state: ClaimState::Deleted };
    if !membership.put(id, &end).map_err(NotKept::of_write)? {
        return Err(Ended::Opening { id: id.to_owned() }.into());
    }
    Ok(folder.remove_before(epoch).map_err(failed)?)
}
