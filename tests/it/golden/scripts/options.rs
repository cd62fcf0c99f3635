//! A touch with various report options: results left out, cut short or searched for farther away.

use palpate::proto::{ReportOptions, TrackMode};

use super::{start, tick};
use crate::golden::{conversation::Conversation, path::Path, tally::Tally};

pub const LEAST: Tally =
    Tally { answers: 7 * TICKS, contacts: 300, met: 50, pairs: 10, inside: 50, ..Tally::NONE };
const TICKS: u64 = 12;

pub async fn play(c: &mut Conversation<'_>) {
    let path = Path::over(&c.surface(1).await, 2, 3);
    let all = ReportOptions::default();
    let reports = [
        ReportOptions { omit_contacts: true, ..all },
        ReportOptions { omit_probes: true, omit_sweep: true, ..all },
        ReportOptions { max_contacts: 3, ..all },
        ReportOptions { max_contacts: 1024, contact_margin_m: 0.004, ..all },
        ReportOptions { max_distance_m: 0.0011, ..all },
        ReportOptions { max_distance_m: 10.0, contact_margin_m: 1e-5, ..all },
        ReportOptions { triangle_pairs: true, link_pairs: true, max_pairs: 2, ..all },
    ];
    for report in reports {
        let mut track = c.track(start(TrackMode::Every, report)).await;
        for i in 1..=TICKS {
            let site = path.pressed(i as f64 / TICKS as f64, 2.0, 0.03);
            let tools = vec![site.pose(1, &c.stage.grip)];
            c.ask(&mut track, vec![tick(i, tools)]).await.expect("an answer");
        }
    }
}
