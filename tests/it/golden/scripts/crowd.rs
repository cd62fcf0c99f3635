//! Several tissues and tools in one scene, which come and go under a stream.

use glam::DVec3;
use palpate::{
    oracle::shapes,
    proto::{
        DetectSelfCollisionsRequest, MeshBasis, QueryDistancesRequest, RemoveTissueRequest,
        RemoveToolRequest, ReportOptions, TissueInterval, TrackMode, TrackStart,
        query_distances_request::Target,
    },
};

use super::{dense, sparse, start, tick};
use crate::golden::{conversation::Conversation, path::Path, stage::Upload, tally::Tally};

pub const LEAST: Tally = Tally {
    answers: TICKS,
    contacts: 500,
    link_pairs: 500,
    feature_contacts: 100,
    refused: 1,
    ..Tally::NONE
};
const TICKS: u64 = 60;

pub async fn play(c: &mut Conversation<'_>) {
    let surface = c.surface(1).await;
    let length_m = surface.length_m();
    let mut mirrored = Upload::raw(&shapes::organ(1_500, 11));
    mirrored.header.basis = MeshBasis::LeftHanded.into();
    c.add_tissue("mirrored", &mirrored).await.expect("tissue 2");
    c.add_tissue("open", &Upload::raw(&shapes::sheet(30, 30, 0.005))).await.expect("tissue 3");
    c.add_tool("second").await.expect("tool 2");
    let path = Path::over(&surface, 12, 5);
    let report = ReportOptions {
        triangle_pairs: true,
        link_pairs: true,
        max_pairs: 1024,
        ..ReportOptions::default()
    };
    let both = TrackStart { tool_ids: vec![2, 1], ..start(TrackMode::Every, report) };
    let mut track = c.track(both).await;
    for i in 1..=TICKS {
        let t = i as f64 / TICKS as f64;
        let site = path.pressed(t, 3.0, 0.03);
        let mut other = path.site(t, 0.01 + 0.03 * t);
        other.roll += 0.2;
        if i % 10 == 0 {
            let away = DVec3::new(0.3, 0.4, 0.2) * length_m * t;
            let moved = surface.positions.iter().map(|p| *p + away * 0.05);
            c.deform(1, dense(moved.collect()), false).await.expect("a push");
        }
        if i == TICKS / 2 {
            let request = RemoveTissueRequest { scene_id: c.scene_id.clone(), tissue_id: 3 };
            let outcome = c.server.scenes.remove_tissue(request).await;
            c.noted("RemoveTissue", outcome).expect("it is there");
        }
        let tools = vec![site.pose(1, &c.stage.grip), other.pose(2, &c.stage.grip)];
        c.ask(&mut track, vec![tick(i, tools)]).await.expect("an answer");
    }
    let request = QueryDistancesRequest {
        scene_id: c.scene_id.clone(),
        points_xyz_m: (0..20)
            .flat_map(|i| (path.site(f64::from(i) / 20.0, 0.02).tip()).to_array())
            .collect(),
        max_distance_m: 0.0,
        target: Some(Target::AllTissues(true)),
    };
    let outcome = c.server.haptics.query_distances(request).await;
    c.noted("QueryDistances", outcome).expect("an answer");
    meet(c).await;
    let request = RemoveToolRequest { scene_id: c.scene_id.clone(), tool_id: 2 };
    let outcome = c.server.scenes.remove_tool(request).await;
    c.noted("RemoveTool", outcome).expect("it is there");
    let site = path.site(0.5, 0.0);
    let tools = vec![site.pose(1, &c.stage.grip), site.pose(2, &c.stage.grip)];
    let refused = c.ask(&mut track, vec![tick(TICKS + 1, tools)]).await.expect("an answer");
    assert!(refused.refusal.is_some());
}

/// Makes tissues 1 and 2 pass through each other.
async fn meet(c: &mut Conversation<'_>) {
    let surface = c.surface(2).await;
    let from = c.deform(2, sparse(&[]), true).await.expect("held").geometry_revision;
    let away = DVec3::new(0.11, 0.02, 0.01);
    let moved = surface.positions.iter().map(|p| *p + away).collect();
    let to = c.deform(2, dense(moved), true).await.expect("held").geometry_revision;
    let moving = TissueInterval {
        tissue_id: 2,
        from_geometry_revision: Some(from),
        to_geometry_revision: to,
    };
    let request = DetectSelfCollisionsRequest {
        scene_id: c.scene_id.clone(),
        tissues: vec![moving, TissueInterval { tissue_id: 1, ..TissueInterval::default() }],
        ..DetectSelfCollisionsRequest::default()
    };
    c.self_collisions(request).await;
}
