//! WatchService: live views, the device positions that viewers request, and the playback that viewers control.

use std::sync::Arc;

use tonic::{Request, Response, Status};

use super::watch::{NamedScene, Watch};
use crate::{
    proto::{self, watch_service_server::WatchService},
    service::{
        access::caller::caller, clock::now_ns, convert, host::scene_registry::SceneRegistry,
        refused::Refused,
    },
};

/// The live view over a scene registry.
pub struct Watches {
    registry: Arc<SceneRegistry>,
}

impl Watches {
    /// Shows the scenes of `registry`.
    pub fn new(registry: Arc<SceneRegistry>) -> Watches {
        Watches { registry }
    }
}

#[tonic::async_trait]
impl WatchService for Watches {
    type WatchStream = Watch;

    async fn watch(
        &self,
        request: Request<proto::WatchRequest>,
    ) -> Result<Response<Watch>, Status> {
        let options = convert::watch::options(request.get_ref())?;
        let mut named = None;
        if let Some(id) = &options.scene_id {
            // A scene that is not served any more can still be viewed.
            self.registry.open(id).await?;
            named = Some(NamedScene::of(&*self.registry.get(id)?));
        }
        let caller = caller(&request);
        let open = self.registry.streams().watch_begins(&caller)?;
        Ok(Response::new(Watch::new(Arc::clone(&self.registry), caller, (options, named), open)))
    }

    async fn move_device(
        &self,
        request: Request<proto::MoveDeviceRequest>,
    ) -> Result<Response<proto::MoveDeviceResponse>, Status> {
        if self.registry.playback().is_some() {
            let message = "the server plays a recording, in which no device can be moved";
            return Err(Refused::condition("LIVE", "scene_id", message.to_owned()).into());
        }
        let caller = caller(&request);
        let request = request.get_ref();
        self.registry.open(&request.scene_id).await?;
        let host = self.registry.owned(&request.scene_id, &caller)?;
        let (tool, position) = convert::watch::wish(request)?;
        host.scene.tool(tool).map_err(Refused::from)?;
        host.wishes.say(tool, position, now_ns());
        Ok(Response::new(proto::MoveDeviceResponse {}))
    }

    async fn control_replay(
        &self,
        request: Request<proto::ControlReplayRequest>,
    ) -> Result<Response<proto::ControlReplayResponse>, Status> {
        let Some(playback) = self.registry.playback() else {
            let message = "the server plays no recording, expected one of palpate replay --watch";
            return Err(Refused::condition("REPLAY", "", message.to_owned()).into());
        };
        let change = convert::watch::playback_change(request.get_ref(), playback.duration_s())?;
        playback.change(&change);
        let mut marks_version = playback.view().marks_version;
        let replay = Some(convert::watch::replay_state(playback, &mut marks_version));
        Ok(Response::new(proto::ControlReplayResponse { replay }))
    }
}
