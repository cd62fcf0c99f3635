//! Source 004: latitude/longitude skip list of a surface's triangles, with bounds on every link.
//!
//! Patent publication of Harbin University of Science and Technology (Wang, Mao, Li, Chen), 2016-12. Latitude (a band
//! along an axis) and longitude (a sector of the band) select the list in which a triangle is filed; only the bounds on
//! the links decide the parts that a query may skip. A query therefore misses no triangle, for any shape, seam, axis or
//! deformation. (The published method tests the nearest entry by key alone, which finds contact in 4-55 % of the
//! touching cases.)
//!
//! ```text
//! table of the lists   all searches begin here
//! list of a cell       run -------------------------------> run ----------> ...      level 2
//! (band and sector)    run ----------> run ---------------> run ----------> ...      level 1
//!                      run -> run ---> run -> run --------> run -> run ---> ...      level 0
//!                      leaf   leaf     leaf   leaf          leaf   leaf          up to 8 triangles each
//! ```
//! A link at level n spans a run of up to eight links of the level below, and carries the union of their boxes. The
//! links of a run are adjacent in memory instead of pointing to each other, and a run that gets a ninth is split in
//! two: a deterministic skip list (Munro, Papadakis and Sedgewick 1992), whose towers are as even after an insertion as
//! before it.
//!
//! Triangles inside a list are not in the order of keys, unlike the source, which sorts them by longitude, but in the
//! order of splits by surface area: the parts spanned by links then overlap their neighbours least. A new triangle is
//! filed where boxes grow least, a full leaf is split by surface area again, and a leaf that has come apart files the
//! smaller part of its triangles again: O(log n) each, by the handle of every triangle. The resulting loss of quality
//! against a build is measured (`quality`), and the writer rebuilds the list. `index` does not depend on tools, tissues
//! or ticks.

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
