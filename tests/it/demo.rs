//! `palpate demo` as a user runs it.

use std::{
    env, fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::PathBuf,
    process::{self, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use palpate::{
    load::report::{Measured, verdict::RunVerdict},
    proto::{LinkAnswer, Refusal, StageTimes, TrackResponse, Vec3},
};
use serde_json::Value;

use crate::support::{
    folder::Folder,
    process::{Process, signal},
    program::{has_page, under_test},
};

/// Time limit, far more than a run of two seconds and its server's start and stop take.
const RUN_MAX: Duration = Duration::from_secs(60);

/// A file of this test, removed at the end.
struct ReportFile(PathBuf);

impl ReportFile {
    fn new(name: &str) -> ReportFile {
        ReportFile(env::temp_dir().join(format!("palpate-{name}-{}.json", process::id())))
    }

    fn json(&self) -> Value {
        let text = fs::read_to_string(&self.0).expect("the report was written");
        serde_json::from_str(&text).expect("it is JSON")
    }
}

impl Drop for ReportFile {
    fn drop(&mut self) {
        // The file may not have been written.
        let _ = fs::remove_file(&self.0);
    }
}

/// Returns the address at which the run's own server listened.
fn own_server(table: &str) -> &str {
    let rest = table.split("of its own, at ").nth(1).expect("a table");
    rest.lines().next().expect("an address")
}

/// Returns whether a server listens at the address.
fn listens(address: &str) -> bool {
    std::net::TcpStream::connect(address).is_ok()
}

#[test]
fn demo_reports_contacts_depths_and_deformations_and_leaves_no_server() {
    let report = ReportFile::new("demo");
    let done = Command::new(under_test())
        .args(["demo", "--no-render", "--seconds", "2", "--report"])
        .arg(&report.0)
        .output()
        .expect("it runs");
    let table = String::from_utf8(done.stdout).expect("text");
    let errors = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{errors}{table}");
    assert!(!listens(own_server(&table)), "a server is left at {}", own_server(&table));

    let json = report.json();
    let number = |pointer: &str| json.pointer(pointer).and_then(Value::as_f64).expect(pointer);
    assert_eq!(number("/ticks_sent"), 2000.0);
    // The server need not answer ticks that the client's transport had no capacity to send.
    assert_eq!(number("/ticks_answered") + number("/verdict/not_sent"), 2000.0);
    assert_eq!(json.pointer("/verdict/passed"), Some(&Value::Bool(true)));
    let late = ["machine", "server"].map(|who| number(&format!("/verdict/late_by_{who}")));
    let explained = late.iter().sum::<f64>();
    assert_eq!(explained + number("/verdict/late_unexplained"), number("/verdict/late"));
    assert!(number("/verdict/late") <= number("/missed"));
    assert!(table.starts_with("No answer was wrong or missing. "), "{table}");
    assert!(table.lines().all(|line| line.len() <= 100), "{table}");
    assert!(number("/coalesced") < number("/ticks_answered"));
    assert_eq!(number("/deadline_us"), 1000.0);
    assert!(number("/longest_miss_run") <= number("/missed"));
    assert!(number("/contacts/total") >= number("/contacts/max_per_tick"));
    assert!(number("/contacts/max_per_tick") > 0.0);
    // The tip goes 6 mm below a surface that gives way by more than half of that.
    assert!((-0.007..-0.0005).contains(&number("/min_signed_distance_m")));
    assert!(number("/deformations/acknowledged") > 0.0);
    assert!(number("/deformations/acknowledged") <= number("/deformations/sent"));
    for times in ["/rtt_us", "/compute_us", "/hiccup_us", "/deformations/update_us"] {
        let of = |name: &str| number(&format!("{times}/{name}"));
        assert!(of("p50") > 0.0 && of("p50") <= of("p999") && of("p999") <= of("max"));
    }
    assert!((19_000.0..21_000.0).contains(&number("/tissue_triangles")));
    assert_eq!(json.pointer("/rendering"), Some(&Value::Null));
}

/// The instrument stays out however far the hand goes in, and the force has no jolt.
#[test]
fn a_rendered_demo_tells_what_the_hand_felt() {
    let (report, picture) = (ReportFile::new("felt"), ReportFile::new("felt-picture"));
    let done = Command::new(under_test())
        .args(["demo", "--seconds", "2", "--report"])
        .arg(&report.0)
        .arg("--picture")
        .arg(&picture.0)
        .output()
        .expect("it runs");
    let table = String::from_utf8(done.stdout).expect("text");
    assert!(done.status.success(), "{}{table}", String::from_utf8_lossy(&done.stderr));
    assert!(table.contains("\n  device              "), "{table}");
    let json = report.json();
    let number = |pointer: &str| json.pointer(pointer).and_then(Value::as_f64).expect(pointer);
    let of = |name: &str| number(&format!("/rendering/{name}"));
    println!("{}", json.pointer("/rendering").expect("rendered"));
    // The hand goes 14 mm deep; if ticks at the deepest point are coalesced, on busy cores, 12.9 was seen.
    assert!(of("device_depth_m_max") > 0.012, "{table}");
    assert_eq!(of("proxy_depth_m_max"), 0.0, "{table}");
    // A proxy that had no time to follow tissue is reported as late, and the tissue passes over it meanwhile: by its
    // motion in some ticks (0.15 mm was seen on busy cores), which is not the depth of the device.
    assert!(of("late_depth_m_max") <= 1e-3, "{table}");
    let states = |name: &str| json.pointer(&format!("/rendering/states/{name}")).is_some();
    assert!(states("free") && !states("embedded") && of("force_n_max") <= 3.3 + 1e-9, "{table}");
    // A proxy in contact seldom arrives on a busy machine: at a load of eight on two cores none was seen to, in 152 ticks,
    // and beside two busy threads 5 of 141, with a force and without a grasp.
    let times = |name: &str| if states(name) { of(&format!("states/{name}")) } else { 0.0 };
    if times("touching") > times("late") {
        assert!(of("force_n_max") > 0.5 && of("grasps") > 0.0, "{table}");
    } else {
        assert!(states("late"), "{table}");
    }
    assert!(of("added_us/p50") <= of("added_us/p99"));
    // The servo's force at the device: as large as in the answers, in steps that a hand does not feel as jolts.
    let felt = |name: &str| number(&format!("/servo/{name}"));
    assert!(felt("samples") > 1_000.0, "{table}");
    assert!(felt("force_n_max") <= 3.3 + 1e-9 && felt("force_step_n_max") <= 0.3 + 1e-9, "{table}");
    let svg = fs::read_to_string(&picture.0).expect("written");
    assert!(
        svg.contains("millimetres deep")
            && svg.contains("force of the servo")
            && !svg.contains("NaN")
    );
}

#[cfg_attr(windows, ignore = "a Ctrl-C reaches the tests too")]
/// The coupling's 200 N/m are in series with the organ's 300 and the nodule's 5,000: 120 and 192 N/m. The coupling gives
/// way more at the jaws than at the hand, so that it is felt more. Every tick has the time that it takes.
#[test]
fn a_soft_organ_and_its_nodule_are_felt_apart() {
    let report = ReportFile::new("feel");
    let mut server = Process::serve("127.0.0.1:0", &["--set", "ticks.time_max=10s"]);
    let address = server.address().to_string();
    let mut command = Command::new(under_test());
    // The tip passes the middle of its path two seconds after the start.
    command.args(["load", "--render", "--feel", "--rate", "25", "--deform-hz", "0"]);
    command.args(["--server", &address, "--seconds", "5", "--report"]).arg(&report.0);
    let done = command.output();
    let done = done.expect("it runs");
    let table = String::from_utf8(done.stdout).expect("text");
    assert!(done.status.success(), "{}{table}", String::from_utf8_lossy(&done.stderr));
    let json = report.json();
    let felt = json.pointer("/rendering/felt_n_per_m").and_then(Value::as_array).expect("pressed");
    let [least, most] = [0, 1].map(|at| felt[at].as_f64().expect("a number"));
    println!("{least} to {most} N/m");
    assert!((119.0..150.0).contains(&least) && (170.0..201.0).contains(&most), "{felt:?}");
    assert!(table.contains("as a spring of "), "{table}");
}

#[test]
fn an_interrupted_demo_stops_its_server_and_says_so() {
    let mut demo = Command::new(under_test())
        .args(["demo", "--seconds", "600"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it runs");
    // The demo catches the signal before it starts its server.
    let children = || {
        let of = format!("/proc/{0}/task/{0}/children", demo.id());
        fs::read_to_string(of).unwrap_or_default()
    };
    let give_up = Instant::now() + RUN_MAX;
    while children().trim().is_empty() {
        assert!(Instant::now() < give_up, "it starts no server");
        thread::yield_now();
    }
    let server: i32 = children().trim().parse().expect("one child");
    signal(&demo, "INT");
    let status = demo.wait().expect("it ends");
    let mut errors = String::new();
    demo.stderr.take().expect("piped").read_to_string(&mut errors).expect("text");
    assert_eq!(status.code(), Some(1), "{errors}");
    assert!(errors.ends_with("palpate: interrupted\n"), "{errors}");
    assert!(!PathBuf::from(format!("/proc/{server}")).exists(), "server {server} is left");
}

const DEADLINE: Duration = Duration::from_millis(1);

/// A synthetic run with a tick each millisecond.
struct Forged {
    started: Instant,
    measured: Measured,
}

fn ms(ms: f64) -> Duration {
    Duration::from_secs_f64(1e-3 * ms)
}

fn plain(sequence: u64) -> TrackResponse {
    TrackResponse { sequence, ..TrackResponse::default() }
}

impl Forged {
    /// Creates a run whose ticks `0..n` are sent on time.
    fn sent(n: u64) -> Forged {
        let (started, mut measured) = (Instant::now(), Measured::new(DEADLINE));
        for sequence in 0..n {
            let at = started + Duration::from_millis(sequence);
            measured.tally.sent(sequence, at, at);
        }
        Forged { started, measured }
    }

    /// Records an answer for which the engine took `engine_us`, and which came `at_ms` milliseconds after the start.
    fn answer(&mut self, answer: TrackResponse, engine_us: f64, at_ms: f64) {
        let stages =
            Some(StageTimes { wait_us: 10.0, engine_us, convert_us: 10.0, render_us: 0.0 });
        self.measured.tally.answered(&TrackResponse { stages, ..answer }, self.started + ms(at_ms));
    }

    fn verdict(mut self) -> RunVerdict {
        self.measured.tally.finish();
        RunVerdict::of(&self.measured, DEADLINE)
    }
}

#[test]
fn late_ticks_are_the_machines_the_servers_or_nobodys_and_no_failure() {
    let mut run = Forged::sent(400);
    for sequence in 0..400 {
        let due_ms = sequence as f64;
        match sequence {
            // The machine stalls from 100 to 105 ms; the ticks of that time are answered after it.
            100..105 => run.answer(plain(sequence), 50.0, 105.3),
            // The engine takes 3 ms for tick 200, and those behind it wait.
            200..203 => {
                let engine_us = if sequence == 200 { 3_000.0 } else { 50.0 };
                run.answer(plain(sequence), engine_us, 203.2);
            }
            // These answers are delayed on the way for a while.
            300 => run.answer(plain(sequence), 50.0, due_ms + 2.0),
            301 => run.answer(plain(sequence), 50.0, due_ms + 1.0),
            _ => run.answer(plain(sequence), 50.0, due_ms + 0.2),
        }
    }
    let stall = |run: &mut Forged, from_ms, to_ms| {
        run.measured.stalls.note(run.started + ms(from_ms), run.started + ms(to_ms));
    };
    stall(&mut run, 100.1, 105.1);
    // A stall too short to explain the tick that it falls into, and a stall after the late ticks.
    stall(&mut run, 300.5, 300.8);
    stall(&mut run, 303.0, 309.0);
    let verdict = run.verdict();
    let by = [verdict.late_by_machine, verdict.late_by_server, verdict.late_unexplained];
    assert_eq!((verdict.late, by), (9, [5, 3, 1]), "{}", verdict.said(1_000));
    assert!(verdict.passed, "{}", verdict.said(1_000));
    let said = verdict.said(1_000);
    assert!(said.starts_with(
        "No answer was wrong or missing. 9 of 400 ticks (2.25 %) were later than 1,000 us: 5 by"
    ));
}

#[test]
fn a_tick_that_its_own_client_sent_late_is_the_machines() {
    let mut run = Forged::sent(0);
    let sent = run.started + ms(2.0);
    run.measured.tally.sent(1, run.started, sent);
    run.measured.tally.not_sent(2, run.started + ms(1.0), sent);
    run.answer(plain(1), 50.0, 2.2);
    let verdict = run.verdict();
    assert_eq!((verdict.late, verdict.late_by_machine, verdict.not_sent), (1, 1, 1));
    assert!(verdict.passed, "what was not sent cannot be answered: {}", verdict.said(1_000));
}

#[test]
fn an_answer_that_is_wrong_or_missing_fails_the_run() {
    let refusal = Refusal { code: 3, field: "tools".to_owned(), message: "none".to_owned() };
    let refused = TrackResponse { refusal: Some(refusal), ..plain(1) };
    let nowhere =
        LinkAnswer { signed_distance_m: f64::NAN, is_lower_bound: true, ..Default::default() };
    let normal = Some(Vec3 { x: 0.5, y: 0.5, z: 0.5 });
    let askew = LinkAnswer { signed_distance_m: 0.1, normal, ..Default::default() };
    let of = |link| TrackResponse { links: vec![link], ..plain(1) };
    let contact = |id| palpate::proto::Contacts {
        total: 1,
        tissue_ids: vec![1],
        triangle_ids: vec![1],
        barycentric_xyz: vec![0.5, 0.5, 0.0],
        on_tissue_xyz_m: vec![0.0; 3],
        on_tool_xyz_m: vec![0.0; 3],
        normal_xyz: vec![0.0, 0.0, 1.0],
        signed_distance_m: vec![-0.001],
        link_triangle_ids: vec![1],
        contact_ids: vec![id],
        states: vec![1],
        toi: vec![-1.0],
        ..Default::default()
    };
    let touching = |ended: Vec<u64>| {
        let contacts = Some(contact(7));
        let link = LinkAnswer {
            signed_distance_m: 0.1,
            is_lower_bound: true,
            contacts,
            ..Default::default()
        };
        of(LinkAnswer { ended_contact_ids: ended, ..link })
    };
    let mut short = touching(Vec::new());
    short.links[0].contacts.as_mut().expect("one").toi.clear();
    let cases = [
        (refused, "1 ticks refused; the first: tools: none"),
        (plain(0), "1 ticks never answered, 1 ticks answered out of order"),
        (of(nowhere), "its distance is not finite"),
        (of(askew), "its closest points are not"),
        (touching(vec![7]), "contact 7 has ended and is given"),
        (short, "arrays differ in length"),
    ];
    for (answer, said) in cases {
        let mut run = Forged::sent(3);
        run.answer(plain(0), 50.0, 0.2);
        run.answer(answer, 50.0, 1.2);
        run.answer(plain(2), 50.0, 2.2);
        let verdict = run.verdict();
        let wrong = verdict.wrong().unwrap_or_else(|| panic!("it passed, expected {said}"));
        assert!(wrong.contains(said), "{wrong:?} lacks {said:?}");
        assert!(verdict.late == 0 && verdict.said(1_000).contains(&format!("MISSING: {wrong}.")));
    }
    let mut run = Forged::sent(2);
    run.answer(TrackResponse { sequence: 0, ..touching(Vec::new()) }, 50.0, 0.2);
    run.answer(touching(Vec::new()), 50.0, 1.2);
    let wrong = run.verdict().wrong().expect("a contact begins once");
    assert!(wrong.contains("contact 7 begins a second time"), "{wrong}");
    assert_eq!(Forged::sent(0).verdict().wrong().as_deref(), Some("no tick answered"));
}

/// The demo prints one address, serves the page and its frames, and ends cleanly on Ctrl-C.
#[cfg_attr(windows, ignore = "a Ctrl-C reaches the tests too")]
#[test]
fn watch_shows_the_demo_until_it_is_stopped() {
    let folder = Folder::new("demo-viewer");
    folder.write("index.html", "<title>Palpate</title>");
    let mut demo = Command::new(under_test())
        .args(["demo", "--watch", "--viewer"])
        .arg(&folder.0)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it runs");
    let mut line = String::new();
    BufReader::new(demo.stdout.as_mut().expect("piped")).read_line(&mut line).expect("text");
    let address = line.strip_prefix("The live view is at http://").expect(&line);
    let address = address.strip_suffix("/view/ until Ctrl-C.\n").expect(&line);
    let answer = get(address, "/view/");
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("Palpate"), "{answer}");
    signal(&demo, "INT");
    assert!(demo.wait().expect("it ends").success());
    assert!(!listens(address), "a server is left");

    // Without a folder: the page in the program, if it was built with one.
    let mut elsewhere = Command::new(under_test())
        .args(["demo", "--watch"])
        .current_dir(&folder.0)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it runs");
    let mut line = String::new();
    let stdout = elsewhere.stdout.as_mut().expect("piped");
    BufReader::new(stdout).read_line(&mut line).expect("text");
    if has_page() {
        let (_, address) = line.split_once("http://").expect(&line);
        let page = get(&address[..address.find('/').expect("a path")], "/view/");
        assert!(page.starts_with("HTTP/1.1 200") && page.contains("main.js"), "{page}");
        signal(&elsewhere, "INT");
    }
    let done = elsewhere.wait_with_output().expect("it ends");
    let said = String::from_utf8(done.stderr).expect("text");
    assert_eq!((done.status.success(), said.contains("--viewer DIR")), (has_page(), !has_page()));
}

/// An image sets the variables of its server for all commands; a demo there has neither keys nor certificates.
#[test]
fn demo_runs_with_the_settings_of_an_image() {
    let done = Command::new(under_test())
        .args(["demo", "--seconds", "0.2"])
        .env("PALPATE_ACCESS_CERTIFICATE_FILE", "/etc/palpate/server.pem")
        .env("PALPATE_ACCESS_PRIVATE_KEY_FILE", "/etc/palpate/server.key")
        .env("PALPATE_ACCESS_KEYS_FILE", "/etc/palpate/keys.toml")
        .output()
        .expect("it runs");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

fn get(address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("it listens");
    write!(stream, "GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("text");
    answer
}
