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
//! What is above is for a `global` that is a number. No fixed ratio e2 / e1 suits all: tasks that have little in common want
//! 0.001, similar ones 0.03 to 1. With global = "auto", the default and ours, three settings learn side by side, and the data
//! say which to trust: see `collaborative/auto.rs`. It takes three times the time and memory of one.
//!
//! Departures: what e2 / (e1 + e2) leaves of a round after so many others that it is below a rounding error is dropped.
//! Reduces to: "auto", while one setting has all the trust, to that setting; with global = 0, own = 1, K learners of `passive-aggressive`, `individual`, `pa1`.

mod auto;
mod fixed;

use auto::{Auto, AutoState};
use fixed::{Fixed, FixedState, Setting};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    About, Algorithm, CostClass, Parameters, Protocol, check_not_negative, check_positive, restored_tasks,
};
use crate::choice::Tunable;
use crate::error::{ConfigError, ConfigProblem, StateError};
use crate::example::{Example, SparseView, TaskId};
use crate::learner::{Inspect, LearnOne, Outcome, Part, Predict, influence_of_like_tasks, learn_one_by_one};
use crate::stream::Batch;
use crate::tasks::Tasks;
use crate::weights::SlotTablesState;
use crate::weights::lagged::LaggedState;

/// Parameters of `collaborative`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct CollaborativeConfig {
    /// Weight of the task's own model (e1), at most 1000 times `global`
    #[schemars(range(min = 0.0))]
    pub own: f64,
    /// Weight of the global model (e2); 0 leaves every task on its own. "auto" learns with three settings side by side, whose
    /// `global`, `c` and `c-global` are multiples of `own`, `c` and `c-global`, and trusts them by their mistakes
    #[schemars(schema_with = "Tunable::at_least_zero")]
    pub global: Tunable,
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
    /// Nobody knows beforehand how much tasks have in common.
    fn default() -> Self {
        Self { own: 1.0, global: Tunable::Auto, c: 1.0, c_global: 1.0 }
    }
}

impl CollaborativeConfig {
    fn given(&self, global: f64) -> Setting {
        Setting { own: self.own, global, c: self.c, c_global: self.c_global }
    }
}

impl Parameters for CollaborativeConfig {
    fn validate(&self) -> Vec<ConfigProblem> {
        let Self { own, global, c, c_global } = *self;
        let shares = match global {
            Tunable::Fixed(global) => [check_not_negative("own", own), check_not_negative("global", global)],
            Tunable::Auto => [check_positive("own", own), None],
        };
        let steps = [check_positive("c", c), check_positive("c-global", c_global)];
        let mut problems: Vec<_> = shares.into_iter().chain(steps).flatten().collect();
        let Tunable::Fixed(global) = global else { return problems };
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
        let each = match self.global {
            Tunable::Fixed(global) => self.given(global).remembered_bytes(),
            Tunable::Auto => auto::settings(self).iter().map(Setting::remembered_bytes).sum(),
        };
        tasks * each
    }
}

/// Collaborative learning; see the head of its file.
#[derive(Debug, Clone)]
pub struct Collaborative {
    tasks: usize,
    machine: Machine,
}

#[derive(Debug, Clone)]
enum Machine {
    Fixed(Box<Fixed>),
    Auto(Box<Auto>),
}

/// Asks whichever machine there is.
macro_rules! machine {
    ($machine:expr, $inner:ident => $ask:expr) => {
        match $machine {
            Machine::Fixed($inner) => $ask,
            Machine::Auto($inner) => $ask,
        }
    };
}

impl Collaborative {
    pub(super) const ABOUT: About = About {
        id: "collaborative",
        title: "a global model that each task leverages (COML)",
        paper: "ROM17 [25]",
        protocol: Protocol::OneTask,
        predict_cost: "O(s)",
        update_cost: "O(s)",
        memory: "three times: touched weights; K values per frequent feature; times of each task's last rounds",
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

impl Collaborative {
    /// The tasks of some examples have been met.
    fn meet<'a>(&mut self, examples: impl Iterator<Item = Example<'a>>) {
        self.tasks = examples.map(|example| example.task.index() + 1).fold(self.tasks, usize::max);
    }
}

impl Predict for Collaborative {
    fn margin(&self, task: TaskId, x: SparseView<'_>) -> f64 {
        machine!(&self.machine, inner => inner.margin(task, x))
    }
}

impl LearnOne for Collaborative {
    fn update(&mut self, example: Example<'_>, _: f64) -> bool {
        self.learn(example).updated
    }

