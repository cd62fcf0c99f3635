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

/// Checks, persists, makes and records the change. A durable scene's turn keeps cuts from coming in between.
async fn set_in_turn(
    host: Arc<SceneHost>,
    tissue: TissueId,
    feel: Option<Feel>,
    deadline: CallDeadline,
) -> Result<SetFeelResponse, Refused> {
    let turn = host.turn().await?;
    let tissue = host.scene.tissue(tissue)?;
    tissue.check_feel(feel.as_ref())?;
    let felt = |feel: Option<Feel>| SceneChange::Felt { tissue: tissue.id(), feel };
    let (change, before) = (felt(feel.clone()), felt(tissue.current().feel.as_deref().cloned()));
    let is_kept = host.is_durable();
    if is_kept {
        deadline.commit()?;
        turn.keep(vec![change.clone()]).await?;
    }
    let recorder = host.recorder().cloned();
    let set = move |tissue: &Tissue, now_ns| {
        if !is_kept {
            deadline.commit()?;
        }
        tissue.set_feel(feel, now_ns)?;
        let answer = convert::feel::felt(&tissue.current());
        // Recorded by the writer thread: changes are recorded in the order in which they are made.
        if let Some(recorder) = recorder {
            recorder.felt(now_ns, &change, answer);
        }
        Ok::<_, Refused>(answer)
    };
    let written = host.writer.run(tissue, set).await.map_err(Refused::from);
    let done = written.and_then(|written| written.result);
    if done.is_err() && is_kept {
        // The engine failed: a restart finds the materials that the tissue has.
        let _ = turn.keep(vec![before]).await;
    }
    done
}
