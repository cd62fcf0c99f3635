//! Fast motion: through the tissue from tick to tick, with turns, leaps and teleports; and tissue that comes to the tool.

use palpate::proto::{Flag, ReportOptions, TrackMode};

use super::{sparse, start, tick};
use crate::golden::{conversation::Conversation, path::Path, tally::Tally};

pub const LEAST: Tally =
    Tally { answers: TICKS + 40, contacts: 400, met: 300, ended: 200, ..Tally::NONE };
const TICKS: u64 = 80;

pub async fn play(c: &mut Conversation<'_>) {
    let mut surface = c.surface(1).await;
    let path = Path::over(&surface, 6, 8);
    let length_m = surface.length_m();
    let report = ReportOptions { max_contacts: 256, ..ReportOptions::default() };
    let mut track = c.track(start(TrackMode::Every, report)).await;
    let mut swept = 0;
    for i in 1..=TICKS {
        let t = i as f64 / TICKS as f64;
        // Above, inside and above again; every seventh time from one side of the tissue to the other.
        let height = match i % 7 {
            0 => -0.6,
            1 | 4 => 0.03,
            2 | 5 => -0.02,
            _ => 0.01,
        };
        let mut site = path.site(t, height);
        site.roll += if i % 5 == 0 { 0.3 } else { 0.0 };
        let mut pose = site.pose(1, &c.stage.grip);
        pose.teleport = i % 17 == 0;
        let answer = c.ask(&mut track, vec![tick(i, vec![pose])]).await.expect("an answer");
        swept += u32::from(answer.flags & 1 << Flag::Swept as u32 != 0);
    }
    assert!(swept >= 20, "{swept} of {TICKS}");
    // The tool waits above while the tissue comes and goes.
    let site = path.site(0.4, 0.01);
    for i in 1..=20 {
        let push = site.outward * (if i % 2 == 0 { -0.03 } else { 0.03 } * length_m);
        let moved = surface.dented(site.surface, 0.1 * length_m, push);
        moved.iter().for_each(|(v, p)| surface.positions[*v as usize] = *p);
        c.deform(1, sparse(&moved), false).await.expect("a dent");
        let tools = vec![site.pose(1, &c.stage.grip)];
        c.ask(&mut track, vec![tick(TICKS + i, tools)]).await.expect("an answer");
    }
}
