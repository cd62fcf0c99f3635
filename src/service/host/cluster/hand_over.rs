//! Gives scenes up in good order: to a server that was named, or to whoever is asked for them next.

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
    scene_life::Ended,
    scene_registry::{SceneHost, SceneRegistry},
};
use crate::store::lease::claim::ClaimHolder;

/// Why a scene was not handed over. It is served here as before, unless it is another's already, or may be: then it is
/// nobody's until its claim is put again.
#[derive(Debug, thiserror::Error)]
pub enum NotHandedOver {
    /// Servers here do not share scenes.
    #[error("scenes of this server cannot move, expected one with cluster.shared = true")]
    NotShared,
    /// It would be gone with this server.
    #[error("scene {id:?} is not durable, expected one that is on the disk")]
    NotDurable {
        /// The scene.
        id: String,
    },
    /// Nobody has that address.
    #[error("no server of this folder has the address {got:?}, expected one of {expected:?}")]
    NoSuchServer {
        /// Asked for.
        got: String,
        /// Of those that are there.
        expected: Vec<String>,
    },
    /// Another server would have to take it.
    #[error(
        "to_address is {got:?}, expected {expected:?}: who takes a scene over is the server that is asked"
    )]
    OfAnother {
        /// Asked for.
        got: String,
        /// This server's.
        expected: String,
    },
    /// It cannot be kept first.
    #[error(transparent)]
    NotKept(#[from] NotKept),
    /// It is not served.
    #[error(transparent)]
    Ended(#[from] Ended),
    /// The claims are out of reach.
    #[error("the claims of scene {id:?} cannot be written: {source}")]
    Claims {
        /// The scene.
        id: String,
        /// Why.
        source: io::Error,
    },
}

/// Hands a scene over to the server at `address`. Its streams here end, and name the new owner. Waits for the disk.
///
/// # Errors
/// Why not.
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
    // While it is served: what is left to read for the next owner is little then.
    journal.keep_snapshot(|| host.scene.saved())?;
    give_up(registry, host, Some(to))
}

/// Gives all scenes up, and leaves: whoever is asked for one of them takes it at once. Waits for the disk, and begins with
/// no scene once `at_most` has passed: what is left is this server's until its lease runs out.
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
    // One that waits for a store out of reach takes seconds, and is not in the way of the others.
    let at_once = registry.keeping().map_or(1, |(_, commits)| commits.at_once());
    thread::scope(|scope| {
        for _ in 1..at_once.min(hosts.len()) {
            // An error: the system has no thread, and the others have more to do.
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
    // What is under way comes to its end, and nothing comes after.
    let _turn = SceneJournal::turn_blocking(Some(journal));
    // Before the newest positions are kept: a deformation that was answered was made before, and is among them.
    host.set_passing(true);
    if let Err(reason) = keep_positions(host, journal) {
        error!(scene = host.scene.id(), "its newest positions are lost: {reason}");
    }
    // What failed here is not for the next owner to find.
    if let Err(reason) = journal.settle() {
        error!(scene = host.scene.id(), "changes that failed may be found as made: {reason}");
    }
    let id = host.scene.id();
    let given = lease.give_up(to);
    let owner = given.map_err(|source| {
        // The lease itself answers no more where it is not known whether the claim is there.
        host.set_passing(false);
        NotHandedOver::Claims { id: id.to_owned(), source }
    })?;
    registry.forget(host, owner.clone());
    registry.metrics().cluster.given.fetch_add(1, Relaxed);
    info!(scene = id, "given up: it {owner}");
    Ok(owner)
}
