//! Bad requests and the exact words of their refusals.

use palpate::proto::{
    CreateSceneRequest, DeformRequest, DetectSelfCollisionsRequest, EditTopologyRequest,
    ExportTissueRequest, GetSceneRequest, Quaternion, QueryContactsRequest, QueryDistancesRequest,
    RemoveTissueRequest, RemoveToolRequest, ReportOptions, TissueInterval, ToolPose, TrackMode,
    TrackStart, deform_request::Positions, query_distances_request::Target,
};

use super::{dense, sparse, start, tick};
use crate::golden::{conversation::Conversation, path::Path, stage::Upload, tally::Tally};

pub const LEAST: Tally = Tally { refused: 50, ..Tally::NONE };

pub async fn play(c: &mut Conversation<'_>) {
    let surface = c.surface(1).await;
    let good = Path::over(&surface, 13, 2).site(0.0, 0.05).pose(1, &c.stage.grip);
    scenes(c).await;
    uploads(c).await;
    deformations(c).await;
    cuts(c).await;
    queries(c, &good).await;
    starts(c, &good).await;
    ticks(c, &good).await;
    c.surface(1).await;
}

async fn scenes(c: &mut Conversation<'_>) {
    for id in [c.scene_id.clone(), String::new(), "No Good".to_owned(), "x".repeat(65)] {
        let outcome =
            c.server.scenes.create_scene(CreateSceneRequest { scene_id: id, durable: None }).await;
        c.noted("CreateScene", outcome).expect_err("refused");
    }
    let request = GetSceneRequest { scene_id: "none".to_owned() };
    let outcome = c.server.scenes.get_scene(request).await;
    c.noted("GetScene", outcome).expect_err("refused");
    let scene_id = c.scene_id.clone();
    let request = RemoveTissueRequest { scene_id: scene_id.clone(), tissue_id: 9 };
    let outcome = c.server.scenes.remove_tissue(request).await;
    c.noted("RemoveTissue", outcome).expect_err("refused");
    let request = RemoveToolRequest { scene_id: scene_id.clone(), tool_id: 9 };
    let outcome = c.server.scenes.remove_tool(request).await;
    c.noted("RemoveTool", outcome).expect_err("refused");
    let request = ExportTissueRequest { scene_id, tissue_id: 9 };
    let outcome = c.server.scenes.export_tissue(request).await;
    let refused = outcome.map(|_| tonic::Response::new(Default::default()));
    c.noted::<palpate::proto::ExportTissueResponse>("ExportTissue", refused).expect_err("refused");
}

async fn uploads(c: &mut Conversation<'_>) {
    let good = c.stage.tissue.clone();
    let with = |change: fn(&mut Upload)| {
        let mut upload = good.clone();
        change(&mut upload);
        upload
    };
    let cases = [
        ("tissue", good.clone()),
        ("", good.clone()),
        ("no-source", with(|u| u.header.source = None)),
        ("scale", with(|u| u.header.scale_to_m = -1.0)),
        ("short", with(|u| u.chunks[0].triangles.truncate(30))),
        ("long", with(|u| u.chunks.push(u.chunks[0].clone()))),
        ("nan", with(|u| u.chunks[0].positions[4] = f32::NAN)),
        ("index", with(|u| u.chunks[0].triangles[5] = u32::MAX)),
    ];
    for (name, upload) in cases {
        c.add_tissue(name, &upload).await.expect_err(name);
    }
    c.add_tool("tool").await.expect_err("the name is taken");
}

async fn deformations(c: &mut Conversation<'_>) {
    let at = glam::DVec3::ZERO;
    let cases: [(u32, Positions); 5] = [
        (9, sparse(&[(0, at)])),
        (1, sparse(&[(u32::MAX, at)])),
        (1, sparse(&[(3, at), (3, at)])),
        (1, sparse(&[(3, at * f64::NAN)])),
        (1, dense(vec![at])),
    ];
    for (tissue_id, positions) in cases {
        c.deform(tissue_id, positions, false).await.expect_err("refused");
    }
    let scene_id = c.scene_id.clone();
    let empty = DeformRequest { scene_id, tissue_id: 1, sequence: 99, ..DeformRequest::default() };
    c.send_deform(empty).await.expect_err("no positions");
}

