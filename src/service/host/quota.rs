//! Usage of each key, checked against its quotas.

use std::{collections::BTreeMap, sync::Arc};

use parking_lot::Mutex;

use super::{
    live_view::last_tick::SHOWN_BYTES,
    memory_limit::{MemoryFull, MemoryLimit, OverShare},
};
use crate::scene::{
    Scene, Tissue,
    memory::{
        held_bytes, link_bytes_expected, self_collision_bytes_expected, session_bytes_expected,
        tissue_bytes_expected,
    },
    self_collision::{Interval, SelfCollisionOptions},
};
use crate::service::access::caller::Caller;

/// Triangles of meshes, and bytes of memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// Triangles of tissues and links.
    pub triangles: u64,
    /// Bytes of everything that is kept.
    pub bytes: u64,
}

/// A request exceeds a key's quota.
#[derive(Debug, thiserror::Error)]
#[error("key {key:?} has {used} {what} and asks for {more} more, its quota is {max}")]
pub struct OverQuota {
    /// Name of the key.
    pub key: String,
    /// "scenes", "triangles", "bytes" or "streams".
    pub what: &'static str,
    /// Current usage.
    pub used: u64,
    /// Additional usage asked for.
    pub more: u64,
    /// The quota.
    pub max: u64,
}

impl Share {
    /// Returns the share that a cut adds to a tissue.
    pub fn of_cut(tissue: &Tissue, vertices: u64, triangles: u64) -> Share {
        Share { triangles, bytes: tissue.cut_bytes_expected(vertices, triangles) }
    }

    /// Returns the share of a tissue whose mesh has this many vertices and triangles.
    pub fn of_tissue(vertices: u64, triangles: u64) -> Share {
        Share { triangles, bytes: tissue_bytes_expected(vertices, triangles) }
    }

    /// Returns the share of a link with such a mesh, without its field.
    pub fn of_link(vertices: u64, triangles: u64) -> Share {
        Share { triangles, bytes: link_bytes_expected(vertices, triangles) }
    }

    /// Returns the share of a tissue's held positions.
    pub fn of_held(vertices: usize) -> Share {
        Share::of_bytes(held_bytes(vertices))
    }

    /// Returns the share of a session with this many links.
    pub fn of_session(links: usize) -> Share {
        Share::of_bytes(session_bytes_expected(links) + SHOWN_BYTES)
    }

    /// Returns the share of a self-collision job. A tissue that does not exist adds nothing: the job refuses it.
    pub fn of_self_collision(
        scene: &Scene,
        intervals: &[Interval],
        options: &SelfCollisionOptions,
    ) -> Share {
        let size = |interval: &Interval| {
            let current = scene.tissue(interval.tissue).ok()?.current();
            let mesh = current.surface.mesh();
            // Counts ids, not existing elements: the lists of a job are indexed by id.
            Some((mesh.positions().len() as u64, u64::from(mesh.triangle_id_end())))
        };
        let tissues = intervals.iter().filter_map(size);
        Share::of_bytes(self_collision_bytes_expected(tissues, options.max_contacts))
    }

    /// Returns a share of memory alone.
    pub fn of_bytes(bytes: u64) -> Share {
        Share { triangles: 0, bytes }
    }

    /// Returns the share of everything that a scene holds.
    pub fn of_scene(scene: &Scene) -> Share {
        let of_tissue = |t: &Arc<Tissue>| t.current().surface.mesh().n_triangles() as u64;
        let tissues: u64 = scene.tissues().iter().map(of_tissue).sum();
        let tools = scene.tools();
        let links = tools.iter().flat_map(|tool| &tool.links);
        let links: u64 = links.map(|link| link.surface.mesh().n_triangles() as u64).sum();
        Share { triangles: tissues + links, bytes: scene.heap_bytes() }
    }

    /// Adds another share.
    pub fn add(&mut self, other: Share) {
        self.triangles = self.triangles.saturating_add(other.triangles);
        self.bytes = self.bytes.saturating_add(other.bytes);
    }
}

