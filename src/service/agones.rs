//! Agones' sidecar, which is told how this server is: feature `agones`.
//!
//! Agones runs the sidecar beside a server that it placed and sets `AGONES_SDK_GRPC_PORT`; without that nothing is told.
//! The sidecar hears that the server is ready once its scenes were read; that it is well, as often as the runtime of ticks
//! has run, and not at all when that hangs; that it is allocated, as soon as anybody has a scene or a loop here; how many
//! of both there are; and that it ends. When Agones wants it to end, it drains as it does on SIGTERM.
//!
//! This runs on the thread of `control`, so that it neither waits for ticks nor takes their time.

mod counted_places;
mod sdk;
#[cfg(test)]
mod tests;

use std::{env, future::Future, pin::pin, sync::Arc, time::Duration};

use tokio::{
    sync::{Notify, mpsc},
    time::{MissedTickBehavior, interval, sleep, timeout},
};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{
    Code, Status,
    transport::{Channel, Endpoint},
};
use tracing::{info, warn};

use super::{
    clock::now_ns,
    heartbeat::Heartbeat,
    host::{scene_registry::SceneRegistry, sessions::SessionRegistry},
};
use counted_places::CountedPlaces;
use sdk::{
    Empty, GameServer,
    beta::{CounterUpdateRequest, UpdateCounterRequest, sdk_client::SdkClient as BetaClient},
    sdk_client::SdkClient,
};

/// How often the server is looked at.
const STEP: Duration = Duration::from_millis(200);
/// How often it says that it is well: Agones expects it every five seconds (`health.periodSeconds`).
const HEALTH_INTERVAL: Duration = Duration::from_secs(1);
/// Until a call that was not answered, or has had no effect, is made again.
const RETRY: Duration = Duration::from_secs(2);
/// A sidecar is on the same machine.
const CALL_MAX: Duration = Duration::from_secs(2);
/// An allocated server is given back when nobody has used it for so long: whoever it was allocated for may be on the way.
const UNUSED_MAX: Duration = Duration::from_secs(30);

/// What is told and heard, for as long as the server runs.
pub struct Sidecar {
    registry: Arc<SceneRegistry>,
    sessions: Arc<SessionRegistry>,
    heart: Arc<Heartbeat>,
    to_end: Arc<Notify>,
}

/// What is known of Agones' side.
struct Known {
    /// As the sidecar says; empty before it has said anything.
    state: String,
    /// When it was last asked for another state.
    asked_ns: Option<u64>,
    /// When somebody last had a scene or a loop, or a place was kept for one.
    used_ns: u64,
    healthy_ns: Option<u64>,
    scenes: CountedPlaces,
    loops: CountedPlaces,
}

impl Sidecar {
    /// Of this server; `to_end` is notified when Agones wants it to end.
    pub fn new(
        registry: &Arc<SceneRegistry>,
        sessions: &Arc<SessionRegistry>,
        heart: &Arc<Heartbeat>,
        to_end: &Arc<Notify>,
    ) -> Sidecar {
        Sidecar {
            registry: Arc::clone(registry),
            sessions: Arc::clone(sessions),
            heart: Arc::clone(heart),
            to_end: Arc::clone(to_end),
        }
    }

