//! A client author's first questions about the contract: stored order, identities, holding, resuming.

use std::fmt::Debug;

use palpate::proto::{
    DetectSelfCollisionsRequest, ExportToolChunk, ExportToolRequest, Flag, FlagMask,
    HoldTissueRequest, MeshBasis, TissueInterval, TrackMode, TrackStart, Vec3,
    export_tool_response::Message,
};
use tokio_stream::StreamExt;
use tonic::{Code, Status};

use crate::{
    seed::{Seed, scaled},
    support::{
        messages::{
            SCENE, dense, start, start_message, tick, tick_message, tissue_upload, tool_at,
            tool_head, tool_header, tool_piece, vec3,
        },
        refusal::assert_refused,
        server::{TestServer, link, tissue},
    },
};

/// Rounding of `f32` coordinates below a metre, three times in a sum.
const F32_SLACK_M: f64 = 4e-7;

/// Returns the header's sizes, and all chunks of each link.
async fn exported(
    server: &mut TestServer,
    tool_id: u32,
) -> Result<(Vec<(u32, u32)>, Vec<ExportToolChunk>), Status> {
    let request = ExportToolRequest { scene_id: SCENE.to_owned(), tool_id };
    let answers = server.scenes.export_tool(request).await?.into_inner();
    let all: Vec<_> = answers.collect().await;
    let mut sizes = Vec::new();
    let mut links: Vec<ExportToolChunk> = Vec::new();
    for answer in all {
        match answer?.message.expect("set") {
            Message::Header(header) => {
                assert!(sizes.is_empty(), "one header, first");
                sizes = header.links.iter().map(|l| (l.vertices, l.triangles)).collect();
                links = vec![ExportToolChunk::default(); sizes.len()];
            }
            Message::Chunk(chunk) => {
                let link = &mut links[chunk.link as usize];
                link.positions_m.extend(chunk.positions_m);
                link.triangle_ids.extend(chunk.triangle_ids);
                link.triangles.extend(chunk.triangles);
            }
        }
    }
    Ok((sizes, links))
}

fn array(p: Option<Vec3>) -> [f64; 3] {
    let p = p.expect("given");
    [p.x, p.y, p.z]
}

fn assert_near(got: [f64; 3], expected: [f64; 3], case: &dyn Debug) {
    let off = (0..3).map(|k| (got[k] - expected[k]).abs()).fold(0.0, f64::max);
    assert!(off <= F32_SLACK_M, "{case:?}: {got:?}, expected {expected:?}");
}

/// An octahedron without three of its eight sides is open on one side.
#[tokio::test]
async fn a_hole_is_filled_where_that_is_asked_for() {
    let mut server = TestServer::furnished().await;
    let mut sent = link();
    sent.triangles.truncate(3 * 5);
    let mut add = async |name: &str, fill_holes_m: f64| {
        let mut header = tool_header(name, &sent);
        header.links[0].mesh.as_mut().expect("declared").fill_holes_m = fill_holes_m;
        server.add_tool(vec![tool_head(header), tool_piece(sent.chunk())]).await.expect("good")
    };
    let [open, too_small, filled] =
        [add("open", 0.0).await, add("too-small", 1e-3).await, add("filled", 1.0).await];
    for report in [&open.reports[0], &too_small.reports[0]] {
        assert_eq!((report.closed, report.filled_holes, report.triangles), (false, 0, 5));
    }
    let report = &filled.reports[0];
    assert_eq!((report.closed, report.filled_holes), (true, 1), "{report:?}");
    assert_eq!(report.triangles, 5 + report.added_triangles);
    assert_eq!(report.sign_rule, palpate::proto::SignRule::Pseudonormal as i32);
    let (sizes, links) = exported(&mut server, filled.tool_id).await.expect("there");
    assert_eq!(sizes, [(6, report.triangles)]);
    assert_eq!(links[0].triangles[..3 * 5], sent.triangles[..], "those sent come first");
}

