//! Shared, individual and outlier parts of every task, by proximal gradient steps.
//!
//! Paper: ROM17 section II-C, Algorithm 1.
//! Protocol: all tasks in one round; on a one-task stream a round has one example.
//!
//! What follows is for an eta that is a number. With eta = "auto", the default, steps follow from the data and
//! penalties are evidence, so that nothing need be tuned: see `rom_pgd/auto.rs`.
//!
//! State: u, and p_i, q_i of each task, every one of them as a factor times a vector; |q_i|.
//!
//! Predict: (u + p_i + q_i)'x.
//! Update, where the hinge loss of task i is positive (7), (8), (10):
//! p_i = (p_i + eta y x) / (1 + beta eta); q = q_i + eta y x, q_i = max(0, 1 - eta gamma / |q|) q, 0 at |q| = 0.
//! Then, once per round, with the sum over the tasks that have a loss (6): u = (u + eta sum y x) / (1 + alpha eta).
//! With u-step `mean`, u takes eta / K in place of eta.
//!
//! An example of weight w: n y x in place of y x, n as many steps as leave it a loss, at most w. Then penalties are taken as
//! often: (1 + beta eta)^n, n eta gamma, and (1 + alpha eta)^w, w the largest weight of the round. That is close to w rounds,
//! in which steps and penalties take turns. A round whose weights are all 0 is none.
//!
//! Cost: predict and update O(s): shrinking changes a factor; a q_i that becomes 0 is told by the number of times it
//! has; |q_i| is kept, see `linalg/norm.rs`. A factor that gets too small is multiplied into its vector, once in
//! 70 / ln(1 + beta eta) updates of the task, or 70 / ln(1 + alpha eta) rounds for u.
//! Memory: touched weights.
//!
//! Bound: Theorem 3, regret G_* sqrt(2 (|u|^2 + |P|^2 + |Q|^2) T) (bounds/regret.rs, tests/it/regret.rs).
//!
//! Departures: (6) as printed steps by eta / m, with which Lemma 2 fails; that is u-step `mean`, and `sum` the default.
//! p_i and q_i stay as they are where the loss is 0, as in Algorithm 1; Lemma 2 shrinks them. From q_i = 0 a step
//! leaves (8) at eta |x| and (10) takes eta gamma of it, so an example is an outlier part of its task, for a while, where
//! |x| > gamma, and never else: to tell outliers, use eta = "auto" or `rom-rda`, whose averages do not have this.
//! Reduces to: with large gamma there are no outlier parts; with large beta too, one model for all tasks; with large
//! alpha, tasks on their own. All three hold for "auto".

mod auto;
mod fixed;

use auto::{Auto, AutoState};
use fixed::{Fixed, FixedState};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    About, Algorithm, CostClass, Parameters, Protocol, check_not_negative, check_positive, restored_tasks,
};
use crate::bounds::Theorem;
use crate::choice::Tunable;
use crate::error::{ConfigError, ConfigProblem, StateError};
use crate::example::{Example, SparseView, TaskId};
use crate::learner::{Inspect, LearnOne, Outcome, Part, Parts, Predict};
use crate::stream::Batch;
use crate::tasks::Tasks;

/// Parameters of `rom-pgd`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct RomPgdConfig {
    /// Length of a step, positive; or "auto", which takes it from the data
    #[schemars(schema_with = "Tunable::positive")]
    pub eta: Tunable,
    /// Penalty on the shared part; a large value leaves every task on its own
    #[schemars(range(min = 0.0))]
    pub alpha: f64,
    /// Penalty on the individual parts; a large value leaves only the shared part, with a large gamma if eta is given
    #[schemars(range(min = 0.0))]
    pub beta: f64,
    /// Penalty on the outlier parts: how much a task must differ to have one
    #[schemars(range(min = 0.0))]
    pub gamma: f64,
    /// How the tasks of a round move the shared part
    pub u_step: UStep,
}

/// How the tasks of a round move the shared part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum UStep {
    /// By the sum of their gradients
    #[default]
    Sum,
    /// By that sum divided by K, as printed in the paper
    Mean,
}

impl Default for RomPgdConfig {
    fn default() -> Self {
        Self { eta: Tunable::Auto, alpha: 0.0, beta: 0.0, gamma: 0.4, u_step: UStep::default() }
    }
}

impl Parameters for RomPgdConfig {
    fn validate(&self) -> Vec<ConfigProblem> {
        let penalties = [("alpha", self.alpha), ("beta", self.beta), ("gamma", self.gamma)];
        let penalties = penalties.into_iter().filter_map(|(name, penalty)| check_not_negative(name, penalty));
        let eta = match self.eta {
            Tunable::Fixed(eta) => check_positive("eta", eta),
            Tunable::Auto => None,
        };
        eta.into_iter().chain(penalties).collect()
    }
}

