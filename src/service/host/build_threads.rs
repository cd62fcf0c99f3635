//! The threads of field builds: a short build has the priority of ticks, a long one a lower priority.
//!
//! Uploads are answered on threads of lower priority, and threads inherit that: on a busy machine a field that takes 0.1 s
//! would be there after 10 s. So the threads of builds are started by a thread that has the process's own priority.

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

use crate::{os::thread_clock, service::transport::background::lower_priority};

/// Work that a thread of a build does before its priority is lowered. The field of a usual tool is built in it.
const SHORT: Duration = Duration::from_millis(200);

/// Starts threads of builds, until its last clone is dropped.
#[derive(Clone)]
pub struct BuildThreads {
    start: Sender<(ThreadBuilder, Sender<io::Result<()>>)>,
    /// A build has the priority of ticks. Others that come meanwhile do not: any number of short ones is a long one.
    has_short: Arc<AtomicBool>,
}

/// The threads of one build.
pub struct BuildPool {
    pool: ThreadPool,
    _short: Option<ShortBuild>,
}

/// One build's right to the priority of ticks; given back when dropped.
struct ShortBuild(Arc<AtomicBool>);

thread_local! {
    static IS_LOWERED: Cell<bool> = const { Cell::new(false) };
}

impl BuildThreads {
    /// For builds with the priority of the calling thread.
    pub fn start() -> BuildThreads {
        let (start, asked) = bounded::<(ThreadBuilder, Sender<io::Result<()>>)>(0);
        let work = move || {
            for (thread, started) in asked {
                // An error: nobody waits for it.
                let _ = started.send(spawn(thread));
            }
        };
        // An error: builds start their threads themselves, and have the priority of uploads.
        let _ = Builder::new().name("field-threads".to_owned()).spawn(work);
        BuildThreads { start, has_short: Arc::default() }
    }

    /// Threads for a build.
    ///
    /// # Errors
    /// When the system has none.
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

/// Lowers the priority of this thread of a build once it has worked for long.
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
        // As an upload's thread is.
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
