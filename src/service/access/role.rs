//! Roles of keys.

use std::fmt;

use serde::Deserialize;

/// Role of a key; each includes the earlier ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Reads, queries and tracks.
    ReadOnly,
    /// Creates scenes, and changes and deletes those of the same key.
    Full,
    /// Changes and deletes all scenes.
    Admin,
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Role::ReadOnly => "read-only",
            Role::Full => "full",
            Role::Admin => "admin",
        })
    }
}
