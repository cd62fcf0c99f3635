//! Budget of thread time that the ticks of one key may take while other keys have streams too.
//!
//! Each key has a fixed share of each window. Once the share is used up, the key's ticks wait for the next window, so
//! that others wait for no longer than a window however many streams the key has. Streams with long ticks share all
//! threads but one, in order of arrival, so that a short tick of another key finds a free thread, and a thread that
//! notices its bytes. A stream has long ticks for one second after a tick that used the processor for long. From the
//! first tick on that is long by the clock, the processor time of ticks is read too, to tell processor use from time in
//! which the thread had no processor: a short tick must not wait behind long ones because one of them interrupted it.
//! Users count their time in plain atomics; only streams with long ticks lock anything.

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

use crate::{config::Config, os::thread_clock, service::access::caller::Caller};

/// Maximum time that others wait for a key that has used up its share. A tick at its maximum takes a quarter of it.
const WINDOW_NS: u64 = 20_000_000;

/// A tick is long if it takes more than this share of the maximum. No loop of 1 kHz can have such ticks.
const LONG_SHARE: f64 = 0.5;
/// A stream has long ticks for this time after one: a loop with one long tick in each second takes nobody's thread.
const LASTING_NS: u64 = 1_000_000_000;
/// Time after which a stream with long ticks asks for a thread again.
const LONG_WAIT: Duration = Duration::from_millis(1);
/// Time without asking after which a stream loses its position: it is gone, or its client reads no answers.
const PLACE_LOST_NS: u64 = 10_000_000;

/// The budgets of all keys with streams.
pub struct TickBudgets {
    threads: Arc<TickThreads>,
    /// Locked when a stream begins, never in a tick.
    keys: Mutex<BTreeMap<String, Weak<KeyBudget>>>,
}

/// State that all keys share.
struct TickThreads {
    /// Budget of a key in a window, nanoseconds of all threads.
    each_ns: u64,
    /// Duration above which a tick is long, nanoseconds.
    long_ns: u64,
    /// Maximum threads of streams with long ticks.
    long_max: usize,
    /// Number of keys with streams.
    n_keys: AtomicUsize,
    /// Number of streams so far.
    n_streams: AtomicU64,
    long: Mutex<LongTicks>,
}

/// Ticks of streams with long ticks.
#[derive(Default)]
struct LongTicks {
    n_running: usize,
    /// Waiting streams, in order of arrival.
    waiting: Vec<WaitingStream>,
}

struct WaitingStream {
    stream: u64,
    /// Time when the stream last asked for a thread.
    asked_ns: u64,
}

/// The budget of one key, shared by its streams.
struct KeyBudget {
    threads: Arc<TickThreads>,
    /// Window to which `used_ns` belongs, counted from the clock's start.
    window: AtomicU64,
    used_ns: AtomicU64,
}

/// Tick budget of one stream.
pub struct StreamBudget {
    key: Arc<KeyBudget>,
    stream: u64,
    /// Time until which its ticks are timed by the processor's clock, which costs a microsecond.
    timed_until_ns: u64,
    /// Time until which the stream has long ticks.
    long_until_ns: u64,
}

