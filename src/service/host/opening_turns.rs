//! Who takes in the scenes that are asked for and not here, each once.

use std::{
    collections::HashMap,
    sync::{Arc, Weak},
};

use parking_lot::Mutex;
use tokio::sync::Mutex as Turn;

use crate::service::catch_panic::{Panicked, catch_panic_blocking};

/// By scene, where somebody has its turn or waits for it.
#[derive(Default)]
pub struct OpeningTurns(Mutex<HashMap<String, Weak<Turn<()>>>>);

impl OpeningTurns {
    /// Runs `open` off the runtime's threads once nobody else opens the scene; to its end, also when its caller does not
    /// wait for that.
    pub async fn run<T: Send + 'static>(
        &self,
        id: &str,
        open: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Panicked> {
        // On no thread: where a scene is asked for often, all would wait here.
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
