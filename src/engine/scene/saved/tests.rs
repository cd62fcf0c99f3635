//! Saved tissues as they are read again.

use glam::DVec3;

use super::*;
use crate::{
    geometry::{LoadOptions, Orientation, mesh::load::load},
    oracle::{Random, shapes},
    scene::tissue::deform::Deformation,
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
