//! What the fuzz targets share: each target is one call of a function here.

mod allocation;
pub mod edits;
pub mod kept;
pub mod mesh_file;
pub mod poses;
pub mod renderings;
pub mod sessions;
mod stage;
pub mod streams;
mod watched;

use arbitrary::{Arbitrary, Result, Unstructured};

/// As many as the bytes are enough for: long sequences need no luck.
fn until_end<'a, T: Arbitrary<'a>>(bytes: &mut Unstructured<'a>, n_max: usize) -> Result<Vec<T>> {
    let mut all = Vec::new();
    while !bytes.is_empty() && all.len() < n_max {
        all.push(bytes.arbitrary()?);
    }
    Ok(all)
}
