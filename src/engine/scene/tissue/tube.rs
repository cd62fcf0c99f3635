//! A tube about a line of points that carry it: a suture, a catheter, a rod of a solver.
//!
//! Each point has a frame, which carries the vertices of its ring. The z axis of a frame is the direction of the line,
//! and from each frame to the next the turn is the least that there is: the tube is not twisted along its line. The
//! ends are round.

use std::f64::consts::{FRAC_PI_2, TAU};

use glam::{DQuat, DVec3};

use super::{binding::ControlFrame, vertex_weights::VertexWeights};
use crate::geometry::MeshData;

/// Rings between an end of the line and its tip.
const CAP_RINGS: usize = 3;

/// A closed tube, to be uploaded with a binding to frames.
#[derive(Clone, Debug)]
pub struct Tube {
    /// Its surface, metres, scene frame.
    pub mesh: MeshData,
    /// The frames at rest, one for each point of the line.
    pub rest: Vec<ControlFrame>,
    /// Frame of each vertex, which carries it alone.
    pub frame_of: Vec<u32>,
}

/// Errors of a line that no tube is about.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum TubeError {
    /// Too few points.
    #[error("the line has {got} points, expected {expected}")]
    Points {
        /// Given points.
        got: usize,
        /// "at least 2", or the number at rest.
        expected: String,
    },
    /// A radius without a surface.
    #[error("the radius is {got} m, expected a finite one above 0")]
    Radius {
        /// Given radius, metres.
        got: f64,
    },
    /// Too few vertices in a ring.
    #[error("a ring has {got} sides, expected at least 3")]
    Sides {
        /// Given number.
        got: usize,
    },
    /// A point that is not finite, or where the point before it is.
    #[error("point {at} is where point {} is, or is not finite", at - 1)]
    NoDirection {
        /// The second of two points.
        at: usize,
    },
}

impl Tube {
    /// Makes a tube about a line at rest. `radius_m`: of the circle on which the vertices of a ring are; `sides`: their
    /// number.
    ///
    /// # Errors
    ///
    /// Returns an error for a line without directions, and for a radius or number out of range.
    pub fn new(line: &[DVec3], radius_m: f64, sides: usize) -> Result<Tube, TubeError> {
        let tangents = tangents(line)?;
        if !(radius_m > 0.0 && radius_m.is_finite()) {
            return Err(TubeError::Radius { got: radius_m });
        }
        if sides < 3 {
            return Err(TubeError::Sides { got: sides });
        }
        let turns = turns(DQuat::IDENTITY, DVec3::Z, &tangents);
        let last = line.len() - 1;
        // From tip to tip: the point of each ring, its radius and its place along the line, in radii.
        let cap = (1..=CAP_RINGS).map(|k| FRAC_PI_2 * k as f64 / (CAP_RINGS + 1) as f64);
        let start = cap.clone().rev().map(|a| (0, a.cos(), -a.sin()));
        let body = (0..=last).map(|at| (at, 1.0, 0.0));
        let rings = start.chain(body).chain(cap.map(|a| (last, a.cos(), a.sin())));
        let n_rings = line.len() + 2 * CAP_RINGS;
        let mut mesh = MeshData { positions: Vec::new(), triangles: swept(n_rings, sides) };
        let mut frame_of = Vec::new();
        let mut put = |at: usize, local: DVec3| {
            mesh.positions.push((line[at] + turns[at] * (local * radius_m)).as_vec3());
            frame_of.push(at as u32);
        };
        put(0, DVec3::NEG_Z);
        for (at, across, along) in rings {
            for side in 0..sides {
                let (sin, cos) = (TAU * side as f64 / sides as f64).sin_cos();
                put(at, DVec3::new(across * cos, across * sin, along));
            }
        }
        put(last, DVec3::Z);
        Ok(Tube { mesh, rest: frames(line, &turns), frame_of })
    }

    /// Returns the weights of its vertices, for a binding to [`Tube::rest`].
    pub fn weights(&self) -> VertexWeights {
        let mut weights = VertexWeights::default();
        self.frame_of.iter().for_each(|frame| weights.push([(*frame, 1.0)]));
        weights
    }

