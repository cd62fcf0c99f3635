//! Memory of scenes: measured for data that exist, estimated for data that are yet to come.

use std::{collections::BTreeMap, sync::Arc};

use glam::Vec3;

use super::{
    Scene, Tissue,
    self_collision::{FeatureContact, PAIRS_KEPT_BYTES},
    tissue::binding::BLENDED_CONTROLS_MAX,
};

/// Bytes of a mesh that becomes a tissue: the published revision and the writer's spare, each with mesh and index. Half
/// of a vertex's bytes are its entry in a table of the ends of open edges, which a strip has at every vertex.
const TISSUE_BYTES: MeshBytes = MeshBytes { any: 32 << 10, per_vertex: 240, per_triangle: 480 };
/// Bytes of a mesh that becomes a link: mesh, index and box tree. Its field is added to that.
const LINK_BYTES: MeshBytes = MeshBytes { any: 32 << 10, per_vertex: 120, per_triangle: 800 };

/// Bytes of a binding, for each weight ("vertex") and each control ("triangle"). A weight takes 12 bytes, and up to 16
/// each for its vertex and for a run of its own.
const BINDING_BYTES: MeshBytes = MeshBytes { any: 4 << 10, per_vertex: 88, per_triangle: 160 };

/// Share of a tissue's bytes in lists that have an entry for each vertex or triangle and grow by doubling.
const LISTS_SHARE: f64 = 0.25;

/// Bytes of a session and of each of its links for a tick's answer, its contacts and all that it keeps for the next
/// tick: `tests/allocation` compares.
const SESSION_BYTES: u64 = 256 << 10;
const LINK_SESSION_BYTES: u64 = 2 << 20;

/// Bytes of a self-collision job: a copy of the mesh, former vertex positions, owners, items of a tree and the tree
/// itself, which grows by doubling. For a mesh with all vertices along seams, those too.
const SWEPT_BYTES: MeshBytes = MeshBytes { any: 64 << 10, per_vertex: 100, per_triangle: 640 };

/// Upper estimates for a mesh that does not exist yet. Lists grow by doubling, so that an estimate for any mesh is up
/// to twice the memory of most; a test compares with shapes and instruments.
#[derive(Clone, Copy)]
struct MeshBytes {
    /// Bytes of the smallest mesh.
    any: u64,
    per_vertex: u64,
    per_triangle: u64,
}

impl MeshBytes {
    fn of(self, vertices: u64, triangles: u64) -> u64 {
        vertices
            .saturating_mul(self.per_vertex)
            .saturating_add(triangles.saturating_mul(self.per_triangle))
            .saturating_add(self.any)
    }
}

/// Upper estimate of a tissue with these counts of vertices and triangles, bytes, without held positions.
pub fn tissue_bytes_expected(vertices: u64, triangles: u64) -> u64 {
    TISSUE_BYTES.of(vertices, triangles)
}

/// Upper estimate of a binding with these counts of controls and weights, bytes, for a mesh with a weight or more for
/// each vertex: as uploaded, with its runs, and once more while it is made or cut.
pub fn binding_bytes_expected(controls: u64, weights: u64) -> u64 {
    BINDING_BYTES.of(weights, controls)
}

/// Upper estimate of a link with these counts of vertices and triangles, bytes, without its field.
pub fn link_bytes_expected(vertices: u64, triangles: u64) -> u64 {
    LINK_BYTES.of(vertices, triangles)
}

/// Bytes for holding a tissue's positions once more.
pub fn held_bytes(vertices: usize) -> u64 {
    (size_of::<Vec3>() * vertices) as u64
}

/// Upper estimate of a session with `links` links, bytes, with all contacts and pairs.
pub fn session_bytes_expected(links: usize) -> u64 {
    SESSION_BYTES + LINK_SESSION_BYTES * links as u64
}

