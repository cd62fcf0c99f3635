//! A tool held by a hand: the force on the hand, and the newest answer.

use std::{ptr, time::Instant};

use parking_lot::Mutex;

use crate::{
    backend::{
        Opened, Running,
        snapshot::{Load, Snapshot},
    },
    border::{buffer, call, out, read},
    code::{Failure, palpate_code},
    device_call::{Device, DeviceSample, NOWHERE, Wrong, call_of_device, checked},
    growing,
    plain::{
        palpate_contact, palpate_feature_pair, palpate_link_distance, palpate_pose,
        palpate_probe_distance, palpate_rendering, palpate_session_options, palpate_session_status,
        palpate_surface_contact, palpate_wrench,
    },
    server::close,
};
use palpate_code::*;

/// A tool held by a hand. Calls may come from any thread; `palpate_servo` from one at a time.
pub struct palpate_session {
    servo: Mutex<Device>,
    running: Box<dyn Running>,
    /// Number of links of its tool.
    n_links: usize,
    is_lock_step: bool,
}

impl palpate_session {
    pub(crate) fn opened(
        opened: Opened,
        options: &palpate_session_options,
    ) -> *mut palpate_session {
        let Opened { n_links, servo, running } = opened;
        let servo =
            Mutex::new(Device { servo, called: Instant::now(), time_s: 0.0, state_flag: 0 });
        let is_lock_step = options.lock_step != 0;
        Box::into_raw(Box::new(palpate_session { servo, running, n_links, is_lock_step }))
    }
}

/// Fills in the defaults of a tool's session: a desktop device of 3.3 N. `options->size` must be set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn palpate_session_defaults(
    tool_id: u32,
    options: *mut palpate_session_options,
) -> palpate_code {
    call(|| {
        let usual = palpate::servo::ServoOptions::of(tool_id);
        let defaults = palpate_session_options {
            tool_id,
            stiffness_n_per_m: usual.spring.stiffness_n_per_m,
            rotational_stiffness_nm_per_rad: usual.spring.rotational_stiffness_nm_per_rad,
            link_stiffness_n_per_m: usual.spring.link_stiffness_n_per_m,
            max_force_n: usual.limits.max_force_n,
            max_torque_nm: usual.limits.max_torque_nm,
            max_force_rate_n_per_s: usual.limits.max_force_rate_n_per_s,
            max_torque_rate_nm_per_s: usual.limits.max_torque_rate_nm_per_s,
            rate_hz: 1e3,
            ..palpate_session_options::default()
        };
        // SAFETY: guaranteed by the caller, as the header requires.
        unsafe { growing::write(options, &defaults, "options") }
    })
}

/// Ends a session and sets the pointer to NULL. No thread may use its servo any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn palpate_close_session(session: *mut *mut palpate_session) -> palpate_code {
    call(|| {
        // SAFETY: guaranteed by the caller, as the header requires.
        unsafe { close(session, "session") }
    })
}

/// Computes the force and torque on the hand at `pose` (scene frame from tool frame), `dt_s` seconds after the last
/// call. Call it from the device's own callback, at the device's own rate. Never waits, never allocates. Send the
/// wrench after an error too: it is zero, or fades.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn palpate_servo(
    session: *mut palpate_session,
    pose: *const palpate_pose,
    dt_s: f64,
    wrench: *mut palpate_wrench,
) -> palpate_code {
    // SAFETY: guaranteed by the caller, as the header requires.
    unsafe { palpate_servo_links(session, pose, ptr::null(), 0, dt_s, wrench) }
}

/// As `palpate_servo`, with the links' poses (tool frame from link frame), one for each link; none: all at rest.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn palpate_servo_links(
    session: *mut palpate_session,
    pose: *const palpate_pose,
    links: *const palpate_pose,
    n_links: usize,
    dt_s: f64,
    wrench: *mut palpate_wrench,
) -> palpate_code {
    // SAFETY: guaranteed by the caller, as the header requires.
    call_of_device(|| unsafe {
        let wrench = &mut *checked(wrench, "wrench")?.cast_mut();
        *wrench = palpate_wrench::default();
        let session = &*checked(session, "session")?;
        if session.is_lock_step {
            return Err(Wrong::LockStep);
        }
        let mut device = session.servo.try_lock().ok_or(Wrong::Busy)?;
        let at_ns = session.running.now_ns();
        let sample = DeviceSample::read(pose, (links, n_links), session.n_links, dt_s);
        device.feel(sample, at_ns, session.running.state(), wrench)
    })
}

/// Steps a session in lock-step: moves the tool to `pose`, waits for the engine's answer, and computes the wrench of
/// that answer `dt_s` seconds after the last call. For hosts that step, for tests and for replays. Equal calls give
/// equal wrenches, bit for bit.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn palpate_step(
    session: *mut palpate_session,
    pose: *const palpate_pose,
    links: *const palpate_pose,
    n_links: usize,
    dt_s: f64,
    wrench: *mut palpate_wrench,
) -> palpate_code {
    call(|| {
        // SAFETY: guaranteed by the caller, as the header requires.
        unsafe {
            let wrench = out(wrench, "wrench")?;
            *wrench = palpate_wrench::default();
            step(read(session, "session")?, pose, (links, n_links), dt_s, wrench)
        }
    })
}

