//! Shared and own weights by adaptive, scale-free, implicit second-order steps; the learner to reach for first.
//!
//! Paper: none of its own. MP10 section 4 shows that what learns like a Perceptron becomes a multitask learner through
//! the interaction; the steps are a diagonal second-order method as AROW (Crammer, Kulesza and Dredze 2009) and online
//! Bayesian logistic regression are, implicit as in Kulis and Bartlett 2010, normalised as in Ross, Mineiro and Langford
//! 2013. Ours: the mixture that finds the strength of sharing (`adaptive/mixer.rs`), the trust and the side of every task, which
//! are a learnt relation of rank one (`adaptive/trust.rs`), groups that tasks sort themselves into, which give it more ranks
//! (`adaptive/groups.rs`), one precision for all members, and that what is well learnt is left out (`adaptive/doubt.rs`).
//! Protocol: one task a round.
//!
//! State: see `adaptive/together.rs` (`coupled`, `pairwise`), `adaptive/alone.rs` (`independent`, `pooled`) and
//! `adaptive/related.rs` (`graph`, `matrix`).
//!
//! Predict: a'z, z the margins of the members' parts: a vector a task, one for all, and one of both. For a given b the
//! last member alone, for `independent` and `pooled` one vector. The shared parts of a task count times its side, which is
//! -1 for one that is opposed to the others.
//! Update: w_k += v_k x_k y t, v_k = 1 / (m s_k^2 / (p r_k) + sum h x_k^2), t implicit (`adaptive/rule.rs`). R enters as the prior:
//! of the variance p of a margin, R's share on the diagonal belongs to the task and the rest to all; for a graph or a matrix, R's
//! correlations are those of the tasks' weights. a by a full second-order step.
//!
//! With `average` the mean of the weights predicts (`adaptive/averages.rs`), and they step by their own margins.
//!
//! Cost: predict and update O(s) whatever K is, and O(s) a group to update where there are several; for a graph or a matrix O(s)
//! a task of the block. Memory: touched weights, three
//! numbers a weight of a task; for a graph or a matrix two a task of the block and feature.
//!
//! Bound: none is proven for the whole. Online Newton steps on the logistic loss have regret O(n_parts e^Z ln n) against the
//! best fixed a on n examples with |z| <= Z (Hazan, Agarwal and Kale 2007); the mixture's are of that kind, but implicit
//! and with the curvature itself, which the proof does not cover. Diagonal rates 1 / sum h x^2 have no such bound where
//! coordinates compete.
//!
//! Departures: an example on which every member of the mixture has y margin > 1.5 teaches the mixture only, and so do, on long noisy
//! streams, examples that leave less doubt than usual; those that leave about as much teach what is shared. Examples too long to be
//! squared teach no weights. A margin of exactly 0 is a mistake whatever the label.
//! Reduces to: `independent` is K learners that know nothing of each other, each the one with K = 1; with K = 1 it is
//! `pooled`. Multiplying all features by a constant divides their weights and leaves every margin as it was, up to rounding;
//! multiplying one of them changes its prior deviation by a factor of four at most.

mod alone;
mod averages;
mod doubt;
mod groups;
mod mixer;
mod related;
mod rule;
mod steps;
mod together;
mod trust;

use alone::{Alone, AloneState};
use related::{Related, RelatedState};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use together::{Together, TogetherState};

use super::{About, Algorithm, CostClass, Parameters, Protocol, check_positive, restored_tasks};
use crate::choice::Tunable;
use crate::error::{ConfigError, ConfigProblem, StateError};
use crate::example::{BIAS_FEATURE, Example, SparseView, TaskId};
use crate::interaction::{CoupledConfig, Interaction, InteractionConfig, Scales, Uniform};
use crate::learner::{Inspect, LearnOne, Outcome, Predict, margins_one_by_one};
use crate::stream::Batch;
use crate::tasks::Tasks;

pub use rule::Loss;

