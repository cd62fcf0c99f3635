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

/// How long a loop that is closed waits for the server's last word.
pub(super) const CLOSE_MAX: Duration = Duration::from_secs(1);
/// Ticks that wait in the transport; the loop's own queue is behind it, where the oldest can go.
const WAITING_MAX: usize = 1;
/// Between two tries to come back.
const PAUSE: Duration = Duration::from_millis(50);
/// Servers that may name another before a new loop is told that it cannot be opened.
const HOPS_MAX: u32 = 4;
/// How long one takes at most, the first included: a server that is stopped takes connections, and answers nothing.
const OPEN_MAX: Duration = Duration::from_secs(2);
/// How long a new loop waits for its refusal. One that takes longer is told by the first tick.
const REFUSAL_MAX: Duration = Duration::from_millis(100);
/// A server that owes an answer for so long is left and sought anew: a network that is cut says nothing. So is one that
/// refuses every tick for so long: the store may be out of its reach alone, and another has the scene by then.
const SILENT_MAX: Duration = Duration::from_secs(2);

type TrackStream = Duplex<TrackRequest, TrackResponse>;

pub(super) struct LoopThread {
    /// Those that were given; where servers share scenes there may be several.
    home: Vec<ServerAddress>,
    /// Of these, the one that is tried next.
    next_home: usize,
    /// The one that has the scene, as far as is known.
    server: ServerAddress,
    start: TrackStart,
    /// The server that has the session of the start's token.
    session_at: (String, Option<Host>),
    /// When the stream broke off that was answered last.
    lost_at: Option<Instant>,
    /// Since when, on this stream, the server says that it cannot tell whether the scene is its own.
    unsure_since: Option<Instant>,
    /// Servers since then that have named another.
    hops: u32,
    reconnect_max: Duration,
    feed: Option<DeviceFeed>,
    sampling: Option<Duration>,
    model: Box<LocalModel>,
    /// Of the stream that is open, where it is not the first: it asked for the session, and has no answer yet.
    is_coming_back: Option<bool>,
    shared: Arc<SharedLoop>,
}

/// Says that the loop is over, whatever ends its thread.
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
        // What it leaves and finds behind a proxy concerns no call of its client.
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

    /// Runs it to its end on the calling thread; `opened` is told how it began.
    pub(super) fn run(mut self, opened: oneshot::Sender<Result<(), ClientError>>) {
        let last_word = LastWord(Arc::clone(&self.shared));
        let shared = Arc::clone(&self.shared);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let end = match runtime {
            Ok(runtime) => runtime.block_on(self.work(opened)),
            Err(error) => {
                let server = self.server.to_string();
                let failed = ClientError::Connect { server, reason: error.to_string() };
                // Nobody to tell: the loop was dropped while it was opened.
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
        // Headers come before the start was looked at, and nothing says that it was accepted.
        if let Ok(first) = timeout(REFUSAL_MAX, stream.answers.message()).await {
            let first = first.map_err(|s| ClientError::of(&self.server, "Track", &s));
            self.take(first?)?;
        }
        Ok(stream)
    }

    /// To the server that another has named.
    fn go(&mut self, address: &str) {
        self.server = self.server.at(address);
        self.hops += 1;
    }

    /// To the next of those that were given: whoever had the scene is not there.
    fn go_home(&mut self) {
        self.server = self.home[self.next_home % self.home.len()].clone();
        self.next_home += 1;
        // Behind a proxy by turns the one that had it, which may be back, and any other.
        self.server.leave_host();
    }

    /// Whether the server has the session, as far as is known.
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
            // A connection of its own, driven by this thread: nobody else's upload is in front of a tick.
            let mut client = Client::connect(&self.server).await?;
            client.track(start, WAITING_MAX).await
        };
        let silent = || ClientError::silent(&self.server, "Track", OPEN_MAX);
        timeout(OPEN_MAX, opening).await.unwrap_or_else(|_| Err(silent()))
    }

    /// Seeks the server after a stream broke off.
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
                    // The first try is at the same server: it has the session.
                    if tries > 0 {
                        self.go_home();
                    }
                    false
                }
                // At once, but not round and round: who is named may be gone, and is named until its lease is over.
                ClientError::Elsewhere { address, .. } => {
                    let address = address.clone();
                    self.go(&address);
                    pause = if self.hops > 1 { PAUSE } else { Duration::ZERO };
                    false
                }
                // Its session was over before the loop came back, and another goes on from its last answer. Without a session
                // it is the scene that is unknown.
                ClientError::Refused { code: Code::NotFound, .. } => {
                    let had_session = self.has_session();
                    self.start.resume_token.clear();
                    !had_session
                }
                // Another stream had the session until now; the server has let it go by the next try.
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

    /// Until the stream breaks off, or the loop is closed.
    async fn drive(&mut self, stream: TrackStream) -> Result<(), ClientError> {
        let Duplex { requests, mut answers } = stream;
        self.unsure_since = None;
        let mut sampling = self.sampling.map(interval);
        if let Some(sampling) = &mut sampling {
            // Late samples are not made up for: the newest pose stands for all.
            sampling.set_missed_tick_behavior(MissedTickBehavior::Skip);
        }
        let mut listening = interval(SILENT_MAX);
        let mut was_heard = true;
        while !self.shared.is_closed() {
            tokio::select! {
                // Answers first: a model must not wait because another pose is due.
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
                        // The stream has ended, and its answers say why.
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
        // Tells the server that no tick follows, which ends the session, and waits until it was heard.
        drop(requests);
        let _ =
            timeout(CLOSE_MAX, async { while let Ok(Some(_)) = answers.message().await {} }).await;
        Ok(())
    }

    /// By a server that is there, and may have the scene again. It is left after a while for another, if there is one; where
    /// none has the scene, as while the store is out of everybody's reach, the loop comes by again.
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

    /// Puts the device's newest pose among what waits.
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
        // No answer either: for a moment the scene may pass to another server, and the stream goes on or says to which.
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
        // The loop's own times, not those that the answer repeats: a model's age is not taken on trust.
        if let (Some(feed), Some(model), Some(tick)) = (&mut self.feed, model, &tick) {
            // A model that is none is as one that is lost.
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
