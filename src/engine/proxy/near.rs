//! Finds every pair of triangles within a margin of the proxy, and the contacts among them.
//!
//! A contact is a local minimum of distance between the two surfaces: its direction lies in the normal cone of the
//! feature on either side. Any other pair of closest points gets nearer a little farther along one of the surfaces, and
//! as a constraint it would push sideways at inner edges of a flat tessellation.

use glam::{DVec3, Vec3};

use super::{
    contact_list::ContactList,
    joined_borders,
    near_contact::{ContactKey, NearContact, NearTriangles},
    pair_list::{Around, ListEnd, PairList, Standing},
    posed_link::PosedLink,
    seen_tissues::TissuesInMotion,
    tissue_view::TissueView,
    tried_features::TriedFeatures,
};
use crate::geometry::{
    TriangleId, TriangleMesh,
    direction::span_along,
    distance::{
        point_triangle::{Feature, closest_point},
        segment_segment::closest_parameters,
        triangle_triangle::{ClosestPair, closest_pair_or_bound},
    },
    tolerance::{BOUND_COVER, FLAT_CONE_SLACK, NORMAL_CONE_SLACK, SINGLE_UNIT_SLACK},
};
use crate::scene::TissueId;
use crate::time_left::{TimeLeft, note_step};

/// Maximum pairs of triangles in one search. A probe in a fine organ has some hundred within a millimetre.
pub(super) const NEAR_PAIRS_MAX: usize = 8_192;

/// Cosine between a triangle's normal and the direction to a point inside; near a sharp edge it is at least -0.7.
const FROM_INSIDE_COSINE: f64 = -0.75;

/// Result of the last search, with buffers for the next one.
#[derive(Debug)]
pub(super) struct NearSearch {
    /// Pairs that may be near.
    pub(super) list: PairList,
    /// Every pair within the margin.
    pub(super) pairs: Vec<NearTriangles>,
    /// Contacts without duplicates, ordered by [`ContactKey`].
    pub(super) contacts: ContactList,
    /// The least distance of all pairs, metres; the margin if there are no pairs.
    pub(super) clearance_m: f64,
    tried: TriedFeatures,
    known: Option<LastSearch>,
}

/// State of the last search, whose pairs and contacts are kept: while nothing moves, the next search measures only the
/// pairs that this one left out. A tick ends with a survey for the local model, and the next tick starts from its
/// state.
#[derive(Clone, Copy, Debug)]
struct LastSearch {
    standing: Standing,
    /// All pairs within this distance are known, metres; below 0, no pair is.
    margin_m: f64,
    /// Set if the deadline interrupted a search to a wider margin: that margin, metres, and the index in the list
    /// before which all pairs within it are known.
    on_the_way: Option<(f64, usize)>,
    /// No pair of triangles is flat: a flat pair has contacts that a wider margin adds.
    grows: bool,
}

/// Outcome of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SearchEnd {
    /// All pairs within the margin were found.
    Complete,
    /// More pairs were found than a search may hold.
    Full,
    /// The deadline passed.
    OutOfTime,
}

/// Outcome of measuring the listed pairs.
enum MeasureEnd {
    All,
    /// More pairs were near than a search may hold.
    TooMany,
    /// The deadline passed: the pairs before this index are measured.
    UpTo(usize),
}

impl NearSearch {
    /// Allocates capacity for all that a search may find. `skin_min_m`: half the least margin. With less, the tremor of
    /// a hand at rest makes new lists; with more, lists in fine meshes are long.
    pub(super) fn new(skin_min_m: f64) -> NearSearch {
        NearSearch {
            list: PairList::new(NEAR_PAIRS_MAX, skin_min_m),
            pairs: Vec::with_capacity(NEAR_PAIRS_MAX),
            contacts: ContactList::new(),
            clearance_m: 0.0,
            tried: TriedFeatures::new(),
            known: None,
        }
    }

    /// True if a deadline cut the last search short; the next search continues it.
    pub(super) fn is_under_way(&self) -> bool {
        self.list.is_under_way() || self.known.is_some_and(|k| k.on_the_way.is_some())
    }

    /// The margin of a search that was cut short, metres; infinite if none was.
    pub(super) fn on_the_way_m(&self) -> f64 {
        self.known.and_then(|k| k.on_the_way).map_or(f64::INFINITY, |(margin_m, _)| margin_m)
    }

    /// Distance within which every pair of this tissue is known, metres; `None` if something has moved since the last
    /// search, or if that search left the tissue out.
    pub(super) fn complete_m(&self, tissue: TissueId) -> Option<f64> {
        let is_there = |k: &LastSearch| k.standing == self.list.standing();
        let known = self.known.filter(is_there).filter(|_| self.list.is_about(tissue));
        known.map(|k| k.margin_m).filter(|margin_m| *margin_m >= 0.0)
    }

