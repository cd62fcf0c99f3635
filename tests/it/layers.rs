//! Architecture rules that a reader relies on, checked against the source itself.

mod imports;
mod source;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use imports::{Imports, circles};
use source::{Source, files, root, sources};

/// Modules of each layer, from the bottom up; modules of one layer do not name each other unless `SIBLINGS` says so.
const LAYERS: [&[&str]; 7] = [
    &["geometry", "mesh_io", "oracle", "time_left"],
    &["index", "sdf", "bvh", "ccd", "coupling"],
    &["surface", "servo"],
    &["scene"],
    &["proxy"],
    &["proto", "config", "os", "store"],
    &["service", "client", "load", "inspect", "doctor", "scene_files", "plan", "replay"],
];
const SIBLINGS: [(&str, &str); 7] = [
    ("geometry", "time_left"),
    ("mesh_io", "geometry"),
    ("oracle", "geometry"),
    ("store", "os"),
    ("load", "client"),
    ("scene_files", "client"),
    ("replay", "service"),
];
/// First layer above the engine.
const CONTRACT_LAYER: usize = 5;
const LINES_MAX: usize = 600;
/// Names that the engine does not use.
const OUTER: [&str; 8] =
    ["tokio", "tonic", "prost", "std::net", "std::thread", "std::fs", "Instant", "SystemTime"];
/// Clock and thread names, and the parts around the engine that may use them.
const CLOCKS: (&[&str], &[&str]) =
    (&["Instant", "SystemTime"], &["os", "service", "client", "load", "doctor", "inspect"]);
const THREADS: (&[&str], &[&str]) =
    (&["thread"], &["os", "service", "client", "load", "doctor", "inspect", "replay"]);
/// Modules that may name the generated contract: those of `service` between the wire and the engine, and clients.
const NAME_THE_CONTRACT: &[&str] = &[
    "client",
    "load",
    "scene_files::served",
    "service::convert",
    "service::loops",
    "service::pose_message",
    "service::recording",
    "service::replay",
    "service::rpc",
    "service::serve",
    "service::transport",
];

fn layer(part: &str) -> Option<usize> {
    LAYERS.iter().position(|l| l.contains(&part))
}

#[test]
fn layers_point_down_and_siblings_do_not_know_each_other() {
    let sources = sources();
    for (file, needs) in Imports::of(&sources).edges() {
        let Some(own) = file.first().filter(|p| layer(p).is_some()) else { continue };
        for other in needs.iter().filter_map(|n| n.first()).filter(|o| *o != own) {
            let goes_down = layer(other) < layer(own);
            let is_allowed = goes_down || SIBLINGS.contains(&(own.as_str(), other.as_str()));
            assert!(is_allowed, "{} names {other}", file.join("::"));
        }
    }
    let unknown = sources.iter().map(Source::part).find(|p| layer(p).is_none());
    assert!(unknown.is_none_or(|p| ["lib", "main"].contains(&p)), "{unknown:?} has no layer");
}

#[test]
fn no_files_need_each_other_in_a_circle() {
    let sources = sources();
    let found: Vec<String> = circles(&Imports::of(&sources).edges())
        .iter()
        .map(|files| files.iter().map(|f| f.join("::")).collect::<Vec<_>>().join(", "))
        .collect();
    assert!(found.is_empty(), "{} circles:\n{}", found.len(), found.join("\n"));
}

/// Folders whose parts still need each other.
const KNOWN_CIRCLES: [&str; 3] = ["geometry", "load", "service::host"];

fn is_in_a_known_circle(part: &[String]) -> bool {
    KNOWN_CIRCLES.contains(&part[..part.len() - 1].join("::").as_str())
}

/// A folder and the file of its name are one part of the folder above.
#[test]
fn no_folders_need_each_other_in_a_circle() {
    let sources = sources();
    let files = Imports::of(&sources).edges();
    let mut folders: BTreeMap<&[String], BTreeSet<&[String]>> = BTreeMap::new();
    for (file, needs) in &files {
        for other in needs {
            let n = file.iter().zip(*other).take_while(|(a, b)| a == b).count();
            // A file may need any part of its own folder, and the other way round.
            if n < file.len() && n < other.len() {
                folders.entry(&file[..=n]).or_default().insert(&other[..=n]);
                folders.entry(&other[..=n]).or_default();
            }
        }
    }
    let found: Vec<String> = circles(&folders)
        .iter()
        .filter(|parts| !parts.iter().all(|part| is_in_a_known_circle(part)))
        .map(|parts| parts.iter().map(|f| f.join("::")).collect::<Vec<_>>().join(", "))
        .collect();
    assert!(found.is_empty(), "{} circles:\n{}", found.len(), found.join("\n"));
}

#[test]
fn a_type_name_has_one_meaning() {
    let mut meanings: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for source in sources() {
        // Two types in one file are variants for different systems.
        for name in source.types() {
            let places = meanings.entry(name).or_default();
            places.insert(source.module.join("::"));
        }
    }
    meanings.retain(|_, places| places.len() > 1);
    assert!(meanings.is_empty(), "{} names have two meanings: {meanings:#?}", meanings.len());
}

