//! Loads settings: the defaults, overridden by a file, then the environment, then flags.

use std::{
    env,
    ffi::OsString,
    fs,
    net::SocketAddr,
    path::{Path, PathBuf},
};

use toml::{Table, Value};

use super::{Config, ConfigError, listen_address, renamed};

/// Prefix of environment variables; `_` replaces the dots of a key: `PALPATE_TRANSPORT_CONNECTIONS_MAX`.
const PREFIX: &str = "PALPATE_";

/// Variables with that prefix that are not settings: that of the settings file, and parameters of this project's tests.
/// A server that such a test starts inherits the parameters.
pub const OTHER_VARIABLES: [&str; 18] = [
    "PALPATE_ATTACKS",
    "PALPATE_AZURITE",
    "PALPATE_CCD",
    "PALPATE_C_LIBRARIES",
    "PALPATE_CONFIG",
    "PALPATE_DATA",
    "PALPATE_ENVOY",
    "PALPATE_FILM",
    "PALPATE_GOLDEN",
    "PALPATE_GOLDEN_DUMP",
    "PALPATE_LIBRARY",
    "PALPATE_MOTO",
    "PALPATE_PICTURES",
    "PALPATE_SEED",
    "PALPATE_SERVER_BIN",
    "PALPATE_TEST_CLOCK_RATE",
    "PALPATE_TEST_GATE",
    "PALPATE_TEST_SCALE",
];

/// Flags of `palpate serve`.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct SettingArgs {
    /// Settings file; deploy/palpate.toml documents all settings.
    #[arg(long, env = "PALPATE_CONFIG", value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Address to listen on; port 0 takes a free one [default: 127.0.0.1:7447] [env: PALPATE_LISTEN].
    #[arg(long, value_name = "ADDR", value_parser = listen_address::parse)]
    pub listen: Option<SocketAddr>,
    /// Path of a Unix domain socket that serves gRPC too [env: PALPATE_UNIX_SOCKET].
    #[arg(long, value_name = "PATH")]
    pub unix_socket: Option<PathBuf>,
    /// Folder of scenes and built distance fields [default: $XDG_DATA_HOME/palpate or ~/.local/share/palpate] [env:
    /// PALPATE_DATA_DIR].
    #[arg(long, value_name = "DIR")]
    pub data_dir: Option<PathBuf>,
    /// Address of metrics and the health page, over HTTP [default: not served] [env: PALPATE_METRICS_LISTEN].
    #[arg(long, value_name = "ADDR", value_parser = listen_address::parse)]
    pub metrics: Option<SocketAddr>,
    /// Folder of the built live view, served at /view/ of the metrics address [default: the page in this program] [env:
    /// PALPATE_METRICS_VIEWER_DIR].
    #[arg(long, value_name = "DIR")]
    pub viewer: Option<PathBuf>,
    /// Record each scene into a file in this folder, for `palpate replay` [env: PALPATE_RECORD_DIR].
    #[arg(long, value_name = "DIR")]
    pub record: Option<PathBuf>,
    /// Serve a public address without TLS or without keys.
    #[arg(long)]
    pub insecure: bool,
    /// Any other setting, for example transport.connections_max=64; may be repeated.
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
}

/// The arguments of `palpate config`.
#[derive(Clone, Debug, clap::Args)]
pub struct ConfigArgs {
    #[command(subcommand)]
    command: ConfigCommand,
}

#[derive(Clone, Debug, clap::Subcommand)]
enum ConfigCommand {
    /// Check a settings file and the environment, and print all settings that a server would use, after those that
    /// differ from the default. Secrets are in files of their own and are not printed.
    Check {
        /// Settings file [default: none, which prints the defaults].
        #[arg(env = "PALPATE_CONFIG")]
        file: Option<PathBuf>,
    },
}

/// Value that a variable or flag gives to a key.
struct Setting {
    /// Name of the variable or flag.
    origin: String,
    key: String,
    text: String,
}

impl ConfigArgs {
    /// Loads the settings of a server with this file and the environment.
    ///
    /// # Errors
    /// Returns an error if the configuration is refused.
    pub fn load(&self) -> Result<Config, ConfigError> {
        let ConfigCommand::Check { file } = &self.command;
        of_process(file.as_deref(), &[])
    }
}

