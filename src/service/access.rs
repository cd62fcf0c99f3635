//! Who may call, and what: API keys, TLS and client certificates, read again when their files change.

pub mod keys;
pub mod revocation;
pub mod tls;

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use tokio::{
    signal::unix::Signal,
    time::{MissedTickBehavior, interval},
};
use tokio_rustls::rustls;
use tracing::{error, info};

use crate::config;
use keys::{Key, Keys, Quotas, Role};
use revocation::Watch;

/// What is checked of each call and each connection.
pub struct Access {
    keys: Option<Watched<Keys>>,
    tls: Option<Watched<rustls::ServerConfig>>,
    look_every: Duration,
}

/// Why a file of keys or certificates cannot be used. Never holds a secret.
#[derive(Debug, thiserror::Error)]
#[error("{}: {problem}", file.display())]
pub struct AccessError {
    /// As configured.
    pub file: PathBuf,
    /// What is wrong with it.
    pub problem: String,
}

impl AccessError {
    fn new(file: &Path, problem: impl ToString) -> AccessError {
        AccessError { file: file.to_owned(), problem: problem.to_string() }
    }
}

/// Whoever calls. Without a keys file that is anybody, who may do everything.
#[derive(Clone, Debug)]
pub struct Caller(Option<Arc<Key>>);

/// Why a call is not for its caller.
#[derive(Debug, thiserror::Error)]
pub enum Denied {
    /// No key, or one that does not exist.
    #[error("no valid key was given, expected the metadata `authorization: Bearer KEY`")]
    Unknown,
    /// The key was good when the call began.
    #[error("key {key:?} was taken out or changed since this call began")]
    Withdrawn {
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

    /// Whether both came with one key, and it was not withdrawn in between.
    pub fn is_same(&self, other: &Caller) -> bool {
        match (&self.0, &other.0) {
            (Some(own), Some(other)) => Arc::ptr_eq(&own.standing, &other.standing),
            (own, other) => own.is_none() && other.is_none(),
        }
    }

    /// Whether its key was taken out or changed since it called.
    pub fn is_withdrawn(&self) -> bool {
        self.0.as_ref().is_some_and(|key| key.standing.is_withdrawn())
    }

    /// An eye on its key, if it has one.
    pub fn watch(&self) -> Option<Watch> {
        self.0.clone().map(Watch::new)
    }

    fn role(&self) -> Role {
        self.0.as_ref().map_or(Role::Admin, |key| key.role)
    }
}

/// Who made a request, as found out before its handler ran.
pub fn caller<T>(request: &tonic::Request<T>) -> Caller {
    request.extensions().get().cloned().unwrap_or(Caller::ANYBODY)
}

impl Access {
    /// Reads all files.
    ///
    /// # Errors
    /// The first file that cannot be used.
    pub fn open(access: &config::Access) -> Result<Access, AccessError> {
        let keys = match access.keys_file.clone() {
            Some(file) => Some(Watched::open(vec![file.clone()], move || Keys::read(&file))?),
            None => None,
        };
        let tls = match tls::Files::of(access) {
            Some(files) => Some(Watched::open(files.all(), move || files.read())?),
            None => None,
        };
        Ok(Access { keys, tls, look_every: access.look_every })
    }

    /// Who calls with these headers.
    pub fn caller(&self, headers: &http::HeaderMap) -> Result<Caller, Denied> {
        let Some(keys) = &self.keys else { return Ok(Caller::ANYBODY) };
        let given = headers.get(http::header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        let given = given.and_then(|value| value.strip_prefix("Bearer ")).ok_or(Denied::Unknown)?;
        let key = keys.now.load().find(given).ok_or(Denied::Unknown)?;
        Ok(Caller(Some(key)))
    }

    /// The certificate to show now; `None` without TLS.
    pub fn tls(&self) -> Option<Arc<rustls::ServerConfig>> {
        self.tls.as_ref().map(|tls| tls.now.load_full())
    }

    /// Reads changed files again, and all of them on a signal. Never ends.
    pub async fn watch(&self, mut hangup: Signal) {
        let mut look = interval(self.look_every);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let asked = tokio::select! {
                _ = look.tick() => false,
                _ = hangup.recv() => true,
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

/// What was read from files that may change.
struct Watched<T> {
    now: ArcSwap<T>,
    files: Vec<PathBuf>,
    /// Of what stood in each at the last look; `None` where it could not be read. Their times would not do: two
    /// changes within a tick of the system's clock have one.
    seen: Mutex<Vec<Option<blake3::Hash>>>,
    read: Box<dyn Fn() -> Result<T, AccessError> + Send + Sync>,
}

impl<T> Watched<T> {
    fn open(
        files: Vec<PathBuf>,
        read: impl Fn() -> Result<T, AccessError> + Send + Sync + 'static,
    ) -> Result<Watched<T>, AccessError> {
        let seen = Mutex::new(digests(&files));
        Ok(Watched { now: ArcSwap::from_pointee(read()?), files, seen, read: Box::new(read) })
    }

    /// Files that cannot be used change nothing: what was read last stays. `succeed` is given the new and the old.
    fn refresh(&self, asked: bool, succeed: impl FnOnce(&mut T, &T)) {
        let mut seen = self.seen.lock();
        let new = digests(&self.files);
        if *seen == new && !asked {
            return;
        }
        *seen = new;
        let files = self.files.iter().map(|f| f.display().to_string()).collect::<Vec<_>>();
        match (self.read)() {
            Ok(mut read) => {
                info!(files = files.join(", "), "read again");
                succeed(&mut read, &self.now.load());
                self.now.store(Arc::new(read));
            }
            Err(problem) => error!("what was read before stays in use: {problem}"),
        }
    }
}

fn digests(files: &[PathBuf]) -> Vec<Option<blake3::Hash>> {
    files.iter().map(|file| fs::read(file).ok().map(|bytes| blake3::hash(&bytes))).collect()
}

fn read_file(file: &Path) -> Result<String, AccessError> {
    fs::read_to_string(file).map_err(|e: io::Error| AccessError::new(file, e))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_within_one_tick_of_the_clock_is_read() {
        let file = std::env::temp_dir().join(format!("palpate-access-{}", std::process::id()));
        let at = std::time::SystemTime::now();
        let write = |text: &str| {
            fs::write(&file, text).expect("room");
            fs::File::open(&file).and_then(|f| f.set_modified(at)).expect("an own file");
        };
        write("one");
        let from = file.clone();
        let watched = Watched::open(vec![file.clone()], move || read_file(&from)).expect("a file");
        write("two");
        watched.refresh(false, |_, _| ());
        assert_eq!(**watched.now.load(), "two");
        fs::remove_file(&file).expect("an own file");
        watched.refresh(false, |_, _| ());
        assert_eq!(**watched.now.load(), "two", "what cannot be read changes nothing");
    }
}
