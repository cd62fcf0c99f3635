//! What each key has of the server, against what it may have.

use std::{collections::BTreeMap, sync::Arc};

use parking_lot::Mutex;

use crate::scene::Scene;
use crate::service::access::caller::Caller;

/// Triangles and bytes of meshes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// Triangles of tissues and links.
    pub triangles: u64,
    /// Of positions, triangles and fields.
    pub bytes: u64,
}

/// A corner's position, and a triangle's three indices.
const BYTES_EACH: u64 = 12;

/// More than a key may have.
#[derive(Debug, thiserror::Error)]
#[error("key {key:?} has {used} {what} and asks for {more} more, its quota is {max}")]
pub struct OverQuota {
    /// The key's name.
    pub key: String,
    /// "scenes", "triangles", "bytes" or "streams".
    pub what: &'static str,
    /// What it has.
    pub used: u64,
    /// What it would have as well.
    pub more: u64,
    /// The quota.
    pub max: u64,
}

impl Share {
    /// A mesh of so many vertices and triangles.
    pub fn of_mesh(vertices: u64, triangles: u64) -> Share {
        Share { triangles, bytes: BYTES_EACH * (vertices + triangles) }
    }

    /// All that a scene holds.
    pub fn of_scene(scene: &Scene) -> Share {
        let mut all = Share::default();
        for tissue in scene.tissues().iter() {
            let now = tissue.current();
            let mesh = now.surface.mesh();
            all.add(Share::of_mesh(mesh.positions().len() as u64, mesh.n_triangles() as u64));
        }
        for link in scene.tools().iter().flat_map(|tool| &tool.links) {
            let mesh = link.surface.mesh();
            all.add(Share::of_mesh(mesh.positions().len() as u64, mesh.n_triangles() as u64));
            all.bytes += link.field.report().bytes as u64;
        }
        all
    }

    /// Takes another in.
    pub fn add(&mut self, other: Share) {
        self.triangles = self.triangles.saturating_add(other.triangles);
        self.bytes = self.bytes.saturating_add(other.bytes);
    }
}

/// What uploads under way will add, by key.
#[derive(Default)]
pub struct Ledger {
    reserved: Mutex<BTreeMap<String, Share>>,
}

/// A place for an upload under way; given back when dropped.
pub struct Reservation {
    ledger: Arc<Ledger>,
    /// `None` for anybody.
    key: Option<String>,
    share: Share,
}

impl Ledger {
    /// Reserves `more` for a caller who has `used` already.
    ///
    /// # Errors
    /// When that is over a quota of its key.
    pub fn reserve(
        self: &Arc<Self>,
        caller: &Caller,
        used: Share,
        more: Share,
    ) -> Result<Reservation, OverQuota> {
        let ledger = Arc::clone(self);
        let Some(key) = caller.name() else {
            return Ok(Reservation { ledger, key: None, share: more });
        };
        let mut reserved = self.reserved.lock();
        let entry = reserved.entry(key.to_owned()).or_default();
        // What uploads under way will add counts as used: two at once must not share one room.
        let mut used = used;
        used.add(*entry);
        let quotas = caller.quotas();
        check(key, "triangles", used.triangles, more.triangles, quotas.triangles)?;
        check(key, "bytes", used.bytes, more.bytes, quotas.bytes)?;
        entry.add(more);
        Ok(Reservation { ledger, key: Some(key.to_owned()), share: more })
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let Some(key) = &self.key else { return };
        let mut reserved = self.ledger.reserved.lock();
        // The entry stays when it is empty: there are as few as keys.
        if let Some(entry) = reserved.get_mut(key) {
            entry.triangles -= self.share.triangles.min(entry.triangles);
            entry.bytes -= self.share.bytes.min(entry.bytes);
        }
    }
}

/// Whether `key` may have `more` of `what`.
///
/// # Errors
/// When it may not.
pub fn check(
    key: &str,
    what: &'static str,
    used: u64,
    more: u64,
    quota: Option<u64>,
) -> Result<(), OverQuota> {
    match quota {
        Some(max) if used.saturating_add(more) > max => {
            Err(OverQuota { key: key.to_owned(), what, used, more, max })
        }
        _ => Ok(()),
    }
}
