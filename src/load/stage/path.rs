//! The path of an instrument's tip over an organ: along the surface and back, pressing in and letting go.
//!
//! An arc of points above the organ is dropped on its surface, smoothed, and put back on the surface along the smoothed
//! normals by asking the server for signed distances. Between stations the path is a Catmull-Rom curve; all motion
//! along it is a cosine of time, so poses and velocities are continuous.

use std::f64::consts::{FRAC_PI_3, TAU};

use glam::DVec3;

use crate::client::{Client, ClientError};
use crate::{
    geometry::Aabb,
    proto::{QueryDistancesRequest, QueryDistancesResponse, query_distances_request::Target},
};

const N_STATIONS: usize = 128;
/// Passes of [1 2 1] / 4 over the stations: a standard deviation of 5 % of the path.
const SMOOTHING_PASSES: usize = 80;
/// Passes after seating, against the remaining corners of the surface.
const FINAL_PASSES: usize = 4;
/// Rounds of moving stations by their signed distance; each leaves a small part of it.
const SEATING_ROUNDS: usize = 4;

/// Period of the sweep there and back.
// Sweep, press and pulse realign after 40 s, so a run of the default 10 s does not repeat itself.
const SWEEP_PERIOD_S: f64 = 8.0;
/// Period of a press down and up. At the start the tip is up.
pub const PRESS_PERIOD_S: f64 = 1.25;
const PULSE_PERIOD_S: f64 = 0.8;
/// Height to which the tip rises, and depth of the tissue's own pulse, in longest sides of the organ.
const LIFT: f64 = 0.03;
const PULSE: f64 = 0.0025;

/// Depth of a hand's press.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Press {
    /// Depth of the tip below the surface at rest, in longest sides of the organ.
    depth: f64,
    /// Part of that depth by which the tissue gives way; less than 1, or the dent would free the tip.
    give: f64,
}

impl Press {
    /// Press of a tool that penetrates: at full depth 0.4 of 3 % is left, of which the pulse takes 0.25 %.
    pub const PENETRATING: Press = Press { depth: 0.03, give: 0.6 };
    /// Press of a rendered tool, which stays outside however far the hand goes: 19 mm below an organ of 0.2 m that
    /// gives way by 6. Jaws on either side of a fold meet the organ some millimetres below its crest.
    pub const RENDERED: Press = Press { depth: 0.125, give: 0.25 };
}

/// Path of the tip.
#[derive(Clone, Debug)]
pub struct Path {
    stations: Vec<Station>,
    /// Unit vector across the path.
    pub side: DVec3,
    length_m: f64,
    press: Press,
}

#[derive(Clone, Copy, Debug)]
struct Station {
    surface: DVec3,
    outward: DVec3,
}

/// Position of the tip at one time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Site {
    /// Point on the surface at rest, metres, scene frame.
    pub surface: DVec3,
    /// Unit outward normal.
    pub outward: DVec3,
    /// Height of the tip over that point, metres; negative when pressed in.
    pub height_m: f64,
    /// Depth of the tissue's dent there, metres.
    pub dent_m: f64,
}

impl Site {
    /// Returns the position of the tip, scene frame, metres.
    pub fn tip(&self) -> DVec3 {
        self.surface + self.outward * self.height_m
    }
}

impl Path {
    /// Lays a path over a tissue that was just added, from the server's answers about its surface.
    ///
    /// # Errors
    /// Returns an error if the server refuses or is gone.
    pub async fn survey(
        client: &mut Client,
        scene_id: &str,
        tissue_id: u32,
        (bounds, press): (&Aabb, Press),
    ) -> Result<Path, ClientError> {
        let mut path = Path::above(bounds, press);
        path.drop_on(&client.query_distances(path.question(scene_id, tissue_id)).await?);
        for _ in 0..SEATING_ROUNDS {
            let distances = client.query_distances(path.question(scene_id, tissue_id)).await?;
            path.seat(&distances.signed_distance_m);
        }
        // Smoothing comes last, though it takes stations a little off the surface: a kink in the path jolts the tool, a
        // small height does not.
        path.smooth(FINAL_PASSES);
        Ok(path)
    }

    /// Time at which the tip is deepest for the first time, seconds since the start.
    pub const DEEPEST_S: f64 = 0.5 * PRESS_PERIOD_S;