/// Robust proximal gradient steps; see the head of its file.
#[derive(Debug, Clone)]
pub struct RomPgd {
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

impl RomPgd {
    pub(super) const ABOUT: About = About {
        id: "rom-pgd",
        title: "shared, individual and outlier parts, by proximal gradient steps",
        paper: "ROM17 Alg. 1",
        protocol: Protocol::OneTask,
        predict_cost: "O(s)",
        update_cost: "O(s)",
        memory: "touched weights",
        most_tasks: None,
        cost_class: CostClass::PerFeature,
        keeps_examples: false,
        probabilities: false,
        weights: true,
        offsets: true,
        shardable: false,
        theorems: &[Theorem::RobustTheorem3],
    };
}

impl Predict for RomPgd {
    fn margin(&self, task: TaskId, x: SparseView<'_>) -> f64 {
        machine!(&self.machine, inner => inner.margin(task, x))
    }
}

impl LearnOne for RomPgd {
    fn update(&mut self, example: Example<'_>, margin: f64) -> bool {
        machine!(&mut self.machine, inner => inner.update(example, margin))
    }

    fn learn(&mut self, example: Example<'_>) -> Outcome {
        machine!(&mut self.machine, inner => inner.learn(example))
    }

    fn skip(&mut self, task: TaskId) {
        machine!(&mut self.machine, inner => inner.skip(task));
    }

    fn learn_batch(&mut self, batch: &Batch, outcomes: &mut Vec<Outcome>) {
        machine!(&mut self.machine, inner => inner.learn_batch(batch, outcomes));
    }

    fn overflow(&self) -> Option<&'static str> {
        machine!(&self.machine, inner => inner.overflow())
    }

    fn learn_round(&mut self, round: &Batch, outcomes: &mut Vec<Outcome>) {
        machine!(&mut self.machine, inner => inner.learn_round(round, outcomes));
    }
}

impl Inspect for RomPgd {
    fn tasks(&self) -> usize {
        machine!(&self.machine, inner => inner.tasks())
    }

    fn relation(&self, to: TaskId, from: TaskId) -> f64 {
        machine!(&self.machine, inner => inner.relation(to, from))
    }

    fn influence(&self, task: TaskId) -> f64 {
        machine!(&self.machine, inner => inner.influence(task))
    }

    fn weights(&self, task: TaskId) -> Vec<(u32, f64)> {
        machine!(&self.machine, inner => inner.weights(task))
    }

    fn parts(&self, tasks: &[TaskId]) -> Option<Vec<Parts>> {
        machine!(&self.machine, inner => inner.parts(tasks))
    }

    fn part(&self, part: Part, task: TaskId) -> Option<Vec<(u32, f64)>> {
        machine!(&self.machine, inner => inner.part(part, task))
    }

    fn heap_bytes(&self) -> usize {
        machine!(&self.machine, inner => inner.heap_bytes())
    }
}

/// Saved form of [`RomPgd`].
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct RomPgdState {
    tasks: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fixed: Option<FixedState>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    auto: Option<AutoState>,
}

impl Algorithm for RomPgd {
    type Config = RomPgdConfig;
    type State = RomPgdState;

    fn build(config: &RomPgdConfig, tasks: &Tasks, _: Option<u32>) -> Result<Self, ConfigError> {
        let machine = match config.eta {
            Tunable::Fixed(eta) => Machine::Fixed(Box::new(Fixed::new(*config, eta, tasks.count()))),
            Tunable::Auto => Machine::Auto(Box::new(Auto::new(*config, tasks.count()))),
        };
        Ok(Self { machine })
    }

    fn state(&self) -> RomPgdState {
        let nothing = RomPgdState { tasks: self.tasks() as u64, fixed: None, auto: None };
        match &self.machine {
            Machine::Fixed(fixed) => RomPgdState { fixed: Some(fixed.state()), ..nothing },
            Machine::Auto(auto) => RomPgdState { auto: Some(auto.state()), ..nothing },
        }
    }

    fn restore(&mut self, state: RomPgdState) -> Result<(), StateError> {
        let tasks = restored_tasks(state.tasks, self.tasks())?;
        match (&mut self.machine, state) {
            (Machine::Fixed(fixed), RomPgdState { fixed: Some(saved), auto: None, .. }) => {
                fixed.restore(tasks, saved)
            }
            (Machine::Auto(auto), RomPgdState { fixed: None, auto: Some(saved), .. }) => {
                auto.restore(tasks, saved)
            }
            _ => Err(StateError::new("the weights are not of the kind that eta asks for")),
        }
    }

    fn forget(&self, state: &mut RomPgdState, task: usize) -> bool {
        state.tasks -= 1;
        state.fixed.iter_mut().for_each(|fixed| fixed.remove_task(task));
        state.auto.iter_mut().for_each(|auto| auto.remove_task(task));
        true
    }
}