/// Parameters of `adaptive`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AdaptiveConfig {
    /// How tasks influence each other
    pub interaction: InteractionConfig,
    /// What is made small
    pub loss: Loss,
    /// Half-life in examples: what was learnt so long ago counts half as much against what is new; left out, nothing is forgotten
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("exclusiveMinimum" = 0.0))]
    pub forget: Option<f64>,
    /// Whether the mean of all weights so far predicts, late ones counting more: steadier, seldom better; not with `forget`
    pub average: bool,
    /// Groups that tasks sort themselves into, each sharing weights of its own: for tasks of several kinds; with b = "auto"
    #[schemars(range(min = 1, max = 64))]
    pub groups: usize,
    /// Whether there is a weight for a feature that is always 1
    pub intercept: bool,
    /// How far first steps go, against what suits most data; positive
    #[schemars(extend("exclusiveMinimum" = 0.0))]
    pub rate: f64,
}

impl Default for AdaptiveConfig {
    fn default() -> Self {
        Self {
            interaction: InteractionConfig::Coupled(CoupledConfig { b: Tunable::Auto }),
            loss: Loss::default(),
            forget: None,
            average: false,
            groups: 1,
            intercept: true,
            rate: 1.0,
        }
    }
}

impl Parameters for AdaptiveConfig {
    fn validate(&self) -> Vec<ConfigProblem> {
        let problems = self.interaction.validate_tunable().into_iter();
        let mut problems: Vec<ConfigProblem> =
            problems.map(|problem| problem.within("interaction")).collect();
        problems.extend(check_positive("rate", self.rate));
        problems.extend(self.forget.and_then(|half_life| check_positive("forget", half_life)));
        if self.average && self.forget.is_some() {
            let message = "the mean of all weights forgets nothing; take `average` or `forget`";
            problems.push(ConfigProblem::new("average", message));
        }
        if !(1..=MOST_GROUPS).contains(&self.groups) {
            let message = format!("{} is not between 1 and {MOST_GROUPS}", self.groups);
            problems.push(ConfigProblem::new("groups", message));
        } else if self.groups > 1 && !self.interaction.is_auto() {
            let message =
                "tasks sort themselves where the strength of sharing is found; leave `interaction` out";
            problems.push(ConfigProblem::new("groups", message));
        } else if self.groups > 1 && self.average {
            let message = "means are of weights that all tasks share; take `average` or `groups`";
            problems.push(ConfigProblem::new("groups", message));
        }
        problems
    }

    fn interaction(&self) -> Option<&InteractionConfig> {
        Some(&self.interaction)
    }

    fn interaction_mut(&mut self) -> Option<&mut InteractionConfig> {
        Some(&mut self.interaction)
    }
}

/// Groups at most: every example is weighed against each.
const MOST_GROUPS: usize = 64;

/// p: the prior variance of a member's margin.
///
/// Measured on 22 data sets and 4 streams: few data and little noise want wide ones, many noisy data narrow ones; the
/// mixture has both.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Prior {
    /// Of the members that are on their own or pooled, and where there is one member only.
    wide: f64,
    /// Of the coupled member of the mixture.
    narrow: f64,
}

/// What the machines are told.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Settings {
    loss: Loss,
    forget: Option<f64>,
    intercept: bool,
    average: bool,
    groups: usize,
    prior: Prior,
}

impl Settings {
    fn of(config: &AdaptiveConfig, mixture: bool) -> Self {
        let AdaptiveConfig { loss, forget, average, groups, intercept, rate, .. } = *config;
        let wide = if mixture { 50.0 } else { 10.0 };
        Self {
            loss,
            forget,
            average,
            groups,
            intercept,
            prior: Prior { wide: wide * rate, narrow: 5.0 * rate },
        }
    }
}

/// Adds the weight of the feature that is always 1.
fn add_intercept(weights: &mut Vec<(u32, f64)>, intercept: f64) {
    match weights.last_mut() {
        Some((BIAS_FEATURE, weight)) => *weight += intercept,
        _ if intercept != 0.0 => weights.push((BIAS_FEATURE, intercept)),
        _ => {}
    }
}

