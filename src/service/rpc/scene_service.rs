//! SceneService: scenes, uploads, deformation, cuts and exports.

use std::{num::NonZero, pin::Pin, sync::Arc, thread::available_parallelism, time::Duration};

use tokio_stream::Stream;
use tonic::{Request, Response, Status, Streaming};
use tracing::Span;

use super::{add, cut, deform::deform, feel, mesh_upload::Requests};
use crate::{
    proto::{self, scene_service_server::SceneService},
    scene::Tissue,
    service::{
        access::{caller::caller, role::Role},
        catch_panic::catch_panic_blocking,
        convert::{
            self,
            scene::{scene, tissue_id, tool_id},
        },
        deadline::deadline,
        host::{
            cluster::{hand_over::hand_over, scene_lease::NewOwner, take_over::take_over},
            fair_places::FairPlaces,
            fields::Fields,
            part_change::{RemovedTissue, RemovedTool},
            quota::Share,
            scene_life::Ended,
            scene_registry::SceneRegistry,
        },
        loops::until_ended::UntilEnded,
        refused::Refused,
    },
};

/// The control plane over a scene registry.
pub struct Scenes {
    registry: Arc<SceneRegistry>,
    fields: Fields,
    upload_pause_max: Duration,
    /// Permits for uploads that are read, indexed and given fields.
    places: FairPlaces,
}

/// Minimum number of uploads worked on at a time; a key has all but one.
const UPLOADS_MIN: usize = 2;

type AnswerStream<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

impl Scenes {
    /// Serves the scenes of `registry`; links get their fields from `fields`.
    pub fn new(registry: Arc<SceneRegistry>, fields: Fields, upload_pause_max: Duration) -> Scenes {
        // Each upload takes a core; with one permit a key could not have all but one.
        let cores = available_parallelism().map_or(1, NonZero::get);
        let places = FairPlaces::new(cores.max(UPLOADS_MIN));
        Scenes { registry, fields, upload_pause_max, places }
    }

    fn upload<R>(&self, request: Request<Streaming<R>>) -> Requests<R> {
        let stream = UntilEnded::new(&self.registry, request.into_inner());
        Requests { stream, pause_max: self.upload_pause_max, places: self.places.clone() }
    }
}

