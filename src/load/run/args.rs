//! The arguments of `palpate demo` and `palpate load`.

use std::{net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use super::{objective::Objective, plan::Plan};
use crate::client::credentials::Credentials;
use crate::config::LiveViewArgs;
use crate::coupling::spring::Spring;
use crate::load::{
    clients::{device::DevicePlan, haptic::STIFFNESS_N_PER_M},
    error::LoadError,
    stage::{
        held_device::HeldDevice,
        phantom::{Instrument, PhantomTissue},
    },
};

const DEMO_RATE_HZ: f64 = 1000.0;
const DEMO_DEFORM_HZ: f64 = 60.0;
/// Sample rate of desktop devices.
const DEMO_SERVO_HZ: f64 = 1000.0;
/// Greatest tick rate: far beyond what a machine can pace.
const RATE_HZ_MAX: f64 = 100_000.0;
// A day: times of the run stay far below what a duration or a counter of ticks can hold.
const SECONDS_MAX: f64 = 86_400.0;
/// Most haptic clients of one run.
// A server's default limit of connections.
pub const CLIENTS_MAX: u32 = 256;
/// Most busy threads: more than the cores of most machines.
const BUSY_MAX: u32 = 256;

/// The arguments of `palpate demo`.
#[derive(Clone, Debug, clap::Args)]
pub struct DemoArgs {
    /// Answer at the device's own position, however deep in the organ, instead of rendering the tool: without a proxy
    /// and a force.
    #[arg(long, conflicts_with = "watch")]
    no_render: bool,
    #[command(flatten)]
    live_view: LiveViewArgs,
    #[command(flatten)]
    pub(in crate::load) run: RunArgs,
}

/// The arguments of `palpate load`.
#[derive(Clone, Debug, clap::Args)]
pub struct LoadArgs {
    /// The server: host:port, https://host:port or unix:/path [default: starts one of its own, as the demo does].
    #[arg(long, value_name = "ADDR", conflicts_with = "record")]
    pub(in crate::load) server: Option<String>,
    #[command(flatten)]
    pub(in crate::load) credentials: Credentials,
    /// Haptic clients, each with its own thread. With fewer cores than clients the measurement is of this machine.
    #[arg(long, value_name = "N", default_value_t = 1,
          value_parser = clap::value_parser!(u32).range(1..=i64::from(CLIENTS_MAX)))]
    pub(in crate::load) clients: u32,
    /// All clients share one connection instead of having one each.
    #[arg(long)]
    pub(in crate::load) share_connection: bool,
    /// Ticks a second of each client, sent when they are due, even if the previous one is not answered.
    #[arg(long, value_name = "HZ", default_value_t = DEMO_RATE_HZ, value_parser = rate)]
    pub(in crate::load) rate: f64,
    /// Deformations a second; 0 for none.
    #[arg(long, value_name = "HZ", default_value_t = DEMO_DEFORM_HZ, value_parser = rate_or_none)]
    pub(in crate::load) deform_hz: f64,
    /// Share of the tissue's vertices that a deformation moves, up to 1 for all [default: a dent about the tip].
    #[arg(long, value_name = "SHARE", value_parser = share)]
    pub(in crate::load) deform_share: Option<f64>,
    /// Cuts a second, a triangle each; 0 for none.
    #[arg(long, value_name = "HZ", default_value_t = 0.0, value_parser = rate_or_none)]
    pub(in crate::load) cut_hz: f64,
    /// Render the tool: a hand presses it in, and the answers contain a proxy and a force.
    #[arg(long)]
    render: bool,
    /// Hold the tool by a simulated device and hand, with a servo of HZ samples a second on the answers' local models:
    /// the hand presses and holds. With --deform-hz 0 all that it feels is the coupling's.
    #[arg(long, value_name = "HZ", requires = "render", value_parser = rate)]
    servo_hz: Option<f64>,
    /// That device and hand, as mass=0.08,damping=0.15,hand=150,hand-damping=0.8: kg, N s/m and N/m.
    #[arg(long, value_name = "PARTS", requires = "servo_hz")]
    device: Option<HeldDevice>,
    /// Leads the hand along the path, as in the demo, instead of holding it at the deepest press.
    #[arg(long, requires = "servo_hz", conflicts_with = "device")]
    led: bool,
    /// Stiffness of the servo's spring, N/m [default: 500].
    #[arg(long, value_name = "N_PER_M", requires = "servo_hz", value_parser = stiffness)]
    stiffness: Option<f64>,
    /// Delay of each answer to the servo, as 20ms.
    #[arg(long, value_name = "TIME", requires = "servo_hz", value_parser = time)]
    delay: Option<Duration>,
    /// Additional random delay of each answer, up to this, as 5ms.
    #[arg(long, value_name = "TIME", requires = "servo_hz", value_parser = time)]
    jitter: Option<Duration>,
    /// Share of answers that never come, as 5%.
    #[arg(long, value_name = "SHARE", requires = "servo_hz", value_parser = lost)]
    loss: Option<f64>,
    /// Objective of the run, as `p99=1ms,missed=0.1%`: p50, p90, p99, p99.9, p99.99 and max in us, ms or s, missed in
    /// %, miss-run in ticks. If it is missed, the exit code is 3.
    #[arg(long, value_name = "BOUNDS")]
    pub(in crate::load) slo: Option<Objective>,
    /// Also measure an echo of equal message sizes with equal clients, and print the ratio.
    #[arg(long)]
    pub(in crate::load) baseline: bool,
    /// Run with more and more clients until the objective breaks, and print the largest number that meets it.
    #[arg(long, requires = "slo", conflicts_with_all = ["clients", "baseline"])]
    pub(in crate::load) find_capacity: bool,
    /// Run as the echo of a run, with answers of BYTES bytes.
    #[arg(long, hide = true, value_name = "BYTES")]
    pub(in crate::load) echo_server: Option<usize>,
    /// Time that the echo keeps a core busy for each answer, microseconds.
    #[arg(long, hide = true, value_name = "US", default_value_t = 0, requires = "echo_server")]
    pub(in crate::load) echo_takes_us: u64,
    #[command(flatten)]
    pub(in crate::load) run: RunArgs,
}

