//! A loop's own thread: stream after stream, until one ends for good.

use std::{
    future::pending,
    sync::Arc,
    time::{Duration, Instant},
};

use tokio::{
    sync::oneshot,
    time::{Interval, MissedTickBehavior, interval, timeout},
};
use tonic::Code;

use super::{options::LoopOptions, shared_loop::SharedLoop};
use crate::{
    client::{
        address::ServerAddress,
        connection::Client,
        duplex::Duplex,
        error::ClientError,
        local_model::{fill, on_the_wire},
        proxied_host::Host,
    },
    coupling::local_model::LocalModel,
    proto::{Refusal, ToolPose, TrackRequest, TrackResponse, TrackStart, track_request::Message},
    servo::DeviceFeed,
};

/// Time limit for the end of the server's answers when a loop is closed.
pub(super) const CLOSE_MAX: Duration = Duration::from_secs(1);
/// Ticks that wait in the transport; further ticks wait in the loop's own queue, from which the oldest can be dropped.
const WAITING_MAX: usize = 1;
/// Pause between two reconnection attempts.
const PAUSE: Duration = Duration::from_millis(50);
/// Most servers that may name another before the loop fails to open.
const HOPS_MAX: u32 = 4;
/// Time limit of one attempt, the first included: a stopped server accepts connections, and answers nothing.
const OPEN_MAX: Duration = Duration::from_secs(2);
/// Time that a new loop waits for its refusal. A later refusal is reported at the first tick.
const REFUSAL_MAX: Duration = Duration::from_millis(100);
/// Time after which a server that owes an answer is left and sought again: a cut network says nothing. A server that
/// refuses every tick for this time is left too: only its own access to the store may be broken, and another has the
/// scene by then.
const SILENT_MAX: Duration = Duration::from_secs(2);

type TrackStream = Duplex<TrackRequest, TrackResponse>;

pub(super) struct LoopThread {
    /// Addresses as given; servers that share scenes may have several.
    home: Vec<ServerAddress>,
    /// Index of the address that is tried next.
    next_home: usize,
    /// Server that has the scene, as far as is known.
    server: ServerAddress,
    start: TrackStart,
    /// Server that has the session of the start's token.
    session_at: (String, Option<Host>),
    /// Instant at which the last answered stream broke.
    lost_at: Option<Instant>,
    /// Instant since which the server on this stream cannot tell if it owns the scene.
    unsure_since: Option<Instant>,
    /// Servers since the last answer that have named another.
    hops: u32,
    reconnect_max: Duration,
    feed: Option<DeviceFeed>,
    sampling: Option<Duration>,
    model: Box<LocalModel>,
    /// Set until the first answer of a reopened stream: true if the stream asked for the session.
    is_coming_back: Option<bool>,
    shared: Arc<SharedLoop>,
}

/// Reports the end of the loop if its thread panics.
struct LastWord(Arc<SharedLoop>);

impl Drop for LastWord {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.ended(None);
        }
    }
}

impl LoopThread {
    pub(super) fn new(
        server: ServerAddress,
        start: TrackStart,
        options: LoopOptions,
        shared: Arc<SharedLoop>,
    ) -> LoopThread {
        let rate_hz = options.rate_hz.clamp(0.0, 1e3);
        let sampling = (rate_hz >= 1.0).then(|| Duration::from_secs_f64(1.0 / rate_hz));
        // A change of the host behind a proxy concerns no call of its client.
        let home = server.apart().each();
        let server = home[0].clone();
        LoopThread {
            home,
            next_home: 1,
            session_at: server.place(),
            server,
            lost_at: None,
            unsure_since: None,
            hops: 0,
            start,
            reconnect_max: options.reconnect_max,
            sampling: sampling.filter(|_| options.device.is_some()),
            feed: options.device,
            model: Box::new(LocalModel::EMPTY),
            is_coming_back: None,
            shared,
        }
    }

    /// Runs the loop to its end on the calling thread; `opened` receives the result of the opening.
    pub(super) fn run(mut self, opened: oneshot::Sender<Result<(), ClientError>>) {
        let last_word = LastWord(Arc::clone(&self.shared));
        let shared = Arc::clone(&self.shared);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let end = match runtime {
            Ok(runtime) => runtime.block_on(self.work(opened)),
            Err(error) => {
                let server = self.server.to_string();
                let failed = ClientError::Connect { server, reason: error.to_string() };
                // An error means that nobody waits: the loop was dropped while it was opened.
                let _ = opened.send(Err(failed));
                Ok(())
            }
        };
        shared.ended(end.err());
        drop(last_word);
    }