/// Upper estimate of a self-collision job, bytes, in addition to the scene: for the vertex and triangle counts of each
/// tissue, and the contacts that it may give. `tests/allocation` compares.
pub fn self_collision_bytes_expected(
    tissues: impl IntoIterator<Item = (u64, u64)>,
    max_contacts: usize,
) -> u64 {
    // During the search twice as many contacts are kept, and a growing list exists twice.
    let contacts = PAIRS_KEPT_BYTES + (4 * size_of::<FeatureContact>() * max_contacts) as u64;
    let swept =
        tissues.into_iter().map(|(vertices, triangles)| SWEPT_BYTES.of(vertices, triangles));
    swept.fold(contacts, u64::saturating_add)
}

impl Tissue {
    /// Upper estimate of a cut that adds these counts of vertices and triangles, bytes. Lists grow by doubling, so that
    /// a single vertex may take as much as a quarter of the present memory.
    pub fn cut_bytes_expected(&self, vertices: u64, triangles: u64) -> u64 {
        let current = self.current();
        let mesh = current.surface.mesh();
        // Ids and not existing elements: lists keep the entries of removed ones.
        let before = (mesh.positions().len() as u64, u64::from(mesh.triangle_id_end()));
        let after = TISSUE_BYTES.of(before.0 + vertices, before.1.saturating_add(triangles));
        // A cut that only removes makes none of the long lists longer.
        let grows = vertices > 0 || triangles > 0;
        let now = self.unheld_bytes_expected();
        let doubled = (now as f64 * LISTS_SHARE) as u64;
        let more = if grows { after.saturating_sub(now).max(doubled) } else { 0 };
        // A cut copies the binding, and each of its new vertices may have as many weights as a blend has.
        let of_binding = current.driven.as_ref().map_or(0, |driven| {
            let weights = vertices.saturating_mul(BLENDED_CONTROLS_MAX as u64);
            binding_bytes_expected(0, weights).saturating_add(driven.heap_bytes() as u64)
        });
        let more = more.saturating_add(of_binding);
        more.saturating_add(TISSUE_BYTES.of(vertices, triangles))
    }
}

