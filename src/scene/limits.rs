//! How much a server takes on. Every count that a client can choose has its limit here.

use serde::{Deserialize, Serialize};

pub use crate::geometry::tolerance::FIELD_TOLERANCE_SHARE_MIN;

/// Limits on what clients may ask for; checked before memory is taken.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Scenes of a server.
    pub scenes: usize,
    /// Tissues of a scene.
    pub tissues_per_scene: usize,
    /// Tools of a scene.
    pub tools_per_scene: usize,
    /// Links of a tool.
    pub links_per_tool: usize,
    /// Probes of a tool.
    pub probes_per_tool: usize,
    /// Vertices of a mesh, those added by cuts included.
    pub vertices_per_mesh: u32,
    /// Triangles of a mesh, ids used up by cuts included.
    pub triangles_per_mesh: u32,
    /// Bytes of an uploaded file.
    pub bytes_per_file: u64,
    /// Tools of one Track stream.
    pub tools_per_stream: usize,
    /// Memory of the whole server, bytes; 0: four fifths of what the machine, or its control group, has.
    pub memory_bytes: u64,
}

/// Points of one distance query.
pub const QUERY_POINTS_MAX: usize = 65_536;
/// Contacts given for one link; the rest are counted.
pub const CONTACTS_MAX: usize = 1_024;
/// Triangle pairs given for one link; the rest are counted.
pub const PAIRS_MAX: usize = 1_024;
/// Revisions of one tissue that are held at a time, at 12 bytes a vertex each: 96 bytes a vertex in all.
pub const HELD_MAX: usize = 8;
/// Contacts of tissues with themselves that one answer gives; the rest are counted.
pub const FEATURE_CONTACTS_MAX: usize = 65_536;
/// Of these, in one message.
pub const FEATURE_CONTACTS_CHUNK: usize = 4_096;
/// Triangle pairs that one such answer is looked for in. A closed surface of n triangles has 6.5 n pairs of
/// neighbours, so that the largest mesh fits with more than as many again.
pub const CANDIDATE_PAIRS_MAX: usize = 1 << 26;
/// Farthest distance that is looked for, metres.
pub const DISTANCE_MAX_M: f64 = 10.0;
/// Length of a tissue's, tool's, link's or probe's name, characters.
pub const NAME_CHARS_MAX: usize = 64;

/// A contact on the wire: ten `f32` of points and weights, three of the normal, and varints of ids.
const CONTACT_BYTES_MAX: usize = 13 * 4 + 4 * 5;
/// A pair on the wire: two points and their weights twice, and varints of ids.
const PAIR_BYTES_MAX: usize = 18 * 4 + 3 * 5 + 1;
/// A contact of two features on the wire: eight bytes of time, fifteen `f32`, eight ids and the kind.
const FEATURE_CONTACT_BYTES_MAX: usize = 8 + 15 * 4 + 8 * 5 + 1;
/// What gRPC clients take by default.
const ANSWER_BYTES_MAX: usize = 4 << 20;
const LINK_BYTES_MAX: usize = CONTACTS_MAX * CONTACT_BYTES_MAX + PAIRS_MAX * PAIR_BYTES_MAX;
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
