//! The two ends of an open stream.

use tokio::sync::mpsc;
use tonic::Streaming;

/// Requests go in at one end, answers come out at the other.
pub struct Duplex<Q, A> {
    /// Requests; full when the transport does not take more.
    pub requests: mpsc::Sender<Q>,
    /// Answers.
    pub answers: Streaming<A>,
}
