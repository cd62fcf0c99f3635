//! Finds where tissues meet themselves and each other as they move from one revision to another.
//!
//! Every vertex moves straight from its position in the first revision to its position in the second, all tissues in
//! the same time. Pairs of triangles come from trees of swept 16-DOPs. Each pair then tests its features, and a feature
//! that several triangles share belongs to one of them, so that every two features are tested once.
//!
//! This is a long job, to be run away from ticks and writers. It copies the data that it needs of a revision at once,
//! so that no revision is kept from its writer meanwhile.

mod earliest;
mod feature_contact;
mod tissue_motion;

use super::{Scene, SceneError};
use crate::{
    bvh::Trees,
    ccd::{Shared, every_contact},
    geometry::TriangleId,
};
use earliest::Earliest;
pub use feature_contact::{FeatureContact, FeatureKind};
pub use tissue_motion::{Interval, IntervalEnd, IntervalError, TissueMotion};
use tissue_motion::{SweptTissue, TissueEnds};

/// Options of a search for self-collisions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SelfCollisionOptions {
    /// Distance that counts as contact, metres, >= 0.
    pub thickness_m: f64,
    /// Tissues that are tested against each other.
    pub scope: Scope,
    /// Maximum contacts that are given; the rest are counted.
    pub max_contacts: usize,
    /// Maximum triangle pairs that are tested; more are an error.
    pub max_pairs: usize,
}

/// Tissues that are tested against each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Each tissue against itself and all others.
    All,
    /// Each tissue against itself.
    WithinEach,
}

/// Contacts found, and the revisions between which they were found.
#[derive(Clone, Debug, PartialEq)]
pub struct SelfCollisions {
    /// The earliest contacts, in the order of [`FeatureContact::order`].
    pub contacts: Vec<FeatureContact>,
    /// Numbers of all contacts found, including those not given: vertices with faces, edges with edges.
    pub totals: [u64; 2],
    /// Number of pairs of triangles whose swept boxes met.
    pub triangle_pairs: u64,
    /// Motions, ordered by tissue.
    pub motions: Vec<TissueMotion>,
}

/// Errors of a search for self-collisions.
#[derive(Debug, thiserror::Error)]
pub enum SelfCollisionError {
    /// No such tissue.
    #[error(transparent)]
    Scene(#[from] SceneError),
    /// An interval between revisions that is not available.
    #[error("tissues[{at}]: {source}")]
    Interval {
        /// Index in the request.
        at: usize,
        /// Error of the interval.
        source: IntervalError,
    },
    /// So many pairs came near that the search would take too long.
    #[error(
        "more than {limit} pairs of triangles come near each other, the limit; expected less motion or thickness"
    )]
    TooManyPairs {
        /// Maximum pairs.
        limit: usize,
    },
    /// The caller stopped the search.
    #[error("stopped before it was done")]
    Stopped,
}

/// Pairs that are tested between two checks whether to stop. A pair has 15 tests, and if all moves in one plane or
/// within the thickness they take 1,500 steps together: 16 pairs are some milliseconds at most.
const PAIRS_PER_STOP_CHECK: u64 = 16;
/// Pairs that are counted between two checks: 30 us.
const COUNTED_PER_STOP_CHECK: u64 = 1024;
/// Pairs that are kept from the count, so that the trees of small motions are traversed once. With more pairs a second
/// traversal takes a twentieth of the time of their tests.
const PAIRS_KEPT: usize = 1 << 15;
/// Memory of these pairs, in a list that grows by doubling.
pub(super) const PAIRS_KEPT_BYTES: u64 = (3 * size_of::<KeptPair>() * PAIRS_KEPT / 2) as u64;

/// Finds contacts of tissues, each named once, that move according to `intervals`. Features that share a vertex are not
/// tested. `is_over` is called now and then to check whether to stop.
///
/// # Errors
///
/// Returns no contacts if there is an error.
pub fn self_collisions(
    scene: &Scene,
    intervals: &[Interval],
    options: &SelfCollisionOptions,
    is_over: &dyn Fn() -> bool,
) -> Result<SelfCollisions, SelfCollisionError> {
    debug_assert!(options.thickness_m >= 0.0, "thickness {} m", options.thickness_m);
    let ends = ends_of(scene, intervals)?;
    let mut search = SelfCollisionSearch {
        options,
        is_over,
        found: Earliest::new(options.max_contacts),
        totals: [0; 2],
        triangle_pairs: 0,
        n_tested: 0,
    };
    let mut tissues = Vec::with_capacity(ends.len());
    for ends in ends {
        search.check_going_on()?;
        // Trees are for this call alone: an interval is requested once, and a front kept for the next one would be of
        // other boxes. Half the thickness on each side lets boxes overlap whose triangles come that near.
        let swept = SweptTissue::new(ends, 0.5 * options.thickness_m, is_over);
        tissues.push(swept.ok_or(SelfCollisionError::Stopped)?);
    }
    let mut meetings = Vec::new();
    for (i, a) in tissues.iter().enumerate() {
        meetings.push((Trees::Itself(&a.tree), [a, a]));
        let others = if options.scope == Scope::All { &tissues[i + 1..] } else { &[] };
        meetings.extend(others.iter().map(|b| (Trees::Two(&a.tree, &b.tree), [a, b])));
    }
    // Counted before the first test: 67 million pairs are counted in two seconds and took 40 to test, to be refused
    // then.
    let kept = search.count_pairs(&meetings)?;
    match kept {
        Some(kept) => search.test_kept(&meetings, &kept)?,
        None => {
            for (trees, sides) in &meetings {
                trees.try_pairs(|s, t| search.test(*sides, [s, t]))?;
            }
        }
    }
    debug_assert_eq!(search.n_tested, search.triangle_pairs, "pairs tested");
    debug_assert!(search.totals.iter().sum::<u64>() >= search.found.len() as u64);
    Ok(SelfCollisions {
        contacts: search.found.into_sorted(),
        totals: search.totals,
        triangle_pairs: search.triangle_pairs,
        motions: tissues.iter().map(SweptTissue::motion).collect(),
    })
}

