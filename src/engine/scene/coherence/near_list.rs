//! The tissue triangles that a link can be nearest to while little moves: a Verlet list.
//!
//! A search for the closest pair searches a little farther than it must, by a skin, and lists the triangles that it
//! meets. Until link and tissue have together moved through the skin, the closest pair is among the listed triangles,
//! and no search is needed. Each listed triangle has bounds of its own: its distance when it was last measured, which
//! motion uses up, and a plane that had all of the link behind it, which holds as long as the triangle is before it.
//! While one of the two bounds is beyond the closest pair, the triangle is not measured again. Answers are equal to
//! those without a list, ties included.

use super::{last_seen::LastSeen, support_plane::SupportPlane};
use crate::geometry::{
    Pose, TriangleId,
    tolerance::{BOUND_COVER, NEAR_LIST_SKIN_M},
};
use crate::scene::{Link, Revision, TissueId};

/// The list of a link and a tissue.
#[derive(Debug)]
pub(in crate::scene) struct NearList {
    /// The last closest pair, of tissue and link.
    pub(in crate::scene) pair: Option<(TriangleId, TriangleId)>,
    /// Every triangle of the tissue that was within the list's radius, and some that were not.
    triangles: Vec<ListedTriangle>,
    /// Motion of link and tissue since the list was made, metres: the sum over all ticks, for the bounds of its
    /// triangles.
    travel: f64,
    last_scene_from_link: Pose,
    /// Bound, metres: all other triangles are farther from the link at the pose of the list; below 0 if there is no
    /// list.
    radius: f64,
    /// Pose of the link then, and the number of ticks since.
    scene_from_link: Pose,
    ticks: u32,
    /// Distance that the link has moved since, metres.
    displacement: f64,
    seen: LastSeen,
}

/// A triangle of the list.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::scene) struct ListedTriangle {
    triangle: TriangleId,
    /// Travel of the list at which the link may have reached the triangle, metres.
    may_touch_at: f64,
    plane: SupportPlane,
}

/// Bounds of the distance of a triangle from a link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::scene) struct TriangleBound {
    /// Lower bound of the present distance, metres.
    pub(in crate::scene) distance: f64,
    /// Plane before which the triangle is; if that is far, it will be farther still.
    pub(in crate::scene) plane: SupportPlane,
}

impl TriangleBound {
    /// No bound.
    pub(in crate::scene) const UNKNOWN: TriangleBound =
        TriangleBound { distance: 0.0, plane: SupportPlane::UNKNOWN };
}

/// Maximum triangles of a list. More than these cost as much as a search.
const TRIANGLES_MAX: usize = 512;
/// Thickness of the skin in ticks of motion ...
const SKIN_TICKS: f64 = 8.0;
/// ... but at most this many tolerances of the field, or [`NEAR_LIST_SKIN_M`] if that is more.
const SKIN_TOLERANCES_MAX: f64 = 8.0;
/// Number of skins by which a triangle is at most shown to be farther than the closest pair. With none a grasper's
/// closest pairs took 300 us a tick, and 200 with three quarters; ticks of one in tissue 84 us with three quarters, 70
/// with this.
const AHEAD: f64 = 4.0;
/// Radius of an empty list.
const NO_LIST: f64 = -1.0;

impl NearList {
    /// Creates an empty list.
    pub(in crate::scene) fn new() -> NearList {
        NearList {
            pair: None,
            triangles: Vec::with_capacity(TRIANGLES_MAX),
            travel: 0.0,
            last_scene_from_link: Pose::IDENTITY,
            radius: NO_LIST,
            scene_from_link: Pose::IDENTITY,
            ticks: 0,
            displacement: 0.0,
            seen: LastSeen::default(),
        }
    }

    /// Updates the list to a revision and a pose, or drops it. Returns a lower bound of the distance of all other
    /// triangles of the tissue from the link, metres.
    pub(in crate::scene) fn follow(
        &mut self,
        tissue: TissueId,
        revision: &Revision,
        link: &Link,
        scene_from_link: &Pose,
    ) -> f64 {
        match self.seen.follow(tissue, revision) {
            // The pair keeps the last tick's triangles: a good start even without a list.
            Some(moved) => {
                self.radius -= moved;
                self.travel += moved * BOUND_COVER;
            }
            None => {
                self.radius = NO_LIST;
                self.triangles.clear();
                self.pair = self.pair.filter(|(t, _)| revision.surface.mesh().get(*t).is_some());
            }
        }
        self.ticks += 1;
        self.travel += link.displacement(&self.last_scene_from_link, scene_from_link) * BOUND_COVER;
        self.last_scene_from_link = *scene_from_link;
        self.displacement = link.displacement(&self.scene_from_link, scene_from_link);
        self.radius - self.displacement * BOUND_COVER
    }

