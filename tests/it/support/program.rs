//! The program under test.

use std::{env, path::PathBuf, process::Command};

/// Path of the program that was built with the tests, or of the one that `PALPATE_SERVER_BIN` names.
pub fn under_test() -> PathBuf {
    let other = env::var_os("PALPATE_SERVER_BIN");
    other.map_or_else(|| env!("CARGO_BIN_EXE_palpate").into(), PathBuf::from)
}

/// Returns true if the program under test contains the page of the live view.
pub fn has_page() -> bool {
    version().contains("live view: included")
}

/// Returns true if the program under test was built with this feature; otherwise prints that the test is skipped.
pub fn has_feature(name: &str) -> bool {
    let version = version();
    let features = version.lines().find_map(|line| line.strip_prefix("features:"));
    let has = features.is_some_and(|names| names.split_whitespace().any(|has| has == name));
    if !has {
        println!("skipped: the program under test was built without the feature {name}");
    }
    has
}

fn version() -> String {
    let done = Command::new(under_test()).arg("--version").output().expect("it was built");
    String::from_utf8(done.stdout).expect("UTF-8")
}
