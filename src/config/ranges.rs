//! Ranges of settings, and dependencies between them.

use std::time::Duration;

use tracing_subscriber::EnvFilter;

use super::{Config, ConfigError};

/// Bounds of an HTTP/2 window.
const WINDOW_BYTES: [u64; 2] = [65_535, (1 << 31) - 1];
/// Bounds of a message limit: below the minimum honest clients fail; above the maximum one message is a burden.
const MESSAGE_BYTES: [u64; 2] = [1 << 10, 64 << 20];
/// Minimum share of a key: with less it would have a tick in a few windows only.
const KEY_SHARE_MIN: f64 = 0.05;
const DAY: Duration = Duration::from_secs(86_400);
const MOMENT: Duration = Duration::from_micros(100);

impl Config {
    /// Checks that a server can start with these settings.
    ///
    /// # Errors
    /// The first setting that is out of range or lacks another setting.
    pub fn check(&self) -> Result<(), ConfigError> {
        for (key, got, [min, max]) in self.counts() {
            if !(min..=max).contains(&got) {
                let expected = format!("a number from {min} to {max}");
                return Err(ConfigError::Range { key, got: got.to_string(), expected });
            }
        }
        for (key, got, min) in self.durations() {
            if !(min..=DAY).contains(&got) {
                let expected = format!("a duration from {min:?} to {DAY:?}");
                return Err(ConfigError::Range { key, got: format!("{got:?}"), expected });
            }
        }
        let share = self.ticks.key_share;
        if !(KEY_SHARE_MIN..=1.0).contains(&share) {
            let expected = format!("a number from {KEY_SHARE_MIN} to 1");
            let (key, got) = ("ticks.key_share", share.to_string());
            return Err(ConfigError::Range { key, got, expected });
        }
        if EnvFilter::try_new(&self.log.filter).is_err() {
            let (key, got) = ("log.filter", format!("{:?}", self.log.filter));
            let expected = "a filter as \"info\" or \"palpate=debug,info\"".to_owned();
            return Err(ConfigError::Range { key, got, expected });
        }
        if self.cluster.shared && !self.store.scenes {
            return Err(ConfigError::Needs { key: "cluster.shared", needs: "store.scenes" });
        }
        if self.unix_socket.is_some() && cfg!(not(unix)) {
            let what = "Unix domain sockets that a server listens on";
            return Err(ConfigError::NotHere { key: "unix_socket", what });
        }
        self.check_store_url()?;
        self.check_otlp()?;
        self.check_viewer()?;
        self.check_access()
    }

    fn counts(&self) -> impl Iterator<Item = (&'static str, u64, [u64; 2])> {
        let (t, l) = (&self.transport, &self.limits);
        [
            ("fields_bytes_max", self.fields_bytes_max, [1 << 20, 1 << 50]),
            ("runtime.threads", self.runtime.threads as u64, [0, 1024]),
            ("transport.connections_max", t.connections_max as u64, [1, 1 << 20]),
            (
                "transport.connections_per_address_max",
                t.connections_per_address_max as u64,
                [1, 1 << 20],
            ),
            ("transport.answer_bytes_per_key", t.answer_bytes_per_key as u64, [1 << 20, 1 << 40]),
            (
                "transport.streams_per_connection_max",
                t.streams_per_connection_max.into(),
                [1, 1 << 16],
            ),
            ("transport.stream_window_bytes", t.stream_window_bytes.into(), WINDOW_BYTES),
            ("transport.connection_window_bytes", t.connection_window_bytes.into(), WINDOW_BYTES),
            ("transport.headers_bytes_max", t.headers_bytes_max.into(), [1 << 10, 1 << 20]),
            ("transport.track_message_bytes_max", t.track_message_bytes_max as u64, MESSAGE_BYTES),
            ("transport.query_message_bytes_max", t.query_message_bytes_max as u64, MESSAGE_BYTES),
            (
                "transport.control_message_bytes_max",
                t.control_message_bytes_max as u64,
                MESSAGE_BYTES,
            ),
            ("store.snapshot_bytes", self.store.snapshot_bytes, [1 << 10, 1 << 50]),
            ("record.bytes_max", self.record.bytes_max, [1 << 10, 1 << 50]),
            ("sessions.count_max", self.sessions.count_max as u64, [1, 1 << 20]),
            ("limits.scenes", l.scenes as u64, [1, 1 << 16]),
            ("limits.tissues_per_scene", l.tissues_per_scene as u64, [1, 1 << 16]),
            ("limits.tools_per_scene", l.tools_per_scene as u64, [1, 1 << 16]),
            ("limits.links_per_tool", l.links_per_tool as u64, [1, 64]),
            ("limits.probes_per_tool", l.probes_per_tool as u64, [0, 1 << 10]),
            ("limits.vertices_per_mesh", l.vertices_per_mesh.into(), [3, u32::MAX as u64 / 4]),
            ("limits.triangles_per_mesh", l.triangles_per_mesh.into(), [1, u32::MAX as u64 / 4]),
            ("limits.bytes_per_file", l.bytes_per_file, [1, 16 << 30]),
            ("limits.tools_per_stream", l.tools_per_stream as u64, [1, 64]),
            ("limits.memory_bytes", l.memory_bytes, [0, u64::MAX]),
        ]
        .into_iter()
    }