    /// Finds all pairs of triangles within a margin, metres, at most `pairs_max`. A search to a wider margin that a
    /// deadline cut short is continued: with `keeps_wider`, its pairs beyond the margin are kept for a later search to
    /// continue.
    pub(super) fn run(
        &mut self,
        tissues: &TissuesInMotion,
        around: &Around,
        (margin, pairs_max, keeps_wider): (f64, usize, bool),
        deadline: &TimeLeft,
    ) -> SearchEnd {
        debug_assert!(pairs_max <= NEAR_PAIRS_MAX, "room for {pairs_max} pairs");
        let end = self.list.reach(margin, tissues, around, pairs_max, deadline);
        let standing = self.list.standing();
        let is_there = |k: &LastSearch| end == ListEnd::Complete && k.standing == standing;
        let known = self.known.take().filter(is_there);
        // Continue an interrupted search if its margin is at least as wide.
        let begun = known.filter(|k| k.on_the_way.is_some_and(|(wider, _)| margin <= wider));
        let known = begun.or(known.filter(|k| margin <= k.margin_m || k.grows));
        // No distance is negative.
        let from = known.map_or(-1.0, |k| k.margin_m);
        let (wider, first) = begun.and_then(|k| k.on_the_way).unwrap_or((from.min(margin), 0));
        let stays = if keeps_wider { wider } else { wider.min(margin) };
        self.pairs.retain(|p| p.distance_m <= stays);
        self.contacts.keep_within(stays);
        self.clearance_m = self.pairs.iter().fold(margin, |least, p| least.min(p.distance_m));
        match end {
            ListEnd::Complete => (),
            ListEnd::Full => return SearchEnd::Full,
            ListEnd::OutOfTime => return SearchEnd::OutOfTime,
        }
        let n_beyond = self.pairs.iter().filter(|p| p.distance_m > margin).count();
        let (n_there, mut grows) = (self.pairs.len(), known.is_none_or(|k| k.grows));
        let on_the_way = (stays > margin).then_some((wider, first));
        if n_there - n_beyond > pairs_max {
            self.known = known.filter(|_| keeps_wider);
            return SearchEnd::Full;
        }
        if margin > from {
            let within = (from, margin, pairs_max + n_beyond);
            match self.measure(tissues, around, (first, within), deadline, &mut grows) {
                MeasureEnd::All => (),
                MeasureEnd::UpTo(place) if on_the_way.is_none() => {
                    let (margin_m, on_the_way) = (from, Some((margin, place)));
                    self.known = Some(LastSearch { standing, margin_m, on_the_way, grows });
                    return SearchEnd::OutOfTime;
                }
                // Pairs found on the way to the wider margin are kept, and that search is continued later.
                cut => {
                    self.pairs.truncate(n_there);
                    self.known = known.filter(|_| on_the_way.is_some());
                    let is_late = matches!(cut, MeasureEnd::UpTo(_));
                    return if is_late { SearchEnd::OutOfTime } else { SearchEnd::Full };
                }
            }
            self.order_contacts(tissues);
        }
        // Within a kept wider search no pair was left out.
        let margin_m = if on_the_way.is_some() { margin.max(from) } else { margin };
        self.known = Some(LastSearch { standing, margin_m, on_the_way, grows });
        SearchEnd::Complete
    }

    /// Finds the contacts among the pairs that fit, after a search that was full.
    pub(super) fn run_in_part(
        &mut self,
        tissues: &TissuesInMotion,
        around: &Around,
        margin: f64,
        deadline: &TimeLeft,
    ) -> SearchEnd {
        self.known = None;
        // No pairs are measured if even the list was full.
        if self.pairs.len() == NEAR_PAIRS_MAX {
            self.order_contacts(tissues);
            return SearchEnd::Full;
        }
        self.pairs.clear();
        self.contacts.keep_within(-1.0);
        let within = (-1.0, margin, NEAR_PAIRS_MAX);
        let end = self.measure(tissues, around, (0, within), deadline, &mut true);
        self.order_contacts(tissues);
        if let MeasureEnd::UpTo(_) = end { SearchEnd::OutOfTime } else { SearchEnd::Full }
    }

    /// Sorts the contacts and keeps each contact of the surface that all tissues form together once.
    fn order_contacts(&mut self, tissues: &TissuesInMotion) {
        self.contacts.order();
        joined_borders::join(&mut self.contacts.found, &self.pairs, tissues);
    }

