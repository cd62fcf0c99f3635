//! Source 003: whether two triangles meet, without division, and where they cross.
//!
//! Liu Chao, Jiang Xiajun, Shi Huibin (NUAA), 2018, after Wei Lingyu, CAVW 25, 2014. A triangle's leaf box is
//! a flat [`Rectangle`] flush with its longest edge. SeenRectangle in it, the other triangle's heights over the plane
//! cost three products that the box test has at hand; sixteen cases of where its two crossing points lie
//! decide the rest.
//!
//! Where we differ: the frame is rounded, so the fast path answers only what is certain, and everything
//! closer than its error bound goes to exact predicates on the vertices as given. So the answer is always
//! the exact one; a sign that may be zero, touching and coplanar pairs included, is never decided fast.

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
