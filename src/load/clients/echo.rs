//! A server that only echoes: it answers each tick at once, or after a given time on its core, with an answer of a
//! given size. Its round trip is the part of the real server's round trip that the transport and the machine take.

use std::{
    io::{self, Write},
    net::SocketAddr,
    pin::Pin,
    task::{Context, Poll, ready},
    time::{Duration, Instant},
};

use prost::Message as _;
use tokio::net::TcpListener;
use tokio_stream::{Iter, Stream};
use tonic::{
    Request, Response, Status, Streaming,
    transport::{Server, server::TcpIncoming},
};

use crate::{
    proto::{
        Contacts, DetectSelfCollisionsRequest, DetectSelfCollisionsResponse, LinkAnswer,
        QueryContactsRequest, QueryContactsResponse, QueryDistancesRequest, QueryDistancesResponse,
        TrackRequest, TrackResponse,
        haptic_service_server::{HapticService, HapticServiceServer},
        track_request::Message,
    },
    scene::limits::CONTACTS_MAX,
};

/// Serves on a free loopback port until the process is ended. The first line of stdout names the address.
///
/// # Errors
/// Returns an error if there is no port, or if the transport fails.
pub async fn serve(answer_bytes: usize, takes: Duration) -> io::Result<()> {
    let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).await?;
    let mut stdout = io::stdout();
    writeln!(stdout, "listening on {}", listener.local_addr()?)?;
    stdout.flush()?;
    // The real server sets it too. Without it small answers would wait for acknowledgements, and the echo would look
    // slow.
    let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
    let haptics = EchoHaptics { answer: answer_of(answer_bytes), takes };
    let haptics = HapticServiceServer::new(haptics);
    let served = Server::builder().add_service(haptics).serve_with_incoming(incoming).await;
    served.map_err(io::Error::other)
}

/// Returns an answer with contacts like the engine's, of about `bytes` encoded bytes.
fn answer_of(bytes: usize) -> TrackResponse {
    // No value is 0, and none is small if the engine's is not: numbers are varints, and a smaller number takes fewer
    // bytes.
    let answer = |n: usize| TrackResponse {
        sequence: 1,
        received_ns: u64::MAX / 2,
        links: vec![LinkAnswer {
            signed_distance_m: -0.001,
            contacts: Some(Contacts {
                total: n as u32,
                tissue_ids: vec![1; n],
                triangle_ids: vec![60_000; n],
                barycentric_xyz: vec![0.3; 3 * n],
                on_tissue_xyz_m: vec![0.1; 3 * n],
                on_tool_xyz_m: vec![0.1; 3 * n],
                normal_xyz: vec![0.5; 3 * n],
                signed_distance_m: vec![-0.001; n],
                link_triangle_ids: vec![300; n],
                contact_ids: vec![1_000; n],
                states: vec![2; n],
                toi: vec![-1.0; n],
                forbidden: Vec::new(),
                wholly_inside: Vec::new(),
                depth_max_m: Vec::new(),
                link_barycentric_xyz: Vec::new(),
            }),
            ..LinkAnswer::default()
        }],
        ..TrackResponse::default()
    };
    // The size grows with the number of contacts, so the first answer that does not fit ends the search.
    let fits = |n: &usize| answer(*n).encoded_len() <= bytes;
    answer((0..=CONTACTS_MAX).take_while(fits).last().unwrap_or(0))
}

struct EchoHaptics {
    answer: TrackResponse,
    takes: Duration,
}

/// The answers of one stream.
pub struct Echo {
    requests: Streaming<TrackRequest>,
    answer: TrackResponse,
    takes: Duration,
}

impl Stream for Echo {
    type Item = Result<TrackResponse, Status>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Echo { requests, answer, takes } = self.get_mut();
        loop {
            let Some(request) = ready!(Pin::new(&mut *requests).poll_next(cx)?) else {
                return Poll::Ready(None);
            };
            if let Some(Message::Tick(tick)) = request.message {
                let started = Instant::now();
                // The delay runs on the thread that polls the stream, where the real server computes its ticks as well.
                while started.elapsed() < *takes {
                    // The thread is busy, not asleep: the engine occupies its core as well.
                    std::hint::spin_loop();
                }
                let (sequence, client_time_ns) = (tick.sequence, tick.client_time_ns);
                let answer = TrackResponse { sequence, client_time_ns, ..answer.clone() };
                return Poll::Ready(Some(Ok(answer)));
            }
        }
    }
}

#[tonic::async_trait]
impl HapticService for EchoHaptics {
    type TrackStream = Echo;
    type DetectSelfCollisionsStream = Iter<std::iter::Empty<NoCollisions>>;

    async fn track(
        &self,
        request: Request<Streaming<TrackRequest>>,
    ) -> Result<Response<Echo>, Status> {
        let (answer, takes) = (self.answer.clone(), self.takes);
        Ok(Response::new(Echo { requests: request.into_inner(), answer, takes }))
    }

    async fn query_distances(
        &self,
        _: Request<QueryDistancesRequest>,
    ) -> Result<Response<QueryDistancesResponse>, Status> {
        Err(Status::unimplemented("an echo has no tissue"))
    }

    async fn query_contacts(
        &self,
        _: Request<QueryContactsRequest>,
    ) -> Result<Response<QueryContactsResponse>, Status> {
        Err(Status::unimplemented("an echo has no tissue"))
    }

    async fn detect_self_collisions(
        &self,
        _: Request<DetectSelfCollisionsRequest>,
    ) -> Result<Response<Self::DetectSelfCollisionsStream>, Status> {
        Err(Status::unimplemented("an echo has no tissue"))
    }
}

type NoCollisions = Result<DetectSelfCollisionsResponse, Status>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_of_the_size_that_was_asked_for() {
        for bytes in [100, 233, 1_582, 20_000] {
            let got = answer_of(bytes).encoded_len();
            // A contact takes less than 90 bytes.
            assert!(got <= bytes && got + 90 >= bytes, "{got} of {bytes} bytes");
        }
    }
}
