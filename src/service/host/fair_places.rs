//! Places for work that takes a core for seconds, shared fairly between keys.
//!
//! A free place goes to the key that works in the fewest, and among its calls to the first. One key holds all places but
//! one at most. Long work passes its place on to other keys now and then, so that no call waits for the end of work that
//! takes a minute.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};

use parking_lot::Mutex;
use tokio::sync::oneshot;

use crate::service::access::caller::Caller;

/// Some places.
#[derive(Clone)]
pub struct FairPlaces(Arc<PlacesShared>);

struct PlacesShared {
    n: usize,
    state: Mutex<PlacesState>,
}

#[derive(Default)]
struct PlacesState {
    taken: usize,
    /// By key; anybody's is that of no name.
    keys: BTreeMap<Option<String>, KeyPlaces>,
    /// In the order in which they came.
    waiting: VecDeque<Waiter>,
}

/// The work of one key.
#[derive(Clone, Copy, Default)]
struct KeyPlaces {
    /// That has a place.
    working: usize,
    /// That has passed its place on and waits for another.
    paused: usize,
}

struct Waiter {
    key: Option<String>,
    /// It has begun already.
    is_paused: bool,
    give: oneshot::Sender<FairPlace>,
}

/// One of the places; given back when dropped.
pub struct FairPlace {
    shared: Arc<PlacesShared>,
    key: Option<String>,
}

impl FairPlaces {
    /// So many, all free.
    pub fn new(n: usize) -> FairPlaces {
        FairPlaces(Arc::new(PlacesShared { n, state: Mutex::default() }))
    }

    /// Takes one, once it is the caller's turn.
    pub async fn take(&self, caller: &Caller) -> FairPlace {
        self.take_for(caller.name().map(str::to_owned)).await
    }

    /// Takes one for a key; anybody's is `None`.
    pub async fn take_for(&self, key: Option<String>) -> FairPlace {
        let (give, given) = oneshot::channel();
        self.0.state.lock().waiting.push_back(Waiter { key, is_paused: false, give });
        PlacesShared::hand_out(&self.0);
        given.await.expect("whoever waits is handed a place, or asks no more")
    }
}

impl FairPlace {
    /// Passes the place on if the work of another key waits, and blocks the thread until it has another place. Not for a
    /// thread of an async runtime.
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
        // Handed out: to another key, as this one has no work in fewer places and came last.
        drop(self);
        given.blocking_recv().expect("whoever waits is handed a place, or asks no more")
    }
}

impl PlacesShared {
    /// Gives free places to those whose turn it is.
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
            // Not under the lock: the place of one who asks no more is dropped here, and given back.
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
            // Without keys there is nobody to leave a place for. Work that has passed its place on has memory and a thread.
            waiter.is_paused || waiter.key.is_none() || working + paused < (n - 1).max(1)
        };
        let fewest = self.waiting.iter().enumerate().filter(|(_, w)| may_have(w));
        // The first of several that are equal.
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
        // Both wait; who has less comes first, though it came last.
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
        // Without keys there is nobody to leave a place for, nor with one place only.
        drop(timeout(SOON, places.take_for(None)).await.expect("free"));
        drop(timeout(SOON, places.take_for(key("a"))).await.expect("free"));
        let both = FairPlaces::new(2);
        let _two = (both.take_for(None).await, both.take_for(None).await);
    }
}
