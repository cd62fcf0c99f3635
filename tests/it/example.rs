//! The example client against a server.

#[path = "../../examples/first_contact.rs"]
#[expect(dead_code, reason = "its main has an address of its own")]
mod first_contact;

use palpate::scene::Limits;

use crate::support::server::TestServer;

/// Two octahedra, 1 cm apart at first and 4 mm into each other at last: the way out is across a face.
#[tokio::test]
async fn first_contact_ends_as_deep_as_it_went() {
    let server = TestServer::empty(Limits::default()).await;
    let url = format!("http://{}", server.address);
    let distance_m = first_contact::touch(&url).await.expect("it touches");
    let depth_m = 0.004 / 3f64.sqrt();
    assert!((distance_m + depth_m).abs() < 1e-8, "{distance_m}");
    // It leaves nothing behind, so that it can be tried again.
    first_contact::touch(&url).await.expect("once more");
}
