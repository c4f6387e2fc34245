//! What a user writes about a stream.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::ConfigProblem;
use crate::example::{LARGEST_VALUE, is_valid};
use crate::feature_names::Naming;

/// How the stream is read, scaled and ordered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct StreamConfig {
    /// Format of the input
    pub format: Format,
    /// Namespace that names the task, for `vw`; left out, the tag does
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_namespace: Option<String>,
    /// Column that names the task, for `csv`; left out, the one called `task` if there is one
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_column: Option<String>,
    /// Column of the labels, for `csv`; left out, the one called `label`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label_column: Option<String>,
    /// Columns whose cells are categories even where they look like numbers, for `csv`
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub categorical: Vec<String>,
    /// Hash named features to 2^bits slots, which names may then share; left out, every name is a feature of its own
    #[schemars(range(min = 1, max = 31))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bits: Option<u32>,
    /// Whether hashed names are remembered all the same, to explain the model
    pub names: bool,
    /// Whether labels are classes, each of which becomes a task: its own examples against all others
    pub one_vs_all: bool,
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
            task_namespace: None,
            task_column: None,
            label_column: None,
            categorical: Vec::new(),
            bits: None,
            names: true,
            one_vs_all: false,
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
    /// Vowpal Wabbit's text; the task is the tag, or what `task-namespace` holds
    Vw,
    /// Comma-separated, under a header
    Csv,
    /// `{"task": …, "label": …, "features": {name: value}}`
    Jsonl,
}

/// What text is and how its features get their numbers; part of a model, since predictions need the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Reading {
    /// Format of the input.
    pub format: Format,
    /// Namespace that names the task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_namespace: Option<String>,
    /// Column that names the task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_column: Option<String>,
    /// Column of the labels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label_column: Option<String>,
    /// Columns of categories.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub categorical: Vec<String>,
    /// Bits of hashes of names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bits: Option<u32>,
    /// Whether hashed names are remembered.
    pub names: bool,
    /// Whether labels are classes.
    pub one_vs_all: bool,
}

impl Default for Reading {
    fn default() -> Self {
        StreamConfig::default().reading()
    }
}

impl Reading {
    /// Whether this is what models remember without a word.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// What numbers the features get.
    pub fn naming(&self) -> Naming {
        match (self.format, self.bits) {
            (Format::Svm, _) => Naming::Numbered,
            (_, None) => Naming::Kept,
            (_, Some(bits)) => Naming::Hashed { bits, names: self.names },
        }
    }

    /// Everything wrong with the parameters.
    pub(crate) fn validate(&self) -> Vec<ConfigProblem> {
        let mut problems = Vec::new();
        let mut only = |name: &str, given: bool, of: Format, id: &str| {
            if given && self.format != of {
                problems.push(ConfigProblem::new(name, format!("is a parameter of the format `{id}`")));
            }
        };
        only("task-namespace", self.task_namespace.is_some(), Format::Vw, "vw");
        only("task-column", self.task_column.is_some(), Format::Csv, "csv");
        only("label-column", self.label_column.is_some(), Format::Csv, "csv");
        only("categorical", !self.categorical.is_empty(), Format::Csv, "csv");
        if let Some(bits) = self.bits.filter(|bits| !(1..=31).contains(bits)) {
            problems.push(ConfigProblem::new("bits", format!("must be from 1 to 31, got {bits}")));
        }
        if self.bits.is_some() && self.format == Format::Svm {
            let message = "features of `svm` have numbers, and nothing is hashed";
            problems.push(ConfigProblem::new("bits", message));
        }
        if !self.names && self.bits.is_none() {
            let message = "names can be forgotten only where they are hashed; give `bits`";
            problems.push(ConfigProblem::new("names", message));
        }
        if self.one_vs_all && (self.task_column.is_some() || self.task_namespace.is_some()) {
            let message = "classes are the tasks; a line has no other";
            problems.push(ConfigProblem::new("one-vs-all", message));
        }
        problems
    }
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
    #[inline]
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

    /// What the text is; belongs to a model, too.
    pub fn reading(&self) -> Reading {
        Reading {
            format: self.format,
            task_namespace: self.task_namespace.clone(),
            task_column: self.task_column.clone(),
            label_column: self.label_column.clone(),
            categorical: self.categorical.clone(),
            bits: self.bits,
            names: self.names,
            one_vs_all: self.one_vs_all,
        }
    }

    /// Everything wrong with the parameters.
    pub(crate) fn validate(&self) -> Vec<ConfigProblem> {
        let mut problems = self.reading().validate();
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
