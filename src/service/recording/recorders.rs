//! The recordings of a server: their folder, and the thread of each.

use std::{
    fs::{self, File},
    io::{self, Write},
    path::PathBuf,
    sync::Arc,
    thread::{self, JoinHandle},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use crossbeam::channel::unbounded;
use parking_lot::Mutex;

use super::{
    pictures::Pictures,
    scene_recorder::{RecorderState, SceneRecorder},
    writer::{RecordingJob, work},
};
use crate::{
    config::{Config, RecordSettings},
    os::thread_priority::lower_priority,
    proto::RecordingHead,
    scene::Scene,
    service::{clock::now_ns, metrics::record::RecordMetrics},
    store::scenes::file_head,
};

/// Format of the messages of recordings.
pub const FORMAT: u32 = 2;
/// Maximum number of files per scene name; nobody makes as many.
const FILES_MAX: u32 = 1 << 20;
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// The recordings of a server.
pub struct Recorders {
    settings: RecordSettings,
    folder: PathBuf,
    /// Limits as text, as in the settings file.
    limits: String,
    metrics: Arc<RecordMetrics>,
    running: Mutex<Vec<(Arc<RecorderState>, JoinHandle<()>)>>,
}

impl Recorders {
    /// Records into this folder, which is created if it does not exist.
    ///
    /// # Errors
    /// I/O errors of the system, with the name of the folder.
    pub fn new(
        folder: PathBuf,
        config: &Config,
        metrics: &Arc<RecordMetrics>,
    ) -> io::Result<Recorders> {
        let named = |error: io::Error| {
            let text = format!("record.dir {} cannot be made: {error}", folder.display());
            io::Error::new(error.kind(), text)
        };
        fs::create_dir_all(&folder).map_err(named)?;
        let limits = toml::to_string(&config.limits).expect("settings are representable");
        let (settings, metrics) = (config.record.clone(), Arc::clone(metrics));
        Ok(Recorders { settings, folder, limits, metrics, running: Mutex::default() })
    }

    /// Records a scene from now on, into a new file with the scene's name.
    ///
    /// # Errors
    /// Returns an error if the system has no thread for it.
    pub fn begin(&self, scene: &Arc<Scene>) -> io::Result<SceneRecorder> {
        let (folder, id) = (self.folder.clone(), scene.id().to_owned());
        self.begin_in(scene, move || {
            let file = new_file(|name| File::create_new(folder.join(name)), &id)?;
            Ok(Box::new(file))
        })
    }

    /// Records into the sink that `open` opens on the writing thread.
    fn begin_in(
        &self,
        scene: &Arc<Scene>,
        open: impl FnOnce() -> io::Result<Box<dyn Write + Send>> + Send + 'static,
    ) -> io::Result<SceneRecorder> {
        let (entries, queue) = unbounded();
        let state = Arc::new(RecorderState::new(Arc::clone(&self.metrics.dropped_ticks)));
        let job = RecordingJob {
            scene: scene.id().to_owned(),
            head: self.head(scene),
            open: Box::new(open),
            pictures: Pictures::of(scene),
            queue,
            state: Arc::clone(&state),
            metrics: Arc::clone(&self.metrics),
            bytes_max: self.settings.bytes_max,
        };
        let thread = thread::Builder::new().name(format!("record {}", scene.id()));
        let thread = thread.spawn(move || {
            lower_priority();
            work(job);
        })?;
        let mut running = self.running.lock();
        running.retain(|(_, thread)| !thread.is_finished());
        running.push((Arc::clone(&state), thread));
        Ok(SceneRecorder::new(entries, state))
    }

    fn head(&self, scene: &Scene) -> RecordingHead {
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let tissues = scene.tissues();
        RecordingHead {
            format: FORMAT,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            scene_id: scene.id().to_owned(),
            epoch_ns: since_1970.as_nanos() as i64 - now_ns() as i64,
            limits: self.limits.clone(),
            scene: postcard::to_stdvec(&scene.saved()).expect("plain data"),
            store_format: file_head::VERSION,
            // Tissues of a scene that was read from the disk were all published at once; a new scene has none.
            published_ns: tissues.first().map_or(0, |t| t.current().published_ns),
        }
    }

    /// Waits until everything is written, for a bounded time: a disk may accept nothing.
    pub fn end(&self, at_most: Duration) {
        let running = std::mem::take(&mut *self.running.lock());
        running.iter().for_each(|(state, _)| state.ask_to_end());
        let until = Instant::now() + at_most;
        while running.iter().any(|(_, thread)| !thread.is_finished()) && Instant::now() < until {
            thread::sleep(POLL_INTERVAL);
        }
    }
}

/// Creates a file with the first free name: a scene may be created again, and read from the disk again.
fn new_file<F>(create: impl Fn(String) -> io::Result<F>, id: &str) -> io::Result<F> {
    let names = (1..FILES_MAX).map(|n| match n {
        1 => format!("{id}.mcap"),
        n => format!("{id}-{n}.mcap"),
    });
    let is_taken = |made: &io::Result<F>| {
        made.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::AlreadyExists)
    };
    let mut made = names.map(create).skip_while(is_taken);
    made.next().unwrap_or_else(|| Err(io::ErrorKind::AlreadyExists.into()))
}

