use palpate::{
    proto::{
        AddTissueHeader, AddTissueRequest, ExportTissueChunk, MeshChunk, MeshFileSize, MeshFormat,
        MeshHeader, RawMeshSize, SignRule, TissueOptions, export_tissue_response::Message,
        mesh_header::Source,
    },
    scene::Limits,
};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Code;

use crate::support::{
    meshes::Mesh,
    messages::{SCENE, tissue_head, tissue_header, tissue_piece, tissue_upload, vec3},
    refusal::assert_refused,
    server::{TestServer, tissue},
};

#[tokio::test]
async fn arrays_in_pieces_come_back_as_sent() {
    let mut server = TestServer::with_scene().await;
    let mesh = tissue();
    let mut upload = vec![tissue_head(tissue_header("liver", &mesh))];
    upload.extend(
        mesh.positions
            .chunks(6)
            .map(|p| tissue_piece(MeshChunk { positions: p.to_vec(), ..Default::default() })),
    );
    upload.extend(
        mesh.triangles
            .chunks(9)
            .map(|t| tissue_piece(MeshChunk { triangles: t.to_vec(), ..Default::default() })),
    );
    let added = server.add_tissue(upload).await.expect("a whole mesh");
    let report = added.report.expect("reported");
    assert_eq!((added.tissue_id, report.vertices, report.triangles), (1, 6, 8));
    assert_eq!((report.closed, report.sign_rule()), (true, SignRule::Pseudonormal));

    let seen = server.seen().await;
    let stored = &seen.scene.tissues[0];
    assert_eq!((stored.name.as_str(), stored.vertices, stored.triangles), ("liver", 6, 8));
    assert_eq!(stored.report, Some(report));
    let exported =
        exported(&seen.surfaces[0].iter().map(|m| m.message.clone()).collect::<Vec<_>>());
    assert_eq!((exported.positions_m, exported.triangles), (mesh.positions, mesh.triangles));
    assert_eq!(exported.triangle_ids, (0..8).collect::<Vec<_>>());
}

fn exported(messages: &[Option<Message>]) -> ExportTissueChunk {
    let Some(Message::Header(header)) = &messages[0] else { panic!("the header is first") };
    let mut all = ExportTissueChunk::default();
    for message in &messages[1..] {
        let Some(Message::Chunk(chunk)) = message else { panic!("one header") };
        all.positions_m.extend(&chunk.positions_m);
        all.triangle_ids.extend(&chunk.triangle_ids);
        all.triangles.extend(&chunk.triangles);
    }
    assert_eq!(header.vertices as usize * 3, all.positions_m.len());
    assert_eq!(header.triangles as usize * 3, all.triangles.len());
    all
}

#[tokio::test]
async fn a_file_is_read_by_its_format() {
    let mut server = TestServer::with_scene().await;
    let bytes = tissue().obj();
    let mut upload = vec![tissue_head(file_header(MeshFormat::Obj as i32, bytes.len() as u64))];
    upload.extend(bytes.chunks(50).map(file_piece));
    let added = server.add_tissue(upload).await.expect("an OBJ file");
    let report = added.report.expect("reported");
    assert_eq!((report.vertices, report.triangles, report.closed), (6, 8, true));
}

fn file_header(format: i32, bytes: u64) -> AddTissueHeader {
    let source = Some(Source::File(MeshFileSize { format, bytes }));
    AddTissueHeader {
        scene_id: SCENE.to_owned(),
        name: "file".to_owned(),
        mesh: Some(MeshHeader { source, ..Default::default() }),
        ..AddTissueHeader::default()
    }
}

fn file_piece(bytes: &[u8]) -> AddTissueRequest {
    tissue_piece(MeshChunk { file: bytes.to_vec(), ..Default::default() })
}

/// An upload whose header differs from a good one.
fn headed(change: impl FnOnce(&mut AddTissueHeader)) -> Vec<AddTissueRequest> {
    let mut header = tissue_header("liver", &tissue());
    change(&mut header);
    vec![tissue_head(header), tissue_piece(tissue().chunk())]
}

fn sized(vertices: u32, triangles: u32) -> Vec<AddTissueRequest> {
    let source = Some(Source::Raw(RawMeshSize { vertices, triangles }));
    headed(|h| h.mesh = Some(MeshHeader { source, ..Default::default() }))
}

fn meshed(change: impl FnOnce(&mut Mesh)) -> Vec<AddTissueRequest> {
    let mut mesh = tissue();
    change(&mut mesh);
    tissue_upload("liver", &mesh)
}

