//! Runs the example client against a server.

#[path = "../../examples/first_contact.rs"]
#[expect(dead_code, reason = "its main has an address of its own")]
mod first_contact;
#[path = "../../examples/touch.rs"]
#[expect(dead_code, reason = "its main has an address of its own")]
mod touch;

use palpate::scene::Limits;

use crate::support::{folder::Folder, meshes::octahedron, server::TestServer};

/// Forces at 3 mm in the slab, then at 1 mm: the spring of 300 N/m, and the proxy's stand-off of 20 um.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn first_contact_is_felt_as_it_should() {
    let server = TestServer::empty(Limits::default()).await;
    let address = server.address.to_string();
    let [pressed_n, dented_n] = first_contact::touch(&address).await.expect("it touches");
    assert!((pressed_n - 300.0 * 0.003_02).abs() < 1e-6, "{pressed_n}");
    // A tissue that has moved once is assumed to move on for a while: by 2 mm in the 0.6 s before, for the lifetime of
    // a model, 0.1 s.
    let moves_on_n = 300.0 * (0.002 / 0.6) * 0.1;
    assert!((dented_n - 300.0 * 0.001_02).abs() < moves_on_n, "{dented_n}");
    // The example leaves nothing behind, so that it can be run again.
    first_contact::touch(&address).await.expect("once more");
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
    assert!(include_str!("../../clients/README.md").contains(&client), "it has not:\n{client}");
    assert!(client.lines().count() <= 21, "it is longer than a reader is promised");
}
