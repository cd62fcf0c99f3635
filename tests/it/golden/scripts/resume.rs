//! Resumed sessions: on a new stream beside the old one, and after the client's connection broke.

use palpate::proto::{ReportOptions, TrackMode, TrackStart};
use tokio::runtime::Runtime;

use super::{sparse, start, tick};
use crate::{
    golden::{
        conversation::{Conversation, Track},
        path::Path,
        tally::Tally,
    },
    support::server::TestServer,
};

pub const LEAST: Tally = Tally { answers: 60, contacts: 150, met: 15, refused: 6, ..Tally::NONE };
const TICKS: u64 = 8;

pub async fn play(c: &mut Conversation<'_>) {
    let surface = c.surface(1).await;
    let path = Path::over(&surface, 8, 3);
    let site = move |i: u64| path.pressed(i as f64 / (8 * TICKS) as f64, 3.0, 0.02);
    for mode in [TrackMode::Every, TrackMode::Latest] {
        let mut track = c.track(start(mode, ReportOptions::default())).await;
        let mut token = Vec::new();
        for i in 1..=TICKS {
            let tools = vec![site(i).pose(1, &c.stage.grip)];
            let answer = c.ask(&mut track, vec![tick(i, tools)]).await.expect("an answer");
            token = if token.is_empty() { answer.session_token } else { token };
        }
        let resuming = |token: &[u8]| {
            let resume_token = token.to_vec();
            TrackStart { resume_token, tool_ids: vec![], ..start(mode, ReportOptions::default()) }
        };
        let mut foreign = c.track(resuming(&[7; 16])).await;
        let tools = vec![site(1).pose(1, &c.stage.grip)];
        c.ask(&mut foreign, vec![tick(1, tools)]).await.expect_err("no such session");

        let at = site(TICKS + 1);
        let push = at.outward * (-0.01 * surface.length_m());
        let moved = surface.dented(at.surface, 0.1 * surface.length_m(), push);
        c.deform(1, sparse(&moved), false).await.expect("while there is no tick");
        let mut beside = c.track(resuming(&token)).await;
        for i in TICKS..=2 * TICKS {
            // The first tick repeats the last one, and is refused.
            let tools = vec![site(i).pose(1, &c.stage.grip)];
            c.ask(&mut beside, vec![tick(i, tools)]).await.expect("an answer");
        }
        let aborted = track.answers.message().await;
        c.transcript.note("Track", aborted.map(|m| m.expect("no end"))).expect_err("taken");

        let scene_id = c.scene_id.clone();
        let lost = TrackStart { scene_id, ..resuming(&token) };
        broken(c, lost, 2 * TICKS + 1, &site).await;
        let mut again = c.track(resuming(&token)).await;
        for i in 3 * TICKS..=4 * TICKS {
            let tools = vec![site(i + 2).pose(1, &c.stage.grip)];
            c.ask(&mut again, vec![tick(i, tools)]).await.expect("an answer");
        }
    }
}

/// Sends some ticks on a connection of its own, which breaks without a word.
async fn broken(
    c: &mut Conversation<'_>,
    start: TrackStart,
    first: u64,
    site: &impl Fn(u64) -> crate::golden::path::Site,
) {
    let ticks: Vec<_> =
        (first..first + 4).map(|i| tick(i, vec![site(i).pose(1, &c.stage.grip)])).collect();
    let address = c.server.address;
    let doomed = Runtime::new().expect("threads");
    let answered = doomed.spawn(async move {
        let mut server = TestServer::connect(address).await;
        let mut track = Track::open(&mut server, start).await;
        let mut answers = Vec::new();
        for tick in ticks {
            answers.push(track.ask(vec![tick]).await);
        }
        (answers, server, track)
    });
    let (answers, server, track) = answered.await.expect("no panic");
    // The tasks end at once, so that the stream's end is never sent.
    doomed.shutdown_background();
    drop((server, track));
    for answer in answers {
        c.transcript.note("Track", answer).expect("an answer");
    }
}