/// Steps a session in lock-step.
///
/// # Safety
/// The pointers are NULL, or point to what the header requires.
pub(crate) unsafe fn step(
    session: &palpate_session,
    pose: *const palpate_pose,
    links: (*const palpate_pose, usize),
    dt_s: f64,
    wrench: &mut palpate_wrench,
) -> Result<(), Failure> {
    if !session.is_lock_step {
        return Err(Wrong::NotLockStep.failure());
    }
    let mut device = session.servo.try_lock().ok_or_else(|| Wrong::Busy.failure())?;
    // SAFETY: guaranteed by the caller.
    let mut sample = unsafe { DeviceSample::read(pose, links, session.n_links, dt_s) };
    let mut refused = Ok(());
    if sample.wrong.is_none() {
        device.time_s += sample.dt_s;
        let at_ns = device.at_ns();
        let links = &sample.posture.tool_from_link[..sample.n_links];
        refused = session.running.tick(&sample.posture.scene_from_tool, links, at_ns);
    }
    if refused.is_err() {
        sample.posture = NOWHERE;
    }
    let at_ns = device.at_ns();
    let felt = device.feel(sample, at_ns, session.running.state(), wrench).map_err(Wrong::failure);
    refused.and(felt)
}

/// Returns the newest answer. `PALPATE_NO_ANSWER` before the first answer; another error is the one that ended the
/// session, or a refused pose.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn palpate_newest(
    session: *mut palpate_session,
    rendering: *mut palpate_rendering,
) -> palpate_code {
    call(|| {
        // SAFETY: guaranteed by the caller, as the header requires.
        unsafe {
            let rendering = out(rendering, "rendering")?;
            of_newest(read(session, "session")?, |newest| {
                *rendering = newest.rendering;
                Ok(())
            })
        }
    })
}

/// Returns the load-bearing contacts of the newest answer. `n` is set to their number; if the buffer is smaller,
/// returns `PALPATE_TOO_SMALL` and as many contacts as fit.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn palpate_contacts(
    session: *mut palpate_session,
    contacts: *mut palpate_contact,
    capacity: usize,
    n: *mut usize,
) -> palpate_code {
    call(|| {
        let (buffer, sequence) = ((contacts, capacity, "contacts"), ptr::null_mut());
        // SAFETY: guaranteed by the caller, as the header requires.
        unsafe { copy_newest(session, buffer, n, sequence, |newest| &newest.contacts) }
    })
}

/// Returns the contacts of the newest answer, load-bearing or not, with triangles, weights and signed distances, at
/// the proxy's pose: link by link, the deepest first. `n` is set to their number; if the buffer is smaller, returns
/// `PALPATE_TOO_SMALL` and as many contacts as fit. `sequence` is set to the answer's sequence, and may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn palpate_surface_contacts(
    session: *mut palpate_session,
    contacts: *mut palpate_surface_contact,
    capacity: usize,
    n: *mut usize,
    sequence: *mut u64,
) -> palpate_code {
    call(|| {
        let buffer = (contacts, capacity, "contacts");
        // SAFETY: guaranteed by the caller, as the header requires.
        unsafe { copy_newest(session, buffer, n, sequence, |newest| &newest.surface_contacts) }
    })
}

/// Returns the pairs of features of tissue and link within the contact margin in the newest answer, at the proxy's pose:
/// link by link, the nearest first. `feature_pairs` of the session's options must be set. Each pair is given once,
/// whichever triangles share its features. Buffer, `n` and `sequence` as for `palpate_surface_contacts`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn palpate_feature_pairs(
    session: *mut palpate_session,
    pairs: *mut palpate_feature_pair,
    capacity: usize,
    n: *mut usize,
    sequence: *mut u64,
) -> palpate_code {
    call(|| {
        let buffer = (pairs, capacity, "pairs");
        // SAFETY: guaranteed by the caller, as the header requires.
        unsafe { copy_newest(session, buffer, n, sequence, |newest| &newest.feature_pairs) }
    })
}

/// Returns the distance of each link of the tool from the nearest tissue in the newest answer, at the proxy's pose.
/// Buffer, `n` and `sequence` as for `palpate_surface_contacts`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn palpate_link_distances(
    session: *mut palpate_session,
    links: *mut palpate_link_distance,
    capacity: usize,
    n: *mut usize,
    sequence: *mut u64,
) -> palpate_code {
    call(|| {
        let buffer = (links, capacity, "links");
        // SAFETY: guaranteed by the caller, as the header requires.
        unsafe { copy_newest(session, buffer, n, sequence, |newest| &newest.links) }
    })
}

