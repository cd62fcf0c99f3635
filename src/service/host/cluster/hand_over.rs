//! Gives scenes up in good order: to a named server, or to the server that is asked for them next.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    thread,
    time::{Duration, Instant},
};

use tracing::{error, info, warn};

use super::{membership::Membership, scene_lease::NewOwner};
use crate::service::host::{
    durable::{not_kept::NotKept, scene_journal::SceneJournal, scene_keeper::keep_positions},
    scene_host::SceneHost,
    scene_life::Ended,
    scene_registry::SceneRegistry,
    scene_state::SceneEvent,
};
use crate::store::lease::claim::ClaimHolder;

/// Reason why a scene was not handed over. This server serves the scene as before, unless another server owns it
/// already, or may own it: then nobody owns it until its claim is put again.
#[derive(Debug, thiserror::Error)]
pub enum NotHandedOver {
    /// Servers here do not share scenes.
    #[error("scenes of this server cannot move, expected one with cluster.shared = true")]
    NotShared,
    /// The scene would be gone with this server.
    #[error("scene {id:?} is not durable, expected one that is on the disk")]
    NotDurable {
        /// Scene id.
        id: String,
    },
    /// No server has that address.
    #[error("no server of this folder has the address {got:?}, expected one of {expected:?}")]
    NoSuchServer {
        /// Requested address.
        got: String,
        /// Addresses of the servers that are there.
        expected: Vec<String>,
    },
    /// Another server would have to take the scene over.
    #[error(
        "to_address is {got:?}, expected {expected:?}: who takes a scene over is the server that is asked"
    )]
    OfAnother {
        /// Requested address.
        got: String,
        /// Address of this server.
        expected: String,
    },
    /// The scene cannot be persisted first.
    #[error(transparent)]
    NotKept(#[from] NotKept),
    /// The scene is not served.
    #[error(transparent)]
    Ended(#[from] Ended),
    /// The claims cannot be written.
    #[error("the claims of scene {id:?} cannot be written: {source}")]
    Claims {
        /// Scene id.
        id: String,
        /// Cause.
        source: io::Error,
    },
}

/// Hands a scene over to the server at `address`. Its streams here end, and name the new owner. Waits for the disk.
///
/// # Errors
/// Returns the reason if the scene is not handed over.
pub fn hand_over(
    registry: &SceneRegistry,
    host: &Arc<SceneHost>,
    address: &str,
) -> Result<NewOwner, NotHandedOver> {
    let membership = registry.membership().ok_or(NotHandedOver::NotShared)?;
    let id = host.scene.id().to_owned();
    if membership.own().address == address {
        let epoch = host.lease().map_or(0, |lease| lease.epoch());
        return Ok(NewOwner { address: Some(address.to_owned()), epoch });
    }
    let journal = host.journal().ok_or(NotHandedOver::NotDurable { id: id.clone() })?;
    let others = membership.others();
    let others = others.map_err(|source| NotHandedOver::Claims { id: id.clone(), source })?;
    let Some(to) = others.iter().find(|server| server.address == address) else {
        let expected = others.into_iter().map(|server| server.address).collect();
        return Err(NotHandedOver::NoSuchServer { got: address.to_owned(), expected });
    };
    // Done while the scene is served: little is then left for the next owner to read.
    journal.keep_snapshot(|| host.scene.saved())?;
    give_up(registry, host, Some(to))
}

/// Gives all scenes up, and leaves: a server that is asked for one of them takes it at once. Waits for the disk, and
/// starts with no further scene once `at_most` has passed: this server owns the rest until its lease expires.
pub fn leave(registry: &SceneRegistry, membership: &Membership, at_most: Duration) {
    let until = Instant::now() + at_most;
    let mut hosts = registry.all();
    hosts.retain(|host| host.lease().is_some());
    let next = AtomicUsize::new(0);
    let work = || {
        while Instant::now() < until
            && let Some(host) = hosts.get(next.fetch_add(1, Relaxed))
        {
            if let Err(reason) = give_up(registry, host, None) {
                error!(scene = host.scene.id(), "is not given up, and runs out: {reason}");
            }
        }
    };
    // A scene that waits for an unreachable store takes seconds, and must not delay the others.
    let at_once = registry.keeping().map_or(1, |(_, commits)| commits.at_once());
    thread::scope(|scope| {
        for _ in 1..at_once.min(hosts.len()) {
            // An error means that the system has no thread; the other threads then do more.
            let _ = thread::Builder::new().name("leave".to_owned()).spawn_scoped(scope, work);
        }
        work();
    });
    let n_left = hosts.len().saturating_sub(next.load(Relaxed));
    if n_left > 0 {
        warn!("{n_left} scenes are not given up within {at_most:?}, and run out");
    }
    if let Err(reason) = membership.leave() {
        error!("this server's sign of life stays: {reason}");
    }
}

fn give_up(
    registry: &SceneRegistry,
    host: &Arc<SceneHost>,
    to: Option<&ClaimHolder>,
) -> Result<NewOwner, NotHandedOver> {
    let (Some(lease), Some(journal)) = (host.lease(), host.journal()) else {
        return Err(NotHandedOver::NotDurable { id: host.scene.id().to_owned() });
    };
    if journal.is_gone()
        && let Err(reason) = journal.keep_snapshot(|| host.scene.saved())
    {
        error!(scene = host.scene.id(), "what its lost journal had is lost: {reason}");
    }
    // Changes under way complete, and none follows.
    let _turn = SceneJournal::turn_blocking(Some(journal));
    // Set before the newest positions are kept: an answered deformation was applied before, and is among them.
    host.note(&SceneEvent::Leaving);
    if let Err(reason) = keep_positions(host, journal) {
        error!(scene = host.scene.id(), "its newest positions are lost: {reason}");
    }
    // The next owner must not find changes that failed here.
    if let Err(reason) = journal.settle() {
        error!(scene = host.scene.id(), "changes that failed may be found as made: {reason}");
    }
    let id = host.scene.id();
    let given = lease.give_up(to);
    let owner = given.map_err(|source| {
        // The lease itself stops answering if it is unknown whether the claim is stored.
        host.note(&SceneEvent::Kept);
        NotHandedOver::Claims { id: id.to_owned(), source }
    })?;
    registry.forget(host, owner.clone());
    registry.metrics().cluster.given.fetch_add(1, Relaxed);
    info!(scene = id, "given up: it {owner}");
    Ok(owner)
}
