//! Metrics in Prometheus's text format.

use std::{
    fmt::{self, Write},
    sync::{Arc, atomic::Ordering::Relaxed},
};

use crate::os::process;
use crate::service::clock::now_ns;
use crate::service::host::{
    durable::last_snapshot::LastSnapshot, scene_host::SceneHost, scene_registry::SceneRegistry,
};
use crate::service::loops::sessions::SessionCounts;
use crate::service::metrics::{
    CLOSE_REASONS, Metrics, REFUSAL_REASONS, RENDER_STATES, STAGES,
    histogram::{BOUNDS_US, Histogram},
};

/// Maximum number of streams with series of their own; further ones count in the totals only.
// Prometheus keeps every series that it has ever seen: a server with a thousand short streams must not produce a
// thousand series.
const STREAMS_SHOWN_MAX: usize = 64;

/// Returns all metrics.
pub fn exposition(registry: &SceneRegistry, counted: &SessionCounts) -> String {
    let mut text = ExpositionText::default();
    let (metrics, hosts) = (registry.metrics(), registry.all());
    ticks(&mut text, registry);
    streams(&mut text, registry);
    writer(&mut text, metrics, &hosts);
    store(&mut text, registry, &hosts);
    record(&mut text, metrics);
    cluster(&mut text, registry, &hosts);
    sessions(&mut text, counted);
    tissues(&mut text, &hosts);
    connections(&mut text, metrics);
    server(&mut text, &hosts);
    text.0
}

/// Text of metric families, one after the other.
// Written by hand: the format is lines of text, and a registry of metrics would store them twice.
#[derive(Default)]
struct ExpositionText(String);

impl ExpositionText {
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        self.line(format_args!("# HELP {name} {help}"));
        self.line(format_args!("# TYPE {name} {kind}"));
    }

    fn series(&mut self, name: &str, labels: &[(&str, &str)], value: impl fmt::Display) {
        let labels = labels.iter().map(|(k, v)| format!("{k}=\"{}\"", escaped(v)));
        let labels = labels.collect::<Vec<_>>().join(",");
        match &*labels {
            "" => self.line(format_args!("{name} {value}")),
            _ => self.line(format_args!("{name}{{{labels}}} {value}")),
        }
    }

    fn one(&mut self, name: &str, kind: &str, help: &str, value: impl fmt::Display) {
        self.family(name, kind, help);
        self.series(name, &[], value);
    }

    fn histogram(&mut self, name: &str, label: Option<(&str, &str)>, of: &Histogram) {
        let cumulative = of.cumulative();
        for (bound, n) in BOUNDS_US.iter().zip(cumulative) {
            let bound = (*bound as f64 / 1e6).to_string();
            self.series(&format!("{name}_bucket"), &with_bound(label, &bound), n);
        }
        let all = cumulative[BOUNDS_US.len()];
        self.series(&format!("{name}_bucket"), &with_bound(label, "+Inf"), all);
        let labels: Vec<_> = label.into_iter().collect();
        self.series(&format!("{name}_sum"), &labels, of.sum_s());
        self.series(&format!("{name}_count"), &labels, all);
    }

    fn line(&mut self, line: fmt::Arguments<'_>) {
        writeln!(self.0, "{line}").expect("a String takes all");
    }
}

fn with_bound<'a>(label: Option<(&'a str, &'a str)>, bound: &'a str) -> Vec<(&'a str, &'a str)> {
    label.into_iter().chain([("le", bound)]).collect()
}

