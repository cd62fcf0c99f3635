//! Reads the scenes of the last server at the start of this one.

use std::{
    io,
    sync::{Arc, atomic::Ordering::Relaxed},
};

use tracing::{error, info, warn};

use super::scene_journal::SceneJournal;
use crate::service::host::{
    field_build::BuildTerms,
    fields::Fields,
    quota::Share,
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

/// Takes all scenes of the registry's store in. One that cannot be read is refused by name, and its files stay.
///
/// # Errors
/// When files are of a later version: a server that went on could lose them.
pub fn recover(registry: &SceneRegistry, fields: &Fields) -> Result<(), RecoveryError> {
    let Some((store, commits)) = registry.keeping() else { return Ok(()) };
    let started_ns = now_ns();
    let metrics = &registry.metrics().store;
    let ids = store.ids()?;
    for (at, id) in ids.iter().enumerate() {
        if registry.life().check_ending().is_err() {
            return Ok(());
        }
        let began_ns = now_ns();
        let folder = store.folder(id);
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
            let journal = SceneJournal::of_found(folder, &found, commits);
            let owner = found.kept.owner.clone();
            let scene = restored(registry, fields, id, found)?;
            registry.insert_recovered(scene, owner, journal).map_err(|error| error.to_string())
        });
        match recovered {
            Ok(()) => {
                let (ms, of) = ((now_ns() - began_ns) / 1_000_000, ids.len());
                info!(scene = id, ms, number = at + 1, of, "scene recovered");
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
    let journal = SceneJournal::of_found(folder, &found, commits);
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
    let made = catch_panic(|| {
        Scene::restored(saved, registry.limits().clone(), now_ns(), |label, surface, options| {
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
