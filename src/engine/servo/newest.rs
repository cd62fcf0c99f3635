//! Hands the newest value from one thread to another without waiting.
//!
//! Three slots: one is written, one is read, and one holds the newest value. Each side swaps its slot for the third by
//! one atomic exchange (a triple buffer). With a pointer swap the reader would have to free the value that it took.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use parking_lot::Mutex;

/// Flag next to a slot's index while its value has not been taken.
const FRESH: usize = 4;

struct Places<T> {
    // A slot belongs to one side at a time, so that its lock is never held when it is requested: `try_lock` is one
    // exchange that succeeds, and replaces the `unsafe` that Rust would need.
    each: [Mutex<T>; 3],
    newest: AtomicUsize,
}

/// The giving side.
pub struct NewestGiver<T> {
    places: Arc<Places<T>>,
    own: usize,
}

/// The taking side.
pub struct NewestTaker<T> {
    places: Arc<Places<T>>,
    own: usize,
}

/// Creates both sides; nothing has been given yet.
pub fn newest<T: Clone>(first: &T) -> (NewestGiver<T>, NewestTaker<T>) {
    let each = std::array::from_fn(|_| Mutex::new(first.clone()));
    let places = Arc::new(Places { each, newest: AtomicUsize::new(2) });
    let giver = NewestGiver { places: Arc::clone(&places), own: 0 };
    (giver, NewestTaker { places, own: 1 })
}

impl<T> NewestGiver<T> {
    /// Gives the value that `write` makes of some older value. Wait-free except for `write`.
    pub fn give(&mut self, write: impl FnOnce(&mut T)) {
        let mut place = self.places.each[self.own].try_lock().expect("the giver's own place");
        write(&mut place);
        drop(place);
        self.own = self.places.newest.swap(self.own | FRESH, Ordering::AcqRel) & !FRESH;
    }
}

impl<T> NewestTaker<T> {
    /// Passes the newest value to `read`; `None` if there is none since the last call. Wait-free except for `read`.
    pub fn take<R>(&mut self, read: impl FnOnce(&T) -> R) -> Option<R> {
        // A value that becomes fresh after this load is taken the next time.
        if self.places.newest.load(Ordering::Relaxed) & FRESH == 0 {
            return None;
        }
        self.own = self.places.newest.swap(self.own, Ordering::AcqRel) & !FRESH;
        let place = self.places.each[self.own].try_lock().expect("the taker's own place");
        Some(read(&place))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_taker_gets_the_newest_and_each_once() {
        let (mut giver, mut taker) = newest(&0);
        assert_eq!(taker.take(|n| *n), None);
        giver.give(|n| *n = 1);
        giver.give(|n| *n = 2);
        assert_eq!(taker.take(|n| *n), Some(2));
        assert_eq!(taker.take(|n| *n), None);
        giver.give(|n| *n = 3);
        assert_eq!(taker.take(|n| *n), Some(3));
    }

    /// Two threads: each value taken is whole, and never older than the one taken before.
    #[test]
    fn what_is_taken_is_whole_and_never_older() {
        const LAST: u64 = 200_000;
        let (mut giver, mut taker) = newest(&[0u64; 64]);
        std::thread::scope(|scope| {
            scope.spawn(move || (1..=LAST).for_each(|n| giver.give(|all| all.fill(n))));
            let mut last = 0;
            while last < LAST {
                let taken = taker.take(|all| {
                    assert!(all.iter().all(|n| *n == all[0]), "torn: {all:?}");
                    all[0]
                });
                assert!(taken.is_none_or(|n| n > last), "{taken:?} after {last}");
                last = taken.unwrap_or(last);
            }
        });
    }
}
