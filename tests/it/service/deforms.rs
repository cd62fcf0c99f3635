use palpate::proto::{DeformRequest, RemoveTissueRequest};
use tonic::Code;

use crate::support::{
    messages::{SCENE, dense, sparse},
    refusal::assert_refused,
    server::{TestServer, positions, tissue},
};

#[tokio::test]
async fn sparse_and_dense_move_the_same_vertices() {
    let mut server = TestServer::furnished().await;
    let mut moved = tissue().positions;
    moved[6..9].copy_from_slice(&[0.0, 0.11, 0.01]);
    let sent = vec![sparse(3, &[2], &[0.0, 0.11, 0.01]), dense(9, &moved)];
    let answers = server.deform(sent).await;
    let done: Vec<_> = answers.into_iter().map(|a| a.expect("good")).collect();
    assert_eq!(done.iter().map(|a| a.sequence).collect::<Vec<_>>(), [3, 9]);
    assert_eq!(done.iter().map(|a| a.geometry_revision).collect::<Vec<_>>(), [1, 2]);
    // Four triangles meet at each vertex of an octahedron.
    assert_eq!(done[0].triangles_touched, 4);
    assert!(done.iter().all(|a| a.update_us > 0.0));
    let seen = server.seen().await;
    assert_eq!(positions(&seen.surfaces[0]), moved);
    assert_eq!(seen.scene.tissues[0].geometry_revision, 2);
}

#[tokio::test]
async fn a_bad_deformation_is_refused_and_moves_nothing() {
    let mut server = TestServer::furnished().await;
    let before = server.seen().await;
    let bad = Code::InvalidArgument;
    let all = tissue().positions;
    let mut nan = all.clone();
    nan[4] = f32::NAN;
    let scene = |id: &str| DeformRequest { scene_id: id.to_owned(), ..dense(1, &all) };
    let cases: Vec<(&str, DeformRequest, Code, &str)> = vec![
        ("scene id", scene("A"), bad, "scene_id"),
        ("scene", scene("none"), Code::NotFound, "scene none"),
        ("tissue", DeformRequest { tissue_id: 9, ..dense(1, &all) }, Code::NotFound, "tissue 9"),
        ("no positions", DeformRequest { positions: None, ..dense(1, &[]) }, bad, "positions"),
        ("empty message", DeformRequest::default(), bad, "scene_id"),
        ("dense count", dense(1, &all[3..]), bad, "dense.positions_m"),
        ("dense cut", dense(1, &all[1..]), bad, "dense.positions_m"),
        ("dense NaN", dense(1, &nan), bad, "dense.positions_m[4]"),
        ("sparse count", sparse(1, &[0, 1], &[0.0; 3]), bad, "sparse.positions_m"),
        ("sparse cut", sparse(1, &[0], &[0.0; 4]), bad, "sparse.positions_m"),
        ("index", sparse(1, &[0, 6], &[0.0; 6]), bad, "sparse.vertices[1]"),
        ("repeated", sparse(1, &[3, 1, 3], &[0.0; 9]), bad, "sparse.vertices[2]"),
        ("infinite", sparse(1, &[0], &[0.0, f32::INFINITY, 0.0]), bad, "sparse.positions_m[1]"),
        ("far", sparse(1, &[0], &[0.0, 2e4, 0.0]), bad, "sparse.positions_m[1]"),
    ];
    for (case, request, code, about) in cases {
        let mut answers = server.deform(vec![request]).await;
        assert_eq!(answers.len(), 1, "{case}");
        assert_refused(answers.remove(0), code, about, case);
        assert_eq!(server.seen().await, before, "{case}");
    }
}

#[tokio::test]
async fn a_sequence_that_does_not_rise_ends_the_stream() {
    let mut server = TestServer::furnished().await;
    for second in [5, 4, 0] {
        let sent = vec![sparse(5, &[0], &[0.1, 0.0, 0.0]), sparse(second, &[0], &[0.2, 0.0, 0.0])];
        let mut answers = server.deform(sent).await;
        assert_eq!(answers.len(), 2);
        assert_refused(answers.remove(1), Code::InvalidArgument, "sequence", "the second");
        assert_eq!(answers.remove(0).expect("the first").sequence, 5);
    }
    let stored = positions(&server.seen().await.surfaces[0]);
    assert_eq!(stored, tissue().positions, "only the first of each stream was applied");
}

#[tokio::test]
async fn what_was_answered_before_a_refusal_stays() {
    let mut server = TestServer::furnished().await;
    let good = sparse(1, &[0], &[0.12, 0.0, 0.0]);
    let after = sparse(3, &[0], &[0.14, 0.0, 0.0]);
    let answers = server.deform(vec![good, sparse(2, &[99], &[0.0; 3]), after]).await;
    assert_eq!(answers.len(), 2, "the refusal is the last");
    let seen = server.seen().await;
    assert_eq!(positions(&seen.surfaces[0])[0], 0.12);
    assert_eq!(seen.scene.tissues[0].geometry_revision, 1);
}

#[tokio::test]
async fn a_removed_tissue_is_not_deformed() {
    let mut server = TestServer::furnished().await;
    let remove = RemoveTissueRequest { scene_id: SCENE.to_owned(), tissue_id: 1 };
    server.scenes.remove_tissue(remove).await.expect("it is there");
    let mut answers = server.deform(vec![dense(1, &tissue().positions)]).await;
    assert_refused(answers.remove(0), Code::NotFound, "tissue 1", "removed");
}
