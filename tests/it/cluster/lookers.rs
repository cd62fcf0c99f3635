//! Clients that read one scene all the time: which server serves it, and how long no server does. A read costs its
//! owner nothing in the store, so the result is independent of how fast the store takes cuts.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use palpate::{oracle::Random, proto::GetSceneRequest};
use parking_lot::Mutex;
use tokio::{task::JoinHandle, time::timeout};

use super::{
    editors::{SOON, scene_id},
    theatre::{Addresses, owner},
};

/// Pause between an answer and the next look.
const PAUSE: Duration = Duration::from_millis(50);
/// Longest wait for an answer; a stopped server gives none.
const ANSWER_MAX: Duration = Duration::from_millis(700);

/// A successful answer.
#[derive(Clone, Copy)]
struct Served {
    by: SocketAddr,
    at: Instant,
}

/// Lookers, one for each scene.
pub struct Lookers {
    seen: Vec<Arc<Mutex<Vec<Served>>>>,
    stop: Arc<AtomicBool>,
    tasks: Vec<JoinHandle<()>>,
}

impl Lookers {
    pub fn start(addresses: &Addresses, n_scenes: usize, seed: impl Fn(u64) -> Random) -> Lookers {
        let mut lookers = Lookers { seen: Vec::new(), stop: Arc::default(), tasks: Vec::new() };
        for scene in 0..n_scenes {
            let (seen, stop) = (Arc::default(), Arc::clone(&lookers.stop));
            let random = seed(scene as u64);
            let work = look(addresses.clone(), scene, random, Arc::clone(&seen), stop);
            lookers.tasks.push(tokio::spawn(work));
            lookers.seen.push(seen);
        }
        lookers
    }

    /// Waits as [`Editors::gaps`](super::editors::Editors::gaps), but measures from the last look that a server
    /// answered to the first that another server answered.
    pub async fn gaps(&self, scenes: &[usize], after: Instant, from: SocketAddr) -> Vec<Duration> {
        let mut gaps = Vec::new();
        for scene in scenes {
            let until = Instant::now() + SOON;
            loop {
                let seen = self.seen[*scene].lock().clone();
                if let Some(next) = seen.iter().find(|s| s.at > after && s.by != from) {
                    let before = seen.iter().filter(|s| s.by == from && s.at < next.at);
                    gaps.push(next.at - before.map(|s| s.at).max().unwrap_or(after));
                    break;
                }
                assert!(Instant::now() < until, "scene {scene} is not served again");
                tokio::time::sleep(PAUSE).await;
            }
        }
        gaps
    }

    pub async fn end(self) {
        self.stop.store(true, Relaxed);
        for task in self.tasks {
            task.await.expect("no panic");
        }
    }
}

async fn look(
    addresses: Addresses,
    scene: usize,
    mut random: Random,
    seen: Arc<Mutex<Vec<Served>>>,
    stop: Arc<AtomicBool>,
) {
    let mut connections = addresses.connections();
    let mut any = || {
        let all = addresses.all();
        all[random.below(all.len())]
    };
    let mut at = any();
    while !stop.load(Relaxed) {
        let request = GetSceneRequest { scene_id: scene_id(scene) };
        match timeout(ANSWER_MAX, connections.scenes(at).get_scene(request)).await {
            Ok(Ok(_)) => seen.lock().push(Served { by: at, at: Instant::now() }),
            // The named owner may be gone before its lease ends.
            Ok(Err(status)) => {
                let named = owner(&status).map(|(address, _)| address);
                at = named.filter(|named| addresses.all().contains(named)).unwrap_or_else(&mut any);
            }
            Err(_) => at = any(),
        }
        tokio::time::sleep(PAUSE).await;
    }
}
