//! Signed distances found during searches, and what they say of other points.

use std::cell::Cell;

use glam::DVec3;

use super::{Revision, TissueId, last_seen::LastSeen};

/// The last soundings of a tissue whose signed distance is 1-Lipschitz: a closed one. They outlive a search and a
/// deformation: no distance changes by more than the surface moved.
#[derive(Debug, Default)]
pub(super) struct Soundings {
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
}

/// Twice as many are searched for longer than they save.
const ROOM: usize = 32;

impl Soundings {
    /// None yet.
    pub(super) fn new() -> Soundings {
        Soundings { last: vec![Cell::default(); ROOM].into(), ..Soundings::default() }
    }

    /// Makes what is known true of a revision, or forgets it.
    pub(super) fn follow(&mut self, tissue: TissueId, revision: &Revision) {
        match self.seen.follow(tissue, revision) {
            Some(0.0) => {}
            Some(moved) => {
                for sounding in &self.last {
                    let Sounding { at, least, most } = sounding.get();
                    sounding.set(Sounding { at, least: least - moved, most: most + moved });
                }
            }
            None => self.taken.set(0),
        }
    }

    /// Notes a signed distance, metres.
    pub(super) fn note(&self, at: DVec3, signed_distance: f64) {
        let taken = self.taken.get();
        let (least, most) = (signed_distance, signed_distance);
        self.last[taken % ROOM].set(Sounding { at, least, most });
        self.taken.set(taken + 1);
    }

    /// Whether the signed distance at a point is at most `reach` metres, where that is known.
    pub(super) fn is_within(&self, p: DVec3, reach: f64) -> Option<bool> {
        let told = |i: usize| self.last[i].get().is_within(p, reach);
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
    fn is_within(&self, p: DVec3, reach: f64) -> Option<bool> {
        let gone_squared = p.distance_squared(self.at) * (1.0 + ROUNDING);
        let (above, below) = (self.least - reach, reach - self.most);
        if above > 0.0 && gone_squared < above * above {
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
        geometry::{LoadOptions, mesh_load::load},
        oracle::{Random, shapes},
        scene::{Limits, Scene, TissueOptions, deform::Deformation},
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
                let (p, reach) = (point(&mut random), random.range(-0.02, 0.02));
                asked += 1;
                if let Some(is_within) = soundings.is_within(p, reach) {
                    told += 1;
                    let truth = distance(p);
                    assert_eq!(is_within, truth <= reach, "round {round}: {truth}, {reach} at {p}");
                }
            }
            // Few, so that those of before are still there.
            for _ in 0..8 {
                let p = point(&mut random);
                soundings.note(p, distance(p));
            }
            let size = 1.0 + 0.04 * (0.9 * round as f32).sin();
            let moved = Deformation::Dense(rest.iter().map(|p| *p * size).collect());
            tissue.deform(moved, 0).expect("all are there");
        }
        assert!(told > asked / 10, "{told} of {asked} told");
    }
}
