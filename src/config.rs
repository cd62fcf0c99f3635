//! Server settings, typed and validated; the environment overrides the file, and flags override the environment.
//!
//! `deploy/palpate.toml` documents each key with its unit and default; a test keeps both equal. The server does not
//! start with an unknown or renamed key, a duration without a unit or a value out of range.

mod duration;
mod error;
mod listen_address;
mod live_view_args;
mod ranges;
mod renamed;
mod sources;
mod unset;

use std::{
    net::{Ipv4Addr, SocketAddr},
    path::PathBuf,
    time::Duration,
};

pub use error::ConfigError;
pub use live_view_args::{LiveViewArgs, LiveViewError};
pub use sources::{ConfigArgs, OTHER_VARIABLES, SettingArgs};

use serde::{Deserialize, Serialize};

use crate::scene::Limits;

/// All settings of a server. An empty string in a file stands for `None`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Address of gRPC; port 0 takes a free one.
    #[serde(deserialize_with = "listen_address::deserialize")]
    pub listen: SocketAddr,
    /// Path of a Unix domain socket that serves gRPC too.
    #[serde(with = "unset")]
    pub unix_socket: Option<PathBuf>,
    /// Folder of scenes and built distance fields; `None`: the user's data folder.
    #[serde(with = "unset")]
    pub data_dir: Option<PathBuf>,
    /// Maximum bytes of all cached fields; the least recently used are removed first.
    pub fields_bytes_max: u64,
    /// Maximum time to build the distance field of a link.
    #[serde(with = "duration")]
    pub field_build_max: Duration,
    /// Serves a public address without TLS or without keys.
    pub insecure: bool,
    /// Threads and CPU instructions.
    pub runtime: RuntimeSettings,
    /// The log, on stderr.
    pub log: LogSettings,
    /// Connections and messages.
    pub transport: TransportSettings,
    /// Persistence of scenes.
    pub store: StoreSettings,
    /// Recordings of scenes.
    pub record: RecordSettings,
    /// Sharing of scenes with other servers.
    pub cluster: ClusterSettings,
    /// Haptic loops.
    pub sessions: SessionSettings,
    /// Time limits of an answer.
    pub ticks: TickSettings,
    /// Metrics for Prometheus, the health page and the live view.
    pub metrics: MetricsSettings,
    /// Authentication and TLS.
    pub access: AccessSettings,
    /// Limits of scenes.
    pub limits: Limits,
}

/// Threads of a server and the instructions that they use.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RuntimeSettings {
    /// Number of threads that receive bytes and compute ticks, and of as many background threads that answer uploads,
    /// deformations, cuts, removals, exports and queries; 0: one for each core.
    pub threads: usize,
    /// Uses the widest instructions that the processor has; `false`: those that every processor has. Answers are equal.
    pub wide_instructions: bool,
}

/// Log format, filter and trace export.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LogSettings {
    /// Format of a line.
    pub format: LogFormat,
    /// Log filter, for example `info` or `palpate=debug,info`; `RUST_LOG` overrides it.
    pub filter: String,
    /// OTLP collector (over gRPC) that receives a span of each call; `None`: no export. Needs the feature `otlp`.
    #[serde(with = "unset")]
    pub otlp_endpoint: Option<String>,
}

/// Format of a log line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// Text on a terminal, JSON otherwise.
    Auto,
    /// Text for people.
    Text,
    /// JSON, an object a line.
    Json,
}

/// Connections and messages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TransportSettings {
    /// Maximum connections. A further connection replaces one that has made no call, or is closed at once.
    pub connections_max: usize,
    /// Maximum connections per IP address.
    pub connections_per_address_max: usize,
    /// Maximum streams of one connection; further ones wait in the client.
    pub streams_per_connection_max: u32,
    /// HTTP/2 receive window of a stream: bytes that a client can send before they are read. After a stall the server
    /// reads all of them before the first fresh tick.
    pub stream_window_bytes: u32,
    /// HTTP/2 receive window of a connection. Below 16 MiB a server that was stopped for seconds ends honest streams of
    /// small messages, because it receives too many data frames at once.
    pub connection_window_bytes: u32,
    /// Maximum time until the TLS handshake and HTTP/2 preface of a new connection, and the headers of each request,
    /// have arrived.
    #[serde(with = "duration")]
    pub preface_max: Duration,
    /// A connection without an admitted call is closed after this time.
    #[serde(with = "duration")]
    pub first_call_max: Duration,
    /// A connection whose client reads nothing of an answer for this long is closed.
    #[serde(with = "duration")]
    pub unread_max: Duration,
    /// Maximum bytes of large answers in flight for one key; its further calls wait.
    pub answer_bytes_per_key: usize,
    /// Interval of HTTP/2 pings to a peer.
    #[serde(with = "duration")]
    pub ping_interval: Duration,
    /// A peer that does not answer a ping within this time counts as gone.
    #[serde(with = "duration")]
    pub ping_answer_max: Duration,
    /// Maximum metadata bytes of one request.
    pub headers_bytes_max: u32,
    /// Maximum bytes of one message of a Track stream.
    pub track_message_bytes_max: usize,
    /// Maximum bytes of one message of any other HapticService call; distance queries are by far the largest.
    pub query_message_bytes_max: usize,
    /// Maximum bytes of one SceneService message: a chunk of an upload.
    pub control_message_bytes_max: usize,
    /// An upload that pauses for longer is aborted.
    #[serde(with = "duration")]
    pub upload_pause_max: Duration,
    /// Maximum time that open streams may take to end after a shutdown has begun.
    #[serde(with = "duration")]
    pub drain_max: Duration,
}

