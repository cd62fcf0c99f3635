//! A client's own record of acknowledgements: the required state of a durable scene after any crash.

use std::collections::BTreeMap;

use glam::{DVec3, Vec3};
use palpate::{
    oracle::triangle::closest_on_triangle,
    proto::{EditTopologyRequest, ExportTissueResponse, export_tissue_response::Message},
};

use crate::support::{meshes::Mesh, server::Seen};

/// A scene as far as its client knows it.
#[derive(Clone, Debug, Default)]
pub struct SceneModel {
    pub tissues: BTreeMap<u32, TissueModel>,
    /// Tool names by id.
    pub tools: BTreeMap<u32, String>,
    pub last_tissue: u32,
    pub last_tool: u32,
}

/// A tissue as far as its client knows it.
#[derive(Clone, Debug)]
pub struct TissueModel {
    pub name: String,
    /// Position of each vertex when it was made, x, y, z.
    made_at: Vec<f32>,
    /// Positions of all vertices that existed at each geometry revision that was requested.
    history: BTreeMap<u64, Vec<f32>>,
    triangles: BTreeMap<u32, [u32; 3]>,
    next_triangle: u32,
    topology_revision: u64,
    /// Greatest durable geometry revision that was reported.
    pub durable_geometry: u64,
}

/// A surface as exported.
struct Exported {
    positions: Vec<f32>,
    triangles: BTreeMap<u32, [u32; 3]>,
}

impl TissueModel {
    pub fn new(name: &str, mesh: &Mesh) -> TissueModel {
        let threes = mesh.triangles.chunks(3).map(|t| [t[0], t[1], t[2]]);
        let triangles: BTreeMap<u32, [u32; 3]> = (0..).zip(threes).collect();
        TissueModel {
            name: name.to_owned(),
            made_at: mesh.positions.clone(),
            history: BTreeMap::from([(0, mesh.positions.clone())]),
            next_triangle: triangles.len() as u32,
            triangles,
            topology_revision: 0,
            durable_geometry: 0,
        }
    }

    pub fn n_vertices(&self) -> usize {
        self.made_at.len() / 3
    }

    pub fn topology_revision(&self) -> u64 {
        self.topology_revision
    }

    /// Returns the triangle at an index among those that exist.
    pub fn triangle(&self, at: usize) -> Option<(u32, [u32; 3])> {
        self.triangles.iter().nth(at).map(|(id, vertices)| (*id, *vertices))
    }

    pub fn n_triangles(&self) -> usize {
        self.triangles.len()
    }

    pub fn next_triangle(&self) -> u32 {
        self.next_triangle
    }

    pub fn place(&self, vertex: u32) -> [f32; 3] {
        let at = 3 * vertex as usize;
        std::array::from_fn(|k| self.made_at[at + k])
    }

    /// Adds a deformation that is on its way: from now on its revision may be seen.
    pub fn deform(&mut self, vertices: &[u32], positions: &[f32]) {
        let (revision, last) = self.history.last_key_value().expect("the first");
        let (revision, mut next) = (revision + 1, last.clone());
        next.extend_from_slice(&self.made_at[next.len()..]);
        for (vertex, place) in vertices.iter().zip(positions.chunks(3)) {
            next[3 * *vertex as usize..][..3].copy_from_slice(place);
        }
        self.history.insert(revision, next);
    }

    pub fn edit(&mut self, request: &EditTopologyRequest) {
        self.made_at.extend(&request.added_positions_m);
        self.triangles.retain(|t, _| !request.removed_triangles.contains(t));
        for vertices in request.added_triangles.chunks(3) {
            self.triangles.insert(self.next_triangle, [vertices[0], vertices[1], vertices[2]]);
            self.next_triangle += 1;
        }
        self.topology_revision += 1;
    }

    fn positions_at(&self, revision: u64) -> Option<Vec<f32>> {
        let mut positions = self.history.get(&revision)?.clone();
        // Cuts do not move existing vertices, so a vertex that came later is where it was made.
        positions.extend_from_slice(&self.made_at[positions.len().min(self.made_at.len())..]);
        positions.truncate(self.made_at.len());
        Some(positions)
    }

    /// Returns the current distance of each triangle from a point, by id.
    pub fn distances(&self, from: DVec3) -> BTreeMap<u32, f64> {
        let newest = self.history.last_key_value().expect("the first");
        let positions = self.positions_at(*newest.0).expect("it is there");
        let corner = |v: u32| Vec3::from_slice(&positions[3 * v as usize..][..3]).as_dvec3();
        let distance =
            |corners: &[u32; 3]| from.distance(closest_on_triangle(from, &corners.map(corner)));
        self.triangles.iter().map(|(id, corners)| (*id, distance(corners))).collect()
    }

    /// Drops the revisions that were not kept; their numbers are given again.
    fn go_back(&mut self, revision: u64) {
        self.history.retain(|r, _| *r <= revision);
    }
}

impl SceneModel {
    pub fn add_tissue(&mut self, name: &str, mesh: &Mesh) {
        self.last_tissue += 1;
        self.tissues.insert(self.last_tissue, TissueModel::new(name, mesh));
    }

    pub fn add_tool(&mut self, name: &str) {
        self.last_tool += 1;
        self.tools.insert(self.last_tool, name.to_owned());
    }

    /// Returns the model as it continues from the seen scene, or an error that says how the scene differs.
    pub fn found(&self, seen: &Seen) -> Result<SceneModel, String> {
        let mut found = self.clone();
        let differs = |what: String| Err(what);
        let ids: Vec<u32> = seen.scene.tissues.iter().map(|t| t.tissue_id).collect();
        if !ids.iter().eq(self.tissues.keys()) {
            return differs(format!("tissues {ids:?}, expected {:?}", self.tissues.keys()));
        }
        let tools: BTreeMap<u32, String> =
            seen.scene.tools.iter().map(|t| (t.tool_id, t.name.clone())).collect();
        if tools != self.tools {
            return differs(format!("tools {tools:?}, expected {:?}", self.tools));
        }
        for (tissue, surface) in seen.scene.tissues.iter().zip(&seen.surfaces) {
            let id = tissue.tissue_id;
            let own = found.tissues.get_mut(&id).expect("compared");
            let (geometry, topology) = (tissue.geometry_revision, tissue.topology_revision);
            if (&tissue.name, topology) != (&own.name, own.topology_revision) {
                let expected = own.topology_revision;
                return differs(format!("tissue {id} at cut {topology}, expected {expected}"));
            }
            if geometry < own.durable_geometry {
                let told = own.durable_geometry;
                return differs(format!(
                    "tissue {id} at deformation {geometry}, {told} was durable"
                ));
            }
            let Some(positions) = own.positions_at(geometry) else {
                return differs(format!("tissue {id} at deformation {geometry}, which never was"));
            };
            let exported = exported(surface);
            if exported.positions != positions {
                return differs(format!("tissue {id}: positions are not those of {geometry}"));
            }
            if exported.triangles != own.triangles {
                return differs(format!("tissue {id}: other triangles"));
            }
            own.go_back(geometry);
        }
        Ok(found)
    }
}

fn exported(surface: &[ExportTissueResponse]) -> Exported {
    let mut exported = Exported { positions: Vec::new(), triangles: BTreeMap::new() };
    for message in surface {
        if let Some(Message::Chunk(chunk)) = &message.message {
            exported.positions.extend(&chunk.positions_m);
            let threes = chunk.triangles.chunks(3).map(|t| [t[0], t[1], t[2]]);
            exported.triangles.extend(chunk.triangle_ids.iter().copied().zip(threes));
        }
    }
    exported
}
