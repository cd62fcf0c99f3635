//! Takes a scene from an owner that hangs, when an admin asks for it.

use std::sync::Arc;

use tracing::info;

use super::{hand_over::NotHandedOver, scene_lease::NewOwner};
use crate::service::{host::scene_registry::SceneRegistry, refused::Refused};
use crate::store::lease::claim::ClaimFrom;

/// Takes a scene for this server, whoever owns it. `address` must be this server's own. Waits until the lease of the
/// previous owner is over, unless that owner is silent already: before, both servers might answer ticks.
///
/// # Errors
/// Returns an error if servers here share no scenes, the address is another server's, or there is no such scene.
pub async fn take_over(
    registry: &Arc<SceneRegistry>,
    id: &str,
    address: &str,
) -> Result<NewOwner, Refused> {
    let membership = registry.membership().ok_or(NotHandedOver::NotShared)?;
    let own = membership.own().address.clone();
    if address != own {
        return Err(NotHandedOver::OfAnother { got: address.to_owned(), expected: own }.into());
    }
    info!(scene = id, "to be taken over from whoever has it");
    registry.open_from(id, ClaimFrom::Anyone).await?;
    let host = registry.served(id)?;
    let epoch = host.lease().map_or(0, |lease| lease.epoch());
    Ok(NewOwner { address: Some(own), epoch })
}
