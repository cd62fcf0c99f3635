//! Where tests and benchmarks find the real meshes and queries that are not part of the project.

use std::{env, path::PathBuf};

/// The folder named by `PALPATE_DATA`, or `../shared/data` beside the checkout. `None`, and said so on
/// the error stream, when it is not there: a test then checks what it can without.
pub fn shared_data() -> Option<PathBuf> {
    let folder = env::var_os("PALPATE_DATA").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared/data"),
        PathBuf::from,
    );
    if folder.is_dir() {
        return Some(folder);
    }
    // Said aloud, because a test that checks less than it could must not look like one that checks all.
    eprintln!("no shared data at {}: set PALPATE_DATA to run this in full", folder.display());
    None
}
