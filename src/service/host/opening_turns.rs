//! Single flight: a scene that clients ask for and that is not here is opened by one call at a time.

use std::{
    collections::HashMap,
    sync::{Arc, Weak},
};

use parking_lot::Mutex;
use tokio::sync::Mutex as Turn;

use crate::service::catch_panic::{Panicked, catch_panic_blocking};

/// Turns by scene, while somebody has the turn or waits for it.
#[derive(Default)]
pub struct OpeningTurns(Mutex<HashMap<String, Weak<Turn<()>>>>);

impl OpeningTurns {
    /// Runs `open` off the runtime's threads once nobody else opens the scene. `open` runs to its end even if its
    /// caller stops waiting.
    pub async fn run<T: Send + 'static>(
        &self,
        id: &str,
        open: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Panicked> {
        // Waits without a thread: if a scene is asked for often, all threads would wait here.
        let turn = self.of(id).lock_owned().await;
        catch_panic_blocking(move || {
            let _turn = turn;
            open()
        })
        .await
    }

    fn of(&self, id: &str) -> Arc<Turn<()>> {
        let mut turns = self.0.lock();
        turns.retain(|_, turn| turn.strong_count() > 0);
        if let Some(turn) = turns.get(id).and_then(Weak::upgrade) {
            return turn;
        }
        let turn = Arc::default();
        turns.insert(id.to_owned(), Arc::downgrade(&turn));
        turn
    }
}