    /// Distance beyond the closest pair that the next search should cover, metres.
    pub(in crate::scene) fn skin(&self, link: &Link) -> f64 {
        debug_assert!(self.ticks > 0, "the list has not followed the link");
        // A leap says nothing about the next tick and must not make the search cover a whole organ, hence the cap. By
        // tolerances alone a small tool, whose field is fine, searched in every tick: a bead's tick took 36 to 39 us at
        // p50 instead of 21 to 24.
        let tolerance = link.field.tolerance();
        let thickest = (SKIN_TOLERANCES_MAX * tolerance).max(NEAR_LIST_SKIN_M);
        (SKIN_TICKS * self.displacement / f64::from(self.ticks)).clamp(tolerance, thickest)
    }

    /// Distance by which a triangle should be shown to be farther than the closest pair, metres.
    pub(in crate::scene) fn ahead(&self, link: &Link) -> f64 {
        AHEAD * self.skin(link)
    }

    /// Begins a search, and with it a new list.
    pub(in crate::scene) fn begin(&mut self, scene_from_link: &Pose) {
        self.triangles.clear();
        (self.scene_from_link, self.ticks, self.travel) = (*scene_from_link, 0, 0.0);
    }

    /// Notes a triangle that the search met.
    pub(in crate::scene) fn note(&mut self, triangle: TriangleId, bound: TriangleBound) {
        let TriangleBound { distance, plane } = bound;
        debug_assert!(distance >= 0.0, "{distance} m");
        if self.triangles.len() < TRIANGLES_MAX {
            let may_touch_at = self.travel + distance;
            self.triangles.push(ListedTriangle { triangle, may_touch_at, plane });
        }
    }

    /// Measures listed triangles that may be within `reach` metres. `measure` gets a plane that was between a triangle
    /// and the link, and returns the triangle's distance, until there is no more time.
    pub(in crate::scene) fn measure(
        &mut self,
        reach: impl Fn() -> f64,
        mut measure: impl FnMut(TriangleId, SupportPlane) -> Option<TriangleBound>,
    ) {
        for listed in &mut self.triangles {
            if listed.may_touch_at - self.travel > reach() {
                continue;
            }
            let Some(bound) = measure(listed.triangle, listed.plane) else { return };
            listed.may_touch_at = self.travel + bound.distance;
            listed.plane = bound.plane;
        }
    }

    /// Drops the list if the search was broken off: triangles that it did not meet may be anywhere.
    pub(in crate::scene) fn abandon(&mut self) {
        self.triangles.clear();
        self.radius = NO_LIST;
    }

    /// Ends the search. Triangles that it did not meet are beyond `radius`, and so are those that are not `near`.
    pub(in crate::scene) fn end(&mut self, radius: f64, near: impl Fn(TriangleId) -> bool) {
        debug_assert!(radius >= 0.0, "listed to {radius} m");
        // A full list may have lost some.
        if self.triangles.len() < TRIANGLES_MAX {
            self.triangles.retain(|listed| near(listed.triangle));
            self.radius = radius;
        } else {
            self.abandon();
        }
    }
}

#[cfg(test)]
mod tests {
    use glam::{DQuat, DVec3, Vec3};

    use super::*;
    use crate::{
        geometry::{LoadOptions, LoadedMesh, MeshData, mesh::load::load},
        oracle::{Random, brute_force, shapes},
        scene::{
            Limits, Scene, TissueOptions,
            tick::closest_pair::closest_pair,
            tissue::{deform::Deformation, edit::TopologyEdit},
            tool::field::field_of,
        },
        sdf::FieldOptions,
        surface::Surface,
        time_left::{STEPS, TimeLeft},
    };

    fn loaded(data: MeshData) -> LoadedMesh {
        load(data, &LoadOptions::default()).expect("a mesh")
    }

