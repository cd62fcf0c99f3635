//! The end of a haptic loop on a device's thread.

use std::time::Instant;

use crate::{
    coupling::posture::{Posture, RENDERED_LINKS_MAX},
    geometry::Pose,
    servo::{DevicePose, DeviceServo, ServoSample},
};

/// Renders a hand's force, at the device's own rate, from the newest local model that the loop has.
pub struct Device {
    servo: DeviceServo,
    epoch: Instant,
}

impl Device {
    pub(super) fn new(servo: DeviceServo, epoch: Instant) -> Device {
        Device { servo, epoch }
    }

    /// Returns the force and torque for a tool at `pose` (scene frame from tool frame), `dt_s` seconds after the last
    /// sample. Never waits and allocates nothing, so that a device's callback can call it.
    pub fn servo(&mut self, pose: &Pose, dt_s: f64) -> ServoSample {
        self.servo_links(pose, &[], dt_s)
    }

    /// Returns the force and torque as [`Device::servo`], with the links' poses (tool frame from link frame). Empty:
    /// all at rest.
    ///
    /// # Panics
    /// Panics if there are more than eight, which no rendered tool has.
    pub fn servo_links(&mut self, pose: &Pose, links: &[Pose], dt_s: f64) -> ServoSample {
        assert!(links.len() <= RENDERED_LINKS_MAX, "a rendered tool has no {} links", links.len());
        let mut posture = Posture { scene_from_tool: *pose, ..Posture::AT_ORIGIN };
        posture.tool_from_link[..links.len()].copy_from_slice(links);
        let at_ns = self.epoch.elapsed().as_nanos() as u64;
        self.servo.step(&DevicePose { posture, n_links: links.len(), at_ns }, dt_s)
    }
}
