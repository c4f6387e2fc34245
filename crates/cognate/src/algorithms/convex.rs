//! Tasks and their structure from all examples at once, to the global optimum.
//!
//! Paper: CS15 (problem R, the barrier of Theorem 3.3, Algorithm 1, Proposition 3.6); Jacob et al. for `cluster`.
//! Protocol: batch; `cognate fit`. It does not learn from streams.
//!
//! State: weights of every task and feature, or coefficients of every task and input where there is a kernel; intercepts;
//! A; how the search ended.
//!
//! Predict: f_t(x) = w_t'x + b_t, or sum_i k(x, x_i) c_it + b_t. A task never seen is predicted by the mean of all.
//! Fit: minimise sum_i w_i loss(y_i, f_t(x_i)) + lambda tr(A^-1 (W'W + delta^2 I)) + ridge tr(W'W) + F(A), in
//! [`crate::fit`]; W'W = C'KC. w_i is the weight of an example times that of its class, so that one of weight 2 counts as
//! two; with `weights = "mean"` each task's add up to 1.
//!
//! Cost: predict O(s), or O(n s) with a kernel. Fit: one eigendecomposition of the n x n Gram matrix (d x d when linear
//! and d < n), and where inputs are shared and complete O(r K^2 + K^3) per iteration, r the rank of the Gram matrix; where they
//! are not and losses are squares, one of each task's inputs, and O(K d m + d^2 K) per iteration, m a task's inputs or d.
//! Memory: n^2 or d^2, K^2, the weights, and K d m where tasks have inputs of their own.
//!
//! Certificate: the gap to the minimum, by duality (`batch/gap.rs`).
//!
//! Departures: Proposition 3.6 is misprinted; `log-det` has a term tau tr A, without which there is no minimum; `cluster`
//! relaxes A, not its inverse, which would not be convex. Intercepts cost nothing.
//! Reduces to: ridge regression of every task with `penalty = "none"`; MTFL, OKL, MTRL, MTCL as the penalty is chosen.

mod config;

use serde::{Deserialize, Serialize};

pub use config::{
    ClusterConfig, ConvexConfig, ConvexWeights, FixedConfig, LogDetConfig, PenaltyConfig, SchattenConfig,
};

use super::{About, Algorithm, CostClass, Protocol, restored_tasks};
use crate::block::Block;
use crate::error::{ConfigError, StateError};
use crate::example::{BIAS_FEATURE, SparseView, TaskId};
use crate::fit::{Examples, FitStatus, Fitted, Kept, Kind, Loss};
use crate::kernel::{KernelConfig, Supports, SupportsState};
use crate::learner::{Inspect, Predict, Support};
use crate::linalg::{Symmetric, all_finite, check_finite};
use crate::tasks::Tasks;

/// Tasks learnt at once; see the head of its file.
#[derive(Debug, Clone)]
pub struct Convex {
    kernel: KernelConfig,
    loss: Loss,
    tasks: usize,
    weights: Weights,
    intercepts: Vec<f64>,
    relation: Symmetric,
    kind: Option<Kind>,
    status: Option<FitStatus>,
}

/// What predicts, one run of numbers per task.
#[derive(Debug, Clone)]
enum Weights {
    /// One weight per feature.
    Features { features: Vec<u32>, values: Vec<f64> },
    /// One coefficient per input.
    Inputs { supports: Box<Supports>, values: Vec<f64> },
}

impl Convex {
    pub(super) const ABOUT: About = About {
        id: "convex",
        title: "batch: tasks and their structure to the global optimum (`cognate fit`)",
        paper: "CS15",
        protocol: Protocol::Batch,
        predict_cost: "O(s); O(n s) with a kernel",
        update_cost: "fit: one n x n (or d x d) eigendecomposition, then O(n K^2 + K^3) per iteration",
        memory: "n^2 or d^2",
        most_tasks: Some(config::MOST_TASKS),
        cost_class: CostClass::Batch,
        keeps_examples: false,
        probabilities: false,
        weights: true,
        offsets: false,
        shardable: false,
        theorems: &[],
    };

