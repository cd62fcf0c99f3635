//! An instrument comes down on an organ until it touches: the README's client.
//!
//! `cargo run --release --example touch -- liver.obj probe.obj`, with `cargo run --release -- serve` in another
//! terminal.

use palpate::{
    client::{Client, ClientError, ServerAddress},
    proto::{Pose, Vec3},
};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut files = std::env::args().skip(1);
    let mut file = || files.next().ok_or("expected two mesh files, in metres: a tissue and a tool");
    let z = touch("127.0.0.1:7447", &file()?, &file()?).await?;
    println!("the tool touches at {:.1} mm", 1e3 * z);
    Ok(())
}

/// Lowers the instrument along z by its distance. Returns the height at which it touches, metres.
pub async fn touch(server: &str, organ: &str, instrument: &str) -> Result<f64, ClientError> {
    let mut client = Client::connect(&ServerAddress::new(server)).await?;
    client.create_scene("theatre").await?;
    client.add_tissue_file("theatre", "organ", organ, 1.0).await?;
    let tool = client.add_tool_file("theatre", "instrument", instrument, 1.0).await?;
    let haptics = client.haptics("theatre", &[tool]).await?;
    let mut z = 0.3;
    loop {
        let position_m = Some(Vec3 { x: 0.0, y: 0.0, z });
        let answer = haptics.tick(&[(tool, Pose { position_m, orientation: None })]).await?;
        let link = &answer.links[0];
        println!("{:6.1} mm: {:6.2} mm away", 1e3 * z, 1e3 * link.signed_distance_m);
        if link.signed_distance_m < 1e-5 || z < -0.3 {
            client.delete_scene("theatre").await?;
            return Ok(z);
        }
        z -= link.signed_distance_m.max(1e-5);
    }
}
