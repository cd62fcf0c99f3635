//! Event simulation of scenes on many machines: scenes are opened, placed, lost, taken over, moved and closed.
//!
//! The simulation covers ownership in time, not the engine: a scene has one owner, which sends heartbeats; an owner
//! that cannot send one acknowledges nothing from a margin before its lease ends, and nobody takes a scene before that
//! end. An edit is lost if an old owner acknowledged it after a new owner had taken over. With a margin of twice the
//! clock error no edit is lost; with less the simulation finds lost edits. (`store::lease` does not rely on clocks for
//! that: it asks for the newest claim before it acknowledges. So this is the worse case.)

mod event_queue;
mod fleet;
mod gaps;
mod lease_timing;
pub(super) mod outcome;

use std::collections::VecDeque;

use event_queue::{EventQueue, FleetEvent, SceneName};
use fleet::Fleet;
use gaps::Gaps;
use lease_timing::LeaseTiming;
use outcome::Outcome;

use super::workload::{Faults, Workload};
use crate::oracle::Random;

/// Interval at which newest positions are saved (`store.positions_interval`), seconds.
const POSITIONS_EVERY_S: f64 = 1.0;
/// Pause before a server that is being upgraded retries to move a scene away, seconds.
const NO_ROOM_PAUSE_S: f64 = 1.0;

/// An open scene.
#[derive(Clone, Copy, Debug)]
struct OpenScene {
    /// Server of the scene; `None` while it waits.
    server: Option<u32>,
    closes_s: f64,
    /// Last gap of the scene: its begin, and when the scene was served again. `None` after it was counted, or if there
    /// was none.
    gap: Option<Gap>,
    /// Distinguishes the scene from a later one in the same slot.
    generation: u32,
}

#[derive(Clone, Copy, Debug)]
struct Gap {
    from_s: f64,
    /// Infinite while the scene waits.
    to_s: f64,
    cause: Cause,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cause {
    Failure,
    Upgrade,
}

/// A simulation run.
pub struct Simulation {
    faults: Faults,
    deform_hz: f64,
    /// Scenes that would be open if all had a place.
    offered: f64,
    random: Random,
    now_s: f64,
    events: EventQueue,
    fleet: Fleet,
    scenes: Vec<OpenScene>,
    free: Vec<u32>,
    /// Scenes without a server, the longest wait first.
    waiting: VecDeque<SceneName>,
    /// The server that is being upgraded.
    upgrading: Option<u32>,
    still_to_open: u64,
    failure_gaps: Gaps,
    upgrade_gaps: Gaps,
    outcome: Outcome,
}

impl Simulation {
    /// Creates a simulation in which nothing has happened yet.
    pub fn new(
        workload: &Workload,
        faults: &Faults,
        machines: u64,
        scenes_each: u64,
    ) -> Simulation {
        Simulation {
            faults: faults.clone(),
            deform_hz: workload.deform_hz,
            offered: workload.scenes as f64,
            random: Random::new(0),
            now_s: 0.0,
            events: EventQueue::default(),
            fleet: Fleet::new(machines, scenes_each),
            scenes: Vec::new(),
            free: Vec::new(),
            waiting: VecDeque::new(),
            upgrading: None,
            still_to_open: 0,
            failure_gaps: Gaps::default(),
            upgrade_gaps: Gaps::default(),
            outcome: Outcome::default(),
        }
    }

    /// Opens `scenes` scenes, and goes on until all are closed.
    pub fn run(mut self, scenes: u64, seed: u64) -> Outcome {
        self.random = Random::new(seed);
        self.still_to_open = scenes;
        self.outcome.machines = self.fleet.n_servers();
        self.outcome.scenes_per_machine = self.fleet.places_each();
        self.events.push(0.0, FleetEvent::Open);
        for server in 0..self.fleet.n_servers() {
            self.expect_failure(server);
        }
        if self.faults.upgrade_hours > 0.0 {
            self.events.push(3600.0 * self.faults.upgrade_hours, FleetEvent::Upgrade);
        }
        // Machines fail as long as any scene is open or still to open.
        while self.still_to_open > 0 || self.outcome.open > 0 {
            let (at_s, event) =
                self.events.pop().expect("a scene that is open is closed some time");
            self.now_s = at_s;
            self.happen(event);
        }
        self.outcome.hours = self.now_s / 3600.0;
        self.outcome.after_failures = self.failure_gaps.summary();
        self.outcome.after_moves = self.upgrade_gaps.summary();
        self.outcome
    }

    fn happen(&mut self, event: FleetEvent) {
        match event {
            FleetEvent::Open => self.open(),
            FleetEvent::Close(name) => self.close(name),
            FleetEvent::Fail { server, incarnation } if self.fleet.is_same(server, incarnation) => {
                self.fail(server)
            }
            FleetEvent::Replaced { server, incarnation }
                if self.fleet.is_same(server, incarnation) =>
            {
                self.replaced(server);
            }
            FleetEvent::TakeOver(name) if self.is_open(name) => self.take_over(name),
            FleetEvent::Upgrade => {
                self.events
                    .push(self.now_s + 3600.0 * self.faults.upgrade_hours, FleetEvent::Upgrade);
                // An upgrade that is still going on continues, and this one is skipped.
                if self.upgrading.is_none() {
                    self.upgrade_from(0);
                }
            }
            FleetEvent::Drain { server, incarnation }
                if self.fleet.is_same(server, incarnation) =>
            {
                self.drain(server)
            }
            // Events of servers and scenes that have ended meanwhile.
            _ => {}
        }
    }

