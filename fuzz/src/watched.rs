//! A session and a twin that is told only what is accepted: refused ticks change nothing when both answer the
//! same. What is refused is worked out here too, and answers are looked at.

use std::{cell::Cell, collections::HashSet, sync::Arc};

use glam::DVec3;
use palpate::{
    geometry::TriangleMesh,
    scene::{
        Contact, ContactState, Distance, LinkAnswer, Scene, SurfacePoint, TickAnswer, Tool, ToolId,
        tick::{
            Session, TickOptions, ToolPose, answer::TissueState, crossings::TrianglePairs,
            scene_from_link,
        },
    },
    time_left::TimeLeft,
};

/// What rounding may do to places and lengths, as a share of the greatest coordinates met.
const ROUNDING: f64 = 1e-8;

/// See the module.
pub struct Watched {
    scene: Arc<Scene>,
    tools: Vec<Arc<Tool>>,
    options: TickOptions,
    session: Session,
    twin: Session,
    last_sequence: Option<u64>,
    contact_ids: ContactIds,
}

/// What is known of the ids that were given.
#[derive(Default)]
struct ContactIds {
    greatest: u64,
    ended: HashSet<u64>,
}

impl Watched {
    /// `None`: refused, because a tool is unknown.
    pub fn new(scene: &Arc<Scene>, ids: &[ToolId], options: &TickOptions) -> Option<Watched> {
        let tools: Option<Vec<_>> = ids.iter().map(|id| scene.tool(*id).ok()).collect();
        let session = Session::new(Arc::clone(scene), ids, options.clone()).ok();
        assert_eq!(session.is_some(), tools.is_some());
        let session = session?;
        Some(Watched {
            scene: Arc::clone(scene),
            tools: tools?,
            options: options.clone(),
            twin: session.restarted(),
            session,
            last_sequence: None,
            contact_ids: ContactIds::default(),
        })
    }

    /// Of the newest tick that was not refused.
    pub fn last_sequence(&self) -> Option<u64> {
        self.last_sequence
    }

    /// As after a tick that panicked.
    pub fn restart(&mut self) {
        self.session = self.session.restarted();
        self.twin = self.twin.restarted();
        self.last_sequence = None;
    }

    /// One tick whose time is over once its clock was read `late_after` times.
    pub fn tick(
        &mut self,
        sequence: u64,
        poses: &[ToolPose],
        now_ns: u64,
        late_after: Option<u32>,
    ) -> Option<&TickAnswer> {
        let accepted = self.accepts(sequence, poses);
        let until = late_after.map_or(u64::MAX, u64::from);
        let clock = || {
            let read = Cell::new(0);
            move || read.replace(read.get() + 1)
        };
        let (first, second) = (clock(), clock());
        let answer = self.session.tick(sequence, poses, now_ns, &TimeLeft::until(&first, until));
        assert_eq!(answer.is_ok(), accepted, "{:?}", answer.err());
        let answer = answer.ok()?;
        self.last_sequence = Some(sequence);
        let check = Check { scene: &self.scene, options: &self.options, answer };
        check.all(&self.tools, poses, now_ns);
        assert!(late_after.is_some() || !answer.flags.degraded);
        assert_eq!(answer.flags.swept, answer.flags.unswept_reason.is_none());
        self.contact_ids.follow(answer);
        let time = TimeLeft::until(&second, until);
        let twins = self.twin.tick(sequence, poses, now_ns, &time).expect("accepted");
        assert_eq!(answer, twins);
        Some(answer)
    }

    /// A tick that was coalesced.
    pub fn coalesce(&mut self, sequence: u64, poses: &[ToolPose]) {
        let accepted = self.accepts(sequence, poses);
        assert_eq!(self.session.coalesce(sequence, poses).is_ok(), accepted);
        if accepted {
            self.last_sequence = Some(sequence);
            self.twin.coalesce(sequence, poses).expect("accepted");
        }
    }

