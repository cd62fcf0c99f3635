//! Caller of a request, and the rights of its key.

use std::sync::Arc;

use super::{
    denied::Denied,
    keys::{ApiKey, Quotas},
    revocation::RevocationWatch,
    role::Role,
};

/// Caller of a request. Without a keys file it is anybody, who may do everything.
#[derive(Clone, Debug)]
pub struct Caller(Option<Arc<ApiKey>>);

impl Caller {
    /// Caller without a key.
    pub const ANYBODY: Caller = Caller(None);

    /// Returns the key's name.
    pub fn name(&self) -> Option<&str> {
        self.0.as_ref().map(|key| &*key.name)
    }

    /// Returns the key's quotas.
    pub fn quotas(&self) -> Quotas {
        self.0.as_ref().map_or(Quotas::default(), |key| key.quotas)
    }

    /// Returns true if the caller may change or delete the scenes of `owner`.
    pub fn may_change(&self, owner: Option<&str>) -> bool {
        self.role() == Role::Admin || self.name() == owner
    }

    /// Checks that the key's role is enough for a method.
    pub fn check_role(&self, needed: Role) -> Result<(), Denied> {
        match &self.0 {
            Some(key) if key.role < needed => {
                Err(Denied::Role { key: key.name.clone(), role: key.role, needed })
            }
            _ => Ok(()),
        }
    }

    /// Returns true if both callers have one key, which was not revoked in between.
    pub fn is_same(&self, other: &Caller) -> bool {
        match (&self.0, &other.0) {
            (Some(own), Some(other)) => Arc::ptr_eq(&own.revocation, &other.revocation),
            (own, other) => own.is_none() && other.is_none(),
        }
    }

    /// Returns true if the key was revoked or changed since the call.
    pub fn is_revoked(&self) -> bool {
        self.0.as_ref().is_some_and(|key| key.revocation.is_revoked())
    }

    /// Returns a watch that reports when the key is revoked; `None` for anybody.
    pub fn watch(&self) -> Option<RevocationWatch> {
        self.0.as_ref().map(|key| RevocationWatch::new(&key.revocation))
    }

    /// Creates the caller of a key's calls.
    pub(super) fn of(key: Arc<ApiKey>) -> Caller {
        Caller(Some(key))
    }

    fn role(&self) -> Role {
        self.0.as_ref().map_or(Role::Admin, |key| key.role)
    }
}

/// Returns the caller of a request, as determined before its handler ran.
pub fn caller<T>(request: &tonic::Request<T>) -> Caller {
    request.extensions().get().cloned().unwrap_or(Caller::ANYBODY)
}
