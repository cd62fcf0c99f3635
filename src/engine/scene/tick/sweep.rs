//! Finds the contacts of a link on its path: source 000 on the tissue triangles near it.
//!
//! In the frame of the link its triangles stand still and those of the tissue move, by the link's motion and by the
//! tissue's own between the two revisions. Rotation makes a vertex move along an arc; the test takes its chord, and
//! adds the greatest error of a chord to the thickness. So a contact may be early, but none is missed.
//!
//! A sweep does as much as its time allows and continues in the next tick, from a [`SweepCursor`].

use std::ops::ControlFlow;

use glam::DVec3;

use super::{
    answer::Contact,
    contact_ids::AtStart,
    pose_path::PathSegment,
    triangle_blocks::{BLOCK_MAX, BlockCursor, Wanted},
};
use crate::scene::distance::SurfacePoint;
use crate::scene::{Link, Revision, TissueId, tissue::vertex_history::MotionSince};
use crate::{
    ccd::{MovingTriangle, Owned, Shared, TriangleContact, triangle_pair},
    geometry::{
        Aabb, Pose, TriangleId,
        mesh::pseudonormal::some_normal,
        tolerance::{BOUND_COVER, CHORD_ERROR_SHARE},
        triangle_triangle::{Crossing, crossing},
    },
    time_left::{TimeLeft, note_step},
};

/// One segment of a link's path and one tissue.
pub(super) struct Sweep<'a> {
    pub(super) tissue: TissueId,
    pub(super) revision: &'a Revision,
    /// Motion of the tissue while the link was on the path; none if it is not known.
    pub(super) motion: MotionSince<'a>,
    pub(super) link: &'a Link,
    /// Bound of the motion that is left out, metres.
    pub(super) slack_m: f64,
    /// True if contacts at the start of the segment have not all been searched for.
    pub(super) start_is_open: bool,
}

/// Cursor of the sweep of a path's first segment: tissues and triangles of lesser ids are done.
#[derive(Clone, Copy, Debug)]
pub(super) struct SweepCursor {
    pub(super) tissue: TissueId,
    pub(super) triangles: BlockCursor,
    own: Option<OwnCursor>,
}

/// Cursor of the sweep of one tissue triangle that has met nothing so far.
#[derive(Clone, Copy, Debug)]
struct OwnCursor {
    triangle: TriangleId,
    chord: usize,
    /// Next triangle of the link; lesser ones are done. `None`: the link's tree finds them in less than a tick.
    own: Option<TriangleId>,
}

/// Buffers of a session for its sweeps.
pub(super) struct SweepRoom {
    chords: Vec<Chord>,
    pub(super) block: Vec<TriangleId>,
    /// Triangles, ascending, if no others can be met.
    pub(super) near: Vec<TriangleId>,
    /// Contacts met in this tick.
    pub(super) met: Vec<Contact>,
}

/// Maximum parts of a segment; a long turn is then thicker than [`CHORD_ERROR_SHARE`] asks for.
const PARTS_MAX: f64 = 32.0;

/// A segment in which all vertices move straight, in the link's frame.
struct Chord {
    segment: PathSegment,
    from_scene: [Pose; 2],
    /// Error of the chord plus the motion that the path leaves out, metres.
    thickness: f64,
    /// Upper bound of the distance of a triangle of the newest revision from anything it meets, metres.
    reach: f64,
    /// Box that holds everything that is met, in scene frame.
    swept: Aabb,
}

/// Result of a triangle on a chord.
enum Met {
    Nothing,
    First(FirstTouch, TriangleId),
    /// The time was over before the end of the test.
    CutShort(Option<(FirstTouch, TriangleId)>),
}

/// First touch of a tissue triangle and a link's on a chord.
#[derive(Clone, Copy)]
struct FirstTouch {
    /// Time of impact, 0 to 1 on the chord.
    toi: f64,
    /// Weights of the tissue triangle's vertices.
    on_tissue: DVec3,
    /// Weights of the link triangle's vertices.
    on_link: DVec3,
    /// Direction from the link towards the tissue as they come together; zero if undetermined.
    normal: DVec3,
}

impl From<TriangleContact> for FirstTouch {
    fn from(found: TriangleContact) -> FirstTouch {
        let TriangleContact { toi, first, second, normal, .. } = found;
        FirstTouch { toi, on_tissue: first, on_link: second, normal }
    }
}

