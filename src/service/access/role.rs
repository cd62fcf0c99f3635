//! What a key lets its callers do.

use std::fmt;

use serde::Deserialize;

/// What a key allows; each includes those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// To look, to ask and to track.
    ReadOnly,
    /// To make scenes, and to change and delete those of the same key.
    Full,
    /// To change and delete all scenes.
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
