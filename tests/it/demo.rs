//! `palpate demo` as a user runs it.

use std::{
    env, fs,
    io::Read,
    path::PathBuf,
    process::{self, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;

const PALPATE: &str = env!("CARGO_BIN_EXE_palpate");
/// Far more than a run of two seconds and its server's start and stop take.
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
        // It may not have been written.
        let _ = fs::remove_file(&self.0);
    }
}

/// The port in the table's first line: where the run's own server listened.
fn own_server(table: &str) -> &str {
    let line = table.lines().next().expect("a table");
    line.rsplit("a server of its own at ").next().expect("an address")
}

/// Whether a server is there.
fn listens(address: &str) -> bool {
    std::net::TcpStream::connect(address).is_ok()
}

#[test]
fn demo_reports_contacts_depths_and_deformations_and_leaves_no_server() {
    let report = ReportFile::new("demo");
    let done = Command::new(PALPATE)
        .args(["demo", "--seconds", "2", "--report"])
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
    assert!(number("/ticks_answered") >= 0.99 * 2000.0);
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
}

#[test]
fn an_interrupted_demo_stops_its_server_and_says_so() {
    let mut demo = Command::new(PALPATE)
        .args(["demo", "--seconds", "600"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it runs");
    let pid = rustix::process::Pid::from_child(&demo);
    // It catches the signal before it starts its server.
    let children = || {
        let of = format!("/proc/{0}/task/{0}/children", pid.as_raw_nonzero());
        fs::read_to_string(of).unwrap_or_default()
    };
    let give_up = Instant::now() + RUN_MAX;
    while children().trim().is_empty() {
        assert!(Instant::now() < give_up, "it starts no server");
        thread::yield_now();
    }
    let server: i32 = children().trim().parse().expect("one child");
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("it runs");
    let status = demo.wait().expect("it ends");
    let mut errors = String::new();
    demo.stderr.take().expect("piped").read_to_string(&mut errors).expect("text");
    assert_eq!(status.code(), Some(1), "{errors}");
    assert!(errors.ends_with("palpate: interrupted\n"), "{errors}");
    assert!(!PathBuf::from(format!("/proc/{server}")).exists(), "server {server} is left");
}
