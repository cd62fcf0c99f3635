//! What happens to every call before and after its handler.

use std::{
    convert::Infallible,
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use http::{Request, Response};
use tonic::{Status, body::Body, server::NamedService};
use tower::{Layer, Service};

use super::{
    contain::{ContainedBody, contain_future},
    haptics::Haptics,
    proto::haptic_service_server::HapticServiceServer,
};
use crate::config::Transport;

/// Puts [`Calls`] around all services.
#[derive(Clone)]
pub struct CallLayer;

impl<S> Layer<S> for CallLayer {
    type Service = Calls<S>;

    fn layer(&self, inner: S) -> Calls<S> {
        Calls { inner }
    }
}

/// Keeps a handler's panic to its call, which is answered INTERNAL.
#[derive(Clone)]
pub struct Calls<S> {
    inner: S,
}

type Answer = Result<Response<Body>, Infallible>;
type Answering = Pin<Box<dyn Future<Output = Answer> + Send>>;

impl<S> Service<Request<Body>> for Calls<S>
where
    S: Service<Request<Body>, Response = Response<Body>, Error = Infallible>,
    S::Future: Send + 'static,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Answering;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<Body>) -> Answering {
        let answering = self.inner.call(request);
        Box::pin(async move {
            Ok(match contain_future(answering).await {
                Ok(answer) => answer?.map(ContainedBody::of),
                Err(panicked) => Status::from(panicked).into_http(),
            })
        })
    }
}

/// HapticService with a limit of its own for the messages of Track, which are small.
#[derive(Clone)]
pub struct HapticCalls {
    track: HapticServiceServer<Haptics>,
    queries: HapticServiceServer<Haptics>,
}

impl HapticCalls {
    /// Both limits as configured.
    pub fn new(haptics: Haptics, transport: &Transport) -> HapticCalls {
        let haptics = Arc::new(haptics);
        let limited = |bytes| {
            HapticServiceServer::from_arc(Arc::clone(&haptics)).max_decoding_message_size(bytes)
        };
        HapticCalls {
            track: limited(transport.track_message_bytes_max),
            queries: limited(transport.query_message_bytes_max),
        }
    }
}

impl NamedService for HapticCalls {
    const NAME: &'static str = HapticServiceServer::<Haptics>::NAME;
}

impl Service<Request<Body>> for HapticCalls {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Answering;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Answering {
        match request.uri().path().rsplit('/').next() {
            Some("Track") => self.track.call(request),
            _ => self.queries.call(request),
        }
    }
}
