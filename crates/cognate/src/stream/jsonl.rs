//! One line of JSON: `{"task": …, "label": …, "features": {<name>: <value>, …}}`, and `weight`, `id`, `time` and `offset`.
//!
//! Features may also be a list of tokens, each a feature of value 1; one that comes twice is added up. Keys may have other
//! names, and others may be left out.
//! A value is a number, true or false (1 or 0), or a text: the feature `<name>=<text>` of value 1. A null is no feature.
//! The parser's own errors have their column; what is JSON but no example is told at the key that it stands under.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::JsonlConfig;
use super::batch::{Batch, NO_LABEL};
use super::error::{Problem, shown};
use super::extras;
use super::labels::{LabelRule, UNNAMED_TASK, class_name, is_task_name};
use super::lines::Line;
use super::named::{NamedLine, Repeats, Target};
use super::reader::LineParser;
use super::svm::{Bad, Parsed};
use crate::example::is_valid;
use crate::feature_names::FeatureNames;
use crate::tasks::Tasks;

/// Parses lines.
#[derive(Debug, Clone)]
pub(crate) struct JsonlParser {
    rule: LabelRule,
    config: JsonlConfig,
    one_vs_all: bool,
    features: NamedLine,
    /// Whether a line has named its task.
    names_tasks: bool,
}

impl JsonlParser {
    pub(crate) fn new(rule: LabelRule, config: &JsonlConfig, one_vs_all: bool) -> Self {
        let features = NamedLine::new(Repeats::Refused);
        Self { rule, config: config.clone(), one_vs_all, features, names_tasks: false }
    }

    /// Whether a line has named its task.
    pub(crate) fn names_tasks(&self) -> bool {
        self.names_tasks
    }
}

impl LineParser for JsonlParser {
    fn parse(
        &mut self,
        buffer: &[u8],
        line: Line,
        batch: &mut Batch,
        tasks: &mut Tasks,
        names: &mut FeatureNames,
    ) -> Result<Parsed, Bad> {
        let text = &buffer[line.start..line.end];
        if text.trim_ascii().is_empty() {
            return Ok(Parsed::Nothing);
        }
        self.features.clear();
        let mut found = Found {
            address: text.as_ptr().addr(),
            start: line.start,
            config: &self.config,
            features: &mut self.features,
            batch,
            bad: None,
            at: 0,
            task: None,
            label: None,
            seen: [false; 7],
        };
        let mut json = serde_json::Deserializer::from_slice(text);
        let read = json.deserialize_map(&mut found).and_then(|()| json.end());
        let Found { bad, task, label, seen, .. } = found;
        if let Err(error) = read {
            let (at, problem) = bad.unwrap_or_else(|| {
                let (at, message) = (error.column().saturating_sub(1), error.to_string());
                let message = syntax_message(message.split(" at line ").next().unwrap_or_default(), text, at);
                (at, Problem::Json { message })
            });
            return Err((line.start + at, problem));
        }
        if !seen[FEATURES] {
            let message = format!("found no {}", shown(self.config.keys()[FEATURES].as_bytes()));
            return Err((line.start, Problem::Json { message }));
        }
        let label_at = line.start + label.as_ref().map_or(0, |(_, at)| *at);
        let label = label.map(|(label, _)| label).filter(|label| !matches!(label.as_ref(), "?"));
        if label.is_none() && !self.rule.may_miss() {
            return Err((label_at, Problem::NoLabel { found: "none".to_owned() }));
        }
        let timed = self.rule.check_time(batch.has_open_time(), label.is_some());
        timed.map_err(|problem| (line.start, problem))?;
        let class;
        let target = if self.one_vs_all {
            if let Some((task, at)) = task {
                return Err((line.start + at, Problem::ClassTask { found: shown(task.as_bytes()) }));
            }
            if let Some(class) = label.as_ref().filter(|class| !is_task_name(class)) {
                return Err((label_at, Problem::TaskName { found: shown(class.as_bytes()) }));
            }
            class = label.as_deref().map(class_name);
            Target::Class { name: class.as_deref(), at: label_at }
        } else {
            let read = label.map_or(Ok(NO_LABEL), |label| {
                self.rule.read(label.as_bytes()).and_then(|number| self.rule.accept(number, label.as_bytes()))
            });
            let label = read.map_err(|problem| (label_at, problem))?;
            self.names_tasks |= task.is_some();
            let (name, at) = task.as_ref().map_or((UNNAMED_TASK, 0), |(name, at)| (name.as_ref(), *at));
            Target::Task { name, at: line.start + at, label }
        };
        self.features.finish(&target, batch, tasks, names)
    }

    fn rule(&mut self) -> &mut LabelRule {
        &mut self.rule
    }

