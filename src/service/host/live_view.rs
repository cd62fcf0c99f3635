//! State that viewers of a scene are shown, and the device positions that viewers request. For viewers, a tick only
//! notes its force, and copies its answer once more when a viewer asks.

pub mod device_wishes;
pub mod felt_ticks;
pub mod last_tick;
pub mod playback;
pub mod seen_surface;
pub mod viewed_scene;
