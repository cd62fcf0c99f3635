//! HapticService: the haptic loop and one-off queries.

use std::{slice, sync::Arc, time::Duration};

use tonic::{Request, Response, Status, Streaming};

use super::{
    queries::{QUERY_TIME_MAX, QueryJobs, QueryTookTooLong},
    self_collisions::SelfCollisionJobs,
};
use crate::{
    proto::{self, haptic_service_server::HapticService},
    scene::{
        Scene, SceneError,
        query::{self, distances},
        tick::{Session, answer::TissueState},
    },
    service::{
        access::caller::caller,
        catch_panic::catch_panic,
        clock::now_ns,
        convert::{self, FieldError, Problem, answer::ContactDetails, query::RequestedTarget},
        host::{
            quota::{Reservation, RoomRefused, Share},
            scene_registry::SceneRegistry,
        },
        loops::{sessions::SessionRegistry, track::Track},
        refused::Refused,
    },
    time_left::TimeLeft,
};

/// Maximum points measured inline; more would delay deformations, which wait for the same threads.
const INLINE_POINTS_MAX: usize = 64;

/// Maximum time of an inline measurement. A longer one starts again as a job.
const INLINE_TIME_MAX: Duration = Duration::from_millis(2);

/// Maximum time of a contact query, in ticks: it pays the cold searches of every link, and no next tick continues them.
const QUERY_TICKS: u32 = 20;

/// The data plane over a scene registry.
pub struct Haptics {
    registry: Arc<SceneRegistry>,
    sessions: Arc<SessionRegistry>,
    collisions: SelfCollisionJobs,
    queries: QueryJobs,
}

impl Haptics {
    /// Serves the scenes of `registry`.
    pub fn new(registry: Arc<SceneRegistry>, sessions: Arc<SessionRegistry>) -> Haptics {
        let (collisions, queries) = (SelfCollisionJobs::new(), QueryJobs::new());
        Haptics { registry, sessions, collisions, queries }
    }
}

#[tonic::async_trait]
impl HapticService for Haptics {
    type TrackStream = Track<Streaming<proto::TrackRequest>>;
    type DetectSelfCollisionsStream = tokio_stream::Iter<convert::self_collision::Messages>;

    async fn track(
        &self,
        request: Request<Streaming<proto::TrackRequest>>,
    ) -> Result<Response<Self::TrackStream>, Status> {
        Ok(Response::new(Track::new(
            Arc::clone(&self.registry),
            Arc::clone(&self.sessions),
            caller(&request),
            request.into_inner(),
        )))
    }

    async fn query_distances(
        &self,
        request: Request<proto::QueryDistancesRequest>,
    ) -> Result<Response<proto::QueryDistancesResponse>, Status> {
        let caller = caller(&request);
        let request = request.into_inner();
        self.registry.open(&request.scene_id).await?;
        let host = self.registry.served(&request.scene_id)?;
        let request = Arc::new(request);
        // A few points take microseconds; a hop to the blocking pool and back costs more.
        if request.points_xyz_m.len() <= 3 * INLINE_POINTS_MAX {
            let until_ns = now_ns() + INLINE_TIME_MAX.as_nanos() as u64;
            let time = TimeLeft::until(&now_ns, until_ns);
            if let Some(answer) = catch_panic(|| measure(&host.scene, &request, &time))?? {
                return Ok(Response::new(answer));
            }
        }
        let scene = Arc::clone(&host.scene);
        let answer = self.queries.run(&caller, &host, QUERY_TIME_MAX, move |time| {
            measure(&scene, &request, time)?.ok_or_else(|| QueryTookTooLong.into())
        });
        Ok(Response::new(answer.await?))
    }

    async fn query_contacts(
        &self,
        request: Request<proto::QueryContactsRequest>,
    ) -> Result<Response<proto::QueryContactsResponse>, Status> {
        let caller = caller(&request);
        let request = request.into_inner();
        self.registry.open(&request.scene_id).await?;
        let host = self.registry.served(&request.scene_id)?;
        let scene = Arc::clone(&host.scene);
        let time_max = QUERY_TICKS * self.registry.tick_time_max();
        let (registry, of) = (Arc::clone(&self.registry), caller.clone());
        let reserve = move |links| registry.reserve(&of, Share::of_session(links));
        let query = move |time: &TimeLeft| touch(scene, &request, time, reserve);
        Ok(Response::new(self.queries.run(&caller, &host, time_max, query).await?))
    }

