//! How much of the threads' time the ticks of one key may take while other keys have streams too.
//!
//! In each window a key has a fixed share. Once it is used up, its ticks wait for the next window, so that others wait
//! for no longer than a window however many streams the key has. Streams whose last tick was long share all threads but
//! one, so that a short tick of another key finds a thread that is free, and somebody to notice its bytes. Time is counted
//! in plain atomics by those who use it, and nobody waits when there is only one key.

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

/// A tick is long that takes more than this share of the most that it may. No loop of 1 kHz can have such ticks.
const LONG_SHARE: f64 = 0.5;
/// A stream that has long ticks asks for a thread again after this.
const LONG_WAIT: Duration = Duration::from_millis(1);

/// The budgets of all keys with streams.
pub struct TickBudgets {
    threads: Arc<TickThreads>,
    /// Locked when a stream begins, never in a tick.
    keys: Mutex<BTreeMap<String, Weak<KeyBudget>>>,
}

/// What all keys share.
struct TickThreads {
    /// For a key in a window, nanoseconds of all threads.
    each_ns: u64,
    /// A tick that takes longer is long, nanoseconds.
    long_ns: u64,
    /// Threads that streams with long ticks may have.
    long_max: usize,
    /// Keys with streams.
    n_keys: AtomicUsize,
    /// Threads that streams with long ticks have.
    n_long: AtomicUsize,
}

/// The budget of one key, shared by its streams.
pub struct KeyBudget {
    threads: Arc<TickThreads>,
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
        let threads = TickThreads {
            each_ns: (all_ns * config.ticks.key_share) as u64,
            long_ns: (config.ticks.time_max.as_nanos() as f64 * LONG_SHARE) as u64,
            long_max: threads.saturating_sub(1).max(1),
            n_keys: AtomicUsize::new(0),
            n_long: AtomicUsize::new(0),
        };
        TickBudgets { threads: Arc::new(threads), keys: Mutex::default() }
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
        self.threads.n_keys.fetch_add(1, Relaxed);
        KeyBudget {
            threads: Arc::clone(&self.threads),
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

    /// A thread for the next tick of a stream whose last one took `last_ns`.
    ///
    /// # Errors
    /// How long it has to wait, for others.
    pub fn turn(&self, last_ns: u64, now_ns: u64) -> Result<Turn<'_>, Duration> {
        self.turn_to(now_ns);
        let TickThreads { each_ns, long_ns, long_max, n_keys, n_long } = &*self.threads;
        let is_alone = n_keys.load(Relaxed) < 2;
        if self.used_ns.load(Relaxed) >= *each_ns && !is_alone {
            return Err(Duration::from_nanos(WINDOW_NS - now_ns % WINDOW_NS));
        }
        if last_ns <= *long_ns {
            return Ok(Turn { n_long: None });
        }
        let before = n_long.fetch_add(1, Relaxed);
        let turn = Turn { n_long: Some(n_long) };
        if before >= *long_max && !is_alone { Err(LONG_WAIT) } else { Ok(turn) }
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
        self.threads.n_keys.fetch_sub(1, Relaxed);
    }
}

/// The thread that a tick has, until it is dropped.
pub struct Turn<'a> {
    /// Where it is counted, when its stream has long ticks.
    n_long: Option<&'a AtomicUsize>,
}

impl Turn<'_> {
    /// The tick is likely to be long.
    pub fn is_long(&self) -> bool {
        self.n_long.is_some()
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        if let Some(n_long) = self.n_long {
            n_long.fetch_sub(1, Relaxed);
        }
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
        let wait = |budget: &KeyBudget, now_ns| budget.turn(0, now_ns).err();
        assert_eq!(wait(&hog, 10), None, "it is alone");
        let other = budgets.of(&Caller::ANYBODY);
        assert_eq!(wait(&other, 10), None);
        assert_eq!(wait(&hog, 10), Some(Duration::from_nanos(WINDOW_NS - 10)));
        assert_eq!(wait(&hog, WINDOW_NS), None, "a new window");
        hog.spend(WINDOW_NS - 1, WINDOW_NS + 1);
        assert_eq!(wait(&hog, WINDOW_NS + 1), None, "not all of it is used");
        hog.spend(1, WINDOW_NS + 2);
        assert!(wait(&hog, WINDOW_NS + 2).is_some());
        drop(other);
        assert_eq!(wait(&hog, WINDOW_NS + 2), None, "alone again");
    }

    #[test]
    fn streams_with_long_ticks_leave_a_thread_to_others() {
        let mut config = Config::default();
        config.ticks.time_max = Duration::from_millis(4);
        for (threads, long_max) in [(1, 1), (2, 1), (4, 3)] {
            config.runtime.threads = threads;
            let budgets = TickBudgets::new(&config);
            let [hog, other] = [(); 2].map(|()| budgets.of(&Caller::ANYBODY));
            let mut turns: Vec<Turn> = Vec::new();
            while let Ok(turn) = hog.turn(2_000_001, 0) {
                turns.push(turn);
            }
            assert_eq!(turns.len(), long_max, "of {threads} threads");
            assert_eq!(other.turn(2_000_001, 0).err(), Some(LONG_WAIT), "whosever they are");
            assert!(other.turn(2_000_000, 0).is_ok() && hog.turn(0, 0).is_ok(), "short ones");
            turns.pop();
            drop(other.turn(2_000_001, 0).expect("a thread is free again"));
            drop(other);
            let _turns = [(); 5].map(|()| hog.turn(2_000_001, 0).expect("it is alone"));
        }
    }
}
