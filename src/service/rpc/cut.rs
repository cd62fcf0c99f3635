//! EditTopology: cuts a tissue, as a client or a line on the surface says.

use std::sync::Arc;

use tonic::Status;
use tracing::Instrument;

use crate::{
    proto::{EditTopologyRequest, EditTopologyResponse, recorded_change::Change},
    scene::{
        Tissue,
        saved::SceneChange,
        tissue::{edit::TopologyEdit, incision::Incised},
    },
    service::{
        access::caller::Caller,
        catch_panic::{Panicked, catch_panic_blocking},
        convert::{self, scene::tissue_id},
        deadline::CallDeadline,
        host::{quota::Share, scene_host::SceneHost, scene_registry::SceneRegistry},
        recording::scene_recorder::SceneRecorder,
        refused::Refused,
    },
};

/// Times that an incision is made anew because another cut of its tissue came first.
const INCISION_TRIES: usize = 8;

/// A cut as it was asked for.
struct AskedCut {
    request: EditTopologyRequest,
    edit: TopologyEdit,
    /// The incision that the edit makes, if a line was asked for.
    incised: Option<Incised>,
}

/// Cuts a tissue. An incision is computed beside the writer, which goes on to move the tissue.
pub async fn cut(
    registry: &SceneRegistry,
    host: &Arc<SceneHost>,
    caller: &Caller,
    request: EditTopologyRequest,
    deadline: CallDeadline,
) -> Result<EditTopologyResponse, Status> {
    let Some(incision) = convert::deform::incision(&request)? else {
        let edit = convert::deform::edit(&request)?;
        let asked = AskedCut { request, edit, incised: None };
        return cut_in_room(registry, host, caller, asked, deadline).await;
    };
    let tissue = host.scene.tissue(tissue_id(request.tissue_id)).map_err(Refused::from)?;
    let _turn = host.writer.incisions.lock().await;
    for tries_left in (0..INCISION_TRIES).rev() {
        let (line, of) = (incision.clone(), Arc::clone(&tissue));
        let incised = catch_panic_blocking(move || of.incised(&line)).await?;
        let incised = incised.map_err(Refused::from)?;
        let (base, asked_base) = (incised.edit.base_revision, request.base_topology_revision);
        let edit = TopologyEdit { base_revision: asked_base.or(base), ..incised.edit.clone() };
        let asked = AskedCut { request: request.clone(), edit, incised: Some(incised) };
        let done = cut_in_room(registry, host, caller, asked, deadline.clone()).await;
        // Another client's cut may have come between the making of the incision and its turn.
        let is_overtaken = Some(tissue.current().topology_revision) != base;
        if done.is_ok() || asked_base.is_some() || !is_overtaken || tries_left == 0 {
            return done;
        }
    }
    unreachable!("the last try returns")
}

/// Cuts, if there is room for what the cut adds.
async fn cut_in_room(
    registry: &SceneRegistry,
    host: &Arc<SceneHost>,
    caller: &Caller,
    asked: AskedCut,
    deadline: CallDeadline,
) -> Result<EditTopologyResponse, Status> {
    let AskedCut { request, edit, .. } = &asked;
    let [vertices, triangles] = [edit.added_positions.len(), edit.added.len()].map(|n| n as u64);
    // A tissue that does not exist is not cut, and needs no room.
    let tissue = host.scene.tissue(tissue_id(request.tissue_id));
    let of_cut = |tissue: Arc<Tissue>| Share::of_cut(&tissue, vertices, triangles);
    let room = registry.reserve(caller, tissue.map(of_cut).unwrap_or_default())?;
    let host = Arc::clone(host);
    let edited = async move {
        let _room = room;
        cut_in_turn(host, asked, deadline).await
    };
    // Runs to its end: a persisted change must be made, even if nobody waits for it any more.
    let done = tokio::spawn(edited.in_current_span()).await;
    Ok(done.map_err(|_| Panicked)??)
}

/// Checks, persists, makes and records a cut, in the scene's turn.
async fn cut_in_turn(
    host: Arc<SceneHost>,
    AskedCut { request, edit: sent, incised }: AskedCut,
    deadline: CallDeadline,
) -> Result<EditTopologyResponse, Refused> {
    let mut edit = sent.clone();
    let limits = host.scene.limits().clone();
    let turn = host.turn().await?;
    let tissue = host.scene.tissue(tissue_id(request.tissue_id))?;
    let is_driven = tissue.current().driven.is_some();
    let mut recorded_cut = Change::Edit(request);
    if incised.is_some() {
        let made = SceneChange::Edited { tissue: tissue.id(), edit: edit.clone() };
        recorded_cut = SceneRecorder::kept(&made);
    }
    let mut kept = None;
    if let Some(durable) = host.durable(&tissue) {
        tissue.prepare_edit(&mut edit, &limits)?;
        deadline.commit()?;
        let now = tissue.current().topology_revision;
        edit.base_revision = Some(now);
        // A cut is made for the positions of its time: without them, a restart would apply it to older positions.
        let is_moved = tissue.current().geometry_revision > durable.geometry;
        let moved = is_moved.then(|| tissue.moved());
        let cut = SceneChange::Edited { tissue: tissue.id(), edit: edit.clone() };
        if is_driven {
            // Controls may move before the cut is made: the request's weights would be others then.
            recorded_cut = SceneRecorder::kept(&cut);
        }
        kept = Some((turn.keep(moved.into_iter().chain([cut]).collect()).await?, now));
    }
    let is_kept = kept.is_some();
    let recorded = host.recorder().map(|recorder| (recorder.clone(), recorded_cut, sent.clone()));
    let scene = Arc::clone(&host.scene);
    let cut = move |tissue: &Tissue, now_ns| {
        if !is_kept {
            deadline.commit()?;
        }
        let done = tissue.edit(edit, &limits, now_ns)?;
        scene.join_borders(tissue);
        // Recorded by the writer thread: changes are recorded in the order in which they are made.
        if let Some((recorder, cut, sent)) = recorded {
            let answer = convert::deform::edited(&sent, &done, is_driven, 0.0, None);
            recorder.edited(now_ns, cut, answer);
        }
        Ok::<_, Refused>(done)
    };
    let written = host.writer.run(Arc::clone(&tissue), cut).await;
    let written = written.map_err(Refused::from);
    let done = written.and_then(|w| Ok((w.result?, w.update_us)));
    if let (Err(_), Some((number, before))) = (&done, kept) {
        turn.take_back(number, tissue.id(), before).await;
    }
    let (done, update_us) = done?;
    let durable = host.durable(&tissue);
    let mut answer = convert::deform::edited(&sent, &done, is_driven, update_us, durable);
    if let Some(made) = incised {
        convert::deform::tell_incision(&mut answer, &made, &done);
    }
    Ok(answer)
}
