//! What can be wrong with a field, and the checks that many fields share.

use std::fmt::Display;

use glam::Vec3;

use crate::{
    geometry::{mesh::load::MeshError, short_number::ShortNumber, tolerance::COORDINATE_MAX_M},
    mesh_io::MeshReadError,
    scene::limits::NAME_CHARS_MAX,
};

/// A field of a request that cannot be taken as it is.
#[derive(Debug, thiserror::Error)]
#[error("{field} {problem}")]
pub struct FieldError {
    /// As `tools[0].pose.orientation`.
    pub field: String,
    /// What is wrong with it.
    pub problem: Problem,
}

/// What is wrong with a field: what was got and what was expected.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// A message or choice that must be there.
    #[error("is missing")]
    Missing,
    /// A message that must not be there, or not here.
    #[error("is not expected here: {0}")]
    Unexpected(&'static str),
    /// NaN counts as out of range.
    #[error("is {}, expected a number from {} to {}", beside(*got, *min, *max), ShortNumber(*min), ShortNumber(*max))]
    Range {
        /// Sent.
        got: f64,
        /// Least.
        min: f64,
        /// Greatest.
        max: f64,
    },
    /// A quaternion that is no rotation.
    #[error("has norm {}, expected 1", ShortNumber(*got))]
    NotARotation {
        /// Its norm.
        got: f64,
    },
    /// An axis of no length.
    #[error("has no direction")]
    NoDirection,
    /// A number that an enum does not know.
    #[error("is {got}, which has no meaning")]
    Enumerator {
        /// Sent.
        got: i32,
    },
    /// Too short or too long.
    #[error("has {got} characters, expected 1 to {max}")]
    Length {
        /// Sent.
        got: usize,
        /// Longest.
        max: usize,
    },
    /// A scene id of other letters.
    #[error("has the character {got:?}, expected a-z, 0-9 and '-' only")]
    Character {
        /// The first that is not allowed.
        got: char,
    },
    /// An id that another list of the message would have to have.
    #[error("is {got}, which is not in {list}")]
    Unlisted {
        /// Sent.
        got: u32,
        /// The other list.
        list: &'static str,
    },
    /// Named twice.
    #[error("was given before")]
    Repeated,
    /// A name that an entry before it has.
    #[error("is {got:?}, which was given before")]
    RepeatedName {
        /// Sent.
        got: String,
    },
    /// Counts from 0 and beyond the end.
    #[error("is {got}, expected less than {end}")]
    Index {
        /// Sent.
        got: usize,
        /// One more than the greatest.
        end: usize,
    },
    /// A flat array that is cut within a point or triangle.
    #[error("has {got} numbers, expected three for each entry")]
    Threes {
        /// Sent.
        got: usize,
    },
    /// Too many of what the contract bounds.
    #[error("has {got} entries, expected at most {max}")]
    TooMany {
        /// Sent.
        got: usize,
        /// Most.
        max: usize,
    },
    /// Poses that fit what is posed.
    #[error("has {got} poses, expected none or {expected}")]
    Poses {
        /// Sent.
        got: usize,
        /// Links of the tool.
        expected: usize,
    },
    /// An upload that is not as large as declared.
    #[error("has {got} {what} in all, {declared} were declared")]
    NotAsDeclared {
        /// "vertices", "triangles" or "bytes".
        what: &'static str,
        /// Sent so far.
        got: u64,
        /// By the header.
        declared: u64,
    },
    /// A sequence that did not rise.
    #[error("is {got}, expected more than {last}")]
    Sequence {
        /// Sent.
        got: u64,
        /// Of the request before.
        last: u64,
    },
    /// More than this server takes on.
    #[error("is {got}, the limit {limit} is {max}")]
    OverLimit {
        /// Asked for.
        got: u64,
        /// The limit's name.
        limit: &'static str,
        /// The most.
        max: u64,
    },
    /// A file that cannot be read.
    #[error("cannot be read: {0}")]
    File(#[from] MeshReadError),
    /// A mesh that cannot be used.
    #[error("cannot be used: {0}")]
    Mesh(#[from] MeshError),
}

impl Problem {
    /// Says which field it is about.
    pub fn of(self, field: impl Into<String>) -> FieldError {
        FieldError { field: field.into(), problem: self }
    }
}

impl FieldError {
    /// The same, seen from the message that holds the field in `parent`.
    pub fn within(self, parent: impl Display) -> FieldError {
        FieldError { field: format!("{parent}.{}", self.field), problem: self.problem }
    }
}

/// A number that is out of its bounds: short, unless it would look like one of them.
fn beside(got: f64, min: f64, max: f64) -> String {
    let short = ShortNumber(got).to_string();
    let is_bound = [min, max].iter().any(|bound| ShortNumber(*bound).to_string() == short);
    if is_bound { got.to_string() } else { short }
}

/// Checks a number against its bounds; NaN fails.
pub fn in_range(got: f64, min: f64, max: f64, field: &str) -> Result<f64, FieldError> {
    let inside = min <= got && got <= max;
    if inside { Ok(got) } else { Err(Problem::Range { got, min, max }.of(field)) }
}

/// Checks a coordinate in metres.
pub fn coordinate(got: f64, field: &str) -> Result<f64, FieldError> {
    in_range(got, -COORDINATE_MAX_M, COORDINATE_MAX_M, field)
}

/// Checks the length of a name.
pub fn name(name: &str, field: &str) -> Result<String, FieldError> {
    // Counts no further than it must: a name may be as long as a message.
    match name.chars().take(NAME_CHARS_MAX + 1).count() {
        1..=NAME_CHARS_MAX => Ok(name.to_owned()),
        _ => Err(Problem::Length { got: name.chars().count(), max: NAME_CHARS_MAX }.of(field)),
    }
}

/// Checks a count against a configured limit.
pub fn within_limit(
    got: usize,
    max: usize,
    limit: &'static str,
    field: &str,
) -> Result<(), FieldError> {
    let over = Problem::OverLimit { got: got as u64, limit, max: max as u64 };
    if got <= max { Ok(()) } else { Err(over.of(field)) }
}

/// Splits a flat array into entries of three.
pub fn threes<'a, T>(flat: &'a [T], field: &str) -> Result<&'a [[T; 3]], FieldError> {
    match flat.as_chunks() {
        (entries, []) => Ok(entries),
        _ => Err(Problem::Threes { got: flat.len() }.of(field)),
    }
}

/// The points of a flat array, as sent: the engine checks them.
pub fn points(flat: &[f32], field: &str) -> Result<Vec<Vec3>, FieldError> {
    Ok(threes(flat, field)?.iter().map(|p| Vec3::from_array(*p)).collect())
}
