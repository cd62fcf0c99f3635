//! The files that a run writes on request.

use std::{env::consts, fs, io, num::NonZero, path::PathBuf, thread::available_parallelism};

use super::{
    RunReport,
    picture::{Curve, Picture},
    text::row,
};
use crate::{
    load::{
        error::LoadError,
        run::{args::RunArgs, load_run::RunOutcome, plan::Plan},
    },
    os::stdout::print,
};

/// Writes each requested file and prints its path.
///
/// # Errors
/// Returns the first file that cannot be written; the files before it are written.
pub(in crate::load) fn write(
    files: &RunArgs,
    report: &RunReport,
    plan: &Plan,
    outcome: &RunOutcome,
) -> Result<(), LoadError> {
    // Each text is built only if its file was requested: most runs write none.
    let timeline = || outcome.measured.tally.timeline.csv();
    let mut rows = String::new();
    let mut write = |name, file: &Option<PathBuf>, text: &dyn Fn() -> io::Result<String>| {
        let Some(file) = file else { return Ok(()) };
        let written = text().and_then(|text| fs::write(file, text));
        written.map_err(|error| LoadError::Report { file: file.clone(), error })?;
        row(&mut rows, name, &file.display().to_string());
        Ok(())
    };
    let written = write("report", &files.report, &|| report.json())
        .and_then(|()| write("timeline", &files.csv, &|| Ok(timeline())))
        .and_then(|()| write("picture", &files.picture, &|| draw(plan, outcome)));
    if files.report.is_none() {
        row(&mut rows, "report", "none (--report FILE writes it as JSON)");
    }
    print(&format!("\n{rows}"))?;
    written
}

fn draw(plan: &Plan, outcome: &RunOutcome) -> io::Result<String> {
    let RunOutcome { measured, echo, server, .. } = outcome;
    let mut curves = vec![
        Curve { name: "round trip", latencies: &measured.tally.round_trip },
        Curve { name: "tick in the engine", latencies: &measured.tally.compute },
        Curve { name: "machine's hiccups", latencies: &measured.hiccups },
    ];
    if let Some(echo) = echo {
        curves.push(Curve { name: "echo's round trip", latencies: &echo.tally.round_trip });
    }
    let cores = available_parallelism().map_or(1, NonZero::get);
    let picture = Picture {
        title: &format!(
            "palpate {}, {} {}, {cores} cores: {}, {server}",
            env!("CARGO_PKG_VERSION"),
            consts::OS,
            consts::ARCH,
            plan.line()
        ),
        curves: &curves,
        timeline: Some(&measured.tally.timeline),
        felt: measured.tally.renderings.samples(),
        at_device: measured.tally.servo.forces(),
        has_materials: plan.has_nodule,
        deadline_us: plan.deadline.as_secs_f64() * 1e6,
    };
    picture.svg().map_err(|error| io::Error::other(error.to_string()))
}
