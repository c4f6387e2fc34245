//! What a user writes about a stream.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::ConfigProblem;
use crate::example::{LARGEST_VALUE, is_valid};

/// How the stream is read, scaled and ordered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct StreamConfig {
    /// Format of the input
    pub format: Format,
    /// Scaling of every example
    pub normalize: Normalize,
    /// Largest Euclidean norm an example may have; a longer one is scaled down to it
    #[schemars(range(min = 0.0))]
    pub clip: Option<f64>,
    /// Value of a constant feature added to every example, after scaling
    pub bias: Option<f64>,
    /// Order of the examples; `shuffle` and `interleave` hold the stream in memory
    pub order: Order,
    /// Seed of `order = "shuffle"`, and of the draws of a query
    pub seed: u64,
    /// How often the stream is read
    #[schemars(range(min = 1))]
    pub passes: u32,
    /// Whether a round is one example of every task: all margins come before any update
    pub simultaneous: bool,
}

impl Default for StreamConfig {
    fn default() -> Self {
        Self {
            format: Format::Svm,
            normalize: Normalize::None,
            clip: None,
            bias: None,
            order: Order::File,
            seed: 1,
            passes: 1,
            simultaneous: false,
        }
    }
}

/// A text format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Format {
    /// `<label> [qid:<task> | task:<name>] <index>:<value> … [# comment]`
    #[default]
    Svm,
}

/// How examples are scaled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Normalize {
    /// As they are
    #[default]
    None,
    /// To Euclidean length 1; zero vectors stay
    L2,
}

/// The order of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// As in the file
    #[default]
    File,
    /// At random, by `seed`, anew each pass
    Shuffle,
    /// The first example of every task, then the second of every task, …
    Interleave,
    /// Of every round (one example of each task) only the one with the smallest label times margin, the hardest
    Adversarial,
}

impl Order {
    /// Whether examples are read as they lie in the file, so that none need be held in memory.
    pub fn is_as_read(self) -> bool {
        matches!(self, Self::File | Self::Adversarial)
    }
}

/// What is done to every example; part of a model, since predictions need the same.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Preprocess {
    /// Scaling.
    pub normalize: Normalize,
    /// Largest norm.
    pub clip: Option<f64>,
    /// Value of the constant feature.
    pub bias: Option<f64>,
}

impl Preprocess {
    /// Scales the values of an example.
    pub(crate) fn scale(&self, values: &mut [f64]) {
        if self.normalize == Normalize::None && self.clip.is_none() {
            return;
        }
        let norm = euclidean_norm(values);
        let wanted = match self.normalize {
            Normalize::L2 => 1.0,
            Normalize::None => norm,
        };
        let wanted = self.clip.map_or(wanted, |clip| wanted.min(clip));
        if norm == 0.0 || (wanted - norm).abs() == 0.0 {
            return;
        }
        let mut factor = wanted / norm;
        if !factor.is_normal() {
            // Too large or too small for a number, or the norm is: bring the largest value to 1 first.
            let largest = largest_magnitude(values);
            for value in values.iter_mut() {
                *value /= largest;
            }
            factor = wanted / euclidean_norm(values);
        }
        for value in values {
            *value *= factor;
        }
    }
}

fn largest_magnitude(values: &[f64]) -> f64 {
    values.iter().fold(0.0_f64, |largest, value| largest.max(value.abs()))
}

/// The Euclidean norm; infinite only where it is beyond the largest number.
fn euclidean_norm(values: &[f64]) -> f64 {
    let squares: f64 = values.iter().map(|value| value * value).sum();
    if squares.is_finite() && squares > f64::MIN_POSITIVE {
        return squares.sqrt();
    }
    let largest = largest_magnitude(values);
    if largest == 0.0 {
        return 0.0;
    }
    largest * values.iter().map(|value| (value / largest) * (value / largest)).sum::<f64>().sqrt()
}

impl StreamConfig {
    /// The part that belongs to a model.
    pub fn preprocess(&self) -> Preprocess {
        Preprocess { normalize: self.normalize, clip: self.clip, bias: self.bias }
    }

    /// Everything wrong with the parameters.
    pub(crate) fn validate(&self) -> Vec<ConfigProblem> {
        let mut problems = Vec::new();
        if let Some(clip) = self.clip.filter(|clip| !(clip.is_finite() && *clip > 0.0)) {
            problems.push(ConfigProblem::new("clip", format!("must be positive and finite, got {clip}")));
        }
        if let Some(bias) = self.bias.filter(|bias| !is_valid(*bias)) {
            let message = format!("must be finite and at most {LARGEST_VALUE:e}, got {bias}");
            problems.push(ConfigProblem::new("bias", message));
        }
        if self.order == Order::Adversarial && self.simultaneous {
            let message =
                "`adversarial` serves one example of a round, `simultaneous` all; choose one of them";
            problems.push(ConfigProblem::new("order", message));
        }
        if self.passes == 0 {
            problems.push(ConfigProblem::new("passes", "must be at least 1, got 0"));
        }
        problems
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The values after scaling, the last one shown.
    fn last(normalize: Normalize, clip: Option<f64>, values: &[f64]) -> f64 {
        let mut values = values.to_vec();
        Preprocess { normalize, clip, bias: None }.scale(&mut values);
        values[values.len() - 1]
    }

    #[test]
    fn scaling() {
        let close = |a: f64, b: f64| assert!((a - b).abs() <= 1e-12 * b.abs(), "{a} is not {b}");
        close(last(Normalize::None, None, &[3.0, 4.0]), 4.0);
        close(last(Normalize::L2, None, &[3.0, 4.0]), 0.8);
        close(last(Normalize::None, Some(2.0), &[3.0, 4.0]), 1.6);
        close(last(Normalize::None, Some(9.0), &[3.0, 4.0]), 4.0);
        close(last(Normalize::L2, Some(0.5), &[3.0, 4.0]), 0.4);
        close(last(Normalize::L2, None, &[0.0, 0.0]), 0.0);
        close(last(Normalize::L2, None, &[1e300, 1e300]), 0.5_f64.sqrt());
        close(last(Normalize::L2, None, &[3e-200]), 1.0);
    }

    #[test]
    fn scaling_of_what_no_factor_can_scale() {
        let close = |a: f64, b: f64| assert!((a - b).abs() <= 1e-12 * b.abs(), "{a} is not {b}");
        close(last(Normalize::L2, None, &[1e-320]), 1.0);
        close(last(Normalize::L2, None, &[f64::MAX, -f64::MAX]), -(0.5_f64.sqrt()));
        close(last(Normalize::None, Some(1e-300), &[f64::MAX; 4]), 0.5e-300);
    }
}
