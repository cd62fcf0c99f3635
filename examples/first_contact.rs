//! A client in a page: a scene with a tissue and a tool, a haptic loop that lowers the tool until it
//! touches, and a dent.
//!
//! `cargo run --release --example first_contact`, with `cargo run --release -- serve` in another terminal.

use palpate::proto::{
    AddTissueHeader, AddTissueRequest, AddToolHeader, AddToolRequest, CreateSceneRequest,
    DeformRequest, DeleteSceneRequest, LinkHeader, MeshChunk, MeshHeader, Pose, RawMeshSize,
    SparsePositions, Tick, ToolPose, TrackRequest, TrackStart, Vec3, add_tissue_request,
    add_tool_request, deform_request::Positions, haptic_service_client::HapticServiceClient,
    mesh_header::Source, scene_service_client::SceneServiceClient, track_request::Message,
};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;

/// An octahedron, counter-clockwise from outside. A tissue and a tool may be any mesh, also a file's bytes.
const CORNERS: [f32; 18] =
    [1., 0., 0., -1., 0., 0., 0., 1., 0., 0., -1., 0., 0., 0., 1., 0., 0., -1.];
const TRIANGLES: [u32; 24] =
    [0, 2, 4, 2, 1, 4, 1, 3, 4, 3, 0, 4, 2, 0, 5, 1, 2, 5, 3, 1, 5, 0, 3, 5];

/// 5 cm and 5 mm from the middle to a corner.
const TISSUE_SCALE_TO_M: f64 = 0.05;
const TOOL_SCALE_TO_M: f64 = 0.005;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    touch("http://127.0.0.1:7447").await.map(drop)
}

/// Lowers the tool by 1 mm a tick, then dents the tissue. Returns the deepest and the last signed distance, metres.
pub async fn touch(url: &str) -> Result<[f64; 2], Box<dyn std::error::Error>> {
    let mut scenes = SceneServiceClient::connect(url.to_owned()).await?;
    let mut haptics = HapticServiceClient::connect(url.to_owned()).await?;

    // Names are yours, ids the server's. An upload is a header and as many chunks as it takes.
    let scene_id = "first-contact".to_owned();
    scenes.create_scene(CreateSceneRequest { scene_id: scene_id.clone() }).await?;
    let tissue = AddTissueHeader {
        scene_id: scene_id.clone(),
        name: "organ".to_owned(),
        mesh: Some(mesh(TISSUE_SCALE_TO_M)),
        ..Default::default()
    };
    let upload = [
        AddTissueRequest { message: Some(add_tissue_request::Message::Header(tissue)) },
        AddTissueRequest { message: Some(add_tissue_request::Message::Chunk(chunk())) },
    ];
    let tissue_id = scenes.add_tissue(tokio_stream::iter(upload)).await?.into_inner().tissue_id;
    let name = "tip".to_owned();
    let link = LinkHeader { name, mesh: Some(mesh(TOOL_SCALE_TO_M)), ..Default::default() };
    let tool = AddToolHeader {
        scene_id: scene_id.clone(),
        name: "probe".to_owned(),
        links: vec![link],
        ..Default::default()
    };
    let upload = [
        AddToolRequest { message: Some(add_tool_request::Message::Header(tool)) },
        AddToolRequest { message: Some(add_tool_request::Message::Chunk(chunk())) },
    ];
    let tool_id = scenes.add_tool(tokio_stream::iter(upload)).await?.into_inner().tool_id;

    // The haptic loop: one start, then a tick for each pose; at 1 kHz they need not wait for one another.
    let (requests, sent) = mpsc::channel(1);
    let start =
        TrackStart { scene_id: scene_id.clone(), tool_ids: vec![tool_id], ..Default::default() };
    requests.send(TrackRequest { message: Some(Message::Start(start)) }).await?;
    let mut answers = haptics.track(ReceiverStream::new(sent)).await?.into_inner();
    let [mut deepest_m, mut last_m] = [f64::INFINITY; 2];
    println!("tool at z   signed distance   contacts   time in the engine");
    for sequence in 1..=11 {
        let z = 0.061 - 0.001 * sequence.min(10) as f64;
        if sequence == 11 {
            // The tissue gives way: its topmost vertex goes down by 6 mm. The next tick sees it.
            let sparse = SparsePositions { vertices: vec![4], positions_m: vec![0., 0., 0.044] };
            let positions = Some(Positions::Sparse(sparse));
            let scene_id = scene_id.clone();
            let dent = DeformRequest { scene_id, tissue_id, sequence: 1, positions, hold: false };
            scenes.deform(tokio_stream::iter([dent])).await?.into_inner().message().await?;
        }
        let pose = Pose { position_m: Some(Vec3 { x: 0.0, y: 0.0, z }), orientation: None };
        let tools = vec![ToolPose { tool_id, pose: Some(pose), ..Default::default() }];
        let tick = Tick { sequence, tools, ..Default::default() };
        requests.send(TrackRequest { message: Some(Message::Tick(tick)) }).await?;
        let answer = answers.message().await?.ok_or("the server has ended the stream")?;
        if let Some(refusal) = answer.refusal {
            return Err(refusal.message.into());
        }
        let link = &answer.links[0];
        last_m = link.signed_distance_m;
        deepest_m = last_m.min(deepest_m);
        println!(
            "{:6.1} mm {:14.2} mm {:10} {:17.0} us",
            1e3 * z,
            1e3 * last_m,
            link.contacts.as_ref().map_or(0, |contacts| contacts.total),
            answer.compute_us,
        );
    }
    scenes.delete_scene(DeleteSceneRequest { scene_id }).await?;
    Ok([deepest_m, last_m])
}

fn mesh(scale_to_m: f64) -> MeshHeader {
    let vertices = CORNERS.len() as u32 / 3;
    let triangles = TRIANGLES.len() as u32 / 3;
    let source = Some(Source::Raw(RawMeshSize { vertices, triangles }));
    MeshHeader { scale_to_m, source, ..Default::default() }
}

fn chunk() -> MeshChunk {
    MeshChunk { positions: CORNERS.to_vec(), triangles: TRIANGLES.to_vec(), ..Default::default() }
}