async fn cuts(c: &mut Conversation<'_>) {
    let scene_id = c.scene_id.clone();
    let of = |tissue_id: u32| EditTopologyRequest {
        scene_id: scene_id.clone(),
        tissue_id,
        ..EditTopologyRequest::default()
    };
    let cases = [
        EditTopologyRequest { removed_triangles: vec![1], ..of(9) },
        EditTopologyRequest { base_topology_revision: Some(5), ..of(1) },
        EditTopologyRequest { removed_triangles: vec![1, 1], ..of(1) },
        EditTopologyRequest { removed_triangles: vec![u32::MAX], ..of(1) },
        EditTopologyRequest { added_triangles: vec![0, 1], ..of(1) },
        EditTopologyRequest { added_triangles: vec![0, 1, u32::MAX], ..of(1) },
        EditTopologyRequest { added_positions_m: vec![f32::INFINITY, 0.0, 0.0], ..of(1) },
        EditTopologyRequest { added_triangle_parents: vec![3], ..of(1) },
    ];
    for request in cases {
        c.edit(request).await.expect_err("refused");
    }
}

async fn queries(c: &mut Conversation<'_>, good: &ToolPose) {
    let scene_id = c.scene_id.clone();
    let points = |target, points: &[f64], max_distance_m| QueryDistancesRequest {
        scene_id: scene_id.clone(),
        points_xyz_m: points.to_vec(),
        max_distance_m,
        target,
    };
    for request in [
        points(None, &[0.0; 3], 0.0),
        points(Some(Target::TissueId(9)), &[0.0; 3], 0.0),
        points(Some(Target::TissueId(1)), &[0.0; 4], 0.0),
        points(Some(Target::TissueId(1)), &[f64::NAN; 3], 0.0),
        points(Some(Target::TissueId(1)), &[0.0; 3], -1.0),
    ] {
        let outcome = c.server.haptics.query_distances(request).await;
        c.noted("QueryDistances", outcome).expect_err("refused");
    }
    let far = ReportOptions { max_distance_m: 11.0, ..ReportOptions::default() };
    for (tool, report) in [(None, None), (Some(good.clone()), Some(far))] {
        let request = QueryContactsRequest { scene_id: scene_id.clone(), tool, report };
        let outcome = c.server.haptics.query_contacts(request).await;
        c.noted("QueryContacts", outcome).expect_err("refused");
    }
    let of = |from_geometry_revision, to_geometry_revision| TissueInterval {
        tissue_id: 1,
        from_geometry_revision,
        to_geometry_revision,
    };
    for tissues in [vec![], vec![of(Some(7), 8)], vec![of(None, 0), of(None, 0)]] {
        let scene_id = scene_id.clone();
        let request = DetectSelfCollisionsRequest { scene_id, tissues, ..Default::default() };
        c.self_collisions(request).await;
    }
}

async fn starts(c: &mut Conversation<'_>, good: &ToolPose) {
    let usual = || start(TrackMode::Every, ReportOptions::default());
    let margin = ReportOptions { contact_margin_m: 1.0, ..ReportOptions::default() };
    let cases = [
        TrackStart { tool_ids: vec![], ..usual() },
        TrackStart { tool_ids: vec![1, 1], ..usual() },
        TrackStart { tool_ids: vec![9], ..usual() },
        TrackStart { mode: 17, ..usual() },
        TrackStart { report: Some(margin), ..usual() },
    ];
    for refused in cases {
        let mut track = c.track(refused).await;
        c.ask(&mut track, vec![tick(1, vec![good.clone()])]).await.expect_err("refused");
    }
}

async fn ticks(c: &mut Conversation<'_>, good: &ToolPose) {
    let mut track = c.track(start(TrackMode::Every, ReportOptions::default())).await;
    let with = |change: fn(&mut ToolPose)| {
        let mut pose = good.clone();
        change(&mut pose);
        vec![pose]
    };
    let zero = Quaternion::default();
    let turned = |q: Quaternion| {
        let mut pose = good.clone();
        pose.pose.as_mut().expect("it has one").orientation = Some(q);
        vec![pose]
    };
    let cases = [
        (5, with(|_| ())),
        (5, with(|_| ())),
        (4, with(|_| ())),
        (6, vec![]),
        (6, with(|p| p.tool_id = 9)),
        (6, [with(|_| ()), with(|_| ())].concat()),
        (6, with(|p| p.pose = None)),
        (6, with(|p| p.link_poses.truncate(2))),
        (6, turned(zero)),
        (6, turned(Quaternion { w: 1.01, ..zero })),
        (6, turned(Quaternion { w: f64::NAN, ..zero })),
        (6, turned(Quaternion { w: -1.0005, ..zero })),
        (7, with(|_| ())),
    ];
    for (sequence, tools) in cases {
        c.ask(&mut track, vec![tick(sequence, tools)]).await.expect("the stream goes on");
    }
}
