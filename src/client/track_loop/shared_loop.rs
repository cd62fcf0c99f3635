//! State that a loop's thread and its users share.

use std::{
    collections::VecDeque,
    sync::Arc,
    time::{Duration, Instant},
};

use parking_lot::{Condvar, Mutex};
use tokio::sync::{Notify, watch};

use super::{options::LoopOptions, status::LoopStatus};
use crate::{
    client::error::ClientError,
    proto::{Rendering, Tick, ToolPose, TrackResponse, TrackStart},
};

/// Ticks that wait for the transport. If it falls behind, the oldest are dropped, and the sweep goes straight from the
/// tick before them to the tick after.
const WAITING_MAX: usize = 64;
/// Ticks under way whose times are remembered: four seconds at 1 kHz, more than answers are ever late.
const UNDER_WAY_MAX: usize = 4_096;

pub(super) struct SharedLoop {
    epoch: Instant,
    state: Mutex<LoopState>,
    /// Wakes the thread: there is something to send, or the loop is closed.
    pub(super) wake: Notify,
    /// Wakes those who wait: rises with each change.
    changed: watch::Sender<u64>,
    ended: Condvar,
}

#[derive(Default)]
struct LoopState {
    waiting: VecDeque<Tick>,
    newest_poses: Vec<ToolPose>,
    /// Last tick that teleported each tool, so that the tool is not swept there if that tick is lost.
    teleported: Vec<(u32, u64)>,
    under_way: VecDeque<TickUnderWay>,
    sequence: u64,
    /// Time limit of each tick, 0 for none.
    deadline_us: u32,
    answer: Option<Arc<TrackResponse>>,
    /// Poses of the tick that `answer` answers.
    answered_poses: Vec<ToolPose>,
    answered_at: Option<Instant>,
    /// The newest answer that refuses its tick, and true if a call has reported it.
    refused: Option<TrackResponse>,
    is_refusal_told: bool,
    failure: Option<Arc<ClientError>>,
    is_closed: bool,
    has_ended: bool,
    status: LoopStatus,
}

/// A tick that has no answer yet.
pub(super) struct TickUnderWay {
    sequence: u64,
    /// Time of its poses, nanoseconds of the loop's clock.
    pub(super) at_ns: u64,
    tools: Vec<ToolPose>,
}

impl SharedLoop {
    pub(super) fn new(options: &LoopOptions) -> SharedLoop {
        // A limit below a microsecond is no limit on the wire.
        let us = |limit: Duration| limit.as_micros().clamp(1, u32::MAX.into()) as u32;
        let deadline_us = options.tick_deadline().map_or(0, us);
        SharedLoop {
            epoch: options.epoch,
            state: Mutex::new(LoopState { deadline_us, ..LoopState::default() }),
            wake: Notify::new(),
            changed: watch::Sender::new(0),
            ended: Condvar::new(),
        }
    }

    /// Returns the time of the loop's clock, nanoseconds.
    pub(super) fn now_ns(&self) -> u64 {
        self.epoch.elapsed().as_nanos() as u64
    }

    pub(super) fn send(&self, tools: Vec<ToolPose>, at_ns: u64) -> Result<u64, ClientError> {
        let mut state = self.state.lock();
        state.raise()?;
        let sequence = state.put(tools, at_ns);
        drop(state);
        self.wake.notify_one();
        Ok(sequence)
    }

    /// Queues a tick for the loop's own thread. Errors are left for the loop's user.
    pub(super) fn put(&self, tools: Vec<ToolPose>, at_ns: u64) {
        self.state.lock().put(tools, at_ns);
    }

    pub(super) async fn wait(&self, sequence: u64) -> Result<Arc<TrackResponse>, ClientError> {
        let mut changes = self.changed.subscribe();
        loop {
            // The change is marked as seen before the check: a later change counts as another.
            changes.borrow_and_update();
            {
                let mut state = self.state.lock();
                // An answer takes precedence over an error that ended the loop after it.
                if let Some(answer) = state.answer.as_ref().filter(|a| a.sequence >= sequence) {
                    return Ok(Arc::clone(answer));
                }
                state.raise_of(sequence)?;
            }
            changes.changed().await.expect("its sender is here");
        }
    }

    pub(super) fn newest(&self) -> Option<Arc<TrackResponse>> {
        self.state.lock().answer.clone()
    }

    pub(super) fn try_newest<T>(&self, read: impl FnOnce(&TrackResponse) -> T) -> Option<T> {
        self.state.try_lock()?.answer.as_deref().map(read)
    }

    pub(super) fn status(&self) -> LoopStatus {
        let state = self.state.lock();
        let age = state.answered_at.unwrap_or(self.epoch).elapsed();
        LoopStatus { age, ..state.status }
    }

    pub(super) fn check(&self) -> Result<(), ClientError> {
        self.state.lock().raise()
    }

    pub(super) fn close(&self) {
        self.state.lock().is_closed = true;
        self.wake.notify_one();
        self.tell();
    }

    pub(super) fn is_closed(&self) -> bool {
        self.state.lock().is_closed
    }

    pub(super) fn wait_for_end(&self, most: Duration) {
        let mut state = self.state.lock();
        let until = Instant::now() + most;
        while !state.has_ended && !self.ended.wait_until(&mut state, until).timed_out() {}
    }

    /// Returns the next tick to send.
    pub(super) fn next(&self) -> Option<Tick> {
        self.state.lock().waiting.pop_front()
    }

    pub(super) fn has_waiting(&self) -> bool {
        !self.state.lock().waiting.is_empty()
    }

    pub(super) fn opened(&self) {
        let mut state = self.state.lock();
        state.status.is_open = true;
        state.answered_at.get_or_insert_with(Instant::now);
        state.resend();
        drop(state);
        self.tell();
    }

