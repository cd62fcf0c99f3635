//! API keys: a TOML file of `[[key]]` tables with name, role, secret and quotas.

use std::{path::Path, sync::Arc};

use serde::Deserialize;
use tracing::info;

use super::{
    credential_file::{AccessError, read_file},
    revocation::Revocation,
    role::Role,
};

/// Setting that names the file.
const SETTING: &str = "access.keys_file";
/// Minimum length of a secret: shorter ones can be guessed.
const SECRET_CHARS_MIN: usize = 16;

/// All keys. Only digests of the secrets are stored.
pub struct ApiKeys(Vec<Arc<ApiKey>>);

/// An API key.
#[derive(Debug)]
pub struct ApiKey {
    /// Name of the key in the log, and as the owner of scenes.
    pub name: String,
    /// Role of the key.
    pub role: Role,
    /// Quotas of the key.
    pub quotas: Quotas,
    /// Revocation, shared with the key that replaces this one when the file is read again.
    pub revocation: Arc<Revocation>,
    secret: blake3::Hash,
}

/// Maximum amounts of one key at a time; `None`: no limit but the server's own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Quotas {
    /// Number of scenes.
    pub scenes: Option<u64>,
    /// Triangles of tissues and links in its scenes.
    pub triangles: Option<u64>,
    /// Bytes of its scenes and sessions.
    pub bytes: Option<u64>,
    /// Number of haptic loops.
    pub streams: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct KeysFile {
    key: Vec<KeyEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct KeyEntry {
    name: String,
    role: Role,
    secret: String,
    scenes: Option<u64>,
    triangles: Option<u64>,
    bytes: Option<u64>,
    streams: Option<u64>,
}

impl ApiKeys {
    /// Reads a file of keys.
    ///
    /// # Errors
    /// An error with the file and line, never with the line's text: it may be a secret.
    pub fn read(file: &Path) -> Result<ApiKeys, AccessError> {
        let text = read_file(SETTING, file)?;
        let entries: KeysFile = toml::from_str(&text).map_err(|error| {
            // The parser's own message quotes the line.
            let line = error.span().map_or(0, |span| text[..span.start].matches('\n').count() + 1);
            let problem = format!(
                "line {line} cannot be read, expected [[key]] with name, role (read-only, full or \
                 admin), secret and any of scenes, triangles, bytes, streams"
            );
            AccessError::new(SETTING, file, problem)
        })?;
        let mut keys: Vec<Arc<ApiKey>> = Vec::new();
        for entry in entries.key {
            let key = entry.check().map_err(|problem| AccessError::new(SETTING, file, problem))?;
            if keys.iter().any(|k| k.name == key.name || k.secret == key.secret) {
                let problem = format!("key {:?} has the name or secret of another", key.name);
                return Err(AccessError::new(SETTING, file, problem));
            }
            keys.push(Arc::new(key));
        }
        Ok(ApiKeys(keys))
    }

    /// Replaces `old`: unchanged keys stay valid, with their new quotas, and all other keys of `old` are revoked.
    pub fn succeed(&mut self, old: &ApiKeys) {
        for key in &old.0 {
            // The new keys are not shared yet.
            let mut own = self.0.iter_mut().filter_map(Arc::get_mut);
            match own.find(|new| new.is_as(key)) {
                Some(new) => new.revocation = Arc::clone(&key.revocation),
                None => {
                    info!(key = key.name, "revoked: its streams end");
                    key.revocation.revoke();
                }
            }
        }
    }

    /// Returns the key of a secret. Takes equally long for any secret: all digests are compared, in constant time.
    pub fn find(&self, secret: &str) -> Option<Arc<ApiKey>> {
        // No salt and no slow hash: secrets are random and long, and this runs for every call.
        let digest = blake3::hash(secret.as_bytes());
        let mut found = None;
        for key in &self.0 {
            if key.secret == digest {
                found = Some(key);
            }
        }
        found.cloned()
    }
}

impl ApiKey {
    fn is_as(&self, other: &ApiKey) -> bool {
        self.name == other.name && self.role == other.role && self.secret == other.secret
    }
}

impl KeyEntry {
    fn check(self) -> Result<ApiKey, String> {
        let KeyEntry { name, role, secret, scenes, triangles, bytes, streams } = self;
        if name.is_empty() {
            return Err("a key has no name".to_owned());
        }
        let got = secret.chars().count();
        if got < SECRET_CHARS_MIN {
            let expected = format!("expected at least {SECRET_CHARS_MIN}");
            return Err(format!("the secret of key {name:?} has {got} characters, {expected}"));
        }
        let quotas = Quotas { scenes, triangles, bytes, streams };
        let secret = blake3::hash(secret.as_bytes());
        let revocation = Arc::new(Revocation::new(&name));
        Ok(ApiKey { name, role, quotas, revocation, secret })
    }
}
