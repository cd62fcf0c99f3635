use palpate::proto::{
    AddToolHeader, AddToolRequest, FieldOptions, LinkHeader, MeshChunk, MeshHeader, Pose, Probe,
    Quaternion, RawMeshSize, mesh_header::Source,
};
use tonic::Code;

use crate::support::{
    meshes::octahedron,
    messages::{tool_head, tool_header, tool_piece, vec3},
    refusal::assert_refused,
    server::{TestServer, link},
};

/// Two links, each with its own chunk.
fn forceps() -> AddToolHeader {
    let mut header = tool_header("forceps", &link());
    header.links.push(LinkHeader {
        name: "jaw".to_owned(),
        mesh: Some(octahedron(0.02).header()),
        rest_pose: Some(Pose { position_m: Some(vec3(0.0, 0.03, 0.0)), orientation: None }),
        field: None,
    });
    header
}

fn upload(header: AddToolHeader) -> Vec<AddToolRequest> {
    let jaw = MeshChunk { link: 1, ..octahedron(0.02).chunk() };
    vec![tool_head(header), tool_piece(jaw), tool_piece(link().chunk())]
}

fn headed(change: impl FnOnce(&mut AddToolHeader)) -> Vec<AddToolRequest> {
    let mut header = forceps();
    change(&mut header);
    upload(header)
}

#[tokio::test]
async fn a_tool_of_two_links_is_described_as_declared() {
    let mut server = TestServer::with_scene().await;
    let added = server.add_tool(upload(forceps())).await.expect("a whole tool");
    assert_eq!((added.tool_id, added.reports.len()), (1, 2));
    let seen = server.seen().await.scene;
    let tool = &seen.tools[0];
    assert_eq!((tool.name.as_str(), tool.links.len()), ("forceps", 2));
    assert_eq!((tool.links[0].name.as_str(), tool.links[1].name.as_str()), ("shaft", "jaw"));
    let rest = tool.links[1].rest_pose.expect("given");
    assert_eq!(rest.position_m, Some(vec3(0.0, 0.03, 0.0)));
    assert_eq!(rest.orientation, Some(Quaternion { x: 0.0, y: 0.0, z: 0.0, w: 1.0 }));
    assert_eq!(tool.probes, forceps().probes);
}

fn tolerance(tolerance_m: f64) -> Option<FieldOptions> {
    Some(FieldOptions { tolerance_m })
}

#[tokio::test]
async fn each_link_is_told_what_its_field_promises() {
    let mut server = TestServer::with_scene().await;
    let mut header = forceps();
    header.links[1].field = tolerance(2e-4);
    let added = server.add_tool(upload(header)).await.expect("a whole tool");
    let [shaft, jaw] = &added.fields[..] else { panic!("{:?}", added.fields) };
    // The diagonal of an octahedron's box is 2 sqrt(3) of its radius, 0.01 m.
    assert!((shaft.tolerance_m - 2e-5 * 3f64.sqrt()).abs() < 1e-9, "{}", shaft.tolerance_m);
    assert_eq!(jaw.tolerance_m, 2e-4);
    for field in [shaft, jaw] {
        assert!(field.subspaces > 0 && field.samples >= 27 && field.bytes > field.samples);
        assert!(field.interpolated_cells + field.exact_cells > 0);
        assert!(field.build_ms > 0.0 && !field.cached);
        assert!(field.wide_cells > 0 || field.bound_m <= field.tolerance_m * 1.01, "{field:?}");
    }
}

fn probe(change: impl FnOnce(&mut Probe)) -> Vec<AddToolRequest> {
    headed(|h| change(&mut h.probes[0]))
}

#[tokio::test]
async fn a_bad_tool_is_refused_and_leaves_nothing() {
    let mut server = TestServer::with_scene().await;
    let before = server.seen().await;
    let bad = Code::InvalidArgument;
    let many = RawMeshSize { vertices: 1 << 31, triangles: 8 };
    let many = MeshHeader { source: Some(Source::Raw(many)), ..Default::default() };
    let no_rotation = Quaternion { x: 0.0, y: 0.0, z: 0.0, w: 2.0 };
    let turned = Pose { position_m: None, orientation: Some(no_rotation) };
    let unknown_link = tool_piece(MeshChunk { link: 2, ..link().chunk() });
    let cases: Vec<(&str, Vec<AddToolRequest>, Code, &str)> = vec![
        ("no header", vec![tool_piece(link().chunk())], bad, "header"),
        ("two headers", vec![tool_head(forceps()), tool_head(forceps())], bad, "header"),
        ("empty piece", vec![tool_head(forceps()), AddToolRequest::default()], bad, "chunk"),
        ("no links", headed(|h| h.links.clear()), bad, "header.links"),
        (
            "nine links",
            headed(|h| h.links = vec![h.links[0].clone(); 9]),
            Code::ResourceExhausted,
            "links_per_tool",
        ),
        (
            "17 probes",
            headed(|h| h.probes = vec![h.probes[0].clone(); 17]),
            Code::ResourceExhausted,
            "probes_per_tool",
        ),
        (
            "link name twice",
            headed(|h| h.links[1].name = "shaft".to_owned()),
            bad,
            "header.links[1].name",
        ),
        ("link name", headed(|h| h.links[1].name.clear()), bad, "header.links[1].name"),
        (
            "2^31 vertices",
            headed(|h| h.links[1].mesh = Some(many)),
            Code::ResourceExhausted,
            "vertices_per_mesh",
        ),
        (
            "rest pose",
            headed(|h| h.links[1].rest_pose = Some(turned)),
            bad,
            "header.links[1].rest_pose.orientation",
        ),
        (
            "no tolerance",
            headed(|h| h.links[1].field = tolerance(f64::NAN)),
            bad,
            "header.links[1].field.tolerance_m",
        ),
        (
            "negative tolerance",
            headed(|h| h.links[1].field = tolerance(-1e-3)),
            bad,
            "header.links[1].field.tolerance_m",
        ),
        (
            "too fine a tolerance",
            headed(|h| h.links[1].field = tolerance(1e-9)),
            bad,
            "header.links[1].field.tolerance_m",
        ),
        ("probe name", probe(|p| p.name.clear()), bad, "header.probes[0].name"),
        ("probe link", probe(|p| p.link = 2), bad, "header.probes[0].link"),
        ("probe radius", probe(|p| p.radius_m = -1.0), bad, "header.probes[0].radius_m"),
        (
            "probe place",
            probe(|p| p.position_m = Some(vec3(0.0, f64::NAN, 0.0))),
            bad,
            "header.probes[0].position_m.y",
        ),
        ("unknown link", vec![tool_head(forceps()), unknown_link], bad, "chunk.link"),
        (
            "a link left out",
            vec![tool_head(forceps()), tool_piece(link().chunk())],
            bad,
            "header.links[1].mesh.raw.vertices",
        ),
    ];
    for (case, upload, code, about) in cases {
        assert_refused(server.add_tool(upload).await, code, about, case);
        assert_eq!(server.seen().await, before, "{case}");
    }
}

#[tokio::test]
async fn a_tool_name_is_used_once() {
    let mut server = TestServer::with_scene().await;
    server.add_tool(upload(forceps())).await.expect("the first");
    let again = server.add_tool(upload(forceps())).await;
    assert_refused(again, Code::AlreadyExists, "tool forceps", "the second");
}
