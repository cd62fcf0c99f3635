//! Source 003: tests without division whether two triangles meet, and finds the segment in which they cross.
//!
//! Liu Chao, Jiang Xiajun, Shi Huibin (NUAA), 2018, after Wei Lingyu, CAVW 25, 2014. A triangle's leaf box is a flat
//! [`Rectangle`] flush with its longest edge. Seen in it, the other triangle's heights over the plane cost three
//! products from terms that the box test has computed; sixteen cases of the positions of its two crossing points decide
//! the rest.
//!
//! Differences from the source: the frame is rounded, so the fast path decides only certain cases, and everything
//! closer than its error bound goes to exact predicates on the given vertices. The result is therefore always the exact
//! one; a sign that may be zero, touching and coplanar pairs included, is never decided fast.

mod cases;
mod coplanar;
mod crossing;
mod exact;
mod predicates;
mod rectangle;
mod sharing;

pub use cases::PairVerdict;
pub use crossing::{Crossing, CrossingEnd, CrossingKind};
pub use exact::{crossing, meet};
pub use predicates::Triangle;
pub(crate) use predicates::orient_2d;
pub use rectangle::{Rectangle, Rounded, SeenRectangle};
pub use sharing::{MeshTriangle, meet_beyond_shared};
