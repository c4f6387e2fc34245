//! The features of an example: by name, by number, or a list of names.

use std::borrow::Cow;
use std::fmt;

use cognate::FeatureValue;
use cognate::stream::Problem;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::{Found, shown};
use crate::examples::RowFeatures;
use crate::failure::{Code, Failure};

/// Features as they are read.
#[derive(Default)]
pub(super) struct Read<'de> {
    pairs: Vec<(Cow<'de, str>, f64)>,
    texts: Vec<(usize, Cow<'de, str>)>,
    indices: Option<Vec<u32>>,
    values: Option<Vec<f64>>,
}

impl Read<'_> {
    pub(super) fn as_row(&self) -> RowFeatures<'_> {
        if let (Some(indices), Some(values)) = (&self.indices, &self.values) {
            return RowFeatures::Numbered(indices.iter().copied().zip(values.iter().copied()).collect());
        }
        let named = self.pairs.iter().map(|(name, value)| (name.as_ref(), *value));
        if self.texts.is_empty() {
            return RowFeatures::Named(named.collect());
        }
        let mut pairs: Vec<_> = named.map(|(name, value)| (name, FeatureValue::Number(value))).collect();
        for (at, text) in &self.texts {
            pairs[*at].1 = FeatureValue::Text(text);
        }
        RowFeatures::Mixed(pairs)
    }

    fn len(&self) -> usize {
        self.pairs
            .len()
            .max(self.indices.as_ref().map_or(0, Vec::len))
            .max(self.values.as_ref().map_or(0, Vec::len))
    }
}

pub(super) struct Features<'f>(pub(super) &'f mut Found);

impl<'de> DeserializeSeed<'de> for Features<'_> {
    type Value = Read<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Read<'de>, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl Features<'_> {
    fn check_length<E: Error>(&mut self, read: &Read<'_>) -> Result<(), E> {
        let most = self.0.reading.max_features;
        if read.len() <= most {
            return Ok(());
        }
        let message = format!("found more than {most} features; an example may have so many");
        Err(self.0.refuse(Failure::new(Code::OutOfRange, message).hint("--max-features allows more")))
    }
}

impl<'de> Visitor<'de> for Features<'_> {
    type Value = Read<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .write_str("features: {\"name\": 0.5, …}, [\"name\", …] or {\"indices\": […], \"values\": […]}")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<Read<'de>, A::Error> {
        let mut read = Read::default();
        while let Some(name) = map.next_key::<Cow<'de, str>>()? {
            map.next_value_seed(Value { found: &mut *self.0, name, read: &mut read })?;
            self.check_length(&read)?;
        }
        let Read { pairs, indices, values, .. } = &read;
        match (indices, values) {
            (None, None) => Ok(read),
            (Some(indices), Some(values)) if pairs.is_empty() && indices.len() == values.len() => Ok(read),
            (Some(indices), Some(values)) if pairs.is_empty() => {
                let (indices, values) = (indices.len(), values.len());
                let message = format!("{indices} indices and {values} values; there must be as many of each");
                Err(self.0.refuse(Failure::new(Code::OutOfRange, message)))
            }
            _ => {
                let message = "found a list among named features; expected numbers, or \"indices\" and \"values\" alone";
                Err(self.0.refuse(Failure::new(Code::Malformed, message)))
            }
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<Read<'de>, A::Error> {
        let mut read = Read::default();
        let mut places = std::collections::BTreeMap::new();
        while let Some(name) = list.next_element_seed(Token)? {
            let next = read.pairs.len();
            match places.get(&name) {
                Some(at) => {
                    let pair: &mut (Cow<'_, str>, f64) = &mut read.pairs[*at];
                    pair.1 += 1.0;
                }
                None => {
                    places.insert(name.clone(), next);
                    read.pairs.push((name, 1.0));
                }
            }
            self.check_length(&read)?;
        }
        Ok(read)
    }
}

/// A name in a list.
struct Token;

impl<'de> DeserializeSeed<'de> for Token {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Token {
    type Value = Cow<'de, str>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("texts, each a feature of value 1")
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(text))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(text.to_owned()))
    }
}

/// The value of a feature, or a list of indices or values.
struct Value<'f, 'r, 'de> {
    found: &'f mut Found,
    name: Cow<'de, str>,
    read: &'r mut Read<'de>,
}

impl<'de> DeserializeSeed<'de> for Value<'_, '_, 'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Value<'_, '_, 'de> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a finite number, a text, true or false")
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<(), E> {
        self.read.pairs.push((self.name, number));
        Ok(())
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<(), E> {
        self.visit_f64(number as f64)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<(), E> {
        self.visit_f64(number as f64)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<(), E> {
        self.visit_f64(f64::from(u8::from(value)))
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<(), E> {
        self.read.texts.push((self.read.pairs.len(), Cow::Borrowed(text)));
        self.read.pairs.push((self.name, 1.0));
        Ok(())
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        self.read.texts.push((self.read.pairs.len(), Cow::Owned(text.to_owned())));
        self.read.pairs.push((self.name, 1.0));
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let most = self.found.reading.max_features;
        match self.name.as_ref() {
            "indices" if self.read.indices.is_none() => {
                let mut indices = Vec::new();
                while let Some(index) = list.next_element::<u32>()? {
                    indices.push(index);
                    if indices.len() > most {
                        break;
                    }
                }
                self.read.indices = Some(indices);
            }
            "values" if self.read.values.is_none() => {
                let mut values = Vec::new();
                while let Some(value) = list.next_element::<f64>()? {
                    values.push(value);
                    if values.len() > most {
                        break;
                    }
                }
                self.read.values = Some(values);
            }
            name => {
                let problem = Problem::FeatureValue { found: "a list".to_owned(), feature: shown(name) };
                return Err(self.found.problem(&problem));
            }
        }
        if self.read.len() > most {
            let message = format!("found more than {most} features; an example may have so many");
            return Err(self
                .found
                .refuse(Failure::new(Code::OutOfRange, message).hint("--max-features allows more")));
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, _: A) -> Result<(), A::Error> {
        let problem = Problem::FeatureValue { found: "an object".to_owned(), feature: shown(&self.name) };
        Err(self.found.problem(&problem))
    }
}
