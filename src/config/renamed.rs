//! Renamed settings.

use toml::{Table, Value};

/// Old and new names of keys. The new name of a variable follows from its key.
pub const RENAMED: [(&str, &str); 2] = [
    ("access.look_every", "access.reload_interval"),
    ("transport.ping_every", "transport.ping_interval"),
];

/// Returns the new name of a renamed key.
pub fn new_name(key: &str) -> Option<&'static str> {
    RENAMED.iter().find(|(old, _)| *old == key).map(|(_, new)| *new)
}

/// Returns the old and new key of a renamed variable; `variable` maps a key to its variable.
pub fn of_variable(
    name: &str,
    variable: impl Fn(&str) -> String,
) -> Option<(&'static str, &'static str)> {
    RENAMED.into_iter().find(|(old, _)| variable(old) == name)
}

/// Returns the old and new name of the first renamed key in a file.
pub fn in_file(text: &str) -> Option<(&'static str, &'static str)> {
    // Invalid TOML is refused with its line when the file is read.
    let table: Table = text.parse().ok()?;
    RENAMED.into_iter().find(|(old, _)| {
        let (section, key) = old.split_once('.').expect("each is of a section");
        table.get(section).and_then(Value::as_table).is_some_and(|t| t.contains_key(key))
    })
}
