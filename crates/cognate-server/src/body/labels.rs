//! Labels that come later, by the ids of their examples.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::example::{Name, Number, place};
use super::list::{Elements, TopKeys, Where};
use super::{Found, Purpose, Reading, shown, syntax, text};
use crate::failure::{Code, Failure};

/// Reads `{"labels": [{"id": …, "label": …}]}`.
///
/// # Errors
/// With the place of the first thing that is wrong.
pub fn labels(body: &[u8]) -> Result<Vec<(String, f64)>, Failure> {
    let mut found = FoundLabels { out: Vec::new(), bad: None, key: "", place: Where::default() };
    let mut json = serde_json::Deserializer::from_str(text(body)?);
    let read = json.deserialize_map(TopKeys { name: "labels", found: &mut found }).and_then(|()| json.end());
    match read {
        Ok(()) => Ok(found.out),
        Err(error) => {
            let failure = found.bad.take().unwrap_or_else(|| syntax(&error));
            Err(match found.place {
                Where::Element => failure.at(format!("labels[{}]{}", found.out.len(), found.key)),
                Where::List if failure.path.is_none() => failure.at("labels"),
                _ => failure,
            })
        }
    }
}

/// What has been read of labels.
struct FoundLabels {
    out: Vec<(String, f64)>,
    bad: Option<Failure>,
    key: &'static str,
    place: Where,
}

impl Elements for FoundLabels {
    fn is_at(&mut self, place: Where) {
        self.place = place;
    }

    fn next<'de, A: SeqAccess<'de>>(&mut self, list: &mut A) -> Result<bool, A::Error> {
        self.key = "";
        let Some(read) = list.next_element_seed(OneLabel(self))? else { return Ok(false) };
        self.out.push(read);
        Ok(true)
    }

    fn refused<E: Error>(&mut self, failure: Failure) -> E {
        self.bad = Some(failure);
        E::custom("")
    }
}

struct OneLabel<'f>(&'f mut FoundLabels);

impl<'de> DeserializeSeed<'de> for OneLabel<'_> {
    type Value = (String, f64);

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        self.0.place = Where::Element;
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for OneLabel<'_> {
    type Value = (String, f64);

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("{\"id\": …, \"label\": …}")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let found = self.0;
        // The same rules as in an example.
        let reading = Reading { purpose: Purpose::Learn, max_features: 0, takes_unknown: false };
        let mut inner = Found::new(reading);
        let (mut id, mut label) = (None, None);
        let mut read = || -> Result<(), A::Error> {
            while let Some(key) = map.next_key::<Cow<'de, str>>()? {
                found.key = place(&key);
                match key.as_ref() {
                    "id" if id.is_none() => {
                        id = Some(map.next_value_seed(Name(&mut inner, "id"))?.into_owned());
                    }
                    "label" if label.is_none() => {
                        label = Some(map.next_value_seed(Number(&mut inner, "label"))?);
                    }
                    other => {
                        found.key = "";
                        let message = format!("found key {}; expected id and label, once each", shown(other));
                        map.next_value::<IgnoredAny>()?;
                        return Err(inner.refuse(Failure::new(Code::Malformed, message)));
                    }
                }
            }
            Ok(())
        };
        let outcome = read();
        if let Some(bad) = inner.bad {
            found.bad = Some(bad);
        }
        outcome?;
        match (id, label) {
            (Some(id), Some(label)) => Ok((id, label)),
            (id, _) => {
                found.key = "";
                let missing = if id.is_none() { "id" } else { "label" };
                let message = format!("found no {missing:?}; expected {{\"id\": …, \"label\": …}}");
                Err(found.refused(Failure::new(Code::Malformed, message)))
            }
        }
    }
}
