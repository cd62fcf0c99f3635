//! Haptic loops that outlive their streams.
//!
//! A loop is parked in its slot between two polls of its stream, in a lock-free cell. If the stream breaks off, the
//! loop stays there for a while, and a new stream with its token continues it, contact ids included. If the old stream
//! is still there, as after a silent network failure, the new stream takes the loop from it.
//!
//! No session outlives its server. To resume one with its contact ids, each tick would have to be on the disk, a
//! thousand a second for each loop, or an answer would name contacts that nobody knows after a kill; a token on the
//! disk would be a secret there. The client has everything that matters for continuing, the poses and proxies of its
//! last answer, and sends them (`last_poses`): the hand is held as before, and the first tick is swept. Contact ids
//! start again.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use crossbeam::atomic::AtomicCell;
use parking_lot::Mutex;
use tokio::time::{MissedTickBehavior, interval};

use super::haptic_loop::HapticLoop;
use crate::config;
use crate::service::notifier::Subscription;
use crate::service::{access::caller::Caller, clock::now_ns};

/// Names a session; whoever has the token may continue the session, so it is a secret.
pub type Token = [u8; 16];

/// A tick takes its loop and gives it back without a lock.
const _: () = assert!(AtomicCell::<Option<Box<HapticLoop>>>::is_lock_free());

/// Shortest time between two checks of all sessions.
const CHECK_INTERVAL_MIN: Duration = Duration::from_millis(1);

/// All sessions of a server.
pub struct SessionRegistry {
    settings: config::SessionSettings,
    /// Locked when a stream begins or ends and by the check of all sessions, never in a tick.
    now: Mutex<HashMap<Token, Arc<SessionSlot>>>,
    resumed: AtomicU64,
    expired: AtomicU64,
}

/// A session.
pub struct SessionSlot {
    /// Token that names the session.
    pub token: Token,
    scene_id: String,
    caller: Caller,
    tools: Vec<u32>,
    /// The loop, except while a poll computes with it.
    // Boxed, so that the cell is a pointer wide and swapped in one instruction.
    parked: AtomicCell<Option<Box<HapticLoop>>>,
    /// Stream that has the session: the last one that took it.
    holder: AtomicU64,
    /// Time when its stream broke off; 0 while it has one.
    broke_off_ns: AtomicU64,
    /// Time when the newest tick was read.
    last_pose_ns: AtomicU64,
    /// No pose has come for too long.
    stale: AtomicBool,
    /// The session ended, and not only its stream.
    over: AtomicBool,
    /// Wakes the stream that has the session.
    subscription: Arc<Subscription>,
}

/// A stream's right to its session, until another stream takes it; dropping it breaks the session off.
pub struct SessionLease {
    slot: Arc<SessionSlot>,
    holder: u64,
    sessions: Arc<SessionRegistry>,
}

/// Number of sessions, by state.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct SessionCounts {
    /// Sessions without a pose for too long.
    pub stale: usize,
    /// Sessions that wait for their client to come back.
    pub waiting: usize,
    /// Sessions resumed so far.
    pub resumed: u64,
    /// Sessions given up so far, after the grace period or to make room.
    pub expired: u64,
}

/// Reason why a session cannot be begun or resumed.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// There are too many sessions.
    #[error("there are {limit} sessions already, the limit")]
    Full {
        /// Configured limit.
        limit: usize,
    },
    /// The key has too many sessions.
    #[error("the key has {limit} sessions already, half of all that there may be")]
    Share {
        /// Half of the configured limit.
        limit: usize,
    },
    /// The session never existed, is over, or belongs to another scene or key.
    #[error("there is no such session to resume, or not any more")]
    Unknown,
    /// The session is resumed with other tools than it was begun with.
    #[error("has {got:?}, expected none or {expected:?}, as the session was begun")]
    Tools {
        /// Tools that the client sent.
        got: Vec<u32>,
        /// Tools of the session.
        expected: Vec<u32>,
    },
    /// Another stream continues the session.
    #[error("the session was resumed by another stream")]
    Taken,
    /// The system returned no random token.
    #[error("no random numbers for a token: {0}")]
    NoToken(#[from] getrandom::Error),
}

impl SessionRegistry {
    /// Creates a registry without sessions.
    pub fn new(settings: &config::SessionSettings) -> SessionRegistry {
        let (resumed, expired) = Default::default();
        SessionRegistry { settings: settings.clone(), now: Mutex::default(), resumed, expired }
    }

