//! Replays recorded poses in lock-step without the C library, and writes the wrenches: the reference for every
//! language. With a further file it also writes the wrenches that the server renders by itself, without a servo, for
//! clients that have none, and with the server's wrenches, to OUT.found, all that its answers have of contacts.
//!
//! `replay FOLDER OUT [HOST:PORT [RENDERED]]`

use std::{
    error::Error,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use glam::{DQuat, DVec3};
use palpate::{
    client::{
        Client, ClientError, LoopOptions, ServerAddress,
        local_model::{on_the_wire, servo_options},
        mesh_source::MeshSource,
    },
    coupling::posture::Posture,
    geometry::Pose,
    proto,
    proxy::{RenderOptions, RenderedSession},
    scene::{
        Limits, Link, Scene, TissueOptions, ToolId, ToolParts,
        tick::{TickOptions, ToolPose},
        tool::field::default_field,
    },
    servo::{DevicePose, device_servo},
    time_left::TimeLeft,
};

const DT_S: f64 = 1e-3;
const FRICTION: f64 = 0.2;
/// Samples from one question for the nearest point to the next.
const ASKED_EVERY: usize = 50;
const HOLD_M: DVec3 = DVec3::new(0.0, 0.0, 0.03);

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut next = || arguments.next().ok_or("expected FOLDER OUT [HOST:PORT [RENDERED]]");
    let (folder, out) = (PathBuf::from(next()?), next()?);
    let poses = fs::read(folder.join("poses.bin"))?;
    let numbers: Vec<f64> =
        poses.as_chunks().0.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect();
    let poses: Vec<Pose> = numbers.chunks(7).map(pose).collect::<Option<_>>().ok_or("no pose")?;
    let Some(server) = arguments.next() else {
        return write(&out, &in_process(&folder, &poses)?);
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let (felt, found) = at_server(&folder, &poses, &server).await?;
        write(&out, &felt)?;
        write(&format!("{out}.found"), &found)?;
        match arguments.next() {
            None => Ok(()),
            Some(out) => write(&out, &by_the_server(&folder, &numbers, &server).await?),
        }
    })
}

fn write(file: &str, felt: &[f64]) -> Result<(), Box<dyn Error>> {
    Ok(fs::write(file, felt.iter().flat_map(|n| n.to_le_bytes()).collect::<Vec<u8>>())?)
}

fn pose(numbers: &[f64]) -> Option<Pose> {
    Pose::new(DQuat::from_slice(&numbers[3..]), DVec3::from_slice(numbers))
}

fn in_process(folder: &Path, poses: &[Pose]) -> Result<Vec<f64>, Box<dyn Error>> {
    let scene = Arc::new(Scene::new("replay".to_owned(), Limits::default()));
    let (_, organ) = MeshSource::open(&folder.join("organ.obj"), 1.0)?;
    scene.add_tissue("organ", organ, TissueOptions::default(), 0)?;
    let (_, rod) = MeshSource::open(&folder.join("tool.obj"), 1.0)?;
    let link = Link::new("tool".to_owned(), rod, Pose::IDENTITY, default_field);
    let parts = ToolParts { name: "tool".to_owned(), links: vec![link], probes: Vec::new() };
    let tool = scene.add_tool(parts)?.id;
    let render = RenderOptions {
        friction: FRICTION,
        hold_point_m: HOLD_M,
        local_model: true,
        ..RenderOptions::of(tool)
    };
    let mut session = RenderedSession::new(scene, &[tool], TickOptions::default(), &[render])?;
    let (mut servo, mut feed) = device_servo(servo_options(&asked(tool)))?;
    let mut felt = Vec::new();
    for (at, at_ns, sequence) in samples(poses) {
        let tool_pose =
            ToolPose { tool, scene_from_tool: *at, tool_from_link: Vec::new(), teleport: false };
        session.tick(sequence, &[tool_pose], at_ns, &TimeLeft::endless())?;
        // A proxy that has not arrived has no model: the servo continues with the last one.
        if let Some(model) = session.renderings().next().and_then(|r| r.local_model.as_ref()) {
            feed.give(model, at_ns);
        }
        felt.extend(wrench(&mut servo, at, at_ns));
    }
    Ok(felt)
}

