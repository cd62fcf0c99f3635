//! Step budget shared by the tests of one pair of triangles.
//!
//! If two triangles turn together a tiny distance apart, all fifteen feature tests are as hard as a test can be. With a
//! separate limit for each test such a pair took fifteen times as long as a hard test, 1 to 2 ms. A test has a few
//! steps of its own, which is more than most take, and beyond them takes steps from the rest of the pair's budget.

/// Intervals that one test examines before the rest of the step counts as contact. A plain crossing takes one to three;
/// only grazing a face without area takes more than 100.
const INTERVALS_MAX: u32 = 256;
/// Intervals reserved for each test, which no other test of the pair uses up.
const OWN_INTERVALS: u32 = 16;
/// Steps of advancement towards a thickness before the rest counts as contact.
const ADVANCES_MAX: u32 = 1024;
/// Steps of advancement reserved for each test, which no other test of the pair uses up.
const OWN_ADVANCES: u32 = 32;

/// Remaining steps of a pair of triangles.
#[derive(Debug)]
pub(super) struct StepBudget {
    intervals: u32,
    advances: u32,
    #[cfg(test)]
    pub taken: u32,
}

impl StepBudget {
    /// Steps for the hardest test.
    pub fn new() -> StepBudget {
        StepBudget {
            intervals: INTERVALS_MAX - OWN_INTERVALS,
            advances: ADVANCES_MAX - OWN_ADVANCES,
            #[cfg(test)]
            taken: 0,
        }
    }

    /// Returns true if a test that has examined `n` intervals may examine one more.
    pub fn take_interval(&mut self, n: u32) -> bool {
        self.note_step();
        n < OWN_INTERVALS || take(&mut self.intervals)
    }

    /// Returns true if a test that has taken `n` steps of advancement may take one more.
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
