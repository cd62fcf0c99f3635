//! Forces that a loop's rendered tools sent in its newest ticks, for the curves of a live view.

use std::collections::VecDeque;

use glam::DVec3;

use crate::{
    proxy::{RenderState, RenderedSession},
    scene::{ToolId, tick::ToolPose},
    service::metrics::TickTimes,
};

/// Maximum entries of a loop: a quarter of a second of one tool at 1 kHz. Viewers take them 60 times a second at most.
pub const KEPT_MAX: usize = 256;

/// Force that a rendered tool sent in a tick.
#[derive(Clone, Copy, Debug)]
pub struct FeltTick {
    /// Tool id.
    pub tool: ToolId,
    /// Time of the answer, nanoseconds of the process's clock.
    pub at_ns: u64,
    /// Time from the tick's bytes to its answer, nanoseconds.
    pub latency_ns: u64,
    /// Magnitude of the force, newtons.
    pub force_n: f64,
    /// Distance that the device has moved against the force since the tool was last free, metres; 0 without a force.
    pub pressed_m: f64,
    /// State of the proxy.
    pub state: RenderState,
}

/// The newest entries of a loop, oldest first. Allocates nothing after its creation.
pub struct FeltTicks {
    kept: VecDeque<FeltTick>,
    /// Position of each tool's device when the tool was last free, or in its first tick.
    last_free: Vec<(ToolId, DVec3)>,
}

impl FeltTicks {
    /// Creates a list for a loop with `n_tools` tools.
    pub fn with_room(n_tools: usize) -> FeltTicks {
        FeltTicks {
            kept: VecDeque::with_capacity(KEPT_MAX),
            last_free: Vec::with_capacity(n_tools),
        }
    }

    /// Adds a tick that `session` has answered. `poses` are those that the client sent.
    pub fn note(&mut self, times: &TickTimes, poses: &[ToolPose], session: &RenderedSession) {
        for rendering in session.renderings() {
            let Some(pose) = poses.iter().find(|pose| pose.tool == rendering.tool) else {
                continue;
            };
            let device = pose.scene_from_tool.translation;
            let moved = device - self.last_free_at(rendering.tool, device, rendering.state);
            if self.kept.len() == KEPT_MAX {
                self.kept.pop_front();
            }
            self.kept.push_back(FeltTick {
                tool: rendering.tool,
                at_ns: times.done_ns,
                latency_ns: times.done_ns - times.received_ns,
                force_n: rendering.force_n.length(),
                pressed_m: -moved.dot(rendering.force_n.normalize_or_zero()),
                state: rendering.state,
            });
        }
    }

    /// Returns the entries, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &FeltTick> {
        self.kept.iter()
    }

    /// Returns the position of the tool's device when the tool was last free; `device` is its position now.
    fn last_free_at(&mut self, tool: ToolId, device: DVec3, state: RenderState) -> DVec3 {
        match self.last_free.iter_mut().find(|(of, _)| *of == tool) {
            Some((_, at)) => {
                if state == RenderState::Free {
                    *at = device;
                }
                *at
            }
            None => {
                self.last_free.push((tool, device));
                device
            }
        }
    }
}