    /// Creates the session of a new loop.
    ///
    /// # Errors
    /// Returns an error if there are too many sessions, or the caller's key has half of the limit. Sessions whose
    /// client is gone make room first: the caller's own within its half, and else those of the key with the most.
    pub fn begin(
        self: &Arc<Self>,
        scene_id: &str,
        caller: &Caller,
        tools: &[u32],
        haptic_loop: HapticLoop,
    ) -> Result<SessionLease, SessionError> {
        let subscription = haptic_loop.life.subscribe();
        let mut token = Token::default();
        getrandom::fill(&mut token)?;
        let slot = Arc::new(SessionSlot {
            token,
            scene_id: scene_id.to_owned(),
            caller: caller.clone(),
            tools: tools.to_vec(),
            parked: AtomicCell::new(Some(Box::new(haptic_loop))),
            holder: AtomicU64::new(1),
            broke_off_ns: AtomicU64::new(0),
            last_pose_ns: AtomicU64::new(now_ns()),
            stale: AtomicBool::new(false),
            over: AtomicBool::new(false),
            subscription,
        });
        let mut now = self.now.lock();
        let evicted = make_room(&mut now, caller.name(), self.settings.count_max)?;
        self.expired.fetch_add(evicted.len() as u64, Relaxed);
        now.insert(token, Arc::clone(&slot));
        drop(now);
        // Dropped after the lock is released: a loop holds meshes.
        drop(evicted);
        Ok(SessionLease { slot, holder: 1, sessions: Arc::clone(self) })
    }

    /// Continues a session. Its loop is there at the latest when the old stream's poll is over.
    ///
    /// # Errors
    /// Returns an error if the session does not exist for this caller, scene and tools.
    pub fn resume(
        self: &Arc<Self>,
        token: &[u8],
        scene_id: &str,
        caller: &Caller,
        tools: &[u32],
    ) -> Result<SessionLease, SessionError> {
        let now = self.now.lock();
        let slot = Token::try_from(token).ok().and_then(|token| now.get(&token));
        let is_own =
            |slot: &&Arc<SessionSlot>| slot.scene_id == scene_id && slot.caller.is_same(caller);
        // All sessions that are not the caller's get one answer: tokens cannot be probed for.
        let slot = slot.filter(is_own).ok_or(SessionError::Unknown)?;
        if !tools.is_empty() && tools != slot.tools {
            let (got, expected) = (tools.to_vec(), slot.tools.clone());
            return Err(SessionError::Tools { got, expected });
        }
        // The old stream finds from here on that it is not the holder, at its next poll at the latest: it is woken for
        // that.
        let holder = slot.holder.fetch_add(1, Relaxed) + 1;
        slot.broke_off_ns.store(0, Relaxed);
        slot.subscription.wake();
        self.resumed.fetch_add(1, Relaxed);
        Ok(SessionLease { slot: Arc::clone(slot), holder, sessions: Arc::clone(self) })
    }

    /// Maximum time between two ticks; a later tick finds its session stale.
    pub fn stale_after(&self) -> Duration {
        self.settings.stale_after
    }

    /// Marks stale sessions, which then report it, and gives up sessions whose client does not come back. Never ends.
    pub async fn watch(&self) {
        let mut due = interval((self.settings.stale_after / 2).max(CHECK_INTERVAL_MIN));
        due.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            due.tick().await;
            self.check(now_ns());
        }
    }

    /// Checks all sessions once, at `now_ns`.
    pub fn check(&self, now_ns: u64) {
        let longer = |since_ns: u64, than: Duration| {
            u128::from(now_ns.saturating_sub(since_ns)) > than.as_nanos()
        };
        let config::SessionSettings { stale_after, grace, .. } = self.settings;
        let (mut over, mut n_expired) = (Vec::new(), 0);
        self.now.lock().retain(|_, slot| {
            // Nobody may come back for a session whose key is revoked.
            let is_expired = longer(slot.broke_off_ns.load(Relaxed), grace);
            if slot.is_waiting() && (is_expired || slot.caller.is_revoked()) {
                n_expired += u64::from(is_expired);
                over.push(Arc::clone(slot));
                return false;
            }
            let is_stale = longer(slot.last_pose_ns.load(Relaxed), stale_after);
            if is_stale && !slot.stale.swap(true, Relaxed) {
                slot.subscription.wake();
            }
            true
        });
        // Dropped after the lock is released: a loop holds meshes.
        drop(over);
        self.expired.fetch_add(n_expired, Relaxed);
    }

    /// Counts the sessions by state.
    pub fn counted(&self) -> SessionCounts {
        let now = self.now.lock();
        SessionCounts {
            stale: now.values().filter(|slot| slot.stale.load(Relaxed)).count(),
            waiting: now.values().filter(|slot| slot.is_waiting()).count(),
            resumed: self.resumed.load(Relaxed),
            expired: self.expired.load(Relaxed),
        }
    }

    /// Number of sessions, including those that wait for their client.
    #[cfg(any(feature = "agones", test))]
    pub fn n_sessions(&self) -> usize {
        self.now.lock().len()
    }

    fn end(&self, token: &Token) {
        self.now.lock().remove(token);
    }
}