impl From<Crossing> for FirstTouch {
    /// Triangles that cross at the start of the chord touch at time 0 of it.
    fn from(found: Crossing) -> FirstTouch {
        let [a, b] = found.ends;
        FirstTouch {
            toi: 0.0,
            on_tissue: a.barycentric_a.midpoint(b.barycentric_a),
            on_link: a.barycentric_b.midpoint(b.barycentric_b),
            normal: DVec3::ZERO,
        }
    }
}

impl SweepRoom {
    /// Allocates for the usual sweep.
    pub(super) fn new() -> SweepRoom {
        SweepRoom {
            chords: Vec::with_capacity(PARTS_MAX as usize),
            block: Vec::with_capacity(2 * BLOCK_MAX),
            near: Vec::new(),
            met: Vec::new(),
        }
    }
}

impl SweepCursor {
    pub(super) const START: SweepCursor =
        SweepCursor { tissue: TissueId(0), triangles: BlockCursor::START, own: None };

    /// Starts at a tissue: all before it are done.
    pub(super) fn at_tissue(tissue: TissueId) -> SweepCursor {
        SweepCursor { tissue, ..SweepCursor::START }
    }
}

impl Sweep<'_> {
    /// Adds the first contact of every tissue triangle that the link meets on the segment, except those that it touched
    /// before: `at_start` gives the state of each where the path begins. Returns false if the time was over before the
    /// end; the cursor says where to continue. `only_near`: no others are met than those that are near.
    pub(super) fn go_on(
        &self,
        segment: PathSegment,
        at_start: &dyn Fn(TriangleId) -> AtStart,
        only_near: bool,
        cursor: &mut SweepCursor,
        room: &mut SweepRoom,
        time: &TimeLeft,
    ) -> bool {
        let SweepRoom { chords, block, met, near: near_ids } = room;
        self.lay_chords(segment, chords);
        let swept = chords.iter().fold(Aabb::EMPTY, |all, chord| all.union(&chord.swept));
        let near = |b: &Aabb| chords.iter().any(|chord| chord.may_meet(self.link, b));
        let wanted = Wanted { region: &swept, near: &near };
        let id_end = TriangleId(self.revision.surface.mesh().triangle_id_end());
        loop {
            let end = if only_near {
                block.clear();
                block.extend(near_ids.iter().filter(|t| **t >= cursor.triangles.next));
                id_end
            } else {
                let next = cursor.triangles.block(&self.revision.surface, &wanted, block, time);
                let Some(end) = next else { return false };
                end
            };
            for t in block.iter().copied() {
                cursor.triangles.next = t;
                if time.is_over() {
                    return false;
                }
                let may_cross = match at_start(t) {
                    AtStart::Touched => continue,
                    AtStart::InDoubt => true,
                    AtStart::Apart => self.start_is_open,
                };
                if !self.meet(chords, (t, may_cross), cursor, met, time) {
                    return false;
                }
            }
            cursor.triangles.next = end;
            if end >= id_end {
                return true;
            }
        }
    }

    /// Splits a segment into parts that are taken as straight.
    fn lay_chords(&self, segment: PathSegment, chords: &mut Vec<Chord>) {
        chords.clear();
        let bounds = self.link.surface.bounds();
        // Between two revisions the tissue moves evenly.
        for segment in segment.cut(self.motion.n_stages()) {
            let (n, error) = self.parts(&segment);
            let thickness = error + segment.slack_m + self.slack_m;
            debug_assert!(thickness >= 0.0, "thickness {thickness} m");
            // The index holds the newest revision only: a triangle may have been as far off as its tissue moved.
            let reach = thickness + self.motion.displacement_max();
            chords.extend(segment.split(n).map(|segment| Chord {
                segment,
                from_scene: [segment.from.inverse(), segment.to.inverse()],
                thickness,
                reach,
                swept: segment.from.aabb(bounds).union(&segment.to.aabb(bounds)).grown(reach),
            }));
        }
    }

    /// Returns the number of parts of a segment, and the greatest error of a part's chord for a vertex, metres.
    fn parts(&self, segment: &PathSegment) -> (usize, f64) {
        let translation = segment.from.translation.distance(segment.to.translation)
            + self.motion.displacement_max();
        let displacement = segment.displacement_max(self.link) + self.motion.displacement_max();
        let radius = self.link.radius() + displacement;
        let angle = segment.angle();
        // With the angle a and the displacement v of a part, a vertex r from the link's origin turns with an
        // acceleration of at most a^2 r + 2 a v, and its chord is off by an eighth of that. In n parts a and v are n
        // times smaller, and the error n^2 times.
        let whole = (angle * angle * radius + 2.0 * angle * translation) / 8.0;
        debug_assert!(whole >= 0.0, "a chord is off by {whole} m");
        if whole == 0.0 {
            return (1, 0.0);
        }
        let n = (whole / (CHORD_ERROR_SHARE * displacement)).sqrt().ceil().clamp(1.0, PARTS_MAX);
        (n as usize, whole / (n * n))
    }

    /// Adds the first contact of one tissue triangle, if the link meets it. `may_cross`: also if they cross at the
    /// start. Returns false if the time was over before that was known.
    fn meet(
        &self,
        chords: &[Chord],
        (t, may_cross): (TriangleId, bool),
        cursor: &mut SweepCursor,
        met: &mut Vec<Contact>,
        time: &TimeLeft,
    ) -> bool {
        let mesh = self.revision.surface.mesh();
        let (around, now, vertices) = (mesh.triangle_box(t), mesh.triangle(t), mesh.vertices(t));
        let known = cursor.own.take().filter(|known| known.triangle == t);
        let first = known.map_or(0, |known| known.chord);
        // Chords come in order of time, so that the first one that meets it decides.
        for (n, chord) in chords.iter().enumerate().skip(first) {
            if !chord.swept.overlaps(&around) || !chord.may_meet(self.link, &around) {
                continue;
            }
            let moving = chord.moving(&self.motion, vertices, now);
            let from = known.filter(|known| known.chord == n).and_then(|known| known.own);
            let mut own_next = TriangleId(0);
            // Features that have crossed already meet only as they part, which is late.
            let may_cross = may_cross && n == 0;
            match self.meet_on((chord, may_cross), &moving, from, &mut own_next, time) {
                Met::Nothing => {}
                Met::First(found, own) => {
                    met.push(self.contact(chord, t, own, &moving, &found));
                    return true;
                }
                Met::CutShort(Some((found, own))) => {
                    // Another triangle of the link may have come earlier, but none before the chord.
                    let contact = self.contact(chord, t, own, &moving, &found);
                    met.push(Contact { toi: Some(chord.segment.times.0), ..contact });
                    return true;
                }
                Met::CutShort(None) => {
                    // The first time, the triangle may only have been late. One that had a whole tick continues by ids.
                    let own = known.map(|_| own_next);
                    // While the tissue moves, the next tick splits the path into other chords.
                    let is_at_rest =
                        self.motion.n_stages() == 1 && self.motion.displacement_max() == 0.0;
                    let (chord, own) = if is_at_rest { (n, own) } else { (0, None) };
                    cursor.own = Some(OwnCursor { triangle: t, chord, own });
                    return false;
                }
            }
        }
        true
    }

    /// Tests a tissue triangle against the link's triangles on a chord; `from`: only those of greater ids, in order,
    /// with the progress in `own_next`.
    fn meet_on(
        &self,
        (chord, may_cross): (&Chord, bool),
        moving: &MovingTriangle,
        from: Option<TriangleId>,
        own_next: &mut TriangleId,
        time: &TimeLeft,
    ) -> Met {
        let link = self.link;
        let corners = moving.t0.into_iter().chain(moving.t1);
        let around = Aabb::around(corners).grown(chord.thickness);
        let mut earliest: Option<(FirstTouch, TriangleId)> = None;
        let mut is_cut = false;
        let mut test = |own: TriangleId| {
            let may_meet = link.surface.mesh().triangle_box(own).overlaps(&around);
            // Two triangles in motion may take as long as all that a search does between two readings of the clock.
            let is_over = if may_meet { time.is_over_now() } else { time.is_over() };
            if is_over {
                is_cut = true;
                return ControlFlow::Break(());
            }
            note_step();
            if may_meet {
                let corners = link.surface.mesh().triangle(own);
                // Two meshes share no vertex, so all features of both are tested.
                let still = MovingTriangle { t0: corners, t1: corners, owned: Owned::ALL };
                let crossed = may_cross.then(|| crossing(&moving.t0, &corners)).flatten();
                let meet = || triangle_pair(moving, &still, Shared::NONE, chord.thickness);
                let found = crossed.map(FirstTouch::from).or_else(|| meet().map(FirstTouch::from));
                if let Some(found) = found
                    && earliest.is_none_or(|(e, other)| (found.toi, own) < (e.toi, other))
                {
                    earliest = Some((found, own));
                }
            }
            ControlFlow::Continue(())
        };
        match from {
            // A link has all its ids.
            Some(from) => {
                let ids = link.surface.mesh().triangle_ids().skip(from.0 as usize);
                *own_next = ids
                    .take_while(|own| test(*own).is_continue())
                    .last()
                    .map_or(from, |t| TriangleId(t.0 + 1));
            }
            None => {
                let reach = chord.reach_of(moving);
                link.tree.each_within(&moving.t1, reach, time, |own, _| test(own));
                is_cut |= time.was_over();
            }
        }
        match earliest {
            _ if is_cut => Met::CutShort(earliest),
            Some((found, own)) => Met::First(found, own),
            None => Met::Nothing,
        }
    }

    fn contact(
        &self,
        chord: &Chord,
        t: TriangleId,
        own: TriangleId,
        moving: &MovingTriangle,
        found: &FirstTouch,
    ) -> Contact {
        let weigh = |[a, b, c]: [DVec3; 3], w: DVec3| a * w.x + b * w.y + c * w.z;
        debug_assert!((0.0..=1.0).contains(&found.toi), "toi {}", found.toi);
        let pose = chord.segment.pose_at(found.toi);
        let (start, end) = chord.segment.times;
        let link_mesh = self.link.surface.mesh();
        let on_link = weigh(link_mesh.triangle(own), found.on_link);
        // Direction from the link to the tissue as they come together; the link's own normal if undetermined.
        let away =
            if found.normal == DVec3::ZERO { some_normal(link_mesh, own) } else { found.normal };
        Contact {
            tissue: self.tissue,
            on_tissue: SurfacePoint {
                position: pose.point(weigh(moving.at(found.toi), found.on_tissue)),
                triangle: t,
                barycentric: found.on_tissue,
            },
            on_tool: SurfacePoint {
                position: pose.point(on_link),
                triangle: own,
                barycentric: found.on_link,
            },
            normal: -pose.vector(away),
            signed_distance_m: 0.0,
            sign_certainty: 1.0,
            depth_max_m: None,
            toi: Some(start + (end - start) * found.toi),
            left_behind: true,
            wholly_inside: false,
        }
    }
}

