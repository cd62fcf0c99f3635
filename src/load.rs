//! `palpate demo` and `palpate load`: paced haptic clients over real gRPC, and what they saw.
//!
//! Times count from the instant at which a tick should have been sent, however late it was (no
//! coordinated omission). Each client is one thread that paces, sends and reads; the deformation has
//! another, with its own connection; a third only measures how late this machine wakes it.

pub mod client;
pub mod deformer;
pub mod dent;
pub mod haptic;
pub mod hiccup;
pub mod mesh_source;
pub mod pacer;
pub mod path;
pub mod phantom;
mod progress;
pub mod report;
pub mod server_process;
pub mod session;
pub mod start;
pub mod tally;

use std::{io, path::PathBuf, sync::Arc, time::Duration};

use client::ClientError;
use haptic::WorkerError;
use mesh_source::MeshFileError;
use phantom::{Instrument, Organ};
use report::{Report, grouped, row};
use server_process::{ServerProcess, ServerProcessError};
use session::{Ending, Interrupt, Plan};

const DEMO_RATE_HZ: f64 = 1000.0;
const DEMO_DEFORM_HZ: f64 = 60.0;
/// Far beyond what a machine can pace.
const RATE_HZ_MAX: f64 = 100_000.0;
const SECONDS_MAX: f64 = 86_400.0;
const CLIENTS_MAX: i64 = 256;

/// The arguments of `palpate demo`.
#[derive(Clone, Debug, clap::Args)]
pub struct DemoArgs {
    #[command(flatten)]
    scene: SceneArgs,
}

/// The arguments of `palpate load`.
#[derive(Clone, Debug, clap::Args)]
pub struct LoadArgs {
    /// The server, as host:port [default: starts one of its own, as the demo does].
    #[arg(long, value_name = "ADDR")]
    server: Option<String>,
    /// Haptic clients, each with its own connection and thread. With more than a core each, what they
    /// measure is this machine.
    #[arg(long, value_name = "N", default_value_t = 1,
          value_parser = clap::value_parser!(u32).range(1..=CLIENTS_MAX))]
    clients: u32,
    /// Ticks a second of each client.
    #[arg(long, value_name = "HZ", default_value_t = DEMO_RATE_HZ, value_parser = rate)]
    rate: f64,
    /// Deformations a second; 0 for none.
    #[arg(long, value_name = "HZ", default_value_t = DEMO_DEFORM_HZ, value_parser = rate_or_none)]
    deform_hz: f64,
    #[command(flatten)]
    scene: SceneArgs,
}

/// What both take.
#[derive(Clone, Debug, clap::Args)]
struct SceneArgs {
    /// How long to run.
    #[arg(long, default_value_t = 10.0, value_parser = duration)]
    seconds: f64,
    /// A mesh file (obj, stl, ply, off, vtk) as the tissue [default: a generated organ].
    #[arg(long, value_name = "FILE")]
    tissue: Option<PathBuf>,
    /// A mesh file as the tool, held by its thicker end [default: a generated grasper].
    #[arg(long, value_name = "FILE")]
    tool: Option<PathBuf>,
    /// Multiplies the coordinates of both files to give metres.
    #[arg(long, value_name = "X", default_value_t = 1.0)]
    scale_to_m: f64,
    /// The same for the tool's file alone [default: as --scale-to-m].
    #[arg(long, value_name = "Y")]
    tool_scale_to_m: Option<f64>,
    /// A tick answered later than this after its instant is missed.
    #[arg(long, value_name = "US", default_value_t = 1000)]
    deadline_us: u64,
    /// Write the figures to this file, as JSON. `ticks_answered` counts ticks with an answer of their own
    /// and the `coalesced` ones, which the answer to a newer tick swallowed; their time runs to that
    /// answer.
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
}

