//! Files from strangers: read, validated and indexed, as an upload is.

use palpate::{
    geometry::{LoadOptions, mesh::load::load},
    index::LatLonOptions,
    mesh_io::{self, MeshFormat},
    surface::Surface,
};

use crate::allocation::peak_during;

/// Most vertices and most triangles of a mesh that is accepted.
const MESH_MAX: u32 = 4096;

/// What a reader may take beside its arrays: the words and numbers of one record, and messages.
const BYTES_BESIDE_MAX: usize = 2 << 20;

/// No panic, no memory on the word of a header, and a mesh that is accepted is a sound one.
pub fn check(bytes: &[u8], format: MeshFormat) {
    let (read, peak) = peak_during(|| mesh_io::read(bytes, format));
    let allowed = BYTES_BESIDE_MAX + format.read_bytes_max(bytes.len() as u64) as usize;
    assert!(peak <= allowed, "reading {} bytes took {peak}, allowed {allowed}", bytes.len());
    let Ok(data) = read else { return };
    let sent = (data.positions.len(), data.triangles.len());
    let options =
        LoadOptions { max_vertices: MESH_MAX, max_triangles: MESH_MAX, ..LoadOptions::default() };
    let Ok(loaded) = load(data, &options) else { return };
    let mesh = loaded.mesh;
    assert_eq!((mesh.positions().len(), mesh.n_triangles()), sent);
    assert!(mesh.positions().iter().all(|p| p.is_finite()));
    Surface::new(mesh, LatLonOptions::default()).assert_well_formed();
}
