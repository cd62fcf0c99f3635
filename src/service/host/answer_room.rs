//! How many bytes of answers each key may have on their way at a time.
//!
//! A key that asks for more than it reads waits for itself: a read-only one that asked for exports and queries and
//! read none had 981 MB of the server before.

use std::{collections::BTreeMap, sync::Arc};

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::service::access::caller::Caller;

/// The rooms of all keys.
pub struct AnswerRooms {
    /// Of each key.
    kib_max: u32,
    /// Anybody's is that of no name. As few as keys there ever were.
    rooms: Mutex<BTreeMap<Option<String>, Arc<Semaphore>>>,
}

/// Room that an answer has; given back when dropped.
pub struct TakenRoom(Mutex<Option<OwnedSemaphorePermit>>);

/// Room is counted in these.
const KIB: usize = 1 << 10;

impl AnswerRooms {
    /// All of it is free.
    pub fn new(bytes_per_key: usize) -> AnswerRooms {
        let kib_max = u32::try_from(bytes_per_key / KIB).unwrap_or(u32::MAX);
        AnswerRooms { kib_max, rooms: Mutex::default() }
    }

    /// Takes room for `bytes`, or for all there is if that is less, once it is free. Who came first is served first.
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
    /// For an answer that is always small.
    pub fn none() -> TakenRoom {
        TakenRoom(Mutex::new(None))
    }

    /// Gives back what is more than `bytes` need.
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
        // More than there is takes all there is.
        let all = rooms.take(&Caller::ANYBODY, 1 << 30).await;
        assert!(timeout(small, rooms.take(&Caller::ANYBODY, 1)).await.is_err());
        drop(all);
    }
}
