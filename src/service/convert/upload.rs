//! Parsing of upload headers: meshes, tissues and tools.

use super::{FieldError, Problem, proto};
use crate::service::pose_message::{axis, point, pose_or_identity};
use crate::service::request_field::{in_range, name, within_limit};
use crate::{
    geometry::{
        Orientation, Pose,
        mesh::load::{Basis, LoadOptions},
        tolerance::COORDINATE_MAX_M,
    },
    mesh_io::MeshFormat,
    scene::{
        Limits, Probe, TissueKind, TissueOptions, limits::FIELD_TOLERANCE_SHARE_MIN,
        memory::binding_bytes_expected, tissue::binding::CONTROLS_PER_VERTEX_MAX,
    },
    sdf::FieldOptions,
    service::host::quota::Share,
};

/// Minimum and maximum factor to metres: from a nanometre to a kilometre.
const SCALE_MIN: f64 = 1e-9;
const SCALE_MAX: f64 = 1e3;
/// Minimum and maximum height of a latitude band, in mean edge lengths. Below, a mesh would get more bands than
/// triangles; above, all bands are one.
const BAND_EDGES_MIN: f64 = 0.5;
const BAND_EDGES_MAX: f64 = 1e3;

/// Declared size of a mesh upload, and options to read it.
pub struct MeshDeclared {
    /// Size of the upload.
    pub size: DeclaredSize,
    /// Unit, handedness and limits.
    pub options: LoadOptions,
}

/// Kind and size of an upload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeclaredSize {
    /// Coordinates and indices.
    Raw {
        /// Number of positions.
        vertices: u32,
        /// Number of index triples.
        triangles: u32,
    },
    /// A file, byte for byte.
    File {
        /// Format of the file.
        format: MeshFormat,
        /// Length of the file.
        bytes: u64,
    },
    /// Nothing: the mesh is the boundary of the cells of a binding.
    Boundary {
        /// Number of nodes.
        nodes: u32,
    },
}

/// Header of an AddTissue stream.
pub struct TissueDeclared {
    /// Name; only its length is checked.
    pub name: String,
    /// Surface of the tissue.
    pub mesh: MeshDeclared,
    /// Meaning of the tissue for an instrument.
    pub kind: TissueKind,
    /// Options of the index.
    pub options: TissueOptions,
    /// Controls that carry the vertices.
    pub binding: Option<BindingDeclared>,
}

/// Declared sizes of a binding.
#[derive(Clone, Copy, Debug)]
pub struct BindingDeclared {
    /// The controls are frames, else points.
    pub are_frames: bool,
    /// Number of controls.
    pub controls: u32,
    /// Number of weights of all vertices; 0 with cells.
    pub weights: u32,
    /// Number of cells with four corners.
    pub tetrahedra: u32,
    /// Number of cells with eight corners.
    pub hexahedra: u32,
}

/// Header of an AddTool stream.
pub struct ToolDeclared {
    /// Name; only its length is checked.
    pub name: String,
    /// Links: at least one, with unique names.
    pub links: Vec<LinkDeclared>,
    /// Probes, with unique names, on existing links.
    pub probes: Vec<Probe>,
}

/// Declared link of a tool.
pub struct LinkDeclared {
    /// Name, unique in its tool.
    pub name: String,
    /// Rest pose: tool frame from link frame.
    pub rest: Pose,
    /// Surface of the link.
    pub mesh: MeshDeclared,
    /// Tolerance of the link's field, metres; `None`: the default.
    pub field_tolerance: Option<f64>,
}

impl MeshDeclared {
    /// Returns the number of vertices; 0 if only the file says it.
    pub fn vertices(&self) -> u64 {
        match self.size {
            DeclaredSize::Raw { vertices, .. } => vertices.into(),
            DeclaredSize::Boundary { nodes } => nodes.into(),
            DeclaredSize::File { .. } => 0,
        }
    }

    /// Returns the share of a key's quotas and of the server's memory that the upload takes until it is a mesh.
    /// `of_mesh`: share of a mesh with that many vertices and triangles.
    pub fn share(&self, of_mesh: fn(u64, u64) -> Share) -> Share {
        match self.size {
            DeclaredSize::Raw { vertices, triangles } => of_mesh(vertices.into(), triangles.into()),
            // The triangles of a file are known only after it was read, which takes the file and a reader's arrays.
            DeclaredSize::File { format, bytes } => {
                Share::of_bytes(bytes.saturating_add(format.read_bytes_max(bytes)))
            }
            // A closed surface has twice as many triangles as vertices; what there are is counted once it is made.
            DeclaredSize::Boundary { nodes } => of_mesh(nodes.into(), 2 * u64::from(nodes)),
        }
    }
}

