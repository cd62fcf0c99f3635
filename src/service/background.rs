//! Where large messages are decoded: threads that let those of ticks go first.

use std::{future::Future, io, pin::pin};

#[cfg(target_os = "linux")]
use rustix::process::{getpriority_process, setpriority_process};
use tokio::{
    runtime::{Builder, Runtime},
    sync::mpsc,
    task::JoinSet,
};
use tokio_stream::{Stream, StreamExt, wrappers::ReceiverStream};
use tonic::Status;
use tracing::{Instrument, warn};

use super::contain::{Panicked, contain_future};

/// Runs handlers whose requests are meshes and deformations: 420 kB take a millisecond to decode, in which a thread of
/// ticks would read no other connection.
pub struct Background {
    /// `None` once it has ended.
    runtime: Option<Runtime>,
}

/// Answers that wait until the transport takes them.
const ANSWERS_WAITING_MAX: usize = 1;

impl Background {
    /// Starts as many threads, 0 for one a core.
    ///
    /// # Errors
    /// When the system has none.
    pub fn start(threads: usize) -> io::Result<Background> {
        let mut runtime = Builder::new_multi_thread();
        if threads > 0 {
            runtime.worker_threads(threads);
        }
        runtime.thread_name("background").on_thread_start(step_back).enable_all();
        Ok(Background { runtime: Some(runtime.build()?) })
    }

    /// Runs a handler to its end, unless nobody waits for that any more; survives it.
    pub async fn run<T: Send + 'static>(
        &self,
        handler: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, Panicked> {
        let mut task = JoinSet::new();
        self.spawn(&mut task, contain_future(handler));
        task.join_next().await.and_then(Result::ok).unwrap_or(Err(Panicked))
    }

    /// Makes the answers of a stream, unless nobody waits for them any more; survives them.
    pub fn stream<T: Send + 'static>(
        &self,
        answers: impl Stream<Item = Result<T, Status>> + Send + 'static,
    ) -> impl Stream<Item = Result<T, Status>> + Send + 'static {
        let (sender, receiver) = mpsc::channel(ANSWERS_WAITING_MAX);
        let mut task = JoinSet::new();
        self.spawn(&mut task, async move {
            let made = contain_future(async {
                let mut answers = pin!(answers);
                while let Some(answer) = answers.next().await {
                    if sender.send(answer).await.is_err() {
                        return;
                    }
                }
            });
            if let Err(panicked) = made.await {
                // An error: nobody waits for it any more.
                let _ = sender.send(Err(panicked.into())).await;
            }
        });
        ReceiverStream::new(receiver).map(move |answer| {
            // Goes with the answers.
            let _ = &task;
            answer
        })
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

impl Drop for Background {
    fn drop(&mut self) {
        // Waiting for its work is for those to do whose calls it is.
        self.runtime.take().into_iter().for_each(Runtime::shutdown_background);
    }
}

/// By so much such a thread is nicer than those of ticks.
#[cfg(target_os = "linux")]
const STEPS_BACK: i32 = 10;

/// Lets the threads of ticks go before this one where cores are short.
pub fn step_back() {
    #[cfg(target_os = "linux")]
    {
        // Of this thread alone, which Linux allows to everybody.
        let own = getpriority_process(None).unwrap_or_default();
        if let Err(e) = setpriority_process(None, own + STEPS_BACK) {
            warn!("a thread keeps the priority of ticks: {e}");
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot;
    use tonic::Code;

    use super::*;

    fn background() -> Background {
        Background::start(1).expect("a thread")
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn ticks_go_before_it() {
        let own = getpriority_process(None).expect("allowed");
        let there = background().run(async { getpriority_process(None) }).await;
        let there = there.expect("no panic").expect("allowed");
        assert_eq!(there, (own + STEPS_BACK).min(19), "nicer than {own}");
        assert_eq!(getpriority_process(None), Ok(own), "this thread is as it was");
    }

    #[tokio::test]
    async fn panics_are_the_handlers_own() {
        let background = background();
        let failed: Result<(), Panicked> = background.run(async { panic!("on purpose") }).await;
        assert_eq!(Status::from(failed.expect_err("a panic")).code(), Code::Internal);
        let numbers = tokio_stream::iter(0..3).map(|n| {
            assert!(n < 2, "on purpose");
            Ok(n)
        });
        let answers: Vec<_> = background.stream(numbers).collect().await;
        assert_eq!(answers[..2].iter().flatten().copied().collect::<Vec<_>>(), [0, 1]);
        assert_eq!(answers[2].as_ref().expect_err("a panic").code(), Code::Internal);
        assert_eq!(answers.len(), 3);
        assert_eq!(background.run(async { 7 }).await.expect("no panic"), 7);
    }

    /// A client that goes takes its work along, however long that would wait.
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
        let held = std::sync::Mutex::new(held);
        let waits = tokio_stream::pending::<Result<(), Status>>().map(move |answer| {
            let _held = &held;
            answer
        });
        drop(background.stream(waits));
        assert!(gone.await.is_err(), "dropped");
    }
}
