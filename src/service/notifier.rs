//! Wakes streams that wait for their client when the server's state changes.

use std::{
    sync::{Arc, Weak},
    task::Waker,
};

use atomic_waker::AtomicWaker;
use parking_lot::Mutex;

/// The subscriptions of all streams.
#[derive(Debug, Default)]
pub struct Notifier {
    /// Locked when a stream starts or all are woken, never in a tick.
    subscribed: Mutex<Vec<Weak<Subscription>>>,
}

/// Subscription of one stream; gone with it.
#[derive(Debug, Default)]
pub struct Subscription(AtomicWaker);

impl Notifier {
    /// Creates the subscription of a new stream.
    pub fn subscribe(&self) -> Arc<Subscription> {
        let subscription = Arc::new(Subscription::default());
        let mut subscribed = self.subscribed.lock();
        subscribed.retain(|s| s.strong_count() > 0);
        subscribed.push(Arc::downgrade(&subscription));
        subscription
    }

    /// Wakes every stream; each stream checks whether it is concerned.
    pub fn wake_all(&self) {
        // Woken outside the lock, for which new streams wait.
        let subscribed: Vec<Arc<Subscription>> =
            self.subscribed.lock().iter().filter_map(Weak::upgrade).collect();
        subscribed.iter().for_each(|subscription| subscription.wake());
    }
}

impl Subscription {
    /// Wakes the stream.
    pub fn wake(&self) {
        self.0.wake();
    }

    /// Sets the waker to wake from now on. Read the state that may concern the stream after this call, so that nothing
    /// is missed.
    pub fn register(&self, waker: &Waker) {
        self.0.register(waker);
    }
}
