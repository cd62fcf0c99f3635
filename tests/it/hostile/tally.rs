//! Counts of checks made and of faults found.

use std::fmt;

/// Kind of rule that an answer may have broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broken {
    /// A contact that exists is not reported, at the pose or on the path.
    Missed,
    /// A time of impact is later than the true one.
    Late,
    /// Inside is reported as outside or the reverse, with certainty.
    Sign,
    /// A distance is wrong.
    Distance,
    /// A distance or depth is beyond its reported bound.
    Bound,
    /// A depth exceeds the reported one, without a flag.
    Depth,
    /// A point, a normal or a contact is not where the answer says.
    Untrue,
    /// A revision is older than the acknowledged one, or nobody made it.
    Revision,
}

const ALL: [Broken; 8] = [
    Broken::Missed,
    Broken::Late,
    Broken::Sign,
    Broken::Distance,
    Broken::Bound,
    Broken::Depth,
    Broken::Untrue,
    Broken::Revision,
];

/// Counts of a run.
#[derive(Debug, Default)]
pub struct Tally {
    pub answers: usize,
    pub cut_short: usize,
    pub swept: usize,
    pub swept_while_moving: usize,
    /// Paths with more contacts than an answer gives, or with a start that was not observed.
    pub ways_left_out: usize,
    /// Triangles that have to be in contact.
    pub contacts_due: usize,
    /// Contacts that answers gave.
    pub contacts: usize,
    /// Triangles crossed on the path.
    pub met: usize,
    pub distances: usize,
    pub bounds: usize,
    pub signs: usize,
    pub uncertain: usize,
    pub depths: usize,
    pub depths_flagged: usize,
    pub revisions: usize,
    found: Vec<(Broken, String)>,
}

/// Maximum number of faults that are printed in full.
const TOLD: usize = 40;

impl Tally {
    /// Prints the fault at once, because a run may be ended from outside.
    pub fn find(&mut self, broken: Broken, what: String) {
        if self.found.len() < TOLD {
            println!("FOUND {broken:?}: {what}");
        }
        self.found.push((broken, what));
    }

    /// Records a fault unless `is_so`.
    pub fn hold(&mut self, is_so: bool, broken: Broken, what: impl FnOnce() -> String) {
        if !is_so {
            self.find(broken, what());
        }
    }

    pub fn n_found(&self) -> usize {
        self.found.len()
    }

    pub fn has(&self, broken: Broken) -> bool {
        self.found.iter().any(|(b, _)| *b == broken)
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Tally { answers, cut_short, swept, swept_while_moving, revisions, .. } = self;
        writeln!(
            f,
            "{answers} answers ({cut_short} cut short) of {revisions} revisions; {swept} ways swept, \
             {swept_while_moving} past tissue that moves, {} left out",
            self.ways_left_out
        )?;
        writeln!(
            f,
            "checked: {} contacts due, {} given, {} met on the way, {} distances, {} bounds, {} signs ({} told as \
             uncertain), {} depths ({} flagged)",
            self.contacts_due,
            self.contacts,
            self.met,
            self.distances,
            self.bounds,
            self.signs,
            self.uncertain,
            self.depths,
            self.depths_flagged,
        )?;
        let n = |broken| self.found.iter().filter(|(b, _)| *b == broken).count();
        let found: Vec<String> = ALL.iter().map(|b| format!("{b:?} {}", n(*b))).collect();
        write!(f, "found: {}", found.join(", "))
    }
}
