//! The call of a device's thread: never waits, never allocates, and gives a wrench whatever is wrong.

use std::time::Instant;

use palpate::{
    coupling::posture::{Posture, RENDERED_LINKS_MAX},
    geometry::Pose,
    servo::{DevicePose, DeviceServo, ServoSample},
};

use crate::{
    border::{array, call},
    code::{Failure, palpate_code, palpate_code::*, remember},
    plain::{
        PALPATE_BEYOND_RADIUS, PALPATE_FADING, PALPATE_IS_EMBEDDED, PALPATE_IS_LATE,
        PALPATE_IS_SQUEEZED, PALPATE_LIMITED, palpate_pose, palpate_render_state, palpate_vec3,
        palpate_wrench,
    },
};

/// The servo of a session.
pub(crate) struct Device {
    pub(crate) servo: DeviceServo,
    /// Time of the last call.
    pub(crate) called: Instant,
    /// Sum of all steps, in lock-step.
    pub(crate) time_s: f64,
    /// Flag of the newest answer's state, as far as it could be read without waiting.
    pub(crate) state_flag: u32,
}

/// Longest accepted time between two samples, seconds.
const DT_S_MAX: f64 = 10.0;
const NS_PER_S: f64 = 1e9;

/// Arguments of a device's call. An invalid pose is stored as one that is not rigid, which lets the force fade.
pub(crate) struct DeviceSample {
    pub(crate) posture: Posture,
    pub(crate) n_links: usize,
    pub(crate) dt_s: f64,
    pub(crate) wrong: Option<Wrong>,
}

impl DeviceSample {
    /// # Safety
    /// The pointers are NULL, or point to valid values.
    pub(crate) unsafe fn read(
        pose: *const palpate_pose,
        (links, n_links): (*const palpate_pose, usize),
        n_expected: usize,
        dt_s: f64,
    ) -> DeviceSample {
        let mut given = DeviceSample { posture: NOWHERE, n_links: 0, dt_s, wrong: None };
        if !(0.0..=DT_S_MAX).contains(&dt_s) {
            given.wrong = Some(Wrong::Time(dt_s));
        }
        // SAFETY: guaranteed by the caller.
        let (at, each) = unsafe {
            let at = checked(pose, "pose").map(|pose| (*pose).checked());
            (at, checked_links(links, n_links, n_expected))
        };
        match (at, each) {
            (Err(wrong), _) | (_, Err(wrong)) => given.wrong = Some(wrong),
            (Ok(None), _) => given.wrong = Some(Wrong::Pose),
            (Ok(Some(at)), Ok(each)) => {
                given.posture = posture(&at, &[]);
                for (place, sent) in given.posture.tool_from_link.iter_mut().zip(each) {
                    match sent.checked() {
                        Some(link) => *place = link,
                        None => given.wrong = Some(Wrong::Pose),
                    }
                }
                given.n_links = each.len();
            }
        }
        if given.wrong.is_none() && !given.posture.is_rigid() {
            given.wrong = Some(Wrong::Pose);
        }
        if given.wrong.is_some() {
            given.posture = NOWHERE;
        }
        given
    }
}

/// Checks a pointer of a device's call.
pub(crate) fn checked<T>(pointer: *const T, name: &'static str) -> Result<*const T, Wrong> {
    let is_good = !pointer.is_null() && pointer.is_aligned();
    if is_good { Ok(pointer) } else { Err(Wrong::Null(name)) }
}

/// # Safety
/// NULL, or `n_links` poses.
unsafe fn checked_links<'a>(
    links: *const palpate_pose,
    n_links: usize,
    n_expected: usize,
) -> Result<&'a [palpate_pose], Wrong> {
    if n_links == 0 {
        return Ok(&[]);
    }
    // A tool with more links is not rendered.
    if n_links != n_expected || n_links > RENDERED_LINKS_MAX {
        return Err(Wrong::Links { got: n_links, n_expected });
    }
    checked(links, "links")?;
    // SAFETY: guaranteed by the caller.
    Ok(unsafe { array(links, n_links, "links") }.unwrap_or(&[]))
}

/// Stands for the posture of a device whose pose is invalid.
pub(crate) const NOWHERE: Posture = Posture {
    scene_from_tool: Pose { translation: glam::DVec3::NAN, ..Pose::IDENTITY },
    ..Posture::AT_ORIGIN
};

pub(crate) fn posture(pose: &Pose, links: &[Pose]) -> Posture {
    let mut posture = Posture { scene_from_tool: *pose, ..Posture::AT_ORIGIN };
    posture.tool_from_link[..links.len()].copy_from_slice(links);
    posture
}

