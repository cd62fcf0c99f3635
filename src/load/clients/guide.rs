//! A device that viewers of the live view may move: it moves towards the position that they request, otherwise along
//! the path, and the tissue gives way under it.

use std::{sync::Arc, time::Duration};

use glam::{DQuat, DVec3};
use parking_lot::Mutex;

use crate::{
    client::Client,
    geometry::Pose,
    load::stage::path::Site,
    proto::{Rendering, WatchPart, WatchRequest},
};

/// Rate at which viewers' requested positions are read.
const WATCH_RATE_HZ: f64 = 60.0;
/// Delay before a broken stream is opened again.
const RETRY: Duration = Duration::from_millis(500);
/// Greatest speeds: a hand's quick move, and the slower return to the path.
const SPEED_M_PER_S: f64 = 0.35;
const RETURN_SPEED_M_PER_S: f64 = 0.08;
const TURN_RAD_PER_S: f64 = 1.5;
/// Distance and angle to the path below which the device is on it again, if above the surface, so that no dent jumps.
const ARRIVED_M: f64 = 1e-3;
const ARRIVED_RAD: f64 = 0.02;
/// Displacement of the tissue per newton, and its maximum.
const GIVES_M_PER_N: f64 = 2e-3;
const GIVES_MAX_M: f64 = 6e-3;
/// Smaller forces do not press the tissue.
const PRESS_MIN_N: f64 = 0.02;
/// Share of the missing displacement that a dent makes up with each answer: at 1 kHz a time constant of 50 ms.
const GIVES_SHARE: f64 = 0.02;

/// State that the threads of a demo share about a device that viewers move.
#[derive(Debug, Default)]
pub struct Guide(Mutex<Guidance>);

#[derive(Debug, Default)]
struct Guidance {
    /// Position that a viewer requests for the tool's origin.
    wish: Option<DVec3>,
    /// Site of the dent while the device is off the path.
    site: Option<Site>,
}

impl Guide {
    /// Returns the site of the dent; `None`: the path's.
    pub fn site(&self) -> Option<Site> {
        self.0.lock().site
    }
}

/// Keeps the viewers' requested position of a tool up to date, until the future is dropped.
pub async fn listen(client: Client, scene_id: String, tool_id: u32, guide: Arc<Guide>) {
    loop {
        let request = WatchRequest {
            scene_id: scene_id.clone(),
            rate_hz: WATCH_RATE_HZ,
            parts: vec![WatchPart::Wishes as i32],
        };
        if let Ok(mut frames) = client.clone().watch(request).await {
            while let Ok(Some(frame)) = frames.message().await {
                let wish = frame.wishes.iter().find(|wish| wish.tool_id == tool_id);
                let position = wish.and_then(|wish| wish.position_m);
                guide.0.lock().wish = position.map(|p| DVec3::new(p.x, p.y, p.z));
            }
        }
        // No requested position is better than an outdated one.
        guide.0.lock().wish = None;
        tokio::time::sleep(RETRY).await;
    }
}

/// The device's side of a [`Guide`].
pub struct GuidedDevice {
    guide: Arc<Guide>,
    /// Position and orientation off the path; `None` on the path.
    at: Option<(DVec3, DQuat)>,
}

impl GuidedDevice {
    /// Creates a device on the path.
    pub fn new(guide: Arc<Guide>) -> GuidedDevice {
        GuidedDevice { guide, at: None }
    }

    /// Returns the pose `dt_s` after the previous tick. `on_path`, `site`: pose and site on the path.
    pub fn step(&mut self, on_path: &Pose, site: &Site, dt_s: f64) -> Pose {
        let mut guidance = self.guide.0.lock();
        let path_turn = DQuat::from_mat3(&on_path.rotation);
        let (mut position, mut turn) = match (self.at, guidance.wish) {
            (None, None) => return *on_path,
            (Some(at), _) => at,
            (None, Some(_)) => {
                guidance.site = Some(*site);
                (on_path.translation, path_turn)
            }
        };
        if let Some(wish) = guidance.wish {
            position = position.move_towards(wish, SPEED_M_PER_S * dt_s);
        } else {
            position = position.move_towards(on_path.translation, RETURN_SPEED_M_PER_S * dt_s);
            turn = turn.rotate_towards(path_turn, TURN_RAD_PER_S * dt_s);
            let is_near = position.distance(on_path.translation) < ARRIVED_M
                && turn.angle_between(path_turn) < ARRIVED_RAD;
            if is_near && site.height_m > 0.0 {
                (self.at, guidance.site) = (None, None);
                return *on_path;
            }
        }
        self.at = Some((position, turn));
        Pose::new(turn.normalize(), position).expect("a unit quaternion")
    }