    fn durations(&self) -> impl Iterator<Item = (&'static str, Duration, Duration)> {
        let (t, s) = (&self.transport, &self.sessions);
        let second = Duration::from_secs(1);
        [
            ("field_build_max", self.field_build_max, MOMENT),
            ("transport.preface_max", t.preface_max, 100 * MOMENT),
            ("transport.first_call_max", t.first_call_max, 100 * MOMENT),
            ("transport.unread_max", t.unread_max, 100 * MOMENT),
            ("transport.ping_interval", t.ping_interval, second),
            ("transport.ping_answer_max", t.ping_answer_max, second),
            ("transport.upload_pause_max", t.upload_pause_max, 100 * MOMENT),
            ("transport.drain_max", t.drain_max, Duration::ZERO),
            ("store.positions_interval", self.store.positions_interval, 100 * MOMENT),
            ("store.request_max", self.store.request_max, 1_000 * MOMENT),
            ("store.snapshot_interval", self.store.snapshot_interval, second),
            ("cluster.lease", self.cluster.lease, 1_000 * MOMENT),
            ("sessions.stale_after", s.stale_after, 10 * MOMENT),
            ("sessions.grace", s.grace, Duration::ZERO),
            ("sessions.objective", s.objective, MOMENT),
            ("ticks.time_max", self.ticks.time_max, MOMENT),
            ("access.reload_interval", self.access.reload_interval, 100 * MOMENT),
        ]
        .into_iter()
    }

    fn check_store_url(&self) -> Result<(), ConfigError> {
        let Some(url) = &self.store.url else { return Ok(()) };
        let key = "store.url";
        let (scheme, rest) = url.split_once("://").unwrap_or_default();
        let (is_built, feature) = match scheme {
            "s3" => (cfg!(feature = "s3"), "s3"),
            "gs" => (cfg!(feature = "gcs"), "gcs"),
            "az" => (cfg!(feature = "azure"), "azure"),
            _ => (true, ""),
        };
        if !is_built {
            return Err(ConfigError::NotBuilt { key, feature });
        }
        if feature.is_empty() || rest.split('/').next().is_none_or(str::is_empty) {
            let expected =
                "an address as s3://BUCKET/PREFIX, gs://BUCKET/PREFIX or az://CONTAINER/PREFIX"
                    .to_owned();
            return Err(ConfigError::Range { key, got: format!("{url:?}"), expected });
        }
        // Buckets have no locks: only the claim on a scene makes it a server's own.
        if !self.cluster.shared {
            return Err(ConfigError::Needs { key, needs: "cluster.shared" });
        }
        Ok(())
    }

    fn check_otlp(&self) -> Result<(), ConfigError> {
        let Some(endpoint) = &self.log.otlp_endpoint else { return Ok(()) };
        let key = "log.otlp_endpoint";
        if !cfg!(feature = "otlp") {
            return Err(ConfigError::NotBuilt { key, feature: "otlp" });
        }
        let is_http = |uri: http::Uri| uri.scheme_str() == Some("http") && uri.port_u16().is_some();
        if !endpoint.parse().is_ok_and(is_http) {
            let expected = "an address as http://127.0.0.1:4317".to_owned();
            return Err(ConfigError::Range { key, got: format!("{endpoint:?}"), expected });
        }
        Ok(())
    }

    fn check_viewer(&self) -> Result<(), ConfigError> {
        let metrics = &self.metrics;
        let needs = |key| ConfigError::Needs { key, needs: "metrics.listen" };
        match (metrics.listen, &metrics.viewer_dir, &metrics.cors_origin) {
            (None, Some(_), _) => return Err(needs("metrics.viewer_dir")),
            (None, _, Some(_)) => return Err(needs("metrics.cors_origin")),
            _ => {}
        }
        let Some(origin) = &metrics.cors_origin else { return Ok(()) };
        // An origin as browsers send it: no path, and no slash at the end.
        let is_origin = |uri: http::Uri| {
            let scheme = uri.scheme_str().is_some_and(|s| ["http", "https"].contains(&s));
            scheme && uri.path() == "/" && !origin.ends_with('/')
        };
        if !origin.parse().is_ok_and(is_origin) {
            let expected = "an origin as https://viewer.example:8443".to_owned();
            let (key, got) = ("metrics.cors_origin", format!("{origin:?}"));
            return Err(ConfigError::Range { key, got, expected });
        }
        Ok(())
    }

    fn check_access(&self) -> Result<(), ConfigError> {
        let access = &self.access;
        let (certificate, key) = (&access.certificate_file, &access.private_key_file);
        let needs = |key, needs| Err(ConfigError::Needs { key, needs });
        match (certificate, key, &access.client_ca_file) {
            (Some(_), None, _) => needs("access.certificate_file", "access.private_key_file")?,
            (None, Some(_), _) => needs("access.private_key_file", "access.certificate_file")?,
            (None, None, Some(_)) => needs("access.client_ca_file", "access.certificate_file")?,
            _ => {}
        }
        let known = access.keys_file.is_some() || access.client_ca_file.is_some();
        let missing = match (certificate, known) {
            (Some(_), true) => return Ok(()),
            (Some(_), false) => "access.keys_file or access.client_ca_file",
            (None, true) => "TLS (access.certificate_file)",
            (None, false) => "TLS and keys (access.certificate_file, access.keys_file)",
        };
        // A Unix socket needs neither: its folder and mode control access.
        let public = !self.listen.ip().is_loopback();
        let refused = ConfigError::Public { listen: self.listen, missing };
        if public && !self.insecure { Err(refused) } else { Ok(()) }
    }
}
