//! Source 000: continuous collision of features that move straight from one end of a step to the other.
//!
//! Patent publication CN102708017 of Zhejiang University (Tang, Du, Tong, Zhao), 2012.

mod bernstein;
mod coplanarity;
mod edge_edge;
mod noncollinear;
mod owners;
mod separation;
mod solve;
mod sweep;
mod triangle_pair;
mod verdict;
mod vertex_face;

pub use edge_edge::edge_edge;
pub use owners::{Owned, Owners};
pub use triangle_pair::{
    FeaturePair, MovingTriangle, Shared, TriangleContact, every_contact, triangle_pair,
};
pub use verdict::{Culled, Verdict};
pub use vertex_face::vertex_face;
