//! Layer 4: what outlives the process, under one data directory; scenes can be in an object store instead.

pub mod field_cache;
pub mod lease;
pub mod place;
pub mod scenes;

use std::{env, path::PathBuf};

pub use field_cache::{FieldCache, FieldKey, FieldOrigin};

/// Where a server keeps its data when nobody says: `$XDG_DATA_HOME/palpate`, else
/// `$HOME/.local/share/palpate`, else nowhere. Relative paths do not count, as the XDG rules have it.
pub fn default_data_dir() -> Option<PathBuf> {
    let folder = |name| env::var_os(name).map(PathBuf::from).filter(|p| p.is_absolute());
    let home = || Some(folder("HOME")?.join(".local/share"));
    let data =
        if cfg!(windows) { folder("LOCALAPPDATA") } else { folder("XDG_DATA_HOME").or_else(home) };
    Some(data?.join("palpate"))
}
