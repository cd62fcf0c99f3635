//! Servers that must give equal answers.

use std::{net::SocketAddr, path::PathBuf};

use palpate::store::FieldCache;

use crate::support::{folder::Folder, process::Process, program::under_test};

/// Settings of a server.
pub struct Configuration {
    pub name: &'static str,
    threads: &'static str,
    field_threads: &'static str,
    wide_instructions: &'static str,
}

pub const CONFIGURATIONS: [Configuration; 3] = [
    Configuration {
        name: "one-thread",
        threads: "1",
        field_threads: "1",
        wide_instructions: "true",
    },
    Configuration {
        name: "two-threads-narrow",
        threads: "2",
        field_threads: "4",
        wide_instructions: "false",
    },
    Configuration {
        name: "four-threads",
        threads: "4",
        field_threads: "4",
        wide_instructions: "true",
    },
];

/// A running server, and its data until it ends.
pub struct Started {
    pub address: SocketAddr,
    _process: Process,
    data: Folder,
}

impl Started {
    /// Returns the folder of its scene recordings.
    pub fn recordings(&self) -> PathBuf {
        self.data.0.join("recordings")
    }

    /// Returns the cache of the fields that it has built.
    pub fn fields(&self) -> FieldCache {
        FieldCache::new(&self.data.0, u64::MAX)
    }
}

impl Configuration {
    /// Returns whether its recordings are replayed. One configuration is enough, as a replay is as much work again: the
    /// one whose instructions are not those of this process.
    pub fn is_replayed(&self) -> bool {
        self.wide_instructions == "false"
    }

    /// Starts a server that has not built a field yet. No session of it is ever stale or given up, and no tick cut
    /// short.
    pub fn start(&self) -> Started {
        let program = under_test();
        let data = Folder::new(&format!("golden-{}", self.name));
        let recordings = data.0.join("recordings");
        let variables = [
            ("PALPATE_DATA_DIR", data.0.to_str().expect("UTF-8")),
            ("PALPATE_RECORD_DIR", recordings.to_str().expect("UTF-8")),
            // The state on disk at an answer is a matter of time.
            ("PALPATE_STORE_SCENES", "false"),
            ("PALPATE_RUNTIME_THREADS", self.threads),
            ("PALPATE_RUNTIME_WIDE_INSTRUCTIONS", self.wide_instructions),
            ("RAYON_NUM_THREADS", self.field_threads),
            ("PALPATE_SESSIONS_STALE_AFTER", "1h"),
            ("PALPATE_SESSIONS_GRACE", "1h"),
            ("PALPATE_TICKS_TIME_MAX", "1h"),
        ];
        let mut process = Process::serve_of(&program, &variables);
        Started { address: process.address(), _process: process, data }
    }
}
