//! P7: the triangle test alone on pairs whose leaf boxes overlap, against Guigue and Devillers' and Moller's.
//!
//! Every contestant is given the two triangles in the frames of their trees. `reused` is the case of two
//! rigid trees: the box test of the leaves has just seen one rectangle from the other, and what it computed is
//! at hand, while the others carry B's vertices into A's frame first. `framed` computes that again.
//! `corners` is the case of a deforming triangle without a rectangle: its vertices are carried along for
//! everyone.

use std::hint::black_box;

use glam::DVec3;
use palpate::{
    geometry::{
        Pose,
        tolerance::POSE_ROUNDING,
        triangle_triangle::{Rectangle, Rounded, Seen, Triangle, Verdict, meet},
    },
    oracle::Random,
};

use crate::{
    guigue_devillers, moller,
    turns::{Effort, by_turns},
};

struct Pair {
    a: Triangle,
    b: Triangle,
    frame_a: Rectangle,
    frame_b: Rectangle,
    a_from_b: Pose,
    seen: Seen,
    error: f64,
}

impl Pair {
    /// Two random triangles near each other, `None` when their boxes are apart.
    fn random(random: &mut Random) -> Option<Pair> {
        let mut triangle =
            || [(); 3].map(|()| random.point(DVec3::NEG_ONE, DVec3::ONE));
        let (a, b) = (triangle(), triangle());
        let a_from_b = Pose::new(random.rotation(), random.point(DVec3::NEG_ONE, DVec3::ONE))?;
        let (frame_a, frame_b) = (Rectangle::of(&a)?, Rectangle::of(&b)?);
        let seen = frame_a.see(&frame_b, &a_from_b);
        let error = POSE_ROUNDING * 8.0;
        let meets = frame_a.may_meet_seen(&frame_b, &seen, error);
        meets.then_some(Pair { a, b, frame_a, frame_b, a_from_b, seen, error })
    }

    fn placed(&self) -> Triangle {
        self.b.map(|p| self.a_from_b.point(p))
    }

    fn certain(&self, verdict: Verdict) -> bool {
        match verdict {
            Verdict::Meet => true,
            Verdict::Apart => false,
            Verdict::Unsure => meet(&self.a, &self.placed()),
        }
    }

    fn reused(&self) -> bool {
        self.certain(self.frame_a.meets_seen(&self.frame_b, &self.seen, self.error))
    }

    fn framed(&self) -> bool {
        let seen = self.frame_a.see(&self.frame_b, &self.a_from_b);
        self.certain(self.frame_a.meets_seen(&self.frame_b, &seen, self.error))
    }

    fn corners(&self) -> bool {
        self.certain(self.frame_a.meets(&Rounded::new(self.placed(), self.error)))
    }

    /// What building B's rectangle costs on top.
    fn rebuilt(&self) -> bool {
        let Some(frame_b) = Rectangle::of(&self.b) else { return meet(&self.a, &self.placed()) };
        let seen = self.frame_a.see(&frame_b, &self.a_from_b);
        self.certain(self.frame_a.meets_seen(&frame_b, &seen, self.error))
    }

    fn exact(&self) -> bool {
        meet(&self.a, &self.placed())
    }

    fn guigue_devillers(&self) -> bool {
        guigue_devillers::overlap(&self.a, &self.placed())
    }

    fn moller(&self) -> bool {
        moller::overlap(&self.a, &self.placed())
    }
}

/// Prints a line for each way to the answer and each yardstick.
pub fn run(effort: Effort) {
    let mut random = Random::new(7);
    let n = effort.of(4_000, 500);
    let pairs: Vec<Pair> =
        std::iter::repeat_with(|| Pair::random(&mut random)).flatten().take(n).collect();
    // Functions by name, not by pointer, so that all are compiled into their loops.
    against_all(effort, &pairs, "reused", Pair::reused);
    against_all(effort, &pairs, "framed", Pair::framed);
    against_all(effort, &pairs, "corners", Pair::corners);
    against_all(effort, &pairs, "rebuilt", Pair::rebuilt);
    against_all(effort, &pairs, "exact", Pair::exact);
}

fn against_all(effort: Effort, pairs: &[Pair], name: &str, test: impl Fn(&Pair) -> bool) {
    compare(effort, pairs, name, &test, "guigue-devillers", Pair::guigue_devillers);
    compare(effort, pairs, name, &test, "moller", Pair::moller);
}

fn compare(
    effort: Effort,
    pairs: &[Pair],
    name: &str,
    test: impl Fn(&Pair) -> bool,
    peer: &str,
    peer_test: impl Fn(&Pair) -> bool,
) {
    for pair in pairs {
        assert_eq!(test(pair), peer_test(pair), "{name} and {peer}: {:?} {:?}", pair.a, pair.placed());
    }
    let hits = pairs.iter().filter(|pair| test(pair)).count();
    let (ours, theirs) = by_turns(
        effort,
        pairs.len(),
        || { black_box(pairs.iter().filter(|p| test(black_box(p))).count()); },
        || { black_box(pairs.iter().filter(|p| peer_test(black_box(p))).count()); },
    );
    println!(
        "P7 case={name} ours_us={:.4} ours_range={:.4}..{:.4} peer={peer} peer_us={:.4} \
         peer_range={:.4}..{:.4} ratio={:.2} pairs={} hits={hits} checked=yes",
        ours.p50, ours.min, ours.max, theirs.p50, theirs.min, theirs.max,
        theirs.p50 / ours.p50, pairs.len(),
    );
}
