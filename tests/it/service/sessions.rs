//! Sessions: stale ones are reported, and those whose stream broke off are resumed.

use std::{net::SocketAddr, time::Duration};

use palpate::{
    config::Config,
    proto::{
        Flag, LinkAnswer, Pose, RenderOptions, ToolPose, TrackMode, TrackRequest, TrackResponse,
        TrackStart,
    },
};
use tokio::time::timeout;
use tonic::Code;

use crate::support::{
    messages::{SCENE, start, start_message, tick, tick_message, tool_at, vec3},
    metrics::{get, value},
    refusal::{assert_refused, refusal},
    server::{HandFed, TestServer, free_address},
};

const SOON: Duration = Duration::from_secs(20);
/// Position x at which the link of most tests touches.
const TOUCHING_X: f64 = 0.105;

/// A furnished server, and its metrics address.
async fn with(change: impl FnOnce(&mut Config)) -> (TestServer, SocketAddr) {
    let mut config = Config::default();
    let metrics = free_address();
    config.metrics.listen = Some(metrics);
    change(&mut config);
    let mut server = TestServer::configured(config).await;
    server.create(SCENE).await.expect("a new scene");
    server.furnish().await;
    (server, metrics)
}

fn resuming(token: &[u8]) -> TrackRequest {
    let resume_token = token.to_vec();
    start_message(TrackStart { resume_token, tool_ids: vec![], ..start(TrackMode::Latest) })
}

async fn begun(server: &mut TestServer) -> (HandFed, TrackResponse) {
    let mut stream = server.hand_fed(start_message(start(TrackMode::Latest))).await;
    let answer = stream.ask(tick_message(tick(1, TOUCHING_X))).await.expect("an answer");
    (stream, answer)
}

fn ids(answer: &TrackResponse) -> Vec<u64> {
    answer.links[0].contacts.as_ref().expect("they touch").contact_ids.clone()
}

fn is_stale(answer: &TrackResponse) -> bool {
    answer.flags & 1 << Flag::SessionStale as u32 != 0
}

/// Waits until the server has noticed.
async fn until(metrics: SocketAddr, series: &str, expected: f64) {
    let counted = async { while value(&get(metrics, "/metrics").await.1, series) != expected {} };
    timeout(SOON, counted).await.unwrap_or_else(|_| panic!("{series} is never {expected}"));
}

#[tokio::test]
async fn a_stream_that_broke_off_goes_on_with_its_contacts() {
    let (mut server, metrics) = with(|_| ()).await;
    let (mut stream, first) = begun(&mut server).await;
    assert_eq!(first.session_token.len(), 16);
    let second = stream.ask(tick_message(tick(2, TOUCHING_X))).await.expect("an answer");
    assert!(second.session_token.is_empty(), "it is told once");
    // Dropped without an end, as when the client or the network dies.
    drop(stream);
    until(metrics, "palpate_sessions_waiting", 1.0).await;

    let mut again = server.hand_fed(resuming(&first.session_token)).await;
    let back = again.ask(tick_message(tick(2, TOUCHING_X))).await.expect("an answer");
    assert_eq!(back.refusal.expect("it went on from 2").field, "sequence");
    assert_eq!(back.session_token, first.session_token);
    let on = again.ask(tick_message(tick(3, TOUCHING_X))).await.expect("an answer");
    assert_eq!((on.refusal.as_ref(), ids(&on)), (None, ids(&first)));
    assert_ne!(on.flags & 1 << Flag::Swept as u32, 0, "the way since the last answer is covered");
    until(metrics, "palpate_sessions_resumed_total", 1.0).await;
    until(metrics, "palpate_sessions_waiting", 0.0).await;
}

#[tokio::test]
async fn a_session_is_taken_from_a_stream_that_hangs() {
    let (mut server, _) = with(|_| ()).await;
    let (mut old, first) = begun(&mut server).await;
    let mut new = server.hand_fed(resuming(&first.session_token)).await;
    let on = new.ask(tick_message(tick(2, TOUCHING_X))).await.expect("an answer");
    assert_eq!(ids(&on), ids(&first));
    let ended = timeout(SOON, old.answers.message()).await.expect("soon");
    assert_eq!(ended.expect_err("taken").code(), Code::Aborted);
    drop(old);
    new.ask(tick_message(tick(3, TOUCHING_X))).await.expect("the old stream's end changes nothing");
}

