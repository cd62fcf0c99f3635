//! A scene that a hand presses on through the Rust client.

use glam::DVec3;
use palpate::{
    client::{Client, LinkUpload, ServerAddress, mesh_source::MeshSource},
    oracle::shapes,
};

/// Creates a scene with a slab whose top is at 0, and a ball of 1 cm.
pub async fn slab_and_ball(server: &ServerAddress, scene: &str) -> Client {
    let mut client = Client::connect(server).await.expect("it listens");
    client.create_scene(scene).await.expect("a scene");
    let mut slab = shapes::cuboid(DVec3::new(0.2, 0.2, 0.04));
    slab.positions.iter_mut().for_each(|p| p.z -= 0.02);
    client.add_tissue(scene, "slab", &MeshSource::Raw(slab)).await.expect("a slab");
    let ball = MeshSource::Raw(shapes::sphere(0.01, 6));
    client.add_tool(scene, "ball", &[LinkUpload::new("ball", ball)], &[]).await.expect("a ball");
    client
}
