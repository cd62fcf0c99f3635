//! Permits for work that takes a core for seconds, shared fairly between keys.
//!
//! A free permit goes to the key with the fewest permits, and among its calls to the first. A key holds at most all
//! permits but one. Long work passes its permit on to other keys now and then, so that no call waits for the end of
//! work that takes a minute.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};

use parking_lot::Mutex;
use tokio::sync::oneshot;

use crate::service::access::caller::Caller;

/// A fair semaphore.
#[derive(Clone)]
pub struct FairPlaces(Arc<PlacesShared>);

struct PlacesShared {
    n: usize,
    state: Mutex<PlacesState>,
}

#[derive(Default)]
struct PlacesState {
    taken: usize,
    /// Work by key; `None` for callers without a key.
    keys: BTreeMap<Option<String>, KeyPlaces>,
    /// Waiting calls, in order of arrival.
    waiting: VecDeque<Waiter>,
}

/// The work of one key.
#[derive(Clone, Copy, Default)]
struct KeyPlaces {
    /// Number of jobs with a permit.
    working: usize,
    /// Number of jobs that have passed their permit on and wait for another.
    paused: usize,
}

struct Waiter {
    key: Option<String>,
    /// The work has begun already.
    is_paused: bool,
    give: oneshot::Sender<FairPlace>,
}

/// A permit; given back when dropped.
pub struct FairPlace {
    shared: Arc<PlacesShared>,
    key: Option<String>,
}

impl FairPlaces {
    /// Creates `n` permits, all free.
    pub fn new(n: usize) -> FairPlaces {
        FairPlaces(Arc::new(PlacesShared { n, state: Mutex::default() }))
    }

    /// Takes a permit, once it is the caller's turn.
    pub async fn take(&self, caller: &Caller) -> FairPlace {
        self.take_for(caller.name().map(str::to_owned)).await
    }

    /// Takes a permit for a key; `None` for callers without a key.
    pub async fn take_for(&self, key: Option<String>) -> FairPlace {
        let (give, given) = oneshot::channel();
        self.0.state.lock().waiting.push_back(Waiter { key, is_paused: false, give });
        PlacesShared::hand_out(&self.0);
        given.await.expect("whoever waits is handed a place, or asks no more")
    }
}

impl FairPlace {
    /// Passes the permit on if the work of another key waits, and blocks the thread until it has another permit. Must
    /// not run on a thread of an async runtime.
    pub fn pass(self) -> FairPlace {
        let (shared, key) = (Arc::clone(&self.shared), self.key.clone());
        let given = {
            let mut state = shared.state.lock();
            state.waiting.retain(|waiter| !waiter.give.is_closed());
            if state.waiting.iter().all(|waiter| waiter.key == key) {
                return self;
            }
            state.of(&key).paused += 1;
            let (give, given) = oneshot::channel();
            state.waiting.push_back(Waiter { key, is_paused: true, give });
            given
        };
        // Handed to another key, unless this one has fewer permits now: this waiter came last.
        drop(self);
        given.blocking_recv().expect("whoever waits is handed a place, or asks no more")
    }
}

impl PlacesShared {
    /// Gives free permits to the waiters whose turn it is.
    fn hand_out(shared: &Arc<PlacesShared>) {
        loop {
            let (waiter, key) = {
                let mut state = shared.state.lock();
                let Some(waiter) = state.next(shared.n) else { return };
                state.taken += 1;
                let of_key = state.of(&waiter.key);
                of_key.working += 1;
                of_key.paused -= usize::from(waiter.is_paused);
                let key = waiter.key.clone();
                (waiter, key)
            };
            // Sent outside the lock: the permit of a waiter that is gone is dropped here, and given back.
            let place = FairPlace { shared: Arc::clone(shared), key };
            drop(waiter.give.send(place));
        }
    }
}

impl PlacesState {
    fn next(&mut self, n: usize) -> Option<Waiter> {
        if self.taken >= n {
            return None;
        }
        self.waiting.retain(|waiter| !waiter.give.is_closed());
        let of = |key: &Option<String>| self.keys.get(key).copied().unwrap_or_default();
        let may_have = |waiter: &Waiter| {
            let KeyPlaces { working, paused } = of(&waiter.key);
            // Without keys there is nobody to leave a permit for. Work that has passed its permit on already has memory
            // and a thread.
            waiter.is_paused || waiter.key.is_none() || working + paused < (n - 1).max(1)
        };
        let fewest = self.waiting.iter().enumerate().filter(|(_, w)| may_have(w));
        // Takes the first of several equal waiters.
        let (at, _) = fewest.min_by_key(|(_, waiter)| of(&waiter.key).working)?;
        self.waiting.remove(at)
    }

    fn of(&mut self, key: &Option<String>) -> &mut KeyPlaces {
        self.keys.entry(key.clone()).or_default()
    }
}

impl Drop for FairPlace {
    fn drop(&mut self) {
        {
            let mut state = self.shared.state.lock();
            state.taken -= 1;
            let of_key = state.of(&self.key);
            of_key.working -= 1;
            if of_key.working + of_key.paused == 0 {
                state.keys.remove(&self.key);
            }
        }
        PlacesShared::hand_out(&self.shared);
    }
}

#[cfg(test)]
mod tests {
    use std::{pin::pin, time::Duration};

    use tokio::time::timeout;

    use super::*;

    const SOON: Duration = Duration::from_millis(10);

    fn key(name: &str) -> Option<String> {
        Some(name.to_owned())
    }

    #[tokio::test]
    async fn one_key_neither_takes_all_places_nor_all_turns() {
        let places = FairPlaces::new(3);
        let (first, second) = (places.take_for(key("a")).await, places.take_for(key("a")).await);
        let mut third = pin!(places.take_for(key("a")));
        assert!(timeout(SOON, &mut third).await.is_err(), "the last place is another key's");
        let other = timeout(SOON, places.take_for(key("b"))).await.expect("left for it");
        // Both wait; the key with less work comes first, though it came last.
        let mut late = pin!(places.take_for(key("c")));
        assert!(timeout(SOON, &mut late).await.is_err(), "all are taken");
        drop(first);
        let late = timeout(SOON, late).await.expect("its turn");
        assert!(timeout(SOON, &mut third).await.is_err());
        drop(other);
        timeout(SOON, third).await.expect("a second place of its key, as before");
        drop((second, late));
    }

    #[tokio::test]
    async fn who_asks_no_more_keeps_no_place() {
        let places = FairPlaces::new(1);
        let only = places.take_for(key("a")).await;
        for _ in 0..100 {
            assert!(timeout(Duration::ZERO, places.take_for(key("b"))).await.is_err());
        }
        drop(only);
        // Without keys there is nobody to leave a permit for, nor with a single permit.
        drop(timeout(SOON, places.take_for(None)).await.expect("free"));
        drop(timeout(SOON, places.take_for(key("a"))).await.expect("free"));
        let both = FairPlaces::new(2);
        let _two = (both.take_for(None).await, both.take_for(None).await);
    }
}
