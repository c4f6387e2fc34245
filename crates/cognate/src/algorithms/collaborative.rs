//! Collaborative online learning: a global model that each task leverages.
//!
//! Paper: baseline COML of ROM17, its reference \[25\] (Li, Hoi, Chang, Liu and Jain 2014); not printed there, see the
//! errata for what is implemented.
//! Protocol: one task per round.
//!
//! State: a global model g, and u_k of each task. u_k mixes in g on all features at each of its rounds, which is done
//! when a weight is looked at, see `linalg/lagged.rs`.
//!
//! Predict: u_k'x.
//! Update: g takes a PA-I step, g += min(c_global, hinge(g) / |x|^2) y x. Then, with e1 = own, e2 = global,
//! z = (e1 u_k + e2 g) / (e1 + e2) and u_k = z + min(c, (e1 + e2) hinge(z) / |x|^2) / (e1 + e2) y x; u_k = z where the
//! hinge is 0.
//!
//! An example of weight w: w c and w c_global in place of c and c_global. Other features mix in g once, whatever w is.
//!
//! Cost: predict and update O(s) searches in what g has been since the task last looked, see `linalg/lagged.rs`.
//! Memory: touched weights; of each feature the last values of g, at most K; of each task the times of its last
//! 46 / ln(1 + e2/e1) rounds, or fewer.
//!
//! Bound: none of ours.
//!
//! Defaults: chosen on one shuffle of five sets with unit rows (tdt2, movielens, mhc, school, spam_b). No fixed ratio suits
//! all: tasks that have little in common (tdt2) want e2 / e1 = 0.001, similar ones (spam_b) 0.03 to 0.1.
//!
//! Departures: what e2 / (e1 + e2) leaves of a round after so many others that it is below a rounding error is dropped.
//! Reduces to: with global = 0, own = 1, K learners of `passive-aggressive`, `individual`, `pa1`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::passive_aggressive::Variant;
use super::{
    About, Algorithm, CostClass, Parameters, Protocol, check_not_negative, check_positive, restored_tasks,
};
use crate::error::{ConfigError, ConfigProblem, StateError};
use crate::example::{Example, SparseView, TaskId, hinge};
use crate::learner::{Inspect, LearnOne, Outcome, Part, Predict, influence_of_like_tasks};
use crate::stream::Batch;
use crate::table::{AHEAD, Locate};
use crate::tasks::Tasks;
use crate::weights::lagged::{Lagged, LaggedState};
use crate::weights::side_by_side::Found;
use crate::weights::{SideBySide, SlotTablesState};

/// Parameters of `collaborative`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct CollaborativeConfig {
    /// Weight of the task's own model (e1), at most 1000 times `global`
    #[schemars(range(min = 0.0))]
    pub own: f64,
    /// Weight of the global model (e2); 0 leaves every task on its own
    #[schemars(range(min = 0.0))]
    pub global: f64,
    /// Longest step of a task's model, positive
    #[schemars(extend("exclusiveMinimum" = 0.0))]
    pub c: f64,
    /// Longest step of the global model, positive
    #[schemars(extend("exclusiveMinimum" = 0.0))]
    pub c_global: f64,
}

/// How many times larger than `global` `own` may be: times of as many rounds must be kept.
const LARGEST_RATIO: f64 = 1000.0;

impl Default for CollaborativeConfig {
    /// Tasks lean on the global model a little: more is better where they are alike, and ruins those that are not.
    fn default() -> Self {
        Self { own: 1.0, global: 0.001, c: 1.0, c_global: 0.1 }
    }
}

impl Parameters for CollaborativeConfig {
    fn validate(&self) -> Vec<ConfigProblem> {
        let Self { own, global, c, c_global } = *self;
        let shares = [check_not_negative("own", own), check_not_negative("global", global)];
        let steps = [check_positive("c", c), check_positive("c-global", c_global)];
        let mut problems: Vec<_> = shares.into_iter().chain(steps).flatten().collect();
        if problems.is_empty() && own + global == 0.0 {
            problems.push(ConfigProblem::new("own", "own and global must not both be 0"));
        }
        if problems.is_empty() && global > 0.0 && own > LARGEST_RATIO * global {
            let message = format!("must be 0 or at least a thousandth of own = {own}, got {global}");
            problems.push(ConfigProblem::new("global", message));
        }
        problems
    }

    /// Times of rounds, in lists with room to grow.
    fn remembered_bytes(&self, tasks: usize) -> usize {
        let rounds = 46.0 / (self.global / self.own).ln_1p();
        if rounds.is_finite() { tasks * 16 * rounds.ceil() as usize } else { 0 }
    }
}