    /// Returns the site of the tip at a time since the start, seconds.
    pub fn site(&self, seconds: f64) -> Site {
        let wave = |period_s: f64| 0.5 - 0.5 * (TAU * seconds / period_s).cos();
        let Station { surface, outward } = self.at(wave(SWEEP_PERIOD_S));
        let height_m = self.length_m * (LIFT - (LIFT + self.press.depth) * wave(PRESS_PERIOD_S));
        let pulse_m = self.length_m * PULSE * wave(PULSE_PERIOD_S);
        Site {
            surface,
            outward,
            height_m,
            dent_m: pulse_m + self.press.give * (-height_m).max(0.0),
        }
    }

    /// Returns the middle of the path on the surface at rest, scene frame, metres.
    pub fn middle(&self) -> DVec3 {
        self.at(0.5).surface
    }

    /// Returns an arc over the longest and the shortest side of the box, not yet on the surface.
    fn above(bounds: &Aabb, press: Press) -> Path {
        let (centre, half) = (bounds.centre(), 0.5 * bounds.size());
        let mut axes = [(half.x, DVec3::X), (half.y, DVec3::Y), (half.z, DVec3::Z)];
        axes.sort_by(|a, b| b.0.total_cmp(&a.0));
        let [(long, along), (_, side), (short, up)] = axes;
        // A flat organ would otherwise give an arc that lies on it.
        let rise = short.max(0.2 * long);
        let stations = (0..N_STATIONS)
            .map(|i| {
                // 60 degrees to either side: at the ends of the organ the normals turn fastest, and the tool with them.
                let angle = FRAC_PI_3 * (2.0 * i as f64 / (N_STATIONS - 1) as f64 - 1.0);
                let (sin, cos) = angle.sin_cos();
                // Normal of the ellipse: its gradient at that angle.
                let outward = (along * sin / long + up * cos / rise).normalize();
                // A fifth outside the ellipse of the box, so that the closest point of a lumpy organ is on its upper
                // side.
                Station { surface: centre + 1.2 * (along * sin * long + up * cos * rise), outward }
            })
            .collect();
        Path { stations, side, length_m: 2.0 * long, press }
    }

    fn question(&self, scene_id: &str, tissue_id: u32) -> QueryDistancesRequest {
        QueryDistancesRequest {
            scene_id: scene_id.to_owned(),
            points_xyz_m: self.stations.iter().flat_map(|s| s.surface.to_array()).collect(),
            max_distance_m: 0.0,
            target: Some(Target::TissueId(tissue_id)),
        }
    }

    /// Moves each station to its closest point. Normals are blended with those of the arc, which keeps them away from
    /// `side`.
    fn drop_on(&mut self, answer: &QueryDistancesResponse) {
        let points = answer.closest_xyz_m.chunks_exact(3).map(triple);
        let normals = answer.normal_xyz.chunks_exact(3).map(triple);
        for ((station, point), normal) in self.stations.iter_mut().zip(points).zip(normals) {
            let outward = (station.outward + normal).try_normalize().unwrap_or(station.outward);
            *station = Station { surface: point, outward };
        }
        self.smooth(SMOOTHING_PASSES);
    }

    /// Moves each station along its normal by its distance, limited so that a wrong sign does no harm.
    fn seat(&mut self, signed_distance_m: &[f64]) {
        let step_max = 0.05 * self.length_m;
        for (station, distance_m) in self.stations.iter_mut().zip(signed_distance_m) {
            station.surface -= station.outward * distance_m.clamp(-step_max, step_max);
        }
    }

    /// Smooths the stations; the ends do not move.
    fn smooth(&mut self, passes: usize) {
        for _ in 0..passes {
            let before = self.stations.clone();
            for (i, w) in before.windows(3).enumerate() {
                let mean = |a: DVec3, b: DVec3, c: DVec3| 0.25 * (a + 2.0 * b + c);
                let outward = mean(w[0].outward, w[1].outward, w[2].outward);
                self.stations[i + 1] = Station {
                    surface: mean(w[0].surface, w[1].surface, w[2].surface),
                    outward: outward.try_normalize().unwrap_or(w[1].outward),
                };
            }
        }
    }

