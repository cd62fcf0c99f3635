//! Refusals of calls by the access rules.

use super::role::Role;

/// Refusal of a call by the access rules.
#[derive(Debug, thiserror::Error)]
pub enum Denied {
    /// No key was sent, or one that does not exist.
    #[error("no valid key was given, expected the metadata `authorization: Bearer KEY`")]
    Unknown,
    /// The key was revoked or changed since the call began.
    #[error("key {key:?} was revoked or changed since this call began")]
    Revoked {
        /// Name of the key.
        key: String,
    },
    /// The key's role is too low.
    #[error("key {key:?} is {role}, expected a key that is {needed}")]
    Role {
        /// Name of the key.
        key: String,
        /// Role of the key.
        role: Role,
        /// Required role.
        needed: Role,
    },
}
