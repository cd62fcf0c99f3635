//! Model of the scene's files: listing, reading and removal. The valid files are chosen by the code of the service
//! itself (`scenes::generations`).

use std::collections::BTreeMap;

use super::Edit;
use crate::store::scenes::generations::{end_of, first_generation, oldest_kept};

/// All files, by generation.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Files {
    journals: BTreeMap<u64, Journal>,
    /// State of the scene, with all changes until then.
    snapshots: BTreeMap<u64, Vec<Edit>>,
}

/// Records of a journal; the number of a record is its index in the scene.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Journal {
    first: usize,
    records: Vec<Edit>,
}

/// Generations that existed at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Listed {
    journals: Vec<u64>,
    snapshots: Vec<u64>,
}

/// Result of a read.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Found {
    pub state: Vec<Edit>,
    /// Greatest of all listed generations.
    pub greatest: u64,
    /// A listed file or a record is missing.
    pub is_broken: bool,
}

impl Files {
    /// Creates the files of an empty scene.
    pub fn new(epoch: u64) -> Files {
        let generation = first_generation(epoch);
        let mut files = Files { journals: BTreeMap::new(), snapshots: BTreeMap::new() };
        files.begin(generation, 0);
        files.put(generation, Vec::new());
        files
    }

    /// Begins a journal; returns false if it exists already.
    pub fn begin(&mut self, generation: u64, first: usize) -> bool {
        if self.journals.contains_key(&generation) {
            return false;
        }
        self.journals.insert(generation, Journal { first, records: Vec::new() });
        true
    }

    /// Appends to a journal that may be gone: its writer has it open.
    pub fn append(&mut self, generation: u64, edit: Edit) {
        if let Some(journal) = self.journals.get_mut(&generation) {
            journal.records.push(edit);
        }
    }

    pub fn put(&mut self, generation: u64, state: Vec<Edit>) {
        self.snapshots.insert(generation, state);
    }

    pub fn list(&self) -> Listed {
        let (journals, snapshots) = (self.journals.keys(), self.snapshots.keys());
        Listed { journals: journals.copied().collect(), snapshots: snapshots.copied().collect() }
    }

    /// Reads the listed files that still exist.
    pub fn read(&self, listed: &Listed) -> Found {
        let there = listed.journals.iter().filter_map(|g| Some((*g, self.journals.get(g)?)));
        let journals: Vec<(u64, &Journal)> = there.collect();
        let firsts = |from: u64| {
            let since = journals.iter().filter(move |(g, _)| *g >= from);
            since.map(|(g, journal)| (*g, journal.first as u64))
        };
        let mut is_broken = journals.len() < listed.journals.len();
        let greatest = listed.journals.iter().chain(&listed.snapshots).max().copied().unwrap_or(0);
        for generation in listed.snapshots.iter().rev().copied() {
            let Some(snapshot) = self.snapshots.get(&generation) else {
                is_broken = true;
                continue;
            };
            if snapshot.len() as u64 > end_of(generation, firsts(generation)) {
                continue;
            }
            let mut state = snapshot.clone();
            for (of, journal) in journals.iter().filter(|(g, _)| *g >= generation) {
                let end = end_of(*of, firsts(generation)).min(1 << 20) as usize;
                if journal.first >= end {
                    continue;
                }
                if journal.first > state.len() {
                    is_broken = true;
                    break;
                }
                let n = end.min(journal.first + journal.records.len());
                let more = journal.records.get(state.len() - journal.first..n - journal.first);
                state.extend(more.unwrap_or_default());
            }
            return Found { state, greatest, is_broken };
        }
        Found { state: Vec::new(), greatest, is_broken: true }
    }

    /// Result of an undisturbed read.
    pub fn read_all(&self) -> Found {
        self.read(&self.list())
    }

    /// Generation before which the files are needless, by a look at them.
    pub fn needless_before(&self) -> Option<u64> {
        let firsts: Vec<_> = self.journals.iter().map(|(g, j)| (*g, j.first as u64)).collect();
        let snapshots = self.snapshots.iter().map(|(g, state)| (*g, Some(state.len() as u64)));
        let oldest = oldest_kept(&snapshots.collect::<Vec<_>>(), &firsts)?;
        let first = self.journals.keys().chain(self.snapshots.keys()).min()?;
        (*first < oldest).then_some(oldest)
    }

    pub fn remove_before(&mut self, oldest: u64) {
        self.journals.retain(|generation, _| *generation >= oldest);
        self.snapshots.retain(|generation, _| *generation >= oldest);
    }
}
