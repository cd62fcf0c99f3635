//! The god-object proxy: each round finds contacts, solves the quadratic programme and moves the proxy.
//!
//! Zilles and Salisbury 1995; in six degrees of freedom, Ortega, Redon, Coquillart 2007: the proxy goes along the
//! displacement of least spring energy that the contacts allow, as far as continuous collision lets it. Differences
//! here: moving links have coordinates; contacts within a margin are rows before they touch; tissue moves while the
//! proxy does.

use std::sync::Arc;

use glam::DVec3;

use super::{
    contact_list::NEAR_CONTACTS_MAX,
    contact_memory::FrictionAnchor,
    giving_place::Push,
    last_round::LastRound,
    margins::Margins,
    motion::{HowFar, ProxyMotion},
    near::{NEAR_PAIRS_MAX, NearSearch, SearchEnd},
    near_contact::{ContactKey, NearContact, NearTriangles, ProxyForce},
    options::RenderOptions,
    pair_list::Around,
    rows::{RowFrame, reduce},
    seen_tissues::{SeenTissue, TissuesInMotion, embed_wholly},
    shading::Shaded,
};
use crate::coupling::{
    contact_law::{ContactLaw, Speed},
    extent::Extent,
    friction::FrictionRows,
    posture::{LinkScrews, Posture},
    quadratic_programme::{COORDINATES_MAX, ConstraintRow, Displacement, ROWS_MAX},
};
use crate::geometry::tolerance::{PROXY_AT_REST_M, PROXY_MARGIN_MAX_M, STAND_OFF_M};
use crate::scene::{RevisionGuard, TissueId, Tool};
use crate::time_left::TimeLeft;

/// Maximum rounds towards one pose: a device 50 mm away is followed in some thirty.
const ROUNDS_MAX: usize = 64;
/// Maximum rounds that follow moving tissues, before the tissues count as leaving no feasible pose.
const PUSH_ROUNDS_MAX: usize = 256;
/// Rounds without progress after which the proxy is as far as it gets.
const STALLS_MAX: usize = 3;
/// Maximum halvings of the margin of a search that holds too many pairs: four lead down to the least margin, the others
/// to where a thousandth of the pairs is left.
const MARGIN_HALVINGS_MAX: usize = 10;
/// A search with more pairs than this takes a smaller margin, as long as that is more than the least. The number of
/// near pairs grows at least with the square of the margin, the length of a round's way with the margin: with many near
/// pairs, several short rounds cost less than a long one. In the demo, which presses a grasper into an organ of 40 k
/// triangles, one search of 2 mm held up to 8,000 pairs and took 5 ms.
const PAIRS_PREFERRED: usize = 256;
/// Maximum pairs that bound a local model: each is checked against its rows. With more, the tick waits for a radius
/// that few devices need; with less, the radius is small in a fine mesh.
const SURVEY_PAIRS_MAX: usize = 512;

/// A proxy nearer to tissue than this was stopped there twice, metres.
const MET_M: f64 = 0.3 * STAND_OFF_M;

/// Tissues of a tick, with the revision that the tick reads.
pub(super) type TickTissues<'a> = &'a [(TissueId, RevisionGuard)];

/// A proxy of a tool, with its contacts and their forces.
pub(super) struct GodObject {
    pub(super) tool: Arc<Tool>,
    pub(super) hold: DVec3,
    pub(super) friction: f64,
    pub(super) force_shading_rad: f64,
    pub(super) stiffness: Displacement,
    /// Links that tissue constrains.
    constrained: Vec<usize>,
    pub(super) posture: Posture,
    pub(super) screws: LinkScrews,
    pub(super) margin_m: f64,
    pub(super) margins: Margins,
    pub(super) search: NearSearch,
    /// Contacts of the last complete search, at most as many as a programme has rows.
    pub(super) contacts: Vec<NearContact>,
    /// Force of each contact on the tool, newtons.
    pub(super) forces: Vec<ProxyForce>,
    /// Contacts for a local model.
    surveyed: Vec<NearContact>,
    pub(super) residual_m: f64,
    /// Distance by which tissues that give way would violate their contacts, metres.
    pub(super) squeezed_m: f64,
    /// Pushes of the contacts on tissues that leave no feasible pose.
    pub(super) pushes: Vec<Push>,
    pub(super) rows: Vec<ConstraintRow>,
    /// The rows with the contacts' own normals, if `rows` have those of a smooth surface.
    pub(super) own_rows: Vec<ConstraintRow>,
    /// Each contact as the programme of the force has it.
    pub(super) shaded: Vec<Shaded>,
    /// Law of each contact whose tissue has one; empty if no tissue has any.
    pub(super) laws: Vec<Option<ContactLaw>>,
    /// Speed of the proxy over the last ticks.
    pub(super) speed: Speed,
    pub(super) friction_rows: Vec<FrictionRows>,
    pub(super) anchors: Vec<(ContactKey, FrictionAnchor)>,
    pub(super) anchors_next: Vec<(ContactKey, FrictionAnchor)>,
    pub(super) active: Vec<ContactKey>,
    pub(super) last_round: LastRound,
    pub(super) likely: Vec<usize>,
    distances: Vec<f64>,
}

