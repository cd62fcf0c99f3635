//! Renders a [`LocalModel`](crate::coupling::local_model::LocalModel) at the device's own rate, without a round trip.
//!
//! A force that was computed a round trip ago and held shakes the hand: sampled data needs `b > K (T/2 + delay)`, where
//! b is the damping of device and hand (Colgate, Schenkel, "Passivity of a class of sampled-data systems", 1997, (10);
//! the delay added). An answer therefore carries the contacts themselves, and each sample of the device
//!
//! 1. solves the proxy's own programme over them, each gap moved on: `gap(t) = g + J x - v (t - t_0)` ([`state`]);
//! 2. gives `K (proxy - device) - B v`, or less where tissue has materials
//!    ([`contact_law`](crate::coupling::contact_law)), with v along the force (Colgate, Stanley, Brown, "Issues in the haptic display
//!    of tool use", 1995: the virtual coupling);
//! 3. reduces the wrench on the way out while the spring stores energy that nobody has put in ([`passivity`]);
//! 4. keeps to the cap and the rate of change, fades the force if the model is too old, and brings it back in a ramp.
//!
//! A newer model causes no jump: if both models name a contact, the difference of their gaps is blended out, and so is
//! the motion of the proxy when contacts come, go or turn. Nothing here allocates, waits or has a clock: time is an
//! argument, in seconds since the last sample. [`mod@device_servo`] has a servo and its feed of models from the thread
//! that receives them ([`newest`]).

pub mod device_servo;
mod fade;
mod held_model;
pub mod newest;
pub mod options;
pub mod passivity;
pub mod refused;
pub mod state;
pub mod stiffness;

pub use crate::coupling::wrench::FADE_S;
pub use device_servo::{DeviceFeed, DevicePose, DeviceServo, device_servo};
pub use options::{ServoOptions, ServoOptionsError};
pub use passivity::WorkOfOthers;
pub use refused::ModelRefused;
pub use state::{ServoSample, ServoState};
