//! How much the examples of each class count: the weight of an example is multiplied by that of its class when it is learnt.
//!
//! Counts, errors and everything else that is measured are not: they go by the weights of the examples themselves.
//!
//! `balanced` gives both classes the same say, from the labels learnt so far, of all tasks together: (n + 2) / (2 (n_c + 1))
//! for an example of class c after n labels, n_c of them of its class. The first example has the weight 1; in the long
//! run a class with a share s of the labels has 1 / (2 s). Labels that a query does not ask for are not counted, nor are
//! examples of weight 0.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::choice::{NoParameters, allow_bare_names, choice};
use crate::config::RunConfig;
use crate::error::ConfigProblem;
use crate::example::{Example, TaskId};
use crate::fit::Kind;
use crate::model::Model;
use crate::stream::Batch;

/// How much the examples of each class count when they are learnt.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "Self", rename_all = "kebab-case")]
#[schemars(transform = allow_bare_names)]
#[non_exhaustive]
pub enum ClassWeightConfig {
    /// All alike
    None(NoParameters),
    /// Both classes have the same say, by the labels so far
    Balanced(NoParameters),
    /// As much as these numbers say
    Given(GivenClassWeights),
}

choice!(ClassWeightConfig, "a class weight");

impl Default for ClassWeightConfig {
    fn default() -> Self {
        Self::None(NoParameters {})
    }
}

/// The weight of each class.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct GivenClassWeights {
    /// Weight of the label +1, positive
    #[schemars(extend("exclusiveMinimum" = 0.0))]
    pub positive: f64,
    /// Weight of the label -1, positive
    #[schemars(extend("exclusiveMinimum" = 0.0))]
    pub negative: f64,
}

impl Default for GivenClassWeights {
    fn default() -> Self {
        Self { positive: 1.0, negative: 1.0 }
    }
}

/// Largest weight of a class: that of an example times it is still a number.
const LARGEST: f64 = 1e9;

impl ClassWeightConfig {
    /// Whether all examples count alike.
    pub fn is_none(&self) -> bool {
        matches!(self, Self::None(_))
    }

    /// Everything wrong with it in a config.
    pub(crate) fn validate(&self, config: &RunConfig) -> Vec<ConfigProblem> {
        let mut problems = Vec::new();
        if self.is_none() {
            return problems;
        }
        if let Self::Given(GivenClassWeights { positive, negative }) = *self {
            for (name, weight) in [("given.positive", positive), ("given.negative", negative)] {
                if !(weight > 0.0 && weight <= LARGEST) {
                    let message = format!("must be positive and at most {LARGEST:e}, got {weight}");
                    problems.push(ConfigProblem::new(name, message));
                }
            }
        }
        let (id, about) = (config.learner.id(), config.learner.about());
        if !about.weights {
            problems.push(ConfigProblem::new("", format!("`{id}` knows nothing of weights")));
        } else if config.learner.kind() == Kind::Regression {
            let message = format!("labels of this `{id}` are real numbers; they have no classes");
            problems.push(ConfigProblem::new("", message));
        }
        problems
    }
}

/// How many labels of each class were learnt, where that matters.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct ClassCounts {
    #[serde(deserialize_with = "crate::count::saved")]
    positive: u64,
    #[serde(deserialize_with = "crate::count::saved")]
    negative: u64,
    /// The same of each task, as far as it is known: a model that an earlier version saved has only those learnt since.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    tasks: Vec<TaskCounts>,
}

/// How many labels of each class a task has taught.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct TaskCounts {
    #[serde(deserialize_with = "crate::count::saved")]
    pub(crate) positive: u64,
    #[serde(deserialize_with = "crate::count::saved")]
    pub(crate) negative: u64,
}

impl ClassCounts {
    pub(crate) fn is_zero(&self) -> bool {
        *self == Self::default()
    }

    /// Sums over the tasks; none where that is more than anyone can have counted.
    fn of_tasks(&self) -> Option<TaskCounts> {
        self.tasks.iter().try_fold(TaskCounts::default(), |sum, task| {
            let positive = sum.positive.checked_add(task.positive)?;
            Some(TaskCounts { positive, negative: sum.negative.checked_add(task.negative)? })
        })
    }

    /// Whether they can be those of so many tasks.
    pub(crate) fn are_possible(&self, tasks: usize) -> bool {
        let fits = |sum: TaskCounts| sum.positive <= self.positive && sum.negative <= self.negative;
        self.tasks.len() <= tasks && self.of_tasks().is_some_and(fits)
    }

