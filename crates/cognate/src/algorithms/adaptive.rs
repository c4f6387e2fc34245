//! Shared and own weights by adaptive, scale-free, implicit second-order steps; the learner to reach for first.
//!
//! Paper: none of its own. MP10 section 4 shows that what learns like a Perceptron becomes a multitask learner through
//! the interaction; the steps are a diagonal second-order method as AROW (Crammer, Kulesza and Dredze 2009) and online
//! Bayesian logistic regression are, implicit as in Kulis and Bartlett 2010, normalised as in Ross, Mineiro and Langford
//! 2013. Ours: the mixture that finds the strength of sharing (`adaptive/mixer.rs`), the trust and the side of every task, which
//! are a learnt relation of rank one (`adaptive/trust.rs`), one precision for all members, and that what is well learnt is left
//! out.
//! Protocol: one task a round.
//!
//! State: see `adaptive/together.rs` (`coupled`, `pairwise`) and `adaptive/alone.rs` (`independent`, `pooled`).
//!
//! Predict: a'z, z the margins of the members' parts: a vector a task, one for all, and one of both. For a given b the
//! last member alone, for `independent` and `pooled` one vector. The shared parts of a task count times its side, which is
//! -1 for one that is opposed to the others.
//! Update: w_k += v_k x_k y t, v_k = 1 / (m s_k^2 / (p r_k) + sum h x_k^2), t implicit (`adaptive/rule.rs`). R enters as the prior:
//! of the variance p of a margin, R's share on the diagonal belongs to the task and the rest to all. a by a full
//! second-order step.
//!
//! Cost: predict and update O(s) whatever K is. Memory: touched weights, three numbers a weight of a task.
//!
//! Bound: none is proven for the whole. Online Newton steps on the logistic loss have regret O(n_parts e^Z ln n) against the
//! best fixed a on n examples with |z| <= Z (Hazan, Agarwal and Kale 2007); the mixture's are of that kind, but implicit
//! and with the curvature itself, which the proof does not cover. Diagonal rates 1 / sum h x^2 have no such bound where
//! coordinates compete.
//!
//! Departures: an example on which every member of the mixture has y margin > 1.5 teaches the mixture only. Examples too long to be
//! squared teach no weights. A margin of exactly 0 is a mistake whatever the label.
//! Reduces to: `independent` is K learners that know nothing of each other, each the one with K = 1; with K = 1 it is
//! `pooled`. Multiplying all features by a constant divides their weights and leaves every margin as it was, up to rounding;
//! multiplying one of them changes its prior deviation by a factor of four at most.

mod alone;
mod mixer;
mod rule;
mod together;
mod trust;

use alone::{Alone, AloneState};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use together::{Together, TogetherState};

use super::{About, Algorithm, Parameters, Protocol, check_positive, restored_tasks};
use crate::choice::Tunable;
use crate::error::{ConfigError, ConfigProblem, StateError};
use crate::example::{BIAS_FEATURE, Example, SparseView, TaskId};
use crate::interaction::{CoupledConfig, Interaction, InteractionConfig, Scales, Uniform};
use crate::learner::{Inspect, LearnOne, Outcome, Predict};
use crate::stream::Batch;
use crate::tasks::Tasks;

pub use rule::Loss;

/// Parameters of `adaptive`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AdaptiveConfig {
    /// How tasks influence each other; `graph` and `matrix` are for other learners
    pub interaction: InteractionConfig,
    /// What is made small
    pub loss: Loss,
    /// Half-life in examples: what was learnt so long ago counts half as much against what is new; left out, nothing is forgotten
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("exclusiveMinimum" = 0.0))]
    pub forget: Option<f64>,
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
            intercept: true,
            rate: 1.0,
        }
    }
}

