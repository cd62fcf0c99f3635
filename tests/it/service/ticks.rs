//! Answers and refusals of single ticks; `track_streams` tests the loop as a stream.

use palpate::proto::{
    Flag, Pose, Refusal, ReportOptions, Tick, ToolPose, TrackMode, TrackResponse, TrackStart,
    UnsweptReason, Vec3,
};
use tonic::Code;

use crate::support::{
    messages::{dense, start, start_message, tick, tick_message, tool_at, turned, vec3},
    server::{TestServer, tissue},
};

/// Rounding of stored f32 coordinates of a tenth of a metre, with a margin.
const F32_SLACK_M: f64 = 2e-8;

async fn answer_to(server: &mut TestServer, start: TrackStart, tick: Tick) -> TrackResponse {
    let mut answers = server.track(vec![start_message(start), tick_message(tick)]).await;
    assert_eq!(answers.len(), 1);
    answers.remove(0).expect("an answer")
}

fn near(got: Option<Vec3>, [x, y, z]: [f64; 3]) {
    let got = got.expect("a point");
    let off = [got.x - x, got.y - y, got.z - z].map(f64::abs);
    assert!(off.iter().all(|d| *d <= F32_SLACK_M), "{got:?} is not [{x}, {y}, {z}]");
}

#[tokio::test]
async fn an_answer_has_distance_and_probe_without_contact() {
    let mut server = TestServer::furnished().await;
    let got = answer_to(&mut server, start(TrackMode::Latest), tick(5, 0.13)).await;
    assert_eq!((got.sequence, got.coalesced, got.client_time_ns, got.refusal), (5, 0, -7, None));
    assert!(got.compute_us > 0.0);
    assert_eq!(got.tissues.len(), 1);
    let seen = &got.tissues[0];
    assert_eq!((seen.tissue_id, seen.geometry_revision, seen.topology_revision), (1, 0, 0));
    // Vertex against vertex: 0.13 less both radii.
    let [link] = &got.links[..] else { panic!("one link") };
    assert!((link.signed_distance_m - 0.02).abs() <= F32_SLACK_M, "{link:?}");
    assert_eq!((link.tool_id, link.link, link.tissue_id, link.is_lower_bound), (1, 0, 1, false));
    near(link.on_tissue.and_then(|p| p.position_m), [0.1, 0.0, 0.0]);
    near(link.on_tool.and_then(|p| p.position_m), [0.12, 0.0, 0.0]);
    assert_eq!(link.contacts, None);
    // The probe sits on the link's nearest vertex and has a radius of a millimetre.
    let [probe] = &got.probes[..] else { panic!("one probe") };
    assert!((probe.signed_distance_m - 0.019).abs() <= F32_SLACK_M, "{probe:?}");
    near(probe.on_tissue.and_then(|p| p.position_m), [0.1, 0.0, 0.0]);
}

#[tokio::test]
async fn stages_come_on_request_and_make_up_the_tick() {
    let mut server = TestServer::furnished().await;
    let plain = answer_to(&mut server, start(TrackMode::Latest), tick(1, 0.105)).await;
    assert_eq!(plain.stages, None);
    let report = ReportOptions { report_stages: true, ..Default::default() };
    let asked = TrackStart { report: Some(report), ..start(TrackMode::Every) };
    let messages = vec![start_message(asked), tick_message(tick(1, 0.105))];
    // A refused tick went through no stage.
    let refused = Tick { tools: vec![], ..tick(2, 0.105) };
    let messages = [messages, vec![tick_message(refused)]].concat();
    let answers = server.track(messages).await;
    let answers: Vec<_> = answers.into_iter().map(|answer| answer.expect("an answer")).collect();
    let stages = answers[0].stages.expect("asked for");
    assert_eq!(stages.engine_us, answers[0].compute_us);
    assert!(stages.wait_us > 0.0 && stages.engine_us > 0.0 && stages.convert_us > 0.0);
    let refused = answers.last().expect("an answer");
    assert!(refused.refusal.is_some() && refused.stages.is_none(), "{refused:?}");
}