#[tokio::test]
async fn a_tool_is_exported_as_it_is_stored() {
    let mut server = TestServer::furnished().await;
    // In millimetres and left-handed: scaled, mirrored and turned when it is stored.
    let mut sent = link();
    sent.positions.iter_mut().for_each(|x| *x *= 1e3);
    let mut header = tool_header("grasper", &sent);
    header.links[0].name = "shaft".to_owned();
    let mesh = header.links[0].mesh.as_mut().expect("declared");
    mesh.scale_to_m = 1e-3;
    mesh.basis = MeshBasis::LeftHanded as i32;
    let second = tool_header("grasper", &link()).links.remove(0);
    header.links.push(palpate::proto::LinkHeader { name: "jaw".to_owned(), ..second });
    let mut other = link().chunk();
    other.link = 1;
    let upload = vec![tool_head(header), tool_piece(sent.chunk()), tool_piece(other)];
    let tool_id = server.add_tool(upload).await.expect("good").tool_id;
    let (sizes, links) = exported(&mut server, tool_id).await.expect("there");
    assert_eq!(sizes, [(6, 8), (6, 8)]);
    // Normals show the stored orientation of each triangle: outwards, as seen from the origin.
    for (at, link) in links.iter().enumerate() {
        assert_eq!(link.triangle_ids, (0..8).collect::<Vec<_>>());
        for corners in link.triangles.chunks_exact(3) {
            let [a, b, c] = [0, 1, 2].map(|k| {
                let first = 3 * corners[k] as usize;
                [0, 1, 2].map(|x| f64::from(link.positions_m[first + x]))
            });
            let out = a[0] * (b[1] * c[2] - b[2] * c[1])
                + a[1] * (b[2] * c[0] - b[0] * c[2])
                + a[2] * (b[0] * c[1] - b[1] * c[0]);
            assert!(out > 0.0, "link {at}: {corners:?}");
        }
    }
    assert_eq!(links[1].positions_m, link().positions);
    // An answer shows the order too: the weights belong to these vertices, in this order.
    let mut at = tick(1, 0.105);
    at.tools = vec![palpate::proto::ToolPose { tool_id, ..tool_at(vec3(0.1085, 0.001, 0.0005)) }];
    let begin = TrackStart { tool_ids: vec![tool_id], ..start(TrackMode::Every) };
    let mut answers = server.track(vec![start_message(begin), tick_message(at)]).await;
    let answer = answers.remove(0).expect("an answer");
    for (link, found) in links.iter().zip(&answer.links) {
        let on_tool = found.on_tool.expect("near");
        let weights = array(on_tool.barycentric);
        let corners = &link.triangles[3 * on_tool.triangle_id as usize..][..3];
        let mut place = [0.1085, 0.001, 0.0005];
        for (corner, weight) in corners.iter().zip(weights) {
            for (k, x) in place.iter_mut().enumerate() {
                *x += weight * f64::from(link.positions_m[3 * *corner as usize + k]);
            }
        }
        assert_near(array(on_tool.position_m), place, found);
    }
    let unknown = exported(&mut server, 9).await;
    assert_refused(unknown, Code::NotFound, "tool 9", "no such tool");
}

#[tokio::test]
async fn two_points_differ_by_the_distance_along_the_normal() {
    let seed = Seed::or(12);
    let (mut server, mut random) = (TestServer::furnished().await, seed.random(0));
    let mut stream = server.hand_fed(start_message(start(TrackMode::Every))).await;
    let (mut n_contacts, mut swallowed) = (0, 0);
    for sequence in 1..=scaled(400) as u64 {
        // From wholly inside over touching to apart.
        let mut at = tick(sequence, 0.0);
        let place = [(); 3].map(|()| random.range(-0.08, 0.08));
        let mut pose = tool_at(vec3(place[0], place[1], place[2]));
        pose.teleport = true;
        at.tools = vec![pose];
        let answer = stream.ask(tick_message(at)).await.expect("an answer");
        let link = &answer.links[0];
        if let (Some(on_tissue), Some(on_tool)) = (link.on_tissue, link.on_tool) {
            let [from, to] = [on_tissue, on_tool].map(|p| array(p.position_m));
            let along = array(link.normal).map(|x| x * link.signed_distance_m);
            assert_near([0, 1, 2].map(|k| to[k] - from[k]), along, link);
        }
        let Some(contacts) = &link.contacts else { continue };
        let xyz = |flat: &[f32], at: usize| [0, 1, 2].map(|k| f64::from(flat[3 * at + k]));
        for at in 0..contacts.signed_distance_m.len() {
            let from = xyz(&contacts.on_tissue_xyz_m, at);
            let to = xyz(&contacts.on_tool_xyz_m, at);
            let depth = f64::from(contacts.signed_distance_m[at]);
            let along = xyz(&contacts.normal_xyz, at).map(|x| x * depth);
            assert_near([0, 1, 2].map(|k| to[k] - from[k]), along, contacts);
            n_contacts += 1;
        }
        // Both are octahedra: the link is wholly inside if its farthest tip is, with nothing within the margin.
        let sum: f64 = place.iter().map(|x| x.abs()).sum();
        if sum < 0.1 - 0.01 - 5e-3 {
            assert_eq!(
                (contacts.total, &contacts.wholly_inside[..]),
                (1, &[true][..]),
                "{place:?}"
            );
            swallowed += 1;
        } else if contacts.total > 1 {
            assert!(contacts.wholly_inside.is_empty(), "{place:?}: it touches triangles");
        }
    }
    println!("{n_contacts} contacts, {swallowed} of them stand for a link that is wholly inside");
    assert!(n_contacts > swallowed && swallowed > 0);
}

