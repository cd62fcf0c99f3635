//! Rendered tools with poses of any kind while tissues move, are cut, and time is over anywhere: forces are finite, and
//! never greater nor faster than was asked for.

use std::{
    cell::Cell,
    sync::{Arc, LazyLock},
};

use arbitrary::{Arbitrary, Unstructured};
use glam::DVec3;
use palpate::{
    coupling::{spring::Spring, wrench::WrenchLimits},
    proxy::{RenderOptions, RenderedSession, Rendering},
    scene::{
        Scene, ToolId,
        tick::{TickOptions, ToolPose},
    },
    time_left::TimeLeft,
};

use crate::{
    sessions::{Place, Placed, World, all},
    stage, until_end,
};

/// Steps of one sequence; more are left out.
const STEPS_MAX: usize = 12;
/// Rates count for no longer between two ticks, nanoseconds.
const PAUSE_MAX_NS: u64 = 20_000_000;
const NS_PER_S: f64 = 1e9;
/// What rounding may add to a cap or a rate, as a share of it.
const ROUNDING: f64 = 1e-9;

/// A loop with two rendered tools and what happens about it.
#[derive(Arbitrary, Debug)]
pub struct Sequence {
    options: [Options; 2],
    #[arbitrary(with = |bytes: &mut Unstructured| until_end(bytes, STEPS_MAX))]
    steps: Vec<Step>,
}

/// Numbers of any size: what is out of range is refused.
#[derive(Arbitrary, Debug)]
struct Options {
    any: Option<[f64; 8]>,
    shading: u8,
    hold: Place,
    cuts: bool,
    wants: [bool; 2],
}

#[derive(Arbitrary, Debug)]
enum Step {
    Tick { places: Vec<Placed>, late_after: Option<u8>, after_us: u16 },
    Pass { places: Vec<Placed> },
    Deform { sheet: bool, first: u8, to: Vec<Place> },
    Cut { sheet: bool, triangle: u8, to: Place },
    Restart,
}

/// See the module.
pub fn check(sequence: Sequence) {
    static SCENE: LazyLock<Arc<Scene>> = LazyLock::new(stage::tools_only);
    let world = World::about(&SCENE);
    let tools = [ToolId(1), ToolId(2)];
    let render: Vec<RenderOptions> =
        sequence.options.iter().zip(tools).map(|(options, tool)| options.of(tool)).collect();
    let session = RenderedSession::new(Arc::clone(&SCENE), &tools, TickOptions::default(), &render);
    if let Ok(mut session) = session {
        let mut sent = [(DVec3::ZERO, DVec3::ZERO); 2];
        let (mut now_ns, mut last_ns) = (0, None);
        for (step, number) in sequence.steps.into_iter().zip(1..) {
            let poses = |places: &[Placed]| -> Vec<ToolPose> {
                tools.into_iter().zip(all(places)).map(|(id, p)| p.pose(id)).collect()
            };
            match step {
                Step::Tick { places, late_after, after_us } => {
                    now_ns += u64::from(after_us) * 1_000;
                    let read = Cell::new(0);
                    let clock = || read.replace(read.get() + 1);
                    let time = TimeLeft::until(&clock, late_after.map_or(u64::MAX, u64::from));
                    // Poses of more links than the tool has are refused, and change nothing.
                    if session.tick(number, &poses(&places), now_ns, &time).is_ok() {
                        let since = last_ns.replace(now_ns).map_or(0, |last| now_ns - last);
                        let dt_s = since.min(PAUSE_MAX_NS) as f64 / NS_PER_S;
                        for ((rendering, options), sent) in
                            session.renderings().zip(&render).zip(&mut sent)
                        {
                            assert_sound(rendering, options, sent, dt_s);
                        }
                    }
                }
                Step::Pass { places } => drop(session.coalesce(number, &poses(&places))),
                Step::Deform { sheet, first, to } => world.deform(sheet, first, &to, now_ns),
                Step::Cut { sheet, triangle, to } => world.cut(sheet, triangle, to, now_ns),
                Step::Restart => (session, last_ns) = (session.restarted(), None),
            }
        }
    }
    world.clear();
}

/// Caps and rates are kept, whatever was sent.
fn assert_sound(
    rendering: &Rendering,
    options: &RenderOptions,
    (force, torque): &mut (DVec3, DVec3),
    dt_s: f64,
) {
    let within = |got: f64, most: f64| got <= most * (1.0 + ROUNDING) + f64::MIN_POSITIVE;
    let (now, turn) = (rendering.force_n, rendering.torque_nm);
    assert!(now.is_finite() && turn.is_finite(), "{rendering:?}");
    assert!(within(now.length(), options.limits.max_force_n), "{now} N");
    assert!(within(turn.length(), options.limits.max_torque_nm), "{turn} N m");
    let step_n = options.limits.max_force_rate_n_per_s * dt_s + ROUNDING * now.length();
    let step_nm = options.limits.max_torque_rate_nm_per_s * dt_s + ROUNDING * turn.length();
    assert!(within(now.distance(*force), step_n), "{force} N to {now} N in {dt_s} s");
    assert!(within(turn.distance(*torque), step_nm), "{torque} N m to {turn} N m in {dt_s} s");
    let pose = &rendering.scene_from_proxy;
    assert!(pose.translation.is_finite() && pose.rotation.is_finite(), "{pose:?}");
    assert!(rendering.residual_m.is_finite() && rendering.residual_m >= 0.0);
    for contact in &rendering.contacts {
        assert!(contact.position.is_finite() && contact.force_n.is_finite(), "{contact:?}");
        assert!((contact.normal.length() - 1.0).abs() < 1e-6, "{contact:?}");
    }
    let loads = rendering.loads.iter().flat_map(|load| &load.forces_n);
    assert!(loads.into_iter().all(|force| force.is_finite()));
    (*force, *torque) = (now, turn);
}

impl Options {
    fn of(&self, tool: ToolId) -> RenderOptions {
        let mut options = RenderOptions::of(tool);
        if let Some([a, b, c, d, e, f, g, h]) = self.any {
            options.spring = Spring {
                stiffness_n_per_m: a,
                rotational_stiffness_nm_per_rad: b,
                link_stiffness_n_per_m: c,
            };
            options.friction = d;
            options.limits = WrenchLimits {
                max_force_n: e,
                max_torque_nm: f,
                max_force_rate_n_per_s: g,
                max_torque_rate_nm_per_s: h,
            };
        }
        // Up to four times the greatest value that is allowed.
        options.force_shading_rad = f64::from(self.shading) / 64.0;
        options.hold_point_m = self.hold.point();
        [options.device_distances, options.local_model] = self.wants;
        options.cutting_links.extend(self.cuts.then_some(0));
        options
    }
}
