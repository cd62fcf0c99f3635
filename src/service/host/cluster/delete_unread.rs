//! The end of a scene that cannot be read, where servers share scenes.

use std::{io, sync::Arc};

use super::{membership::Membership, scene_lease::NewOwner};
use crate::service::host::{
    durable::not_kept::NotKept, scene_error::SceneRegistryError, scene_life::Ended,
    unread_scenes::UnreadScenes,
};
use crate::store::{
    lease::claim::{ClaimState, SceneClaim},
    scenes::folder::SceneFolder,
};

/// Deletes a scene that this server could not read, and that nobody has taken since.
///
/// # Errors
/// Names the server that has taken it; or the system's.
pub fn delete_unread(
    membership: &Membership,
    unread: &UnreadScenes,
    folder: &SceneFolder,
    id: &str,
) -> Result<(), SceneRegistryError> {
    let failed = |error: io::Error| NotKept::Disk(Arc::new(error));
    let newest = membership.newest(id).map_err(failed)?;
    // Whether or not it is time to read it again.
    if !unread.holds(id, newest.as_ref(), membership.own(), 0) {
        let id = id.to_owned();
        return Err(match newest {
            Some(claim) if claim.holder().is_some() => {
                Ended::Elsewhere { id, owner: NewOwner::of(&claim) }.into()
            }
            Some(SceneClaim { state: ClaimState::Deleted, .. }) => {
                SceneRegistryError::Unknown { id }
            }
            // Somebody had it and has given it up: it is to be asked for again.
            _ => Ended::Opening { id }.into(),
        });
    }
    let epoch = newest.map_or(0, |claim| claim.epoch) + 1;
    // Should another claim it meanwhile, it is that one's.
    let end = SceneClaim { epoch, state: ClaimState::Deleted };
    if !membership.put(id, &end).map_err(NotKept::of_write)? {
        return Err(Ended::Opening { id: id.to_owned() }.into());
    }
    Ok(folder.remove_before(epoch).map_err(failed)?)
}
