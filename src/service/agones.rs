//! Client of Agones' sidecar, which reports the state of this server: feature `agones`.
//!
//! Agones runs the sidecar next to a server that it placed and sets `AGONES_SDK_GRPC_PORT`; without that variable
//! nothing is reported. The server reports that it is ready once its scenes were read; that it is healthy, as often as
//! the runtime of ticks has run, and not at all if that hangs; that it is allocated, as soon as any client has a scene
//! or a loop here; the number of both; and that it ends. If Agones wants the server to end, it drains as on SIGTERM.
//!
//! The client runs on the thread of `control`, so that it neither waits for ticks nor takes their time.

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

use super::loops::sessions::SessionRegistry;
use super::{clock::now_ns, heartbeat::Heartbeat, host::scene_registry::SceneRegistry};
use counted_places::CountedPlaces;
use sdk::{
    Empty, GameServer,
    beta::{CounterUpdateRequest, UpdateCounterRequest, sdk_client::SdkClient as BetaClient},
    sdk_client::SdkClient,
};

/// Interval at which the server's state is checked.
const STEP: Duration = Duration::from_millis(200);
/// Interval of health reports: Agones expects one every five seconds (`health.periodSeconds`).
const HEALTH_INTERVAL: Duration = Duration::from_secs(1);
/// Time after which a call that was not answered, or had no effect, is repeated.
const RETRY: Duration = Duration::from_secs(2);
/// Maximum time of a call; the sidecar is on the same machine.
const CALL_MAX: Duration = Duration::from_secs(2);
/// Time after which an unused allocated server is returned: the client of the allocation may still be on its way.
const UNUSED_MAX: Duration = Duration::from_secs(30);

/// Exchange with the sidecar, for as long as the server runs.
pub struct Sidecar {
    registry: Arc<SceneRegistry>,
    sessions: Arc<SessionRegistry>,
    heart: Arc<Heartbeat>,
    to_end: Arc<Notify>,
}

/// Known state of Agones.
struct Known {
    /// State that the sidecar reported; empty before its first report.
    state: String,
    /// Time of the last request for another state.
    asked_ns: Option<u64>,
    /// Time when a client last had a scene or a loop, or a place was promised.
    used_ns: u64,
    healthy_ns: Option<u64>,
    scenes: CountedPlaces,
    loops: CountedPlaces,
}

impl Sidecar {
    /// Creates the client; `to_end` is notified when Agones wants this server to end.
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

    /// Talks to the sidecar until it has received that the server ends; `None` if Agones has set no port.
    pub fn talking(self) -> Option<impl Future<Output = ()> + Send + 'static> {
        let port = env::var("AGONES_SDK_GRPC_PORT").ok()?;
        let host = env::var("AGONES_SDK_GRPC_HOST").unwrap_or_else(|_| "localhost".to_owned());
        Some(async move { self.talk(&format!("http://{host}:{port}")).await })
    }

    /// As [`Sidecar::talking`], with the sidecar's address.
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
                    // A full channel is skipped: the sidecar hangs, and this server must not wait for it.
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

    /// Returns true if a health report is due and the server is healthy.
    fn is_healthy_now(&self, known: &mut Known) -> bool {
        let is_due = known.healthy_ns.is_none_or(|at| is_longer_ago(at, HEALTH_INTERVAL));
        let is_healthy = is_due && self.heart.is_beating();
        if is_healthy {
            known.healthy_ns = Some(now_ns());
        }
        is_healthy
    }

    /// Processes Agones' report of this server.
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

    /// Requests the state that this server should be in.
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
            // Only in these states: an allocated server that reports ready is no longer allocated.
            "PortAllocation" | "Creating" | "Starting" | "Scheduled" => {
                answered(client.ready(Empty {})).await
            }
            // A client came without an allocation.
            "Ready" if is_used => answered(client.allocate(Empty {})).await,
            "Allocated" if is_longer_ago(known.used_ns, UNUSED_MAX) => {
                answered(client.ready(Empty {})).await
            }
            _ => return Ok(()),
        };
        known.asked_ns = Some(now_ns());
        asked
    }

    /// Sends changed counts to the counters.
    async fn count(&self, channel: &Channel, known: &mut Known) -> Result<(), Status> {
        for places in [&mut known.scenes, &mut known.loops] {
            let Some(count) = places.due(now_ns()) else { continue };
            let (name, capacity, count_diff) = (places.name().to_owned(), None, 0);
            let update = CounterUpdateRequest { name, count: Some(count), capacity, count_diff };
            let request = UpdateCounterRequest { counter_update_request: Some(update) };
            match answered(BetaClient::new(channel.clone()).update_counter(request)).await {
                // The fleet has no such counter, or its capacity is too small for the places in use.
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

/// Returns an error if a call was not answered in time.
async fn answered<T>(call: impl Future<Output = Result<T, Status>>) -> Result<(), Status> {
    let late = |_| Status::deadline_exceeded("it does not answer");
    timeout(CALL_MAX, call).await.map_err(late)?.map(drop)
}