    /// Returns the frames when the points of the line are here.
    ///
    /// # Errors
    ///
    /// Returns an error for another number of points, or a line without directions.
    pub fn frames(&self, line: &[DVec3]) -> Result<Vec<ControlFrame>, TubeError> {
        if line.len() != self.rest.len() {
            let (got, expected) = (line.len(), self.rest.len().to_string());
            return Err(TubeError::Points { got, expected });
        }
        let first = self.rest[0].rotation.as_dquat().normalize();
        Ok(frames(line, &turns(first, first * DVec3::Z, &tangents(line)?)))
    }
}

/// Returns the direction of the line at each point: half way between those of its two sides.
fn tangents(line: &[DVec3]) -> Result<Vec<DVec3>, TubeError> {
    if line.len() < 2 {
        return Err(TubeError::Points { got: line.len(), expected: "at least 2".to_owned() });
    }
    let step = |(at, ends): (usize, &[DVec3])| {
        (ends[1] - ends[0]).try_normalize().ok_or(TubeError::NoDirection { at: at + 1 })
    };
    let steps = line.windows(2).enumerate().map(step).collect::<Result<Vec<_>, _>>()?;
    let side = |at: usize| steps[at.min(steps.len() - 1)];
    // No direction is between the two where the line turns back on itself.
    let between = |at: usize| match at.checked_sub(1) {
        Some(before) => (side(before) + side(at)).try_normalize().unwrap_or(side(at)),
        None => side(at),
    };
    Ok((0..line.len()).map(between).collect())
}

/// Turns a rotation whose z axis is `axis` along a line, always by the least angle.
fn turns(first: DQuat, axis: DVec3, tangents: &[DVec3]) -> Vec<DQuat> {
    let mut turn = (first, axis);
    let next = |to: &DVec3| {
        turn = ((DQuat::from_rotation_arc(turn.1, *to) * turn.0).normalize(), *to);
        turn.0
    };
    tangents.iter().map(next).collect()
}

fn frames(line: &[DVec3], turns: &[DQuat]) -> Vec<ControlFrame> {
    let frame = |(position, turn): (&DVec3, &DQuat)| ControlFrame {
        position: position.as_vec3(),
        rotation: turn.as_quat(),
    };
    line.iter().zip(turns).map(frame).collect()
}

/// Returns the triangles between a tip, rings and another tip, counter-clockwise from outside.
fn swept(n_rings: usize, sides: usize) -> Vec<[u32; 3]> {
    let vertex = |ring: usize, side: usize| (1 + ring * sides + side % sides) as u32;
    let end = vertex(n_rings, 0);
    let quads = (0..n_rings - 1).flat_map(|ring| (0..sides).map(move |side| (ring, side)));
    let between = quads.flat_map(|(ring, side)| {
        let [a, b] = [vertex(ring, side), vertex(ring, side + 1)];
        let [c, d] = [vertex(ring + 1, side + 1), vertex(ring + 1, side)];
        [[a, b, d], [b, c, d]]
    });
    let caps = (0..sides).flat_map(|side| {
        let ring = n_rings - 1;
        [
            [0, vertex(0, side + 1), vertex(0, side)],
            [end, vertex(ring, side), vertex(ring, side + 1)],
        ]
    });
    between.chain(caps).collect()
}

#[cfg(test)]
mod tests {
    use glam::Vec3;

    use super::*;
    use crate::{
        geometry::{LoadOptions, mesh::load::load},
        oracle::Random,
        scene::tissue::binding::{Binding, Controls},
    };

    const RADIUS_M: f64 = 0.002;

    fn straight() -> Vec<DVec3> {
        (0..41).map(|k| DVec3::X * (f64::from(k) * 0.0025 - 0.05)).collect()
    }

    /// Positions to which the frames of a line carry the vertices of a tube.
    fn carried(tube: &Tube, line: &[DVec3]) -> Vec<Vec3> {
        let rest = Controls::Frames(tube.rest.clone());
        let binding = Binding::new(rest, tube.weights(), &tube.mesh.positions).expect("it fits");
        binding.positions(&Controls::Frames(tube.frames(line).expect("a line")))
    }

    #[test]
    fn is_a_closed_surface_about_its_line_that_faces_outwards() {
        for sides in [3, 12, 31] {
            let tube = Tube::new(&straight(), RADIUS_M, sides).expect("a line");
            let loaded = load(tube.mesh.clone(), &LoadOptions::default()).expect("a mesh");
            let report = loaded.report;
            assert!(report.closed && report.bodies == 1, "{report:?}");
            assert_eq!((report.reversed_triangles, report.degenerate_triangles), (0, 0));
            // A prism of the polygon, and two caps that are smaller than half balls.
            let polygon = 0.5 * sides as f64 * RADIUS_M.powi(2) * (TAU / sides as f64).sin();
            let ball = 2.0 / 3.0 * TAU * RADIUS_M.powi(3);
            let caps = report.volume_m3 - polygon * 0.1;
            assert!((0.3 * ball..ball).contains(&caps), "{sides} sides: {caps} of {ball}");
        }
    }

