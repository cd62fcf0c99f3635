//! P7: the triangle test alone on pairs whose leaf boxes overlap, compared with Guigue and Devillers' and Moller's.
//!
//! Every contestant receives the two triangles in the frames of their trees. `reused` is the case of two rigid trees:
//! the box test of the leaves has just seen one rectangle from the other, and its results are at hand, while the others
//! carry B's vertices into A's frame first. `framed` computes that again. `corners` is the case of a deforming triangle
//! without a rectangle: every contestant carries its vertices along.

use std::hint::black_box;

use glam::DVec3;
use palpate::{
    geometry::{
        Pose,
        tolerance::POSE_ROUNDING,
        triangle_triangle::{PairVerdict, Rectangle, Rounded, SeenRectangle, Triangle, meet},
    },
    oracle::Random,
};

use crate::{
    guigue_devillers, moller,
    run::{Case, Run},
};

/// B's frame in A's; one for all pairs, as for two rigid bodies.
struct Stage {
    a_from_b: Pose,
    pairs: Vec<Pair>,
}

struct Pair {
    a: Triangle,
    b: Triangle,
    frame_a: Rectangle,
    frame_b: Rectangle,
    seen: SeenRectangle,
}

/// Error bound of a placed corner: all coordinates are within 2.
const ERROR: f64 = 8.0 * POSE_ROUNDING;
/// Few enough that all pairs stay in the second-level cache; they are met in another order each time, so that no branch
/// predictor learns them.
const PAIRS: usize = 2_048;

impl Stage {
    fn random(random: &mut Random) -> Stage {
        let shift = random.point(DVec3::splat(-0.5), DVec3::splat(0.5));
        let a_from_b = Pose::new(random.rotation(), shift).expect("a rotation");
        let mut pairs = Vec::new();
        while pairs.len() < PAIRS {
            let mut triangle = || [(); 3].map(|()| random.point(DVec3::NEG_ONE, DVec3::ONE));
            let (a, b) = (triangle(), triangle());
            let (Some(frame_a), Some(frame_b)) = (Rectangle::of(&a), Rectangle::of(&b)) else {
                continue;
            };
            let seen = frame_a.see(&frame_b, &a_from_b);
            if frame_a.may_meet_seen(&frame_b, &seen, ERROR) {
                pairs.push(Pair { a, b, frame_a, frame_b, seen });
            }
        }
        Stage { a_from_b, pairs }
    }

    fn placed(&self, pair: &Pair) -> Triangle {
        let [p, q, r] = pair.b;
        [self.a_from_b.point(p), self.a_from_b.point(q), self.a_from_b.point(r)]
    }

    fn certain(&self, pair: &Pair, verdict: PairVerdict) -> bool {
        match verdict {
            PairVerdict::Meet => true,
            PairVerdict::Apart => false,
            PairVerdict::Unsure => meet(&pair.a, &self.placed(pair)),
        }
    }

    fn reused(&self, pair: &Pair) -> bool {
        self.certain(pair, pair.frame_a.meets_seen(&pair.frame_b, &pair.seen, ERROR))
    }

    fn framed(&self, pair: &Pair) -> bool {
        let seen = pair.frame_a.see(&pair.frame_b, &self.a_from_b);
        self.certain(pair, pair.frame_a.meets_seen(&pair.frame_b, &seen, ERROR))
    }

    fn corners(&self, pair: &Pair) -> bool {
        self.certain(pair, pair.frame_a.meets(&Rounded::new(self.placed(pair), ERROR)))
    }

    fn rebuilt(&self, pair: &Pair) -> bool {
        let Some(frame_b) = Rectangle::of(&pair.b) else { return self.exact(pair) };
        let seen = pair.frame_a.see(&frame_b, &self.a_from_b);
        self.certain(pair, pair.frame_a.meets_seen(&frame_b, &seen, ERROR))
    }

    fn exact(&self, pair: &Pair) -> bool {
        meet(&pair.a, &self.placed(pair))
    }

    fn guigue_devillers(&self, pair: &Pair) -> bool {
        guigue_devillers::overlap(&pair.a, &self.placed(pair))
    }

    fn moller(&self, pair: &Pair) -> bool {
        moller::overlap(&pair.a, &self.placed(pair))
    }

    /// Returns the number of pairs that meet, summed over `orders` orders of all pairs.
    fn hits(&self, orders: usize, salt: &mut usize, test: impl Fn(&Stage, &Pair) -> bool) -> usize {
        let mut hits = 0;
        for _ in 0..orders {
            *salt += 1;
            // An odd stride meets each of a power of two once.
            let stride = 2 * (*salt * 617 % PAIRS) + 1;
            for i in 0..PAIRS {
                let pair = &self.pairs[(i * stride + *salt) % PAIRS];
                hits += usize::from(test(self, black_box(pair)));
            }
        }
        hits
    }
}

/// Prints a line for each way to the answer and each peer.
pub fn run(run: &mut Run) {
    let stage = Stage::random(&mut Random::new(7));
    // Functions are passed by name, not by pointer, so that each is compiled into its loop.
    against_all(run, &stage, "reused", Stage::reused);
    against_all(run, &stage, "framed", Stage::framed);
    against_all(run, &stage, "corners", Stage::corners);
    against_all(run, &stage, "rebuilt", Stage::rebuilt);
    against_all(run, &stage, "exact", Stage::exact);
}

fn against_all(run: &mut Run, stage: &Stage, name: &str, test: impl Fn(&Stage, &Pair) -> bool) {
    compare(run, stage, name, &test, "guigue-devillers", Stage::guigue_devillers);
    compare(run, stage, name, &test, "moller", Stage::moller);
}

fn compare(
    run: &mut Run,
    stage: &Stage,
    name: &str,
    test: impl Fn(&Stage, &Pair) -> bool,
    peer: &str,
    peer_test: impl Fn(&Stage, &Pair) -> bool,
) {
    for pair in &stage.pairs {
        let same = test(stage, pair) == peer_test(stage, pair);
        assert!(same, "{name} and {peer}: {:?} {:?}", pair.a, stage.placed(pair));
    }
    let orders = run.effort.of(50, 1);
    let (mut salt, mut peer_salt) = (0, 0);
    let hits = stage.hits(1, &mut 0, &test);
    run.compare(
        &Case { measure: "P7", case: &format!("{name}/{peer}"), peer, items: orders * PAIRS },
        hits as f64,
        format_args!("pairs={PAIRS} hits={hits}"),
        || {
            black_box(stage.hits(orders, &mut salt, &test));
        },
        || {
            black_box(stage.hits(orders, &mut peer_salt, &peer_test));
        },
    );
}