    async fn detect_self_collisions(
        &self,
        request: Request<proto::DetectSelfCollisionsRequest>,
    ) -> Result<Response<Self::DetectSelfCollisionsStream>, Status> {
        let caller = caller(&request);
        let request = request.get_ref();
        self.registry.open(&request.scene_id).await?;
        let host = self.registry.served(&request.scene_id)?;
        let (intervals, options) = convert::self_collision::asked(request, host.scene.limits())?;
        let (registry, of) = (Arc::clone(&self.registry), caller.clone());
        let reserve = move |share| registry.reserve(&of, share);
        let found = self.collisions.run(&caller, &host, intervals, options, reserve).await?;
        Ok(Response::new(tokio_stream::iter(convert::self_collision::Messages::of(found))))
    }
}

/// Returns `None` if the time was over first.
fn measure(
    scene: &Scene,
    request: &proto::QueryDistancesRequest,
    time: &TimeLeft,
) -> Result<Option<proto::QueryDistancesResponse>, Refused> {
    let points = convert::query::points(request)?;
    let max_distance_m = convert::query::max_distance_m(request.max_distance_m)?;
    let seen: Vec<_> = scene.tissues().iter().map(|t| (t.id(), t.current())).collect();
    let found = match convert::query::target(request, scene.limits())? {
        RequestedTarget::AllTissues => {
            distances(&query::QueryTarget::Tissues(&seen), &points, max_distance_m, time)
        }
        RequestedTarget::Tissue(id) => {
            let unknown = SceneError::Unknown { kind: "tissue", id };
            let place = seen.iter().position(|(seen, _)| seen.0 == id).ok_or(unknown)?;
            let target = query::QueryTarget::Tissue(&seen, place);
            distances(&target, &points, max_distance_m, time)
        }
        RequestedTarget::Link { link, tool: pose } => {
            let tool = scene.tool(pose.tool)?;
            let (link, pose) = convert::query::placed_link(&tool, link, &pose)?;
            let target = query::QueryTarget::Link(&tool, link, pose);
            distances(&target, &points, max_distance_m, time)
        }
    };
    let Some(found) = found else { return Ok(None) };
    let now_ns = now_ns();
    let states: Vec<_> = seen.iter().map(|(id, r)| TissueState::of(*id, r, now_ns)).collect();
    let tissues = convert::answer::tissue_states(&states);
    Ok(Some(proto::QueryDistancesResponse { tissues, ..convert::query::distances(&found) }))
}

/// Runs one tick of a session of its own.
fn touch(
    scene: Arc<Scene>,
    request: &proto::QueryContactsRequest,
    time: &TimeLeft,
    reserve: impl FnOnce(usize) -> Result<Reservation, RoomRefused>,
) -> Result<proto::QueryContactsResponse, Refused> {
    let sent = request.tool.as_ref().ok_or_else(|| Problem::Missing.of("tool"))?;
    let within = |parent: &'static str| move |e: FieldError| e.within(parent);
    let pose = convert::tick::tool_pose(sent, scene.limits()).map_err(within("tool"))?;
    let tool = scene.tool(pose.tool)?;
    convert::tick::check_link_poses(&tool, &pose).map_err(within("tool"))?;
    let report = request.report.unwrap_or_default();
    let mut options = convert::tick::options(&report).map_err(within("report"))?;
    if report.contact_margin_m == 0.0 {
        options.fit_margin([tool.as_ref()]);
    }
    let mut forbidden = Vec::new();
    scene.forbidden_regions(&mut forbidden);
    // In a session of one tick nothing is coherent, so it pays the cold searches of every link.
    let _room = reserve(tool.links.len())?;
    let mut session = Session::new(scene, &[pose.tool], options)?;
    let started_ns = now_ns();
    let answer = session.tick(1, slice::from_ref(&pose), started_ns, time)?;
    let link_barycentrics = report.link_barycentrics;
    let details = ContactDetails { forbidden: &forbidden, link_barycentrics };
    Ok(proto::QueryContactsResponse {
        flags: convert::answer::flags(&answer.flags),
        compute_us: (now_ns() - started_ns) as f64 / 1e3,
        tissues: convert::answer::tissue_states(&answer.tissues),
        links: convert::answer::links(answer, details),
        probes: convert::answer::probes(answer),
        link_pairs: convert::pairs::of_links(answer),
    })
}
