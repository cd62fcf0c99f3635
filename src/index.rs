//! Source 004: the latitude/longitude skip list of a surface's triangles, with bounds on every link.
//!
//! Patent publication of Harbin University of Science and Technology (Wang, Mao, Li, Chen), 2016-12.
//! Latitude (a band along an axis) and longitude (a sector of the band) decide in which list a triangle is filed; the
//! bounds on the links alone decide what a query may skip. A query therefore misses no triangle, whatever the shape,
//! the seam, the axis or the deformation. (The published method tests the nearest entry by key alone, which finds
//! contact in 4-55 % of the touching cases.)
//!
//! ```text
//! table of the lists   all searches begin here
//! list of a cell       run -------------------------------> run ----------> ...      level 2
//! (band and sector)    run ----------> run ---------------> run ----------> ...      level 1
//!                      run -> run ---> run -> run --------> run -> run ---> ...      level 0
//!                      leaf   leaf     leaf   leaf          leaf   leaf          up to 8 triangles each
//! ```
//! A link at level n spans a run of up to eight links of the level below, and carries the union of their boxes. The
//! links of a run stand side by side instead of pointing to each other, and a run that gets a ninth is split in two: a
//! deterministic skip list (Munro, Papadakis and Sedgewick 1992), whose towers are as even after an insertion as before.
//!
//! Inside a list triangles are in no order of keys, where the source sorts them by longitude, but of splits by surface
//! area: what a link spans then overlaps its neighbours least. A new triangle goes where boxes grow least, a full leaf
//! is split by surface area again, and a leaf that has come apart files the fewer of its triangles anew: O(log n) each,
//! by the handle that every triangle has. What this leaves worse than a build would is counted (`quality`) and built
//! anew by the writer. `index` does not know what a tool, a tissue or a tick is.

mod box_lanes;
mod build;
mod corners;
mod filing;
mod lat_lon;
mod leaf;
mod link_run;
mod memory;
mod nearest;
mod overlap;
mod quality;
mod refit;
mod skip_list;
mod surface_area;
mod tangents;
mod update;
mod validate;

pub use lat_lon::LatLonOptions;
pub use nearest::NearestTriangle;
pub use overlap::BoxTest;
pub(crate) use quality::Quality;
pub use skip_list::SkipList;
pub use tangents::Tangents;
pub use update::Updated;
