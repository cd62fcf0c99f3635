//! Location of the real meshes and queries for tests and benchmarks, which are not part of the project.

use std::{env, path::PathBuf};

/// Returns the folder named by `PALPATE_DATA`, or `shared/data` next to the checkout. If it does not exist, returns
/// `None` and reports that on the error stream: a test then checks as much as it can without.
pub fn shared_data() -> Option<PathBuf> {
    let folder = env::var_os("PALPATE_DATA").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"),
        PathBuf::from,
    );
    if folder.is_dir() {
        return Some(folder);
    }
    // Reported, because a test that checks less than it could must not look like one that checks all.
    eprintln!("no shared data at {}: set PALPATE_DATA to run this in full", folder.display());
    None
}