/// Returns the tissues at both ends of their intervals, ordered by tissue.
fn ends_of(scene: &Scene, intervals: &[Interval]) -> Result<Vec<TissueEnds>, SelfCollisionError> {
    // All revisions are taken before anything is computed: a tree takes long, and a held revision may go meanwhile.
    let mut ends = Vec::with_capacity(intervals.len());
    for (at, interval) in intervals.iter().enumerate() {
        let found = TissueEnds::of(&*scene.tissue(interval.tissue)?, interval);
        ends.push(found.map_err(|source| SelfCollisionError::Interval { at, source })?);
    }
    // Sorted so that the order of the request does not show in the answer.
    ends.sort_unstable_by_key(|e| e.motion.tissue);
    Ok(ends)
}

struct SelfCollisionSearch<'a> {
    options: &'a SelfCollisionOptions,
    is_over: &'a dyn Fn() -> bool,
    found: Earliest,
    totals: [u64; 2],
    triangle_pairs: u64,
    n_tested: u64,
}

/// Two sides that are tested against each other, and their tissues.
type Meeting<'a> = (Trees<'a>, [&'a SweptTissue; 2]);

/// Index of the meeting, and the triangles.
type KeptPair = (u32, [TriangleId; 2]);

impl SelfCollisionSearch<'_> {
    /// Counts the pairs of all meetings, and returns them if they are few enough to be kept.
    fn count_pairs(
        &mut self,
        meetings: &[Meeting],
    ) -> Result<Option<Vec<KeptPair>>, SelfCollisionError> {
        let mut kept = Vec::new();
        for (n, (trees, _)) in meetings.iter().enumerate() {
            self.check_going_on()?;
            trees.try_pairs(|s, t| {
                self.triangle_pairs += 1;
                if self.triangle_pairs > self.options.max_pairs as u64 {
                    return Err(SelfCollisionError::TooManyPairs { limit: self.options.max_pairs });
                }
                if self.triangle_pairs.is_multiple_of(COUNTED_PER_STOP_CHECK) {
                    self.check_going_on()?;
                }
                if kept.len() < PAIRS_KEPT {
                    kept.push((n as u32, [s, t]));
                }
                Ok(())
            })?;
        }
        Ok((kept.len() as u64 == self.triangle_pairs).then_some(kept))
    }

    fn test_kept(
        &mut self,
        meetings: &[Meeting],
        kept: &[KeptPair],
    ) -> Result<(), SelfCollisionError> {
        kept.iter().try_for_each(|(n, triangles)| self.test(meetings[*n as usize].1, *triangles))
    }

    fn check_going_on(&self) -> Result<(), SelfCollisionError> {
        if (self.is_over)() { Err(SelfCollisionError::Stopped) } else { Ok(()) }
    }

    /// Tests all features that two triangles own. Neighbours are tested too: a vertex may meet the far edge of a
    /// triangle beside its own.
    fn test(
        &mut self,
        [a, b]: [&SweptTissue; 2],
        [s, t]: [TriangleId; 2],
    ) -> Result<(), SelfCollisionError> {
        self.n_tested += 1;
        if self.n_tested.is_multiple_of(PAIRS_PER_STOP_CHECK) {
            self.check_going_on()?;
        }
        // Vertices of two tissues have the same ids by chance only.
        let is_one = a.motion().tissue == b.motion().tissue;
        let shared = match is_one {
            true => Shared::between(a.joined_vertices(s), b.joined_vertices(t)),
            false => Shared::NONE,
        };
        let (p, q) = (a.moving(s), b.moving(t));
        every_contact(&p, &q, shared, self.options.thickness_m, |contact| {
            let found = FeatureContact::of([a, b], [s, t], [&p, &q], &contact);
            self.totals[found.kind as usize] += 1;
            self.found.push(found);
        });
        Ok(())
    }
}
