//! The recorded performance: an instrument pressed into an organ that deforms and is cut, rendered.

use glam::{DVec3, Vec3};
use palpate::{
    geometry::MeshData,
    oracle::shapes,
    proto::{
        AddToolHeader, DeleteSceneRequest, EditTopologyRequest, FieldOptions, HoldTissueRequest,
        LinkHeader, Probe, RemoveToolRequest, RenderOptions, RenderState, ReportOptions, Tick,
        TrackMode, TrackRequest, TrackStart,
    },
};

use crate::support::{
    meshes::wire,
    messages::{
        SCENE, holding, sparse, start, start_message, tick_message, tissue_upload, tool_at,
        tool_head, tool_piece, vec3,
    },
    server::{HandFed, TestServer},
};

/// Field tolerance, metres: coarse fields are built fast.
const FIELD_TOLERANCE_M: f64 = 0.002;
const TRIANGLES: u32 = 600;
pub const TICKS: u64 = 48;

/// An instrument, by the number of its links.
#[derive(Clone, Copy, Debug)]
pub enum Instrument {
    Probe,
    Pliers,
    Grasper,
}

impl Instrument {
    pub const ALL: [Instrument; 3] = [Instrument::Probe, Instrument::Pliers, Instrument::Grasper];

    pub fn name(self) -> &'static str {
        match self {
            Instrument::Probe => "probe",
            Instrument::Pliers => "pliers",
            Instrument::Grasper => "grasper",
        }
    }

    /// Links of the instrument; their lowest point is the origin.
    fn links(self) -> Vec<(&'static str, MeshData)> {
        let jaw = |x: f32| {
            let mut jaw = shapes::capsule(0.0015, 0.008, 6);
            jaw.positions.iter_mut().for_each(|p| *p += Vec3::new(x, 0.0, -0.008));
            jaw
        };
        let jaws = [("left", jaw(-0.004)), ("right", jaw(0.004))];
        let shaft = ("shaft", shapes::capsule(0.003, 0.015, 8));
        let mut links = match self {
            Instrument::Probe => vec![shaft],
            Instrument::Pliers => jaws.into(),
            Instrument::Grasper => [shaft].into_iter().chain(jaws).collect(),
        };
        let all = links.iter().flat_map(|(_, link)| &link.positions);
        let lowest = all.map(|p| p.z).min_by(f32::total_cmp).expect("they have vertices");
        let positions = links.iter_mut().flat_map(|(_, link)| &mut link.positions);
        positions.for_each(|p| p.z -= lowest);
        links
    }
}

fn organ() -> MeshData {
    shapes::organ(TRIANGLES, 7)
}

/// Adds tissue 1 and tool 1 to the existing [`SCENE`].
pub async fn furnish(server: &mut TestServer, instrument: Instrument) {
    server.add_tissue(tissue_upload("organ", &wire(&organ()))).await.expect("tissue 1");
    let links: Vec<_> = instrument.links().into_iter().map(|(n, m)| (n, wire(&m))).collect();
    let link = |(name, mesh): &(&str, _)| LinkHeader {
        name: (*name).to_owned(),
        mesh: Some(crate::support::meshes::Mesh::header(mesh)),
        rest_pose: None,
        field: Some(FieldOptions { tolerance_m: FIELD_TOLERANCE_M }),
    };
    let header = AddToolHeader {
        scene_id: SCENE.to_owned(),
        name: instrument.name().to_owned(),
        links: links.iter().map(link).collect(),
        probes: vec![Probe {
            name: "tip".to_owned(),
            link: 0,
            position_m: Some(vec3(0.0, 0.0, 0.0)),
            radius_m: 0.001,
        }],
    };
    let mut upload = vec![tool_head(header)];
    for ((_, mesh), at) in links.iter().zip(0..) {
        let mut chunk = mesh.chunk();
        chunk.link = at;
        upload.push(tool_piece(chunk));
    }
    server.add_tool(upload).await.expect("tool 1");
}

/// Starts a rendered loop that answers each tick.
pub fn rendered() -> TrackStart {
    let report = ReportOptions { max_contacts: 3, ..ReportOptions::default() };
    let render = RenderOptions { tool_id: 1, tissue_loads: true, ..RenderOptions::default() };
    TrackStart { report: Some(report), render: vec![render], ..start(TrackMode::Every) }
}

/// A tick with the tool's lowest point `height_m` above the organ's top.
pub fn at(sequence: u64, height_m: f64) -> Tick {
    let top = top();
    let place = vec3(top.x, top.y, top.z + height_m);
    Tick { sequence, tools: vec![tool_at(place)], ..Tick::default() }
}