    /// What was fitted, as a learner.
    pub fn from_fit(config: &ConvexConfig, examples: &Examples, fitted: &Fitted) -> Self {
        let weights = match &fitted.kept {
            Kept::Weights { features, weights } => {
                Weights::Features { features: features.clone(), values: weights.to_vec() }
            }
            Kept::Coefficients(coefficients) => {
                let mut supports = Supports::default();
                for input in 0..examples.inputs() {
                    let at = examples.first_example(input);
                    supports.push(
                        examples.example(at as usize).task,
                        examples.input(input),
                        u64::from(at) + 1,
                    );
                }
                Weights::Inputs { supports: Box::new(supports), values: coefficients.to_vec() }
            }
        };
        Self {
            kernel: config.kernel.clone(),
            loss: config.loss,
            tasks: examples.tasks().len(),
            weights,
            intercepts: fitted.intercepts.clone(),
            relation: fitted.relation.clone(),
            kind: Some(examples.kind()),
            status: Some(fitted.status),
        }
    }

    /// What is not finite, if anything.
    pub(crate) fn overflow(&self) -> Option<&'static str> {
        let (Weights::Features { values, .. } | Weights::Inputs { values, .. }) = &self.weights;
        if !all_finite(values) {
            Some("a weight")
        } else if !all_finite(&self.intercepts) {
            Some("an intercept")
        } else {
            (!self.relation.is_finite()).then_some("the relation of tasks")
        }
    }

    /// How the search ended; none before there was one.
    pub fn status(&self) -> Option<&FitStatus> {
        self.status.as_ref()
    }

    /// What the labels were; none before there were any.
    pub fn kind(&self) -> Option<Kind> {
        self.kind
    }

    /// The intercept of a task.
    pub fn intercept(&self, task: TaskId) -> f64 {
        self.intercepts.get(task.index()).copied().unwrap_or(0.0)
    }

    /// Numbers of one task, or their means over all tasks for one never seen.
    fn with_column<R>(&self, values: &[f64], task: TaskId, use_it: impl FnOnce(&[f64], f64) -> R) -> R {
        let size = values.len() / self.tasks.max(1);
        if task.index() < self.tasks {
            let start = task.index() * size;
            return use_it(&values[start..start + size], self.intercepts[task.index()]);
        }
        let mut mean = vec![0.0; size];
        let share = 1.0 / self.tasks.max(1) as f64;
        for column in values.chunks_exact(size.max(1)) {
            mean.iter_mut().zip(column).for_each(|(mean, value)| *mean += share * value);
        }
        use_it(&mean, share * self.intercepts.iter().sum::<f64>())
    }
}

impl Predict for Convex {
    fn margin(&self, task: TaskId, x: SparseView<'_>) -> f64 {
        match &self.weights {
            Weights::Features { features, values } => self.with_column(values, task, |weights, intercept| {
                let mut sum = intercept;
                let mut from = 0;
                for (feature, value) in x.iter() {
                    // Both are in order, so each search begins where the last one ended.
                    match features[from..].binary_search(&feature) {
                        Ok(at) => {
                            sum += value * weights[from + at];
                            from += at + 1;
                        }
                        Err(at) => from += at,
                    }
                }
                sum
            }),
            Weights::Inputs { supports, values } => self.with_column(values, task, |weights, intercept| {
                let mut likenesses = Vec::new();
                supports.likenesses(&self.kernel, x, &mut likenesses);
                let terms = weights.iter().zip(&likenesses).map(|(weight, likeness)| weight * likeness);
                intercept + terms.sum::<f64>()
            }),
        }
    }
}

impl Inspect for Convex {
    fn tasks(&self) -> usize {
        self.tasks
    }

    /// A\[to, from\]; that of the identity for tasks never seen.
    fn relation(&self, to: TaskId, from: TaskId) -> f64 {
        if to.index() < self.relation.size() && from.index() < self.relation.size() {
            self.relation.entry(to.index(), from.index())
        } else {
            f64::from(u8::from(to == from))
        }
    }

    /// The weights of a task, its intercept as that of the constant feature.
    fn weights(&self, task: TaskId) -> Vec<(u32, f64)> {
        if task.index() >= self.tasks {
            return Vec::new();
        }
        let mut found = std::collections::BTreeMap::<u32, f64>::new();
        match &self.weights {
            Weights::Features { features, values } => self.with_column(values, task, |weights, _| {
                found.extend(features.iter().copied().zip(weights.iter().copied()));
            }),
            Weights::Inputs { supports, values } if self.kernel.is_plain() => {
                self.with_column(values, task, |coefficients, _| {
                    for (at, coefficient) in coefficients.iter().enumerate() {
                        for (feature, value) in supports.entries(at) {
                            *found.entry(feature).or_default() += coefficient * value;
                        }
                    }
                });
            }
            Weights::Inputs { .. } => return Vec::new(),
        }
        *found.entry(BIAS_FEATURE).or_default() += self.intercepts[task.index()];
        found.into_iter().filter(|(_, weight)| *weight != 0.0).collect()
    }

