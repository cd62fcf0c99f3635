//! A tissue through any sequence of deformations and cuts, beside a model of it: a list of places and a map of
//! triangles.

use std::collections::{BTreeMap, BTreeSet};

use arbitrary::{Arbitrary, Unstructured};
use glam::{DVec3, Vec3};
use palpate::{
    geometry::{
        LoadOptions, MeshData, Topology, TriangleId, TriangleMesh,
        distance::point_triangle::closest_point, mesh::load::load, tolerance::COORDINATE_MAX_M,
    },
    oracle::shapes,
    scene::{
        Limits, RevisionGuard, Scene, Tissue, TissueOptions,
        limits::HELD_MAX,
        tissue::{deform::Deformation, edit::TopologyEdit},
    },
};

use crate::until_end;

/// Steps of one sequence; more are left out.
const STEPS_MAX: usize = 32;
/// Readers that hold on to an old revision at once.
const READERS_MAX: usize = 4;
/// So small that sequences reach them.
const VERTICES_MAX: u32 = 160;
const TRIANGLES_MAX: u32 = 240;

/// A tissue and what happens to it.
#[derive(Arbitrary, Debug)]
pub struct Sequence {
    start: StartShape,
    #[arbitrary(with = |bytes: &mut Unstructured| until_end(bytes, STEPS_MAX))]
    steps: Vec<Step>,
}

#[derive(Arbitrary, Debug)]
enum StartShape {
    Triangle,
    Cuboid,
    Sphere,
    Sheet,
    Tube,
}

/// Ids are taken modulo one more than there are, so that a few name what is not there.
#[derive(Arbitrary, Debug)]
enum Step {
    Sparse {
        vertices: Vec<u8>,
        places: Vec<Place>,
    },
    Dense {
        places: Vec<Place>,
        shift: Place,
    },
    Cut {
        base: Option<u8>,
        removed: Vec<u8>,
        places: Vec<Place>,
        added: Vec<[u8; 3]>,
        parents: Vec<u8>,
    },
    /// Each triangle is replaced by three about a new vertex.
    Split {
        triangles: Vec<u8>,
        place: Place,
    },
    /// Triangles go and come back under new ids.
    Reinsert {
        triangles: Vec<u8>,
    },
    RemoveAll,
    CatchUp,
    Recover,
    Hold,
    Look,
    LookAway,
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Place {
    /// Steps of 1 cm: many coincide.
    Lattice([i8; 3]),
    Any([f32; 3]),
}

impl Place {
    fn point(self) -> Vec3 {
        match self {
            Place::Lattice(steps) => Vec3::from_array(steps.map(|s| f32::from(s) * 0.01)),
            Place::Any(p) => Vec3::from_array(p),
        }
    }
}

/// What the tissue must be.
#[derive(Clone)]
struct Model {
    positions: Vec<Vec3>,
    triangles: BTreeMap<u32, [u32; 3]>,
    next_triangle: u32,
    geometry_revision: u64,
    topology_revision: u64,
    published_ns: u64,
}

/// What it refuses is what the model refuses, and after each step it is the model.
pub fn check(sequence: Sequence) {
    let limits = Limits {
        vertices_per_mesh: VERTICES_MAX,
        triangles_per_mesh: TRIANGLES_MAX,
        ..Limits::default()
    };
    let data = sequence.start.mesh();
    let mut model = Model::new(&data);
    let scene = Scene::new("fuzz".to_owned(), limits.clone());
    let mesh = load(data, &LoadOptions::default()).expect("a mesh");
    let tissue = scene.add_tissue("tissue", mesh, TissueOptions::default(), 0).expect("added");
    let mut readers: Vec<(RevisionGuard, Model)> = Vec::new();
    for (step, now_ns) in sequence.steps.into_iter().zip(1..) {
        match step {
            Step::CatchUp => tissue.catch_up(),
            Step::Recover => tissue.recover(),
            Step::Hold => hold(&tissue, &model),
            Step::Look => {
                readers.truncate(READERS_MAX - 1);
                readers.insert(0, (tissue.current(), model.clone()));
            }
            Step::LookAway => drop(readers.pop()),
            change => model.change(&tissue, change, &limits, now_ns),
        }
        model.assert_is(&tissue.current());
        for (held, was) in &readers {
            was.assert_is_still(held);
        }
    }
    assert!(tissue.heap_bytes() > 0);
}

fn hold(tissue: &Tissue, model: &Model) {
    let named = tissue.hold();
    let held = tissue.held();
    assert!(held.len() <= HELD_MAX);
    assert!(held.iter().map(|h| h.geometry_revision).eq(named));
    let newest = held.last().expect("just held");
    assert_eq!(newest.geometry_revision, model.geometry_revision);
    assert_eq!(newest.topology_revision, model.topology_revision);
    assert_eq!(*newest.positions, *model.positions);
}

impl StartShape {
    fn mesh(&self) -> MeshData {
        match self {
            StartShape::Triangle => MeshData {
                positions: vec![Vec3::ZERO, Vec3::X * 0.1, Vec3::Y * 0.1],
                triangles: vec![[0, 1, 2]],
            },
            StartShape::Cuboid => shapes::cuboid(DVec3::new(0.1, 0.2, 0.3)),
            StartShape::Sphere => shapes::sphere(0.1, 2),
            StartShape::Sheet => shapes::sheet(4, 4, 0.02),
            StartShape::Tube => shapes::tube(0.03, 0.2, 6, 3),
        }
    }
}

impl Model {
    fn new(data: &MeshData) -> Model {
        Model {
            positions: data.positions.clone(),
            triangles: (0..).zip(data.triangles.iter().copied()).collect(),
            next_triangle: data.triangles.len() as u32,
            geometry_revision: 0,
            topology_revision: 0,
            published_ns: 0,
        }
    }

