//! The border to C: checks pointers and stops panics.

use std::{
    ffi::{CStr, c_char},
    panic::{AssertUnwindSafe, catch_unwind},
    slice,
};

use crate::code::{Failure, palpate_code, remember};
use palpate_code::{PALPATE_INTERNAL, PALPATE_OK};

/// Error message of a panic.
pub(crate) const PANICKED: &str = "Palpate panicked; its message is on stderr";

/// Runs a call; returns a code for errors and panics too.
pub(crate) fn call(work: impl FnOnce() -> Result<(), Failure>) -> palpate_code {
    // A panic may leave state half changed; its code reports that the state must not be used any more.
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(())) => PALPATE_OK,
        Ok(Err(Failure { code, message })) => {
            remember(format_args!("{message}"));
            code
        }
        Err(_) => {
            remember(format_args!("{PANICKED}"));
            PALPATE_INTERNAL
        }
    }
}

/// Reads the value that a pointer points to.
///
/// # Safety
/// NULL, or a `T` that nobody writes while the call lasts.
pub(crate) unsafe fn read<'a, T>(pointer: *const T, name: &str) -> Result<&'a T, Failure> {
    // SAFETY: guaranteed by the caller.
    unsafe { checked(pointer, name)?.as_ref() }.ok_or_else(|| null(name))
}

/// Returns the destination of a result.
///
/// # Safety
/// NULL, or a `T` that is this call's alone.
pub(crate) unsafe fn out<'a, T>(pointer: *mut T, name: &str) -> Result<&'a mut T, Failure> {
    // SAFETY: guaranteed by the caller.
    unsafe { checked(pointer, name)?.cast_mut().as_mut() }.ok_or_else(|| null(name))
}

/// Reads an array; NULL is allowed if it is empty.
///
/// # Safety
/// NULL, or `n` values of type `T` that nobody writes while the call lasts.
pub(crate) unsafe fn array<'a, T>(
    pointer: *const T,
    n: usize,
    name: &str,
) -> Result<&'a [T], Failure> {
    if n == 0 {
        return Ok(&[]);
    }
    fits::<T>(n, name)?;
    // SAFETY: guaranteed by the caller; the pointer is aligned, not NULL, and the size fits a slice.
    Ok(unsafe { slice::from_raw_parts(checked(pointer, name)?, n) })
}

/// Returns a buffer for results; NULL is allowed if it is empty.
///
/// # Safety
/// NULL, or a buffer for `n` values of type `T` that is this call's alone.
pub(crate) unsafe fn buffer<'a, T>(
    pointer: *mut T,
    n: usize,
    name: &str,
) -> Result<&'a mut [T], Failure> {
    if n == 0 {
        return Ok(&mut []);
    }
    fits::<T>(n, name)?;
    // SAFETY: guaranteed by the caller; the pointer is aligned, not NULL, and the size fits a slice.
    Ok(unsafe { slice::from_raw_parts_mut(checked(pointer, name)?.cast_mut(), n) })
}

/// Reads a text.
///
/// # Safety
/// NULL, or bytes that end with a zero byte.
pub(crate) unsafe fn text<'a>(pointer: *const c_char, name: &str) -> Result<&'a str, Failure> {
    // SAFETY: guaranteed by the caller.
    let bytes = unsafe { CStr::from_ptr(checked(pointer, name)?) };
    bytes.to_str().map_err(|_| Failure::argument(format!("{name} is no UTF-8")))
}

/// As [`text`], but NULL means that there is no text.
///
/// # Safety
/// As for [`text`].
pub(crate) unsafe fn text_or_none<'a>(
    pointer: *const c_char,
    name: &str,
) -> Result<Option<&'a str>, Failure> {
    if pointer.is_null() {
        return Ok(None);
    }
    // SAFETY: guaranteed by the caller.
    unsafe { text(pointer, name) }.map(Some)
}

/// Refuses NULL and pointers that are not aligned.
pub(crate) fn checked<T>(pointer: *const T, name: &str) -> Result<*const T, Failure> {
    if pointer.is_null() {
        Err(null(name))
    } else if !pointer.is_aligned() {
        Err(Failure::argument(format!("{name} is not aligned")))
    } else {
        Ok(pointer)
    }
}

/// Refuses a number of elements that no array can have.
pub(crate) fn fits<T>(n: usize, name: &str) -> Result<(), Failure> {
    let most = isize::MAX as usize / size_of::<T>().max(1);
    let fits = n <= most;
    let wrong = || Failure::argument(format!("{name} has {n} elements, expected at most {most}"));
    fits.then_some(()).ok_or_else(wrong)
}

/// Checks a count before its array is read.
pub(crate) fn at_most(n: usize, most: usize, name: &str) -> Result<(), Failure> {
    let wrong = || Failure::argument(format!("{name} is {n}, expected at most {most}"));
    if n <= most { Ok(()) } else { Err(wrong()) }
}

fn null(name: &str) -> Failure {
    Failure::argument(format!("{name} is NULL"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::{last_words, palpate_code::PALPATE_INVALID_ARGUMENT};

    #[test]
    fn a_panic_ends_at_the_border_with_a_code_and_words() {
        let code = call(|| panic!("on purpose"));
        assert_eq!((code, last_words().as_str()), (PALPATE_INTERNAL, PANICKED));
        // A panic value that is not a text, and a panic inside a call that makes another call.
        let code = call(|| std::panic::panic_any(7));
        assert_eq!((code, last_words().as_str()), (PALPATE_INTERNAL, PANICKED));
        let code = call(|| {
            assert_eq!(call(|| Err(Failure::argument("inner"))), PALPATE_INVALID_ARGUMENT);
            panic!("on purpose")
        });
        assert_eq!((code, last_words().as_str()), (PALPATE_INTERNAL, PANICKED));
        // The thread remains usable.
        assert_eq!(call(|| Err(Failure::argument("outer"))), PALPATE_INVALID_ARGUMENT);
        assert_eq!(last_words(), "outer");
        assert_eq!(call(|| Ok(())), PALPATE_OK);
    }

    #[test]
    fn every_function_that_c_sees_goes_through_it() {
        let sources = [
            include_str!("code.rs"),
            include_str!("report.rs"),
            include_str!("server.rs"),
            include_str!("query.rs"),
            include_str!("rows.rs"),
            include_str!("scene.rs"),
            include_str!("self_collision.rs"),
            include_str!("driven.rs"),
            include_str!("feel.rs"),
            include_str!("tube.rs"),
            include_str!("session.rs"),
            include_str!("many.rs"),
            include_str!("version.rs"),
        ];
        let mut n = 0;
        for text in sources.iter().flat_map(|text| text.split("extern \"C\" fn ").skip(1)) {
            let (name, rest) = text.split_once('(').expect("a function");
            let body = rest.split("\n}\n").next().expect("a body");
            let goes = body.contains(" call(|| ") || body.contains(" call_of_device(|| ");
            // These return a text that is there already; `palpate_servo` calls its sibling.
            let texts = ["palpate_last_error", "palpate_last_warning", "palpate_version"];
            let needs_none = texts.contains(&name) || name == "palpate_servo";
            assert!(goes || needs_none, "{name} lets a panic through");
            n += 1;
        }
        let header = include_str!("../include/palpate.h");
        let declared = header.matches("\nenum palpate_code palpate_").count();
        assert_eq!(n, declared + 3, "each function of the header, and those that return texts");
    }
}