    async fn work(
        &mut self,
        opened: oneshot::Sender<Result<(), ClientError>>,
    ) -> Result<(), ClientError> {
        let mut stream = loop {
            match self.open_accepted().await {
                Ok(stream) => break stream,
                Err(ClientError::Elsewhere { address, .. }) if self.hops < HOPS_MAX => {
                    self.go(&address);
                }
                Err(ClientError::Connect { .. }) if self.next_home < self.home.len() => {
                    self.go_home();
                }
                Err(error) => {
                    let _ = opened.send(Err(error));
                    return Ok(());
                }
            }
        };
        self.shared.opened();
        let _ = opened.send(Ok(()));
        loop {
            let Err(failure) = self.drive(stream).await else { return Ok(()) };
            self.shared.broke_off();
            stream = self.come_back(failure).await?;
            self.shared.opened();
        }
    }

    /// Opens a stream whose start was not refused.
    async fn open_accepted(&mut self) -> Result<TrackStream, ClientError> {
        let mut stream = self.open().await?;
        // Headers arrive before the server reads the start, and nothing confirms that the start was accepted.
        if let Ok(first) = timeout(REFUSAL_MAX, stream.answers.message()).await {
            let first = first.map_err(|s| ClientError::of(&self.server, "Track", &s));
            self.take(first?)?;
        }
        Ok(stream)
    }

    /// Changes to the server that another has named.
    fn go(&mut self, address: &str) {
        self.server = self.server.at(address);
        self.hops += 1;
    }

    /// Changes to the next given address: the server that had the scene is not there.
    fn go_home(&mut self) {
        self.server = self.home[self.next_home % self.home.len()].clone();
        self.next_home += 1;
        // Behind a proxy attempts alternate between the previous server, which may be back, and any other.
        self.server.leave_host();
    }

    /// Returns true if the server has the session, as far as is known.
    fn has_session(&self) -> bool {
        !self.start.resume_token.is_empty() && self.session_at == self.server.place()
    }

    async fn open(&mut self) -> Result<TrackStream, ClientError> {
        let mut start = self.start.clone();
        if !self.has_session() {
            start.resume_token.clear();
            self.shared.go_on(&mut start);
        }
        let opening = async {
            // This thread drives a connection of its own: no other upload precedes a tick.
            let mut client = Client::connect(&self.server).await?;
            client.track(start, WAITING_MAX).await
        };
        let silent = || ClientError::silent(&self.server, "Track", OPEN_MAX);
        timeout(OPEN_MAX, opening).await.unwrap_or_else(|_| Err(silent()))
    }

    /// Seeks the server after a stream broke.
    async fn come_back(&mut self, mut failure: ClientError) -> Result<TrackStream, ClientError> {
        let mut tries = 0;
        loop {
            let mut pause = if tries == 0 { Duration::ZERO } else { PAUSE };
            if matches!(failure, ClientError::Gone { is_told: true, .. }) {
                self.lost_at = None;
            }
            let until = *self.lost_at.get_or_insert_with(Instant::now) + self.reconnect_max;
            let is_refused = match &failure {
                ClientError::Gone { .. } | ClientError::Connect { .. } => {
                    // The first attempt goes to the same server: it has the session.
                    if tries > 0 {
                        self.go_home();
                    }
                    false
                }
                // The first redirect is followed at once, further ones after a pause: a named server may be gone, and
                // is named until its lease is over.
                ClientError::Elsewhere { address, .. } => {
                    let address = address.clone();
                    self.go(&address);
                    pause = if self.hops > 1 { PAUSE } else { Duration::ZERO };
                    false
                }
                // The session was over before the loop reconnected; a new session continues from its last answer.
                // Without a session the scene is unknown.
                ClientError::Refused { code: Code::NotFound, .. } => {
                    let had_session = self.has_session();
                    self.start.resume_token.clear();
                    !had_session
                }
                // Another stream had the session until now; the server has released it by the next attempt.
                ClientError::Refused { code: Code::Aborted, .. } => false,
                _ => true,
            };
            if is_refused || self.shared.is_closed() || Instant::now() >= until {
                return Err(failure);
            }
            tokio::time::sleep(pause).await;
            self.is_coming_back = Some(self.has_session());
            match self.open().await {
                Ok(stream) => return Ok(stream),
                Err(error) => failure = error,
            }
            tries += 1;
        }
    }

