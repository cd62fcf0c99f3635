//! The playback of a recording, which all viewers share: viewers change it, and the player asks it for its next step.
//!
//! A position is the number of ticks that have been played. The state of a recorded scene is reached only by playing the
//! ticks before it: a seek back starts again from the beginning.

use std::{
    collections::BTreeMap,
    ops::RangeInclusive,
    time::{Duration, Instant},
};

use parking_lot::{Condvar, Mutex};

/// Range of recorded seconds per second. Slower or faster makes no sense, and could not be paced.
pub const SPEEDS: RangeInclusive<f64> = 0.001..=1000.0;
/// Delay above which the player goes on from where it is: it does not hurry to catch up.
const DELAY_MAX: Duration = Duration::from_millis(100);
/// Parts of the recording, each of which shows one mark of a kind.
const MARK_PARTS: u64 = 1000;

/// A playback, with the times and the marks of its ticks.
pub struct Playback {
    ticks: TickTimeline,
    state: Mutex<PlaybackState>,
    changed: Condvar,
}

/// Times of a recording's ticks.
pub struct TickTimeline {
    /// Time of position 0: nanoseconds of the clock of the server that recorded.
    pub began_ns: u64,
    /// Time of each tick after `began_ns`, nanoseconds, rising.
    pub at_ns: Vec<u64>,
}

/// Condition of a recorded tick. The greater one is shown of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TickMark {
    /// Cut short by its deadline, or slower than the objective; with local models, only if a force is LATE.
    Late,
    /// Refused.
    Refused,
    /// The replay's answer differs.
    Differs,
}

/// Step of the player.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlayerStep {
    /// Return to the beginning, and show nothing new until `Show`.
    Restart,
    /// Play the next tick.
    Play,
    /// Show the state after the ticks so far.
    Show,
}

/// Changes that a viewer requests. `None` changes nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct PlaybackChange {
    /// Plays or pauses.
    pub playing: Option<bool>,
    /// Recorded seconds per second, in [`SPEEDS`].
    pub speed: Option<f64>,
    /// Starts again at the end.
    pub repeat: Option<bool>,
    /// New position.
    pub position: Option<NewPosition>,
}

/// Position that a viewer requests.
#[derive(Clone, Copy, Debug)]
pub enum NewPosition {
    /// After the last tick up to this time, seconds.
    Seconds(f64),
    /// This number of ticks further, and paused.
    Ticks(i32),
    /// This number of marked ticks further, and paused.
    Marks(i32),
}

/// Playback as a viewer sees it.
#[derive(Clone, Copy, Debug)]
pub struct PlaybackView {
    /// Position after the beginning, or the sought one, seconds.
    pub position_s: f64,
    /// Time of the last tick, seconds.
    pub duration_s: f64,
    /// True if it is not paused.
    pub playing: bool,
    /// Recorded seconds per second.
    pub speed: f64,
    /// Starts again at the end.
    pub repeat: bool,
    /// True if a seek is not shown yet.
    pub seeking: bool,
    /// Time of the last tick that was played, seconds.
    pub played_s: f64,
    /// Ticks up to `position_s`.
    pub tick: usize,
    /// All ticks.
    pub ticks: usize,
    /// Mark of the last of the ticks up to `position_s`.
    pub mark: Option<TickMark>,
    /// Changes whenever a mark is added.
    pub marks_version: u64,
}

struct PlaybackState {
    /// Number of ticks that were played.
    played: usize,
    /// Position that is sought.
    sought: Option<usize>,
    /// Step that the player is taking.
    under_way: Option<PlayerStep>,
    /// The state after all ticks that were played is shown.
    is_shown: bool,
    playing: bool,
    speed: f64,
    repeat: bool,
    /// Instant at which the recording's time was that number of nanoseconds.
    since: (Instant, u64),
    /// Marks by index of the tick.
    marks: BTreeMap<usize, TickMark>,
    marks_version: u64,
    is_over: bool,
}

/// Next act of the player.
enum NextAct {
    Step(PlayerStep),
    At(Instant),
    /// After a change by a viewer.
    Later,
}

impl Playback {
    /// Creates a paused playback at the beginning. `marks` are by index of the tick.
    pub fn new(ticks: TickTimeline, marks: BTreeMap<usize, TickMark>, speed: f64) -> Playback {
        debug_assert!(ticks.at_ns.is_sorted(), "times rise");
        let state = PlaybackState {
            played: 0,
            sought: None,
            under_way: None,
            is_shown: false,
            playing: false,
            speed,
            repeat: false,
            since: (Instant::now(), 0),
            marks,
            marks_version: 1,
            is_over: false,
        };
        Playback { ticks, state: Mutex::new(state), changed: Condvar::new() }
    }

