//! List of conversations, and what has to happen in each.

use std::net::SocketAddr;

use super::{
    conversation::Conversation,
    scripts::{
        coalesce, crowd, cut, deform, options, pairs, press, query, refuse, resume, self_collision,
        sweep,
    },
    stage::Stage,
    tally::Tally,
    transcript::Transcript,
};

/// A conversation that is played on a stage.
#[derive(Clone, Copy, Debug)]
enum Script {
    Press,
    Options,
    Pairs,
    Deform,
    Cut,
    Sweep,
    Coalesce,
    Resume,
    Query,
    SelfCollision,
    Crowd,
    Refuse,
}

/// Scripts of every stage.
const EVERYWHERE: [Script; 6] =
    [Script::Press, Script::Pairs, Script::Deform, Script::Cut, Script::Sweep, Script::Coalesce];
/// Scripts of all stages but the pliers', whose field takes long to read again for each scene.
const LIGHT: [Script; 4] = [Script::Options, Script::Resume, Script::Query, Script::SelfCollision];
/// Scripts of the generated stage alone.
const GENERATED: [Script; 2] = [Script::Crowd, Script::Refuse];

impl Script {
    fn name(self) -> &'static str {
        match self {
            Script::Press => "press",
            Script::Options => "options",
            Script::Pairs => "pairs",
            Script::Deform => "deform",
            Script::Cut => "cut",
            Script::Sweep => "sweep",
            Script::Coalesce => "coalesce",
            Script::Resume => "resume",
            Script::Query => "query",
            Script::SelfCollision => "self-collision",
            Script::Crowd => "crowd",
            Script::Refuse => "refuse",
        }
    }

    async fn play(self, c: &mut Conversation<'_>) {
        match self {
            Script::Press => press::play(c).await,
            Script::Options => options::play(c).await,
            Script::Pairs => pairs::play(c).await,
            Script::Deform => deform::play(c).await,
            Script::Cut => cut::play(c).await,
            Script::Sweep => sweep::play(c).await,
            Script::Coalesce => coalesce::play(c).await,
            Script::Resume => resume::play(c).await,
            Script::Query => query::play(c).await,
            Script::SelfCollision => self_collision::play(c).await,
            Script::Crowd => crowd::play(c).await,
            Script::Refuse => refuse::play(c).await,
        }
    }

    /// Returns the least counts on any stage.
    fn least(self) -> Tally {
        match self {
            Script::Press => press::LEAST,
            Script::Options => options::LEAST,
            Script::Pairs => pairs::LEAST,
            Script::Deform => deform::LEAST,
            Script::Cut => cut::LEAST,
            Script::Sweep => sweep::LEAST,
            Script::Coalesce => coalesce::LEAST,
            Script::Resume => resume::LEAST,
            Script::Query => query::LEAST,
            Script::SelfCollision => self_collision::LEAST,
            Script::Crowd => crowd::LEAST,
            Script::Refuse => refuse::LEAST,
        }
    }
}

/// Plays every script on every stage, and returns the transcripts by name.
///
/// # Panics
/// Panics if less happens than has to.
pub async fn play_all(server: SocketAddr, stages: &[Stage]) -> Vec<(String, Transcript)> {
    let mut transcripts = Vec::new();
    for stage in stages {
        let more = match stage.name {
            "pliers" => Vec::new(),
            "grasper" => [&LIGHT[..], &GENERATED].concat(),
            _ => LIGHT.to_vec(),
        };
        for script in EVERYWHERE.iter().chain(&more) {
            let name = format!("{}-{}", stage.name, script.name());
            let mut conversation = Conversation::begin(server, stage, script.name()).await;
            script.play(&mut conversation).await;
            conversation.end().await;
            let transcript = conversation.transcript;
            transcript.tally.assert_at_least(&script.least(), &name);
            transcripts.push((name, transcript));
        }
    }
    transcripts
}
