//! Wakes streams that wait for their client when the server has something to tell them.

use std::{
    sync::{Arc, Weak},
    task::Waker,
};

use atomic_waker::AtomicWaker;
use parking_lot::Mutex;

/// The bells of all streams.
#[derive(Debug, Default)]
pub struct Bells {
    /// Locked when a stream starts or all are rung, never in a tick.
    hung: Mutex<Vec<Weak<Bell>>>,
}

/// Of one stream; gone with it.
#[derive(Debug, Default)]
pub struct Bell(AtomicWaker);

impl Bells {
    /// A bell for a new stream.
    pub fn hang(&self) -> Arc<Bell> {
        let bell = Arc::new(Bell::default());
        let mut hung = self.hung.lock();
        hung.retain(|b| b.strong_count() > 0);
        hung.push(Arc::downgrade(&bell));
        bell
    }

    /// Wakes every stream; each looks what concerns it.
    pub fn ring(&self) {
        // Not under the lock, which streams that start wait for.
        let hung: Vec<Arc<Bell>> = self.hung.lock().iter().filter_map(Weak::upgrade).collect();
        hung.iter().for_each(|bell| bell.ring());
    }
}

impl Bell {
    /// Wakes the stream.
    pub fn ring(&self) {
        self.0.wake();
    }

    /// Whom to wake from now on. What may have been told is looked at after this, so that nothing is missed.
    pub fn wakes(&self, waker: &Waker) {
        self.0.register(waker);
    }
}
