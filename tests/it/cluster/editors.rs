//! Clients that cut scenes repeatedly and record every acknowledged cut. Each cut leaves a mark, so that the final
//! scene of a server shows which cuts were made.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use palpate::{
    oracle::Random,
    proto::{
        EditTopologyRequest, ExportTissueRequest, GetSceneRequest, Scene,
        export_tissue_response::Message,
    },
};
use parking_lot::Mutex;
use tokio::{task::JoinHandle, time::timeout};
use tokio_stream::StreamExt;
use tonic::{Code, Status};

use super::theatre::{Addresses, Connections, owner};

/// Longest wait for an answer; a stopped server gives none.
const ANSWER_MAX: Duration = Duration::from_millis(700);
pub const PAUSE: Duration = Duration::from_millis(15);
pub const SOON: Duration = Duration::from_secs(120);
/// Vertices of a tissue before its first cut.
const N_VERTICES: usize = 6;

/// A cut that a server has acknowledged.
#[derive(Clone, Copy, Debug)]
pub struct Acknowledged {
    pub scene: usize,
    /// Topology revision that the cut made.
    pub revision: u64,
    pub mark: u64,
    pub by: SocketAddr,
    pub at: Instant,
}

/// All editors of a test, and the cuts acknowledged to them.
pub struct Editors {
    pub addresses: Addresses,
    pub book: Arc<Mutex<Vec<Acknowledged>>>,
    /// Number of calls that a server redirected to the owner.
    pub led: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
    tasks: Vec<JoinHandle<()>>,
}

pub fn scene_id(n: usize) -> String {
    format!("scene-{n}")
}

impl Editors {
    /// Starts one editor for each scene, which rests for `pause` after each cut.
    pub fn start(
        addresses: &Addresses,
        n_scenes: usize,
        pause: Duration,
        seed: impl Fn(u64) -> Random,
    ) -> Editors {
        let (book, led) = (Arc::default(), Arc::default());
        let addresses = addresses.clone();
        let mut editors = Editors { addresses, book, led, stop: Arc::default(), tasks: Vec::new() };
        for scene in 0..n_scenes {
            let all = editors.addresses.all();
            let editor = Editor {
                scene,
                at: all[scene % all.len()],
                addresses: editors.addresses.clone(),
                connections: editors.addresses.connections(),
                book: Arc::clone(&editors.book),
                led: Arc::clone(&editors.led),
                random: seed(scene as u64),
                known: 0,
                n_marks: 0,
                pause,
            };
            editors.tasks.push(tokio::spawn(editor.work(Arc::clone(&editors.stop))));
        }
        editors
    }

    /// Returns the newest cut of each scene.
    pub fn newest(&self) -> BTreeMap<usize, Acknowledged> {
        self.book.lock().iter().map(|cut| (cut.scene, *cut)).collect()
    }

    /// Waits until another server than `from` has cut each scene after the given time. Returns the times from the last
    /// cut of `from` to the first cut of the other server.
    pub async fn gaps(&self, scenes: &[usize], after: Instant, from: SocketAddr) -> Vec<Duration> {
        let mut gaps = Vec::new();
        for scene in scenes {
            let until = Instant::now() + SOON;
            loop {
                let book = self.book.lock().clone();
                let own = || book.iter().filter(|cut| cut.scene == *scene);
                if let Some(next) = own().find(|cut| cut.at > after && cut.by != from) {
                    let before = own().filter(|cut| cut.by == from && cut.at < next.at);
                    gaps.push(next.at - before.map(|cut| cut.at).max().unwrap_or(after));
                    break;
                }
                assert!(Instant::now() < until, "scene {scene} is not cut again");
                tokio::time::sleep(PAUSE).await;
            }
        }
        gaps.sort();
        gaps
    }

    /// Stops the editors, and compares the final scenes of the servers with the acknowledged cuts.
    pub async fn check(self) -> usize {
        self.stop.store(true, Relaxed);
        let n_scenes = self.tasks.len();
        for task in self.tasks {
            task.await.expect("no panic");
        }
        let book = self.book.lock().clone();
        let mut by_revision = BTreeMap::new();
        for cut in &book {
            // Two owners would each make a revision of this number.
            let other = by_revision.insert((cut.scene, cut.revision), *cut);
            assert!(other.is_none(), "{cut:?} and {other:?}");
        }
        let mut connections = self.addresses.connections();
        for scene in 0..n_scenes {
            let marks = exported(&self.addresses, &mut connections, scene).await;
            let once: BTreeSet<u32> = marks.iter().map(|mark| mark.to_bits()).collect();
            assert_eq!(once.len(), marks.len(), "scene {scene} has a cut twice: {marks:?}");
            assert!(!marks.contains(&FENCED_M), "scene {scene} has what a fenced owner refused");
            for cut in book.iter().filter(|cut| cut.scene == scene) {
                let at = cut.revision as usize - 1;
                assert_eq!(marks.get(at), Some(&mark(cut.mark)), "{cut:?} of {} cuts", marks.len());
            }
        }
        book.len()
    }
}

