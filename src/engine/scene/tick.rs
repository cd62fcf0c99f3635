//! The haptic tick: poses in, distances and contacts out.
//!
//! A [`Session`] is one haptic loop. Its tick takes the newest revision of every tissue and finds, for each link of
//! each of its tools and each tissue:
//!
//! 1. `contacts`: tissue triangles inside the link or near it. The tissue's index gives those that the link's field
//!    cannot rule out; `penetration` finds the deepest point of each.
//! 2. `pair_distance`: their distance or depth. The `closest_pair` of triangles if nothing is inside, else the deepest
//!    contact or the link's deepest vertex in the tissue (`vertex_penetration`).
//! 3. `sweep`: contacts since the last answered pose. The poses in between are a `pose_path`.
//! 4. `contact_ids`: contacts that were there in the last tick.
//! 5. [`crossings`]: triangles that cross, and [`feature_pairs`] within the margin, if a client requested them.
//!
//! `tracked_link` takes these steps in order and keeps the results that the next tick can use (`scene::coherence`). A
//! tick allocates nothing once its buffers have grown, and waits for nobody.

pub mod answer;
pub(super) mod closest_pair;
mod collision_pair;
mod contact_ids;
mod contacts;
pub mod crossings;
pub mod feature_pairs;
mod options;
mod pair_distance;
mod penetration;
pub(crate) mod pose_knowledge;
mod pose_path;
mod session;
mod sweep;
mod tissue_log;
mod tracked_link;
mod triangle_blocks;
mod vertex_penetration;

pub use options::{TickOptions, ToolPose, scene_from_link};
pub use session::{Session, TickError};
