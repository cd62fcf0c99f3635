//! Limits of a server. Every count that a client can choose has its limit here.

use serde::{Deserialize, Serialize};

pub use crate::geometry::tolerance::FIELD_TOLERANCE_SHARE_MIN;

/// Limits on client requests; checked before memory is allocated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Maximum scenes of a server.
    pub scenes: usize,
    /// Maximum tissues of a scene.
    pub tissues_per_scene: usize,
    /// Maximum tools of a scene.
    pub tools_per_scene: usize,
    /// Maximum links of a tool.
    pub links_per_tool: usize,
    /// Maximum probes of a tool.
    pub probes_per_tool: usize,
    /// Maximum vertices of a mesh, those added by cuts included.
    pub vertices_per_mesh: u32,
    /// Maximum triangles of a mesh, ids used up by cuts included.
    pub triangles_per_mesh: u32,
    /// Maximum bytes of an uploaded file.
    pub bytes_per_file: u64,
    /// Maximum tools of one Track stream.
    pub tools_per_stream: usize,
    /// Memory of the whole server, bytes; 0: four fifths of the memory of the machine, or of its control group.
    pub memory_bytes: u64,
}

/// Maximum points of one distance query.
pub const QUERY_POINTS_MAX: usize = 65_536;
/// Maximum contacts given for one link; the rest are counted.
pub const CONTACTS_MAX: usize = 1_024;
/// Maximum triangle pairs, and pairs of features, given for one link; the rest are counted.
pub const PAIRS_MAX: usize = 1_024;
/// Maximum revisions of one tissue that are held at a time, at 12 bytes a vertex each: 96 bytes a vertex in all.
pub const HELD_MAX: usize = 8;
/// Maximum contacts of tissues with themselves in one answer; the rest are counted.
pub const FEATURE_CONTACTS_MAX: usize = 65_536;
/// Maximum such contacts in one message.
pub const FEATURE_CONTACTS_CHUNK: usize = 4_096;
/// Maximum triangle pairs that one such answer tests. A closed surface of n triangles has 6.5 n pairs of neighbours, so
/// that the largest mesh fits with more than as many again.
pub const CANDIDATE_PAIRS_MAX: usize = 1 << 26;
/// Farthest distance that is searched, metres.
pub const DISTANCE_MAX_M: f64 = 10.0;
/// Maximum length of a tissue's, tool's, link's or probe's name, characters.
pub const NAME_CHARS_MAX: usize = 64;

/// Bytes of a contact on the wire: thirteen `f32` of points and weights, three of the normal, and varints of ids.
const CONTACT_BYTES_MAX: usize = 16 * 4 + 4 * 5;
/// Bytes of a pair on the wire: two points and their weights twice, and varints of ids.
const PAIR_BYTES_MAX: usize = 18 * 4 + 3 * 5 + 1;
/// Bytes of a contact of two features on the wire: eight of time, fifteen `f32`, eight ids and the kind.
const FEATURE_CONTACT_BYTES_MAX: usize = 8 + 15 * 4 + 8 * 5 + 1;
/// Bytes of a pair of features on the wire: nine `f32`, and varints of five ids and the kind.
const FEATURE_PAIR_BYTES_MAX: usize = 9 * 4 + 5 * 5 + 1;
/// Default limit of gRPC clients.
const ANSWER_BYTES_MAX: usize = 4 << 20;
const LINK_BYTES_MAX: usize =
    CONTACTS_MAX * CONTACT_BYTES_MAX + PAIRS_MAX * (PAIR_BYTES_MAX + FEATURE_PAIR_BYTES_MAX);
// Eight links, and the pairs of links with each other.
const _: () = assert!(9 * LINK_BYTES_MAX <= ANSWER_BYTES_MAX);
const _: () = assert!(FEATURE_CONTACTS_CHUNK * FEATURE_CONTACT_BYTES_MAX <= ANSWER_BYTES_MAX);

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            scenes: 64,
            tissues_per_scene: 64,
            tools_per_scene: 16,
            links_per_tool: 8,
            probes_per_tool: 16,
            vertices_per_mesh: 2_000_000,
            triangles_per_mesh: 4_000_000,
            bytes_per_file: 512 << 20,
            tools_per_stream: 8,
            memory_bytes: 0,
        }
    }
}