    fn open(&mut self) {
        self.still_to_open -= 1;
        if self.still_to_open > 0 {
            // Scenes arrive on average as fast as they close when all are placed.
            let pause_s = self.exponential(60.0 * self.faults.scene_minutes / self.offered);
            self.events.push(self.now_s + pause_s, FleetEvent::Open);
        }
        self.outcome.asked_for += 1;
        // Waiting scenes come first: while there are any, no server has a free place.
        let Some(server) = self.fleet.place() else {
            self.outcome.unplaced += 1;
            return;
        };
        self.outcome.open += 1;
        let lasts_s = self.exponential(60.0 * self.faults.scene_minutes);
        let closes_s = self.now_s + lasts_s;
        let slot = self.free.pop().unwrap_or_else(|| {
            self.scenes.push(OpenScene { server: None, closes_s, gap: None, generation: 0 });
            (self.scenes.len() - 1) as u32
        });
        let generation = self.scenes[slot as usize].generation;
        self.scenes[slot as usize] =
            OpenScene { server: Some(server), closes_s, gap: None, generation };
        self.fleet.add(server, slot);
        self.outcome.scene_hours += lasts_s / 3600.0;
        self.events.push(closes_s, FleetEvent::Close(SceneName { slot, generation }));
    }

    fn close(&mut self, name: SceneName) {
        debug_assert!(self.is_open(name), "a scene closes once");
        let scene = self.scenes[name.slot as usize];
        self.count_gap(name.slot);
        if scene.server.is_none() {
            self.outcome.closed_in_a_gap += 1;
        }
        self.outcome.open -= 1;
        self.outcome.closed += 1;
        self.scenes[name.slot as usize].generation += 1;
        self.free.push(name.slot);
        if let Some(server) = scene.server {
            self.fleet.remove(server, name.slot);
            self.place_waiting();
        }
    }

    fn fail(&mut self, server: u32) {
        self.outcome.failures += 1;
        let was_cut_off = self.random.f64() < self.faults.cut_off;
        let timing = LeaseTiming::draw(&self.faults, self.now_s, was_cut_off, &mut self.random);
        for slot in self.fleet.take_down(server) {
            self.lose(slot, timing);
        }
        let incarnation = self.fleet.incarnation(server);
        self.events
            .push(self.now_s + self.faults.replace_s, FleetEvent::Replaced { server, incarnation });
        if self.upgrading == Some(server) {
            // Its replacement has the new version.
            self.upgrade_from(server + 1);
        }
    }

    /// Takes a scene from an owner that failed.
    fn lose(&mut self, slot: u32, timing: LeaseTiming) {
        let retry_s = 1e-3 * self.faults.retry_ms * self.random.f64();
        let taken_s = timing.free_s + retry_s;
        // Edits acknowledged by the old owner after the new one had read the store.
        let edits_lost = self.count_of(self.faults.edit_hz * (timing.silent_s - taken_s).max(0.0));
        self.outcome.edits_lost += edits_lost;
        self.outcome.edits_by_cut_off_owners +=
            self.count_of(self.faults.edit_hz * (timing.silent_s - self.now_s)) + edits_lost;
        let positions_s = POSITIONS_EVERY_S * self.random.f64();
        self.outcome.deformations_since_the_last_second +=
            self.count_of(self.deform_hz * positions_s);
        let scene = &mut self.scenes[slot as usize];
        scene.server = None;
        let now_s = self.now_s;
        let is_down = scene.gap.is_some_and(|gap| gap.to_s > now_s);
        if is_down {
            // The scene was not served since the previous failure.
            scene.gap = scene.gap.map(|gap| Gap { to_s: f64::INFINITY, ..gap });
        } else {
            self.count_gap(slot);
            self.scenes[slot as usize].gap =
                Some(Gap { from_s: timing.silent_s, to_s: f64::INFINITY, cause: Cause::Failure });
        }
        let generation = self.scenes[slot as usize].generation;
        self.events.push(taken_s, FleetEvent::TakeOver(SceneName { slot, generation }));
    }

    fn take_over(&mut self, name: SceneName) {
        match self.fleet.place() {
            Some(server) => self.recover(name.slot, server),
            None => self.waiting.push_back(name),
        }
    }

    /// Makes a server read a scene from the store, after the scenes that it already reads.
    fn recover(&mut self, slot: u32, server: u32) {
        self.fleet.add(server, slot);
        let to_s = self.fleet.recovered_s(server, self.now_s, 1e-3 * self.faults.recover_ms);
        let scene = &mut self.scenes[slot as usize];
        scene.server = Some(server);
        scene.gap = scene.gap.map(|gap| Gap { to_s, ..gap });
        self.outcome.taken_over += 1;
    }

