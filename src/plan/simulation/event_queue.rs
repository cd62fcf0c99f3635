//! What is to happen, the earliest first.

use std::{cmp::Ordering, collections::BinaryHeap};

/// A scene by its place, and which of those that were there.
#[derive(Clone, Copy, Debug)]
pub struct SceneName {
    /// Its place.
    pub slot: u32,
    /// How many were there before it.
    pub generation: u32,
}

/// Something that happens. A server's incarnation tells it from its replacement.
#[derive(Clone, Copy, Debug)]
pub enum FleetEvent {
    /// Somebody asks for a scene.
    Open,
    /// Its user is done with it.
    Close(SceneName),
    /// A machine fails.
    Fail {
        /// Which.
        server: u32,
        /// While it is this one.
        incarnation: u32,
    },
    /// A machine is there again.
    Replaced {
        /// Which.
        server: u32,
        /// While it is away for this reason.
        incarnation: u32,
    },
    /// A client asks another server for a scene whose lease has run out.
    TakeOver(SceneName),
    /// A rolling upgrade begins.
    Upgrade,
    /// The next scene of a server that is being upgraded is moved.
    Drain {
        /// Which.
        server: u32,
        /// While it is this one.
        incarnation: u32,
    },
}

/// All that is to happen.
#[derive(Default)]
pub struct EventQueue {
    heap: BinaryHeap<Scheduled>,
    pushed: u64,
}

struct Scheduled {
    at_s: f64,
    /// What was scheduled first happens first, so that a seed gives one course of events.
    number: u64,
    event: FleetEvent,
}

impl EventQueue {
    /// Has it happen at that time.
    pub fn push(&mut self, at_s: f64, event: FleetEvent) {
        debug_assert!(at_s.is_finite(), "{event:?} at {at_s}");
        self.heap.push(Scheduled { at_s, number: self.pushed, event });
        self.pushed += 1;
    }

    /// The next, with its time in seconds.
    pub fn pop(&mut self) -> Option<(f64, FleetEvent)> {
        self.heap.pop().map(|next| (next.at_s, next.event))
    }
}

impl Ord for Scheduled {
    fn cmp(&self, other: &Scheduled) -> Ordering {
        // The heap gives its greatest.
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
