//! `palpate plan` as a user runs it.

use std::{
    fs,
    process::{Command, Output},
};

use palpate::plan::FIGURES;
use serde_json::Value;

use crate::support::program::under_test;

fn plan(args: &[&str]) -> Output {
    let mut command = Command::new(under_test());
    command.arg("plan").args(args).output().expect("built")
}

fn json(args: &[&str]) -> Value {
    let done = plan(&[args, &["--json"]].concat());
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    serde_json::from_slice(&done.stdout).expect("JSON")
}

#[test]
fn its_figures_are_those_of_their_sources() {
    for figure in FIGURES {
        let path = format!("{}/{}", env!("CARGO_MANIFEST_DIR"), figure.source);
        let text = fs::read_to_string(&path).expect("a file of the project");
        // A quote may continue on the next line.
        let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(flat.contains(figure.quote), "{}: {} is not there", figure.source, figure.quote);
    }
}

#[test]
fn the_table_has_machines_bounds_sources_and_assumptions() {
    let done = plan(&["--scenes", "400", "--loops", "400", "--tick-us", "324"]);
    let text = String::from_utf8(done.stdout).expect("text");
    println!("{text}");
    for part in [
        "machines, each with",
        "cores of ticks",
        "memory, MB",
        "Gbit/s out",
        "benches/RESULTS.md",
        "Taken for granted",
    ] {
        assert!(text.contains(part), "{text} lacks {part}");
    }
    let table = text.lines().skip_while(|line| !line.contains("a scene takes"));
    let ends: Vec<usize> = table.take_while(|line| !line.is_empty()).map(str::len).collect();
    assert!(ends.len() > 5 && ends.iter().all(|end| *end == ends[0]), "{text}: no columns");
}

#[test]
fn a_simulation_loses_no_edit_and_says_how_long_gaps_are() {
    let args = [
        "--scenes",
        "400",
        "--loops",
        "400",
        "--simulate",
        "30000",
        "--mtbf-hours",
        "24",
        "--upgrade-hours",
        "8",
    ];
    let report = json(&args);
    let simulated = &report["simulation"];
    let count =
        |name: &str| simulated[name].as_u64().unwrap_or_else(|| panic!("{name} in {simulated}"));
    assert_eq!(count("asked_for"), 30_000);
    assert_eq!(count("unplaced") + count("closed"), 30_000);
    assert!(count("failures") > 0 && count("moved") > 0 && count("taken_over") > 0, "{simulated}");
    assert_eq!(count("edits_lost"), 0);
    assert!(count("deformations_since_the_last_second") > 0);
    assert!(simulated["after_failures"]["p99_s"].as_f64().expect("seconds") > 0.0);
    assert_eq!(json(&args), report, "the same arguments give the same report");
    assert_eq!(report["sizing"]["machines"], simulated["machines"]);
}

#[test]
fn what_no_machine_carries_is_refused() {
    let done = plan(&["--scenes", "1", "--loops", "1", "--field-mb", "1e9"]);
    assert_eq!(done.status.code(), Some(1));
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(said.contains("memory") && said.contains("expected"), "{said}");
    assert_eq!(plan(&["--scenes", "0", "--loops", "1"]).status.code(), Some(2));
}
