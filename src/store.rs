//! Layer 4: persistent data under one data directory; scenes can be in an object store instead.

pub mod field_cache;
pub mod lease;
pub mod place;
pub mod scenes;

use std::{env, path::PathBuf};

pub use field_cache::{FieldCache, FieldKey, FieldOrigin};

/// Returns the default data directory: `$XDG_DATA_HOME/palpate`, else `$HOME/.local/share/palpate`, else `None`.
/// Relative paths are ignored, as the XDG rules require.
pub fn default_data_dir() -> Option<PathBuf> {
    let folder = |name| env::var_os(name).map(PathBuf::from).filter(|p| p.is_absolute());
    let home = || Some(folder("HOME")?.join(".local/share"));
    let data =
        if cfg!(windows) { folder("LOCALAPPDATA") } else { folder("XDG_DATA_HOME").or_else(home) };
    Some(data?.join("palpate"))
}
