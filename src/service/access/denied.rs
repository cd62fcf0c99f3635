//! Why a call is not for its caller.

use super::role::Role;

/// Why a call is not for its caller.
#[derive(Debug, thiserror::Error)]
pub enum Denied {
    /// No key, or one that does not exist.
    #[error("no valid key was given, expected the metadata `authorization: Bearer KEY`")]
    Unknown,
    /// The key was good when the call began.
    #[error("key {key:?} was revoked or changed since this call began")]
    Revoked {
        /// The key's name.
        key: String,
    },
    /// The key's role is too small.
    #[error("key {key:?} is {role}, expected a key that is {needed}")]
    Role {
        /// The key's name.
        key: String,
        /// What it is.
        role: Role,
        /// What it would have to be.
        needed: Role,
    },
}
