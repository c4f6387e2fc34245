//! The multitask self-tuned Forgetron: a full active set drops its oldest example, which shrinking has made light.
//!
//! Paper: MB12 section 4.3 (MTFORG), equation (3), after Dekel, Shalev-Shwartz, Singer, *The Forgetron: a kernel-based
//! Perceptron on a budget*, SIAM Journal on Computing 2008.
//! Protocol: one task per round.
//!
//! State: at most B mistaken examples (x_s, i_s) with coefficients beta_s, which all tasks share; mistakes M, the damage
//! done Q, the largest k(x, x) seen.
//!
//! Predict: f_i(x) = sum_s beta_s R[i, i_s] k(x_s, x), where R = (I + L)^-1 of the task graph with the tasks met so far,
//! or the (pseudo-)inverse of `graph.matrix`.
//! Update, after a mistake: the example is kept with beta = y. Once B are there, it takes the slot of the oldest one, r,
//! and before r goes all coefficients shrink by phi, the largest chi in (0, 1] with
//!   Psi(|beta_r| chi, y_r chi f_{i_r}(x_r)) + Q <= 15/32 c^2 M,     Psi(lambda, mu) = c^2 lambda^2 + 2 c^2 lambda - 2 lambda mu;
//! then Q grows by that Psi. f holds the new example, M counts its mistake, c^2 = max_i R[i, i] max_x k(x, x).
//!
//! Cost: predict O(B s); examples of unrelated tasks are skipped. Update O(B s) for f(x_r). Memory: B examples.
//!
//! Bound: Theorem 2 (tests/it/budget.rs), with c as above.
//!
//! Departures: Psi in print has c instead of c^2 in the middle and beta_r for y_r in mu, which changes when the kernel is
//! scaled; the form above is Dekel's on the kernel scaled to norm 1. The oldest is searched for, not kept in a ring: an
//! eviction walks over the examples anyway. Where a budget in bytes shrinks because longer examples come, the oldest
//! are dropped as they are; the theorem is about budgets in examples.
//! Reduces to: `kernel-perceptron` on the same graph while there are at most B mistakes.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::budget_random::COEFFICIENT;
use super::{About, Algorithm, CostClass, Protocol};
use crate::block::Block;
use crate::bounds::Theorem;
use crate::error::{ConfigError, ConfigProblem, StateError};
use crate::example::{Example, SparseView, TaskId, is_mistake};
use crate::interaction::TaskGraphConfig;
use crate::kernel::{
    ActiveSet, ActiveSetState, Budget, BudgetParameters, Common, KernelConfig, OnBudget, Overhead,
    merged_product, restored_coefficients, square,
};
use crate::learner::{LearnOne, Predict};
use crate::linalg::check_all_finite;
use crate::tasks::Tasks;

/// Parameters of `budget-forgetron`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BudgetForgetronConfig {
    /// Which tasks are related
    pub graph: TaskGraphConfig,
    /// How the similarity of two examples is measured
    pub kernel: KernelConfig,
    /// Limit on what is kept: a number of examples, or of bytes, such as "64MB"
    pub budget: Budget,
    /// Largest k(x, x), positive; an example with a larger one raises it from then on
    #[schemars(extend("exclusiveMinimum" = 0.0))]
    pub bound: f64,
}

impl Default for BudgetForgetronConfig {
    /// bound = 1: what normalised kernels and the Gaussian have.
    fn default() -> Self {
        Self {
            graph: TaskGraphConfig::default(),
            kernel: KernelConfig::default(),
            budget: Budget::default(),
            bound: 1.0,
        }
    }
}

impl BudgetParameters for BudgetForgetronConfig {
    const OVERHEAD: Overhead = COEFFICIENT;

    fn common(&self) -> Common<'_> {
        Common { graph: &self.graph, kernel: &self.kernel, budget: self.budget }
    }

    fn graph_mut(&mut self) -> &mut TaskGraphConfig {
        &mut self.graph
    }

    fn other_problem(&self) -> Option<ConfigProblem> {
        let message = format!("must be positive and finite, got {}", self.bound);
        (!(self.bound.is_finite() && self.bound > 0.0)).then(|| ConfigProblem::new("bound", message))
    }
}

/// The multitask self-tuned Forgetron; see the head of its file.
#[derive(Debug, Clone)]
pub struct BudgetForgetron {
    active: ActiveSet,
    coefficients: Vec<f64>,
    mistakes: u64,
    /// Q / c^2: the same whatever the kernel's scale, and whatever K is.
    damage: f64,
    /// The largest k(x, x).
    bound: f64,
    /// phi of the last eviction.
    shrunk: f64,
    /// Scratch: the example to be evicted.
    indices: Vec<u32>,
    values: Vec<f64>,
}