    /// Whether it is known of every label whose it was.
    pub(crate) fn are_known_by_task(&self) -> bool {
        self.of_tasks() == Some(TaskCounts { positive: self.positive, negative: self.negative })
    }

    /// Counts anew, from what every task has taught.
    pub(crate) fn recount(&mut self, tasks: impl Iterator<Item = TaskCounts>) {
        self.tasks = tasks.collect();
        (self.positive, self.negative) = (0, 0);
        for task in &self.tasks {
            self.positive += task.positive;
            self.negative += task.negative;
        }
    }

    /// Forgets what a task has taught, which must be known; tasks after it move one number down.
    pub(crate) fn remove(&mut self, task: TaskId) {
        if task.index() < self.tasks.len() {
            let gone = self.tasks.remove(task.index());
            self.positive -= gone.positive;
            self.negative -= gone.negative;
        }
    }

    /// The weight of the next label, which is counted.
    fn next(&mut self, config: &ClassWeightConfig, task: TaskId, label: f64) -> f64 {
        let is_positive = label > 0.0;
        match config {
            ClassWeightConfig::None(_) => 1.0,
            ClassWeightConfig::Given(given) if is_positive => given.positive,
            ClassWeightConfig::Given(given) => given.negative,
            ClassWeightConfig::Balanced(_) => {
                let all = (self.positive + self.negative) as f64;
                if self.tasks.len() <= task.index() {
                    self.tasks.resize(task.index() + 1, TaskCounts::default());
                }
                let of_task = &mut self.tasks[task.index()];
                let (own, of_task) = if is_positive {
                    (&mut self.positive, &mut of_task.positive)
                } else {
                    (&mut self.negative, &mut of_task.negative)
                };
                let weight = (all + 2.0) / (2.0 * (*own as f64 + 1.0));
                *own += 1;
                *of_task += 1;
                weight
            }
        }
    }
}

impl Model {
    /// An example as it is learnt: its weight is multiplied by that of its class, and its label counted.
    pub(crate) fn weigh<'e>(&mut self, example: Example<'e>) -> Example<'e> {
        if self.config.class_weight.is_none() || example.weight == 0.0 {
            return example;
        }
        let of_class = self.class_counts.next(&self.config.class_weight, example.task, example.label);
        Example { weight: example.weight * of_class, ..example }
    }

    /// Examples as they are learnt, in order.
    pub(crate) fn weigh_all<'b>(&mut self, batch: &'b Batch) -> Cow<'b, Batch> {
        if self.config.class_weight.is_none() {
            return Cow::Borrowed(batch);
        }
        let mut weighed = Batch::default();
        batch.examples().for_each(|example| weighed.push(self.weigh(example)));
        Cow::Owned(weighed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn balanced_by_hand() {
        let (balanced, mut counts) = (ClassWeightConfig::Balanced(NoParameters {}), ClassCounts::default());
        let labels = [(0, -1.0), (1, -1.0), (0, -1.0), (1, 1.0), (0, -1.0)];
        let weights = labels.map(|(task, label)| counts.next(&balanced, TaskId(task), label));
        assert_eq!(weights, [1.0, 3.0 / 4.0, 4.0 / 6.0, 5.0 / 2.0, 6.0 / 8.0]);
        let [first, second] = [(0, 3), (1, 1)].map(|(positive, negative)| TaskCounts { positive, negative });
        assert_eq!(counts, ClassCounts { positive: 1, negative: 4, tasks: vec![first, second] });
        assert!(counts.are_known_by_task() && counts.are_possible(2) && !counts.are_possible(1));
        counts.remove(TaskId(0));
        assert_eq!(counts, ClassCounts { positive: 1, negative: 1, tasks: vec![second] });
        // As an earlier version saved it.
        let mut old = ClassCounts { positive: 5, negative: 7, tasks: Vec::new() };
        assert!(!old.are_known_by_task() && old.are_possible(0));
        old.recount([first, second].into_iter());
        assert_eq!(old, ClassCounts { positive: 1, negative: 4, tasks: vec![first, second] });
        let impossible = ClassCounts { positive: 0, ..old };
        assert!(!impossible.are_possible(2));
    }

    #[test]
    fn given_weights_need_no_counts() {
        let given = ClassWeightConfig::Given(GivenClassWeights { positive: 4.0, negative: 0.5 });
        let mut counts = ClassCounts::default();
        assert_eq!([1.0, -1.0].map(|label| counts.next(&given, TaskId(0), label)), [4.0, 0.5]);
        assert!(counts.is_zero());
    }
}
