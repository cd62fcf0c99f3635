//! Bursts of ticks in `LATEST`: one answer each, whose sweep goes through the coalesced poses.
//!
//! A burst comes in one frame, so that the server has read all of it before it computes.

use palpate::proto::{ReportOptions, TrackMode};

use super::{sparse, start, tick};
use crate::golden::{conversation::Conversation, path::Path, tally::Tally};

pub const LEAST: Tally =
    Tally { answers: 40, contacts: 70, met: 45, coalesced: 150, ..Tally::NONE };
const BURSTS: u64 = 36;

pub async fn play(c: &mut Conversation<'_>) {
    let surface = c.surface(1).await;
    let path = Path::over(&surface, 7, 5);
    let length_m = surface.length_m();
    let mut track = c.track(start(TrackMode::Latest, ReportOptions::default())).await;
    let mut sequence = 0;
    for i in 1..=BURSTS {
        let n = 1 + i % 10;
        let burst = (0..n).map(|k| {
            sequence += 1;
            let t = (i as f64 + k as f64 / n as f64) / (BURSTS + 1) as f64;
            tick(sequence, vec![path.pressed(t, 14.0, 0.02).pose(1, &c.stage.grip)])
        });
        let burst: Vec<_> = burst.collect();
        let answer = c.ask(&mut track, burst).await.expect("an answer");
        assert_eq!((answer.sequence, u64::from(answer.coalesced)), (sequence, n - 1));
        if i % 4 == 0 {
            let site = path.site(i as f64 / BURSTS as f64, 0.0);
            let push = site.outward * (-0.01 * length_m);
            let moved = surface.dented(site.surface, 0.07 * length_m, push);
            c.deform(1, sparse(&moved), false).await.expect("a dent");
        }
    }
}
