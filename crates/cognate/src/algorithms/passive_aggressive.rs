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
//! An example of weight w: w c in place of c. With `pa1` that is w updates in a row; one of `pa` leaves nothing to the next.
//! Real labels, with `loss` epsilon-insensitive (the paper's section 5): l = max(0, |y - w'x| - epsilon), and
//! w += tau sign(y - w'x) x with the same tau.
//!
//! Scale: epsilon, and the c of `pa1`, are in units of the label: with labels times 1000 both must be, too. The c of `pa2` is
//! not, and `pa` has none.
//!
//! Cost: predict and update O(s). Memory: touched weights.
//!
//! Bound: none of ours; see the paper.
//!
//! Departures: an example that is 0, or so short that tau overflows, teaches nothing.
//! Reduces to: `individual` with K = 1 is `global`; `pa1` and `pa2` with large c are `pa`.

use std::num::NonZeroUsize;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    About, Algorithm, CostClass, Parameters, Protocol, check_not_negative, check_positive, restored_tasks,
};
use crate::choice::{NoParameters, allow_bare_names, choice};
use crate::error::{ConfigError, ConfigProblem, StateError};
use crate::example::{Example, SparseView, TaskId, hinge};
use crate::fit::Kind;
use crate::interaction::Scales;
use crate::learner::{
    Inspect, LearnOne, Outcome, OwnWeights, Predict, SharedVector, influence_of_like_tasks,
    margins_one_by_one,
};
use crate::shards::{Rule, ShardReport, Sharded, ShardedState, ShardsConfig};
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
    /// What is to become 0: `hinge` for labels -1 and +1, `epsilon-insensitive` for real ones
    #[serde(skip_serializing_if = "PassiveAggressiveLoss::is_hinge")]
    pub loss: PassiveAggressiveLoss,
}

/// What updates bring to 0.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "Self", rename_all = "kebab-case")]
#[schemars(transform = allow_bare_names)]
#[non_exhaustive]
pub enum PassiveAggressiveLoss {
    /// max(0, 1 - label * margin), for labels -1 and +1
    Hinge(NoParameters),
    /// max(0, |label - margin| - epsilon), for real labels
    EpsilonInsensitive(EpsilonInsensitiveConfig),
}

choice!(PassiveAggressiveLoss, "a loss");

impl Default for PassiveAggressiveLoss {
    fn default() -> Self {
        Self::Hinge(NoParameters {})
    }
}

/// Parameters of the loss `epsilon-insensitive`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct EpsilonInsensitiveConfig {
    /// How far a prediction may be off without loss, in units of the label
    #[schemars(range(min = 0.0))]
    pub epsilon: f64,
}

impl Default for EpsilonInsensitiveConfig {
    fn default() -> Self {
        Self { epsilon: 0.1 }
    }
}

impl PassiveAggressiveLoss {
    fn is_hinge(&self) -> bool {
        matches!(self, Self::Hinge(_))
    }

    /// The loss of a margin, and whether a larger margin has less of it (+1) or more (-1).
    fn of(self, label: f64, margin: f64) -> (f64, f64) {
        match self {
            Self::Hinge(_) => (hinge(label, margin), label),
            Self::EpsilonInsensitive(EpsilonInsensitiveConfig { epsilon }) => {
                let miss = label - margin;
                ((miss.abs() - epsilon).max(0.0), miss.signum())
            }
        }
    }
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
    /// tau for a loss and |x|^2; 0 if it overflows. c is that of the config times the weight of the example, 0 for none.
    pub(super) fn step(self, c: f64, loss: f64, squared: f64) -> f64 {
        let tau = match self {
            Self::Pa => loss / squared,
            Self::Pa1 => (loss / squared).min(c),
            Self::Pa2 => loss / (squared + 0.5 / c),
        };
        if tau.is_finite() && squared > 0.0 && c > 0.0 { tau } else { 0.0 }
    }
}

impl Default for PassiveAggressiveConfig {
    fn default() -> Self {
        Self {
            scope: Scope::default(),
            variant: Variant::default(),
            c: 1.0,
            loss: PassiveAggressiveLoss::default(),
        }
    }
}