/// Bytes of a tetrahedron while vertices are bound to it: its corners as sent, in the tree and in the faces of the
/// boundary, and a node of the tree.
const TETRAHEDRON_BYTES: u64 = 160;

impl BindingDeclared {
    /// Returns the memory that the binding takes for a mesh of `vertices`.
    pub fn share(&self, vertices: u64) -> Share {
        let weights = if self.has_cells() { 4 * vertices } else { self.weights.into() };
        let tetrahedra = u64::from(self.tetrahedra) + 6 * u64::from(self.hexahedra);
        let of_weights = binding_bytes_expected(self.controls.into(), weights);
        Share::of_bytes(of_weights.saturating_add(TETRAHEDRON_BYTES * tetrahedra))
    }

    /// Returns true if cells give the weights.
    pub fn has_cells(&self) -> bool {
        self.tetrahedra > 0 || self.hexahedra > 0
    }
}

/// Parses the header of a tissue.
pub fn tissue(
    header: &proto::AddTissueHeader,
    limits: &Limits,
) -> Result<TissueDeclared, FieldError> {
    let asked = header.options.unwrap_or_default();
    let band_edges = match asked.band_edges {
        0.0 => None,
        n => Some(in_range(n, BAND_EDGES_MIN, BAND_EDGES_MAX, "options.band_edges")?),
    };
    let binding = header.binding.as_ref().map(|sent| binding(sent, limits)).transpose()?;
    let surface = match (&header.mesh, &binding) {
        (None, Some(binding)) if binding.has_cells() => MeshDeclared {
            size: DeclaredSize::Boundary { nodes: binding.controls },
            options: LoadOptions::default(),
        },
        (sent, _) => mesh(sent, limits)?,
    };
    Ok(TissueDeclared {
        name: name(&header.name, "name")?,
        mesh: oriented(surface, asked.orientation).map_err(|e| e.within("options"))?,
        kind: kind(asked.kind).map_err(|e| e.within("options"))?,
        options: TissueOptions {
            latitude_axis: axis(&asked.latitude_axis, "options.latitude_axis")?,
            band_edges,
        },
        binding,
    })
}

fn binding(sent: &proto::BindingHeader, limits: &Limits) -> Result<BindingDeclared, FieldError> {
    let are_frames = match proto::ControlKind::try_from(sent.kind) {
        Ok(proto::ControlKind::Frames) => true,
        Ok(proto::ControlKind::Points | proto::ControlKind::Unspecified) => false,
        Err(_) => return Err(Problem::Enumerator { got: sent.kind }.of("binding.kind")),
    };
    // A vertex may be a control of its own, so there may be as many controls as vertices.
    let (controls, weights) = (sent.controls as usize, sent.weights as usize);
    let max = limits.vertices_per_mesh as usize;
    within_limit(controls, max, "vertices_per_mesh", "binding.controls")?;
    let weights_max = max.saturating_mul(CONTROLS_PER_VERTEX_MAX);
    if weights > weights_max {
        let problem = Problem::TooMany { got: weights, max: weights_max };
        return Err(problem.of("binding.weights"));
    }
    let proto::BindingHeader { tetrahedra, hexahedra, .. } = *sent;
    let cells = u64::from(tetrahedra) + u64::from(hexahedra);
    let max = limits.triangles_per_mesh as usize;
    within_limit(cells as usize, max, "triangles_per_mesh", "binding.tetrahedra")?;
    if cells > 0 && weights > 0 {
        return Err(Problem::Unexpected("cells give the weights").of("binding.weights"));
    }
    if cells > 0 && are_frames {
        return Err(Problem::Unexpected("the nodes of cells are points").of("binding.kind"));
    }
    let proto::BindingHeader { controls, weights, .. } = *sent;
    Ok(BindingDeclared { are_frames, controls, weights, tetrahedra, hexahedra })
}