    fn place_waiting(&mut self) {
        while let Some(name) = self.waiting.front().copied() {
            if self.is_open(name) {
                let Some(server) = self.fleet.place() else { return };
                self.recover(name.slot, server);
            }
            self.waiting.pop_front();
        }
    }

    fn replaced(&mut self, server: u32) {
        self.fleet.bring_up(server);
        self.expect_failure(server);
        self.place_waiting();
        if self.upgrading == Some(server) {
            self.upgrade_from(server + 1);
        }
    }

    /// Upgrades the next available server, from `server` on. A server that is away returns with the new version.
    fn upgrade_from(&mut self, server: u32) {
        self.upgrading = (server..self.fleet.n_servers()).find(|s| self.fleet.is_up(*s));
        match self.upgrading {
            Some(server) => {
                self.fleet.close_to_new(server);
                let incarnation = self.fleet.incarnation(server);
                self.events.push(self.now_s, FleetEvent::Drain { server, incarnation });
            }
            None => self.outcome.upgrades += 1,
        }
    }

    /// Moves one scene away, or ends the server if it has none.
    fn drain(&mut self, server: u32) {
        let Some(slot) = self.fleet.any_scene(server) else {
            let left = self.fleet.take_down(server);
            debug_assert!(left.is_empty(), "it was drained");
            let incarnation = self.fleet.incarnation(server);
            self.events.push(
                self.now_s + self.faults.replace_s,
                FleetEvent::Replaced { server, incarnation },
            );
            return;
        };
        let incarnation = self.fleet.incarnation(server);
        let Some(to) = self.fleet.place() else {
            // The scene is served by its present server meanwhile.
            self.outcome.moves_put_off += 1;
            self.events
                .push(self.now_s + NO_ROOM_PAUSE_S, FleetEvent::Drain { server, incarnation });
            return;
        };
        self.fleet.remove(server, slot);
        self.fleet.add(to, slot);
        let move_s = 1e-3 * (self.faults.move_ms + self.faults.retry_ms * self.random.f64());
        let is_up = self.scenes[slot as usize].gap.is_none_or(|gap| gap.to_s <= self.now_s);
        if is_up {
            self.count_gap(slot);
            let (from_s, to_s) = (self.now_s, self.now_s + move_s);
            self.scenes[slot as usize].gap = Some(Gap { from_s, to_s, cause: Cause::Upgrade });
        }
        self.scenes[slot as usize].server = Some(to);
        self.outcome.moved += 1;
        self.events.push(self.now_s + move_s, FleetEvent::Drain { server, incarnation });
    }

    /// Counts a scene's last gap, which ends at the latest when the scene closes.
    fn count_gap(&mut self, slot: u32) {
        let scene = &mut self.scenes[slot as usize];
        let Some(Gap { from_s, to_s, cause }) = scene.gap.take() else { return };
        let gap_s = (to_s.min(scene.closes_s) - from_s).max(0.0);
        self.outcome.gap_hours += gap_s / 3600.0;
        match cause {
            Cause::Failure => self.failure_gaps.push(gap_s),
            Cause::Upgrade => self.upgrade_gaps.push(gap_s),
        }
    }

    fn is_open(&self, name: SceneName) -> bool {
        self.scenes[name.slot as usize].generation == name.generation
    }

    fn expect_failure(&mut self, server: u32) {
        let lasts_s = self.exponential(3600.0 * self.faults.mtbf_hours);
        let incarnation = self.fleet.incarnation(server);
        self.events.push(self.now_s + lasts_s, FleetEvent::Fail { server, incarnation });
    }

    fn exponential(&mut self, mean: f64) -> f64 {
        // 1 - u is never 0.
        -mean * (1.0 - self.random.f64()).ln()
    }

    /// Draws a number of random events with this mean, by adding up the pauses between them.
    fn count_of(&mut self, mean: f64) -> u64 {
        let mut n = 0;
        let mut at = self.exponential(1.0);
        while at < mean {
            n += 1;
            at += self.exponential(1.0);
        }
        n
    }
}

/// Returns the assumptions of the simulation, in words.
pub fn assumptions(faults: &Faults) -> Vec<String> {
    vec![
        "simulated: scenes come at random and last exponentially; machines fail at random, one by one; the number of \
         machines is fixed"
            .to_owned(),
        format!(
            "simulated: a new scene goes to the fullest machine with room; scenes of a lost one wait for the lease ({} s, a \
             sign of life each quarter of that), then for a client that asks (each {} ms), room, and {} ms of reading each, one \
             after the other",
            faults.lease_s, faults.retry_ms, faults.recover_ms
        ),
        format!(
            "simulated: one machine at a time is upgraded: its scenes are moved one by one ({} ms and a client's next \
             question each; both were measured on one machine, without a network between), then it is away for {} s",
            faults.move_ms, faults.replace_s
        ),
        "simulated: an acknowledged edit is in the store before it is acknowledged, so a crash alone loses none; the store \
         is always there"
            .to_owned(),
    ]
}

#[cfg(test)]
mod tests;
