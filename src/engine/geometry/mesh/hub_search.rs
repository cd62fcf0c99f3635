//! Finds vertices of very many triangles and caches their normals and edges.

use super::{
    hubs::{Hub, Hubs},
    pseudonormal::{Pseudonormal, pseudonormal},
};
use crate::geometry::{TriangleMesh, distance::point_triangle::Feature};

/// Caches normals and edges of the current hubs: until the mesh changes, queries need not visit their rings. O(n) the
/// first time, then O(triangles at hubs).
pub fn note_hubs(mesh: &mut TriangleMesh) {
    // New entries are computed from the rings of the hubs.
    let mut hubs = std::mem::take(&mut mesh.hubs);
    update(&mut hubs, mesh);
    mesh.hubs = hubs;
}

/// As [`note_hubs`] after triangles were added and removed at `vertices` alone, ascending, with all that seams join with
/// them.
pub fn note_hubs_at(mesh: &mut TriangleMesh, vertices: &[u32]) {
    debug_assert!(mesh.hubs.changed.iter().all(|v| vertices.binary_search(v).is_ok()));
    if mesh.hubs.is_known {
        // Each triangle has noted its own vertices.
        mesh.hubs.changed.clear();
        mesh.hubs.changed.extend(vertices);
    }
    note_hubs(mesh);
}

fn update(hubs: &mut Hubs, mesh: &TriangleMesh) {
    let is_hub = |v: u32| mesh.joined(v) == v && mesh.is_hub(v);
    let found = |v: &u32| is_hub(*v).then(|| hub_at(mesh, *v));
    if !hubs.is_known {
        hubs.all = (0..mesh.positions().len() as u32).filter_map(|v| found(&v)).collect();
    } else if !hubs.changed.is_empty() {
        sort_once(&mut hubs.changed);
        if mesh.has_seams() {
            let joined: Vec<u32> = hubs.changed.iter().map(|v| mesh.joined(*v)).collect();
            hubs.changed.extend(joined);
            sort_once(&mut hubs.changed);
        }
        let changed = &hubs.changed;
        hubs.all.retain(|hub| changed.binary_search(&hub.vertex).is_err());
        hubs.all.extend(changed.iter().filter_map(found));
        hubs.all.sort_unstable_by_key(|hub| hub.vertex);
    }
    if hubs.is_known && hubs.is_moved {
        hubs.all.iter_mut().for_each(|hub| hub.normal = normal_at(mesh, hub.vertex));
    }
    hubs.changed.clear();
    (hubs.is_known, hubs.is_moved) = (true, false);
}

fn sort_once(vertices: &mut Vec<u32>) {
    vertices.sort_unstable();
    vertices.dedup();
}

/// Asserts that the hubs equal newly computed ones.
pub fn assert_hubs(mesh: &TriangleMesh) {
    let (hubs, mut fresh) = (&mesh.hubs, Hubs::default());
    assert!(hubs.is_known && hubs.changed.is_empty() && !hubs.is_moved, "hubs are noted");
    update(&mut fresh, mesh);
    assert_eq!(hubs.all.len(), fresh.all.len(), "hubs");
    for (known, fresh) in hubs.all.iter().zip(&fresh.all) {
        assert_eq!((known.vertex, &known.spokes), (fresh.vertex, &fresh.spokes));
        assert_eq!(known.normal, fresh.normal, "at {}", known.vertex);
    }
}

fn hub_at(mesh: &TriangleMesh, vertex: u32) -> Hub {
    let mut spokes = Vec::new();
    for (t, k) in mesh.around(vertex) {
        let vertices = mesh.joined_vertices(t);
        spokes.extend([1, 2].map(|more| (vertices[(k + more) % 3], t.0)));
    }
    spokes.sort_by_key(|(other, _)| *other);
    Hub { vertex, normal: normal_at(mesh, vertex), spokes }
}

/// Normal at a vertex with a triangle, from its ring: the mesh has no cached hub at this time.
fn normal_at(mesh: &TriangleMesh, v: u32) -> Pseudonormal {
    let (t, k) = mesh.ring(v).next().expect("a hub has triangles");
    pseudonormal(mesh, t, Feature::Vertex(k as u8))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        geometry::{TriangleId, mesh::hubs::VALENCE_MAX},
        oracle::{Random, shapes},
    };

    /// All cached results of a hub equal those of its ring, to the bit, while the mesh is deformed and cut.
    #[test]
    fn hubs_say_what_their_rings_do() {
        let mut random = Random::new(5);
        for n in [64, 65, 300] {
            let mut mesh = TriangleMesh::new(shapes::spindle(n, 0.1, 0.05));
            let mut removed = Vec::new();
            for step in 0..60 {
                match step % 3 {
                    0 => {
                        let v = random.below(n as usize + 2) as u32;
                        let to = mesh.position(v) + random.unit_vector() * 0.001;
                        mesh.move_vertex(v, to.as_vec3());
                    }
                    1 => {
                        let all: Vec<TriangleId> = mesh.triangle_ids().collect();
                        let t = all[random.below(all.len())];
                        removed.push(mesh.vertices(t));
                        mesh.remove_triangle(t);
                    }
                    _ => {
                        let [a, b, c] = removed[random.below(removed.len())];
                        mesh.add_triangle([b, c, a]);
                    }
                }
                let walked = TriangleMesh { hubs: Hubs::default(), ..mesh.clone() };
                note_hubs(&mut mesh);
                assert_hubs(&mesh);
                assert_eq!(mesh.is_hub(n), mesh.ring(n).count() > VALENCE_MAX);
                for t in mesh.triangle_ids() {
                    for feature in (0..3).flat_map(|k| [Feature::Vertex(k), Feature::Edge(k)]) {
                        let [noted, walked] =
                            [&mesh, &walked].map(|mesh| pseudonormal(mesh, t, feature));
                        assert_eq!(noted, walked, "{feature:?} of {t:?} in step {step}");
                    }
                }
            }
        }
    }
}
