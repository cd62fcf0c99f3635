//! P12: memory of a tissue of 100 k triangles with everything that is kept of it, counted by the allocator and compared
//! with the tissue's own figure, and with parry3d's mesh with pseudonormals.

use palpate::scene::{Limits, Scene, Tissue, TissueOptions, tissue::deform::Deformation};
use parry3d::shape::TriMeshFlags;

use crate::{counting::bytes_kept_by, inputs, patch::Patch, run::Run};

/// Largest relative difference of the tissue's own figure from the counted one.
const REPORT_SLACK: f64 = 0.01;

/// Prints a line for a tissue at rest and for one that deforms.
pub fn run(run: &mut Run) {
    let (name, loaded) = inputs::organ(run.effort.of(100_000, 4_000));
    let n = loaded.mesh.n_triangles();
    let patch = Patch::around(&loaded.mesh, 17, n / 100);
    let rest = loaded.mesh.positions().to_vec();
    let (_peer, peer_bytes) = bytes_kept_by(|| inputs::parry(&loaded.mesh, TriMeshFlags::ORIENTED));
    let mesh_bytes = loaded.mesh.heap_bytes() as i64;
    let scene = Scene::new("memory".to_owned(), Limits::default());
    let (tissue, new_bytes) = bytes_kept_by(|| {
        scene.add_tissue("organ", loaded, TissueOptions::default(), 0).expect("room")
    });
    // The mesh existed before, and belongs to the tissue now.
    let at_rest = mesh_bytes + new_bytes;
    line(run, &format!("{name}/at-rest"), n, &tissue, at_rest, peer_bytes);
    let ((), more) = bytes_kept_by(|| deform(&tissue, &patch, &rest));
    line(run, &format!("{name}/deforming"), n, &tissue, at_rest + more, peer_bytes);
}

/// Deforms until everything that is remembered is there: the spare copy, and as many ways as are kept.
fn deform(tissue: &Tissue, patch: &Patch, rest: &[glam::Vec3]) {
    for step in 0..12 {
        let vertices = patch.vertices.clone();
        let positions = patch.places[step % 2].clone();
        tissue.deform(Deformation::Sparse { vertices, positions }, 0).expect("accepted");
        tissue.deform(Deformation::Dense(rest.to_vec()), 0).expect("accepted");
    }
}

fn line(run: &mut Run, case: &str, n: usize, tissue: &Tissue, counted: i64, peer: i64) {
    let reported = tissue.heap_bytes() as f64;
    let counted = counted as f64;
    let mb = |bytes: f64| bytes / f64::from(1 << 20);
    assert!((reported / counted - 1.0).abs() < REPORT_SLACK, "{reported} and {counted} bytes");
    let text = format!(
        "ours_mb={:.2} reported_mb={:.2} bytes_per_triangle={:.0} peer={}-without-spare peer_mb={:.2} \
         ratio={:.2}",
        mb(counted),
        mb(reported),
        counted / n as f64,
        inputs::PARRY,
        mb(peer as f64),
        peer as f64 / counted,
    );
    run.line("P12", case, n as f64, text);
}