    fn restart(&mut self) {
        self.rule.restart();
    }
}

/// What a line holds, as far as it has been read.
struct Found<'de, 'a> {
    /// Address of the line, by which texts within it are placed.
    address: usize,
    /// Where the line begins in its buffer.
    start: usize,
    config: &'a JsonlConfig,
    features: &'a mut NamedLine,
    batch: &'a mut Batch,
    /// What is wrong, beyond what JSON itself says.
    bad: Option<Bad>,
    /// Place of the key under way in the line.
    at: usize,
    task: Option<(Cow<'de, str>, usize)>,
    label: Option<(Cow<'de, str>, usize)>,
    /// Which of the keys have come.
    seen: [bool; 7],
}

/// What is wrong with a text that is no JSON, from the parser's own words: what was expected is said behind it.
fn syntax_message(message: &str, text: &[u8], at: usize) -> String {
    let Some(missing) = message.strip_prefix("expected ") else { return message.to_owned() };
    let missing = if matches!(missing, "value" | "ident") { "a value" } else { missing };
    let rest = text.get(at..).unwrap_or_default();
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.' | b'_');
    let length = rest.iter().position(|byte| !is_part(byte)).unwrap_or(rest.len());
    // What is no word is one character.
    let first = || {
        let chunk = rest.utf8_chunks().next()?;
        Some(chunk.valid().chars().next().map_or(chunk.invalid().len(), char::len_utf8))
    };
    let length = if length == 0 { first().unwrap_or(0) } else { length };
    format!("found {} in place of {missing}", shown(&rest[..length]))
}

/// Places of keys in [`JsonlConfig::keys`].
const TASK: usize = 0;
const LABEL: usize = 1;
const FEATURES: usize = 2;
const WEIGHT: usize = 3;
const ID: usize = 4;
const TIME: usize = 5;

impl Found<'_, '_> {
    /// Remembers what is wrong at the present key, and ends the parse.
    fn refuse<E: Error>(&mut self, problem: Problem) -> E {
        self.bad = Some((self.at, problem));
        E::custom("refused")
    }

    /// Takes note of where a key stands; one with escapes was copied, and counts as standing where the last one did.
    #[expect(clippy::ptr_arg, reason = "a copied key says nothing about its place")]
    fn place(&mut self, key: &Cow<'_, str>) {
        if let Cow::Borrowed(key) = key {
            self.at = (key.as_ptr().addr() - self.address).saturating_sub(1);
        }
    }
}

impl<'de> Visitor<'de> for &mut Found<'de, '_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object with \"task\", \"label\" and \"features\"")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key_seed(Text)? {
            self.place(&key);
            let keys = self.config.keys();
            let Some(which) = keys.iter().position(|known| *known == key) else {
                if self.config.ignore.iter().any(|ignored| *ignored == key) {
                    map.next_value::<serde::de::IgnoredAny>()?;
                    continue;
                }
                let expected = keys.map(|key| shown(key.as_bytes())).to_vec();
                return Err(self.refuse(Problem::Key { found: shown(key.as_bytes()), expected }));
            };
            if std::mem::replace(&mut self.seen[which], true) {
                return Err(self.refuse(Problem::Repeated { name: shown(key.as_bytes()) }));
            }
            if which == FEATURES {
                map.next_value_seed(Features(self))?;
                continue;
            }
            let value = map.next_value_seed(ScalarSeed)?;
            if let Err(problem) = self.take(which, value) {
                return Err(self.refuse(problem));
            }
        }
        Ok(())
    }
}

impl<'de> Found<'de, '_> {
    /// The value of a key other than that of the features.
    fn take(&mut self, which: usize, value: Scalar<'de>) -> Result<(), Problem> {
        let at = self.at;
        match (which, value) {
            (_, Scalar::Null) => {}
            (TASK, Scalar::Text(name)) if is_task_name(&name) => self.task = Some((name, at)),
            (TASK, Scalar::Number(number)) if is_whole(number) => {
                self.task = Some((whole(number).into(), at));
            }
            (TASK, other) => return Err(Problem::TaskName { found: other.shown() }),
            (LABEL, Scalar::Text(text)) => self.label = Some((text, at)),
            (LABEL, Scalar::Number(number)) => self.label = Some((number.to_string().into(), at)),
            (LABEL, Scalar::Flag(flag)) => self.label = Some((flag.to_string().into(), at)),
            (LABEL, other) => return Err(Problem::Label { found: other.shown() }),
            (ID, Scalar::Number(number)) if is_whole(number) => self.batch.set_id(&whole(number)),
            (ID, Scalar::Text(text)) => self.batch.set_id(extras::id(text.as_bytes())?),
            (ID, other) => return Err(Problem::Id { found: other.shown() }),
            (_, Scalar::Number(number)) => self.take_number(which, number.to_string().as_bytes())?,
            (_, Scalar::Text(text)) => self.take_number(which, text.as_bytes())?,
            (WEIGHT, other) => return Err(Problem::Weight { found: other.shown() }),
            (TIME, other) => return Err(Problem::Time { found: other.shown() }),
            (_, other) => return Err(Problem::Offset { found: other.shown() }),
        }
        Ok(())
    }

    /// A weight, a time or an offset.
    fn take_number(&mut self, which: usize, text: &[u8]) -> Result<(), Problem> {
        match which {
            WEIGHT => self.batch.set_weight(extras::weight(text)?),
            TIME => self.batch.set_time(extras::time(text)?),
            _ => self.batch.set_offset(extras::offset(text)?),
        }
        Ok(())
    }
}

