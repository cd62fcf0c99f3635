//! A recording in the live view: viewers see the recorded scene and answers.

use std::{
    collections::BTreeMap,
    io::{self, BufRead, BufReader, Write},
    net::{Shutdown, TcpStream},
    process::{Command, Stdio},
    sync::Arc,
    thread,
};

use palpate::{
    config::Config,
    proto::{TrackResponse, WatchRequest},
    service::{
        Listeners, SceneRegistry,
        recording::recorded::Recording,
        replay::{ReplayOptions, replay_recording},
        serve_registry,
    },
};
use prost::Message;
use tokio::sync::oneshot;

use super::{
    equal::{ALL, ended, file_of, recorded},
    performance::Instrument,
};
use crate::support::{
    folder::Folder,
    process::signal,
    program::{has_page, under_test},
    server::TestServer,
    viewer::Viewer,
};

/// Recorded answers by sequence.
fn answers(recording: &Recording) -> BTreeMap<u64, TrackResponse> {
    let ticks = recording.sessions[&2].ticks.values();
    let answers = ticks.map(|tick| TrackResponse::decode(&*tick.answer).expect("whole"));
    answers.map(|answer| (answer.sequence, answer)).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_recorded_is_shown() {
    let folder = Folder::new("watched");
    let recording = recorded(&folder.0, Instrument::Grasper).await;
    let answers = answers(&recording);

    let config = Config { listen: "127.0.0.1:0".parse().expect("good"), ..Config::default() };
    let registry = Arc::new(SceneRegistry::new(&config));
    let listeners = Listeners::bind(&config).await.expect("a free port");
    let address = listeners.address().expect("bound");
    let (end, ended) = oneshot::channel::<()>();
    let served = tokio::spawn({
        let registry = Arc::clone(&registry);
        async move {
            let until = async { drop(ended.await) };
            serve_registry(listeners, &config, registry, until).await
        }
    });
    let mut server = TestServer::connect(address).await;
    let request = WatchRequest { rate_hz: 60.0, ..WatchRequest::default() };
    let mut viewer = Viewer::open(&server, "", request).await.expect("a stream");
    viewer.frame().await.expect("a frame of nothing");

    // At a quarter of the recorded speed, some frames are seen.
    let options = ReplayOptions { speed: Some(0.25), show_in: Some(registry), ..ALL };
    let replayed = tokio::task::spawn_blocking(move || replay_recording(recording, &options, None));
    let mut seen = 0;
    while !replayed.is_finished() {
        let frame = viewer.frame().await.expect("a frame");
        let [session] = &frame.sessions[..] else { continue };
        if session.tools.is_empty() {
            continue;
        }
        let answer = &answers[&session.sequence];
        let rendering = &answer.renderings[0];
        assert_eq!(session.tools[0].force_n, rendering.force_n, "tick {}", answer.sequence);
        let of_links = answer.links.iter().filter_map(|link| link.contacts.as_ref());
        let points: Vec<f32> = of_links.flat_map(|c| c.on_tissue_xyz_m.clone()).collect();
        assert_eq!(session.contact_xyz_m, points, "tick {}", answer.sequence);
        seen += 1;
    }
    let report = replayed.await.expect("no panic").expect("a recording");
    assert!(report.is_equal(), "{report:?}");
    assert!(seen >= 3, "{seen} ticks were seen");
    let last = answers.values().rev().find_map(|a| a.tissues.first()).expect("it saw the tissue");
    let revisions = (last.geometry_revision, last.topology_revision);
    viewer
        .until(|v, _| {
            let tissue = &v.tissues[&1];
            (tissue.geometry_revision, tissue.topology_revision) == revisions
        })
        .await;
    viewer.assert_drawn_as(&server.export(1).await.expect("it is a scene of the server"));
    drop(end);
    served.await.expect("no panic").expect("a good end");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replay_prints_a_tick_or_says_that_there_is_none() {
    let folder = Folder::new("dumped");
    recorded(&folder.0, Instrument::Probe).await;
    let dump = |sequence: &str| {
        let mut replay = Command::new(under_test());
        replay.args(["replay", "--dump", sequence]).arg(file_of(&folder.0));
        let done = replay.output().expect("it runs");
        (done.status.code(), format!("{done:?}"))
    };
    let (code, said) = dump("3");
    assert!(code == Some(0) && said.contains("recorded: "), "{said}");
    let (code, said) = dump("999999");
    assert!(code == Some(1) && said.contains("a tick of sequence 999999"), "{said}");
}

/// The replay plays for any viewer that connects, and Ctrl-C ends it with success.
#[cfg_attr(windows, ignore = "a Ctrl-C reaches the tests too")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replay_plays_a_recording_for_whoever_watches() {
    let folder = Folder::new("watched");
    recorded(&folder.0, Instrument::Probe).await;
    ended(&file_of(&folder.0));
    folder.write("index.html", "<title>Palpate</title>");
    let mut replay = Command::new(under_test())
        .args(["replay", "--watch", "--viewer"])
        .args([&folder.0, &file_of(&folder.0)])
        .stdout(Stdio::piped())
        .spawn()
        .expect("it runs");
    let mut said = BufReader::new(replay.stdout.take().expect("piped")).lines();
    let mut line = || said.next().expect("more").expect("text");
    let first = line();
    let address = first.strip_prefix("The recording is at http://").expect(&first);
    let address = address.strip_suffix("/view/ until Ctrl-C.").expect(&first).to_owned();

    for _ in 0..2 {
        let mut stream = TcpStream::connect(&address).expect("it listens");
        let request = WatchRequest { rate_hz: 60.0, ..WatchRequest::default() }.encode_to_vec();
        write!(
            stream,
            "POST /palpate.v1.WatchService/Watch HTTP/1.1\r\nHost: {address}\r\nOrigin: http://{address}\r\n\
             Content-Type: application/grpc-web+proto\r\nX-Grpc-Web: 1\r\nContent-Length: {}\r\n\r\n",
            5 + request.len()
        )
        .expect("sent");
        stream.write_all(&[0, 0, 0, 0, request.len() as u8]).expect("sent");
        stream.write_all(&request).expect("sent");
        let mut frames = stream.try_clone().expect("a socket");
        let watching = thread::spawn(move || io::copy(&mut frames, &mut io::sink()));
        let mut report = String::new();
        while !report.contains("It is played again") {
            report.push_str(&line());
        }
        assert!(report.contains("equal bit for bit"), "{report}");
        stream.shutdown(Shutdown::Both).expect("it is open");
        assert!(watching.join().expect("no panic").expect("frames") > 1_000);
    }
    signal(&replay, "INT");
    assert!(replay.wait().expect("it ends").success());

    let refused = |arguments: &[&str]| {
        let mut replay = Command::new(under_test());
        replay.args(["replay", "--watch"]).args(arguments).current_dir(&folder.0);
        let refused = replay.output().expect("it runs");
        assert!(!refused.status.success());
        String::from_utf8(refused.stderr).expect("text")
    };
    let said = refused(&["--viewer", ".", "nowhere.mcap"]);
    assert!(said.contains("nowhere.mcap"), "before anybody looks: {said}");
    let said = refused(&["nowhere.mcap"]);
    let reason = if has_page() { "nowhere.mcap" } else { "npm run build) or --viewer DIR" };
    assert!(said.contains(reason), "{said}");
}
