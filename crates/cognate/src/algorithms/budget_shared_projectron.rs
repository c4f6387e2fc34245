//! The multitask budget Projectron with projections that ignore the task: all tasks share the span of the examples kept,
//! and each has coefficients of its own on it.
//!
//! Paper: MB12 section 4.1, Algorithm 2 (MTBPRJ-2).
//! Protocol: one task per round.
//!
//! State: at most B mistaken examples x_s; coefficients (beta_l)_s of every task l; P = H^-1 of the examples' Gram matrix
//! H under the kernel k alone. Tasks that are related alike share a set of coefficients and keep what is their own once
//! they err (`sets`).
//!
//! Predict: f_i(x) = sum_s (beta_i)_s k(x_s, x).
//! Update, after a mistake at (x_t, i_t), R = (I + L)^-1 of the task graph or the (pseudo-)inverse of `graph.matrix`: with k the column of its kernel values,
//! alpha = P k and r^2 = k(x_t, x_t) - k'alpha,
//! - r <= threshold: beta_l += y R[l, i_t] alpha for every task l, nothing is kept (line 6);
//! - else it is kept with (beta_l)_t = y R[l, i_t] (line 10). Once B are there, it takes the slot of the r with the least
//!   |((beta_1)_r, ..., (beta_K)_r)| d_r, d_r being the distance of k(x_r, .) from the span of all others and the new one
//!   (line 12), and beta_l += (beta_l)_r gamma, gamma the coefficients of r in that span (line 14).
//!
//! Cost: predict O(B s). Update O(B s + B^2), and O(B) per set that an eviction moves. Memory: B examples, B^2 numbers, and
//! B numbers per set: one set per connected component whose tasks are all alike, and one per task that erred.
//!
//! Bound: none in the paper.
//!
//! Departures: lines 6 and 10 in print take R at the task of l's example, where l is a task; line 8 in print lets B + 1 in;
//! the coefficients of the new example are set on eviction too, which print forgets; line 14 in print multiplies by R once
//! more, which the coefficients hold already. As in `budget-projectron` scores within 1e-9 are equal and the oldest goes,
//! and an r^2 below 64 eps B k(x, x) counts as in the span.
//! Reduces to: `kernel-perceptron` on the same graph while there are at most B mistakes and none is projected.

mod sets;

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::budget_projectron::{Scratch, Threshold};
use super::{About, Algorithm, CostClass, Protocol};
use crate::error::{ConfigError, ConfigProblem, StateError};
use crate::example::{Example, SparseView, TaskId, is_mistake};
use crate::interaction::TaskGraphConfig;
use crate::kernel::{
    ActiveSet, ActiveSetState, Budget, BudgetParameters, Common, KernelConfig, OnBudget, Overhead,
};
use crate::learner::{LearnOne, Outcome, Predict};
use crate::linalg::{InverseGram, InverseGramState};
use crate::tasks::Tasks;
use sets::{Sets, SetsState};

/// Parameters of `budget-shared-projectron`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BudgetSharedProjectronConfig {
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

impl Default for BudgetSharedProjectronConfig {
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

/// Scratch, and P with room to be formed anew; sets of coefficients come on top.
const OVERHEAD: Overhead = Overhead { example: 48, pair: 24 };

impl BudgetParameters for BudgetSharedProjectronConfig {
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

/// The multitask budget Projectron with shared projections; see the head of its file.
#[derive(Debug, Clone)]
pub struct BudgetSharedProjectron {
    active: ActiveSet,
    sets: Sets,
    inverse: InverseGram,
    threshold: Threshold,
    scratch: Scratch,
}

impl BudgetSharedProjectron {
    pub(super) const ABOUT: About = About {
        id: "budget-shared-projectron",
        title: "kernel Perceptron in fixed memory, projecting for all tasks at once",
        paper: "MB12 Alg. 2",
        protocol: Protocol::OneTask,
        predict_cost: "O(B s)",
        update_cost: "O(B s + B^2 + K B)",
        memory: "B examples, B^2 numbers, B per component and erring task",
        most_tasks: None,
        cost_class: CostClass::Budget,
        keeps_examples: true,
        probabilities: false,
        weights: false,
        offsets: true,
        shardable: false,
        theorems: &[],
    };

    /// Coefficients of the examples kept in the margin of a task, in the order of [`crate::Inspect::supports`].
    pub fn coefficients(&self, task: TaskId) -> Vec<f64> {
        (0..self.active.len()).map(self.coefficients_of(task)).collect()
    }

    /// Sets of coefficients that are kept, for however many tasks.
    pub fn set_count(&self) -> usize {
        self.sets.count()
    }

    fn coefficients_of(&self, task: TaskId) -> impl Fn(usize) -> f64 + '_ {
        self.sets.of(self.active.graph(), task, self.active.tasks().max(task.index() + 1))
    }

    fn margin_of(&self, task: TaskId, row: &[f64]) -> f64 {
        let (coefficient, mut margin) = (self.coefficients_of(task), 0.0);
        row.iter().enumerate().for_each(|(at, likeness)| margin += coefficient(at) * likeness);
        margin
    }

    /// Learns from a mistake; the kernel values of the example with those kept are in the scratch.
    fn learn_mistake(&mut self, example: Example<'_>) -> bool {
        let updated = self.project_or_keep(example);
        self.scratch.notice();
        updated
    }

