//! `palpate config check`, and settings that `palpate serve` refuses to start with.

use std::{
    fs,
    path::PathBuf,
    process::{self, Command, Output},
};

use crate::support::program::under_test;

/// A file of this test, removed at the end.
struct Settings(PathBuf);

impl Settings {
    fn new(name: &str, text: &str) -> Settings {
        let file = std::env::temp_dir().join(format!("palpate-{name}-{}.toml", process::id()));
        fs::write(&file, text).expect("a temporary folder");
        Settings(file)
    }
}

impl Drop for Settings {
    fn drop(&mut self) {
        // An error means that the file is already gone.
        let _ = fs::remove_file(&self.0);
    }
}

fn palpate(args: &[&str], file: &Settings, variable: Option<(&str, &str)>) -> Output {
    let args = [args, &[file.0.to_str().expect("text")]].concat();
    told_by(&args, variable)
}

fn told_by(args: &[&str], variable: Option<(&str, &str)>) -> Output {
    let mut command = Command::new(under_test());
    command.args(args).env("RUST_LOG", "off").envs(variable);
    command.output().expect("it was built")
}

#[test]
fn check_prints_what_a_server_would_run_with() {
    let file = Settings::new("good", "[sessions]\ngrace = \"3s\"\n");
    let done = palpate(&["config", "check"], &file, Some(("PALPATE_LISTEN", "127.0.0.1:9")));
    let printed = String::from_utf8(done.stdout).expect("text");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let changes = "# Settings that differ from the default:\n#   listen = \"127.0.0.1:9\" (default: \
                   \"127.0.0.1:7447\")\n#   sessions.grace = \"3s\" (default: \"10s\")\n\n";
    assert!(printed.starts_with(changes), "{printed}");
    let printed: toml::Table = printed.parse().expect("TOML");
    assert_eq!(printed["sessions"]["grace"].as_str(), Some("3s"));
    assert_eq!(printed["listen"].as_str(), Some("127.0.0.1:9"));
    assert_eq!(printed["transport"]["connections_max"].as_integer(), Some(256));
}

#[test]
fn check_refuses_what_serve_refuses() {
    let bad = Settings::new("of-variable", "port = 3\n");
    let no_page = std::env::temp_dir();
    let no_page = format!("[metrics]\nlisten = \"127.0.0.1:0\"\nviewer_dir = {no_page:?}\n");
    let no_page = Settings::new("no-page", &no_page);
    for (file, said) in [(&bad, "port"), (&no_page, "metrics.viewer_dir")] {
        let variable = ("PALPATE_CONFIG", file.0.to_str().expect("text"));
        for command in [&["config", "check"][..], &["serve", "--listen", "127.0.0.1:0"]] {
            let done = told_by(command, Some(variable));
            let error = String::from_utf8(done.stderr).expect("text");
            assert_eq!(done.status.code(), Some(1), "{command:?}: {error}");
            assert_eq!(done.stdout, b"", "{command:?}");
            assert!(error.contains(said), "{command:?}: {error} lacks {said}");
        }
    }
}

#[test]
fn a_misspelt_setting_is_refused_with_the_nearest_name() {
    let done = told_by(&["serve", "--set", "tick.time_max=2ms"], None);
    let said = String::from_utf8(done.stderr).expect("text");
    assert_eq!(
        said,
        "palpate: --set: there is no key \"tick.time_max\", did you mean `ticks.time_max`?\n"
    );
    assert_eq!(done.status.code(), Some(1));
}

#[test]
fn a_variable_that_is_no_setting_is_told_and_ignored() {
    let done = told_by(&["config", "check"], Some(("PALPATE_LISTN", "127.0.0.1:9")));
    let said = String::from_utf8(done.stderr).expect("text");
    assert!(done.status.success() && said.contains("PALPATE_LISTN"), "{said}");
}

#[test]
fn a_bad_file_is_refused_with_its_line_key_got_and_expected() {
    let cases = [
        ("unknown", "listen = \"127.0.0.1:1\"\nport = 3\n", ["line 2", "port", "listen"]),
        (
            "section",
            "\n\n[transport]\nconections_max = 3\n",
            ["line 4", "conections", "connections"],
        ),
        ("unitless", "[sessions]\ngrace = 10\n", ["line 2", "integer `10`", "duration"]),
        ("unit", "[sessions]\ngrace = \"10\"\n", ["line 2", "\"10\"", "duration"]),
        ("kind", "[limits]\n\nscenes = \"many\"\n", ["line 3", "\"many\"", "usize"]),
        ("twice", "insecure = true\ninsecure = true\n", ["line 2", "insecure", "duplicate"]),
        ("syntax", "listen = \n", ["line 1", "listen", ""]),
        (
            "renamed",
            "[access]\nlook_every = \"2s\"\n",
            ["access.look_every was renamed: use access.reload_interval", ".toml", ""],
        ),
        ("range", "[limits]\nscenes = 0\n", ["limits.scenes is 0", "from 1", ""]),
    ];
    for (name, text, parts) in cases {
        let file = Settings::new(name, text);
        for command in [&["config", "check"][..], &["serve", "--config"]] {
            let done = palpate(command, &file, None);
            let error = String::from_utf8(done.stderr).expect("text");
            assert_eq!(done.status.code(), Some(1), "{name}: {error}");
            assert_eq!(done.stdout, b"", "{name}");
            for part in parts {
                assert!(error.contains(part), "{name}: {error} lacks {part:?}");
            }
        }
    }
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let file = Settings::new("gone", "");
    fs::remove_file(&file.0).expect("it was there");
    let done = palpate(&["serve", "--config"], &file, None);
    let error = String::from_utf8_lossy(&done.stderr);
    assert!(error.contains(file.0.to_str().expect("text")), "{error}");
    assert_eq!(done.status.code(), Some(1));
}
