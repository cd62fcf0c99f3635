//! Budget of response bytes that each key may have on their way at a time.
//!
//! A key that asks for more than it reads waits for itself: without this limit, a read-only key that asked for exports
//! and queries and read none took 981 MB of the server.

use std::{collections::BTreeMap, sync::Arc};

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::service::access::caller::Caller;

/// Response budgets of all keys.
pub struct AnswerRooms {
    /// Budget of each key, KiB.
    kib_max: u32,
    /// Budgets by key; `None` for callers without a key. Has only as many entries as keys ever existed.
    rooms: Mutex<BTreeMap<Option<String>, Arc<Semaphore>>>,
}

/// Budget that a response has taken; given back when dropped.
pub struct TakenRoom(Mutex<Option<OwnedSemaphorePermit>>);

/// Unit of the budget, bytes.
const KIB: usize = 1 << 10;

impl AnswerRooms {
    /// Creates budgets that are all free.
    pub fn new(bytes_per_key: usize) -> AnswerRooms {
        let kib_max = u32::try_from(bytes_per_key / KIB).unwrap_or(u32::MAX);
        AnswerRooms { kib_max, rooms: Mutex::default() }
    }

    /// Takes budget for `bytes`, or the whole budget if that is less, once it is free. Calls are served in order of
    /// arrival.
    pub async fn take(&self, caller: &Caller, bytes: usize) -> TakenRoom {
        let kib = kib(bytes).min(self.kib_max);
        let new = || Arc::new(Semaphore::new(self.kib_max as usize));
        let room = {
            let mut rooms = self.rooms.lock();
            Arc::clone(rooms.entry(caller.name().map(str::to_owned)).or_insert_with(new))
        };
        let taken = room.acquire_many_owned(kib).await.expect("it is never closed");
        TakenRoom(Mutex::new(Some(taken)))
    }
}

impl TakenRoom {
    /// Takes no budget, for a response that is always small.
    pub fn none() -> TakenRoom {
        TakenRoom(Mutex::new(None))
    }

    /// Gives back the part of the budget that exceeds `bytes`.
    pub fn shrink_to(&self, bytes: usize) {
        if let Some(taken) = &mut *self.0.lock() {
            let surplus = taken.num_permits().saturating_sub(kib(bytes) as usize);
            drop(taken.split(surplus));
        }
    }
}

fn kib(bytes: usize) -> u32 {
    u32::try_from(bytes.div_ceil(KIB)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use std::{pin::pin, time::Duration};

    use tokio::time::timeout;

    use super::*;

    #[tokio::test]
    async fn a_key_waits_for_itself_until_its_answers_are_read() {
        let rooms = AnswerRooms::new(10 * KIB);
        let small = Duration::from_millis(10);
        let first = rooms.take(&Caller::ANYBODY, 6 * KIB).await;
        let mut second = pin!(rooms.take(&Caller::ANYBODY, 6 * KIB));
        assert!(timeout(small, &mut second).await.is_err(), "4 are left");
        first.shrink_to(3 * KIB + 1);
        let second = second.await;
        first.shrink_to(9 * KIB);
        assert!(timeout(small, rooms.take(&Caller::ANYBODY, 1)).await.is_err(), "all is taken");
        drop((first, second));
        // A call for more than the budget takes the whole budget.
        let all = rooms.take(&Caller::ANYBODY, 1 << 30).await;
        assert!(timeout(small, rooms.take(&Caller::ANYBODY, 1)).await.is_err());
        drop(all);
    }
}
