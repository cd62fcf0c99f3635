//! Ctrl-C and SIGTERM, so that a run ends its server and its scene before it ends itself.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Ctrl-C or SIGTERM.
pub struct Interrupt {
    interrupt: Signal,
    terminate: Signal,
}

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It was long enough.
    Done,
    /// Somebody wanted it to.
    Interrupted,
}

impl Interrupt {
    /// From now on neither ends the process by itself.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn catch() -> io::Result<Interrupt> {
        let (interrupt, terminate) =
            (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
        Ok(Interrupt { interrupt, terminate })
    }

    /// Waits for either.
    pub async fn came(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}