impl TickBudgets {
    /// Creates budgets from the settings.
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
            n_streams: AtomicU64::new(0),
            long: Mutex::default(),
        };
        TickBudgets { threads: Arc::new(threads), keys: Mutex::default() }
    }

    /// Creates the budget of a new stream of the caller. Streams without a key share nothing.
    pub fn of(&self, caller: &Caller) -> StreamBudget {
        let stream = self.threads.n_streams.fetch_add(1, Relaxed);
        StreamBudget { key: self.key(caller), stream, timed_until_ns: 0, long_until_ns: 0 }
    }

    fn key(&self, caller: &Caller) -> Arc<KeyBudget> {
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
    /// Returns true if other keys have streams.
    fn has_others(&self) -> bool {
        self.threads.n_keys.load(Relaxed) > 1
    }

    fn turn_to(&self, now_ns: u64) {
        let window = now_ns / WINDOW_NS;
        // Two threads may both see a new window: time that one of them has added by then is lost, a tick at most.
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

impl StreamBudget {
    /// Takes a thread for the next tick.
    ///
    /// # Errors
    /// Returns the time that the tick must wait, for others, before it asks again.
    pub fn turn(&self, now_ns: u64) -> Result<Turn, Duration> {
        let (key, threads) = (&self.key, &self.key.threads);
        key.turn_to(now_ns);
        if key.used_ns.load(Relaxed) >= threads.each_ns && key.has_others() {
            return Err(Duration::from_nanos(WINDOW_NS - now_ns % WINDOW_NS));
        }
        let is_long = now_ns < self.long_until_ns;
        let may_wait = key.has_others();
        if is_long && !threads.long.lock().begin(self.stream, now_ns, threads.long_max, may_wait) {
            return Err(LONG_WAIT);
        }
        Ok(Turn {
            long: is_long.then(|| Arc::clone(threads)),
            began_ns: now_ns,
            began_processor_ns: (now_ns < self.timed_until_ns).then(thread_clock::now_ns),
        })
    }

    /// Ends the tick of a turn, on the thread on which it began.
    pub fn end(&mut self, turn: Turn, now_ns: u64) {
        let took_ns = now_ns - turn.began_ns;
        self.key.turn_to(now_ns);
        self.key.used_ns.fetch_add(took_ns, Relaxed);
        if took_ns <= self.key.threads.long_ns {
            return;
        }
        self.timed_until_ns = now_ns + LASTING_NS;
        let Some(began_ns) = turn.began_processor_ns else { return };
        if thread_clock::now_ns() - began_ns > self.key.threads.long_ns {
            self.long_until_ns = now_ns + LASTING_NS;
        }
    }
}

impl LongTicks {
    /// Returns true if the stream's next tick may begin; without others no stream waits.
    fn begin(&mut self, stream: u64, now_ns: u64, long_max: usize, may_wait: bool) -> bool {
        let is_there =
            |p: &WaitingStream| p.stream == stream || now_ns < p.asked_ns + PLACE_LOST_NS;
        self.waiting.retain(is_there);
        let place = self.waiting.iter().position(|p| p.stream == stream);
        let n_before = self.n_running + place.unwrap_or(self.waiting.len());
        if may_wait && n_before >= long_max {
            match place {
                Some(at) => self.waiting[at].asked_ns = now_ns,
                None => self.waiting.push(WaitingStream { stream, asked_ns: now_ns }),
            }
            return false;
        }
        if let Some(at) = place {
            self.waiting.remove(at);
        }
        self.n_running += 1;
        true
    }
}

/// A tick's thread, until the tick ends.
pub struct Turn {
    /// Threads that count the tick, if its stream has long ticks.
    long: Option<Arc<TickThreads>>,
    began_ns: u64,
    /// Start by the clock of the thread's processor time, if that is read.
    began_processor_ns: Option<u64>,
}

impl Turn {
    /// Returns true if the tick is likely to be long.
    pub fn is_long(&self) -> bool {
        self.long.is_some()
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if let Some(threads) = &self.long {
            threads.long.lock().n_running -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread::sleep;

    use super::*;

    /// Creates budgets of this many threads, for ticks that are long above one millisecond.
    fn budgets(threads: usize) -> TickBudgets {
        let mut config = Config::default();
        config.runtime.threads = threads;
        config.ticks.key_share = 0.5;
        config.ticks.time_max = Duration::from_millis(2);
        TickBudgets::new(&config)
    }

    fn of_anybody(budgets: &TickBudgets) -> StreamBudget {
        budgets.of(&Caller::ANYBODY)
    }

    fn wait(stream: &StreamBudget, now_ns: u64) -> Option<Duration> {
        stream.turn(now_ns).err()
    }

    /// Runs a tick that uses the processor for longer than a millisecond, but takes `took_ns` by the clock.
    fn spin(stream: &mut StreamBudget, now_ns: u64, took_ns: u64) {
        let turn = stream.turn(now_ns).expect("a thread");
        let begun = thread_clock::now_ns();
        while thread_clock::now_ns() < begun + 1_100_000 {}
        stream.end(turn, now_ns + took_ns);
    }

    fn spend(stream: &mut StreamBudget, now_ns: u64, took_ns: u64) {
        let turn = stream.turn(now_ns).expect("a thread");
        stream.end(turn, now_ns + took_ns);
    }

    #[test]
    fn a_key_waits_for_the_next_window_once_its_share_is_used_and_only_for_others() {
        let budgets = budgets(2);
        let mut hog = of_anybody(&budgets);
        let half_ns = WINDOW_NS / 2;
        spend(&mut hog, 0, half_ns);
        spend(&mut hog, 0, half_ns);
        assert_eq!(wait(&hog, 10), None, "it is alone");
        let other = of_anybody(&budgets);
        assert_eq!(wait(&other, 10), None);
        assert_eq!(wait(&hog, 10), Some(Duration::from_nanos(WINDOW_NS - 10)));
        assert_eq!(wait(&hog, WINDOW_NS), None, "a new window");
        spend(&mut hog, WINDOW_NS, half_ns - 1);
        spend(&mut hog, WINDOW_NS, half_ns);
        assert_eq!(wait(&hog, WINDOW_NS + 1), None, "not all of it is used");
        spend(&mut hog, WINDOW_NS, 1);
        assert!(wait(&hog, WINDOW_NS + 1).is_some());
        drop(other);
        assert_eq!(wait(&hog, WINDOW_NS + 1), None, "alone again");
    }

    #[test]
    fn streams_with_long_ticks_leave_a_thread_to_others() {
        for (threads, long_max) in [(1, 1), (2, 1), (4, 3)] {
            let budgets = budgets(threads);
            let mut hogs: Vec<StreamBudget> = (0..5).map(|_| of_anybody(&budgets)).collect();
            let other = of_anybody(&budgets);
            for hog in &mut hogs {
                spin(hog, 0, 1_100_000);
                assert!(!hog.turn(0).expect("a thread").is_long(), "not known yet");
                spin(hog, 0, 1_100_000);
            }
            let mut turns: Vec<Turn> = hogs.iter().map_while(|hog| hog.turn(1).ok()).collect();
            assert!(turns.iter().all(Turn::is_long));
            assert_eq!(turns.len(), long_max, "of {threads} threads");
            assert!(!other.turn(1).expect("a thread").is_long());
            turns.pop();
            drop(hogs[long_max].turn(2).expect("a thread is free again"));
            drop((turns, other));
            hogs.truncate(1);
            let alone = [(); 5].map(|()| hogs[0].turn(3).expect("nobody else"));
            assert!(alone.iter().all(Turn::is_long));
        }
    }

    #[test]
    fn long_ticks_come_in_their_order_and_who_is_gone_loses_its_place() {
        let budgets = budgets(2);
        let mut hogs = [(); 4].map(|()| of_anybody(&budgets));
        for hog in &mut hogs {
            spin(hog, 0, 1_100_000);
            spin(hog, 0, 1_100_000);
        }
        let [first, second, gone, third] = hogs;
        let running = first.turn(1).expect("a thread");
        for waiting in [&second, &gone, &third] {
            assert_eq!(wait(waiting, 1), Some(LONG_WAIT));
        }
        drop(running);
        assert_eq!(wait(&first, 2), Some(LONG_WAIT), "it has just had its turn");
        assert_eq!(wait(&third, 2), Some(LONG_WAIT), "it came after the second");
        assert_eq!(wait(&second, 2), None);
        assert_eq!(wait(&third, PLACE_LOST_NS), Some(LONG_WAIT), "one is before it");
        assert_eq!(wait(&third, PLACE_LOST_NS + 1), None, "that one is gone");
    }

    #[test]
    fn a_tick_that_had_to_wait_for_a_processor_is_not_long() {
        let budgets = budgets(2);
        let (mut stream, _other) = (of_anybody(&budgets), of_anybody(&budgets));
        for _ in 0..5 {
            let turn = stream.turn(0).expect("a thread");
            assert!(!turn.is_long());
            sleep(Duration::from_micros(100));
            stream.end(turn, 2_000_000);
        }
        spin(&mut stream, 2_000_000, 2_000_000);
        assert!(stream.turn(4_000_001).expect("a thread").is_long());
        assert!(!stream.turn(4_000_000 + LASTING_NS).expect("a thread").is_long(), "for a second");
    }
}
