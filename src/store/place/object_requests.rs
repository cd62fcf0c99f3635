//! Makes requests on threads of its own, for whoever waits on another.

use std::{
    io,
    sync::{Arc, mpsc::sync_channel},
};

use bytes::Bytes;
use object_store::path::Path;
use tokio::runtime::{Builder, Runtime};

use super::object_client::{ObjectClient, RequestFailure};

/// An object store, asked from threads that wait.
#[derive(Debug)]
pub(super) struct ObjectRequests {
    client: Arc<ObjectClient>,
    /// `None` once it is dropped.
    runtime: Option<Runtime>,
}

/// Encryption and checksums of what is under way; the waits are the network's.
const THREADS: usize = 2;
/// Requests of one caller that are under way together.
const AT_ONCE: usize = 32;
impl ObjectRequests {
    /// `of_thread` runs at the start of each of its threads.
    ///
    /// # Errors
    /// When there are no threads.
    pub(super) fn start(client: ObjectClient, of_thread: fn()) -> io::Result<ObjectRequests> {
        let mut runtime = Builder::new_multi_thread();
        runtime.worker_threads(THREADS).thread_name("objects").on_thread_start(of_thread);
        let runtime = Some(runtime.enable_all().build()?);
        Ok(ObjectRequests { client: Arc::new(client), runtime })
    }

    /// For requests of one's own.
    pub(super) fn client(&self) -> Arc<ObjectClient> {
        Arc::clone(&self.client)
    }

    /// Waits for a request, on any thread but its own.
    pub(super) fn wait<T: Send + 'static>(
        &self,
        request: impl Future<Output = Result<T, RequestFailure>> + Send + 'static,
    ) -> io::Result<T> {
        // A channel, and not the runtime's own wait, which would not have callers on another runtime's threads.
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

    /// Many at once, in their order.
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
        // The last one may be dropped on a runtime's thread, which must not wait.
        self.runtime.take().into_iter().for_each(Runtime::shutdown_background);
    }
}
