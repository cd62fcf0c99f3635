//! Seams: vertices of a mesh that count as one, because open edges between them lie upon each other.
//!
//! Files of surfaces with textures or hard normals have a vertex for each normal at a position, so that a closed organ
//! is an open patchwork by its numbers. `seam_search` finds the joined vertices; this module stores them.

use std::{
    collections::HashMap,
    hash::{BuildHasher, Hasher, RandomState},
};

use glam::Vec3;

/// Bits of three coordinates.
pub(super) type VertexPlace = u128;

/// Position of a vertex as a key. Two vertices with one key have equal coordinates.
pub(super) fn place(p: Vec3) -> VertexPlace {
    // Adding 0 turns -0 into 0.
    let bits = (p + Vec3::ZERO).to_array().map(|x| u128::from(x.to_bits()));
    bits[0] | bits[1] << 32 | bits[2] << 64
}

/// Stored seams of a mesh.
#[derive(Clone, Debug, Default)]
pub(super) struct Seams {
    pub is_known: bool,
    /// Vertices of edges that are or were open by their numbers, and third corners of triangles at such edges that lie
    /// upon each other, ascending. A mesh that is closed by its numbers has none.
    pub rim: Vec<RimVertex>,
    /// For each position of a rim vertex, the rim number of one vertex there.
    pub at_place: HashMap<VertexPlace, u32, PlaceHash>,
    /// Indexed by vertex; empty while no two were ever joined, and vertices beyond its end are joined with none.
    joined: Vec<Joined>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct RimVertex {
    pub vertex: u32,
    pub place: VertexPlace,
    /// Rim number of the next vertex at this position, in a circle.
    pub next: u32,
}

/// Links of a vertex in the circle of vertices that it is joined with.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Joined {
    least: u32,
    /// Next vertex in ascending order; the least after the greatest.
    next: u32,
}

/// Hashes a position by one product with secret seeds, so that no client can send positions that collide: a deformation
/// of an open tissue removes its boundary vertices from a table and inserts them again.
#[derive(Clone, Debug)]
pub(super) struct PlaceHash([u64; 2]);

pub(super) struct PlaceHasher {
    seeds: [u64; 2],
    hash: u64,
}

impl Default for PlaceHash {
    fn default() -> PlaceHash {
        let random = RandomState::new();
        PlaceHash([random.hash_one(0), random.hash_one(1)])
    }
}

impl BuildHasher for PlaceHash {
    type Hasher = PlaceHasher;

    fn build_hasher(&self) -> PlaceHasher {
        PlaceHasher { seeds: self.0, hash: 0 }
    }
}

impl Hasher for PlaceHasher {
    fn write_u128(&mut self, place: u128) {
        let [low, high] = [place as u64 ^ self.seeds[0], (place >> 64) as u64 ^ self.seeds[1]];
        let product = u128::from(low) * u128::from(high);
        self.hash = product as u64 ^ (product >> 64) as u64;
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|b| self.write_u128(u128::from(self.hash) << 8 | u128::from(*b)));
    }

    fn finish(&self) -> u64 {
        self.hash
    }
}

impl Seams {
    /// Least vertex that is joined with `v`, which is itself included.
    pub fn least(&self, v: u32) -> u32 {
        self.joined.get(v as usize).map_or(v, |j| j.least)
    }

    /// Vertex after `v` in the circle of those that are joined with it; `None` if no two vertices were ever joined.
    pub fn after(&self, v: u32) -> Option<u32> {
        self.joined.get(v as usize).map(|j| j.next)
    }

    /// Vertices that are joined with `v`, itself included, ascending.
    pub fn members(&self, v: u32) -> impl Iterator<Item = u32> + '_ {
        let least = self.least(v);
        std::iter::successors(Some(least), move |w| self.after(*w).filter(|n| *n != least))
    }

    /// Returns true if each vertex has identical joints in both.
    pub fn are_those_of(&self, other: &Seams) -> bool {
        let (longer, shorter) = match self.joined.len() < other.joined.len() {
            true => (other, self),
            false => (self, other),
        };
        let (known, beyond) = longer.joined.split_at(shorter.joined.len());
        known == shorter.joined && (known.len() as u32..).zip(beyond).all(|(v, j)| j.next == v)
    }

    /// Returns true if no two vertices of the mesh were ever joined.
    pub fn is_empty(&self) -> bool {
        self.joined.is_empty()
    }

    /// Joins these vertices, ascending, with each other and with no others. `n_vertices`: of the mesh.
    pub fn join(&mut self, vertices: &[u32], n_vertices: usize) {
        debug_assert!(vertices.is_sorted(), "{vertices:?} in order");
        if vertices.len() > 1 && self.joined.len() < n_vertices {
            let known = self.joined.len() as u32;
            self.joined.extend((known..n_vertices as u32).map(|v| Joined { least: v, next: v }));
        }
        for (i, v) in vertices.iter().enumerate() {
            if let Some(joined) = self.joined.get_mut(*v as usize) {
                let next = vertices.get(i + 1).unwrap_or(&vertices[0]);
                *joined = Joined { least: vertices[0], next: *next };
            }
        }
    }

    /// Returns true if each vertex of the rim is alone at its position, and no two vertices were ever joined.
    pub fn are_apart(&self) -> bool {
        self.rim.len() == self.at_place.len() && self.joined.is_empty()
    }

    /// Returns true if a vertex of the rim is alone at its position and joined with no other.
    pub fn is_apart(&self, v: u32) -> bool {
        let is_alone = |n: u32| self.rim[n as usize].next == n;
        self.number(v).is_some_and(is_alone) && self.members(v).nth(1).is_none()
    }

    /// Number of a vertex in the rim.
    pub fn number(&self, v: u32) -> Option<u32> {
        self.rim.binary_search_by_key(&v, |r| r.vertex).ok().map(|n| n as u32)
    }

    /// Rim numbers of all vertices at the position of one.
    pub fn beside(&self, number: u32) -> impl Iterator<Item = u32> + '_ {
        let next = |n: &u32| self.rim[*n as usize].next;
        std::iter::successors(Some(number), move |n| Some(next(n)).filter(|n| *n != number))
    }

    /// Adds a vertex of the rim to the vertices at a position.
    pub fn put(&mut self, number: u32, at: VertexPlace) {
        let first = *self.at_place.entry(at).or_insert(number);
        let next = if first == number {
            number
        } else {
            std::mem::replace(&mut self.rim[first as usize].next, number)
        };
        let vertex = self.rim[number as usize].vertex;
        self.rim[number as usize] = RimVertex { vertex, place: at, next };
    }

    pub fn heap_bytes(&self) -> usize {
        size_of::<RimVertex>() * self.rim.capacity()
            + size_of::<(VertexPlace, u32)>() * self.at_place.capacity()
            + size_of::<Joined>() * self.joined.capacity()
    }
}
