//! Optional settings in a format without null: an empty string is `None`.

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{DeserializeOwned, IntoDeserializer, value},
};

pub fn serialize<T: Serialize, S: Serializer>(
    setting: &Option<T>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match setting {
        Some(value) => value.serialize(serializer),
        None => serializer.serialize_str(""),
    }
}

pub fn deserialize<'de, T: DeserializeOwned, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    let text = String::deserialize(deserializer)?;
    if text.is_empty() {
        return Ok(None);
    }
    let read = T::deserialize(text.clone().into_deserializer());
    let named = |e: value::Error| serde::de::Error::custom(format!("{e}, got {text:?}"));
    read.map(Some).map_err(named)
}