async fn at_server(
    folder: &Path,
    poses: &[Pose],
    server: &str,
) -> Result<(Vec<f64>, Vec<f64>), Box<dyn Error>> {
    let (mut client, scene_id, tool) = scene_at(folder, server).await?;
    let render = asked(ToolId(tool));
    let (mut servo, feed) = device_servo(servo_options(&render))?;
    let options = LoopOptions { device: Some(feed), rate_hz: 0.0, ..LoopOptions::default() };
    let haptics = client.haptics_with(start(&scene_id, render), options).await?;
    let (mut felt, mut told) = (Vec::new(), Vec::new());
    for (n, (at, at_ns, _)) in samples(poses).enumerate() {
        let pose = Some(on_the_wire(at));
        let sent = proto::ToolPose { tool_id: tool, pose, ..Default::default() };
        let answer = haptics.wait(haptics.send_at(vec![sent], at_ns)?).await?;
        felt.extend(wrench(&mut servo, at, at_ns));
        found(&answer, &mut told);
        if n % ASKED_EVERY == 0 {
            let request = proto::QueryDistancesRequest {
                scene_id: scene_id.clone(),
                target: Some(proto::query_distances_request::Target::AllTissues(true)),
                points_xyz_m: at.translation.to_array().to_vec(),
                max_distance_m: 0.0,
            };
            let near = client.query_distances(request).await?;
            told.extend([near.tissue_ids[0], near.triangle_ids[0]].map(f64::from));
            for xyz in [&near.barycentric_xyz, &near.closest_xyz_m, &near.normal_xyz] {
                told.extend(xyz.iter().map(|n| f64::from(*n)));
            }
            told.extend([near.signed_distance_m[0], near.sign_certainty[0].into()]);
        }
    }
    client.delete_scene(&scene_id).await?;
    Ok((felt, told))
}

/// Adds all that an answer has of contacts, as the other languages' programs write it.
fn found(answer: &proto::TrackResponse, to: &mut Vec<f64>) {
    fn wide(xyz: &[f32], i: usize) -> impl Iterator<Item = f64> {
        xyz[3 * i..3 * i + 3].iter().map(|n| f64::from(*n))
    }
    let [link] = &answer.links[..] else { panic!("one link") };
    let sent = link.contacts.clone().unwrap_or_default();
    to.push(sent.contact_ids.len() as f64);
    for (i, id) in sent.contact_ids.iter().enumerate() {
        to.push(*id as f64);
        to.extend([sent.tissue_ids[i], sent.triangle_ids[i]].map(f64::from));
        to.extend([link.link, sent.link_triangle_ids[i]].map(f64::from));
        for xyz in [
            &sent.barycentric_xyz,
            &sent.link_barycentric_xyz,
            &sent.on_tissue_xyz_m,
            &sent.on_tool_xyz_m,
            &sent.normal_xyz,
        ] {
            to.extend(wide(xyz, i));
        }
        to.push(sent.signed_distance_m[i].into());
        to.push(sent.toi.get(i).map_or(-1.0, |toi| (*toi).into()));
        let began = sent.states[i] == i32::from(proto::ContactState::Begin);
        let is = |marks: &[bool]| marks.get(i).copied().unwrap_or_default();
        let flags = [began, is(&sent.forbidden), is(&sent.wholly_inside)];
        to.push(flags.iter().enumerate().map(|(bit, set)| f64::from(u8::from(*set) << bit)).sum());
    }
    let (on_tissue, on_tool) =
        (link.on_tissue.unwrap_or_default(), link.on_tool.unwrap_or_default());
    to.extend([link.tissue_id, on_tissue.triangle_id, link.link].map(f64::from));
    to.push(on_tool.triangle_id.into());
    for v in [
        on_tissue.barycentric,
        on_tool.barycentric,
        on_tissue.position_m,
        on_tool.position_m,
        link.normal,
    ] {
        let proto::Vec3 { x, y, z } = v.unwrap_or_default();
        to.extend([x, y, z]);
    }
    to.push(link.signed_distance_m);
    to.push(link.lower_bound_m.unwrap_or(link.signed_distance_m));
    to.extend([link.sign_certainty, link.depth_max_m.unwrap_or_default()]);
    to.push(link.contacts.as_ref().map_or(0.0, |contacts| contacts.total.into()));
    let flags = [link.is_lower_bound, link.is_cut_short];
    to.push(flags.iter().enumerate().map(|(bit, set)| f64::from(u8::from(*set) << bit)).sum());
    let pairs = link.feature_pairs.clone().unwrap_or_default();
    to.push(pairs.tissue_ids.len() as f64);
    for (i, tissue) in pairs.tissue_ids.iter().enumerate() {
        to.extend([f64::from(*tissue), link.link.into(), pairs.kinds[i].into()]);
        to.extend(pairs.vertex_ids[4 * i..4 * i + 4].iter().map(|id| f64::from(*id)));
        to.extend(pairs.weights[4 * i..4 * i + 4].iter().map(|w| f64::from(*w)));
        to.push(pairs.distance_m[i].into());
        to.extend(wide(&pairs.normal_xyz, i));
    }
}

