//! The multitask budget Projectron: an example that others can stand for is not kept, and one that goes is projected
//! onto those that stay.
//!
//! Paper: MB12 section 4.1, Algorithm 1 (MTBPRJ), after Orabona, Keshet, Caputo, *Bounded kernel-based online learning*,
//! JMLR 2009.
//! Protocol: one task per round.
//!
//! State: at most B mistaken examples (x_s, i_s) with coefficients beta_s, which all tasks share; P = H^-1 of their Gram
//! matrix H under the multitask kernel K([x, i], [z, j]) = R[i, j] k(x, z), where R = (I + L)^-1 of the task graph,
//! or the (pseudo-)inverse of `graph.matrix`.
//!
//! Predict: f_i(x) = sum_s beta_s K([x_s, i_s], [x, i]).
//! Update, after a mistake at (x_t, i_t): with k the column of its kernel values, alpha = P k and r^2 = K_tt - k'alpha,
//! - r <= threshold: beta += y alpha, nothing is kept (line 6);
//! - else it is kept with beta_t = y (lines 8 to 10). Once B are there, it takes the slot of the r with the least
//!   |beta_r| d_r, d_r being the distance of K([x_r, i_r], .) from the span of all others and the new one (line 12), and
//!   beta += beta_r gamma, gamma the coefficients of r in that span (line 14). On the inverse with the new one,
//!   d_r = 1/sqrt(P_rr) and gamma = -P_r/P_rr.
//!
//! Cost: predict O(B s); examples of unrelated tasks are skipped. Update O(B s + B^2): adding and evicting are one pass
//! over P, which is formed anew by Cholesky every B evictions. Memory: B examples and B^2 numbers.
//!
//! Bound: none in the paper.
//!
//! Departures: the victim has the least |beta_r| d_r, in print beta_r d_r; scores within 1e-9 of each other are equal, and
//! the oldest goes. gamma runs over the new active set, in print over the old one. An r^2 below 64 eps B K_tt is rounding
//! and counts as in the span. P is kept for R without its factor 1/(K+1) on the complete graph, so that a task that is met
//! changes nothing in it.
//! Reduces to: `kernel-perceptron` on the same graph while there are at most B mistakes and none is projected.

mod threshold;

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{About, Algorithm, CostClass, Protocol};
use crate::block::Block;
use crate::error::{ConfigError, ConfigProblem, StateError};
use crate::example::{Example, SparseView, TaskId, is_mistake};
use crate::interaction::TaskGraphConfig;
use crate::kernel::{
    ActiveSet, ActiveSetState, Budget, BudgetParameters, Common, KernelConfig, OnBudget, Overhead,
    restored_coefficients,
};
use crate::learner::{LearnOne, Outcome, Predict};
use crate::linalg::{InverseGram, InverseGramState, Projected, all_finite, dot};
use crate::tasks::Tasks;
pub(super) use threshold::Threshold;

/// Parameters of `budget-projectron`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BudgetProjectronConfig {
    /// Which tasks are related
    pub graph: TaskGraphConfig,
    /// How the similarity of two examples is measured
    pub kernel: KernelConfig,
    /// Limit on what is kept: a number of examples, or of bytes, such as "64MB"
    pub budget: Budget,
    /// Largest distance from the span of the kept examples at which an example is projected onto it, positive
    #[schemars(extend("exclusiveMinimum" = 0.0))]
    pub threshold: f64,
}

impl Default for BudgetProjectronConfig {
    /// threshold = 0.01, as in the paper's experiments.
    fn default() -> Self {
        Self {
            graph: TaskGraphConfig::default(),
            kernel: KernelConfig::default(),
            budget: Budget::default(),
            threshold: 0.01,
        }
    }
}

/// Coefficients, scratch, and P with room to be formed anew.
const OVERHEAD: Overhead = Overhead { example: 64, pair: 24 };

impl BudgetParameters for BudgetProjectronConfig {
    const OVERHEAD: Overhead = OVERHEAD;

    fn common(&self) -> Common<'_> {
        Common { graph: &self.graph, kernel: &self.kernel, budget: self.budget }
    }

    fn graph_mut(&mut self) -> &mut TaskGraphConfig {
        &mut self.graph
    }

    fn other_problem(&self) -> Option<ConfigProblem> {
        Threshold::problem(self.threshold)
    }
}

