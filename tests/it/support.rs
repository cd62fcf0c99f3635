//! What the integration tests share.

pub mod figures;
pub mod meshes;
pub mod messages;
pub mod refusal;
pub mod server;
