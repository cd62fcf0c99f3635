//! A1: a client during each attack, alternating with an equal client next to threads that keep the cores as busy; and
//! the server's peak memory, compared with its limit.
//!
//! Attackers, client and server share the cores of one machine. A client on a machine of its own would not notice the
//! attackers' own use of the cores; the spinning threads use as much.

use std::{
    env, fs,
    path::PathBuf,
    process,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    thread::{self, JoinHandle, available_parallelism},
    time::{Duration, Instant},
};

use crate::{
    attack::{Attack, Ground},
    run::{Figures, Run},
    served::{Served, Side, bead, bead_plan},
};

/// Memory limit of the server.
const CEILING_BYTES: u64 = 2 << 30;
/// Largest ratio of the client's 99th percentile to that next to spinning threads.
const TARGET: f64 = 1.5;
/// Period of a spinning thread: spinning and sleeping together.
const SPIN_PERIOD: Duration = Duration::from_millis(4);
/// Time from the attack's begin to the round: the attack has reached the server by then.
const LEAD: Duration = Duration::from_millis(300);

/// Prints a line for each attack, or for those that `PALPATE_ATTACKS` names, with commas between.
pub fn run(run: &mut Run) {
    let named = env::var("PALPATE_ATTACKS").unwrap_or_default();
    let is_named =
        |attack: &&Attack| named.is_empty() || named.split(',').any(|n| n == attack.name());
    let all = run.effort.of(&Attack::ALL[..], &[Attack::Resets, Attack::Queries]);
    for attack in all.iter().filter(is_named) {
        withstand(run, *attack);
    }
}

fn withstand(run: &mut Run, attack: Attack) {
    let keys = Keys::new();
    let ceiling = format!("limits.memory_bytes={CEILING_BYTES}");
    let file = format!("access.keys_file={}", keys.all.display());
    let mut served = Served::with(&["--set", &ceiling, "--set", &file]);
    let (rate_hz, seconds) = if attack == Attack::Fan { (50.0, 12.0) } else { (500.0, 3.0) };
    let plan = bead_plan(1, rate_hz, run.effort.of(seconds, 0.2));
    let [victim, attacker] = [&keys.victim, &keys.attacker]
        .map(|key| served.server.address().with_key_file(key).expect("just written"));
    let checksum = served.check_at(&victim, &plan, &bead());
    let stage = served.set_up_at(&victim, &plan);
    let ground = Arc::new(Ground::prepare(attack, &attacker));
    let [mut alone, mut beside, mut spinning] = [(); 3].map(|()| Side::new());
    let before = Busy::now();
    served.round_at((&stage, &plan), &victim, None, &mut alone);
    let own = before.share();
    let (mut taken, mut waged) = (Vec::new(), 0);
    for _ in 0..run.effort.of(3, 1) {
        let waging = Waging::start(attack, &ground);
        thread::sleep(LEAD);
        let before = Busy::now();
        served.round_at((&stage, &plan), &victim, None, &mut beside);
        taken.push(before.share());
        waged += waging.stop();
        let mean = taken.iter().sum::<f64>() / taken.len() as f64;
        let spinners = Spinners::start(((mean - own) / (1.0 - own).max(0.01)).clamp(0.0, 1.0));
        served.round_at((&stage, &plan), &victim, None, &mut spinning);
        spinners.stop();
    }
    assert!(served.server.ended().is_none(), "it is there after all");
    let peak = served.server.memory_peak().unwrap_or(0);
    let busy = 100.0 * taken.iter().sum::<f64>() / taken.len() as f64;
    let ratio = beside.round_trip_us(99.0) / spinning.round_trip_us(99.0);
    let text = format!(
        "{} {} peer=spinning {} cores_busy={busy:.0}% waged={waged} ratio_p99={ratio:.2} target={TARGET} met={} \
         peak_mb={:.0} ceiling_mb={:.0}",
        told("ours", &beside),
        told("alone", &alone),
        told("peer", &spinning),
        if ratio <= TARGET { "yes" } else { "no" },
        peak as f64 / 1e6,
        CEILING_BYTES as f64 / 1e6,
    );
    run.line("A1", attack.name(), checksum, text);
}

