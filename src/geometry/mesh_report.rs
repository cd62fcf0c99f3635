//! Stub: the real one is being written elsewhere and replaces this file.
#![allow(missing_docs)]
use super::topology::SignRule;
use glam::DVec3;
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MeshReport {
    pub vertices: usize,
    pub triangles: usize,
    pub bodies: usize,
    pub open_edges: usize,
    pub non_manifold_edges: usize,
    pub degenerate_triangles: usize,
    pub duplicate_triangles: usize,
    pub unreferenced_vertices: usize,
    pub reversed_triangles: usize,
    pub inconsistent_edges: usize,
    pub closed: bool,
    pub volume_m3: f64,
    pub area_m2: f64,
    pub box_min_m: DVec3,
    pub box_max_m: DVec3,
    pub mean_edge_m: f64,
    pub sign_rule: SignRule,
}