    /// Runs a stream until it breaks, or the loop is closed.
    async fn drive(&mut self, stream: TrackStream) -> Result<(), ClientError> {
        let Duplex { requests, mut answers } = stream;
        self.unsure_since = None;
        let mut sampling = self.sampling.map(interval);
        if let Some(sampling) = &mut sampling {
            // Late samples are not made up for: the newest pose replaces them all.
            sampling.set_missed_tick_behavior(MissedTickBehavior::Skip);
        }
        let mut listening = interval(SILENT_MAX);
        let mut was_heard = true;
        while !self.shared.is_closed() {
            tokio::select! {
                // Answers are polled first: a model must not wait because another pose is due.
                biased;
                answer = answers.message() => {
                    was_heard = true;
                    self.take(answer.map_err(|s| ClientError::of(&self.server, "Track", &s))?)?;
                }
                () = due(&mut sampling) => self.sample(),
                room = requests.reserve(), if self.shared.has_waiting() => {
                    if let (Ok(room), Some(tick)) = (room, self.shared.next()) {
                        room.send(TrackRequest { message: Some(Message::Tick(tick)) });
                    } else {
                        // The stream has ended, and its answers give the reason.
                        tokio::task::yield_now().await;
                    }
                }
                () = self.shared.wake.notified() => {}
                _ = listening.tick() => {
                    if !std::mem::take(&mut was_heard) && self.shared.is_owed() {
                        return Err(ClientError::silent(&self.server, "Track", SILENT_MAX));
                    }
                }
            }
        }
        // Closing the requests tells the server that no tick follows, which ends the session; the loop waits for that.
        drop(requests);
        let _ =
            timeout(CLOSE_MAX, async { while let Ok(Some(_)) = answers.message().await {} }).await;
        Ok(())
    }

    /// Handles the refusal of a server that is there, and may have the scene again. After a while the loop leaves it
    /// for another server, if there is one; while none has the scene, as when the store is unreachable for all, the
    /// loop comes back to it.
    fn refused(&mut self, message: &str) -> Result<(), ClientError> {
        let since = *self.unsure_since.get_or_insert_with(Instant::now);
        if since.elapsed() < SILENT_MAX {
            return Ok(());
        }
        let here = self.server.clone();
        let (place, n_homes) = (here.place(), self.home.len());
        let is_elsewhere = |_| {
            self.go_home();
            self.server.place() != place
        };
        if !(0..n_homes).any(is_elsewhere) {
            return Ok(());
        }
        Err(ClientError::unserved(&here, "Track", message))
    }

    /// Queues the device's newest pose.
    fn sample(&mut self) {
        let Some(at) = self.feed.as_mut().and_then(DeviceFeed::pose) else { return };
        let posture = &at.posture;
        let tool = ToolPose {
            tool_id: self.start.tool_ids.first().copied().unwrap_or_default(),
            pose: Some(on_the_wire(&posture.scene_from_tool)),
            link_poses: posture.tool_from_link[..at.n_links].iter().map(on_the_wire).collect(),
            teleport: false,
        };
        self.shared.put(vec![tool], at.at_ns);
    }

    fn take(&mut self, answer: Option<TrackResponse>) -> Result<(), ClientError> {
        let answer = answer.ok_or_else(|| ClientError::ended(&self.server, "Track"))?;
        if !answer.session_token.is_empty() {
            self.start.resume_token.clone_from(&answer.session_token);
            // The stream was not refused.
            self.server.keep_host();
            self.session_at = self.server.place();
        }
        // UNAVAILABLE is no answer either: for a moment the scene may pass to another server, and the stream goes on or
        // names it.
        let passes = |refusal: &Refusal| refusal.code as i32 == Code::Unavailable as i32;
        if answer.is_notice {
            return Ok(());
        }
        if let Some(refusal) = answer.refusal.as_ref().filter(|r| passes(r)) {
            return self.refused(&refusal.message);
        }
        (self.lost_at, self.unsure_since, self.hops) = (None, None, 0);
        if let Some(with_session) = self.is_coming_back.take() {
            self.shared.came_back(with_session);
        }
        let tick = self.shared.answered_tick(answer.sequence);
        let model = answer.renderings.first().and_then(|r| r.local_model.as_ref());
        // The age counts from the loop's own times, not from those that the answer repeats: a model's age is not taken
        // on trust.
        if let (Some(feed), Some(model), Some(tick)) = (&mut self.feed, model, &tick) {
            // A malformed model is treated as lost.
            if fill(&mut self.model, model).is_ok() {
                feed.give(&self.model, tick.at_ns);
            }
        }
        self.shared.answered(answer, tick);
        Ok(())
    }
}

async fn due(sampling: &mut Option<Interval>) {
    match sampling {
        Some(sampling) => {
            sampling.tick().await;
        }
        None => pending().await,
    }
}
