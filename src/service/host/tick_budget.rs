//! How much of the threads' time the ticks of one key may take while other keys have streams too.
//!
//! In each window a key has a fixed share. Once it is used up, its ticks wait for the next window, so that others wait
//! for no longer than a window however many streams the key has. Time is counted in plain atomics by those who use it,
//! and nobody counts when there is only one key.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Weak,
        atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed},
    },
    thread::available_parallelism,
    time::Duration,
};

use parking_lot::Mutex;

use crate::{config::Config, service::access::caller::Caller};

/// Others wait for a key that has used up its share no longer than this. A tick at its maximum takes a quarter of it.
const WINDOW_NS: u64 = 20_000_000;

/// The budgets of all keys with streams.
pub struct TickBudgets {
    /// In a window, nanoseconds of all threads.
    each_ns: u64,
    /// Keys with streams.
    n_keys: Arc<AtomicUsize>,
    /// Locked when a stream begins, never in a tick.
    keys: Mutex<BTreeMap<String, Weak<KeyBudget>>>,
}

/// The budget of one key, shared by its streams.
pub struct KeyBudget {
    each_ns: u64,
    n_keys: Arc<AtomicUsize>,
    /// The window that `used_ns` is of, counted from the clock's start.
    window: AtomicU64,
    used_ns: AtomicU64,
}

impl TickBudgets {
    /// As the settings say.
    pub fn new(config: &Config) -> TickBudgets {
        let threads = match config.runtime.threads {
            0 => available_parallelism().map_or(1, usize::from),
            threads => threads,
        };
        let all_ns = WINDOW_NS as f64 * threads as f64;
        let each_ns = (all_ns * config.ticks.key_share) as u64;
        TickBudgets { each_ns, n_keys: Arc::default(), keys: Mutex::default() }
    }

    /// The budget that a stream of the caller counts on. Without a key each stream has its own.
    pub fn of(&self, caller: &Caller) -> Arc<KeyBudget> {
        let Some(name) = caller.name() else { return Arc::new(self.budget()) };
        let mut keys = self.keys.lock();
        keys.retain(|_, budget| budget.strong_count() > 0);
        if let Some(known) = keys.get(name).and_then(Weak::upgrade) {
            return known;
        }
        let budget = Arc::new(self.budget());
        keys.insert(name.to_owned(), Arc::downgrade(&budget));
        budget
    }

    fn budget(&self) -> KeyBudget {
        self.n_keys.fetch_add(1, Relaxed);
        KeyBudget {
            each_ns: self.each_ns,
            n_keys: Arc::clone(&self.n_keys),
            window: AtomicU64::new(0),
            used_ns: AtomicU64::new(0),
        }
    }
}

impl KeyBudget {
    /// A tick took so long, and ended at `now_ns`.
    pub fn spend(&self, took_ns: u64, now_ns: u64) {
        self.turn_to(now_ns);
        self.used_ns.fetch_add(took_ns, Relaxed);
    }

    /// How long the next tick has to wait, for others; `None`: not at all.
    pub fn wait(&self, now_ns: u64) -> Option<Duration> {
        self.turn_to(now_ns);
        let is_over = self.used_ns.load(Relaxed) >= self.each_ns;
        let is_alone = self.n_keys.load(Relaxed) < 2;
        let left_ns = WINDOW_NS - now_ns % WINDOW_NS;
        (is_over && !is_alone).then(|| Duration::from_nanos(left_ns))
    }

    fn turn_to(&self, now_ns: u64) {
        let window = now_ns / WINDOW_NS;
        // Two threads may both see a new window: what one of them has added by then is lost, a tick at most.
        if self.window.swap(window, Relaxed) != window {
            self.used_ns.store(0, Relaxed);
        }
    }
}

impl Drop for KeyBudget {
    fn drop(&mut self) {
        self.n_keys.fetch_sub(1, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_waits_for_the_next_window_once_its_share_is_used_and_only_for_others() {
        let mut config = Config::default();
        (config.runtime.threads, config.ticks.key_share) = (2, 0.5);
        let budgets = TickBudgets::new(&config);
        let hog = budgets.of(&Caller::ANYBODY);
        hog.spend(WINDOW_NS, 10);
        assert_eq!(hog.wait(10), None, "it is alone");
        let other = budgets.of(&Caller::ANYBODY);
        assert_eq!(other.wait(10), None);
        assert_eq!(hog.wait(10), Some(Duration::from_nanos(WINDOW_NS - 10)));
        assert_eq!(hog.wait(WINDOW_NS), None, "a new window");
        hog.spend(WINDOW_NS - 1, WINDOW_NS + 1);
        assert_eq!(hog.wait(WINDOW_NS + 1), None, "not all of it is used");
        hog.spend(1, WINDOW_NS + 2);
        assert!(hog.wait(WINDOW_NS + 2).is_some());
        drop(other);
        assert_eq!(hog.wait(WINDOW_NS + 2), None, "alone again");
    }
}