impl Parameters for AdaptiveConfig {
    fn validate(&self) -> Vec<ConfigProblem> {
        let mut problems: Vec<ConfigProblem> = match &self.interaction {
            InteractionConfig::Graph(_) | InteractionConfig::Matrix(_) => {
                let message = "adaptive takes independent, pooled, pairwise or coupled; `perceptron` takes graphs and matrices";
                vec![ConfigProblem::new("interaction", message)]
            }
            interaction => interaction
                .validate_tunable()
                .into_iter()
                .map(|problem| problem.within("interaction"))
                .collect(),
        };
        problems.extend(check_positive("rate", self.rate));
        problems.extend(self.forget.and_then(|half_life| check_positive("forget", half_life)));
        problems
    }

    fn interaction(&self) -> Option<&InteractionConfig> {
        Some(&self.interaction)
    }

    fn interaction_mut(&mut self) -> Option<&mut InteractionConfig> {
        Some(&mut self.interaction)
    }
}

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
    prior: Prior,
}

impl Settings {
    fn of(config: &AdaptiveConfig, mixture: bool) -> Self {
        let AdaptiveConfig { loss, forget, intercept, rate, .. } = *config;
        let wide = if mixture { 50.0 } else { 10.0 };
        Self { loss, forget, intercept, prior: Prior { wide: wide * rate, narrow: 5.0 * rate } }
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
}

impl Adaptive {
    pub(super) const ABOUT: About = About {
        id: "adaptive",
        title: "shared + own weights, adaptive and scale-free; finds the strength of sharing",
        paper: "our own",
        protocol: Protocol::OneTask,
        predict_cost: "O(s)",
        update_cost: "O(s)",
        memory: "touched weights",
        most_tasks: None,
    };

    /// K as it is once the given task has been met.
    fn tasks_with(&self, task: TaskId) -> usize {
        self.tasks.max(task.index() + 1)
    }

    fn scales(&self, tasks: usize) -> Scales {
        match &self.machine {
            Machine::Alone(rule, _) => rule.scales(tasks),
            Machine::Together(together) => together.scales(tasks),
        }
    }
}

impl Predict for Adaptive {
    fn margin(&self, task: TaskId, x: SparseView<'_>) -> f64 {
        match &self.machine {
            Machine::Alone(_, alone) => alone.margin(task, x),
            Machine::Together(together) => together.margin(task, x),
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
        // Sides are shown, trusts are not: those are of what a task makes of the others, not of what it teaches them.
        let relation = self.scales(self.tasks).relation(to, from);
        match &self.machine {
            Machine::Together(together) if to != from => together.sides(to, from) * relation,
            _ => relation,
        }
    }

    fn influence(&self, task: TaskId) -> f64 {
        let tasks = self.tasks_with(task);
        self.scales(tasks).influence(tasks)
    }

    fn weights(&self, task: TaskId) -> Vec<(u32, f64)> {
        match &self.machine {
            Machine::Alone(_, alone) => alone.weights(task),
            Machine::Together(together) => together.weights(task),
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
                Interaction::Blocks(_) => {
                    return Err(ConfigProblem::new(
                        "interaction",
                        "graphs and matrices are for other learners",
                    )
                    .into());
                }
            }
        };
        Ok(Self { tasks: tasks.count(), machine, loss: config.loss })
    }

    fn state(&self) -> AdaptiveState {
        let nothing = AdaptiveState { tasks: self.tasks as u64, alone: None, together: None };
        match &self.machine {
            Machine::Alone(_, alone) => AdaptiveState { alone: Some(alone.state()), ..nothing },
            Machine::Together(together) => AdaptiveState { together: Some(together.state()), ..nothing },
        }
    }

    fn restore(&mut self, state: AdaptiveState) -> Result<(), StateError> {
        let tasks = restored_tasks(state.tasks, self.tasks)?;
        match (&mut self.machine, state) {
            (Machine::Alone(_, alone), AdaptiveState { alone: Some(saved), together: None, .. }) => {
                alone.restore(tasks.max(1), saved)?;
            }
            (Machine::Together(together), AdaptiveState { alone: None, together: Some(saved), .. }) => {
                together.restore(tasks, saved)?;
            }
            _ => return Err(StateError::new("the weights are not of the kind that the interaction keeps")),
        }
        self.tasks = tasks;
        Ok(())
    }
}
