//! Requests that tests start from.

use palpate::proto::{
    AddTissueHeader, AddTissueRequest, AddToolHeader, AddToolRequest, DeformRequest,
    DensePositions, EditTopologyRequest, LinkHeader, MeshChunk, Pose, Probe, Quaternion,
    SparsePositions, Tick, ToolPose, TrackMode, TrackRequest, TrackStart, Vec3, add_tissue_request,
    add_tool_request, deform_request::Positions, track_request,
};

use super::meshes::Mesh;

/// The scene of most tests.
pub const SCENE: &str = "liver-1";

pub fn vec3(x: f64, y: f64, z: f64) -> Vec3 {
    Vec3 { x, y, z }
}

pub fn tissue_header(name: &str, mesh: &Mesh) -> AddTissueHeader {
    AddTissueHeader {
        scene_id: SCENE.to_owned(),
        name: name.to_owned(),
        mesh: Some(mesh.header()),
        options: None,
        ..AddTissueHeader::default()
    }
}

pub fn tissue_head(header: AddTissueHeader) -> AddTissueRequest {
    AddTissueRequest { message: Some(add_tissue_request::Message::Header(header)) }
}

pub fn tissue_piece(chunk: MeshChunk) -> AddTissueRequest {
    AddTissueRequest { message: Some(add_tissue_request::Message::Chunk(chunk)) }
}

/// A whole upload of a tissue to [`SCENE`].
pub fn tissue_upload(name: &str, mesh: &Mesh) -> Vec<AddTissueRequest> {
    vec![tissue_head(tissue_header(name, mesh)), tissue_piece(mesh.chunk())]
}

/// As [`tissue_upload`], to any scene, in chunks that each fit into a message.
pub fn large_tissue(scene: &str, name: &str, mesh: &Mesh) -> Vec<AddTissueRequest> {
    let header = AddTissueHeader { scene_id: scene.to_owned(), ..tissue_header(name, mesh) };
    let positions = mesh.positions.chunks(60_000).map(<[f32]>::to_vec);
    let positions = positions.map(|positions| MeshChunk { positions, ..Default::default() });
    let triangles = mesh.triangles.chunks(60_000).map(<[u32]>::to_vec);
    let triangles = triangles.map(|triangles| MeshChunk { triangles, ..Default::default() });
    let pieces = positions.chain(triangles).map(tissue_piece);
    std::iter::once(tissue_head(header)).chain(pieces).collect()
}

/// A cut that adds a vertex and one kilobyte more, so that many make a long journal.
pub fn long_cut() -> EditTopologyRequest {
    EditTopologyRequest {
        scene_id: SCENE.to_owned(),
        tissue_id: 1,
        added_positions_m: vec![0.1; 300],
        ..Default::default()
    }
}

/// A tool of one link, `shaft`, with a probe, `tip`, at -x.
pub fn tool_header(name: &str, mesh: &Mesh) -> AddToolHeader {
    let name_of_link = "shaft".to_owned();
    let link = LinkHeader { name: name_of_link, mesh: Some(mesh.header()), ..Default::default() };
    let tip = Probe {
        name: "tip".to_owned(),
        link: 0,
        position_m: Some(vec3(-0.01, 0.0, 0.0)),
        radius_m: 0.001,
    };
    AddToolHeader {
        scene_id: SCENE.to_owned(),
        name: name.to_owned(),
        links: vec![link],
        probes: vec![tip],
    }
}

pub fn tool_head(header: AddToolHeader) -> AddToolRequest {
    AddToolRequest { message: Some(add_tool_request::Message::Header(header)) }
}

pub fn tool_piece(chunk: MeshChunk) -> AddToolRequest {
    AddToolRequest { message: Some(add_tool_request::Message::Chunk(chunk)) }
}

pub fn sparse(sequence: u64, vertices: &[u32], positions_m: &[f32]) -> DeformRequest {
    let moved = SparsePositions { vertices: vertices.to_vec(), positions_m: positions_m.to_vec() };
    deform(sequence, Positions::Sparse(moved))
}

pub fn dense(sequence: u64, positions_m: &[f32]) -> DeformRequest {
    deform(sequence, Positions::Dense(DensePositions { positions_m: positions_m.to_vec() }))
}

/// The request, with its revision held.
pub fn holding(request: DeformRequest) -> DeformRequest {
    DeformRequest { hold: true, ..request }
}

fn deform(sequence: u64, positions: Positions) -> DeformRequest {
    DeformRequest {
        scene_id: SCENE.to_owned(),
        tissue_id: 1,
        sequence,
        positions: Some(positions),
        hold: false,
    }
}

pub fn start(mode: TrackMode) -> TrackStart {
    TrackStart {
        scene_id: SCENE.to_owned(),
        tool_ids: vec![1],
        mode: mode as i32,
        ..Default::default()
    }
}

pub fn start_message(start: TrackStart) -> TrackRequest {
    TrackRequest { message: Some(track_request::Message::Start(start)) }
}

pub fn tick_message(tick: Tick) -> TrackRequest {
    TrackRequest { message: Some(track_request::Message::Tick(tick)) }
}

/// Tool 1 at (x, 0, 0), not turned.
pub fn tick(sequence: u64, x: f64) -> Tick {
    Tick { sequence, client_time_ns: -7, tools: vec![tool_at(vec3(x, 0.0, 0.0))], deadline_us: 0 }
}

pub fn tool_at(position: Vec3) -> ToolPose {
    ToolPose {
        tool_id: 1,
        pose: Some(Pose { position_m: Some(position), orientation: None }),
        ..Default::default()
    }
}

/// Tool 1 at (0.2, 0, 0), turned by x, y, z, w.
pub fn turned(sequence: u64, [x, y, z, w]: [f64; 4]) -> Tick {
    let mut tick = tick(sequence, 0.2);
    let pose = tick.tools[0].pose.as_mut().expect("just made");
    pose.orientation = Some(Quaternion { x, y, z, w });
    tick
}
