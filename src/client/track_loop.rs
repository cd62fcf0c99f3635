//! The haptic loop: a thread of its own sends poses and receives answers, and reconnects when its connection breaks.

mod loop_thread;
mod options;
mod shared_loop;
mod status;

use std::{
    sync::Arc,
    thread::{self, JoinHandle},
};

use tokio::sync::oneshot;

use super::{address::ServerAddress, error::ClientError};
use crate::proto::{Pose, ToolPose, TrackResponse, TrackStart};
use loop_thread::LoopThread;
pub use options::{LoopOptions, device_deadline};
use shared_loop::SharedLoop;
pub use status::LoopStatus;

/// A `Track` stream and the thread that runs it; [`Client::haptics`](super::Client::haptics) opens one.
///
/// `send` never waits, `newest` returns the newest answer, `tick` sends and waits. When the connection breaks or hangs,
/// the loop reconnects and resumes its session: contacts keep their ids, proxies stay where they were, and the sweep
/// covers the gap. If the session is over, as at a server that was restarted or that its scene moved to, contacts have
/// new ids and all else is unchanged. The next call returns the refusal of a tick or the error that ended the loop. The
/// loop may be used from any thread; dropping it ends its session.
pub struct TrackLoop {
    shared: Arc<SharedLoop>,
    thread: Option<JoinHandle<()>>,
}

impl TrackLoop {
    /// Opens a loop on a connection of its own.
    pub(super) async fn open(
        server: ServerAddress,
        start: TrackStart,
        options: LoopOptions,
    ) -> Result<TrackLoop, ClientError> {
        let shared = Arc::new(SharedLoop::new(&options));
        let (opened, told) = oneshot::channel();
        let thread = LoopThread::new(server.clone(), start, options, Arc::clone(&shared));
        let no_thread = |e: std::io::Error| ClientError::Connect {
            server: server.to_string(),
            reason: e.to_string(),
        };
        let thread = thread::Builder::new()
            .name("palpate-track".to_owned())
            .spawn(move || thread.run(opened))
            .map_err(no_thread)?;
        let opening = TrackLoop { shared, thread: Some(thread) };
        match told.await {
            Ok(Ok(())) => Ok(opening),
            Ok(Err(error)) => Err(error),
            Err(_) => Err(ClientError::Closed),
        }
    }

    /// Sends a tick that puts each tool of the stream at a pose (scene frame from tool frame), and waits for its
    /// answer: for tests, and for hosts that step.
    ///
    /// # Errors
    /// Returns an error if the server refuses the tick, which leaves the loop open, or if the loop is over.
    pub async fn tick(&self, tools: &[(u32, Pose)]) -> Result<Arc<TrackResponse>, ClientError> {
        let at = |&(tool_id, pose): &(u32, Pose)| ToolPose {
            tool_id,
            pose: Some(pose),
            ..ToolPose::default()
        };
        let sequence = self.send(tools.iter().map(at).collect())?;
        self.wait(sequence).await
    }

    /// Sends a tick with a pose for each tool of the stream, without waiting. Returns its sequence, which its answer
    /// repeats. If the transport is full the oldest tick is dropped and counted.
    ///
    /// # Errors
    /// Returns an error if an earlier tick was refused (this one was not sent then), or if the loop is over.
    pub fn send(&self, tools: Vec<ToolPose>) -> Result<u64, ClientError> {
        self.send_at(tools, self.shared.now_ns())
    }

    /// Sends a tick as [`TrackLoop::send`], for a device with a clock of its own: the poses are those of `at_ns`, from
    /// which a model's age counts.
    ///
    /// # Errors
    /// See [`TrackLoop::send`].
    pub fn send_at(&self, tools: Vec<ToolPose>, at_ns: u64) -> Result<u64, ClientError> {
        self.shared.send(tools, at_ns)
    }

    /// Waits for the answer of a tick or of a later one.
    ///
    /// # Errors
    /// Returns an error if a tick was refused, or if the loop is over.
    pub async fn wait(&self, sequence: u64) -> Result<Arc<TrackResponse>, ClientError> {
        self.shared.wait(sequence).await
    }

    /// Returns the newest answer, refusals aside; `None` before the first. It may be old: see [`LoopStatus::age`].
    pub fn newest(&self) -> Option<Arc<TrackResponse>> {
        self.shared.newest()
    }

    /// Reads the newest answer as [`TrackLoop::newest`] returns it, but never waits: `None` also if another thread has
    /// it in hand. For a device's thread.
    pub fn try_newest<T>(&self, read: impl FnOnce(&TrackResponse) -> T) -> Option<T> {
        self.shared.try_newest(read)
    }

    /// Returns the state of the loop so far.
    pub fn status(&self) -> LoopStatus {
        self.shared.status()
    }

    /// Reports the error that ended the loop, or a tick's refusal that no call has reported yet.
    ///
    /// # Errors
    /// Returns that error or refusal.
    pub fn check(&self) -> Result<(), ClientError> {
        self.shared.check()
    }
}

impl Drop for TrackLoop {
    fn drop(&mut self) {
        self.shared.close();
        // The thread ends its session before it exits; a thread that hangs in a call is not waited for.
        if let Some(thread) = self.thread.take().filter(|_| !thread::panicking()) {
            self.shared.wait_for_end(loop_thread::CLOSE_MAX);
            if thread.is_finished() {
                let _ = thread.join();
            }
        }
    }
}
