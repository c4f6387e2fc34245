//! Passive-aggressive learners, one per task, or one for all.
//!
//! Paper: Crammer, Dekel, Keshet, Shalev-Shwartz and Singer 2006, the baseline of ROM17 section IV.
//! Protocol: one task per round.
//!
//! State: one weight vector per task (`individual`), or one for all (`global`).
//!
//! Predict: w'x.
//! Update, after a hinge loss l = max(0, 1 - y w'x) > 0: w += tau y x, with tau = l / |x|^2 (`pa`), min(c, l / |x|^2)
//! (`pa1`), l / (|x|^2 + 1/(2 c)) (`pa2`): the least change that brings the loss to 0, or nearly so.
//!
//! Cost: predict and update O(s). Memory: touched weights.
//!
//! Bound: none of ours; see the paper.
//!
//! Departures: an example that is 0, or so short that tau overflows, teaches nothing.
//! Reduces to: `individual` with K = 1 is `global`; `pa1` and `pa2` with large c are `pa`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{About, Algorithm, CostClass, Parameters, Protocol, check_positive, restored_tasks};
use crate::error::{ConfigError, ConfigProblem, StateError};
use crate::example::{Example, SparseView, TaskId, hinge};
use crate::learner::{Inspect, LearnOne, Outcome, Predict, influence_of_like_tasks};
use crate::stream::Batch;
use crate::table::{AHEAD, Locate};
use crate::tasks::Tasks;
use crate::weights::shared_own::{Dots, KeptParts};
use crate::weights::{LocatedSlots, SharedOwn, SlotTablesState};

/// Parameters of `passive-aggressive`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PassiveAggressiveConfig {
    /// Which tasks share a learner
    pub scope: Scope,
    /// How far an update may go
    pub variant: Variant,
    /// Aggressiveness, positive: the longest step of `pa1`, how hard `pa2` tries; `pa` does not use it
    #[schemars(extend("exclusiveMinimum" = 0.0))]
    pub c: f64,
}

/// Which tasks share a learner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Scope {
    /// Every task has its own
    #[default]
    Individual,
    /// One for all tasks
    Global,
}

/// How far an update goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Variant {
    /// Until the loss is 0
    Pa,
    /// The same, but a step is at most c
    #[default]
    Pa1,
    /// Less far, limited smoothly by c
    Pa2,
}

impl Variant {
    /// tau for a hinge loss and |x|^2; 0 if it overflows.
    pub(super) fn step(self, c: f64, loss: f64, squared: f64) -> f64 {
        let tau = match self {
            Self::Pa => loss / squared,
            Self::Pa1 => (loss / squared).min(c),
            Self::Pa2 => loss / (squared + 0.5 / c),
        };
        if tau.is_finite() && squared > 0.0 { tau } else { 0.0 }
    }
}

impl Default for PassiveAggressiveConfig {
    fn default() -> Self {
        Self { scope: Scope::default(), variant: Variant::default(), c: 1.0 }
    }
}

impl Parameters for PassiveAggressiveConfig {
    fn validate(&self) -> Vec<ConfigProblem> {
        check_positive("c", self.c).into_iter().collect()
    }
}

/// Passive-aggressive learners; see the head of its file.
#[derive(Debug, Clone)]
pub struct PassiveAggressive {
    config: PassiveAggressiveConfig,
    tasks: usize,
    weights: SharedOwn,
    /// Scratch, not state.
    located: [LocatedSlots; AHEAD],
}

fn parts(scope: Scope) -> KeptParts {
    KeptParts { shared: scope == Scope::Global, own: scope == Scope::Individual }
}

impl PassiveAggressive {
    pub(super) const ABOUT: About = About {
        id: "passive-aggressive",
        title: "passive-aggressive learners, one per task, or one for all",
        paper: "baseline of ROM17",
        protocol: Protocol::OneTask,
        predict_cost: "O(s)",
        update_cost: "O(s)",
        memory: "touched weights",
        most_tasks: None,
        cost_class: CostClass::PerFeature,
        keeps_examples: false,
        probabilities: false,
        shardable: true,
        theorems: &[],
    };
}

/// Of the two inner products the one with a part that is not kept is 0.
fn sum(dots: Dots) -> f64 {
    dots.own + dots.shared
}

/// Margin and update of an example whose features have been located.
fn learn_located(
    config: &PassiveAggressiveConfig,
    weights: &mut SharedOwn,
    example: Example<'_>,
    located: &mut LocatedSlots,
) -> Outcome {
    let Example { task, features, label } = example;
    let margin = sum(weights.dots(task, features, located));
    let step = config.step(label, margin, features);
    if step > 0.0 {
        weights.add(task, features, step * label, located);
    }
    Outcome { margin, updated: step > 0.0 }
}