/// Arguments that both commands take.
#[derive(Clone, Debug, clap::Args)]
pub(in crate::load) struct RunArgs {
    /// Duration of the run.
    #[arg(long, default_value_t = 10.0, value_parser = duration)]
    seconds: f64,
    /// Mesh file (obj, stl, ply, off, vtk, vtu, vtp, msh, glb) as the tissue [default: a generated organ].
    #[arg(long, value_name = "FILE")]
    tissue: Option<PathBuf>,
    /// Mesh file as the tool, held by its thicker end [default: a generated grasper].
    #[arg(long, value_name = "FILE")]
    tool: Option<PathBuf>,
    /// Factor that converts the coordinates of both files to metres.
    #[arg(long, value_name = "X", default_value_t = 1.0)]
    scale_to_m: f64,
    /// Factor for the coordinates of the tool's file alone [default: as --scale-to-m].
    #[arg(long, value_name = "Y")]
    tool_scale_to_m: Option<f64>,
    /// Fills each hole of the tool in a box with a diagonal of no more than this, metres; 0 for none.
    #[arg(long, value_name = "X", default_value_t = 0.0)]
    fill_holes_m: f64,
    /// Make the tissue soft, with a hard nodule under the middle of the tool's path, for a rendered tool to feel.
    #[arg(long)]
    feel: bool,
    /// Threads that keep a core busy each during the run, as a solver on this machine would.
    #[arg(long, value_name = "N", default_value_t = 0,
          value_parser = clap::value_parser!(u32).range(..=i64::from(BUSY_MAX)))]
    busy: u32,
    /// A tick answered later than this after its instant is missed.
    #[arg(long, value_name = "US", default_value_t = 1000)]
    deadline_us: u64,
    /// Write the measurements to this file, as JSON. `ticks_answered` counts ticks with an answer of their own and the
    /// `coalesced` ones, for which the answer to a newer tick stands; their time runs to that answer.
    #[arg(long, value_name = "FILE")]
    pub(in crate::load) report: Option<PathBuf>,
    /// Write the tick times over the run's time to this file, as CSV.
    #[arg(long, value_name = "FILE")]
    pub(in crate::load) csv: Option<PathBuf>,
    /// Record all requests to and answers of this run's server in this file, for `palpate replay`.
    #[arg(long, value_name = "FILE")]
    pub(in crate::load) record: Option<PathBuf>,
    /// Draw the percentiles and the run's time to this file, as SVG.
    #[arg(long, value_name = "FILE")]
    pub(in crate::load) picture: Option<PathBuf>,
}

impl DemoArgs {
    pub(in crate::load) fn plan(&self) -> Result<Plan, LoadError> {
        let plan = self.run.plan(1, DEMO_RATE_HZ, DEMO_DEFORM_HZ)?;
        // A guided hand is the viewer's, who sees but does not feel.
        let device = (!self.no_render && !self.live_view.watch).then(|| DevicePlan {
            servo_hz: DEMO_SERVO_HZ,
            device: HeldDevice::led(),
            stiffness_n_per_m: STIFFNESS_N_PER_M,
            delay: Duration::ZERO,
            jitter: Duration::ZERO,
            loss: 0.0,
            holds: false,
        });
        let seconds = if self.live_view.watch { SECONDS_MAX } else { plan.seconds };
        Ok(Plan {
            is_rendered: !self.no_render,
            is_guided: self.live_view.watch,
            device,
            seconds,
            ..plan
        })
    }

