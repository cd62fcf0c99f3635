//! SceneService: scenes, uploads, deformation, cuts and exports.

use std::{num::NonZero, pin::Pin, sync::Arc, thread::available_parallelism, time::Duration};

use tokio_stream::Stream;
use tonic::{Request, Response, Status, Streaming};

use super::{add, deform::deform, mesh_upload::Requests, until_ended::UntilEnded};
use crate::{
    proto::{self, scene_service_server::SceneService},
    scene::Tissue,
    service::{
        access::caller::caller,
        convert::{
            self,
            scene::{scene, tissue_id, tool_id},
        },
        host::{
            fair_places::FairPlaces,
            fields::Fields,
            quota::Share,
            scene_registry::{SceneHost, SceneRegistry},
        },
        refused::Refused,
        transport::deadline::{CallDeadline, deadline},
    },
};

/// The control plane over a scene registry.
pub struct Scenes {
    registry: Arc<SceneRegistry>,
    fields: Fields,
    upload_pause_max: Duration,
    /// Uploads that are read, indexed and given fields.
    places: FairPlaces,
}

/// Uploads that are worked on at a time, at least; a key has all but one.
const UPLOADS_MIN: usize = 2;

type AnswerStream<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

impl Scenes {
    /// Serves the scenes of `registry`; links get their fields from `fields`.
    pub fn new(registry: Arc<SceneRegistry>, fields: Fields, upload_pause_max: Duration) -> Scenes {
        // Each takes a core; with one place a key could not have all but one of them.
        let cores = available_parallelism().map_or(1, NonZero::get);
        let places = FairPlaces::new(cores.max(UPLOADS_MIN));
        Scenes { registry, fields, upload_pause_max, places }
    }

    fn upload<R>(&self, request: Request<Streaming<R>>) -> Requests<R> {
        let stream = UntilEnded::new(&self.registry, request.into_inner());
        Requests { stream, pause_max: self.upload_pause_max, places: self.places.clone() }
    }

    async fn edit(
        host: &SceneHost,
        request: &proto::EditTopologyRequest,
        deadline: CallDeadline,
    ) -> Result<proto::EditTopologyResponse, Refused> {
        let tissue = host.scene.tissue(tissue_id(request.tissue_id))?;
        let edit = convert::deform::edit(request)?;
        let sent = edit.clone();
        let limits = host.scene.limits().clone();
        let written = host
            .writer
            .run(tissue, move |tissue, now_ns| {
                deadline.commit()?;
                Ok::<_, Refused>(tissue.edit(edit, &limits, now_ns)?)
            })
            .await?;
        Ok(convert::deform::edited(&sent, &written.result?, written.update_us))
    }
}

#[tonic::async_trait]
impl SceneService for Scenes {
    type DeformStream = AnswerStream<proto::DeformResponse>;
    type ExportTissueStream = AnswerStream<proto::ExportTissueResponse>;
    type ExportToolStream = AnswerStream<proto::ExportToolResponse>;

    async fn create_scene(
        &self,
        request: Request<proto::CreateSceneRequest>,
    ) -> Result<Response<proto::CreateSceneResponse>, Status> {
        deadline(&request).commit()?;
        let host = self.registry.create(&request.get_ref().scene_id, &caller(&request))?;
        Ok(Response::new(proto::CreateSceneResponse {
            scene: Some(scene(&host.scene, host.is_quarantined())),
        }))
    }

    async fn get_scene(
        &self,
        request: Request<proto::GetSceneRequest>,
    ) -> Result<Response<proto::GetSceneResponse>, Status> {
        let host = self.registry.get(&request.get_ref().scene_id)?;
        Ok(Response::new(proto::GetSceneResponse {
            scene: Some(scene(&host.scene, host.is_quarantined())),
        }))
    }

    async fn list_scenes(
        &self,
        _: Request<proto::ListScenesRequest>,
    ) -> Result<Response<proto::ListScenesResponse>, Status> {
        let scenes = self
            .registry
            .all()
            .iter()
            .map(|host| scene(&host.scene, host.is_quarantined()))
            .collect();
        Ok(Response::new(proto::ListScenesResponse { scenes }))
    }

    async fn delete_scene(
        &self,
        request: Request<proto::DeleteSceneRequest>,
    ) -> Result<Response<proto::DeleteSceneResponse>, Status> {
        deadline(&request).commit()?;
        self.registry.delete(&request.get_ref().scene_id, &caller(&request))?;
        Ok(Response::new(proto::DeleteSceneResponse {}))
    }