fn oriented(mut mesh: MeshDeclared, sent: i32) -> Result<MeshDeclared, FieldError> {
    use proto::SurfaceOrientation::{AsWound, Auto, Unspecified};
    mesh.options.orientation = match proto::SurfaceOrientation::try_from(sent) {
        Ok(AsWound) => Orientation::AsWound,
        Ok(Auto | Unspecified) => Orientation::Auto,
        Err(_) => return Err(Problem::Enumerator { got: sent }.of("orientation")),
    };
    Ok(mesh)
}

fn kind(sent: i32) -> Result<TissueKind, FieldError> {
    match proto::TissueKind::try_from(sent) {
        Ok(proto::TissueKind::ForbiddenRegion) => Ok(TissueKind::ForbiddenRegion),
        Ok(proto::TissueKind::Tissue | proto::TissueKind::Unspecified) => Ok(TissueKind::Tissue),
        Ok(proto::TissueKind::Instrument) => {
            Err(Problem::Unexpected("a link of a tool is added by AddInstrument").of("kind"))
        }
        Err(_) => Err(Problem::Enumerator { got: sent }.of("kind")),
    }
}

/// Parses the header of a tool.
pub fn tool(header: &proto::AddToolHeader, limits: &Limits) -> Result<ToolDeclared, FieldError> {
    if header.links.is_empty() {
        return Err(Problem::Missing.of("links"));
    }
    within_limit(header.links.len(), limits.links_per_tool, "links_per_tool", "links")?;
    within_limit(header.probes.len(), limits.probes_per_tool, "probes_per_tool", "probes")?;
    let link = |(at, sent)| {
        link(sent, limits).map_err(|e: FieldError| e.within(format_args!("links[{at}]")))
    };
    let probe = |(at, sent)| {
        probe(sent, header.links.len()).map_err(|e| e.within(format_args!("probes[{at}]")))
    };
    let tool = ToolDeclared {
        name: name(&header.name, "name")?,
        links: header.links.iter().enumerate().map(link).collect::<Result<_, _>>()?,
        probes: header.probes.iter().enumerate().map(probe).collect::<Result<_, _>>()?,
    };
    // Checked last: a refusal repeats the name, whose length has been checked by now.
    once_each("links", tool.links.iter().map(|l| &*l.name))?;
    once_each("probes", tool.probes.iter().map(|p| &*p.name))?;
    Ok(tool)
}

fn once_each<'a>(
    field: &str,
    names: impl Iterator<Item = &'a str> + Clone,
) -> Result<(), FieldError> {
    for (at, name) in names.clone().enumerate() {
        if names.clone().take(at).any(|n| n == name) {
            let got = name.to_owned();
            return Err(Problem::RepeatedName { got }.of(format!("{field}[{at}].name")));
        }
    }
    Ok(())
}

fn link(sent: &proto::LinkHeader, limits: &Limits) -> Result<LinkDeclared, FieldError> {
    let rest = match &sent.rest_pose {
        Some(pose) => pose_or_identity(pose).map_err(|e| e.within("rest_pose"))?,
        None => Pose::IDENTITY,
    };
    let field_tolerance = match sent.field.unwrap_or_default().tolerance_m {
        0.0 => None,
        t => Some(in_range(t, f64::MIN_POSITIVE, COORDINATE_MAX_M, "field.tolerance_m")?),
    };
    let (name, mesh) = (name(&sent.name, "name")?, mesh(&sent.mesh, limits)?);
    Ok(LinkDeclared { name, rest, mesh, field_tolerance })
}

/// Returns the options of link `at`'s field, checked against the link's diagonal, metres.
pub fn field_options(
    tolerance_m: Option<f64>,
    diagonal: f64,
    at: usize,
) -> Result<FieldOptions, FieldError> {
    if let Some(tolerance) = tolerance_m {
        let min = FIELD_TOLERANCE_SHARE_MIN * diagonal;
        let field = format!("header.links[{at}].field.tolerance_m");
        in_range(tolerance, min, COORDINATE_MAX_M, &field)?;
    }
    Ok(FieldOptions { tolerance_m, ..FieldOptions::default() })
}

