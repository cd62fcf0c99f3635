//! Distances of points to tissue, to all tissues and to links, and contacts of posed tools, without a stream.

use glam::DVec3;
use palpate::{
    oracle::Random,
    proto::{
        LinkTarget, QueryContactsRequest, QueryDistancesRequest, ReportOptions,
        query_distances_request::Target,
    },
};

use super::sparse;
use crate::golden::{conversation::Conversation, path::Path, tally::Tally};

pub const LEAST: Tally =
    Tally { answers: 40, contacts: 30, pairs: 150, inside: 250, ..Tally::NONE };

pub async fn play(c: &mut Conversation<'_>) {
    let surface = c.surface(1).await;
    let path = Path::over(&surface, 9, 6);
    let (min, max) = surface.bounds();
    let mut random = Random::new(9);
    let about = |random: &mut Random, n: usize| -> Vec<DVec3> {
        (0..n).map(|_| random.point(min * 1.1 - max * 0.1, max * 1.1 - min * 0.1)).collect()
    };
    for (n, max_distance_m) in [(8, 0.0), (700, 0.0), (200, 0.002)] {
        let points = about(&mut random, n);
        distances(c, Target::TissueId(1), &points, max_distance_m).await;
        distances(c, Target::AllTissues(true), &points, max_distance_m).await;
    }
    for i in 0..8 {
        let site = path.pressed(f64::from(i) / 8.0, 1.5, 0.03);
        let tool = site.pose(1, &c.stage.grip);
        for link in 0..c.stage.links.len() as u32 {
            let spread = DVec3::splat(0.05);
            let points: Vec<_> =
                (0..300).map(|_| site.tip() + random.point(-spread, spread)).collect();
            let target = Target::Link(LinkTarget { link, tool: Some(tool.clone()) });
            distances(c, target, &points, if i % 2 == 0 { 0.0 } else { 0.01 }).await;
        }
        let report = ReportOptions {
            max_contacts: 200,
            triangle_pairs: true,
            link_pairs: true,
            ..ReportOptions::default()
        };
        for report in [None, Some(report)] {
            let scene_id = c.scene_id.clone();
            let request = QueryContactsRequest { scene_id, tool: Some(tool.clone()), report };
            let outcome = c.server.haptics.query_contacts(request).await;
            c.noted("QueryContacts", outcome).expect("an answer");
        }
        let push = site.outward * (-0.015 * surface.length_m());
        let moved = surface.dented(site.surface, 0.07 * surface.length_m(), push);
        c.deform(1, sparse(&moved), false).await.expect("a dent");
    }
    c.surface(1).await;
}

async fn distances(
    c: &mut Conversation<'_>,
    target: Target,
    points: &[DVec3],
    max_distance_m: f64,
) {
    let request = QueryDistancesRequest {
        scene_id: c.scene_id.clone(),
        points_xyz_m: points.iter().flat_map(|p| p.to_array()).collect(),
        max_distance_m,
        target: Some(target),
    };
    let outcome = c.server.haptics.query_distances(request).await;
    c.noted("QueryDistances", outcome).expect("an answer");
}