    /// Time of the last tick, seconds.
    pub fn duration_s(&self) -> f64 {
        seconds(self.ticks.at(self.ticks.at_ns.len()))
    }

    /// Makes the changes of a viewer.
    pub fn change(&self, change: &PlaybackChange) {
        let mut state = self.state.lock();
        let now = Instant::now();
        state.since = (now, state.now_ns(&self.ticks, now));
        state.speed = change.speed.unwrap_or(state.speed);
        state.repeat = change.repeat.unwrap_or(state.repeat);
        let from = state.position();
        let ticks = self.ticks.at_ns.len();
        if let Some(playing) = change.playing {
            state.playing = playing;
            if playing && from == ticks && change.position.is_none() {
                state.sought = Some(0);
            }
        }
        match change.position {
            Some(NewPosition::Seconds(s)) => state.sought = Some(self.ticks.position(s)),
            Some(NewPosition::Ticks(by)) => {
                let to = from.saturating_add_signed(by as isize).clamp(1.min(ticks), ticks);
                (state.sought, state.playing) = (Some(to), false);
            }
            Some(NewPosition::Marks(by)) => {
                let to = state.marked(from, by).unwrap_or(from);
                (state.sought, state.playing) = (Some(to), false);
            }
            None => {}
        }
        self.changed.notify_all();
    }

    /// Ends the playback, and its player.
    pub fn end(&self) {
        self.state.lock().is_over = true;
        self.changed.notify_all();
    }

    /// Waits for the player's next step; the step before is done. `None`: the playback has ended.
    pub fn next_step(&self) -> Option<PlayerStep> {
        let mut state = self.state.lock();
        state.finish_step();
        while !state.is_over {
            match state.due(&self.ticks, Instant::now()) {
                NextAct::Step(step) => {
                    state.under_way = Some(step);
                    return Some(step);
                }
                NextAct::At(due) => drop(self.changed.wait_until(&mut state, due)),
                NextAct::Later => self.changed.wait(&mut state),
            }
        }
        None
    }

    /// Marks a tick, by its index.
    pub fn mark(&self, tick: usize, mark: TickMark) {
        let mut state = self.state.lock();
        let before = state.marks.get(&tick).copied();
        if before < Some(mark) {
            state.marks.insert(tick, mark);
            state.marks_version += 1;
        }
    }

    /// Returns the playback as it is now.
    pub fn view(&self) -> PlaybackView {
        let state = self.state.lock();
        let position_ns = state.now_ns(&self.ticks, Instant::now());
        let tick = state.position();
        PlaybackView {
            position_s: seconds(position_ns),
            duration_s: self.duration_s(),
            playing: state.playing,
            speed: state.speed,
            repeat: state.repeat,
            seeking: state.sought.is_some() || !state.playing && !state.is_shown,
            played_s: seconds(self.ticks.at(state.played)),
            tick,
            ticks: self.ticks.at_ns.len(),
            mark: tick.checked_sub(1).and_then(|last| state.marks.get(&last).copied()),
            marks_version: state.marks_version,
        }
    }

    /// Returns the time of the position: nanoseconds of the clock of the server that recorded.
    pub fn now_ns(&self) -> u64 {
        self.ticks.began_ns.saturating_add(self.state.lock().now_ns(&self.ticks, Instant::now()))
    }

    /// Returns the time and mark of marked ticks, by time: of each kind the first in each thousandth of the recording.
    pub fn shown_marks(&self) -> Vec<(f64, TickMark)> {
        let part_ns = (self.ticks.at(self.ticks.at_ns.len()) / MARK_PARTS).max(1);
        let mut last_parts = BTreeMap::new();
        let marks = &self.state.lock().marks;
        let marks = marks.iter().filter_map(|(tick, mark)| {
            let at_ns = self.ticks.at(tick + 1);
            let part = Some(at_ns / part_ns);
            (last_parts.insert(*mark, part) != Some(part)).then(|| (seconds(at_ns), *mark))
        });
        marks.collect()
    }

    /// Returns the number of ticks with this mark.
    pub fn n_marked(&self, mark: TickMark) -> usize {
        self.state.lock().marks.values().filter(|m| **m == mark).count()
    }
}

