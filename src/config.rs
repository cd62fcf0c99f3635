//! What a server is told: typed once, from a file, the environment and flags, each over the one before.
//!
//! `deploy/palpate.toml` says what each key is for, with its unit and default; a test keeps the two equal.
//! A key that does not exist or was renamed, a duration without a unit and a value out of range refuse to start.

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

/// All of a server's settings. Empty strings in a file stand for `None`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Where gRPC is served; port 0 takes a free one.
    #[serde(deserialize_with = "listen_address::deserialize")]
    pub listen: SocketAddr,
    /// A Unix domain socket that serves the same beside it.
    #[serde(with = "unset")]
    pub unix_socket: Option<PathBuf>,
    /// Where scenes and built fields are kept; `None`: the user's data folder.
    #[serde(with = "unset")]
    pub data_dir: Option<PathBuf>,
    /// Bytes of all kept fields; those used longest ago go first.
    pub fields_bytes_max: u64,
    /// The longest that the field of a link may be built.
    #[serde(with = "duration")]
    pub field_build_max: Duration,
    /// Serve a public address without TLS or without keys.
    pub insecure: bool,
    /// Threads and instructions.
    pub runtime: RuntimeSettings,
    /// The log, on stderr.
    pub log: LogSettings,
    /// Connections and messages.
    pub transport: TransportSettings,
    /// What of scenes survives the server.
    pub store: StoreSettings,
    /// Recordings of scenes.
    pub record: RecordSettings,
    /// Other servers with scenes of the same data folder.
    pub cluster: ClusterSettings,
    /// Haptic loops.
    pub sessions: SessionSettings,
    /// What one answer may take.
    pub ticks: TickSettings,
    /// Metrics for Prometheus, the health page and the live view.
    pub metrics: MetricsSettings,
    /// Who may connect, and with what.
    pub access: AccessSettings,
    /// What scenes may hold.
    pub limits: Limits,
}

/// Threads of a server, and what they use.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RuntimeSettings {
    /// Threads that take bytes in and compute ticks, and as many in the background that answer uploads,
    /// deformations, cuts, removals, exports and queries; 0: one for each core.
    pub threads: usize,
    /// The widest instructions that the processor has; `false`: those that every processor has, for the same answers.
    pub wide_instructions: bool,
}

/// The log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LogSettings {
    /// How a line looks.
    pub format: LogFormat,
    /// What is logged, as `info` or `palpate=debug,info`; `RUST_LOG` goes before it.
    pub filter: String,
    /// A collector that is told of each call, OTLP over gRPC; `None`: nobody is. Needs the feature `otlp`.
    #[serde(with = "unset")]
    pub otlp_endpoint: Option<String>,
}

/// How a log line looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// Text on a terminal, JSON otherwise.
    Auto,
    /// For people.
    Text,
    /// One object a line.
    Json,
}

/// Connections and messages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TransportSettings {
    /// Connections at a time. Further ones take the place of one that has made no call, or are closed at once.
    pub connections_max: usize,
    /// The same of one IP address.
    pub connections_per_address_max: usize,
    /// Streams of one connection; further ones wait in the client.
    pub streams_per_connection_max: u32,
    /// HTTP/2 receive window of a stream: what a client can have sent before it was read. After a stall all of it
    /// comes before the first fresh tick.
    pub stream_window_bytes: u32,
    /// And of a connection. Below 16 MiB a server that was stopped for seconds ends honest streams of small
    /// messages, because it meets too many data frames at once.
    pub connection_window_bytes: u32,
    /// How long a new connection may take until its TLS handshake and HTTP/2 preface are there, and each request until
    /// its headers are.
    #[serde(with = "duration")]
    pub preface_max: Duration,
    /// A connection without a call that was let in is closed after this.
    #[serde(with = "duration")]
    pub first_call_max: Duration,
    /// A connection whose client takes nothing of an answer for this long is closed.
    #[serde(with = "duration")]
    pub unread_max: Duration,
    /// Bytes of large answers that one key may have on their way; its further calls wait.
    pub answer_bytes_per_key: usize,
    /// How often a peer is asked whether it is there.
    #[serde(with = "duration")]
    pub ping_interval: Duration,
    /// A peer that does not answer a ping in this time is gone.
    #[serde(with = "duration")]
    pub ping_answer_max: Duration,
    /// Metadata of one request.
    pub headers_bytes_max: u32,
    /// One message of a Track stream.
    pub track_message_bytes_max: usize,
    /// One message of any other HapticService call: a distance query is by far the largest.
    pub query_message_bytes_max: usize,
    /// One message of SceneService: a chunk of an upload.
    pub control_message_bytes_max: usize,
    /// An upload that pauses for longer is given up.
    #[serde(with = "duration")]
    pub upload_pause_max: Duration,
    /// How long open streams may take to end after the server was told to.
    #[serde(with = "duration")]
    pub drain_max: Duration,
}

