//! The multitask Perceptron in dual form, with a kernel.
//!
//! Paper: MP10 section 3, equation (3); the multitask kernel is R[i, j] k(x, z).
//! Protocol: one task per round.
//!
//! State: the mistaken examples (x_s, i_s, y_s), which all tasks share.
//!
//! Predict: sum_s y_s R[i, i_s] k(x_s, x), where R is that of the tasks met so far.
//! Update, after a mistake: the example is kept. An example of weight w counts as often as it takes until it is no mistake,
//! at most w times, as in `perceptron`; y_s is then a multiple of the label.
//!
//! Cost: predict O(m s) for m kept examples; those of unrelated tasks are skipped. Update O(s).
//! Memory: the mistaken examples. It grows with the stream; the budget learners do not.
//!
//! Bound: Theorem 1 in the kernel's space (tests/it/certificates.rs for the linear kernel).
//!
//! Departures: none; as in `perceptron` a margin of 0 is a mistake.
//! Reduces to: `perceptron` with the linear kernel.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{About, Algorithm, CostClass, Parameters, Protocol, restored_tasks};
use crate::block::Block;
use crate::bounds::Theorem;
use crate::error::{ConfigError, ConfigProblem, StateError};
use crate::example::{Example, SparseView, TaskId, is_mistake, is_weight, repeats};
use crate::interaction::{Interaction, InteractionConfig};
use crate::kernel::{KernelConfig, Supports, SupportsState};
use crate::learner::{Inspect, LearnOne, Predict, Support};
use crate::linalg::dot;
use crate::tasks::Tasks;

/// Parameters of `kernel-perceptron`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct KernelPerceptronConfig {
    /// How tasks influence each other
    pub interaction: InteractionConfig,
    /// How the similarity of two examples is measured
    pub kernel: KernelConfig,
}

impl Parameters for KernelPerceptronConfig {
    fn validate(&self) -> Vec<ConfigProblem> {
        let interaction =
            self.interaction.validate().into_iter().map(|problem| problem.within("interaction"));
        let kernel = self.kernel.validate().into_iter().map(|problem| problem.within("kernel"));
        interaction.chain(kernel).collect()
    }

    fn interaction(&self) -> Option<&InteractionConfig> {
        Some(&self.interaction)
    }

    fn interaction_mut(&mut self) -> Option<&mut InteractionConfig> {
        Some(&mut self.interaction)
    }
}

/// The multitask Perceptron in dual form; see the head of its file.
#[derive(Debug, Clone)]
pub struct KernelPerceptron {
    tasks: usize,
    interaction: Interaction,
    kernel: KernelConfig,
    supports: Supports,
    /// y_s.
    labels: Vec<f64>,
    /// Examples seen.
    seen: u64,
}

impl KernelPerceptron {
    pub(super) const ABOUT: About = About {
        id: "kernel-perceptron",
        title: "multitask Perceptron in dual form, with a kernel",
        paper: "MP10 sec. 3",
        protocol: Protocol::OneTask,
        predict_cost: "O(m s)",
        update_cost: "O(s)",
        memory: "the mistaken examples",
        most_tasks: None,
        cost_class: CostClass::PerExample,
        keeps_examples: true,
        probabilities: false,
        weights: true,
        offsets: true,
        shardable: false,
        theorems: &[Theorem::Theorem1, Theorem::Corollary3, Theorem::Corollary4, Theorem::Corollary5],
    };
}

impl Predict for KernelPerceptron {
    fn margin(&self, task: TaskId, x: SparseView<'_>) -> f64 {
        let tasks = self.tasks.max(task.index() + 1);
        let relation = |from: &TaskId| self.interaction.relation(task, *from, tasks);
        let relate = |from: &[TaskId], into: &mut Vec<f64>| into.extend(from.iter().map(relation));
        let mut row = Vec::new();
        self.supports.related(&self.kernel, x, relate, &mut row);
        dot(&self.labels, &row)
    }
}

impl LearnOne for KernelPerceptron {
    fn update(&mut self, example: Example<'_>, margin: f64) -> bool {
        let Example { task, features, label, weight, .. } = example;
        self.tasks = self.tasks.max(task.index() + 1);
        self.seen += 1;
        let mistake = is_mistake(label, margin) && weight > 0.0;
        if mistake {
            let gain = || self.relation(task, task) * self.kernel.square(features.norm_squared());
            let updates = repeats(weight, label, margin, gain);
            self.supports.push(task, features, self.seen);
            self.labels.push(label * updates);
        }
        mistake
    }

    fn skip(&mut self, task: TaskId) {
        self.tasks = self.tasks.max(task.index() + 1);
        self.seen += 1;
    }
}

impl Inspect for KernelPerceptron {
    fn tasks(&self) -> usize {
        self.tasks
    }

    fn relation(&self, to: TaskId, from: TaskId) -> f64 {
        self.interaction.relation(to, from, self.tasks)
    }

    fn influence(&self, task: TaskId) -> f64 {
        self.interaction.influence(task, self.tasks)
    }

    fn weights(&self, task: TaskId) -> Vec<(u32, f64)> {
        if !self.kernel.is_plain() {
            return Vec::new();
        }
        self.supports.combined(|at| self.labels[at] * self.relation(task, self.supports.task(at)))
    }

    fn supports(&self) -> Option<Vec<Support>> {
        Some(self.supports.listed(&self.labels))
    }

    fn heap_bytes(&self) -> usize {
        self.supports.heap_bytes() + self.labels.capacity() * size_of::<f64>()
    }
}

/// Saved form of [`KernelPerceptron`]; R and the kernel follow from the config.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct KernelPerceptronState {
    tasks: u64,
    #[serde(deserialize_with = "crate::count::saved")]
    seen: u64,
    supports: SupportsState,
    labels: Block<f64>,
}

impl Algorithm for KernelPerceptron {
    type Config = KernelPerceptronConfig;
    type State = KernelPerceptronState;

    fn build(config: &KernelPerceptronConfig, tasks: &Tasks, _: Option<u32>) -> Result<Self, ConfigError> {
        Ok(Self {
            tasks: tasks.count(),
            interaction: config.interaction.build(tasks).map_err(|error| error.within("interaction"))?,
            kernel: config.kernel.clone(),
            supports: Supports::default(),
            labels: Vec::new(),
            seen: 0,
        })
    }

    fn state(&self) -> KernelPerceptronState {
        KernelPerceptronState {
            tasks: self.tasks as u64,
            seen: self.seen,
            supports: self.supports.state(),
            labels: Block(self.labels.clone()),
        }
    }

    fn restore(&mut self, state: KernelPerceptronState) -> Result<(), StateError> {
        self.tasks = restored_tasks(state.tasks, self.tasks)?;
        self.supports = Supports::restore(self.tasks, state.seen, &state.supports)?;
        let labels = state.labels.0;
        if labels.len() != self.supports.len() || !labels.iter().all(|label| is_multiple(*label)) {
            return Err(StateError::new("there is not one multiple of a label per support"));
        }
        (self.seen, self.labels) = (state.seen, labels);
        Ok(())
    }
}

/// Whether a number can be a label times a number of updates.
fn is_multiple(label: f64) -> bool {
    label != 0.0 && is_weight(label.abs())
}

/// Labels of kept examples, one each.
pub(super) fn restored_labels(labels: Vec<f64>, supports: usize) -> Result<Vec<f64>, StateError> {
    if labels.len() == supports && labels.iter().all(|label| label.abs() == 1.0) {
        Ok(labels)
    } else {
        Err(StateError::new("there is not one label of -1 or +1 per support"))
    }
}