    /// Returns the interpolated station at `t` in [0, 1] from one end to the other.
    fn at(&self, t: f64) -> Station {
        let last = self.stations.len() - 1;
        let place = t.clamp(0.0, 1.0) * last as f64;
        // At t = 1 the last segment ends; there is none behind it.
        let i = (place as usize).min(last - 1);
        let u = place - i as f64;
        // The first and the last station count twice: a curve needs a neighbour on either side.
        let near = [i.saturating_sub(1), i, i + 1, (i + 2).min(last)].map(|i| self.stations[i]);
        let surface = catmull_rom(near.map(|s| s.surface), u);
        let outward = catmull_rom(near.map(|s| s.outward), u);
        Station { surface, outward: outward.try_normalize().unwrap_or(near[1].outward) }
    }
}

/// Catmull and Rom 1974, uniform: from `p[1]` at 0 to `p[2]` at 1.
fn catmull_rom(p: [DVec3; 4], u: f64) -> DVec3 {
    let (m1, m2) = (0.5 * (p[2] - p[0]), 0.5 * (p[3] - p[1]));
    let (u2, u3) = (u * u, u * u * u);
    p[1] * (2.0 * u3 - 3.0 * u2 + 1.0)
        + m1 * (u3 - 2.0 * u2 + u)
        + p[2] * (3.0 * u2 - 2.0 * u3)
        + m2 * (u3 - u2)
}

fn triple(xyz: &[f32]) -> DVec3 {
    DVec3::new(xyz[0].into(), xyz[1].into(), xyz[2].into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::stage::phantom::Instrument;

    const RADIUS_M: f64 = 0.1;

    /// Returns a path over a sphere about the origin, whose distances need no server.
    fn over_a_sphere() -> Path {
        let mut path = Path::above(
            &Aabb { min: DVec3::splat(-RADIUS_M).as_vec3(), max: DVec3::splat(RADIUS_M).as_vec3() },
            Press::PENETRATING,
        );
        let normals = path.stations.iter().map(|s| s.surface.normalize());
        let normal_xyz: Vec<f32> = normals.flat_map(|n| n.as_vec3().to_array()).collect();
        path.drop_on(&QueryDistancesResponse {
            closest_xyz_m: normal_xyz.iter().map(|x| x * RADIUS_M as f32).collect(),
            normal_xyz,
            ..QueryDistancesResponse::default()
        });
        for _ in 0..SEATING_ROUNDS {
            let distances: Vec<f64> =
                path.stations.iter().map(|s| s.surface.length() - RADIUS_M).collect();
            path.seat(&distances);
        }
        path.smooth(FINAL_PASSES);
        path
    }

    #[test]
    fn the_path_lies_on_the_surface_and_the_tip_presses_in() {
        let path = over_a_sphere();
        let (mut deepest, mut highest) = (f64::INFINITY, f64::NEG_INFINITY);
        for i in 0..8000 {
            let site = path.site(f64::from(i) * 1e-3);
            assert!((site.surface.length() - RADIUS_M).abs() < 2e-4, "{}", site.surface);
            assert!(site.outward.dot(site.surface.normalize()) > 0.95);
            let height_m = site.tip().length() - RADIUS_M;
            (deepest, highest) = (deepest.min(height_m), highest.max(height_m));
        }
        let length_m = 2.0 * RADIUS_M;
        assert!((deepest / (-Press::PENETRATING.depth * length_m) - 1.0).abs() < 0.1, "{deepest}");
        assert!((highest / (LIFT * length_m) - 1.0).abs() < 0.1, "{highest}");
    }

    #[test]
    fn poses_and_velocities_are_continuous() {
        let (path, tool) = (over_a_sphere(), Instrument::grasper());
        const DT_S: f64 = 1e-3;
        let pose = |i: u32| {
            let site = path.site(f64::from(i) * DT_S);
            tool.pose(&site, path.side)
        };
        // The tip: 0.2 m of path in 4 s, a cosine, is 80 mm/s at most; 12 mm of lift in 0.625 s 30 mm/s. The hinge, 30
        // mm behind it, turns with the normal by 2.1 rad in the same 4 s: 25 mm/s more.
        let speed_max = 0.14;
        let mut before: Option<DVec3> = None;
        for i in 0..9000 {
            let (a, b) = (pose(i), pose(i + 1));
            let velocity = (b.translation - a.translation) / DT_S;
            assert!(velocity.length() < speed_max, "{velocity} at tick {i}");
            assert!(a.rotation.abs_diff_eq(b.rotation, 2e-3));
            if let Some(before) = before {
                // 4 m/s2: a jump of a tenth of the speed within a tick would be 14.
                assert!((velocity - before).length() < 4.0 * DT_S, "a jolt at tick {i}");
            }
            before = Some(velocity);
        }
    }
}