impl GodObject {
    pub(super) fn new(tool: Arc<Tool>, options: &RenderOptions) -> GodObject {
        let is_constrained = |link: &usize| !options.cutting_links.contains(link);
        let margins = Margins::of(&tool);
        GodObject {
            hold: options.hold_point_m,
            friction: options.friction,
            force_shading_rad: options.force_shading_rad,
            stiffness: options.spring.diagonal(),
            constrained: (0..tool.links.len()).filter(is_constrained).collect(),
            posture: Posture::AT_ORIGIN,
            screws: LinkScrews::default(),
            margin_m: PROXY_MARGIN_MAX_M,
            search: NearSearch::new(0.5 * margins.min_m),
            margins,
            contacts: Vec::with_capacity(NEAR_CONTACTS_MAX),
            forces: Vec::with_capacity(ROWS_MAX),
            surveyed: Vec::with_capacity(NEAR_CONTACTS_MAX),
            residual_m: 0.0,
            squeezed_m: 0.0,
            pushes: Vec::with_capacity(ROWS_MAX),
            rows: Vec::with_capacity(ROWS_MAX),
            own_rows: Vec::with_capacity(ROWS_MAX),
            shaded: Vec::with_capacity(ROWS_MAX),
            laws: Vec::with_capacity(ROWS_MAX),
            speed: Speed::default(),
            friction_rows: Vec::with_capacity(ROWS_MAX),
            anchors: Vec::with_capacity(ROWS_MAX),
            anchors_next: Vec::with_capacity(ROWS_MAX),
            active: Vec::with_capacity(ROWS_MAX),
            last_round: LastRound::new(),
            likely: Vec::with_capacity(ROWS_MAX),
            distances: Vec::with_capacity(NEAR_CONTACTS_MAX),
            tool,
        }
    }

    pub(super) fn constrained(&self) -> &[usize] {
        &self.constrained
    }

    /// Teleports the proxy: nothing lies between.
    pub(super) fn put(&mut self, posture: Posture) {
        self.posture = posture;
        self.search.list.forget();
        self.let_go();
        self.anchors.clear();
        self.speed = Speed::default();
    }

    /// Begins a tick: shrinks the margin to what the last motions needed, and drops contacts of removed tissue. A tick
    /// that is late before it has searched relies on the other contacts.
    pub(super) fn begin_tick(&mut self, tissues: TickTissues) {
        self.forces.resize(self.contacts.len(), ProxyForce::default());
        let mut n = 0;
        for i in 0..self.contacts.len() {
            if let Some(contact) = self.contacts[i].among(tissues) {
                (self.contacts[n], self.forces[n]) = (contact, self.forces[i]);
                n += 1;
            }
        }
        self.contacts.truncate(n);
        self.forces.truncate(n);
        self.margins.begin_tick(self.search.is_under_way());
        self.margin_m = self.margins.first_m;
        self.search.list.begin_tick();
        self.active.clear();
        let bears = |(_, f): &(&NearContact, &ProxyForce)| f.normal_n > 0.0;
        let active = self.contacts.iter().zip(&self.forces).filter(bears).map(|(c, _)| c.key);
        self.active.extend(active);
    }

