//! Signals of a person or the system to a running program: to end, or to read its files again.

use std::{future::pending, io};

#[cfg(unix)]
use tokio::signal::unix::{Signal, SignalKind, signal};
#[cfg(windows)]
use tokio::signal::windows::{
    CtrlBreak, CtrlC, CtrlClose, CtrlShutdown, ctrl_break, ctrl_c, ctrl_close, ctrl_shutdown,
};

/// Request to end: Ctrl-C or SIGTERM.
#[cfg(unix)]
pub struct Interrupt {
    interrupt: Signal,
    terminate: Signal,
}

/// Request to end: Ctrl-C or Ctrl-Break, a closed console or a shutdown of the machine.
#[cfg(windows)]
pub struct Interrupt {
    interrupt: CtrlC,
    /// The event that one process can send another.
    terminate: CtrlBreak,
    // Windows ends the program some 5 s after these two, whatever it does.
    close: CtrlClose,
    shutdown: CtrlShutdown,
}

impl Interrupt {
    /// Catches the signals: from now on none of them ends the process by itself.
    ///
    /// # Errors
    /// Returns an error if the system refuses.
    pub fn catch() -> io::Result<Interrupt> {
        #[cfg(unix)]
        let (interrupt, terminate) =
            (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
        #[cfg(windows)]
        let (interrupt, terminate) = (ctrl_c()?, ctrl_break()?);
        Ok(Interrupt {
            interrupt,
            terminate,
            #[cfg(windows)]
            close: ctrl_close()?,
            #[cfg(windows)]
            shutdown: ctrl_shutdown()?,
        })
    }

    /// Waits for any of the signals.
    pub async fn came(&mut self) {
        #[cfg(unix)]
        let (close, shutdown) = (pending::<Option<()>>(), pending::<Option<()>>());
        #[cfg(windows)]
        let (close, shutdown) = (self.close.recv(), self.shutdown.recv());
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = close => {}
            _ = shutdown => {}
        }
    }
}

/// SIGHUP, upon which a server reads its files again. Never comes on Windows, which has no such signal.
pub struct Hangup(#[cfg(unix)] Signal);

impl Hangup {
    /// Catches the signal: from now on it does not end the process.
    ///
    /// # Errors
    /// Returns an error if the system refuses.
    pub fn catch() -> io::Result<Hangup> {
        #[cfg(unix)]
        return Ok(Hangup(signal(SignalKind::hangup())?));
        #[cfg(windows)]
        Ok(Hangup())
    }

    /// Waits for the next signal.
    pub async fn came(&mut self) {
        #[cfg(unix)]
        let _ = self.0.recv().await;
        #[cfg(windows)]
        pending().await
    }
}
