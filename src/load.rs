//! `palpate demo` and `palpate load`: paced haptic clients over real gRPC, and what they saw.
//!
//! Times count from the instant at which a tick should have been sent, however late it was (no
//! coordinated omission). Each client is one thread that paces, sends and reads; the deformation has
//! another, with its own connection; a third only measures how late this machine wakes it.

pub mod clients;
pub mod report;
pub mod run;
pub mod stage;

use std::{env, fs, io, path::PathBuf, time::Duration};

use crate::client::{ClientError, address::ServerAddress, mesh_source::MeshFileError};
use clients::haptic::WorkerError;
use report::picture::Curve;
use report::{Baseline, Measured, Report, Verdict, grouped, row};
use run::args::RunArgs;
pub use run::args::{DemoArgs, LoadArgs};
use run::load_run::{Answering, Ending, Interrupt, Plan, Session};
use run::objective::Objective;
use run::server_process::{SERVE, ServerProcess, ServerProcessError};

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
    /// Those who may vouch for the server, what it is shown, or the key.
    #[error("cannot read {}: {error}", file.display())]
    Credentials {
        /// As given.
        file: PathBuf,
        /// The system's reason.
        error: io::Error,
    },
    /// Positions of all vertices are of one topology.
    #[error("--deform-share is 1 and --cut-hz is not 0, expected one of the two")]
    CutsOfAll,
    /// The objective's verdict.
    #[error("the objective {asked} is not met")]
    Objective {
        /// As given.
        asked: String,
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
    let run = Run { plan: args.plan()?, server: None, with_baseline: false, objective: None };
    run.and_report(&args.run)
}

/// Runs `palpate load`.
///
/// # Errors
/// When something does not run, when fewer than 99 % of the ticks were answered, or when an objective is not
/// met.
pub fn load(args: &LoadArgs) -> Result<(), LoadError> {
    if let Some(answer_bytes) = args.echo_server {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        let takes = Duration::from_micros(args.echo_takes_us);
        return Ok(runtime.block_on(clients::echo::serve(answer_bytes, takes))?);
    }
    let mut server = args.server.as_deref().map(ServerAddress::new);
    let unread = |file: &PathBuf| {
        let file = file.clone();
        move |error| LoadError::Credentials { file, error }
    };
    if let Some(ca) = &args.tls_ca {
        server = server.map(|s| s.trusting(ca)).transpose().map_err(unread(ca))?;
    }
    if let Some(key) = &args.key_file {
        server = server.map(|s| s.with_key(key)).transpose().map_err(unread(key))?;
    }
    if let (Some(certificate), Some(key)) = (&args.client_certificate, &args.client_key) {
        let shown = server.map(|s| s.showing(certificate, key)).transpose();
        server = shown.map_err(|(file, error)| LoadError::Credentials { file, error })?;
    }
    let (plan, objective) = (args.plan()?, args.slo.clone());
    let mut run = Run { plan, server, with_baseline: args.baseline, objective };
    if args.find_capacity { run.find_capacity() } else { run.and_report(&args.run) }
}

/// What is run against which server.
struct Run {
    plan: Plan,
    /// `None`: one of its own.
    server: Option<ServerAddress>,
    with_baseline: bool,
    objective: Option<Objective>,
}

/// What a run has given.
struct Outcome {
    measured: Measured,
    echo: Option<Measured>,
    ending: Ending,
    /// Whose server, and where.
    server: String,
}

impl Run {
    #[tokio::main(flavor = "current_thread")]
    async fn and_report(self, files: &RunArgs) -> Result<(), LoadError> {
        let mut interrupt = Interrupt::catch()?;
        let outcome = self.measure(&mut interrupt).await?;
        let Outcome { measured, echo, ending, server } = &outcome;
        let mut report = Report::of(measured, self.plan.deadline);
        report.baseline = echo.as_ref().map(|echo| Baseline::of(echo, &measured.tally));
        report.objective = self.objective.as_ref().map(|o| Verdict::of(o, &measured.tally));
        println!("{}", describe(&self.plan, server));
        print!("{}", report.table());
        let written = self.write(files, &report, &outcome);
        println!(
            "\nA round trip counts from the instant at which its tick was due, however late it was sent.\n\
             Hiccups are how late this machine wakes an idle thread: stalls of its own."
        );
        if let Some(baseline) = &report.baseline {
            println!("\n{}", baseline.said());
        }
        if let Some(verdict) = &report.objective {
            println!("\n{}", verdict.said);
        }
        written?;
        if *ending == Ending::Interrupted {
            return Err(LoadError::Interrupted);
        }
        if !report.is_answered() {
            let (sent, answered) = (report.ticks_sent, report.ticks_answered);
            let refusal = outcome.measured.tally.refusal;
            return Err(LoadError::Unanswered { sent, answered, refusal });
        }
        match report.objective {
            Some(Verdict { met: false, asked, .. }) => Err(LoadError::Objective { asked }),
            _ => Ok(()),
        }
    }