    /// Searches farther than the last round, for a local model: every pair, nearest first, and as many contacts as a
    /// programme has rows. Returns the distance searched, metres; `None` if there was no time or something crosses.
    // A tick that used the last tick's planes again took 0.6 times as long at p50. With answers 20 ms late the servo then
    // gave a hand more energy than the hand had put in (`servo::closed_loop`, pliers on the tongue, full grid).
    pub(super) fn survey(&mut self, motion: &TissuesInMotion, deadline: &TimeLeft) -> Option<f64> {
        let around =
            Around { tool: &self.tool, posture: &self.posture, constrained: &self.constrained };
        if self.search.list.is_under_way() {
            // Without a list no pair is known: the rest of the tick continues the list.
            self.search.run(motion, &around, (self.margin_m, NEAR_PAIRS_MAX, false), deadline);
            return None;
        }
        for _ in 0..MARGIN_HALVINGS_MAX {
            // A search that was cut short knows nothing beyond its own margin.
            let margin = self.margins.survey_m.min(self.search.on_the_way_m());
            let within = (margin, SURVEY_PAIRS_MAX, true);
            match self.search.run(motion, &around, within, deadline) {
                SearchEnd::Full => self.margins.survey_m = 0.5 * margin,
                SearchEnd::OutOfTime => {
                    // The next tick searches less far and has a model.
                    self.margins.survey_m = 0.5 * margin;
                    return None;
                }
                SearchEnd::Complete if self.search.clearance_m == 0.0 => return None,
                SearchEnd::Complete => {
                    // Too many pairs are near to search beyond a proxy at rest: the contacts that bore it are known.
                    let is_crowded = margin < 2.0 * STAND_OFF_M;
                    let found = &self.search.contacts.found;
                    self.surveyed.clone_from(if is_crowded { &self.contacts } else { found });
                    let NearSearch { pairs, .. } = &mut self.search;
                    // Twice the margin has four times as many pairs, on a flat patch.
                    if 4 * pairs.len() < SURVEY_PAIRS_MAX {
                        self.margins.survey_m = (2.0 * margin).min(PROXY_MARGIN_MAX_M);
                    }
                    let ids =
                        |p: &NearTriangles| (p.tissue, p.tissue_triangle, p.link, p.link_triangle);
                    // Equal distances are ordered by ids, so that the bounds are reproducible.
                    pairs.sort_unstable_by(|a, b| {
                        a.distance_m.total_cmp(&b.distance_m).then_with(|| ids(a).cmp(&ids(b)))
                    });
                    let held = self.posture.scene_from_tool.point(self.hold);
                    let frame = RowFrame { posture: &self.posture, held, screws: &self.screws };
                    reduce(&mut self.surveyed, &frame, &self.stiffness, &mut self.distances);
                    return Some(margin);
                }
            }
        }
        None
    }

    /// Pairs and contacts that [`GodObject::survey`] found.
    pub(super) fn surveyed(&self) -> (&[NearTriangles], &[NearContact]) {
        (&self.search.pairs, &self.surveyed)
    }

    /// Panics unless every near pair is listed.
    pub(super) fn assert_well_formed(&self, motion: &TissuesInMotion) {
        self.search.list.assert_well_formed(motion, &self.around());
    }

