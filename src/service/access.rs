//! Access rules: API keys, TLS and client certificates, read again when their files change.

pub mod caller;
pub mod credential_file;
pub mod denied;
pub mod keys;
pub mod revocation;
pub mod role;
pub mod tls;

use std::{sync::Arc, time::Duration};

use tokio::time::{MissedTickBehavior, interval};
use tokio_rustls::rustls;

use crate::{config, os::interrupt::Hangup};
use caller::Caller;
use credential_file::{AccessError, WatchedFiles};
use denied::Denied;
use keys::ApiKeys;

/// Access rules of calls and connections.
pub struct Access {
    keys: Option<WatchedFiles<ApiKeys>>,
    tls: Option<WatchedFiles<rustls::ServerConfig>>,
    reload_interval: Duration,
}

impl Access {
    /// Reads all files.
    ///
    /// # Errors
    /// The first unusable file.
    pub fn open(access: &config::AccessSettings) -> Result<Access, AccessError> {
        let keys = match access.keys_file.clone() {
            Some(file) => {
                Some(WatchedFiles::open(vec![file.clone()], move || ApiKeys::read(&file))?)
            }
            None => None,
        };
        let tls = match tls::Files::of(access) {
            Some(files) => Some(WatchedFiles::open(files.all(), move || files.read())?),
            None => None,
        };
        Ok(Access { keys, tls, reload_interval: access.reload_interval })
    }

    /// Returns the caller with these headers.
    pub fn caller(&self, headers: &http::HeaderMap) -> Result<Caller, Denied> {
        let Some(keys) = &self.keys else { return Ok(Caller::ANYBODY) };
        let given = headers.get(http::header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        let given = given.and_then(|value| value.strip_prefix("Bearer ")).ok_or(Denied::Unknown)?;
        let key = keys.now().find(given).ok_or(Denied::Unknown)?;
        Ok(Caller::of(key))
    }

    /// Returns the current TLS configuration; `None` without TLS.
    pub fn tls(&self) -> Option<Arc<rustls::ServerConfig>> {
        self.tls.as_ref().map(|tls| tls.now())
    }

    /// Reads changed files again, and all of them on a signal. Never ends.
    pub async fn watch(&self, mut hangup: Hangup) {
        let mut due = interval(self.reload_interval);
        due.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let asked = tokio::select! {
                _ = due.tick() => false,
                _ = hangup.came() => true,
            };
            if let Some(keys) = &self.keys {
                keys.refresh(asked, |new, old| new.succeed(old));
            }
            if let Some(tls) = &self.tls {
                tls.refresh(asked, |_, _| ());
            }
        }
    }
}
