//! The distance field that a file would get as a tool's link: its cost, its bound and its pictures.

use std::{
    fmt::Write as _,
    io,
    path::{Path, PathBuf},
    time::Instant,
};

use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;

use super::{
    picture,
    unit::{bytes, length},
};
use crate::{
    geometry::{TriangleMesh, short_number::grouped},
    index::LatLonOptions,
    scene::tool::field::build_field,
    sdf::{BuildProgress, BuildStage, FieldOptions, FieldReport},
    surface::Surface,
};

/// A field in numbers.
#[derive(Clone, Debug, Serialize)]
pub struct FieldExamination {
    /// Cost and certified bound of the field.
    #[serde(flatten)]
    pub report: FieldReport,
    /// Build time, seconds.
    pub build_s: f64,
    /// Bytes of one regular grid of `f32` over the same box, fine enough for the same bound by the Lipschitz constant
    /// alone.
    pub dense_bytes: f64,
    /// Bytes of the field as a share of the dense grid's.
    pub share_of_dense: f64,
    /// Pictures that were written.
    pub pictures: Vec<PathBuf>,
}

/// Steps of the progress bar.
const BAR_STEPS: u64 = 100;

/// Builds the field under a progress bar, and draws it if a folder is given.
///
/// # Errors
/// Returns an error if a picture cannot be written.
pub fn examine(
    mesh: TriangleMesh,
    tolerance_m: Option<f64>,
    pictures: Option<(&Path, &str)>,
) -> io::Result<FieldExamination> {
    let surface = Surface::new(mesh, LatLonOptions::default());
    let bar = ProgressBar::new(BAR_STEPS);
    let style = ProgressStyle::with_template("field: {msg} {bar:40} {percent} %, {elapsed}");
    bar.set_style(style.expect("a template that indicatif knows"));
    bar.enable_steady_tick(std::time::Duration::from_millis(200));
    // The time starts after the index is built: a link needs that in any case, and only the field is to be timed.
    let start = Instant::now();
    let options = FieldOptions { tolerance_m, ..FieldOptions::default() };
    let told = |progress: BuildProgress| {
        bar.set_message(match progress.stage {
            BuildStage::Splitting => "splitting",
            BuildStage::Sampling => "sampling",
        });
        bar.set_position((BAR_STEPS as f64 * progress.share) as u64);
        true
    };
    let field = build_field(&surface, &options, &told).expect("nobody stops it");
    let build_s = start.elapsed().as_secs_f64();
    bar.finish_and_clear();
    let report = field.report();
    // The grid is compared at the reached bound, not at the requested tolerance: both sides promise equal accuracy.
    let dense_bytes = dense_bytes(field.bounds().size().max_element(), report.bound_m);
    let pictures = match pictures {
        Some((folder, stem)) => picture::write(&field, &surface, folder, stem)?,
        None => Vec::new(),
    };
    let share_of_dense = report.bytes as f64 / dense_bytes;
    Ok(FieldExamination { report, build_s, dense_bytes, share_of_dense, pictures })
}

/// Returns the bytes of a regular grid over a cube of edge `edge` with a certified error of at most `bound`, metres:
/// the error is at most half a cell's diagonal.
pub fn dense_bytes(edge: f64, bound: f64) -> f64 {
    // The diagonal of a cell is its edge times the root of 3, and half of that is the error.
    let step = 2.0 * bound / 3f64.sqrt();
    let samples = (edge / step).ceil() + 1.0;
    samples.powi(3) * size_of::<f32>() as f64
}

/// Returns the field's numbers as rows of a table.
pub fn table(e: &FieldExamination) -> String {
    let r = &e.report;
    let percent = |n: usize| {
        // A field without cells has shares of 0 and not NaN.
        let all = (r.interpolated_cells + r.exact_cells + r.wide_cells).max(1);
        format!("{} ({:.1} %)", grouped(n as u64), 100.0 * n as f64 / all as f64)
    };
    let rows = [
        ("subspaces", grouped(r.subspaces as u64)),
        ("deleted leaves", grouped(r.deleted_leaves as u64)),
        ("samples", grouped(r.samples as u64)),
        ("memory", bytes(r.bytes as f64)),
        ("cells, interpolated", percent(r.interpolated_cells)),
        ("cells, exact", percent(r.exact_cells)),
        ("cells, wide", percent(r.wide_cells)),
        ("tolerance", length(r.tolerance_m)),
        ("certified bound", length(r.bound_m)),
        ("built in", format!("{:.2} s", e.build_s)),
        ("dense grid as certain", bytes(e.dense_bytes)),
        ("dense / field", format!("{:.1}", 1.0 / e.share_of_dense)),
    ];
    let mut table = String::from("Distance field\n");
    for (name, value) in &rows {
        // Writing to a string cannot fail.
        let _ = writeln!(table, "  {name:<24}{value}");
    }
    for file in &e.pictures {
        let _ = writeln!(table, "  {:<24}{}", "picture", file.display());
    }
    table
}