impl Parameters for PassiveAggressiveConfig {
    fn validate(&self) -> Vec<ConfigProblem> {
        let epsilon = match self.loss {
            PassiveAggressiveLoss::Hinge(_) => None,
            PassiveAggressiveLoss::EpsilonInsensitive(EpsilonInsensitiveConfig { epsilon }) => {
                check_not_negative("loss.epsilon-insensitive.epsilon", epsilon)
            }
        };
        check_positive("c", self.c).into_iter().chain(epsilon).collect()
    }

    fn kind(&self) -> Kind {
        if self.loss.is_hinge() { Kind::Classification } else { Kind::Regression }
    }
}

/// Passive-aggressive learners; see the head of its file.
#[derive(Debug, Clone)]
pub struct PassiveAggressive {
    config: PassiveAggressiveConfig,
    tasks: usize,
    weights: SharedOwn,
    /// The weights in place of those, where tasks are in shards.
    sharded: Option<Box<Sharded>>,
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
        weights: true,
        offsets: true,
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
    let margin = sum(weights.dots(example.task, example.features, located)) + example.offset;
    let step = config.step(example, margin);
    if let Some(step) = step {
        weights.add(example.task, example.features, step, located);
    }
    Outcome { margin, updated: step.is_some() }
}

impl PassiveAggressiveConfig {
    /// How much of the features is added to the weights, if there is a loss.
    fn step(&self, example: Example<'_>, margin: f64) -> Option<f64> {
        let Example { features, label, weight, .. } = example;
        let (loss, sign) = self.loss.of(label, margin);
        if loss > 0.0 {
            let tau = self.variant.step(weight * self.c, loss, features.norm_squared());
            (tau > 0.0).then_some(tau * sign)
        } else {
            None
        }
    }
}

/// What weights and examples come to, where tasks are in shards.
impl Rule for PassiveAggressiveConfig {
    fn scales(&self, _: usize) -> Scales {
        Scales { own: 1.0, shared: 1.0 }
    }

    fn step(&self, _: usize, example: Example<'_>, margin: f64) -> Option<f64> {
        self.step(example, margin)
    }
}

impl Predict for PassiveAggressive {
    fn margin(&self, task: TaskId, x: SparseView<'_>) -> f64 {
        match &self.sharded {
            Some(sharded) => sharded.margin(&self.config, task, x),
            None => sum(self.weights.dots_of(task, x)),
        }
    }

    fn margins(&self, examples: &Batch, task_of: &dyn Fn(TaskId) -> TaskId, margins: &mut Vec<f64>) {
        if self.sharded.is_some() {
            return margins_one_by_one(self, examples, task_of, margins);
        }
        self.weights.dots_ahead(examples, task_of, |_, dots| margins.push(sum(dots)));
    }
}

impl LearnOne for PassiveAggressive {
    fn update(&mut self, example: Example<'_>, margin: f64) -> bool {
        if let Some(sharded) = &mut self.sharded {
            return sharded.update(&self.config, &mut self.tasks, example, margin);
        }
        self.tasks = self.tasks.max(example.task.index() + 1);
        let step = self.config.step(example, margin);
        if let Some(step) = step {
            self.weights.add_to(example.task, example.features, step);
        }
        step.is_some()
    }

    /// As margin then update, looking each feature up once.
    fn learn(&mut self, example: Example<'_>) -> Outcome {
        if self.sharded.is_some() {
            let margin = self.margin(example.task, example.features) + example.offset;
            return Outcome { margin, updated: self.update(example, margin) };
        }
        self.tasks = self.tasks.max(example.task.index() + 1);
        self.weights.locate(example.task, example.features, &mut self.located[0]);
        learn_located(&self.config, &mut self.weights, example, &mut self.located[0])
    }

    fn skip(&mut self, task: TaskId) {
        match &mut self.sharded {
            Some(sharded) => sharded.skip(&mut self.tasks, task),
            None => self.tasks = self.tasks.max(task.index() + 1),
        }
    }

    fn meet(&mut self, tasks: &Tasks) {
        self.sharded.iter_mut().for_each(|sharded| sharded.meet(tasks, self.tasks));
    }

    fn use_threads(&mut self, threads: NonZeroUsize) {
        self.sharded.iter_mut().for_each(|sharded| sharded.use_threads(threads));
    }

