//! Where tissues meet themselves and each other on their way from one revision to another.
//!
//! Every vertex moves straight from its place in the first revision to its place in the second, all tissues in the
//! same time. Pairs of triangles come from trees of swept 16-DOPs, features from continuous collision with owners,
//! so that every two features are tested once. Trees are built for one call: an interval is asked for once, and
//! a front kept for the next would be of other boxes.
//!
//! This is a long job, to be run away from ticks and writers. It copies what it needs of a revision at once, so that
//! no revision is kept from its writer meanwhile.

mod earliest;
mod tissue_motion;

use std::cmp::Ordering;

use glam::DVec3;

use super::{Scene, SceneError, SurfacePoint, TissueId};
use crate::{
    bvh::Trees,
    ccd::{FeaturePair, MovingTriangle, Shared, TriangleContact, every_contact},
    geometry::TriangleId,
};
use earliest::Earliest;
pub use tissue_motion::{End, Interval, IntervalError, Motion};
use tissue_motion::{Ends, Swept};

/// What is looked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SelfCollisionOptions {
    /// Coming within this many metres is contact, >= 0.
    pub thickness_m: f64,
    /// Which tissues are tested against which.
    pub scope: Scope,
    /// Contacts that are given; the rest are counted.
    pub max_contacts: usize,
    /// Triangle pairs that are gone through before it is too much.
    pub max_pairs: usize,
}

/// Which tissues are tested against which.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Each against itself and all others.
    All,
    /// Each against itself.
    WithinEach,
}

/// Which kinds of features meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FeatureKind {
    /// A vertex of the first side, a face of the second.
    VertexFace,
    /// An edge of each.
    EdgeEdge,
}

/// First contact of two features.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FeatureContact {
    /// In [0, 1], never later than the true time.
    pub toi: f64,
    /// What meets.
    pub kind: FeatureKind,
    /// Of the vertex and of the face; of two edges the lesser (tissue, vertices) comes first.
    pub tissues: [TissueId; 2],
    /// The vertex and the face's three in stored order; or both edges' ends, ascending in each.
    pub vertices: [u32; 4],
    /// Where they meet at `toi`. A vertex's or edge's triangle is the least that has it.
    pub on: [SurfacePoint; 2],
    /// From the second side towards the first, of length 1; zero where neither the features nor the way they came
    /// tell.
    pub normal: DVec3,
}

/// What was found, and between which revisions.
#[derive(Clone, Debug, PartialEq)]
pub struct SelfCollisions {
    /// The earliest, in the order of [`FeatureContact::order`].
    pub contacts: Vec<FeatureContact>,
    /// All that were found, those not given included: vertices with faces, edges with edges.
    pub totals: [u64; 2],
    /// Pairs of triangles whose swept boxes met.
    pub triangle_pairs: u64,
    /// Ordered by tissue.
    pub motions: Vec<Motion>,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum SelfCollisionError {
    /// No such tissue.
    #[error(transparent)]
    Scene(#[from] SceneError),
    /// An interval between revisions that cannot be had.
    #[error("tissues[{at}]: {source}")]
    Interval {
        /// Place in the request.
        at: usize,
        /// What is wrong with it.
        source: IntervalError,
    },
    /// So much came near that it would take too long.
    #[error(
        "more than {limit} pairs of triangles come near each other, the limit; expected less motion or thickness"
    )]
    TooManyPairs {
        /// The most.
        limit: usize,
    },
    /// The caller wanted no more of it.
    #[error("stopped before it was done")]
    Stopped,
}

/// How many pairs pass between two looks at whether to stop: some ten milliseconds at most.
const PAIRS_BETWEEN_LOOKS: u64 = 256;

impl FeatureContact {
    /// By time, kind, tissues, vertices and triangles: total over the contacts of one answer, and independent of
    /// the way in which they were found.
    pub fn order(&self, other: &FeatureContact) -> Ordering {
        let ids = |c: &FeatureContact| (c.kind, c.tissues, c.vertices, c.on.map(|p| p.triangle));
        self.toi.total_cmp(&other.toi).then_with(|| ids(self).cmp(&ids(other)))
    }
}

/// Looks for contacts of tissues, each named once, that move as `intervals` say. Features that share a vertex are
/// not tested. `is_over` is asked now and then whether to stop.
///
/// # Errors
/// Nothing is given then.
pub fn self_collisions(
    scene: &Scene,
    intervals: &[Interval],
    options: &SelfCollisionOptions,
    is_over: &dyn Fn() -> bool,
) -> Result<SelfCollisions, SelfCollisionError> {
    let ends = ends_of(scene, intervals)?;
    let mut search = Search {
        options,
        is_over,
        found: Earliest::new(options.max_contacts),
        totals: [0; 2],
        triangle_pairs: 0,
    };
    let mut tissues = Vec::with_capacity(ends.len());
    for ends in ends {
        search.check_going_on()?;
        tissues.push(Swept::new(ends, 0.5 * options.thickness_m));
    }
    for (i, a) in tissues.iter().enumerate() {
        search.go_through(Trees::Itself(&a.tree), [a, a])?;
        let others = if options.scope == Scope::All { &tissues[i + 1..] } else { &[] };
        for b in others {
            search.go_through(Trees::Two(&a.tree, &b.tree), [a, b])?;
        }
    }
    Ok(SelfCollisions {
        contacts: search.found.into_sorted(),
        totals: search.totals,
        triangle_pairs: search.triangle_pairs,
        motions: tissues.iter().map(Swept::motion).collect(),
    })
}

