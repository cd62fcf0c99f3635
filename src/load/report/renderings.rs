//! Forces and depths that a hand would have felt: device, proxy and force over a run.

use std::{collections::BTreeMap, time::Duration};

use glam::DVec3;
use serde::Serialize;

use super::{
    force_path::ForcePath,
    latencies::{Latencies, Percentiles},
    thinned::Thinned,
};
use crate::proto::{LinkAnswer, RenderState, Rendering, TrackResponse, Vec3};

/// Depth of the device from which force by depth is a stiffness, metres.
const DEEP_M: f64 = 0.003;

/// Renderings over a run.
#[derive(Clone, Debug, Default)]
pub struct Renderings {
    /// Number of renderings.
    pub count: u64,
    device_depth_m_max: f64,
    proxy_depth_m_max: f64,
    late_depth_m_max: f64,
    force_n_max: f64,
    force_step_n_max: f64,
    last_force: Option<[f64; 3]>,
    states: BTreeMap<&'static str, u64>,
    grasps: u64,
    /// Time in the engine that rendering adds, as reported by the server.
    pub added: Latencies,
    samples: Thinned<FeltSample>,
}

/// Depths and force at one tick.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FeltSample {
    /// Time of the client since its first tick, seconds.
    pub seconds: f64,
    /// Depth of the device: its distance from its proxy, metres.
    pub device_depth_m: f64,
    /// Depth of the proxy, metres; negative above the tissue.
    pub proxy_depth_m: f64,
    /// Magnitude of the force, newtons.
    pub force_n: f64,
    /// Force of the contacts, without cap and rate, by the depth of the device, N/m; 0 if nothing is pressed deep.
    pub stiffness_n_per_m: f64,
}

/// [`Renderings`] for the report.
#[derive(Clone, Debug, Serialize)]
pub struct RenderingReport {
    /// Greatest depth of the device.
    pub device_depth_m_max: f64,
    /// Greatest depth of the proxy when it had time to follow the tissue: 0, because the proxy stays out.
    pub proxy_depth_m_max: f64,
    /// Greatest depth of the proxy in late answers: no more than the tissue has moved since.
    pub late_depth_m_max: f64,
    /// Greatest force that was sent.
    pub force_n_max: f64,
    /// Greatest change of the force between two answers.
    pub force_step_n_max: f64,
    /// Last force.
    pub force_n_end: f64,
    /// Force of the contacts by the depth of the device, N/m: the 3rd and 97th percentile of samples from 3 mm on.
    pub felt_n_per_m: Option<[f64; 2]>,
    /// Renderings in each state of the proxy.
    pub states: BTreeMap<&'static str, u64>,
    /// Times that the jaws grasped tissue.
    pub grasps: u64,
    /// Time of the proxies in the engine.
    pub added_us: Option<Percentiles>,
    /// Greatest stiffness of a server's force with the measured round trip, N/m; null when nothing was answered.
    pub server_stiffness_max_n_per_m: Option<f64>,
    /// Greatest stiffness with a local model, N/m.
    pub local_stiffness_max_n_per_m: f64,
    /// Both limits in words.
    #[serde(skip)]
    pub stiffness_said: String,
}

impl Renderings {
    /// Adds the renderings of an answer. `device`: commanded position of the tool's origin, scene frame.
    pub fn note(&mut self, answer: &TrackResponse, device: DVec3) {
        for rendering in &answer.renderings {
            self.note_one(rendering, answer, device);
        }
        if let (false, Some(stages)) = (answer.renderings.is_empty(), &answer.stages) {
            self.added.record(Duration::from_nanos((stages.render_us * 1e3) as u64));
        }
    }

