//! What is around examples, or labels: a map of one key, whose value is a list.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::{shown, shown_key};
use crate::failure::{Code, Failure};

/// A body that is a map of one key, whose value is a list.
pub(super) struct TopKeys<'f, F> {
    pub(super) name: &'static str,
    pub(super) found: &'f mut F,
}

/// Where in a body something is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Where {
    /// Before the list or behind it.
    #[default]
    Outside,
    /// Between its elements.
    List,
    /// In one of them.
    Element,
}

/// Reads the elements of the list.
pub(super) trait Elements {
    fn is_at(&mut self, place: Where);
    fn next<'de, A: SeqAccess<'de>>(&mut self, list: &mut A) -> Result<bool, A::Error>;
    fn refused<E: Error>(&mut self, failure: Failure) -> E;
}

impl<'de, F: Elements> Visitor<'de> for TopKeys<'_, F> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{{\"{}\": […]}}", self.name)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut seen = false;
        while let Some(key) = map.next_key::<Cow<'de, str>>()? {
            if key != self.name || seen {
                let what = if seen && key == self.name { "a second time" } else { "" };
                let message = format!("found key {} {what}; expected one of {}", shown(&key), self.name);
                let message = message.replace(" ;", ";");
                return Err(self.found.refused(Failure::new(Code::Malformed, message).at(shown_key(&key))));
            }
            seen = true;
            map.next_value_seed(ListOf(&mut *self.found))?;
        }
        if seen {
            return Ok(());
        }
        let message = format!("found no {:?}; expected {{\"{}\": […]}}", self.name, self.name);
        Err(self.found.refused(Failure::new(Code::Malformed, message).at(self.name)))
    }
}

pub(super) struct ListOf<'f, F>(&'f mut F);

impl<'de, F: Elements> DeserializeSeed<'de> for ListOf<'_, F> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        self.0.is_at(Where::List);
        deserializer.deserialize_seq(self)
    }
}

impl<'de, F: Elements> Visitor<'de> for ListOf<'_, F> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while self.0.next(&mut list)? {
            self.0.is_at(Where::List);
        }
        self.0.is_at(Where::Outside);
        Ok(())
    }
}
