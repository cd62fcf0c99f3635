//! The topics of a recording, as `proto/palpate/v1/recording.proto` has them.

/// Head and end.
pub const RECORDING: &str = "/recording";
/// Changes of the scene.
pub const CHANGES: &str = "/changes";
/// Loops that begin.
pub const SESSIONS: &str = "/sessions";
/// Where tools and proxies are.
pub const TRANSFORMS: &str = "/transforms";
/// Tissues and tools as meshes.
pub const SURFACES: &str = "/surfaces";

/// What a topic of a session holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TickPart {
    /// As the client sent it.
    Tick,
    /// As it was sent to the client.
    Answer,
    /// What the engine was given beside.
    Replay,
}

impl TickPart {
    /// All of them, in the order in which a tick's messages are written.
    pub const ALL: [TickPart; 3] = [TickPart::Replay, TickPart::Tick, TickPart::Answer];

    fn name(self) -> &'static str {
        match self {
            TickPart::Tick => "ticks",
            TickPart::Answer => "answers",
            TickPart::Replay => "replay",
        }
    }

    /// Its topic of a session's place.
    pub fn topic(self, place: u32) -> String {
        format!("{SESSIONS}/{place}/{}", self.name())
    }

    /// The place and part that a topic is of; `None` when it is of none.
    pub fn of_topic(topic: &str) -> Option<(u32, TickPart)> {
        let (place, name) = topic.strip_prefix(SESSIONS)?.strip_prefix('/')?.split_once('/')?;
        let part = TickPart::ALL.into_iter().find(|part| part.name() == name)?;
        Some((place.parse().ok()?, part))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_topic_names_its_place_and_part() {
        for part in TickPart::ALL {
            assert_eq!(TickPart::of_topic(&part.topic(12)), Some((12, part)));
        }
        for none in ["/sessions", "/sessions/1", "/sessions/x/ticks", "/sessions/1/tock", ""] {
            assert_eq!(TickPart::of_topic(none), None);
        }
    }
}