    fn note_one(&mut self, rendering: &Rendering, answer: &TrackResponse, device: DVec3) {
        let Vec3 { x, y, z } = rendering.force_n.unwrap_or_default();
        let force = [x, y, z];
        let last = self.last_force.replace(force).unwrap_or(force);
        let force_n = norm(force);
        let step_n = norm(std::array::from_fn(|i| force[i] - last[i]));
        // The depth of the device is its distance from its proxy.
        let proxy = rendering.proxy.as_ref().and_then(|pose| pose.position_m).unwrap_or_default();
        let device_depth_m = DVec3::new(proxy.x, proxy.y, proxy.z).distance(device);
        let is_known = |link: &&LinkAnswer| {
            link.tool_id == rendering.tool_id && !link.is_lower_bound && !link.is_cut_short
        };
        let distances = answer.links.iter().filter(is_known).map(|link| link.signed_distance_m);
        let known = distances.reduce(f64::min).map(|nearest_m| -nearest_m);
        // An answer without a known distance repeats the last depth.
        let last = self.samples().last().map_or(0.0, |sample| sample.proxy_depth_m);
        let proxy_depth_m = known.unwrap_or(last);
        self.device_depth_m_max = self.device_depth_m_max.max(device_depth_m);
        // Tissue covers a proxy that had no time to follow it, until the proxy catches up.
        let is_late = rendering.state() == RenderState::Late;
        let most = if is_late { &mut self.late_depth_m_max } else { &mut self.proxy_depth_m_max };
        *most = known.map_or(*most, |depth_m| most.max(depth_m));
        self.force_n_max = self.force_n_max.max(force_n);
        self.force_step_n_max = self.force_step_n_max.max(step_n);
        *self.states.entry(state_name(rendering.state())).or_default() += 1;
        self.grasps += rendering.grasps.iter().filter(|grasp| grasp.begins).count() as u64;
        let seconds = answer.client_time_ns as f64 * 1e-9;
        let is_pressed = rendering.state() == RenderState::Touching && device_depth_m > DEEP_M;
        let stiffness_n_per_m =
            if is_pressed { contact_force(rendering).length() / device_depth_m } else { 0.0 };
        self.samples.note(FeltSample {
            seconds,
            device_depth_m,
            proxy_depth_m,
            force_n,
            stiffness_n_per_m,
        });
        self.count += 1;
    }

    /// Adds another client's renderings; the picture stays that of the first client.
    pub fn add(&mut self, other: &Renderings) {
        if self.count == 0 {
            self.samples = other.samples.clone();
            self.last_force = other.last_force;
        }
        self.count += other.count;
        self.device_depth_m_max = self.device_depth_m_max.max(other.device_depth_m_max);
        self.proxy_depth_m_max = self.proxy_depth_m_max.max(other.proxy_depth_m_max);
        self.late_depth_m_max = self.late_depth_m_max.max(other.late_depth_m_max);
        self.force_n_max = self.force_n_max.max(other.force_n_max);
        self.force_step_n_max = self.force_step_n_max.max(other.force_step_n_max);
        for (state, n) in &other.states {
            *self.states.entry(state).or_default() += n;
        }
        self.grasps += other.grasps;
        self.added.add(&other.added);
    }

    /// Returns the samples for the picture, in order of time.
    pub fn samples(&self) -> &[FeltSample] {
        self.samples.samples()
    }

    fn felt_n_per_m(&self) -> Option<[f64; 2]> {
        let each = self.samples().iter().map(|sample| sample.stiffness_n_per_m);
        let mut pressed: Vec<f64> = each.filter(|stiffness| *stiffness > 0.0).collect();
        pressed.sort_unstable_by(f64::total_cmp);
        let at = |percent: usize| pressed.get(pressed.len() * percent / 100).copied();
        Some([at(3)?, at(97)?])
    }

    /// Returns `None` if nothing was rendered. `round_trip_us_p99`: 99th percentile of the ticks' round trips.
    pub fn report(
        &self,
        round_trip_us_p99: Option<f64>,
        path: &ForcePath,
    ) -> Option<RenderingReport> {
        let server = round_trip_us_p99.map(|us| path.server_max_n_per_m(us));
        (self.count > 0).then(|| RenderingReport {
            device_depth_m_max: self.device_depth_m_max,
            proxy_depth_m_max: self.proxy_depth_m_max,
            late_depth_m_max: self.late_depth_m_max,
            force_n_max: self.force_n_max,
            force_step_n_max: self.force_step_n_max,
            force_n_end: norm(self.last_force.unwrap_or_default()),
            felt_n_per_m: self.felt_n_per_m(),
            states: self.states.clone(),
            grasps: self.grasps,
            added_us: self.added.percentiles(),
            server_stiffness_max_n_per_m: server,
            local_stiffness_max_n_per_m: path.local_max_n_per_m(),
            stiffness_said: path.said(server),
        })
    }
}

impl RenderingReport {
    /// Returns the rows for people.
    pub fn rows(&self) -> Vec<(&'static str, String)> {
        let late = match self.states.get("late") {
            None => String::new(),
            Some(n) => format!(" ({:.2} in the {n} that were LATE)", 1e3 * self.late_depth_m_max),
        };
        let device = format!(
            "{:.2} mm deep at most, its proxy {:.2}{late}",
            1e3 * self.device_depth_m_max,
            1e3 * self.proxy_depth_m_max
        );
        let force = format!(
            "{:.2} N at most, {:.3} N from answer to answer at most, {:.2} N at the end; {} grasps",
            self.force_n_max, self.force_step_n_max, self.force_n_end, self.grasps
        );
        let mut rows = vec![("device", device), ("force", force)];
        // A rigid tissue feels as the tool's own spring everywhere.
        if let Some([least, most]) = self.felt_n_per_m.filter(|[least, most]| 1.1 * least < *most) {
            rows.push(("felt", format!("as a spring of {least:.0} to {most:.0} N/m")));
        }
        rows.push(("stiffness", self.stiffness_said.clone()));
        rows
    }
}

