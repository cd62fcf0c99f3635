//! The command line as a whole.

use std::{
    fs,
    process::{Command, Output},
};

use crate::support::{folder::Folder, program::under_test};

fn palpate(args: &[&str]) -> Output {
    Command::new(under_test()).args(args).output().expect("it was built")
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).expect("text")
}

#[test]
fn help_lists_the_exit_codes_and_usage_has_its_own() {
    let help = text(palpate(&["--help"]).stdout);
    assert!(help.contains("\n  3  load and demo: an objective was missed"), "{help}");
    assert_eq!(palpate(&["sreve"]).status.code(), Some(2));
}

#[test]
fn shells_complete_the_options_of_each_command() {
    for shell in ["bash", "zsh", "fish"] {
        let done = palpate(&["completions", shell]);
        let script = text(done.stdout);
        assert!(done.status.success() && script.contains("find-capacity"), "{shell}: {script}");
    }
    assert_eq!(palpate(&["completions", "cmd"]).status.code(), Some(2));
}

#[test]
fn each_command_has_a_man_page() {
    let folder = Folder::new("man");
    let pages = folder.0.join("man1");
    let done = palpate(&["man", pages.to_str().expect("UTF-8")]);
    assert!(done.status.success(), "{done:?}");
    let page = |name: &str| fs::read_to_string(pages.join(name)).expect(name);
    assert!(page("palpate.1").contains("Exit codes"));
    assert!(page("palpate-load.1").contains("find\\-capacity"));
    assert!(page("palpate-scenes-move.1").contains("take\\-over"));
}
