//! Cache for vertices with so many triangles that visiting their ring takes longer than a tick.
//!
//! The normal at the tip of a cone of 200 k triangles takes 16 ms. It is therefore computed when the mesh changes
//! (`hub_search`), and not in a tick; and the few triangles at an edge are found without visiting the ring of either
//! end.

use glam::DVec3;

/// A vertex with more triangles than this is a hub. Vertices of scanned and made tissue have 4 to 12, the poles of a
/// sphere as many as it has longitudes.
pub const VALENCE_MAX: usize = 64;

/// Direction out of the surface at a feature.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pseudonormal {
    /// Unit.
    pub direction: DVec3,
    /// True if every triangle at the feature had an area, and their normals do not cancel, so the direction can be
    /// trusted.
    pub complete: bool,
}

/// Hubs of a mesh, as of the last update.
#[derive(Clone, Debug, Default)]
pub(super) struct Hubs {
    pub is_known: bool,
    /// Ascending by vertex.
    pub all: Vec<Hub>,
    /// Vertices of triangles added or removed since, and vertices that seams join with others since.
    pub changed: Vec<u32>,
    /// Vertices have moved since: normals are outdated.
    pub is_moved: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Hub {
    /// Represents all vertices that seams join with it; the vertices in `spokes` do too.
    pub vertex: u32,
    pub normal: Pseudonormal,
    /// The other vertex of each edge and a triangle at the edge, ascending by vertex; for one edge in the order of the
    /// ring.
    pub spokes: Vec<(u32, u32)>,
}

impl Hubs {
    /// Records that triangles of these vertices were added or removed, or that seams join them with others.
    pub fn note_changed(&mut self, vertices: &[u32]) {
        // Nothing is cached before the first update.
        if self.is_known {
            self.changed.extend(vertices);
        }
    }

    /// The normal at a vertex, if it is a hub and its normal is known.
    pub fn normal(&self, v: u32) -> Option<Pseudonormal> {
        if self.is_moved || !self.changed.is_empty() {
            return None;
        }
        self.get(v).map(|hub| hub.normal)
    }

    /// Triangles at an edge from a hub, in the order of its ring.
    pub fn at_edge(&self, v: u32, w: u32) -> Option<&[(u32, u32)]> {
        if !self.changed.is_empty() {
            return None;
        }
        let spokes = &self.get(v)?.spokes;
        let begin = spokes.partition_point(|(other, _)| *other < w);
        let n = spokes[begin..].partition_point(|(other, _)| *other == w);
        Some(&spokes[begin..begin + n])
    }

    fn get(&self, v: u32) -> Option<&Hub> {
        let at = self.all.binary_search_by_key(&v, |hub| hub.vertex).ok()?;
        Some(&self.all[at])
    }

    pub fn heap_bytes(&self) -> usize {
        let of_hub = |hub: &Hub| size_of::<(u32, u32)>() * hub.spokes.capacity();
        size_of::<Hub>() * self.all.capacity()
            + self.all.iter().map(of_hub).sum::<usize>()
            + size_of::<u32>() * self.changed.capacity()
    }
}
