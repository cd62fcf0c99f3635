//! The simulator's side of soft tissue: a thread that deforms it at its own rate, on its own connection.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use tokio::sync::mpsc::error::TrySendError;

use super::{guide::Guide, haptic::WorkerError, pacer::Pacer};
use crate::proto::{DeformRequest, DeformResponse, deform_request::Positions};
use crate::{
    client::{Client, ClientError, Duplex, address::ServerAddress},
    load::{
        report::{fidelity::COMPARED_S, latencies::Latencies},
        run::start::Starter,
        stage::{dent::Dent, path::Path},
    },
};

/// Frames that may wait for the transport; with more the simulator skips one, as it would.
const WAITING_MAX: usize = 2;
// Shorter than a haptic client waits: an acknowledgement that is missing is only counted, and fails no run.
const LAST_ANSWERS_MAX: Duration = Duration::from_secs(2);

/// What the deforming client does.
pub struct DeformPlan {
    /// Where to connect to.
    pub server: ServerAddress,
    /// The scene.
    pub scene_id: String,
    /// The tissue that it deforms.
    pub tissue_id: u32,
    /// Its shape.
    pub dent: Dent,
    /// Whose tip the dent follows.
    pub path: Arc<Path>,
    /// Where the tissue gives way instead, while viewers move the device.
    pub guide: Option<Arc<Guide>>,
    /// Frames a second.
    pub rate_hz: f64,
    /// Frames in all.
    pub n_frames: u64,
    /// Clients that share the machine.
    pub n_clients: u32,
    /// Ends it early.
    pub stop: Arc<AtomicBool>,
}

/// What became of the deformations.
#[derive(Clone, Debug, Default)]
pub struct Deformations {
    /// Handed to the transport.
    pub sent: u64,
    /// Said to be visible to ticks.
    pub acknowledged: u64,
    /// In the engine, as the server says.
    pub update: Latencies,
    /// Of the first minute.
    pub frames: Vec<SentFrame>,
}

/// A deformation that was sent.
#[derive(Clone, Copy, Debug)]
pub struct SentFrame {
    /// When it was sent, seconds since the run's start.
    pub sent_s: f64,
    /// Which time of the path its shape is of, seconds.
    pub site_s: f64,
}

/// Runs it to its end on the calling thread.
///
/// # Errors
/// When the server refuses or goes, or when there is no timer.
pub fn run(mut plan: DeformPlan, starter: Starter) -> Result<Deformations, WorkerError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut client = Client::connect(&plan.server).await?;
        let stream = client.deform(WAITING_MAX).await?;
        match starter.wait() {
            Some(started) => drive(&mut plan, &client, stream, started).await,
            None => Ok(Deformations::default()),
        }
    })
}

async fn drive(
    plan: &mut DeformPlan,
    client: &Client,
    stream: Duplex<DeformRequest, DeformResponse>,
    started: Instant,
) -> Result<Deformations, WorkerError> {
    let Duplex { requests, mut answers } = stream;
    let mut done = Deformations::default();
    let mut pacer = Pacer::new(started, plan.rate_hz, plan.n_frames, plan.n_clients)?;
    while !plan.stop.load(Ordering::Relaxed) {
        tokio::select! {
            // Answers first: where frames are always overdue, the answers and the error that they may end with would
            // not be read.
            biased;
            answer = answers.message() => match answer {
                Ok(Some(answer)) => done.acknowledge(&answer),
                Ok(None) => return Err(ClientError::ended(client.server(), "Deform").into()),
                Err(status) => return Err(ClientError::of(client.server(), "Deform", &status).into()),
            },
            due = pacer.due() => {
                // A simulator after a stall sends the newest shape, and not two within a tenth of a millisecond.
                let Some(due) = due?.map(|due| pacer.newest(due)) else { break };
                // Room first: the dent takes each shape that it follows as sent. A frame that is dropped after that
                // would leave its vertices at the server where they were.
                match requests.try_reserve() {
                    Ok(room) => {
                        let site_s = (due.intended - started).as_secs_f64();
                        let on_path = plan.path.site(site_s);
                        let site = plan.guide.as_ref().and_then(|g| g.site()).unwrap_or(on_path);
                        if let Some(moved) = plan.dent.follow(&site) {
                            room.send(plan.request(due.index + 1, moved));
                            done.sent += 1;
                            let sent_s = started.elapsed().as_secs_f64();
                            if sent_s < COMPARED_S {
                                done.frames.push(SentFrame { sent_s, site_s });
                            }
                        }
                    }
                    // A frame that is skipped is not made up for: the next one has the newest shape.
                    Err(TrySendError::Full(())) => {}
                    // The answers say why it ended.
                    Err(TrySendError::Closed(())) => tokio::task::yield_now().await,
                }
            }
        }
    }
    // Tells the server that no frame follows, so that it ends the stream after the last answer.
    drop(requests);
    let last = async {
        while let Ok(Some(answer)) = answers.message().await {
            done.acknowledge(&answer);
        }
    };
    // What does not come in time stays unacknowledged.
    let _ = tokio::time::timeout(LAST_ANSWERS_MAX, last).await;
    Ok(done)
}

impl DeformPlan {
    fn request(&self, sequence: u64, moved: Positions) -> DeformRequest {
        DeformRequest {
            scene_id: self.scene_id.clone(),
            tissue_id: self.tissue_id,
            sequence,
            positions: Some(moved),
            hold: false,
        }
    }
}

impl Deformations {
    fn acknowledge(&mut self, answer: &DeformResponse) {
        self.acknowledged += 1;
        self.update.record(Duration::from_nanos((answer.update_us * 1e3) as u64));
    }
}
