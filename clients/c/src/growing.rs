//! Structs that later versions may extend. Each begins with `size`, which the caller sets to its own `sizeof`: the
//! library reads only so many bytes, and takes the defaults for fields that the caller does not know.

use std::ptr;

use crate::{
    border::{checked, fits},
    code::Failure,
};

/// A struct that begins with `size`.
///
/// # Safety
/// It is `repr(C)`, its first field is `size: u32`, its end has no padding, and any bytes are a valid value.
pub(crate) unsafe trait Growing: Copy + Default {}

/// Makes a struct one that may grow. Names its last field.
macro_rules! growing {
    ($($name:ident ends with $last:ident),* $(,)?) => {$(
        impl Default for $name {
            /// Returns the defaults, with `size` set.
            fn default() -> $name {
                // SAFETY: zero bytes are a valid value of a struct that may grow.
                let zero: $name = unsafe { std::mem::zeroed() };
                $name { size: size_of::<$name>() as u32, ..zero }
            }
        }

        // SAFETY: the struct is `repr(C)`, of numbers and raw pointers; size and end are checked below.
        unsafe impl $crate::growing::Growing for $name {}

        const _: () = {
            assert!(std::mem::offset_of!($name, size) == 0);
            // A field of a later version must not lie in padding, which a caller leaves undefined.
            let end = std::mem::offset_of!($name, $last) + $crate::growing::width(|v: &$name| &v.$last);
            assert!(end == size_of::<$name>(), "the struct ends with padding");
        };
    )*};
}
pub(crate) use growing;

/// Returns the size of a field.
pub(crate) const fn width<T, F>(_: fn(&T) -> &F) -> usize {
    size_of::<F>()
}

/// Reads a struct: the caller's fields, and defaults for the others.
///
/// # Safety
/// NULL, or a struct of at least 4 bytes and as long as its `size`, which nobody writes while the call lasts.
pub(crate) unsafe fn read<T: Growing>(pointer: *const T, name: &str) -> Result<T, Failure> {
    // SAFETY: guaranteed by the caller.
    unsafe { Ok(copied(pointer, size_of_caller(pointer, name)?)) }
}

/// Reads an array of structs, which are as far apart as the size of the first.
///
/// # Safety
/// NULL, or `n` structs as for [`read`], all of one size.
pub(crate) unsafe fn read_array<T: Growing>(
    pointer: *const T,
    n: usize,
    name: &str,
) -> Result<Vec<T>, Failure> {
    if n == 0 {
        return Ok(Vec::new());
    }
    fits::<T>(n, name)?;
    checked(pointer, name)?;
    // SAFETY: guaranteed by the caller; no struct is larger than `T`, so the distances fit.
    unsafe {
        let size = size_of_caller(pointer, &format!("{name}[0]"))?;
        let each = |i: usize| {
            let at = pointer.byte_add(i * size);
            let other = at.cast::<u32>().read() as usize;
            let wrong =
                || format!("{name}[{i}].size is {other}, expected {size}, that of the first");
            if other == size { Ok(copied(at, size)) } else { Err(Failure::argument(wrong())) }
        };
        (0..n).map(each).collect()
    }
}

/// Writes the fields that the caller knows.
///
/// # Safety
/// As for [`read`], and the struct is the call's alone.
pub(crate) unsafe fn write<T: Growing>(
    pointer: *mut T,
    value: &T,
    name: &str,
) -> Result<(), Failure> {
    // SAFETY: guaranteed by the caller; the caller's `size` stays.
    unsafe {
        let size = size_of_caller(pointer, name)?;
        let after_size = size_of::<u32>();
        let from = ptr::from_ref(value).byte_add(after_size).cast::<u8>();
        pointer.byte_add(after_size).cast::<u8>().copy_from(from, size - after_size);
    }
    Ok(())
}

