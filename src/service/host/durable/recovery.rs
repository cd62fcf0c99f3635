//! Reads the scenes of the last server at the start of this one.

use std::{
    cell::Cell,
    io,
    sync::{Arc, atomic::Ordering::Relaxed},
};

use tracing::{error, info, warn};

use super::{not_kept::NotKept, scene_journal::SceneJournal};
use crate::service::host::{
    cluster::scene_lease::{NewOwner, SceneLease},
    field_build::BuildTerms,
    fields::Fields,
    quota::Share,
    scene_error::SceneRegistryError,
    scene_registry::{SceneHost, SceneRegistry},
};
use crate::{
    geometry::MeshData,
    scene::{Scene, saved::SavedScene},
    service::{access::caller::Caller, catch_panic::catch_panic, clock::now_ns, refused::Refused},
    store::scenes::{
        file_head::NewerFormat,
        folder::{FoundScene, Unreadable},
        scene_store::StoreError,
    },
};

/// Why a server cannot go on with what is on its disk.
#[derive(Debug, thiserror::Error)]
pub enum RecoveryError {
    /// Out of reach.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Of a later version.
    #[error(transparent)]
    Newer(#[from] NewerFormat),
    /// The folder cannot be read.
    #[error("the scenes on the disk cannot be listed: {0}")]
    List(#[from] io::Error),
}

/// Takes all scenes of the registry's store in; none where servers share it: each is taken in when it is asked for. One that cannot be read is refused by name, and its files stay.
///
/// # Errors
/// When files are of a later version: a server that went on could lose them.
pub fn recover(registry: &SceneRegistry, fields: &Fields) -> Result<(), RecoveryError> {
    let Some((store, commits)) = registry.keeping() else { return Ok(()) };
    if registry.membership().is_some() {
        return Ok(());
    }
    let started_ns = now_ns();
    let metrics = &registry.metrics().store;
    let ids = store.ids()?;
    for (at, id) in ids.iter().enumerate() {
        if registry.life().check_ending().is_err() {
            return Ok(());
        }
        let began_ns = now_ns();
        let folder = store.folder(id);
        // Before, so that whoever waits for a large one knows for what.
        let (number, of) = (at + 1, ids.len());
        match folder.bytes() {
            Ok(bytes) => info!(scene = id, number, of, bytes, "reading a scene"),
            Err(error) => {
                info!(scene = id, number, of, "reading a scene, its size unknown: {error}")
            }
        }
        let found = match folder.read() {
            Err(Unreadable::Newer(newer)) => return Err(newer.into()),
            found => found.map_err(|unreadable| unreadable.to_string()),
        };
        let recovered = found.and_then(|found| {
            for damage in &found.damage {
                metrics.damaged.fetch_add(1, Relaxed);
                error!(scene = id, "damaged on the disk: {damage}");
            }
            folder.keep_damaged(&found);
            let journal = SceneJournal::of_found(folder, &found, commits, None);
            let owner = found.kept.owner.clone();
            let scene = restored(registry, fields, id, found)?;
            let inserted = registry.insert_recovered(scene, owner, journal);
            inserted.map(drop).map_err(|error| error.to_string())
        });
        match recovered {
            Ok(()) => {
                let ms = (now_ns() - began_ns) / 1_000_000;
                info!(scene = id, ms, number, of, "scene recovered");
            }
            Err(reason) => {
                metrics.damaged.fetch_add(1, Relaxed);
                error!(scene = id, "cannot be read, and is refused until it is deleted: {reason}");
                registry.insert_unreadable(id.clone(), reason);
            }
        }
    }
    metrics.recovery_ns.store(now_ns() - started_ns, Relaxed);
    Ok(())
}

/// Takes a scene in that this server has claimed, or was handed over. One that cannot be read is refused by name from
/// now on.
///
/// # Errors
/// Why it is not served.
pub fn take_in(
    registry: &SceneRegistry,
    fields: &Fields,
    id: &str,
    lease: &Arc<SceneLease>,
) -> Result<(), SceneRegistryError> {
    let (store, commits) = registry.keeping().ok_or(SceneRegistryError::KeepsNone)?;
    let folder = store.folder(id);
    let failed = |error| SceneRegistryError::from(NotKept::Disk(Arc::new(error)));
    let unreadable = |reason: String| {
        registry.metrics().store.damaged.fetch_add(1, Relaxed);
        error!(scene = id, "cannot be read, and is refused until it is deleted: {reason}");
        registry.insert_unreadable(id.to_owned(), reason.clone());
        SceneRegistryError::Unreadable { id: id.to_owned(), reason }
    };
    let found = match folder.read() {
        Err(Unreadable::Io(error)) => return Err(failed(error)),
        found => found.map_err(|reason| unreadable(reason.to_string()))?,
    };
    for damage in &found.damage {
        registry.metrics().store.damaged.fetch_add(1, Relaxed);
        error!(scene = id, "damaged on the disk: {damage}");
    }
    folder.keep_damaged(&found);
    let journal = SceneJournal::of_taken(folder, &found, commits, lease).map_err(failed)?;
    let owner = found.kept.owner.clone();
    let scene = restored(registry, fields, id, found).map_err(|reason| {
        SceneRegistryError::Claims { id: id.to_owned(), source: io::Error::other(reason) }
    })?;
    let host = registry.insert_recovered(scene, owner, journal)?;
    // A renewal that looked at all claims before this scene was among them says nothing of this one.
    match lease.new_owner() {
        Ok(None) => host.set_passing(false),
        Ok(Some(owner)) => registry.forget(&host, owner),
        Err(source) => {
            registry.forget(&host, NewOwner { address: None, epoch: lease.epoch() });
            return Err(SceneRegistryError::Claims { id: id.to_owned(), source });
        }
    }
    Ok(())
}

/// Reads a scene again whose writer has failed for good, and lets that go on in its place.
///
/// # Errors
/// In words, when it cannot be read; it stays refused then.
pub fn revive(
    registry: &SceneRegistry,
    fields: &Fields,
    lost: &Arc<SceneHost>,
) -> Result<(), String> {
    let Some(((store, commits), journal)) = registry.keeping().zip(lost.journal()) else {
        return Ok(());
    };
    // What is under way comes to its end, and nothing comes after.
    let _turn = SceneJournal::turn_blocking(Some(journal));
    if !journal.close() {
        return Ok(());
    }
    let id = lost.scene.id();
    let folder = store.folder(id);
    let found = folder.read().map_err(|unreadable| unreadable.to_string())?;
    folder.keep_damaged(&found);
    let journal = SceneJournal::of_found(folder, &found, commits, lost.lease().cloned());
    let scene = restored(registry, fields, id, found)?;
    registry.replace(lost, scene, journal).map_err(|error| error.to_string())?;
    warn!(scene = id, "read from the disk again and served");
    Ok(())
}

fn restored(
    registry: &SceneRegistry,
    fields: &Fields,
    id: &str,
    found: FoundScene,
) -> Result<Scene, String> {
    let saved = found.kept.scene;
    if saved.id != id {
        return Err(format!("its files are those of scene {:?}", saved.id));
    }
    let reserve = |more| registry.reserve(&Caller::ANYBODY, more);
    // Until they count with the process.
    let _room = reserve(share(&saved)).map_err(|refused| refused.to_string())?;
    let check = || Ok(registry.life().check_ending()?);
    let terms = BuildTerms { check: &check, reserve: &reserve, time_max: fields.build_max() };
    let (links, number) = (saved.tools.iter().map(|t| t.links.len()).sum::<usize>(), Cell::new(0));
    let made = catch_panic(|| {
        Scene::restored(saved, registry.limits().clone(), now_ns(), |label, surface, options| {
            number.set(number.get() + 1);
            let n = number.get();
            info!(scene = id, link = label, number = n, of = links, "a field, kept or to be built");
            Ok::<_, Refused>(fields.obtain(label, surface, options, &terms)?.field)
        })
    });
    made.map_err(|panicked| panicked.to_string())?.map_err(|refused| refused.message().to_owned())
}

fn share(saved: &SavedScene) -> Share {
    let mut all = Share::default();
    let size = |mesh: &MeshData| (mesh.positions.len() as u64, mesh.triangles.len() as u64);
    for (vertices, triangles) in saved.tissues.iter().map(|t| size(&t.mesh)) {
        all.add(Share::of_tissue(vertices, triangles));
    }
    for (vertices, triangles) in saved.tools.iter().flat_map(|t| &t.links).map(|l| size(&l.mesh)) {
        all.add(Share::of_link(vertices, triangles));
    }
    all
}
