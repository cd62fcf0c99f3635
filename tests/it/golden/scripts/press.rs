//! The tool passes slowly over the tissue, pressing in and letting go; each tick is answered.

use palpate::proto::{ReportOptions, TrackMode};

use super::{start, tick};
use crate::golden::{conversation::Conversation, path::Path, tally::Tally};

pub const LEAST: Tally =
    Tally { answers: TICKS, contacts: 500, met: 40, ended: 40, inside: 100, ..Tally::NONE };
const TICKS: u64 = 200;

pub async fn play(c: &mut Conversation<'_>) {
    let path = Path::over(&c.surface(1).await, 1, 6);
    let mut track = c.track(start(TrackMode::Every, ReportOptions::default())).await;
    for i in 1..=TICKS {
        let site = path.pressed(i as f64 / TICKS as f64, 4.0, 0.025);
        let tools = vec![site.pose(1, &c.stage.grip)];
        c.ask(&mut track, vec![tick(i, tools)]).await.expect("an answer");
    }
}