/// The adaptive learner; see the head of its file.
#[derive(Debug, Clone)]
pub struct Adaptive {
    tasks: usize,
    machine: Machine,
    loss: Loss,
}

#[derive(Debug, Clone)]
enum Machine {
    Alone(Uniform, Box<Alone>),
    Together(Box<Together>),
    Related(Box<Related>),
}

impl Adaptive {
    pub(super) const ABOUT: About = About {
        id: "adaptive",
        title: "shared + own weights, adaptive and scale-free; finds the strength of sharing",
        paper: "our own",
        protocol: Protocol::OneTask,
        predict_cost: "O(s); O(K s) for graph and matrix",
        update_cost: "O(s); O(K s) for graph and matrix",
        memory: "touched weights; d K for graph and matrix",
        most_tasks: None,
        cost_class: CostClass::PerFeature,
        keeps_examples: false,
        probabilities: true,
        shardable: true,
        theorems: &[],
    };

    /// K as it is once the given task has been met.
    fn tasks_with(&self, task: TaskId) -> usize {
        self.tasks.max(task.index() + 1)
    }

    /// The two factors of R; none for a graph or a matrix.
    fn scales(&self, tasks: usize) -> Option<Scales> {
        match &self.machine {
            Machine::Alone(rule, _) => Some(rule.scales(tasks)),
            Machine::Together(together) => Some(together.scales(tasks)),
            Machine::Related(_) => None,
        }
    }
}

impl Predict for Adaptive {
    fn margin(&self, task: TaskId, x: SparseView<'_>) -> f64 {
        match &self.machine {
            Machine::Alone(_, alone) => alone.margin(task, x),
            Machine::Together(together) => together.margin(task, x),
            Machine::Related(related) => related.margin(task, x),
        }
    }

    fn margins(&self, examples: &Batch, task_of: &dyn Fn(TaskId) -> TaskId, margins: &mut Vec<f64>) {
        match &self.machine {
            Machine::Together(together) => together.margins(examples, task_of, margins),
            _ => margins_one_by_one(self, examples, task_of, margins),
        }
    }
}

impl LearnOne for Adaptive {
    /// The margin is that of the present state, which may be another than the one given where a round has several examples.
    fn update(&mut self, example: Example<'_>, _margin: f64) -> bool {
        self.learn(example).updated
    }

    fn learn(&mut self, example: Example<'_>) -> Outcome {
        self.tasks = self.tasks_with(example.task);
        match &mut self.machine {
            Machine::Alone(_, alone) => alone.learn(example),
            Machine::Together(together) => together.learn(self.tasks, example),
            Machine::Related(related) => related.learn(example),
        }
    }

    /// As one by one, finding the weights of some examples ahead so that they are in cache when needed.
    fn learn_batch(&mut self, batch: &Batch, outcomes: &mut Vec<Outcome>) {
        outcomes.clear();
        match &mut self.machine {
            Machine::Alone(_, alone) => {
                let last = batch.examples().map(|example| example.task.index() + 1).max();
                self.tasks = self.tasks.max(last.unwrap_or(0));
                alone.learn_batch(batch, outcomes);
            }
            Machine::Together(together) => together.learn_batch(&mut self.tasks, batch, outcomes),
            Machine::Related(_) => outcomes.extend(batch.examples().map(|example| self.learn(example))),
        }
    }

    fn skip(&mut self, task: TaskId) {
        self.tasks = self.tasks_with(task);
    }
}

impl Inspect for Adaptive {
    fn tasks(&self) -> usize {
        self.tasks
    }

    fn relation(&self, to: TaskId, from: TaskId) -> f64 {
        let uniform = || self.scales(self.tasks).map_or(0.0, |scales| scales.relation(to, from));
        match &self.machine {
            Machine::Related(related) => related.blocks().relation(to, from),
            // Sides are shown, trusts are not: those are of what a task makes of the others, not of what it teaches them.
            Machine::Together(together) if to != from => together.sides(to, from) * uniform(),
            _ => uniform(),
        }
    }