/// The multitask budget Projectron; see the head of its file.
#[derive(Debug, Clone)]
pub struct BudgetProjectron {
    active: ActiveSet,
    coefficients: Vec<f64>,
    inverse: InverseGram,
    threshold: Threshold,
    scratch: Scratch,
}

/// Buffers that an update needs.
#[derive(Debug, Clone, Default)]
pub(super) struct Scratch {
    pub(super) projected: Projected,
    pub(super) gamma: Vec<f64>,
    pub(super) scores: Vec<f64>,
    /// Whether an example had an infinite length.
    pub(super) endless: bool,
}

impl Scratch {
    /// Notices an example of infinite length. What else overflows shows later.
    pub(super) fn notice(&mut self) {
        self.endless |= !self.projected.own.is_finite();
    }

    /// What is not finite, at the cost of a row of P.
    pub(super) fn overflow(&self, inverse: &InverseGram) -> Option<&'static str> {
        if self.endless || !inverse.is_sound() {
            Some("the Gram matrix or its inverse")
        } else {
            (!self.projected.is_finite() || !all_finite(&self.gamma))
                .then_some("the projection of an example")
        }
    }

    pub(super) fn heap_bytes(&self) -> usize {
        let numbers = self.gamma.capacity() + self.scores.capacity();
        self.projected.heap_bytes() + numbers * size_of::<f64>()
    }
}

impl BudgetProjectron {
    pub(super) const ABOUT: About = About {
        id: "budget-projectron",
        title: "kernel Perceptron in fixed memory, projecting what it forgets",
        paper: "MB12 Alg. 1",
        protocol: Protocol::OneTask,
        predict_cost: "O(B s)",
        update_cost: "O(B s + B^2)",
        memory: "B examples and B^2 numbers",
        most_tasks: None,
        cost_class: CostClass::Budget,
        keeps_examples: true,
        probabilities: false,
        weights: false,
        offsets: true,
        shardable: false,
        theorems: &[],
    };

    /// Learns from a mistake; the kernel values of the example with those kept are in the scratch.
    fn learn_mistake(&mut self, example: Example<'_>) -> bool {
        let updated = self.project_or_keep(example);
        self.scratch.notice();
        updated
    }

    fn project_or_keep(&mut self, example: Example<'_>) -> bool {
        let Example { task, features, label, .. } = example;
        if self.active.is_crowded_out(OVERHEAD) {
            self.shrink_to(0, example);
        }
        let slots = self.active.slots_with(features, OVERHEAD);
        if slots == 0 {
            return false;
        }
        self.shrink_to(slots, example);
        // P is without the factor of R that follows K, and so are the values here.
        let scale = self.active.graph().scale(self.active.tasks());
        let own = self.active.relation(task, task) * self.active.square(features);
        let Scratch { projected, gamma, scores, .. } = &mut self.scratch;
        projected.own = own / scale;
        projected.row.iter_mut().for_each(|value| *value /= scale);
        self.inverse.project(projected);
        if self.threshold.reaches(projected.distance * scale, own, slots) {
            let steps = self.coefficients.iter_mut().zip(&projected.coefficients);
            steps.for_each(|(beta, alpha)| *beta += label * alpha);
            return projected.coefficients.iter().any(|alpha| *alpha != 0.0);
        }
        if self.active.len() < slots {
            self.inverse.push(projected, slots);
            self.active.push(task, features);
            self.coefficients.push(label);
            return true;
        }
        scores.clear();
        let score =
            |(at, beta): (usize, &f64)| beta.abs() / self.inverse.bordered_diagonal(projected, at).sqrt();
        scores.extend(self.coefficients.iter().enumerate().map(score));
        let at = self.active.least(scores).expect("a budget holds an example");
        self.inverse.bordered_projection(projected, at, gamma);
        self.inverse.replace(projected, at);
        self.active.replace(at, task, features);
        let gone = std::mem::replace(&mut self.coefficients[at], label);
        self.coefficients.iter_mut().zip(gamma).for_each(|(beta, gamma)| *beta += gone * *gamma);
        true
    }

