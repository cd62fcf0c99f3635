//! The threads of field builds: a short build has the priority of ticks, a long one a lower priority.
//!
//! Uploads are answered on threads of lower priority, and threads inherit that: on a busy machine a field that takes
//! 0.1 s would be ready after 10 s. A thread with the process's own priority therefore starts the threads of builds.

use std::{
    cell::Cell,
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::AcqRel, Ordering::Release},
    },
    thread::Builder,
    time::Duration,
};

use crossbeam::channel::{SendError, Sender, bounded};
use rayon::{ThreadBuilder, ThreadPool, ThreadPoolBuilder};

use crate::os::{thread_clock, thread_priority::lower_priority};

/// Work of a build's thread before its priority is lowered. The field of a usual tool is built within it.
const SHORT: Duration = Duration::from_millis(200);

/// Starts threads of builds, until its last clone is dropped.
#[derive(Clone)]
pub struct BuildThreads {
    start: Sender<(ThreadBuilder, Sender<io::Result<()>>)>,
    /// A build has the priority of ticks. Builds that start meanwhile do not: any number of short ones is a long one.
    has_short: Arc<AtomicBool>,
}

/// The threads of one build.
pub struct BuildPool {
    pool: ThreadPool,
    _short: Option<ShortBuild>,
}

/// A build's right to the priority of ticks; given back when dropped.
struct ShortBuild(Arc<AtomicBool>);

thread_local! {
    static IS_LOWERED: Cell<bool> = const { Cell::new(false) };
}

impl BuildThreads {
    /// Starts the thread that creates threads for builds, with the priority of the calling thread.
    pub fn start() -> BuildThreads {
        let (start, asked) = bounded::<(ThreadBuilder, Sender<io::Result<()>>)>(0);
        let work = move || {
            for (thread, started) in asked {
                // An error means that nobody waits for the thread.
                let _ = started.send(spawn(thread));
            }
        };
        // On an error builds start their threads themselves, with the priority of uploads.
        let _ = Builder::new().name("field-threads".to_owned()).spawn(work);
        BuildThreads { start, has_short: Arc::default() }
    }

    /// Creates the threads of a build.
    ///
    /// # Errors
    /// Returns an error if the system has none.
    pub fn pool(&self) -> io::Result<BuildPool> {
        let is_free = !self.has_short.swap(true, AcqRel);
        let short = is_free.then(|| ShortBuild(Arc::clone(&self.has_short)));
        let is_short = short.is_some();
        let spawn = |thread: ThreadBuilder| {
            let (started, told) = bounded(1);
            match self.start.send((thread, started)) {
                Ok(()) => told.recv().map_err(io::Error::other)?,
                Err(SendError((thread, _))) => spawn(thread),
            }
        };
        let start = move |_| if is_short { IS_LOWERED.set(false) } else { lower() };
        let pool = ThreadPoolBuilder::new().start_handler(start).spawn_handler(spawn).build();
        Ok(BuildPool { pool: pool.map_err(io::Error::other)?, _short: short })
    }
}

impl BuildPool {
    /// Runs a build, which calls [`note_work`] now and then.
    pub fn run<T: Send>(&self, build: impl FnOnce() -> T + Send) -> T {
        self.pool.install(build)
    }
}

fn spawn(thread: ThreadBuilder) -> io::Result<()> {
    Builder::new().name("field".to_owned()).spawn(|| thread.run()).map(drop)
}

/// Lowers the priority of this build thread once it has worked for long.
pub fn note_work() {
    note_work_of(Duration::from_nanos(thread_clock::now_ns()));
}

fn note_work_of(worked: Duration) {
    if worked >= SHORT && !IS_LOWERED.get() {
        lower();
    }
}

fn lower() {
    lower_priority();
    IS_LOWERED.set(true);
}

impl Drop for ShortBuild {
    fn drop(&mut self) {
        self.0.store(false, Release);
    }
}

#[cfg(all(test, any(target_os = "linux", windows)))]
mod tests {
    use super::*;
    use crate::os::thread_priority::{STEPS_DOWN, own_steps_down};

    #[test]
    fn a_build_has_the_priority_of_ticks_until_it_has_worked_for_long() {
        let own = own_steps_down();
        let lowered = (own + STEPS_DOWN).min(19);
        let threads = BuildThreads::start();
        // Has a lower priority, as the thread of an upload.
        let upload = std::thread::spawn(move || {
            lower_priority();
            let pool = threads.pool().expect("threads");
            let short = pool.run(|| {
                note_work_of(SHORT - Duration::from_nanos(1));
                own_steps_down()
            });
            let meanwhile = threads.pool().expect("threads").run(own_steps_down);
            let long = pool.pool.broadcast(|_| {
                note_work_of(SHORT);
                own_steps_down()
            });
            drop(pool);
            let next = threads.pool().expect("threads").run(own_steps_down);
            (short, meanwhile, long, next)
        });
        let (short, meanwhile, long, next) = upload.join().expect("no panic");
        assert_eq!((short, meanwhile, next), (own, lowered, own));
        assert!(long.iter().all(|steps| *steps == lowered), "{long:?}");
    }
}