    fn change(&mut self, tissue: &Tissue, step: Step, limits: &Limits, now_ns: u64) {
        match step {
            Step::Sparse { vertices, places } => {
                let vertices = vertices.into_iter().map(|v| self.vertex(v, 1)).collect();
                self.deform(
                    tissue,
                    Deformation::Sparse { vertices, positions: points(&places) },
                    now_ns,
                );
            }
            Step::Dense { places, shift } => {
                let mut positions: Vec<Vec3> =
                    self.positions.iter().map(|p| *p + shift.point()).collect();
                for (p, place) in positions.iter_mut().zip(&places) {
                    *p = place.point();
                }
                self.deform(tissue, Deformation::Dense(positions), now_ns);
            }
            Step::Cut { base, removed, places, added, parents } => {
                let n_vertices = 1 + places.len();
                let cut = TopologyEdit {
                    base_revision: base.map(u64::from),
                    removed: self.triangle_ids(&removed),
                    added_positions: points(&places),
                    added: added.iter().map(|t| t.map(|v| self.vertex(v, n_vertices))).collect(),
                    parents: self.triangle_ids(&parents),
                    ..TopologyEdit::default()
                };
                self.cut(tissue, cut, limits, now_ns);
            }
            Step::Split { triangles, place } => {
                let cut = self.split(&triangles, place);
                self.cut(tissue, cut, limits, now_ns);
            }
            Step::Reinsert { triangles } => {
                let removed = self.triangle_ids(&triangles);
                let added =
                    removed.iter().filter_map(|t| self.triangles.get(&t.0)).copied().collect();
                let cut = TopologyEdit { removed, added, ..TopologyEdit::default() };
                self.cut(tissue, cut, limits, now_ns);
            }
            Step::RemoveAll => {
                let removed = self.triangles.keys().copied().map(TriangleId).collect();
                self.cut(
                    tissue,
                    TopologyEdit { removed, ..TopologyEdit::default() },
                    limits,
                    now_ns,
                );
            }
            Step::CatchUp | Step::Recover | Step::Hold | Step::Look | Step::LookAway => {
                unreachable!("changes nothing")
            }
        }
    }

    fn vertex(&self, v: u8, beyond: usize) -> u32 {
        (usize::from(v) % (self.positions.len() + beyond)) as u32
    }

    fn triangle_ids(&self, ids: &[u8]) -> Vec<TriangleId> {
        let ids = ids.iter().map(|t| u32::from(*t) % (self.next_triangle + 1));
        ids.map(TriangleId).collect()
    }

    fn split(&self, triangles: &[u8], place: Place) -> TopologyEdit {
        let mut cut = TopologyEdit {
            base_revision: Some(self.topology_revision),
            removed: self.triangle_ids(triangles),
            ..TopologyEdit::default()
        };
        for t in &cut.removed {
            let Some([a, b, c]) = self.triangles.get(&t.0).copied() else { continue };
            let centre = (self.positions.len() + cut.added_positions.len()) as u32;
            cut.added_positions.push(place.point());
            cut.added.extend([[a, b, centre], [b, c, centre], [c, a, centre]]);
            cut.parents.extend([*t; 3]);
        }
        cut
    }

