//! Ends what is under way with a key that was taken out of its file, or changed there.

use std::{
    future::{Future, poll_fn},
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    task::{Context, Poll},
};

use super::{Denied, keys::Key};
use crate::service::host::notifier::{Bell, Bells};

/// Whether a key still stands. Files that are read again hand it on for as long as name, role and secret stay.
#[derive(Debug, Default)]
pub struct Standing {
    withdrawn: AtomicBool,
    /// Of the calls under way.
    bells: Bells,
}

/// A call's eye on the key that it was made with.
pub struct Watch {
    key: Arc<Key>,
    bell: Arc<Bell>,
}

impl Standing {
    /// Ends all calls under way.
    pub fn withdraw(&self) {
        self.withdrawn.store(true, Relaxed);
        self.bells.ring();
    }

    /// Once so, it stays so.
    pub fn is_withdrawn(&self) -> bool {
        self.withdrawn.load(Relaxed)
    }
}

impl Watch {
    /// Of a new call.
    pub fn new(key: Arc<Key>) -> Watch {
        Watch { bell: key.standing.bells.hang(), key }
    }

    /// The refusal, once the key is withdrawn.
    pub fn denied(&self) -> Option<Denied> {
        let is_withdrawn = self.key.standing.is_withdrawn();
        is_withdrawn.then(|| Denied::Withdrawn { key: self.key.name.clone() })
    }

    /// The same, for who waits for it.
    pub fn poll_denied(&self, cx: &mut Context<'_>) -> Poll<Denied> {
        self.bell.wakes(cx.waker());
        self.denied().map_or(Poll::Pending, Poll::Ready)
    }
}

/// Does `work`, unless the key is withdrawn first.
pub async fn while_standing<T>(
    watch: Option<&Watch>,
    work: impl Future<Output = T>,
) -> Result<T, Denied> {
    let mut work = pin!(work);
    poll_fn(|cx| match (work.as_mut().poll(cx), watch) {
        (Poll::Ready(done), _) => Poll::Ready(Ok(done)),
        (Poll::Pending, Some(watch)) => watch.poll_denied(cx).map(Err),
        (Poll::Pending, None) => Poll::Pending,
    })
    .await
}
