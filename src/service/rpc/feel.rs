//! SetFeel: gives a tissue other materials.

use std::sync::Arc;

use tonic::Status;
use tracing::Instrument;

use crate::{
    proto::{SetFeelRequest, SetFeelResponse},
    scene::{Tissue, TissueId, saved::SceneChange, tissue::feel::Feel},
    service::{
        access::caller::Caller,
        catch_panic::Panicked,
        convert::{self, scene::tissue_id},
        deadline::CallDeadline,
        host::{quota::Share, scene_host::SceneHost, scene_registry::SceneRegistry},
        refused::Refused,
    },
};

/// Gives a tissue other materials, or none.
pub async fn set_feel(
    registry: &SceneRegistry,
    host: Arc<SceneHost>,
    caller: &Caller,
    request: SetFeelRequest,
    deadline: CallDeadline,
) -> Result<SetFeelResponse, Status> {
    let feel = convert::feel::feel(request.feel.unwrap_or_default()).map_err(Refused::from)?;
    let bytes = feel.as_ref().map_or(0, |feel| feel.heap_bytes() as u64);
    let room = registry.reserve(caller, Share::of_bytes(bytes))?;
    let tissue = tissue_id(request.tissue_id);
    let made = async move {
        let _room = room;
        set_in_turn(host, tissue, feel, deadline).await
    };
    // Runs to its end: a persisted change must be made, even if nobody waits for it any more.
    Ok(tokio::spawn(made.in_current_span()).await.map_err(|_| Panicked)??)
}

/// Checks, persists, makes and records the change, in the scene's turn: no cut comes between check and change.
async fn set_in_turn(
    host: Arc<SceneHost>,
    tissue: TissueId,
    feel: Option<Feel>,
    deadline: CallDeadline,
) -> Result<SetFeelResponse, Refused> {
    let turn = host.turn().await?;
    let tissue = host.scene.tissue(tissue)?;
    tissue.check_feel(feel.as_ref())?;
    deadline.commit()?;
    let change = SceneChange::Felt { tissue: tissue.id(), feel: feel.clone() };
    turn.keep(vec![change.clone()]).await?;
    let recorder = host.recorder().cloned();
    let set = move |tissue: &Tissue, now_ns| {
        tissue.set_feel(feel, now_ns)?;
        let answer = convert::feel::felt(&tissue.current());
        // Recorded by the writer thread: changes are recorded in the order in which they are made.
        if let Some(recorder) = recorder {
            recorder.felt(now_ns, &change, answer);
        }
        Ok::<_, Refused>(answer)
    };
    host.writer.run(tissue, set).await?.result
}