impl TickTimeline {
    /// Returns the time of a position, nanoseconds.
    fn at(&self, position: usize) -> u64 {
        position.checked_sub(1).and_then(|last| self.at_ns.get(last)).copied().unwrap_or(0)
    }

    /// Returns the position after the last tick up to a time.
    fn position(&self, s: f64) -> usize {
        self.at_ns.partition_point(|ns| seconds(*ns) <= s)
    }
}

impl PlaybackState {
    /// Returns the position that is sought or reached.
    fn position(&self) -> usize {
        let in_step = usize::from(self.under_way == Some(PlayerStep::Play));
        self.sought.unwrap_or(self.played + in_step)
    }

    /// Returns the time of the position at `now`, nanoseconds; between two ticks it goes on while playing, and stays
    /// where it was paused.
    fn now_ns(&self, ticks: &TickTimeline, now: Instant) -> u64 {
        let position = self.position();
        let least = ticks.at(position);
        if self.sought.is_some() {
            return least;
        }
        let passed = match self.playing {
            true => now.saturating_duration_since(self.since.0).as_nanos() as f64 * self.speed,
            false => 0.0,
        };
        let next = ticks.at_ns.get(position).copied().unwrap_or(least);
        self.since.1.saturating_add(passed as u64).clamp(least, next)
    }

    fn finish_step(&mut self) {
        match self.under_way.take() {
            Some(PlayerStep::Restart) => (self.played, self.is_shown) = (0, false),
            Some(PlayerStep::Play) => {
                (self.played, self.is_shown) = (self.played + 1, false);
            }
            Some(PlayerStep::Show) => self.is_shown = true,
            None => {}
        }
    }

    fn due(&mut self, ticks: &TickTimeline, now: Instant) -> NextAct {
        if let Some(sought) = self.sought {
            if sought < self.played {
                return NextAct::Step(PlayerStep::Restart);
            }
            if sought > self.played {
                return NextAct::Step(PlayerStep::Play);
            }
            if !self.is_shown {
                return NextAct::Step(PlayerStep::Show);
            }
            (self.sought, self.since) = (None, (now, ticks.at(sought)));
        }
        let next = ticks.at_ns.get(self.played).filter(|_| self.playing);
        let Some(next_ns) = next.copied() else {
            // A recording of an instant would start again without end.
            if self.playing && self.repeat && ticks.at(self.played) > 0 {
                self.sought = Some(0);
                return NextAct::Step(PlayerStep::Restart);
            }
            self.playing = false;
            return if self.is_shown { NextAct::Later } else { NextAct::Step(PlayerStep::Show) };
        };
        let after = next_ns.saturating_sub(self.since.1) as f64 / self.speed;
        let after = Duration::from_nanos(after as u64);
        let Some(due) = self.since.0.checked_add(after) else { return NextAct::Later };
        if now < due {
            return NextAct::At(due);
        }
        if now.saturating_duration_since(due) > DELAY_MAX {
            self.since = (now, next_ns);
        }
        NextAct::Step(PlayerStep::Play)
    }

    /// Returns the position of the marked tick that is `by` marks after `from`, or before it.
    fn marked(&self, from: usize, by: i32) -> Option<usize> {
        let n = (by.unsigned_abs() as usize).checked_sub(1)?;
        // The tick with index i is the last one of position i + 1.
        let found = if by > 0 {
            self.marks.range(from..).nth(n)
        } else {
            self.marks.range(..from.saturating_sub(1)).rev().nth(n)
        };
        found.map(|(tick, _)| tick + 1)
    }
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten ticks, one each second, of which the third and the seventh are marked.
    fn playback() -> Playback {
        let at_ns = (0..10).map(|s| s * 1_000_000_000).collect();
        let marks = BTreeMap::from([(2, TickMark::Late), (6, TickMark::Refused)]);
        Playback::new(TickTimeline { began_ns: 5_000_000_000, at_ns }, marks, 1.0)
    }

    fn moved(position: NewPosition) -> PlaybackChange {
        PlaybackChange { position: Some(position), ..PlaybackChange::default() }
    }

    /// Takes the player's steps until the state is shown.
    fn steps(playback: &Playback) -> Vec<PlayerStep> {
        let mut steps = Vec::new();
        while steps.last() != Some(&PlayerStep::Show) {
            steps.push(playback.next_step().expect("it has not ended"));
        }
        // Done here: the player would wait for its next step.
        playback.state.lock().finish_step();
        steps
    }

