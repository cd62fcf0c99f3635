//! The thread for work that no caller waits for: it persists newest positions and snapshots, and continues removals.

use std::{
    io,
    sync::{Arc, atomic::Ordering::Relaxed},
    thread::{self, JoinHandle},
    time::Duration,
};

use crossbeam::channel::{Receiver, RecvTimeoutError, Sender, bounded};
use tracing::{error, info, warn};

use super::{
    not_kept::NotKept,
    recovery::revive,
    scene_journal::{HandedIn, SceneJournal},
};
use crate::os::thread_priority::lower_priority;
use crate::service::host::{
    fields::Fields, scene_host::SceneHost, scene_registry::SceneRegistry, scene_state::SceneEvent,
};
use crate::{
    config::StoreSettings,
    scene::Tissue,
    service::{catch_panic::catch_panic, clock::now_ns, metrics::store::StoreMetrics},
};

/// Handle of the thread. Dropping it ends the thread, which first persists the newest positions of all scenes.
pub struct SceneKeeper {
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// Once something cannot be persisted, the last round starts with no other scene after this long: a store out of reach
/// takes seconds to be detected for each scene, and the server must end.
const LAST_FAILING_MAX: Duration = Duration::from_secs(10);

impl SceneKeeper {
    /// Starts the thread.
    ///
    /// # Errors
    /// Returns an error if the system has no thread.
    pub fn start(
        registry: &Arc<SceneRegistry>,
        fields: &Fields,
        settings: &StoreSettings,
    ) -> io::Result<SceneKeeper> {
        let (end, ended) = bounded(0);
        let (registry, fields, settings) = (Arc::clone(registry), fields.clone(), settings.clone());
        let thread = thread::Builder::new().name("keep scenes".to_owned()).spawn(move || {
            lower_priority();
            work(&ended, &registry, &fields, &settings);
        })?;
        Ok(SceneKeeper { end: Some(end), thread: Some(thread) })
    }
}

impl Drop for SceneKeeper {
    fn drop(&mut self) {
        drop(self.end.take());
        // Joined: the positions that it persists last are those found after the restart.
        self.thread.take().into_iter().for_each(|thread| drop(thread.join()));
    }
}

fn work(ended: &Receiver<()>, registry: &SceneRegistry, fields: &Fields, settings: &StoreSettings) {
    let metrics = &registry.metrics().store;
    let mut is_failing = false;
    let interval_ns = settings.positions_interval.as_nanos() as u64;
    metrics.due_ns.store(now_ns() + interval_ns, Relaxed);
    // Starts at once: a server that ends soon also writes the snapshots that earlier servers have made due.
    let mut pause = Duration::ZERO;
    loop {
        let is_last = ended.recv_timeout(pause) != Err(RecvTimeoutError::Timeout);
        pause = settings.positions_interval;
        let began_ns = now_ns();
        let mut failed = None;
        let at_once = registry.keeping().map_or(1, |(_, commits)| commits.at_once());
        for hosts in registry.all().chunks(at_once) {
            let took = Duration::from_nanos(now_ns() - began_ns);
            if is_last && failed.is_some() && took > LAST_FAILING_MAX {
                break;
            }
            let mut under_way = Vec::new();
            for host in hosts {
                registry.delete_again(host);
                let Some(journal) = host.journal() else { continue };
                if host.note(&SceneEvent::ReadAgain { now_ns: now_ns() })
                    && let Err(why) = revive(registry, fields, host)
                {
                    let id = host.scene.id();
                    error!(scene = id, "cannot be read from the disk either: {why}");
                }
                // A panic is in the log already, and the scene stays as it was on the disk.
                if let Ok(positions) = catch_panic(|| hand_in_positions(host, journal)) {
                    under_way.push((host, journal, positions));
                }
            }
            for (host, journal, positions) in under_way {
                let kept = catch_panic(|| {
                    let kept = positions.map_or(Ok(()), HandedIn::wait);
                    if journal.is_gone() {
                        keep_snapshot(host, journal, metrics)?;
                    } else {
                        kept?;
                    }
                    journal.settle()?;
                    let is_due = !is_last && journal.is_snapshot_due(settings);
                    if is_due { keep_snapshot(host, journal, metrics) } else { Ok(()) }
                });
                match kept {
                    Ok(Err(NotKept::Disk(error))) => failed = Some(error.to_string()),
                    Ok(Err(NotKept::Unknown(reason))) => failed = Some(reason),
                    _ => {}
                }
            }
        }
        match &failed {
            // Logged once, not each second.
            Some(error) if !is_failing => {
                warn!("positions and snapshots cannot be kept: {error}; they are tried again");
            }
            None if is_failing => info!("positions and snapshots are kept again"),
            _ => {}
        }
        is_failing = failed.is_some();
        if !is_failing {
            metrics.due_ns.store(began_ns + interval_ns, Relaxed);
        }
        if is_last {
            return;
        }
    }
}

/// Persists the newest positions of a scene if they are newer than those on the disk.
///
/// # Errors
/// Returns an error if the positions are not persisted.
pub fn keep_positions(host: &SceneHost, journal: &Arc<SceneJournal>) -> Result<(), NotKept> {
    hand_in_positions(host, journal).map_or(Ok(()), HandedIn::wait)
}

fn hand_in_positions(host: &SceneHost, journal: &Arc<SceneJournal>) -> Option<HandedIn> {
    let tissues = host.scene.tissues();
    let newer = |t: &&Arc<_>| is_newer(journal, t);
    let moved: Vec<_> = tissues.iter().filter(newer).map(|t| t.moved()).collect();
    (!moved.is_empty()).then(|| journal.keep_positions(moved))
}

fn is_newer(journal: &SceneJournal, tissue: &Tissue) -> bool {
    tissue.current().geometry_revision > journal.durable(tissue.id()).geometry
}

fn keep_snapshot(
    host: &SceneHost,
    journal: &Arc<SceneJournal>,
    metrics: &StoreMetrics,
) -> Result<(), NotKept> {
    let started_ns = now_ns();
    let kept = journal.keep_snapshot(|| host.scene.saved());
    let is_failure = matches!(kept, Err(NotKept::Disk(_)));
    metrics.snapshot_failures.fetch_add(u64::from(is_failure), Relaxed);
    kept?;
    let ms = (now_ns() - started_ns) / 1_000_000;
    info!(scene = host.scene.id(), ms, bytes = journal.last_snapshot().bytes, "snapshot kept");
    Ok(())
}
