//! Meshes whose vertices are split along seams, as in files with hard normals, over loopback.

use palpate::proto::{
    AddTissueResponse, DetectSelfCollisionsRequest, EditTopologyRequest, SignRule, TissueInterval,
    detect_self_collisions_response::Message,
};
use tokio_stream::StreamExt;

use crate::support::{
    meshes::Mesh,
    messages::{SCENE, dense, holding, sparse, tissue_upload},
    server::{TestServer, tissue},
};

/// An octahedron in which each triangle has its own three vertices: triangle t has 3 t, 3 t + 1 and 3 t + 2.
fn split() -> Mesh {
    let whole = tissue();
    let corners = whole.triangles.iter().flat_map(|v| &whole.positions[3 * *v as usize..][..3]);
    let positions: Vec<f32> = corners.copied().collect();
    let triangles = (0..positions.len() as u32 / 3).collect();
    Mesh { positions, triangles }
}

async fn with_split() -> (TestServer, AddTissueResponse) {
    let mut server = TestServer::with_scene().await;
    let added = server.add_tissue(tissue_upload("liver", &split())).await.expect("a tissue");
    (server, added)
}

/// The answers to the upload, each deformation and each cut report the number of joined edges.
#[tokio::test]
async fn edges_that_part_and_join_are_told() {
    let (mut server, added) = with_split().await;
    let report = added.report.expect("told");
    assert_eq!((report.welded_edges, report.open_edges, report.bodies), (12, 0, 1));
    assert!(report.closed && report.vertices == 24, "{report:?}");
    assert_eq!(report.sign_rule(), SignRule::Pseudonormal);
    let r = 0.1;
    let sent = vec![
        // A triangle's corner moves away, back again, and with all others.
        sparse(1, &[0], &[r + 0.01, 0.0, 0.0]),
        sparse(2, &[0], &[r, 0.0, 0.0]),
        dense(3, &split().positions.iter().map(|x| 1.5 * x).collect::<Vec<_>>()),
    ];
    let answers = server.deform(sent).await;
    let welded: Vec<u32> = answers.into_iter().map(|a| a.expect("good").welded_edges).collect();
    assert_eq!(welded, [10, 12, 12]);
    // A triangle's corners come off and stay there.
    let off: Vec<f32> = split().positions[..9].iter().map(|x| 1.5 * x).collect();
    let cut = EditTopologyRequest {
        scene_id: SCENE.to_owned(),
        tissue_id: 1,
        removed_triangles: vec![0],
        added_positions_m: off,
        added_triangles: vec![24, 25, 26],
        ..Default::default()
    };
    let done = server.scenes.edit_topology(cut).await.expect("a good cut").into_inner();
    assert_eq!((done.welded_edges, done.sign_rule()), (12, SignRule::Pseudonormal));
    let hole = EditTopologyRequest {
        scene_id: SCENE.to_owned(),
        tissue_id: 1,
        removed_triangles: vec![8],
        ..Default::default()
    };
    let done = server.scenes.edit_topology(hole).await.expect("a good cut").into_inner();
    assert_eq!((done.welded_edges, done.sign_rule()), (9, SignRule::WindingNumber));
}

/// Triangles do not collide along the seam that joins them; parts that separate and meet again do.
#[tokio::test]
async fn a_seam_is_no_self_collision() {
    let (mut server, _) = with_split().await;
    let (home, r) = (split().positions, 0.1);
    let away: Vec<f32> = home.iter().map(|x| x * 1.25).collect();
    let sent = vec![
        holding(dense(1, &away)),
        holding(dense(2, &home)),
        holding(sparse(3, &[0], &[r + 0.01, 0.0, 0.0])),
        holding(dense(4, &home)),
    ];
    for answer in server.deform(sent).await {
        answer.expect("good");
    }
    for (from, to, is_met) in [(1, 2, false), (2, 2, false), (3, 4, true)] {
        let tissues = vec![TissueInterval {
            tissue_id: 1,
            from_geometry_revision: Some(from),
            to_geometry_revision: to,
        }];
        let request = DetectSelfCollisionsRequest {
            scene_id: SCENE.to_owned(),
            tissues,
            ..Default::default()
        };
        let answers = server.haptics.detect_self_collisions(request).await.expect("good");
        let mut n_met = 0;
        let mut answers = answers.into_inner();
        while let Some(answer) = answers.next().await {
            if let Some(Message::Totals(totals)) = answer.expect("good").message {
                n_met = totals.vertex_face + totals.edge_edge;
            }
        }
        assert_eq!(n_met > 0, is_met, "{from} to {to}: {n_met}");
    }
}
