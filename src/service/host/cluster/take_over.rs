//! Takes a scene from an owner that hangs, by an admin's call.

use std::sync::Arc;

use tracing::info;

use super::{hand_over::NotHandedOver, scene_lease::NewOwner};
use crate::service::{host::scene_registry::SceneRegistry, refused::Refused};
use crate::store::lease::claim::ClaimFrom;

/// Takes a scene whoever has it, for this server, whose own address is said to be `address`. Waits until the lease of the
/// owner before is over, if that is not silent already: before, both might answer ticks.
///
/// # Errors
/// When servers here share no scenes, the address is another's, or there is no such scene.
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
