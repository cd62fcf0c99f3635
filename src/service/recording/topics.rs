//! The topics of a recording, as defined in `proto/palpate/v1/recording.proto`.

/// First and last message of a recording.
pub const RECORDING: &str = "/recording";
/// Changes of the scene.
pub const CHANGES: &str = "/changes";
/// Starts of loops.
pub const SESSIONS: &str = "/sessions";
/// Poses of tools and proxies.
pub const TRANSFORMS: &str = "/transforms";
/// Tissues and tools as meshes.
pub const SURFACES: &str = "/surfaces";

/// Content of a session's topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TickPart {
    /// Ticks, as the client sent them.
    Tick,
    /// Answers, as they were sent to the client.
    Answer,
    /// Other inputs of the engine.
    Replay,
}

impl TickPart {
    /// All parts, in the order in which a tick's messages are written.
    pub const ALL: [TickPart; 3] = [TickPart::Replay, TickPart::Tick, TickPart::Answer];

    fn name(self) -> &'static str {
        match self {
            TickPart::Tick => "ticks",
            TickPart::Answer => "answers",
            TickPart::Replay => "replay",
        }
    }

    /// Returns the topic of this part at a session's place.
    pub fn topic(self, place: u32) -> String {
        format!("{SESSIONS}/{place}/{}", self.name())
    }

    /// Returns the place and part of a topic; `None` if it is not a topic of ticks.
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
