//! A client's requests, until the server ends.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use tokio_stream::Stream;
use tonic::Status;

use crate::service::host::{scene_life::ServerLife, scene_registry::SceneRegistry};
use crate::service::notifier::Subscription;

/// Yields requests, and an error in place of the next one if the server ends while it is awaited.
pub struct UntilEnded<S> {
    requests: S,
    life: ServerLife,
    subscription: Arc<Subscription>,
}

impl<S> UntilEnded<S> {
    /// Creates a stream that continues as long as the server of `registry`.
    pub fn new(registry: &SceneRegistry, requests: S) -> UntilEnded<S> {
        let life = registry.life();
        UntilEnded { requests, subscription: life.subscribe(), life }
    }
}

impl<T, S: Stream<Item = Result<T, Status>> + Unpin> Stream for UntilEnded<S> {
    type Item = Result<T, Status>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Poll::Ready(next) = Pin::new(&mut self.requests).poll_next(cx) {
            return Poll::Ready(next);
        }
        self.subscription.register(cx.waker());
        match self.life.check_served() {
            Ok(()) => Poll::Pending,
            Err(ended) => Poll::Ready(Some(Err(ended.into()))),
        }
    }
}
