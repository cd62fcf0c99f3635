//! What a person or the system tells a running program: to end, or to read its files again.

use std::{future::pending, io};

#[cfg(unix)]
use tokio::signal::unix::{Signal, SignalKind, signal};
#[cfg(windows)]
use tokio::signal::windows::{
    CtrlBreak, CtrlC, CtrlClose, CtrlShutdown, ctrl_break, ctrl_c, ctrl_close, ctrl_shutdown,
};

/// That it is to end: Ctrl-C or SIGTERM.
#[cfg(unix)]
pub struct Interrupt {
    interrupt: Signal,
    terminate: Signal,
}

/// That it is to end: Ctrl-C or Ctrl-Break, or that its console is closed or the machine shut down.
#[cfg(windows)]
pub struct Interrupt {
    interrupt: CtrlC,
    /// What one process can send another.
    terminate: CtrlBreak,
    // Windows ends the program some 5 s after these two, whatever it does.
    close: CtrlClose,
    shutdown: CtrlShutdown,
}

impl Interrupt {
    /// From now on none of them ends the process by itself.
    ///
    /// # Errors
    /// When the system refuses.
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

    /// Waits for any.
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

/// SIGHUP, upon which a server reads its files again. Nothing on Windows, which has no such signal.
pub struct Hangup(#[cfg(unix)] Signal);

impl Hangup {
    /// From now on it does not end the process.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn catch() -> io::Result<Hangup> {
        #[cfg(unix)]
        return Ok(Hangup(signal(SignalKind::hangup())?));
        #[cfg(windows)]
        Ok(Hangup())
    }

    /// Waits for the next.
    pub async fn came(&mut self) {
        #[cfg(unix)]
        let _ = self.0.recv().await;
        #[cfg(windows)]
        pending().await
    }
}