#[tokio::test]
async fn a_contact_comes_as_parallel_arrays() {
    let mut server = TestServer::furnished().await;
    let got = answer_to(&mut server, start(TrackMode::Latest), tick(1, 0.105)).await;
    let link = &got.links[0];
    assert!(link.signed_distance_m < 0.0, "{link:?}");
    let contacts = link.contacts.as_ref().expect("they touch");
    let n = contacts.tissue_ids.len();
    assert!(n > 0 && n <= contacts.total as usize);
    assert_eq!((contacts.triangle_ids.len(), contacts.link_triangle_ids.len()), (n, n));
    assert_eq!((contacts.barycentric_xyz.len(), contacts.normal_xyz.len()), (3 * n, 3 * n));
    assert_eq!((contacts.on_tissue_xyz_m.len(), contacts.on_tool_xyz_m.len()), (3 * n, 3 * n));
    assert!(contacts.signed_distance_m.is_sorted(), "deepest first");
    let one = ReportOptions { max_contacts: 1, ..Default::default() };
    let one = TrackStart { report: Some(one), ..start(TrackMode::Latest) };
    let cut = answer_to(&mut server, one, tick(1, 0.105)).await;
    let given = cut.links[0].contacts.as_ref().expect("they touch");
    assert_eq!((given.tissue_ids.len(), given.total), (1, contacts.total));
    assert_eq!(cut.flags & 1 << Flag::Truncated as u32 != 0, contacts.total > 1);
}

#[tokio::test]
async fn triangle_pairs_come_on_request_with_their_segments() {
    let mut server = TestServer::furnished().await;
    let plain = answer_to(&mut server, start(TrackMode::Latest), tick(1, 0.105)).await;
    assert_eq!((&plain.links[0].pairs, &plain.link_pairs), (&None, &vec![]));
    let report = ReportOptions { triangle_pairs: true, link_pairs: true, ..Default::default() };
    let asked = TrackStart { report: Some(report), ..start(TrackMode::Latest) };
    let got = answer_to(&mut server, asked, tick(1, 0.105)).await;
    let pairs = got.links[0].pairs.as_ref().expect("asked for");
    let n = pairs.triangle_ids.len();
    assert!(n > 0 && n == pairs.total as usize, "{pairs:?}");
    assert_eq!((pairs.tissue_ids.len(), pairs.link_triangle_ids.len()), (n, n));
    assert_eq!((pairs.segment_xyz_m.len(), pairs.coplanar.len()), (6 * n, n));
    assert_eq!(pairs.triangle_barycentric_xyz.len(), 6 * n);
    assert_eq!(pairs.link_triangle_barycentric_xyz.len(), 6 * n);
    // Both surfaces are octahedra: |x| + |y| + |z| is a radius from either middle.
    for end in pairs.segment_xyz_m.chunks_exact(3) {
        let [x, y, z] = [0, 1, 2].map(|k| f64::from(end[k]));
        assert!((x.abs() + y.abs() + z.abs() - 0.1).abs() <= 3.0 * F32_SLACK_M, "{end:?}");
        let from_tool = (x - 0.105).abs() + y.abs() + z.abs();
        assert!((from_tool - 0.01).abs() <= 3.0 * F32_SLACK_M, "{end:?}");
    }
    let few = ReportOptions { max_pairs: 1, ..report };
    let few = TrackStart { report: Some(few), ..start(TrackMode::Latest) };
    let cut = answer_to(&mut server, few, tick(1, 0.105)).await;
    let given = cut.links[0].pairs.as_ref().expect("asked for");
    assert_eq!((given.triangle_ids.len(), given.total), (1, pairs.total));
    assert!(cut.flags & 1 << Flag::Truncated as u32 != 0);
}

#[tokio::test]
async fn what_is_left_out_is_not_answered() {
    let mut server = TestServer::furnished().await;
    let report = ReportOptions { omit_contacts: true, omit_probes: true, ..Default::default() };
    let start = TrackStart { report: Some(report), ..start(TrackMode::Latest) };
    let got = answer_to(&mut server, start, tick(1, 0.105)).await;
    assert_eq!((got.links.len(), got.probes.len()), (1, 0));
    assert_eq!(got.links[0].contacts, None);
}

#[tokio::test]
async fn far_away_a_bound_is_answered() {
    let mut server = TestServer::furnished().await;
    let got = answer_to(&mut server, start(TrackMode::Latest), tick(1, 1000.0)).await;
    let link = &got.links[0];
    assert!(link.is_lower_bound && link.signed_distance_m >= 0.05, "{link:?}");
    assert!(link.signed_distance_m <= 999.89 + 1e-6, "{link:?}");
    assert_eq!((link.on_tissue, link.on_tool, link.normal), (None, None, None));
}

#[tokio::test]
async fn a_deadline_leaves_the_bounds_of_a_distance() {
    let mut server = TestServer::furnished().await;
    let hurried = Tick { deadline_us: 1, ..tick(1, 0.13) };
    let got = answer_to(&mut server, start(TrackMode::Every), hurried).await;
    let link = &got.links[0];
    let bound = link.lower_bound_m.expect("a link that is cut short has a bound");
    assert!(link.is_cut_short && got.flags & 1 << Flag::Degraded as u32 != 0, "{got:?}");
    assert!(bound <= 0.02 + F32_SLACK_M, "{link:?}");
    assert!(link.is_lower_bound || link.signed_distance_m >= 0.02 - F32_SLACK_M, "{link:?}");
    assert_eq!(got.unswept_reason(), UnsweptReason::FirstTick);
}

