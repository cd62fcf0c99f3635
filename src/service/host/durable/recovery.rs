//! Reads scenes from their files: all scenes of the last server at the start, and single scenes later on.

use std::{
    cell::Cell,
    io,
    sync::{Arc, atomic::Ordering::Relaxed},
};

use tracing::{error, info, warn};

use super::scene_journal::SceneJournal;
use crate::service::host::{
    cluster::scene_lease::{NewOwner, SceneLease},
    field_build::BuildTerms,
    fields::Fields,
    quota::Share,
    scene_entries::ReadAgain,
    scene_error::{NotLoaded, SceneRegistryError},
    scene_host::SceneHost,
    scene_life::Ended,
    scene_registry::SceneRegistry,
    scene_state::SceneEvent,
};
use crate::{
    geometry::MeshData,
    scene::{Scene, saved::SavedScene},
    service::{access::caller::Caller, catch_panic::catch_panic, clock::now_ns, refused::Refused},
    store::scenes::{
        file_head::NewerFormat,
        folder::{FoundScene, SceneFolder, Unreadable},
        scene_store::StoreError,
    },
};

/// Reason why a server cannot continue with the files on its disk.
#[derive(Debug, thiserror::Error)]
pub enum RecoveryError {
    /// The store is out of reach.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The files are of a later version.
    #[error(transparent)]
    Newer(#[from] NewerFormat),
    /// The folder cannot be read.
    #[error("the scenes on the disk cannot be listed: {0}")]
    List(#[from] io::Error),
}

/// Wait before a scene is read again that could not be read for lack of room or time: a large scene takes seconds to
/// read, and clients may ask for it often.
const AGAIN_AFTER_NS: u64 = 5_000_000_000;

/// Takes in all scenes of the registry's store. Does nothing if servers share the store: each scene is taken in when a
/// client asks for it. A scene that cannot be read is refused by name, and its files stay; a scene without room or time
/// is refused until a client asks for it and there is room and time.
///
/// # Errors
/// Returns an error if files are of a later version: a server that went on could lose them.
pub fn recover(registry: &SceneRegistry, fields: &Fields) -> Result<(), RecoveryError> {
    let Some((store, commits)) = registry.keeping() else { return Ok(()) };
    if registry.membership().is_some() {
        return Ok(());
    }
    let started_ns = now_ns();
    let metrics = &registry.metrics().store;
    let ids = store.ids()?;
    let mut recovered = Vec::new();
    for (at, id) in ids.iter().enumerate() {
        if registry.life().check_ending().is_err() {
            return Ok(());
        }
        let began_ns = now_ns();
        let folder = store.folder(id);
        // Logged before the read, so that whoever waits for a large scene knows the reason.
        let (number, of) = (at + 1, ids.len());
        match folder.bytes() {
            Ok(bytes) => info!(scene = id, number, of, bytes, "reading a scene"),
            Err(error) => {
                info!(scene = id, number, of, "reading a scene, its size unknown: {error}")
            }
        }
        let found = match folder.read() {
            Err(Unreadable::Newer(newer)) => return Err(newer.into()),
            found => found.map_err(NotLoaded::from),
        };
        let journal_of =
            |found: &_| Ok(SceneJournal::of_found(folder.clone(), found, commits, None));
        let loaded =
            found.and_then(|found| load(registry, fields, (id, &folder), found, journal_of));
        match loaded {
            Ok(_) => {
                let ms = (now_ns() - began_ns) / 1_000_000;
                info!(scene = id, ms, number, of, "scene recovered");
                recovered.push(id.as_str());
            }
            // All remaining scenes would fail for the same reason.
            Err(_) if registry.life().check_ending().is_err() => return Ok(()),
            Err(why) => refuse(registry, id, why, now_ns()),
        }
    }
    metrics.recovery_ns.store(now_ns() - started_ns, Relaxed);
    info!("scenes kept from before: {}", number_and_names(&recovered));
    Ok(())
}

/// Maximum names in the log line about all scenes.
const NAMED_MAX: usize = 10;

/// Returns the number of scenes and the names of the first of them.
fn number_and_names(ids: &[&str]) -> String {
    let (n, names) = (ids.len(), ids[..ids.len().min(NAMED_MAX)].join(", "));
    match n {
        0 => "none".to_owned(),
        1..=NAMED_MAX => format!("{n} ({names})"),
        _ => format!("{n} ({names} and {} more)", n - NAMED_MAX),
    }
}

/// Tries again to take in a scene that there was no room or no time for, if that is due at `asked_ns`. The later
/// look-up reports whether the scene is here.
pub fn load_again(registry: &SceneRegistry, fields: &Fields, id: &str, asked_ns: u64) {
    let Some((store, commits)) = registry.keeping() else { return };
    if !registry.entries().is_due(id, asked_ns) {
        return;
    }
    let folder = store.folder(id);
    let found = folder.read().map_err(NotLoaded::from);
    let journal_of = |found: &_| Ok(SceneJournal::of_found(folder.clone(), found, commits, None));
    match found.and_then(|found| load(registry, fields, (id, &folder), found, journal_of)) {
        Ok(_) => info!(scene = id, "there is room and time for it now: it is served"),
        // Callers that waited meanwhile do not at once repeat a read that may have taken minutes.
        Err(why) => refuse(registry, id, why, now_ns()),
    }
}

/// Refuses by name a scene that was not taken in at `now_ns`.
fn refuse(registry: &SceneRegistry, id: &str, why: NotLoaded, now_ns: u64) {
    let again = match &why {
        NotLoaded::Unreadable(reason) => {
            note_unreadable(registry, id, reason);
            ReadAgain::Never
        }
        NotLoaded::Refused(_) => {
            note_not_loaded(id, &why);
            ReadAgain::From(now_ns + AGAIN_AFTER_NS)
        }
    };
    registry.entries_mut().refuse(id, why, again);
}

fn note_not_loaded(id: &str, why: &NotLoaded) {
    error!(scene = id, "is not loaded, which is tried again when it is asked for: {why}");
}

fn note_unreadable(registry: &SceneRegistry, id: &str, reason: &str) {
    registry.metrics().store.damaged.fetch_add(1, Relaxed);
    error!(
        scene = id,
        "cannot be read, and is refused until its files are back or it is deleted: {reason}"
    );
}

/// Creates a scene from its files, and takes it in.
fn load(
    registry: &SceneRegistry,
    fields: &Fields,
    (id, folder): (&str, &SceneFolder),
    found: FoundScene,
    journal_of: impl FnOnce(&FoundScene) -> io::Result<SceneJournal>,
) -> Result<Arc<SceneHost>, NotLoaded> {
    for damage in &found.damage {
        registry.metrics().store.damaged.fetch_add(1, Relaxed);
        error!(scene = id, "damaged on the disk: {damage}");
    }
    folder.keep_damaged(&found);
    let journal = journal_of(&found).map_err(Unreadable::Io)?;
    let owner = found.kept.owner.clone();
    let scene = restored(registry, fields, id, found)?;
    Ok(registry.insert_recovered(scene, owner, journal).map_err(Refused::from)?)
}

/// Takes in a scene that this server has claimed, or was handed over. A scene that cannot be read is refused by name
/// until another server has taken it.
///
/// # Errors
/// Returns the reason why the scene is not served.
pub fn take_in(
    registry: &SceneRegistry,
    fields: &Fields,
    id: &str,
    lease: &Arc<SceneLease>,
) -> Result<(), SceneRegistryError> {
    let (store, commits) = registry.keeping().ok_or(SceneRegistryError::KeepsNone)?;
    let folder = store.folder(id);
    let journal_of = |found: &_| SceneJournal::of_taken(folder.clone(), found, commits, lease);
    // Earlier owners may still be about to remove files that newer files of theirs have made redundant.
    let found = folder.read_live().map_err(NotLoaded::from);
    check_newest(id, lease)?;
    let host = found
        .and_then(|found| load(registry, fields, (id, &folder), found, journal_of))
        .map_err(|why| {
            match &why {
                // Nothing is remembered: the next caller has the scene claimed and read again.
                NotLoaded::Refused(_) => note_not_loaded(id, &why),
                NotLoaded::Unreadable(reason) => {
                    note_unreadable(registry, id, reason);
                    // On an error the folder counts as empty: nothing more is known.
                    let again = if folder.has_nothing().unwrap_or(true) {
                        // The files may be away for a moment only.
                        ReadAgain::From(now_ns() + AGAIN_AFTER_NS)
                    } else {
                        // The scene is given up with the next epoch; the server that takes it after that may be able to
                        // read it.
                        ReadAgain::AfterClaim(lease.epoch() + 1)
                    };
                    registry.entries_mut().refuse(id, why.clone(), again);
                }
            }
            why.of(id)
        })?;
    // A renewal that read all claims before this scene was among them says nothing about this scene.
    match lease.new_owner() {
        Ok(None) => drop(host.note(&SceneEvent::Claimed)),
        Ok(Some(owner)) => registry.forget(&host, owner),
        Err(source) => {
            registry.forget(&host, NewOwner { address: None, epoch: lease.epoch() });
            return Err(SceneRegistryError::Claims { id: id.to_owned(), source });
        }
    }
    Ok(())
}

/// Checks, between the read of a scene's files and the first file written for it, that its newest claim is this
/// server's. A server that was stopped until others had claimed the scene may have read what they have written since.
///
/// # Errors
/// Names the owner, or reports that the claims cannot be read.
fn check_newest(id: &str, lease: &SceneLease) -> Result<(), SceneRegistryError> {
    let id = id.to_owned();
    match lease.new_owner() {
        Ok(None) => Ok(()),
        Ok(Some(owner)) => Err(Ended::Elsewhere { id, owner }.into()),
        Err(source) => Err(SceneRegistryError::Claims { id, source }),
    }
}

/// Reads a scene again whose writer has failed for good, and puts it in place of the failed one.
///
/// # Errors
/// Returns the reason why the scene stays refused: for good if it cannot be read, else until the next attempt.
pub fn revive(
    registry: &SceneRegistry,
    fields: &Fields,
    lost: &Arc<SceneHost>,
) -> Result<(), NotLoaded> {
    let Some(((store, commits), journal)) = registry.keeping().zip(lost.journal()) else {
        return Ok(());
    };
    // Changes under way complete, and none follows.
    let _turn = SceneJournal::turn_blocking(Some(journal));
    if !journal.close() {
        return Ok(());
    }
    let id = lost.scene.id();
    let folder = store.folder(id);
    let read_again = || {
        let found = folder.read_live()?;
        lost.lease().map_or(Ok(()), |lease| check_newest(id, lease)).map_err(Refused::from)?;
        folder.keep_damaged(&found);
        let journal = SceneJournal::of_found(folder, &found, commits, lost.lease().cloned());
        let scene = restored(registry, fields, id, found)?;
        Ok(registry.replace(lost, scene, journal).map_err(Refused::from)?)
    };
    let revived = read_again();
    match &revived {
        Ok(()) => warn!(scene = id, "read from the disk again and served"),
        // Its journal stays closed meanwhile: nothing is persisted of a scene that cannot be rebuilt.
        Err(NotLoaded::Refused(_)) => {
            lost.note(&SceneEvent::Lost { due_ns: now_ns() + AGAIN_AFTER_NS });
        }
        Err(NotLoaded::Unreadable(_)) => {}
    }
    revived
}

fn restored(
    registry: &SceneRegistry,
    fields: &Fields,
    id: &str,
    found: FoundScene,
) -> Result<Scene, NotLoaded> {
    let saved = found.kept.scene;
    if saved.id != id {
        let reason = format!("its files are those of scene {:?}, expected {id:?}", saved.id);
        return Err(NotLoaded::Unreadable(reason));
    }
    let reserve = |more| registry.reserve(&Caller::ANYBODY, more);
    // Held until the meshes count with the process's memory.
    let _room = reserve(share(&saved)).map_err(Refused::from)?;
    let check = || Ok(registry.life().check_ending()?);
    let terms = BuildTerms {
        check: &check,
        reserve: &reserve,
        time_max: fields.build_max(),
        told: &|_, _| (),
    };
    let (links, number) = (saved.tools.iter().map(|t| t.links.len()).sum::<usize>(), Cell::new(0));
    let made = catch_panic(|| {
        Scene::restored(saved, registry.limits().clone(), now_ns(), |label, surface, options| {
            number.set(number.get() + 1);
            let n = number.get();
            info!(scene = id, link = label, number = n, of = links, "a field, kept or to be built");
            Ok::<_, NotLoaded>(fields.obtain(label, surface, options, &terms)?.field)
        })
    });
    made.map_err(Refused::from)?
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

#[cfg(test)]
mod tests;
