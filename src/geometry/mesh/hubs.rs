//! Vertices with so many triangles that a walk round one takes longer than a tick has: what is noted of them.
//!
//! The normal at the tip of a cone of 200 k triangles takes 16 ms. So it is computed where the mesh changes
//! (`hub_search`), and not where a tick asks; and the few triangles at an edge are found without a walk round either end.

use glam::DVec3;

/// A vertex with more triangles is a hub. Those of scanned and made tissue have 4 to 12, the poles of a sphere as many
/// as it has longitudes.
pub const VALENCE_MAX: usize = 64;

/// The direction out of the surface at a feature.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pseudonormal {
    /// Unit.
    pub direction: DVec3,
    /// Every triangle at the feature had an area, and their normals do not cancel, so the direction can be trusted.
    pub complete: bool,
}

/// The hubs of a mesh, as far as it has been asked for them.
#[derive(Clone, Debug, Default)]
pub(super) struct Hubs {
    pub is_known: bool,
    /// Ascending by vertex.
    pub all: Vec<Hub>,
    /// Vertices of triangles that came or went since, and vertices that seams join with others since.
    pub changed: Vec<u32>,
    /// Vertices have moved since: normals are old.
    pub is_moved: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Hub {
    /// It stands for all that seams join it with; so do those of `spokes`.
    pub vertex: u32,
    pub normal: Pseudonormal,
    /// The other vertex of each edge and a triangle there, ascending by vertex; of one edge in the order of the ring.
    pub spokes: Vec<(u32, u32)>,
}

impl Hubs {
    /// Triangles of these vertices came or went, or seams join them with others.
    pub fn note_changed(&mut self, vertices: &[u32]) {
        // Before anybody has asked there is nothing to keep true.
        if self.is_known {
            self.changed.extend(vertices);
        }
    }

    /// The normal at a vertex, where it is a hub and its normal is known.
    pub fn normal(&self, v: u32) -> Option<Pseudonormal> {
        if self.is_moved || !self.changed.is_empty() {
            return None;
        }
        self.get(v).map(|hub| hub.normal)
    }

    /// The triangles at an edge from a hub, in the order of its ring.
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