#[tokio::test]
async fn a_resumed_stream_says_where_it_goes_on() {
    let mut server = TestServer::furnished().await;
    let mut first = server.hand_fed(start_message(start(TrackMode::Every))).await;
    let answer = first.ask(tick_message(tick(5, 0.2))).await.expect("an answer");
    assert_eq!(answer.resumed_sequence, None, "it begins");
    first.ask(tick_message(tick(17, 0.2))).await.expect("an answer");
    drop(first);
    let resume_token = answer.session_token;
    let again = TrackStart { resume_token, ..start(TrackMode::Every) };
    let mut second = server.hand_fed(start_message(again)).await;
    // A sequence that is too low is refused, and that answer reports the resumed sequence too.
    let refused = second.ask(tick_message(tick(1, 0.2))).await.expect("an answer");
    assert!(refused.refusal.is_some());
    assert_eq!(refused.resumed_sequence, Some(17));
    let next = second.ask(tick_message(tick(18, 0.2))).await.expect("an answer");
    assert_eq!((next.refusal, next.resumed_sequence), (None, None), "told once");
}

#[tokio::test]
async fn a_tissue_is_held_as_it_is() {
    let mut server = TestServer::with_scene().await;
    server.add_tissue(tissue_upload("liver", &tissue())).await.expect("tissue 1");
    let request = HoldTissueRequest { scene_id: SCENE.to_owned(), tissue_id: 1 };
    let held = server.scenes.hold_tissue(request.clone()).await.expect("good").into_inner();
    assert_eq!((held.geometry_revision, held.topology_revision), (0, 0));
    assert_eq!(held.held_geometry_revisions, [0]);
    assert_eq!(server.seen().await.scene.tissues[0].geometry_revision, 0, "none is made");
    let mut moved = tissue().positions;
    moved[0] = -0.15;
    server.deform(vec![dense(1, &moved)]).await.remove(0).expect("good");
    let again = server.scenes.hold_tissue(request).await.expect("good").into_inner();
    assert_eq!((again.geometry_revision, again.held_geometry_revisions), (1, vec![0, 1]));
    let interval =
        TissueInterval { tissue_id: 1, from_geometry_revision: Some(0), to_geometry_revision: 1 };
    let asked = DetectSelfCollisionsRequest {
        scene_id: SCENE.to_owned(),
        tissues: vec![interval],
        ..Default::default()
    };
    let answers = server.haptics.detect_self_collisions(asked).await.expect("both are held");
    let all: Vec<_> = answers.into_inner().collect().await;
    assert!(all.len() > 1, "its tip goes through the other side: {all:?}");
    let unknown = HoldTissueRequest { scene_id: SCENE.to_owned(), tissue_id: 9 };
    let refused = server.scenes.hold_tissue(unknown).await;
    assert_refused(refused, Code::NotFound, "tissue 9", "no such tissue");
}

#[tokio::test]
async fn masks_are_the_bits_of_an_answer() {
    let mut server = TestServer::furnished().await;
    let mut stream = server.hand_fed(start_message(start(TrackMode::Every))).await;
    stream.ask(tick_message(tick(1, 0.2))).await.expect("an answer");
    let answer = stream.ask(tick_message(tick(2, 0.2))).await.expect("an answer");
    let swept = answer.flags & FlagMask::Swept as u32;
    assert_eq!(swept, 1 << Flag::Swept as u32, "nothing moved");
}