/// Adds the contacts of the sweep to those at the path's end, at which a triangle has one: that contact keeps its place
/// and depth, and gets its time of impact.
pub(super) fn add_met(met: &mut Vec<Contact>, contacts: &mut Vec<Contact>) {
    if met.is_empty() {
        return;
    }
    let at = |c: &Contact| (c.tissue, c.on_tissue.triangle);
    let time = |c: &Contact| c.toi.map_or(0, f64::to_bits);
    // Segments come in order, so that the first time of each triangle decides.
    met.sort_unstable_by_key(|c| (at(c), time(c), c.on_tool.triangle));
    met.dedup_by_key(|c| at(c));
    contacts.sort_unstable_by_key(at);
    let n = contacts.len();
    for found in met.drain(..) {
        match contacts[..n].binary_search_by_key(&at(&found), at) {
            Ok(i) => contacts[i].toi = contacts[i].toi.or(found.toi),
            Err(_) => contacts.push(found),
        }
    }
}

impl Chord {
    /// Returns false only if nothing in a box of the scene, as in the newest revision, meets the link on the chord.
    fn may_meet(&self, link: &Link, b: &Aabb) -> bool {
        // In the link's frame a point moves from one place to the other, so a ball about their middle holds it.
        let [from, to] = self.from_scene.map(|p| p.point(b.centre()));
        let (middle, half) = (from.midpoint(to), 0.5 * from.distance(to));
        self.swept.overlaps(b) && link.may_be_within(middle, 0.5 * b.diagonal() + self.reach + half)
    }

    /// Returns a tissue triangle in the link's frame.
    fn moving(&self, motion: &MotionSince, vertices: [u32; 3], now: [DVec3; 3]) -> MovingTriangle {
        let (start, end) = self.segment.times;
        let at = |k: usize, time: f64, from_scene: &Pose| {
            from_scene.point(motion.position(vertices[k], now[k], time))
        };
        MovingTriangle {
            t0: std::array::from_fn(|k| at(k, start, &self.from_scene[0])),
            t1: std::array::from_fn(|k| at(k, end, &self.from_scene[1])),
            owned: Owned::ALL,
        }
    }

    /// Upper bound of the distance of a triangle's points from where they end, and from anything they meet, metres.
    fn reach_of(&self, moving: &MovingTriangle) -> f64 {
        // The tree has a fifth as many triangles within the displacement of the corners as the box of both ends
        // overlaps, and takes a fifth of the time.
        let displacement_squared = |k: usize| moving.t0[k].distance_squared(moving.t1[k]);
        let farthest =
            displacement_squared(0).max(displacement_squared(1)).max(displacement_squared(2));
        farthest.sqrt() * BOUND_COVER + self.thickness
    }
}
