//! Memory limit of a reader: a fixed multiple of the file's size, whatever the file declares.

use super::read_error::{FilePlace, MeshReadError};

/// Bytes that a reader may allocate for each byte of its file. Files written by tools need less than two: the densest
/// one met, quads of a binary PLY file with 16-bit vertex numbers, gives 36 bytes of arrays for 21 of file. Polygons of
/// many corners, each a digit and a space, would give eight.
pub(super) const READ_BYTES_PER_BYTE: u64 = 3;
/// Bytes that a reader may allocate for each byte of a file that may be compressed. VTK's own writer stores the cells
/// of a regular grid as an eighth of the arrays that they give.
pub(super) const READ_BYTES_PER_COMPRESSED_BYTE: u64 = 8;
/// Bytes that a reader may allocate for any file: a cube in single digits is denser than any large mesh.
pub(super) const READ_BYTES_MIN: u64 = 1 << 20;

/// Remaining memory budget of a reader.
pub(super) struct ReadRoom {
    n_file_bytes: u64,
    left: u64,
}

impl ReadRoom {
    pub(super) fn of(file: &[u8]) -> ReadRoom {
        ReadRoom::times(READ_BYTES_PER_BYTE, file)
    }

    pub(super) fn of_compressed(file: &[u8]) -> ReadRoom {
        ReadRoom::times(READ_BYTES_PER_COMPRESSED_BYTE, file)
    }

    fn times(n_bytes_per_byte: u64, file: &[u8]) -> ReadRoom {
        let n_file_bytes = file.len() as u64;
        let left = n_file_bytes.saturating_mul(n_bytes_per_byte).max(READ_BYTES_MIN);
        ReadRoom { n_file_bytes, left }
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