    /// Moves the dent towards the displacement that the contact forces cause, or back.
    pub fn felt(&self, rendering: &Rendering) {
        let mut guidance = self.guide.0.lock();
        let Some(site) = &mut guidance.site else { return };
        let vectors = |flat: &[f32]| -> Vec<DVec3> {
            flat.as_chunks::<3>().0.iter().map(|v| glam::Vec3::from_array(*v).as_dvec3()).collect()
        };
        let places = vectors(&rendering.contact_xyz_m);
        let forces = vectors(&rendering.contact_force_xyz_n);
        let total: f64 = forces.iter().map(|f| f.length()).sum();
        let mut wanted_m = 0.0;
        if total > PRESS_MIN_N {
            let weighted = places.iter().zip(&forces).map(|(p, f)| *p * f.length());
            let outward = forces.iter().sum::<DVec3>().normalize_or(site.outward);
            // The point of the surface at rest.
            let rest = weighted.sum::<DVec3>() / total + outward * site.dent_m;
            site.surface = site.surface.lerp(rest, GIVES_SHARE);
            site.outward = site.outward.lerp(outward, GIVES_SHARE).normalize_or(outward);
            wanted_m = (GIVES_M_PER_N * total).min(GIVES_MAX_M);
        }
        site.dent_m += GIVES_SHARE * (wanted_m - site.dent_m);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DT_S: f64 = 1e-3;

    fn on_path() -> Pose {
        Pose { translation: DVec3::X, ..Pose::IDENTITY }
    }

    fn site(height_m: f64) -> Site {
        Site { surface: DVec3::ZERO, outward: DVec3::Z, height_m, dent_m: 0.001 }
    }

    #[test]
    fn it_goes_where_it_is_wished_at_a_hand_s_speed_and_comes_back() {
        let guide = Arc::new(Guide::default());
        let mut device = GuidedDevice::new(Arc::clone(&guide));
        assert_eq!(device.step(&on_path(), &site(-0.01), DT_S), on_path());
        let wish = DVec3::new(1.0, 0.02, 0.0);
        guide.0.lock().wish = Some(wish);
        let mut before = on_path().translation;
        for _ in 0..100 {
            let now = device.step(&on_path(), &site(-0.01), DT_S).translation;
            assert!(now.distance(before) <= SPEED_M_PER_S * DT_S * (1.0 + 1e-9), "{now}");
            before = now;
        }
        assert!(before.distance(wish) < 1e-9 && guide.site().is_some());
        guide.0.lock().wish = None;
        for _ in 0..1000 {
            device.step(&on_path(), &site(-0.01), DT_S);
        }
        assert!(guide.site().is_some(), "the path is under the surface");
        assert_eq!(device.step(&on_path(), &site(0.01), DT_S), on_path());
        assert_eq!(guide.site(), None);
    }

    #[test]
    fn tissue_gives_way_to_a_force_and_comes_back() {
        let guide = Arc::new(Guide::default());
        guide.0.lock().wish = Some(DVec3::ZERO);
        let mut device = GuidedDevice::new(Arc::clone(&guide));
        device.step(&on_path(), &site(-0.01), DT_S);
        let pressed = Rendering {
            contact_xyz_m: vec![0.0, 0.0, -0.001],
            contact_force_xyz_n: vec![0.0, 0.0, 1.0],
            ..Default::default()
        };
        let dent_after = |rendering: &Rendering| {
            (0..1000).for_each(|_| device.felt(rendering));
            guide.site().expect("off the path").dent_m
        };
        assert!((dent_after(&pressed) - GIVES_M_PER_N).abs() < 1e-6);
        assert!(dent_after(&Rendering::default()) < 1e-6);
    }
}
