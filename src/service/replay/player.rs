//! Plays a recording in the live view: all its loops, tick by tick in the order of their time.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, btree_map},
    iter::Peekable,
    sync::Arc,
    time::Duration,
};

pub use crate::service::host::live_view::playback::{
    NewPosition, Playback, PlaybackChange, SPEEDS,
};

use super::{
    loop_replay::{LoopReplay, ReplayStop, check_gap, compare, decoded},
    replayed_scene::{HistoryError, SceneHistory, cached_field},
    shown_loop::{ShownLoop, recorded_times},
    timeline::{RecordedTimeline, TimedTick},
};
use crate::{
    scene::{Limits, ToolId},
    service::{
        host::{
            live_view::playback::{PlayerStep, TickMark},
            scene_registry::SceneRegistry,
        },
        recording::recorded::{RecordedLoop, Recording, TickMessages},
    },
    store::FieldCache,
};

/// Time for which a loop is shown after its last tick: as long as the page takes a loop for live.
const LINGER: Duration = Duration::from_millis(500);

/// A recording that viewers of a registry control.
pub struct Player {
    recording: Recording,
    timeline: RecordedTimeline,
    registry: Arc<SceneRegistry>,
    playback: Arc<Playback>,
}

/// The first tick of a loop that differs, or that cannot be compared.
#[derive(Debug)]
pub struct StoppedLoop {
    /// Session of the loop.
    pub session: u32,
    /// Sequence number of the tick.
    pub sequence: u64,
    /// Reason.
    pub stop: ReplayStop,
}

impl Player {
    /// Prepares a recording, paused at its beginning, for the viewers of `registry`. Ticks of a sequence number greater
    /// than `until` are left out.
    pub fn new(
        recording: Recording,
        until: u64,
        speed: f64,
        registry: Arc<SceneRegistry>,
    ) -> Player {
        let objective = registry.metrics().objective;
        let timeline = RecordedTimeline::new(&recording.sessions, until, objective);
        let playback = Playback::new(timeline.times(), timeline.marks.clone(), speed);
        let playback = Arc::new(playback);
        registry.show_playback(Arc::clone(&playback));
        Player { recording, timeline, registry, playback }
    }

    /// Returns the playback, which the viewers share.
    pub fn playback(&self) -> &Arc<Playback> {
        &self.playback
    }

    /// Plays as the viewers want until the playback ends. Fields of tools come from the cache, if one is given. Calls
    /// `stopped` when a loop is found to differ.
    ///
    /// # Errors
    /// Returns an error if the changes of the scene are not valid.
    pub fn run(
        self,
        cache: Option<&FieldCache>,
        stopped: impl Fn(&StoppedLoop),
    ) -> Result<(), HistoryError> {
        let Player { recording, timeline, registry, playback } = self;
        let Recording { scene, published_ns, limits, changes, sessions, .. } = recording;
        let field = cached_field(cache);
        let history = SceneHistory::new(scene, published_ns, limits.clone(), changes, &field)?;
        let mut played = PlayedScene {
            history: &history,
            limits: &limits,
            sessions: &sessions,
            ticks: &timeline.ticks,
            registry: &registry,
            next: 0,
            running: BTreeMap::new(),
            displayed: None,
            is_hidden: true,
        };
        let mut found = BTreeSet::new();
        played.restart();
        while let Some(step) = playback.next_step() {
            match step {
                PlayerStep::Restart => played.restart(),
                PlayerStep::Show => played.show(),
                PlayerStep::Play => {
                    let at = played.next;
                    let Some(stop) = played.play() else { continue };
                    if matches!(stop.stop, ReplayStop::Differs(_)) {
                        playback.mark(at, TickMark::Differs);
                    }
                    // Found again whenever the tick is played again.
                    if found.insert(stop.session) {
                        stopped(&stop);
                    }
                }
            }
        }
        Ok(())
    }
}

/// The loops that run at a position of the recording.
struct PlayedScene<'a> {
    history: &'a SceneHistory,
    limits: &'a Limits,
    sessions: &'a BTreeMap<u32, RecordedLoop>,
    ticks: &'a [TimedTick],
    registry: &'a SceneRegistry,
    /// Index of the next tick.
    next: usize,
    /// Loops that have begun, by session, or the part of the recording that one lacks to begin.
    running: BTreeMap<u32, Result<PlayedLoop<'a>, String>>,
    /// Session whose scene is displayed.
    displayed: Option<u32>,
    /// Viewers still see the state before the last restart.
    is_hidden: bool,
}

struct PlayedLoop<'a> {
    replay: LoopReplay<'a>,
    shown: ShownLoop,
    tool_ids: &'a [u32],
    rest: Peekable<btree_map::Iter<'a, u32, TickMessages>>,
    /// Number of the last tick that was played, and of the last one that will be.
    number: u32,
    last_number: u32,
    /// Time of the last tick that was played.
    at_ns: u64,
    /// All answers so far were equal to the recorded ones.
    is_equal: bool,
}

impl<'a> PlayedScene<'a> {
    /// Returns to the beginning, where the first loop has begun.
    fn restart(&mut self) {
        (self.next, self.displayed, self.is_hidden) = (0, None, true);
        self.running.clear();
        if let Some(first) = self.ticks.first() {
            self.running.insert(first.session, self.begun(first));
        }
    }

