//! Checks that the files of `deploy/`, documents included, name metrics, settings, alerts and tests that exist.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use palpate::config::{Config, OTHER_VARIABLES};
use serde_json::Value;

use crate::support::{
    folder::Folder,
    metrics::get,
    server::{TestServer, free_address},
};

/// Documents for operators of a server.
const DOCUMENTS: [&str; 3] = ["OPERATIONS.md", "RUNBOOK.md", "RESILIENCE.md"];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Returns the words of letters, digits and `_` that begin with `prefix`.
fn words<'a>(text: &'a str, prefix: &str) -> BTreeSet<&'a str> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.filter(|word| word.starts_with(prefix)).collect()
}

fn dashboard() -> Value {
    serde_json::from_str(&read("deploy/grafana-dashboard.json")).expect("JSON")
}

/// Returns the blocks that begin with `- alert:`, by name.
fn alerts() -> BTreeMap<String, String> {
    let rules = read("deploy/prometheus-rules.yaml");
    let blocks = rules.split("- alert: ").skip(1);
    let named = blocks.map(|block| {
        let (name, rest) = block.split_once('\n').expect("more than a name");
        (name.to_owned(), rest.to_owned())
    });
    named.collect()
}

/// Returns the families and kinds of all metrics.
async fn families() -> BTreeMap<String, String> {
    let address = free_address();
    let mut config = Config::default();
    config.metrics.listen = Some(address);
    let mut server = TestServer::configured(config).await;
    // The metrics port is open before the first call is answered.
    server.create("any").await.expect("a new scene");
    let (_, text) = get(address, "/metrics").await;
    let types = text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' '));
    types.map(|(name, kind)| (name.to_owned(), kind.to_owned())).collect()
}

/// Returns whether a family has this series.
fn is_known(families: &BTreeMap<String, String>, series: &str) -> bool {
    let of_histogram = ["_bucket", "_sum", "_count"].iter().any(|part| {
        let family = series.strip_suffix(*part).and_then(|name| families.get(name));
        family.is_some_and(|kind| kind == "histogram")
    });
    let alone = families.get(series).is_some_and(|kind| kind != "histogram");
    of_histogram || alone
}

#[tokio::test]
async fn rules_and_dashboard_name_figures_that_the_server_has() {
    let families = families().await;
    for file in ["prometheus-rules.yaml", "prometheus-rules.test.yaml", "grafana-dashboard.json"] {
        let text = read(&format!("deploy/{file}"));
        let series = words(&text, "palpate_");
        assert!(series.len() >= 5, "{file}: {series:?}");
        for name in series {
            assert!(is_known(&families, name), "{file} names {name}, expected one of {families:?}");
        }
    }
    let pages = text_below(&root().join("deploy/operations"));
    for text in DOCUMENTS.map(|file| read(&format!("deploy/{file}"))).iter().chain([&pages]) {
        for name in words(text, "palpate_") {
            assert!(families.contains_key(name), "a document names {name}");
        }
    }
}

#[test]
fn panels_have_ids_of_their_own_and_ask_the_chosen_source() {
    let dashboard = dashboard();
    let panels = dashboard["panels"].as_array().expect("a list");
    let mut ids = BTreeSet::new();
    for panel in panels {
        let id = panel["id"].as_u64().expect("a number");
        assert!(ids.insert(id), "panel {id} comes twice");
        assert!(panel["title"].as_str().is_some_and(|title| !title.is_empty()), "{panel}");
        if panel["type"] == "row" {
            continue;
        }
        let targets = panel["targets"].as_array().expect("a list");
        assert!(!targets.is_empty(), "{panel}");
        for asked in targets.iter().chain([panel]) {
            assert_eq!(asked["datasource"]["uid"], "${datasource}", "{panel}");
        }
        for target in targets {
            assert!(target["expr"].as_str().is_some_and(|e| e.contains("palpate_")), "{target}");
        }
    }
    let variables = dashboard["templating"]["list"].as_array().expect("a list");
    assert!(variables.iter().any(|v| v["name"] == "datasource" && v["type"] == "datasource"));
}

#[test]
fn each_alert_has_a_severity_and_a_section() {
    let runbook = read("deploy/RUNBOOK.md");
    let sections: BTreeSet<_> =
        runbook.lines().filter_map(|line| line.strip_prefix("### Palpate")).collect();
    let alerts = alerts();
    for (name, block) in &alerts {
        let section = name.strip_prefix("Palpate").unwrap_or_else(|| panic!("{name}"));
        assert!(sections.contains(section), "RUNBOOK.md has no section {name}");
        let link = format!("runbook: deploy/RUNBOOK.md#{}\n", name.to_lowercase());
        assert!(block.contains(&link), "{name} does not point to its section");
        let severities = ["critical", "warning", "info"].map(|s| format!("severity: {s}\n"));
        assert!(severities.iter().any(|s| block.contains(s)), "{name} has no severity");
        assert!(block.contains("summary: "), "{name} has no summary");
    }
    assert_eq!(alerts.len(), sections.len(), "a section is of no alert");
}

