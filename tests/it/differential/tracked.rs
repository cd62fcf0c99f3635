//! A point that is queried again and again is answered as a point without a past, to the bit, while it creeps, leaps
//! and stands still, and while its surface is deformed, cut and rebuilt.

use glam::{DVec3, Vec3};
use palpate::{
    geometry::{MeshData, TriangleId},
    oracle::{Random, shapes},
    surface::{Surface, TrackedPoint},
    time_left::TimeLeft,
};

use super::{
    check::random_point,
    inputs::{self, Input},
};
use crate::seed::{Seed, scaled};

/// Queries for each input.
const QUESTIONS: usize = 4_000;
/// Maximum number of queries during one kind of motion.
const STRETCH: usize = 60;

#[test]
fn a_tracked_point_is_answered_as_one_without_a_past() {
    let seed = Seed::or(17);
    // These inputs are so fine that not all near triangles fit.
    let fine = [shapes::organ(12_000, 2), shapes::sphere(0.05, 40), shapes::sheet(90, 90, 1e-3)];
    let fine = fine.into_iter().map(|data: MeshData| Input::new("fine", data));
    let inputs = inputs::shapes().into_iter().chain(inputs::improper()).chain(fine);
    for (i, input) in inputs.enumerate() {
        let mut random = seed.random(i as u64);
        let mut surface = input.surface();
        let (mut point, mut walk) = (TrackedPoint::NEW, Walk::of(&surface, &mut random));
        for question in 0..scaled(QUESTIONS) {
            let p = walk.next(&surface, &mut random);
            if random.below(30) == 0 {
                change(&mut surface, &mut point, p, &mut random);
            }
            let reach = match random.below(5) {
                0 => walk.diagonal * 10f64.powf(random.range(-6.0, 0.0)),
                _ => f64::INFINITY,
            };
            let found = surface.signed_distance_tracked(p, reach, &mut point, &TimeLeft::endless());
            let anew = surface.signed_distance(p, reach, None);
            assert_eq!(found, anew, "{}, question {question}: {p} within {reach}", input.name);
        }
        surface.assert_well_formed();
    }
}

/// Motion of a point.
enum Going {
    Creeps(DVec3),
    Leaps,
    Stands,
    /// Along the edges of a triangle, from vertex to vertex.
    AlongEdges(TriangleId),
}

/// A point in motion.
struct Walk {
    /// Diagonal of the initial surface, metres.
    diagonal: f64,
    at: DVec3,
    going: Going,
    /// Steps of this motion, and the number of steps left.
    length: usize,
    left: usize,
}

impl Walk {
    fn of(surface: &Surface, random: &mut Random) -> Walk {
        let diagonal = surface.bounds().diagonal().max(0.01);
        let at = random_point(surface.mesh(), random);
        Walk { diagonal, at, going: Going::Stands, length: 1, left: 1 }
    }

    fn next(&mut self, surface: &Surface, random: &mut Random) -> DVec3 {
        if self.left == 0 {
            self.turn(surface, random);
        }
        self.left -= 1;
        match self.going {
            Going::Creeps(step) => self.at += step + 0.2 * step.length() * random.unit_vector(),
            Going::Leaps => self.at = random_point(surface.mesh(), random),
            Going::Stands => {}
            Going::AlongEdges(t) => {
                // The point is at a vertex at both ends and in between, if the triangle still exists.
                if let Some(vertices) = surface.mesh().get(t) {
                    let [a, b, c] = vertices.map(|v| surface.mesh().position(v));
                    let half = 0.5 * self.length as f64;
                    let along = self.left as f64 / half;
                    self.at = if along < 1.0 { a.lerp(b, along) } else { b.lerp(c, along - 1.0) };
                }
            }
        }
        self.at
    }

    fn turn(&mut self, surface: &Surface, random: &mut Random) {
        self.length = 2 * (1 + random.below(STRETCH / 2));
        self.left = self.length;
        let step = self.diagonal * 10f64.powf(random.range(-6.0, -2.0));
        self.going = match random.below(8) {
            0 => Going::Leaps,
            1 => Going::Stands,
            2 => Going::AlongEdges(any_triangle(surface, random)),
            _ => Going::Creeps(random.unit_vector() * step),
        };
        // Mostly near the surface, where something is decided.
        if random.below(3) == 0 {
            let near = surface.nearest(random_point(surface.mesh(), random), f64::INFINITY, None);
            let off = self.diagonal * 10f64.powf(random.range(-5.0, -1.5));
            self.at = near.expect("a surface").closest.point + random.unit_vector() * off;
        }
    }
}

fn any_triangle(surface: &Surface, random: &mut Random) -> TriangleId {
    let there: Vec<TriangleId> = surface.mesh().triangle_ids().collect();
    there[random.below(there.len())]
}

/// Changes the surface while a point is at `p`, and notifies the tracked point as a caller has to.
fn change(surface: &mut Surface, point: &mut TrackedPoint, p: DVec3, random: &mut Random) {
    match random.below(8) {
        0 => surface.rebuild(),
        1 => {
            // A triangle is removed and put back, with another id.
            let t = surface.nearest(p, f64::INFINITY, None).expect("a surface").triangle;
            let vertices = surface.mesh().vertices(t);
            surface.edit(&[t], &[], &[vertices]);
            point.forget();
        }
        2 => {
            // Vertices move by a distance that the tracked point does not know.
            move_some(surface, p, 1.0, random);
            point.forget();
        }
        // Several changes come between two queries, as in bursts of deformations.
        kind => (2..kind).for_each(|_| {
            let share = 10f64.powf(random.range(-6.0, 0.0));
            point.loosen(move_some(surface, p, share, random));
        }),
    }
}

/// Moves vertices towards `p`: some near ones and one anywhere. Returns the farthest displacement, metres.
fn move_some(surface: &mut Surface, p: DVec3, share: f64, random: &mut Random) -> f64 {
    let mesh = surface.mesh();
    let near = surface.nearest(p, f64::INFINITY, None).expect("a surface").triangle;
    let [a, b, _] = mesh.vertices(near);
    let [far, _, _] = mesh.vertices(any_triangle(surface, random));
    let mut vertices = vec![a, b, far];
    vertices.sort_unstable();
    vertices.dedup();
    let to = p + random.unit_vector() * 1e-4;
    let moved = |v: &u32| mesh.position(*v).lerp(to, share).as_vec3();
    let positions: Vec<Vec3> = vertices.iter().map(moved).collect();
    let displacement = |(v, to): (&u32, &Vec3)| mesh.position(*v).distance(to.as_dvec3());
    let farthest = vertices.iter().zip(&positions).map(displacement).fold(0.0, f64::max);
    surface.move_vertices(&vertices, &positions);
    farthest
}
