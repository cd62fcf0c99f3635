//! Standard input as a sign of life of the program that started the server.

use std::{io, thread};

use tokio::sync::oneshot;
use tracing::error;

/// Completes when standard input closes, which the system does however the program at its other end ends. Input is
/// discarded.
pub async fn closed() {
    let (sender, closed) = oneshot::channel::<()>();
    // The thread is not joined: a read cannot be cancelled, and ends with the process.
    let read = move || {
        // An error means that there is no more input.
        let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
        drop(sender);
    };
    // A server that cannot watch its parent must not outlive it.
    if let Err(error) = thread::Builder::new().name("stdin".to_owned()).spawn(read) {
        error!("cannot watch standard input: {error}");
    }
    // Only the dropped sender completes it.
    let _ = closed.await;
}
