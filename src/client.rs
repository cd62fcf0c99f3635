//! A connection to a server: set a scene up, open the two streams.
//!
//! It knows the contract, meshes and their files; neither the server nor the harness that drives it.

pub mod address;
pub mod mesh_source;

use std::error::Error as _;

use tokio::sync::mpsc;
use tokio_stream::{StreamExt, iter, once, wrappers::ReceiverStream};
use tonic::{
    Code, Response, Status, Streaming, service::interceptor::InterceptedService, transport::Channel,
};

use crate::proto::{
    AddTissueHeader, AddTissueRequest, AddTissueResponse, AddToolHeader, AddToolRequest,
    AddToolResponse, CreateSceneRequest, DeformRequest, DeformResponse, DeleteSceneRequest,
    EditTopologyRequest, EditTopologyResponse, LinkHeader, Pose, Probe, QueryDistancesRequest,
    QueryDistancesResponse, TrackRequest, TrackResponse, TrackStart, add_tissue_request,
    add_tool_request, haptic_service_client::HapticServiceClient,
    scene_service_client::SceneServiceClient, track_request,
};
use address::{BringKey, ServerAddress};
use mesh_source::MeshSource;

/// Why a call did not do what it should.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The address is none, or nobody answers there.
    #[error("cannot connect to {server}: {reason}")]
    Connect {
        /// As given.
        server: String,
        /// The innermost cause.
        reason: String,
    },
    /// The connection broke: the server ended or the network failed.
    #[error("the server at {server} is gone ({call}): {reason}")]
    Gone {
        /// Its address.
        server: String,
        /// What was asked of it.
        call: &'static str,
        /// The innermost cause.
        reason: String,
    },
    /// The server refused.
    #[error("{call} was refused ({code:?}): {message}")]
    Refused {
        /// What was asked.
        call: &'static str,
        /// The status code.
        code: Code,
        /// The server's words.
        message: String,
    },
}

/// One connection.
#[derive(Clone)]
pub struct Client {
    server: ServerAddress,
    scenes: SceneServiceClient<WithKey>,
    haptics: HapticServiceClient<WithKey>,
}

type WithKey = InterceptedService<Channel, BringKey>;

/// A rigid part of a tool, to be uploaded.
#[derive(Clone, Debug)]
pub struct LinkUpload {
    /// Unique in its tool.
    pub name: String,
    /// The shape, in the link's frame.
    pub mesh: MeshSource,
    /// Tool frame from link frame at rest.
    pub rest_pose: Option<Pose>,
}

/// The two ends of an open stream.
pub struct Duplex<Q, A> {
    /// Requests; full when the transport does not take more.
    pub requests: mpsc::Sender<Q>,
    /// Answers.
    pub answers: Streaming<A>,
}

impl Client {
    /// Connects.
    ///
    /// # Errors
    /// When nobody answers there.
    pub async fn connect(server: &ServerAddress) -> Result<Client, ClientError> {
        let failed = |e: tonic::transport::Error| ClientError::Connect {
            server: server.to_string(),
            reason: innermost(&e),
        };
        // Not lazily: an address where nobody answers is told here and not by the first call.
        let channel = server.endpoint().map_err(failed)?.connect().await.map_err(failed)?;
        Ok(Client {
            server: server.clone(),
            scenes: SceneServiceClient::with_interceptor(channel.clone(), server.key()),
            haptics: HapticServiceClient::with_interceptor(channel, server.key()),
        })
    }

    /// Makes an empty scene.
    ///
    /// # Errors
    /// When it is refused or the server is gone.
    pub async fn create_scene(&mut self, scene_id: &str) -> Result<(), ClientError> {
        let answer =
            self.scenes.create_scene(CreateSceneRequest { scene_id: scene_id.to_owned() }).await;
        self.take("CreateScene", answer).map(|_| ())
    }

    /// Removes a scene.
    ///
    /// # Errors
    /// When it is refused or the server is gone.
    pub async fn delete_scene(&mut self, scene_id: &str) -> Result<(), ClientError> {
        let answer =
            self.scenes.delete_scene(DeleteSceneRequest { scene_id: scene_id.to_owned() }).await;
        self.take("DeleteScene", answer).map(|_| ())
    }

    /// Uploads a tissue.
    ///
    /// # Errors
    /// When it is refused or the server is gone.
    pub async fn add_tissue(
        &mut self,
        scene_id: &str,
        name: &str,
        mesh: &MeshSource,
    ) -> Result<AddTissueResponse, ClientError> {
        use add_tissue_request::Message;
        let header = AddTissueHeader {
            scene_id: scene_id.to_owned(),
            name: name.to_owned(),
            mesh: Some(mesh.header()),
            options: None,
        };
        let messages = once(Message::Header(header))
            .chain(iter(mesh.chunks(0)).map(Message::Chunk))
            .map(|message| AddTissueRequest { message: Some(message) });
        let answer = self.scenes.add_tissue(messages).await;
        self.take("AddTissue", answer)
    }

