//! Tubes about lines that carry them: sutures, catheters, rods of a solver.

use std::ptr;

use glam::DVec3;
use palpate::{
    client::TissueBinding,
    scene::{
        Limits,
        tissue::{binding::Controls, tube::Tube},
    },
};

use crate::{
    border::{array, at_most, buffer, call, out, read},
    code::{Failure, palpate_code},
    growing,
    plain::{PALPATE_FRAMES, palpate_binding, palpate_mesh},
    server::close,
};

/// A closed tube of round ends about a line of points, which carry it. Calls may come from any thread.
pub struct palpate_tube {
    tube: Tube,
    binding: TissueBinding,
}

/// Sides of a tube whose caller does not say.
const SIDES: u32 = 12;

/// Makes a tube about `n_points` points at rest, at least two: x, y, z of each, metres, scene frame, no two neighbours
/// in one place. `radius_m`: of the circle on which the vertices of a ring are. `sides`: their number, at least 3; 0:
/// 12.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn palpate_create_tube(
    points: *const f32,
    n_points: usize,
    radius_m: f64,
    sides: u32,
    tube: *mut *mut palpate_tube,
) -> palpate_code {
    call(|| {
        // SAFETY: guaranteed by the caller, as the header requires.
        let (to, line) = unsafe {
            let to = out(tube, "tube")?;
            *to = ptr::null_mut();
            (to, line(points, n_points)?)
        };
        let sides = if sides == 0 { SIDES } else { sides } as usize;
        at_most(sides, Limits::default().vertices_per_mesh as usize / n_points.max(1), "sides")?;
        let tube = Tube::new(&line, radius_m, sides).map_err(wrong)?;
        let binding = TissueBinding::to_line(&tube);
        *to = Box::into_raw(Box::new(palpate_tube { tube, binding }));
        Ok(())
    })
}

/// Points `mesh` and `binding` to the tube's surface and to the frames that carry it, one for each point of the line,
/// for `palpate_add_tissue`. They are valid until the tube is closed. `binding->size` must be set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn palpate_tube_mesh(
    tube: *const palpate_tube,
    mesh: *mut palpate_mesh,
    binding: *mut palpate_binding,
) -> palpate_code {
    call(|| {
        // SAFETY: guaranteed by the caller, as the header requires.
        unsafe {
            let tube = read(tube, "tube")?;
            let (surface, of) = (&tube.tube.mesh, &tube.binding.data);
            let carried = palpate_binding {
                kind: PALPATE_FRAMES,
                controls: of.rest.as_ptr(),
                n_controls: tube.tube.rest.len(),
                weights_per_vertex: of.weights_per_vertex.as_ptr(),
                n_vertices: of.weights_per_vertex.len(),
                ids: of.controls.as_ptr(),
                weights: of.weights.as_ptr(),
                n_weights: of.weights.len(),
                ..palpate_binding::default()
            };
            let mesh = out(mesh, "mesh")?;
            growing::write(binding, &carried, "binding")?;
            *mesh = palpate_mesh {
                positions: surface.positions.as_ptr().cast(),
                n_vertices: surface.positions.len(),
                triangles: surface.triangles.as_ptr().cast(),
                n_triangles: surface.triangles.len(),
                scale_to_m: 1.0,
            };
            Ok(())
        }
    })
}

/// Computes the frames of the tube when its points are at `points`, as many as at rest: seven numbers for each, the
/// state for `palpate_drive`. They turn with the line, without twist along it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn palpate_tube_frames(
    tube: *const palpate_tube,
    points: *const f32,
    n_points: usize,
    frames: *mut f32,
) -> palpate_code {
    call(|| {
        // SAFETY: guaranteed by the caller, as the header requires.
        unsafe {
            let tube = &read(tube, "tube")?.tube;
            at_most(n_points, tube.rest.len(), "n_points")?;
            let moved = tube.frames(&line(points, n_points)?).map_err(wrong)?;
            let numbers = Controls::Frames(moved).numbers();
            buffer(frames, numbers.len(), "frames")?.copy_from_slice(&numbers);
            Ok(())
        }
    })
}

/// Frees a tube and sets the pointer to NULL. A tissue that was made of it stays.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn palpate_close_tube(tube: *mut *mut palpate_tube) -> palpate_code {
    call(|| {
        // SAFETY: guaranteed by the caller, as the header requires.
        unsafe { close(tube, "tube") }
    })
}

/// Reads the points of a line.
///
/// # Safety
/// NULL, or three numbers for each of `n` points.
unsafe fn line(points: *const f32, n: usize) -> Result<Vec<DVec3>, Failure> {
    at_most(n, Limits::default().vertices_per_mesh as usize, "n_points")?;
    // SAFETY: guaranteed by the caller.
    let numbers = unsafe { array(points, 3 * n, "points") }?;
    let point = |p: &[f32; 3]| DVec3::from(p.map(f64::from));
    Ok(numbers.as_chunks::<3>().0.iter().map(point).collect())
}

fn wrong(error: impl std::fmt::Display) -> Failure {
    Failure::argument(error.to_string())
}