impl SettingArgs {
    /// Loads the settings of a server that is started with these flags.
    ///
    /// # Errors
    /// Returns an error if the configuration is refused.
    pub fn load(&self) -> Result<Config, ConfigError> {
        of_process(self.config.as_deref(), &self.settings()?)
    }

    fn settings(&self) -> Result<Vec<Setting>, ConfigError> {
        let path = |path: &Option<PathBuf>| path.as_ref().map(|p| p.display().to_string());
        let named = [
            ("--listen", "listen", self.listen.map(|a| a.to_string())),
            ("--unix-socket", "unix_socket", path(&self.unix_socket)),
            ("--data-dir", "data_dir", path(&self.data_dir)),
            ("--metrics", "metrics.listen", self.metrics.map(|a| a.to_string())),
            ("--viewer", "metrics.viewer_dir", path(&self.viewer)),
            ("--record", "record.dir", path(&self.record)),
            ("--insecure", "insecure", self.insecure.then(|| "true".to_owned())),
        ];
        let named = named.into_iter().filter_map(|(origin, key, text)| {
            Some(Ok(Setting { origin: origin.to_owned(), key: key.to_owned(), text: text? }))
        });
        let set = self.set.iter().map(|given| {
            let (key, text) =
                given.split_once('=').ok_or_else(|| ConfigError::NoValue { got: given.clone() })?;
            Ok(Setting { origin: "--set".to_owned(), key: key.to_owned(), text: text.to_owned() })
        });
        named.chain(set).collect()
    }
}

impl Config {
    /// Returns the settings that differ from their defaults, as comments of a file.
    pub fn changes(&self) -> String {
        let (own, defaults) = (table(self), table(&Config::default()));
        let value = |settings: &Table, key: &str| match key.split_once('.') {
            Some((section, key)) => settings[section][key].to_string(),
            None => settings[key].to_string(),
        };
        let changes = keys().into_iter().filter_map(|key| {
            let (own, default) = (value(&own, &key), value(&defaults, &key));
            (own != default).then(|| format!("#   {key} = {own} (default: {default})\n"))
        });
        match changes.collect::<String>() {
            none if none.is_empty() => "# Each setting has its default.\n\n".to_owned(),
            changes => format!("# Settings that differ from the default:\n{changes}\n"),
        }
    }

    /// Returns the settings as the text of a file.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("settings are representable")
    }

    fn load(
        file: Option<&Path>,
        variables: impl Iterator<Item = (OsString, OsString)>,
        flags: &[Setting],
    ) -> Result<Config, ConfigError> {
        let mut config = match file {
            Some(file) => read(file)?,
            None => Config::default(),
        };
        for setting in from_environment(variables)?.iter().chain(flags) {
            config = config.with(setting)?;
        }
        config.check()?;
        Ok(config)
    }

    /// Returns the settings with one setting replaced.
    fn with(self, setting: &Setting) -> Result<Config, ConfigError> {
        let Setting { origin, key, text } = setting;
        let mut table = table(&self);
        if let Some(new) = renamed::new_name(key) {
            let (origin, old) = (origin.clone(), key.clone());
            return Err(ConfigError::Renamed { origin, old, new: new.to_owned() });
        }
        let unknown = || ConfigError::UnknownKey {
            origin: origin.clone(),
            key: key.clone(),
            expected: expected(key, &keys()),
        };
        let wrong = |problem: String| ConfigError::Value {
            origin: origin.clone(),
            key: key.clone(),
            got: text.clone(),
            problem,
        };
        // Parsed through TOML, so that the rules of the file apply to variables too.
        let place = match key.split_once('.') {
            None => table.get_mut(key),
            Some((section, key)) => table.get_mut(section).and_then(|s| s.get_mut(key)),
        };
        let place = place.filter(|p| !p.is_table()).ok_or_else(unknown)?;
        *place = match place {
            Value::Integer(_) => {
                Value::Integer(text.parse().map_err(|_| wrong("expected a whole number".into()))?)
            }
            Value::Float(_) => {
                Value::Float(text.parse().map_err(|_| wrong("expected a number".into()))?)
            }
            Value::Boolean(_) => {
                Value::Boolean(text.parse().map_err(|_| wrong("expected true or false".into()))?)
            }
            _ => Value::String(text.clone()),
        };
        table.try_into().map_err(|e: toml::de::Error| wrong(e.message().to_owned()))
    }
}