    /// Uploads a tool.
    ///
    /// # Errors
    /// When it is refused or the server is gone.
    pub async fn add_tool(
        &mut self,
        scene_id: &str,
        name: &str,
        links: &[LinkUpload],
        probes: &[Probe],
    ) -> Result<AddToolResponse, ClientError> {
        use add_tool_request::Message;
        let header = AddToolHeader {
            scene_id: scene_id.to_owned(),
            name: name.to_owned(),
            links: links
                .iter()
                .map(|link| LinkHeader {
                    name: link.name.clone(),
                    mesh: Some(link.mesh.header()),
                    rest_pose: link.rest_pose,
                    field: None,
                })
                .collect(),
            probes: probes.to_vec(),
        };
        let chunks: Vec<_> =
            (0..).zip(links).flat_map(|(number, link)| link.mesh.chunks(number)).collect();
        let messages = once(Message::Header(header))
            .chain(iter(chunks).map(Message::Chunk))
            .map(|message| AddToolRequest { message: Some(message) });
        let answer = self.scenes.add_tool(messages).await;
        self.take("AddTool", answer)
    }

    /// Cuts a tissue.
    ///
    /// # Errors
    /// When it is refused or the server is gone.
    pub async fn edit_topology(
        &mut self,
        request: EditTopologyRequest,
    ) -> Result<EditTopologyResponse, ClientError> {
        let answer = self.scenes.edit_topology(request).await;
        self.take("EditTopology", answer)
    }

    /// Signed distances of points.
    ///
    /// # Errors
    /// When it is refused or the server is gone.
    pub async fn query_distances(
        &mut self,
        request: QueryDistancesRequest,
    ) -> Result<QueryDistancesResponse, ClientError> {
        let answer = self.haptics.query_distances(request).await;
        self.take("QueryDistances", answer)
    }

    /// Opens a haptic loop; at most `waiting_max` ticks wait for the transport.
    ///
    /// # Errors
    /// When it is refused or the server is gone.
    pub async fn track(
        &mut self,
        start: TrackStart,
        waiting_max: usize,
    ) -> Result<Duplex<TrackRequest, TrackResponse>, ClientError> {
        let (requests, taken) = mpsc::channel(waiting_max);
        let start = TrackRequest { message: Some(track_request::Message::Start(start)) };
        let answer = self.haptics.track(once(start).chain(ReceiverStream::new(taken))).await;
        Ok(Duplex { requests, answers: self.take("Track", answer)? })
    }

    /// Opens a stream of deformations; at most `waiting_max` wait for the transport.
    ///
    /// # Errors
    /// When it is refused or the server is gone.
    pub async fn deform(
        &mut self,
        waiting_max: usize,
    ) -> Result<Duplex<DeformRequest, DeformResponse>, ClientError> {
        let (requests, taken) = mpsc::channel(waiting_max);
        let answer = self.scenes.deform(ReceiverStream::new(taken)).await;
        Ok(Duplex { requests, answers: self.take("Deform", answer)? })
    }

    /// Tells a refusal from a broken connection. tonic reports the latter as UNKNOWN or INTERNAL with a
    /// source, and behind a proxy as UNAVAILABLE.
    pub fn error(&self, call: &'static str, status: &Status) -> ClientError {
        // A status from the server has no source; one that the transport made up has.
        let broken = status.source().map(innermost);
        match (status.code(), broken) {
            (Code::Unavailable, reason) => {
                self.gone(call, reason.unwrap_or_else(|| status.message().to_owned()))
            }
            (_, Some(reason)) => self.gone(call, reason),
            (code, None) => {
                ClientError::Refused { call, code, message: status.message().to_owned() }
            }
        }
    }

    /// The error for a stream that the server ended without a reason.
    pub fn ended(&self, call: &'static str) -> ClientError {
        self.gone(call, "it ended the stream".to_owned())
    }

    fn gone(&self, call: &'static str, reason: String) -> ClientError {
        ClientError::Gone { server: self.server.to_string(), call, reason }
    }

    fn take<A>(
        &self,
        call: &'static str,
        answer: Result<Response<A>, Status>,
    ) -> Result<A, ClientError> {
        answer.map(Response::into_inner).map_err(|status| self.error(call, &status))
    }
}

/// The last of an error's causes: "connection refused" rather than "transport error".
fn innermost(error: &(dyn std::error::Error + 'static)) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn says_that_nobody_answers() {
        // Bound and dropped: a port that was free a moment ago.
        let free = std::net::TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr());
        let server = free.expect("a port").to_string();
        let error =
            Client::connect(&ServerAddress::new(&server)).await.err().expect("nobody there");
        assert!(error.to_string().starts_with(&format!("cannot connect to {server}: ")), "{error}");
    }
}
