//! Who calls, and what their key lets them do.

use std::sync::Arc;

use super::{
    denied::Denied,
    keys::{ApiKey, Quotas},
    revocation::RevocationWatch,
    role::Role,
};

/// Whoever calls. Without a keys file that is anybody, who may do everything.
#[derive(Clone, Debug)]
pub struct Caller(Option<Arc<ApiKey>>);

impl Caller {
    /// Anybody.
    pub const ANYBODY: Caller = Caller(None);

    /// The key's name.
    pub fn name(&self) -> Option<&str> {
        self.0.as_ref().map(|key| &*key.name)
    }

    /// What the key allows at most at a time.
    pub fn quotas(&self) -> Quotas {
        self.0.as_ref().map_or(Quotas::default(), |key| key.quotas)
    }

    /// Whether it may change or delete what belongs to `owner`.
    pub fn may_change(&self, owner: Option<&str>) -> bool {
        self.role() == Role::Admin || self.name() == owner
    }

    /// Whether its key is enough for a method.
    pub fn check_role(&self, needed: Role) -> Result<(), Denied> {
        match &self.0 {
            Some(key) if key.role < needed => {
                Err(Denied::Role { key: key.name.clone(), role: key.role, needed })
            }
            _ => Ok(()),
        }
    }

    /// Whether both came with one key, and it was not revoked in between.
    pub fn is_same(&self, other: &Caller) -> bool {
        match (&self.0, &other.0) {
            (Some(own), Some(other)) => Arc::ptr_eq(&own.revocation, &other.revocation),
            (own, other) => own.is_none() && other.is_none(),
        }
    }

    /// Whether its key was revoked or changed since it called.
    pub fn is_revoked(&self) -> bool {
        self.0.as_ref().is_some_and(|key| key.revocation.is_revoked())
    }

    /// Ends what is under way when its key is revoked; `None` for anybody.
    pub fn watch(&self) -> Option<RevocationWatch> {
        self.0.as_ref().map(|key| RevocationWatch::new(&key.revocation))
    }

    /// Of a key's calls from now on.
    pub(super) fn of(key: Arc<ApiKey>) -> Caller {
        Caller(Some(key))
    }

    fn role(&self) -> Role {
        self.0.as_ref().map_or(Role::Admin, |key| key.role)
    }
}

/// Who made a request, as found out before its handler ran.
pub fn caller<T>(request: &tonic::Request<T>) -> Caller {
    request.extensions().get().cloned().unwrap_or(Caller::ANYBODY)
}