    /// A budget in bytes holds fewer of longer examples: those that can best be spared go.
    fn shrink_to(&mut self, slots: usize, example: Example<'_>) {
        if self.active.len() <= slots {
            return;
        }
        while self.active.len() > slots {
            let Scratch { gamma, scores, .. } = &mut self.scratch;
            scores.clear();
            let score = |(at, beta): (usize, &f64)| beta.abs() / self.inverse.diagonal(at).sqrt();
            scores.extend(self.coefficients.iter().enumerate().map(score));
            let at = self.active.least(scores).expect("more than the budget is not none");
            self.inverse.projection(at, gamma);
            let gone = self.coefficients[at];
            self.coefficients.iter_mut().zip(gamma).for_each(|(beta, gamma)| *beta += gone * *gamma);
            self.coefficients.swap_remove(at);
            self.inverse.swap_remove(at);
            self.active.swap_remove(at);
        }
        self.fill_row(example.task, example.features);
    }

    /// Puts the kernel values of an example into the scratch; its margin.
    fn fill_row(&mut self, task: TaskId, x: SparseView<'_>) -> f64 {
        let row = &mut self.scratch.projected.row;
        self.active.values(task, x, row);
        dot(&self.coefficients, row)
    }
}

impl Predict for BudgetProjectron {
    fn margin(&self, task: TaskId, x: SparseView<'_>) -> f64 {
        self.active.margin(&self.coefficients, task, x)
    }
}

impl LearnOne for BudgetProjectron {
    fn update(&mut self, example: Example<'_>, margin: f64) -> bool {
        self.active.see(example.task);
        is_mistake(example.label, margin) && {
            self.fill_row(example.task, example.features);
            self.learn_mistake(example)
        }
    }

    /// As margin then update, with one walk over the examples.
    fn learn(&mut self, example: Example<'_>) -> Outcome {
        self.active.see(example.task);
        let margin = self.fill_row(example.task, example.features) + example.offset;
        let updated = is_mistake(example.label, margin) && self.learn_mistake(example);
        Outcome { margin, updated }
    }

    fn skip(&mut self, task: TaskId) {
        self.active.see(task);
    }

    fn overflow(&self) -> Option<&'static str> {
        let coefficient = || (!all_finite(&self.coefficients)).then_some("the coefficient of a support");
        self.scratch.overflow(&self.inverse).or_else(coefficient)
    }
}

impl OnBudget for BudgetProjectron {
    fn active(&self) -> &ActiveSet {
        &self.active
    }

    fn coefficients(&self) -> Cow<'_, [f64]> {
        Cow::Borrowed(&self.coefficients)
    }

    fn other_remarks(&self) -> Option<String> {
        self.threshold.remark()
    }

    fn other_bytes(&self) -> usize {
        let numbers = self.coefficients.capacity() * size_of::<f64>();
        self.inverse.heap_bytes() + self.scratch.heap_bytes() + numbers
    }
}

/// Saved form of [`BudgetProjectron`]; what is given follows from the config.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct BudgetProjectronState {
    active: ActiveSetState,
    coefficients: Block<f64>,
    inverse: InverseGramState,
    longest: f64,
}

impl Algorithm for BudgetProjectron {
    type Config = BudgetProjectronConfig;
    type State = BudgetProjectronState;

    fn build(config: &BudgetProjectronConfig, tasks: &Tasks, _: Option<u32>) -> Result<Self, ConfigError> {
        Ok(Self {
            active: ActiveSet::build(config, tasks)?,
            coefficients: Vec::new(),
            inverse: InverseGram::default(),
            threshold: Threshold::new(config.threshold),
            scratch: Scratch::default(),
        })
    }

    fn state(&self) -> BudgetProjectronState {
        BudgetProjectronState {
            active: self.active.state(),
            coefficients: Block(self.coefficients.clone()),
            inverse: self.inverse.state(),
            longest: self.threshold.longest(),
        }
    }

    fn restore(&mut self, state: BudgetProjectronState) -> Result<(), StateError> {
        self.active.restore(&state.active)?;
        let count = self.active.len();
        self.coefficients = restored_coefficients(state.coefficients.0, count)?;
        self.inverse = InverseGram::restore(count, &state.inverse)?;
        self.threshold.restore(state.longest)
    }
}
