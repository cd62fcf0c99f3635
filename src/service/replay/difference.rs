//! Finds the first field in which two messages differ.

use std::fmt::{self, Debug};

use prost::Message;

/// The first field in which the replayed message differs from the recorded one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Path of the field, such as `links[0].signed_distance_m`.
    pub field: String,
    /// Replayed value.
    pub got: String,
    /// Recorded value.
    pub expected: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Difference { field, got, expected } = self;
        write!(f, "{field}: got {got}, recorded {expected}")
    }
}

/// Returns the first difference; `None` if the encoded messages are equal bit for bit.
pub fn difference<M: Message + Debug>(got: &M, expected: &M) -> Option<Difference> {
    (got.encode_to_vec() != expected.encode_to_vec()).then(|| first_in_text(got, expected))
}

/// Compares their text, which has a field per line: messages have no other field names at run time.
fn first_in_text(got: &impl Debug, expected: &impl Debug) -> Difference {
    let (got, expected) = (format!("{got:#?}"), format!("{expected:#?}"));
    let (mut path, mut got, mut expected) = (FieldPath::default(), got.lines(), expected.lines());
    loop {
        let lines = (got.next(), expected.next());
        if lines.0 == lines.1 && lines.0.is_some() {
            path.take(lines.0.unwrap_or_default());
            continue;
        }
        let value = |line: Option<&str>| {
            let line = line.map_or("nothing more", str::trim).trim_end_matches(',');
            line.split_once(": ").map_or(line, |(_, value)| value).to_owned()
        };
        let line = lines.1.or(lines.0).unwrap_or_default();
        return Difference { field: path.of(line), got: value(lines.0), expected: value(lines.1) };
    }
}

/// Open fields in a text, from the outside in.
#[derive(Default)]
struct FieldPath(Vec<OpenField>);

struct OpenField {
    name: String,
    /// Number of entries so far, if the field is a list.
    entries: Option<usize>,
}

impl FieldPath {
    fn take(&mut self, line: &str) {
        let line = line.trim();
        if line.starts_with([']', '}', ')']) {
            self.0.pop();
            self.count();
        } else if line.ends_with(['[', '{', '(']) {
            let name = line.split_once(": ").map_or("", |(name, _)| name).to_owned();
            let entries = line.ends_with('[').then_some(0);
            self.0.push(OpenField { name, entries });
        } else {
            self.count();
        }
    }

    /// Counts an entry of the innermost list.
    fn count(&mut self) {
        if let Some(OpenField { entries: Some(n), .. }) = self.0.last_mut() {
            *n += 1;
        }
    }

    /// Returns the path of a line within the open fields.
    fn of(&self, line: &str) -> String {
        let mut path = String::new();
        let own = line.trim().split_once(": ").map_or("", |(name, _)| name).to_owned();
        for (name, entries) in self.0.iter().map(|f| (&f.name, f.entries)).chain([(&own, None)]) {
            if !name.is_empty() {
                path.push_str(if path.is_empty() { "" } else { "." });
                path.push_str(name);
            }
            if let Some(n) = entries {
                path.push_str(&format!("[{n}]"));
            }
        }
        path
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::{LinkAnswer, TrackResponse, Vec3};

    #[test]
    fn the_first_field_that_differs_is_named() {
        let link = |x| LinkAnswer {
            normal: Some(Vec3 { x, y: 0.0, z: 1.0 }),
            ended_contact_ids: vec![3, 4],
            ..LinkAnswer::default()
        };
        let answer = |links| TrackResponse { links, ..TrackResponse::default() };
        let one = answer(vec![link(0.0), link(0.5)]);
        assert_eq!(difference(&one, &one.clone()), None);
        let of = |other: &TrackResponse| difference(&one, other).expect("another").to_string();
        let turned = answer(vec![link(0.0), link(0.25)]);
        assert_eq!(of(&turned), "links[1].normal.x: got 0.5, recorded 0.25");
        let mut ended = one.clone();
        ended.links[0].ended_contact_ids[1] = 5;
        assert_eq!(of(&ended), "links[0].ended_contact_ids[1]: got 4, recorded 5");
        assert!(of(&answer(vec![link(0.0)])).starts_with("links[1]"));
    }
}