fn probe(sent: &proto::Probe, n_links: usize) -> Result<Probe, FieldError> {
    let link = sent.link as usize;
    if link >= n_links {
        return Err(Problem::Index { got: link, end: n_links }.of("link"));
    }
    Ok(Probe {
        name: name(&sent.name, "name")?,
        link,
        position: point(&sent.position_m).map_err(|e| e.within("position_m"))?,
        radius: in_range(sent.radius_m, 0.0, COORDINATE_MAX_M, "radius_m")?,
    })
}

fn mesh(header: &Option<proto::MeshHeader>, limits: &Limits) -> Result<MeshDeclared, FieldError> {
    let header = header.as_ref().ok_or_else(|| Problem::Missing.of("mesh"))?;
    declared(header, limits).map_err(|e| e.within("mesh"))
}

fn declared(header: &proto::MeshHeader, limits: &Limits) -> Result<MeshDeclared, FieldError> {
    let scale_to_m = match header.scale_to_m {
        0.0 => 1.0,
        scale => in_range(scale, SCALE_MIN, SCALE_MAX, "scale_to_m")?,
    };
    let options = LoadOptions {
        scale_to_m,
        basis: basis(header.basis)?,
        orientation: Orientation::Auto,
        fill_holes_m: in_range(header.fill_holes_m, 0.0, COORDINATE_MAX_M, "fill_holes_m")?,
        weld_m: in_range(header.weld_m, 0.0, COORDINATE_MAX_M, "weld_m")?,
        max_vertices: limits.vertices_per_mesh,
        max_triangles: limits.triangles_per_mesh,
    };
    Ok(MeshDeclared { size: size(&header.source, limits)?, options })
}

fn size(
    source: &Option<proto::mesh_header::Source>,
    limits: &Limits,
) -> Result<DeclaredSize, FieldError> {
    use proto::mesh_header::Source;
    match source.as_ref().ok_or_else(|| Problem::Missing.of("source"))? {
        // Refused before the first chunk: the client learns it after a round trip instead of an upload.
        Source::Raw(proto::RawMeshSize { vertices, triangles }) => {
            within_limit(
                *vertices as usize,
                limits.vertices_per_mesh as usize,
                "vertices_per_mesh",
                "raw.vertices",
            )?;
            within_limit(
                *triangles as usize,
                limits.triangles_per_mesh as usize,
                "triangles_per_mesh",
                "raw.triangles",
            )?;
            Ok(DeclaredSize::Raw { vertices: *vertices, triangles: *triangles })
        }
        Source::File(proto::MeshFileSize { format, bytes }) => {
            let (got, max) = (*bytes, limits.bytes_per_file);
            if got > max {
                return Err(
                    Problem::OverLimit { got, limit: "bytes_per_file", max }.of("file.bytes")
                );
            }
            Ok(DeclaredSize::File { format: mesh_format(*format)?, bytes: got })
        }
    }
}

fn basis(sent: i32) -> Result<Basis, FieldError> {
    use proto::MeshBasis::{LeftHanded, RightHanded, Unspecified};
    match proto::MeshBasis::try_from(sent) {
        Ok(Unspecified | RightHanded) => Ok(Basis::RightHanded),
        Ok(LeftHanded) => Ok(Basis::LeftHanded),
        Err(_) => Err(Problem::Enumerator { got: sent }.of("basis")),
    }
}

fn mesh_format(sent: i32) -> Result<MeshFormat, FieldError> {
    match proto::MeshFormat::try_from(sent) {
        Ok(proto::MeshFormat::Obj) => Ok(MeshFormat::Obj),
        Ok(proto::MeshFormat::Stl) => Ok(MeshFormat::Stl),
        Ok(proto::MeshFormat::Ply) => Ok(MeshFormat::Ply),
        Ok(proto::MeshFormat::Off) => Ok(MeshFormat::Off),
        Ok(proto::MeshFormat::Vtk) => Ok(MeshFormat::Vtk),
        Ok(proto::MeshFormat::Vtu) => Ok(MeshFormat::Vtu),
        Ok(proto::MeshFormat::Vtp) => Ok(MeshFormat::Vtp),
        Ok(proto::MeshFormat::Msh) => Ok(MeshFormat::Msh),
        Ok(proto::MeshFormat::Glb) => Ok(MeshFormat::Glb),
        Ok(proto::MeshFormat::Unspecified) => Err(Problem::Missing.of("file.format")),
        Err(_) => Err(Problem::Enumerator { got: sent }.of("file.format")),
    }
}