    async fn add_tissue(
        &self,
        request: Request<Streaming<proto::AddTissueRequest>>,
    ) -> Result<Response<proto::AddTissueResponse>, Status> {
        let (caller, deadline) = (caller(&request), deadline(&request));
        let requests = self.upload(request);
        Ok(Response::new(add::tissue(&self.registry, &caller, deadline, requests).await?))
    }

    async fn add_tool(
        &self,
        request: Request<Streaming<proto::AddToolRequest>>,
    ) -> Result<Response<proto::AddToolResponse>, Status> {
        let (caller, deadline) = (caller(&request), deadline(&request));
        let requests = self.upload(request);
        let added = add::tool(&self.registry, &self.fields, &caller, deadline, requests).await?;
        Ok(Response::new(added))
    }

    async fn remove_tissue(
        &self,
        request: Request<proto::RemoveTissueRequest>,
    ) -> Result<Response<proto::RemoveTissueResponse>, Status> {
        let (caller, deadline) = (caller(&request), deadline(&request));
        let request = request.get_ref();
        let host = self.registry.owned(&request.scene_id, &caller)?;
        deadline.commit()?;
        host.scene.remove_tissue(tissue_id(request.tissue_id))?;
        Ok(Response::new(proto::RemoveTissueResponse {}))
    }

    async fn remove_tool(
        &self,
        request: Request<proto::RemoveToolRequest>,
    ) -> Result<Response<proto::RemoveToolResponse>, Status> {
        let (caller, deadline) = (caller(&request), deadline(&request));
        let request = request.get_ref();
        let host = self.registry.owned(&request.scene_id, &caller)?;
        deadline.commit()?;
        host.scene.remove_tool(tool_id(request.tool_id))?;
        Ok(Response::new(proto::RemoveToolResponse {}))
    }

    async fn deform(
        &self,
        request: Request<Streaming<proto::DeformRequest>>,
    ) -> Result<Response<Self::DeformStream>, Status> {
        let (caller, deadline) = (caller(&request), deadline(&request));
        let answers = deform(Arc::clone(&self.registry), caller, deadline, request.into_inner());
        Ok(Response::new(Box::pin(answers)))
    }

    async fn edit_topology(
        &self,
        request: Request<proto::EditTopologyRequest>,
    ) -> Result<Response<proto::EditTopologyResponse>, Status> {
        let (caller, deadline) = (caller(&request), deadline(&request));
        let request = request.get_ref();
        let host = self.registry.owned(&request.scene_id, &caller)?;
        let [vertices, triangles] =
            [&request.added_positions_m.len(), &request.added_triangles.len()]
                .map(|n| *n as u64 / 3);
        let more = Share::of_tissue(vertices, triangles);
        let _room = self.registry.reserve(&caller, more)?;
        Ok(Response::new(Scenes::edit(&host, request, deadline).await?))
    }

    async fn hold_tissue(
        &self,
        request: Request<proto::HoldTissueRequest>,
    ) -> Result<Response<proto::HoldTissueResponse>, Status> {
        let (caller, deadline) = (caller(&request), deadline(&request));
        let request = request.get_ref();
        let host = self.registry.owned(&request.scene_id, &caller)?;
        let tissue = host.scene.tissue(tissue_id(request.tissue_id))?;
        // By the one who writes, so that what is held is the revision that is told.
        let hold = move |tissue: &Tissue, _| {
            deadline.commit()?;
            let held = tissue.hold();
            Ok::<_, Refused>(convert::deform::held(&tissue.current(), held))
        };
        Ok(Response::new(host.writer.run(tissue, hold).await?.result?))
    }

    async fn export_tool(
        &self,
        request: Request<proto::ExportToolRequest>,
    ) -> Result<Response<Self::ExportToolStream>, Status> {
        let request = request.get_ref();
        let host = self.registry.served(&request.scene_id)?;
        let messages = convert::export::tool(host.scene.tool(tool_id(request.tool_id))?);
        Ok(Response::new(Box::pin(tokio_stream::iter(messages.map(Ok)))))
    }

    async fn export_tissue(
        &self,
        request: Request<proto::ExportTissueRequest>,
    ) -> Result<Response<Self::ExportTissueStream>, Status> {
        let request = request.get_ref();
        let host = self.registry.served(&request.scene_id)?;
        let tissue = host.scene.tissue(tissue_id(request.tissue_id))?;
        let messages = convert::export::tissue(Arc::clone(&tissue.current()));
        Ok(Response::new(Box::pin(tokio_stream::iter(messages.map(Ok)))))
    }
}
