//! Calls of one client about one scene, each made after the previous one was answered.

use std::{
    collections::VecDeque,
    net::SocketAddr,
    pin::Pin,
    task::{Context, Poll, ready},
};

use palpate::proto::{
    AddTissueHeader, AddTissueRequest, AddToolHeader, AddToolRequest, CreateSceneRequest,
    DeformRequest, DeformResponse, DeleteSceneRequest, DetectSelfCollisionsRequest,
    EditTopologyRequest, EditTopologyResponse, ExportTissueRequest, GetSceneRequest, TrackRequest,
    TrackResponse, TrackStart, add_tissue_request, add_tool_request, deform_request::Positions,
};
use tokio::sync::mpsc;
use tokio_stream::{Stream, StreamExt};
use tonic::{Status, Streaming};

use super::{
    answer::Answer,
    stage::{Stage, Upload},
    surface::Surface,
    transcript::Transcript,
};
use crate::support::{messages::start_message, server::TestServer};

/// A client with a scene of its own.
pub struct Conversation<'a> {
    pub server: TestServer,
    pub stage: &'a Stage,
    pub scene_id: String,
    pub transcript: Transcript,
    /// Sequence of the last deformation.
    deform_sequence: u64,
}

/// A haptic loop. Requests sent at once reach the server in one piece, as long as they have less than 16 KiB.
pub struct Track {
    pub requests: mpsc::Sender<Vec<TrackRequest>>,
    pub answers: Streaming<TrackResponse>,
}

/// A stream of requests, made of bursts.
struct Bursts {
    sent: mpsc::Receiver<Vec<TrackRequest>>,
    ready: VecDeque<TrackRequest>,
}

impl Stream for Bursts {
    type Item = TrackRequest;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<TrackRequest>> {
        while self.ready.is_empty() {
            match ready!(self.sent.poll_recv(cx)) {
                Some(burst) => self.ready.extend(burst),
                None => return Poll::Ready(None),
            }
        }
        Poll::Ready(self.ready.pop_front())
    }
}