/// Why a run failed.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// A mesh file.
    #[error("{0}")]
    Mesh(#[from] MeshFileError),
    /// A server of one's own.
    #[error("{0}")]
    Server(#[from] ServerProcessError),
    /// A call.
    #[error("{0}")]
    Client(#[from] ClientError),
    /// A client's thread.
    #[error("{0}")]
    Worker(#[from] WorkerError),
    /// The system.
    #[error("cannot run: {0}")]
    Run(#[from] io::Error),
    /// The report was not written; the table was printed.
    #[error("cannot write {}: {error}", file.display())]
    Report {
        /// As given.
        file: PathBuf,
        /// The system's reason.
        error: io::Error,
    },
    /// It ended early because somebody wanted it to.
    #[error("interrupted")]
    Interrupted,
    /// The verdict.
    #[error(
        "only {answered} of {sent} ticks were answered, expected at least 99 %: {}",
        refusal.as_deref().unwrap_or("neither the server nor this machine kept up")
    )]
    Unanswered {
        /// Ticks sent.
        sent: u64,
        /// Ticks answered.
        answered: u64,
        /// What the server said to those it refused.
        refusal: Option<String>,
    },
}

/// Runs `palpate demo`.
///
/// # Errors
/// When something does not run, or when fewer than 99 % of the ticks were answered.
pub fn demo(args: &DemoArgs) -> Result<(), LoadError> {
    run(&args.scene.plan(1, DEMO_RATE_HZ, DEMO_DEFORM_HZ)?, None, &args.scene)
}

/// Runs `palpate load`.
///
/// # Errors
/// When something does not run, or when fewer than 99 % of the ticks were answered.
pub fn load(args: &LoadArgs) -> Result<(), LoadError> {
    let plan = args.scene.plan(args.clients, args.rate, args.deform_hz)?;
    run(&plan, args.server.as_deref(), &args.scene)
}

#[tokio::main(flavor = "current_thread")]
async fn run(plan: &Plan, server: Option<&str>, args: &SceneArgs) -> Result<(), LoadError> {
    let mut interrupt = Interrupt::catch()?;
    if let Some(warning) = plan.instrument.odd_size(&plan.organ) {
        eprintln!("palpate: {warning}");
    }
    let (own, address) = match server {
        Some(address) => (None, address.to_owned()),
        None => {
            let own = ServerProcess::start()?;
            let address = own.address().to_owned();
            (Some(own), address)
        }
    };
    let (measured, ending) = session::run(plan, &address, &mut interrupt).await?;
    let whose = if own.is_some() { "a server of its own" } else { "the server" };
    drop(own);

    let report = Report::of(&measured, plan.deadline);
    let written = args.report.as_deref().map_or(Ok(()), |file| report.write(file));
    println!("{}", describe(plan, &format!("{whose} at {address}")));
    print!("{}", report.table());
    let mut last = String::new();
    match (&args.report, &written) {
        (Some(file), Ok(())) => row(&mut last, "report", &file.display().to_string()),
        (Some(_), Err(_)) => row(&mut last, "report", "not written"),
        (None, _) => row(&mut last, "report", "none (--report FILE writes it as JSON)"),
    }
    println!(
        "\n{last}\nA round trip counts from the instant at which its tick was due, however late it \
              was sent.\nHiccups are how late this machine wakes an idle thread: stalls of its own."
    );
    if let (Some(file), Err(error)) = (&args.report, written) {
        return Err(LoadError::Report { file: file.clone(), error });
    }
    if ending == Ending::Interrupted {
        return Err(LoadError::Interrupted);
    }
    if !report.is_answered() {
        let (sent, answered) = (report.ticks_sent, report.ticks_answered);
        return Err(LoadError::Unanswered { sent, answered, refusal: measured.tally.refusal });
    }
    Ok(())
}

/// What was run, above the figures.
fn describe(plan: &Plan, server: &str) -> String {
    let mut text = String::new();
    let clients = if plan.n_clients == 1 { "client" } else { "clients" };
    let run = format!(
        "{} haptic {clients} at {} Hz, deformation at {} Hz, {} s, {server}",
        plan.n_clients, plan.rate_hz, plan.deform_hz, plan.seconds
    );
    let size = plan.organ.bounds.size() * 1e3;
    let tissue = format!(
        "{}, {} triangles, {:.0} x {:.0} x {:.0} mm",
        plan.organ.label,
        grouped(plan.organ.n_triangles as u64),
        size.x,
        size.y,
        size.z
    );
    row(&mut text, "run", &run);
    row(&mut text, "tissue", &tissue);
    row(&mut text, "tool", &plan.instrument.label);
    text
}

impl SceneArgs {
    fn plan(&self, n_clients: u32, rate_hz: f64, deform_hz: f64) -> Result<Plan, LoadError> {
        let organ = match &self.tissue {
            Some(file) => Organ::open(file, self.scale_to_m)?,
            None => Organ::generated(),
        };
        let instrument = match &self.tool {
            Some(file) => Instrument::open(file, self.tool_scale_to_m.unwrap_or(self.scale_to_m))?,
            None => Instrument::grasper(),
        };
        let (seconds, deadline) = (self.seconds, Duration::from_micros(self.deadline_us));
        let instrument = Arc::new(instrument);
        Ok(Plan { n_clients, rate_hz, seconds, deform_hz, deadline, organ, instrument })
    }
}

fn rate(text: &str) -> Result<f64, String> {
    number(text, 0.1, RATE_HZ_MAX)
}

fn rate_or_none(text: &str) -> Result<f64, String> {
    number(text, 0.0, RATE_HZ_MAX)
}

fn duration(text: &str) -> Result<f64, String> {
    number(text, 0.1, SECONDS_MAX)
}

fn number(text: &str, least: f64, most: f64) -> Result<f64, String> {
    let got: f64 = text.parse().map_err(|e| format!("{e}"))?;
    let is_within = (least..=most).contains(&got);
    is_within.then_some(got).ok_or_else(|| format!("expected {least} to {most}, got {got}"))
}
