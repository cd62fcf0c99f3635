use palpate::{
    proto::{EditTopologyRequest, EditTopologyResponse, SignRule, TriangleRemap},
    scene::Limits,
};
use tonic::{Code, Status};

use crate::support::{
    messages::{SCENE, tissue_upload},
    refusal::assert_refused,
    server::{TestServer, tissue},
};

async fn edit(
    server: &mut TestServer,
    request: EditTopologyRequest,
) -> Result<EditTopologyResponse, Status> {
    Ok(server.scenes.edit_topology(request).await?.into_inner())
}

fn on_tissue_1() -> EditTopologyRequest {
    EditTopologyRequest { scene_id: SCENE.to_owned(), tissue_id: 1, ..Default::default() }
}

/// Splits triangle 0 (vertices 0, 2, 4) at its middle, and removes triangle 5 without replacement.
fn split() -> EditTopologyRequest {
    EditTopologyRequest {
        base_topology_revision: Some(0),
        removed_triangles: vec![5, 0],
        added_positions_m: vec![0.034, 0.034, 0.034],
        added_triangles: vec![0, 2, 6, 2, 4, 6, 4, 0, 6],
        added_triangle_parents: vec![0, 0, 0],
        ..on_tissue_1()
    }
}

#[tokio::test]
async fn a_cut_names_what_became_of_each_triangle() {
    let mut server = TestServer::furnished().await;
    let done = edit(&mut server, split()).await.expect("a good cut");
    assert_eq!((done.topology_revision, done.first_vertex, done.added_vertices), (1, 6, 1));
    assert_eq!((done.first_triangle, done.added_triangles), (8, 3));
    let gone = TriangleRemap { old_triangle: 5, new_triangles: vec![] };
    let split_up = TriangleRemap { old_triangle: 0, new_triangles: vec![8, 9, 10] };
    assert_eq!(done.remap, [gone, split_up]);
    assert_eq!(done.sign_rule(), SignRule::WindingNumber, "a hole was cut");
    let seen = server.seen().await.scene.tissues.remove(0);
    assert_eq!((seen.vertices, seen.triangles), (7, 9));
    assert_eq!((seen.topology_revision, seen.sign_rule()), (1, SignRule::WindingNumber));
}

#[tokio::test]
async fn a_bad_cut_is_refused_and_changes_nothing() {
    let mut server = TestServer::furnished().await;
    let before = server.seen().await;
    let bad = Code::InvalidArgument;
    let with = |change: fn(&mut EditTopologyRequest)| {
        let mut request = split();
        change(&mut request);
        request
    };
    let cases: Vec<(&str, EditTopologyRequest, Code, &str)> = vec![
        ("scene id", with(|r| r.scene_id.clear()), bad, "scene_id"),
        ("scene", with(|r| r.scene_id = "none".to_owned()), Code::NotFound, "scene none"),
        ("tissue", with(|r| r.tissue_id = 9), Code::NotFound, "tissue 9"),
        (
            "stale base",
            with(|r| r.base_topology_revision = Some(1)),
            Code::FailedPrecondition,
            "base_topology_revision",
        ),
        ("unknown", with(|r| r.removed_triangles[1] = 8), bad, "removed_triangles[1]"),
        ("twice", with(|r| r.removed_triangles[1] = 5), bad, "removed_triangles[1]"),
        ("new vertex", with(|r| r.added_triangles[2] = 7), bad, "added_triangles[2]"),
        ("cut triangle", with(|r| r.added_triangles.truncate(8)), bad, "added_triangles"),
        ("NaN", with(|r| r.added_positions_m[1] = f32::NAN), bad, "added_positions_m[1]"),
        ("cut point", with(|r| r.added_positions_m.truncate(2)), bad, "added_positions_m"),
        ("parents", with(|r| r.added_triangle_parents.truncate(2)), bad, "added_triangle_parents"),
        ("parent", with(|r| r.added_triangle_parents[2] = 3), bad, "added_triangle_parents[2]"),
    ];
    for (case, request, code, about) in cases {
        assert_refused(edit(&mut server, request).await, code, about, case);
        assert_eq!(server.seen().await, before, "{case}");
    }
}

#[tokio::test]
async fn a_triangle_is_not_removed_twice_nor_an_old_base_accepted() {
    let mut server = TestServer::furnished().await;
    edit(&mut server, split()).await.expect("a good cut");
    let before = server.seen().await;
    let stale = edit(&mut server, split()).await;
    assert_refused(stale, Code::FailedPrecondition, "base_topology_revision", "two editors");
    let again = EditTopologyRequest { removed_triangles: vec![1, 0], ..on_tissue_1() };
    let again = edit(&mut server, again).await;
    assert_refused(again, Code::InvalidArgument, "removed_triangles[1]", "removed before");
    assert_eq!(server.seen().await, before);
}

#[tokio::test]
async fn cuts_stop_at_the_limit_of_ids() {
    let limits = Limits { vertices_per_mesh: 6, ..Limits::default() };
    let mut server = TestServer::empty(limits).await;
    server.create(SCENE).await.expect("a new scene");
    server.add_tissue(tissue_upload("liver", &tissue())).await.expect("just small enough");
    let before = server.seen().await;
    let full = edit(&mut server, split()).await;
    assert_refused(full, Code::ResourceExhausted, "vertices_per_mesh", "a seventh vertex");
    assert_eq!(server.seen().await, before);
}

#[tokio::test]
async fn a_tissue_may_lose_all_its_triangles() {
    let mut server = TestServer::furnished().await;
    let all = EditTopologyRequest { removed_triangles: (0..8).collect(), ..on_tissue_1() };
    let done = edit(&mut server, all).await.expect("a cut");
    assert_eq!((done.topology_revision, done.remap.len()), (1, 8));
    let seen = server.seen().await;
    assert_eq!((seen.scene.tissues[0].vertices, seen.scene.tissues[0].triangles), (6, 0));
}
