//! The thread that renews this server's leases and detects scenes that another server has taken.

use std::{
    io,
    sync::{Arc, atomic::Ordering::Relaxed},
    thread::{self, JoinHandle},
};

use crossbeam::channel::{RecvTimeoutError, Sender, bounded};
use tracing::{error, info, warn};

use super::membership::Membership;
use crate::service::host::scene_registry::SceneRegistry;

/// Handle of the renewal thread; dropping it ends the thread.
pub struct LeaseRenewal {
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl LeaseRenewal {
    /// Starts the thread.
    ///
    /// # Errors
    /// Returns an error if the system has no thread.
    pub fn start(
        registry: &Arc<SceneRegistry>,
        membership: &Arc<Membership>,
    ) -> io::Result<LeaseRenewal> {
        let (end, ended) = bounded::<()>(0);
        let (registry, membership) = (Arc::clone(registry), Arc::clone(membership));
        let work = move || {
            let mut is_failing = false;
            let interval = membership.term().beat_interval();
            while ended.recv_timeout(interval) == Err(RecvTimeoutError::Timeout) {
                let renewed = renew(&registry, &membership);
                match &renewed {
                    // Logged once, not at each failure.
                    Err(error) if !is_failing => {
                        warn!(
                            "leases cannot be renewed: {error}; scenes are refused when they end"
                        );
                    }
                    Ok(()) if is_failing => info!("leases are renewed again"),
                    _ => {}
                }
                is_failing = renewed.is_err();
                let failed = &registry.metrics().cluster.renewals_failed;
                failed.fetch_add(u64::from(is_failing), Relaxed);
            }
        };
        let thread = thread::Builder::new().name("leases".to_owned()).spawn(work)?;
        Ok(LeaseRenewal { end: Some(end), thread: Some(thread) })
    }
}

impl Drop for LeaseRenewal {
    fn drop(&mut self) {
        drop(self.end.take());
        self.thread.take().into_iter().for_each(|thread| drop(thread.join()));
    }
}

/// Sends a heartbeat, then reads each claim: a server that claims a scene later sees the heartbeat, and waits.
pub(super) fn renew(registry: &SceneRegistry, membership: &Membership) -> io::Result<()> {
    if membership.has_left() {
        return Ok(());
    }
    let basis_ns = membership.beat()?;
    let mut hosts = registry.all();
    hosts.retain(|host| host.lease().is_some());
    let ids: Vec<String> = hosts.iter().map(|host| host.scene.id().to_owned()).collect();
    // Read together: over a network, single reads one after the other would take longer than the lease.
    let epochs = membership.newest_epochs(&ids)?;
    for (host, newest) in hosts.iter().zip(epochs) {
        let Some(lease) = host.lease() else { continue };
        let is_own = newest == Some(lease.epoch());
        let owner = if is_own { Ok(None) } else { lease.new_owner() };
        // A damaged claim affects one scene only: the leases of the others are renewed.
        let is_new = lease.set_doubtful(owner.is_err());
        match owner {
            Err(reason) if is_new => {
                let id = host.scene.id();
                error!(scene = id, "is refused until its newest claim can be read: {reason}");
            }
            Ok(Some(owner)) => {
                let id = host.scene.id();
                warn!(scene = id, "the scene {owner}; this server was too late for it");
                registry.metrics().cluster.fenced.fetch_add(1, Relaxed);
                registry.forget(host, owner);
            }
            _ => {}
        }
    }
    membership.confirm(basis_ns);
    // Done after `confirm`, so that a store that does not answer here costs no other scene its lease.
    for host in &hosts {
        match host.lease().map(|lease| lease.end_again()) {
            Some(Ok(Some(owner))) => {
                info!(scene = host.scene.id(), "given up at last: it {owner}");
                registry.metrics().cluster.given.fetch_add(1, Relaxed);
                registry.forget(host, owner);
            }
            // Put again after the next heartbeat, and no other before: each wait is long, and the heartbeat is due.
            Some(Err(_)) => break,
            _ => {}
        }
    }
    membership.look_around()
}