/// Collaborative learning; see the head of its file.
#[derive(Debug, Clone)]
pub struct Collaborative {
    tasks: usize,
    weights: Weights,
    mixing: Mixing,
    /// Scratch, not state.
    found: [Found; AHEAD],
}

/// A row holds u_k as it was after a number of rounds of the task.
type Weights = SideBySide<1, 2>;

/// All but the weights.
#[derive(Debug, Clone)]
struct Mixing {
    config: CollaborativeConfig,
    lagged: Lagged,
    /// Scratch, not state.
    own: Vec<f64>,
    slots: Vec<u32>,
}

impl CollaborativeConfig {
    /// What is left of u_k in z.
    fn keep(&self) -> f64 {
        self.own / (self.own + self.global)
    }
}

impl Mixing {
    /// u_k'x of an example whose rows have been found; leaves the weights behind.
    fn margin(&self, weights: &Weights, task: TaskId, x: SparseView<'_>, found: &Found) -> f64 {
        let held = weights.held(found).zip(x.values());
        let products =
            held.map(|((slot, _, row), value)| self.lagged.current(task.index(), slot, *row) * value);
        // A sum of nothing is -0, and with an offset 0.
        products.sum::<f64>() + 0.0
    }

    fn learn(&mut self, weights: &mut Weights, example: Example<'_>, found: &mut Found) -> Outcome {
        let Example { task, features, label, weight, offset, .. } = example;
        let mut own = std::mem::take(&mut self.own);
        own.clear();
        own.extend(weights.held(found).map(|(slot, _, row)| self.lagged.current(task.index(), slot, *row)));
        let margin = own.iter().zip(features.values()).map(|(own, value)| own * value).sum::<f64>() + offset;
        if weight == 0.0 {
            self.own = own;
            return Outcome { margin, updated: false };
        }
        let global: f64 = weights.held(found).zip(features.values()).map(|((_, g, _), x)| g[0] * x).sum();
        let CollaborativeConfig { own: e1, global: e2, c, c_global } = self.config;
        let (squared, keep) = (features.norm_squared(), self.config.keep());
        let step_global = Variant::Pa1.step(weight * c_global, hinge(label, global + offset), squared);
        // g after its step, z and its margin.
        let held = weights.held(found).zip(features.values()).zip(&mut own);
        let mut margin_z = 0.0;
        for (((_, g, _), value), own) in held {
            *own = keep * *own + (1.0 - keep) * (g[0] + step_global * label * value);
            margin_z += *own * value;
        }
        let loss = (e1 + e2) * hinge(label, margin_z + offset);
        let step = Variant::Pa1.step(weight * c, loss, squared) / (e1 + e2);
        self.lagged.begin(task.index());
        let updated = step_global > 0.0 || step > 0.0;
        if updated {
            self.change(weights, example, (step_global * label, step * label), &own, found);
        }
        self.own = own;
        Outcome { margin, updated }
    }

    /// Writes down g and u_k after their steps, u_k from z.
    fn change(
        &mut self,
        weights: &mut Weights,
        example: Example<'_>,
        (step_global, step): (f64, f64),
        z: &[f64],
        found: &mut Found,
    ) {
        let (rounds, mut at) = (self.lagged.rounds(example.task.index()) as f64, 0);
        weights.change(example.task, example.features, found, |g, row, value| {
            g[0] += step_global * value;
            *row = [z[at] + step * value, rounds];
            at += 1;
        });
        if step_global == 0.0 {
            return;
        }
        self.slots.clear();
        self.slots.extend(
            weights
                .held(found)
                .map(|(slot, g, _)| (slot, g[0]))
                .filter_map(|(slot, g)| self.lagged.moved(slot, g).then_some(slot)),
        );
        for slot in &self.slots {
            for task in (0..self.lagged.tasks()).filter(|task| self.lagged.rounds(*task) > 0) {
                let rounds = self.lagged.rounds(task) as f64;
                let row = weights.row(TaskId(task as u32), *slot);
                *row = [self.lagged.current(task, *slot, *row), rounds];
            }
            self.lagged.forget(*slot);
        }
    }
}

