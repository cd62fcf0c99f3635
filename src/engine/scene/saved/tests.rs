//! Saved tissues as they are read again.

use glam::DVec3;

use super::*;
use crate::{
    geometry::{LoadOptions, Orientation, mesh::load::load},
    oracle::{Random, shapes},
    scene::tissue::{deform::Deformation, feel::Material},
};

#[test]
fn a_lumen_is_one_when_it_is_read_again() {
    let mut data = shapes::cuboid(DVec3::splat(0.1));
    data.triangles.iter_mut().for_each(|t| t.swap(1, 2));
    let options = LoadOptions { orientation: Orientation::AsWound, ..LoadOptions::default() };
    let loaded = load(data, &options).expect("a mesh");
    let named = ("lumen".to_owned(), TissueKind::Tissue);
    let tissue = Tissue::new(named, loaded, TissueOptions::default(), 0);
    for tissue in [tissue.saved().tissue(0), tissue] {
        let now = tissue.current();
        assert_eq!(now.surface.contains(DVec3::ZERO), (false, 1.0));
        assert_eq!(now.surface.contains(DVec3::X), (true, 1.0));
    }
}

/// Seams follow from the mesh: a tissue that was saved with one apart has the others, and joins it again as a
/// tissue that was never saved does.
#[test]
fn seams_outlive_a_restart() {
    let data = shapes::split(shapes::sphere(0.05, 2), 1.0, &mut Random::new(4));
    let last = data.positions.len() as u32 - 1;
    let home = data.positions[last as usize];
    let loaded = load(data, &LoadOptions::default()).expect("a mesh");
    let named = ("t".to_owned(), TissueKind::Tissue);
    let tissue = Tissue::new(named, loaded, Default::default(), 0);
    let all = tissue.report().welded_edges;
    let put = |tissue: &Tissue, at| {
        let sparse = Deformation::Sparse { vertices: vec![last], positions: vec![at] };
        tissue.deform(sparse, 0).expect("accepted").welded_edges
    };
    assert_eq!(put(&tissue, home * 2.0), all - 2);
    let restored = tissue.saved().tissue(0);
    assert_eq!(restored.report().welded_edges, all - 2);
    assert_eq!(put(&restored, home), all);
    assert_eq!(put(&tissue, home), all);
}

/// A scene is saved with its materials; a removed tissue and a tissue that is rigid again have none.
#[test]
fn materials_are_saved_and_forgotten_with_their_tissues() {
    let scene = Scene::new("stage".to_owned(), Limits::default());
    for name in ["first", "second"] {
        let loaded = load(shapes::cuboid(DVec3::splat(0.1)), &LoadOptions::default());
        scene.add_tissue(name, loaded.expect("a mesh"), TissueOptions::default(), 0).expect("room");
    }
    let soft = |stiffness| Material { stiffness_n_per_m: Some(stiffness), ..Material::default() };
    let feel = Feel::new(vec![soft(100.0), soft(50.0)], vec![1; 12]).expect("materials");
    for tissue in scene.tissues().iter() {
        tissue.set_feel(Some(feel.clone()), 0).expect("one for each triangle");
    }
    let mut saved = scene.saved();
    assert_eq!(saved.feels, [(TissueId(1), feel.clone()), (TissueId(2), feel.clone())]);
    let no_tools = |_: &str, _: &Surface, _: &FieldOptions| -> Result<Field, NotAScene> {
        unreachable!("there are none")
    };
    let restored = Scene::restored(saved.clone(), Limits::default(), 0, no_tools).expect("a scene");
    assert_eq!(restored.saved().feels, saved.feels);
    let second = restored.tissue(TissueId(2)).expect("there").current().contact_law(
        TriangleId(3),
        DVec3::X,
        0.0,
    );
    assert_eq!(second.expect("a law").compliance_m_per_n, 1.0 / 50.0);
    saved.apply(SceneChange::TissueRemoved(TissueId(1))).expect("it fits");
    saved.check().expect("a scene");
    let short = Feel::new(vec![soft(100.0)], vec![0; 13]).expect("materials");
    let change = |feel| SceneChange::Felt { tissue: TissueId(2), feel };
    saved.apply(change(Some(short))).expect_err("of other triangles");
    assert_eq!(saved.feels, [(TissueId(2), feel)]);
    saved.apply(change(None)).expect("it fits");
    assert!(saved.feels.is_empty());
}