/// All revisions are taken before anything is made of them. Ordered by tissue.
fn ends_of(scene: &Scene, intervals: &[Interval]) -> Result<Vec<Ends>, SelfCollisionError> {
    let mut ends = Vec::with_capacity(intervals.len());
    for (at, interval) in intervals.iter().enumerate() {
        let found = Ends::of(&*scene.tissue(interval.tissue)?, interval);
        ends.push(found.map_err(|source| SelfCollisionError::Interval { at, source })?);
    }
    ends.sort_unstable_by_key(|e| e.motion.tissue);
    Ok(ends)
}

struct Search<'a> {
    options: &'a SelfCollisionOptions,
    is_over: &'a dyn Fn() -> bool,
    found: Earliest,
    totals: [u64; 2],
    triangle_pairs: u64,
}

impl Search<'_> {
    fn go_through(&mut self, trees: Trees, sides: [&Swept; 2]) -> Result<(), SelfCollisionError> {
        self.check_going_on()?;
        trees.try_pairs(|s, t| {
            self.triangle_pairs += 1;
            if self.triangle_pairs > self.options.max_pairs as u64 {
                return Err(SelfCollisionError::TooManyPairs { limit: self.options.max_pairs });
            }
            if self.triangle_pairs.is_multiple_of(PAIRS_BETWEEN_LOOKS) {
                self.check_going_on()?;
            }
            self.test(sides, [s, t]);
            Ok(())
        })
    }

    fn check_going_on(&self) -> Result<(), SelfCollisionError> {
        if (self.is_over)() { Err(SelfCollisionError::Stopped) } else { Ok(()) }
    }

    /// All features that two triangles answer for. Neighbours are tested too: a vertex may meet the far edge of a
    /// triangle beside its own.
    fn test(&mut self, [a, b]: [&Swept; 2], [s, t]: [TriangleId; 2]) {
        let is_one = a.motion().tissue == b.motion().tissue;
        let shared = match is_one {
            true => Shared::between(a.vertices(s), b.vertices(t)),
            false => Shared::NONE,
        };
        let (p, q) = (a.moving(s), b.moving(t));
        every_contact(&p, &q, shared, self.options.thickness_m, |contact| {
            let found = feature_contact([a, b], [s, t], [&p, &q], &contact);
            self.totals[found.kind as usize] += 1;
            self.found.push(found);
        });
    }
}

fn feature_contact(
    [a, b]: [&Swept; 2],
    [s, t]: [TriangleId; 2],
    [p, q]: [&MovingTriangle; 2],
    met: &TriangleContact,
) -> FeatureContact {
    let mut tissues = [a.motion().tissue, b.motion().tissue];
    let mut on =
        [surface_point(s, p.at(met.toi), met.first), surface_point(t, q.at(met.toi), met.second)];
    let mut normal = met.normal;
    let (kind, vertices, is_turned) = named(met.features, tissues, a.vertices(s), b.vertices(t));
    if is_turned {
        tissues.reverse();
        on.reverse();
        normal = -normal;
    }
    FeatureContact { toi: met.toi, kind, tissues, vertices, on, normal }
}

/// Features by their vertices, and whether the second triangle's comes first.
fn named(
    features: FeaturePair,
    tissues: [TissueId; 2],
    v: [u32; 3],
    w: [u32; 3],
) -> (FeatureKind, [u32; 4], bool) {
    match features {
        FeaturePair::VertexFace(k) => {
            (FeatureKind::VertexFace, [v[k as usize], w[0], w[1], w[2]], false)
        }
        FeaturePair::FaceVertex(k) => {
            (FeatureKind::VertexFace, [w[k as usize], v[0], v[1], v[2]], true)
        }
        FeaturePair::EdgeEdge(i, j) => {
            let (e, f) = (edge(v, i), edge(w, j));
            let is_turned = (tissues[1], f) < (tissues[0], e);
            let ([e0, e1], [f0, f1]) = if is_turned { (f, e) } else { (e, f) };
            (FeatureKind::EdgeEdge, [e0, e1, f0, f1], is_turned)
        }
    }
}

fn surface_point(triangle: TriangleId, corners: [DVec3; 3], weights: DVec3) -> SurfacePoint {
    let [a, b, c] = corners;
    let position = a * weights.x + b * weights.y + c * weights.z;
    SurfacePoint { position, triangle, barycentric: weights }
}

/// The ends of an edge, ascending.
fn edge(v: [u32; 3], k: u8) -> [u32; 2] {
    let (i, j) = (v[k as usize], v[(k as usize + 1) % 3]);
    [i.min(j), i.max(j)]
}
