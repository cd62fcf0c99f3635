//! Keeps a panic of the engine to the request that met it.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// The engine panicked; the panic hook has reported where.
#[derive(Debug, thiserror::Error)]
#[error("the server failed while it computed this; the failure is in its log")]
pub struct Panicked;

/// Runs `work`, and survives it. The caller drops what `work` may have left half changed.
pub fn contain<T>(work: impl FnOnce() -> T) -> Result<T, Panicked> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|_| Panicked)
}

/// Runs `work` off the runtime's threads.
pub async fn contain_blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Panicked> {
    tokio::task::spawn_blocking(work).await.map_err(|_| Panicked)
}
