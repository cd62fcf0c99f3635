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

/// Frames that may wait for the transport; beyond that the client skips a frame, as a simulator would.
const WAITING_MAX: usize = 2;
// Shorter than a haptic client waits: a missing acknowledgement is only counted, and fails no run.
const LAST_ANSWERS_MAX: Duration = Duration::from_secs(2);

/// Plan of the deforming client.
pub struct DeformPlan {
    /// Address of the server.
    pub server: ServerAddress,
    /// Id of the scene.
    pub scene_id: String,
    /// Id of the tissue to deform.
    pub tissue_id: u32,
    /// Shape of the tissue.
    pub dent: Dent,
    /// Path of the tip that the dent follows.
    pub path: Arc<Path>,
    /// Source of the dent's site instead of the path, while viewers move the device.
    pub guide: Option<Arc<Guide>>,
    /// Frames a second.
    pub rate_hz: f64,
    /// Total number of frames.
    pub n_frames: u64,
    /// Clients that share the machine.
    pub n_clients: u32,
    /// Ends the client early when set.
    pub stop: Arc<AtomicBool>,
}

/// Counts and times of the deformations.
#[derive(Clone, Debug, Default)]
pub struct Deformations {
    /// Deformations handed to the transport.
    pub sent: u64,
    /// Deformations that the server acknowledged as visible to ticks.
    pub acknowledged: u64,
    /// Time of an update in the engine, as reported by the server.
    pub update: Latencies,
    /// Deformations sent in the first minute.
    pub frames: Vec<SentFrame>,
    /// Path time of the shape that was sent last, seconds; `None` if none was.
    pub last_site_s: Option<f64>,
}

/// A deformation that was sent.
#[derive(Clone, Copy, Debug)]
pub struct SentFrame {
    /// Time of sending, seconds since the run's start.
    pub sent_s: f64,
    /// Time on the path that the shape belongs to, seconds.
    pub site_s: f64,
}

/// Runs the client to its end on the calling thread.
///
/// # Errors
/// Returns an error if the server refuses or goes away, or if there is no timer.
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
            // Answers are polled first: if frames were always overdue, the answers and the error that ends them would
            // not be read.
            biased;
            answer = answers.message() => match answer {
                Ok(Some(answer)) => done.acknowledge(&answer),
                Ok(None) => return Err(ClientError::ended(client.server(), "Deform").into()),
                Err(status) => return Err(ClientError::of(client.server(), "Deform", &status).into()),
            },
            due = pacer.due() => {
                // After a stall a simulator sends the newest shape, and not two within a tenth of a millisecond.
                let Some(due) = due?.map(|due| pacer.newest(due)) else { break };
                // A permit comes first: the dent takes each shape that it follows as sent. If a frame were dropped
                // after that, its vertices would stay at the server where they were.
                match requests.try_reserve() {
                    Ok(room) => {
                        let site_s = (due.intended - started).as_secs_f64();
                        let on_path = plan.path.site(site_s);
                        let site = plan.guide.as_ref().and_then(|g| g.site()).unwrap_or(on_path);
                        if let Some(moved) = plan.dent.follow(&site) {
                            room.send(plan.request(due.index + 1, moved));
                            done.sent += 1;
                            done.last_site_s = Some(site_s);
                            let sent_s = started.elapsed().as_secs_f64();
                            if sent_s < COMPARED_S {
                                done.frames.push(SentFrame { sent_s, site_s });
                            }
                        }
                    }
                    // A skipped frame is not made up for: the next one has the newest shape.
                    Err(TrySendError::Full(())) => {}
                    // The answers report why the stream ended.
                    Err(TrySendError::Closed(())) => tokio::task::yield_now().await,
                }
            }
        }
    }
    // Closing the requests tells the server that no frame follows; it then ends the stream after the last answer.
    drop(requests);
    let last = async {
        while let Ok(Some(answer)) = answers.message().await {
            done.acknowledge(&answer);
        }
    };
    // Answers that do not come in time stay unacknowledged.
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
