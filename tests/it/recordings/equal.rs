//! The engine answers a recording as it did, and detects a recording in which something differs.

use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use palpate::{
    config::Config,
    proto::{Feel, Material, MaterialFriction, RenderState, SetFeelRequest, Tick, TrackResponse},
    service::{
        recording::recorded::Recording,
        replay::{ReplayOptions, ReplayReport, ReplayStop, replay_recording},
    },
};
use prost::Message;

use super::performance::{
    Instrument, TICKS, at, burst, dent, end, furnish, play, rendered, swelling,
};
use crate::support::{
    folder::Folder,
    messages::{SCENE, start_message, tick_message},
    process::Process,
    server::TestServer,
};

pub const ALL: ReplayOptions = ReplayOptions { until: None, dump: None, threads: 2 };

/// Starts a server that records into a folder.
pub async fn recording_server(folder: &Path) -> TestServer {
    let mut config = Config::default();
    config.record.dir = Some(folder.to_owned());
    let mut server = TestServer::configured(config).await;
    server.create(SCENE).await.expect("a new scene");
    server
}

/// Opens a recording once it has ended in order.
pub fn ended(file: &Path) -> Recording {
    let until = Instant::now() + Duration::from_secs(60);
    loop {
        match Recording::open(file) {
            Ok(recording) if recording.end.is_some() => return recording,
            other => assert!(Instant::now() < until, "{other:?}"),
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

pub fn file_of(folder: &Path) -> PathBuf {
    folder.join(format!("{SCENE}.mcap"))
}

fn replayed(recording: Recording) -> ReplayReport {
    replay_recording(recording, &ALL, None).expect("a recording")
}

/// Records an instrument's performance.
pub async fn recorded(folder: &Path, instrument: Instrument) -> Recording {
    let mut server = recording_server(folder).await;
    furnish(&mut server, instrument).await;
    burst(&mut server).await;
    let states = play(&mut server).await;
    assert!(states.contains(&RenderState::Touching), "{states:?}");
    end(&mut server).await;
    ended(&file_of(folder))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_answer_of_a_recording_is_given_again_to_the_bit() {
    for instrument in Instrument::ALL {
        let folder = Folder::new("recordings");
        let recording = recorded(&folder.0, instrument).await;
        for of_loop in recording.sessions.values() {
            for tick in of_loop.ticks.values() {
                let answer = TrackResponse::decode(&*tick.answer).expect("whole");
                assert!(answer.session_token.is_empty(), "a token is a secret");
            }
        }
        let report = replayed(recording);
        assert!(report.is_equal() && report.changes_stopped.is_none(), "{report:?}");
        // Two deformations in twelve ticks, a cut and a hold.
        assert_eq!(report.equal_changes as u64, 2 * TICKS / 12 + 2);
        let [of_burst, of_play] = &report.sessions[..] else { panic!("{report:?}") };
        assert_eq!(of_burst.equal + of_burst.coalesced, TICKS, "{of_burst:?}");
        // The refused ticks are equal too.
        assert_eq!((of_play.equal, of_play.not_comparable), (TICKS + 2, 0), "{of_play:?}");
        println!("{}: {report:?}", instrument.name());
    }
}

/// Each tick has the materials that it had when it was answered.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn materials_are_given_again_where_they_were() {
    let folder = Folder::new("recordings");
    let mut server = recording_server(&folder.0).await;
    furnish(&mut server, Instrument::Grasper).await;
    let friction = MaterialFriction { static_coefficient: 0.5, ..Default::default() };
    let soft = |stiffness_n_per_m| Material {
        stiffness_n_per_m,
        damping_n_s_per_m: 2.0,
        friction: Some(friction),
    };
    for stiffness in [150.0, 900.0] {
        let feel = Some(Feel { materials: vec![soft(stiffness)], triangle_materials: Vec::new() });
        let request = SetFeelRequest { scene_id: SCENE.to_owned(), tissue_id: 1, feel };
        server.scenes.set_feel(request).await.expect("a material");
        burst(&mut server).await;
    }
    play(&mut server).await;
    end(&mut server).await;
    let report = replayed(ended(&file_of(&folder.0)));
    assert!(report.is_equal() && report.changes_stopped.is_none(), "{report:?}");
    assert_eq!(report.equal_changes as u64, 2 * TICKS / 12 + 2 + 2);
    let [soft, hard, of_play] = &report.sessions[..] else { panic!("{report:?}") };
    for of_burst in [soft, hard] {
        assert_eq!(of_burst.equal + of_burst.coalesced, TICKS, "{of_burst:?}");
    }
    assert_eq!((of_play.equal, of_play.not_comparable), (TICKS + 2, 0), "{of_play:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_that_is_another_is_found_where_it_is() {
    let folder = Folder::new("recordings");
    recorded(&folder.0, Instrument::Probe).await;
    let play = |recording: &mut Recording, change: &dyn Fn(&mut TrackResponse)| {
        let ticks = &mut recording.sessions.get_mut(&2).expect("played").ticks;
        let tick = ticks.get_mut(&(TICKS as u32 / 2)).expect("recorded");
        let mut answer = TrackResponse::decode(&*tick.answer).expect("whole");
        change(&mut answer);
        tick.answer = answer.encode_to_vec();
    };
    let open = || Recording::open(&file_of(&folder.0)).expect("whole");

    let mut nearer = open();
    play(&mut nearer, &|answer| {
        let d = &mut answer.links[0].signed_distance_m;
        *d = f64::from_bits(d.to_bits() + 1);
    });
    let report = replayed(nearer);
    let Some((sequence, ReplayStop::Differs(difference))) = &report.sessions[1].stopped else {
        panic!("{report:?}")
    };
    assert_eq!((*sequence, &*difference.field), (TICKS / 2, "links[0].signed_distance_m"));
    assert!(!report.is_equal() && report.sessions[1].equal == TICKS / 2 - 1, "{report:?}");
    assert!(report.sessions[0].stopped.is_none(), "the other loop is its own");

    // Times depend on the clock and not on the engine.
    let mut later = open();
    play(&mut later, &|answer| {
        (answer.received_ns, answer.compute_us) = (7, 7.0);
        answer.tissues[0].age_us += 1;
    });
    assert!(replayed(later).is_equal());

    let mut missing = open();
    missing.sessions.get_mut(&2).expect("played").ticks.remove(&9);
    let report = replayed(missing);
    let Some((10, ReplayStop::Lacks(_))) = &report.sessions[1].stopped else {
        panic!("{report:?}")
    };
    // No tick after it is reported as equal.
    assert_eq!((report.sessions[1].equal, report.sessions[1].not_comparable), (8, TICKS + 2 - 9));

    let mut unseen = open();
    unseen.changes.truncate(unseen.changes.len() - 6);
    let report = replayed(unseen);
    assert!(matches!(report.sessions[1].stopped, Some((_, ReplayStop::Lacks(_)))), "{report:?}");

    let dump = ReplayOptions { until: Some(5), dump: Some(3), ..ALL };
    let report = replay_recording(open(), &dump, None).expect("a recording");
    assert_eq!(report.sessions[1].equal, 5);
    let dump = report.sessions[1].dump.as_ref().expect("it is there");
    assert!(
        dump.contains("recorded:") && dump.contains("replayed:") && dump.contains("sequence: 3")
    );
}

/// Checks that a replay gives `n` ticks again, of which the clock cut more than `cut_min` short.
fn assert_cut_as_then(folder: &Path, n: u64, cut_min: u64) {
    let report = replayed(ended(&file_of(folder)));
    let [session] = &report.sessions[..] else { panic!("{report:?}") };
    assert_eq!((session.equal, session.not_comparable), (n, 0), "{report:?}");
    assert!(session.cut_short > cut_min, "{report:?}");
    println!("{} of {n} were cut short", session.cut_short);
}

/// The clock may stop a search anywhere, also in the middle of a proxy's motion.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_that_the_clock_cut_short_is_cut_at_the_same_place() {
    let folder = Folder::new("recordings");
    let mut server = recording_server(&folder.0).await;
    furnish(&mut server, Instrument::Grasper).await;
    let mut track = server.hand_fed(start_message(rendered())).await;
    for i in 1..=300 {
        let height_m = 0.004 - 0.01 * ((i as f64 * 0.21).sin() + 1.0);
        let deadline_us = 20 + (i as u32 * 37) % 300;
        let tick = Tick { deadline_us, ..at(i, height_m) };
        track.ask(tick_message(tick)).await.expect("answered");
    }
    drop(track);
    end(&mut server).await;
    assert_cut_as_then(&folder.0, 300, 20);
}

/// The idle time of a tissue's writer, which depends on the machine, changes no search of a recorded tick.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tick_that_the_clock_cut_short_while_tissue_deforms_is_cut_at_the_same_place() {
    let folder = Folder::new("recordings");
    let mut server = recording_server(&folder.0).await;
    furnish(&mut server, Instrument::Grasper).await;
    let mut track = server.hand_fed(start_message(rendered())).await;
    for i in 1..=600 {
        if i % 3 == 0 {
            let depth_m = 0.003 * (i as f32 * 0.4).sin();
            let moved = if i % 2 == 0 { dent(i, depth_m) } else { swelling(i, depth_m) };
            assert!(server.deform(vec![moved]).await[0].is_ok());
        }
        // The writer has time for a part of its idle work, or for all of it.
        if i % 20 < 4 {
            tokio::time::sleep(Duration::from_millis(i % 5)).await;
        }
        let height_m = 0.004 - 0.007 * ((i as f64 * 0.21).sin() + 1.0);
        let deadline_us = 20 + (i as u32 * 37) % 600;
        let tick = Tick { deadline_us, ..at(i, height_m) };
        track.ask(tick_message(tick)).await.expect("answered");
    }
    drop(track);
    end(&mut server).await;
    assert_cut_as_then(&folder.0, 600, 40);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_scene_that_was_read_from_the_disk_is_recorded_from_there_on() {
    let (folder, record) = (Folder::new("kept-and-recorded"), Folder::new("recordings"));
    let variables = [
        ("PALPATE_RECORD_DIR", record.0.to_str().expect("UTF-8")),
        ("PALPATE_TICKS_TIME_MAX", "60s"),
    ];
    for run in 1..=2 {
        let mut process = Process::serve_keeping(&folder.0, &[], &variables);
        let mut server = TestServer::connect(process.address()).await;
        if run == 1 {
            server.create(SCENE).await.expect("a new scene");
            furnish(&mut server, Instrument::Pliers).await;
            assert!(server.deform(vec![dent(1, 0.004)]).await[0].is_ok());
        } else {
            play(&mut server).await;
        }
        drop(server);
        process.signal("TERM");
        process.end();
    }
    // Ended in order: the server has waited for its recordings.
    let second = record.0.join(format!("{SCENE}-2.mcap"));
    let recording = Recording::open(&second).expect("whole");
    assert!(recording.end.is_some());
    assert_eq!((recording.scene.tissues.len(), recording.scene.tools.len()), (1, 1));
    assert_eq!(recording.scene.tissues[0].geometry_revision, 1);
    let report = replayed(recording);
    assert!(report.is_equal() && report.changes_stopped.is_none(), "{report:?}");
    assert_eq!(report.sessions[0].equal, TICKS + 2, "{report:?}");
}
