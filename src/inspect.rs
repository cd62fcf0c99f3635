//! `palpate inspect`: the mesh that a scene would make of a file.

mod canvas;
pub mod field;
mod font;
mod picture;
mod slice;
mod unit;

use std::{fmt::Write as _, fs, io, path::PathBuf};

use serde::Serialize;

use crate::{
    geometry::{
        Basis, LoadOptions, LoadedMesh, MeshData, MeshError, MeshReport, Orientation, SignRule,
        TriangleMesh,
        mesh::{holes::filling_all_m, load::load},
        short_number::{ShortNumber, grouped},
        tolerance::{COORDINATE_MAX_M, ENCLOSES_NOTHING},
    },
    mesh_io::{self, CellCounts, MeshFile, MeshFormat, MeshReadError, UnknownFormat},
    os::stdout::print,
    scene::{Limits, limits::FIELD_TOLERANCE_SHARE_MIN},
};
use field::FieldExamination;
use unit::{LengthUnit, length};

/// The arguments of `palpate inspect`.
#[derive(Clone, Debug, clap::Args)]
pub struct InspectArgs {
    /// Mesh file.
    pub file: PathBuf,
    /// Factor that converts every coordinate to metres: 0.001 for a file in millimetres.
    #[arg(long, value_name = "X", default_value_t = 1.0)]
    pub scale_to_m: f64,
    /// obj, stl, ply, off, vtk, vtu, vtp, msh or glb [default: by the file's extension].
    #[arg(long, value_parser = MeshFormat::from_extension)]
    pub format: Option<MeshFormat>,
    /// The coordinates are left-handed (as Unity's): negate z and reverse the winding.
    #[arg(long)]
    pub left_handed: bool,
    /// Take inside to be the side that the triangles face away from, also of a closed surface that faces inwards: the
    /// wall of a lumen.
    #[arg(long)]
    pub as_wound: bool,
    /// Fill each hole in a box with a diagonal of no more than this, metres.
    #[arg(long, value_name = "X", default_value_t = 0.0, value_parser = diagonal)]
    pub fill_holes_m: f64,
    /// Join open edges whose ends are no farther than this from each other, metres.
    #[arg(long, value_name = "X", default_value_t = 0.0, value_parser = diagonal)]
    pub weld_m: f64,
    /// Print the report as JSON.
    #[arg(long)]
    pub json: bool,
    /// Build the distance field that the mesh would have as a tool's link, and report on it too.
    #[arg(long)]
    pub field: bool,
    /// Largest certified error of the field, metres [default: 1e-3 of the diagonal].
    #[arg(long, value_name = "X", requires = "field", value_parser = tolerance)]
    pub field_tolerance_m: Option<f64>,
    /// Write pictures of the field into this folder: three slices as PNG.
    #[arg(long, value_name = "DIR", requires = "field")]
    pub pictures: Option<PathBuf>,
}

fn diagonal(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(x) if (0.0..=COORDINATE_MAX_M).contains(&x) => Ok(x),
        _ => Err(format!("expected a number from 0 to {COORDINATE_MAX_M}")),
    }
}

fn tolerance(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(x) if x > 0.0 && x <= COORDINATE_MAX_M => Ok(x),
        _ => Err(format!("expected a number above 0 and up to {COORDINATE_MAX_M}")),
    }
}

/// Reports on a file.
#[derive(Debug, Serialize)]
struct Examination {
    #[serde(flatten)]
    mesh: MeshReport,
    welded_edges: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    cells: Option<CellCounts>,
    #[serde(skip_serializing_if = "Option::is_none")]
    field: Option<FieldExamination>,
}