type Case = (&'static str, Vec<AddTissueRequest>, Code, &'static str);

fn bad_headers() -> Vec<Case> {
    let bad = Code::InvalidArgument;
    let scale = |scale| headed(|h| h.mesh.as_mut().expect("there").scale_to_m = scale);
    let holes = |m| headed(|h| h.mesh.as_mut().expect("there").fill_holes_m = m);
    let options = |options| headed(|h| h.options = Some(options));
    let axis =
        TissueOptions { latitude_axis: Some(vec3(0.0, 0.0, 0.0)), ..TissueOptions::default() };
    let bands = TissueOptions { band_edges: f64::NAN, ..TissueOptions::default() };
    vec![
        ("nothing", vec![], bad, "header"),
        ("no header", vec![tissue_piece(tissue().chunk())], bad, "header"),
        ("empty message", vec![AddTissueRequest { message: None }], bad, "header"),
        ("scene id", headed(|h| h.scene_id = "A".to_owned()), bad, "header.scene_id"),
        ("scene", headed(|h| h.scene_id = "none".to_owned()), Code::NotFound, "scene none"),
        ("no name", headed(|h| h.name.clear()), bad, "header.name"),
        ("long name", headed(|h| h.name = "\u{e4}".repeat(65)), bad, "header.name"),
        ("no mesh", headed(|h| h.mesh = None), bad, "header.mesh"),
        ("no source", headed(|h| h.mesh = Some(MeshHeader::default())), bad, "header.mesh.source"),
        ("NaN scale", scale(f64::NAN), bad, "header.mesh.scale_to_m"),
        ("negative scale", scale(-1.0), bad, "header.mesh.scale_to_m"),
        ("NaN holes", holes(f64::NAN), bad, "header.mesh.fill_holes_m"),
        ("negative holes", holes(-1e-3), bad, "header.mesh.fill_holes_m"),
        ("basis", headed(|h| h.mesh.as_mut().expect("there").basis = 9), bad, "header.mesh.basis"),
        ("axis", options(axis), bad, "header.options.latitude_axis"),
        ("bands", options(bands), bad, "header.options.band_edges"),
        ("2^31 vertices", sized(1 << 31, 8), Code::ResourceExhausted, "vertices_per_mesh"),
        ("2^31 triangles", sized(6, 1 << 31), Code::ResourceExhausted, "triangles_per_mesh"),
        ("format", vec![tissue_head(file_header(77, 9))], bad, "header.mesh.file.format"),
        ("no format", vec![tissue_head(file_header(0, 9))], bad, "header.mesh.file.format"),
        (
            "2^63 bytes",
            vec![tissue_head(file_header(MeshFormat::Stl as i32, 1 << 63))],
            Code::ResourceExhausted,
            "bytes_per_file",
        ),
    ]
}

fn bad_pieces() -> Vec<Case> {
    let bad = Code::InvalidArgument;
    let two_headers = vec![
        tissue_head(tissue_header("liver", &tissue())),
        tissue_head(tissue_header("liver", &tissue())),
    ];
    let piece = |chunk| vec![tissue_head(tissue_header("liver", &tissue())), tissue_piece(chunk)];
    let cut_point = MeshChunk { positions: vec![0.0; 4], ..Default::default() };
    let cut_triangle = MeshChunk { triangles: vec![0; 5], ..Default::default() };
    let twice = [tissue_upload("liver", &tissue()), vec![tissue_piece(tissue().chunk())]].concat();
    let obj = MeshFormat::Obj as i32;
    let ply = tissue_head(file_header(MeshFormat::Ply as i32, 7));
    let garbage = vec![ply, file_piece(b"\x00\xff\x13 v f")];
    let file =
        |declared, bytes: &[u8]| vec![tissue_head(file_header(obj, declared)), file_piece(bytes)];
    vec![
        ("two headers", two_headers, bad, "header"),
        ("empty", piece(MeshChunk::default()), bad, "header.mesh.raw.vertices"),
        ("cut point", piece(cut_point), bad, "chunk.positions"),
        ("cut triangle", piece(cut_triangle), bad, "chunk.triangles"),
        ("link", piece(MeshChunk { link: 1, ..tissue().chunk() }), bad, "chunk.link"),
        ("file", piece(MeshChunk { file: vec![1], ..Default::default() }), bad, "chunk.file"),
        ("more vertices", sized(5, 8), bad, "chunk.positions"),
        ("more triangles", sized(6, 7), bad, "chunk.triangles"),
        ("fewer vertices", sized(7, 8), bad, "header.mesh.raw.vertices"),
        ("fewer triangles", sized(6, 9), bad, "header.mesh.raw.triangles"),
        ("twice", twice, bad, "chunk.positions"),
        ("more bytes", file(3, b"v 0 0 0"), bad, "chunk.file"),
        ("fewer bytes", file(9, b"v 0 0 0"), bad, "header.mesh.file.bytes"),
        ("garbage", garbage, bad, "header.mesh.file"),
    ]
}

