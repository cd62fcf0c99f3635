//! Two box trees. Source 001 is the tree of a rigid link, and finds pairs of triangles that meet; source 000 is a tree
//! of 16-DOPs over a deforming surface ([`deforming`]).
//!
//! Zhong Shuping, "Information Recording Materials" 2022(11): an axis-aligned box at the root, oriented boxes inside, a
//! k-DOP at each leaf of one triangle. Differences from the source: the split is made deterministic and always makes
//! progress; a leaf also has its triangle's rectangle as an oriented box, so that nodes of different heights compare
//! boxes of one kind; all bounds are rounded outwards, so no pair is missed.
//!
//! Source 003, [`crate::geometry::triangle_triangle`], decides a pair on the placed vertices, so the pairs equal those
//! of brute force. `bvh` does not depend on tools, tissues or indices: its caller passes boxes to accept or reject
//! ([`PlacedTree::may_meet`]) and then the triangles that passed ([`PlacedTree::meeting`]). The same boxes also bound
//! distances ([`BoxTree::nearest`], [`BoxTree::each_within`]).

mod build;
pub mod deforming;
mod nearest;
mod pairs;
mod placed;
mod tree;
mod validate;
mod volume;
mod wide_node;

pub use deforming::{DeformingTree, Front, Trees};
pub use nearest::{AllBeyond, Guess, NearestInTree, NearestTo};
pub use pairs::{LeafPair, Rigid};
pub use placed::PlacedTree;
pub use tree::BoxTree;
