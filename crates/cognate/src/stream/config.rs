//! The settings of a stream.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::labels::is_task_name;
use crate::choice::{NoParameters, allow_bare_names, choice};
use crate::class_weight::ClassWeightConfig;
use crate::error::ConfigProblem;
use crate::example::{LARGEST_VALUE, is_valid};
use crate::feature_names::Naming;

/// How the stream is read, scaled and ordered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct StreamConfig {
    /// Format of the input
    pub format: Format,
    /// How features get their numbers
    pub naming: NamingConfig,
    /// Name of the label +1, where labels have two names; the other name is the other that occurs
    #[serde(skip_serializing_if = "Option::is_none")]
    pub positive: Option<String>,
    /// Labels are classes, each of which becomes a task: its own examples against all others
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
    /// Number of passes over the stream
    #[schemars(range(min = 1))]
    pub passes: u32,
    /// Rounds are one example of every task: all margins are computed before any update
    pub simultaneous: bool,
    /// How much the examples of each label count when they are learnt
    #[serde(skip_serializing_if = "ClassWeightConfig::is_none")]
    pub class_weight: ClassWeightConfig,
}

impl Default for StreamConfig {
    fn default() -> Self {
        Self {
            format: Format::default(),
            naming: NamingConfig::default(),
            positive: None,
            one_vs_all: false,
            normalize: Normalize::None,
            clip: None,
            bias: None,
            order: Order::File,
            seed: 1,
            passes: 1,
            simultaneous: false,
            class_weight: ClassWeightConfig::default(),
        }
    }
}

/// A text format and its parameters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "Self", rename_all = "kebab-case")]
#[schemars(transform = allow_bare_names)]
#[non_exhaustive]
pub enum Format {
    /// `<label> [qid:<task> | task:<name>] [weight:<w>] [id:<id>] <index>:<value> … [# comment]`
    Svm(NoParameters),
    /// Vowpal Wabbit's text format; the task is the tag, or a namespace
    Vw(VwConfig),
    /// Values separated by commas, or by another sign, with a header
    Csv(CsvConfig),
    /// `{"task": …, "label": …, "features": {name: value}}`
    Jsonl(JsonlConfig),
}

choice!(Format, "a format");

impl Default for Format {
    fn default() -> Self {
        Self::Svm(NoParameters {})
    }
}

/// Parameters of the format `vw`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct VwConfig {
    /// Namespace that names the task; left out, the tag does
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_namespace: Option<String>,
}

/// Parameters of the format `csv`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct CsvConfig {
    /// Column that names the task; left out, the one called `task` if there is one
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_column: Option<String>,
    /// Column of the labels; left out, the one called `label`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label_column: Option<String>,
    /// Columns to read as categories even where they look like numbers
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub categorical: Vec<String>,
    /// Column of the weights; left out, every example has weight 1
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight_column: Option<String>,
    /// Column of the ids; left out, a first column without a name
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id_column: Option<String>,
    /// Column of the times
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_column: Option<String>,
    /// Column of what is added to margins
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset_column: Option<String>,
    /// Columns to leave out
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ignore: Vec<String>,
    /// Sign between two cells, or `tab`; left out, a comma
    #[serde(skip_serializing_if = "Option::is_none")]
    pub separator: Option<String>,
}

/// Parameters of the format `jsonl`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct JsonlConfig {
    /// Key of the task; left out, `task`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_key: Option<String>,
    /// Key of the label; left out, `label`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label_key: Option<String>,
    /// Key of the features; left out, `features`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub features_key: Option<String>,
    /// Key of the weight; left out, `weight`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight_key: Option<String>,
    /// Key of the id; left out, `id`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id_key: Option<String>,
    /// Key of the time; left out, `time`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_key: Option<String>,
    /// Key of what is added to the margin; left out, `offset`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset_key: Option<String>,
    /// Keys to leave out
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ignore: Vec<String>,
}

