use palpate::proto::{
    LinkTarget, Pose, QueryContactsRequest, QueryDistancesRequest, QueryDistancesResponse,
    ReportOptions, ToolPose, TrackMode, query_distances_request::Target,
};
use tonic::{Code, Status};

use crate::support::{
    messages::{SCENE, start, start_message, tick, tick_message, tool_at, vec3},
    refusal::assert_refused,
    server::TestServer,
};

const SLACK_M: f64 = 2e-8;

async fn distances(
    server: &mut TestServer,
    request: QueryDistancesRequest,
) -> Result<QueryDistancesResponse, Status> {
    Ok(server.haptics.query_distances(request).await?.into_inner())
}

fn to(target: Target, points: &[f64]) -> QueryDistancesRequest {
    QueryDistancesRequest {
        scene_id: SCENE.to_owned(),
        target: Some(target),
        points_xyz_m: points.to_vec(),
        max_distance_m: 0.0,
    }
}

#[tokio::test]
async fn points_outside_and_inside_a_tissue_are_measured() {
    let mut server = TestServer::furnished().await;
    let points = [0.25, 0.0, 0.0, 0.0, 0.0, 0.0];
    for target in [Target::TissueId(1), Target::AllTissues(true)] {
        let got = distances(&mut server, to(target, &points)).await.expect("good");
        // The centre is 0.1 / sqrt 3 from each face.
        for (i, expected) in [0.15, -0.1 / 3f64.sqrt()].into_iter().enumerate() {
            assert!((got.signed_distance_m[i] - expected).abs() <= SLACK_M, "{got:?}");
        }
        assert_eq!((got.is_lower_bound, got.tissue_ids), (vec![false, false], vec![1, 1]));
        assert_eq!(got.closest_xyz_m[..3], [0.1, 0.0, 0.0]);
        assert_eq!((got.barycentric_xyz.len(), got.normal_xyz.len()), (6, 6));
        assert_eq!((got.triangle_ids.len(), got.sign_certainty.len()), (2, 2));
        assert_eq!(got.tissues.len(), 1);
    }
}

#[tokio::test]
async fn beyond_the_distance_asked_for_a_bound_is_given() {
    let mut server = TestServer::furnished().await;
    let request = QueryDistancesRequest {
        max_distance_m: 0.01,
        ..to(Target::TissueId(1), &[0.25, 0.0, 0.0])
    };
    let got = distances(&mut server, request).await.expect("good");
    assert_eq!(got.is_lower_bound, [true]);
    assert!((0.01..=0.15 + SLACK_M).contains(&got.signed_distance_m[0]), "{got:?}");
    assert_eq!((got.closest_xyz_m, got.triangle_ids), (vec![0.0; 3], vec![0]));
}

#[tokio::test]
async fn a_link_is_measured_where_the_tool_is() {
    let mut server = TestServer::furnished().await;
    let link = |tool| Target::Link(LinkTarget { link: 0, tool: Some(tool) });
    let tool = tool_at(vec3(1.0, 0.0, 0.0));
    let got = distances(&mut server, to(link(tool.clone()), &[1.05, 0.0, 0.0])).await;
    let got = got.expect("good");
    assert!((got.signed_distance_m[0] - 0.04).abs() <= 1e-7, "{got:?}");
    assert_eq!(got.tissue_ids, [0]);
    let shifted = Pose { position_m: Some(vec3(0.0, 0.5, 0.0)), orientation: None };
    let shifted = ToolPose { link_poses: vec![shifted], ..tool };
    let got = distances(&mut server, to(link(shifted), &[1.05, 0.5, 0.0])).await.expect("good");
    assert!((got.signed_distance_m[0] - 0.04).abs() <= 1e-7, "{got:?}");
}

#[tokio::test]
async fn as_many_points_as_the_contract_says_are_measured() {
    let mut server = TestServer::furnished().await;
    let points = vec![0.05; 3 * 65_536];
    let got = distances(&mut server, to(Target::AllTissues(true), &points)).await.expect("good");
    assert_eq!(got.signed_distance_m.len(), 65_536);
    assert!(got.signed_distance_m.iter().all(|d| *d == got.signed_distance_m[0]));
    let none = distances(&mut server, to(Target::AllTissues(true), &[])).await.expect("no points");
    assert_eq!(none.signed_distance_m.len(), 0);
}

