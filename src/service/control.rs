//! A thread for what has to be answered while all threads of ticks are busy: health, metrics, systemd's watchdog and
//! Agones' sidecar.
//!
//! It has a runtime of its own and computes nothing: frames of live views are made in the background. So that the
//! watchdog still notices a runtime of ticks that hangs, that one beats, and systemd is told that the server lives only
//! while it does.

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

/// What Agones' sidecar is still told after the server has ended.
const LAST_WORD_MAX: Duration = Duration::from_secs(1);

/// The thread, until it is dropped.
pub struct Control {
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Control {
    /// Serves what there is to serve over HTTP, on its listener, where there is one, and talks to Agones' sidecar.
    ///
    /// # Errors
    /// When the system has no thread, or no runtime for it.
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
                // An error: the server has ended without a word.
                _ = ended => {}
                () = served => {}
                () = systemd::stay_alive(&heart) => {}
            }
            if let Some(sidecar) = sidecar {
                // An error: it hears nothing.
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
        // It has nothing that takes time, and its port is free when it has ended.
        self.thread.take().into_iter().for_each(|thread| drop(thread.join()));
    }
}
