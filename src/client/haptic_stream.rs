//! A haptic loop in lock-step: a pose out, its answer in.

use tonic::Code;

use super::{address::ServerAddress, duplex::Duplex, error::ClientError};
use crate::proto::{Pose, Tick, ToolPose, TrackRequest, TrackResponse, track_request::Message};

/// An open `Track` stream that numbers its ticks.
///
/// For tools that may wait for each answer: tests, teaching, planning. A device's loop at 1 kHz sends its next pose
/// whether the answer is there or not: [`Client::track`](super::Client::track).
pub struct HapticStream {
    server: ServerAddress,
    stream: Duplex<TrackRequest, TrackResponse>,
    sequence: u64,
}

impl HapticStream {
    pub(super) fn new(
        server: ServerAddress,
        stream: Duplex<TrackRequest, TrackResponse>,
    ) -> HapticStream {
        HapticStream { server, stream, sequence: 0 }
    }

    /// Puts each tool of the stream at a pose (scene frame from tool frame) and waits for the answer.
    ///
    /// # Errors
    /// When the tick is refused, which leaves the stream open, or the server is gone.
    pub async fn tick(&mut self, tools: &[(u32, Pose)]) -> Result<TrackResponse, ClientError> {
        // Of a refused tick too: sequences rise through the whole stream.
        self.sequence += 1;
        let at = |&(tool_id, pose): &(u32, Pose)| ToolPose {
            tool_id,
            pose: Some(pose),
            ..ToolPose::default()
        };
        let tools = tools.iter().map(at).collect();
        let tick = Tick { sequence: self.sequence, tools, ..Tick::default() };
        // A closed channel: the stream has ended, and its status says why.
        let _ =
            self.stream.requests.send(TrackRequest { message: Some(Message::Tick(tick)) }).await;
        let failed = |status| ClientError::of(&self.server, "Track", &status);
        let answer = self.stream.answers.message().await.map_err(failed)?;
        let answer = answer.ok_or_else(|| ClientError::ended(&self.server, "Track"))?;
        match answer.refusal {
            Some(refusal) => Err(ClientError::Refused {
                call: "Track",
                code: Code::from_i32(refusal.code as i32),
                message: refusal.message,
            }),
            None => Ok(answer),
        }
    }
}