impl Device {
    pub(crate) fn at_ns(&self) -> u64 {
        (self.time_s * NS_PER_S).round() as u64
    }

    pub(crate) fn feel(
        &mut self,
        sample: DeviceSample,
        at_ns: u64,
        state: Option<palpate_render_state>,
        wrench: &mut palpate_wrench,
    ) -> Result<(), Wrong> {
        let DeviceSample { posture, n_links, mut dt_s, wrong } = sample;
        let passed = std::mem::replace(&mut self.called, Instant::now()).elapsed();
        if let Some(Wrong::Time(_)) = wrong {
            // A fading force must reach zero, even if the host's time is wrong.
            dt_s = passed.as_secs_f64();
        }
        *wrench = wrench_of(&self.servo.step(&DevicePose { posture, n_links, at_ns }, dt_s));
        self.state_flag = state.map_or(self.state_flag, flag_of);
        wrench.flags |= self.state_flag;
        wrong.map_or(Ok(()), Err)
    }
}

fn wrench_of(felt: &ServoSample) -> palpate_wrench {
    let flag = |is_set: bool, flag: u32| if is_set { flag } else { 0 };
    palpate_wrench {
        force_n: palpate_vec3::of(felt.force_n),
        torque_nm: palpate_vec3::of(felt.torque_nm),
        model_age_s: felt.model_age_s,
        flags: flag(felt.limited, PALPATE_LIMITED)
            | flag(felt.is_fading, PALPATE_FADING)
            | flag(felt.is_beyond_radius, PALPATE_BEYOND_RADIUS),
    }
}

/// Returns the flag of an answer's state that a hand has to know of.
fn flag_of(state: palpate_render_state) -> u32 {
    match state {
        palpate_render_state::PALPATE_EMBEDDED => PALPATE_IS_EMBEDDED,
        palpate_render_state::PALPATE_SQUEEZED => PALPATE_IS_SQUEEZED,
        palpate_render_state::PALPATE_LATE => PALPATE_IS_LATE,
        _ => 0,
    }
}

/// Errors of a device's call, which need no heap memory.
pub(crate) enum Wrong {
    Null(&'static str),
    Pose,
    Links { got: usize, n_expected: usize },
    Time(f64),
    Busy,
    LockStep,
    NotLockStep,
}

impl Wrong {
    fn code(&self) -> palpate_code {
        match self {
            Wrong::Busy => PALPATE_BUSY,
            Wrong::LockStep | Wrong::NotLockStep => PALPATE_WRONG_ORDER,
            Wrong::Null(_) | Wrong::Pose | Wrong::Links { .. } | Wrong::Time(_) => {
                PALPATE_INVALID_ARGUMENT
            }
        }
    }

    pub(crate) fn failure(self) -> Failure {
        Failure::new(self.code(), self.to_string())
    }
}

impl std::fmt::Display for Wrong {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Wrong::Null(name) => write!(f, "{name} is NULL, or not aligned"),
            Wrong::Pose => f.write_str(
                "a pose is none, expected a position within 20 km and a quaternion of length 1",
            ),
            Wrong::Links { got, n_expected } => {
                write!(f, "n_links is {got}, expected 0 or {n_expected}")
            }
            Wrong::Time(dt_s) => write!(f, "dt_s is {dt_s}, expected 0 to {DT_S_MAX}"),
            Wrong::Busy => f.write_str("another thread is in this session's servo"),
            Wrong::LockStep => f.write_str("the session is in lock-step: call palpate_step"),
            Wrong::NotLockStep => {
                f.write_str("the session is not in lock-step: call palpate_servo")
            }
        }
    }
}

/// Runs a device's call, and reports its error without allocating.
pub(crate) fn call_of_device(work: impl FnOnce() -> Result<(), Wrong>) -> palpate_code {
    let mut code = PALPATE_OK;
    let over = call(|| {
        if let Err(wrong) = work() {
            remember(format_args!("{wrong}"));
            code = wrong.code();
        }
        Ok(())
    });
    if over == PALPATE_OK { code } else { over }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{border::PANICKED, code::last_words};

    #[test]
    fn a_panic_in_a_device_s_call_gives_a_code_and_words() {
        let code = call_of_device(|| panic!("on purpose"));
        assert_eq!((code, last_words().as_str()), (PALPATE_INTERNAL, PANICKED));
        // The next call's own error message is not lost either.
        assert_eq!(call_of_device(|| Err(Wrong::Busy)), PALPATE_BUSY);
        assert_eq!(last_words(), Wrong::Busy.to_string());
        assert_eq!(call_of_device(|| Ok(())), PALPATE_OK);
    }
}
