//! Keys files and calls with their secrets.

use std::{path::Path, time::Duration};

use palpate::config::{self, Config};
use tonic::Request;

pub const SURGEON: &str = "surgeon-0123456789";
pub const OTHER: &str = "other-0123456789ab";
pub const VIEWER: &str = "viewer-0123456789a";
pub const ADMIN: &str = "admin-0123456789ab";

pub fn key(name: &str, role: &str, secret: &str, quotas: &str) -> String {
    format!("[[key]]\nname = \"{name}\"\nrole = \"{role}\"\nsecret = \"{secret}\"\n{quotas}\n")
}

pub fn all_keys(quotas: &str) -> String {
    key("surgeon", "full", SURGEON, quotas)
        + &key("other", "full", OTHER, "")
        + &key("viewer", "read-only", VIEWER, "")
        + &key("admin", "admin", ADMIN, "")
}

pub fn with_keys(file: &Path) -> Config {
    let reload_interval = Duration::from_millis(10);
    let access = config::AccessSettings {
        keys_file: Some(file.to_owned()),
        reload_interval,
        ..Default::default()
    };
    Config { access, ..Config::default() }
}

pub fn by<T>(secret: &str, message: T) -> Request<T> {
    let mut request = Request::new(message);
    let value = format!("Bearer {secret}").parse().expect("ASCII");
    request.metadata_mut().insert("authorization", value);
    request
}
