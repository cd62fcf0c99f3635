//! P16: a step of a tissue that the nodes of a grid carry, or one frame, against the same positions given as vertices:
//! time of the update, and bytes of the message.

use glam::{DVec3, Quat, Vec3};
use palpate::{
    geometry::{LoadedMesh, TriangleMesh},
    index::LatLonOptions,
    proto::{
        ControlMove, DeformRequest, DensePositions, SparsePositions, deform_request::Positions,
    },
    scene::{
        Tissue, TissueKind,
        tissue::{
            binding::{Binding, ControlFrame, ControlMove as NodeMove, Controls},
            deform::Deformation,
            vertex_weights::VertexWeights,
        },
    },
};
use prost::Message as _;

use crate::{
    inputs::organ,
    run::{Case, Run},
};

/// Nodes along each axis of the grid: 1,000 carry the tissue, as in a coarse volume mesh.
const ALONG: usize = 10;
/// Nodes of a cell, from its first.
const CELL: [usize; 8] = [0, 1, 10, 11, 100, 101, 110, 111];

/// Prints five lines for each size: all nodes move, those of five layers of ten, of one layer, of one cell; and the frame
/// of a rigid body.
pub fn run(run: &mut Run) {
    let sizes: &[u32] = run.effort.of(&[10_000, 100_000, 1_000_000], &[1_000, 4_000]);
    for n in sizes {
        let (name, loaded) = organ(*n);
        let grid = Grid::around(&loaded.mesh);
        // The cell of a vertex, whose nodes move in turn with those of no other cell.
        let first = grid.cell_of(loaded.mesh.positions()[0].as_dvec3()).0;
        let cell = CELL.map(|node| (first + node) as u32);
        let layer = (ALONG * ALONG) as u32;
        let [half, middle] = [0..5 * layer, 4 * layer..5 * layer].map(Vec::from_iter);
        let all = Vec::from_iter(0..10 * layer);
        let cases =
            [("all-nodes", &all[..]), ("half", &half), ("one-layer", &middle), ("one-cell", &cell)];
        let (rest, weights) = (grid.nodes(), grid.weights(&loaded.mesh));
        let points = Controls::Points(rest.clone());
        let binding = Binding::new(points, weights, loaded.mesh.positions()).expect("it fits");
        for (what, nodes) in cases {
            let moves = [1.001_f32, 1.0].map(|by| {
                let to = nodes.iter().map(|node| rest[*node as usize] * by).collect();
                let controls = (nodes.len() < rest.len()).then(|| nodes.to_vec());
                NodeMove { controls, to: Controls::Points(to) }
            });
            measure(run, &format!("{name}/{what}"), &loaded, binding.clone(), moves);
        }
        let (binding, moves) = body(&loaded.mesh);
        measure(run, &format!("{name}/one-frame"), &loaded, binding, moves);
    }
}

/// Nodes of a box, and trilinear weights in it.
struct Grid {
    low: DVec3,
    cell: DVec3,
}

impl Grid {
    fn around(mesh: &TriangleMesh) -> Grid {
        let bounds = mesh.used_box();
        let [low, high] = [bounds.min, bounds.max].map(|p| p.as_dvec3());
        Grid { low, cell: (high - low) / (ALONG - 1) as f64 }
    }

    fn nodes(&self) -> Vec<Vec3> {
        let at = |n: usize| DVec3::new((n / 100) as f64, (n / 10 % 10) as f64, (n % 10) as f64);
        (0..ALONG.pow(3)).map(|n| (self.low + at(n) * self.cell).as_vec3()).collect()
    }

    /// Returns the first node of a point's cell, and the point's place in the cell, 0 to 1 along each axis.
    fn cell_of(&self, point: DVec3) -> (usize, DVec3) {
        let at = (point - self.low) / self.cell;
        let cell = at.floor().clamp(DVec3::ZERO, DVec3::splat((ALONG - 2) as f64));
        let node = (cell.x as usize * ALONG + cell.y as usize) * ALONG + cell.z as usize;
        (node, at - cell)
    }

    fn weights(&self, mesh: &TriangleMesh) -> VertexWeights {
        let mut weights = VertexWeights::default();
        for p in mesh.positions() {
            let (first, at) = self.cell_of(p.as_dvec3());
            weights.push(CELL.map(|node| {
                let along = |is_far: bool, t: f64| if is_far { t } else { 1.0 - t };
                let [x, y, z] = [node / 100 == 1, node / 10 % 10 == 1, node % 10 == 1];
                ((first + node) as u32, along(x, at.x) * along(y, at.y) * along(z, at.z))
            }));
        }
        weights
    }
}