#[tokio::test]
async fn only_the_own_session_is_resumed() {
    let (mut server, metrics) = with(|_| ()).await;
    server.create("other").await.expect("a new scene");
    let (stream, first) = begun(&mut server).await;
    drop(stream);
    until(metrics, "palpate_sessions_waiting", 1.0).await;
    let token = &first.session_token;
    let with = |change: fn(&mut TrackStart)| {
        let mut sent = TrackStart { resume_token: token.clone(), ..start(TrackMode::Latest) };
        change(&mut sent);
        start_message(sent)
    };
    let (unknown, bad) = (Code::NotFound, Code::InvalidArgument);
    let cases = [
        ("other token", resuming(&[7; 16]), unknown, "session "),
        ("short token", resuming(&token[1..]), unknown, "session "),
        ("other scene", with(|s| s.scene_id = "other".to_owned()), unknown, "session "),
        ("no scene", with(|s| s.scene_id = "none".to_owned()), unknown, "scene none"),
        ("other tools", with(|s| s.tool_ids = vec![1, 2]), bad, "start.tool_ids"),
    ];
    for (case, first, code, about) in cases {
        let mut answers = server.track(vec![first]).await;
        assert_refused(answers.remove(0), code, about, case);
    }
    // None of these has ended the session; this stream ends in order.
    let sent = vec![resuming(token), tick_message(tick(2, TOUCHING_X))];
    server.track(sent).await.remove(0).expect("an answer");
    let mut over = server.track(vec![resuming(token)]).await;
    assert_refused(over.remove(0), unknown, "session ", "it ended");
}

#[tokio::test]
async fn a_session_is_given_up_after_its_grace() {
    let (mut server, metrics) = with(|c| c.sessions.grace = Duration::from_millis(5)).await;
    let (stream, first) = begun(&mut server).await;
    drop(stream);
    until(metrics, "palpate_sessions_expired_total", 1.0).await;
    until(metrics, "palpate_streams", 0.0).await;
    let mut gone = server.track(vec![resuming(&first.session_token)]).await;
    assert_refused(gone.remove(0), Code::NotFound, "session ", "after the grace");

    let (mut server, _) = with(|c| c.sessions.grace = Duration::ZERO).await;
    assert!(begun(&mut server).await.1.session_token.is_empty(), "nothing is kept");
}

#[tokio::test]
async fn sessions_are_limited_and_waiting_ones_make_room() {
    let (mut server, metrics) = with(|c| c.sessions.count_max = 1).await;
    let (stream, _) = begun(&mut server).await;
    let mut second = server.track(vec![start_message(start(TrackMode::Latest))]).await;
    let refused = second.remove(0).expect_err("one is there");
    assert_eq!(refusal(&refused), (Code::ResourceExhausted, "sessions".to_owned()));
    drop(stream);
    until(metrics, "palpate_sessions_waiting", 1.0).await;
    begun(&mut server).await;
}

#[tokio::test]
async fn a_stale_session_says_so_and_goes_on() {
    // Longer than a busy machine takes for the first tick.
    let (mut server, metrics) = with(|c| c.sessions.stale_after = Duration::from_millis(300)).await;
    let first = TrackStart { notify_stale: true, ..start(TrackMode::Latest) };
    let mut stream = server.hand_fed(start_message(first)).await;
    let answer = stream.ask(tick_message(tick(5, TOUCHING_X))).await.expect("an answer");
    let before = ids(&answer);
    let notice = timeout(SOON, stream.answers.message()).await.expect("soon").expect("good");
    let notice = notice.expect("a notice");
    assert!(notice.is_notice && is_stale(&notice), "{notice:?}");
    assert_eq!((notice.sequence, notice.links.len()), (5, 0));
    until(metrics, "palpate_sessions_stale", 1.0).await;
    let answer = stream.ask(tick_message(tick(6, TOUCHING_X))).await.expect("an answer");
    assert!(!answer.is_notice && is_stale(&answer), "{answer:?}");
    assert_eq!(ids(&answer), before);
}

