//! The multitask second-order Perceptron, in dual form.
//!
//! Paper: MP10 section 4.2, Figure 2 and equation (11).
//! Protocol: one task per round.
//!
//! State: the m mistaken examples (x_s, i_s, y_s), their Gram matrix G[s, t] = R[i_s, i_t] k(x_s, x_t) as the
//! Cholesky factor L of aI + G, and L^-1 y.
//!
//! Predict: with g_s = R\[i_s, i\] k(x_s, x) and z = L^-1 g the margin is
//! z'(L^-1 y) / (1 + (R[i, i] k(x, x) - z'z) / a): equation (11), with the example itself inside the inverse. The
//! denominator is positive and does not touch the sign.
//! Update, after a mistake: L gets the row (z', sqrt(a + R[i, i] k(x, x) - z'z)) and L^-1 y one more entry. Nothing
//! is factored anew: a bordered factor is the bordered inverse at half the work, and rounds better.
//!
//! Cost: predict O(m s + m^2 / 2), update O(m) on top of it.
//! Memory: the mistaken examples and m^2 / 2 numbers.
//!
//! Bound: Theorem 8 (tests/it/certificates.rs).
//!
//! Departures: the identity of Figure 2 is a I. Where tasks are met on the way, R is that of about as many tasks as have
//! been met: of all up to 8, then of at least four fifths of them. It moves on when a task is learnt that makes it too old;
//! L is computed anew then from the examples kept, in O(m^2 s + m^3). As R is out of date a fixed share of the tasks later,
//! all of it together costs about twice what the predictions do. Declare the tasks and it never happens.
//! Reduces to: K second-order Perceptrons with `independent`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::kernel_perceptron::restored_labels;
use super::{About, Algorithm, CostClass, Parameters, Protocol, restored_tasks};
use crate::block::Block;
use crate::bounds::Theorem;
use crate::error::{ConfigError, ConfigProblem, StateError};
use crate::example::{Example, SparseView, TaskId, is_mistake};
use crate::interaction::{Interaction, InteractionConfig};
use crate::kernel::{KernelConfig, Supports, SupportsState, square};
use crate::learner::{Inspect, LearnOne, Outcome, Predict, Support};
use crate::linalg::{GrowingFactor, all_finite};
use crate::tasks::Tasks;

/// Parameters of `second-order-perceptron`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SecondOrderPerceptronConfig {
    /// How tasks influence each other
    pub interaction: InteractionConfig,
    /// How the similarity of two examples is measured
    pub kernel: KernelConfig,
    /// Value added to the diagonal before inverting, positive; a large one approaches the Perceptron
    #[schemars(extend("exclusiveMinimum" = 0.0))]
    pub a: f64,
}

impl Default for SecondOrderPerceptronConfig {
    fn default() -> Self {
        Self { interaction: InteractionConfig::default(), kernel: KernelConfig::default(), a: 1.0 }
    }
}

impl Parameters for SecondOrderPerceptronConfig {
    fn validate(&self) -> Vec<ConfigProblem> {
        let interaction =
            self.interaction.validate().into_iter().map(|problem| problem.within("interaction"));
        let kernel = self.kernel.validate().into_iter().map(|problem| problem.within("kernel"));
        let mut problems: Vec<_> = interaction.chain(kernel).collect();
        if !(self.a.is_finite() && self.a > 0.0) {
            problems.push(ConfigProblem::new("a", format!("must be positive and finite, got {}", self.a)));
        }
        problems
    }

    fn interaction(&self) -> Option<&InteractionConfig> {
        Some(&self.interaction)
    }

    fn interaction_mut(&mut self) -> Option<&mut InteractionConfig> {
        Some(&mut self.interaction)
    }

    /// Half of a symmetric matrix.
    fn numbers_for_pairs(&self, kept: usize) -> usize {
        kept * (kept + 1) / 2
    }
}

/// The multitask second-order Perceptron; see the head of its file.
#[derive(Debug, Clone)]
pub struct SecondOrderPerceptron {
    tasks: usize,
    /// The number of tasks that R and L are for.
    related: usize,
    interaction: Interaction,
    kernel: KernelConfig,
    a: f64,
    supports: Supports,
    labels: Vec<f64>,
    /// L, and L^-1 y.
    factor: GrowingFactor,
    solved_labels: Vec<f64>,
    /// Examples seen.
    seen: u64,
    /// Whether a row of L or an entry of L^-1 y was not finite.
    overflowed: bool,
}