#[cfg(test)]
mod tests {
    use std::{
        io::Cursor,
        sync::{
            atomic::Ordering::Relaxed,
            mpsc::{Receiver, channel},
        },
    };

    use super::*;
    use crate::{
        proto::{Tick, TickOutcome, TrackResponse, TrackStart},
        scene::Limits,
        service::recording::{recorded::Recording, shared_file::SharedFile},
    };

    /// A disk that accepts nothing until it is released.
    fn blocked(let_go: Receiver<()>, file: SharedFile) -> io::Result<Box<dyn Write + Send>> {
        let_go.recv().map_err(io::Error::other)?;
        Ok(Box::new(file))
    }

    fn answer(recorder: &mut super::super::tick_recorder::TickRecorder, sequence: u64) {
        recorder.begin(now_ns(), u64::MAX).read();
        let tick = Tick { sequence, ..Tick::default() };
        let answer = TrackResponse { sequence, ..TrackResponse::default() };
        recorder.answered(TickOutcome::Answered, &tick, &answer, [].into_iter());
    }

    #[test]
    fn a_disk_that_takes_nothing_costs_whole_ticks_which_are_counted_and_no_other_entry() {
        let metrics = Arc::new(RecordMetrics::default());
        let folder = std::env::temp_dir();
        let recorders = Recorders::new(folder, &Config::default(), &metrics).expect("there");
        let scene = Arc::new(Scene::new("s".to_owned(), Limits::default()));
        let (release, let_go) = channel();
        let file = SharedFile::default();
        let written = file.clone();
        let recorder = recorders.begin_in(&scene, move || blocked(let_go, written));
        let recorder = recorder.expect("a thread");
        let mut of_loop = recorder.session(&TrackStart::default(), 0).expect("it goes on");
        let n = 3_000;
        (1..=n).for_each(|sequence| answer(&mut of_loop, sequence));
        let dropped = metrics.dropped_ticks.load(Relaxed);
        assert!(dropped > 0 && dropped < n, "{dropped} of {n}");
        // Nobody has waited for the disk, and nothing is written yet.
        assert!(file.bytes().is_empty());
        for _ in 0..2_000 {
            recorder.held(0, Default::default(), Default::default());
        }
        release.send(()).expect("it waits");
        // Rings are drained from time to time.
        let until = Instant::now() + Duration::from_secs(60);
        while metrics.ticks.load(Relaxed) < n - dropped && Instant::now() < until {
            thread::sleep(POLL_INTERVAL);
        }
        answer(&mut of_loop, n + 1);
        drop(of_loop);
        drop(recorder);
        recorders.end(Duration::from_secs(60));
        let recording = Recording::read(Cursor::new(file.bytes())).expect("whole");
        assert_eq!(recording.changes.len(), 2_000);
        let ticks = &recording.sessions[&1].ticks;
        assert_eq!(ticks.len() as u64, n + 1 - dropped);
        assert_eq!(ticks.keys().last().copied(), Some(n as u32 + 1));
        assert_eq!(recording.end.expect("in order").dropped_ticks, dropped);
        assert_eq!(metrics.ended_early.load(Relaxed), 0);
    }

    #[test]
    fn a_disk_that_fails_ends_the_recording_and_nothing_else() {
        let metrics = Arc::new(RecordMetrics::default());
        let folder = std::env::temp_dir();
        let recorders = Recorders::new(folder, &Config::default(), &metrics).expect("there");
        let scene = Arc::new(Scene::new("s".to_owned(), Limits::default()));
        let full = || Err(io::ErrorKind::StorageFull.into());
        let recorder = recorders.begin_in(&scene, full).expect("a thread");
        recorders.end(Duration::from_secs(60));
        assert_eq!(metrics.ended_early.load(Relaxed), 1);
        assert!(recorder.session(&TrackStart::default(), 0).is_none());
    }

    #[test]
    fn a_scene_that_is_made_again_has_a_file_of_its_own() {
        let taken = ["s.mcap", "s-2.mcap"];
        let create = |name: String| match taken.contains(&&*name) {
            true => Err(io::ErrorKind::AlreadyExists.into()),
            false => Ok(name),
        };
        assert_eq!(new_file(create, "s").expect("free"), "s-3.mcap");
        let refused = |_: String| Err::<(), _>(io::ErrorKind::PermissionDenied.into());
        let error = new_file(refused, "s").expect_err("not allowed");
        assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
    }
}
