//! How many examples a learner may keep: a number of them, or a number of bytes.

use std::borrow::Cow;
use std::fmt;

use schemars::JsonSchema;
use serde::de::{Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::error::ConfigProblem;

/// The most that a learner may keep.
///
/// Bytes are turned into examples by the longest one seen: an example of s non-zeros takes `96 + 80 s` bytes, which
/// covers tables that are not full, and what the learner keeps per example or pair of examples. A task takes 384 bytes
/// of it: its name of up to 16 bytes and what is counted of it. As longer examples or more tasks come, fewer fit; an
/// example that is larger than the whole budget is not kept, and tasks that leave no room for one are refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Budget {
    /// This many examples.
    Examples(u64),
    /// As many examples as fit.
    Bytes(u64),
}

impl Default for Budget {
    /// 1000: a prediction takes microseconds, and the inverse that the projectrons keep 8 MB.
    fn default() -> Self {
        Self::Examples(1000)
    }
}

/// Bytes of an example without non-zeros, and of a non-zero.
const EXAMPLE_BYTES: u64 = 96;
const ENTRY_BYTES: u64 = 80;

/// Bytes of a task in a model: number, name and counts, in tables that are not full.
const TASK_BYTES: u64 = 384;

/// Bytes that a learner keeps beside the examples themselves.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Overhead {
    /// An example.
    pub(crate) example: u64,
    /// A pair of examples.
    pub(crate) pair: u64,
}

impl Budget {
    /// What is wrong with it, for a learner with such an overhead.
    pub(crate) fn validate(self, overhead: Overhead) -> Option<ConfigProblem> {
        let least = Self::least(0, overhead);
        let message = match self {
            Self::Examples(0) => "must be at least 1 example, got 0".to_owned(),
            Self::Examples(count) if u32::try_from(count).is_err() => {
                format!("must be at most {} examples, got {count}", u32::MAX)
            }
            Self::Bytes(bytes) if bytes < least => {
                format!("must hold one example of one feature, {least}B, got {self}")
            }
            Self::Examples(_) | Self::Bytes(_) => return None,
        };
        Some(ConfigProblem::new("budget", message))
    }

    /// Bytes of so many tasks and one example of one feature.
    fn least(tasks: usize, overhead: Overhead) -> u64 {
        let example = EXAMPLE_BYTES + ENTRY_BYTES + overhead.example + overhead.pair;
        (tasks as u64).saturating_mul(TASK_BYTES).saturating_add(example)
    }

    /// The least that is enough for so many tasks, where this is not.
    pub(crate) fn short_of(self, tasks: usize, overhead: Overhead) -> Option<Self> {
        let least = Self::least(tasks, overhead);
        matches!(self, Self::Bytes(bytes) if bytes < least).then_some(Self::Bytes(least))
    }

    /// How many examples of at most `longest` non-zeros fit beside so many tasks.
    pub(crate) fn slots(self, longest: usize, tasks: usize, overhead: Overhead) -> usize {
        match self {
            Self::Examples(count) => usize::try_from(count).unwrap_or(usize::MAX),
            Self::Bytes(bytes) => {
                let bytes = bytes.saturating_sub((tasks as u64).saturating_mul(TASK_BYTES)) as f64;
                let one =
                    EXAMPLE_BYTES as f64 + ENTRY_BYTES as f64 * longest as f64 + overhead.example as f64;
                // The largest B with B one + B^2 pair <= bytes, in a form that no pair, however small, divides.
                let fit = 2.0 * bytes / (one + (one * one + 4.0 * overhead.pair as f64 * bytes).sqrt());
                fit as usize
            }
        }
    }
}

/// Units from large to small; those that people write, without regard to case.
const UNITS: [(&str, u64); 7] = [
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("kB", 1_000),
    ("B", 1),
];

impl fmt::Display for Budget {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Examples(count) => write!(formatter, "{count}"),
            Self::Bytes(bytes) => {
                // The unit that leaves the fewest digits.
                let whole = UNITS.iter().filter(|unit| bytes % unit.1 == 0);
                let (name, size) = whole.min_by_key(|unit| bytes / unit.1).unwrap_or(&UNITS[6]);
                write!(formatter, "{}{name}", bytes / size)
            }
        }
    }
}