/// Returns the force of the contacts on the tool, newtons.
pub fn contact_force(rendering: &Rendering) -> DVec3 {
    let forces = rendering.contact_force_xyz_n.chunks_exact(3);
    forces.map(|f| DVec3::new(f[0].into(), f[1].into(), f[2].into())).sum()
}

fn norm(v: [f64; 3]) -> f64 {
    v.iter().map(|x| x * x).sum::<f64>().sqrt()
}

fn state_name(state: RenderState) -> &'static str {
    match state {
        RenderState::Unspecified => "unspecified",
        RenderState::Free => "free",
        RenderState::Touching => "touching",
        RenderState::Embedded => "embedded",
        RenderState::Squeezed => "squeezed",
        RenderState::Late => "late",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::report::thinned::SAMPLES_MAX;
    use crate::proto::Pose;

    fn answer(n: u64, force: f64, device_m: f64) -> TrackResponse {
        let rendering = Rendering {
            tool_id: 1,
            force_n: Some(Vec3 { x: 0.0, y: 0.0, z: force }),
            state: RenderState::Touching as i32,
            proxy: Some(Pose {
                position_m: Some(Vec3 { x: -device_m, ..Vec3::default() }),
                ..Pose::default()
            }),
            ..Default::default()
        };
        let link = LinkAnswer { tool_id: 1, signed_distance_m: 2e-5, ..Default::default() };
        TrackResponse {
            client_time_ns: n as i64 * 1_000_000,
            links: vec![link],
            renderings: vec![rendering],
            ..Default::default()
        }
    }

    /// The report separates tissue that a late tick had no time to follow from a proxy that entered tissue.
    #[test]
    fn depths_of_late_proxies_are_told_apart() {
        let mut felt = Renderings::default();
        for (n, state, depth_m) in [
            (0, RenderState::Touching, -2e-5),
            (1, RenderState::Late, 3e-4),
            (2, RenderState::Touching, -1e-5),
        ] {
            let mut answer = answer(n, 1.0, 0.0);
            answer.renderings[0].state = state as i32;
            answer.links[0].signed_distance_m = -depth_m;
            felt.note(&answer, DVec3::ZERO);
        }
        let mut both = Renderings::default();
        both.add(&felt);
        let report = both.report(Some(4_500.0), &ForcePath::USUAL).expect("rendered");
        assert_eq!((report.proxy_depth_m_max, report.late_depth_m_max), (0.0, 3e-4));
        let (_, device) = &report.rows()[0];
        assert!(device.ends_with("proxy 0.00 (0.30 in the 1 that were LATE)"), "{device}");
        // 0.95 N s/m over half a millisecond and 4.5 ms, and over an eighth.
        let said = &report.stiffness_said;
        assert!(said.starts_with("190 N/m at most with the server's force at 1 kHz"), "{said}");
        assert!(said.contains("7600 with a local model at 4 kHz"), "{said}");
    }

    #[test]
    fn what_was_felt_is_told_and_kept_in_bounds() {
        let mut felt = Renderings::default();
        assert!(felt.report(None, &ForcePath::USUAL).is_none());
        for n in 0..20_000 {
            felt.note(&answer(n, 1e-4 * n as f64, -1e-6 * n as f64), DVec3::ZERO);
        }
        let report = felt.report(None, &ForcePath::USUAL).expect("rendered");
        assert!((report.device_depth_m_max - 0.019_999).abs() < 1e-9);
        assert_eq!(report.proxy_depth_m_max, 0.0);
        assert!((report.force_step_n_max - 1e-4).abs() < 1e-9);
        assert_eq!((report.force_n_end, report.states["touching"]), (report.force_n_max, 20_000));
        let samples = felt.samples();
        assert!(samples.len() > SAMPLES_MAX / 2 && samples.len() <= SAMPLES_MAX);
        assert!(samples.is_sorted_by(|a, b| a.seconds < b.seconds));
        let mut both = Renderings::default();
        both.add(&felt);
        both.add(&felt);
        assert_eq!((both.count, both.samples().len()), (40_000, samples.len()));
    }
}
