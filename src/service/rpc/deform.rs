//! The Deform stream: one request in work at a time, each answered once it is visible to ticks.

use std::sync::Arc;

use tokio_stream::{Stream, StreamExt};
use tonic::Status;
use tracing::{Instrument, Span};

use crate::{
    proto::{DeformRequest, DeformResponse},
    service::{
        access::caller::Caller,
        convert::{self, Problem},
        deadline::CallDeadline,
        host::{quota::Share, scene_registry::SceneRegistry},
        loops::until_ended::UntilEnded,
        refused::Refused,
    },
};

/// Answers each request. A refused request ends the stream: the transport stops at the first error.
pub fn deform(
    registry: Arc<SceneRegistry>,
    caller: Caller,
    deadline: CallDeadline,
    requests: impl Stream<Item = Result<DeformRequest, Status>> + Unpin,
) -> impl Stream<Item = Result<DeformResponse, Status>> {
    let mut last = None;
    let mut span = Span::current();
    UntilEnded::new(&registry, requests).then(move |request| {
        let checked = request.and_then(|request| {
            rise(&mut last, request.sequence)?;
            Ok(request)
        });
        let (registry, caller, deadline) =
            (Arc::clone(&registry), caller.clone(), deadline.clone());
        let work = async move { Ok(apply(&registry, &caller, deadline, &checked?).await?) };
        // The call's span has the first request's scene: a span that records each request would grow with them.
        work.instrument(std::mem::replace(&mut span, Span::none()))
    })
}

fn rise(last: &mut Option<u64>, got: u64) -> Result<(), Refused> {
    match last.replace(got) {
        Some(last) if got <= last => Err(Problem::Sequence { got, last }.of("sequence").into()),
        _ => Ok(()),
    }
}

async fn apply(
    registry: &Arc<SceneRegistry>,
    caller: &Caller,
    deadline: CallDeadline,
    request: &DeformRequest,
) -> Result<DeformResponse, Refused> {
    registry.open(&request.scene_id).await?;
    let host = registry.owned(&request.scene_id, caller)?;
    let tissue = host.scene.tissue(convert::scene::tissue_id(request.tissue_id))?;
    let moved = convert::deform::tissue_move(request, &tissue)?;
    let hold = request.hold;
    // Held until the positions are held: from then on they count with the scene.
    let n_vertices = tissue.current().surface.mesh().positions().len();
    let _room = hold.then(|| registry.reserve(caller, Share::of_held(n_vertices))).transpose()?;
    let scene = Arc::clone(&host.scene);
    let recorded = host.recorder().map(|recorder| (recorder.clone(), request.clone()));
    // A single thread writes, so that it holds the revision that it has just made.
    let written = host
        .writer
        .run(Arc::clone(&tissue), move |tissue, now_ns| {
            deadline.commit()?;
            let done = moved.make(tissue, now_ns)?;
            scene.join_borders(tissue);
            let held = if hold { tissue.hold() } else { Vec::new() };
            if let Some((recorder, request)) = recorded {
                let sequence = request.sequence;
                let answer = convert::deform::deformed(sequence, &done, held.clone(), 0.0, None);
                recorder.deformed(now_ns, request, answer);
            }
            Ok::<_, Refused>((done, held))
        })
        .await?;
    let (done, held) = written.result?;
    // The deformation may have been made after the newest positions went to another server.
    host.check_lease()?;
    let durable = host.durable(&tissue);
    Ok(convert::deform::deformed(request.sequence, &done, held, written.update_us, durable))
}
