//! Triangle pairs: the kernel against exact arithmetic, the trees against all pairs.

mod crossings;
mod curves;
mod lattice;
mod meshes;
mod symmetry;
mod trees;
mod truth;
