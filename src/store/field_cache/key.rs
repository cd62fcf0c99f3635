//! Key of a cached field, from the field's inputs.

use std::fmt::Write as _;

use crate::{
    geometry::{TriangleId, TriangleMesh},
    sdf::{FIELD_VERSION, FieldOptions},
};

/// Hash of a field's inputs: the mesh, every option and the version of the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FieldKey([u8; 32]);

impl FieldKey {
    /// Computes the key of a field of `mesh` with `options`.
    pub fn of(mesh: &TriangleMesh, options: &FieldOptions) -> FieldKey {
        let mut hash = blake3::Hasher::new();
        // Includes the crate's version and the field's: a change of the code may change a field without its format.
        hash.update(env!("CARGO_PKG_VERSION").as_bytes());
        hash.update(&FIELD_VERSION.to_le_bytes());
        let options = postcard::to_stdvec(options).expect("plain numbers");
        hash.update(&(options.len() as u64).to_le_bytes()).update(&options);
        hash.update(&(mesh.positions().len() as u64).to_le_bytes());
        for x in mesh.positions().iter().flat_map(|p| p.to_array()) {
            hash.update(&x.to_le_bytes());
        }
        for t in 0..mesh.triangle_id_end() {
            // A removed triangle keeps its number; no vertex has this id.
            for vertex in mesh.get(TriangleId(t)).unwrap_or([u32::MAX; 3]) {
                hash.update(&vertex.to_le_bytes());
            }
        }
        FieldKey(hash.finalize().into())
    }

    /// Returns the name of the file that holds the field.
    pub fn file_name(&self) -> String {
        self.0.iter().fold(String::new(), |mut name, byte| {
            // Writing to a string cannot fail.
            let _ = write!(name, "{byte:02x}");
            name
        }) + ".field"
    }

    /// Returns the key as stored in a file.
    pub fn bytes(&self) -> &[u8; 32] {
        &self.0
    }
}
