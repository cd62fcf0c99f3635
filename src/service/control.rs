//! Thread for health, metrics, systemd's watchdog and Agones' sidecar, which must respond while all threads of ticks
//! are busy.
//!
//! The thread has a runtime of its own and computes nothing: frames of live views are made in the background. To let
//! the watchdog notice a hanging runtime of ticks, that runtime beats, and the thread reports to systemd that the
//! server is alive only while it does.

use std::{
    future::Future,
    io,
    net::TcpListener,
    sync::Arc,
    thread::{self, JoinHandle},
    time::Duration,
};

use tokio::{runtime, sync::oneshot, time::timeout};

use super::{
    heartbeat::Heartbeat,
    systemd,
    web::serve::{WebPort, serve},
};

/// Maximum time for the last calls to Agones' sidecar after the server has ended.
const LAST_WORD_MAX: Duration = Duration::from_secs(1);

/// Handle of the thread, which ends when the handle is dropped.
pub struct Control {
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Control {
    /// Serves HTTP on the listener, if there is one, and talks to Agones' sidecar.
    ///
    /// # Errors
    /// Returns an error if the system has no thread, or no runtime for it.
    pub fn start(
        served: Option<(TcpListener, WebPort)>,
        heart: &Arc<Heartbeat>,
        sidecar: Option<impl Future<Output = ()> + Send + 'static>,
    ) -> io::Result<Control> {
        let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
        let (end, ended) = oneshot::channel();
        let heart = Arc::clone(heart);
        let (listener, port) = served.unzip();
        let port = port.map(Arc::new);
        let work = async move {
            let sidecar = sidecar.map(tokio::spawn);
            let listener = listener.map(tokio::net::TcpListener::from_std).transpose();
            let served = async {
                match listener.map(|listener| listener.zip(port)) {
                    Ok(Some((listener, port))) => serve(listener, &port).await,
                    Ok(None) => std::future::pending().await,
                    Err(error) => {
                        tracing::warn!("metrics and health are not served: {error}");
                        std::future::pending().await
                    }
                }
            };
            tokio::select! {
                // An error means that the server has ended without a signal.
                _ = ended => {}
                () = served => {}
                () = systemd::stay_alive(&heart) => {}
            }
            if let Some(sidecar) = sidecar {
                // An error means that the sidecar does not answer.
                let _ = timeout(LAST_WORD_MAX, sidecar).await;
            }
        };
        let spawned = thread::Builder::new().name("control".to_owned());
        let thread = spawned.spawn(move || runtime.block_on(work))?;
        Ok(Control { end: Some(end), thread: Some(thread) })
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        drop(self.end.take());
        // The thread has no long work left, and its port is free once it has ended.
        self.thread.take().into_iter().for_each(|thread| drop(thread.join()));
    }
}
