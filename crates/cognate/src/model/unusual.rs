//! What is unusual about a model that loads: for whoever was given one.
//!
//! Nothing found is no proof that a model is good; what is found need not be bad.

use std::fmt;

use serde_json::Value;

use super::Model;
use crate::algorithms::Protocol;
use crate::example::{BIAS_FEATURE, TaskId};
use crate::feature_names::Naming;

/// Something unusual about a model.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Unusual {
    /// A number of the config that hardly anyone would choose.
    Parameter {
        /// Where it is, as in `learner.perceptron.interaction.coupled.b`.
        path: String,
        /// The number.
        value: f64,
    },
    /// A weight of extreme size.
    Weight {
        /// The task.
        task: String,
        /// The feature.
        feature: u32,
        /// The weight.
        weight: f64,
    },
    /// A weight of a feature that no example can have, by what is declared or named.
    Feature {
        /// The task.
        task: String,
        /// The feature.
        feature: u32,
    },
    /// Weights of a task that has had no example, and that no other task teaches.
    Unearned {
        /// The task.
        task: String,
        /// How many.
        weights: usize,
    },
    /// Weights in a model without any example.
    Untaught {
        /// The task.
        task: String,
        /// How many.
        weights: usize,
    },
    /// A kept example of a task that has had none.
    Support {
        /// The task.
        task: String,
    },
    /// More examples than the rounds can have held.
    Rounds {
        /// Rounds.
        rounds: u64,
        /// Examples, with and without labels.
        examples: u64,
    },
    /// More updates than labels that were asked for.
    Updates {
        /// Updates.
        updates: u64,
        /// Labels asked for.
        queries: u64,
    },
    /// A name with characters that terminals obey.
    Name {
        /// The name, of a task or a feature.
        name: String,
    },
}

impl fmt::Display for Unusual {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Parameter { path, value } => write!(f, "config: {path} is {value:e}"),
            Self::Weight { task, feature, weight } => {
                write!(f, "task {task:?}: the weight of feature {feature} is {weight:e}")
            }
            Self::Feature { task, feature } => {
                write!(f, "task {task:?}: a weight of feature {feature}, which no example can have")
            }
            Self::Unearned { task, weights } => {
                write!(
                    f,
                    "task {task:?}: {weights} weights, though it has had no example and no other task teaches it"
                )
            }
            Self::Untaught { task, weights } => {
                write!(f, "task {task:?}: {weights} weights, though the model has had no example")
            }
            Self::Support { task } => {
                write!(f, "task {task:?}: an example of it is kept, though it has had none")
            }
            Self::Rounds { rounds, examples } => {
                write!(f, "{examples} examples, though {rounds} rounds cannot have held so many")
            }
            Self::Updates { updates, queries } => {
                write!(f, "{updates} updates, though only {queries} labels were asked for")
            }
            Self::Name { name } => write!(f, "the name {name:?} has control characters"),
        }
    }
}

impl Unusual {
    /// Most tasks whose weights are looked at: with shared weights every task has those of all.
    pub const MOST_TASKS: usize = 1000;
}

/// Sizes of weights and parameters outside of these are unusual.
const SMALLEST: f64 = 1e-12;
const LARGEST: f64 = 1e12;
/// Most findings of a kind.
const LISTED: usize = 20;

impl Model {
    /// What is unusual, at most 20 findings of a kind. The weights of the first [`Unusual::MOST_TASKS`] tasks are looked
    /// at.
    pub fn unusual(&self) -> Vec<Unusual> {
        let mut found = Vec::new();
        let config = serde_json::to_value(&self.config).unwrap_or_default();
        unusual_parameters(&config, "", &mut found);
        found.truncate(LISTED);
        found.extend(self.unusual_names());
        found.extend(self.unusual_counts());
        found.extend(self.unusual_supports());
        found.extend(self.unusual_weights());
        found
    }

    fn unusual_names(&self) -> impl Iterator<Item = Unusual> {
        let names = self.tasks.names().chain(self.names.iter().map(|pair| pair.0));
        let commanding = names.filter(|name| name.chars().any(char::is_control));
        commanding.take(LISTED).map(|name| Unusual::Name { name: name.to_owned() })
    }