/// There is no report.
#[derive(Debug, thiserror::Error)]
pub enum InspectError {
    /// The file cannot be opened or read.
    #[error("{}: {error}", file.display())]
    Open {
        /// File as given.
        file: PathBuf,
        /// Error of the system.
        error: io::Error,
    },
    /// The format is not given, and the extension names no known one.
    #[error("{}: {error}; name it with --format", file.display())]
    Format {
        /// File as given.
        file: PathBuf,
        /// The unknown extension.
        error: UnknownFormat,
    },
    /// The file is damaged.
    #[error("{}: {error}", file.display())]
    Read {
        /// File as given.
        file: PathBuf,
        /// Problem and its position.
        error: MeshReadError,
    },
    /// The file holds no mesh that a scene takes.
    #[error("{}: {error}", file.display())]
    Refused {
        /// File as given.
        file: PathBuf,
        /// Problem and its position.
        error: MeshError,
    },
    /// No triangle of the mesh has an area.
    #[error("{}: all triangles are lines or points", file.display())]
    NoArea {
        /// File as given.
        file: PathBuf,
    },
    /// The requested tolerance is too fine for a field.
    #[error("--field-tolerance-m is {got}, expected at least {min}, 1e-4 of the diagonal")]
    Tolerance {
        /// Requested tolerance, metres.
        got: f64,
        /// Finest tolerance, metres.
        min: f64,
    },
    /// A picture cannot be written.
    #[error("cannot write pictures to {}: {error}", folder.display())]
    Pictures {
        /// Folder as given.
        folder: PathBuf,
        /// Error of the system.
        error: io::Error,
    },
    /// The report cannot be printed.
    #[error("cannot print the report: {0}")]
    Print(#[from] io::Error),
}

/// Reads, checks and reports on one file, on the standard output.
///
/// # Errors
/// Returns an error if the file cannot be read, is damaged or is refused: see [`InspectError`].
pub fn run(args: &InspectArgs) -> Result<(), InspectError> {
    let MeshFile { mesh: data, cells } = read(args)?;
    let loaded = checked(args, data.clone())?;
    let closing = if args.json { None } else { closing(args, &loaded, data) };
    let field = args.field.then(|| examine_field(args, loaded.mesh)).transpose()?;
    let welded_edges = loaded.report.welded_edges;
    let all = Examination { mesh: loaded.report, welded_edges, cells, field };
    let text = if args.json {
        serde_json::to_string_pretty(&all).map_err(io::Error::from)? + "\n"
    } else {
        let (mesh, field) = (&all.mesh, all.field.as_ref().map(field::table).unwrap_or_default());
        let verdict =
            uses(mesh, closing) + &cells.map(cell_verdict).unwrap_or_default() + &verdict(mesh);
        let table = cells.map(cell_table).unwrap_or_default() + &table(mesh);
        format!("{}\n{verdict}\n\n{table}{field}", args.file.display())
    };
    Ok(print(&text)?)
}

/// Returns the value of `--fill-holes-m` that closes an open mesh; `None` if none does, or if the mesh is closed.
/// `data`: the mesh as read.
fn closing(args: &InspectArgs, loaded: &LoadedMesh, data: MeshData) -> Option<f64> {
    let fill_holes_m = filling_all_m(&loaded.mesh, 0.0)?;
    // An error means no advice: with the triangles of the filling the mesh would be too large.
    let filled = checked(&InspectArgs { fill_holes_m, ..args.clone() }, data).ok()?;
    let mirrors = filled.report.duplicate_triangles > loaded.report.duplicate_triangles;
    let encloses = filled.report.volume_m3 > ENCLOSES_NOTHING * filled.report.area_m2.powf(1.5);
    (filled.report.closed && !mirrors && encloses).then_some(fill_holes_m)
}

/// First line: what the mesh can be used as. `closing`: see [`closing`].
fn uses(r: &MeshReport, closing: Option<f64>) -> String {
    let as_tool = match closing {
        _ if r.closed => "yes".to_owned(),
        Some(fill_holes_m) => {
            format!("yes with --fill-holes-m {}, which closes it", ShortNumber(fill_holes_m))
        }
        None => "its depths are uncertain near edges without exactly two triangles".to_owned(),
    };
    format!("As a tissue: yes. As a tool: {as_tool}.\n")
}

fn examine_field(args: &InspectArgs, mesh: TriangleMesh) -> Result<FieldExamination, InspectError> {
    // The scene's own limit is checked before the build: memory and time grow with the inverse square of the tolerance.
    let min = FIELD_TOLERANCE_SHARE_MIN * mesh.used_box().diagonal();
    if let Some(got) = args.field_tolerance_m.filter(|got| *got < min) {
        return Err(InspectError::Tolerance { got, min });
    }
    let stem = args.file.file_stem().unwrap_or_default().to_string_lossy();
    let pictures = args.pictures.as_deref().map(|folder| (folder, &*stem));
    field::examine(mesh, args.field_tolerance_m, pictures).map_err(|error| InspectError::Pictures {
        folder: args.pictures.clone().unwrap_or_default(),
        error,
    })
}

/// Reads the file once: bytes from a pipe cannot be read again.
fn read(args: &InspectArgs) -> Result<MeshFile, InspectError> {
    let file = || args.file.clone();
    // The format is determined before the file is read: an unknown format fails at once, however large the file is.
    let format = match args.format {
        Some(format) => format,
        None => MeshFormat::from_path(&args.file)
            .map_err(|error| InspectError::Format { file: file(), error })?,
    };
    let bytes = fs::read(&args.file).map_err(|error| InspectError::Open { file: file(), error })?;
    mesh_io::read_file(&bytes, format).map_err(|error| InspectError::Read { file: file(), error })
}

/// Loads the mesh as a server with its default limits would.
fn checked(args: &InspectArgs, data: MeshData) -> Result<LoadedMesh, InspectError> {
    let basis = if args.left_handed { Basis::LeftHanded } else { Basis::RightHanded };
    let orientation = if args.as_wound { Orientation::AsWound } else { Orientation::Auto };
    let limits = Limits::default();
    let options = LoadOptions {
        scale_to_m: args.scale_to_m,
        basis,
        orientation,
        fill_holes_m: args.fill_holes_m,
        weld_m: args.weld_m,
        max_vertices: limits.vertices_per_mesh,
        max_triangles: limits.triangles_per_mesh,
    };
    let file = || args.file.clone();
    let loaded =
        load(data, &options).map_err(|error| InspectError::Refused { file: file(), error })?;
    match loaded.report.degenerate_triangles < loaded.report.triangles {
        true => Ok(loaded),
        false => Err(InspectError::NoArea { file: file() }),
    }
}

fn table(r: &MeshReport) -> String {
    // All sizes share one unit. They are computed in f64: the difference of two stored coordinates is not rounded to
    // f32 again.
    let size_m = [0, 1, 2].map(|i| f64::from(r.box_max_m[i]) - f64::from(r.box_min_m[i]));
    let LengthUnit { name: unit, per_m } = LengthUnit::of(size_m.into_iter().fold(0.0, f64::max));
    let three = |v: [f64; 3], between: &str| {
        format!("{} {unit}", v.map(|x| format!("{:.3}", x * per_m)).join(between))
    };
    let point = |p: [f32; 3]| three(p.map(f64::from), ", ");
    let closed = if r.closed { "yes" } else { "no" };
    let rows = [
        ("vertices", grouped(r.vertices)),
        ("triangles", grouped(r.triangles)),
        ("bodies", grouped(r.bodies)),
        ("closed", closed.to_owned()),
        ("size", three(size_m, " x ")),
        ("box from", point(r.box_min_m)),
        ("box to", point(r.box_max_m)),
        ("mean edge", length(r.mean_edge_m)),
        ("area", format!("{:.3} {unit}2", r.area_m2 * per_m.powi(2))),
        ("volume", format!("{:.3} {unit}3", r.volume_m3 * per_m.powi(3))),
        ("open edges", grouped(r.open_edges)),
        ("welded edges", grouped(r.welded_edges)),
        ("non-manifold edges", grouped(r.non_manifold_edges)),
        ("inconsistent edges", grouped(r.inconsistent_edges)),
        ("degenerate triangles", grouped(r.degenerate_triangles)),
        ("duplicate triangles", grouped(r.duplicate_triangles)),
        ("unreferenced vertices", grouped(r.unreferenced_vertices)),
        ("reversed triangles", grouped(r.reversed_triangles)),
        ("filled holes", grouped(r.filled_holes)),
    ];
    in_columns(&rows)
}

fn cell_table(cells: CellCounts) -> String {
    let kinds = [
        ("tetrahedra", cells.tetrahedra),
        ("pyramids", cells.pyramids),
        ("wedges", cells.wedges),
        ("hexahedra", cells.hexahedra),
    ];
    let found = kinds.into_iter().filter(|(_, n)| *n > 0);
    let rows: Vec<_> = found
        .chain([
            ("inverted cells", cells.inverted),
            ("faces of over two cells", cells.overfull_faces),
        ])
        .map(|(name, n)| (name, grouped(n)))
        .collect();
    in_columns(&rows)
}

fn in_columns(rows: &[(&str, String)]) -> String {
    rows.iter().fold(String::new(), |mut table, (name, value)| {
        // Writing to a string cannot fail.
        let _ = writeln!(table, "  {name:<24}{value}");
        table
    })
}

fn cell_verdict(cells: CellCounts) -> String {
    let n = cells.tetrahedra + cells.pyramids + cells.wedges + cells.hexahedra;
    let overlap = match cells.overfull_faces {
        0 => "",
        _ => " Cells overlap: some faces belong to more than two of them.",
    };
    format!(
        "The surface is the boundary of {n} cells; inner points are vertices without a triangle.{overlap}\n"
    )
}

fn verdict(r: &MeshReport) -> String {
    let shape = match (r.closed, r.bodies) {
        (true, 1) if r.is_lumen() => "The wall of a lumen, with inside all around it".to_owned(),
        (true, 1) => "One closed body".to_owned(),
        (true, n) => format!("{n} closed bodies"),
        (false, 1) => "One body that is not closed".to_owned(),
        (false, n) => format!("{n} bodies, not all closed"),
    };
    let rule = match r.sign_rule {
        SignRule::Pseudonormal => ": inside is decided by the pseudonormal of the closest feature",
        // The warning of open edges or of several bodies says so.
        SignRule::WindingNumber => "",
    };
    let mut text = format!("{shape}{rule}.");
    for warning in r.warnings() {
        text += &format!("\nThe mesh {warning}.");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::{Random, shapes, shared_data};

    fn args(name: &str) -> Option<InspectArgs> {
        let file = shared_data()?.join("meshes").join(name);
        Some(InspectArgs { file, ..args_of_any() })
    }

    fn args_of_any() -> InspectArgs {
        InspectArgs {
            file: PathBuf::new(),
            fill_holes_m: 0.0,
            weld_m: 0.0,
            scale_to_m: 0.01,
            format: None,
            left_handed: false,
            as_wound: false,
            json: false,
            field: false,
            field_tolerance_m: None,
            pictures: None,
        }
    }

    fn loaded(args: &InspectArgs) -> Result<LoadedMesh, InspectError> {
        checked(args, read(args)?.mesh)
    }

    #[test]
    fn reports_on_a_closed_organ() {
        let Some(args) = args("liver-smooth.obj") else { return };
        let report = loaded(&args).expect("a mesh").report;
        assert!(
            table(&report).contains("\n  size                    63.864 x 49.076 x 44.121 mm\n")
        );
        assert_eq!(
            verdict(&report),
            "One closed body: inside is decided by the pseudonormal of the closest feature."
        );
        let unscaled = loaded(&InspectArgs { scale_to_m: 1.0, ..args }).expect("a mesh").report;
        let said = " m, as of a mesh in centimetres: multiply scale_to_m by 0.01.";
        assert!(verdict(&unscaled).ends_with(said), "{}", verdict(&unscaled));
        let json = serde_json::to_value(&report).expect("serialisable");
        assert_eq!(json["sign_rule"], "pseudonormal");
    }

    #[test]
    fn a_mesh_without_an_area_is_refused() {
        let file = std::env::temp_dir().join(format!("palpate-flat-{}.obj", std::process::id()));
        fs::write(&file, "v 0 0 0\nv 1 0 0\nv 2 0 0\nf 1 2 3\n").expect("a temporary folder");
        let error = loaded(&InspectArgs { file: file.clone(), ..args_of_any() });
        let said = error.expect_err("no area").to_string();
        assert!(said.ends_with("all triangles are lines or points"), "{said}");
        fs::remove_file(&file).expect("an own file");
    }

    #[test]
    fn an_open_mesh_is_told_what_closes_it() {
        let file = std::env::temp_dir().join(format!("palpate-open-{}.obj", std::process::id()));
        // A tetrahedron without the face between its last three corners.
        let text = "v 0 0 0\nv 3 0 0\nv 0 4 0\nv 0 0 0.1\nf 1 3 2\nf 1 2 4\nf 1 4 3\n";
        fs::write(&file, text).expect("a temporary folder");
        let args = InspectArgs { file, scale_to_m: 1e-3, ..args_of_any() };
        let open = loaded(&args).expect("a mesh");
        let data = read(&args).expect("readable").mesh;
        let said = uses(&open.report, closing(&args, &open, data.clone()));
        // The box of the hole is 3 x 4 x 0.1 mm, and its diagonal 5.001.
        assert_eq!(
            said,
            "As a tissue: yes. As a tool: yes with --fill-holes-m 0.0051, which closes it.\n"
        );
        assert!(table(&open.report).contains("3.000 x 4.000 x 0.100 mm\n"));
        let closed_args = InspectArgs { fill_holes_m: 0.0051, ..args };
        let closed = loaded(&closed_args).expect("a mesh");
        assert!(closed.report.closed && closing(&closed_args, &closed, data).is_none());
        assert_eq!(uses(&closed.report, None), "As a tissue: yes. As a tool: yes.\n");
        fs::remove_file(&closed_args.file).expect("an own file");
    }

    #[test]
    fn a_volume_mesh_is_shown_with_its_cells() {
        let file = std::env::temp_dir().join(format!("palpate-cells-{}.vtk", std::process::id()));
        let text = "# vtk DataFile Version 3.0\ntwo tetrahedra, one inverted\nASCII\nDATASET UNSTRUCTURED_GRID\n\
                    POINTS 5 float\n0 0 0 1 0 0 0 1 0 0 0 1 0 0 -1\nCELLS 2 10\n4 0 1 2 3\n4 0 1 2 4\n\
                    CELL_TYPES 2\n10 10\n";
        fs::write(&file, text).expect("a temporary folder");
        let args = InspectArgs { file, ..args_of_any() };
        let MeshFile { mesh, cells } = read(&args).expect("readable");
        fs::remove_file(&args.file).expect("an own file");
        let cells = cells.expect("cells");
        assert_eq!(
            cell_table(cells),
            "  tetrahedra              2\n  inverted cells          1\n  faces of over two cells 0\n"
        );
        assert!(cell_verdict(cells).starts_with("The surface is the boundary of 2 cells;"));
        let report = checked(&args, mesh).expect("a mesh").report;
        // In centimetres: a third of a cubic centimetre.
        assert!(report.closed && report.reversed_triangles == 0);
        assert!((report.volume_m3 - 1e-6 / 3.0).abs() < 1e-12, "{report:?}");
    }

    /// Split vertices are joined and leave nothing to fill; a mesh that only its own mirror image would close stays
    /// open.
    #[test]
    fn no_advice_mirrors_a_mesh() {
        let mut random = Random::new(2);
        let split = shapes::split(shapes::sphere(0.12, 3), 1.0, &mut random);
        // Two triangles that share nothing, each a hole of its own.
        let mut fan = shapes::split(shapes::sheet(2, 2, 0.1), 1.0, &mut random);
        fan.positions.iter_mut().enumerate().for_each(|(i, p)| p.z += 0.01 * i as f32);
        let triangle = MeshData { triangles: fan.triangles[..1].to_vec(), ..fan.clone() };
        for data in [split.clone(), fan, triangle, shapes::sheet(4, 4, 0.1)] {
            let loaded = checked(&args_of_any(), data.clone()).expect("a mesh");
            assert_eq!(closing(&args_of_any(), &loaded, data), None, "{:?}", loaded.report);
        }
        let report = checked(&args_of_any(), split).expect("a mesh").report;
        let n = 3 * report.triangles / 2;
        let said = format!("The mesh has different vertices on the two sides of {n} edges");
        assert!(report.closed && verdict(&report).contains(&said), "{}", verdict(&report));
    }

    #[test]
    fn says_in_one_line_why_there_is_no_report() {
        let Some(damaged) = args("liver_for_test_broken.vtk") else { return };
        let said = read(&damaged).expect_err("damaged").to_string();
        assert!(said.contains("POINTS 508 declares 6096 bytes") && !said.contains('\n'), "{said}");
        let text = InspectArgs { file: "README.md".into(), ..damaged.clone() };
        assert!(read(&text).expect_err("no mesh").to_string().ends_with("name it with --format"));
        let gone = InspectArgs { file: "gone.obj".into(), ..damaged };
        assert!(matches!(read(&gone), Err(InspectError::Open { .. })));
        let Some(fine) = args("tooth.obj") else { return };
        let scaled = InspectArgs { scale_to_m: -1.0, ..fine };
        assert!(matches!(loaded(&scaled), Err(InspectError::Refused { .. })));
    }
}
