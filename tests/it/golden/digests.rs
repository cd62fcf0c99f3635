//! File of digests: a line for each conversation, with its name and its digest in hexadecimal.

use std::{collections::BTreeMap, fs, path::PathBuf};

/// Digests by name.
#[derive(Clone)]
pub struct Digests(pub BTreeMap<String, String>);

fn file() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/it/golden/digests.txt")
}

impl Digests {
    pub fn read() -> Digests {
        let text = fs::read_to_string(file()).expect("digests.txt; PALPATE_GOLDEN=write makes it");
        let line = |line: &str| {
            let (name, digest) = line.split_once(' ').expect("a name and a digest");
            (name.to_owned(), digest.to_owned())
        };
        Digests(text.lines().map(line).collect())
    }

    pub fn write(&self) {
        let lines = self.0.iter().map(|(name, digest)| format!("{name} {digest}\n"));
        fs::write(file(), lines.collect::<String>()).expect("the project can be written to");
    }

    /// Returns these digests and one more.
    pub fn with(mut self, name: &str, digest: String) -> Digests {
        self.0.insert(name.to_owned(), digest);
        self
    }

    /// Returns the digests of the other stages.
    pub fn without(mut self, stages: &[&str]) -> Digests {
        self.0.retain(|name, _| !stages.iter().any(|stage| name.starts_with(stage)));
        self
    }

    /// Returns a line for each name whose digests differ.
    pub fn differences(&self, got: &Digests) -> Vec<String> {
        let names = self.0.keys().chain(got.0.keys().filter(|name| !self.0.contains_key(*name)));
        let of = |digests: &Digests, name: &String| {
            digests.0.get(name).cloned().unwrap_or_else(|| "none".to_owned())
        };
        names
            .map(|name| (name, of(self, name), of(got, name)))
            .filter(|(_, expected, got)| expected != got)
            .map(|(name, expected, got)| format!("{name}: expected {expected}, got {got}"))
            .collect()
    }
}