fn top() -> DVec3 {
    let organ = organ();
    let of = organ.positions.iter().max_by(|a, b| a.z.total_cmp(&b.z));
    of.expect("it has vertices").as_dvec3()
}

/// Lowers the vertices about the top by at most `depth_m`.
pub fn dent(sequence: u64, depth_m: f32) -> palpate::proto::DeformRequest {
    let (organ, top) = (organ(), top().as_vec3());
    let near = |p: &Vec3| (1.0 - p.distance_squared(top) / 9e-4).max(0.0);
    let moved = organ.positions.iter().zip(0..).filter(|(p, _)| near(p) > 0.0);
    let (mut vertices, mut positions) = (Vec::new(), Vec::new());
    for (p, v) in moved {
        vertices.push(v);
        positions.extend((*p - Vec3::Z * (depth_m * near(p))).to_array());
    }
    sparse(sequence, &vertices, &positions)
}

/// Moves all vertices away from the top's axis by at most `by_m`.
pub fn swelling(sequence: u64, by_m: f32) -> palpate::proto::DeformRequest {
    let (organ, top) = (organ(), top().as_vec3());
    let moved = |p: &Vec3| *p + by_m * ((*p - top) * Vec3::new(1.0, 1.0, 0.0)).normalize_or_zero();
    let positions: Vec<f32> = organ.positions.iter().flat_map(|p| moved(p).to_array()).collect();
    let vertices: Vec<u32> = (0..organ.positions.len() as u32).collect();
    sparse(sequence, &vertices, &positions)
}

/// Removes the triangle nearest to the top.
fn cut() -> EditTopologyRequest {
    let (organ, top) = (organ(), top().as_vec3());
    let far = |t: &[u32; 3]| {
        t.iter().map(|v| organ.positions[*v as usize].distance_squared(top)).sum::<f32>()
    };
    let nearest = (0..).zip(&organ.triangles).min_by(|a, b| far(a.1).total_cmp(&far(b.1)));
    EditTopologyRequest {
        scene_id: SCENE.to_owned(),
        tissue_id: 1,
        removed_triangles: vec![nearest.expect("it has triangles").0],
        ..EditTopologyRequest::default()
    }
}

/// Presses, dents, cuts, holds, sends a tick that is refused, and removes the tool. Returns the states of the proxy.
pub async fn play(server: &mut TestServer) -> Vec<RenderState> {
    let mut track = server.hand_fed(start_message(rendered())).await;
    let mut states = Vec::new();
    for i in 1..=TICKS {
        let t = i as f64 / TICKS as f64;
        match i % 12 {
            4 => assert!(server.deform(vec![dent(i, 0.002 * t as f32)]).await[0].is_ok()),
            8 => assert!(server.deform(vec![holding(dent(i, 0.003))]).await[0].is_ok()),
            _ => {}
        }
        if i == TICKS / 2 {
            server.scenes.edit_topology(cut()).await.expect("a good cut");
            let hold = HoldTissueRequest { scene_id: SCENE.to_owned(), tissue_id: 1 };
            server.scenes.hold_tissue(hold).await.expect("there");
        }
        let bent = 4.0 * t * (1.0 - t);
        let answer = ask(&mut track, at(i, 0.004 - 0.009 * bent)).await;
        states.push(answer.renderings[0].state());
    }
    let mut bad = at(TICKS + 1, f64::NAN);
    assert!(ask(&mut track, bad.clone()).await.refusal.is_some());
    let remove = RemoveToolRequest { scene_id: SCENE.to_owned(), tool_id: 1 };
    server.scenes.remove_tool(remove).await.expect("there");
    bad = at(TICKS + 1, 0.0);
    assert!(ask(&mut track, bad).await.refusal.is_some());
    states
}

/// Sends [`TICKS`] ticks at once, in a loop that answers the newest.
pub async fn burst(server: &mut TestServer) {
    let first = start_message(TrackStart { mode: TrackMode::Latest.into(), ..rendered() });
    let ticks = (1..=TICKS).map(|i| tick_message(at(i, 0.004 - 0.0002 * i as f64)));
    let all: Vec<TrackRequest> = [first].into_iter().chain(ticks).collect();
    let answers = server.track(all).await;
    assert!(answers.iter().all(Result::is_ok), "{answers:?}");
}

async fn ask(track: &mut HandFed, tick: Tick) -> palpate::proto::TrackResponse {
    track.ask(tick_message(tick)).await.expect("answered")
}

/// Deletes the scene, which ends its recording.
pub async fn end(server: &mut TestServer) {
    let request = DeleteSceneRequest { scene_id: SCENE.to_owned() };
    server.scenes.delete_scene(request).await.expect("there");
}