impl<'a> Conversation<'a> {
    /// Creates a scene with tissue 1 and tool 1 of the stage.
    pub async fn begin(address: SocketAddr, stage: &'a Stage, script: &str) -> Conversation<'a> {
        let server = TestServer::connect(address).await;
        let scene_id = format!("{}-{script}", stage.name);
        let transcript = Transcript::new();
        let mut c = Conversation { server, stage, scene_id, transcript, deform_sequence: 0 };
        let request = CreateSceneRequest { scene_id: c.scene_id.clone(), durable: None };
        let outcome = c.server.scenes.create_scene(request).await;
        c.noted("CreateScene", outcome).expect("a new scene");
        c.add_tissue("tissue", &stage.tissue).await.expect("tissue 1");
        c.add_tool("tool").await.expect("tool 1");
        c
    }

    /// Records the answer to a call.
    pub fn noted<A: Answer>(
        &mut self,
        call: &str,
        outcome: Result<tonic::Response<A>, Status>,
    ) -> Result<A, Status> {
        self.transcript.note(call, outcome.map(tonic::Response::into_inner))
    }

    pub async fn add_tissue(&mut self, name: &str, mesh: &Upload) -> Result<(), Status> {
        use add_tissue_request::Message;
        let header = AddTissueHeader {
            scene_id: self.scene_id.clone(),
            name: name.to_owned(),
            mesh: Some(mesh.header),
            options: None,
            ..AddTissueHeader::default()
        };
        let messages = [Message::Header(header)]
            .into_iter()
            .chain(mesh.chunks.iter().cloned().map(Message::Chunk))
            .map(|message| AddTissueRequest { message: Some(message) })
            .collect::<Vec<_>>();
        let outcome = self.server.scenes.add_tissue(tokio_stream::iter(messages)).await;
        self.noted("AddTissue", outcome).map(drop)
    }

    /// Adds the stage's tool under another name.
    pub async fn add_tool(&mut self, name: &str) -> Result<(), Status> {
        use add_tool_request::Message;
        let stage = self.stage;
        let header = AddToolHeader {
            scene_id: self.scene_id.clone(),
            name: name.to_owned(),
            links: stage.links.iter().map(|(header, _)| header.clone()).collect(),
            probes: stage.probes.clone(),
        };
        let mut messages = vec![AddToolRequest { message: Some(Message::Header(header)) }];
        for ((_, mesh), link) in stage.links.iter().zip(0..) {
            for chunk in &mesh.chunks {
                let mut chunk = chunk.clone();
                chunk.link = link;
                messages.push(AddToolRequest { message: Some(Message::Chunk(chunk)) });
            }
        }
        let outcome = self.server.scenes.add_tool(tokio_stream::iter(messages)).await;
        self.noted("AddTool", outcome).map(drop)
    }

    /// Reads the scene, and returns the current surface of a tissue.
    pub async fn surface(&mut self, tissue_id: u32) -> Surface {
        let request = GetSceneRequest { scene_id: self.scene_id.clone() };
        let outcome = self.server.scenes.get_scene(request).await;
        self.noted("GetScene", outcome).expect("it is there");
        let request = ExportTissueRequest { scene_id: self.scene_id.clone(), tissue_id };
        let outcome = self.server.scenes.export_tissue(request).await;
        let mut messages = outcome.expect("it is there").into_inner();
        let mut exported = Vec::new();
        while let Some(message) = messages.next().await {
            exported.push(self.transcript.note("ExportTissue", message).expect("all of it"));
        }
        Surface::of_export(&exported)
    }

    /// Moves vertices of a tissue.
    pub async fn deform(
        &mut self,
        tissue_id: u32,
        positions: Positions,
        hold: bool,
    ) -> Result<DeformResponse, Status> {
        self.deform_sequence += 1;
        let request = DeformRequest {
            scene_id: self.scene_id.clone(),
            tissue_id,
            sequence: self.deform_sequence,
            positions: Some(positions),
            hold,
        };
        self.send_deform(request).await
    }

    /// Sends a deformation on a stream of its own.
    pub async fn send_deform(&mut self, request: DeformRequest) -> Result<DeformResponse, Status> {
        let outcome = match self.server.scenes.deform(tokio_stream::iter([request])).await {
            Ok(answers) => answers.into_inner().next().await.expect("each is answered"),
            Err(status) => Err(status),
        };
        self.transcript.note("Deform", outcome)
    }

    pub async fn edit(
        &mut self,
        request: EditTopologyRequest,
    ) -> Result<EditTopologyResponse, Status> {
        let outcome = self.server.scenes.edit_topology(request).await;
        self.noted("EditTopology", outcome)
    }

    /// Reads the answer to its end, or its refusal.
    pub async fn self_collisions(&mut self, request: DetectSelfCollisionsRequest) {
        let call = "DetectSelfCollisions";
        match self.server.haptics.detect_self_collisions(request).await {
            Ok(messages) => {
                let mut messages = messages.into_inner();
                while let Some(message) = messages.next().await {
                    // A refusal is recorded, and is the last message.
                    let _ = self.transcript.note(call, message);
                }
            }
            Err(status) => {
                let refused = Err::<palpate::proto::DetectSelfCollisionsResponse, _>(status);
                let _ = self.transcript.note(call, refused);
            }
        }
    }

    /// Deletes the scene.
    pub async fn end(&mut self) {
        let request = DeleteSceneRequest { scene_id: self.scene_id.clone() };
        let outcome = self.server.scenes.delete_scene(request).await;
        self.noted("DeleteScene", outcome).expect("it is there");
    }

    /// Opens a haptic loop of this scene.
    pub async fn track(&mut self, start: TrackStart) -> Track {
        let scene_id = self.scene_id.clone();
        Track::open(&mut self.server, TrackStart { scene_id, ..start }).await
    }

    /// Sends ticks at once and returns one answer.
    pub async fn ask(
        &mut self,
        track: &mut Track,
        ticks: Vec<TrackRequest>,
    ) -> Result<TrackResponse, Status> {
        let outcome = track.ask(ticks).await;
        self.transcript.note("Track", outcome)
    }
}

impl Track {
    pub async fn open(server: &mut TestServer, start: TrackStart) -> Track {
        let (requests, sent) = mpsc::channel(4);
        requests.send(vec![start_message(start)]).await.expect("room");
        let bursts = Bursts { sent, ready: VecDeque::new() };
        let answers = server.haptics.track(bursts).await.expect("a stream").into_inner();
        Track { requests, answers }
    }

    pub async fn ask(&mut self, ticks: Vec<TrackRequest>) -> Result<TrackResponse, Status> {
        // An error means that the stream has ended; its status says why.
        let _ = self.requests.send(ticks).await;
        Ok(self.answers.message().await?.expect("each burst is answered"))
    }
}