/// Binds all vertices to one frame, which turns and moves there and back.
fn body(mesh: &TriangleMesh) -> (Binding, [NodeMove; 2]) {
    let mut weights = VertexWeights::default();
    mesh.positions().iter().for_each(|_| weights.push([(0, 1.0)]));
    let at = |position: Vec3, angle: f32| {
        let rotation = Quat::from_rotation_z(angle);
        Controls::Frames(vec![ControlFrame { position, rotation }])
    };
    let rest = at(Vec3::ZERO, 0.0);
    let binding = Binding::new(rest.clone(), weights, mesh.positions()).expect("it fits");
    let moves = [at(Vec3::X * 1e-3, 0.01), rest].map(|to| NodeMove { controls: None, to });
    (binding, moves)
}

fn tissue(loaded: &LoadedMesh) -> Tissue {
    let named = ("organ".to_owned(), TissueKind::Tissue);
    Tissue::new(named, loaded.clone(), LatLonOptions::default(), 0)
}

fn positions(tissue: &Tissue) -> Vec<Vec3> {
    tissue.current().surface.mesh().positions().to_vec()
}

/// Compares moves of some or all controls there and back with moves of the vertices that they carry.
fn measure(run: &mut Run, case: &str, loaded: &LoadedMesh, binding: Binding, moves: [NodeMove; 2]) {
    let mut driven = tissue(loaded);
    driven.bind(binding);
    // The peer is sent the positions that the nodes give.
    let dense = tissue(loaded);
    let base = positions(&driven);
    dense.deform(Deformation::Dense(base.clone()), 0).expect("good");
    let deformations = moves.each_ref().map(|moved| {
        driven.drive(moved, 0).expect("it fits");
        let now = positions(&driven);
        if moved.controls.is_none() {
            return Deformation::Dense(now);
        }
        let there = &moves[0];
        driven.drive(there, 0).expect("it fits");
        let away = positions(&driven);
        driven.drive(moved, 0).expect("it fits");
        let vertices: Vec<u32> =
            (0..base.len()).filter(|v| away[*v] != base[*v]).map(|v| v as u32).collect();
        let positions = vertices.iter().map(|v| now[*v as usize]).collect();
        Deformation::Sparse { vertices, positions }
    });
    for (moved, deformation) in moves.iter().zip(&deformations) {
        driven.drive(moved, 0).expect("it fits");
        dense.deform(deformation.clone(), 0).expect("good");
        assert!(positions(&driven) == positions(&dense), "{case}: other positions");
    }
    driven.current().surface.assert_well_formed();
    let n_moved = match &deformations[0] {
        Deformation::Sparse { vertices, .. } => vertices.len(),
        Deformation::Dense(all) => all.len(),
    };
    let checksum: f64 =
        positions(&driven).iter().map(|p| f64::from(p.abs().element_sum())).sum::<f64>();
    let bytes = [of_controls(&moves[0]), of_vertices(&deformations[0])]
        .map(|p| DeformRequest { positions: Some(p), ..DeformRequest::default() }.encoded_len());
    let text = format!("vertices={n_moved} bytes={} peer_bytes={}", bytes[0], bytes[1]);
    let peer = "vertices";
    run.compare(
        &Case { measure: "P16", case, peer, items: 2 },
        checksum,
        text,
        || moves.iter().for_each(|moved| drop(driven.drive(moved, 0))),
        || deformations.iter().for_each(|moved| drop(dense.deform(moved.clone(), 0))),
    );
}

fn of_controls(moved: &NodeMove) -> Positions {
    let control_ids = moved.controls.clone().unwrap_or_default();
    Positions::Controls(ControlMove { control_ids, state: moved.to.numbers() })
}

fn of_vertices(deformation: &Deformation) -> Positions {
    let flat = |points: &[Vec3]| points.iter().flat_map(|p| p.to_array()).collect();
    match deformation {
        Deformation::Dense(all) => Positions::Dense(DensePositions { positions_m: flat(all) }),
        Deformation::Sparse { vertices, positions } => Positions::Sparse(SparsePositions {
            vertices: vertices.clone(),
            positions_m: flat(positions),
        }),
    }
}
