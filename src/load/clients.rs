//! The threads that talk to the server: haptic clients, the deforming and the cutting simulator, the echo.

pub mod cutter;
pub mod deformer;
pub mod device;
pub mod echo;
pub mod guide;
pub mod haptic;
pub mod pacer;