/// Returns the settings of the settings file as variables: `PALPATE_LISTEN` and so on.
fn variables() -> BTreeSet<String> {
    let settings: toml::Table = read("deploy/palpate.toml").parse().expect("TOML");
    let mut variables = BTreeSet::from(["PALPATE_CONFIG".to_owned()]);
    for (key, value) in &settings {
        let name = format!("PALPATE_{}", key.to_uppercase());
        match value.as_table() {
            Some(section) => {
                variables.extend(section.keys().map(|k| format!("{name}_{}", k.to_uppercase())));
            }
            None => drop(variables.insert(name)),
        }
    }
    variables
}

#[test]
fn variables_of_deployment_files_are_settings() {
    let known = variables();
    for path in files_below(&root().join("deploy")) {
        if path.ends_with("palpate.toml") {
            continue;
        }
        let text = fs::read_to_string(&path).expect("text");
        for name in
            words(&text, "PALPATE_").into_iter().filter(|name| !OTHER_VARIABLES.contains(name))
        {
            assert!(known.contains(name), "{} sets {name}, which is no setting", path.display());
        }
    }
    for file in ["Dockerfile", "palpate.service", "compose.yaml"] {
        assert!(!words(&read(&format!("deploy/{file}")), "PALPATE_").is_empty(), "{file}");
    }
}

#[test]
fn an_image_is_built_with_the_page_of_its_program() {
    let file = read("deploy/Dockerfile");
    let page = file.find("COPY --from=viewer /palpate/clients/web/dist clients/web/dist\n");
    let built = file.rfind("cargo build ").expect("the program is built");
    assert!(page.expect("the page is copied") < built, "the program is built before its page");
}

/// Returns all files below a folder, except secrets.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder of the project") {
        let path = entry.expect("an entry").path();
        match path.is_dir() {
            true if path.ends_with("deploy/secrets") => {}
            true => files.extend(files_below(&path)),
            false => files.push(path),
        }
    }
    files
}

/// Returns all files below a folder as one text.
fn text_below(folder: &Path) -> String {
    let text = |path: &PathBuf| fs::read_to_string(path).expect("text");
    files_below(folder).iter().map(text).collect()
}

/// A table of what each test shows is worth something only while these tests exist.
#[test]
fn tests_and_files_that_the_documents_name_are_there() {
    let resilience = read("deploy/RESILIENCE.md");
    let tests = text_below(&root().join("tests/it"));
    let is_path = |name: &&str| name.chars().all(|c| c.is_ascii_lowercase() || "_:".contains(c));
    let quoted = resilience.split('`').skip(1).step_by(2);
    let named = quoted.filter(is_path).filter(|name| name.matches('_').count() >= 3);
    let mut n_named = 0;
    for name in named {
        let function = name.rsplit("::").next().expect("a last part");
        assert!(tests.contains(&format!("fn {function}(")), "there is no test {name}");
        n_named += 1;
    }
    assert!(n_named >= 8, "{n_named}");
    let operations = read("deploy/OPERATIONS.md");
    for entry in fs::read_dir(root().join("deploy")).expect("the folder") {
        let name = entry.expect("an entry").file_name().into_string().expect("UTF-8");
        let is_known = ["OPERATIONS.md", "secrets"].contains(&&*name);
        assert!(is_known || operations.contains(&name), "OPERATIONS.md leaves out {name}");
    }
}

/// Cargo needs the manifest of every member, and a file for every target that a manifest names.
#[test]
fn an_image_is_built_from_files_that_are_sent_to_it() {
    let (folder, ignored) = (Folder::new("image"), read(".dockerignore"));
    for sent in ignored.lines().filter_map(|line| line.strip_prefix('!')) {
        let from = root().join(sent);
        let files = if from.is_dir() { files_below(&from) } else { vec![from] };
        for file in files {
            let name = file.strip_prefix(root()).expect("below it");
            if !ignored.lines().any(|line| name.starts_with(line)) {
                let to = folder.0.join(name);
                fs::create_dir_all(to.parent().expect("a folder")).expect("room");
                fs::copy(&file, to).expect("room");
            }
        }
    }
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["metadata", "--no-deps", "--offline", "--format-version", "1"]);
    let done = cargo.current_dir(&folder.0).output().expect("cargo");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}
