//! A small scene: closed and open tissue, tools of one and of two links, with probes.

use std::sync::{Arc, LazyLock};

use glam::{DVec3, Vec3};
use palpate::{
    geometry::{LoadOptions, LoadedMesh, MeshData, Pose, mesh::load::load},
    oracle::shapes,
    scene::{
        Limits, Link, Probe, Scene, Tissue, TissueOptions, Tool, ToolParts, tool::field::field_of,
    },
    sdf::{Field, FieldOptions},
};

/// Coarse, so that the first input does not wait for fields.
const FIELD_TOLERANCE_M: f64 = 2e-3;

/// Tools whose fields were built once, and no tissue.
pub fn tools_only() -> Arc<Scene> {
    let scene = Scene::new("fuzz".to_owned(), Limits::default());
    let shaft = link("shaft", shapes::capsule(0.01, 0.03, 4), Pose::IDENTITY);
    let tip = Probe {
        name: "tip".to_owned(),
        link: 0,
        position: DVec3::new(0.0, 0.0, 0.04),
        radius: 0.002,
    };
    add_tool(&scene, "probe", vec![shaft], vec![tip]);
    let open = Pose { translation: DVec3::Z * 0.004, ..Pose::IDENTITY };
    let closed = Pose { translation: DVec3::Z * -0.004, ..Pose::IDENTITY };
    let jaw = shapes::jaw(0.04, 4);
    let jaws =
        vec![link("left", jaw.clone(), open), link("right", shapes::mirrored_z(&jaw), closed)];
    add_tool(&scene, "grasper", jaws, vec![]);
    Arc::new(scene)
}

/// A tool of one triangle, so cheap that it can come and go.
pub fn add_blade(scene: &Scene) -> Arc<Tool> {
    static FIELD: LazyLock<Arc<Field>> =
        LazyLock::new(|| link("edge", blade(), Pose::IDENTITY).field);
    let mesh = loaded(blade());
    let edge = Link::new("edge".to_owned(), mesh, Pose::IDENTITY, |_| Field::clone(&FIELD));
    add_tool(scene, "blade", vec![edge], vec![])
}

/// A lumpy ball about the origin.
pub fn add_organ(scene: &Scene) -> Arc<Tissue> {
    add_tissue(scene, "organ", shapes::organ(20, 3))
}

/// Beside the organ and through it.
pub fn add_sheet(scene: &Scene) -> Arc<Tissue> {
    add_tissue(scene, "sheet", shapes::sheet(4, 4, 0.04))
}

fn blade() -> MeshData {
    MeshData {
        positions: vec![Vec3::ZERO, Vec3::X * 0.02, Vec3::Y * 0.05],
        triangles: vec![[0, 1, 2]],
    }
}

fn loaded(data: MeshData) -> LoadedMesh {
    load(data, &LoadOptions::default()).expect("a mesh")
}

fn link(name: &str, data: MeshData, rest: Pose) -> Link {
    let options = FieldOptions { tolerance_m: Some(FIELD_TOLERANCE_M), ..FieldOptions::default() };
    Link::new(name.to_owned(), loaded(data), rest, |s| field_of(s, &options))
}

fn add_tool(scene: &Scene, name: &str, links: Vec<Link>, probes: Vec<Probe>) -> Arc<Tool> {
    scene.add_tool(ToolParts { name: name.to_owned(), links, probes }).expect("added")
}

fn add_tissue(scene: &Scene, name: &str, data: MeshData) -> Arc<Tissue> {
    scene.add_tissue(name, loaded(data), TissueOptions::default(), 0).expect("added")
}