/// Psi / c^2 is a chi^2 + b chi.
#[derive(Debug, Clone, Copy)]
struct Psi {
    a: f64,
    b: f64,
}

impl Psi {
    /// Of lambda = |beta| chi and mu = y f chi, `product` being |beta| y f / c^2 = beta f / c^2.
    fn new(beta: f64, product: f64) -> Self {
        Self { a: beta * beta - 2.0 * product, b: 2.0 * beta.abs() }
    }

    fn at(self, chi: f64) -> f64 {
        (self.a * chi + self.b) * chi
    }

    /// (3): the largest chi in (0, 1] at which Psi / c^2 is at most the slack.
    fn largest(self, slack: f64) -> f64 {
        if self.a + self.b <= slack {
            return 1.0;
        }
        // 1 is beyond the smaller root, in a form that does not cancel.
        let discriminant = (self.b * self.b + 4.0 * self.a * slack).max(0.0);
        (2.0 * slack / (self.b + discriminant.sqrt())).clamp(0.0, 1.0)
    }
}

impl BudgetForgetron {
    pub(super) const ABOUT: About = About {
        id: "budget-forgetron",
        title: "kernel Perceptron in fixed memory, forgetting the oldest",
        paper: "MB12 sec. 4.3",
        protocol: Protocol::OneTask,
        predict_cost: "O(B s)",
        update_cost: "O(B s)",
        memory: "B examples",
        most_tasks: None,
        cost_class: CostClass::Budget,
        keeps_examples: true,
        probabilities: false,
        weights: false,
        offsets: true,
        shardable: false,
        theorems: &[Theorem::BudgetTheorem2],
    };

    /// phi of the last eviction, 1 before the first.
    pub fn shrunk(&self) -> f64 {
        self.shrunk
    }

    /// Q: the damage done by all evictions.
    pub fn damage(&self) -> f64 {
        self.damage * self.square_bound()
    }

    /// c^2.
    pub fn square_bound(&self) -> f64 {
        self.active.graph().largest_diagonal(self.active.tasks()) * self.bound
    }

    /// Takes the oldest example out, and puts the new one into its slot.
    fn replace_oldest(&mut self, example: Example<'_>) {
        let Example { task, features, label, .. } = example;
        let at = self.active.oldest(0..self.active.len()).expect("a budget holds an example");
        let old = self.active.supports();
        let old_task = old.task(at);
        old.copy(at, &mut self.indices, &mut self.values);
        let x = SparseView::trusted(&self.indices, &self.values);
        let product = merged_product(x, features);
        let likeness = self.active.kernel().value(product, old.square(at), square(features));
        let f = self.active.margin(&self.coefficients, old_task, x)
            + label * self.active.relation(old_task, task) * likeness;
        let beta = self.coefficients[at];
        let psi = Psi::new(beta, beta * (f / self.square_bound()));
        let phi = psi.largest(15.0 / 32.0 * self.mistakes as f64 - self.damage);
        self.damage += psi.at(phi);
        self.shrunk = phi;
        self.active.replace(at, task, features);
        self.coefficients[at] = label;
        self.coefficients.iter_mut().for_each(|beta| *beta *= phi);
    }
}

impl Predict for BudgetForgetron {
    fn margin(&self, task: TaskId, x: SparseView<'_>) -> f64 {
        self.active.margin(&self.coefficients, task, x)
    }
}

impl BudgetForgetron {
    /// Forgets the oldest examples until so many are left.
    fn shrink_to(&mut self, slots: usize) {
        while self.active.len() > slots {
            let at = self.active.oldest(0..self.active.len()).expect("more than the budget is not none");
            self.active.swap_remove(at);
            self.coefficients.swap_remove(at);
        }
    }
}

impl LearnOne for BudgetForgetron {
    fn update(&mut self, example: Example<'_>, margin: f64) -> bool {
        let Example { task, features, label, .. } = example;
        self.active.see(task);
        let length = self.active.square(features);
        if length > self.bound && length.is_finite() {
            self.damage *= self.bound / length;
            self.bound = length;
        }
        if !is_mistake(label, margin) {
            return false;
        }
        if self.active.is_crowded_out(COEFFICIENT) {
            self.shrink_to(0);
        }
        let slots = self.active.slots_with(features, COEFFICIENT);
        if slots == 0 {
            return false;
        }
        self.mistakes += 1;
        self.shrink_to(slots);
        if self.active.len() < slots {
            self.active.push(task, features);
            self.coefficients.push(label);
        } else {
            self.replace_oldest(example);
        }
        true
    }

