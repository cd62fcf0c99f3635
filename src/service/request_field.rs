//! Errors of request fields, and checks that many fields share.

use std::fmt::Display;

use glam::Vec3;

use crate::{
    geometry::{mesh::load::MeshError, short_number::ShortNumber, tolerance::COORDINATE_MAX_M},
    mesh_io::MeshReadError,
    scene::{limits::NAME_CHARS_MAX, saved::SCENE_ID_CHARS_MAX, tissue::binding::BindingError},
};

/// Error of a request field.
#[derive(Debug, thiserror::Error)]
#[error("{field} {problem}")]
pub struct FieldError {
    /// Path of the field, for example `tools[0].pose.orientation`.
    pub field: String,
    /// Description of the problem.
    pub problem: Problem,
}

/// Problem of a field: the value that was got and the one that is expected.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// A required message or choice is missing.
    #[error("is missing")]
    Missing,
    /// A message is not allowed, or not here.
    #[error("is not expected here: {0}")]
    Unexpected(&'static str),
    /// A number is out of range; NaN counts as out of range.
    #[error("is {}, expected a number from {} to {}", beside(*got, *min, *max), ShortNumber(*min), ShortNumber(*max))]
    Range {
        /// Value sent.
        got: f64,
        /// Minimum.
        min: f64,
        /// Maximum.
        max: f64,
    },
    /// A quaternion is not a rotation.
    #[error("has norm {}, expected 1", ShortNumber(*got))]
    NotARotation {
        /// Norm of the quaternion.
        got: f64,
    },
    /// An axis has length zero.
    #[error("has no direction")]
    NoDirection,
    /// A number is not a value of its enum.
    #[error("is {got}, which has no meaning")]
    Enumerator {
        /// Value sent.
        got: i32,
    },
    /// A text is too short or too long.
    #[error("has {got} characters, expected 1 to {max}")]
    Length {
        /// Characters sent.
        got: usize,
        /// Maximum number of characters.
        max: usize,
    },
    /// A scene id has a character that is not allowed.
    #[error("has the character {got:?}, expected a-z, 0-9 and '-' only")]
    Character {
        /// First such character.
        got: char,
    },
    /// An id is missing in another list of the message.
    #[error("is {got}, which is not in {list}")]
    Unlisted {
        /// Id sent.
        got: u32,
        /// Name of the other list.
        list: &'static str,
    },
    /// An entry occurs twice.
    #[error("was given before")]
    Repeated,
    /// A name is that of an earlier entry.
    #[error("is {got:?}, which was given before")]
    RepeatedName {
        /// Name sent.
        got: String,
    },
    /// An index, counted from 0, is beyond the end.
    #[error("is {got}, expected less than {end}")]
    Index {
        /// Index sent.
        got: usize,
        /// First invalid index.
        end: usize,
    },
    /// The length of a flat array is not a multiple of the numbers of an entry.
    #[error("has {got} numbers, expected {} for each entry", if *each == 7 { "seven" } else { "three" })]
    Entries {
        /// Numbers sent.
        got: usize,
        /// Numbers of an entry: three, or seven of a frame.
        each: usize,
    },
    /// Weights that are not as many as the counts of weights say, or as the controls.
    #[error("has {got} weights with {controls} controls for vertices that have {expected}")]
    Weights {
        /// Weights sent.
        got: usize,
        /// Controls sent.
        controls: usize,
        /// Sum of the numbers of weights of the vertices.
        expected: u64,
    },
    /// A binding cannot be used.
    #[error("cannot be used: {0}")]
    Binding(#[from] BindingError),
    /// A list exceeds a bound of the contract.
    #[error("has {got} entries, expected at most {max}")]
    TooMany {
        /// Entries sent.
        got: usize,
        /// Maximum number of entries.
        max: usize,
    },
    /// The number of link poses does not match the tool.
    #[error("has {got} poses, expected none or {expected}")]
    Poses {
        /// Poses sent.
        got: usize,
        /// Links of the tool.
        expected: usize,
    },
    /// An upload differs from its declared size.
    #[error("has {got} {what} in all, {declared} were declared")]
    NotAsDeclared {
        /// "vertices", "triangles" or "bytes".
        what: &'static str,
        /// Amount sent so far.
        got: u64,
        /// Amount declared in the header.
        declared: u64,
    },
    /// A sequence did not rise.
    #[error("is {got}, expected more than {last}")]
    Sequence {
        /// Sequence sent.
        got: u64,
        /// Sequence of the request before.
        last: u64,
    },
    /// A value exceeds a limit of this server.
    #[error("is {got}, the limit {limit} is {max}")]
    OverLimit {
        /// Value requested.
        got: u64,
        /// Name of the limit.
        limit: &'static str,
        /// Maximum.
        max: u64,
    },
    /// A file cannot be read.
    #[error("cannot be read: {0}")]
    File(#[from] MeshReadError),
    /// A mesh cannot be used.
    #[error("cannot be used: {0}")]
    Mesh(#[from] MeshError),
}

impl Problem {
    /// Returns the error of this problem in a field.
    pub fn of(self, field: impl Into<String>) -> FieldError {
        FieldError { field: field.into(), problem: self }
    }
}

impl FieldError {
    /// Returns the error with its path relative to the message that holds the field in `parent`.
    pub fn within(self, parent: impl Display) -> FieldError {
        FieldError { field: format!("{parent}.{}", self.field), problem: self.problem }
    }
}

/// Formats a number that is out of its bounds: shortened, unless it would look like a bound.
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

/// Checks the form of a scene id.
pub fn scene_id(id: &str) -> Result<(), FieldError> {
    let field = "scene_id";
    if id.is_empty() || id.len() > SCENE_ID_CHARS_MAX {
        return Err(Problem::Length { got: id.chars().count(), max: SCENE_ID_CHARS_MAX }.of(field));
    }
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    match id.chars().find(|c| !allowed(*c)) {
        Some(got) => Err(Problem::Character { got }.of(field)),
        None => Ok(()),
    }
}

/// Checks the length of a name.
pub fn name(name: &str, field: &str) -> Result<String, FieldError> {
    // Counts no further than necessary: a name may be as long as a message.
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
        _ => Err(Problem::Entries { got: flat.len(), each: 3 }.of(field)),
    }
}

/// Returns the points of a flat array, unchecked: the engine checks them.
pub fn points(flat: &[f32], field: &str) -> Result<Vec<Vec3>, FieldError> {
    Ok(threes(flat, field)?.iter().map(|p| Vec3::from_array(*p)).collect())
}
