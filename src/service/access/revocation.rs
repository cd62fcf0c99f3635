//! Ends what is under way with a key that was revoked: taken out of its file, or changed there.

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
use crate::service::host::notifier::{Notifier, Subscription};

/// Whether a key is revoked. A file that is read again hands it on for as long as name, role and secret stay.
#[derive(Debug)]
pub struct Revocation {
    /// The key's name.
    key: String,
    revoked: AtomicBool,
    /// Of the calls under way.
    calls: Notifier,
}

/// Tells a call when the key that it was made with is revoked.
pub struct RevocationWatch {
    revocation: Arc<Revocation>,
    subscription: Arc<Subscription>,
}

impl Revocation {
    /// The key of that name is good.
    pub fn new(key: &str) -> Revocation {
        Revocation {
            key: key.to_owned(),
            revoked: AtomicBool::new(false),
            calls: Notifier::default(),
        }
    }

    /// Ends all calls under way.
    pub fn revoke(&self) {
        self.revoked.store(true, Relaxed);
        self.calls.wake_all();
    }

    /// Once so, it stays so.
    pub fn is_revoked(&self) -> bool {
        self.revoked.load(Relaxed)
    }
}

impl RevocationWatch {
    /// Of a new call.
    pub fn new(revocation: &Arc<Revocation>) -> RevocationWatch {
        let subscription = revocation.calls.subscribe();
        RevocationWatch { revocation: Arc::clone(revocation), subscription }
    }

    /// The refusal, once the key is revoked.
    pub fn denied(&self) -> Option<Denied> {
        let Revocation { key, .. } = &*self.revocation;
        self.revocation.is_revoked().then(|| Denied::Revoked { key: key.clone() })
    }

    /// The same, for who waits for it.
    pub fn poll_denied(&self, cx: &mut Context<'_>) -> Poll<Denied> {
        self.subscription.register(cx.waker());
        self.denied().map_or(Poll::Pending, Poll::Ready)
    }
}

/// Does `work`, unless the key is revoked first.
pub async fn unless_revoked<T>(
    watch: Option<&RevocationWatch>,
    work: impl Future<Output = T>,
) -> Result<T, Denied> {
    let mut work = pin!(work);
    // The work first: what is done already is not taken back.
    poll_fn(|cx| match (work.as_mut().poll(cx), watch) {
        (Poll::Ready(done), _) => Poll::Ready(Ok(done)),
        (Poll::Pending, Some(watch)) => watch.poll_denied(cx).map(Err),
        (Poll::Pending, None) => Poll::Pending,
    })
    .await
}