/// What (11) and the border of L are made of.
struct Projection {
    /// L^-1 g.
    z: Vec<f64>,
    /// a + R\[i, i\] k(x, x) - z'z.
    pivot: f64,
}

/// R moves on when one task has been met for so many that it is for.
const TASKS_PER_NEW: usize = 4;

impl SecondOrderPerceptron {
    pub(super) const ABOUT: About = About {
        id: "second-order-perceptron",
        title: "multitask second-order Perceptron, with a kernel",
        paper: "MP10 sec. 4.2",
        protocol: Protocol::OneTask,
        predict_cost: "O(m s + m^2)",
        update_cost: "O(m)",
        memory: "the mistaken examples and m^2 / 2 numbers",
        most_tasks: None,
        cost_class: CostClass::PerExample,
        keeps_examples: true,
        probabilities: false,
        weights: false,
        offsets: true,
        shardable: false,
        theorems: &[Theorem::Theorem8],
    };

    /// g: the example's row of the Gram matrix of the first `count` supports.
    fn gram_row(&self, task: TaskId, x: SparseView<'_>, count: usize) -> Vec<f64> {
        let relation = |from: &TaskId| self.interaction.relation(task, *from, self.related);
        let relate = |from: &[TaskId], into: &mut Vec<f64>| into.extend(from.iter().map(relation));
        let mut row = Vec::with_capacity(self.supports.len());
        self.supports.related(&self.kernel, x, relate, &mut row);
        row.truncate(count);
        row
    }

    /// The projection of an example on the first `count` supports, all that L has rows for.
    fn projection_on(&self, task: TaskId, x: SparseView<'_>, count: usize) -> Projection {
        let mut z = self.gram_row(task, x, count);
        self.factor.solve(&mut z);
        let own = self.relation(task, task) * self.kernel.square(square(x));
        // In exact numbers at least a.
        let pivot = (self.a + own - dot(&z, &z)).max(self.a);
        Projection { z, pivot }
    }

    fn projection(&self, task: TaskId, x: SparseView<'_>) -> Projection {
        self.projection_on(task, x, self.supports.len())
    }

    fn margin_of(&self, projection: &Projection) -> f64 {
        dot(&projection.z, &self.solved_labels) * self.a / projection.pivot
    }

    /// Meets a task; whether R and L have changed with it.
    fn meet(&mut self, task: TaskId) -> bool {
        self.tasks = self.tasks.max(task.index() + 1);
        let is_old = self.tasks > self.related + self.related / TASKS_PER_NEW;
        if !is_old {
            return false;
        }
        self.related = self.tasks;
        let changes = self.interaction.follows_tasks() && self.supports.len() > 0;
        if changes {
            self.form_factor();
        }
        changes
    }

    /// Computes L and L^-1 y from the examples kept.
    fn form_factor(&mut self) {
        (self.factor, self.solved_labels) = (GrowingFactor::default(), Vec::new());
        let supports = self.supports.clone();
        supports.for_each(|at, x| {
            let projection = self.projection_on(supports.task(at), x, at);
            self.border(&projection, self.labels[at]);
        });
    }

    /// Adds a row to L and an entry to L^-1 y.
    fn border(&mut self, projection: &Projection, label: f64) {
        let pivot = projection.pivot.sqrt();
        let solved = (label - dot(&projection.z, &self.solved_labels)) / pivot;
        self.overflowed |= !(solved.is_finite() && pivot.is_finite() && all_finite(&projection.z));
        self.factor.push_row(&projection.z, pivot);
        self.solved_labels.push(solved);
    }

    /// Learns from an example of a margin; its projection, where it is known, is of before its task was met.
    fn learn_from(&mut self, example: Example<'_>, margin: f64, projection: Option<Projection>) -> bool {
        let changed = self.meet(example.task);
        self.seen += 1;
        let mistake = is_mistake(example.label, margin);
        if mistake {
            let projection = projection
                .filter(|_| !changed)
                .unwrap_or_else(|| self.projection(example.task, example.features));
            self.border(&projection, example.label);
            self.supports.push(example.task, example.features, self.seen);
            self.labels.push(example.label);
        }
        mistake
    }

    /// (aI + G)^-1 y, the coefficients of the margin without the example itself.
    pub fn dual_coefficients(&self) -> Vec<f64> {
        let mut coefficients = self.solved_labels.clone();
        self.factor.solve_transposed(&mut coefficients);
        coefficients
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    crate::linalg::dot(a, b)
}

impl Predict for SecondOrderPerceptron {
    fn margin(&self, task: TaskId, x: SparseView<'_>) -> f64 {
        self.margin_of(&self.projection(task, x))
    }
}

impl LearnOne for SecondOrderPerceptron {
    fn update(&mut self, example: Example<'_>, margin: f64) -> bool {
        self.learn_from(example, margin, None)
    }

