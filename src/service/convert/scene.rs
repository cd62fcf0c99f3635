//! Conversion of scenes, tissues, tools and mesh reports to messages.

use super::proto;
use crate::service::pose_message::{pose_message, vec3};
use crate::{
    geometry::mesh::{report::MeshReport, topology::SignRule},
    scene::{Probe, Tissue, TissueId, TissueKind, Tool, ToolId, tissue::binding::Controls},
    service::host::{
        durable::scene_journal::DurableRevisions, field_builds::BuildNow, fields::Obtained,
        scene_host::SceneHost,
    },
    store::FieldOrigin,
};

/// Converts a tissue id; the scene checks that it exists.
pub fn tissue_id(sent: u32) -> TissueId {
    TissueId(sent)
}

/// Converts a tool id; the scene checks that it exists.
pub fn tool_id(sent: u32) -> ToolId {
    ToolId(sent)
}

/// Converts a scene to its message.
pub fn scene(host: &SceneHost) -> proto::Scene {
    let scene = &host.scene;
    proto::Scene {
        quarantined: host.is_quarantined(),
        scene_id: scene.id().to_owned(),
        tissues: scene.tissues().iter().map(|t| tissue(t, host.durable(t))).collect(),
        tools: scene.tools().iter().map(|t| tool(t)).collect(),
        durable: host.is_durable(),
        field_builds: host.field_builds.now().into_iter().map(field_build).collect(),
    }
}

fn field_build((tool, BuildNow { link, share }): (String, BuildNow)) -> proto::FieldBuild {
    proto::FieldBuild { tool, link, share }
}

fn tissue(tissue: &Tissue, durable: Option<DurableRevisions>) -> proto::Tissue {
    let now = tissue.current();
    let mesh = now.surface.mesh();
    let controls = now.driven.as_ref().map(|driven| &driven.controls);
    let (tool, link) = match tissue.kind() {
        TissueKind::Instrument { tool, link } => (tool.0, link),
        TissueKind::Tissue | TissueKind::ForbiddenRegion => (0, 0),
    };
    proto::Tissue {
        tissue_id: tissue.id().0,
        name: tissue.name().to_owned(),
        geometry_revision: now.geometry_revision,
        topology_revision: now.topology_revision,
        report: Some(report(tissue.report())),
        vertices: mesh.positions().len() as u32,
        triangles: mesh.n_triangles() as u32,
        sign_rule: sign_rule(now.surface.sign_rule()) as i32,
        kind: kind(tissue.kind()) as i32,
        durable_geometry_revision: durable.map(|d| d.geometry),
        durable_topology_revision: durable.map(|d| d.topology),
        controls: controls.map_or(0, |controls| controls.len() as u32),
        control_kind: match controls {
            Some(Controls::Points(_)) => proto::ControlKind::Points.into(),
            Some(Controls::Frames(_)) => proto::ControlKind::Frames.into(),
            None => proto::ControlKind::Unspecified.into(),
        },
        tool_id: tool,
        link,
    }
}

/// Converts the kind of a tissue to its message.
pub fn kind(kind: TissueKind) -> proto::TissueKind {
    match kind {
        TissueKind::Tissue => proto::TissueKind::Tissue,
        TissueKind::ForbiddenRegion => proto::TissueKind::ForbiddenRegion,
        TissueKind::Instrument { .. } => proto::TissueKind::Instrument,
    }
}

fn tool(tool: &Tool) -> proto::Tool {
    let link = |link: &crate::scene::Link| proto::Link {
        name: link.name.clone(),
        report: Some(report(&link.report)),
        rest_pose: Some(pose_message(&link.rest)),
    };
    proto::Tool {
        tool_id: tool.id.0,
        name: tool.name.clone(),
        links: tool.links.iter().map(link).collect(),
        probes: tool.probes.iter().map(probe).collect(),
    }
}

fn probe(probe: &Probe) -> proto::Probe {
    proto::Probe {
        name: probe.name.clone(),
        link: probe.link as u32,
        position_m: Some(vec3(probe.position)),
        radius_m: probe.radius,
    }
}

/// Converts a sign rule to its message.
pub fn sign_rule(rule: SignRule) -> proto::SignRule {
    match rule {
        SignRule::Pseudonormal => proto::SignRule::Pseudonormal,
        SignRule::WindingNumber => proto::SignRule::WindingNumber,
    }
}

/// Converts a mesh report to its message.
pub fn report(report: &MeshReport) -> proto::MeshReport {
    proto::MeshReport {
        vertices: report.vertices,
        triangles: report.triangles,
        bodies: report.bodies,
        open_edges: report.open_edges,
        non_manifold_edges: report.non_manifold_edges,
        degenerate_triangles: report.degenerate_triangles,
        duplicate_triangles: report.duplicate_triangles,
        unreferenced_vertices: report.unreferenced_vertices,
        reversed_triangles: report.reversed_triangles,
        inconsistent_edges: report.inconsistent_edges,
        closed: report.closed,
        volume_m3: report.volume_m3,
        area_m2: report.area_m2,
        box_min_m: Some(corner(report.box_min_m)),
        box_max_m: Some(corner(report.box_max_m)),
        mean_edge_m: report.mean_edge_m,
        sign_rule: sign_rule(report.sign_rule) as i32,
        filled_holes: report.filled_holes,
        added_triangles: report.added_triangles,
        welded_edges: report.welded_edges,
        warnings: report.warnings(),
    }
}

/// Converts a field report to its message.
pub fn field_report(obtained: &Obtained) -> proto::FieldReport {
    let report = obtained.field.report();
    proto::FieldReport {
        subspaces: report.subspaces as u32,
        samples: report.samples as u64,
        bytes: report.bytes as u64,
        tolerance_m: report.tolerance_m,
        bound_m: report.bound_m,
        interpolated_cells: report.interpolated_cells as u64,
        exact_cells: report.exact_cells as u64,
        wide_cells: report.wide_cells as u64,
        build_ms: obtained.took.as_secs_f64() * 1e3,
        cached: obtained.origin != FieldOrigin::Built,
    }
}

fn corner(at: [f32; 3]) -> proto::Vec3 {
    vec3(glam::Vec3::from_array(at).as_dvec3())
}
