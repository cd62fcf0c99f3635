//! Measured figures and their sources.

use serde::Serialize;

/// A measured figure, with a quotation of its source.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Figure {
    /// Name of the figure.
    pub what: &'static str,
    /// Value in `unit`.
    pub value: f64,
    /// Unit of `value`.
    pub unit: &'static str,
    /// Path of the source, a file of the project.
    pub source: &'static str,
    /// Text in the source; a test checks that it is still there.
    pub quote: &'static str,
}

/// Processor time of the server for a tick, beyond the engine.
pub const TRANSPORT_US: Figure = Figure {
    what: "gRPC's share of a tick",
    value: 40.0,
    unit: "us",
    source: "deploy/operations/sizing.md",
    quote: "gRPC takes 25 to 40 us of the server more",
};
/// Maximum share of a core's time for ticks, before they wait for each other.
pub const USED_MAX: Figure = Figure {
    what: "how much of a core's time to plan with",
    value: 0.5,
    unit: "",
    source: "deploy/operations/sizing.md",
    quote: "at half of what that adds up to",
};
/// Time of a writer's core: 0.38 ms for the 70 k triangles of the liver.
pub const UPDATE_NS: Figure = Figure {
    what: "bringing a tissue up to date, for each triangle that moved",
    value: 5.4,
    unit: "ns",
    source: "benches/RESULTS.md",
    quote: "0.38 ms on an Intel Xeon",
};
/// Memory of a tissue that deforms, including its spare copy and index.
pub const TRIANGLE_BYTES: Figure = Figure {
    what: "memory of a triangle of a tissue that deforms",
    value: 253.0,
    unit: "bytes",
    source: "benches/RESULTS.md",
    quote: "25.3 MB deforming",
};
/// Memory that a key is charged for each link of a session; more than the measured use.
pub const LINK_MB: Figure = Figure {
    what: "memory of a loop, for each link, at most",
    value: 2.0,
    unit: "MB",
    source: "deploy/operations/limits.md",
    quote: "two megabytes for each link of a session",
};
/// Memory of a server without scenes.
pub const SERVER_MB: Figure = Figure {
    what: "memory of a server without scenes",
    value: 17.0,
    unit: "MB",
    source: "deploy/RESILIENCE.md",
    quote: "memory grew from 17.0",
};
/// Share of a machine's memory that a server takes.
pub const MEMORY_SHARE: Figure = Figure {
    what: "share of a machine's memory that a server takes (limits.memory_bytes)",
    value: 0.8,
    unit: "",
    source: "deploy/operations/limits.md",
    quote: "four fifths of what the machine or the control",
};
/// Size of positions in a journal.
pub const POSITION_BYTES: Figure = Figure {
    what: "newest positions in a journal, for each vertex and second",
    value: 12.0,
    unit: "bytes",
    source: "deploy/operations/durable-scenes.md",
    quote: "`store.positions_interval` (1 s), 12 bytes a vertex",
};

/// Gap of a haptic loop in half of the moves; a client that cuts waits for less.
pub const MOVE_MS: Figure = Figure {
    what: "gap of a scene that is moved, on one machine",
    value: 170.0,
    unit: "ms",
    source: "deploy/operations/several-servers.md",
    quote: "A loop has no answer for 170",
};
/// Time to read a snapshot and a journal, with the index and the fields of the tools from the cache.
pub const RECOVER_MS: Figure = Figure {
    what: "reading a scene from the store, on one machine",
    value: 320.0,
    unit: "ms",
    source: "deploy/RESILIENCE.md",
    quote: "read in 0.32 s at p50, 0.82 s at p99",
};

/// All figures, in the order in which they are printed.
pub const FIGURES: [Figure; 10] = [
    TRANSPORT_US,
    USED_MAX,
    UPDATE_NS,
    TRIANGLE_BYTES,
    LINK_MB,
    SERVER_MB,
    MEMORY_SHARE,
    POSITION_BYTES,
    MOVE_MS,
    RECOVER_MS,
];