/// Sends poses as recorded: a quaternion converted to a matrix and back may differ in its last bit.
async fn by_the_server(
    folder: &Path,
    numbers: &[f64],
    server: &str,
) -> Result<Vec<f64>, Box<dyn Error>> {
    let (mut client, scene_id, tool) = scene_at(folder, server).await?;
    // The server's rate limit uses its own clock, which differs between runs: these rates are never reached.
    let render = proto::RenderOptions {
        max_force_rate_n_per_s: 1e6,
        max_torque_rate_nm_per_s: 1e5,
        ..asked(ToolId(tool))
    };
    let haptics = client.haptics_with(start(&scene_id, render), LoopOptions::default()).await?;
    let mut felt = Vec::new();
    for at in numbers.chunks(7) {
        let pose = proto::Pose {
            position_m: Some(proto::Vec3 { x: at[0], y: at[1], z: at[2] }),
            orientation: Some(proto::Quaternion { x: at[3], y: at[4], z: at[5], w: at[6] }),
        };
        let answer = haptics.tick(&[(tool, pose)]).await?;
        let rendering = answer.renderings.first().ok_or("an answer without a rendering")?;
        for v in [rendering.force_n, rendering.torque_nm] {
            let v = v.ok_or("a rendering without a wrench")?;
            felt.extend([v.x, v.y, v.z]);
        }
    }
    client.delete_scene(&scene_id).await?;
    Ok(felt)
}

async fn scene_at(folder: &Path, server: &str) -> Result<(Client, String, u32), ClientError> {
    let mut client = Client::connect(&ServerAddress::new(server)).await?;
    let scene_id = "replay-rust".to_owned();
    client.create_scene(&scene_id).await?;
    client.add_tissue_file(&scene_id, "organ", folder.join("organ.obj"), 1.0).await?;
    let tool = client.add_tool_file(&scene_id, "tool", folder.join("tool.obj"), 1.0).await?;
    Ok((client, scene_id, tool))
}

fn start(scene_id: &str, render: proto::RenderOptions) -> proto::TrackStart {
    proto::TrackStart {
        scene_id: scene_id.to_owned(),
        tool_ids: vec![render.tool_id],
        mode: proto::TrackMode::Every.into(),
        render: vec![render],
        report: Some(proto::ReportOptions {
            feature_pairs: true,
            link_barycentrics: true,
            ..Default::default()
        }),
        ..Default::default()
    }
}

fn asked(tool: ToolId) -> proto::RenderOptions {
    let hold_point_m = Some(proto::Vec3 { x: HOLD_M.x, y: HOLD_M.y, z: HOLD_M.z });
    proto::RenderOptions {
        tool_id: tool.0,
        friction: FRICTION,
        hold_point_m,
        local_model: true,
        tissue_loads: true,
        ..Default::default()
    }
}

/// Returns each pose with its time in nanoseconds and its number.
fn samples(poses: &[Pose]) -> impl Iterator<Item = (&Pose, u64, u64)> {
    let mut time_s = 0.0;
    poses.iter().zip(1..).map(move |(at, sequence)| {
        time_s += DT_S;
        (at, (time_s * 1e9_f64).round() as u64, sequence)
    })
}

fn wrench(servo: &mut palpate::servo::DeviceServo, at: &Pose, at_ns: u64) -> [f64; 6] {
    let posture = Posture { scene_from_tool: *at, ..Posture::AT_ORIGIN };
    let felt = servo.step(&DevicePose { posture, n_links: 0, at_ns }, DT_S);
    let ([a, b, c], [d, e, f]) = (felt.force_n.to_array(), felt.torque_nm.to_array());
    [a, b, c, d, e, f]
}