    fn unusual_counts(&self) -> Vec<Unusual> {
        let (total, mut found) = (self.metrics.total(), Vec::new());
        let (rounds, examples) = (self.rounds, self.metrics.seen());
        let per_round = if self.config.simultaneous { self.tasks.count() as u64 } else { 1 };
        if examples > rounds.saturating_mul(per_round) {
            found.push(Unusual::Rounds { rounds, examples });
        }
        let (updates, queries) = (total.updates, total.queries);
        if updates > queries {
            found.push(Unusual::Updates { updates, queries });
        }
        found
    }

    fn unusual_supports(&self) -> Vec<Unusual> {
        if self.learner.about().protocol == Protocol::Batch {
            return Vec::new();
        }
        let supports = self.learner.as_inspect().supports().unwrap_or_default();
        let mut tasks: Vec<TaskId> = supports.into_iter().map(|support| support.task).collect();
        tasks.sort_unstable();
        tasks.dedup();
        let unseen = tasks.into_iter().filter(|task| self.metrics.task(*task).examples == 0);
        unseen.take(LISTED).map(|task| Unusual::Support { task: self.tasks.name(task).to_owned() }).collect()
    }

    fn unusual_weights(&self) -> Vec<Unusual> {
        let batch = self.learner.about().protocol == Protocol::Batch;
        let inspect = self.learner.as_inspect();
        let (mut extreme, mut foreign, mut unearned) = (Vec::new(), Vec::new(), Vec::new());
        for task in (0..self.tasks.len().min(Unusual::MOST_TASKS) as u32).map(TaskId) {
            let name = || self.tasks.name(task).to_owned();
            let weights = inspect.weights(task);
            let is_extreme = |weight: f64| weight.is_nan() || weight.abs() > LARGEST;
            let large = weights.iter().filter(|pair| is_extreme(pair.1));
            extreme.extend(large.map(|(feature, weight)| Unusual::Weight {
                task: name(),
                feature: *feature,
                weight: *weight,
            }));
            let impossible = weights.iter().filter(|pair| !self.can_occur(pair.0));
            foreign.extend(impossible.map(|pair| Unusual::Feature { task: name(), feature: pair.0 }));
            let (count, alone) =
                (weights.len(), inspect.influence(task) == inspect.relation(task, task).abs());
            if batch || count == 0 || self.metrics.task(task).examples > 0 {
                continue;
            }
            match self.metrics.seen() {
                0 => unearned.push(Unusual::Untaught { task: name(), weights: count }),
                _ if alone => unearned.push(Unusual::Unearned { task: name(), weights: count }),
                _ => {}
            }
        }
        [extreme, foreign, unearned].into_iter().flat_map(|some| some.into_iter().take(LISTED)).collect()
    }

    /// Whether an example can have a feature, by the number of features that is declared, or by their names.
    fn can_occur(&self, feature: u32) -> bool {
        let most = match self.names.naming() {
            Naming::Numbered => self.config.features.unwrap_or(BIAS_FEATURE),
            Naming::Kept => self.names.len() as u32,
            Naming::Hashed { bits, .. } => 1 << bits,
        };
        feature < most || feature == BIAS_FEATURE
    }
}

/// Finds numbers of extreme size in a config; whole ones are counts and seeds.
fn unusual_parameters(value: &Value, path: &str, found: &mut Vec<Unusual>) {
    let below = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    match value {
        Value::Object(entries) => {
            entries.iter().for_each(|(key, value)| unusual_parameters(value, &below(key), found));
        }
        Value::Array(values) => {
            values
                .iter()
                .enumerate()
                .for_each(|(at, value)| unusual_parameters(value, &below(&at.to_string()), found));
        }
        Value::Number(number) if number.is_f64() => {
            let value = number.as_f64().unwrap_or(f64::NAN);
            if value != 0.0 && !(SMALLEST..=LARGEST).contains(&value.abs()) {
                found.push(Unusual::Parameter { path: path.to_owned(), value });
            }
        }
        _ => {}
    }
}
