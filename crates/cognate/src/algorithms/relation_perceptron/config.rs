//! The settings of a learned relation.

use std::fmt;

use schemars::JsonSchema;
use serde::de::Visitor;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::algorithms::Parameters;
use crate::error::ConfigProblem;

/// Parameters of `relation-perceptron`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RelationPerceptronConfig {
    /// How R is computed from the weights
    pub relation: Relation,
    /// How far R moves at a mistake; left out, 0.001 for `log-det` and 0.0001 for `von-neumann`; the others have none
    #[schemars(extend("exclusiveMinimum" = 0.0))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eta: Option<f64>,
    /// Round from which R moves: a count, a fraction of the stream like "50%", or "auto", which finds it
    pub priming: Priming,
    /// What happens to the trace of R after every change
    pub trace: Trace,
    /// Share of the initial R that is mixed into R after every change, from 0 to 1; left out, 0.3 for `covariance`, 0.1 for `batch-optimal`, else 0
    #[schemars(range(min = 0.0, max = 1.0))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shrink: Option<f64>,
    /// Initial R, as a multiple of the identity
    #[schemars(extend("exclusiveMinimum" = 0.0))]
    pub start: f64,
}

impl Default for RelationPerceptronConfig {
    fn default() -> Self {
        Self {
            relation: Relation::LogDet,
            eta: None,
            priming: Priming::Auto,
            trace: Trace::Start,
            shrink: None,
            start: 1.0,
        }
    }
}

/// How the relation is computed from the weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Relation {
    /// R = cov(W)
    Covariance,
    /// R += eta W'W
    LogDet,
    /// log R += eta W'W
    VonNeumann,
    /// R = (W'W)^(1/2)
    BatchOptimal,
    /// How well each task's weights predict the others' labels; no parameter to tune
    ScaleFree,
}

/// What happens to the trace of R after every change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Trace {
    /// R is rescaled to its initial trace
    Start,
    /// Nothing
    None,
}

/// From which round R moves.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Priming {
    /// From this round on, counted from 1.
    Rounds(u64),
    /// From this fraction of the stream on; written "50%".
    Fraction(f64),
    /// The learner finds out; written "auto".
    Auto,
}

const AUTO: &str = "auto";

impl JsonSchema for Priming {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Priming".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "anyOf": [
                {"type": "integer", "minimum": 0},
                {"type": "string", "pattern": r"^[0-9]+(\.[0-9]+)?%$"},
                {"type": "string", "const": AUTO},
            ],
        })
    }
}

impl Serialize for Priming {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Rounds(rounds) => serializer.serialize_u64(*rounds),
            Self::Fraction(fraction) => serializer.serialize_str(&format!("{}%", 100.0 * fraction)),
            Self::Auto => serializer.serialize_str(AUTO),
        }
    }
}

impl<'de> Deserialize<'de> for Priming {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct PrimingVisitor;
        impl Visitor<'_> for PrimingVisitor {
            type Value = Priming;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a number of rounds, a percentage like \"50%\", or \"auto\"")
            }

            fn visit_u64<E: serde::de::Error>(self, rounds: u64) -> Result<Priming, E> {
                Ok(Priming::Rounds(rounds))
            }

            fn visit_i64<E: serde::de::Error>(self, rounds: i64) -> Result<Priming, E> {
                let negative = || E::invalid_value(serde::de::Unexpected::Signed(rounds), &self);
                u64::try_from(rounds).map(Priming::Rounds).map_err(|_| negative())
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Priming, E> {
                let wrong = || E::invalid_value(serde::de::Unexpected::Str(text), &self);
                if text == AUTO {
                    return Ok(Priming::Auto);
                }
                let percent: f64 = text.strip_suffix('%').and_then(|p| p.parse().ok()).ok_or_else(wrong)?;
                if (0.0..=100.0).contains(&percent) {
                    Ok(Priming::Fraction(percent / 100.0))
                } else {
                    Err(wrong())
                }
            }
        }
        deserializer.deserialize_any(PrimingVisitor)
    }
}

impl RelationPerceptronConfig {
    /// eta, or what it is when left out.
    pub(super) fn eta_or_default(&self) -> f64 {
        self.eta.unwrap_or(if self.relation == Relation::VonNeumann { 1e-4 } else { 1e-3 })
    }

    /// shrink, or what it is when left out: a task without weights would have a row of zeros and never learn.
    pub(super) fn shrink_or_default(&self) -> f64 {
        self.shrink.unwrap_or(match self.relation {
            Relation::Covariance => 0.3,
            Relation::BatchOptimal => 0.1,
            Relation::LogDet | Relation::VonNeumann | Relation::ScaleFree => 0.0,
        })
    }
}

impl Parameters for RelationPerceptronConfig {
    fn validate(&self) -> Vec<ConfigProblem> {
        let mut problems = Vec::new();
        let mut refuse = |path: &str, what: String| problems.push(ConfigProblem::new(path, what));
        let positive = |value: f64| value.is_finite() && value > 0.0;
        if let Some(eta) = self.eta.filter(|eta| !positive(*eta)) {
            refuse("eta", format!("must be positive and finite, got {eta}"));
        }
        if self.relation == Relation::ScaleFree && self.eta.is_some_and(positive) {
            refuse("eta", "the relation `scale-free` has none; leave it out".to_owned());
        }
        if let Some(shrink) = self.shrink.filter(|shrink| !(0.0..=1.0).contains(shrink)) {
            refuse("shrink", format!("must be a number from 0 to 1, got {shrink}"));
        }
        if !positive(self.start) {
            refuse("start", format!("must be positive and finite, got {}", self.start));
        }
        problems
    }

    fn wants_rounds(&self) -> bool {
        matches!(self.priming, Priming::Fraction(_))
    }

    fn set_rounds(&mut self, rounds: u64) {
        if let Priming::Fraction(fraction) = self.priming {
            self.priming = Priming::Rounds((fraction * rounds as f64).ceil() as u64);
        }
    }
}
