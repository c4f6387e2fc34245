//! After how long things are forgotten, as a user writes it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::rule::HalfLife;
use crate::algorithms::check_positive;
use crate::error::ConfigProblem;

/// A half-life: a number of examples, or a time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Forget {
    /// So many examples
    Examples(#[schemars(extend("exclusiveMinimum" = 0.0))] f64),
    /// A time: a number and s, m, h, d or w
    Time(String),
}

/// Seconds of each unit.
const UNITS: [(char, f64); 5] = [('s', 1.0), ('m', 60.0), ('h', 3600.0), ('d', 86_400.0), ('w', 604_800.0)];

/// The seconds that a text means.
fn seconds(text: &str) -> Option<f64> {
    let (_, unit) = UNITS.into_iter().find(|(letter, _)| text.ends_with(*letter))?;
    let number: f64 = text[..text.len() - 1].trim_end().parse().ok()?;
    let seconds = number * unit;
    (seconds.is_finite() && seconds > 0.0).then_some(seconds)
}

impl Forget {
    pub(super) fn half_life(&self) -> Option<HalfLife> {
        match self {
            Self::Examples(examples) => Some(HalfLife::Examples(*examples)),
            Self::Time(text) => seconds(text).map(HalfLife::Seconds),
        }
    }

    pub(super) fn problem(&self) -> Option<ConfigProblem> {
        match self {
            Self::Examples(examples) => check_positive("forget", *examples),
            Self::Time(text) if seconds(text).is_none() => {
                let message =
                    format!("`{text}` is neither a number of examples nor a time like `7d` (s, m, h, d, w)");
                Some(ConfigProblem::new("forget", message))
            }
            Self::Time(_) => None,
        }
    }
}

impl From<f64> for Forget {
    fn from(examples: f64) -> Self {
        Self::Examples(examples)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        for (text, seconds) in
            [("90s", 90.0), ("1.5m", 90.0), ("2h", 7200.0), ("7d", 604_800.0), ("1w", 604_800.0)]
        {
            let forget: Forget = serde_json::from_str(&format!("\"{text}\"")).unwrap();
            assert_eq!(forget.half_life(), Some(HalfLife::Seconds(seconds)));
            assert_eq!(serde_json::to_string(&forget).unwrap(), format!("\"{text}\""));
        }
        for text in ["", "d", "7", "-1d", "0s", "7 days", "1e400d", "NaNd", "7é"] {
            let problem = Forget::Time(text.to_owned()).problem().unwrap();
            assert!(problem.message.contains("a time like `7d`"), "{problem:?}");
        }
        assert_eq!(serde_json::from_str::<Forget>("40").unwrap(), Forget::Examples(40.0));
    }
}