    /// As margin then update, solving once.
    fn learn(&mut self, example: Example<'_>) -> Outcome {
        let projection = self.projection(example.task, example.features);
        let margin = self.margin_of(&projection) + example.offset;
        Outcome { margin, updated: self.learn_from(example, margin, Some(projection)) }
    }

    fn skip(&mut self, task: TaskId) {
        self.meet(task);
        self.seen += 1;
    }

    fn overflow(&self) -> Option<&'static str> {
        self.overflowed.then_some("the factor of the Gram matrix")
    }
}

impl Inspect for SecondOrderPerceptron {
    fn tasks(&self) -> usize {
        self.tasks
    }

    fn relation(&self, to: TaskId, from: TaskId) -> f64 {
        self.interaction.relation(to, from, self.related)
    }

    fn influence(&self, task: TaskId) -> f64 {
        self.interaction.influence(task, self.related)
    }

    /// Those of the margin without the example itself, which has the same sign.
    fn weights(&self, task: TaskId) -> Vec<(u32, f64)> {
        if !self.kernel.is_plain() {
            return Vec::new();
        }
        let coefficients = self.dual_coefficients();
        self.supports.combined(|at| coefficients[at] * self.relation(task, self.supports.task(at)))
    }

    /// The example itself is one of those that the margin is made of.
    fn is_linear(&self) -> bool {
        false
    }

    fn supports(&self) -> Option<Vec<Support>> {
        Some(self.supports.listed(&self.dual_coefficients()))
    }

    fn heap_bytes(&self) -> usize {
        self.supports.heap_bytes()
            + self.factor.heap_bytes()
            + (self.labels.capacity() + self.solved_labels.capacity()) * size_of::<f64>()
    }
}

/// Saved form of [`SecondOrderPerceptron`]; R and the kernel follow from the config.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct SecondOrderPerceptronState {
    tasks: u64,
    /// The number of tasks that R and L are for; all of them where it is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    related: Option<u64>,
    #[serde(deserialize_with = "crate::count::saved")]
    seen: u64,
    supports: SupportsState,
    labels: Block<f64>,
    /// L by rows, without what is above the diagonal.
    factor: Block<f64>,
    solved_labels: Block<f64>,
}

impl Algorithm for SecondOrderPerceptron {
    type Config = SecondOrderPerceptronConfig;
    type State = SecondOrderPerceptronState;

    fn build(
        config: &SecondOrderPerceptronConfig,
        tasks: &Tasks,
        _: Option<u32>,
    ) -> Result<Self, ConfigError> {
        Ok(Self {
            tasks: tasks.count(),
            related: tasks.count(),
            interaction: config.interaction.build(tasks).map_err(|error| error.within("interaction"))?,
            kernel: config.kernel.clone(),
            a: config.a,
            supports: Supports::default(),
            labels: Vec::new(),
            factor: GrowingFactor::default(),
            solved_labels: Vec::new(),
            seen: 0,
            overflowed: false,
        })
    }

    fn state(&self) -> SecondOrderPerceptronState {
        SecondOrderPerceptronState {
            tasks: self.tasks as u64,
            related: (self.related != self.tasks).then_some(self.related as u64),
            seen: self.seen,
            supports: self.supports.state(),
            labels: Block(self.labels.clone()),
            factor: Block(self.factor.entries().to_vec()),
            solved_labels: Block(self.solved_labels.clone()),
        }
    }

    fn restore(&mut self, state: SecondOrderPerceptronState) -> Result<(), StateError> {
        self.tasks = restored_tasks(state.tasks, self.tasks)?;
        let related = state.related.unwrap_or(state.tasks);
        self.related = usize::try_from(related)
            .ok()
            .filter(|related| *related <= self.tasks)
            .ok_or_else(|| StateError::new("R is of more tasks than there are"))?;
        self.supports = Supports::restore(self.tasks, state.seen, &state.supports)?;
        let count = self.supports.len();
        (self.seen, self.labels) = (state.seen, restored_labels(state.labels.0, count)?);
        self.factor = GrowingFactor::restore(count, state.factor.0)?;
        if state.solved_labels.0.len() != count {
            return Err(StateError::new("there is not one solved label per support"));
        }
        crate::linalg::check_all_finite("a solved label", &state.solved_labels.0)?;
        self.solved_labels = state.solved_labels.0;
        Ok(())
    }
}