fn is_whole(number: f64) -> bool {
    number.fract() == 0.0 && number.abs() < 1e15
}

/// A whole number without a point.
fn whole(number: f64) -> String {
    (number as i64).to_string()
}

/// The object of features, or the list of tokens.
struct Features<'a, 'de, 'b>(&'a mut Found<'de, 'b>);

impl<'de> DeserializeSeed<'de> for Features<'_, 'de, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Features<'_, 'de, '_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object of features, {\"name\": 0.5}, or a list of tokens")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let found = self.0;
        found.features.set_repeats(Repeats::Added);
        while let Some(token) = list.next_element_seed(ScalarSeed)? {
            match token {
                Scalar::Text(token) => {
                    found.features.push(&[], &[&token], 0, found.start + found.at, 1.0);
                }
                other => return Err(found.refuse(Problem::Token { found: other.shown() })),
            }
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let found = self.0;
        found.features.set_repeats(Repeats::Refused);
        while let Some(key) = map.next_key_seed(Text)? {
            found.place(&key);
            match map.next_value_seed(ScalarSeed)? {
                Scalar::Null => {}
                Scalar::Number(number) if is_valid(number) => {
                    found.features.push(&[], &[&key], 0, found.start + found.at, number);
                }
                Scalar::Flag(flag) => {
                    found.features.push(&[], &[&key], 0, found.start + found.at, f64::from(flag));
                }
                // Two features may not share a name.
                Scalar::Text(_) if key.contains('=') => {
                    return Err(found.refuse(Problem::ColumnOfTexts { column: shown(key.as_bytes()) }));
                }
                Scalar::Text(text) => {
                    found.features.push(&[], &[&key, "=", &text], 0, found.start + found.at, 1.0);
                }
                other => {
                    let (found_value, feature) = (other.shown(), shown(key.as_bytes()));
                    return Err(found.refuse(Problem::FeatureValue { found: found_value, feature }));
                }
            }
        }
        Ok(())
    }
}

/// A text, borrowed from the line where it has no escapes.
struct Text;

impl<'de> DeserializeSeed<'de> for Text {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for Text {
    type Value = Cow<'de, str>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a text")
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(text.into())
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(text.to_owned().into())
    }
}

/// A value that is no object and no list, or which of them it is.
enum Scalar<'de> {
    Number(f64),
    Flag(bool),
    Text(Cow<'de, str>),
    Null,
    Nested(&'static str),
}

impl Scalar<'_> {
    /// The value as a message shows it.
    fn shown(&self) -> String {
        match self {
            Self::Number(number) => number.to_string(),
            Self::Flag(flag) => flag.to_string(),
            Self::Text(text) => shown(text.as_bytes()),
            Self::Null => "null".to_owned(),
            Self::Nested(what) => (*what).to_owned(),
        }
    }
}

struct ScalarSeed;

impl<'de> DeserializeSeed<'de> for ScalarSeed {
    type Value = Scalar<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ScalarSeed {
    type Value = Scalar<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a number or a text")
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Self::Value, E> {
        Ok(Scalar::Number(number))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Self::Value, E> {
        Ok(Scalar::Number(number as f64))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Self::Value, E> {
        Ok(Scalar::Number(number as f64))
    }

    fn visit_bool<E: Error>(self, flag: bool) -> Result<Self::Value, E> {
        Ok(Scalar::Flag(flag))
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(Scalar::Null)
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Scalar::Text(text.into()))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Scalar::Text(text.to_owned().into()))
    }

    // Nested values are skipped, so that the caller can say where they stand.
    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        while list.next_element::<serde::de::IgnoredAny>()?.is_some() {}
        Ok(Scalar::Nested("a list"))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        while map.next_entry::<serde::de::IgnoredAny, serde::de::IgnoredAny>()?.is_some() {}
        Ok(Scalar::Nested("an object"))
    }
}
