//! A recording in the live view, played from its beginning when somebody first opens the page.

use std::{
    future::pending,
    io,
    net::{Ipv4Addr, SocketAddr},
    path::PathBuf,
    sync::Arc,
    thread,
    time::Duration,
};

use tokio::{runtime, sync::oneshot, time::sleep};

use crate::{
    config::{Config, MetricsSettings},
    os::{interrupt::Interrupt, stdout::print},
    service::{
        ListenError, Listeners, SceneRegistry, ServeError,
        recording::recorded::Recording,
        replay::{
            ReplayError, ReplayStop,
            player::{PlaybackChange, Player, StoppedLoop},
        },
        serve_registry,
    },
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
    /// The thread that plays the recording panicked.
    #[error("the recording stopped because of an internal error: the log has its message")]
    Panicked,
}

/// Serves the page, whose viewers control the playback, until Ctrl-C. Ticks of a sequence number greater than `until`
/// are left out.
///
/// # Errors
/// Returns an error if the recording cannot be replayed, or if the page cannot be served.
pub fn watch(
    recording: Recording,
    (until, speed): (u64, f64),
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
    let player = Player::new(recording, until, speed, Arc::clone(&registry));
    let playback = Arc::clone(player.playback());
    let runtime = runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut interrupt = Interrupt::catch()?;
        let listeners = Listeners::bind(&config).await?;
        // The bound address is the system's, which chooses the port if it is 0.
        let bound = listeners.metrics.as_ref().map(|page| page.local_addr()).transpose()?;
        let page = bound.unwrap_or(address);
        print(&format!("The recording is at http://{page}/view/ until Ctrl-C.\n"))?;
        let (failed, mut has_failed) = oneshot::channel();
        let play = move || {
            // An error means that the server has ended, and so does the process.
            drop(failed.send(player.run(cache.as_ref(), report)));
        };
        thread::Builder::new().name("player".to_owned()).spawn(play)?;
        let start = {
            let (registry, playback) = (Arc::clone(&registry), Arc::clone(&playback));
            async move {
                while registry.streams().n_watchers() == 0 {
                    sleep(LOOK).await;
                }
                let playing = Some(true);
                playback.change(&PlaybackChange { playing, ..PlaybackChange::default() });
                pending::<()>().await;
            }
        };
        let mut failure = None;
        let shutdown = async {
            tokio::select! {
                () = interrupt.came() => {}
                () = start => {}
                played = &mut has_failed => failure = played.map_or(Some(WatchFailed::Panicked), |played| {
                    played.err().map(|failed| WatchFailed::Replay(failed.into()))
                }),
            }
        };
        serve_registry(listeners, &config, registry, shutdown).await?;
        playback.end();
        failure.map_or(Ok(()), Err)
    })
}

/// Prints the first difference of a loop, which the page marks.
fn report(StoppedLoop { session, sequence, stop }: &StoppedLoop) {
    let line = match stop {
        ReplayStop::Differs(difference) => {
            format!("session {session} differs at sequence {sequence}: {difference}\n")
        }
        ReplayStop::Lacks(what) => format!(
            "session {session} is not comparable from sequence {sequence} on: the recording lacks {what}\n"
        ),
    };
    // An error means that nobody reads it here; the page shows the recording all the same.
    let _ = print(&line);
}
