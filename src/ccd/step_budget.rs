//! How many steps the tests of one pair of triangles may take together.
//!
//! Fifteen features of two triangles that turn together a hair apart are all as hard as one can be. Each with a limit of
//! its own, such a pair took fifteen times as long as a hard test, 1 to 2 ms. A test has a few steps of its own, which is
//! more than most take, and beyond them takes from what its pair has left.

/// Intervals that one test looks at before what is left of the step counts as contact. A plain crossing takes one to
/// three; only what grazes a face without area takes more than 100.
const INTERVALS_MAX: u32 = 256;
/// Those of them that no other test of the pair takes away.
const OWN_INTERVALS: u32 = 16;
/// Steps of advancement towards a thickness before what is left counts as contact.
const ADVANCES_MAX: u32 = 1024;
/// Those of them that no other test of the pair takes away.
const OWN_ADVANCES: u32 = 32;

/// What a pair of triangles has left.
#[derive(Debug)]
pub(super) struct StepBudget {
    intervals: u32,
    advances: u32,
    #[cfg(test)]
    pub taken: u32,
}

impl StepBudget {
    /// As much as the hardest test takes.
    pub fn new() -> StepBudget {
        StepBudget {
            intervals: INTERVALS_MAX - OWN_INTERVALS,
            advances: ADVANCES_MAX - OWN_ADVANCES,
            #[cfg(test)]
            taken: 0,
        }
    }

    /// Whether a test that has looked at `n` intervals may look at one more.
    pub fn take_interval(&mut self, n: u32) -> bool {
        self.note_step();
        n < OWN_INTERVALS || take(&mut self.intervals)
    }

    /// Whether a test that has taken `n` steps of advancement may take one more.
    pub fn take_advance(&mut self, n: u32) -> bool {
        self.note_step();
        n < OWN_ADVANCES || take(&mut self.advances)
    }

    fn note_step(&mut self) {
        #[cfg(test)]
        {
            self.taken += 1;
        }
    }
}

fn take(left: &mut u32) -> bool {
    let is_left = *left > 0;
    *left = left.saturating_sub(1);
    is_left
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_test_has_all_and_each_has_a_few() {
        let mut budget = StepBudget::new();
        let hard = |budget: &mut StepBudget| {
            [StepBudget::take_interval, StepBudget::take_advance]
                .map(|take| (0..).take_while(|n| take(budget, *n)).count() as u32)
        };
        assert_eq!(hard(&mut budget), [INTERVALS_MAX, ADVANCES_MAX]);
        for _ in 0..14 {
            assert_eq!(hard(&mut budget), [OWN_INTERVALS, OWN_ADVANCES]);
        }
    }
}
