//! Signed distances found during searches, and what they say of other points.

use std::cell::Cell;

use glam::DVec3;

use super::last_seen::LastSeen;
use crate::scene::{Revision, TissueId};

/// The last soundings of a tissue. They outlive a search and a deformation: no distance changes by more than the surface
/// moved. Of a tissue with open ends they then only tell what is deep, for its side may change where they have gone.
#[derive(Debug, Default)]
pub(in crate::scene) struct Soundings {
    last: Box<[Cell<Sounding>]>,
    taken: Cell<usize>,
    /// What told last: a search goes from box to neighbouring box.
    lucky: Cell<usize>,
    seen: LastSeen,
}

/// Signed distance at a point, metres: between these.
#[derive(Clone, Copy, Debug, Default)]
struct Sounding {
    at: DVec3,
    least: f64,
    most: f64,
    /// So far away the side changes only at triangles, and the signed distance is 1-Lipschitz; no end to it where a
    /// tissue has no rim.
    holds: f64,
}

/// Twice as many are searched for longer than they save.
const ROOM: usize = 32;

impl Soundings {
    /// None yet.
    pub(in crate::scene) fn new() -> Soundings {
        Soundings { last: vec![Cell::default(); ROOM].into(), ..Soundings::default() }
    }

    /// Makes what is known true of a revision, or forgets it.
    pub(in crate::scene) fn follow(&mut self, tissue: TissueId, revision: &Revision) {
        match self.seen.follow(tissue, revision) {
            Some(0.0) => {}
            Some(moved) => {
                for sounding in &self.last {
                    let Sounding { at, least, most, holds } = sounding.get();
                    // An open end may have moved too.
                    let holds = if holds < f64::INFINITY { f64::NEG_INFINITY } else { holds };
                    let (least, most) = (least - moved, most + moved);
                    sounding.set(Sounding { at, least, most, holds });
                }
            }
            None => self.forget(),
        }
    }

    fn forget(&self) {
        self.taken.set(0);
    }

    /// Notes a signed distance, metres, and how far about the point the side changes only at triangles.
    pub(in crate::scene) fn note(&self, at: DVec3, signed_distance: f64, holds: f64) {
        let taken = self.taken.get();
        let (least, most) = (signed_distance, signed_distance);
        self.last[taken % ROOM].set(Sounding { at, least, most, holds });
        self.taken.set(taken + 1);
    }

    /// Whether something within `radius` metres of a point may be deeper than `depth` metres, where that is known.
    pub(in crate::scene) fn may_be_deeper(
        &self,
        p: DVec3,
        radius: f64,
        depth: f64,
    ) -> Option<bool> {
        let told = |i: usize| self.last[i].get().may_be_deeper(p, radius, depth);
        let known = self.taken.get().min(ROOM);
        let lucky = self.lucky.get();
        if lucky < known
            && let Some(told) = told(lucky)
        {
            return Some(told);
        }
        (0..known).find_map(|i| {
            let told = told(i)?;
            self.lucky.set(i);
            Some(told)
        })
    }
}

impl Sounding {
    fn may_be_deeper(&self, p: DVec3, radius: f64, depth: f64) -> Option<bool> {
        let (gone_squared, reach) =
            (p.distance_squared(self.at) * (1.0 + ROUNDING), radius - depth);
        let (above, below) = (self.least - reach, reach - self.most);
        let told = above.min(self.holds - radius);
        if told > 0.0 && gone_squared < told * told {
            Some(false)
        } else {
            (below >= 0.0 && gone_squared <= below * below).then_some(true)
        }
    }
}

/// Covers the rounding of a distance and a sum, relative.
const ROUNDING: f64 = 1e-11;

#[cfg(test)]
mod tests {
    use glam::Vec3;

    use super::*;
    use crate::{
        geometry::{LoadOptions, mesh::load::load},
        oracle::{Random, shapes},
        scene::{Limits, Scene, TissueOptions, tissue::deform::Deformation},
    };

    /// While the tissue swells and shrinks, what soundings of before say is so, and they say something.
    #[test]
    fn soundings_outlive_a_deformation() {
        let seed = 8;
        println!("seed {seed}");
        let mut random = Random::new(seed);
        let mesh = load(shapes::sphere(0.05, 8), &LoadOptions::default()).expect("a mesh");
        let rest: Vec<Vec3> = mesh.mesh.positions().to_vec();
        let scene = Scene::new("test".to_owned(), Limits::default());
        let tissue = scene.add_tissue("tissue", mesh, TissueOptions::default(), 0).expect("room");
        let mut soundings = Soundings::new();
        let (mut told, mut asked) = (0, 0);
        for round in 0..40 {
            let held = tissue.current();
            soundings.follow(tissue.id(), &held);
            let distance = |p: DVec3| {
                let found = held.surface.signed_distance(p, f64::INFINITY, None);
                found.expect("a surface").signed_distance
            };
            let point = |random: &mut Random| random.point(DVec3::splat(-0.07), DVec3::splat(0.07));
            for _ in 0..200 {
                let (p, radius) = (point(&mut random), random.range(0.0, 0.01));
                let depth = random.range(-0.01, 0.02);
                asked += 1;
                if let Some(may_be) = soundings.may_be_deeper(p, radius, depth) {
                    told += 1;
                    let truth = distance(p);
                    let expected = truth <= radius - depth;
                    assert_eq!(
                        may_be, expected,
                        "round {round}: {truth}, {radius}, {depth} at {p}"
                    );
                }
            }
            // Few, so that those of before are still there.
            for _ in 0..8 {
                let p = point(&mut random);
                soundings.note(p, distance(p), f64::INFINITY);
            }
            let size = 1.0 + 0.04 * (0.9 * round as f32).sin();
            let moved = Deformation::Dense(rest.iter().map(|p| *p * size).collect());
            tissue.deform(moved, 0).expect("all are there");
        }
        assert!(told > asked / 10, "{told} of {asked} told");
    }
}
