//! Durations with a unit in settings.

use std::{fmt, time::Duration};

use humantime_serde::re::humantime::parse_duration;
use serde::{
    Deserializer,
    de::{Error, Unexpected, Visitor},
};

pub use humantime_serde::serialize;

/// Names the expected unit, which most rejected values lack.
struct WithUnit;

impl Visitor<'_> for WithUnit {
    type Value = Duration;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a duration with a unit, as \"5s\"")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Duration, E> {
        parse_duration(text).map_err(|_| E::invalid_value(Unexpected::Str(text), &self))
    }
}

pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    deserializer.deserialize_str(WithUnit)
}