#[tokio::test]
async fn a_bad_upload_is_refused_and_leaves_nothing() {
    let mut server = TestServer::with_scene().await;
    let before = server.seen().await;
    for (case, upload, code, about) in bad_headers().into_iter().chain(bad_pieces()) {
        assert_refused(server.add_tissue(upload).await, code, about, case);
        assert_eq!(server.seen().await, before, "{case}");
    }
}

#[tokio::test]
async fn a_bad_mesh_is_refused_with_its_place() {
    let mut server = TestServer::with_scene().await;
    let before = server.seen().await;
    let nan = meshed(|m| m.positions[7] = f32::NAN);
    let infinite = meshed(|m| m.positions[7] = f32::INFINITY);
    let far = meshed(|m| m.positions[7] = 1e9);
    let index = meshed(|m| m.triangles[4] = 6);
    let max_index = meshed(|m| m.triangles[4] = u32::MAX);
    let no_triangle = meshed(|m| m.triangles.clear());
    let empty = meshed(|m| (m.positions, m.triangles) = (vec![], vec![]));
    for (case, upload, place) in [
        ("NaN", nan, "positions[2].y"),
        ("infinite", infinite, "positions[2].y"),
        ("far", far, "positions[2].y"),
        ("index", index, "triangles[1][1]"),
        ("greatest index", max_index, "triangles[1][1]"),
        ("no triangle", no_triangle, "triangles"),
        ("empty", empty, "vertices"),
    ] {
        let refused = server.add_tissue(upload).await;
        let message = refused.as_ref().expect_err(case).message().to_owned();
        assert_refused(refused, Code::InvalidArgument, "header.mesh", case);
        assert!(message.contains(place), "{case}: {message}");
        assert_eq!(server.seen().await, before, "{case}");
    }
}

#[tokio::test]
async fn an_upload_that_is_abandoned_leaves_nothing() {
    let mut server = TestServer::with_scene().await;
    let before = server.seen().await;
    let (requests, sent) = mpsc::channel(2);
    requests.send(tissue_head(tissue_header("liver", &tissue()))).await.expect("room");
    let half = MeshChunk { positions: tissue().positions, ..Default::default() };
    requests.send(tissue_piece(half)).await.expect("room");
    let mut client = server.scenes.clone();
    let call = tokio::spawn(async move { client.add_tissue(ReceiverStream::new(sent)).await });
    // Once the channel has capacity for two again, both messages have left it.
    let _both_sent = requests.reserve_many(2).await.expect("the call runs");
    call.abort();
    assert!(call.await.expect_err("aborted").is_cancelled());
    assert_eq!(server.seen().await, before);
    server.add_tissue(tissue_upload("liver", &tissue())).await.expect("the name is free");
}

#[tokio::test]
async fn of_two_uploads_of_one_name_one_is_refused() {
    let server = TestServer::with_scene().await;
    let upload = || {
        let mut client = server.scenes.clone();
        let requests = tokio_stream::iter(tissue_upload("liver", &tissue()));
        tokio::spawn(async move { client.add_tissue(requests).await })
    };
    let (one, other) = (upload(), upload());
    let outcomes = [one.await.expect("no panic"), other.await.expect("no panic")];
    let (added, refused): (Vec<_>, Vec<_>) = outcomes.into_iter().partition(Result::is_ok);
    assert_eq!((added.len(), refused.len()), (1, 1));
    for outcome in refused {
        assert_refused(outcome, Code::AlreadyExists, "tissue liver", "the later");
    }
}

#[tokio::test]
async fn a_full_scene_takes_no_more() {
    let limits = Limits { tissues_per_scene: 1, ..Limits::default() };
    let mut server = TestServer::empty(limits).await;
    server.create(SCENE).await.expect("a new scene");
    server.add_tissue(tissue_upload("liver", &tissue())).await.expect("the first");
    let second = server.add_tissue(tissue_upload("spleen", &tissue())).await;
    assert_refused(second, Code::ResourceExhausted, "tissues_per_scene", "the second");
}