    /// Measures the listed pairs from index `first` on that can be within the margin and are farther than `from`
    /// metres. Clears `grows` when it finds a flat pair.
    fn measure(
        &mut self,
        tissues: &TissuesInMotion,
        around: &Around,
        (first, (from, margin, pairs_max)): (usize, (f64, f64, usize)),
        deadline: &TimeLeft,
        grows: &mut bool,
    ) -> MeasureEnd {
        // Pairs slightly beyond the margin are measured too, so that the next round need not measure them again.
        let told = margin + self.list.last_step_m();
        // Pairs of one link and one tissue triangle are consecutive.
        let mut posed: Option<(u32, PosedLink)> = None;
        let mut corners: Option<((u32, TriangleId), [DVec3; 3])> = None;
        let mut view: Option<(u32, TissueView)> = None;
        self.tried.clear();
        for at in first..self.list.pairs.len() {
            let listed = self.list.pairs[at];
            let bound = self.list.lower_bound(&listed);
            // The bound of a known pair is its distance.
            if bound > margin * BOUND_COVER || bound * BOUND_COVER <= from {
                continue;
            }
            note_step();
            if deadline.is_over() {
                return MeasureEnd::UpTo(at);
            }
            if view.as_ref().is_none_or(|(of, _)| *of != listed.tissue) {
                view = Some((listed.tissue, tissues.view(listed.tissue as usize)));
            }
            let Some((_, view)) = &view else { unreachable!("viewed above") };
            let (number, own) = (listed.link as usize, listed.link_triangle);
            let t = listed.tissue_triangle;
            if posed.as_ref().is_none_or(|(of, _)| *of != listed.link) {
                let link = &around.tool.links[number];
                posed = Some((listed.link, PosedLink::new(link, number, around.posture)));
                corners = None;
            }
            let Some((_, posed)) = &posed else { unreachable!("posed above") };
            let tissue = match corners {
                Some((of, corners)) if of == (listed.tissue, t) => corners,
                _ => posed.in_link(view, t),
            };
            corners = Some(((listed.tissue, t), tissue));
            let link = posed.link.surface.mesh().triangle(own);
            let (place, ids) = (listed.tissue as usize, (t, own));
            let pair = PairInLink { place, view, posed, ids, tissue, link, deadline };
            // The direction between closest points hardly changes: the last one separates half of the pairs beyond the
            // margin.
            let apart = pair.apart_along(listed.along.as_dvec3());
            if apart > margin * BOUND_COVER {
                self.list.measured(at, apart, listed.along);
                continue;
            }
            let found = match closest_pair_or_bound(&pair.tissue, &pair.link, told * told) {
                Ok(found) => found,
                Err(bound_squared) => {
                    self.list.measured(at, bound_squared.sqrt(), listed.along);
                    continue;
                }
            };
            let distance_m = found.distance_squared.sqrt();
            let along = found.direction().unwrap_or(DVec3::ZERO);
            self.list.measured(at, distance_m, shortened(along));
            if distance_m > margin || distance_m <= from || pair.is_put_through(along) {
                continue;
            }
            if self.pairs.len() == pairs_max {
                return MeasureEnd::TooMany;
            }
            self.clearance_m = self.clearance_m.min(distance_m);
            self.pairs.push(pair.near(distance_m, along));
            *grows &= !self.offer(&pair, &found, margin);
            if deadline.was_over() {
                // Some of the pair's cones were not checked; contacts that are found again are identical.
                self.pairs.pop();
                return MeasureEnd::UpTo(at);
            }
        }
        MeasureEnd::All
    }

    /// Keeps the contacts of a pair. Returns true if the pair is flat.
    fn offer(&mut self, pair: &PairInLink, found: &ClosestPair, margin: f64) -> bool {
        let is_flat = pair.is_flat();
        self.keep(pair, (found.barycentric_a, found.barycentric_b), is_flat, margin);
        if is_flat {
            // Two flat triangles have many equally good pairs of closest points: the corners of their overlap keep both
            // apart, however the tool is turned.
            pair.each_corner(|weights| self.keep(pair, weights, true, margin));
        }
        is_flat
    }

    fn keep(&mut self, pair: &PairInLink, weights: (DVec3, DVec3), is_flat: bool, margin: f64) {
        let key = pair.features(weights);
        if self.tried.is_settled(&key, is_flat, pair.ids) {
            return;
        }
        let found = pair.contact(key, weights, is_flat).filter(|c| c.gap_m <= margin);
        self.tried.note(&key, is_flat, pair.ids, found.is_some());
        if let Some(contact) = found {
            self.contacts.add(contact);
        }
    }
}