fn read(file: &Path) -> Result<Config, ConfigError> {
    let of = || file.to_owned();
    let text =
        fs::read_to_string(file).map_err(|source| ConfigError::Read { file: of(), source })?;
    if let Some((old, new)) = renamed::in_file(&text) {
        let (origin, old, new) = (file.display().to_string(), old.to_owned(), new.to_owned());
        return Err(ConfigError::Renamed { origin, old, new });
    }
    toml::from_str(&text).map_err(|source| ConfigError::File { file: of(), source })
}

fn table(config: &Config) -> Table {
    Table::try_from(config).expect("settings are representable")
}

/// Returns every key, for example `transport.connections_max`.
fn keys() -> Vec<String> {
    let of = |(name, value): (String, Value)| match value {
        Value::Table(section) => section.keys().map(|key| format!("{name}.{key}")).collect(),
        _ => vec![name],
    };
    table(&Config::default()).into_iter().flat_map(of).collect()
}

/// Similarity from which a name counts as a misspelling of another, from 0 to 1.
const SIMILARITY_MIN: f64 = 0.75;

/// Returns the question if the most similar name was meant, or the list of all names if none is similar. A key may lack
/// its section.
fn expected(got: &str, names: &[String]) -> String {
    let similarity = |name: &String| {
        let without_section = name.split_once('.').map_or(&name[..], |(_, key)| key);
        let [whole, part] =
            [name, without_section].map(|n| strsim::normalized_damerau_levenshtein(got, n));
        whole.max(part)
    };
    let similar = names.iter().map(|name| (similarity(name), name));
    match similar.max_by(|(a, _), (b, _)| a.total_cmp(b)) {
        Some((similarity, nearest)) if similarity >= SIMILARITY_MIN => {
            format!("did you mean `{nearest}`?")
        }
        _ => format!("expected one of {}", names.join(", ")),
    }
}

/// Loads all settings, including the environment of this process. Prints a warning for variables that are no setting:
/// with a typo the default would stay in force, silently. Such variables are not refused, because Kubernetes may set
/// `PALPATE_PORT` and the like for a service of that name.
fn of_process(file: Option<&Path>, flags: &[Setting]) -> Result<Config, ConfigError> {
    let config = Config::load(file, env::vars_os(), flags)?;
    let without_use = without_use(env::vars_os().filter_map(|(name, _)| name.into_string().ok()));
    if !without_use.is_empty() {
        let names = without_use.join(", ");
        eprintln!("palpate: no setting has this name, it is ignored: {names}");
    }
    Ok(config)
}

/// Returns the names that look like a setting's variable but are none.
fn without_use(names: impl Iterator<Item = String>) -> Vec<String> {
    let settings: Vec<_> = keys().iter().map(|key| variable(key)).collect();
    let is_known = |name: &String| settings.contains(name) || OTHER_VARIABLES.contains(&&name[..]);
    names.filter(|name| name.starts_with(PREFIX) && !is_known(name)).collect()
}

/// Returns the name of a key in the environment.
fn variable(key: &str) -> String {
    format!("{PREFIX}{}", key.replace('.', "_").to_uppercase())
}