    /// A jaw wanders about a ball that is pulled at and cut: its closest pair is that of a search without memory, and
    /// few ticks search.
    #[test]
    fn what_was_near_is_found_without_a_search() {
        let seed = 21;
        println!("seed {seed}");
        let mut random = Random::new(seed);
        let options = FieldOptions { tolerance_m: Some(3e-4), ..FieldOptions::default() };
        let field = |surface: &Surface| field_of(surface, &options);
        let jaw = loaded(shapes::jaw(0.03, 4));
        let link = Link::new("jaw".to_owned(), jaw, Pose::IDENTITY, field);
        let scene = Scene::new("test".to_owned(), Limits::default());
        let ball = loaded(shapes::sphere(0.05, 12));
        let rest: Vec<Vec3> = ball.mesh.positions().to_vec();
        let tissue = scene.add_tissue("ball", ball, TissueOptions::default(), 0).expect("room");
        let (mut near, mut searches, time) = (NearList::new(), 0, TimeLeft::endless());
        const TICKS: usize = 2_000;
        for tick in 0..TICKS {
            let t = tick as f64;
            if tick % 400 == 399 {
                let held = tissue.current();
                let removed =
                    near.pair.map(|(t, _)| t).filter(|t| held.surface.mesh().get(*t).is_some());
                let edit = TopologyEdit {
                    removed: removed.into_iter().collect(),
                    ..TopologyEdit::default()
                };
                tissue.edit(edit, &Limits::default(), 0).expect("it is there");
            }
            // Slowly about the ball, in leaps now and then, and through its surface.
            let leap = if tick % 300 == 299 { random.range(0.0, 6.0) } else { 0.0 };
            let (round, tilt) = (2e-3 * t + leap, 0.3 * (1e-3 * t).sin());
            let rotation = DQuat::from_rotation_z(round) * DQuat::from_rotation_y(tilt);
            let away = 0.055 + 0.015 * (3e-3 * t).sin();
            let at = DQuat::from_rotation_z(round) * DVec3::X * away;
            let pose = Pose::new(rotation, at).expect("unit");
            if tick % 60 == 59 {
                // A vertex anywhere is pulled near.
                let pulled = random.below(rest.len());
                let mut positions = rest.clone();
                positions[pulled] = positions[pulled].lerp(at.as_vec3(), 0.9);
                tissue.deform(Deformation::Dense(positions), 0).expect("all are there");
            }
            let max_distance = if tick % 7 == 0 { 5e-3 } else { 0.05 };
            let held = tissue.current();
            let of = (tissue.id(), &**held);
            let found = closest_pair(of, &link, &pose, max_distance, &mut near, &time);
            let mut none = NearList::new();
            let truth = closest_pair(of, &link, &pose, max_distance, &mut none, &time);
            assert_eq!(found, truth, "tick {tick}");
            searches += usize::from(near.ticks == 0);
        }
        assert!(searches < TICKS / 4, "{searches} of {TICKS}");
    }

    /// Tissue in a hook of few large faces, from which no plane parts it: near tissue is listed and found in few steps.
    #[test]
    fn tissue_in_a_hook_is_found_in_few_steps() {
        let field = |surface: &Surface| field_of(surface, &FieldOptions::default());
        let hook = Link::new("hook".to_owned(), loaded(shapes::hook()), Pose::IDENTITY, field);
        let scene = Scene::new("test".to_owned(), Limits::default());
        let ball = loaded(shapes::sphere(0.003, 12));
        let tissue = scene.add_tissue("ball", ball, TissueOptions::default(), 0).expect("room");
        let (held, mut near, time) = (tissue.current(), NearList::new(), TimeLeft::endless());
        const TICKS: u64 = 100;
        let mut n_steps = 0;
        for tick in 0..TICKS {
            let at = DVec3::new(1e-4, 2e-4, -0.008 - 3e-5 * tick as f64);
            let pose = Pose::new(DQuat::IDENTITY, at).expect("unit");
            let before = STEPS.get();
            let of = (tissue.id(), &**held);
            let found = closest_pair(of, &hook, &pose, 0.05, &mut near, &time).expect("near");
            n_steps += STEPS.get() - before;
            if tick % 30 == 0 {
                let mesh = held.surface.mesh();
                let placed = [
                    brute_force::placed(mesh, &Pose::IDENTITY),
                    brute_force::placed(hook.surface.mesh(), &pose),
                ];
                let truth = brute_force::surface_distance(&placed[0], &placed[1]);
                let got = found.closest.distance_squared.sqrt();
                assert!((got - truth).abs() < 1e-12, "tick {tick}: {got} {truth}");
            }
        }
        assert!(n_steps < 3_000 * TICKS, "{} steps a tick", n_steps / TICKS);
    }
}