/// Removes the sessions that make room for one more of `key`.
fn make_room(
    now: &mut HashMap<Token, Arc<SessionSlot>>,
    key: Option<&str>,
    count_max: usize,
) -> Result<Vec<Arc<SessionSlot>>, SessionError> {
    let mut evicted = Vec::new();
    // A client that is here has precedence over one that may come back.
    let mut evict = |now: &mut HashMap<Token, Arc<SessionSlot>>, key: Option<&str>| {
        let waiting = now.values().filter(|slot| slot.is_waiting() && slot.caller.name() == key);
        let oldest = waiting.min_by_key(|slot| slot.broke_off_ns.load(Relaxed))?.token;
        evicted.extend(now.remove(&oldest));
        Some(())
    };
    let mut counts: BTreeMap<Option<String>, usize> = BTreeMap::new();
    for slot in now.values() {
        *counts.entry(slot.caller.name().map(str::to_owned)).or_default() += 1;
    }
    // Half of the limit, rounded up: whatever one key does, there is room for another key's sessions.
    let share = count_max.div_ceil(2);
    let own = counts.get(&key.map(str::to_owned)).copied().unwrap_or(0);
    if key.is_some() && own >= share && count_max > 1 {
        evict(now, key).ok_or(SessionError::Share { limit: share })?;
    } else if now.len() >= count_max {
        let mut waiting: Vec<_> = counts.into_iter().collect();
        waiting.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
        // This may be the caller's own key.
        let found = waiting.iter().find_map(|(key, _)| evict(now, key.as_deref()));
        found.ok_or(SessionError::Full { limit: count_max })?;
    }
    Ok(evicted)
}

impl SessionSlot {
    fn is_waiting(&self) -> bool {
        self.broke_off_ns.load(Relaxed) != 0
    }
}

impl SessionLease {
    /// Takes the loop, to compute with; `None` while a poll of the stream that had it before is under way.
    ///
    /// # Errors
    /// Returns an error if another stream has taken the session, or it is over.
    pub fn take(&self) -> Result<Option<Box<HapticLoop>>, SessionError> {
        if self.slot.holder.load(Relaxed) != self.holder {
            return Err(SessionError::Taken);
        }
        let taken = self.slot.parked.take();
        let over = taken.is_none() && self.slot.over.load(Relaxed);
        if over { Err(SessionError::Unknown) } else { Ok(taken) }
    }

    /// Parks the loop until the next poll.
    pub fn park(&self, haptic_loop: Box<HapticLoop>) {
        self.slot.parked.store(Some(haptic_loop));
    }

    /// Token that the client needs to continue the session; empty if it cannot.
    pub fn token(&self) -> &[u8] {
        if self.sessions.settings.grace.is_zero() { &[] } else { &self.slot.token }
    }

    /// Subscription that wakes this stream.
    pub fn subscription(&self) -> &Subscription {
        &self.slot.subscription
    }

    /// Records that a tick was read.
    pub fn note_pose(&self, received_ns: u64) {
        self.slot.last_pose_ns.store(received_ns, Relaxed);
        if self.is_stale() {
            self.slot.stale.store(false, Relaxed);
        }
    }

    /// Returns true if no pose has come for too long.
    pub fn is_stale(&self) -> bool {
        self.slot.stale.load(Relaxed)
    }

    /// Ends the session, not only its stream.
    pub fn end(&self) {
        self.slot.over.store(true, Relaxed);
        self.sessions.end(&self.slot.token);
    }
}

impl Drop for SessionLease {
    fn drop(&mut self) {
        // A stream that resumes the session has the lock too: its values are not overwritten.
        let now = self.sessions.now.lock();
        if self.slot.holder.load(Relaxed) != self.holder || self.slot.over.load(Relaxed) {
            return;
        }
        // 0 means that the session has a stream.
        self.slot.broke_off_ns.store(now_ns().max(1), Relaxed);
        drop(now);
        if self.sessions.settings.grace.is_zero() {
            self.end();
        }
    }
}

#[cfg(test)]
mod tests;