impl Scene {
    /// Returns the bytes of the scene's tissues and tools, each tissue with its writer's spare copy whether that exists
    /// yet or not, and a field once that several links share.
    pub fn heap_bytes(&self) -> u64 {
        let tissues: u64 = self.tissues().iter().map(|t| t.heap_bytes_expected()).sum();
        let tools = self.tools();
        let links = || tools.iter().flat_map(|tool| &tool.links);
        let fields: BTreeMap<_, _> =
            links().map(|link| (Arc::as_ptr(&link.field), link.field_bytes)).collect();
        let of_links = links().map(|link| link.heap_bytes).chain(fields.into_values());
        tissues + of_links.sum::<usize>() as u64
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;
    use crate::{
        geometry::{
            MeshData, Pose, TriangleId,
            mesh::load::{LoadOptions, LoadedMesh, load},
        },
        oracle::{Random, shapes},
        scene::{
            Limits, Link, TissueOptions, ToolParts,
            tissue::{deform::Deformation, edit::TopologyEdit},
            tool::field::default_field,
        },
        sdf::Field,
        surface::Surface,
    };

    fn meshes() -> Vec<LoadedMesh> {
        let all = vec![
            shapes::sphere(0.05, 1),
            shapes::sphere(0.05, 8),
            shapes::organ(3_000, 1),
            shapes::sheet(30, 30, 1e-3),
            shapes::sheet(600, 2, 1e-3),
            shapes::split(shapes::sphere(0.05, 8), 1.0, &mut Random::new(1)),
            shapes::tube(0.01, 0.1, 20, 20),
            shapes::capsule(0.005, 0.05, 24),
        ];
        let loaded = |data: MeshData| load(data, &LoadOptions::default()).expect("a mesh");
        all.into_iter().map(loaded).collect()
    }

    /// A later measurement must not exceed a quota, and an estimate must not be more than twice the measurement.
    fn assert_estimate(what: &str, expected: u64, found: u64, triangles: usize) {
        println!("{what} of {triangles} triangles: {found} bytes, {expected} expected");
        assert!(found <= expected, "{what}: {found} bytes, {expected} expected");
        let is_small = triangles < 1_000;
        assert!(is_small || expected <= 3 * found, "{what}: {found} bytes, {expected} expected");
    }

    #[test]
    fn a_mesh_takes_what_was_expected() {
        for mesh in meshes() {
            let n_triangles = mesh.mesh.n_triangles();
            let (v, t) = (mesh.mesh.positions().len() as u64, n_triangles as u64);
            let scene = Scene::new("s".to_owned(), Limits::default());
            let added = scene.add_tissue("t", mesh.clone(), TissueOptions::default(), 0);
            let tissue: Arc<Tissue> = added.expect("room");
            let expected = tissue_bytes_expected(v, t);
            assert_estimate("a tissue", expected, tissue.heap_bytes_expected(), n_triangles);
            // The measurement equals the estimate from before the spare existed.
            for _ in 0..3 {
                let positions = tissue.current().surface.mesh().positions().to_vec();
                tissue.deform(Deformation::Dense(positions), 0).expect("the same vertices");
                tissue.catch_up();
            }
            let said = tissue.heap_bytes_expected();
            // Lists of the spare may have more capacity to grow than those of the published revision.
            let found = tissue.heap_bytes() as u64;
            assert!(4 * found <= 5 * said, "{found} of {said}");
            assert_eq!(scene.heap_bytes(), said);
            let link = Link::new("l".to_owned(), mesh, Pose::IDENTITY, default_field);
            let without_field = link.heap_bytes as u64;
            assert_estimate("a link", link_bytes_expected(v, t), without_field, n_triangles);
        }
    }

    #[test]
    fn a_cut_takes_no_more_than_was_expected() {
        for mesh in meshes() {
            let scene = Scene::new("s".to_owned(), Limits::default());
            let tissue = scene.add_tissue("t", mesh, TissueOptions::default(), 0).expect("room");
            let mut most = 0;
            for n in 0..100.min(tissue.current().surface.mesh().n_triangles() as u32 - 1) {
                let vertex = tissue.current().surface.mesh().positions().len() as u32;
                let edit = TopologyEdit {
                    base_revision: Some(n.into()),
                    removed: vec![TriangleId(n)],
                    added_positions: vec![Vec3::splat(1e-3 * n as f32)],
                    added: vec![[0, 1, vertex], [1, 2, vertex]],
                    parents: vec![TriangleId(n); 2],
                    ..TopologyEdit::default()
                };
                let (before, more) =
                    (tissue.heap_bytes_expected(), tissue.cut_bytes_expected(1, 2));
                tissue.edit(edit, &Limits::default(), 0).expect("good");
                let found = tissue.heap_bytes_expected().saturating_sub(before);
                assert!(found <= more, "cut {n} took {found} bytes, {more} expected, of {before}");
                most = most.max(found);
            }
            println!("a cut of two triangles took up to {most} bytes");
        }
    }

    #[test]
    fn a_field_that_links_share_counts_once() {
        let mesh = meshes().swap_remove(1);
        let field = Arc::new(default_field(&Surface::new(mesh.mesh.clone(), Default::default())));
        let link = |field: &Arc<Field>| {
            let of = |_: &Surface| Ok::<_, Infallible>(Arc::clone(field));
            Link::try_new("l".to_owned(), mesh.clone(), Pose::IDENTITY, of).expect("infallible")
        };
        let bytes_with = |fields: [&Arc<Field>; 3]| {
            let scene = Scene::new("s".to_owned(), Limits::default());
            let links = fields[..2].iter().copied().map(&link).collect();
            let parts =
                |name: &str, links| ToolParts { name: name.to_owned(), links, probes: vec![] };
            scene.add_tool(parts("two", links)).expect("room");
            scene.add_tool(parts("one", vec![link(fields[2])])).expect("room");
            scene.heap_bytes()
        };
        let (own, field_bytes) = (bytes_with([&field; 3]), field.report().bytes as u64);
        let other = Arc::new(Field::clone(&field));
        assert_eq!(bytes_with([&field, &other, &field]), own + field_bytes);
        assert_eq!(bytes_with([&field, &field, &other]), own + field_bytes);
    }
}