impl CsvConfig {
    /// The byte between two cells; none if what is set can be none.
    pub(crate) fn separator_byte(&self) -> Option<u8> {
        match self.separator.as_deref().map(str::as_bytes) {
            None => Some(b','),
            Some(b"tab" | b"\\t") => Some(b'\t'),
            Some([byte]) if byte.is_ascii() && !matches!(byte, b'"' | b'\r' | b'\n' | 0) => Some(*byte),
            Some(_) => None,
        }
    }
}

impl JsonlConfig {
    /// The keys of task, label, features, weight, id, time and offset.
    pub(crate) fn keys(&self) -> [&str; 7] {
        [
            self.task_key.as_deref().unwrap_or("task"),
            self.label_key.as_deref().unwrap_or("label"),
            self.features_key.as_deref().unwrap_or("features"),
            self.weight_key.as_deref().unwrap_or("weight"),
            self.id_key.as_deref().unwrap_or("id"),
            self.time_key.as_deref().unwrap_or("time"),
            self.offset_key.as_deref().unwrap_or("offset"),
        ]
    }

    /// A key that stands for two things.
    fn ambiguous(&self) -> Option<&str> {
        let keys = self.keys();
        let again =
            |at: usize| keys[..at].contains(&keys[at]) || self.ignore.iter().any(|key| key == keys[at]);
        (0..keys.len()).find(|at| again(*at)).map(|at| keys[at])
    }
}

impl Format {
    /// The format `jsonl`, lines of JSON with the usual keys.
    pub(crate) fn jsonl() -> Self {
        Self::Jsonl(JsonlConfig::default())
    }

    /// The name that users write.
    pub fn id(&self) -> &'static str {
        match self {
            Self::Svm(_) => "svm",
            Self::Vw(_) => "vw",
            Self::Csv(_) => "csv",
            Self::Jsonl(_) => "jsonl",
        }
    }

    /// Whether features have names in this format, rather than numbers.
    pub fn has_names(&self) -> bool {
        !matches!(self, Self::Svm(_))
    }

    /// Whether a line itself says which task it is of, in a place that was named.
    fn names_tasks(&self) -> bool {
        match self {
            Self::Vw(vw) => vw.task_namespace.is_some(),
            Self::Csv(csv) => csv.task_column.is_some(),
            Self::Jsonl(jsonl) => jsonl.task_key.is_some(),
            Self::Svm(_) => false,
        }
    }

    /// What is wrong with the parameters, if anything is.
    pub(crate) fn problem(&self) -> Option<ConfigProblem> {
        match self {
            Self::Csv(csv) if csv.separator_byte().is_none() => {
                let found = csv.separator.as_deref().unwrap_or_default();
                let message =
                    format!("must be `tab` or one ASCII character other than a quote, got {found:?}");
                Some(ConfigProblem::new("csv.separator", message))
            }
            Self::Jsonl(jsonl) => jsonl
                .ambiguous()
                .map(|key| ConfigProblem::new("jsonl", format!("the key {key:?} is given two roles"))),
            Self::Svm(_) | Self::Vw(_) | Self::Csv(_) => None,
        }
    }
}

/// How features get their numbers; kept in the model, since predictions need the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "Self", rename_all = "kebab-case")]
#[schemars(transform = allow_bare_names)]
#[non_exhaustive]
pub enum NamingConfig {
    /// As they come: numbers where the format, or the first example, has numbers, else names
    Auto(NoParameters),
    /// Features are numbers
    Numbered(NoParameters),
    /// Features are names, each with a number of its own
    Named(NoParameters),
    /// Features are names, hashed to slots that names may share
    Hashed(HashedConfig),
}

choice!(NamingConfig, "a naming");

impl Default for NamingConfig {
    fn default() -> Self {
        Self::Auto(NoParameters {})
    }
}

/// How names are hashed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct HashedConfig {
    /// Names are hashed to 2^bits slots
    #[schemars(range(min = 1, max = 31))]
    pub bits: u32,
    /// Remember hashed names all the same, to explain the model
    pub names: bool,
}

