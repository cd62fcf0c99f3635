//! Queue of events, the earliest first.

use std::{cmp::Ordering, collections::BinaryHeap};

/// A scene, by its slot and the generation in that slot.
#[derive(Clone, Copy, Debug)]
pub struct SceneName {
    /// Index of the slot.
    pub slot: u32,
    /// Number of scenes that had the slot before.
    pub generation: u32,
}

/// An event of the simulation. The incarnation distinguishes a server from its replacement.
#[derive(Clone, Copy, Debug)]
pub enum FleetEvent {
    /// A client asks for a scene.
    Open,
    /// The user of a scene closes it.
    Close(SceneName),
    /// A machine fails.
    Fail {
        /// Index of the machine.
        server: u32,
        /// Incarnation to which the event applies.
        incarnation: u32,
    },
    /// A machine is up again.
    Replaced {
        /// Index of the machine.
        server: u32,
        /// Incarnation to which the event applies.
        incarnation: u32,
    },
    /// A client asks another server for a scene whose lease has run out.
    TakeOver(SceneName),
    /// A rolling upgrade begins.
    Upgrade,
    /// The next scene of a server that is being upgraded is moved.
    Drain {
        /// Index of the machine.
        server: u32,
        /// Incarnation to which the event applies.
        incarnation: u32,
    },
}

/// Queue of pending events.
#[derive(Default)]
pub struct EventQueue {
    heap: BinaryHeap<Scheduled>,
    pushed: u64,
}

struct Scheduled {
    at_s: f64,
    /// Sequence number: events of equal time happen in the order in which they were scheduled, so that a seed gives one
    /// course of events.
    number: u64,
    event: FleetEvent,
}

impl EventQueue {
    /// Schedules an event at a time in seconds.
    pub fn push(&mut self, at_s: f64, event: FleetEvent) {
        debug_assert!(at_s.is_finite(), "{event:?} at {at_s}");
        self.heap.push(Scheduled { at_s, number: self.pushed, event });
        self.pushed += 1;
    }

    /// Removes and returns the next event, with its time in seconds.
    pub fn pop(&mut self) -> Option<(f64, FleetEvent)> {
        self.heap.pop().map(|next| (next.at_s, next.event))
    }
}

impl Ord for Scheduled {
    fn cmp(&self, other: &Scheduled) -> Ordering {
        // The heap returns its greatest element.
        other.at_s.total_cmp(&self.at_s).then(other.number.cmp(&self.number))
    }
}

impl PartialOrd for Scheduled {
    fn partial_cmp(&self, other: &Scheduled) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Scheduled {
    fn eq(&self, other: &Scheduled) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Scheduled {}
