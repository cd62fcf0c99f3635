//! Source 000: continuous collision of features that move straight from one end of a step to the other.
//!
//! Patent publication CN102708017 of Zhejiang University (Tang, Du, Tong, Zhao), 2012; Du, Tang, Tong, "Fast
//! continuous collision culling with deforming noncollinear filters", CAVW 23, 2012. A vertex and a face, or two
//! edges, go through filters that only ever cull what certainly stays apart:
//!
//! ```text
//! coordinate axes -> coplanarity (a cubic's signs) -> non-collinear (quartics' signs) -> subdivision -> contact
//! ```
//! Where we differ: every sign is tested against the bound of its rounding error, which the source does without
//! and so culls contacts; n is u0 x w1 + u1 x w0, without the halving of other papers; the source's second step
//! (the triangle never degenerates) is left out, as it only loses culling. The cubic is never solved, since it
//! has no root where all moves in one plane: an interval is subdivided by all polynomials together, and what they
//! leave open is decided by directions that keep the features apart.
//!
//! A contact is never missed and never reported late. What is reported without being one passes within rounding
//! (some 1e-15 of the features' extents), or grazes a face without area nearer than 1e-4 of them.
//!
//! With a thickness the polynomials say nothing, as they know only contact at distance zero, and are left out.
//! A direction that keeps the nearest corners farther apart than the thickness at both ends of an interval keeps
//! all of both features so, since corner distances along it change linearly; time advances from one such
//! direction to the next, and ends in contact where there is none.
//!
//! `ccd` does not know trees, meshes' owners or what moves them: it is given corners at both ends.

mod bernstein;
mod coplanarity;
mod edge_edge;
mod moving_features;
mod noncollinear;
mod owners;
mod separation;
mod solve;
mod step_budget;
mod triangle_pair;
mod verdict;
mod vertex_face;

pub use edge_edge::edge_edge;
pub use owners::{Owned, Owners};
pub use triangle_pair::{
    FeaturePair, MovingTriangle, Shared, TriangleContact, every_contact, stay_apart, triangle_pair,
};
pub use verdict::{Culled, FeatureVerdict};
pub use vertex_face::vertex_face;
