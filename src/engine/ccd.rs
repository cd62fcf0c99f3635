//! Source 000: continuous collision of features that move straight from one end of a step to the other.
//!
//! Patent publication CN102708017 of Zhejiang University (Tang, Du, Tong, Zhao), 2012; Du, Tang, Tong, "Fast continuous
//! collision culling with deforming noncollinear filters", CAVW 23, 2012. A vertex and a face, or two edges, pass
//! through filters that only cull features that certainly stay apart:
//!
//! ```text
//! coordinate axes -> coplanarity (a cubic's signs) -> non-collinear (quartics' signs) -> subdivision -> contact
//! ```
//! Differences from the source: every sign is tested against the bound of its rounding error, which the source omits
//! and so culls contacts; n is u0 x w1 + u1 x w0, without the halving of other papers; the source's second step (the
//! triangle never degenerates) is left out, since it only loses culling. The cubic is never solved, since it has no
//! root if all points move in one plane: an interval is subdivided by all polynomials together, and directions that
//! keep the features apart decide the intervals that the polynomials leave open.
//!
//! A contact is never missed and never reported late. A false contact passes within rounding (some 1e-15 of the
//! features' extents), or grazes a face without area nearer than 1e-4 of them.
//!
//! With a thickness the polynomials are left out, since they only detect contact at distance zero. A direction that
//! keeps the nearest corners farther apart than the thickness at both ends of an interval keeps both whole features so,
//! since corner distances along it change linearly; time advances from one such direction to the next, and ends in
//! contact if no direction is found.
//!
//! `ccd` does not depend on trees, mesh owners or sources of motion: its input is corners at both ends.

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
