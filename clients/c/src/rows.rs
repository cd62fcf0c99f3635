//! Movements and loads in a solver's own arrays: floats or doubles, at any distance from each other.

use std::ffi::{c_char, c_void};

use glam::Vec3;
use palpate::scene::tissue::deform::Deformation;

use crate::{
    backend::{Moved, snapshot::Load},
    border::{array, buffer, call, read},
    code::{Failure, palpate_code},
    driven::drive,
    growing::{self, growing},
    scene::palpate_scene,
    session::{copy_loads, fill, palpate_session},
};

/// Rows of numbers, as a solver has them.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct palpate_rows {
    /// `sizeof` of this struct.
    pub size: u32,
    /// `PALPATE_FLOAT` or `PALPATE_DOUBLE`; doubles are rounded to floats.
    pub number: u32,
    /// First number of the first row. Rows need not be aligned.
    pub data: *const c_void,
    /// Number of rows.
    pub n: usize,
    /// Distance from a row to the next, bytes; 0: each follows the one before at once.
    pub stride: usize,
}

/// Numbers of 4 bytes.
pub const PALPATE_FLOAT: u32 = 0;
/// Numbers of 8 bytes.
pub const PALPATE_DOUBLE: u32 = 1;

/// Rows of three numbers that a call writes, as a solver has them.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct palpate_writable_rows {
    /// `sizeof` of this struct.
    pub size: u32,
    /// `PALPATE_FLOAT` or `PALPATE_DOUBLE`.
    pub number: u32,
    /// First number of the first row. Rows need not be aligned.
    pub data: *mut c_void,
    /// Number of rows that have room.
    pub capacity: usize,
    /// Distance from a row to the next, bytes; 0: each follows the one before at once.
    pub stride: usize,
}

growing!(palpate_rows ends with stride, palpate_writable_rows ends with stride);

/// As `palpate_deform`, or `palpate_deform_some` of these `vertices` if that is not NULL, in a solver's own array: rows
/// of x, y, z.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn palpate_deform_rows(
    scene: *mut palpate_scene,
    tissue_id: u32,
    vertices: *const u32,
    positions: *const palpate_rows,
) -> palpate_code {
    call(|| {
        // SAFETY: guaranteed by the caller, as the header requires.
        unsafe {
            let scene = read(scene, "scene")?;
            let sent = growing::read(positions, "positions")?;
            let all = vertices.is_null();
            let is_enough = |n: usize| if all { sent.n == n } else { sent.n <= n };
            let size = scene.theatre.size(tissue_id, &|size| is_enough(size.vertices))?;
            if !is_enough(size.vertices) {
                let (n, expected) = (sent.n, size.vertices);
                let message = format!("positions.n is {n}, expected {expected}");
                return Err(Failure::argument(message));
            }
            let flat = flat(&sent, 3, "positions")?;
            let positions = flat.as_chunks().0.iter().map(|p| Vec3::from_array(*p)).collect();
            let moved = match all {
                true => Deformation::Dense(positions),
                false => Deformation::Sparse {
                    vertices: array(vertices, sent.n, "vertices")?.to_vec(),
                    positions,
                },
            };
            scene.theatre.deform(tissue_id, Moved::Vertices(moved)).map(|_| ())
        }
    })
}

/// As `palpate_drive`, in a solver's own array: rows of three numbers for points, of seven for frames.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn palpate_drive_rows(
    scene: *mut palpate_scene,
    tissue_id: u32,
    kind: u32,
    controls: *const u32,
    state: *const palpate_rows,
) -> palpate_code {
    call(|| {
        // SAFETY: guaranteed by the caller, as the header requires.
        unsafe {
            let scene = read(scene, "scene")?;
            let sent = growing::read(state, "state")?;
            let numbers = |each| flat(&sent, each, "state");
            drive(scene, (tissue_id, kind), controls, (sent.n, "state.n"), numbers)
        }
    })
}

/// As `palpate_tissue_loads`, into a solver's own array. `vertices` has space for as many ids as `forces_n` has rows.
/// The bytes between the rows stay as they are.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn palpate_tissue_load_rows(
    session: *mut palpate_session,
    tissue_id: u32,
    vertices: *mut u32,
    forces_n: *const palpate_writable_rows,
    n: *mut usize,
    geometry_revision: *mut u64,
) -> palpate_code {
    call(|| {
        // SAFETY: guaranteed by the caller, as the header requires.
        unsafe {
            let rows = growing::read(forces_n, "forces_n")?;
            let ids = buffer(vertices, rows.capacity, "vertices")?;
            let palpate_writable_rows { number, data, capacity, stride, .. } = rows;
            let (each, stride) = layout(number, (capacity, stride), 3, "forces_n")?;
            if data.is_null() && capacity > 0 {
                return Err(Failure::argument("forces_n.data is NULL"));
            }
            let number_of = |load: &Load| load.vertices.len();
            copy_loads(tissue_id, session, (n, geometry_revision), number_of, |load| {
                for (row, force) in load.forces_n.iter().enumerate().take(capacity) {
                    for (k, newtons) in force.iter().enumerate() {
                        let at = data.cast::<c_char>().add(row * stride + k * each);
                        match number {
                            PALPATE_FLOAT => at.cast::<f32>().write_unaligned(*newtons as f32),
                            _ => at.cast::<f64>().write_unaligned(*newtons),
                        }
                    }
                }
                fill(ids, &load.vertices)
            })
        }
    })
}

/// Returns the size of a number and the distance of rows of `width` numbers, bytes, after checking that they can be.
fn layout(
    number: u32,
    (n, stride): (usize, usize),
    width: usize,
    name: &str,
) -> Result<(usize, usize), Failure> {
    let each = match number {
        PALPATE_FLOAT => size_of::<f32>(),
        PALPATE_DOUBLE => size_of::<f64>(),
        other => {
            let expected = "PALPATE_FLOAT or PALPATE_DOUBLE";
            let message = format!("{name}.number is {other}, expected {expected}");
            return Err(Failure::argument(message));
        }
    };
    let stride = if stride == 0 { each * width } else { stride };
    if stride < each * width || stride.checked_mul(n).is_none_or(|all| all > isize::MAX as usize) {
        let message = format!("{name}.stride is {stride}, expected at least {}", each * width);
        return Err(Failure::argument(message));
    }
    Ok((each, stride))
}

/// Returns the first `width` numbers of each row.
///
/// # Safety
/// `rows.data` is NULL or has as many rows as it says.
unsafe fn flat(rows: &palpate_rows, width: usize, name: &str) -> Result<Vec<f32>, Failure> {
    let palpate_rows { number, data, n, stride, .. } = *rows;
    let (each, stride) = layout(number, (n, stride), width, name)?;
    if data.is_null() && n > 0 {
        return Err(Failure::argument(format!("{name}.data is NULL")));
    }
    let mut made = Vec::with_capacity(width * n);
    for row in 0..n {
        for k in 0..width {
            // SAFETY: guaranteed by the caller; the offset is within the rows, whose size fits.
            made.push(unsafe {
                let at = data.cast::<c_char>().add(row * stride + k * each);
                match number {
                    PALPATE_FLOAT => at.cast::<f32>().read_unaligned(),
                    _ => at.cast::<f64>().read_unaligned() as f32,
                }
            });
        }
    }
    Ok(made)
}
