//! The tissue triangles that a link can be nearest to as long as little moves.

use super::last_seen::LastSeen;
use crate::geometry::{Pose, TriangleId};
use crate::scene::{Link, Revision, TissueId, tick::pose_path::farthest_gone};

/// What a search for the closest pair of a link and a tissue left for the next ticks: while both have moved less
/// than what was left between the pair and the horizon, the closest triangle is one of these.
#[derive(Debug)]
pub(in crate::scene) struct Neighbourhood {
    /// The last closest pair, of tissue and link.
    pub(in crate::scene) pair: Option<(TriangleId, TriangleId)>,
    /// Every triangle of the tissue that was nearer than the horizon, and some that were not.
    pub(in crate::scene) triangles: Vec<TriangleId>,
    /// How far all others are from the link where it was searched for, metres; below 0 when they are not known.
    horizon: f64,
    /// Where the link was then, and how many ticks ago.
    scene_from_link: Pose,
    ticks: u32,
    /// How far it has gone since, metres.
    gone: f64,
    seen: LastSeen,
}

/// Triangles that are kept. More than these cost as much as a search.
const TRIANGLES_MAX: usize = 512;
/// The horizon is farther than the pair by the way of so many ticks, but no farther than so many tolerances of the
/// field, or metres where that is more: a leap tells nothing of the next tick.
const TICKS_AHEAD: f64 = 8.0;
const AHEAD_MAX: f64 = 8.0;
const AHEAD_MAX_M: f64 = 1e-3;
/// Its triangles are not known.
const NOWHERE: f64 = -1.0;

impl Neighbourhood {
    /// Nothing is known.
    pub(in crate::scene) fn new() -> Neighbourhood {
        Neighbourhood {
            pair: None,
            triangles: Vec::with_capacity(TRIANGLES_MAX),
            horizon: NOWHERE,
            scene_from_link: Pose::IDENTITY,
            ticks: 0,
            gone: 0.0,
            seen: LastSeen::default(),
        }
    }

    /// Makes what is known true of a revision and a pose, or forgets it. Returns how far all other triangles of the
    /// tissue are from the link at least, metres.
    pub(in crate::scene) fn follow(
        &mut self,
        tissue: TissueId,
        revision: &Revision,
        link: &Link,
        scene_from_link: &Pose,
    ) -> f64 {
        match self.seen.follow(tissue, revision) {
            Some(moved) => self.horizon -= moved,
            None => {
                self.horizon = NOWHERE;
                self.triangles.clear();
                self.pair = self.pair.filter(|(t, _)| revision.surface.mesh().get(*t).is_some());
            }
        }
        self.ticks += 1;
        self.gone = farthest_gone(link, &self.scene_from_link, scene_from_link);
        self.horizon - self.gone * COVER
    }

    /// How much farther than the closest pair the next horizon should be, metres.
    pub(in crate::scene) fn ahead(&self, link: &Link) -> f64 {
        let tolerance = link.field.tolerance();
        let most = (AHEAD_MAX * tolerance).max(AHEAD_MAX_M);
        (TICKS_AHEAD * self.gone / f64::from(self.ticks)).clamp(tolerance, most)
    }

    /// A search begins.
    pub(in crate::scene) fn begin(&mut self, scene_from_link: &Pose) {
        self.triangles.clear();
        (self.scene_from_link, self.ticks) = (*scene_from_link, 0);
    }

    /// It came by a triangle.
    pub(in crate::scene) fn note(&mut self, t: TriangleId) {
        if self.triangles.len() < TRIANGLES_MAX {
            self.triangles.push(t);
        }
    }

    /// It is over: triangles that it did not come by are beyond the horizon, and so are those that are not `near`.
    pub(in crate::scene) fn end(&mut self, horizon: f64, near: impl Fn(TriangleId) -> bool) {
        if self.triangles.len() < TRIANGLES_MAX {
            self.triangles.retain(|t| near(*t));
            self.horizon = horizon;
        } else {
            self.triangles.clear();
            self.horizon = NOWHERE;
        }
    }
}

/// Covers the rounding of a distance, relative.
const COVER: f64 = 1.0 + 1e-9;

#[cfg(test)]
mod tests {
    use glam::{DQuat, DVec3, Vec3};

    use super::*;
    use crate::{
        geometry::{LoadOptions, LoadedMesh, MeshData, mesh::load::load},
        oracle::{Random, shapes},
        scene::{
            Limits, Scene, TissueOptions,
            tick::closest_pair::closest_pair,
            tissue::{deform::Deformation, edit::TopologyEdit},
            tool::field::field_of,
        },
        sdf::FieldOptions,
        surface::Surface,
    };

    fn loaded(data: MeshData) -> LoadedMesh {
        load(data, &LoadOptions::default()).expect("a mesh")
    }

    /// A jaw wanders about a ball that is drawn at and cut: its closest pair is that of a search without
    /// memory, and few ticks search.
    #[test]
    fn what_was_near_is_found_without_a_search() {
        let seed = 21;
        println!("seed {seed}");
        let mut random = Random::new(seed);
        let options = FieldOptions { tolerance_m: Some(3e-4), ..FieldOptions::default() };
        let field = |surface: &Surface| field_of(surface, &options, &|_, _| ());
        let jaw = loaded(shapes::jaw(0.03, 4));
        let link = Link::new("jaw".to_owned(), jaw, Pose::IDENTITY, field);
        let scene = Scene::new("test".to_owned(), Limits::default());
        let ball = loaded(shapes::sphere(0.05, 12));
        let rest: Vec<Vec3> = ball.mesh.positions().to_vec();
        let tissue = scene.add_tissue("ball", ball, TissueOptions::default(), 0).expect("room");
        let (mut near, mut searches) = (Neighbourhood::new(), 0);
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
                // A vertex anywhere is drawn near.
                let drawn = random.below(rest.len());
                let mut positions = rest.clone();
                positions[drawn] = positions[drawn].lerp(at.as_vec3(), 0.9);
                tissue.deform(Deformation::Dense(positions), 0).expect("all are there");
            }
            let max_distance = if tick % 7 == 0 { 5e-3 } else { 0.05 };
            let held = tissue.current();
            let of = (tissue.id(), &**held);
            let found = closest_pair(of, &link, &pose, max_distance, &mut near);
            let truth = closest_pair(of, &link, &pose, max_distance, &mut Neighbourhood::new());
            assert_eq!(found, truth, "tick {tick}");
            searches += usize::from(near.ticks == 0);
        }
        assert!(searches < TICKS / 4, "{searches} of {TICKS}");
    }
}
