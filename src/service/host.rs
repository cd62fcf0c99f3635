//! What a server keeps between calls: scenes with their writers, sessions, quotas, and what
//! keys share: places, and the threads' time. Durable scenes have journals, are kept by a thread, and come back by recovery.

pub(super) mod answer_room;
pub(super) mod device_wishes;
pub(super) mod fair_places;
pub(super) mod field_build;
pub(super) mod fields;
pub(super) mod last_tick;
pub(super) mod memory_limit;
pub(super) mod notifier;
pub(super) mod quota;
pub(super) mod recovery;
pub(super) mod scene_journal;
pub(super) mod scene_keeper;
pub(super) mod scene_life;
pub(super) mod scene_registry;
pub(super) mod seen_surface;
pub(super) mod sessions;
pub(super) mod tick_budget;
pub(super) mod viewed_scene;
pub(super) mod writer;