/// Scenes on disk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StoreSettings {
    /// Keeps scenes under the data folder, which this server then owns alone, unless the creator of a scene opts out.
    pub scenes: bool,
    /// `s3://BUCKET/PREFIX`, `gs://BUCKET/PREFIX` or `az://CONTAINER/PREFIX`: keeps scenes there instead of the data
    /// folder; endpoint, region, account and credentials come from the variables `AWS_*`, `GOOGLE_*` or `AZURE_*`.
    /// `None`: the data folder. Needs the feature `s3`, `gcs` or `azure`, and `cluster.shared`.
    #[serde(with = "unset")]
    pub url: Option<String>,
    /// Maximum time of one small request to the object store; a failed request is tried three times.
    #[serde(with = "duration")]
    pub request_max: Duration,
    /// Allows plain HTTP also to an object store on another machine.
    pub allow_http: bool,
    /// Interval at which the newest positions of deformed tissues are saved.
    #[serde(with = "duration")]
    pub positions_interval: Duration,
    /// A new snapshot of a scene is written when its journal has this many bytes, and four times those of the last
    /// snapshot.
    pub snapshot_bytes: u64,
    /// A new snapshot is also written when the last one is this old and anything has changed.
    #[serde(with = "duration")]
    pub snapshot_interval: Duration,
}

/// Recordings of scenes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RecordSettings {
    /// Folder into which each scene is recorded, one file each, for `palpate replay`; `None`: no recording.
    #[serde(with = "unset")]
    pub dir: Option<PathBuf>,
    /// Maximum bytes of a file; the scene then goes on without its recording.
    pub bytes_max: u64,
}

/// Servers that share a data folder or a bucket.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ClusterSettings {
    /// Shares the data folder's scenes with other servers: each scene belongs to one server at a time.
    pub shared: bool,
    /// Address under which clients reach this server, as other servers report it; `None`: the listening address.
    #[serde(with = "unset")]
    pub address: Option<String>,
    /// A server without a heartbeat for this long loses its scenes to any server that is asked for them.
    #[serde(with = "duration")]
    pub lease: Duration,
}

/// Haptic loops.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SessionSettings {
    /// Maximum sessions, including those that wait for their client to reconnect.
    pub count_max: usize,
    /// A session without a pose for this long is stale; the default is 20 ticks at 1 kHz.
    #[serde(with = "duration")]
    pub stale_after: Duration,
    /// Time that a session whose stream broke off waits for its client.
    #[serde(with = "duration")]
    pub grace: Duration,
    /// A tick that took the server longer, from its bytes to its answer, counts as missed.
    #[serde(with = "duration")]
    pub objective: Duration,
}

/// Time limits of an answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TickSettings {
    /// A tick that takes longer answers with its results so far, and the next tick continues. Clients can only ask for
    /// less.
    #[serde(with = "duration")]
    pub time_max: Duration,
    /// Maximum share of the threads' time for the ticks of one key while other keys have streams too, above 0; 1: all
    /// of it.
    pub key_share: f64,
}

/// Metrics, the health page and the live view, over plain HTTP.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MetricsSettings {
    /// Listening address; `None`: not served.
    #[serde(
        serialize_with = "unset::serialize",
        deserialize_with = "listen_address::deserialize_unset"
    )]
    pub listen: Option<SocketAddr>,
    /// Folder of the built live view (`clients/web`); `None`: the page in the program, if it has one.
    #[serde(with = "unset")]
    pub viewer_dir: Option<PathBuf>,
    /// Another origin whose pages may call the live view too; `None`: only pages of this server.
    #[serde(with = "unset")]
    pub cors_origin: Option<String>,
}