/// A tissue triangle and a link's triangle, both in the link's frame.
struct PairInLink<'a> {
    place: usize,
    view: &'a TissueView<'a>,
    posed: &'a PosedLink<'a>,
    ids: (TriangleId, TriangleId),
    tissue: [DVec3; 3],
    link: [DVec3; 3],
    deadline: &'a TimeLeft<'a>,
}

impl PairInLink<'_> {
    /// Returns the pair with its distance. `along`: direction of that distance, link frame.
    fn near(&self, distance_m: f64, along: DVec3) -> NearTriangles {
        NearTriangles {
            tissue: self.place,
            tissue_triangle: self.ids.0,
            link: self.posed.number,
            link_triangle: self.ids.1,
            distance_m,
            along: shortened(self.posed.scene_from_link.vector(along)),
        }
    }

    /// Lower bound of the distance from the tissue's triangle to the link's along a direction, metres.
    fn apart_along(&self, along: DVec3) -> f64 {
        let ([begins, _], [_, ends]) =
            (span_along(&self.link, along), span_along(&self.tissue, along));
        begins - ends
    }

    /// True if the proxy is partly inside a closed tissue and meets this triangle from inside. `along`: from the
    /// tissue's triangle.
    fn is_put_through(&self, along: DVec3) -> bool {
        if self.view.put_through.is_empty() || !self.view.surface.is_closed() {
            return false;
        }
        let [a, b, c] = self.tissue;
        let normal = (b - a).cross(c - a);
        along.dot(normal) < FROM_INSIDE_COSINE * normal.length()
    }

    /// True if the two triangles are nearly parallel.
    fn is_flat(&self) -> bool {
        let normal = |t: &[DVec3; 3]| (t[1] - t[0]).cross(t[2] - t[0]);
        let (a, b) = (normal(&self.tissue), normal(&self.link));
        // |a x b| = |a| |b| sin.
        let sine_squared = a.cross(b).length_squared();
        sine_squared < FLAT_CONE_SLACK.powi(2) * a.length_squared() * b.length_squared()
    }

    /// Calls `visit` with the weights of every vertex over the other triangle's face, and of every two edges that
    /// cross.
    fn each_corner(&self, mut visit: impl FnMut((DVec3, DVec3))) {
        for k in 0..3 {
            let on_link = closest_point(self.tissue[k], &self.link);
            if on_link.feature == Feature::Face {
                visit((DVec3::AXES[k], on_link.barycentric));
            }
            let on_tissue = closest_point(self.link[k], &self.tissue);
            if on_tissue.feature == Feature::Face {
                visit((on_tissue.barycentric, DVec3::AXES[k]));
            }
        }
        for i in 0..3 {
            for j in 0..3 {
                let (a, b) = (&self.tissue, &self.link);
                let (i1, j1) = ((i + 1) % 3, (j + 1) % 3);
                let (s, t) = closest_parameters(a[i], a[i1], b[j], b[j1]);
                if s > 0.0 && s < 1.0 && t > 0.0 && t < 1.0 {
                    let on =
                        |k: usize, k1: usize, s| DVec3::AXES[k] * (1.0 - s) + DVec3::AXES[k1] * s;
                    visit((on(i, i1, s), on(j, j1, t)));
                }
            }
        }
    }

    /// Returns the features that two points are on.
    fn features(&self, (w, u): (DVec3, DVec3)) -> ContactKey {
        let (tissue_mesh, link_mesh) = (self.view.surface.mesh(), self.posed.link.surface.mesh());
        let (t, own) = self.ids;
        ContactKey {
            tissue: self.view.id,
            link: self.posed.number,
            on_tissue: feature(tissue_mesh.vertices(t).map(|v| self.view.joined(v)), w),
            on_link: feature(link_mesh.joined_vertices(own), u),
        }
    }

    /// Returns the contact of two points if it is a local minimum of distance. `key`: their features.
    fn contact(
        &self,
        key: ContactKey,
        (w, u): (DVec3, DVec3),
        is_flat: bool,
    ) -> Option<NearContact> {
        let PosedLink { link, scene_from_link, .. } = self.posed;
        let (t, own) = self.ids;
        let weigh = |t: &[DVec3; 3], w: DVec3| t[0] * w.x + t[1] * w.y + t[2] * w.z;
        let (on_tissue, of_link) = (weigh(&self.tissue, w), weigh(&self.link, u));
        let apart = of_link - on_tissue;
        let gap_m = apart.length();
        // Triangles that cross have no direction; a feasible proxy has no such pair.
        if gap_m == 0.0 {
            return None;
        }
        let normal = apart / gap_m;
        let (tissue_mesh, link_mesh) = (self.view.surface.mesh(), link.surface.mesh());
        let ContactKey { on_tissue: on_tissue_key, on_link: on_link_key, .. } = key;
        // If a vertex faces a face, the direction is the face's own, and the vertex may be a little off its cone: with
        // this slack, a patch that lies nearly flat keeps all its corners. Anywhere else a wide cone would admit ghost
        // contacts.
        let slack = |own: &[u32; 3], other: &[u32; 3]| {
            let faces = is_vertex(own) && is_face(other);
            let crosses = is_flat && is_edge(own) && is_edge(other);
            if faces || crosses { FLAT_CONE_SLACK } else { NORMAL_CONE_SLACK }
        };
        let (place, joined) = (|v: u32| link_mesh.position(v), |v: u32| link_mesh.joined(v));
        let deadline = self.deadline;
        let cone = Cone { mesh: link_mesh, at: of_link, along: -normal, deadline };
        if !cone.holds(&on_link_key, slack(&on_link_key, &on_tissue_key), place, joined) {
            return None;
        }
        let normal = scene_from_link.vector(normal);
        let at = scene_from_link.point(on_tissue);
        let cone = Cone { mesh: tissue_mesh, at, along: normal, deadline };
        let (place, joined) = (|v: u32| self.view.vertex(v), |v: u32| self.view.joined(v));
        let cone_slack = slack(&on_tissue_key, &on_link_key);
        if !cone.holds(&on_tissue_key, cone_slack, place, joined) {
            return None;
        }
        Some(NearContact {
            key,
            tissue: self.place,
            tissue_triangle: t,
            tissue_weights: w,
            link_triangle: own,
            on_tissue: at,
            of_link,
            normal,
            gap_m,
            cone_slack,
        })
    }
}

