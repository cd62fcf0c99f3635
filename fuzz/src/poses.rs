//! The messages of a haptic loop as bytes, parsed as the service does.

use std::sync::{Arc, LazyLock};

use palpate::{
    proto::{Tick, TrackRequest, TrackResponse, track_request::Message},
    scene::{Limits, Scene},
    service::convert::{
        answer::{flags, links, probes, tissue_states},
        pairs::of_links,
        tick::{Start, poses, start},
    },
};
use prost::Message as _;

use crate::{stage, watched::Watched};

/// Messages of one stream; more are left out.
const MESSAGES_MAX: u64 = 32;

/// `bytes`: `TrackRequest`s, each after its length. What is accepted is answered and the answer can be sent. An odd
/// client time means that the tick was coalesced; a deadline, that the tick is late after so many questions.
pub fn check(mut bytes: &[u8]) {
    static SCENE: LazyLock<Arc<Scene>> = LazyLock::new(|| {
        let scene = stage::tools_only();
        stage::add_organ(&scene);
        stage::add_sheet(&scene);
        stage::add_blade(&scene);
        scene
    });
    let next = |bytes: &mut &[u8]| TrackRequest::decode_length_delimited(bytes).ok()?.message;
    let Some(Message::Start(sent)) = next(&mut bytes) else { return };
    let Ok(Start { tools, options, .. }) = start(&sent, SCENE.limits()) else { return };
    let Some(mut session) = Watched::new(&SCENE, &tools, &options) else { return };
    for now_ns in 0..MESSAGES_MAX {
        let Some(message) = next(&mut bytes) else { return };
        if let Message::Tick(tick) = message {
            answer(&mut session, &tick, now_ns);
        }
    }
}

fn answer(session: &mut Watched, tick: &Tick, now_ns: u64) {
    let mut parsed = Vec::new();
    if poses(tick, &Limits::default(), &mut parsed).is_err() {
        return;
    }
    if tick.client_time_ns % 2 != 0 {
        return session.coalesce(tick.sequence, &parsed);
    }
    let late_after = (tick.deadline_us != 0).then_some(tick.deadline_us);
    let Some(answer) = session.tick(tick.sequence, &parsed, now_ns, late_after) else { return };
    let sent = TrackResponse {
        flags: flags(&answer.flags),
        tissues: tissue_states(&answer.tissues),
        links: links(answer, &[]),
        link_pairs: of_links(answer),
        probes: probes(answer),
        ..Default::default()
    };
    assert_eq!(TrackResponse::decode(&*sent.encode_to_vec()).expect("as sent"), sent);
}
