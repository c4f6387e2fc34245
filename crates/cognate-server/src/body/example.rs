//! One example.

use std::borrow::Cow;
use std::fmt;

use cognate::model::Beside;
use cognate::stream::Problem;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, Visitor};

use super::features::Features;
use super::list::Where;
use super::{Found, LONGEST_NAME, Purpose, shown};
use crate::examples::Row;
use crate::failure::{Code, Failure};

/// One example.
pub(super) struct One<'f>(pub(super) &'f mut Found);

impl<'de> DeserializeSeed<'de> for One<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        self.0.place = Where::Element;
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for One<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an example: {\"task\": …, \"features\": {\"name\": 0.5, …}, \"label\": …}")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let found = self.0;
        let keys = found.reading.purpose.keys();
        let mut seen = [false; 7];
        let (mut task, mut id, mut features) = (None, None, None);
        let (mut label, mut beside) = (None, Beside::default());
        found.key = "";
        while let Some(key) = map.next_key::<Cow<'de, str>>()? {
            let Some(at) = keys.iter().position(|known| *known == key) else {
                found.key = "";
                let problem = Problem::Key {
                    found: shown(&key),
                    expected: keys.iter().map(|key| (*key).to_owned()).collect(),
                };
                let failure = Failure::new(Code::Malformed, problem.to_string());
                return Err(found.refuse(failure));
            };
            found.key = place(keys[at]);
            if std::mem::replace(&mut seen[at], true) {
                let message = format!("found key {} a second time; an example holds it once", shown(&key));
                return Err(found.refuse(Failure::new(Code::Malformed, message)));
            }
            match keys[at] {
                "task" => task = Some(map.next_value_seed(Name(&mut *found, "task"))?),
                "id" => id = Some(map.next_value_seed(Name(&mut *found, "id"))?),
                "features" => features = Some(map.next_value_seed(Features(&mut *found))?),
                "label" => label = Some(map.next_value_seed(Number(&mut *found, "label"))?),
                "weight" => beside.weight = map.next_value_seed(Number(&mut *found, "weight"))?,
                "offset" => beside.offset = map.next_value_seed(Number(&mut *found, "offset"))?,
                _ => beside.time = Some(map.next_value_seed(Number(&mut *found, "time"))?),
            }
        }
        found.key = "";
        let Some(features) = features else {
            let message = "found no \"features\"; expected {\"features\": {\"name\": 0.5, …}}";
            return Err(found.refuse(Failure::new(Code::Malformed, message)));
        };
        if found.reading.purpose == Purpose::Learn && label.is_none() {
            return Err(found.problem(&Problem::NoLabel { found: "none".to_owned() }));
        }
        // `?` stands for a label that is not known.
        let label = label.filter(|label| !label.is_nan());
        let features = features.as_row();
        found.out.push(&Row { task: task.as_deref(), label, id: id.as_deref(), beside, features });
        Ok(())
    }
}

/// The place of a key in an example.
pub(super) fn place(key: &str) -> &'static str {
    match key {
        "task" => ".task",
        "id" => ".id",
        "features" => ".features",
        "label" => ".label",
        "weight" => ".weight",
        "offset" => ".offset",
        _ => ".time",
    }
}

/// The name of a task, or an id: text, or a whole number.
pub(super) struct Name<'f>(pub(super) &'f mut Found, pub(super) &'static str);

impl<'de> DeserializeSeed<'de> for Name<'_> {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl Name<'_> {
    fn check<E: Error>(self, name: Cow<'_, str>) -> Result<Cow<'_, str>, E> {
        let is_name = !name.is_empty() && !name.bytes().any(|byte| byte.is_ascii_control());
        if name.len() > LONGEST_NAME {
            let message = format!("found a name of {} bytes; expected at most {LONGEST_NAME}", name.len());
            return Err(self.0.refuse(Failure::new(Code::OutOfRange, message)));
        }
        match self.1 {
            _ if is_name => Ok(name),
            "task" => Err(self.0.problem(&Problem::TaskName { found: shown(&name) })),
            _ => Err(self.0.problem(&Problem::Id { found: shown(&name) })),
        }
    }
}

impl<'de> Visitor<'de> for Name<'_> {
    type Value = Cow<'de, str>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a text, or a whole number")
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
        self.check(Cow::Borrowed(text))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        self.check(Cow::Owned(text.to_owned()))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Self::Value, E> {
        Ok(Cow::Owned(number.to_string()))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Self::Value, E> {
        Ok(Cow::Owned(number.to_string()))
    }
}

/// The label of an example that has none.
const UNKNOWN: &str = "?";

/// A number under a key.
pub(super) struct Number<'f>(pub(super) &'f mut Found, pub(super) &'static str);

impl<'de> DeserializeSeed<'de> for Number<'_> {
    type Value = f64;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<f64, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl Number<'_> {
    fn refuse<E: Error>(self, found: String) -> E {
        let problem = match self.1 {
            "label" => Problem::Label { found },
            "weight" => Problem::Weight { found },
            "offset" => Problem::Offset { found },
            _ => Problem::Time { found },
        };
        self.0.problem(&problem)
    }
}

impl Visitor<'_> for Number<'_> {
    type Value = f64;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a number")
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<f64, E> {
        Ok(number)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<f64, E> {
        Ok(number as f64)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<f64, E> {
        Ok(number as f64)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<f64, E> {
        if self.1 == "label" && text == UNKNOWN && self.0.reading.takes_unknown {
            return Ok(f64::NAN);
        }
        Err(self.refuse(shown(text)))
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<f64, E> {
        Err(self.refuse(value.to_string()))
    }

    fn visit_unit<E: Error>(self) -> Result<f64, E> {
        if self.1 == "label" {
            return Err(self.0.problem(&Problem::NoLabel { found: "null".to_owned() }));
        }
        Err(self.refuse("null".to_owned()))
    }
}
