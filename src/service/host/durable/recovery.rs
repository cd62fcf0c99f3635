//! Reads scenes from their files: those of the last server at the start of this one, and one by one later on.

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
    scene_error::{NotLoaded, SceneRegistryError},
    scene_life::Ended,
    scene_registry::{SceneHost, SceneRegistry},
    unread_scenes::ReadAgain,
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

/// After a scene could not be read for lack of room or time: to read a large one takes seconds, and whoever asks for it may
/// ask often.
const AGAIN_AFTER_NS: u64 = 5_000_000_000;

/// Takes all scenes of the registry's store in; none where servers share it: each is taken in when it is asked for. One
/// that cannot be read is refused by name, and its files stay; one that there is no room or no time for is refused until
/// it is asked for and there is.
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
            }
            // All that are left would lack the same.
            Err(_) if registry.life().check_ending().is_err() => return Ok(()),
            Err(why) => refuse(registry, id, why, now_ns()),
        }
    }
    metrics.recovery_ns.store(now_ns() - started_ns, Relaxed);
    Ok(())
}

/// Tries again to take a scene in that there was no room or no time for, where that is due at `asked_ns`. Whether it is
/// here then is for the look-up to say.
pub fn load_again(registry: &SceneRegistry, fields: &Fields, id: &str, asked_ns: u64) {
    let Some((store, commits)) = registry.keeping() else { return };
    if !registry.unread().is_due(id, asked_ns) {
        return;
    }
    let folder = store.folder(id);
    let found = folder.read().map_err(NotLoaded::from);
    let journal_of = |found: &_| Ok(SceneJournal::of_found(folder.clone(), found, commits, None));
    match found.and_then(|found| load(registry, fields, (id, &folder), found, journal_of)) {
        Ok(_) => info!(scene = id, "there is room and time for it now: it is served"),
        // Those who waited meanwhile do not try at once again what may have taken minutes.
        Err(why) => refuse(registry, id, why, now_ns()),
    }
}

/// Refuses a scene that was not taken in at `now_ns`, by name.
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
    registry.unread().insert(id, why, again);
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

/// Makes a scene of its files, and takes it in.
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

/// Takes a scene in that this server has claimed, or was handed over. One that cannot be read is refused by name until
/// another has taken it.
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
    let journal_of = |found: &_| SceneJournal::of_taken(folder.clone(), found, commits, lease);
    // Owners before this one may still be about to remove what newer files of theirs have made needless.
    let found = folder.read_live().map_err(NotLoaded::from);
    check_newest(id, lease)?;
    let host = found
        .and_then(|found| load(registry, fields, (id, &folder), found, journal_of))
        .map_err(|why| {
            match &why {
                // There is nothing to remember of it: whoever asks next has it claimed and read anew.
                NotLoaded::Refused(_) => note_not_loaded(id, &why),
                NotLoaded::Unreadable(reason) => {
                    note_unreadable(registry, id, reason);
                    // An error: nobody knows more.
                    let again = if folder.has_nothing().unwrap_or(true) {
                        // Away for a moment, as far as anybody knows.
                        ReadAgain::From(now_ns() + AGAIN_AFTER_NS)
                    } else {
                        // With the next epoch it is given up; who takes it after that may read it.
                        ReadAgain::AfterClaim(lease.epoch() + 1)
                    };
                    registry.unread().insert(id, why.clone(), again);
                }
            }
            why.of(id)
        })?;
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

/// Between the look at a scene's files and the first that is written for it: whether its newest claim is this server's. A
/// server that was stopped until others had claimed the scene may have read what they have written since.
///
/// # Errors
/// Names the owner, or says that the claims cannot be read.
fn check_newest(id: &str, lease: &SceneLease) -> Result<(), SceneRegistryError> {
    let id = id.to_owned();
    match lease.new_owner() {
        Ok(None) => Ok(()),
        Ok(Some(owner)) => Err(Ended::Elsewhere { id, owner }.into()),
        Err(source) => Err(SceneRegistryError::Claims { id, source }),
    }
}

/// Reads a scene again whose writer has failed for good, and lets that go on in its place.
///
/// # Errors
/// Why it stays refused: for good when it cannot be read, else until that is tried again.
pub fn revive(
    registry: &SceneRegistry,
    fields: &Fields,
    lost: &Arc<SceneHost>,
) -> Result<(), NotLoaded> {
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
        // Its journal stays closed meanwhile: nothing is kept of what cannot be rebuilt.
        Err(NotLoaded::Refused(_)) => lost.set_lost(now_ns() + AGAIN_AFTER_NS),
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
    // Until they count with the process.
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