    /// Talks to the sidecar until it has heard that the server ends; `None` where Agones has set none.
    pub fn talking(self) -> Option<impl Future<Output = ()> + Send + 'static> {
        let port = env::var("AGONES_SDK_GRPC_PORT").ok()?;
        let host = env::var("AGONES_SDK_GRPC_HOST").unwrap_or_else(|_| "localhost".to_owned());
        Some(async move { self.talk(&format!("http://{host}:{port}")).await })
    }

    /// The same, with a sidecar whose address is known.
    async fn talk(&self, url: &str) {
        let (scenes, loops) = (CountedPlaces::new("scenes"), CountedPlaces::new("loops"));
        let (state, asked_ns, healthy_ns) = Default::default();
        let mut known = Known { state, asked_ns, used_ns: now_ns(), healthy_ns, scenes, loops };
        while let Err(error) = self.talk_once(url, &mut known).await {
            warn!("Agones' sidecar at {url}: {}; asked again in {RETRY:?}", error.message());
            known.asked_ns = None;
            sleep(RETRY).await;
        }
    }

    async fn talk_once(&self, url: &str, known: &mut Known) -> Result<(), Status> {
        let failed = |error: tonic::transport::Error| Status::unavailable(error.to_string());
        let endpoint = Endpoint::from_shared(url.to_owned()).map_err(failed)?;
        let channel = endpoint.connect_timeout(CALL_MAX).connect().await.map_err(failed)?;
        let (beats, sent) = mpsc::channel(1);
        let mut health_client = SdkClient::new(channel.clone());
        let mut health = pin!(health_client.health(ReceiverStream::new(sent)));
        let mut client = SdkClient::new(channel.clone());
        let mut seen = client.watch_game_server(Empty {}).await?.into_inner();
        let mut due = interval(STEP);
        due.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                ended = &mut health => {
                    return Err(ended.err().unwrap_or_else(|| Status::unavailable("it heeds no health")));
                }
                game_server = seen.message() => {
                    let ended = || Status::unavailable("it tells nothing more");
                    self.see(&game_server?.ok_or_else(ended)?, known);
                }
                _ = due.tick() => {
                    // One that is full is not read: the sidecar hangs, and this server need not.
                    if self.is_healthy_now(known) {
                        let _ = beats.try_send(Empty {});
                    }
                    if self.registry.life().check_ending().is_err() {
                        return answered(client.shutdown(Empty {})).await;
                    }
                    self.ask(&mut client, known).await?;
                    self.count(&channel, known).await?;
                }
            }
        }
    }

    /// Whether it is time to say so, and true.
    fn is_healthy_now(&self, known: &mut Known) -> bool {
        let is_due = known.healthy_ns.is_none_or(|at| is_longer_ago(at, HEALTH_INTERVAL));
        let is_healthy = is_due && self.heart.is_beating();
        if is_healthy {
            known.healthy_ns = Some(now_ns());
        }
        is_healthy
    }

    /// What Agones says of this server.
    fn see(&self, game_server: &GameServer, known: &mut Known) {
        let now_ns = now_ns();
        let Some(status) = &game_server.status else { return };
        if status.state != known.state {
            info!("Agones says {}", status.state);
            known.state.clone_from(&status.state);
            (known.asked_ns, known.used_ns) = (None, now_ns);
        }
        for places in [&mut known.scenes, &mut known.loops] {
            if let Some(counter) = status.counters.get(places.name()) {
                places.see(counter.count, now_ns);
            }
        }
        if status.state == "Shutdown" {
            self.to_end.notify_one();
        }
    }

    /// Asks for the state that this server should be in.
    async fn ask(&self, client: &mut SdkClient<Channel>, known: &mut Known) -> Result<(), Status> {
        let (n_scenes, n_loops) = (self.registry.n_scenes(), self.sessions.n_sessions());
        known.scenes.set_there(n_scenes as i64);
        known.loops.set_there(n_loops as i64);
        let is_used = n_scenes + n_loops > 0;
        if is_used || known.scenes.are_promised() || known.loops.are_promised() {
            known.used_ns = now_ns();
        }
        let is_serving = self.registry.life().check_served().is_ok() && self.heart.is_beating();
        if !is_serving || known.asked_ns.is_some_and(|at| !is_longer_ago(at, RETRY)) {
            return Ok(());
        }
        let asked = match &*known.state {
            // Not when it is anything else: an allocated server that says that it is ready is allocated no more.
            "PortAllocation" | "Creating" | "Starting" | "Scheduled" => {
                answered(client.ready(Empty {})).await
            }
            // Somebody came without an allocation.
            "Ready" if is_used => answered(client.allocate(Empty {})).await,
            "Allocated" if is_longer_ago(known.used_ns, UNUSED_MAX) => {
                answered(client.ready(Empty {})).await
            }
            _ => return Ok(()),
        };
        known.asked_ns = Some(now_ns());
        asked
    }

    /// Tells the counters what has changed.
    async fn count(&self, channel: &Channel, known: &mut Known) -> Result<(), Status> {
        for places in [&mut known.scenes, &mut known.loops] {
            let Some(count) = places.due(now_ns()) else { continue };
            let (name, capacity, count_diff) = (places.name().to_owned(), None, 0);
            let update = CounterUpdateRequest { name, count: Some(count), capacity, count_diff };
            let request = UpdateCounterRequest { counter_update_request: Some(update) };
            match answered(BetaClient::new(channel.clone()).update_counter(request)).await {
                // The fleet has no such counter, or one that is too small for what is here.
                Err(e)
                    if matches!(
                        e.code(),
                        Code::NotFound | Code::OutOfRange | Code::Unimplemented
                    ) =>
                {
                    warn!("Agones' counter {} is not {count}: {}", places.name(), e.message());
                }
                told => told?,
            }
            places.set_told(count);
        }
        Ok(())
    }
}

fn is_longer_ago(at_ns: u64, than: Duration) -> bool {
    u128::from(now_ns().saturating_sub(at_ns)) > than.as_nanos()
}

/// Whether a call was answered in time.
async fn answered<T>(call: impl Future<Output = Result<T, Status>>) -> Result<(), Status> {
    let late = |_| Status::deadline_exceeded("it does not answer");
    timeout(CALL_MAX, call).await.map_err(late)?.map(drop)
}