/// Bytes as `64MB`, `1.5 GiB`, `900B`.
fn parse_bytes(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = (text[..digits].parse::<f64>().ok()?, text[digits..].trim());
    let (_, size) = UNITS.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit))?;
    let bytes = number * *size as f64;
    (bytes.is_finite() && bytes < u64::MAX as f64).then_some(bytes as u64)
}

impl JsonSchema for Budget {
    fn schema_name() -> Cow<'static, str> {
        "Budget".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "anyOf": [{"type": "integer", "minimum": 1}, {"type": "string"}],
        })
    }
}

impl Serialize for Budget {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Examples(count) => serializer.serialize_u64(*count),
            Self::Bytes(_) => serializer.collect_str(self),
        }
    }
}

impl<'de> Deserialize<'de> for Budget {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct BudgetVisitor;
        impl Visitor<'_> for BudgetVisitor {
            type Value = Budget;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a number of examples, or of bytes like \"64MB\"")
            }

            fn visit_u64<E: serde::de::Error>(self, count: u64) -> Result<Budget, E> {
                Ok(Budget::Examples(count))
            }

            fn visit_i64<E: serde::de::Error>(self, count: i64) -> Result<Budget, E> {
                let negative = || E::invalid_value(Unexpected::Signed(count), &self);
                u64::try_from(count).map(Budget::Examples).map_err(|_| negative())
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Budget, E> {
                let wrong = || E::invalid_value(Unexpected::Str(text), &self);
                parse_bytes(text).map(Budget::Bytes).ok_or_else(wrong)
            }
        }
        deserializer.deserialize_any(BudgetVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budgets_are_numbers_or_bytes() {
        let back =
            |json: &str| serde_json::to_string(&serde_json::from_str::<Budget>(json).unwrap()).unwrap();
        for (written, kept) in [
            ("100", "100"),
            (r#""64MB""#, r#""64MB""#),
            (r#""64 mb""#, r#""64MB""#),
            (r#""1.5KiB""#, r#""1536B""#),
            (r#""2gib""#, r#""2GiB""#),
            (r#""1000kB""#, r#""1MB""#),
            (r#""7B""#, r#""7B""#),
        ] {
            assert_eq!(back(written), kept);
        }
        for wrong in
            ["-1", "0.5", r#""64""#, r#""64 stones""#, r#""MB""#, r#""1.2.3MB""#, r#""9e99MB""#, "null"]
        {
            let error = serde_json::from_str::<Budget>(wrong).unwrap_err().to_string();
            assert!(error.contains("expected a number of examples, or of bytes like \"64MB\""), "{error}");
        }
    }

    #[test]
    fn bytes_become_examples_by_the_longest() {
        let none = Overhead::default();
        assert_eq!(Budget::Examples(7).slots(1_000_000, 9, none), 7);
        assert_eq!(Budget::Bytes(10_000).slots(0, 0, none), 104);
        assert_eq!(Budget::Bytes(10_000).slots(10, 0, none), 11);
        assert_eq!(Budget::Bytes(10_000).slots(1_000, 0, none), 0);
        // B (96 + 80) + 8 B^2 = 10000 at 26.01.
        assert_eq!(Budget::Bytes(10_000).slots(1, 0, Overhead { example: 0, pair: 8 }), 26);
    }

    #[test]
    fn tasks_take_their_share() {
        let none = Overhead::default();
        assert_eq!(Budget::Bytes(10_000 + 3 * 384).slots(10, 3, none), 11);
        assert_eq!(Budget::Bytes(10_000).slots(0, 40, none), 0);
        // Three tasks and an example of one feature.
        assert_eq!(Budget::Bytes(1327).short_of(3, none), Some(Budget::Bytes(1328)));
        assert_eq!((Budget::Bytes(1328).short_of(3, none), Budget::Bytes(1328).slots(1, 3, none)), (None, 1));
        assert_eq!(Budget::Examples(1).short_of(usize::MAX, none), None);
    }
}