/// # Safety
/// As for [`read`].
unsafe fn size_of_caller<T: Growing>(pointer: *const T, name: &str) -> Result<usize, Failure> {
    // SAFETY: guaranteed by the caller; the pointer is aligned, and begins with the size.
    let size = unsafe { checked(pointer, name)?.cast::<u32>().read() } as usize;
    let (known, align) = (size_of::<T>(), align_of::<T>());
    if size > known {
        let message = format!(
            "{name}.size is {size}, expected at most {known}: is the program compiled with a newer palpate.h?"
        );
        return Err(Failure::argument(message));
    }
    if size == 0 || !size.is_multiple_of(align) {
        let message = format!("{name}.size is {size}, expected the struct's sizeof, {known}");
        return Err(Failure::argument(message));
    }
    Ok(size)
}

/// # Safety
/// `pointer` points to `size` bytes, and `size` is at most that of `T`.
unsafe fn copied<T: Growing>(pointer: *const T, size: usize) -> T {
    let mut value = T::default();
    // SAFETY: guaranteed by the caller; any bytes are a valid value.
    unsafe { (&raw mut value).cast::<u8>().copy_from(pointer.cast(), size) };
    value
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plain::palpate_session_options;

    /// A caller's struct of `size` bytes in a buffer of just that length, so that a tool sees reads beyond it.
    fn sent(size: usize) -> Vec<u64> {
        let mut words = vec![u64::MAX; size.div_ceil(8)];
        words[0] = size as u64 | 7 << 32;
        words
    }

    fn options(words: &[u64]) -> Result<palpate_session_options, String> {
        // SAFETY: the buffer is as long as its size.
        unsafe { read(words.as_ptr().cast::<palpate_session_options>(), "options") }
            .map_err(|failure| failure.message)
    }

    #[test]
    fn fields_beyond_the_size_of_the_caller_are_defaults() {
        let whole = size_of::<palpate_session_options>();
        for size in (8..=whole).step_by(8) {
            let got = options(&sent(size)).expect("accepted");
            assert_eq!((got.tool_id, got.deadline_s.is_nan()), (7, size == whole));
            assert_eq!(got.stiffness_n_per_m == 0.0, size < 24);
        }
    }

    #[test]
    fn sizes_that_no_header_has_are_refused() {
        let whole = size_of::<palpate_session_options>() as u64;
        for size in [0, 4, 12, whole - 1, whole + 1, whole + 8, u64::from(u32::MAX)] {
            let error = options(&[size]).expect_err("refused");
            assert!(error.contains(&format!("options.size is {size}, expected")), "{error}");
        }
        // SAFETY: NULL is allowed.
        assert!(unsafe { read(ptr::null::<palpate_session_options>(), "options") }.is_err());
    }

    #[test]
    fn defaults_are_written_within_the_size_of_the_caller() {
        let mut words = [u64::MAX; 8];
        words[0] = 24;
        let value = palpate_session_options { stiffness_n_per_m: 3.0, ..Default::default() };
        // SAFETY: the buffer is longer than its size.
        unsafe { write(words.as_mut_ptr().cast(), &value, "options") }.expect("accepted");
        assert_eq!((words[0] as u32, f64::from_bits(words[2])), (24, 3.0));
        assert_eq!(words[3..], [u64::MAX; 5]);
    }

    #[test]
    fn arrays_are_read_by_the_size_of_their_first_struct() {
        let two = [sent(16), sent(16)].concat();
        let read = |words: &[u64]| {
            // SAFETY: the buffer holds two structs of 16 bytes.
            unsafe { read_array(words.as_ptr().cast::<palpate_session_options>(), 2, "options") }
        };
        let tools = read(&two).expect("accepted").into_iter().map(|options| options.tool_id);
        assert_eq!(tools.collect::<Vec<_>>(), [7, 7]);
        let mut differ = two;
        differ[2] = 24;
        let error = read(&differ).expect_err("refused").message;
        assert_eq!(error, "options[1].size is 24, expected 16, that of the first");
    }
}
