//! What viewers of a scene are shown, and where they would have its devices: a tick does no more for them than to write its
//! answer once more, and only when one asks.

pub mod device_wishes;
pub mod last_tick;
pub mod seen_surface;
pub mod viewed_scene;
