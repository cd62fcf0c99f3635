//! Requests to an object store, each with a time limit, and repeated if a repetition is harmless.

use std::{error::Error as _, io, sync::Arc, time::Duration};

use bytes::Bytes;
use object_store::{
    Error, GetOptions, ListResult, ObjectStore, ObjectStoreExt as _, PutMode, PutPayload,
    client::{HttpError, HttpErrorKind},
    path::Path,
};
use tokio::time::{sleep, timeout};
use tokio_stream::StreamExt as _;

/// Object store client with time limits and retries.
#[derive(Debug)]
pub(super) struct ObjectClient {
    store: Arc<dyn ObjectStore>,
    /// Maximum time of a small request.
    request_max: Duration,
}

/// Reason why a request failed.
#[derive(Debug)]
pub(super) enum RequestFailure {
    /// The object does not exist.
    Missing(io::Error),
    /// The object exists although it must not, or another request for it was in progress.
    Taken(io::Error),
    /// The store refuses the request.
    Refused(io::Error),
    /// The request never reached the store.
    Unsent(io::Error),
    /// The outcome is unknown: the store may have done it, or may still do it.
    Lost(io::Error),
}

/// Maximum tries of a request. A healthy store loses a request now and then.
const TRIES: u32 = 3;
/// Pause before the first repetition; doubles before the next.
const PAUSE: Duration = Duration::from_millis(50);
/// Rate at which larger requests get more time: that of a 32 Mbit/s link. A journal's record may hold a whole mesh.
const BYTES_PER_SECOND: u64 = 4 << 20;
/// Factor of the time limit for operations on many objects, which take several requests.
const MANY_TIME: u32 = 4;

impl RequestFailure {
    fn of(error: Error) -> RequestFailure {
        let in_words = |kind, error: &Error| io::Error::new(kind, described(error));
        match &error {
            Error::NotFound { .. } => {
                RequestFailure::Missing(in_words(io::ErrorKind::NotFound, &error))
            }
            Error::AlreadyExists { .. } | Error::Precondition { .. } => {
                RequestFailure::Taken(in_words(io::ErrorKind::AlreadyExists, &error))
            }
            Error::PermissionDenied { .. } | Error::Unauthenticated { .. } => {
                // Treated as an unreachable store: the answer says nothing about the store's objects.
                RequestFailure::Refused(in_words(io::ErrorKind::NotConnected, &error))
            }
            // No answer, or one that the store gives when it has failed.
            Error::Generic { .. } | Error::JoinError { .. } => match http_kind(&error) {
                Some(HttpErrorKind::Connect) => {
                    RequestFailure::Unsent(in_words(io::ErrorKind::NotConnected, &error))
                }
                _ => RequestFailure::Lost(in_words(io::ErrorKind::TimedOut, &error)),
            },
            _ => RequestFailure::Refused(in_words(io::ErrorKind::Other, &error)),
        }
    }

    /// Returns the error that callers receive.
    pub(super) fn into_io(self) -> io::Error {
        match self {
            RequestFailure::Missing(error)
            | RequestFailure::Taken(error)
            | RequestFailure::Refused(error)
            | RequestFailure::Unsent(error)
            | RequestFailure::Lost(error) => error,
        }
    }

    /// Turns a failure into [`RequestFailure::Lost`] if the outcome of an earlier try is unknown.
    fn after_lost(self, was_lost: bool) -> RequestFailure {
        if !was_lost {
            return self;
        }
        RequestFailure::Lost(io::Error::new(io::ErrorKind::TimedOut, self.into_io()))
    }
}

impl ObjectClient {
    pub(super) fn new(store: Arc<dyn ObjectStore>, request_max: Duration) -> ObjectClient {
        ObjectClient { store, request_max }
    }

    /// Puts an object, replacing an existing one.
    pub(super) async fn put(&self, at: &Path, bytes: Bytes) -> Result<(), RequestFailure> {
        let n = bytes.len() as u64;
        let put = || self.store.put(at, PutPayload::from(bytes.clone()));
        self.repeated(self.time(n), put).await.map(drop)
    }

    /// Puts an object if there is none. Returns false if another writer's object exists.
    pub(super) async fn put_new(&self, at: &Path, bytes: Bytes) -> Result<bool, RequestFailure> {
        let time = self.time(bytes.len() as u64);
        let (mut was_lost, mut last) = (false, None);
        for n in 0..TRIES {
            pause_before(n).await;
            let payload = PutPayload::from(bytes.clone());
            let put = self.store.put_opts(at, payload, PutMode::Create.into());
            last = match limited(time, put).await {
                Ok(_) => return Ok(true),
                // After a try whose answer was lost, the object may be this writer's own: only then do equal bytes
                // prove it. A store also answers like this while another request is in progress that may fail.
                Err(RequestFailure::Taken(error)) => match self.get(at).await {
                    Ok(found) => return Ok(was_lost && found == bytes),
                    Err(RequestFailure::Missing(_)) => Some(RequestFailure::Taken(error)),
                    Err(failure) => return Err(failure.after_lost(was_lost)),
                },
                Err(failure @ RequestFailure::Lost(_)) => {
                    was_lost = true;
                    Some(failure)
                }
                Err(failure @ RequestFailure::Unsent(_)) => Some(failure),
                Err(failure) => return Err(failure.after_lost(was_lost)),
            };
        }
        Err(last.expect("it was tried").after_lost(was_lost))
    }