/// Scenes on disk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StoreSettings {
    /// Scenes are kept under the data folder, which is this server's alone then, unless whoever makes one wants it not to be.
    pub scenes: bool,
    /// `s3://BUCKET/PREFIX`, `gs://BUCKET/PREFIX` or `az://CONTAINER/PREFIX`: scenes are kept there and not under the data
    /// folder, by the endpoint, region, account and credentials of the variables `AWS_*`, `GOOGLE_*` or `AZURE_*`; `None`: in
    /// the folder. Needs the feature `s3`, `gcs` or `azure`, and `cluster.shared`.
    #[serde(with = "unset")]
    pub url: Option<String>,
    /// How long one small request to the object store may take; what has failed is tried three times.
    #[serde(with = "duration")]
    pub request_max: Duration,
    /// Plain HTTP also to an object store on another machine.
    pub allow_http: bool,
    /// How often the newest positions of tissues that were deformed are kept.
    #[serde(with = "duration")]
    pub positions_interval: Duration,
    /// A new snapshot of a scene is written when its journal has so many bytes, and four times those of the last one.
    pub snapshot_bytes: u64,
    /// And when the last one is so old and anything has changed.
    #[serde(with = "duration")]
    pub snapshot_interval: Duration,
}

/// Recordings of scenes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RecordSettings {
    /// Each scene is recorded into a file here, which `palpate replay` reads; `None`: none is.
    #[serde(with = "unset")]
    pub dir: Option<PathBuf>,
    /// A file ends at this size; the scene goes on without.
    pub bytes_max: u64,
}

/// Servers that share a data folder or a bucket.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ClusterSettings {
    /// The data folder's scenes are shared with other servers: each scene is one server's at a time.
    pub shared: bool,
    /// Where clients find this server, as other servers tell them; `None`: the address that it listens at.
    #[serde(with = "unset")]
    pub address: Option<String>,
    /// A server that has given no sign of life for this long has lost its scenes to whoever is asked for them.
    #[serde(with = "duration")]
    pub lease: Duration,
}

/// Haptic loops.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SessionSettings {
    /// Sessions at a time, those that wait for their client to come back included.
    pub count_max: usize,
    /// A session without a pose for this long is stale: 20 ticks at 1 kHz.
    #[serde(with = "duration")]
    pub stale_after: Duration,
    /// How long a session whose stream broke off waits for its client.
    #[serde(with = "duration")]
    pub grace: Duration,
    /// A tick that took the server longer, from its bytes to its answer, counts as missed.
    #[serde(with = "duration")]
    pub objective: Duration,
}

/// What one answer may take.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TickSettings {
    /// A tick that takes longer answers with what it has, and the next one goes on. Clients can only ask for less.
    #[serde(with = "duration")]
    pub time_max: Duration,
    /// The share of the threads' time that the ticks of one key may take while other keys have streams too, above 0; 1:
    /// all of it.
    pub key_share: f64,
}

/// Metrics, the health page and the live view, over plain HTTP.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MetricsSettings {
    /// Where they are served; `None`: nowhere.
    #[serde(
        serialize_with = "unset::serialize",
        deserialize_with = "listen_address::deserialize_unset"
    )]
    pub listen: Option<SocketAddr>,
    /// The built page of the live view (`clients/web`); `None`: it is not served.
    #[serde(with = "unset")]
    pub viewer_dir: Option<PathBuf>,
    /// A page of this other origin may call the live view too; `None`: only pages of this server.
    #[serde(with = "unset")]
    pub cors_origin: Option<String>,
}

/// Who may connect, and with what.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AccessSettings {
    /// API keys, their roles and quotas; `None`: everybody may do everything.
    #[serde(with = "unset")]
    pub keys_file: Option<PathBuf>,
    /// The server's certificate chain, PEM; `None`: no TLS.
    #[serde(with = "unset")]
    pub certificate_file: Option<PathBuf>,
    /// Its private key, PEM.
    #[serde(with = "unset")]
    pub private_key_file: Option<PathBuf>,
    /// Clients must show a certificate that one of these signed, PEM.
    #[serde(with = "unset")]
    pub client_ca_file: Option<PathBuf>,
    /// How often these files are read and compared. SIGHUP does so at once.
    #[serde(with = "duration")]
    pub reload_interval: Duration,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            // Not 0.0.0.0: a server without keys is for this machine only.
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
            // What fits into the windows has to be read first after a stall. A server that was stopped for 4 s with 8
            // streams answers freshly after 50 to 67 ms; with 256 KiB after 61 to 113.
            stream_window_bytes: 64 << 10,
            connection_window_bytes: 16 << 20,
            preface_max: Duration::from_secs(5),
            first_call_max: Duration::from_secs(10),
            unread_max: Duration::from_secs(30),
            // Twelve of the largest queries at a time.
            answer_bytes_per_key: 64 << 20,
            ping_interval: Duration::from_secs(10),
            ping_answer_max: Duration::from_secs(5),
            headers_bytes_max: 8 << 10,
            track_message_bytes_max: 64 << 10,
            query_message_bytes_max: 2 << 20,
            // A chunk of a mebibyte, and the fields around it.
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
        // The quarter that is left is what keeps others from waiting for longer than a window.
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