    fn accepts(&self, sequence: u64, poses: &[ToolPose]) -> bool {
        let posed: HashSet<ToolId> = poses.iter().map(|p| p.tool).collect();
        let fits = |pose: &ToolPose| {
            let tool = self.tools.iter().find(|t| t.id == pose.tool);
            let n = pose.tool_from_link.len();
            tool.is_some_and(|t| n == 0 || n == t.links.len())
        };
        self.last_sequence.is_none_or(|last| last < sequence)
            && posed.len() == poses.len()
            && poses.iter().all(fits)
            && self.tools.iter().all(|t| posed.contains(&t.id) && self.scene.tool(t.id).is_ok())
    }
}

impl ContactIds {
    /// An id begins once, ends once, and is not used again.
    fn follow(&mut self, answer: &TickAnswer) {
        let mut now = HashSet::new();
        let before = self.greatest;
        for life in answer.links.iter().flat_map(|l| &l.statuses) {
            assert!(now.insert(life.id), "contact {} is given twice", life.id);
            assert!(!self.ended.contains(&life.id), "contact {} had ended", life.id);
            assert!(life.state == ContactState::Persist || life.id > before, "{life:?} is not new");
            self.greatest = self.greatest.max(life.id);
        }
        for id in answer.links.iter().flat_map(|l| &l.ended) {
            assert!(!now.contains(id), "contact {id} is given and ended");
            assert!(self.ended.insert(*id), "contact {id} ended twice");
            self.greatest = self.greatest.max(*id);
        }
    }
}

/// One answer and what it is about.
struct Check<'a> {
    scene: &'a Scene,
    options: &'a TickOptions,
    answer: &'a TickAnswer,
}

