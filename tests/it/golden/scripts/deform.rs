//! Dents about the tip and motions of all vertices between ticks, sometimes several at once.

use palpate::proto::{ReportOptions, TrackMode};

use super::{dense, sparse, start, tick};
use crate::golden::{
    conversation::Conversation,
    path::{Path, Site, wave},
    surface::Surface,
    tally::Tally,
};

pub const LEAST: Tally =
    Tally { answers: 200, contacts: 400, met: 25, ended: 50, inside: 50, ..Tally::NONE };
const TICKS: u64 = 120;

pub async fn play(c: &mut Conversation<'_>) {
    let mut surface = c.surface(1).await;
    let path = Path::over(&surface, 4, 5);
    let rest = surface.positions.clone();
    let report = ReportOptions { contact_margin_m: 0.002, ..ReportOptions::default() };
    let mut track = c.track(start(TrackMode::Every, report)).await;
    for i in 1..=TICKS {
        let t = i as f64 / TICKS as f64;
        // The site is on the surface at rest while the tissue moves.
        let site = path.pressed(t, 3.0, 0.02);
        match i % 6 {
            0 => {
                // Each sway starts from the surface at rest, so that dents do not add up.
                surface.positions.clone_from(&rest);
                surface.positions = surface.swayed(2.0 * wave(2.0 * t));
                c.deform(1, dense(surface.positions.clone()), false).await.expect("a sway");
            }
            2 => dent(c, &mut surface, &site, 0.01).await,
            3 => {
                // More deformations than the sweep follows one by one.
                let n = if i % 12 == 3 { 2 } else { 6 };
                for k in 0..n {
                    let back = if k % 2 == 0 { -0.008 } else { 0.006 };
                    dent(c, &mut surface, &site, back).await;
                }
            }
            _ => {}
        }
        let tools = vec![site.pose(1, &c.stage.grip)];
        c.ask(&mut track, vec![tick(i, tools)]).await.expect("an answer");
    }
    c.surface(1).await;
}

/// Dents the tissue; `depth` in longest sides.
async fn dent(c: &mut Conversation<'_>, surface: &mut Surface, site: &Site, depth: f64) {
    let length_m = surface.length_m();
    let moved = surface.dented(site.surface, 0.08 * length_m, site.outward * -depth * length_m);
    for (v, p) in &moved {
        surface.positions[*v as usize] = *p;
    }
    c.deform(1, sparse(&moved), false).await.expect("a dent");
}
