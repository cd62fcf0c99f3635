//! A client that sends a deadline and waits for the server's decision.

use std::net::SocketAddr;

use http::{Request, Response};
use hyper::{body::Incoming, client::conn::http2::handshake};
use hyper_util::rt::{TokioExecutor, TokioIo};
use palpate::proto::scene_service_client::SceneServiceClient;
use tokio::net::TcpStream;
use tonic::body::Body;
use tower::{service_fn, util::BoxService};

/// The scene service, over a separate connection.
// tonic's own channel also ends a call by its own clock, which would hide the server's answer.
pub async fn untimed(
    address: SocketAddr,
) -> SceneServiceClient<BoxService<Request<Body>, Response<Incoming>, hyper::Error>> {
    let stream = TcpStream::connect(address).await.expect("it listens");
    let (sender, connection) =
        handshake(TokioExecutor::new(), TokioIo::new(stream)).await.expect("HTTP/2");
    tokio::spawn(connection);
    let call = service_fn(move |request| {
        let mut sender = sender.clone();
        async move { sender.send_request(request).await }
    });
    let origin = format!("http://{address}").parse().expect("an address");
    SceneServiceClient::with_origin(BoxService::new(call), origin)
}
