//! Threads of lower priority than those of ticks, for calls that may take longer than a tick.

use std::{future::Future, io};

use bytes::Bytes;
use http_body::{Body as _, Frame};
use http_body_util::{BodyExt, StreamBody};
use tokio::{
    runtime::{Builder, Runtime},
    sync::mpsc::{self, Sender},
    task::JoinSet,
};
use tokio_stream::{StreamExt, wrappers::ReceiverStream};
use tonic::{Status, body::Body};
use tracing::Instrument;

use crate::{
    os::thread_priority::lower_priority,
    service::catch_panic::{CatchPanicBody, Panicked, catch_panic_future},
};

/// Runs calls that decode, compute, encode or free more than a tick does: 420 kB take a millisecond to decode, during
/// which a thread of ticks would read no other connection.
pub struct Background {
    /// Runtime of the threads; `None` once it has ended.
    // Without these threads, a thread of ticks was busy for 1.2 ms in each frame with decoding 420 kB. With them, and
    // with their lower priority, p99 of a round trip while all deform went from 3.1 to 3.2 ms to 1.7 to 2.3 ms. Shorter
    // slices of the scheduler for the threads of ticks (`sched_setattr`) gained a tenth of that.
    runtime: Option<Runtime>,
}

/// Maximum parts of an answer that wait for the transport.
// More would be memory for a client that does not read; the transport has a window of its own.
const FRAMES_WAITING_MAX: usize = 1;

type AnswerFrame = Result<Frame<Bytes>, Status>;

impl Background {
    /// Starts this many threads, 0 for one a core.
    ///
    /// # Errors
    /// Returns an error if the system has no threads left.
    pub fn start(threads: usize) -> io::Result<Background> {
        let mut runtime = Builder::new_multi_thread();
        if threads > 0 {
            runtime.worker_threads(threads);
        }
        runtime.thread_name("background").on_thread_start(lower_priority).enable_all();
        Ok(Background { runtime: Some(runtime.build()?) })
    }

    /// Runs a handler to its end, unless the returned future is dropped; catches panics.
    pub async fn run<T: Send + 'static>(
        &self,
        handler: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, Panicked> {
        let mut task = JoinSet::new();
        self.spawn(&mut task, catch_panic_future(handler));
        task.join_next().await.and_then(Result::ok).unwrap_or(Err(Panicked))
    }

    /// Produces an answer's messages, unless the returned body is dropped; catches panics.
    pub fn body(&self, answer: Body) -> Body {
        if answer.is_end_stream() {
            return answer;
        }
        let (sender, frames) = mpsc::channel(FRAMES_WAITING_MAX);
        let mut task = JoinSet::new();
        self.spawn(&mut task, hand_over(CatchPanicBody::of(answer), sender));
        Body::new(StreamBody::new(ReceiverStream::new(frames).map(move |frame| {
            // Dropped with the frames.
            let _ = &task;
            frame
        })))
    }

    fn spawn<T: Send + 'static>(
        &self,
        task: &mut JoinSet<T>,
        work: impl Future<Output = T> + Send + 'static,
    ) {
        let runtime = self.runtime.as_ref().expect("ends when it is dropped");
        task.spawn_on(work.in_current_span(), runtime.handle());
    }
}

/// Sends all frames up to the last: if polled again, tonic would take the next request of a stream that it has refused.
async fn hand_over(mut answer: Body, to: Sender<AnswerFrame>) {
    while let Some(frame) = answer.frame().await {
        let is_last = frame.as_ref().map_or(true, Frame::is_trailers);
        if to.send(frame).await.is_err() || is_last {
            return;
        }
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        // The callers of its work wait for it themselves.
        self.runtime.take().into_iter().for_each(Runtime::shutdown_background);
    }
}

#[cfg(test)]
mod tests {
    use std::{
        pin::pin,
        sync::{
            Arc,
            atomic::{AtomicUsize, Ordering},
        },
    };

    use tokio::sync::oneshot;
    #[cfg(any(target_os = "linux", windows))]
    use tokio::task::spawn_blocking;
    use tonic::Code;

    use super::*;
    use crate::service::catch_panic::last_frame;

    fn background() -> Background {
        Background::start(1).expect("a thread")
    }

    #[cfg(any(target_os = "linux", windows))]
    #[tokio::test]
    async fn ticks_go_before_it() {
        use crate::os::thread_priority::{STEPS_DOWN, own_steps_down};

        let own = own_steps_down();
        let background = background();
        let there = background.run(async { own_steps_down() }).await;
        let child = async { spawn_blocking(own_steps_down).await };
        let of_child = background.run(child).await.expect("no panic");
        for there in [there.expect("no panic"), of_child.expect("no panic")] {
            // Linux's lowest priority is 19, whatever is requested.
            assert_eq!(there, (own + STEPS_DOWN).min(19), "lower than {own}");
        }
        assert_eq!(own_steps_down(), own, "this thread is as it was");
    }

    #[tokio::test]
    async fn panics_are_the_handlers_own() {
        let background = background();
        let failed: Result<(), Panicked> = background.run(async { panic!("on purpose") }).await;
        assert_eq!(Status::from(failed.expect_err("a panic")).code(), Code::Internal);
        let frames = tokio_stream::iter(0..3).map(|n| {
            assert!(n < 2, "on purpose");
            Ok::<_, Status>(Frame::data(Bytes::from_static(b"a")))
        });
        let answer = background.body(Body::new(StreamBody::new(frames)));
        let all = answer.collect().await.expect("it ends well");
        let status = Status::from_header_map(all.trailers().expect("trailers")).expect("a status");
        assert_eq!((status.code(), all.to_bytes().len()), (Code::Internal, 2));
        assert_eq!(background.run(async { 7 }).await.expect("no panic"), 7);
    }

    /// Tonic takes a stream's next request if it is polled after its refusal.
    #[tokio::test]
    async fn nothing_is_asked_for_after_the_last_frame() {
        let background = background();
        for ends_well in [true, false] {
            let asked = Arc::new(AtomicUsize::new(0));
            let count = Arc::clone(&asked);
            let frames = tokio_stream::iter(0..3).map(move |n| {
                count.fetch_add(1, Ordering::Relaxed);
                match (n, ends_well) {
                    (0, _) => Ok(Frame::data(Bytes::from_static(b"a"))),
                    (_, true) => last_frame(Status::invalid_argument("on purpose")),
                    (_, false) => Err(Status::internal("on purpose")),
                }
            });
            let answer = background.body(Body::new(StreamBody::new(frames)));
            assert_eq!(answer.collect().await.is_ok(), ends_well);
            assert_eq!(asked.load(Ordering::Relaxed), 2);
        }
    }

    /// A disconnected client cancels its work, however long that would wait.
    #[tokio::test]
    async fn what_nobody_waits_for_is_given_up() {
        let background = background();
        let (held, gone) = oneshot::channel::<()>();
        let waits = async move {
            let _held = held;
            std::future::pending::<()>().await;
        };
        {
            let run = pin!(background.run(waits));
            let soon = std::time::Duration::from_millis(20);
            assert!(tokio::time::timeout(soon, run).await.is_err(), "it waits");
        }
        assert!(gone.await.is_err(), "dropped");

        let (held, gone) = oneshot::channel::<()>();
        let waits = tokio_stream::pending::<AnswerFrame>().map(move |frame| {
            let _held = &held;
            frame
        });
        drop(background.body(Body::new(StreamBody::new(waits))));
        assert!(gone.await.is_err(), "dropped");
    }
}