    /// Reads a whole object.
    pub(super) async fn get(&self, at: &Path) -> Result<Bytes, RequestFailure> {
        let mut last = None;
        for n in 0..TRIES {
            pause_before(n).await;
            match self.get_once(at).await {
                Err(failure @ (RequestFailure::Lost(_) | RequestFailure::Unsent(_))) => {
                    last = Some(failure);
                }
                done => return done,
            }
        }
        Err(last.expect("it was tried"))
    }

    async fn get_once(&self, at: &Path) -> Result<Bytes, RequestFailure> {
        let got = self.store.get_opts(at, GetOptions::default());
        let got = limited(self.request_max, got).await?;
        let mut bytes = Vec::with_capacity(got.meta.size as usize);
        let mut chunks = got.into_stream();
        // The time limit applies to each chunk, not to the whole object, which may have any size.
        while let Some(chunk) =
            limited(self.request_max, async { chunks.next().await.transpose() }).await?
        {
            bytes.extend_from_slice(&chunk);
        }
        Ok(bytes.into())
    }

    /// Reads the first `n` bytes of an object.
    pub(super) async fn head(&self, at: &Path, n: usize) -> Result<Bytes, RequestFailure> {
        self.repeated(self.request_max, || self.store.get_range(at, 0..n as u64)).await
    }

    /// Lists the entries right below a prefix: as many names as fit into the answer of one small request, a few
    /// thousand.
    pub(super) async fn list(&self, below: &Path) -> Result<ListResult, RequestFailure> {
        let list = || self.store.list_with_delimiter(Some(below));
        self.repeated(self.request_max, list).await
    }

    /// Lists all objects below a prefix, with their sizes in bytes.
    pub(super) async fn all_below(&self, below: &Path) -> Result<Vec<(Path, u64)>, RequestFailure> {
        let list = || async {
            let (mut all, mut found) = (Vec::new(), self.store.list(Some(below)));
            while let Some(object) = found.next().await.transpose()? {
                all.push((object.location, object.size));
            }
            Ok(all)
        };
        self.repeated(MANY_TIME * self.request_max, list).await
    }

    /// Removes objects, each of which may be gone already.
    pub(super) async fn remove(&self, all: &[Path]) -> Result<(), RequestFailure> {
        let remove = || async {
            let paths: Vec<_> = all.iter().cloned().map(Ok).collect();
            let mut removed = self.store.delete_stream(Box::pin(tokio_stream::iter(paths)));
            while let Some(done) = removed.next().await {
                match done {
                    Err(Error::NotFound { .. }) => {}
                    done => drop(done?),
                }
            }
            Ok(())
        };
        self.repeated(MANY_TIME * self.request_max, remove).await
    }

    /// Copies an object within the store.
    pub(super) async fn copy(&self, from: &Path, to: &Path) -> Result<(), RequestFailure> {
        self.repeated(MANY_TIME * self.request_max, || self.store.copy(from, to)).await
    }

    /// Sends a request that may be repeated, whatever the outcome of the earlier tries.
    async fn repeated<T, F: Future<Output = object_store::Result<T>>>(
        &self,
        time: Duration,
        request: impl Fn() -> F,
    ) -> Result<T, RequestFailure> {
        let mut last: Option<RequestFailure> = None;
        let mut was_lost = false;
        for n in 0..TRIES {
            pause_before(n).await;
            match limited(time, request()).await {
                Err(failure @ (RequestFailure::Lost(_) | RequestFailure::Unsent(_))) => {
                    was_lost |= matches!(failure, RequestFailure::Lost(_));
                    last = Some(failure);
                }
                done => return done,
            }
        }
        Err(last.expect("it was tried").after_lost(was_lost))
    }

    fn time(&self, bytes: u64) -> Duration {
        self.request_max + Duration::from_secs(bytes / BYTES_PER_SECOND)
    }
}

async fn pause_before(n: u32) {
    if n > 0 {
        sleep(PAUSE * (1 << (n - 1))).await;
    }
}

async fn limited<T>(
    time: Duration,
    request: impl Future<Output = object_store::Result<T>>,
) -> Result<T, RequestFailure> {
    match timeout(time, request).await {
        Ok(done) => done.map_err(RequestFailure::of),
        Err(_) => {
            let words = format!("the object store does not answer within {time:?}");
            Err(RequestFailure::Lost(io::Error::new(io::ErrorKind::TimedOut, words)))
        }
    }
}

fn http_kind(error: &Error) -> Option<HttpErrorKind> {
    let mut next = error.source();
    while let Some(error) = next {
        if let Some(error) = error.downcast_ref::<HttpError>() {
            return Some(error.kind());
        }
        next = error.source();
    }
    None
}

/// Returns the error's text, followed by those causes that the text does not contain.
fn described(error: &Error) -> String {
    let mut words = error.to_string();
    let mut next = error.source();
    while let Some(error) = next {
        let more = error.to_string();
        if !words.contains(&more) {
            words = format!("{words}: {more}");
        }
        next = error.source();
    }
    words
}