    pub(super) fn broke_off(&self) {
        self.state.lock().status.is_open = false;
        self.tell();
    }

    /// Counts a reopened stream at its first answer.
    pub(super) fn came_back(&self, with_session: bool) {
        let status = &mut self.state.lock().status;
        status.reconnected += 1;
        status.sessions_lost += u64::from(!with_session);
    }

    /// Removes the answered tick and all before it. Returns `None` if the tick is no longer known.
    pub(super) fn answered_tick(&self, sequence: u64) -> Option<TickUnderWay> {
        let mut state = self.state.lock();
        let mut answered = None;
        while state.under_way.front().is_some_and(|tick| tick.sequence <= sequence) {
            answered = state.under_way.pop_front().filter(|tick| tick.sequence == sequence);
        }
        answered
    }

    /// Stores an answer. `tick`: the answered tick, if it is known.
    pub(super) fn answered(&self, answer: TrackResponse, tick: Option<TickUnderWay>) {
        let mut state = self.state.lock();
        state.answered_at = Some(Instant::now());
        if answer.refusal.is_some() {
            (state.refused, state.is_refusal_told) = (Some(answer), false);
        } else {
            state.answer = Some(Arc::new(answer));
            state.answered_poses = tick.map(|tick| tick.tools).unwrap_or_default();
        }
        drop(state);
        self.tell();
    }

    /// Lets a loop that lost its session continue from its last answer.
    pub(super) fn go_on(&self, start: &mut TrackStart) {
        let state = self.state.lock();
        let Some(answer) = state.answer.as_ref().filter(|_| !state.answered_poses.is_empty())
        else {
            return;
        };
        let proxy = |rendering: &Rendering| ToolPose {
            tool_id: rendering.tool_id,
            pose: rendering.proxy,
            link_poses: rendering.proxy_link_poses.clone(),
            teleport: false,
        };
        start.last_poses.clone_from(&state.answered_poses);
        start.last_proxies = answer.renderings.iter().map(proxy).collect();
    }

    /// Returns true if a tick without an answer is under way.
    pub(super) fn is_owed(&self) -> bool {
        !self.state.lock().under_way.is_empty()
    }

    /// Records the end of the loop's thread.
    pub(super) fn ended(&self, failure: Option<ClientError>) {
        let mut state = self.state.lock();
        state.failure = failure.map(Arc::new);
        (state.is_closed, state.has_ended, state.status.is_open) = (true, true, false);
        drop(state);
        self.ended.notify_all();
        self.tell();
    }

    fn tell(&self) {
        self.changed.send_modify(|n| *n += 1);
    }
}

impl LoopState {
    /// Returns the pending error, if any: a refusal once, an end each time.
    fn raise(&mut self) -> Result<(), ClientError> {
        if !std::mem::replace(&mut self.is_refusal_told, true)
            && let Some(refusal) = self.refused.as_ref().and_then(ClientError::of_refusal)
        {
            return Err(refusal);
        }
        match &self.failure {
            Some(failure) => Err(ClientError::Over(Arc::clone(failure))),
            None if self.is_closed => Err(ClientError::Closed),
            None => Ok(()),
        }
    }

    /// Returns the pending error for a call that waits for a tick: its refusal even if another call has reported it.
    fn raise_of(&mut self, sequence: u64) -> Result<(), ClientError> {
        if self.refused.as_ref().is_some_and(|refused| refused.sequence >= sequence) {
            self.is_refusal_told = false;
        }
        self.raise()
    }

    fn put(&mut self, tools: Vec<ToolPose>, at_ns: u64) -> u64 {
        self.sequence += 1;
        self.newest_poses.clone_from(&tools);
        for tool in tools.iter().filter(|t| t.teleport) {
            self.teleported.retain(|(id, _)| *id != tool.tool_id);
            self.teleported.push((tool.tool_id, self.sequence));
        }
        if self.waiting.len() == WAITING_MAX {
            self.drop_oldest();
        }
        if self.under_way.len() == UNDER_WAY_MAX {
            self.under_way.pop_front();
        }
        self.under_way.push_back(TickUnderWay {
            sequence: self.sequence,
            at_ns,
            tools: tools.clone(),
        });
        self.waiting.push_back(Tick {
            sequence: self.sequence,
            client_time_ns: at_ns as i64,
            tools,
            deadline_us: self.deadline_us,
        });
        self.sequence
    }

    fn drop_oldest(&mut self) {
        let Some(lost) = self.waiting.pop_front() else { return };
        self.under_way.retain(|tick| tick.sequence != lost.sequence);
        self.status.dropped += 1;
        // The next tick stands for the dropped one, teleports included.
        if let Some(next) = self.waiting.front_mut() {
            for put in lost.tools.iter().filter(|t| t.teleport) {
                teleport(&mut next.tools, put.tool_id);
            }
        }
    }

    /// Sends the newest pose again after the stream broke: ticks under way may be lost.
    fn resend(&mut self) {
        self.waiting.clear();
        let at_ns = self.under_way.back().map(|tick| tick.at_ns);
        self.under_way.clear();
        let Some(at_ns) = at_ns else { return };
        let answered = self.answer.as_ref().map_or(0, |a| a.sequence);
        let mut tools = self.newest_poses.clone();
        for (tool_id, when) in &self.teleported {
            if *when > answered {
                teleport(&mut tools, *tool_id);
            }
        }
        self.put(tools, at_ns);
    }
}

fn teleport(tools: &mut [ToolPose], tool_id: u32) {
    tools.iter_mut().filter(|t| t.tool_id == tool_id).for_each(|t| t.teleport = true);
}
