//! `palpate doctor` as a user runs it.

use std::process::Command;

use serde_json::Value;

use crate::support::program::under_test;

fn doctor(args: &[&str]) -> String {
    let mut command = Command::new(under_test());
    let done = command.args(["doctor", "--seconds", "0.2"]).args(args).output().expect("built");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).expect("text")
}

#[test]
fn it_says_what_it_measured_and_what_that_means() {
    let text = doctor(&[]);
    println!("{text}");
    for part in ["timer", "hiccups", "cores", "descriptors", "1 kHz loop", "p99.9"] {
        assert!(text.contains(part), "{text} lacks {part}");
    }
    let stiffness = text.lines().find(|line| line.starts_with("stiffness")).expect("how stiff");
    for part in ["with a server's force", "with a local model at 4 kHz", "More: a local model, "] {
        assert!(stiffness.contains(part), "{stiffness} lacks {part}");
    }
}

#[test]
fn its_json_has_the_same() {
    let json: Value = serde_json::from_str(&doctor(&["--json"])).expect("JSON");
    let us = |name: &str| json["timing"]["wake_us"][name].as_f64().expect(name);
    assert!(us("p50") > 0.0 && us("p50") <= us("p99") && us("p999") <= us("max"));
    assert!(json["timing"]["wakes"].as_u64().expect("a count") > 10);
    assert!(["good", "fair", "poor"].contains(&json["verdict"].as_str().expect("a verdict")));
    let findings = json["findings"].as_array().expect("a list");
    let named = |name: &str| findings.iter().any(|f| f["name"] == name);
    assert!(named("cores") && named("descriptors") && named("priority"), "{findings:?}");
}

#[test]
fn a_bad_duration_is_refused() {
    let mut command = Command::new(under_test());
    let done = command.args(["doctor", "--seconds", "0"]).output().expect("built");
    assert_eq!(done.status.code(), Some(2));
}