    /// Returns the address of the live view and the folder that it serves; `None`: no live view.
    pub(in crate::load) fn live_view(
        &self,
    ) -> Result<Option<(SocketAddr, Option<PathBuf>)>, LoadError> {
        Ok(self.live_view.place()?)
    }
}

impl LoadArgs {
    pub(in crate::load) fn plan(&self) -> Result<Plan, LoadError> {
        // A deformation of all vertices is sent as a dense array, whose length is wrong as soon as a cut has added a
        // vertex.
        if self.deform_share == Some(1.0) && self.cut_hz > 0.0 {
            return Err(LoadError::CutsOfAll);
        }
        Ok(Plan {
            is_connection_shared: self.share_connection,
            deform_share: self.deform_share,
            cut_hz: self.cut_hz,
            is_rendered: self.render,
            device: self.device_plan(),
            ..self.run.plan(self.clients, self.rate, self.deform_hz)?
        })
    }
}

impl LoadArgs {
    fn device_plan(&self) -> Option<DevicePlan> {
        Some(DevicePlan {
            servo_hz: self.servo_hz?,
            device: if self.led { HeldDevice::led() } else { self.device.unwrap_or_default() },
            stiffness_n_per_m: self.stiffness.unwrap_or(Spring::DESKTOP.stiffness_n_per_m),
            delay: self.delay.unwrap_or_default(),
            jitter: self.jitter.unwrap_or_default(),
            loss: self.loss.unwrap_or_default(),
            holds: !self.led,
        })
    }
}

impl RunArgs {
    fn plan(&self, n_clients: u32, rate_hz: f64, deform_hz: f64) -> Result<Plan, LoadError> {
        let organ = match &self.tissue {
            Some(file) => PhantomTissue::open(file, self.scale_to_m)?,
            None => PhantomTissue::folded(),
        };
        let instrument = match &self.tool {
            Some(file) => {
                let scale_to_m = self.tool_scale_to_m.unwrap_or(self.scale_to_m);
                Instrument::open(file, scale_to_m, self.fill_holes_m)?
            }
            None => Instrument::grasper(),
        };
        Ok(Plan {
            n_clients,
            is_connection_shared: false,
            rate_hz,
            seconds: self.seconds,
            deform_hz,
            deform_share: None,
            cut_hz: 0.0,
            is_rendered: false,
            has_nodule: self.feel,
            device: None,
            is_guided: false,
            busy_threads: self.busy,
            deadline: Duration::from_micros(self.deadline_us),
            organ,
            instrument: Arc::new(instrument),
        })
    }
}

/// Share of one vertex in the largest tissue.
const SHARE_MIN: f64 = 1e-6;

fn rate(text: &str) -> Result<f64, String> {
    number(text, 0.1, RATE_HZ_MAX)
}

fn rate_or_none(text: &str) -> Result<f64, String> {
    number(text, 0.0, RATE_HZ_MAX)
}

fn share(text: &str) -> Result<f64, String> {
    number(text, SHARE_MIN, 1.0)
}

fn duration(text: &str) -> Result<f64, String> {
    number(text, 0.1, SECONDS_MAX)
}

fn stiffness(text: &str) -> Result<f64, String> {
    number(text, 1.0, 1e5)
}

fn lost(text: &str) -> Result<f64, String> {
    let share = text.strip_suffix('%').ok_or_else(|| "expected a share as 5%".to_owned())?;
    number(share, 0.0, 100.0).map(|percent| percent / 100.0)
}

fn time(text: &str) -> Result<Duration, String> {
    let units = [("us", 1e-6), ("ms", 1e-3), ("s", 1.0)];
    let of = |(unit, s): (&str, f64)| Some(s * text.strip_suffix(unit)?.parse::<f64>().ok()?);
    let seconds = units.into_iter().find_map(of).filter(|s| (0.0..=1.0).contains(s));
    seconds
        .map(Duration::from_secs_f64)
        .ok_or_else(|| "expected a time as 20ms, at most 1s".to_owned())
}

fn number(text: &str, least: f64, most: f64) -> Result<f64, String> {
    // NaN is in no range, so it is rejected here as well.
    let number = text.parse().ok().filter(|number| (least..=most).contains(number));
    number.ok_or_else(|| format!("expected a number from {least} to {most}"))
}
