//! A device in a scene: a hand presses a tool into a tissue, feels it, and feels the tissue give way.
//!
//! `cargo run --release --example first_contact`, with `cargo run --release -- serve` in another terminal.

use std::time::Duration;

use palpate::{
    client::{Client, ClientError, LinkUpload, ServerAddress, mesh_source::MeshSource},
    geometry::{MeshData, Pose},
    proto::RenderOptions,
};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let [pressed_n, dented_n] = touch("127.0.0.1:7447").await?;
    println!("{pressed_n:.2} N at 3 mm, {dented_n:.2} N after the tissue gave way");
    Ok(())
}

/// Presses 3 mm deep, and lets the tissue give way by 2 mm. Returns the felt forces before and after, newtons.
pub async fn touch(server: &str) -> Result<[f64; 2], ClientError> {
    let mut client = Client::connect(&ServerAddress::new(server)).await?;
    client.create_scene("first-contact").await?;
    // A slab of 10 cm whose top is at 0, and a tip of 5 mm. Any mesh will do, also a file: `add_tissue_file`.
    let slab = MeshSource::Raw(slab(0.1, 0.02));
    let tissue = client.add_tissue("first-contact", "slab", &slab).await?.tissue_id;
    let tip = MeshSource::Raw(octahedron(0.005));
    let tip = LinkUpload::new("tip", tip);
    let tool_id = client.add_tool("first-contact", "probe", &[tip], &[]).await?.tool_id;

    // The loop has a thread of its own. `device` belongs on the device's: `servo` never waits for the server.
    let render = RenderOptions { tool_id, stiffness_n_per_m: 300.0, ..RenderOptions::default() };
    let (haptics, mut device) = client.hold("first-contact", render).await?;
    let mut hold = async |z: f64, seconds: f64| {
        let mut felt_n = 0.0;
        for _ in 0..(seconds * 1e3) as u32 {
            let pose = Pose { translation: [0.0, 0.0, z].into(), ..Pose::IDENTITY };
            felt_n = device.servo(&pose, 1e-3).force_n.length();
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        haptics.check().map(|()| felt_n)
    };
    hold(0.006, 0.1).await?;
    let pressed_n = hold(0.002, 0.5).await?;
    // The top gives way by 2 mm.
    let mut deformations = client.deformations("first-contact").await?;
    let top = [[-0.05, -0.05], [0.05, -0.05], [0.05, 0.05], [-0.05, 0.05]];
    let top = top.map(|[x, y]| [x, y, -0.002]).concat();
    deformations.move_some(tissue, vec![0, 1, 2, 3], top).await?;
    let dented_n = hold(0.002, 0.5).await?;
    client.delete_scene("first-contact").await?;
    Ok([pressed_n, dented_n])
}

/// Triangles are counter-clockwise seen from outside.
fn slab(width_m: f32, height_m: f32) -> MeshData {
    let w = 0.5 * width_m;
    let around = [[-w, -w], [w, -w], [w, w], [-w, w]];
    let level = |z: f32| around.map(|[x, y]| [x, y, z].into());
    let positions = [level(0.0), level(-height_m)].concat();
    let top_and_bottom = [[0, 1, 2], [0, 2, 3], [4, 6, 5], [4, 7, 6]];
    let side = |i: u32, j: u32| [[i + 4, j + 4, j], [i + 4, j, i]];
    let sides = [side(0, 1), side(1, 2), side(2, 3), side(3, 0)].concat();
    MeshData { positions, triangles: [&top_and_bottom[..], &sides].concat() }
}

fn octahedron(radius_m: f32) -> MeshData {
    let corners = [[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]];
    let positions = corners.map(|corner| corner.map(|x| x as f32 * radius_m).into());
    let upper = [[0, 2, 4], [2, 1, 4], [1, 3, 4], [3, 0, 4]];
    let lower = [[2, 0, 5], [1, 2, 5], [3, 1, 5], [0, 3, 5]];
    MeshData { positions: positions.to_vec(), triangles: [upper, lower].concat() }
}
