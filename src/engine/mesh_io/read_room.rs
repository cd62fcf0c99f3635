//! Memory limit of a reader: a fixed multiple of the file's size, whatever the file declares.

use super::read_error::{FilePlace, MeshReadError};

/// Bytes that a reader may allocate for each byte of its file. Quads of a binary PLY file with 16-bit vertex numbers give
/// 36 bytes of arrays for 21 of file, tetrahedra of a binary VTK file two for each. Polygons of many corners, each a digit
/// and a space, would give eight.
const PER_BYTE: u64 = 3;
/// Bytes for each byte of a file that may be compressed: VTK's writer stores the cells of a regular grid as an eighth of
/// the arrays that they give.
const PER_COMPRESSED_BYTE: u64 = 12;
/// Bytes for any file: a cube in single digits is denser than any large mesh.
const LEAST: u64 = 1 << 20;
/// Bytes for the nodes and meshes of a glTF file, beside its arrays: some ten thousand of them.
const OF_JSON: u64 = 16 << 20;

/// Most memory for a file that is not compressed, bytes.
pub(super) fn of_any(n_file_bytes: u64) -> u64 {
    n_file_bytes.saturating_mul(PER_BYTE).max(LEAST)
}

/// Most memory for a file that may be compressed, bytes.
pub(super) fn of_compressed(n_file_bytes: u64) -> u64 {
    n_file_bytes.saturating_mul(PER_COMPRESSED_BYTE).max(LEAST)
}

/// Most memory for a glTF file, bytes.
pub(super) fn of_glb(n_file_bytes: u64) -> u64 {
    of_any(n_file_bytes).saturating_add(OF_JSON)
}

/// Remaining memory budget of a reader.
pub(super) struct ReadRoom {
    n_file_bytes: u64,
    left: u64,
}

impl ReadRoom {
    /// Room for a file that is not compressed.
    pub(super) fn of(file: &[u8]) -> ReadRoom {
        ReadRoom::new(file, of_any)
    }

    /// Room for cells that are in memory.
    pub(super) fn endless() -> ReadRoom {
        ReadRoom { n_file_bytes: 0, left: u64::MAX }
    }

    /// Room for a file, by one of the functions above.
    pub(super) fn new(file: &[u8], most: fn(u64) -> u64) -> ReadRoom {
        let n_file_bytes = file.len() as u64;
        ReadRoom { n_file_bytes, left: most(n_file_bytes) }
    }

    /// Returns an empty vector with capacity for `n` items, which are at `place` in the file.
    ///
    /// # Errors
    /// Returns an error if `n` items take more than the reader may still allocate.
    pub(super) fn vec<T>(
        &mut self,
        n: u64,
        what: &str,
        place: FilePlace,
    ) -> Result<Vec<T>, MeshReadError> {
        // Saturating: a count may be any number, and the product only has to exceed any budget.
        self.take(n.saturating_mul(size_of::<T>() as u64), n, what, place)?;
        // Exact capacity: a vector that grows holds its old and new buffers at once for a while.
        let mut items = Vec::new();
        items.reserve_exact(n as usize);
        Ok(items)
    }

    /// Takes the bytes of `n` things from the budget.
    ///
    /// # Errors
    /// Returns an error if `needed` is more than the reader may still allocate.
    pub(super) fn take(
        &mut self,
        needed: u64,
        n: u64,
        what: &str,
        place: FilePlace,
    ) -> Result<(), MeshReadError> {
        let left = self.left;
        if needed > left {
            let (what, file) = (what.to_owned(), self.n_file_bytes);
            return Err(MeshReadError::TooDense { place, count: n, what, needed, left, file });
        }
        self.left -= needed;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_room_is_taken_once() {
        let mut room = ReadRoom::of(&[0; 1 << 20]);
        let place = FilePlace::Line(2);
        let half = room.vec::<[u32; 3]>(1 << 17, "triangles", place).expect("half of it");
        assert_eq!((half.len(), half.capacity()), (0, 1 << 17));
        let refused =
            room.vec::<[u32; 3]>((1 << 17) + 1, "triangles", place).expect_err("too many");
        assert_eq!(
            refused.to_string(),
            "line 2: 131073 triangles take 1572876 bytes of memory, expected at most 1572864 for a file of \
             1048576 bytes"
        );
        room.vec::<[u32; 3]>(1 << 17, "triangles", place).expect("the other half");
        assert!(room.vec::<u8>(u64::MAX, "bytes", place).is_err());
    }
}
