//! Path of an instrument's tip over a surface: from station to station, in and out.
//!
//! The path uses only `+ - * /` and square roots, which IEEE 754 rounds equally on every machine.

use glam::{DQuat, DVec3};
use palpate::{
    oracle::Random,
    proto::{Pose, Quaternion, ToolPose, Vec3},
};

use super::{stage::Grip, surface::Surface};

/// Distance of two stations, in longest sides of the surface.
const STEP: f64 = 0.07;
/// Lean of an instrument from the surface's normal.
const LEAN: f64 = 0.25;

/// A path over vertices of a surface, each with its normal.
pub struct Path {
    stations: Vec<(DVec3, DVec3)>,
    lean: DVec3,
    length_m: f64,
}

/// Position and orientation of the tip.
#[derive(Clone, Copy)]
pub struct Site {
    pub surface: DVec3,
    /// Unit vector.
    pub outward: DVec3,
    /// Rotation of the tool about its own axis: the tangent of a quarter of the angle.
    pub roll: f64,
    /// Opening of each jaw: the tangent of a quarter of the angle.
    pub opening: f64,
    /// Height of the tip over the surface.
    pub height_m: f64,
    lean: DVec3,
}

impl Path {
    /// Creates a walk of `n` stations.
    pub fn over(surface: &Surface, seed: u64, n: usize) -> Path {
        let mut random = Random::new(seed);
        let mut any = || DVec3::new(random.f64(), random.f64(), random.f64()) - DVec3::splat(0.5);
        let (along, lean) = (any(), any());
        let (normals, length_m) = (surface.normals(), surface.length_m());
        let used: Vec<usize> = (0..normals.len()).filter(|v| normals[*v] != DVec3::ZERO).collect();
        let at = |v: usize| surface.positions[v];
        let first =
            used.iter().copied().max_by(|a, b| at(*a).dot(along).total_cmp(&at(*b).dot(along)));
        let mut walk = vec![first.expect("it has vertices")];
        while walk.len() < n {
            let last = walk[walk.len() - 1];
            let is_next = |v: &&usize| {
                let steps = at(**v).distance(at(last)) / (STEP * length_m);
                (0.7..1.3).contains(&steps) && normals[**v].dot(normals[last]) > 0.25
            };
            let next: Vec<usize> = used.iter().filter(is_next).copied().collect();
            walk.push(if next.is_empty() { last } else { next[random.below(next.len())] });
        }
        let stations = walk.into_iter().map(|v| (at(v), normals[v])).collect();
        Path { stations, lean, length_m }
    }

    /// Returns the site at `t` from 0 to 1 along the path. `height`: of the tip over the surface, in longest sides.
    pub fn site(&self, t: f64, height: f64) -> Site {
        let place = t.clamp(0.0, 1.0) * (self.stations.len() - 1) as f64;
        let i = (place as usize).min(self.stations.len() - 2);
        let u = place - i as f64;
        let u = u * u * (3.0 - 2.0 * u);
        let (a, b) = (self.stations[i], self.stations[i + 1]);
        let mix = |a: DVec3, b: DVec3| a * (1.0 - u) + b * u;
        Site {
            surface: mix(a.0, b.0),
            outward: mix(a.1, b.1).try_normalize().unwrap_or(a.1),
            roll: 0.4 * t * (1.0 - t),
            opening: 0.1 * wave(5.0 * t) - 0.01,
            height_m: height * self.length_m,
            lean: self.lean,
        }
    }

    /// Returns the site of a tip that goes in and out `n_presses` times over the whole path, as deep as `press` longest
    /// sides.
    pub fn pressed(&self, t: f64, n_presses: f64, press: f64) -> Site {
        const LIFT: f64 = 0.02;
        self.site(t, LIFT - (LIFT + press) * wave(n_presses * t))
    }
}

/// Rises smoothly from 0 to 1 and back, with period 1.
pub fn wave(t: f64) -> f64 {
    let u = t - t.floor();
    let hill = 4.0 * u * (1.0 - u);
    hill * hill
}

impl Site {
    pub fn tip(&self) -> DVec3 {
        self.surface + self.outward * self.height_m
    }

    /// Returns the pose of a tool that is held by its grip, with its tip here.
    pub fn pose(&self, tool_id: u32, grip: &Grip) -> ToolPose {
        let axis = (self.outward + LEAN * self.lean).try_normalize().unwrap_or(self.outward);
        let rotation = to_axis(grip.back, axis) * about(grip.back, self.roll);
        let rotation = rotation.normalize();
        let translation = self.tip() - rotation * grip.tip;
        let link_poses = grip.link_poses(self.opening);
        ToolPose { tool_id, pose: Some(pose(rotation, translation)), link_poses, teleport: false }
    }
}

pub fn vec3(v: DVec3) -> Vec3 {
    Vec3 { x: v.x, y: v.y, z: v.z }
}

pub fn pose(q: DQuat, translation: DVec3) -> Pose {
    let orientation = Some(Quaternion { x: q.x, y: q.y, z: q.z, w: q.w });
    Pose { position_m: Some(vec3(translation)), orientation }
}

/// Returns the rotation about a unit vector by the angle whose quarter has the tangent `r`.
pub fn about(axis: DVec3, r: f64) -> DQuat {
    let (sin, cos) = (2.0 * r / (1.0 + r * r), (1.0 - r * r) / (1.0 + r * r));
    DQuat::from_xyzw(axis.x * sin, axis.y * sin, axis.z * sin, cos)
}

/// Returns the shortest rotation of one unit vector to another.
fn to_axis(from: DVec3, to: DVec3) -> DQuat {
    let (cross, w) = (from.cross(to), 1.0 + from.dot(to));
    // Opposite vectors: any half turn.
    let any = DQuat::from_xyzw(from.y, from.z, from.x, 0.0);
    if w < 0.001 {
        any.normalize()
    } else {
        DQuat::from_xyzw(cross.x, cross.y, cross.z, w).normalize()
    }
}
