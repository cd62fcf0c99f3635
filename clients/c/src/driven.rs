//! Driven tissues: the points or frames of a solver that carry their vertices.

use palpate::{
    client::TissueBinding,
    proto::{BindingChunk, ControlKind},
    scene::{
        Limits,
        tissue::binding::{CONTROLS_PER_VERTEX_MAX, ControlMove, Controls},
    },
};

use crate::{
    backend::Moved,
    border::{array, at_most, buffer, call, read},
    code::{Failure, palpate_code},
    growing,
    plain::{PALPATE_FRAMES, PALPATE_POINTS, palpate_binding},
    scene::palpate_scene,
    session::{copy_loads, fill, palpate_session},
};

/// Moves controls of a tissue that was added with a binding, and the vertices that they carry. `kind`: that of the
/// binding. `controls`: the ids of those that move, each once, or NULL for all. `state`: three numbers for each point,
/// seven for each frame, as in `palpate_binding`. Returns once sessions can see it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn palpate_drive(
    scene: *mut palpate_scene,
    tissue_id: u32,
    kind: u32,
    controls: *const u32,
    state: *const f32,
    n_controls: usize,
) -> palpate_code {
    call(|| {
        // SAFETY: guaranteed by the caller, as the header requires.
        unsafe {
            let scene = read(scene, "scene")?;
            let numbers = |each| Ok(array(state, each * n_controls, "state")?.to_vec());
            drive(scene, (tissue_id, kind), controls, (n_controls, "n_controls"), numbers)
        }
    })
}

/// Moves controls; `numbers` returns their state, given how many numbers each has.
///
/// # Safety
/// `controls` is NULL or has `n` ids.
pub(crate) unsafe fn drive(
    scene: &palpate_scene,
    (tissue_id, kind): (u32, u32),
    controls: *const u32,
    (n, n_name): (usize, &str),
    numbers: impl FnOnce(usize) -> Result<Vec<f32>, Failure>,
) -> Result<(), Failure> {
    let size = scene.theatre.size(tissue_id, &|_| true)?;
    if size.controls == 0 {
        let message = format!("tissue {tissue_id} has no controls, expected a binding");
        return Err(Failure::argument(message));
    }
    let are_frames = kind_of(kind, "kind")? == ControlKind::Frames;
    if are_frames != size.are_frames {
        let expected = if size.are_frames { "PALPATE_FRAMES" } else { "PALPATE_POINTS" };
        return Err(Failure::argument(format!("kind is {kind}, expected {expected}")));
    }
    at_most(n, size.controls, n_name)?;
    let controls = match controls.is_null() {
        true => None,
        // SAFETY: guaranteed by the caller.
        false => Some(unsafe { array(controls, n, "controls") }?.to_vec()),
    };
    let numbers = numbers(Controls::numbers_each(are_frames))?;
    let to = Controls::of_numbers(are_frames, &numbers).expect("a multiple");
    let moved = Moved::Controls(ControlMove { controls, to });
    scene.theatre.deform(tissue_id, moved).map(|_| ())
}

/// As `palpate_tissue_loads`, of the controls that carry a driven tissue: forces and moments sum to those of the
/// contacts. `forces_n` and `torques_nm` have space for three numbers for each of `capacity` controls. Torques are about
/// the origins of frames, 0 for points; `torques_nm` may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn palpate_control_loads(
    session: *mut palpate_session,
    tissue_id: u32,
    controls: *mut u32,
    forces_n: *mut f64,
    torques_nm: *mut f64,
    capacity: usize,
    n: *mut usize,
    geometry_revision: *mut u64,
) -> palpate_code {
    call(|| {
        // SAFETY: guaranteed by the caller, as the header requires.
        unsafe {
            let ids = buffer(controls, capacity, "controls")?;
            let forces = buffer(forces_n.cast::<[f64; 3]>(), capacity, "forces_n")?;
            let n_torques = if torques_nm.is_null() { 0 } else { capacity };
            let torques = buffer(torques_nm.cast::<[f64; 3]>(), n_torques, "torques_nm")?;
            let counts = (n, geometry_revision);
            copy_loads(
                tissue_id,
                session,
                counts,
                |load| load.controls.len(),
                |load| {
                    // A server sends no torques of points.
                    torques.fill([0.0; 3]);
                    for (to, from) in torques.iter_mut().zip(&load.control_torques_nm) {
                        *to = *from;
                    }
                    fill(forces, &load.control_forces_n)?;
                    fill(ids, &load.controls)
                },
            )
        }
    })
}

fn kind_of(kind: u32, what: &str) -> Result<ControlKind, Failure> {
    match kind {
        PALPATE_POINTS => Ok(ControlKind::Points),
        PALPATE_FRAMES => Ok(ControlKind::Frames),
        other => {
            let expected = "PALPATE_POINTS or PALPATE_FRAMES";
            Err(Failure::argument(format!("{what} is {other}, expected {expected}")))
        }
    }
}

/// Reads the binding of a tissue; the scene checks its numbers.
///
/// # Safety
/// NULL, or a binding as long as its size, whose arrays are as long as it says.
pub(crate) unsafe fn binding(
    sent: *const palpate_binding,
    limits: &Limits,
) -> Result<Option<TissueBinding>, Failure> {
    if sent.is_null() {
        return Ok(None);
    }
    // SAFETY: guaranteed by the caller.
    unsafe {
        let sent = growing::read(sent, "binding")?;
        let kind = kind_of(sent.kind, "binding.kind")?;
        let most = limits.vertices_per_mesh as usize;
        at_most(sent.n_controls, most, "binding.n_controls")?;
        at_most(sent.n_vertices, most, "binding.n_vertices")?;
        at_most(sent.n_weights, most * CONTROLS_PER_VERTEX_MAX, "binding.n_weights")?;
        let cells_max = limits.triangles_per_mesh as usize;
        at_most(sent.n_tetrahedra, cells_max, "binding.n_tetrahedra")?;
        at_most(sent.n_hexahedra, cells_max, "binding.n_hexahedra")?;
        let counts = array(sent.weights_per_vertex, sent.n_vertices, "binding.weights_per_vertex")?;
        let n_rest = Controls::numbers_each(kind == ControlKind::Frames) * sent.n_controls;
        let data = BindingChunk {
            rest: array(sent.controls, n_rest, "binding.controls")?.to_vec(),
            weights_per_vertex: counts.to_vec(),
            controls: array(sent.ids, sent.n_weights, "binding.ids")?.to_vec(),
            weights: array(sent.weights, sent.n_weights, "binding.weights")?.to_vec(),
            tetrahedra: array(sent.tetrahedra, 4 * sent.n_tetrahedra, "binding.tetrahedra")?
                .to_vec(),
            hexahedra: array(sent.hexahedra, 8 * sent.n_hexahedra, "binding.hexahedra")?.to_vec(),
        };
        Ok(Some(TissueBinding { kind, data }))
    }
}
