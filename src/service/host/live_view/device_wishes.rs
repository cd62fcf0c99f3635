//! Device positions of tools that viewers request, kept until a simulator reads them.

use std::{collections::BTreeMap, time::Duration};

use glam::DVec3;
use parking_lot::Mutex;

use crate::scene::ToolId;

/// A request expires after this time unless repeated: its viewer may be gone.
const AGE_MAX: Duration = Duration::from_secs(1);

/// Requests of a scene's viewers, the newest of each tool. Ticks do not read them.
#[derive(Default)]
pub struct DeviceWishes(Mutex<BTreeMap<ToolId, (DVec3, u64)>>);

/// A device position that a viewer requests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WishedPosition {
    /// Tool of the device.
    pub tool: ToolId,
    /// Position of the tool's origin, scene frame, metres.
    pub position: DVec3,
    /// Time since the request, nanoseconds.
    pub age_ns: u64,
}

impl DeviceWishes {
    /// Sets the position that a viewer requests at `now_ns`; `None` withdraws the request.
    pub fn say(&self, tool: ToolId, position: Option<DVec3>, now_ns: u64) {
        let mut wishes = self.0.lock();
        match position {
            Some(position) => drop(wishes.insert(tool, (position, now_ns))),
            None => drop(wishes.remove(&tool)),
        }
    }

    /// Returns the requests that count at `now_ns`, ordered by tool.
    pub fn now(&self, now_ns: u64) -> Vec<WishedPosition> {
        let mut wishes = self.0.lock();
        let age = |said_ns: u64| now_ns.saturating_sub(said_ns);
        wishes.retain(|_, (_, said_ns)| u128::from(age(*said_ns)) <= AGE_MAX.as_nanos());
        let of = |(tool, (position, said_ns)): (&ToolId, &(DVec3, u64))| WishedPosition {
            tool: *tool,
            position: *position,
            age_ns: age(*said_ns),
        };
        wishes.iter().map(of).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_wish_counts_until_it_is_old_or_let_go() {
        let wishes = DeviceWishes::default();
        let tool = ToolId(1);
        wishes.say(tool, Some(DVec3::X), 5);
        wishes.say(tool, Some(DVec3::Y), 7);
        assert_eq!(wishes.now(10), [WishedPosition { tool, position: DVec3::Y, age_ns: 3 }]);
        assert_eq!(wishes.now(7 + AGE_MAX.as_nanos() as u64).len(), 1);
        assert_eq!(wishes.now(8 + AGE_MAX.as_nanos() as u64), []);
        wishes.say(tool, Some(DVec3::Z), 9);
        wishes.say(tool, None, 9);
        assert_eq!(wishes.now(9), []);
    }
}