    fn supports(&self) -> Option<Vec<Support>> {
        let Weights::Inputs { supports, values } = &self.weights else { return None };
        let size = supports.len();
        let pair = |at: usize, task: usize| {
            let coefficient = values[task * size + at];
            let example = supports.example(at);
            (coefficient != 0.0).then_some(Support { example, task: TaskId(task as u32), coefficient })
        };
        Some((0..size).flat_map(|at| (0..self.tasks).filter_map(move |task| pair(at, task))).collect())
    }

    /// That of the logistic loss; margins of other losses give none.
    fn probability(&self, margin: f64) -> Option<f64> {
        (self.loss == Loss::Logistic).then(|| 1.0 / (1.0 + (-margin).exp()))
    }

    fn remarks(&self) -> Vec<String> {
        self.status.iter().map(ToString::to_string).collect()
    }

    fn heap_bytes(&self) -> usize {
        let own = match &self.weights {
            Weights::Features { features, values } => 4 * features.capacity() + 8 * values.capacity(),
            Weights::Inputs { supports, values } => supports.heap_bytes() + 8 * values.capacity(),
        };
        own + 8 * (self.intercepts.capacity() + self.relation.size() * self.relation.size())
    }
}

/// Saved form of [`Convex`].
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ConvexState {
    tasks: u64,
    /// Features, where weights are kept.
    features: Option<Block<u32>>,
    /// Inputs, where coefficients are kept.
    supports: Option<SupportsState>,
    /// Weights or coefficients, task by task.
    values: Block<f64>,
    intercepts: Block<f64>,
    /// A, on and below the diagonal.
    relation: Block<f64>,
    kind: Option<Kind>,
    status: Option<FitStatus>,
}

impl Algorithm for Convex {
    type Config = ConvexConfig;
    type State = ConvexState;

    fn build(config: &ConvexConfig, tasks: &Tasks, _: Option<u32>) -> Result<Self, ConfigError> {
        let count = tasks.count();
        Ok(Self {
            kernel: config.kernel.clone(),
            loss: config.loss,
            tasks: count,
            weights: Weights::Features { features: Vec::new(), values: Vec::new() },
            intercepts: vec![0.0; count],
            relation: Symmetric::from_fn(count, |i, j| f64::from(u8::from(i == j))),
            kind: None,
            status: None,
        })
    }

    fn state(&self) -> ConvexState {
        let (features, supports, values) = match &self.weights {
            Weights::Features { features, values } => (Some(Block(features.clone())), None, values),
            Weights::Inputs { supports, values } => (None, Some(supports.state()), values),
        };
        ConvexState {
            tasks: self.tasks as u64,
            features,
            supports,
            values: Block(values.clone()),
            intercepts: Block(self.intercepts.clone()),
            relation: Block(self.relation.lower()),
            kind: self.kind,
            status: self.status,
        }
    }

    fn restore(&mut self, state: ConvexState) -> Result<(), StateError> {
        let tasks = restored_tasks(state.tasks, self.tasks)?;
        check_finite(&state.values.0)?;
        check_finite(&state.intercepts.0)?;
        let relation = Symmetric::from_lower(tasks, &state.relation.0)?;
        let seen = state.status.map_or(0, |status| status.iterations as u64);
        let (rows, weights) = match (state.features, state.supports) {
            (Some(Block(features)), None) => {
                if features.windows(2).any(|pair| pair[0] >= pair[1]) {
                    return Err(StateError::new("features are not in order"));
                }
                (features.len(), Weights::Features { features, values: state.values.0 })
            }
            (None, Some(inputs)) => {
                let supports = Supports::restore_in_any_order(tasks, u64::MAX, &inputs)?;
                (supports.len(), Weights::Inputs { supports: Box::new(supports), values: state.values.0 })
            }
            _ => return Err(StateError::new("there must be features or inputs")),
        };
        let values = match &weights {
            Weights::Features { values, .. } | Weights::Inputs { values, .. } => values.len(),
        };
        if rows.checked_mul(tasks) != Some(values) || state.intercepts.0.len() != tasks {
            return Err(StateError::new(format!(
                "there is not a number for each of {rows} rows and {tasks} tasks after {seen} iterations"
            )));
        }
        let Self { kernel, loss, .. } = self;
        *self = Self {
            kernel: kernel.clone(),
            loss: *loss,
            tasks,
            weights,
            intercepts: state.intercepts.0,
            relation,
            kind: state.kind,
            status: state.status,
        };
        Ok(())
    }
}
