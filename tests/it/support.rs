//! Parts that the integration tests share.

pub mod bench;
pub mod bucket;
pub mod certificates;
pub mod envoy;
pub mod folder;
pub mod keeping;
pub mod kept_recordings;
pub mod keys;
pub mod meshes;
pub mod messages;
pub mod metrics;
pub mod paced;
pub mod process;
pub mod program;
pub mod raw_http2;
pub mod refusal;
pub mod relay;
pub mod server;
pub mod slab;
pub mod untimed;
pub mod viewer;
