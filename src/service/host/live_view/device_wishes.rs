//! Where viewers would have the devices of tools: what they say, kept until a simulator reads it.

use std::{collections::BTreeMap, time::Duration};

use glam::DVec3;
use parking_lot::Mutex;

use crate::scene::ToolId;

/// A wish that is not repeated for longer is gone: its viewer may be.
const AGE_MAX: Duration = Duration::from_secs(1);

/// The wishes of a scene's viewers, the newest of each tool. No tick reads them.
#[derive(Default)]
pub struct DeviceWishes(Mutex<BTreeMap<ToolId, (DVec3, u64)>>);

/// Where a viewer would have the device of a tool.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WishedPosition {
    /// Whose device.
    pub tool: ToolId,
    /// Of the tool's origin, scene frame, metres.
    pub position: DVec3,
    /// Since it was said.
    pub age_ns: u64,
}

impl DeviceWishes {
    /// At `now_ns` a viewer says where, or lets go.
    pub fn say(&self, tool: ToolId, position: Option<DVec3>, now_ns: u64) {
        let mut wishes = self.0.lock();
        match position {
            Some(position) => drop(wishes.insert(tool, (position, now_ns))),
            None => drop(wishes.remove(&tool)),
        }
    }

    /// Those that count at `now_ns`, ordered by tool.
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
