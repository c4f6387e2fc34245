//! Externally tagged choices that may also be written as a bare name.
//!
//! `{"coupled": {"b": 4}}` names a choice and its parameters; where every parameter has a default, `"coupled"` is
//! enough. Serde's derive accepts only the first for a variant that holds a struct.

use serde::de::{DeserializeSeed, MapAccess, value::MapDeserializer};
use serde::{Deserialize, Serialize};

/// A choice without parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoParameters {}

/// A number, or "auto": the learner finds it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Tunable {
    /// This number.
    Fixed(f64),
    /// The learner finds it; written "auto".
    Auto,
}

const AUTO: &str = "auto";

impl Tunable {
    /// The schema of a number that may be 0.
    pub(crate) fn at_least_zero(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "anyOf": [{"type": "number", "minimum": 0.0}, {"type": "string", "const": AUTO}],
        })
    }

    /// The schema of a positive number.
    pub(crate) fn positive(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "anyOf": [{"type": "number", "exclusiveMinimum": 0.0}, {"type": "string", "const": AUTO}],
        })
    }
}

impl Serialize for Tunable {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Fixed(number) => serializer.serialize_f64(*number),
            Self::Auto => serializer.serialize_str(AUTO),
        }
    }
}

impl<'de> Deserialize<'de> for Tunable {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TunableVisitor;
        impl serde::de::Visitor<'_> for TunableVisitor {
            type Value = Tunable;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("a number or \"auto\"")
            }

            fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<Tunable, E> {
                Ok(Tunable::Fixed(number))
            }

            fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<Tunable, E> {
                Ok(Tunable::Fixed(number as f64))
            }

            fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<Tunable, E> {
                Ok(Tunable::Fixed(number as f64))
            }

            fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<Tunable, E> {
                match name {
                    AUTO => Ok(Tunable::Auto),
                    _ => Err(E::invalid_value(serde::de::Unexpected::Str(name), &self)),
                }
            }
        }
        deserializer.deserialize_any(TunableVisitor)
    }
}

/// A map of one entry: a name, and no parameters.
pub(crate) struct BareName<'a, E> {
    name: Option<&'a str>,
    error: std::marker::PhantomData<E>,
}

impl<'a, E> BareName<'a, E> {
    pub(crate) fn new(name: &'a str) -> Self {
        Self { name: Some(name), error: std::marker::PhantomData }
    }
}

impl<'de, E: serde::de::Error> MapAccess<'de> for BareName<'_, E> {
    type Error = E;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, E> {
        self.name
            .take()
            .map(|name| seed.deserialize(serde::de::value::StrDeserializer::new(name)))
            .transpose()
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, E> {
        let nothing = std::iter::empty::<(&str, &str)>();
        seed.deserialize(MapDeserializer::<_, E>::new(nothing))
    }
}

/// Implements serde for an enum that derives it with `#[serde(remote = "Self")]`, accepting bare names.
macro_rules! choice {
    ($type:ident, $what:literal) => {
        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Choice;
                impl<'de> serde::de::Visitor<'de> for Choice {
                    type Value = $type;

                    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        formatter
                            .write_str(concat!($what, ": a name, or a table of one name and its parameters"))
                    }

                    fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<$type, E> {
                        let map = crate::choice::BareName::new(name);
                        $type::deserialize(serde::de::value::MapAccessDeserializer::new(map))
                    }

                    fn visit_map<A: serde::de::MapAccess<'de>>(self, map: A) -> Result<$type, A::Error> {
                        $type::deserialize(serde::de::value::MapAccessDeserializer::new(map))
                    }
                }
                deserializer.deserialize_any(Choice)
            }
        }

        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                $type::serialize(self, serializer)
            }
        }
    };
}
pub(crate) use choice;

/// Adds the bare names to the schema of a choice: each tag whose parameters all have defaults.
pub(crate) fn allow_bare_names(schema: &mut schemars::Schema) {
    let Some(variants) = schema.get("oneOf").and_then(|variants| variants.as_array()).cloned() else {
        return;
    };
    // What holds a list or a text has no default; a table has, or is refused by what it lacks.
    let has_parameters = |variant: &&serde_json::Value, tag: &str| {
        !matches!(variant["properties"][tag]["type"].as_str(), Some("array" | "string"))
    };
    let tags = variants
        .iter()
        .filter_map(|variant| variant["required"][0].as_str().filter(|tag| has_parameters(&variant, tag)));
    let names: Vec<&str> = tags.collect();
    let mut variants = variants.clone();
    variants.insert(
        0,
        serde_json::json!({
            "type": "string",
            "enum": names,
            "description": "The name alone: every parameter has its default",
        }),
    );
    schema.insert("oneOf".to_owned(), variants.into());
}
