//! Many hands at a time, over all cores: for learning, and for sweeps over poses.

use std::{ffi::c_char, ptr};

use rayon::prelude::*;

use crate::{
    border::{array, buffer, call, out, read, text},
    code::{Failure, palpate_code},
    plain::{palpate_link_distance, palpate_pose, palpate_rendering, palpate_wrench},
    scene::palpate_scene,
    session::{fill, of_newest, palpate_session, step},
};

/// Copies a scene of this process as it is now, under another name: its tissues move and are cut apart from the
/// original's, its tools share their fields. Ids stay the same. Scenes of a server are not copied.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn palpate_copy_scene(
    scene: *mut palpate_scene,
    name: *const c_char,
    copy: *mut *mut palpate_scene,
) -> palpate_code {
    call(|| {
        // SAFETY: guaranteed by the caller, as the header requires.
        unsafe {
            let copy = out(copy, "copy")?;
            *copy = ptr::null_mut();
            let copied = read(scene, "scene")?.theatre.copy(text(name, "name")?)?;
            *copy = palpate_scene::opened(copied);
        }
        Ok(())
    })
}

/// Steps different sessions in lock-step, each as `palpate_step` does, on all cores (the variable RAYON_NUM_THREADS
/// sets another number of threads). Equal calls give equal results, on any number of threads. `poses` and `wrenches`
/// have an entry for each session; `links` has `n_links` for each, or is NULL: all at rest. `renderings`, one for each
/// session, and `distances`, `n_links_each` for each, may be NULL; every tool has `n_links_each` links. If a step
/// fails, the other steps are done, and the message names the session.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn palpate_step_many(
    sessions: *const *mut palpate_session,
    n: usize,
    poses: *const palpate_pose,
    links: *const palpate_pose,
    n_links: usize,
    dt_s: f64,
    wrenches: *mut palpate_wrench,
    renderings: *mut palpate_rendering,
    distances: *mut palpate_link_distance,
    n_links_each: usize,
) -> palpate_code {
    call(|| {
        // SAFETY: guaranteed by the caller, as the header requires.
        let mut hands = unsafe {
            let sessions = array(sessions, n, "sessions")?;
            let poses = array(poses, n, "poses")?;
            let n_links = if links.is_null() { 0 } else { n_links };
            let links = array(links, total(n, n_links, "links")?, "links")?;
            let wrenches = buffer(wrenches, n, "wrenches")?;
            let n_renderings = if renderings.is_null() { 0 } else { n };
            let mut renderings = buffer(renderings, n_renderings, "renderings")?.iter_mut();
            let n_each = if distances.is_null() { 0 } else { n_links_each };
            let distances = buffer(distances, total(n, n_each, "distances")?, "distances")?;
            let mut distances = distances.chunks_mut(n_each.max(1));
            let mut hands = Vec::with_capacity(n);
            for (at, wrench) in wrenches.iter_mut().enumerate() {
                *wrench = palpate_wrench::default();
                hands.push(Hand {
                    session: read(sessions[at], &format!("sessions[{at}]"))?,
                    pose: &poses[at],
                    links: &links[at * n_links..(at + 1) * n_links],
                    wrench,
                    rendering: renderings.next(),
                    distances: distances.next().unwrap_or_default(),
                });
            }
            hands
        };
        let failed = hands.par_iter_mut().enumerate().map(|(at, hand)| {
            let named = |Failure { code, message }| {
                Failure::new(code, format!("sessions[{at}]: {message}"))
            };
            hand.step(dt_s).map_err(named)
        });
        // The first failure by the order of the sessions.
        failed.collect::<Vec<_>>().into_iter().collect()
    })
}

/// Returns the number of entries of an array with some for each session.
fn total(n: usize, each: usize, name: &str) -> Result<usize, Failure> {
    let wrong = || Failure::argument(format!("{name} has {each} entries for each of {n} sessions"));
    n.checked_mul(each).ok_or_else(wrong)
}

/// One session's part of a step.
struct Hand<'a> {
    session: &'a palpate_session,
    pose: &'a palpate_pose,
    /// Empty: all at rest.
    links: &'a [palpate_pose],
    wrench: &'a mut palpate_wrench,
    rendering: Option<&'a mut palpate_rendering>,
    /// Empty if they are not asked for.
    distances: &'a mut [palpate_link_distance],
}

impl Hand<'_> {
    fn step(&mut self, dt_s: f64) -> Result<(), Failure> {
        let links = (self.links.as_ptr(), self.links.len());
        // SAFETY: the pointers are those of references.
        unsafe { step(self.session, self.pose, links, dt_s, self.wrench) }?;
        if self.rendering.is_none() && self.distances.is_empty() {
            return Ok(());
        }
        of_newest(self.session, |newest| {
            if let Some(rendering) = &mut self.rendering {
                **rendering = newest.rendering;
            }
            if self.distances.is_empty() {
                return Ok(());
            }
            let (got, expected) = (self.distances.len(), newest.links.len());
            if got != expected {
                let message = format!("n_links_each is {got}, expected {expected}");
                return Err(Failure::argument(message));
            }
            fill(self.distances, &newest.links)
        })
    }
}
