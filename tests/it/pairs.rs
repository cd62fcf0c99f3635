//! Triangle pairs: the kernel against exact arithmetic, the trees against all pairs.

mod crossings;
mod curves;
mod features;
mod lattice;
mod meshes;
mod symmetry;
mod ticks;
mod trees;
mod truth;
