//! Listening addresses of settings and arguments.

use std::net::SocketAddr;

use serde::{Deserialize, Deserializer, de::Error};

/// Parses an IP address and port. Names are rejected: a name may resolve to several addresses, and to others later.
///
/// # Errors
/// The text that was got and the form that is expected.
pub fn parse(text: &str) -> Result<SocketAddr, String> {
    text.parse()
        .map_err(|_| format!("got {text:?}, expected an IP address and port, as 127.0.0.1:7447"))
}

pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SocketAddr, D::Error> {
    parse(&String::deserialize(deserializer)?).map_err(D::Error::custom)
}

/// Returns `None` for an empty text.
pub fn deserialize_unset<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<SocketAddr>, D::Error> {
    let text = String::deserialize(deserializer)?;
    let address = (!text.is_empty()).then(|| parse(&text));
    address.transpose().map_err(D::Error::custom)
}
