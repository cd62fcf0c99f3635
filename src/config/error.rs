//! Errors of a configuration: file or variable, key, value and expected value.

use std::{io, net::SocketAddr, path::PathBuf};

/// Error of a configuration; the server does not start.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read {}: {source}", file.display())]
    Read {
        /// Path as given.
        file: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// The file has an unknown key or a value of the wrong type. `source` has line and column.
    #[error("{}: {source}", file.display())]
    File {
        /// Path as given.
        file: PathBuf,
        /// Line, key, value and expected value.
        source: toml::de::Error,
    },
    /// A variable or flag matches no key.
    #[error("{origin}: there is no key {key:?}, {expected}")]
    UnknownKey {
        /// Name of the variable or flag.
        origin: String,
        /// Key that it would set.
        key: String,
        /// The nearest known key, or all known keys.
        expected: String,
    },
    /// A key has been renamed. The old name is refused rather than followed: a file with both names would have two
    /// values.
    #[error("{origin}: {old} was renamed: use {new}")]
    Renamed {
        /// File, variable or flag.
        origin: String,
        /// Old name, as given.
        old: String,
        /// New name.
        new: String,
    },
    /// A `--set` flag lacks `=`.
    #[error("--set {got:?}: expected KEY=VALUE, as transport.connections_max=64")]
    NoValue {
        /// Text as given.
        got: String,
    },
    /// A variable or flag has a value of the wrong type.
    #[error("{origin}: {key} = {got:?}: {problem}")]
    Value {
        /// Name of the variable or flag.
        origin: String,
        /// Key that it sets.
        key: String,
        /// Value as given.
        got: String,
        /// Description of the problem.
        problem: String,
    },
    /// A value is out of range.
    #[error("{key} is {got}, expected {expected}")]
    Range {
        /// Key of the setting.
        key: &'static str,
        /// Value of the setting.
        got: String,
        /// Allowed values.
        expected: String,
    },
    /// A setting requires another one.
    #[error("{key} is set, expected {needs} to be set as well")]
    Needs {
        /// Key of the setting.
        key: &'static str,
        /// Key of the missing setting.
        needs: &'static str,
    },
    /// A setting needs a feature that this program was built without.
    #[error("{key} is set, expected a program that was built with `--features {feature}`")]
    NotBuilt {
        /// Key of the setting.
        key: &'static str,
        /// Missing cargo feature.
        feature: &'static str,
    },
    /// A setting needs something that this operating system lacks.
    #[error("{key} is set, expected a system that has {what}: {} has none", std::env::consts::OS)]
    NotHere {
        /// Key of the setting.
        key: &'static str,
        /// Missing part of the system.
        what: &'static str,
    },
    /// A public address lacks TLS or keys: anybody on the network could connect or read along.
    #[error(
        "listen is {listen}: without {missing} only a loopback address is served (--insecure \
         serves it all the same)"
    )]
    Public {
        /// Configured address.
        listen: SocketAddr,
        /// Missing protection.
        missing: &'static str,
    },
}
