//! Server state between calls: scenes with their writers, sessions and quotas, and the resources that keys share:
//! capacity and thread time.

pub(super) mod answer_room;
mod build_threads;
pub(super) mod cluster;
pub(super) mod durable;
pub(super) mod fair_places;
pub(super) mod field_build;
pub(super) mod field_builds;
pub(super) mod fields;
pub(super) mod live_view;
pub(super) mod memory_limit;
pub(super) mod opening_turns;
pub(super) mod part_change;
pub(super) mod quota;
pub(super) mod scene_entries;
pub(super) mod scene_error;
pub(super) mod scene_host;
pub(super) mod scene_life;
pub(super) mod scene_registry;
pub(super) mod scene_state;
pub(super) mod stream_table;
pub(super) mod tick_budget;
pub(super) mod writer;