    async fn measure(&self, interrupt: &mut Interrupt) -> Result<Outcome, LoadError> {
        if let Some(warning) = self.plan.instrument.odd_size(&self.plan.organ) {
            eprintln!("palpate: {warning}");
        }
        let program = env::current_exe()?;
        let (_own, address, whose) = match &self.server {
            Some(address) => (None, address.clone(), "the server"),
            None => {
                let own = ServerProcess::start(&program, &SERVE)?;
                let address = own.address();
                (Some(own), address, "a server of its own")
            }
        };
        let session = Session::set_up(&self.plan, &address, interrupt).await?;
        let engine = (Answering::Engine, &address);
        let measured = session.measure(&self.plan, engine, interrupt).await;
        let echo = match &measured {
            Ok((measured, Ending::Done)) if self.with_baseline => {
                let bytes = measured.tally.answer_bytes / measured.tally.answers.max(1);
                let args = ["load", "--echo-server", &bytes.to_string()];
                let echo = ServerProcess::start(&program, &args)?;
                let answering = (Answering::Echo, &echo.address());
                Some(session.measure(&self.plan, answering, interrupt).await?.0)
            }
            _ => None,
        };
        let closed = session.close().await;
        let (measured, ending) = measured?;
        closed?;
        Ok(Outcome { measured, echo, ending, server: format!("{whose} at {address}") })
    }

    /// Prints where the files went.
    fn write(&self, files: &RunArgs, report: &Report, outcome: &Outcome) -> Result<(), LoadError> {
        let Outcome { measured, echo, server, .. } = outcome;
        let picture = || {
            let mut curves = vec![
                Curve { name: "round trip", latencies: &measured.tally.round_trip },
                Curve { name: "tick in the engine", latencies: &measured.tally.compute },
                Curve { name: "machine's hiccups", latencies: &measured.hiccups },
            ];
            if let Some(echo) = echo {
                curves.push(Curve { name: "echo's round trip", latencies: &echo.tally.round_trip });
            }
            let deadline_us = self.plan.deadline.as_secs_f64() * 1e6;
            let timeline = Some(&measured.tally.timeline);
            report::picture::draw(&describe_run(&self.plan, server), &curves, timeline, deadline_us)
        };
        let mut rows = String::new();
        let mut write = |name, file: &Option<PathBuf>, text: &dyn Fn() -> io::Result<String>| {
            let Some(file) = file else { return Ok(()) };
            let written = text().and_then(|text| fs::write(file, text));
            written.map_err(|error| LoadError::Report { file: file.clone(), error })?;
            row(&mut rows, name, &file.display().to_string());
            Ok(())
        };
        let written = write("report", &files.report, &|| report.json())
            .and_then(|()| write("timeline", &files.csv, &|| Ok(measured.tally.timeline.csv())))
            .and_then(|()| write("picture", &files.picture, &|| Ok(picture())));
        if files.report.is_none() {
            row(&mut rows, "report", "none (--report FILE writes it as JSON)");
        }
        print!("\n{rows}");
        written
    }
}

/// What was run, above the figures.
fn describe(plan: &Plan, server: &str) -> String {
    let mut text = String::new();
    let size = plan.organ.bounds.size() * 1e3;
    let tissue = format!(
        "{}, {} triangles, {:.0} x {:.0} x {:.0} mm",
        plan.organ.label,
        grouped(plan.organ.triangles.len() as u64),
        size.x,
        size.y,
        size.z
    );
    row(&mut text, "run", &describe_run(plan, server));
    row(&mut text, "tissue", &tissue);
    row(&mut text, "tool", &plan.instrument.label);
    text
}

fn describe_run(plan: &Plan, server: &str) -> String {
    let clients = if plan.n_clients == 1 { "client" } else { "clients" };
    let share = plan.deform_share.map_or(String::new(), |s| format!(" of {} %", 100.0 * s));
    let cuts =
        if plan.cut_hz > 0.0 { format!(", {} cuts a second", plan.cut_hz) } else { String::new() };
    format!(
        "{} haptic {clients} at {} Hz, deformation{share} at {} Hz{cuts}, {} s, {server}",
        plan.n_clients, plan.rate_hz, plan.deform_hz, plan.seconds
    )
}