#[test]
fn tolerances_stand_in_one_file() {
    let is_bare = |line: &str| {
        line.match_indices("e-").any(|(at, _)| {
            let (before, after) = (&line[..at], &line[at + 2..]);
            before.ends_with(|c: char| c.is_ascii_digit())
                && after.starts_with(|c: char| c.is_ascii_digit())
        })
    };
    let mut found = Vec::new();
    for source in sources().iter().filter(|s| !s.path.ends_with("tolerance.rs")) {
        if layer(source.part()).is_some_and(|l| l < CONTRACT_LAYER) && source.part() != "oracle" {
            let lines = source.code.lines().filter(|l| is_bare(l));
            found.extend(lines.map(|l| format!("{}: {}", source.path.display(), l.trim())));
        }
    }
    assert!(found.is_empty(), "bare tolerances:\n{}", found.join("\n"));
}

#[test]
fn the_engine_has_no_clock_socket_thread_or_message() {
    for source in sources() {
        if layer(source.part()).is_some_and(|l| l < CONTRACT_LAYER) && source.part() != "oracle" {
            let found = OUTER.iter().find(|w| source.names(w));
            assert_eq!(found, None, "in {}", source.path.display());
        }
    }
}

#[test]
fn clocks_and_threads_stand_where_architecture_says() {
    for source in sources().iter().filter(|s| layer(s.part()) >= Some(CONTRACT_LAYER)) {
        for (words, parts) in [CLOCKS, THREADS] {
            let found = words.iter().find(|w| source.names(w) && !parts.contains(&source.part()));
            assert_eq!(found, None, "in {}", source.path.display());
        }
    }
}

#[test]
fn the_contract_is_named_where_architecture_says() {
    let sources = sources();
    for (file, needs) in Imports::of(&sources).edges() {
        let name = file.join("::");
        let is_one =
            NAME_THE_CONTRACT.iter().any(|m| name == *m || name.starts_with(&format!("{m}::")));
        assert!(is_one || !needs.contains(["proto".to_owned()].as_slice()), "{name} names proto");
    }
}

#[test]
fn files_are_short_and_nothing_is_left_open() {
    for folder in ["src", "tests", "benches"].map(|f| root().join(f)) {
        // A packaged crate has fewer folders.
        for file in if folder.exists() { files(&folder) } else { Vec::new() } {
            let text = fs::read_to_string(&file).expect("a source file");
            assert!(text.lines().count() <= LINES_MAX, "{} is too long", file.display());
            let open = ["todo", "unimplemented"].map(|w| format!("{w}!("));
            assert!(!open.iter().any(|w| text.contains(w.as_str())), "{} is open", file.display());
        }
    }
}

/// A comment's sentence begins with its subject, its verb or a condition. Words that stand for a noun make it slow to
/// read: "Returns the number of triangles", not "How many triangles".
#[test]
fn comment_sentences_name_their_subject() {
    let mut found = Vec::new();
    for folder in ["src", "tests", "benches", "clients/c"].map(|f| root().join(f)) {
        for file in if folder.exists() { files(&folder) } else { Vec::new() } {
            let text = fs::read_to_string(&file).expect("a source file");
            let sentences = comment_sentences(&text).into_iter();
            let opened = sentences.filter(|s| opens_without_a_subject(s));
            found.extend(opened.map(|s| format!("{}: {s}", file.display())));
        }
    }
    assert!(found.is_empty(), "{} sentences:\n{}", found.len(), found.join("\n"));
}

/// Returns the sentences of the comments of a file, each paragraph as one line.
fn comment_sentences(text: &str) -> Vec<String> {
    let mut paragraphs = vec![String::new()];
    for line in text.lines().map(str::trim) {
        let comment = line.strip_prefix("//").map(|l| l.trim_start_matches(['/', '!']).trim());
        match comment.filter(|c| !c.is_empty()) {
            Some(words) => *paragraphs.last_mut().expect("one at least") += &format!("{words} "),
            None => paragraphs.push(String::new()),
        }
    }
    paragraphs.iter().flat_map(|p| p.split_inclusive(". ")).map(str::to_owned).collect()
}

fn opens_without_a_subject(sentence: &str) -> bool {
    let words = sentence.trim_start_matches(['-', '*', '(', ' ']);
    let first = words.split_whitespace().next().unwrap_or_default();
    let names_its_model = words.starts_with("As [`") || words.starts_with("As `");
    ["What", "Of", "How", "Whether", "Where", "Those", "Who", "Which"].contains(&first)
        || first == "As" && !names_its_model
}

/// The rules find what they are meant to find.
#[test]
fn a_sentence_that_stands_for_a_noun_is_found() {
    let text =
        "/// Returns a box.\n/// Of all others\n/// the least.\n//\nlet a = 1;\n// What it is.";
    let mut found = comment_sentences(text);
    found.retain(|s| opens_without_a_subject(s));
    assert_eq!(found, ["Of all others the least. ", "What it is. "]);
}

/// The rules find what they are meant to find.
#[test]
fn a_circle_through_a_re_export_is_found() {
    let parse = |module: &str, text: &str| {
        let names = module.split("::").filter(|m| !m.is_empty()).map(str::to_owned);
        Source::parse(Path::new(module), names.collect(), text)
    };
    let sources = [
        parse("", "pub mod a; pub mod b;"),
        parse("a", "pub use one::One; mod one; mod two;"),
        parse("a::one", "pub struct One(super::two::Two);"),
        parse("a::two", "use super::One; pub struct Two(Option<Box<One>>);"),
        parse("b", "use crate::a; fn f(_: a::One) {}"),
    ];
    let edges = Imports::of(&sources).edges();
    let found = circles(&edges);
    assert_eq!(found.len(), 1, "{edges:?}");
    assert_eq!(found[0], [["a", "one"], ["a", "two"]]);
    assert!(
        edges[["b".to_owned()].as_slice()].contains(["a".to_owned(), "one".to_owned()].as_slice())
    );
}