    fn influence(&self, task: TaskId) -> f64 {
        let tasks = self.tasks_with(task);
        match &self.machine {
            Machine::Related(related) => related.blocks().influence(task),
            // Only what its group teaches it.
            Machine::Together(together) if together.has_groups() => {
                (0..tasks as u32).map(|from| self.relation(task, TaskId(from)).abs()).sum()
            }
            _ => self.scales(tasks).map_or(0.0, |scales| scales.influence(tasks)),
        }
    }

    fn weights(&self, task: TaskId) -> Vec<(u32, f64)> {
        match &self.machine {
            Machine::Alone(_, alone) => alone.weights(task),
            Machine::Together(together) => together.weights(task),
            Machine::Related(related) => related.weights(task),
        }
    }

    /// Margins are log-odds: those of the mixture whatever the loss, those of one member for the logistic loss.
    fn probability(&self, margin: f64) -> Option<f64> {
        let log_odds = match &self.machine {
            Machine::Together(together) if together.is_mixture() => true,
            _ => self.loss == Loss::Logistic,
        };
        log_odds.then(|| rule::other(-margin))
    }

    fn heap_bytes(&self) -> usize {
        match &self.machine {
            Machine::Alone(_, alone) => alone.heap_bytes(),
            Machine::Together(together) => together.heap_bytes(),
            Machine::Related(related) => related.heap_bytes(),
        }
    }
}

/// Saved form of [`Adaptive`].
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct AdaptiveState {
    tasks: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    alone: Option<AloneState>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    together: Option<TogetherState>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    related: Option<RelatedState>,
}

impl Algorithm for Adaptive {
    type Config = AdaptiveConfig;
    type State = AdaptiveState;

    fn build(config: &AdaptiveConfig, tasks: &Tasks, _: Option<u32>) -> Result<Self, ConfigError> {
        let mixture = config.interaction.is_auto();
        let settings = Settings::of(config, mixture);
        let machine = if mixture {
            Machine::Together(Box::new(Together::new(settings, None)))
        } else {
            match config.interaction.build(tasks).map_err(|error| error.within("interaction"))? {
                Interaction::Uniform(rule @ (Uniform::Independent | Uniform::Pooled)) => {
                    Machine::Alone(rule, Box::new(Alone::new(settings, rule == Uniform::Pooled)))
                }
                Interaction::Uniform(rule) => {
                    Machine::Together(Box::new(Together::new(settings, Some(rule))))
                }
                Interaction::Blocks(blocks) => Machine::Related(Box::new(Related::new(settings, blocks)?)),
            }
        };
        Ok(Self { tasks: tasks.count(), machine, loss: config.loss })
    }

    fn state(&self) -> AdaptiveState {
        let nothing = AdaptiveState { tasks: self.tasks as u64, alone: None, together: None, related: None };
        match &self.machine {
            Machine::Alone(_, alone) => AdaptiveState { alone: Some(alone.state()), ..nothing },
            Machine::Together(together) => AdaptiveState { together: Some(together.state()), ..nothing },
            Machine::Related(related) => AdaptiveState { related: Some(related.state()), ..nothing },
        }
    }

    fn restore(&mut self, state: AdaptiveState) -> Result<(), StateError> {
        let tasks = restored_tasks(state.tasks, self.tasks)?;
        let AdaptiveState { alone, together, related, .. } = state;
        match (&mut self.machine, alone, together, related) {
            (Machine::Alone(_, alone), Some(saved), None, None) => alone.restore(tasks.max(1), saved)?,
            (Machine::Together(together), None, Some(saved), None) => together.restore(tasks, saved)?,
            (Machine::Related(related), None, None, Some(saved)) => related.restore(tasks, saved)?,
            _ => return Err(StateError::new("the weights are not of the kind that the interaction keeps")),
        }
        self.tasks = tasks;
        Ok(())
    }
}