#[tokio::test]
async fn a_session_in_time_is_not_stale_and_nobody_is_told_unasked() {
    let (mut server, metrics) = with(|c| c.sessions.stale_after = Duration::from_secs(3600)).await;
    let (mut stream, first) = begun(&mut server).await;
    let second = stream.ask(tick_message(tick(2, TOUCHING_X))).await.expect("an answer");
    assert!(!is_stale(&first) && !is_stale(&second));
    until(metrics, "palpate_sessions_stale", 0.0).await;
    drop(server);
    let (mut server, metrics) = with(|c| c.sessions.stale_after = Duration::from_millis(1)).await;
    let (mut stream, _) = begun(&mut server).await;
    until(metrics, "palpate_sessions_stale", 1.0).await;
    let next = stream.ask(tick_message(tick(2, TOUCHING_X))).await.expect("an answer");
    assert!(!next.is_notice && next.sequence == 2, "{next:?}");
}

/// Returns the links of a tick at x = -0.2 after a path from x = 0.2 through the tissue.
async fn passed(server: &mut TestServer, start: TrackStart, is_first: bool) -> Vec<LinkAnswer> {
    let mut stream = server.hand_fed(start_message(start)).await;
    if is_first {
        let from = stream.ask(tick_message(tick(6, 0.2))).await.expect("an answer");
        assert_eq!(from.links[0].contacts, None);
    }
    stream.ask(tick_message(tick(7, -0.2))).await.expect("an answer").links
}

#[tokio::test]
async fn a_loop_without_its_session_is_swept_from_where_it_was() {
    let (mut server, _) = with(|_| ()).await;
    let usual = start(TrackMode::Every);
    let of_one_session = passed(&mut server, usual.clone(), true).await;
    let contacts = of_one_session[0].contacts.as_ref().expect("on the way");
    assert!(!contacts.contact_ids.is_empty(), "{contacts:?}");
    let anew = passed(&mut server, usual.clone(), false).await;
    assert_eq!(anew[0].contacts, None);
    let last_poses = vec![tool_at(vec3(0.2, 0.0, 0.0))];
    let goes_on = TrackStart { last_poses: last_poses.clone(), ..usual };
    assert_eq!(passed(&mut server, goes_on.clone(), false).await, of_one_session);
    // A link that cuts is at the device, wherever the proxy is.
    let last_proxies = vec![tool_at(vec3(0.3, 0.3, 0.3))];
    let render = RenderOptions { tool_id: 1, cutting_links: vec![0], ..Default::default() };
    let cuts = TrackStart { render: vec![render], last_proxies, ..goes_on };
    let [cut] = &passed(&mut server, cuts, false).await[..] else { panic!("one link") };
    let cut = cut.contacts.as_ref().expect("on the way");
    // Its pose was computed by way of the proxy's, which rounds.
    assert_eq!((&cut.triangle_ids, &cut.toi), (&contacts.triangle_ids, &contacts.toi));
}

#[tokio::test]
async fn where_a_loop_was_is_checked() {
    let (mut server, _) = with(|_| ()).await;
    let render = vec![RenderOptions { tool_id: 1, ..Default::default() }];
    let here = || tool_at(vec3(0.2, 0.0, 0.0));
    let other = || ToolPose { tool_id: 2, ..here() };
    let bent = || ToolPose { link_poses: vec![Pose::default(); 2], ..here() };
    let far = || tool_at(vec3(f64::NAN, 0.0, 0.0));
    let cases = [
        ("unknown", vec![other()], vec![], "start.last_poses[0].tool_id"),
        ("twice", vec![here(), here()], vec![], "start.last_poses[1].tool_id"),
        ("no number", vec![far()], vec![], "start.last_poses[0].pose.position_m.x"),
        ("links", vec![bent()], vec![], "start.last_poses[0].link_poses"),
        ("proxy alone", vec![], vec![here()], "start.last_proxies"),
        ("proxy of another", vec![here()], vec![other()], "start.last_proxies[0].tool_id"),
        ("proxy twice", vec![here()], vec![here(), here()], "start.last_proxies[1].tool_id"),
        ("proxy's links", vec![here()], vec![bent()], "start.last_proxies[0].link_poses"),
    ];
    for (case, last_poses, last_proxies, field) in cases {
        let render = render.clone();
        let start = TrackStart { last_poses, last_proxies, render, ..start(TrackMode::Latest) };
        let mut answers = server.track(vec![start_message(start)]).await;
        assert_refused(answers.remove(0), Code::InvalidArgument, field, case);
    }
}
