//! What a link met since the last answered tick: source 000 on the tissue triangles near its pose path.
//!
//! In the frame of the link its triangles stand still and those of the tissue move, by the link's motion and by
//! the tissue's own between the two revisions. Turning makes a vertex move along an arc; the test takes its chord, and
//! the greatest error of a chord is added to the thickness. So a contact may be early, but none is missed.

use glam::DVec3;

use super::{
    answer::{Contact, SurfacePoint},
    pose_path::{PathSegment, PosePath},
};
use crate::scene::{Link, Revision, TissueId, tissue::vertex_history::MotionSince};
use crate::{
    ccd::{MovingTriangle, Owned, Shared, TriangleContact, triangle_pair},
    geometry::{
        Aabb, Pose, TriangleId,
        mesh::pseudonormal::some_normal,
        tolerance::{BOUND_COVER, CHORD_ERROR_SHARE},
    },
};

/// One link on its path and one tissue.
pub(super) struct Sweep<'a> {
    pub(super) tissue: TissueId,
    pub(super) revision: &'a Revision,
    pub(super) motion: MotionSince<'a>,
    pub(super) link: &'a Link,
    pub(super) path: &'a PosePath,
    /// No point of either moved farther against the other, metres.
    pub(super) displacement_m: f64,
}

/// Parts that a segment is split in at most; a long turn is then thicker than [`CHORD_ERROR_SHARE`] asks for.
const PARTS_MAX: f64 = 32.0;
/// Triangle pairs of one link and tissue that are tested in a tick.
const PAIRS_MAX: usize = 20_000;

/// A segment in which all vertices move straight, in the link's frame.
struct Chord<'a> {
    segment: PathSegment,
    from_scene: [Pose; 2],
    /// The chord's error and what the path leaves out, metres.
    thickness: f64,
    motion: MotionSince<'a>,
}

