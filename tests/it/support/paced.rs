//! A haptic client that sends a tick each millisecond and records when it was answered.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use palpate::proto::TrackMode;
use parking_lot::Mutex;
use tokio::{
    task::JoinHandle,
    time::{MissedTickBehavior, interval},
};
use tonic::Status;

use super::{
    messages::{start, start_message, tick, tick_message},
    server::TestServer,
};

const TICK: Duration = Duration::from_millis(1);

/// A loop that runs until it is stopped.
pub struct Paced {
    shared: Arc<Shared>,
    tasks: [JoinHandle<()>; 2],
}

#[derive(Default)]
struct Shared {
    stop: AtomicBool,
    sent: AtomicU64,
    /// Newest tick that was answered or coalesced.
    answered: AtomicU64,
    /// Times from sending to the answer, of ticks with an answer of their own.
    times: Mutex<Vec<Duration>>,
    ended: Mutex<Option<Status>>,
}

impl Paced {
    /// Starts a stream of `server`'s tool 1, moving about the tissue's tip.
    pub async fn start(server: &mut TestServer) -> Paced {
        let stream = server.hand_fed(start_message(start(TrackMode::Latest))).await;
        let (requests, mut answers) = (stream.requests, stream.answers);
        let shared = Arc::new(Shared::default());
        let sends = Arc::clone(&shared);
        let begun = Instant::now();
        let sender = tokio::spawn(async move {
            let mut pace = interval(TICK);
            pace.set_missed_tick_behavior(MissedTickBehavior::Skip);
            while !sends.stop.load(Relaxed) {
                pace.tick().await;
                let sequence = sends.sent.load(Relaxed) + 1;
                let x = 0.105 + 0.01 * (sequence as f64 * 0.01).sin();
                let mut tick = tick(sequence, x);
                tick.client_time_ns = begun.elapsed().as_nanos() as i64;
                // A full queue: the client drops the pose, as a haptic device does.
                if requests.try_send(tick_message(tick)).is_ok() {
                    sends.sent.store(sequence, Relaxed);
                }
            }
        });
        let takes = Arc::clone(&shared);
        let taker = tokio::spawn(async move {
            loop {
                match answers.message().await {
                    Ok(Some(answer)) => {
                        // A server that ends refuses what reaches it before the stream has ended.
                        if let Some(refusal) = answer.refusal {
                            assert!(refusal.message.contains("shutting down"), "{refusal:?}");
                            continue;
                        }
                        assert!(answer.sequence > takes.answered.load(Relaxed), "in order");
                        takes.answered.store(answer.sequence, Relaxed);
                        let sent = Duration::from_nanos(answer.client_time_ns as u64);
                        takes.times.lock().push(begun.elapsed().saturating_sub(sent));
                    }
                    Ok(None) => return,
                    Err(status) => return *takes.ended.lock() = Some(status),
                }
            }
        });
        Paced { shared, tasks: [sender, taker] }
    }

    /// Waits until a tick that is sent from now on was answered; returns the time that it took.
    pub async fn fresh(&self) -> Duration {
        let asked = Instant::now();
        let from = self.shared.sent.load(Relaxed) + 1;
        while self.shared.answered.load(Relaxed) < from {
            assert!(self.is_alive(), "it ended: {:?}", self.shared.ended.lock());
            tokio::time::sleep(Duration::from_micros(100)).await;
        }
        asked.elapsed()
    }

    /// Ends the loop in order.
    pub async fn stop(self) {
        self.shared.stop.store(true, Relaxed);
        for task in self.tasks {
            task.await.expect("no panic");
        }
    }

    pub fn is_alive(&self) -> bool {
        !self.tasks[1].is_finished()
    }

    /// Waits until the server ends the loop; returns its status.
    pub async fn ended(self) -> Status {
        let [sender, taker] = self.tasks;
        taker.await.expect("no panic");
        sender.abort();
        let status = self.shared.ended.lock().take();
        status.expect("it was told")
    }

    /// Returns the times from sending to the answer since the last call: upper bounds for 50 %, 99 % and all.
    pub fn times(&self) -> Times {
        let mut times = std::mem::take(&mut *self.shared.times.lock());
        times.sort();
        let at = |share: f64| {
            let place = (times.len() as f64 * share) as usize;
            times.get(place).map_or(f64::NAN, |t| t.as_secs_f64() * 1e6)
        };
        let longest = times.last().copied().unwrap_or_default();
        Times { answered: times.len(), p50_us: at(0.5), p99_us: at(0.99), longest }
    }
}

impl fmt::Display for Times {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Times { answered, p50_us, p99_us, longest } = self;
        write!(
            f,
            "{answered} answers, p50 {p50_us:.0} us, p99 {p99_us:.0} us, at most {longest:.0?}"
        )
    }
}

/// Response times of a client.
pub struct Times {
    pub answered: usize,
    pub p50_us: f64,
    pub p99_us: f64,
    pub longest: Duration,
}
