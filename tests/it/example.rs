//! The example client against a server.

#[path = "../../examples/first_contact.rs"]
#[expect(dead_code, reason = "its main has an address of its own")]
mod first_contact;

use palpate::scene::Limits;

use crate::support::server::TestServer;

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