/// Converts a unit vector to single precision, no longer than 1 despite rounding.
fn shortened(unit: DVec3) -> Vec3 {
    unit.as_vec3() * (1.0 - SINGLE_UNIT_SLACK)
}

/// Returns the vertices with a weight, ascending.
fn feature(vertices: [u32; 3], weights: DVec3) -> [u32; 3] {
    let mut named = [u32::MAX; 3];
    for ((own, v), w) in named.iter_mut().zip(vertices).zip(weights.to_array()) {
        if w > 0.0 {
            *own = v;
        }
    }
    named.sort_unstable();
    named
}

fn is_vertex(feature: &[u32; 3]) -> bool {
    feature[1] == u32::MAX
}

fn is_edge(feature: &[u32; 3]) -> bool {
    feature[1] != u32::MAX && feature[2] == u32::MAX
}

fn is_face(feature: &[u32; 3]) -> bool {
    feature[2] != u32::MAX
}

/// A direction at a point of a mesh, to be tested against the normal cone of the point's feature.
struct Cone<'a> {
    mesh: &'a TriangleMesh,
    at: DVec3,
    /// Unit vector.
    along: DVec3,
    deadline: &'a TimeLeft<'a>,
}

impl Cone<'_> {
    /// Returns true if no triangle at the feature leads nearer to a point along the direction: each edge out of the
    /// feature is at least at a right angle to it, to `slack` as a cosine. On an open border the cone is that of the
    /// triangles there, and on either side of a face its normal serves. `joined`: the vertex that stands for a vertex.
    /// Also returns false if the deadline passes before all triangles were checked.
    fn holds(
        &self,
        feature: &[u32; 3],
        slack: f64,
        place: impl Fn(u32) -> DVec3,
        joined: impl Fn(u32) -> u32,
    ) -> bool {
        let leads_away = |w: u32| {
            let out = place(w) - self.at;
            self.along.dot(out) <= slack * out.length()
        };
        let [first, second, _] = *feature;
        // At a vertex of very many triangles a walk takes longer than a tick.
        let all_lead_away = |t: TriangleId| {
            note_step();
            let vertices = self.mesh.vertices(t).map(&joined);
            // At a seam that is open here, the triangles beyond it are at another feature.
            let is_at =
                vertices.contains(&first) && (is_vertex(feature) || vertices.contains(&second));
            let mut others = vertices.into_iter().filter(|v| !feature.contains(v));
            !self.deadline.is_over() && (!is_at || others.all(leads_away))
        };
        if is_face(feature) {
            true
        } else if is_edge(feature) {
            self.mesh.at_edge(first, second).all(all_lead_away)
        } else {
            self.mesh.around(first).all(|(t, _)| all_lead_away(t))
        }
    }
}