    fn learn_batch(&mut self, batch: &Batch, outcomes: &mut Vec<Outcome>) {
        outcomes.clear();
        let Self { config, tasks, weights, sharded, located } = self;
        if let Some(sharded) = sharded {
            return sharded.learn_batch(config, tasks, batch, outcomes);
        }
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
        match &self.sharded {
            Some(sharded) => sharded.weights(&self.config, task),
            None => self.weights.weights(task, Dots { own: 1.0, shared: 1.0 }),
        }
    }

    fn shared_vectors(&self) -> Vec<SharedVector> {
        match &self.sharded {
            Some(sharded) => sharded.shared_vectors(),
            None => {
                vec![SharedVector { name: "shared".to_owned(), weights: self.weights.shared_weights() }]
            }
        }
    }

    fn own_weights(&self, task: TaskId) -> OwnWeights {
        match &self.sharded {
            Some(sharded) => sharded.own_weights(&self.config, task),
            None => OwnWeights { factors: vec![1.0], own: self.weights.own_weights(task, 1.0) },
        }
    }

    fn shards(&self) -> Option<ShardReport> {
        self.sharded.as_ref().map(|sharded| sharded.report())
    }

    fn loss(&self, label: f64, margin: f64) -> Option<f64> {
        Some(self.config.loss.of(label, margin).0)
    }

    fn heap_bytes(&self) -> usize {
        self.weights.heap_bytes() + self.sharded.as_ref().map_or(0, |sharded| sharded.heap_bytes())
    }
}

/// Saved form of [`PassiveAggressive`].
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct PassiveAggressiveState {
    tasks: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    weights: Option<SlotTablesState>,
    /// The weights in place of those, where tasks are in shards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sharded: Option<ShardedState>,
}

impl Algorithm for PassiveAggressive {
    type Config = PassiveAggressiveConfig;
    type State = PassiveAggressiveState;

    fn build(config: &PassiveAggressiveConfig, tasks: &Tasks, _: Option<u32>) -> Result<Self, ConfigError> {
        Ok(Self {
            config: config.clone(),
            tasks: tasks.count(),
            weights: SharedOwn::new(parts(config.scope)),
            sharded: None,
            located: Default::default(),
        })
    }

    fn spread(&mut self, config: ShardsConfig, tasks: &Tasks) {
        self.sharded = Some(Box::new(Sharded::new(config, parts(self.config.scope), tasks)));
    }

    fn state(&self) -> PassiveAggressiveState {
        PassiveAggressiveState {
            tasks: self.tasks as u64,
            weights: self.sharded.is_none().then(|| self.weights.state()),
            sharded: self.sharded.as_ref().map(|sharded| sharded.state()),
        }
    }

    fn restore(&mut self, state: PassiveAggressiveState) -> Result<(), StateError> {
        let tasks = restored_tasks(state.tasks, self.tasks)?;
        match (&mut self.sharded, state.weights, state.sharded) {
            (None, Some(saved), None) => {
                self.weights = SharedOwn::restore(parts(self.config.scope), tasks, saved)?;
            }
            (Some(sharded), None, Some(saved)) => sharded.restore(tasks, saved)?,
            _ => {
                return Err(StateError::new(
                    "the weights are not of the kind that the number of shards says",
                ));
            }
        }
        self.tasks = tasks;
        Ok(())
    }

    fn forget(&self, state: &mut PassiveAggressiveState, task: usize) -> bool {
        state.tasks -= 1;
        match &self.sharded {
            Some(sharded) => {
                let mut settled = sharded.state_between_rounds(self.tasks);
                settled.remove_task(task, |_| 1.0);
                state.sharded = Some(settled);
            }
            None => state.weights.iter_mut().for_each(|weights| weights.remove_task(task)),
        }
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
        for variant in [Variant::Pa, Variant::Pa1, Variant::Pa2] {
            assert_eq!(variant.step(0.0, 1.0, 1.0), 0.0, "{variant:?}: weight 0");
        }
    }

    #[test]
    fn losses_by_hand() {
        let tube = PassiveAggressiveLoss::EpsilonInsensitive(EpsilonInsensitiveConfig { epsilon: 0.5 });
        assert_eq!(tube.of(3.0, 1.0), (1.5, 1.0));
        assert_eq!(tube.of(-3.0, 1.0), (3.5, -1.0));
        assert_eq!(tube.of(1.25, 1.0).0, 0.0);
        assert_eq!(PassiveAggressiveLoss::default().of(-1.0, 0.5), (1.5, -1.0));
    }
}
