//! The stream of a live view: each frame is made when it is due, from the newest state.
//!
//! A frame is made when the transport asks for a message: a viewer that reads slowly gets fewer frames, and no frame
//! waits.

use std::{
    collections::{BTreeMap, VecDeque},
    future::Future,
    mem,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::time::{Instant, Sleep, sleep};
use tokio_stream::Stream;
use tonic::Status;

use crate::{
    proto::{WatchPart, WatchResponse, WatchedSession},
    scene::Scene,
    service::{
        access::caller::Caller,
        clock::now_ns,
        convert::watch::{WatchOptions, figures, piece, replay_state, session, wish_message},
        host::{
            live_view::viewed_scene::{ViewPiece, ViewedScene},
            quota::{Reservation, Share},
            scene_error::SceneRegistryError,
            scene_host::SceneHost,
            scene_life::{SceneLife, ServerLife},
            scene_registry::SceneRegistry,
            stream_table::{OpenWatch, StreamMetrics},
        },
        metrics::recent::RecentTicks,
        notifier::Subscription,
        refused::Refused,
    },
};

/// Time before a frame at which haptic loops are asked for their newest tick: two ticks at 1 kHz.
const ASKED_BEFORE: Duration = Duration::from_millis(2);

/// The frames of one viewer.
pub struct Watch {
    registry: Arc<SceneRegistry>,
    caller: Caller,
    options: WatchOptions,
    life: ServerLife,
    subscription: Arc<Subscription>,
    viewed: Option<ViewedScene>,
    /// The scene that was named, as it was last found.
    named: Option<NamedScene>,
    /// Bytes of the viewer's copies, and the reservation for them.
    room: Option<(u64, Reservation)>,
    /// State of each haptic loop at this viewer, by number of the stream.
    followed: BTreeMap<u64, FollowedLoop>,
    /// Pieces of the frame under way, sent before its last message.
    pieces: VecDeque<ViewPiece>,
    last_message: Option<WatchResponse>,
    n_frames: u64,
    /// Version of the replay's marks that the viewer has; 0: none.
    marks_version: u64,
    period: Duration,
    /// Time of the next frame.
    due: Instant,
    until: Pin<Box<Sleep>>,
    has_asked: bool,
    _open: OpenWatch,
}

/// State of a haptic loop at a viewer.
struct FollowedLoop {
    stream: Arc<StreamMetrics>,
    recent: RecentTicks,
    /// Time of the newest tick that the viewer has: nanoseconds of the process's clock.
    shown_until_ns: u64,
}

/// A scene without its writer, which ends when nobody holds it.
pub struct NamedScene {
    scene: Arc<Scene>,
    life: SceneLife,
}

impl NamedScene {
    /// Returns the scene as it is now.
    pub fn of(host: &SceneHost) -> NamedScene {
        NamedScene { scene: Arc::clone(&host.scene), life: host.life() }
    }
}

impl Watch {
    /// Creates a stream whose first frame is due at once.
    pub fn new(
        registry: Arc<SceneRegistry>,
        caller: Caller,
        (options, named): (WatchOptions, Option<NamedScene>),
        open: OpenWatch,
    ) -> Watch {
        let life = registry.life();
        Watch {
            subscription: life.subscribe(),
            life,
            registry,
            period: Duration::from_secs_f64(1.0 / options.rate_hz),
            options,
            viewed: None,
            named,
            room: None,
            caller,
            followed: BTreeMap::new(),
            pieces: VecDeque::new(),
            last_message: None,
            n_frames: 0,
            marks_version: 0,
            due: Instant::now() + ASKED_BEFORE,
            until: Box::pin(sleep(Duration::ZERO)),
            has_asked: false,
            _open: open,
        }
    }

    /// Returns the haptic loops of the scene, ordered by number.
    fn loops(&self) -> Vec<Arc<StreamMetrics>> {
        let Some(viewed) = &self.viewed else { return Vec::new() };
        let mut loops = self.registry.streams().loops();
        loops.retain(|stream| stream.scene == viewed.scene.id());
        loops
    }

    fn next_message(&mut self) -> Option<WatchResponse> {
        let message = match self.pieces.pop_front() {
            Some(next) => {
                let viewed = self.viewed.as_ref();
                Some(piece(&next, |id| viewed.and_then(|viewed| viewed.tissue(id))))
            }
            None => self.last_message.take(),
        };
        message.map(|message| WatchResponse { frame: self.n_frames, ..message })
    }

    /// Composes the current frame.
    fn compose(&mut self) -> Result<(), Refused> {
        // Read first: the frame shows a seek as done only if its scene is the one that was sought.
        let playback = self.registry.playback();
        let replay = playback.map(|playback| replay_state(playback, &mut self.marks_version));
        let now = self.now_ns();
        let hosts = self.registry.all();
        let host = self.host(&hosts)?;
        self.n_frames += 1;
        let scene_ids = hosts.iter().map(|host| host.scene.id().to_owned()).collect();
        let mut last =
            WatchResponse { scene_ids, server_time_ns: now, replay, ..Default::default() };
        let Some(host) = host else {
            (self.viewed, self.last_message) = (None, Some(last));
            return Ok(());
        };
        // The host may have another scene, or one that was created again under the same id.
        let viewed = self.viewed.take().filter(|v| Arc::ptr_eq(&v.scene, &host.scene));
        let viewed =
            self.viewed.insert(viewed.unwrap_or_else(|| ViewedScene::of(Arc::clone(&host.scene))));
        if self.options.has(WatchPart::Tissues) {
            let bytes = viewed.bytes_expected();
            if self.room.as_ref().is_none_or(|(reserved, _)| *reserved != bytes) {
                // Given back first: a quota with room for either need not have room for both.
                self.room = None;
                let room = self.registry.reserve(&self.caller, Share::of_bytes(bytes))?;
                self.room = Some((bytes, room));
            }
            self.pieces.extend(viewed.take_tissues(now));
            last.tissue_ids = host.scene.tissues().iter().map(|t| t.id().0).collect();
        }
        if self.options.has(WatchPart::Tools) {
            self.pieces.extend(viewed.take_tools());
            last.tool_ids = host.scene.tools().iter().map(|t| t.id.0).collect();
        }
        if self.options.has(WatchPart::Sessions) {
            // Read again: tissues may have taken a while, and no tick comes after its frame.
            last.server_time_ns = self.now_ns();
            last.sessions = self.sessions(last.server_time_ns);
        }
        if self.options.has(WatchPart::Wishes) {
            last.wishes = host.wishes.now(now).iter().map(wish_message).collect();
        }
        last.scene_id = host.scene.id().to_owned();
        last.quarantined = host.is_quarantined();
        self.last_message = Some(last);
        Ok(())
    }

    /// Returns the time by the clock of the loops: in a replay, of the server that recorded.
    fn now_ns(&self) -> u64 {
        self.registry.playback().map_or_else(now_ns, |playback| playback.now_ns())
    }

    /// Returns the scene to show: the named one, or the first of `hosts` that this server certainly owns.
    fn host(
        &mut self,
        hosts: &[Arc<SceneHost>],
    ) -> Result<Option<Arc<SceneHost>>, SceneRegistryError> {
        match &self.options.scene_id {
            Some(id) => {
                let found = self.registry.get(id);
                // A scene that is no longer here knows its new owner, even if others have looked for it since.
                if let (Err(SceneRegistryError::Unknown { .. }), Some(named)) =
                    (&found, &self.named)
                {
                    named.life.check_lasting(&named.scene)?;
                }
                let host = found?;
                self.named = Some(NamedScene::of(&host));
                Ok(Some(host))
            }
            None => Ok(hosts.iter().find(|host| host.check_lease().is_ok()).cloned()),
        }
    }

    fn sessions(&mut self, now: u64) -> Vec<WatchedSession> {
        let loops = self.loops();
        // A replay that starts again has other streams of the same numbers.
        let is_open = |of: &FollowedLoop| loops.iter().any(|s| Arc::ptr_eq(s, &of.stream));
        self.followed.retain(|_, followed| is_open(followed));
        let objective = self.registry.metrics().objective;
        let session = |stream: &Arc<StreamMetrics>| {
            let ticks = &stream.ticks;
            let FollowedLoop { recent, shown_until_ns, .. } =
                self.followed.entry(stream.number).or_insert_with(|| FollowedLoop {
                    stream: Arc::clone(stream),
                    recent: RecentTicks::since(ticks, now),
                    shown_until_ns: 0,
                });
            let recent = match &stream.recorded {
                Some(recorded) => recorded.lock().figures(ticks, now),
                None => recent.figures(ticks, now),
            };
            let figures = figures(ticks, &recent, objective, stream.recorded.is_some());
            let shown = stream.last_tick.read(|tick| {
                let after_ns = mem::replace(shown_until_ns, tick.at_ns);
                session(stream.number, tick, after_ns, now)
            });
            WatchedSession { figures: Some(figures), ..shown }
        };
        loops.iter().map(session).collect()
    }
}

impl Stream for Watch {
    type Item = Result<WatchResponse, Status>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let watch = self.get_mut();
        loop {
            if let Some(message) = watch.next_message() {
                return Poll::Ready(Some(Ok(message)));
            }
            watch.subscription.register(cx.waker());
            if let Err(ended) = watch.life.check_served() {
                return Poll::Ready(Some(Err(ended.into())));
            }
            ready!(watch.until.as_mut().poll(cx));
            if mem::replace(&mut watch.has_asked, false) {
                if let Err(gone) = watch.compose() {
                    return Poll::Ready(Some(Err(gone.into())));
                }
                // Skips frames that were due while nobody read.
                watch.due = (watch.due + watch.period).max(Instant::now());
                watch.until.as_mut().reset(watch.due - ASKED_BEFORE);
            } else {
                watch.loops().iter().for_each(|stream| stream.last_tick.ask());
                watch.has_asked = true;
                watch.until.as_mut().reset(watch.due.max(Instant::now() + ASKED_BEFORE));
            }
        }
    }
}
