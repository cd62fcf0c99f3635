//! API keys: a TOML file of `[[key]]` tables with name, role, secret and quotas.

use std::{fmt, path::Path, sync::Arc};

use serde::Deserialize;
use tracing::info;

use super::{AccessError, read_file, revocation::Standing};

/// Shorter secrets can be guessed.
const SECRET_CHARS_MIN: usize = 16;

/// All keys. Secrets are kept as digests only.
pub struct Keys(Vec<Arc<Key>>);

/// One key.
#[derive(Debug)]
pub struct Key {
    /// As it is logged, and as scenes are owned by.
    pub name: String,
    /// What it allows.
    pub role: Role,
    /// How much it allows at a time.
    pub quotas: Quotas,
    /// Ends when it is taken out.
    pub standing: Arc<Standing>,
    secret: blake3::Hash,
}

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

/// How much one key may have at a time; `None` is no limit but the server's own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Quotas {
    /// Scenes.
    pub scenes: Option<u64>,
    /// Triangles of tissues and links in its scenes.
    pub triangles: Option<u64>,
    /// Bytes of their meshes and fields.
    pub bytes: Option<u64>,
    /// Haptic loops.
    pub streams: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct KeysFile {
    key: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: String,
    role: Role,
    secret: String,
    scenes: Option<u64>,
    triangles: Option<u64>,
    bytes: Option<u64>,
    streams: Option<u64>,
}

impl Keys {
    /// Reads a file of keys.
    ///
    /// # Errors
    /// With the file and line, never with what stands there: it may be a secret.
    pub fn read(file: &Path) -> Result<Keys, AccessError> {
        let text = read_file(file)?;
        let entries: KeysFile = toml::from_str(&text).map_err(|error| {
            let line = error.span().map_or(0, |span| text[..span.start].matches('\n').count() + 1);
            let problem = format!(
                "line {line} cannot be read, expected [[key]] with name, role (read-only, full or \
                 admin), secret and any of scenes, triangles, bytes, streams"
            );
            AccessError::new(file, problem)
        })?;
        let mut keys: Vec<Arc<Key>> = Vec::new();
        for entry in entries.key {
            let key = entry.check().map_err(|problem| AccessError::new(file, problem))?;
            if keys.iter().any(|k| k.name == key.name || k.secret == key.secret) {
                let problem = format!("key {:?} has the name or secret of another", key.name);
                return Err(AccessError::new(file, problem));
            }
            keys.push(Arc::new(key));
        }
        Ok(Keys(keys))
    }

    /// Takes the place of `old`: keys that stay go on, with the quotas they have now, and all others of `old` are
    /// withdrawn.
    pub fn succeed(&mut self, old: &Keys) {
        for key in &old.0 {
            // Nobody has one of the new keys yet.
            let mut own = self.0.iter_mut().filter_map(Arc::get_mut);
            match own.find(|new| new.is_as(key)) {
                Some(new) => new.standing = Arc::clone(&key.standing),
                None => {
                    info!(key = key.name, "withdrawn: its streams end");
                    key.standing.withdraw();
                }
            }
        }
    }

    /// The key of a secret. Takes as long for any: digests are compared in constant time, all of them.
    pub fn find(&self, secret: &str) -> Option<Arc<Key>> {
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

impl Key {
    fn is_as(&self, other: &Key) -> bool {
        self.name == other.name && self.role == other.role && self.secret == other.secret
    }
}

impl Entry {
    fn check(self) -> Result<Key, String> {
        let Entry { name, role, secret, scenes, triangles, bytes, streams } = self;
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
        Ok(Key { name, role, quotas, standing: Arc::default(), secret })
    }
}