    /// Plays the next tick. Returns the reason if the tick is the first of its loop that cannot be compared.
    fn play(&mut self) -> Option<StoppedLoop> {
        let tick = *self.ticks.get(self.next)?;
        self.next += 1;
        let linger_ns = LINGER.as_nanos() as u64;
        let n_before = self.running.len();
        self.running.retain(|_, played| match played {
            Ok(played) if played.is_over() => tick.at_ns.saturating_sub(played.at_ns) < linger_ns,
            _ => true,
        });
        let mut has_changed = self.running.len() != n_before;
        if !self.running.contains_key(&tick.session) {
            self.running.insert(tick.session, self.begun(&tick));
            has_changed = true;
        }
        let objective = self.registry.metrics().objective;
        let stop = match self.running.get_mut(&tick.session)? {
            Ok(played) => played.play_to(tick.number, objective),
            Err(lacks) => Some((0, ReplayStop::Lacks(lacks.clone()))),
        };
        if !self.is_hidden && (has_changed || self.leading() != self.displayed) {
            self.show();
        }
        stop.map(|(sequence, stop)| StoppedLoop { session: tick.session, sequence, stop })
    }

    /// Returns the session whose scene shows the newest tissue: the first that goes on, or else the last that ended.
    fn leading(&self) -> Option<u32> {
        let order = |(session, played): &(u32, &PlayedLoop)| {
            let ended = played.is_over().then_some(Reverse(played.at_ns));
            (ended, *session)
        };
        self.loops().min_by_key(order).map(|(session, _)| session)
    }

    fn loops(&self) -> impl Iterator<Item = (u32, &PlayedLoop<'a>)> {
        self.running.iter().filter_map(|(session, played)| Some((*session, played.as_ref().ok()?)))
    }

    /// Shows the loops that run, in the scene of one of them.
    fn show(&mut self) {
        let streams = self.loops().map(|(_, played)| Arc::clone(&played.shown.stream));
        self.registry.streams().show_only(streams);
        let tool_ids: Vec<u32> = self.loops().flat_map(|(_, l)| l.tool_ids).copied().collect();
        self.displayed = self.leading();
        let displayed = self.displayed.and_then(|session| self.running.get_mut(&session));
        let scene = match displayed {
            Some(Ok(played)) => {
                // A tool that was removed meanwhile is not displayed.
                let _ = played.replay.scene.add_tools(&tool_ids);
                Arc::clone(&played.replay.scene.scene)
            }
            _ if self.is_hidden => self.history.begin().scene,
            _ => return,
        };
        let id = scene.id().to_owned();
        let is_there = self.registry.get(&id).is_ok_and(|host| Arc::ptr_eq(&host.scene, &scene));
        if !is_there {
            // Without a thread for it the scene is not displayed; the loops are.
            let _ = self.registry.insert_shown(scene);
        }
        self.is_hidden = false;
    }

    /// Begins the loop of a tick.
    fn begun(&self, tick: &TimedTick) -> Result<PlayedLoop<'a>, String> {
        let recorded = self.sessions.get(&tick.session).ok_or("its loop")?;
        let replay = LoopReplay::begin(recorded, self.history, self.limits)?;
        let tool_ids = recorded.start.as_ref().map_or(&[][..], |start| &start.tool_ids);
        let scene = &replay.scene.scene;
        let tools = tool_ids.iter().filter_map(|id| scene.tool(ToolId(*id)).ok()).collect();
        let shown = ShownLoop::new(scene.id(), tick.session, tools);
        let rest = recorded.ticks.iter().peekable();
        let last = self.ticks.iter().rev().find(|other| other.session == tick.session);
        Ok(PlayedLoop {
            replay,
            shown,
            tool_ids,
            rest,
            number: 0,
            last_number: last.map_or(0, |last| last.number),
            at_ns: tick.at_ns,
            is_equal: true,
        })
    }
}

impl PlayedLoop<'_> {
    fn is_over(&self) -> bool {
        self.number >= self.last_number
    }

    /// Plays the ticks up to this number. Returns the sequence number and reason of the first that cannot be compared.
    fn play_to(&mut self, number: u32, objective: Duration) -> Option<(u64, ReplayStop)> {
        let mut stopped = None;
        while let Some((at, messages)) = self.rest.next_if(|(at, _)| **at <= number) {
            let (sequence, stop) = self.play(*at, messages, objective);
            self.number = *at;
            if let Err(stop) = stop
                && self.is_equal
            {
                self.is_equal = false;
                stopped = Some((sequence, stop));
            }
        }
        stopped
    }

    /// Plays a tick, also after one that differed. Returns its sequence number.
    fn play(
        &mut self,
        number: u32,
        messages: &TickMessages,
        objective: Duration,
    ) -> (u64, Result<(), ReplayStop>) {
        let (note, tick, recorded) = match decoded(messages) {
            Ok(decoded) => decoded,
            Err(lacks) => return (0, Err(ReplayStop::Lacks(lacks))),
        };
        let gap = check_gap(self.number, number, &note);
        let got = match self.replay.tick(&note, &tick, &recorded) {
            Ok(Some(got)) => got,
            Ok(None) => return (note.sequence, gap),
            Err(stop) => return (note.sequence, Err(stop)),
        };
        self.at_ns = self.at_ns.max(note.started_ns);
        if got.refusal.is_none() {
            let times = recorded_times(&note, &recorded);
            self.shown.show(&times, note.sequence, objective, &self.replay.engine);
        }
        let is_compared = self.is_equal;
        (
            note.sequence,
            gap.and_then(|()| if is_compared { compare(&note, got, recorded) } else { Ok(()) }),
        )
    }
}