/// Returns the settings in the environment. Other variables may begin with `PALPATE_`, but not with a section's name.
fn from_environment(
    variables: impl Iterator<Item = (OsString, OsString)>,
) -> Result<Vec<Setting>, ConfigError> {
    let keys = keys();
    let mut settings = Vec::new();
    for (name, text) in variables {
        let Ok(name) = name.into_string() else { continue };
        let Some(rest) = name.strip_prefix(PREFIX) else { continue };
        let text = text.to_string_lossy().into_owned();
        match keys.iter().find(|key| variable(key) == name) {
            Some(key) => settings.push(Setting { key: key.clone(), origin: name, text }),
            None => {
                if let Some((old, new)) = renamed::of_variable(&name, variable) {
                    let (old, new) = (old.to_owned(), format!("{new} ({})", variable(new)));
                    return Err(ConfigError::Renamed { origin: name, old, new });
                }
                // With a typo in a variable the default would otherwise stay in force, silently.
                let rest = rest.to_lowercase();
                let of_section = |key: &String| {
                    key.split_once('.').is_some_and(|(s, _)| rest.starts_with(&format!("{s}_")))
                };
                if keys.iter().any(of_section) {
                    let of_section = keys.iter().filter(|k| of_section(k));
                    let variables: Vec<_> = of_section.map(|key| variable(key)).collect();
                    let expected = expected(&name, &variables);
                    return Err(ConfigError::UnknownKey { origin: name, key: rest, expected });
                }
            }
        }
    }
    Ok(settings)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const COMMENTED: &str =
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/deploy/palpate.toml"));

    fn setting(key: &str, text: &str) -> Setting {
        Setting { origin: "--set".to_owned(), key: key.to_owned(), text: text.to_owned() }
    }

    fn variables(pairs: &[(&str, &str)]) -> impl Iterator<Item = (OsString, OsString)> {
        pairs.iter().map(|(n, t)| (n.into(), t.into())).collect::<Vec<_>>().into_iter()
    }

    #[test]
    fn the_commented_file_has_every_key_with_its_default_and_a_comment() {
        let written: Table = COMMENTED.parse().expect("TOML");
        assert_eq!(written, table(&Config::default()));
        let lines: Vec<&str> = COMMENTED.lines().collect();
        for two in lines.windows(2).filter(|two| two[1].contains(" = ")) {
            assert!(two[0].starts_with("# "), "{:?} has no comment above it", two[1]);
        }
    }

    #[test]
    fn settings_that_differ_from_the_default_are_listed() {
        let none = Config::default().changes();
        assert_eq!(none, "# Each setting has its default.\n\n");
        let settings = [setting("sessions.grace", "3s"), setting("insecure", "true")];
        let changes = Config::load(None, variables(&[]), &settings).expect("good").changes();
        let expected = "# Settings that differ from the default:\n#   insecure = true (default: false)\n\
                        #   sessions.grace = \"3s\" (default: \"10s\")\n\n";
        assert_eq!(changes, expected);
    }

    #[test]
    fn flags_go_before_variables_and_variables_before_the_file() {
        let env = [("PALPATE_LISTEN", "127.0.0.1:1"), ("PALPATE_SESSIONS_GRACE", "3s")];
        let flags = [setting("listen", "127.0.0.1:2")];
        let config = Config::load(None, variables(&env), &flags).expect("good");
        assert_eq!(config.listen.port(), 2);
        assert_eq!(config.sessions.grace, Duration::from_secs(3));
        assert_eq!(config.limits, Config::default().limits);
    }

    #[test]
    fn other_variables_are_left_alone_but_not_those_of_a_section() {
        let env = [("PALPATE_SEED", "7"), ("PALPATE_TEST_SCALE", "1"), ("HOME", "/")];
        Config::load(None, variables(&env), &[]).expect("good");
        let typo = [("PALPATE_TRANSPORT_CONECTIONS_MAX", "7")];
        let error = Config::load(None, variables(&typo), &[]).expect_err("a typo").to_string();
        assert!(error.contains("PALPATE_TRANSPORT_CONECTIONS_MAX"), "{error}");
        assert!(error.contains("PALPATE_TRANSPORT_CONNECTIONS_MAX"), "{error}");
    }

    #[test]
    fn a_variable_that_nobody_reads_is_told() {
        let names =
            ["PALPATE_LISTN", "PALPATE_LISTEN", "PALPATE_SEED", "PALPATE_STORE_URL", "PATH"];
        assert_eq!(without_use(names.into_iter().map(str::to_owned)), ["PALPATE_LISTN"]);
    }

    #[test]
    fn a_renamed_setting_is_refused_with_its_new_name() {
        let said = "access.look_every was renamed: use access.reload_interval";
        let flags = [setting("access.look_every", "2s")];
        let flag = Config::load(None, variables(&[]), &flags).expect_err("renamed").to_string();
        assert_eq!(flag, format!("--set: {said}"));
        let env = [("PALPATE_ACCESS_LOOK_EVERY", "2s")];
        let variable = Config::load(None, variables(&env), &[]).expect_err("renamed").to_string();
        let new = "(PALPATE_ACCESS_RELOAD_INTERVAL)";
        assert_eq!(variable, format!("PALPATE_ACCESS_LOOK_EVERY: {said} {new}"));
        // Each new name is a key; no old name is.
        let keys = keys();
        for (old, new) in renamed::RENAMED {
            assert!(
                keys.iter().any(|key| key == new) && keys.iter().all(|key| key != old),
                "{old}"
            );
        }
    }

    #[test]
    fn a_bad_setting_is_refused_with_its_origin_key_and_value() {
        let cases = [
            ("sessions.grace", "3", &["sessions.grace", "\"3\"", "a unit, as \"5s\""][..]),
            ("listen", "localhost:7447", &["\"localhost:7447\"", "port, as 127.0.0.1:7447"]),
            ("sessions.grace", "48h", &["sessions.grace", "172800s", "86400s"]),
            ("sessions", "3", &["no key \"sessions\"", "sessions.grace"]),
            ("transport.none", "3", &["no key \"transport.none\", expected one of access."]),
            ("tick.time_max", "2ms", &["tick.time_max\", did you mean `ticks.time_max`?"]),
            ("time_maks", "2ms", &["did you mean `ticks.time_max`?"]),
            ("ticks.key_share", "half", &["ticks.key_share", "\"half\"", "a number"]),
            ("ticks.key_share", "1.5", &["ticks.key_share is 1.5", "from 0.05 to 1"]),
            ("transport.connections_max", "0", &["transport.connections_max is 0", "from 1"]),
            ("transport.connections_max", "many", &["\"many\"", "whole number"]),
            ("transport.stream_window_bytes", "5000000000", &["5000000000"]),
            ("insecure", "yes", &["\"yes\"", "true or false"]),
            ("log.format", "xml", &["xml", "json"]),
            #[cfg(not(feature = "otlp"))]
            ("log.otlp_endpoint", "http://127.0.0.1:4317", &["otlp_endpoint", "--features otlp"]),
            #[cfg(feature = "otlp")]
            (
                "log.otlp_endpoint",
                "https://collector",
                &["https://collector", "http://127.0.0.1:4317"],
            ),
            #[cfg(not(feature = "s3"))]
            ("store.url", "s3://scenes/or", &["store.url", "--features s3"]),
            #[cfg(feature = "s3")]
            ("store.url", "s3://scenes/or", &["store.url", "cluster.shared"]),
            #[cfg(not(feature = "gcs"))]
            ("store.url", "gs://scenes/or", &["store.url", "--features gcs"]),
            #[cfg(feature = "gcs")]
            ("store.url", "gs://scenes/or", &["store.url", "cluster.shared"]),
            #[cfg(not(feature = "azure"))]
            ("store.url", "az://scenes/or", &["store.url", "--features azure"]),
            #[cfg(feature = "azure")]
            ("store.url", "az://scenes/or", &["store.url", "cluster.shared"]),
            ("store.url", "https://scenes", &["https://scenes", "s3://BUCKET/PREFIX"]),
            ("metrics.listen", "9464", &["metrics.listen", "9464", "as 127.0.0.1:7447"]),
            ("listen", "0.0.0.0:1", &["0.0.0.0:1", "loopback", "--insecure"]),
            ("access.client_ca_file", "ca.pem", &["client_ca_file", "certificate_file"]),
            ("access.certificate_file", "a.pem", &["private_key_file"]),
        ];
        for (key, text, parts) in cases {
            let refused = Config::load(None, variables(&[]), &[setting(key, text)]);
            let error = refused.expect_err(key).to_string();
            for part in parts {
                assert!(error.contains(part), "{key} = {text}: {error:?} lacks {part:?}");
            }
        }
    }

    #[test]
    fn a_public_address_needs_tls_and_a_key_or_to_be_told_twice() {
        let public = setting("listen", "0.0.0.0:7447");
        let set = |keys: &[(&str, &str)]| {
            let mut settings = vec![setting("listen", &public.text)];
            settings.extend(keys.iter().map(|(k, t)| setting(k, t)));
            Config::load(None, variables(&[]), &settings)
        };
        let tls = [("access.keys_file", "k"), ("access.certificate_file", "c")];
        // Neither is enough alone.
        set(&tls[..1]).expect_err("plain text");
        set(&[("insecure", "true")]).expect("told twice");
        let both: Vec<_> = tls.iter().copied().chain([("access.private_key_file", "p")]).collect();
        let ordered: Vec<_> = both.iter().rev().copied().collect();
        set(&ordered).expect("TLS and keys");
        set(&ordered[..2]).expect_err("no keys");
    }
}
