//! Version of the library, and the check of the header that a program was compiled with.

use std::ffi::{CStr, c_char};

use crate::code::{Failure, palpate_code::PALPATE_INCOMPATIBLE};

/// Version of the library, as `PALPATE_HEADER_VERSION` packs it: a million for each major version, a thousand for each
/// minor version.
pub const VERSION: u32 = packed(
    number(env!("CARGO_PKG_VERSION_MAJOR")),
    number(env!("CARGO_PKG_VERSION_MINOR")),
    number(env!("CARGO_PKG_VERSION_PATCH")),
);

const TEXT: &CStr =
    match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
        Ok(text) => text,
        Err(_) => panic!("a version has no zero byte"),
    };

/// Returns the version of the library, for example `0.1.0`. `PALPATE_VERSION_STRING` is that of the header.
#[unsafe(no_mangle)]
pub extern "C" fn palpate_version() -> *const c_char {
    TEXT.as_ptr()
}

/// Refuses a header whose structs or functions may differ from those of the library.
pub(crate) fn check(header: u32) -> Result<(), Failure> {
    let refused = || {
        let [got, own] = [header, VERSION].map(Version::of);
        let message = format!(
            "the program was compiled with palpate.h {got}, but the library is version {own}: compile the program with \
             the header of the library"
        );
        Failure::new(PALPATE_INCOMPATIBLE, message)
    };
    is_compatible(Version::of(header), Version::of(VERSION)).then_some(()).ok_or_else(refused)
}

/// Before version 1, a minor version may change everything; from then on, it only adds.
fn is_compatible(header: Version, library: Version) -> bool {
    match library.major {
        0 => (header.major, header.minor) == (0, library.minor),
        major => header.major == major && header.minor <= library.minor,
    }
}

#[derive(Clone, Copy)]
struct Version {
    major: u32,
    minor: u32,
    patch: u32,
}

impl Version {
    const fn of(packed: u32) -> Version {
        Version { major: packed / 1_000_000, minor: packed / 1000 % 1000, patch: packed % 1000 }
    }
}

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

const fn packed(major: u32, minor: u32, patch: u32) -> u32 {
    assert!(major < 4000 && minor < 1000 && patch < 1000, "a part of the version is too large");
    1_000_000 * major + 1000 * minor + patch
}

const fn number(text: &str) -> u32 {
    match u32::from_str_radix(text, 10) {
        Ok(number) => number,
        Err(_) => panic!("a part of the version is no number"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{border::call, code::last_words};

    fn fits(header: (u32, u32, u32), library: (u32, u32, u32)) -> bool {
        let of = |(major, minor, patch)| Version::of(packed(major, minor, patch));
        is_compatible(of(header), of(library))
    }

    #[test]
    fn minor_versions_differ_before_one_and_add_afterwards() {
        assert!(fits((0, 1, 0), (0, 1, 7)) && fits((0, 1, 7), (0, 1, 0)));
        assert!(!fits((0, 1, 0), (0, 2, 0)) && !fits((0, 2, 0), (0, 1, 0)));
        assert!(fits((1, 2, 0), (1, 2, 0)) && fits((1, 2, 9), (1, 7, 0)));
        assert!(!fits((1, 3, 0), (1, 2, 9)) && !fits((0, 2, 0), (1, 2, 0)));
        assert!(!fits((2, 0, 0), (1, 0, 0)) && !fits((1, 0, 0), (2, 0, 0)));
    }

    #[test]
    fn another_header_is_refused_with_both_versions() {
        assert_eq!(check(VERSION).map_err(|failure| failure.message), Ok(()));
        for header in [0, VERSION + 1000, VERSION + 1_000_000, u32::MAX] {
            assert_eq!(call(|| check(header)), PALPATE_INCOMPATIBLE);
            for version in [Version::of(header), Version::of(VERSION)] {
                assert!(last_words().contains(&version.to_string()), "{}", last_words());
            }
        }
    }
}
