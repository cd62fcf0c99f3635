//! All crossing triangles of tool and tissue and of the tool's links, with every contact and probe.

use palpate::proto::{ReportOptions, TrackMode};

use super::{start, tick};
use crate::golden::{conversation::Conversation, path::Path, tally::Tally};

pub const LEAST: Tally =
    Tally { answers: TICKS, contacts: 200, pairs: 1_500, inside: 50, ..Tally::NONE };
const TICKS: u64 = 80;

pub async fn play(c: &mut Conversation<'_>) {
    let path = Path::over(&c.surface(1).await, 3, 4);
    let report = ReportOptions {
        triangle_pairs: true,
        link_pairs: true,
        max_pairs: 1024,
        max_contacts: 1024,
        max_distance_m: 0.3,
        ..ReportOptions::default()
    };
    let mut track = c.track(start(TrackMode::Every, report)).await;
    for i in 1..=TICKS {
        let site = path.pressed(i as f64 / TICKS as f64, 3.0, 0.06);
        let tools = vec![site.pose(1, &c.stage.grip)];
        c.ask(&mut track, vec![tick(i, tools)]).await.expect("an answer");
    }
}
