//! The haptic loop as a stream: start, continuation and end.

use palpate::proto::{
    DeleteSceneRequest, RemoveToolRequest, ReportOptions, TrackMode, TrackRequest, TrackStart,
};
use tonic::Code;

use crate::support::{
    messages::{SCENE, start, start_message, tick, tick_message},
    refusal::{assert_refused, refusal},
    server::TestServer,
};

fn reporting(report: ReportOptions) -> TrackRequest {
    start_message(TrackStart { report: Some(report), ..start(TrackMode::Latest) })
}

#[tokio::test]
async fn a_stream_that_does_not_start_well_ends() {
    let mut server = TestServer::furnished().await;
    let bad = Code::InvalidArgument;
    let with = |change: fn(&mut TrackStart)| {
        let mut start = start(TrackMode::Latest);
        change(&mut start);
        start_message(start)
    };
    let distance = |d| reporting(ReportOptions { max_distance_m: d, ..Default::default() });
    let margin = |m| reporting(ReportOptions { contact_margin_m: m, ..Default::default() });
    let many = ReportOptions { max_contacts: 1025, ..Default::default() };
    let pairs = ReportOptions { max_pairs: 1025, ..Default::default() };
    let cases: Vec<(&str, TrackRequest, Code, &str)> = vec![
        ("empty message", TrackRequest::default(), bad, "start"),
        ("a tick", tick_message(tick(1, 0.2)), bad, "start"),
        ("scene id", with(|s| s.scene_id = "?".to_owned()), bad, "start.scene_id"),
        ("scene", with(|s| s.scene_id = "none".to_owned()), Code::NotFound, "scene none"),
        ("no tools", with(|s| s.tool_ids.clear()), bad, "start.tool_ids"),
        ("unknown tool", with(|s| s.tool_ids[0] = 9), Code::NotFound, "tool 9"),
        ("tool twice", with(|s| s.tool_ids = vec![1, 1]), bad, "start.tool_ids[1]"),
        (
            "nine tools",
            with(|s| s.tool_ids = (1..10).collect()),
            Code::ResourceExhausted,
            "tools_per_stream",
        ),
        ("mode", with(|s| s.mode = 3), bad, "start.mode"),
        ("NaN distance", distance(f64::NAN), bad, "start.report.max_distance_m"),
        ("far distance", distance(10.5), bad, "start.report.max_distance_m"),
        ("negative margin", margin(-0.1), bad, "start.report.contact_margin_m"),
        ("wide margin", margin(0.06), bad, "start.report.contact_margin_m"),
        ("contacts", reporting(many), bad, "start.report.max_contacts"),
        ("pairs", reporting(pairs), bad, "start.report.max_pairs"),
    ];
    for (case, first, code, about) in cases {
        let mut answers = server.track(vec![first, tick_message(tick(1, 0.2))]).await;
        assert_eq!(answers.len(), 1, "{case}");
        assert_refused(answers.remove(0), code, about, case);
    }
}

#[tokio::test]
async fn a_malformed_stream_ends() {
    let mut server = TestServer::furnished().await;
    let first = start_message(start(TrackMode::Every));
    let empty = TrackRequest::default();
    for (case, second, about) in
        [("second start", first.clone(), "start"), ("empty", empty, "tick")]
    {
        let sent = vec![first.clone(), tick_message(tick(1, 0.2)), second];
        let mut answers = server.track(sent).await;
        assert_eq!(answers.len(), 2, "{case}");
        assert_refused(answers.remove(1), Code::InvalidArgument, about, case);
    }
}

#[tokio::test]
async fn a_stream_without_ticks_ends_well() {
    let mut server = TestServer::furnished().await;
    assert!(server.track(vec![]).await.is_empty());
    assert!(server.track(vec![start_message(start(TrackMode::Latest))]).await.is_empty());
}

#[tokio::test]
async fn every_tick_is_answered_in_order_when_asked_for() {
    let mut server = TestServer::furnished().await;
    let mut sent = vec![start_message(start(TrackMode::Every))];
    sent.extend((1..=300).map(|n| tick_message(tick(2 * n, 0.2))));
    let answers = server.track(sent).await;
    let sequences: Vec<_> = answers.iter().map(|a| a.as_ref().expect("good").sequence).collect();
    assert_eq!(sequences, (1..=300).map(|n| 2 * n).collect::<Vec<_>>());
    assert!(answers.iter().all(|a| a.as_ref().is_ok_and(|a| a.coalesced == 0)));
}

#[tokio::test]
async fn a_flood_is_answered_with_the_newest_and_all_are_counted() {
    let mut server = TestServer::furnished().await;
    let mut sent = vec![start_message(start(TrackMode::Latest))];
    sent.extend((1..=2000).map(|n| tick_message(tick(n, 0.2))));
    let answers = server.track(sent).await;
    let answers: Vec<_> = answers.into_iter().map(|a| a.expect("good")).collect();
    assert!(answers.is_sorted_by_key(|a| a.sequence));
    assert_eq!(answers.last().expect("the newest").sequence, 2000);
    let coalesced: u32 = answers.iter().map(|a| a.coalesced).sum();
    assert_eq!(coalesced as usize + answers.len(), 2000);
}

#[tokio::test]
async fn a_sequence_may_jump_to_the_end_of_its_range() {
    let mut server = TestServer::furnished().await;
    let mut stream = server.hand_fed(start_message(start(TrackMode::Latest))).await;
    for sequence in [0, 1 << 63, u64::MAX] {
        let answer = stream.ask(tick_message(tick(sequence, 0.2))).await.expect("an answer");
        assert_eq!((answer.sequence, answer.refusal), (sequence, None));
    }
    let wrapped = stream.ask(tick_message(tick(0, 0.2))).await.expect("an answer");
    assert_eq!(wrapped.refusal.expect("it went back").field, "sequence");
}

#[tokio::test]
async fn a_removed_tool_is_refused_and_the_stream_goes_on() {
    let mut server = TestServer::furnished().await;
    let mut stream = server.hand_fed(start_message(start(TrackMode::Latest))).await;
    stream.ask(tick_message(tick(1, 0.2))).await.expect("an answer");
    let remove = RemoveToolRequest { scene_id: SCENE.to_owned(), tool_id: 1 };
    server.scenes.remove_tool(remove).await.expect("it is there");
    for sequence in [2, 3] {
        let answer = stream.ask(tick_message(tick(sequence, 0.2))).await.expect("an answer");
        let refusal = answer.refusal.expect("the tool is gone");
        assert_eq!((answer.sequence, refusal.code), (sequence, Code::NotFound as u32));
        assert_eq!(refusal.field, "tools[0].tool_id");
    }
}

#[tokio::test]
async fn a_deleted_scene_ends_its_streams_and_no_others() {
    let mut server = TestServer::furnished().await;
    let mut stream = server.hand_fed(start_message(start(TrackMode::Latest))).await;
    stream.ask(tick_message(tick(1, 0.2))).await.expect("an answer");
    let delete = DeleteSceneRequest { scene_id: SCENE.to_owned() };
    server.scenes.delete_scene(delete).await.expect("it is there");
    // A new scene with an equal name is not the scene with which the stream started.
    server.create(SCENE).await.expect("the id is free");
    let ended = stream.ask(tick_message(tick(2, 0.2))).await.expect_err("it is gone");
    assert_eq!(refusal(&ended), (Code::NotFound, format!("scene {SCENE}")));
}
