//! A scene whose tissues are moved and held by the test, and shapes that meet themselves.

use std::{collections::BTreeSet, f32::consts::PI, sync::Arc};

use glam::Vec3;
use palpate::{
    geometry::{LoadOptions, MeshData, mesh::load::load},
    oracle::shapes,
    scene::{
        Limits, Scene, Tissue, TissueId, TissueOptions,
        self_collision::{
            FeatureContact, FeatureKind, Interval, Scope, SelfCollisionError, SelfCollisionOptions,
            SelfCollisions, self_collisions,
        },
        tissue::deform::Deformation,
    },
};

pub const ALL: SelfCollisionOptions = SelfCollisionOptions {
    thickness_m: 0.0,
    scope: Scope::All,
    max_contacts: 1 << 20,
    max_pairs: 1 << 24,
};

/// Two features by tissue and vertices, with the vertices of a face ascending.
pub type Features = (FeatureKind, [TissueId; 2], [u32; 4]);

pub struct Stage {
    pub scene: Scene,
    pub tissues: Vec<Arc<Tissue>>,
}

impl Stage {
    /// Adds a tissue for each mesh, and holds it as revision 1.
    pub fn of(meshes: impl IntoIterator<Item = MeshData>) -> Stage {
        let scene = Scene::new("self".to_owned(), Limits::default());
        let mut tissues = Vec::new();
        for (n, data) in meshes.into_iter().enumerate() {
            let mesh = load(data, &LoadOptions::default()).expect("a mesh");
            let added = scene.add_tissue(&n.to_string(), mesh, TissueOptions::default(), 0);
            let tissue = added.expect("room");
            let nothing = Deformation::Sparse { vertices: vec![], positions: vec![] };
            tissue.deform(nothing, 0).expect("accepted");
            tissue.hold();
            tissues.push(tissue);
        }
        Stage { scene, tissues }
    }

    /// Moves all vertices of a tissue and holds the revision.
    pub fn move_all(&self, tissue: usize, to: impl Fn(usize, Vec3) -> Vec3) -> u64 {
        let tissue = &self.tissues[tissue];
        let now = tissue.current().surface.mesh().positions().to_vec();
        let moved = now.iter().enumerate().map(|(v, p)| to(v, *p)).collect();
        let done = tissue.deform(Deformation::Dense(moved), 0).expect("accepted");
        assert_eq!(tissue.hold().last(), Some(&done.geometry_revision));
        done.geometry_revision
    }

    /// Every tissue over the last of its held steps.
    pub fn last_steps(&self) -> Vec<Interval> {
        let last = |t: &Arc<Tissue>| {
            let held = t.held();
            let from = held[held.len().saturating_sub(2)].geometry_revision;
            Interval { tissue: t.id(), from: Some(from), to: None }
        };
        self.tissues.iter().map(last).collect()
    }

    pub fn detect(&self, options: &SelfCollisionOptions) -> SelfCollisions {
        self.ask(&self.last_steps(), options).expect("an answer")
    }

    pub fn ask(
        &self,
        intervals: &[Interval],
        options: &SelfCollisionOptions,
    ) -> Result<SelfCollisions, SelfCollisionError> {
        self_collisions(&self.scene, intervals, options, &|| false)
    }
}

pub fn features(contact: &FeatureContact) -> Features {
    let mut vertices = contact.vertices;
    if contact.kind == FeatureKind::VertexFace {
        vertices[1..].sort_unstable();
    }
    (contact.kind, contact.tissues, vertices)
}

pub fn all_features(found: &SelfCollisions) -> BTreeSet<Features> {
    found.contacts.iter().map(features).collect()
}

/// Thirty centimetres of a gut two centimetres across.
pub fn gut() -> MeshData {
    shapes::tube(0.01, 0.3, 9, 40)
}

/// The straight gut's vertices bent to a loop of `turns` turns that rises by less than the gut's width.
pub fn bent(p: Vec3, turns: f32) -> Vec3 {
    let angle = 2.0 * PI * turns;
    let radius = 0.3 / angle;
    let (sin, cos) = (p.z / 0.3 * angle).sin_cos();
    Vec3::new((radius + p.x) * cos, (radius + p.x) * sin, p.y + 0.05 * p.z)
}
