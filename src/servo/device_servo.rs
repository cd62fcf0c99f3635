//! A servo on the device's thread, and its other end on the thread that has the answers: models come, poses go, and
//! neither thread waits for the other.

use super::{
    newest::{NewestGiver, NewestTaker, newest},
    options::{ServoOptions, ServoOptionsError},
    state::{ServoSample, ServoState},
};
use crate::coupling::{local_model::LocalModel, posture::Posture};

/// The device's end.
pub struct DeviceServo {
    servo: ServoState,
    models: NewestTaker<SentModel>,
    poses: NewestGiver<DevicePose>,
}

/// The other end: gives models, takes poses.
pub struct DeviceFeed {
    models: NewestGiver<SentModel>,
    poses: NewestTaker<DevicePose>,
}

/// Where a device was at a sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DevicePose {
    /// The tool and its links.
    pub posture: Posture,
    /// How many of the links were given; 0: they are at rest.
    pub n_links: usize,
    /// When: nanoseconds of the device's own clock.
    pub at_ns: u64,
}

/// A model, and when the tick that it answers was sent.
#[derive(Clone)]
struct SentModel {
    model: LocalModel,
    sent_ns: u64,
}

const NS_PER_S: f64 = 1e9;

/// Both ends of a servo; nothing is felt before the first model.
///
/// # Errors
/// As [`ServoOptions::check`].
pub fn device_servo(options: ServoOptions) -> Result<(DeviceServo, DeviceFeed), ServoOptionsError> {
    let servo = ServoState::new(options)?;
    let (models, taken) = newest(&SentModel { model: LocalModel::EMPTY, sent_ns: 0 });
    let nowhere = DevicePose { posture: Posture::AT_ORIGIN, n_links: 0, at_ns: 0 };
    let (given, poses) = newest(&nowhere);
    Ok((DeviceServo { servo, models: taken, poses: given }, DeviceFeed { models, poses }))
}

impl DeviceServo {
    /// One sample: the force for a device that is at `pose`, `dt_s` seconds after the last one. Wait-free; allocates
    /// nothing.
    pub fn step(&mut self, pose: &DevicePose, dt_s: f64) -> ServoSample {
        let servo = &mut self.servo;
        self.models.take(|sent| {
            let age_s = pose.at_ns.saturating_sub(sent.sent_ns) as f64 / NS_PER_S;
            // What is refused is older than what there is: answers overtake each other.
            let _ = servo.take(&sent.model, age_s);
        });
        // A pose that is none goes nowhere: the force fades, and the last one stays.
        if pose.posture.is_rigid() {
            self.poses.give(|place| *place = *pose);
        }
        servo.step(&pose.posture, dt_s)
    }
}

impl DeviceFeed {
    /// The newest pose of the device; `None` when there is none since the last time. Wait-free.
    pub fn pose(&mut self) -> Option<DevicePose> {
        self.poses.take(|pose| *pose)
    }

    /// Gives a model. `sent_ns`: when the tick that it answers was sent, by the device's clock. Wait-free.
    pub fn give(&mut self, model: &LocalModel, sent_ns: u64) {
        self.models.give(|place| {
            place.model.clone_from(model);
            place.sent_ns = sent_ns;
        });
    }
}
