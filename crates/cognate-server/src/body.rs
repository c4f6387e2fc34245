//! What do the bodies of requests say? JSON, or one example a line, straight into the form of the log.
//!
//! `list` reads what is around the examples, `example` one of them, `features` its features, `labels` labels that come later.

mod example;
mod features;
mod labels;
mod list;

use cognate::stream::Problem;
use serde::de::{DeserializeSeed, Deserializer, Error, SeqAccess};

use crate::examples::Examples;
use crate::failure::{Code, Failure};
use example::One;
pub use labels::labels;
use list::{Elements, TopKeys, Where};

/// Bytes of the name of a task, or of an id.
pub(crate) const LONGEST_NAME: usize = 1024;

/// What examples are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// They have labels.
    Learn,
    /// They have none.
    Predict,
}

impl Purpose {
    fn keys(self) -> &'static [&'static str] {
        match self {
            Self::Learn => &["task", "features", "label", "weight", "offset", "time", "id"],
            Self::Predict => &["task", "features", "id", "weight", "time"],
        }
    }
}

/// How bodies are read.
#[derive(Debug, Clone, Copy)]
pub struct Reading {
    /// What for.
    pub purpose: Purpose,
    /// Most features of an example.
    pub max_features: usize,
    /// Whether `?` may stand for a label that is not known.
    pub takes_unknown: bool,
}

/// The text of a body.
fn text(body: &[u8]) -> Result<&str, Failure> {
    std::str::from_utf8(body).map_err(|error| {
        let message =
            format!("byte {} of the body is not UTF-8; expected JSON in UTF-8", error.valid_up_to() + 1);
        Failure::new(Code::Malformed, message)
    })
}

/// What the parser of JSON itself says.
fn syntax(error: &serde_json::Error) -> Failure {
    let message = error.to_string();
    if message.starts_with("number out of range") {
        let message = format!("{message}; expected a finite number of at most {:e}", cognate::LARGEST_VALUE);
        return Failure::new(Code::OutOfRange, message);
    }
    Failure::new(Code::Malformed, format!("the body is not what was expected: {message}"))
}

impl Reading {
    /// Reads `{"examples": […]}`.
    ///
    /// # Errors
    /// With the place of the first thing that is wrong.
    pub fn json(self, body: &[u8]) -> Result<Examples, Failure> {
        let mut found = Found::new(self);
        let mut json = serde_json::Deserializer::from_str(text(body)?);
        let read =
            json.deserialize_map(TopKeys { name: "examples", found: &mut found }).and_then(|()| json.end());
        found.finish(read)
    }

    /// Reads one example a line.
    ///
    /// # Errors
    /// As [`Self::json`].
    pub fn lines(self, body: &[u8]) -> Result<Examples, Failure> {
        let mut found = Found::new(self);
        for (number, line) in text(body)?.lines().enumerate() {
            if line.trim().is_empty() {
                continue;
            }
            let mut json = serde_json::Deserializer::from_str(line);
            let read = One(&mut found).deserialize(&mut json).and_then(|()| json.end());
            if let Err(error) = read {
                found.place = Where::Element;
                let mut failure = found.failure(&error);
                failure.message = format!("line {}: {}", number + 1, failure.message);
                return Err(failure);
            }
            found.at += 1;
        }
        Ok(found.out)
    }
}

/// What has been read of examples.
struct Found {
    reading: Reading,
    out: Examples,
    /// What is wrong, beyond what JSON itself says.
    bad: Option<Failure>,
    /// The example under way, and the key in it.
    at: usize,
    key: &'static str,
    place: Where,
}

impl Found {
    fn new(reading: Reading) -> Self {
        Self { reading, out: Examples::default(), bad: None, at: 0, key: "", place: Where::default() }
    }

    fn failure(&mut self, error: &serde_json::Error) -> Failure {
        let failure = self.bad.take().unwrap_or_else(|| syntax(error));
        match self.place {
            Where::Element if failure.path.is_none() => {
                failure.at(format!("examples[{}]{}", self.at, self.key))
            }
            Where::List if failure.path.is_none() => failure.at("examples"),
            _ => failure,
        }
    }

    fn finish(mut self, read: Result<(), serde_json::Error>) -> Result<Examples, Failure> {
        match read {
            Ok(()) => Ok(self.out),
            Err(error) => Err(self.failure(&error)),
        }
    }

    fn refuse<E: Error>(&mut self, failure: Failure) -> E {
        self.bad = Some(failure);
        E::custom("")
    }

    fn problem<E: Error>(&mut self, problem: &Problem) -> E {
        let failure = Failure::of_problem(self.at, problem);
        self.refuse(failure)
    }
}

impl Elements for Found {
    fn is_at(&mut self, place: Where) {
        self.place = place;
    }

    fn next<'de, A: SeqAccess<'de>>(&mut self, list: &mut A) -> Result<bool, A::Error> {
        self.key = "";
        let read = list.next_element_seed(One(self))?.is_some();
        self.at += usize::from(read);
        Ok(read)
    }

    fn refused<E: Error>(&mut self, failure: Failure) -> E {
        self.refuse(failure)
    }
}

/// A text as it is shown in a message: quoted, not too long.
fn shown(text: &str) -> String {
    let cut: String = text.chars().take(40).flat_map(char::escape_default).collect();
    format!("\"{cut}{}\"", if text.chars().count() > 40 { "…" } else { "" })
}

fn shown_key(key: &str) -> String {
    key.chars().take(40).flat_map(char::escape_default).collect()
}