    fn skip(&mut self, task: TaskId) {
        self.active.see(task);
    }

    fn overflow(&self) -> Option<&'static str> {
        (!(self.damage.is_finite() && self.shrunk.is_finite())).then_some("the damage done by forgetting")
    }
}

impl OnBudget for BudgetForgetron {
    fn active(&self) -> &ActiveSet {
        &self.active
    }

    fn coefficients(&self) -> Cow<'_, [f64]> {
        Cow::Borrowed(&self.coefficients)
    }

    fn other_bytes(&self) -> usize {
        let numbers = self.coefficients.capacity() + self.values.capacity();
        numbers * size_of::<f64>() + self.indices.capacity() * size_of::<u32>()
    }
}

/// Saved form of [`BudgetForgetron`]; what is given follows from the config.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct BudgetForgetronState {
    active: ActiveSetState,
    coefficients: Block<f64>,
    #[serde(deserialize_with = "crate::count::saved")]
    mistakes: u64,
    /// Q / c^2.
    damage: f64,
    bound: f64,
    shrunk: f64,
}

impl Algorithm for BudgetForgetron {
    type Config = BudgetForgetronConfig;
    type State = BudgetForgetronState;

    fn build(config: &BudgetForgetronConfig, tasks: &Tasks, _: Option<u32>) -> Result<Self, ConfigError> {
        Ok(Self {
            active: ActiveSet::build(config, tasks)?,
            coefficients: Vec::new(),
            mistakes: 0,
            damage: 0.0,
            bound: config.bound,
            shrunk: 1.0,
            indices: Vec::new(),
            values: Vec::new(),
        })
    }

    fn state(&self) -> BudgetForgetronState {
        BudgetForgetronState {
            active: self.active.state(),
            coefficients: Block(self.coefficients.clone()),
            mistakes: self.mistakes,
            damage: self.damage,
            bound: self.bound,
            shrunk: self.shrunk,
        }
    }

    fn restore(&mut self, state: BudgetForgetronState) -> Result<(), StateError> {
        self.active.restore(&state.active)?;
        self.coefficients = restored_coefficients(state.coefficients.0, self.active.len())?;
        check_all_finite("the damage done by forgetting", &[state.damage, state.shrunk])?;
        let sound = state.bound.is_finite() && state.bound >= self.bound;
        if !sound || !(0.0..=1.0).contains(&state.shrunk) {
            return Err(StateError::new("what was forgotten is out of range, or the bound has fallen"));
        }
        (self.mistakes, self.damage) = (state.mistakes, state.damage);
        (self.bound, self.shrunk) = (state.bound, state.shrunk);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// lambda = 0.7, mu = -0.4, c^2 = 0.4: Psi = 0.196 + 0.56 + 0.56 = 1.316.
    #[test]
    fn psi_and_its_root_by_hand() {
        let psi = Psi::new(-0.7, 0.7 * -0.4 / 0.4);
        assert!((0.4 * psi.at(1.0) - 1.316).abs() < 1e-15);
        // a = 1, b = 2: chi^2 + 2 chi = 1.25 at 0.5; with a = -2, b = 3 the smaller root of 3 chi - 2 chi^2 = 1.
        assert!((Psi { a: 1.0, b: 2.0 }.largest(1.25) - 0.5).abs() < 1e-15);
        assert!((Psi { a: -1.0, b: 3.0 }.largest(1.25) - 0.5).abs() < 1e-15);
        assert_eq!(Psi { a: -2.0, b: 3.0 }.largest(1.0), 1.0);
        assert_eq!(Psi::new(0.0, 0.0).largest(0.3), 1.0);
    }

    #[test]
    fn psi_and_its_root_agree_with_the_vectors() {
        let text = include_str!("../../tests/vectors/budget.json");
        let vectors: serde_json::Value = serde_json::from_str(text).unwrap();
        let cases = |name: &str| vectors[name].as_array().unwrap().clone();
        let number = |case: &serde_json::Value, key: &str| case[key].as_f64().unwrap();
        for case in cases("psi") {
            let (lambda, c2) = (number(&case, "lam"), number(&case, "c2"));
            let psi = Psi::new(lambda, lambda * number(&case, "mu") / c2);
            assert!((c2 * psi.at(1.0) - number(&case, "psi")).abs() < 1e-12, "{case}");
        }
        for case in cases("max_phi") {
            let psi = Psi { a: number(&case, "a"), b: number(&case, "b") };
            assert!((psi.largest(number(&case, "slack")) - number(&case, "phi")).abs() < 1e-12, "{case}");
        }
    }
}
