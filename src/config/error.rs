//! Why a configuration is refused: where, which key, what was got and what was expected.

use std::{io, net::SocketAddr, path::PathBuf};

/// A configuration that nothing is started with.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read {}: {source}", file.display())]
    Read {
        /// As given.
        file: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The file has a key that does not exist, or a value of another kind. `source` has line and column.
    #[error("{}: {source}", file.display())]
    File {
        /// As given.
        file: PathBuf,
        /// Line, key, got and expected.
        source: toml::de::Error,
    },
    /// A variable or flag that stands for no key.
    #[error("{origin}: there is no key {key:?}, expected one of {expected}")]
    UnknownKey {
        /// The variable or flag.
        origin: String,
        /// What it would set.
        key: String,
        /// The keys there are.
        expected: String,
    },
    /// A key that has another name now. It is refused, not followed: a file with both names would have two values.
    #[error("{origin}: {old} was renamed: use {new}")]
    Renamed {
        /// The file, variable or flag.
        origin: String,
        /// As given.
        old: String,
        /// The key that took its place.
        new: String,
    },
    /// A flag without `=`.
    #[error("--set {got:?}: expected KEY=VALUE, as transport.connections_max=64")]
    NoValue {
        /// As given.
        got: String,
    },
    /// A value of another kind, from a variable or flag.
    #[error("{origin}: {key} = {got:?}: {problem}")]
    Value {
        /// The variable or flag.
        origin: String,
        /// What it sets.
        key: String,
        /// The value given.
        got: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A value that makes no sense.
    #[error("{key} is {got}, expected {expected}")]
    Range {
        /// The setting.
        key: &'static str,
        /// Its value.
        got: String,
        /// What it may be.
        expected: String,
    },
    /// A setting that needs another.
    #[error("{key} is set, expected {needs} to be set as well")]
    Needs {
        /// The setting.
        key: &'static str,
        /// The one that is missing.
        needs: &'static str,
    },
    /// A setting that this program knows but cannot follow.
    #[error("{key} is set, expected a program that was built with `--features {feature}`")]
    NotBuilt {
        /// The setting.
        key: &'static str,
        /// What was left out.
        feature: &'static str,
    },
    /// A setting of something that this system does not have.
    #[error("{key} is set, expected a system that has {what}: {} has none", std::env::consts::OS)]
    NotHere {
        /// The setting.
        key: &'static str,
        /// What is missing.
        what: &'static str,
    },
    /// Anybody on the network could connect, or read along.
    #[error(
        "listen is {listen}: without {missing} only a loopback address is served (--insecure \
         serves it all the same)"
    )]
    Public {
        /// As configured.
        listen: SocketAddr,
        /// What it lacks.
        missing: &'static str,
    },
}