impl Default for HashedConfig {
    fn default() -> Self {
        Self { bits: 18, names: true }
    }
}

impl NamingConfig {
    /// Every name has a number of its own.
    pub(crate) const NAMED: Self = Self::Named(NoParameters {});
    /// Features are numbers.
    pub(crate) const NUMBERED: Self = Self::Numbered(NoParameters {});

    /// How features of a format are named; none if the naming does not fit the format.
    pub(crate) fn of_format(self, format: &Format) -> Option<Naming> {
        let naming = match self {
            Self::Auto(_) if format.has_names() => Naming::Kept,
            Self::Auto(_) => Naming::Numbered,
            decided => decided.decided().unwrap_or_default(),
        };
        ((naming != Naming::Numbered) == format.has_names()).then_some(naming)
    }

    /// How features are named, unless the first example decides.
    pub(crate) fn decided(self) -> Option<Naming> {
        match self {
            Self::Auto(_) => None,
            Self::Numbered(_) => Some(Naming::Numbered),
            Self::Named(_) => Some(Naming::Kept),
            Self::Hashed(HashedConfig { bits, names }) => Some(Naming::Hashed { bits, names }),
        }
    }

    /// All problems of the parameters.
    pub(crate) fn validate(self) -> Option<ConfigProblem> {
        match self {
            Self::Hashed(HashedConfig { bits, .. }) if !(1..=31).contains(&bits) => {
                Some(ConfigProblem::new("hashed.bits", format!("must be from 1 to 31, got {bits}")))
            }
            _ => None,
        }
    }
}

/// How examples are scaled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
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
#[non_exhaustive]
pub enum Order {
    /// As in the file
    #[default]
    File,
    /// At random, by `seed`, anew for each pass
    Shuffle,
    /// The first example of every task, then the second of every task, …
    Interleave,
    /// Only the hardest example of every round of one per task: that with the smallest label times margin
    Adversarial,
}

impl Order {
    /// Whether examples are read in the order of the file, so that none need be held in memory.
    pub fn is_as_read(self) -> bool {
        matches!(self, Self::File | Self::Adversarial)
    }
}

/// Scaling and bias of every example; kept in the model, since predictions need the same.
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
    /// The part that a model keeps.
    pub fn preprocess(&self) -> Preprocess {
        Preprocess { normalize: self.normalize, clip: self.clip, bias: self.bias }
    }

    /// All problems of the parameters.
    pub(crate) fn validate(&self) -> Vec<ConfigProblem> {
        let mut problems: Vec<ConfigProblem> = Vec::new();
        problems.extend(self.naming.validate().map(|problem| problem.within("naming")));
        problems.extend(self.format.problem().map(|problem| problem.within("format")));
        problems.extend(class_problem(self.one_vs_all, &self.format));
        problems.extend(positive_problem(self.positive.as_deref(), self.one_vs_all));
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

/// Checks that lines of classes have no other task.
pub(crate) fn class_problem(one_vs_all: bool, format: &Format) -> Option<ConfigProblem> {
    let message = "classes are the tasks; a line has no other";
    (one_vs_all && format.names_tasks()).then(|| ConfigProblem::new("one-vs-all", message))
}

/// Checks that a label can have this name, and that labels have names.
fn positive_problem(positive: Option<&str>, one_vs_all: bool) -> Option<ConfigProblem> {
    let name = positive?;
    let message = if one_vs_all {
        "labels are classes, each of which is a task; none of them is the positive one".to_owned()
    } else if !is_task_name(name) || name == "?" {
        format!("must be the name of a label, got {name:?}")
    } else {
        return None;
    };
    Some(ConfigProblem::new("positive", message))
}

/// Checks that the naming of features fits the format that they are read from.
pub(crate) fn naming_problem(format: &Format) -> ConfigProblem {
    let message = if format.has_names() {
        format!("features of `{}` have names, not numbers", format.id())
    } else {
        format!("features of `{}` have numbers, and nothing is named or hashed", format.id())
    };
    ConfigProblem::new("stream.naming", message)
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