impl Check<'_> {
    fn all(&self, tools: &[Arc<Tool>], poses: &[ToolPose], now_ns: u64) {
        let TickAnswer { flags, tissues, links, probes, link_pairs } = self.answer;
        let states: Vec<TissueState> = self
            .scene
            .tissues()
            .iter()
            .map(|t| TissueState::of(t.id(), &t.current(), now_ns))
            .collect();
        assert_eq!(*tissues, states);
        let each_link = tools.iter().flat_map(|t| (0..t.links.len()).map(move |link| (t, link)));
        assert_eq!(links.len(), each_link.clone().count());
        for (answer, (tool, link)) in links.iter().zip(each_link) {
            assert_eq!((answer.tool, answer.link), (tool.id, link));
            let pose = poses.iter().find(|p| p.tool == tool.id).expect("posed");
            self.link(answer, tool, pose);
        }
        let n_probes = tools.iter().map(|t| t.probes.len()).sum();
        assert_eq!(probes.len(), if self.options.probes { n_probes } else { 0 });
        for probe in probes {
            match &probe.distance {
                Distance::Beyond(bound) => self.bound(*bound, flags.degraded),
                Distance::Within(near) => {
                    assert!(near.signed_distance_m.is_finite());
                    assert_on_triangle(&near.on_surface);
                    assert_direction(near.normal, near.sign_certainty);
                }
            }
        }
        let n = links.len();
        let n_pairs = if self.options.link_pairs { n * (n - 1) / 2 } else { 0 };
        assert_eq!(link_pairs.len(), n_pairs);
        let mut given = 0;
        for two in link_pairs {
            assert_pairs(&two.pairs);
            given += two.pairs.given.len();
        }
        assert!(given <= self.options.max_pairs);
        let left_out = |pairs: &TrianglePairs| pairs.given.len() < pairs.total;
        let truncated = links.iter().any(|l| l.contacts.len() < l.contacts_total)
            || links.iter().filter_map(|l| l.pairs.as_ref()).any(left_out)
            || link_pairs.iter().any(|two| left_out(&two.pairs));
        assert_eq!(flags.truncated, truncated);
    }

    fn link(&self, answer: &LinkAnswer, tool: &Tool, pose: &ToolPose) {
        let max_distance = self.options.max_distance_m;
        match &answer.distance {
            Distance::Beyond(bound) => self.bound(*bound, answer.is_cut_short),
            Distance::Within(near) => {
                assert!(near.signed_distance_m >= answer.lower_bound_m, "{answer:?}");
                assert!(near.signed_distance_m <= max_distance * (1.0 + ROUNDING), "{near:?}");
                self.contact(near, tool, answer.link, pose);
            }
        }
        let contacts = &answer.contacts;
        assert_eq!(answer.statuses.len(), contacts.len());
        assert!(contacts.len() <= self.options.max_contacts);
        assert!(contacts.len() <= answer.contacts_total);
        assert!(self.options.contacts || answer.contacts_total == 0);
        assert!(contacts.is_sorted_by(|a, b| a.signed_distance_m <= b.signed_distance_m));
        for contact in contacts {
            self.contact(contact, tool, answer.link, pose);
        }
        if let Some(deepest) = contacts.first().filter(|c| c.signed_distance_m < 0.0) {
            let Distance::Within(near) = &answer.distance else { panic!("no distance inside") };
            assert!(near.signed_distance_m <= deepest.signed_distance_m);
        }
        assert_eq!(answer.pairs.is_some(), self.options.triangle_pairs);
        if let Some(pairs) = &answer.pairs {
            assert_pairs(pairs);
            assert!(pairs.given.len() <= self.options.max_pairs);
        }
    }

    /// What is said of a distance that is beyond: as far as was asked for, or less for want of time.
    fn bound(&self, bound: f64, is_cut_short: bool) {
        let max_distance = self.options.max_distance_m;
        assert!(bound == max_distance || is_cut_short && bound <= max_distance, "{bound}");
    }

    fn contact(&self, contact: &Contact, tool: &Tool, link: usize, pose: &ToolPose) {
        let Contact { on_tissue, on_tool, normal, signed_distance_m, sign_certainty, .. } =
            *contact;
        assert!(signed_distance_m.is_finite());
        assert_on_triangle(&on_tissue);
        assert_on_triangle(&on_tool);
        assert_direction(normal, sign_certainty);
        assert!(contact.toi.is_none_or(|toi| (0.0..=1.0).contains(&toi)), "{contact:?}");
        if contact.left_behind {
            assert!(contact.toi.is_some());
            assert_eq!(signed_distance_m, 0.0);
            return;
        }
        let tissue = self.scene.tissue(contact.tissue).expect("a tissue of the scene").current();
        let on_mesh = |mesh: &TriangleMesh, p: &SurfacePoint| {
            let [a, b, c] = mesh.triangle(p.triangle);
            a * p.barycentric.x + b * p.barycentric.y + c * p.barycentric.z
        };
        let scene_from_link = scene_from_link(tool, link, pose);
        let at_tissue = on_mesh(tissue.surface.mesh(), &on_tissue);
        let at_tool = scene_from_link.point(on_mesh(tool.links[link].surface.mesh(), &on_tool));
        let met = [on_tissue.position, on_tool.position, scene_from_link.translation, DVec3::ONE];
        let corners = tissue.surface.mesh().triangle(on_tissue.triangle);
        let greatest =
            met.iter().chain(&corners).map(|p| p.abs().max_element()).fold(0.0, f64::max);
        let slack = ROUNDING * greatest;
        assert!(at_tissue.distance(on_tissue.position) <= slack, "{contact:?} at {at_tissue}");
        assert!(at_tool.distance(on_tool.position) <= slack, "{contact:?} at {at_tool}");
        let length = on_tissue.position.distance(on_tool.position);
        assert!((length - signed_distance_m.abs()).abs() <= slack, "{contact:?}: {length} apart");
    }
}

fn assert_on_triangle(p: &SurfacePoint) {
    assert!(p.position.is_finite(), "{p:?}");
    assert!((p.barycentric.element_sum() - 1.0).abs() <= ROUNDING, "{p:?}");
    assert!(p.barycentric.min_element() >= -ROUNDING, "{p:?}");
}

/// A unit, or zero where nothing has an area.
fn assert_direction(normal: DVec3, certainty: f64) {
    let length = normal.length();
    assert!(length == 0.0 || (length - 1.0).abs() <= ROUNDING, "{normal}");
    assert!((0.0..=1.0).contains(&certainty), "{certainty}");
}

fn assert_pairs(pairs: &TrianglePairs) {
    assert!(pairs.given.len() <= pairs.total);
    for end in pairs.given.iter().flat_map(|p| &p.crossing.ends) {
        assert!(end.point.is_finite() && end.barycentric_a.is_finite(), "{end:?}");
        assert!(end.barycentric_b.is_finite(), "{end:?}");
    }
}