    fn deform(&mut self, tissue: &Tissue, deformation: Deformation, now_ns: u64) {
        let (vertices, positions) = match &deformation {
            Deformation::Sparse { vertices, positions } => (vertices.clone(), positions.clone()),
            Deformation::Dense(positions) => {
                ((0..self.positions.len() as u32).collect(), positions.clone())
            }
        };
        let accepted = vertices.len() == positions.len()
            && vertices.iter().all(|v| (*v as usize) < self.positions.len())
            && vertices.iter().collect::<BTreeSet<_>>().len() == vertices.len()
            && positions.iter().all(is_in_world);
        let done = tissue.deform(deformation, now_ns);
        assert_eq!(done.is_ok(), accepted, "{done:?}");
        let Ok(done) = done else { return };
        for (v, p) in vertices.iter().zip(&positions) {
            self.positions[*v as usize] = *p;
        }
        self.geometry_revision += 1;
        self.published_ns = now_ns;
        assert_eq!(done.geometry_revision, self.geometry_revision);
        let counts = [done.triangles_touched, done.triangles_relocated];
        assert!(counts.iter().all(|n| *n <= self.triangles.len()));
    }

    fn cut(&mut self, tissue: &Tissue, cut: TopologyEdit, limits: &Limits, now_ns: u64) {
        let accepted = self.accepts(&cut, limits);
        let done = tissue.edit(cut.clone(), limits, now_ns);
        assert_eq!(done.is_ok(), accepted, "{done:?}");
        let Ok(done) = done else { return };
        assert_eq!(done.first_vertex as usize, self.positions.len());
        assert_eq!(done.first_triangle.0, self.next_triangle);
        for t in &cut.removed {
            self.triangles.remove(&t.0);
        }
        self.positions.extend(&cut.added_positions);
        self.triangles.extend((self.next_triangle..).zip(cut.added.iter().copied()));
        self.next_triangle += cut.added.len() as u32;
        self.topology_revision += 1;
        self.published_ns = now_ns;
        assert_eq!(done.topology_revision, self.topology_revision);
        assert_eq!(done.sign_rule, tissue.current().surface.sign_rule());
    }

    fn accepts(&self, cut: &TopologyEdit, limits: &Limits) -> bool {
        let removed: BTreeSet<u32> = cut.removed.iter().map(|t| t.0).collect();
        let n_vertices = self.positions.len() + cut.added_positions.len();
        let n_triangles = self.next_triangle as usize + cut.added.len();
        cut.base_revision.is_none_or(|base| base == self.topology_revision)
            && n_vertices <= limits.vertices_per_mesh as usize
            && n_triangles <= limits.triangles_per_mesh as usize
            && removed.len() == cut.removed.len()
            && removed.iter().all(|t| self.triangles.contains_key(t))
            && cut.added_positions.iter().all(is_in_world)
            && cut.added.as_flattened().iter().all(|v| (*v as usize) < n_vertices)
            && (cut.parents.is_empty() || cut.parents.len() == cut.added.len())
            && cut.parents.iter().all(|t| removed.contains(&t.0))
    }

    /// The revision is the model's, its index is sound and finds what brute force finds.
    fn assert_is(&self, held: &RevisionGuard) {
        self.assert_is_still(held);
        held.surface.assert_well_formed();
        let rebuilt = TriangleMesh::new(MeshData {
            positions: self.positions.clone(),
            triangles: self.triangles.values().copied().collect(),
        });
        assert_eq!(held.surface.sign_rule(), Topology::of(&rebuilt).sign_rule());
        self.assert_finds_nearest(held);
    }

    fn assert_is_still(&self, held: &RevisionGuard) {
        assert_eq!(held.geometry_revision, self.geometry_revision);
        assert_eq!(held.topology_revision, self.topology_revision);
        assert_eq!(held.published_ns, self.published_ns);
        let mesh = held.surface.mesh();
        assert_eq!(mesh.positions(), self.positions);
        assert_eq!(mesh.triangle_id_end(), self.next_triangle);
        let listed = mesh.triangle_ids().map(|t| (t.0, mesh.vertices(t)));
        assert!(listed.eq(self.triangles.iter().map(|(t, v)| (*t, *v))));
    }

    fn assert_finds_nearest(&self, held: &RevisionGuard) {
        let p = DVec3::new(0.013, -0.021, 0.034);
        let distances = self.triangles.iter().map(|(t, vertices)| {
            let corners = vertices.map(|v| self.positions[v as usize].as_dvec3());
            (*t, closest_point(p, &corners).distance_squared)
        });
        let nearest = distances.reduce(|best, next| if next.1 < best.1 { next } else { best });
        let found = held.surface.nearest(p, f64::INFINITY, None);
        assert_eq!(found.map(|n| (n.triangle.0, n.closest.distance_squared)), nearest);
    }
}

fn points(places: &[Place]) -> Vec<Vec3> {
    places.iter().map(|p| p.point()).collect()
}

fn is_in_world(p: &Vec3) -> bool {
    p.is_finite() && p.to_array().iter().all(|c| f64::from(c.abs()) <= COORDINATE_MAX_M)
}