fn told(who: &str, side: &Side) -> String {
    let us = |percent| Figures(side.round_trip_us(percent));
    format!(
        "{who}_us={} {who}_p99_us={} {who}_max_us={} {who}_answers={}",
        us(50.0),
        us(99.0),
        us(100.0),
        side.all.tally.answers
    )
}

/// Two keys in files of their own, and the server's file of both.
struct Keys {
    folder: PathBuf,
    all: PathBuf,
    victim: PathBuf,
    attacker: PathBuf,
}

impl Keys {
    fn new() -> Keys {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Relaxed);
        let folder = env::temp_dir().join(format!("palpate-attacks-{}-{number}", process::id()));
        fs::create_dir_all(&folder).expect("room for a key");
        let write = |name: &str, text: String| {
            let file = folder.join(name);
            fs::write(&file, text).expect("room for a key");
            file
        };
        let secret = |name: &str| format!("{name}-0123456789abcdef");
        let key = |name: &str| {
            format!("[[key]]\nname = \"{name}\"\nrole = \"full\"\nsecret = \"{}\"\n", secret(name))
        };
        Keys {
            all: write("keys.toml", key("victim") + &key("attacker")),
            victim: write("victim", secret("victim")),
            attacker: write("attacker", secret("attacker")),
            folder,
        }
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        // A file that is left is a temporary one.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// An attack under way.
struct Waging {
    stop: Arc<AtomicBool>,
    done: Arc<AtomicU64>,
    thread: JoinHandle<()>,
}

impl Waging {
    fn start(attack: Attack, ground: &Arc<Ground>) -> Waging {
        let (stop, done) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let (stopped, ground, counted) = (Arc::clone(&stop), Arc::clone(ground), Arc::clone(&done));
        let thread = thread::spawn(move || {
            let mut builder = tokio::runtime::Builder::new_multi_thread();
            let runtime = builder.worker_threads(2).enable_all().build().expect("a runtime");
            runtime.block_on(async {
                let until = async {
                    while !stopped.load(Relaxed) {
                        tokio::time::sleep(Duration::from_millis(5)).await;
                    }
                };
                tokio::select! {
                    () = ground.wage(attack, &counted) => {},
                    () = until => {},
                }
            });
            // Calls under way are not waited for.
            runtime.shutdown_background();
        });
        Waging { stop, done, thread }
    }

    /// Stops the attack and returns the number of strikes.
    fn stop(self) -> u64 {
        self.stop.store(true, Relaxed);
        self.thread.join().expect("no panic");
        self.done.load(Relaxed)
    }
}

/// A thread per core that spins a share of the time.
struct Spinners {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Spinners {
    fn start(share: f64) -> Spinners {
        let stop = Arc::new(AtomicBool::new(false));
        let n = available_parallelism().map_or(1, usize::from);
        let spinner = |_| {
            let stop = Arc::clone(&stop);
            thread::spawn(move || {
                while !stop.load(Relaxed) {
                    let begun = Instant::now();
                    while begun.elapsed() < SPIN_PERIOD.mul_f64(share) {
                        std::hint::spin_loop();
                    }
                    thread::sleep(SPIN_PERIOD.mul_f64(1.0 - share));
                }
            })
        };
        Spinners { threads: (0..n).map(spinner).collect(), stop: Arc::clone(&stop) }
    }

    fn stop(self) {
        self.stop.store(true, Relaxed);
        self.threads.into_iter().for_each(|t| t.join().expect("no panic"));
    }
}

/// Idle and total time of all cores since the machine started.
struct Busy {
    idle: u64,
    all: u64,
}

impl Busy {
    fn now() -> Busy {
        let text = fs::read_to_string("/proc/stat").unwrap_or_default();
        let line = text.lines().next().unwrap_or_default();
        let times: Vec<u64> =
            line.split_whitespace().skip(1).filter_map(|t| t.parse().ok()).collect();
        // Waiting for a disk is idle too; guest time is counted within user time.
        Busy { idle: times.iter().skip(3).take(2).sum(), all: times.iter().take(8).sum() }
    }

    /// Returns the busy share of the cores since then.
    fn share(&self) -> f64 {
        let now = Busy::now();
        1.0 - now.idle.saturating_sub(self.idle) as f64
            / now.all.saturating_sub(self.all).max(1) as f64
    }
}
