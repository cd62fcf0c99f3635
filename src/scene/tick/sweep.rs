//! What a link met on its way since the last tick: source 000 on the triangles that its way comes near.
//!
//! In the frame of the link its triangles stand still and those of the tissue move, by the link's way and by
//! the tissue's own motion between the two revisions. Vertices go along chords of their true ways; the
//! greatest error of a chord is added to the thickness, so it makes a contact early but never misses one.

use glam::DVec3;

use super::pose_path::{Step, Way, radius};
use crate::scene::{Contact, Link, Revision, SurfacePoint, TissueId, tissue::vertex_history::Past};
use crate::{
    ccd::{MovingTriangle, Owned, Shared, TriangleContact, triangle_pair},
    geometry::{Aabb, Pose, TriangleId, mesh::pseudonormal::unit_normal},
};

/// One link on its way and one tissue.
pub(in crate::scene) struct Sweep<'a> {
    pub(in crate::scene) tissue: TissueId,
    pub(in crate::scene) revision: &'a Revision,
    pub(in crate::scene) past: Past<'a>,
    pub(in crate::scene) link: &'a Link,
    pub(in crate::scene) way: &'a Way,
    /// No point of either went farther against the other, metres.
    pub(in crate::scene) gone_m: f64,
}

/// A chord may be off its arc by this share of the way, and toi by as much ...
const CHORD_ERROR: f64 = 2e-4;
/// ... unless a step would be split in more parts than this.
const PARTS_MAX: f64 = 32.0;
/// Triangle pairs of one link and tissue that are tested in a tick.
const PAIRS_MAX: usize = 20_000;
/// Covers the rounding of a length, relative.
const COVER: f64 = 1.0 + 1e-9;

/// A step in which all vertices go straight, in the link's frame.
struct Chord<'a> {
    step: Step,
    from_scene: [Pose; 2],
    /// The chord's error and what the way leaves out, metres.
    thickness: f64,
    past: Past<'a>,
}

impl Sweep<'_> {
    /// Adds the first contact of every tissue triangle that the link meets on its way, but those that
    /// `is_known` says it touched at its start. False when there was more to test than a tick may, or it became
    /// `late` before the end.
    ///
    /// `contacts` holds those at the way's end. When `all_near`, what is not among them was never nearer than
    /// the way is long, so that only they are tested.
    pub(in crate::scene) fn find(
        &self,
        is_known: &dyn Fn(TriangleId) -> bool,
        all_near: bool,
        contacts: &mut Vec<Contact>,
        late: &dyn Fn() -> bool,
    ) -> bool {
        let at_end = all_near.then_some(contacts.len());
        let mut room = PAIRS_MAX;
        // Between two revisions the tissue moves evenly.
        let stages = self.past.stages();
        for step in self.way.steps().flat_map(|step| step.cut(stages)) {
            let (n, error) = self.parts(&step);
            for step in step.split(n) {
                let from_scene = [step.from.inverse(), step.to.inverse()];
                let thickness = error + self.way.slack();
                let chord = Chord { step, from_scene, thickness, past: self.past };
                let tested = |t: TriangleId, contacts: &mut Vec<Contact>| {
                    if room > 0 && late() {
                        room = 0;
                    }
                    if room > 0 && !is_known(t) {
                        self.meet(&chord, t, contacts, &mut room);
                    }
                };
                match at_end {
                    Some(n) => self.each_of(n, contacts, tested),
                    None => self.each_on_way(&chord, contacts, tested),
                }
            }
        }
        room > 0
    }

    /// In how many parts a step is taken, and the error of a part's chords. With the angle a and the way v of
    /// a part, a vertex r from the link's origin turns with an acceleration of at most a^2 r + 2 a v; its
    /// chord is off by an eighth of that.
    fn parts(&self, step: &Step) -> (usize, f64) {
        let gone = step.from.translation.distance(step.to.translation) + self.past.farthest();
        let way = step.reach(self.link) + self.past.farthest();
        let radius = radius(self.link) + way;
        let angle = step.angle();
        let whole = (angle * angle * radius + 2.0 * angle * gone) / 8.0;
        if whole == 0.0 {
            return (1, 0.0);
        }
        let n = (whole / (CHORD_ERROR * way)).sqrt().ceil().clamp(1.0, PARTS_MAX);
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
        let reach = self.gone_m + self.link.field.tolerance();
        for i in 0..n {
            let Contact { tissue, signed_distance_m, on_tissue, .. } = contacts[i];
            if tissue == self.tissue && signed_distance_m <= reach {
                tested(on_tissue.triangle, contacts);
            }
        }
    }

    /// The tissue triangles that the link may meet.
    fn each_on_way(
        &self,
        chord: &Chord,
        contacts: &mut Vec<Contact>,
        mut tested: impl FnMut(TriangleId, &mut Vec<Contact>),
    ) {
        let link = self.link;
        let slack = chord.thickness + self.past.farthest();
        let bounds = link.surface.bounds();
        let swept = chord.step.from.aabb(bounds).union(&chord.step.to.aabb(bounds)).grown(slack);
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
        // No point of it is ever farther from where it ends than its corners began.
        let gone = |k: usize| moving.t0[k].distance_squared(moving.t1[k]);
        let reach = gone(0).max(gone(1)).max(gone(2)).sqrt() * COVER + chord.thickness;
        link.tree.each_within(&moving.t1, reach, |own| {
            if !link.surface.mesh().triangle_box(own).overlaps(&around) {
                return;
            }
            *room = room.saturating_sub(1);
            let corners = link.surface.mesh().triangle(own);
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
        let pose = chord.step.pose_at(found.toi);
        let (start, end) = chord.step.times;
        let link_mesh = self.link.surface.mesh();
        let on_link = weigh(link_mesh.triangle(own), found.second);
        // From the link to the tissue as they come together; the link's own normal where they tell none.
        let away =
            if found.normal == DVec3::ZERO { unit_normal(link_mesh, own) } else { found.normal };
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
            toi: Some(start + (end - start) * found.toi),
            passed: true,
            wholly_inside: false,
        }
    }
}

/// A triangle has one contact: the parts of a way come in order, so the first time of each decides.
fn keep_earliest(found: Contact, contacts: &mut Vec<Contact>) {
    let at = |c: &Contact| (c.tissue, c.on_tissue.triangle);
    match contacts.iter_mut().find(|c| at(c) == at(&found)) {
        Some(known) => known.toi = known.toi.or(found.toi),
        None => contacts.push(found),
    }
}

impl Chord<'_> {
    /// False only when nothing within `radius` of a scene point meets the link on the way.
    fn may_meet(&self, link: &Link, centre: DVec3, radius: f64) -> bool {
        let [from, to] = self.from_scene.map(|p| p.point(centre));
        let (middle, half) = (from.midpoint(to), 0.5 * from.distance(to));
        let to_box = link.surface.bounds().distance_squared(middle).sqrt();
        to_box <= radius + half && link.field.lower_bound(middle) <= radius + half
    }

    /// A tissue triangle in the link's frame.
    fn moving(&self, vertices: [u32; 3], now: [DVec3; 3]) -> MovingTriangle {
        let (start, end) = self.step.times;
        let at = |k: usize, time: f64, from_scene: &Pose| {
            from_scene.point(self.past.position(vertices[k], now[k], time))
        };
        MovingTriangle {
            t0: std::array::from_fn(|k| at(k, start, &self.from_scene[0])),
            t1: std::array::from_fn(|k| at(k, end, &self.from_scene[1])),
            owned: Owned::ALL,
        }
    }
}
