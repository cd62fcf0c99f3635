//! Source 004: the latitude/longitude skip list of a surface's triangles, with bounds on every link.
//!
//! Patent publication of Harbin University of Science and Technology (Wang, Mao, Li, Chen), 2016-12.
//! Latitude and longitude decide where a triangle is filed; the bounds on the links alone decide what a query
//! may skip. A query therefore misses no triangle, whatever the shape, the seam, the axis or the deformation. (The
//! published method tests the nearest entry by key alone, which finds contact in 4-55 % of the touching cases.)
//!
//! ```text
//! band (latitude)   head ------------------------------> node ----------> ...      level 2
//!                   head ----------> node -------------> node ----------> ...      level 1
//!                   head -> node --> node -> node -----> node -> node --> ...      level 0
//!                   leaf    leaf     leaf    leaf      leaf    leaf            up to 8 triangles each
//! ```
//! A link at level n spans the nodes up to the next one that is taller than n, and carries the union of
//! their boxes. `index` does not know what a tool, a tissue or a tick is.

mod box_lanes;
mod build;
mod corners;
mod lat_lon;
mod leaf;
mod memory;
mod nearest;
mod overlap;
mod quality;
mod skip_list;
mod update;
mod validate;
mod wide_node;

pub use lat_lon::LatLonOptions;
pub use nearest::NearestTriangle;
pub use overlap::BoxTest;
pub(crate) use quality::Quality;
pub use skip_list::SkipList;
pub use update::Updated;
