//! Ends calls in progress when their key is revoked: removed from its file, or changed there.

use std::{
    future::{Future, poll_fn},
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    task::{Context, Poll},
};

use super::denied::Denied;
use crate::service::notifier::{Notifier, Subscription};

/// Revocation state of a key. A file that is read again hands it on if name, role and secret stay.
#[derive(Debug)]
pub struct Revocation {
    /// Name of the key.
    key: String,
    revoked: AtomicBool,
    /// Notifies the calls in progress.
    calls: Notifier,
}

/// Notifies a call when its key is revoked.
pub struct RevocationWatch {
    revocation: Arc<Revocation>,
    subscription: Arc<Subscription>,
}

impl Revocation {
    /// Creates the state of a valid key with this name.
    pub fn new(key: &str) -> Revocation {
        Revocation {
            key: key.to_owned(),
            revoked: AtomicBool::new(false),
            calls: Notifier::default(),
        }
    }

    /// Revokes the key and ends all calls in progress.
    pub fn revoke(&self) {
        self.revoked.store(true, Relaxed);
        self.calls.wake_all();
    }

    /// Returns true once the key was revoked.
    pub fn is_revoked(&self) -> bool {
        self.revoked.load(Relaxed)
    }
}

impl RevocationWatch {
    /// Subscribes a new call.
    pub fn new(revocation: &Arc<Revocation>) -> RevocationWatch {
        let subscription = revocation.calls.subscribe();
        RevocationWatch { revocation: Arc::clone(revocation), subscription }
    }

    /// Returns the refusal, once the key is revoked.
    pub fn denied(&self) -> Option<Denied> {
        let Revocation { key, .. } = &*self.revocation;
        self.revocation.is_revoked().then(|| Denied::Revoked { key: key.clone() })
    }

    /// Polls for the refusal, and registers the waker.
    pub fn poll_denied(&self, cx: &mut Context<'_>) -> Poll<Denied> {
        self.subscription.register(cx.waker());
        self.denied().map_or(Poll::Pending, Poll::Ready)
    }
}

/// Runs `work`, unless the key is revoked first.
pub async fn unless_revoked<T>(
    watch: Option<&RevocationWatch>,
    work: impl Future<Output = T>,
) -> Result<T, Denied> {
    let mut work = pin!(work);
    // Polls the work first: finished work is not discarded.
    poll_fn(|cx| match (work.as_mut().poll(cx), watch) {
        (Poll::Ready(done), _) => Poll::Ready(Ok(done)),
        (Poll::Pending, Some(watch)) => watch.poll_denied(cx).map(Err),
        (Poll::Pending, None) => Poll::Pending,
    })
    .await
}
