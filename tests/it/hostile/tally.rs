//! How much was checked, and what was found.

use std::fmt;

/// What an answer may have broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broken {
    /// A contact that is there is not told, now or of the way.
    Missed,
    /// A time of impact is after the true one.
    Late,
    /// Inside is told as outside or the other way round, and with certainty.
    Sign,
    /// A distance is another one.
    Distance,
    /// Something is beyond a bound.
    Bound,
    /// Something is deeper than told, without a flag.
    Depth,
    /// A point, a normal or a contact is not where it is told to be.
    Untrue,
    /// A revision that is older than what was acknowledged, or that nobody made.
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

/// Of a run.
#[derive(Debug, Default)]
pub struct Tally {
    pub answers: usize,
    pub cut_short: usize,
    pub swept: usize,
    pub swept_while_moving: usize,
    /// Ways whose contacts were more than an answer gives, or that begin where nobody looked.
    pub ways_left_out: usize,
    /// Triangles that have to be in contact.
    pub contacts_due: usize,
    /// Contacts that were given.
    pub contacts: usize,
    /// Triangles that were crossed on the way.
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

/// So many are told in full.
const TOLD: usize = 40;

impl Tally {
    /// Told at once: a run may be ended from outside.
    pub fn find(&mut self, broken: Broken, what: String) {
        if self.found.len() < TOLD {
            println!("FOUND {broken:?}: {what}");
        }
        self.found.push((broken, what));
    }

    /// `is_so`, or it is a find.
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