    pub(super) fn around(&self) -> Around<'_> {
        Around { tool: &self.tool, posture: &self.posture, constrained: &self.constrained }
    }

    pub(super) fn screws(&self) -> &LinkScrews {
        &self.screws
    }

    pub(super) fn let_go(&mut self) {
        self.contacts.clear();
        self.forces.clear();
        self.residual_m = 0.0;
    }

    /// Moves the proxy towards a posture.
    pub(super) fn draw_to(
        &mut self,
        to: &Posture,
        tissues: TickTissues,
        seen: &mut [SeenTissue],
        deadline: &TimeLeft,
    ) -> HowFar {
        let (mut stalls, mut was_moved_off) = (0, false);
        self.last_round.forget();
        self.margin_m = self.margins.first_m;
        for _ in 0..ROUNDS_MAX {
            let x_d = self.posture.displacement_to(to, &self.tool, self.hold, &mut self.screws);
            let motion = TissuesInMotion { tissues, seen, time: 1.0 };
            match self.search(&motion, deadline) {
                SearchEnd::Complete => (),
                SearchEnd::Full if embed_wholly(seen) => continue,
                SearchEnd::Full => return HowFar::OnItsWay,
                SearchEnd::OutOfTime => return HowFar::Late,
            }
            if self.embed_crossing(seen) {
                continue;
            }
            let motion = TissuesInMotion { tissues, seen, time: 1.0 };
            was_moved_off = !was_moved_off && self.moves_off(&motion, deadline);
            if was_moved_off {
                continue;
            }
            let x = self.solve_round(&x_d, &motion, 1.0);
            let extent = self.extent(&x);
            if extent.length_m <= PROXY_AT_REST_M {
                return HowFar::Arrived;
            }
            self.last_round.note(&x, (&self.contacts, &self.forces));
            let limit = extent.share_within(self.step_max_m());
            let way = (&scaled(&x, limit), 1.0);
            let share = limit * self.go(&motion, way, Some(to), &x_d, deadline);
            self.margin_m = if limit < 1.0 {
                (2.0 * self.margin_m).min(self.margins.top_m).max(self.margin_m)
            } else {
                self.margin_m.min(extent.length_m.max(self.margins.round_m))
            };
            self.margins.first_m = self.margins.first_m.max(self.margin_m);
            if self.posture == *to {
                return HowFar::Arrived;
            }
            stalls = if share * extent.length_m > PROXY_AT_REST_M { 0 } else { stalls + 1 };
            if stalls == STALLS_MAX {
                return HowFar::Arrived;
            }
        }
        HowFar::OnItsWay
    }

    /// Moves a proxy that is nearer to tissue than [`MET_M`] back to its stand-off before it goes on. On a long way
    /// that leads away only a little, collisions would stop it at half the gap, round after round, until the gap is as
    /// small as rounding and the proxy is stuck. Returns false if the proxy is not that near, or cannot move.
    fn moves_off(&mut self, motion: &TissuesInMotion, deadline: &TimeLeft) -> bool {
        if self.search.clearance_m >= MET_M {
            return false;
        }
        let x = self.solve(&[0.0; COORDINATES_MAX], motion, 1.0);
        let extent = self.extent(&x);
        let limit = extent.share_within(self.step_max_m());
        let share = limit * self.go(motion, (&scaled(&x, limit), 1.0), None, &x, deadline);
        share * extent.length_m > PROXY_AT_REST_M
    }

    /// Computes the force towards a posture while the proxy, on its way there, stays where it is: the contacts of the
    /// last search still hold as planes.
    pub(super) fn pull_towards(
        &mut self,
        to: &Posture,
        (tissues, seen): (TickTissues, &[SeenTissue]),
    ) {
        let x_d = self.posture.displacement_to(to, &self.tool, self.hold, &mut self.screws);
        self.solve(&x_d, &TissuesInMotion { tissues, seen, time: 1.0 }, 1.0);
    }

    /// Follows the tissues from where they were last seen to where they are: tissue that sweeps over the proxy pushes
    /// it. Tissues that leave it no feasible pose give way. Returns the share of their motion that was followed: less
    /// than 1 if the deadline passed.
    pub(super) fn follow_tissues(
        &mut self,
        tissues: TickTissues,
        seen: &mut [SeenTissue],
        deadline: &TimeLeft,
    ) -> f64 {
        let (mut time, mut stalls) = (0.0, 0);
        self.last_round.forget();
        self.squeezed_m = 0.0;
        for _ in 0..PUSH_ROUNDS_MAX {
            let motion = TissuesInMotion { tissues, seen, time };
            let displacement = motion.displacement_max();
            if displacement == 0.0 || time == 1.0 {
                return 1.0;
            }
            // The number of near pairs grows with the square of the margin: short steps cost less than a long one.
            let wanted = displacement * (1.0 - time);
            let wanted = wanted.min(self.margins.top_m).max(self.margins.min_m);
            self.margin_m = wanted.min(self.margins.late_m);
            match self.search(&motion, deadline) {
                SearchEnd::Complete => (),
                SearchEnd::OutOfTime => {
                    if time > 0.0 {
                        // The tissues are stored where they are now, which rounds.
                        self.search.list.forget();
                    }
                    return time;
                }
                SearchEnd::Full if embed_wholly(seen) => continue,
                SearchEnd::Full => break,
            }
            if self.embed_crossing(seen) {
                continue;
            }
            let motion = TissuesInMotion { tissues, seen, time };
            let step = (0.5 * self.margin_m / displacement).min(1.0 - time);
            let end = if step == 1.0 - time { 1.0 } else { time + step };
            if self.search.pairs.is_empty() {
                self.search.list.note_travel(displacement * (end - time));
                time = end;
                continue;
            }
            let x = self.solve_round(&[0.0; COORDINATES_MAX], &motion, end);
            if self.residual_m > PROXY_AT_REST_M {
                break;
            }
            self.last_round.note(&x, (&self.contacts, &self.forces));
            let extent = self.extent(&x);
            let together = Extent { length_m: extent.length_m + displacement * step, ..extent };
            let limit = together.share_within(self.step_max_m());
            let stop = if limit == 1.0 { end } else { time + step * limit };
            let share = self.go(&motion, (&scaled(&x, limit), stop), None, &x, deadline);
            let gone = (stop - time) * share;
            self.search.list.note_travel(displacement * gone);
            time = if share == 1.0 { stop } else { time + gone };
            let progress = gone * displacement + share * limit * extent.length_m;
            stalls = if progress > PROXY_AT_REST_M { 0 } else { stalls + 1 };
            if stalls == STALLS_MAX {
                break;
            }
        }
        if self.give_way((tissues, time), seen, deadline) { 1.0 } else { 0.0 }
    }

    /// Maximum motion of a point of the tool in one round, metres: nothing that was not searched is met, and with a
    /// margin that is wide enough the stand-off is kept.
    pub(super) fn step_max_m(&self) -> f64 {
        (self.margin_m - STAND_OFF_M).max(0.5 * self.margin_m)
    }

    /// Finds near pairs at a time of the tissues' motion. A search past its deadline changes no contacts. If more lies
    /// within the stand-off than a search may hold, as under a fine plate that lies flat, the contacts are some of it,
    /// and the margin, within which all pairs are known, ends before them.
    pub(super) fn search(&mut self, motion: &TissuesInMotion, deadline: &TimeLeft) -> SearchEnd {
        let mut is_crowded = false;
        for _ in 0..MARGIN_HALVINGS_MAX {
            let around =
                Around { tool: &self.tool, posture: &self.posture, constrained: &self.constrained };
            let is_wide = self.margin_m > self.margins.min_m;
            let pairs_max = if is_wide { PAIRS_PREFERRED } else { NEAR_PAIRS_MAX };
            let within = (self.margin_m, pairs_max, false);
            match self.search.run(motion, &around, within, deadline) {
                SearchEnd::Full => {
                    let half = 0.5 * self.margin_m;
                    if half < 2.0 * STAND_OFF_M && !is_crowded {
                        is_crowded = true;
                        let end = self.search.run_in_part(motion, &around, self.margin_m, deadline);
                        if end == SearchEnd::OutOfTime {
                            return end;
                        }
                        self.take_contacts();
                    }
                    self.margin_m = if is_wide { half.max(self.margins.min_m) } else { half };
                    self.margins.top_m = self.margin_m;
                }
                SearchEnd::OutOfTime => {
                    self.margins.note_late(self.margin_m);
                    return SearchEnd::OutOfTime;
                }
                SearchEnd::Complete => {
                    if !is_crowded {
                        self.take_contacts();
                    }
                    return SearchEnd::Complete;
                }
            }
        }
        SearchEnd::Full
    }

    /// Takes as many contacts of the last search as a programme has rows.
    fn take_contacts(&mut self) {
        self.contacts.clone_from(&self.search.contacts.found);
        let held = self.posture.scene_from_tool.point(self.hold);
        let frame = RowFrame { posture: &self.posture, held, screws: &self.screws };
        reduce(&mut self.contacts, &frame, &self.stiffness, &mut self.distances);
    }

    /// Moves along a displacement as far as collisions and the deadline allow, while tissues move on to `time_end`;
    /// returns the share. A displacement that is all of `x_d` ends at the posture `to` itself.
    pub(super) fn go(
        &mut self,
        motion: &TissuesInMotion,
        (x, time_end): (&Displacement, f64),
        to: Option<&Posture>,
        x_d: &Displacement,
        deadline: &TimeLeft,
    ) -> f64 {
        let share = ProxyMotion {
            tool: &self.tool,
            tissues: *motion,
            time_end,
            pairs: &self.search.pairs,
            from: self.posture,
            displacement: x,
            hold: self.hold,
            screws: &self.screws,
            radius: self.posture.radius(&self.tool, self.hold),
            clearance_m: self.search.clearance_m,
            deadline,
        }
        .share();
        self.last_round.was_stopped = share < 1.0;
        let from = self.posture;
        self.posture = match to {
            // Unconstrained, the proxy is where the device is, to the last bit.
            Some(to) if share == 1.0 && x == x_d => *to,
            _ => self.posture.moved(x, share, self.hold, &self.screws),
        };
        let gone = self.constrained.iter().map(|&number| {
            let [from, to] = [&from, &self.posture].map(|p| p.scene_from_link(number));
            self.tool.links[number].displacement(&from, &to)
        });
        self.search.list.note_travel(gone.fold(0.0, f64::max));
        share
    }

    pub(super) fn extent(&self, x: &Displacement) -> Extent {
        Extent::of(x, &self.screws, self.posture.radius(&self.tool, self.hold))
    }
}

pub(super) fn scaled(x: &Displacement, share: f64) -> Displacement {
    if share == 1.0 { *x } else { x.map(|x| x * share) }
}
