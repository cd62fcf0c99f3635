//! Settings that have another name now.

use toml::{Table, Value};

/// Old and new names. A new name of a variable follows from that of its key.
pub const RENAMED: [(&str, &str); 2] = [
    ("access.look_every", "access.reload_interval"),
    ("transport.ping_every", "transport.ping_interval"),
];

/// The name that took the place of a key's.
pub fn new_name(key: &str) -> Option<&'static str> {
    RENAMED.iter().find(|(old, _)| *old == key).map(|(_, new)| *new)
}

/// The names of the key that a variable stood for, as `variable` makes one of a key.
pub fn of_variable(
    name: &str,
    variable: impl Fn(&str) -> String,
) -> Option<(&'static str, &'static str)> {
    RENAMED.into_iter().find(|(old, _)| variable(old) == name)
}

/// The first key of a file that has another name now, and that name.
pub fn in_file(text: &str) -> Option<(&'static str, &'static str)> {
    // A file that is no TOML is refused with its line when it is read.
    let table: Table = text.parse().ok()?;
    RENAMED.into_iter().find(|(old, _)| {
        let (section, key) = old.split_once('.').expect("each is of a section");
        table.get(section).and_then(Value::as_table).is_some_and(|t| t.contains_key(key))
    })
}
