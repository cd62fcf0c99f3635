//! The program `palpate replay`: it prints a tick, and serves a recording to viewers until Ctrl-C.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    process::{Command, Stdio},
};

use palpate::proto::WatchRequest;
use prost::Message;

use super::{
    equal::{ended, file_of, recorded},
    performance::Instrument,
};
use crate::support::{
    folder::Folder,
    process::signal,
    program::{has_page, under_test},
};

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

#[cfg_attr(windows, ignore = "a Ctrl-C reaches the tests too")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replay_serves_a_recording_until_ctrl_c() {
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

    // Viewers come and go.
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
        stream.read_exact(&mut [0; 10_000]).expect("frames");
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