#[tokio::test]
async fn a_bad_distance_query_is_refused() {
    let mut server = TestServer::furnished().await;
    let bad = Code::InvalidArgument;
    let at = [0.2, 0.0, 0.0];
    let all = || to(Target::AllTissues(true), &at);
    let link = |link, tool| to(Target::Link(LinkTarget { link, tool }), &at);
    let tool = || tool_at(vec3(0.2, 0.0, 0.0));
    let poses = ToolPose { link_poses: vec![Pose::default(); 2], ..tool() };
    let scene = |id: &str| QueryDistancesRequest { scene_id: id.to_owned(), ..all() };
    let distance = |d| QueryDistancesRequest { max_distance_m: d, ..all() };
    let points = |p: &[f64]| to(Target::TissueId(1), p);
    let cases: Vec<(&str, QueryDistancesRequest, Code, &str)> = vec![
        ("scene id", scene(""), bad, "scene_id"),
        ("scene", scene("none"), Code::NotFound, "scene none"),
        ("no target", QueryDistancesRequest { target: None, ..all() }, bad, "target"),
        ("no tissues", to(Target::AllTissues(false), &at), bad, "all_tissues"),
        ("tissue", to(Target::TissueId(9), &at), Code::NotFound, "tissue 9"),
        ("no tool", link(0, None), bad, "link.tool"),
        ("no pose", link(0, Some(ToolPose::default())), bad, "link.tool.pose"),
        ("tool", link(0, Some(ToolPose { tool_id: 9, ..tool() })), Code::NotFound, "tool 9"),
        ("link", link(1, Some(tool())), bad, "link.link"),
        ("link poses", link(0, Some(poses)), bad, "link.tool.link_poses"),
        ("cut point", points(&at[1..]), bad, "points_xyz_m"),
        ("too many", points(&vec![0.0; 3 * 65_537]), bad, "points_xyz_m"),
        ("NaN", points(&[0.0, 0.0, f64::NAN]), bad, "points_xyz_m[2]"),
        ("far", points(&[0.0, 1.1e4, 0.0]), bad, "points_xyz_m[1]"),
        ("NaN distance", distance(f64::NAN), bad, "max_distance_m"),
        ("negative distance", distance(-1.0), bad, "max_distance_m"),
        ("infinite distance", distance(f64::INFINITY), bad, "max_distance_m"),
    ];
    for (case, request, code, about) in cases {
        assert_refused(distances(&mut server, request).await, code, about, case);
    }
}

#[tokio::test]
async fn one_off_contacts_are_what_a_tick_answers() {
    let mut server = TestServer::furnished().await;
    let sent = vec![start_message(start(TrackMode::Latest)), tick_message(tick(1, 0.105))];
    let ticked = server.track(sent).await.remove(0).expect("an answer");
    let request = QueryContactsRequest {
        scene_id: SCENE.to_owned(),
        tool: Some(tool_at(vec3(0.105, 0.0, 0.0))),
        report: None,
    };
    let got = server.haptics.query_contacts(request).await.expect("good").into_inner();
    assert_eq!((got.flags, got.links, got.probes), (ticked.flags, ticked.links, ticked.probes));
}

#[tokio::test]
async fn a_bad_contact_query_is_refused() {
    let mut server = TestServer::furnished().await;
    let good = QueryContactsRequest {
        scene_id: SCENE.to_owned(),
        tool: Some(tool_at(vec3(0.2, 0.0, 0.0))),
        report: None,
    };
    let with = |change: fn(&mut QueryContactsRequest)| {
        let mut request = good.clone();
        change(&mut request);
        request
    };
    let far = ReportOptions { max_distance_m: 11.0, ..Default::default() };
    let bad = Code::InvalidArgument;
    let cases: Vec<(&str, QueryContactsRequest, Code, &str)> = vec![
        ("scene", with(|r| r.scene_id = "none".to_owned()), Code::NotFound, "scene none"),
        ("no tool", with(|r| r.tool = None), bad, "tool"),
        ("no pose", with(|r| r.tool = Some(ToolPose::default())), bad, "tool.pose"),
        ("tool", with(|r| r.tool.as_mut().expect("there").tool_id = 9), Code::NotFound, "tool 9"),
        (
            "NaN",
            with(|r| r.tool = Some(tool_at(vec3(0.0, 0.0, f64::NAN)))),
            bad,
            "tool.pose.position_m.z",
        ),
        (
            "link poses",
            with(|r| r.tool.as_mut().expect("there").link_poses = vec![Pose::default(); 2]),
            bad,
            "tool.link_poses",
        ),
        (
            "distance",
            QueryContactsRequest { report: Some(far), ..good.clone() },
            bad,
            "report.max_distance_m",
        ),
    ];
    for (case, request, code, about) in cases {
        assert_refused(server.haptics.query_contacts(request).await, code, about, case);
    }
}
