//! A recording in the live view, played from its beginning when somebody opens the page.

use std::{
    io,
    net::{Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
    sync::Arc,
    thread,
    time::Duration,
};

use tokio::{runtime, sync::oneshot};

use super::summary::summary;
use crate::service::replay::{ReplayError, ReplayOptions, replay};
use crate::{
    config::{Config, MetricsSettings},
    os::{interrupt::Interrupt, stdout::print},
    service::{ListenError, Listeners, SceneRegistry, ServeError, serve_registry},
    store::FieldCache,
};

/// Interval of the checks for a viewer.
const LOOK: Duration = Duration::from_millis(50);

/// A recording cannot be watched.
#[derive(Debug, thiserror::Error)]
pub enum WatchFailed {
    /// The system has no thread, or no signals.
    #[error(transparent)]
    Start(#[from] io::Error),
    /// The page has no port.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// The server of the page failed.
    #[error(transparent)]
    Serve(#[from] ServeError),
    /// The recording cannot be replayed.
    #[error(transparent)]
    Replay(#[from] ReplayError),
}

/// Serves the page and plays the recording in it, until Ctrl-C. Without a speed it plays in real time.
///
/// # Errors
/// Returns an error if the recording cannot be replayed, or if the page cannot be served.
pub fn watch(
    file: PathBuf,
    options: ReplayOptions,
    cache: Option<FieldCache>,
    (address, viewer): (SocketAddr, Option<PathBuf>),
) -> Result<(), WatchFailed> {
    let config = Config {
        listen: (Ipv4Addr::LOCALHOST, 0).into(),
        metrics: MetricsSettings {
            listen: Some(address),
            viewer_dir: viewer,
            ..MetricsSettings::default()
        },
        ..Config::default()
    };
    let registry = Arc::new(SceneRegistry::new(&config));
    let show_in = Some(Arc::clone(&registry));
    let options = ReplayOptions { speed: options.speed.or(Some(1.0)), show_in, ..options };
    let runtime = runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut interrupt = Interrupt::catch()?;
        let listeners = Listeners::bind(&config).await?;
        // The bound address is the system's, which chooses the port if it is 0.
        let bound = listeners.metrics.as_ref().map(|page| page.local_addr()).transpose()?;
        let page = bound.unwrap_or(address);
        print(&format!("The recording is at http://{page}/view/ until Ctrl-C.\n"))?;
        let (failed, mut has_failed) = oneshot::channel();
        let player = {
            let registry = Arc::clone(&registry);
            move || {
                // An error means that the server has ended, and so does the process.
                let _ = failed.send(play(&registry, &file, &options, cache.as_ref()));
            }
        };
        thread::Builder::new().name("player".to_owned()).spawn(player)?;
        let mut failure = None;
        let shutdown = async {
            tokio::select! {
                () = interrupt.came() => {}
                failed = &mut has_failed => failure = failed.ok(),
            }
        };
        serve_registry(listeners, &config, registry, shutdown).await?;
        failure.map_or(Ok(()), |failure| Err(failure.into()))
    })
}

/// Plays the recording whenever somebody begins to watch after the last play. Returns the error of a failed replay.
fn play(
    registry: &SceneRegistry,
    file: &Path,
    options: &ReplayOptions,
    cache: Option<&FieldCache>,
) -> ReplayError {
    let mut played_for = None;
    loop {
        let newest = registry.streams().newest_watcher();
        if newest <= played_for {
            thread::sleep(LOOK);
            continue;
        }
        played_for = newest;
        match replay(file, options, cache) {
            Ok(report) => {
                let again = "It is played again for whoever opens the page.\n";
                // An error means that nobody reads the summary here; the page shows the recording all the same.
                let _ = print(&(summary(&report) + again));
            }
            Err(failed) => return failed,
        }
    }
}
