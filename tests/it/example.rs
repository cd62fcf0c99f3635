//! The example client against a server.

#[path = "../../examples/first_contact.rs"]
#[expect(dead_code, reason = "its main has an address of its own")]
mod first_contact;
#[path = "../../examples/touch.rs"]
#[expect(dead_code, reason = "its main has an address of its own")]
mod touch;

use palpate::scene::Limits;

use crate::support::{folder::Folder, meshes::octahedron, server::TestServer};

/// Two octahedra, 1 cm apart at first and 4 mm into each other then: the way out is across a face. At last the tissue's
/// top is 2 mm below the tool's tip.
#[tokio::test]
async fn first_contact_goes_as_deep_as_it_should() {
    let server = TestServer::empty(Limits::default()).await;
    let url = format!("http://{}", server.address);
    let [deepest_m, last_m] = first_contact::touch(&url).await.expect("it touches");
    let depth_m = 0.004 / 3f64.sqrt();
    assert!((deepest_m + depth_m).abs() < 1e-8, "{deepest_m}");
    assert!((last_m - 0.002).abs() < 1e-8, "{last_m}");
    // It leaves nothing behind, so that it can be tried again.
    first_contact::touch(&url).await.expect("once more");
}

/// Two octahedra of 5 cm and 5 mm meet tip to tip, 55 mm apart.
#[tokio::test]
async fn the_readme_s_client_finds_where_the_tool_touches() {
    let server = TestServer::empty(Limits::default()).await;
    let folder = Folder::new("touch");
    let file = |name: &str, radius: f32| {
        let obj = String::from_utf8(octahedron(radius).obj()).expect("ASCII");
        folder.write(name, &obj).to_str().expect("UTF-8").to_owned()
    };
    let (organ, instrument) = (file("organ.obj", 0.05), file("instrument.obj", 0.005));
    let z = touch::touch(&server.address.to_string(), &organ, &instrument).await.expect("it ends");
    assert!((z - 0.055).abs() < 2e-5, "{z}");
}

#[test]
fn the_readme_shows_the_client_that_is_run() {
    let example = include_str!("../../examples/touch.rs");
    let (_, client) = example.split_once("pub async fn touch").expect("a function");
    let client = format!("pub async fn touch{}", client.trim_end());
    assert!(include_str!("../../README.md").contains(&client), "README.md has not:\n{client}");
    assert!(client.lines().count() <= 21, "it is longer than a reader is promised");
}