/// Authentication and TLS.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AccessSettings {
    /// File of API keys with their roles and quotas; `None`: everybody may do everything.
    #[serde(with = "unset")]
    pub keys_file: Option<PathBuf>,
    /// Certificate chain of the server, PEM; `None`: no TLS.
    #[serde(with = "unset")]
    pub certificate_file: Option<PathBuf>,
    /// Private key of the certificate, PEM.
    #[serde(with = "unset")]
    pub private_key_file: Option<PathBuf>,
    /// CA certificates, PEM: clients must show a certificate that one of them signed.
    #[serde(with = "unset")]
    pub client_ca_file: Option<PathBuf>,
    /// Interval at which these files are read and compared. SIGHUP does so at once.
    #[serde(with = "duration")]
    pub reload_interval: Duration,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            // Not 0.0.0.0: a server without keys serves this machine only.
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 7447)),
            unix_socket: None,
            data_dir: None,
            fields_bytes_max: 4 << 30,
            field_build_max: Duration::from_secs(300),
            insecure: false,
            runtime: RuntimeSettings::default(),
            log: LogSettings::default(),
            transport: TransportSettings::default(),
            store: StoreSettings::default(),
            record: RecordSettings::default(),
            cluster: ClusterSettings::default(),
            sessions: SessionSettings::default(),
            ticks: TickSettings::default(),
            metrics: MetricsSettings::default(),
            access: AccessSettings::default(),
            limits: Limits::default(),
        }
    }
}

impl Default for RuntimeSettings {
    fn default() -> RuntimeSettings {
        RuntimeSettings { threads: 0, wide_instructions: true }
    }
}

impl Default for LogSettings {
    fn default() -> LogSettings {
        LogSettings {
            format: LogFormat::Auto,
            filter: "info,h2=error".to_owned(),
            otlp_endpoint: None,
        }
    }
}

impl Default for TransportSettings {
    fn default() -> TransportSettings {
        TransportSettings {
            connections_max: 256,
            connections_per_address_max: 128,
            streams_per_connection_max: 64,
            // After a stall the server first reads the bytes that the windows hold. A server that was stopped for 4 s
            // with 8 streams answers freshly after 50 to 67 ms; with 256 KiB after 61 to 113.
            stream_window_bytes: 64 << 10,
            connection_window_bytes: 16 << 20,
            preface_max: Duration::from_secs(5),
            first_call_max: Duration::from_secs(10),
            unread_max: Duration::from_secs(30),
            // Room for twelve of the largest queries at a time.
            answer_bytes_per_key: 64 << 20,
            ping_interval: Duration::from_secs(10),
            ping_answer_max: Duration::from_secs(5),
            headers_bytes_max: 8 << 10,
            track_message_bytes_max: 64 << 10,
            query_message_bytes_max: 2 << 20,
            // A chunk of one mebibyte and the fields around it.
            control_message_bytes_max: (1 << 20) + (4 << 10),
            upload_pause_max: Duration::from_secs(30),
            drain_max: Duration::from_secs(10),
        }
    }
}

impl Default for StoreSettings {
    fn default() -> StoreSettings {
        StoreSettings {
            scenes: true,
            url: None,
            // Three tries and their pauses are well within the time that a lease of 10 s leaves.
            request_max: Duration::from_secs(2),
            allow_http: false,
            positions_interval: Duration::from_secs(1),
            // A minute of a tissue of 100,000 vertices that deforms without pause.
            snapshot_bytes: 64 << 20,
            snapshot_interval: Duration::from_secs(300),
        }
    }
}

impl Default for RecordSettings {
    fn default() -> RecordSettings {
        // An hour of one loop at 1 kHz with ten contacts.
        RecordSettings { dir: None, bytes_max: 4 << 30 }
    }
}

impl Default for ClusterSettings {
    fn default() -> ClusterSettings {
        ClusterSettings { shared: false, address: None, lease: Duration::from_secs(3) }
    }
}

impl Default for SessionSettings {
    fn default() -> SessionSettings {
        SessionSettings {
            count_max: 1024,
            stale_after: Duration::from_millis(20),
            grace: Duration::from_secs(10),
            objective: Duration::from_millis(1),
        }
    }
}

impl Default for TickSettings {
    fn default() -> TickSettings {
        // The remaining quarter keeps other keys from waiting for longer than a window.
        TickSettings { time_max: Duration::from_millis(5), key_share: 0.75 }
    }
}

impl Default for AccessSettings {
    fn default() -> AccessSettings {
        AccessSettings {
            keys_file: None,
            certificate_file: None,
            private_key_file: None,
            client_ca_file: None,
            reload_interval: Duration::from_secs(2),
        }
    }
}