    #[test]
    fn a_seek_forward_plays_on_and_a_seek_back_starts_again() {
        use PlayerStep::{Play, Restart, Show};
        let playback = playback();
        assert_eq!(steps(&playback), [Show]);
        playback.change(&moved(NewPosition::Seconds(2.5)));
        let view = playback.view();
        assert!(view.seeking && view.tick == 3 && view.position_s == 2.0, "{view:?}");
        assert_eq!(view.played_s, 0.0);
        assert_eq!(steps(&playback), [Play, Play, Play, Show]);
        playback.change(&moved(NewPosition::Ticks(-1)));
        assert_eq!(steps(&playback), [Restart, Play, Play, Show]);
        assert_eq!((playback.view().tick, playback.now_ns()), (2, 6_000_000_000));
        playback.change(&moved(NewPosition::Ticks(i32::MIN)));
        assert_eq!(playback.view().tick, 1);
        playback.change(&moved(NewPosition::Ticks(i32::MAX)));
        assert_eq!(playback.view().tick, 10);
    }

    #[test]
    fn a_jump_goes_to_the_next_mark_and_stays_without_one() {
        let playback = playback();
        let jump = |by| {
            playback.change(&moved(NewPosition::Marks(by)));
            (playback.view().tick, playback.view().mark)
        };
        assert_eq!(jump(1), (3, Some(TickMark::Late)));
        assert_eq!(jump(1), (7, Some(TickMark::Refused)));
        assert_eq!(jump(1), (7, Some(TickMark::Refused)));
        assert_eq!(jump(-1), (3, Some(TickMark::Late)));
        assert_eq!(jump(-1), (3, Some(TickMark::Late)));
        assert_eq!(jump(0), (3, Some(TickMark::Late)));
        let version = playback.view().marks_version;
        playback.mark(4, TickMark::Differs);
        playback.mark(4, TickMark::Late);
        assert_eq!(playback.view().marks_version, version + 1);
        assert_eq!(jump(1), (5, Some(TickMark::Differs)));
        assert_eq!(playback.shown_marks().len(), 3);
        assert_eq!(playback.n_marked(TickMark::Differs), 1);
    }

    #[test]
    fn of_many_marks_a_bounded_number_is_shown() {
        let at_ns = (0..100_000).map(|ms| ms * 1_000_000).collect();
        let marks = (0..100_000).map(|tick| (tick, TickMark::Late)).collect();
        let playback = Playback::new(TickTimeline { began_ns: 0, at_ns }, marks, 1.0);
        let shown = playback.shown_marks();
        assert!(shown.len() <= MARK_PARTS as usize + 1, "{}", shown.len());
        assert!(shown.len() >= MARK_PARTS as usize - 1, "{}", shown.len());
        assert_eq!(playback.n_marked(TickMark::Late), 100_000);
    }

    #[test]
    fn a_pause_between_two_ticks_stays_there() {
        let playback = playback();
        assert_eq!(steps(&playback), [PlayerStep::Show]);
        let change = |playing| PlaybackChange {
            playing: Some(playing),
            speed: Some(100.0),
            ..PlaybackChange::default()
        };
        playback.change(&change(true));
        assert_eq!(playback.next_step(), Some(PlayerStep::Play));
        playback.state.lock().finish_step();
        // Within the second until the next tick.
        while playback.view().position_s == 0.0 {}
        playback.change(&change(false));
        let paused = playback.now_ns();
        assert!(paused > 5_000_000_000, "{paused}");
        assert_eq!(playback.now_ns(), paused);
        playback.change(&change(true));
        assert!(playback.now_ns() >= paused);
    }

    #[test]
    fn it_pauses_at_the_end_or_starts_again() {
        use PlayerStep::{Play, Restart, Show};
        let at_ns = vec![0, 1_000];
        let ticks = TickTimeline { began_ns: 0, at_ns };
        let playback = Playback::new(ticks, BTreeMap::new(), 1.0);
        let play = PlaybackChange { playing: Some(true), ..PlaybackChange::default() };
        playback.change(&play);
        assert_eq!(steps(&playback), [Play, Play, Show]);
        assert!(!playback.view().playing);
        playback.change(&PlaybackChange { repeat: Some(true), ..play });
        assert_eq!(steps(&playback), [Restart, Show]);
        let again: Vec<_> = (0..4).map(|_| playback.next_step().expect("more")).collect();
        assert_eq!(again, [Play, Play, Restart, Show]);
        playback.end();
        assert_eq!(playback.next_step(), None);
    }
}