    fn learn(&mut self, example: Example<'_>) -> Outcome {
        self.meet(std::iter::once(example));
        machine!(&mut self.machine, inner => inner.learn(example))
    }

    fn skip(&mut self, task: TaskId) {
        self.tasks = self.tasks.max(task.index() + 1);
    }

    fn learn_batch(&mut self, batch: &Batch, outcomes: &mut Vec<Outcome>) {
        self.meet(batch.examples());
        machine!(&mut self.machine, inner => inner.learn_batch(batch, outcomes));
    }

    fn learn_round(&mut self, round: &Batch, outcomes: &mut Vec<Outcome>) {
        self.meet(round.examples());
        match &mut self.machine {
            Machine::Fixed(_) => learn_one_by_one(self, round, outcomes),
            Machine::Auto(auto) => auto.learn_round(round, outcomes),
        }
    }
}

impl Inspect for Collaborative {
    fn tasks(&self) -> usize {
        self.tasks
    }

    /// What a task takes of the global model, which the other moves.
    fn relation(&self, to: TaskId, from: TaskId) -> f64 {
        if to == from { 1.0 } else { machine!(&self.machine, inner => inner.taken()) }
    }

    fn influence(&self, task: TaskId) -> f64 {
        influence_of_like_tasks(self, task)
    }

    fn weights(&self, task: TaskId) -> Vec<(u32, f64)> {
        machine!(&self.machine, inner => inner.weights(task))
    }

    fn part(&self, part: Part, task: TaskId) -> Option<Vec<(u32, f64)>> {
        (part == Part::Shared).then(|| machine!(&self.machine, inner => inner.global(task)))
    }

    fn heap_bytes(&self) -> usize {
        machine!(&self.machine, inner => inner.heap_bytes())
    }
}

/// Saved form of [`Collaborative`].
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct CollaborativeState {
    tasks: u64,
    /// Of given parameters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    weights: Option<SlotTablesState>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lagged: Option<LaggedState>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    auto: Option<AutoState>,
}

impl Algorithm for Collaborative {
    type Config = CollaborativeConfig;
    type State = CollaborativeState;

    fn build(config: &CollaborativeConfig, tasks: &Tasks, _: Option<u32>) -> Result<Self, ConfigError> {
        let machine = match config.global {
            Tunable::Fixed(global) => Machine::Fixed(Box::new(Fixed::new(config.given(global)))),
            Tunable::Auto => Machine::Auto(Box::new(Auto::new(config))),
        };
        Ok(Self { tasks: tasks.count(), machine })
    }

    fn state(&self) -> CollaborativeState {
        let nothing =
            CollaborativeState { tasks: self.tasks as u64, weights: None, lagged: None, auto: None };
        match &self.machine {
            Machine::Fixed(fixed) => {
                let FixedState { weights, lagged } = fixed.state();
                CollaborativeState { weights: Some(weights), lagged: Some(lagged), ..nothing }
            }
            Machine::Auto(auto) => CollaborativeState { auto: Some(auto.state()), ..nothing },
        }
    }

    fn restore(&mut self, state: CollaborativeState) -> Result<(), StateError> {
        let tasks = restored_tasks(state.tasks, self.tasks)?;
        let CollaborativeState { weights, lagged, auto, .. } = state;
        match (&mut self.machine, weights, lagged, auto) {
            (Machine::Fixed(fixed), Some(weights), Some(lagged), None) => {
                fixed.restore(tasks, FixedState { weights, lagged })?;
            }
            (Machine::Auto(auto), None, None, Some(saved)) => auto.restore(tasks, saved)?,
            _ => return Err(StateError::new("the weights are not of the kind that global asks for")),
        }
        self.tasks = tasks;
        Ok(())
    }

    fn forget(&self, state: &mut CollaborativeState, task: usize) -> bool {
        state.tasks -= 1;
        state.weights.iter_mut().for_each(|weights| weights.remove_task(task));
        state.lagged.iter_mut().for_each(|lagged| lagged.remove_task(task));
        state.auto.iter_mut().for_each(|auto| auto.remove_task(task));
        true
    }
}
