//! Requests to an object store on threads of its own, for callers that block on another thread.

use std::{
    io,
    sync::{Arc, mpsc::sync_channel},
};

use bytes::Bytes;
use object_store::path::Path;
use tokio::runtime::{Builder, Runtime};

use super::object_client::{ObjectClient, RequestFailure};

/// Object store client for blocking callers.
#[derive(Debug)]
pub(super) struct ObjectRequests {
    client: Arc<ObjectClient>,
    /// Runtime of the requests; `None` once it is dropped.
    runtime: Option<Runtime>,
}

/// Threads for encryption and checksums; waiting for the network needs none.
const THREADS: usize = 2;
/// Maximum concurrent requests of one caller.
const AT_ONCE: usize = 32;
impl ObjectRequests {
    /// Starts the threads; `of_thread` runs at the start of each of them.
    ///
    /// # Errors
    /// Returns an error if no thread can be started.
    pub(super) fn start(client: ObjectClient, of_thread: fn()) -> io::Result<ObjectRequests> {
        let mut runtime = Builder::new_multi_thread();
        runtime.worker_threads(THREADS).thread_name("objects").on_thread_start(of_thread);
        let runtime = Some(runtime.enable_all().build()?);
        Ok(ObjectRequests { client: Arc::new(client), runtime })
    }

    /// Returns the client, for further kinds of requests.
    pub(super) fn client(&self) -> Arc<ObjectClient> {
        Arc::clone(&self.client)
    }

    /// Waits for a request, on any thread but the runtime's own.
    pub(super) fn wait<T: Send + 'static>(
        &self,
        request: impl Future<Output = Result<T, RequestFailure>> + Send + 'static,
    ) -> io::Result<T> {
        // Uses a channel instead of the runtime's own wait, which refuses callers on another runtime's threads.
        let (done, waited) = sync_channel(1);
        let runtime = self.runtime.as_ref().expect("until it is dropped");
        runtime.spawn(async move { drop(done.send(request.await)) });
        let within = |_| io::Error::new(io::ErrorKind::TimedOut, "a request failed within");
        let answered = waited.recv().map_err(within)?;
        answered.map_err(RequestFailure::into_io)
    }

    pub(super) fn put_new(&self, at: Path, bytes: Bytes) -> io::Result<bool> {
        let client = Arc::clone(&self.client);
        self.wait(async move { client.put_new(&at, bytes).await })
    }

    /// Runs many requests concurrently and returns their results in order.
    pub(super) fn wait_all<T, F>(&self, requests: Vec<F>) -> io::Result<Vec<T>>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, RequestFailure>> + Send + 'static,
    {
        self.wait(async move {
            let (mut done, mut requests) =
                (Vec::with_capacity(requests.len()), requests.into_iter());
            loop {
                let under_way: Vec<_> = requests.by_ref().take(AT_ONCE).map(tokio::spawn).collect();
                if under_way.is_empty() {
                    return Ok(done);
                }
                for request in under_way {
                    let answered = request.await.map_err(|panicked| {
                        RequestFailure::Refused(io::Error::other(panicked.to_string()))
                    });
                    done.push(answered??);
                }
            }
        })
    }
}

impl Drop for ObjectRequests {
    fn drop(&mut self) {
        // The last owner may be dropped on a runtime's thread, which must not block.
        self.runtime.take().into_iter().for_each(Runtime::shutdown_background);
    }
}
