//! Replays the poses of a run's device in lock-step: the tissue is as it was at each pose, each tick is answered before
//! the next, and a late tick is sent again. This yields the true force at each pose, to compare with the force that the
//! hand felt.

use glam::DVec3;

use super::plan::Plan;
use crate::{
    client::{Client, ClientError, Duplex, local_model::on_the_wire},
    coupling::wrench::WrenchLimits,
    load::{
        report::{
            Measured,
            fidelity::{Fidelity, FidelityReport, HeldSample},
            renderings::contact_force,
        },
        stage::{Stage, dent::Dent, path::Site},
    },
    proto::{
        DeformRequest, DeformResponse, RenderOptions, RenderState, Tick, ToolPose, TrackMode,
        TrackRequest, TrackResponse, TrackStart, track_request::Message,
    },
};

/// Times that a late tick is sent again. The proxy advances each time.
const ATTEMPTS: u32 = 100;

/// The scene of a run, and separate streams into it.
struct LockStep<'a> {
    stage: &'a Stage,
    plan: &'a Plan,
    client: Client,
    ticks: Duplex<TrackRequest, TrackResponse>,
    shapes: Duplex<DeformRequest, DeformResponse>,
    sequence: u64,
    frame: u64,
}

/// Compares the force that the hand felt with the true force; returns `None` if no device was held or nothing was
/// touched.
///
/// # Errors
/// Returns an error if the server refuses or goes away.
pub async fn compare(
    stage: &Stage,
    plan: &Plan,
    measured: &Measured,
) -> Result<Option<FidelityReport>, ClientError> {
    let held = &measured.tally.servo.held;
    // Cut tissue cannot be restored.
    let Some(device) = plan.device.as_ref().filter(|_| plan.cut_hz == 0.0 && !held.is_empty())
    else {
        return Ok(None);
    };
    eprintln!("palpate: {} poses once more, in lock-step, for the true force", held.len());
    let mut client = stage.client();
    let start = TrackStart {
        scene_id: stage.scene_id.clone(),
        tool_ids: vec![stage.tool_id],
        mode: TrackMode::Every.into(),
        render: vec![RenderOptions {
            tool_id: stage.tool_id,
            stiffness_n_per_m: device.stiffness_n_per_m,
            ..Default::default()
        }],
        ..Default::default()
    };
    let (ticks, shapes) = (client.track(start, 1).await?, client.deform(1).await?);
    let mut run = LockStep { stage, plan, client, ticks, shapes, sequence: 0, frame: 0 };
    let mut dent = plan.dent();
    if let Some(last_s) = measured.deformations.last_site_s {
        // The server has the tissue as the last frame left it: from there back to rest.
        let left = stage.path.site(last_s);
        dent.follow(&left);
        run.deform(&mut dent, &Site { dent_m: 0.0, ..left }).await?;
    }
    let mut frames = measured.deformations.frames.iter().peekable();
    let mut fidelity = Fidelity::default();
    for sample in held {
        let mut newest = None;
        while let Some(frame) = frames.next_if(|frame| frame.sent_s <= sample.seconds) {
            newest = Some(frame);
        }
        if let Some(frame) = newest {
            run.deform(&mut dent, &stage.path.site(frame.site_s)).await?;
        }
        // Without a proxy in time there is no true force to compare with.
        let Some(borne) = run.force_at(sample).await? else { continue };
        let true_n = borne.clamp_length_max(WrenchLimits::DESKTOP.max_force_n);
        fidelity.note(sample.seconds, sample.felt_n, true_n);
    }
    Ok(fidelity.report())
}

impl LockStep<'_> {
    /// Dents the tissue below a site, and waits until ticks see it.
    async fn deform(&mut self, dent: &mut Dent, site: &Site) -> Result<(), ClientError> {
        let Some(moved) = dent.follow(site) else { return Ok(()) };
        self.frame += 1;
        let request = DeformRequest {
            scene_id: self.stage.scene_id.clone(),
            tissue_id: self.stage.tissue_id,
            sequence: self.frame,
            positions: Some(moved),
            hold: false,
        };
        let ended = ClientError::ended(self.client.server(), "Deform");
        // If the request was not taken, the answer says why.
        let _ = self.shapes.requests.send(request).await;
        let answer = self.shapes.answers.message().await;
        let answer = answer.map_err(|s| ClientError::of(self.client.server(), "Deform", &s))?;
        answer.map(drop).ok_or(ended)
    }

    /// Returns the force of the contacts on the tool, newtons; `None` if every attempt was late.
    async fn force_at(&mut self, sample: &HeldSample) -> Result<Option<DVec3>, ClientError> {
        let links = self.plan.instrument.link_poses(sample.seconds);
        for _ in 0..ATTEMPTS {
            self.sequence += 1;
            let tool = ToolPose {
                tool_id: self.stage.tool_id,
                pose: Some(on_the_wire(&sample.at)),
                link_poses: links.iter().map(on_the_wire).collect(),
                teleport: self.sequence == 1,
            };
            let tick = Tick { sequence: self.sequence, tools: vec![tool], ..Default::default() };
            let request = TrackRequest { message: Some(Message::Tick(tick)) };
            let ended = ClientError::ended(self.client.server(), "Track");
            let _ = self.ticks.requests.send(request).await;
            let answer = self.ticks.answers.message().await;
            let answer = answer.map_err(|s| ClientError::of(self.client.server(), "Track", &s))?;
            let answer = answer.ok_or(ended)?;
            let Some(rendering) = answer.renderings.first() else { continue };
            if rendering.state() != RenderState::Late {
                return Ok(Some(contact_force(rendering)));
            }
        }
        Ok(None)
    }
}