/// Mark of cuts that must not be made, and of no cut that is made.
pub const FENCED_M: f32 = -0.5;

/// Returns the mark that a cut leaves: exact in an `f32`, less than a metre in 60,000 cuts.
pub fn mark(n: u64) -> f32 {
    n as f32 / 65_536.0
}

/// Returns the x of each vertex that cuts added, as one of the servers has it.
async fn exported(addresses: &Addresses, connections: &mut Connections, scene: usize) -> Vec<f32> {
    let until = Instant::now() + SOON;
    let (mut at, mut n) = (addresses.all()[0], 0);
    loop {
        let request = ExportTissueRequest { scene_id: scene_id(scene), tissue_id: 1 };
        let failed = match connections.scenes(at).export_tissue(request).await {
            Ok(surface) => {
                let messages: Result<Vec<_>, Status> = surface.into_inner().collect().await;
                let chunks = messages.expect("whole").into_iter().filter_map(|m| m.message);
                let positions = chunks.flat_map(|message| match message {
                    Message::Chunk(chunk) => chunk.positions_m,
                    Message::Header(_) => Vec::new(),
                });
                return positions.skip(3 * N_VERTICES).step_by(3).collect();
            }
            Err(status) => status,
        };
        assert!(Instant::now() < until, "{failed:?}");
        n += 1;
        let all = addresses.all();
        at = owner(&failed).map_or(all[n % all.len()], |(address, _)| address);
        tokio::time::sleep(PAUSE).await;
    }
}

struct Editor {
    scene: usize,
    /// Presumed owner of the scene.
    at: SocketAddr,
    addresses: Addresses,
    connections: Connections,
    book: Arc<Mutex<Vec<Acknowledged>>>,
    led: Arc<AtomicU64>,
    random: Random,
    /// Last known topology revision of the scene.
    known: u64,
    n_marks: u64,
    pause: Duration,
}

impl Editor {
    async fn work(mut self, stop: Arc<AtomicBool>) {
        while !stop.load(Relaxed) {
            self.cut().await;
            tokio::time::sleep(self.pause).await;
        }
    }

    async fn cut(&mut self) {
        // Now and then ask a random server, which must not take the scene from its owner.
        if self.random.below(20) == 0 {
            self.at = self.any();
        }
        self.n_marks += 1;
        let n = N_VERTICES as u32 + self.known as u32;
        let request = EditTopologyRequest {
            scene_id: scene_id(self.scene),
            tissue_id: 1,
            base_topology_revision: Some(self.known),
            added_positions_m: vec![mark(self.n_marks), 0.2, 0.3],
            added_triangles: vec![0, 2, n],
            ..Default::default()
        };
        let by = self.at;
        let mut server = self.connections.scenes(by);
        match timeout(ANSWER_MAX + self.pause, server.edit_topology(request)).await {
            Ok(Ok(done)) => {
                let revision = done.into_inner().topology_revision;
                assert_eq!(revision, self.known + 1, "made for this revision");
                let (scene, mark, at) = (self.scene, self.n_marks, Instant::now());
                self.book.lock().push(Acknowledged { scene, revision, mark, by, at });
                self.known = revision;
            }
            Ok(Err(status)) => self.follow(&status).await,
            // The cut may or may not be made, now or later.
            Err(_) => {
                self.at = self.any();
                self.look().await;
            }
        }
    }

    async fn follow(&mut self, status: &Status) {
        match owner(status) {
            Some((address, _)) => {
                self.led.fetch_add(1, Relaxed);
                // The named owner may be gone before its lease ends.
                let is_there = self.addresses.all().contains(&address);
                self.at = if is_there { address } else { self.any() };
            }
            None => {
                let known = [Code::Unavailable, Code::Unknown, Code::Internal, Code::Cancelled];
                let is_stale = status.code() == Code::FailedPrecondition;
                assert!(is_stale || known.contains(&status.code()), "{status:?}");
                if !is_stale {
                    self.at = self.any();
                }
                self.look().await;
            }
        }
    }

    /// Finds out whether a cut without an answer was made.
    async fn look(&mut self) {
        let request = GetSceneRequest { scene_id: scene_id(self.scene) };
        let mut server = self.connections.scenes(self.at);
        let answer = timeout(ANSWER_MAX + self.pause, server.get_scene(request)).await;
        match answer {
            Ok(Ok(answer)) => {
                let scene: Scene = answer.into_inner().scene.expect("described");
                self.known = scene.tissues[0].topology_revision;
            }
            Ok(Err(status)) => {
                self.at = owner(&status).map_or(self.any(), |(address, _)| address);
            }
            Err(_) => self.at = self.any(),
        }
    }

    fn any(&mut self) -> SocketAddr {
        let all = self.addresses.all();
        all[self.random.below(all.len())]
    }
}