/// Runs a change that waits for the disk to its end: a persisted change must be made, even if nobody waits for it any
/// more.
async fn blocking_to_its_end<T: Send + 'static>(
    change: impl FnOnce() -> Result<T, Refused> + Send + 'static,
) -> Result<T, Status> {
    let span = Span::current();
    Ok(catch_panic_blocking(move || span.in_scope(change)).await??)
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
        let (caller, deadline) = (caller(&request), deadline(&request));
        deadline.commit()?;
        let proto::CreateSceneRequest { scene_id, durable } = request.into_inner();
        let registry = Arc::clone(&self.registry);
        let is_durable = durable.unwrap_or(registry.keeping().is_some());
        let create = if is_durable { SceneRegistry::create_durable } else { SceneRegistry::create };
        let host = blocking_to_its_end(move || Ok(create(&registry, &scene_id, &caller)?)).await?;
        Ok(Response::new(proto::CreateSceneResponse { scene: Some(scene(&host)) }))
    }

    async fn get_scene(
        &self,
        request: Request<proto::GetSceneRequest>,
    ) -> Result<Response<proto::GetSceneResponse>, Status> {
        self.registry.open(&request.get_ref().scene_id).await?;
        let host = self.registry.get(&request.get_ref().scene_id)?;
        Ok(Response::new(proto::GetSceneResponse { scene: Some(scene(&host)) }))
    }

    async fn list_scenes(
        &self,
        _: Request<proto::ListScenesRequest>,
    ) -> Result<Response<proto::ListScenesResponse>, Status> {
        // A list that omits scenes would report that they do not exist.
        if let Err(ended @ Ended::Recovering) = self.registry.life().check_served() {
            return Err(ended.into());
        }
        let hosts = self.registry.all();
        // A list must not name scenes either that may be another server's by now.
        if self.registry.membership().is_some_and(|own| !own.answers()) {
            hosts.iter().try_for_each(|host| host.check_lease())?;
        }
        let scenes = hosts.iter().map(|host| scene(host)).collect();
        Ok(Response::new(proto::ListScenesResponse { scenes }))
    }

    async fn delete_scene(
        &self,
        request: Request<proto::DeleteSceneRequest>,
    ) -> Result<Response<proto::DeleteSceneResponse>, Status> {
        let (caller, deadline) = (caller(&request), deadline(&request));
        deadline.commit()?;
        let (registry, id) = (Arc::clone(&self.registry), request.into_inner().scene_id);
        registry.open(&id).await?;
        blocking_to_its_end(move || Ok(registry.delete(&id, &caller)?)).await?;
        Ok(Response::new(proto::DeleteSceneResponse {}))
    }

    async fn move_scene(
        &self,
        request: Request<proto::MoveSceneRequest>,
    ) -> Result<Response<proto::MoveSceneResponse>, Status> {
        let (caller, deadline) = (caller(&request), deadline(&request));
        let proto::MoveSceneRequest { scene_id, to_address, take_over: is_forced } =
            request.into_inner();
        let NewOwner { address, epoch } = if is_forced {
            caller.check_role(Role::Admin).map_err(Refused::from)?;
            deadline.commit()?;
            take_over(&self.registry, &scene_id, &to_address).await?
        } else {
            self.registry.open(&scene_id).await?;
            let host = self.registry.owned(&scene_id, &caller)?;
            deadline.commit()?;
            let registry = Arc::clone(&self.registry);
            let moved = move || Ok(hand_over(&registry, &host, &to_address)?);
            blocking_to_its_end(moved).await?
        };
        let address = address.unwrap_or_default();
        Ok(Response::new(proto::MoveSceneResponse { address, epoch }))
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

    async fn add_instrument(
        &self,
        request: Request<proto::AddInstrumentRequest>,
    ) -> Result<Response<proto::AddInstrumentResponse>, Status> {
        let (caller, terms) = (caller(&request), (deadline(&request), &self.places));
        let request = request.into_inner();
        Ok(Response::new(add::instrument(&self.registry, &caller, terms, request).await?))
    }

    async fn remove_tissue(
        &self,
        request: Request<proto::RemoveTissueRequest>,
    ) -> Result<Response<proto::RemoveTissueResponse>, Status> {
        let (caller, deadline) = (caller(&request), deadline(&request));
        let request = request.get_ref();
        self.registry.open(&request.scene_id).await?;
        let host = self.registry.owned(&request.scene_id, &caller)?;
        let id = tissue_id(request.tissue_id);
        blocking_to_its_end(move || host.change(RemovedTissue(id), deadline)).await?;
        Ok(Response::new(proto::RemoveTissueResponse {}))
    }

    async fn remove_tool(
        &self,
        request: Request<proto::RemoveToolRequest>,
    ) -> Result<Response<proto::RemoveToolResponse>, Status> {
        let (caller, deadline) = (caller(&request), deadline(&request));
        let request = request.get_ref();
        self.registry.open(&request.scene_id).await?;
        let host = self.registry.owned(&request.scene_id, &caller)?;
        let id = tool_id(request.tool_id);
        blocking_to_its_end(move || host.change(RemovedTool(id), deadline)).await?;
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
        let request = request.into_inner();
        self.registry.open(&request.scene_id).await?;
        let host = self.registry.owned(&request.scene_id, &caller)?;
        Ok(Response::new(cut::cut(&self.registry, &host, &caller, request, deadline).await?))
    }

    async fn hold_tissue(
        &self,
        request: Request<proto::HoldTissueRequest>,
    ) -> Result<Response<proto::HoldTissueResponse>, Status> {
        let (caller, deadline) = (caller(&request), deadline(&request));
        let request = request.into_inner();
        self.registry.open(&request.scene_id).await?;
        let host = self.registry.owned(&request.scene_id, &caller)?;
        let tissue = host.scene.tissue(tissue_id(request.tissue_id)).map_err(Refused::from)?;
        let recorder = host.recorder().cloned();
        let n_vertices = tissue.current().surface.mesh().positions().len();
        let room = self.registry.reserve(&caller, Share::of_held(n_vertices))?;
        // Held by the writer thread, so that the held revision is the reported one.
        let hold = move |tissue: &Tissue, now_ns| {
            let _room = room;
            deadline.commit()?;
            let held = tissue.hold();
            let answer = convert::deform::held(&tissue.current(), held);
            if let Some(recorder) = recorder {
                recorder.held(now_ns, request, answer.clone());
            }
            Ok::<_, Refused>(answer)
        };
        Ok(Response::new(host.writer.run(tissue, hold).await?.result?))
    }

    async fn set_feel(
        &self,
        request: Request<proto::SetFeelRequest>,
    ) -> Result<Response<proto::SetFeelResponse>, Status> {
        let (caller, deadline) = (caller(&request), deadline(&request));
        let request = request.into_inner();
        self.registry.open(&request.scene_id).await?;
        let host = self.registry.owned(&request.scene_id, &caller)?;
        let set = feel::set_feel(&self.registry, host, &caller, request, deadline);
        Ok(Response::new(set.await?))
    }

    async fn export_tool(
        &self,
        request: Request<proto::ExportToolRequest>,
    ) -> Result<Response<Self::ExportToolStream>, Status> {
        let request = request.get_ref();
        self.registry.open(&request.scene_id).await?;
        let host = self.registry.served(&request.scene_id)?;
        let messages = convert::export::tool(
            host.scene.tool(tool_id(request.tool_id)).map_err(Refused::from)?,
        );
        Ok(Response::new(Box::pin(tokio_stream::iter(messages.map(Ok)))))
    }

    async fn export_tissue(
        &self,
        request: Request<proto::ExportTissueRequest>,
    ) -> Result<Response<Self::ExportTissueStream>, Status> {
        let caller = caller(&request);
        let request = request.get_ref();
        self.registry.open(&request.scene_id).await?;
        let host = self.registry.served(&request.scene_id)?;
        let tissue = host.scene.tissue(tissue_id(request.tissue_id)).map_err(Refused::from)?;
        let revision = Arc::clone(&tissue.current());
        // The tissue may change while its chunks are read, and nothing else counts that revision then.
        let bytes = revision.surface.heap_bytes() as u64;
        let room = self.registry.reserve(&caller, Share::of_bytes(bytes))?;
        let messages = convert::export::tissue(revision).map(move |message| {
            let _kept = &room;
            Ok(message)
        });
        Ok(Response::new(Box::pin(tokio_stream::iter(messages))))
    }
}
