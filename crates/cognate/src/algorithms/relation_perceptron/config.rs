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
    /// Round from which R moves: a count, a fraction of the stream like "50%", or "auto", which finds it; "pass": once at the end of each pass
    pub priming: Priming,
    /// What multiplies an update: R = A^-1, or A itself with the rules as they are printed
    #[serde(skip_serializing_if = "Multiplier::is_inverse")]
    pub multiplier: Multiplier,
    /// What happens to the trace of R after every change; left out, `start`, with the multiplier `a` `none`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<Trace>,
    /// Share of the initial R that is mixed into R after every change, from 0 to 1; left out, 0.3 for `covariance`, 0.1 for `batch-optimal`, else 0, as with the multiplier `a`
    #[schemars(range(min = 0.0, max = 1.0))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shrink: Option<f64>,
    /// Initial R, as a multiple of the identity; left out, 1, with the multiplier `a` 1 / K, for which tasks must be declared
    #[schemars(extend("exclusiveMinimum" = 0.0))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<f64>,
}

impl Default for RelationPerceptronConfig {
    fn default() -> Self {
        Self {
            relation: Relation::LogDet,
            eta: None,
            priming: Priming::Auto,
            multiplier: Multiplier::Inverse,
            trace: None,
            shrink: None,
            start: None,
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

/// What multiplies an update.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Multiplier {
    /// R, the inverse of A
    Inverse,
    /// A itself: for `log-det` and `von-neumann` it moves the other way
    A,
}

impl Multiplier {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants a reference")]
    fn is_inverse(&self) -> bool {
        *self == Self::Inverse
    }
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
    /// At the end of each pass over the stream, and at no mistake; written "pass".
    Pass,
}

const AUTO: &str = "auto";
const PASS: &str = "pass";

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
                {"type": "string", "const": PASS},
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
            Self::Pass => serializer.serialize_str(PASS),
        }
    }
}

impl<'de> Deserialize<'de> for Priming {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct PrimingVisitor;
        impl Visitor<'_> for PrimingVisitor {
            type Value = Priming;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a number of rounds, a percentage like \"50%\", \"auto\" or \"pass\"")
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
                match text {
                    AUTO => return Ok(Priming::Auto),
                    PASS => return Ok(Priming::Pass),
                    _ => {}
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

    /// trace, or what it is when left out.
    pub(super) fn trace_or_default(&self) -> Trace {
        self.trace.unwrap_or(match self.multiplier {
            Multiplier::Inverse => Trace::Start,
            Multiplier::A => Trace::None,
        })
    }

    /// start, or what it is when left out: none where it is a share of a number of tasks that is not known.
    pub(super) fn start_or_default(&self, declared: Option<usize>) -> Option<f64> {
        match (self.start, self.multiplier) {
            (Some(start), _) => Some(start),
            (None, Multiplier::Inverse) => Some(1.0),
            (None, Multiplier::A) => declared.filter(|tasks| *tasks > 0).map(|tasks| 1.0 / tasks as f64),
        }
    }

    /// shrink, or what it is when left out: a task without weights would have a row of zeros and never learn.
    pub(super) fn shrink_or_default(&self) -> f64 {
        self.shrink.unwrap_or(match self.relation {
            _ if self.multiplier == Multiplier::A => 0.0,
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
        if let Some(start) = self.start.filter(|start| !positive(*start)) {
            refuse("start", format!("must be positive and finite, got {start}"));
        }
        if self.relation == Relation::ScaleFree && self.multiplier == Multiplier::A {
            refuse("multiplier", "the relation `scale-free` has no A; leave it out".to_owned());
        }
        if self.relation == Relation::ScaleFree && self.priming == Priming::Pass {
            refuse(
                "priming",
                "the relation `scale-free` is formed as evidence comes, not at the end of a pass".to_owned(),
            );
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