#[tokio::test]
async fn a_tick_sees_the_deformation_that_was_answered() {
    let mut server = TestServer::furnished().await;
    let smaller: Vec<f32> = tissue().positions.iter().map(|x| x * 0.5).collect();
    server.deform(vec![dense(1, &smaller)]).await.remove(0).expect("good");
    let got = answer_to(&mut server, start(TrackMode::Latest), tick(1, 0.08)).await;
    assert_eq!(got.tissues[0].geometry_revision, 1);
    assert!((got.links[0].signed_distance_m - 0.02).abs() <= F32_SLACK_M);
}

#[tokio::test]
async fn a_rotation_and_its_negative_are_one() {
    let mut server = TestServer::furnished().await;
    let q = [0.5, -0.5, 0.5, 0.5];
    let start = || start(TrackMode::Every);
    let plus = answer_to(&mut server, start(), turned(1, q)).await;
    let minus = answer_to(&mut server, start(), turned(1, q.map(|x| -x))).await;
    assert_eq!((plus.links, plus.probes), (minus.links, minus.probes));
    let nearly_unit = answer_to(&mut server, start(), turned(1, [0.0, 0.0, 0.0, 1.0005])).await;
    assert_eq!(nearly_unit.refusal, None);
}

#[tokio::test]
async fn a_bad_tick_is_refused_with_its_field_and_the_stream_goes_on() {
    let mut server = TestServer::furnished().await;
    let posed = |tool: ToolPose| Tick { tools: vec![tool], ..tick(2, 0.0) };
    let at = |x, y, z| posed(tool_at(vec3(x, y, z)));
    let two_link_poses =
        ToolPose { link_poses: vec![Pose::default(); 2], ..tool_at(vec3(0.2, 0.0, 0.0)) };
    let orientation = "tools[0].pose.orientation";
    let cases: Vec<(&str, Tick, &str)> = vec![
        ("NaN", at(f64::NAN, 0.0, 0.0), "tools[0].pose.position_m.x"),
        ("infinite", at(0.0, f64::NEG_INFINITY, 0.0), "tools[0].pose.position_m.y"),
        ("beyond the world", at(0.0, 0.0, 1.1e4), "tools[0].pose.position_m.z"),
        ("zero", turned(2, [0.0; 4]), orientation),
        ("norm 0.5", turned(2, [0.5, 0.0, 0.0, 0.0]), orientation),
        ("norm 2", turned(2, [0.0, 2.0, 0.0, 0.0]), orientation),
        ("norm 1e-30", turned(2, [0.0, 0.0, 0.0, 1e-30]), orientation),
        ("NaN rotation", turned(2, [0.0, 0.0, f64::NAN, 1.0]), orientation),
        ("no pose", posed(ToolPose { tool_id: 1, ..Default::default() }), "tools[0].pose"),
        ("repeated", tick(1, 0.2), "sequence"),
        ("backwards", tick(0, 0.2), "sequence"),
        ("empty", Tick::default(), "sequence"),
        ("no tools", Tick { tools: vec![], ..tick(2, 0.0) }, "tools"),
        (
            "unknown tool",
            posed(ToolPose { tool_id: 9, ..tool_at(vec3(0.2, 0.0, 0.0)) }),
            "tools[0].tool_id",
        ),
        (
            "posed twice",
            Tick { tools: vec![tool_at(vec3(0.2, 0.0, 0.0)); 2], ..tick(2, 0.0) },
            "tools[1].tool_id",
        ),
        ("link poses", posed(two_link_poses), "tools[0].link_poses"),
    ];
    let first = start_message(start(TrackMode::Every));
    for (case, bad, field) in cases {
        let mut stream = server.hand_fed(first.clone()).await;
        let good = stream.ask(tick_message(tick(1, 0.13))).await.expect(case);
        let sequence = bad.sequence;
        let answer = stream.ask(tick_message(bad)).await.expect(case);
        let Refusal { code, field: at, message } = answer.refusal.expect(case);
        assert_eq!((code, at.as_str()), (Code::InvalidArgument as u32, field), "{case}: {message}");
        assert_eq!((answer.sequence, answer.links.len()), (sequence, 0), "{case}");
        let after = stream.ask(tick_message(tick(2, 0.13))).await.expect(case);
        assert_eq!((after.refusal, after.links), (None, good.links), "{case}");
    }
}
