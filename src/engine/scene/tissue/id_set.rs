//! A set of vertices or controls: a bit for each that there is.

/// Ids below a number that was given at the start.
pub(super) struct IdSet {
    words: Vec<u64>,
}

const BITS: u32 = u64::BITS;

impl IdSet {
    /// An empty set of ids below `n`.
    pub(super) fn below(n: usize) -> IdSet {
        IdSet { words: vec![0; n.div_ceil(BITS as usize)] }
    }

    /// Adds an id, and returns true if it is new.
    pub(super) fn insert(&mut self, id: u32) -> bool {
        let (word, bit) = (&mut self.words[(id / BITS) as usize], 1 << (id % BITS));
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }

    /// Adds ids, in half the time if they are ascending.
    pub(super) fn extend(&mut self, ids: impl IntoIterator<Item = u32>) {
        // A word is written once for all neighbouring ids that are in it: each write would wait for the one before.
        let (mut at, mut bits) = (0, 0);
        for id in ids {
            if id / BITS != at {
                self.words[at as usize] |= bits;
                (at, bits) = (id / BITS, 0);
            }
            bits |= 1 << (id % BITS);
        }
        if bits != 0 {
            self.words[at as usize] |= bits;
        }
    }

    /// Returns 1 if it has the id, else 0.
    pub(super) fn has(&self, id: u32) -> usize {
        (self.words[(id / BITS) as usize] >> (id % BITS)) as usize & 1
    }

    /// Number of ids.
    pub(super) fn len(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Returns the ids, ascending.
    pub(super) fn to_vec(&self) -> Vec<u32> {
        let mut ids = Vec::with_capacity(self.len());
        for (first, word) in (0..).step_by(BITS as usize).zip(&self.words) {
            let mut left = *word;
            while left != 0 {
                ids.push(first + left.trailing_zeros());
                left &= left - 1;
            }
        }
        ids
    }
}
