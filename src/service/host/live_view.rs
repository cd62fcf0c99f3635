//! State that viewers of a scene are shown, and the device positions that viewers request. For viewers, a tick only
//! copies its answer once more, and only when a viewer asks.

pub mod device_wishes;
pub mod last_tick;
pub mod seen_surface;
pub mod viewed_scene;
