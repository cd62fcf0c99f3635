//! The house rules that a reader relies on, checked over the source itself.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// Modules of each layer, from the bottom up; of one layer, none names another unless `SIBLINGS` says so.
const LAYERS: [&[&str]; 4] = [
    &["geometry", "mesh_io", "oracle"],
    &["index", "sdf", "bvh", "ccd"],
    &["scene"],
    &["service", "config", "store", "load", "inspect", "doctor"],
];
const SIBLINGS: [(&str, &str); 5] = [
    ("mesh_io", "geometry"),
    ("oracle", "geometry"),
    ("service", "store"),
    ("service", "config"),
    ("load", "service"),
];
const LINES_MAX: usize = 600;
/// Words that belong to layer 3.
const OUTER: [&str; 8] =
    ["tokio", "tonic", "prost", "std::net", "std::thread", "std::fs", "Instant", "SystemTime"];

/// Source files below a folder, those that are only tests left out.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder of the project") {
        let path = entry.expect("an entry").path();
        if path.is_dir() && !path.ends_with("tests") {
            files.extend(sources(&path));
        } else if path.extension().is_some_and(|e| e == "rs") && !path.ends_with("tests.rs") {
            files.push(path);
        }
    }
    files
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The module of `src` that a file belongs to.
fn module(file: &Path) -> String {
    let below = file.strip_prefix(root().join("src")).expect("below src");
    let first = below.components().next().expect("a name").as_os_str();
    first.to_string_lossy().trim_end_matches(".rs").to_owned()
}

/// Code without comments and without the tests at its end.
fn code(file: &Path) -> String {
    let text = fs::read_to_string(file).expect("a source file");
    let text = text.split("#[cfg(test)]").next().unwrap_or_default();
    text.lines().filter(|l| !l.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

fn names(code: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    code.match_indices(word).any(|(at, _)| {
        let before = code[..at].chars().next_back().is_none_or(|c| !is_part(c));
        before && code[at + word.len()..].chars().next().is_none_or(|c| !is_part(c))
    })
}

#[test]
fn layers_point_down_and_siblings_do_not_know_each_other() {
    let layer = |m: &str| LAYERS.iter().position(|l| l.contains(&m));
    for file in sources(&root().join("src")) {
        let own = module(&file);
        let Some(own_layer) = layer(&own) else { continue };
        let code = code(&file);
        for (other_layer, modules) in LAYERS.iter().enumerate() {
            for other in modules.iter().filter(|m| **m != own) {
                let allowed = other_layer < own_layer || SIBLINGS.contains(&(own.as_str(), *other));
                let used = code.contains(&format!("crate::{other}"))
                    || (code.contains("use crate::{") && names_in_use(&code, other));
                assert!(allowed || !used, "{} names {other}", file.display());
            }
        }
    }
}

/// `use crate::{a::B, c}` names `a` and `c`.
fn names_in_use(code: &str, module: &str) -> bool {
    code.split("use crate::{").skip(1).any(|rest| {
        let mut depth = 1;
        let mut item = String::new();
        let mut items = Vec::new();
        for c in rest.chars() {
            match c {
                '{' => depth += 1,
                '}' => depth -= 1,
                ',' if depth == 1 => items.push(std::mem::take(&mut item)),
                _ if depth == 1 => item.push(c),
                _ => {}
            }
            if depth == 0 {
                break;
            }
        }
        items.push(item);
        items.iter().any(|i| i.trim().split("::").next() == Some(module))
    })
}

#[test]
fn the_core_has_no_clock_socket_or_thread() {
    for file in sources(&root().join("src")) {
        if LAYERS[..3].concat().contains(&module(&file).as_str()) && module(&file) != "oracle" {
            let code = code(&file);
            let found = OUTER.iter().find(|w| names(&code, w));
            assert_eq!(found, None, "in {}", file.display());
        }
    }
}

#[test]
fn files_are_short_and_nothing_is_left_open() {
    for folder in ["src", "tests", "benches"] {
        let folder = root().join(folder);
        for file in if folder.exists() { sources(&folder) } else { Vec::new() } {
            let text = fs::read_to_string(&file).expect("a source file");
            assert!(text.lines().count() <= LINES_MAX, "{} is too long", file.display());
            let open = ["todo", "unimplemented"].map(|w| format!("{w}!("));
            assert!(!open.iter().any(|w| text.contains(w.as_str())), "{} is open", file.display());
        }
    }
}