fn escaped(label: &str) -> String {
    label.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

fn ticks(text: &mut ExpositionText, registry: &SceneRegistry) {
    let ticks = registry.streams().ticks();
    let counts = [
        ("palpate_ticks_answered_total", "Ticks with an answer of their own.", &ticks.answered),
        ("palpate_ticks_coalesced_total", "Ticks coalesced into a newer one.", &ticks.coalesced),
        ("palpate_ticks_refused_total", "Ticks that were refused.", &ticks.refused),
        ("palpate_ticks_panicked_total", "Ticks in which the engine panicked.", &ticks.panicked),
        ("palpate_ticks_degraded_total", "Ticks that a deadline cut short.", &ticks.degraded),
        ("palpate_ticks_missed_total", "Ticks slower than the objective.", &ticks.missed),
        (
            "palpate_ticks_missed_by_machine_total",
            "Missed ticks whose thread had no processor for as long as they were late.",
            &ticks.missed_by_machine,
        ),
    ];
    for (name, help, count) in counts {
        text.one(name, "counter", help, count.get());
    }
    let name = "palpate_renderings_total";
    text.family(name, "counter", "Renderings of tools by the state of their proxy.");
    for (state, count) in RENDER_STATES.iter().zip(&ticks.renderings) {
        text.series(name, &[("state", state)], count.get());
    }
    let objective = registry.metrics().objective.as_secs_f64();
    text.one("palpate_tick_objective_seconds", "gauge", "Slower ticks are missed.", objective);
    text.family(
        "palpate_tick_seconds",
        "histogram",
        "From a tick's bytes to its answer, by stage.",
    );
    for (stage, times) in STAGES.iter().zip(&ticks.stages) {
        text.histogram("palpate_tick_seconds", Some(("stage", stage)), times);
    }
}

fn streams(text: &mut ExpositionText, registry: &SceneRegistry) {
    let streams = registry.streams().loops();
    text.one("palpate_streams", "gauge", "Haptic loops, stale ones included.", streams.len());
    text.one("palpate_watchers", "gauge", "Live views.", registry.streams().n_watchers());
    let builds = registry.metrics().field_builds.load(Relaxed);
    text.one("palpate_field_builds", "gauge", "Fields of links that are built now.", builds);
    let name = "palpate_stream_missed_ratio";
    text.family(name, "gauge", "Ticks of one loop that were slower than the objective.");
    for stream in streams.iter().take(STREAMS_SHOWN_MAX) {
        let number = stream.number.to_string();
        let labels = [("scene", &*stream.scene), ("stream", &number)];
        text.series(name, &labels, stream.ticks.missed_ratio());
    }
    let name = "palpate_stream_ticks_total";
    text.family(name, "counter", "Answered ticks of one loop.");
    for stream in streams.iter().take(STREAMS_SHOWN_MAX) {
        let number = stream.number.to_string();
        let labels = [("scene", &*stream.scene), ("stream", &number)];
        text.series(name, &labels, stream.ticks.answered.get());
    }
}

fn sessions(text: &mut ExpositionText, counted: &SessionCounts) {
    let SessionCounts { stale, waiting, resumed, expired } = counted;
    text.one("palpate_sessions_stale", "gauge", "Haptic loops without a pose for too long.", stale);
    let help = "Haptic loops whose stream broke off and whose client may come back.";
    text.one("palpate_sessions_waiting", "gauge", help, waiting);
    let help = "Haptic loops that a new stream went on with.";
    text.one("palpate_sessions_resumed_total", "counter", help, resumed);
    let help = "Haptic loops whose client did not come back.";
    text.one("palpate_sessions_expired_total", "counter", help, expired);
}

fn writer(text: &mut ExpositionText, metrics: &Metrics, hosts: &[Arc<SceneHost>]) {
    let name = "palpate_writer_lag_seconds";
    text.family(name, "histogram", "From handing a deformation or cut in to its start.");
    text.histogram(name, None, &metrics.writer_wait);
    let name = "palpate_writer_update_seconds";
    text.family(name, "histogram", "From the start of a deformation or cut to its publication.");
    text.histogram(name, None, &metrics.writer_update);
    let panics = metrics.writer_panics.load(Relaxed);
    text.one("palpate_writer_panics_total", "counter", "Writes that panicked.", panics);
    text.family("palpate_writer_jobs", "gauge", "Deformations and cuts that wait or run.");
    for host in hosts {
        text.series("palpate_writer_jobs", &[("scene", host.scene.id())], host.writer.n_jobs());
    }
}

fn store(text: &mut ExpositionText, registry: &SceneRegistry, hosts: &[Arc<SceneHost>]) {
    let (metrics, now) = (&registry.metrics().store, now_ns());
    let name = "palpate_journal_commit_seconds";
    text.family(name, "histogram", "From writing changes of a scene to having them on the disk.");
    text.histogram(name, None, &metrics.commit);
    let seconds = |ns: u64| ns as f64 / 1e9;
    let lag = registry.keeping().map_or(0, |_| metrics.lag_ns(now));
    let help = "By how much the newest positions are late on the disk.";
    text.one("palpate_journal_lag_seconds", "gauge", help, seconds(lag));
    let failures = metrics.failures.load(Relaxed);
    let help = "Writes of journals that failed; what they had was refused.";
    text.one("palpate_journal_failures_total", "counter", help, failures);
    let help = "Snapshots that could not be written.";
    let failures = metrics.snapshot_failures.load(Relaxed);
    text.one("palpate_snapshot_failures_total", "counter", help, failures);
    type Value = fn(LastSnapshot, u64) -> f64;
    let families: [(&str, &str, Value); 3] = [
        ("palpate_journal_bytes", "Of a scene's journals since its last snapshot.", |last, _| {
            last.journal_bytes as f64
        }),
        ("palpate_snapshot_bytes", "Of a scene's last snapshot.", |last, _| last.bytes as f64),
        ("palpate_snapshot_age_seconds", "Of a scene's last snapshot.", |last, now| {
            last.age(now).as_secs_f64()
        }),
    ];
    for (name, help, value) in families {
        text.family(name, "gauge", help);
        for (host, journal) in hosts.iter().filter_map(|h| Some((h, h.journal()?))) {
            text.series(name, &[("scene", host.scene.id())], value(journal.last_snapshot(), now));
        }
    }
    let help = "Of reading all scenes at the start.";
    let took = seconds(metrics.recovery_ns.load(Relaxed));
    text.one("palpate_recovery_seconds", "gauge", help, took);
    let help = "Damage found on the disk at the start.";
    text.one("palpate_store_damaged", "gauge", help, metrics.damaged.load(Relaxed));
    let help = "Scenes on the disk that cannot be read and are refused.";
    text.one("palpate_scenes_unreadable", "gauge", help, registry.entries().n_unreadable());
    let help =
        "Scenes on the disk that could not be loaded and may be whole; tried again when asked for.";
    text.one("palpate_scenes_not_loaded", "gauge", help, registry.entries().n_not_loaded());
}

fn record(text: &mut ExpositionText, metrics: &Metrics) {
    let record = &metrics.record;
    let counts = [
        ("palpate_record_bytes_total", "Written to recordings.", &*record.bytes),
        ("palpate_record_ticks_total", "Ticks that are in a recording.", &record.ticks),
        (
            "palpate_record_dropped_ticks_total",
            "Ticks that recordings lack, as the disk did not keep up.",
            &*record.dropped_ticks,
        ),
        (
            "palpate_record_ended_early_total",
            "Recordings that ended before their scene did.",
            &record.ended_early,
        ),
    ];
    for (name, help, count) in counts {
        text.one(name, "counter", help, count.load(Relaxed));
    }
}

fn cluster(text: &mut ExpositionText, registry: &SceneRegistry, hosts: &[Arc<SceneHost>]) {
    let metrics = &registry.metrics().cluster;
    let leases = hosts.iter().filter(|host| host.lease().is_some()).count();
    let help = "Scenes that this server owns among those that share its folder.";
    text.one("palpate_cluster_leases", "gauge", help, leases);
    let families = [
        (
            "palpate_cluster_renewals_failed_total",
            "Renewals of this server's leases that failed.",
            &metrics.renewals_failed,
        ),
        (
            "palpate_cluster_fenced_total",
            "Scenes that another server took: this one was too late, or an admin said so.",
            &metrics.fenced,
        ),
        ("palpate_cluster_taken_total", "Scenes that this server took.", &metrics.taken),
        ("palpate_cluster_given_total", "Scenes given up in good order.", &metrics.given),
    ];
    for (name, help, value) in families {
        text.one(name, "counter", help, value.load(Relaxed));
    }
}

fn tissues(text: &mut ExpositionText, hosts: &[Arc<SceneHost>]) {
    type Value = fn(&crate::scene::Revision) -> f64;
    let families: [(&str, &str, &str, Value); 5] = [
        ("palpate_deformations_total", "counter", "Deformations of a tissue.", |r| {
            r.geometry_revision as f64
        }),
        ("palpate_cuts_total", "counter", "Cuts of a tissue.", |r| r.topology_revision as f64),
        ("palpate_tissue_triangles", "gauge", "Triangles of a tissue.", |r| {
            r.surface.mesh().n_triangles() as f64
        }),
        (
            "palpate_tissue_index_wear",
            "gauge",
            "Work of a query against that after the last build; above 2 the index is rebuilt.",
            |r| r.surface.wear(),
        ),
        ("palpate_tissue_published_seconds", "gauge", "Server time of the newest revision.", |r| {
            r.published_ns as f64 / 1e9
        }),
    ];
    for (name, kind, help, value) in families {
        text.family(name, kind, help);
        for host in hosts {
            for tissue in host.scene.tissues().iter() {
                let labels = [("scene", host.scene.id()), ("tissue", tissue.name())];
                text.series(name, &labels, value(&tissue.current()));
            }
        }
    }
}

fn connections(text: &mut ExpositionText, metrics: &Metrics) {
    let open = metrics.connections.load(Relaxed);
    text.one("palpate_connections", "gauge", "Connections that speak HTTP/2.", open);
    let name = "palpate_connections_refused_total";
    text.family(name, "counter", "Connections that were not let in, by reason.");
    for (reason, count) in REFUSAL_REASONS.iter().zip(&metrics.connections_refused) {
        text.series(name, &[("reason", reason)], count.load(Relaxed));
    }
    let name = "palpate_connections_closed_total";
    text.family(name, "counter", "Connections that were let in and then closed, by reason.");
    for (reason, count) in CLOSE_REASONS.iter().zip(&metrics.connections_closed) {
        text.series(name, &[("reason", reason)], count.load(Relaxed));
    }
    let name = "palpate_calls_total";
    text.family(name, "counter", "Calls by method and code; a stream counts when it begins.");
    for ((method, code), n) in metrics.calls() {
        text.series(name, &[("method", method), ("code", code)], n);
    }
}

fn server(text: &mut ExpositionText, hosts: &[Arc<SceneHost>]) {
    text.one("palpate_scenes", "gauge", "Scenes.", hosts.len());
    let quarantined = hosts.iter().filter(|h| h.is_quarantined()).count();
    let help = "Scenes whose writer failed too often.";
    text.one("palpate_scenes_quarantined", "gauge", help, quarantined);
    if let Some(bytes) = process::resident_bytes() {
        text.one("palpate_resident_bytes", "gauge", "Memory that is resident.", bytes);
    }
    if let Some(n) = process::open_descriptors() {
        text.one("palpate_open_descriptors", "gauge", "Open file descriptors.", n);
    }
    let name = "palpate_build_info";
    text.family(name, "gauge", "Which version runs.");
    text.series(name, &[("version", env!("CARGO_PKG_VERSION"))], 1);
}
