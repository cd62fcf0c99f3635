//! Source 001: the hybrid box tree of a rigid link, and the triangle pairs found with it; and the tree of
//! 16-DOPs of a surface that deforms, of source 000 ([`deforming`]).
//!
//! Zhong Shuping, "Information Recording Materials" 2022(11): an axis-aligned box at the root, oriented boxes
//! inside, a k-DOP at each leaf of one triangle. Where we differ: the split is made deterministic and always
//! makes progress; a leaf also has its triangle's rectangle as an oriented box, so that mixed heights compare
//! boxes of one kind; all bounds are rounded outwards, so no pair is missed.
//!
//! What decides a pair is source 003, [`crate::geometry::triangle_triangle`], on the vertices as placed: the
//! pairs are those of brute force. `bvh` does not know what a tool, a tissue or an index is: it is given
//! boxes to pass or refuse ([`PlacedTree::may_meet`]) and then the triangles that passed ([`PlacedTree::meeting`]).
//! The same boxes also bound distances ([`BoxTree::nearest`], [`BoxTree::each_within`]).

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
pub use nearest::{Guess, NearestInTree, NearestTo};
pub use pairs::{LeafPair, Rigid};
pub use placed::PlacedTree;
pub use tree::BoxTree;