/// Returns the distance of each probe of the tool from the nearest tissue in the newest answer, at the proxy's pose.
/// Buffer, `n` and `sequence` as for `palpate_surface_contacts`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn palpate_probe_distances(
    session: *mut palpate_session,
    probes: *mut palpate_probe_distance,
    capacity: usize,
    n: *mut usize,
    sequence: *mut u64,
) -> palpate_code {
    call(|| {
        let buffer = (probes, capacity, "probes");
        // SAFETY: guaranteed by the caller, as the header requires.
        unsafe { copy_newest(session, buffer, n, sequence, |newest| &newest.probes) }
    })
}

/// Returns the load of the newest answer's contacts on a tissue: a solver adds it to its external forces. `vertices`
/// has space for `capacity` ids and `forces_n` for three numbers each; `n` is set to the number of vertices.
/// `geometry_revision`, the revision of the vertices, may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn palpate_tissue_loads(
    session: *mut palpate_session,
    tissue_id: u32,
    vertices: *mut u32,
    forces_n: *mut f32,
    capacity: usize,
    n: *mut usize,
    geometry_revision: *mut u64,
) -> palpate_code {
    call(|| {
        // SAFETY: guaranteed by the caller, as the header requires.
        unsafe {
            let ids = buffer(vertices, capacity, "vertices")?;
            let forces = buffer(forces_n.cast::<[f32; 3]>(), capacity, "forces_n")?;
            let counts = (n, geometry_revision);
            copy_loads(
                tissue_id,
                session,
                counts,
                |load| load.vertices.len(),
                |load| {
                    for (to, force) in forces.iter_mut().zip(&load.forces_n) {
                        *to = force.map(|n| n as f32);
                    }
                    fill(ids, &load.vertices)
                },
            )
        }
    })
}

/// Returns the connection state and counters of the session.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn palpate_status(
    session: *mut palpate_session,
    status: *mut palpate_session_status,
) -> palpate_code {
    call(|| {
        // SAFETY: guaranteed by the caller, as the header requires.
        unsafe { *out(status, "status")? = read(session, "session")?.running.status() };
        Ok(())
    })
}

/// Checks the session: returns `PALPATE_OK`, or the error that ended the session, or, once, that of a refused pose.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn palpate_check(session: *mut palpate_session) -> palpate_code {
    call(|| {
        // SAFETY: guaranteed by the caller, as the header requires.
        unsafe { read(session, "session") }?.running.check()
    })
}

/// Copies values of the newest answer into a buffer.
///
/// # Safety
/// The pointers are NULL, or point to what the header requires.
unsafe fn copy_newest<T: Copy>(
    session: *mut palpate_session,
    (pointer, capacity, name): (*mut T, usize, &str),
    n: *mut usize,
    sequence: *mut u64,
    found: impl Fn(&Snapshot) -> &[T],
) -> Result<(), Failure> {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let n = out(n, "n")?;
        *n = 0;
        let session = read(session, "session")?;
        let room = buffer(pointer, capacity, name)?;
        of_newest(session, |newest| {
            if !sequence.is_null() {
                *out(sequence, "sequence")? = newest.rendering.sequence;
            }
            *n = found(newest).len();
            fill(room, found(newest))
        })
    }
}

/// Copies the newest answer's load on a tissue, if it bears one: its number, its revision unless that is NULL, and then
/// the rest by `copy`.
///
/// # Safety
/// As for the calls of C that take these pointers.
pub(crate) unsafe fn copy_loads(
    tissue_id: u32,
    session: *mut palpate_session,
    (n, geometry_revision): (*mut usize, *mut u64),
    number: fn(&Load) -> usize,
    copy: impl FnOnce(&Load) -> Result<(), Failure>,
) -> Result<(), Failure> {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let n = out(n, "n")?;
        *n = 0;
        of_newest(read(session, "session")?, |newest| {
            let Some(load) = newest.loads.iter().find(|load| load.tissue == tissue_id) else {
                return Ok(());
            };
            *n = number(load);
            if !geometry_revision.is_null() {
                *out(geometry_revision, "geometry_revision")? = load.geometry_revision;
            }
            copy(load)
        })
    }
}

/// Reads the newest answer.
pub(crate) fn of_newest(
    session: &palpate_session,
    read: impl FnOnce(&Snapshot) -> Result<(), Failure>,
) -> Result<(), Failure> {
    session.running.check()?;
    let (mut read, mut done) = (Some(read), None);
    session.running.read_newest(&mut |newest| done = read.take().map(|read| read(newest)));
    let none = || Failure::new(PALPATE_NO_ANSWER, "there is no answer yet");
    done.ok_or_else(none)?
}

pub(crate) fn fill<T: Copy>(room: &mut [T], found: &[T]) -> Result<(), Failure> {
    let fit = room.len().min(found.len());
    room[..fit].copy_from_slice(&found[..fit]);
    let (got, expected) = (room.len(), found.len());
    let message = || format!("the buffer holds {got}, expected {expected}");
    if fit < expected { Err(Failure::new(PALPATE_TOO_SMALL, message())) } else { Ok(()) }
}
