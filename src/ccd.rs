//! Source 000: continuous collision of features that move straight from one end of a step to the other.
//!
//! Patent publication CN102708017 of Zhejiang University (Tang, Du, Tong, Zhao), 2012.

mod bernstein;
mod coplanarity;
mod edge_edge;
mod noncollinear;
mod separation;
mod solve;
mod sweep;
mod verdict;
mod vertex_face;

pub use edge_edge::edge_edge;
pub use verdict::{Culled, Verdict};
pub use vertex_face::vertex_face;