    fn project_or_keep(&mut self, example: Example<'_>) -> bool {
        let Example { task, features, label, .. } = example;
        // The task may come to have a set of its own, which may double when it grows.
        let overhead =
            Overhead { example: OVERHEAD.example + 16 * (self.sets.count() as u64 + 1), ..OVERHEAD };
        if self.active.is_crowded_out(overhead) {
            self.shrink_to(0, features);
        }
        let slots = self.active.slots_with(features, overhead);
        if slots == 0 {
            return false;
        }
        self.shrink_to(slots, features);
        let own = self.active.square(features);
        let (tasks, count) = (self.active.tasks(), self.active.len());
        let Scratch { projected, gamma, scores, .. } = &mut self.scratch;
        projected.own = own;
        self.inverse.project(projected);
        if self.threshold.reaches(projected.distance, own, slots) {
            self.sets.add(self.active.graph(), task, tasks, label, &projected.coefficients);
            return projected.coefficients.iter().any(|alpha| *alpha != 0.0);
        }
        if count < slots {
            self.inverse.push(projected, slots);
            self.sets.push(self.active.graph(), task, tasks, label);
            self.active.push(task, features);
            return true;
        }
        self.sets.squares(self.active.graph(), tasks, scores);
        for (at, score) in scores.iter_mut().enumerate() {
            *score = (*score / self.inverse.bordered_diagonal(projected, at)).sqrt();
        }
        let at = self.active.least(scores).expect("a budget holds an example");
        self.inverse.bordered_projection(projected, at, gamma);
        self.inverse.replace(projected, at);
        self.sets.replace(self.active.graph(), task, tasks, label, at, gamma);
        self.active.replace(at, task, features);
        true
    }

    /// A budget in bytes holds fewer of longer examples: those that can best be spared go.
    fn shrink_to(&mut self, slots: usize, x: SparseView<'_>) {
        if self.active.len() <= slots {
            return;
        }
        while self.active.len() > slots {
            let Scratch { gamma, scores, .. } = &mut self.scratch;
            self.sets.squares(self.active.graph(), self.active.tasks(), scores);
            for (at, score) in scores.iter_mut().enumerate() {
                *score = (*score / self.inverse.diagonal(at)).sqrt();
            }
            let at = self.active.least(scores).expect("more than the budget is not none");
            self.inverse.projection(at, gamma);
            self.sets.swap_remove(at, gamma);
            self.inverse.swap_remove(at);
            self.active.swap_remove(at);
        }
        self.active.likenesses(x, &mut self.scratch.projected.row);
    }
}

impl Predict for BudgetSharedProjectron {
    fn margin(&self, task: TaskId, x: SparseView<'_>) -> f64 {
        self.active.with_likenesses(x, |row| self.margin_of(task, row))
    }
}

impl LearnOne for BudgetSharedProjectron {
    fn update(&mut self, example: Example<'_>, margin: f64) -> bool {
        self.active.see(example.task);
        is_mistake(example.label, margin) && {
            self.active.likenesses(example.features, &mut self.scratch.projected.row);
            self.learn_mistake(example)
        }
    }

    /// As margin then update, with one walk over the examples.
    fn learn(&mut self, example: Example<'_>) -> Outcome {
        self.active.see(example.task);
        self.active.likenesses(example.features, &mut self.scratch.projected.row);
        let margin = self.margin_of(example.task, &self.scratch.projected.row) + example.offset;
        let updated = is_mistake(example.label, margin) && self.learn_mistake(example);
        Outcome { margin, updated }
    }

    fn skip(&mut self, task: TaskId) {
        self.active.see(task);
    }

    fn overflow(&self) -> Option<&'static str> {
        self.scratch.overflow(&self.inverse)
    }
}

impl OnBudget for BudgetSharedProjectron {
    fn active(&self) -> &ActiveSet {
        &self.active
    }

    /// Those of the examples' own tasks.
    fn coefficients(&self) -> Cow<'_, [f64]> {
        let own = |at: usize| self.coefficients_of(self.active.supports().task(at))(at);
        (0..self.active.len()).map(own).collect()
    }

    fn weights_of(&self, task: TaskId) -> Vec<(u32, f64)> {
        self.active.combined(self.coefficients_of(task))
    }

    fn other_remarks(&self) -> Option<String> {
        self.threshold.remark()
    }

    fn other_bytes(&self) -> usize {
        self.sets.heap_bytes() + self.inverse.heap_bytes() + self.scratch.heap_bytes()
    }
}

/// Saved form of [`BudgetSharedProjectron`]; what is given follows from the config.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct BudgetSharedProjectronState {
    active: ActiveSetState,
    sets: SetsState,
    inverse: InverseGramState,
    longest: f64,
}

impl Algorithm for BudgetSharedProjectron {
    type Config = BudgetSharedProjectronConfig;
    type State = BudgetSharedProjectronState;

    fn build(
        config: &BudgetSharedProjectronConfig,
        tasks: &Tasks,
        _: Option<u32>,
    ) -> Result<Self, ConfigError> {
        Ok(Self {
            active: ActiveSet::build(config, tasks)?,
            sets: Sets::default(),
            inverse: InverseGram::default(),
            threshold: Threshold::new(config.threshold),
            scratch: Scratch::default(),
        })
    }

    fn state(&self) -> BudgetSharedProjectronState {
        BudgetSharedProjectronState {
            active: self.active.state(),
            sets: self.sets.state(),
            inverse: self.inverse.state(),
            longest: self.threshold.longest(),
        }
    }

    fn restore(&mut self, state: BudgetSharedProjectronState) -> Result<(), StateError> {
        self.active.restore(&state.active)?;
        let (tasks, count) = (self.active.tasks(), self.active.len());
        self.sets = Sets::restore(self.active.graph(), tasks, count, &state.sets)?;
        self.inverse = InverseGram::restore(count, &state.inverse)?;
        self.threshold.restore(state.longest)
    }
}