    #[test]
    fn vertices_keep_their_distance_from_the_line_and_their_place_about_it() {
        let tube = Tube::new(&straight(), RADIUS_M, 12).expect("a line");
        // The same line carries the vertices where they are.
        let same = carried(&tube, &straight());
        let apart = same.iter().zip(&tube.mesh.positions).map(|(a, b)| a.distance(*b));
        assert!(apart.fold(0.0, f32::max) < 1e-8);
        // A quarter of a circle of the same length.
        let bent: Vec<DVec3> = (0..41)
            .map(|k| {
                let (sin, cos) = (FRAC_PI_2 * f64::from(k) / 40.0).sin_cos();
                DVec3::new(sin, 0.0, 1.0 - cos) * (0.1 / FRAC_PI_2)
            })
            .collect();
        let at = carried(&tube, &bent);
        for (vertex, frame) in at.iter().zip(&tube.frame_of) {
            let away = vertex.as_dvec3().distance(bent[*frame as usize]);
            assert!((away - RADIUS_M).abs() < 1e-8, "{away}");
        }
        // In a plane, what is farthest to its side stays so: nothing twists.
        let sides = |k: usize| at[1 + 12 * (CAP_RINGS + k)..][..12].iter().map(|p| p.y);
        for k in 0..41 {
            for (here, first) in sides(k).zip(sides(0)) {
                assert!((here - first).abs() < 1e-7, "ring {k}: {here} for {first}");
            }
        }
    }

    #[test]
    fn frames_are_rotations_along_the_line_however_it_turns() {
        let mut random = Random::new(9);
        let mut line = vec![DVec3::ZERO];
        (1..60).for_each(|k| line.push(line[k - 1] + random.unit_vector() * 0.01));
        let back = [DVec3::ZERO, DVec3::X, DVec3::ZERO, DVec3::Y, DVec3::new(0.0, 1.0, -1.0)];
        let ahead: Vec<DVec3> = back.iter().rev().copied().collect();
        for line in [&line[..], &back, &ahead] {
            let rest: Vec<DVec3> = (0..line.len()).map(|k| DVec3::Y * k as f64).collect();
            let tube = Tube::new(&rest, RADIUS_M, 5).expect("a line");
            let frames = tube.frames(line).expect("a line");
            for (k, frame) in frames.iter().enumerate() {
                let norm = frame.rotation.as_dquat().length();
                assert!((norm - 1.0).abs() < 1e-6, "{norm}");
                let z = frame.rotation.as_dquat() * DVec3::Z;
                let after = (k + 1).min(line.len() - 1);
                let next = line[after] - line[after - 1];
                // At most half a turn from the next side, as it is half way between two.
                assert!(z.dot(next.normalize()) > -1e-6, "point {k}: {z} beside {next}");
            }
        }
    }

    #[test]
    fn what_is_no_line_is_refused_with_its_point() {
        let made = |line: &[DVec3], radius: f64, sides: usize| {
            Tube::new(line, radius, sides).expect_err("refused").to_string()
        };
        let two = [DVec3::ZERO, DVec3::X];
        assert_eq!(made(&two[..1], 0.1, 8), "the line has 1 points, expected at least 2");
        assert_eq!(made(&two, 0.0, 8), "the radius is 0 m, expected a finite one above 0");
        assert_eq!(made(&two, f64::NAN, 8), "the radius is NaN m, expected a finite one above 0");
        assert_eq!(made(&two, 0.1, 2), "a ring has 2 sides, expected at least 3");
        let twice = [DVec3::ZERO, DVec3::X, DVec3::X];
        assert_eq!(made(&twice, 0.1, 8), "point 2 is where point 1 is, or is not finite");
        let far = [DVec3::ZERO, DVec3::splat(f64::NAN)];
        assert_eq!(made(&far, 0.1, 8), "point 1 is where point 0 is, or is not finite");
        let tube = Tube::new(&two, 0.1, 8).expect("a line");
        let other = tube.frames(&twice).expect_err("another number").to_string();
        assert_eq!(other, "the line has 3 points, expected 2");
    }
}
