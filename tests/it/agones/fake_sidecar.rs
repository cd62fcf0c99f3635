//! A fake Agones sidecar that follows the protocol: it keeps a state and counters, and records who asked for what.

use std::{
    collections::HashMap,
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard},
    time::{Duration, Instant},
};

use tokio::{
    net::TcpListener,
    sync::{mpsc, watch},
};
use tokio_stream::wrappers::{ReceiverStream, TcpListenerStream};
use tonic::{Request, Response, Status, Streaming, transport::Server};

use super::sdk::{
    self, Empty, GameServer,
    beta::{self, Counter, UpdateCounterRequest},
    game_server::{self, status::CounterStatus},
};

/// Longest wait for anything.
const PATIENCE: Duration = Duration::from_secs(60);

/// Message from the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Heard {
    Ready,
    Allocate,
    Shutdown,
    Counted(String, i64),
}

/// A sidecar that serves until it is dropped with its runtime.
#[derive(Clone)]
pub struct FakeSidecar {
    pub address: SocketAddr,
    now: Arc<watch::Sender<game_server::Status>>,
    heard: Arc<Mutex<Vec<Heard>>>,
    beats: Arc<Mutex<Vec<Instant>>>,
}

impl FakeSidecar {
    /// Starts the sidecar of a server that Agones has just scheduled, with counters at 0.
    pub async fn start(counters: &[&str]) -> FakeSidecar {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let counter = |name: &&str| ((*name).to_owned(), CounterStatus { count: 0, capacity: 10 });
        let status = game_server::Status {
            state: "Scheduled".to_owned(),
            counters: counters.iter().map(counter).collect::<HashMap<_, _>>(),
            ..Default::default()
        };
        let address = listener.local_addr().expect("bound");
        let (heard, beats) = Default::default();
        let sidecar =
            FakeSidecar { address, now: Arc::new(watch::Sender::new(status)), heard, beats };
        let router = Server::builder()
            .add_service(sdk::sdk_server::SdkServer::new(sidecar.clone()))
            .add_service(beta::sdk_server::SdkServer::new(sidecar.clone()));
        tokio::spawn(router.serve_with_incoming(TcpListenerStream::new(listener)));
        sidecar
    }

    /// Returns all messages but health, in order.
    pub fn heard(&self) -> Vec<Heard> {
        locked(&self.heard).clone()
    }

    /// Returns the times of the server's health messages.
    pub fn beats(&self) -> Vec<Instant> {
        locked(&self.beats).clone()
    }

    /// Changes the state or a counter, as Agones does.
    pub fn set(&self, change: impl FnOnce(&mut game_server::Status)) {
        self.now.send_modify(change);
    }

    /// Waits until a condition holds.
    pub async fn until(&self, what: &str, is_so: impl Fn(&FakeSidecar) -> bool) {
        let began = Instant::now();
        while !is_so(self) {
            assert!(began.elapsed() < PATIENCE, "not {what}: {:?}", self.heard());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    fn note(&self, heard: Heard, state: &str) -> Result<Response<Empty>, Status> {
        locked(&self.heard).push(heard);
        self.set(|status| state.clone_into(&mut status.state));
        Ok(Response::new(Empty {}))
    }
}

fn locked<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().expect("no test panicked with it")
}

#[tonic::async_trait]
impl sdk::sdk_server::Sdk for FakeSidecar {
    type WatchGameServerStream = ReceiverStream<Result<GameServer, Status>>;

    async fn ready(&self, _: Request<Empty>) -> Result<Response<Empty>, Status> {
        self.note(Heard::Ready, "Ready")
    }

    async fn allocate(&self, _: Request<Empty>) -> Result<Response<Empty>, Status> {
        self.note(Heard::Allocate, "Allocated")
    }

    async fn shutdown(&self, _: Request<Empty>) -> Result<Response<Empty>, Status> {
        self.note(Heard::Shutdown, "Shutdown")
    }

    async fn health(&self, beats: Request<Streaming<Empty>>) -> Result<Response<Empty>, Status> {
        let mut beats = beats.into_inner();
        while beats.message().await?.is_some() {
            locked(&self.beats).push(Instant::now());
        }
        Ok(Response::new(Empty {}))
    }

    async fn watch_game_server(
        &self,
        _: Request<Empty>,
    ) -> Result<Response<Self::WatchGameServerStream>, Status> {
        let mut now = self.now.subscribe();
        // The sidecar sends the current status before any change, as Agones does.
        now.mark_changed();
        let (sender, sent) = mpsc::channel(4);
        tokio::spawn(async move {
            while now.changed().await.is_ok() {
                let status = Some(now.borrow_and_update().clone());
                if sender.send(Ok(GameServer { status, ..Default::default() })).await.is_err() {
                    break;
                }
            }
        });
        Ok(Response::new(ReceiverStream::new(sent)))
    }

    async fn get_game_server(&self, _: Request<Empty>) -> Result<Response<GameServer>, Status> {
        Err(Status::unimplemented("nobody asks"))
    }

    async fn set_label(&self, _: Request<sdk::KeyValue>) -> Result<Response<Empty>, Status> {
        Err(Status::unimplemented("nobody asks"))
    }

    async fn set_annotation(&self, _: Request<sdk::KeyValue>) -> Result<Response<Empty>, Status> {
        Err(Status::unimplemented("nobody asks"))
    }

    async fn reserve(&self, _: Request<sdk::Duration>) -> Result<Response<Empty>, Status> {
        Err(Status::unimplemented("nobody asks"))
    }
}

#[tonic::async_trait]
impl beta::sdk_server::Sdk for FakeSidecar {
    async fn get_counter(
        &self,
        _: Request<beta::GetCounterRequest>,
    ) -> Result<Response<Counter>, Status> {
        Err(Status::unimplemented("nobody asks"))
    }

    async fn update_counter(
        &self,
        request: Request<UpdateCounterRequest>,
    ) -> Result<Response<Counter>, Status> {
        let update = request.into_inner().counter_update_request.expect("a request");
        let (name, count) = (update.name, update.count.expect("a count"));
        let known = self.now.borrow().counters.get(&name).copied();
        let CounterStatus { capacity, .. } =
            known.ok_or_else(|| Status::not_found(format!("counter not found: {name}")))?;
        if !(0..=capacity).contains(&count) {
            return Err(Status::out_of_range(format!("{count} is not within 0 to {capacity}")));
        }
        locked(&self.heard).push(Heard::Counted(name.clone(), count));
        self.set(|status| status.counters.get_mut(&name).expect("known").count = count);
        Ok(Response::new(Counter { name, count, capacity }))
    }
}