impl Collaborative {
    pub(super) const ABOUT: About = About {
        id: "collaborative",
        title: "a global model that each task leverages (COML)",
        paper: "ROM17 [25]",
        protocol: Protocol::OneTask,
        predict_cost: "O(s)",
        update_cost: "O(s)",
        memory: "touched weights; K values per frequent feature; times of each task's last rounds",
        most_tasks: None,
        cost_class: CostClass::PerFeature,
        keeps_examples: false,
        probabilities: false,
        weights: true,
        offsets: true,
        shardable: false,
        theorems: &[],
    };
}

impl Predict for Collaborative {
    fn margin(&self, task: TaskId, x: SparseView<'_>) -> f64 {
        let mut found = Found::default();
        self.weights.find(task, x, &mut found);
        self.mixing.margin(&self.weights, task, x, &found)
    }
}

impl LearnOne for Collaborative {
    fn update(&mut self, example: Example<'_>, _: f64) -> bool {
        self.learn(example).updated
    }

    fn learn(&mut self, example: Example<'_>) -> Outcome {
        self.tasks = self.tasks.max(example.task.index() + 1);
        let found = &mut self.found[0];
        self.weights.find(example.task, example.features, found);
        self.mixing.learn(&mut self.weights, example, found)
    }

    fn skip(&mut self, task: TaskId) {
        self.tasks = self.tasks.max(task.index() + 1);
    }

    fn learn_batch(&mut self, batch: &Batch, outcomes: &mut Vec<Outcome>) {
        outcomes.clear();
        let Self { tasks, weights, mixing, found } = self;
        weights.learn_ahead(batch, found, |weights, example, found| {
            *tasks = (*tasks).max(example.task.index() + 1);
            outcomes.push(mixing.learn(weights, example, found));
        });
    }
}

impl Inspect for Collaborative {
    fn tasks(&self) -> usize {
        self.tasks
    }

    /// What a task takes of the global model, which the other moves.
    fn relation(&self, to: TaskId, from: TaskId) -> f64 {
        if to == from { 1.0 } else { 1.0 - self.mixing.config.keep() }
    }

    fn influence(&self, task: TaskId) -> f64 {
        influence_of_like_tasks(self, task)
    }

    fn weights(&self, task: TaskId) -> Vec<(u32, f64)> {
        let current = |slot: u32, row: &[f64; 2]| self.mixing.lagged.current(task.index(), slot, *row);
        self.weights.weights_by_slot(task, |slot, _, row| current(slot, row))
    }

    fn part(&self, part: Part, task: TaskId) -> Option<Vec<(u32, f64)>> {
        (part == Part::Shared).then(|| self.weights.weights(task, |g, _| g[0]))
    }

    fn heap_bytes(&self) -> usize {
        self.weights.heap_bytes() + self.mixing.lagged.heap_bytes()
    }
}

/// Saved form of [`Collaborative`].
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct CollaborativeState {
    tasks: u64,
    weights: SlotTablesState,
    lagged: LaggedState,
}

impl Algorithm for Collaborative {
    type Config = CollaborativeConfig;
    type State = CollaborativeState;

    fn build(config: &CollaborativeConfig, tasks: &Tasks, _: Option<u32>) -> Result<Self, ConfigError> {
        let mixing = Mixing {
            config: *config,
            lagged: Lagged::new(config.keep()),
            own: Vec::new(),
            slots: Vec::new(),
        };
        Ok(Self { tasks: tasks.count(), weights: Weights::new(), mixing, found: Default::default() })
    }

    fn state(&self) -> CollaborativeState {
        CollaborativeState {
            tasks: self.tasks as u64,
            weights: self.weights.state(|_, row| *row),
            lagged: self.mixing.lagged.state(self.weights.slots()),
        }
    }

    fn restore(&mut self, state: CollaborativeState) -> Result<(), StateError> {
        let tasks = restored_tasks(state.tasks, self.tasks)?;
        let weights = Weights::restore(tasks, state.weights, |row: [f64; 2]| row)?;
        let keep = self.mixing.config.keep();
        let lagged = Lagged::restore(keep, tasks, weights.slots(), state.lagged)?;
        for task in (0..tasks as u32).map(TaskId) {
            let rounds = lagged.rounds(task.index()) as f64;
            if weights.rows_of(task).any(|row| row[1].fract() != 0.0 || !(0.0..=rounds).contains(&row[1])) {
                return Err(StateError::new("a weight is from a round that its task has not had"));
            }
        }
        (self.weights, self.mixing.lagged, self.tasks) = (weights, lagged, tasks);
        Ok(())
    }

    fn forget(&self, state: &mut CollaborativeState, task: usize) -> bool {
        state.tasks -= 1;
        state.weights.remove_task(task);
        state.lagged.remove_task(task);
        true
    }
}