impl PassiveAggressiveConfig {
    fn step(&self, label: f64, margin: f64, x: SparseView<'_>) -> f64 {
        let loss = hinge(label, margin);
        if loss > 0.0 { self.variant.step(self.c, loss, x.norm_squared()) } else { 0.0 }
    }
}

impl Predict for PassiveAggressive {
    fn margin(&self, task: TaskId, x: SparseView<'_>) -> f64 {
        sum(self.weights.dots_of(task, x))
    }

    fn margins(&self, examples: &Batch, task_of: &dyn Fn(TaskId) -> TaskId, margins: &mut Vec<f64>) {
        self.weights.dots_ahead(examples, task_of, |_, dots| margins.push(sum(dots)));
    }
}

impl LearnOne for PassiveAggressive {
    fn update(&mut self, example: Example<'_>, margin: f64) -> bool {
        let Example { task, features, label } = example;
        self.tasks = self.tasks.max(task.index() + 1);
        let step = self.config.step(label, margin, features);
        if step > 0.0 {
            self.weights.add_to(task, features, step * label);
        }
        step > 0.0
    }

    /// As margin then update, looking each feature up once.
    fn learn(&mut self, example: Example<'_>) -> Outcome {
        self.tasks = self.tasks.max(example.task.index() + 1);
        self.weights.locate(example.task, example.features, &mut self.located[0]);
        learn_located(&self.config, &mut self.weights, example, &mut self.located[0])
    }

    fn skip(&mut self, task: TaskId) {
        self.tasks = self.tasks.max(task.index() + 1);
    }

    fn learn_batch(&mut self, batch: &Batch, outcomes: &mut Vec<Outcome>) {
        outcomes.clear();
        let Self { config, tasks, weights, located } = self;
        weights.learn_ahead(batch, located, |weights, example, located| {
            *tasks = (*tasks).max(example.task.index() + 1);
            outcomes.push(learn_located(config, weights, example, located));
        });
    }
}

impl Inspect for PassiveAggressive {
    fn tasks(&self) -> usize {
        self.tasks
    }

    fn relation(&self, to: TaskId, from: TaskId) -> f64 {
        let together = self.config.scope == Scope::Global || to == from;
        if together { 1.0 } else { 0.0 }
    }

    fn influence(&self, task: TaskId) -> f64 {
        influence_of_like_tasks(self, task)
    }

    fn weights(&self, task: TaskId) -> Vec<(u32, f64)> {
        self.weights.weights(task, Dots { own: 1.0, shared: 1.0 })
    }

    fn heap_bytes(&self) -> usize {
        self.weights.heap_bytes()
    }
}

/// Saved form of [`PassiveAggressive`].
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct PassiveAggressiveState {
    tasks: u64,
    weights: SlotTablesState,
}

impl Algorithm for PassiveAggressive {
    type Config = PassiveAggressiveConfig;
    type State = PassiveAggressiveState;

    fn build(config: &PassiveAggressiveConfig, tasks: &Tasks, _: Option<u32>) -> Result<Self, ConfigError> {
        Ok(Self {
            config: config.clone(),
            tasks: tasks.count(),
            weights: SharedOwn::new(parts(config.scope)),
            located: Default::default(),
        })
    }

    fn state(&self) -> PassiveAggressiveState {
        PassiveAggressiveState { tasks: self.tasks as u64, weights: self.weights.state() }
    }

    fn restore(&mut self, state: PassiveAggressiveState) -> Result<(), StateError> {
        let tasks = restored_tasks(state.tasks, self.tasks)?;
        self.weights = SharedOwn::restore(parts(self.config.scope), tasks, state.weights)?;
        self.tasks = tasks;
        Ok(())
    }

    fn forget(&self, state: &mut PassiveAggressiveState, task: usize) -> bool {
        state.tasks -= 1;
        state.weights.remove_task(task);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_by_hand() {
        assert_eq!(Variant::Pa.step(0.1, 2.0, 4.0), 0.5);
        assert_eq!([0.1, 1.0].map(|c| Variant::Pa1.step(c, 2.0, 4.0)), [0.1, 0.5]);
        assert_eq!(Variant::Pa2.step(0.5, 2.0, 4.0), 0.4);
        for variant in [Variant::Pa, Variant::Pa1, Variant::Pa2] {
            assert_eq!(variant.step(1.0, 1.0, 0.0), 0.0, "{variant:?}");
        }
        assert_eq!(Variant::Pa.step(1.0, 1.0, 1e-310), 0.0);
    }
}
