//! Tests of the state that the sidecar receives. `tests/it/agones.rs` tests the whole server.

use std::thread;

use tokio::{runtime, sync::oneshot};

use super::*;
use crate::{config::Config, service::access::caller::Caller};
use fake_sidecar::{FakeSidecar, Heard};

#[path = "../../../tests/it/agones/fake_sidecar.rs"]
mod fake_sidecar;

/// A separate runtime of ticks, which can be made to hang.
struct Ticks {
    heart: Arc<Heartbeat>,
    hang: Option<oneshot::Sender<thread::JoinHandle<()>>>,
}

impl Ticks {
    fn start() -> Ticks {
        let heart = Arc::new(Heartbeat::default());
        let (hang, told) = oneshot::channel::<thread::JoinHandle<()>>();
        let beating = Arc::clone(&heart);
        thread::spawn(move || {
            let ticks = runtime::Builder::new_current_thread().enable_all().build();
            ticks.expect("a runtime").block_on(async {
                tokio::select! {
                    () = beating.beat() => {}
                    waits_for = told => {
                        // A task that never yields its thread.
                        let _ = waits_for.expect("told").join();
                    }
                }
                beating.beat().await;
            });
        });
        Ticks { heart, hang: Some(hang) }
    }

    /// Hangs until the other thread ends.
    fn hang_for(&mut self, thread: thread::JoinHandle<()>) {
        let hang = self.hang.take().expect("once");
        hang.send(thread).expect("it runs");
    }
}

fn scenes() -> Arc<SceneRegistry> {
    Arc::new(SceneRegistry::new(&Config::default()))
}

fn talks(registry: &Arc<SceneRegistry>, ticks: &Ticks, fake: &FakeSidecar) -> Arc<Notify> {
    let sessions = Arc::new(SessionRegistry::new(&Config::default().sessions));
    let to_end = Arc::new(Notify::new());
    let sidecar = Sidecar::new(registry, &sessions, &ticks.heart, &to_end);
    let url = format!("http://{}", fake.address);
    tokio::spawn(async move { sidecar.talk(&url).await });
    to_end
}

#[tokio::test]
async fn a_runtime_that_hangs_is_not_said_to_be_well() {
    let (mut ticks, fake) = (Ticks::start(), FakeSidecar::start(&["scenes", "loops"]).await);
    talks(&scenes(), &ticks, &fake);
    fake.until("well", |fake| fake.beats().len() >= 2).await;
    let (go_on, waits) = std::sync::mpsc::channel::<()>();
    ticks.hang_for(thread::spawn(move || {
        let _ = waits.recv();
    }));
    fake.until("silent", |fake| {
        let last = *fake.beats().last().expect("some");
        last.elapsed() > 3 * HEALTH_INTERVAL
    })
    .await;
    assert!(!ticks.heart.is_beating());
    let silent = fake.beats().len();
    drop(go_on);
    fake.until("well again", |fake| fake.beats().len() > silent).await;
    assert_eq!(fake.heard(), [Heard::Ready], "all else stays as it is");
}

#[tokio::test]
async fn ready_is_said_when_scenes_were_read_and_not_before() {
    let (ticks, fake) = (Ticks::start(), FakeSidecar::start(&["scenes"]).await);
    let registry = scenes();
    registry.life().set_recovering(true);
    talks(&registry, &ticks, &fake);
    // The server is healthy, and not ready.
    fake.until("well", |fake| fake.beats().len() >= 3).await;
    assert_eq!(fake.heard(), []);
    registry.life().set_recovering(false);
    fake.until("ready", |fake| fake.heard() == [Heard::Ready]).await;
}

#[tokio::test]
async fn an_allocated_server_is_not_said_to_be_ready_by_one_that_connects_again() {
    let (ticks, fake) = (Ticks::start(), FakeSidecar::start(&["scenes"]).await);
    fake.set(|status| status.state = "Allocated".to_owned());
    talks(&scenes(), &ticks, &fake);
    fake.until("well", |fake| fake.beats().len() >= 3).await;
    assert_eq!(fake.heard(), []);
}

#[tokio::test]
async fn scenes_allocate_and_are_counted_and_the_end_is_told() {
    let (ticks, fake) = (Ticks::start(), FakeSidecar::start(&["scenes", "loops"]).await);
    let registry = scenes();
    let to_end = talks(&registry, &ticks, &fake);
    fake.until("ready", |fake| fake.heard() == [Heard::Ready]).await;
    registry.create("liver", &Caller::ANYBODY).expect("room");
    let counted = |n| Heard::Counted("scenes".to_owned(), n);
    fake.until("allocated", |fake| fake.heard().len() == 3).await;
    assert_eq!(fake.heard()[1..], [Heard::Allocate, counted(1)]);
    // An allocation for a client on its way: its count stays.
    fake.set(|status| status.counters.get_mut("scenes").expect("there").count = 2);
    let beats = fake.beats().len();
    fake.until("looked at", |fake| fake.beats().len() > beats + 1).await;
    registry.create("spleen", &Caller::ANYBODY).expect("room");
    registry.create("kidney", &Caller::ANYBODY).expect("room");
    fake.until("counted", |fake| fake.heard().len() == 4).await;
    assert_eq!(fake.heard()[3], counted(3), "one of them had a place");
    fake.set(|status| status.state = "Shutdown".to_owned());
    timeout(Duration::from_secs(60), to_end.notified()).await.expect("told to end");
    registry.shut_down();
    fake.until("told", |fake| fake.heard().last() == Some(&Heard::Shutdown)).await;
}

#[tokio::test]
async fn a_fleet_without_counters_has_a_server_all_the_same() {
    let (ticks, fake) = (Ticks::start(), FakeSidecar::start(&[]).await);
    let registry = scenes();
    talks(&registry, &ticks, &fake);
    registry.create("liver", &Caller::ANYBODY).expect("room");
    fake.until("allocated", |fake| fake.heard() == [Heard::Ready, Heard::Allocate]).await;
}