impl Sweep<'_> {
    /// Adds the first contact of every tissue triangle that the link meets on its path, but those that it
    /// `touched` at the path's start. False when there was more to test than a tick may, or it became
    /// `late` before the end.
    ///
    /// `contacts` holds those at the path's end. When `all_near`, every other triangle is farther from the link than
    /// the path is long, so that only these are tested.
    pub(super) fn find(
        &self,
        touched: &dyn Fn(TriangleId) -> bool,
        all_near: bool,
        contacts: &mut Vec<Contact>,
        late: &dyn Fn() -> bool,
    ) -> bool {
        let at_end = all_near.then_some(contacts.len());
        let mut room = PAIRS_MAX;
        // Between two revisions the tissue moves evenly.
        let n_stages = self.motion.n_stages();
        for segment in self.path.segments().flat_map(|segment| segment.cut(n_stages)) {
            let (n, error) = self.parts(&segment);
            for segment in segment.split(n) {
                let from_scene = [segment.from.inverse(), segment.to.inverse()];
                let thickness = error + self.path.slack();
                debug_assert!(thickness >= 0.0, "thickness {thickness} m");
                let chord = Chord { segment, from_scene, thickness, motion: self.motion };
                let tested = |t: TriangleId, contacts: &mut Vec<Contact>| {
                    // A sweep that breaks off is not complete, and the next one starts where this one did.
                    if room > 0 && late() {
                        room = 0;
                    }
                    if room > 0 && !touched(t) {
                        self.meet(&chord, t, contacts, &mut room);
                    }
                };
                match at_end {
                    Some(n) => self.each_of(n, contacts, tested),
                    None => self.each_on_path(&chord, contacts, tested),
                }
            }
        }
        room > 0
    }

    /// In how many parts a segment is taken, and how far a vertex may be off a part's chord, metres.
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

    /// The tissue triangles of the first `n` contacts that the link can have reached.
    fn each_of(
        &self,
        n: usize,
        contacts: &mut Vec<Contact>,
        mut tested: impl FnMut(TriangleId, &mut Vec<Contact>),
    ) {
        // A contact's point is the nearest to the field's tolerance.
        let reach = self.displacement_m + self.link.field.tolerance();
        for i in 0..n {
            let Contact { tissue, signed_distance_m, on_tissue, .. } = contacts[i];
            if tissue == self.tissue && signed_distance_m <= reach {
                tested(on_tissue.triangle, contacts);
            }
        }
    }

    /// The tissue triangles that the link may meet on a chord.
    fn each_on_path(
        &self,
        chord: &Chord,
        contacts: &mut Vec<Contact>,
        mut tested: impl FnMut(TriangleId, &mut Vec<Contact>),
    ) {
        let link = self.link;
        // The index knows the newest revision only: a triangle may have been as far off as its tissue moved.
        let slack = chord.thickness + self.motion.displacement_max();
        let bounds = link.surface.bounds();
        let swept =
            chord.segment.from.aabb(bounds).union(&chord.segment.to.aabb(bounds)).grown(slack);
        let near = |b: &Aabb| chord.may_meet(link, b.centre(), b.diagonal() * 0.5 + slack);
        self.revision.surface.overlap(&(swept, near), |t| tested(t, contacts));
    }

    /// Adds the first contact of one tissue triangle, if the link meets it.
    fn meet(&self, chord: &Chord, t: TriangleId, contacts: &mut Vec<Contact>, room: &mut usize) {
        let (mesh, link) = (self.revision.surface.mesh(), self.link);
        let moving = chord.moving(mesh.vertices(t), mesh.triangle(t));
        let corners = moving.t0.into_iter().chain(moving.t1);
        let around = Aabb::around(corners).grown(chord.thickness);
        let mut earliest: Option<(TriangleContact, TriangleId)> = None;
        // No point of the triangle is ever farther from where it ends than its corners began. What the tree has within
        // that distance is a fifth of what the box of both ends overlaps, and takes a fifth of the time.
        let displacement_squared = |k: usize| moving.t0[k].distance_squared(moving.t1[k]);
        let reach = displacement_squared(0)
            .max(displacement_squared(1))
            .max(displacement_squared(2))
            .sqrt()
            * BOUND_COVER
            + chord.thickness;
        link.tree.each_within(&moving.t1, reach, |own| {
            if !link.surface.mesh().triangle_box(own).overlaps(&around) {
                return;
            }
            *room = room.saturating_sub(1);
            let corners = link.surface.mesh().triangle(own);
            // Two meshes share no vertex, so all features of both are tested.
            let still = MovingTriangle { t0: corners, t1: corners, owned: Owned::ALL };
            let found = triangle_pair(&moving, &still, Shared::NONE, chord.thickness);
            if let Some(found) = found
                && earliest.is_none_or(|(e, other)| (found.toi, own) < (e.toi, other))
            {
                earliest = Some((found, own));
            }
        });
        if let Some((found, own)) = earliest {
            keep_earliest(self.contact(chord, t, own, &moving, &found), contacts);
        }
    }

    fn contact(
        &self,
        chord: &Chord,
        t: TriangleId,
        own: TriangleId,
        moving: &MovingTriangle,
        found: &TriangleContact,
    ) -> Contact {
        let weigh = |[a, b, c]: [DVec3; 3], w: DVec3| a * w.x + b * w.y + c * w.z;
        debug_assert!((0.0..=1.0).contains(&found.toi), "toi {}", found.toi);
        let pose = chord.segment.pose_at(found.toi);
        let (start, end) = chord.segment.times;
        let link_mesh = self.link.surface.mesh();
        let on_link = weigh(link_mesh.triangle(own), found.second);
        // From the link to the tissue as they come together; the link's own normal where they tell none.
        let away =
            if found.normal == DVec3::ZERO { some_normal(link_mesh, own) } else { found.normal };
        Contact {
            tissue: self.tissue,
            on_tissue: SurfacePoint {
                position: pose.point(weigh(moving.at(found.toi), found.first)),
                triangle: t,
                barycentric: found.first,
            },
            on_tool: SurfacePoint {
                position: pose.point(on_link),
                triangle: own,
                barycentric: found.second,
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

/// A triangle has one contact: the parts of a path come in order, so the first time of each decides.
fn keep_earliest(found: Contact, contacts: &mut Vec<Contact>) {
    let at = |c: &Contact| (c.tissue, c.on_tissue.triangle);
    match contacts.iter_mut().find(|c| at(c) == at(&found)) {
        // In contact at the end as well: it keeps that place and depth, and learns when it began.
        Some(known) => known.toi = known.toi.or(found.toi),
        None => contacts.push(found),
    }
}

impl Chord<'_> {
    /// False only when nothing within `radius` of a scene point meets the link on the chord.
    fn may_meet(&self, link: &Link, centre: DVec3, radius: f64) -> bool {
        // In the link's frame the point moves from one place to the other, so a ball about their middle holds it.
        let [from, to] = self.from_scene.map(|p| p.point(centre));
        let (middle, half) = (from.midpoint(to), 0.5 * from.distance(to));
        link.may_be_within(middle, radius + half)
    }

    /// A tissue triangle in the link's frame.
    fn moving(&self, vertices: [u32; 3], now: [DVec3; 3]) -> MovingTriangle {
        let (start, end) = self.segment.times;
        let at = |k: usize, time: f64, from_scene: &Pose| {
            from_scene.point(self.motion.position(vertices[k], now[k], time))
        };
        MovingTriangle {
            t0: std::array::from_fn(|k| at(k, start, &self.from_scene[0])),
            t1: std::array::from_fn(|k| at(k, end, &self.from_scene[1])),
            owned: Owned::ALL,
        }
    }
}
