//! The multitask Randomized Budget Perceptron: a full active set drops one of its examples by a draw.
//!
//! Paper: MB12 section 4.2, Algorithm 3 (MTRBP), after Cavallanti, Cesa-Bianchi, Gentile, *Tracking the best hyperplane
//! with a simple budget Perceptron*, Machine Learning 2007.
//! Protocol: one task per round.
//!
//! State: at most B mistaken examples (x_s, i_s, y_s), which all tasks share; the number of evictions.
//!
//! Predict: sum_s y_s R[i, i_s] k(x_s, x), where R = (I + L)^-1 of the task graph with the tasks met so far, or
//! the (pseudo-)inverse of `graph.matrix`.
//! Update, after a mistake: the example is kept, once B are there in the slot of one drawn from them (line 9).
//!
//! Cost: predict O(B s); examples of unrelated tasks are skipped. Update O(s). Memory: B examples.
//!
//! Bound: Theorem 1, for the expected number of mistakes (tests/it/budget.rs).
//!
//! Departures: none; as everywhere a margin of 0 is a mistake. Draw t, which belongs to eviction t, follows from the seed
//! and t alone, so that a break in a run does not matter.
//! Reduces to: `kernel-perceptron` on the same graph while there are at most B mistakes.

use std::borrow::Cow;

use rand_chacha::rand_core::Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{About, Algorithm, CostClass, Protocol};
use crate::block::Block;
use crate::bounds::Theorem;
use crate::error::{ConfigError, StateError};
use crate::example::{Example, SparseView, TaskId, is_mistake};
use crate::interaction::TaskGraphConfig;
use crate::kernel::{
    ActiveSet, ActiveSetState, Budget, BudgetParameters, Common, KernelConfig, OnBudget, Overhead,
};
use crate::learner::{LearnOne, Predict};
use crate::rng::{EVICTION_STREAM, generator};
use crate::tasks::Tasks;

/// Parameters of `budget-random`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BudgetRandomConfig {
    /// Which tasks are related
    pub graph: TaskGraphConfig,
    /// How the similarity of two examples is measured
    pub kernel: KernelConfig,
    /// Limit on what is kept: a number of examples, or of bytes, such as "64MB"
    pub budget: Budget,
    /// Seed of the random draws
    pub seed: u64,
}

/// An example's label.
pub(super) const COEFFICIENT: Overhead = Overhead { example: 16, pair: 0 };

impl BudgetParameters for BudgetRandomConfig {
    const OVERHEAD: Overhead = COEFFICIENT;

    fn common(&self) -> Common<'_> {
        Common { graph: &self.graph, kernel: &self.kernel, budget: self.budget }
    }

    fn graph_mut(&mut self) -> &mut TaskGraphConfig {
        &mut self.graph
    }
}

/// The multitask Randomized Budget Perceptron; see the head of its file.
#[derive(Debug, Clone)]
pub struct BudgetRandom {
    active: ActiveSet,
    labels: Vec<f64>,
    seed: u64,
    evictions: u64,
    /// Slots that are evicted before the seed decides, last first.
    given: Vec<usize>,
}

impl BudgetRandom {
    pub(super) const ABOUT: About = About {
        id: "budget-random",
        title: "kernel Perceptron in fixed memory, forgetting at random",
        paper: "MB12 Alg. 3",
        protocol: Protocol::OneTask,
        predict_cost: "O(B s)",
        update_cost: "O(s)",
        memory: "B examples",
        most_tasks: None,
        cost_class: CostClass::Budget,
        keeps_examples: true,
        probabilities: false,
        weights: false,
        offsets: true,
        shardable: false,
        theorems: &[Theorem::BudgetTheorem1],
    };

    /// Gives the next draws, to compare with a computation that made its own: the slots that are evicted, in order.
    /// They are not saved.
    pub fn give_draws(&mut self, slots: &[usize]) {
        self.given = slots.iter().rev().copied().collect();
    }

    /// The slot to be evicted, RND of line 9.
    fn draw(&mut self) -> usize {
        let count = self.active.len();
        let at = self.evictions;
        self.evictions += 1;
        if let Some(slot) = self.given.pop() {
            return slot.min(count - 1);
        }
        let mut rng = generator(self.seed, EVICTION_STREAM);
        // A draw is 64 bits, two words of the generator.
        rng.set_word_pos(u128::from(at) * 2);
        ((u128::from(rng.next_u64()) * count as u128) >> 64) as usize
    }
}

impl Predict for BudgetRandom {
    fn margin(&self, task: TaskId, x: SparseView<'_>) -> f64 {
        self.active.margin(&self.labels, task, x)
    }
}

impl BudgetRandom {
    /// Forgets random examples until so many are left: a budget in bytes holds fewer of longer ones, and beside more tasks.
    fn shrink_to(&mut self, slots: usize) {
        while self.active.len() > slots {
            let at = self.draw();
            self.active.swap_remove(at);
            self.labels.swap_remove(at);
        }
    }
}

impl LearnOne for BudgetRandom {
    fn update(&mut self, example: Example<'_>, margin: f64) -> bool {
        let Example { task, features, label, .. } = example;
        self.active.see(task);
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
        self.shrink_to(slots);
        if self.active.len() < slots {
            self.active.push(task, features);
            self.labels.push(label);
        } else {
            let at = self.draw();
            self.active.replace(at, task, features);
            self.labels[at] = label;
        }
        true
    }

    fn skip(&mut self, task: TaskId) {
        self.active.see(task);
    }
}

impl OnBudget for BudgetRandom {
    fn active(&self) -> &ActiveSet {
        &self.active
    }

    fn coefficients(&self) -> Cow<'_, [f64]> {
        Cow::Borrowed(&self.labels)
    }

    fn other_bytes(&self) -> usize {
        self.labels.capacity() * size_of::<f64>()
    }
}

/// Saved form of [`BudgetRandom`]; what is given follows from the config.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct BudgetRandomState {
    active: ActiveSetState,
    labels: Block<f64>,
    #[serde(deserialize_with = "crate::count::saved")]
    evictions: u64,
}

impl Algorithm for BudgetRandom {
    type Config = BudgetRandomConfig;
    type State = BudgetRandomState;

    fn build(config: &BudgetRandomConfig, tasks: &Tasks, _: Option<u32>) -> Result<Self, ConfigError> {
        let active = ActiveSet::build(config, tasks)?;
        Ok(Self { active, labels: Vec::new(), seed: config.seed, evictions: 0, given: Vec::new() })
    }

    fn state(&self) -> BudgetRandomState {
        BudgetRandomState {
            active: self.active.state(),
            labels: Block(self.labels.clone()),
            evictions: self.evictions,
        }
    }

    fn restore(&mut self, state: BudgetRandomState) -> Result<(), StateError> {
        self.active.restore(&state.active)?;
        self.labels = super::kernel_perceptron::restored_labels(state.labels.0, self.active.len())?;
        self.evictions = state.evictions;
        Ok(())
    }
}
