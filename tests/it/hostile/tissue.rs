//! A client's knowledge of a tissue: each revision that it has made.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use glam::{DVec3, Vec3};
use palpate::{
    geometry::MeshData,
    oracle::Random,
    proto::{
        DeformRequest, DensePositions, EditTopologyRequest, SparsePositions,
        deform_request::Positions,
    },
};

use super::{
    organs::{deformed, dented},
    soup::Soup,
};
use crate::support::messages::SCENE;

/// Number of revisions that an answer can still be of.
const KEPT: usize = 64;

/// A tissue as it was sent.
pub struct KnownTissue {
    pub id: u32,
    pub positions: Vec<Vec3>,
    pub rest: Vec<Vec3>,
    /// Triangles by id; `None` if removed.
    pub triangles: Vec<Option<[u32; 3]>>,
    pub revision: Revision,
    /// Newest revision that the server has acknowledged.
    pub acknowledged: Revision,
    history: VecDeque<(Revision, Arc<Soup>)>,
    is_closed: bool,
}

/// Geometry and topology revision.
pub type Revision = (u64, u64);

impl KnownTissue {
    pub fn new(id: u32, data: MeshData) -> KnownTissue {
        let mut tissue = KnownTissue {
            id,
            rest: data.positions.clone(),
            positions: data.positions,
            is_closed: is_closed(data.triangles.iter().copied()),
            triangles: data.triangles.into_iter().map(Some).collect(),
            revision: (0, 0),
            acknowledged: (0, 0),
            history: VecDeque::new(),
        };
        tissue.note();
        tissue
    }

    /// Returns the triangles of a revision.
    pub fn at(&self, revision: Revision) -> Option<&Arc<Soup>> {
        self.history.iter().find(|(r, _)| *r == revision).map(|(_, soup)| soup)
    }

    pub fn now(&self) -> &Arc<Soup> {
        &self.history.back().expect("noted").1
    }

    fn note(&mut self) {
        let at = |v: u32| self.positions[v as usize].as_dvec3();
        let there =
            (0..).zip(&self.triangles).filter_map(|(id, t)| Some((id, t.as_ref()?.map(at))));
        let soup = Soup::new(there.collect(), self.is_closed);
        self.history.push_back((self.revision, Arc::new(soup)));
        if self.history.len() > KEPT {
            self.history.pop_front();
        }
    }

    /// Deforms all vertices or some of them.
    pub fn deform(&mut self, sequence: u64, random: &mut Random) -> DeformRequest {
        let is_sparse = random.below(3) == 0;
        let positions = if is_sparse {
            let at = self.positions[random.below(self.positions.len())];
            let moved = dented(&self.positions, at, random);
            // Vertices that move by less than a micrometre stay.
            let is_moved =
                |v: &u32| moved[*v as usize].distance(self.positions[*v as usize]) > 1e-6;
            let vertices: Vec<u32> = (0..moved.len() as u32).filter(is_moved).collect();
            for v in &vertices {
                self.positions[*v as usize] = moved[*v as usize];
            }
            let positions_m = vertices.iter().flat_map(|v| moved[*v as usize].to_array()).collect();
            Positions::Sparse(SparsePositions { vertices, positions_m })
        } else {
            self.positions = deformed(&self.rest, &self.positions, random);
            let positions_m = self.positions.iter().flat_map(|p| p.to_array()).collect();
            Positions::Dense(DensePositions { positions_m })
        };
        self.revision.0 += 1;
        self.note();
        DeformRequest {
            scene_id: SCENE.to_owned(),
            tissue_id: self.id,
            sequence,
            positions: Some(positions),
            hold: false,
        }
    }

    /// Cuts the tissue: some neighbouring triangles go, and one is split at its middle.
    pub fn cut(&mut self, random: &mut Random) -> Option<EditTopologyRequest> {
        let there: Vec<u32> =
            (0..).zip(&self.triangles).filter(|t| t.1.is_some()).map(|t| t.0).collect();
        if there.len() < 20 {
            return None;
        }
        let first = random.below(there.len() - 3);
        let removed = there[first..first + 1 + random.below(3)].to_vec();
        let [a, b, c] = self.triangles[removed[0] as usize].expect("it is there");
        let new = self.positions.len() as u32;
        let middle = [a, b, c].map(|v| self.positions[v as usize]).into_iter().sum::<Vec3>() / 3.0;
        self.positions.push(middle);
        self.rest.push(middle);
        let added = [[a, b, new], [b, c, new], [c, a, new]];
        removed.iter().for_each(|t| self.triangles[*t as usize] = None);
        self.triangles.extend(added.map(Some));
        self.is_closed = is_closed(self.triangles.iter().flatten().copied());
        self.revision.1 += 1;
        self.note();
        Some(EditTopologyRequest {
            scene_id: SCENE.to_owned(),
            tissue_id: self.id,
            base_topology_revision: Some(self.revision.1 - 1),
            added_triangle_parents: vec![removed[0]; 3],
            removed_triangles: removed,
            added_positions_m: middle.to_array().to_vec(),
            added_triangles: added.concat(),
            ..EditTopologyRequest::default()
        })
    }

    /// Returns a random point of the surface and the unit normal there.
    pub fn on_surface(&self, random: &mut Random) -> (DVec3, DVec3) {
        let triangles = &self.now().triangles;
        let [a, b, c] = triangles[random.below(triangles.len())].1;
        let (u, v) = (random.f64(), random.f64());
        let (u, v) = if u + v > 1.0 { (1.0 - u, 1.0 - v) } else { (u, v) };
        (a + (b - a) * u + (c - a) * v, (b - a).cross(c - a).normalize_or(DVec3::Z))
    }
}

/// Returns whether each edge has two triangles that agree in orientation.
pub fn is_closed(triangles: impl Iterator<Item = [u32; 3]>) -> bool {
    let mut edges: HashMap<(u32, u32), i32> = HashMap::new();
    for [a, b, c] in triangles {
        for edge in [(a, b), (b, c), (c, a)] {
            *edges.entry(edge).or_default() += 1;
        }
    }
    edges.iter().all(|((a, b), n)| *n == 1 && edges.get(&(*b, *a)) == Some(&1))
}
