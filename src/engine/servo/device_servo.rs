//! A servo on the device's thread, and its other end on the thread that receives the answers: models come in, poses go
//! out, and neither thread waits for the other.

use super::{
    newest::{NewestGiver, NewestTaker, newest},
    options::{ServoOptions, ServoOptionsError},
    passivity::WorkOfOthers,
    state::{ServoSample, ServoState},
};
use crate::coupling::{
    local_model::LocalModel,
    posture::{Posture, RENDERED_LINKS_MAX},
};
use crate::geometry::Pose;

/// The device's end of a servo.
pub struct DeviceServo {
    servo: ServoState,
    /// Time at which the tick that the model answers was sent.
    sent_ns: Option<u64>,
    /// Tool frame from link frame of the links without a given pose.
    rest: [Pose; RENDERED_LINKS_MAX],
    models: NewestTaker<SentModel>,
    poses: NewestGiver<DevicePose>,
}

/// The other end of a servo: gives models, takes poses.
pub struct DeviceFeed {
    models: NewestGiver<SentModel>,
    poses: NewestTaker<DevicePose>,
}

/// Posture of a device at a sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DevicePose {
    /// Poses of the tool and its links.
    pub posture: Posture,
    /// Number of links with a given pose; 0: the links are at rest.
    pub n_links: usize,
    /// Time of the sample, nanoseconds of the device's own clock.
    pub at_ns: u64,
}

/// A model, and the time at which the tick that it answers was sent.
#[derive(Clone)]
struct SentModel {
    model: LocalModel,
    sent_ns: u64,
}

const NS_PER_S: f64 = 1e9;

/// Creates both ends of a servo; no force is sent before the first model.
///
/// # Errors
///
/// Returns the errors of [`ServoOptions::check`].
pub fn device_servo(options: ServoOptions) -> Result<(DeviceServo, DeviceFeed), ServoOptionsError> {
    let servo = ServoState::new(options)?;
    let (models, taken) = newest(&SentModel { model: LocalModel::EMPTY, sent_ns: 0 });
    let nowhere = DevicePose { posture: Posture::AT_ORIGIN, n_links: 0, at_ns: 0 };
    let (given, poses) = newest(&nowhere);
    let rest = Posture::AT_ORIGIN.tool_from_link;
    let device = DeviceServo { servo, sent_ns: None, rest, models: taken, poses: given };
    Ok((device, DeviceFeed { models, poses }))
}

impl DeviceServo {
    /// Sets the poses of the tool's links while none are given, tool frame from link frame; without this call the links
    /// are where the tool is. A rendered tool has at most eight links.
    pub fn rest_at(&mut self, links: impl IntoIterator<Item = Pose>) {
        self.rest.iter_mut().zip(links).for_each(|(rest, link)| *rest = link);
    }

    /// Computes one sample: the force for a device at `pose`, `dt_s` seconds after the last sample. Wait-free;
    /// allocates nothing.
    pub fn step(&mut self, pose: &DevicePose, dt_s: f64) -> ServoSample {
        let DeviceServo { servo, sent_ns, rest, models, poses } = self;
        let age_s = |sent_ns: u64| pose.at_ns.saturating_sub(sent_ns) as f64 / NS_PER_S;
        models.take(|sent| {
            // A refused model is older than the present one: answers overtake each other.
            if servo.take(&sent.model, age_s(sent.sent_ns)).is_ok() {
                *sent_ns = Some(sent.sent_ns);
            }
        });
        // The sum of the times between samples, as a device takes them, is less exact.
        if let Some(sent_ns) = *sent_ns {
            servo.set_age(age_s(sent_ns));
        }
        // An invalid pose is not passed on: the force fades, and the last pose stays.
        if pose.posture.is_rigid() {
            poses.give(|place| *place = *pose);
        }
        let mut posture = pose.posture;
        if pose.n_links == 0 {
            posture.tool_from_link = *rest;
        }
        servo.step(&posture, dt_s)
    }

    /// Returns the work of tissue and links on the springs. With it, energy that the hand was given can be told from
    /// energy that nobody put in. Zero unless [`ServoOptions::observes_passivity`].
    pub fn work_of_others(&self) -> WorkOfOthers {
        self.servo.work_of_others()
    }
}

impl DeviceFeed {
    /// Returns the newest pose of the device; `None` if there is none since the last call. Wait-free.
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