/// Reason why there is no room.
#[derive(Debug, thiserror::Error)]
pub enum RoomRefused {
    /// The key's quota is used up.
    #[error(transparent)]
    Quota(#[from] OverQuota),
    /// The key has been promised its part of the server's memory.
    #[error(transparent)]
    Share(#[from] OverShare),
    /// The server's memory is used up.
    #[error(transparent)]
    Memory(#[from] MemoryFull),
}

/// Reservations for work under way.
pub struct Ledger {
    memory: MemoryLimit,
    promised: Mutex<Promised>,
}

#[derive(Default)]
struct Promised {
    by_key: BTreeMap<String, Share>,
    /// Promised to all callers, including those without a key.
    bytes: u64,
}

/// Reserved room for work under way; given back when dropped.
pub struct Reservation {
    ledger: Arc<Ledger>,
    /// `None` for callers without a key.
    key: Option<String>,
    share: Share,
}

impl Ledger {
    /// Creates a ledger without reservations.
    pub fn new(memory: MemoryLimit) -> Ledger {
        Ledger { memory, promised: Mutex::default() }
    }

    /// Reserves `more` for a caller whose usage by then is `used()`.
    ///
    /// # Errors
    /// Returns an error if that exceeds a quota of the caller's key, the key's part of the server's memory, or all of
    /// that memory.
    pub fn reserve(
        self: &Arc<Self>,
        caller: &Caller,
        used: impl FnOnce() -> Share,
        more: Share,
    ) -> Result<Reservation, RoomRefused> {
        let mut promised = self.promised.lock();
        let of_key = |key: &str| promised.by_key.get(key).map_or(0, |share| share.bytes);
        if let Some(key) = caller.name() {
            self.memory.check_share(key, of_key(key), more.bytes)?;
        }
        self.memory.check(promised.bytes, more.bytes)?;
        if let Some(key) = caller.name() {
            let entry = promised.by_key.entry(key.to_owned()).or_default();
            // Reservations for work under way count as used: two jobs must not share one room. `used` runs under the
            // lock, without which no reservation is given back: anything added meanwhile counts as used, or is promised
            // still.
            let mut used = used();
            used.add(*entry);
            let quotas = caller.quotas();
            check(key, "triangles", used.triangles, more.triangles, quotas.triangles)?;
            check(key, "bytes", used.bytes, more.bytes, quotas.bytes)?;
            entry.add(more);
        }
        promised.bytes = promised.bytes.saturating_add(more.bytes);
        let key = caller.name().map(str::to_owned);
        Ok(Reservation { ledger: Arc::clone(self), key, share: more })
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let mut promised = self.ledger.promised.lock();
        promised.bytes = promised.bytes.saturating_sub(self.share.bytes);
        let Some(key) = &self.key else { return };
        // The entry stays when it is empty: there are only as many entries as keys.
        if let Some(entry) = promised.by_key.get_mut(key) {
            entry.triangles = entry.triangles.saturating_sub(self.share.triangles);
            entry.bytes = entry.bytes.saturating_sub(self.share.bytes);
        }
    }
}

/// Checks that `key` may have `more` of `what`.
///
/// # Errors
/// Returns an error if it may not.
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

#[cfg(test)]
mod tests {
    use http::{HeaderMap, HeaderValue, header::AUTHORIZATION};

    use super::*;
    use crate::{config::AccessSettings, service::access::Access};

    const KEY: &str =
        "[[key]]\nname = \"a\"\nrole = \"full\"\nsecret = \"0123456789abcdef\"\nbytes = 100\n";

    /// Returns a caller whose key may have 100 bytes.
    fn caller() -> Caller {
        let file = std::env::temp_dir().join(format!("palpate-quota-{}", std::process::id()));
        std::fs::write(&file, KEY).expect("room");
        let settings =
            AccessSettings { keys_file: Some(file.clone()), ..AccessSettings::default() };
        let access = Access::open(&settings).expect("good keys");
        std::fs::remove_file(&file).expect("its own");
        let bearer = HeaderValue::from_static("Bearer 0123456789abcdef");
        let headers = HeaderMap::from_iter([(AUTHORIZATION, bearer)]);
        access.caller(&headers).expect("a key")
    }

    #[test]
    fn what_a_key_has_is_added_up_while_nothing_that_is_promised_is_given_back() {
        let ledger = Arc::new(Ledger::new(MemoryLimit::new(0)));
        let (caller, much) = (caller(), Share::of_bytes(60));
        let first = ledger.reserve(&caller, Share::default, much).expect("room");
        let used = || {
            // The first reservation's object may be added now; its promise stays until the sum is complete.
            assert!(ledger.promised.try_lock().is_none(), "a promise can be given back");
            Share::default()
        };
        let refused = ledger.reserve(&caller, used, much).map(drop).expect_err("over the quota");
        assert!(matches!(refused, RoomRefused::Quota(OverQuota { used: 60, max: 100, .. })));
        drop(first);
        ledger.reserve(&caller, Share::default, much).expect("it was given back");
    }
}
