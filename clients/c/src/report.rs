//! Report of a mesh: what the engine found in it, and what it mended.

use palpate::{
    geometry::{MeshReport, SignRule},
    proto,
};

use crate::{
    border::{call, out, read},
    code::{Failure, palpate_code},
    plain::palpate_vec3,
    scene::palpate_scene,
};

/// Rule that decides the sign of a distance to a mesh.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum palpate_sign_rule {
    /// A rule that only a newer server knows.
    #[default]
    PALPATE_SIGN_UNKNOWN = 0,
    /// Angle-weighted normal of the closest feature: the mesh is closed and has one body.
    PALPATE_SIGN_PSEUDONORMAL = 1,
    /// Generalised winding number: the mesh is open or has several bodies, and signs have a certainty.
    PALPATE_SIGN_WINDING_NUMBER = 2,
}

/// Counts and measures of a mesh as it was loaded.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct palpate_mesh_report {
    /// Vertices, those without a triangle included.
    pub n_vertices: u32,
    /// Triangles, those of zero area and those that fill holes included.
    pub n_triangles: u32,
    /// Connected bodies: triangles joined by edges.
    pub n_bodies: u32,
    /// Not 0: every edge has two triangles, and they agree in winding.
    pub is_closed: u32,
    /// Edges with one triangle, without joined edges.
    pub open_edges: u32,
    /// Open edges that were joined to one edge in pairs, because their ends are at equal positions or within `weld_m`.
    pub welded_edges: u32,
    /// Edges with three triangles or more.
    pub non_manifold_edges: u32,
    /// Edges whose two triangles disagree in winding.
    pub inconsistent_edges: u32,
    /// Triangles of zero area, which are kept.
    pub degenerate_triangles: u32,
    /// Triangles with the vertices of an earlier one, which are kept.
    pub duplicate_triangles: u32,
    /// Vertices that no triangle uses.
    pub unreferenced_vertices: u32,
    /// Triangles that were turned so that neighbours agree and closed bodies face outwards.
    pub reversed_triangles: u32,
    /// Holes that were filled because of `fill_holes_m`.
    pub filled_holes: u32,
    /// Triangles that fill them: the last ones of the mesh.
    pub added_triangles: u32,
    /// Rule that decides the sign of a distance.
    pub sign_rule: palpate_sign_rule,
    /// Signed volume, cubic metres: negative for the wall of a lumen. Meaningful if the mesh is closed.
    pub volume_m3: f64,
    /// Area, square metres.
    pub area_m2: f64,
    /// Mean length of an edge, metres.
    pub mean_edge_m: f64,
    /// Least corner of the box of all used vertices, metres.
    pub box_min_m: palpate_vec3,
    /// Greatest corner of that box, metres.
    pub box_max_m: palpate_vec3,
}

/// Mesh of a scene.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Meshed {
    Tissue(u32),
    Link { tool: u32, link: u32 },
}

impl Meshed {
    pub(crate) fn unknown(self, scene: &str) -> Failure {
        let what = match self {
            Meshed::Tissue(tissue) => format!("tissue {tissue}"),
            Meshed::Link { tool, link } => format!("link {link} of tool {tool}"),
        };
        let message = format!("there is no {what} in scene {scene:?}");
        Failure::new(palpate_code::PALPATE_NOT_FOUND, message)
    }
}

/// Reports on the mesh of a tissue as it was added; deformations and cuts do not change the report.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn palpate_tissue_report(
    scene: *mut palpate_scene,
    tissue_id: u32,
    report: *mut palpate_mesh_report,
) -> palpate_code {
    call(|| {
        // SAFETY: guaranteed by the caller, as the header requires.
        unsafe {
            let (scene, report) = (read(scene, "scene")?, out(report, "report")?);
            *report = scene.theatre.mesh_report(Meshed::Tissue(tissue_id))?;
        }
        Ok(())
    })
}

/// Reports on the mesh of a link, counted from 0 in its tool.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn palpate_link_report(
    scene: *mut palpate_scene,
    tool_id: u32,
    link: u32,
    report: *mut palpate_mesh_report,
) -> palpate_code {
    call(|| {
        // SAFETY: guaranteed by the caller, as the header requires.
        unsafe {
            let (scene, report) = (read(scene, "scene")?, out(report, "report")?);
            *report = scene.theatre.mesh_report(Meshed::Link { tool: tool_id, link })?;
        }
        Ok(())
    })
}

/// Makes a report of one whose fields have the same names.
macro_rules! report_of {
    ($report:ident, $corner:ident, $sign_rule:expr) => {
        palpate_mesh_report {
            n_vertices: $report.vertices,
            n_triangles: $report.triangles,
            n_bodies: $report.bodies,
            is_closed: $report.closed.into(),
            open_edges: $report.open_edges,
            welded_edges: $report.welded_edges,
            non_manifold_edges: $report.non_manifold_edges,
            inconsistent_edges: $report.inconsistent_edges,
            degenerate_triangles: $report.degenerate_triangles,
            duplicate_triangles: $report.duplicate_triangles,
            unreferenced_vertices: $report.unreferenced_vertices,
            reversed_triangles: $report.reversed_triangles,
            filled_holes: $report.filled_holes,
            added_triangles: $report.added_triangles,
            sign_rule: $sign_rule,
            volume_m3: $report.volume_m3,
            area_m2: $report.area_m2,
            mean_edge_m: $report.mean_edge_m,
            box_min_m: $corner($report.box_min_m),
            box_max_m: $corner($report.box_max_m),
        }
    };
}

impl From<&MeshReport> for palpate_mesh_report {
    fn from(report: &MeshReport) -> palpate_mesh_report {
        let corner = |[x, y, z]: [f32; 3]| palpate_vec3 { x: x.into(), y: y.into(), z: z.into() };
        let sign_rule = match report.sign_rule {
            SignRule::Pseudonormal => palpate_sign_rule::PALPATE_SIGN_PSEUDONORMAL,
            SignRule::WindingNumber => palpate_sign_rule::PALPATE_SIGN_WINDING_NUMBER,
        };
        report_of!(report, corner, sign_rule)
    }
}

impl From<&proto::MeshReport> for palpate_mesh_report {
    fn from(report: &proto::MeshReport) -> palpate_mesh_report {
        let corner = |corner: Option<proto::Vec3>| {
            let proto::Vec3 { x, y, z } = corner.unwrap_or_default();
            palpate_vec3 { x, y, z }
        };
        let sign_rule = match report.sign_rule() {
            proto::SignRule::Unspecified => palpate_sign_rule::PALPATE_SIGN_UNKNOWN,
            proto::SignRule::Pseudonormal => palpate_sign_rule::PALPATE_SIGN_PSEUDONORMAL,
            proto::SignRule::WindingNumber => palpate_sign_rule::PALPATE_SIGN_WINDING_NUMBER,
        };
        report_of!(report, corner, sign_rule)
    }
}
