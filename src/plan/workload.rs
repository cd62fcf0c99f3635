//! Workload, machines and faults: the parameters of `palpate plan`.

use serde::Serialize;

use super::figure::{MOVE_MS, RECOVER_MS};

/// Scenes and their loops.
#[derive(Clone, Debug, Serialize, clap::Args)]
pub struct Workload {
    /// Scenes that are open at once.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    pub scenes: u64,
    /// Haptic loops that run at once, over all scenes.
    #[arg(long, value_parser = clap::value_parser!(u64).range(0..=10_000_000))]
    pub loops: u64,
    /// Mean time of a tick in the engine, microseconds, as `palpate load` prints it with your meshes; a rendered tick
    /// takes about 1.4 times as long as one without a proxy at the same place.
    #[arg(long, value_name = "US", default_value_t = 324.0, value_parser = positive)]
    pub tick_us: f64,
    /// Ticks of a loop each second.
    #[arg(long, value_name = "HZ", default_value_t = 1000.0, value_parser = positive)]
    pub rate_hz: f64,
    /// Bytes of a tick's answer; many contacts make it larger.
    #[arg(long, value_name = "BYTES", default_value_t = 1600.0, value_parser = positive)]
    pub answer_bytes: f64,
    /// Triangles of a scene's tissues.
    #[arg(long, default_value_t = 70_000, value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    pub triangles: u64,
    /// Deformations of a scene each second.
    #[arg(long, value_name = "HZ", default_value_t = 60.0, value_parser = not_negative)]
    pub deform_hz: f64,
    /// Share of the triangles that a deformation moves, 0 to 1.
    #[arg(long, value_name = "SHARE", default_value_t = 0.1, value_parser = share)]
    pub moved: f64,
    /// Megabytes of the distance fields of a scene's tools; `palpate inspect TOOL --field` reports them.
    #[arg(long, value_name = "MB", default_value_t = 32.0, value_parser = not_negative)]
    pub field_mb: f64,
    /// Links that a loop drives.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=64))]
    pub links: u64,
}

/// A machine, which runs one server.
#[derive(Clone, Debug, Serialize, clap::Args)]
pub struct Machine {
    /// Cores of a machine.
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u64).range(2..=1024))]
    pub cores: u64,
    /// Memory of a machine, GiB.
    #[arg(long, value_name = "GIB", default_value_t = 32.0, value_parser = positive)]
    pub memory_gib: f64,
    /// Network of a machine, each way, Gbit/s.
    #[arg(long, value_name = "GBIT_S", default_value_t = 10.0, value_parser = positive)]
    pub network_gbit: f64,
    /// Machines beyond those that are needed: one is away while it fails or is upgraded.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(0..=10_000))]
    pub spare: u64,
}

/// Faults of simulated machines.
#[derive(Clone, Debug, Serialize, clap::Args)]
#[command(next_help_heading = "With --simulate")]
pub struct Faults {
    /// Mean time for which a scene is open, minutes.
    #[arg(long, value_name = "MINUTES", default_value_t = 45.0, value_parser = positive)]
    pub scene_minutes: f64,
    /// Mean time of a machine between two failures, hours.
    #[arg(long, value_name = "HOURS", default_value_t = 720.0, value_parser = positive)]
    pub mtbf_hours: f64,
    /// Share of the failures in which a server is only cut off from the store, or was stopped and goes on: its clients
    /// still reach it, and it has to find out by itself that its lease ends.
    #[arg(long, value_name = "SHARE", default_value_t = 0.2, value_parser = share)]
    pub cut_off: f64,
    /// Time until a failed machine is replaced, and until an upgraded server serves, seconds.
    #[arg(long, value_name = "S", default_value_t = 120.0, value_parser = positive)]
    pub replace_s: f64,
    /// Time between two rolling upgrades, hours; 0: none.
    #[arg(long, value_name = "HOURS", default_value_t = 168.0, value_parser = not_negative)]
    pub upgrade_hours: f64,
    /// Duration of a lease, seconds; a server sends four heartbeats in that time, for all its scenes.
    #[arg(long, value_name = "S", default_value_t = 3.0, value_parser = positive)]
    pub lease_s: f64,
    /// Share of a lease that is left when an owner that could send no heartbeat stops acknowledging.
    #[arg(long, value_name = "SHARE", default_value_t = 0.125, value_parser = share)]
    pub lease_margin: f64,
    /// Maximum error of a machine's clock over one lease, milliseconds.
    #[arg(long, value_name = "MS", default_value_t = 100.0, value_parser = not_negative)]
    pub clock_error_ms: f64,
    /// Cuts and uploads that a scene acknowledges each second.
    #[arg(long, value_name = "HZ", default_value_t = 1.0, value_parser = not_negative)]
    pub edit_hz: f64,
    /// Time to read one scene from the store, milliseconds; a server reads one after the other.
    #[arg(long, value_name = "MS", default_value_t = RECOVER_MS.value, value_parser = not_negative)]
    pub recover_ms: f64,
    /// Gap of a scene that is moved, milliseconds.
    #[arg(long, value_name = "MS", default_value_t = MOVE_MS.value, value_parser = not_negative)]
    pub move_ms: f64,
    /// Interval at which a client that has lost its server asks again, milliseconds.
    #[arg(long, value_name = "MS", default_value_t = 250.0, value_parser = not_negative)]
    pub retry_ms: f64,
}

fn number(text: &str, is_good: impl Fn(f64) -> bool, expected: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|n: &f64| n.is_finite() && is_good(*n));
    number.ok_or_else(|| format!("expected {expected}"))
}

fn positive(text: &str) -> Result<f64, String> {
    number(text, |n| n > 0.0, "a number above 0")
}

fn not_negative(text: &str) -> Result<f64, String> {
    number(text, |n| n >= 0.0, "a number, 0 or above")
}

fn share(text: &str) -> Result<f64, String> {
    number(text, |n| (0.0..=1.0).contains(&n), "a number from 0 to 1")
}
