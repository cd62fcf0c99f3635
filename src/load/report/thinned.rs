//! Samples of a run of any length, thinned for a picture.

/// Samples kept at most; one more removes every second one.
pub const SAMPLES_MAX: usize = 4_000;

/// Samples in order of time, evenly thinned.
#[derive(Clone, Debug)]
pub struct Thinned<T> {
    samples: Vec<T>,
    /// Keeps one in `every` samples.
    every: u64,
    noted: u64,
}

impl<T> Default for Thinned<T> {
    fn default() -> Thinned<T> {
        Thinned { samples: Vec::new(), every: 1, noted: 0 }
    }
}

impl<T> Thinned<T> {
    /// Takes the next sample, and keeps it or not.
    pub fn note(&mut self, sample: T) {
        if self.samples.len() == SAMPLES_MAX {
            let mut place = 0;
            self.samples.retain(|_| {
                place += 1;
                place % 2 == 1
            });
            self.every *= 2;
        }
        if self.noted.is_multiple_of(self.every) {
            self.samples.push(sample);
        }
        self.noted += 1;
    }

    /// Returns the kept samples.
    pub fn samples(&self) -> &[T] {
        &self.samples
    }
}
