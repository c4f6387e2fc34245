//! Shared, individual and outlier parts of every task, by regularized dual averaging.
//!
//! Paper: ROM17 section II-D, Algorithm 2.
//! Protocol: all tasks in one round; on a one-task stream a round has one example, and all rounds count in t.
//!
//! State: t; G = sum of y x over all examples with a loss, and G_i over those of task i, with |G_i|. The averages of
//! (14) to (16) are -G/t and -G_i/t, so K + 1 sums are all there is to keep.
//!
//! Predict: (u + p_i + q_i)'x with theta = kappa sqrt(t) and, after t rounds,
//! (20) u = G / (alpha t + theta), (21) p_i = G_i / (beta t + theta),
//! (22) q_i = max(0, 1 - gamma t / |G_i|) G_i / theta, 0 at |G_i| = 0. Before the first round all are 0.
//! Update, where the hinge loss is positive: G += y x, G_i += y x. t grows with every round.
//!
//! An example of weight w is w rounds: it is gone through as often, the last time in part, each time with the factors that
//! t then gives, and t grows by w. From 100 times on the rest is one step: n y x in place of y x, n as many steps as leave
//! it a loss with the factors at its end. In a round of several tasks each is gone through as if it were alone, and t grows
//! by the largest of the weights: exact where all are 1, or one is not 0. A round whose weights are all 0 is none.
//!
//! Cost: predict and update O(s). Memory: touched weights.
//!
//! Bound: Theorem 6, regret (kappa D^2 + G_*^2 / kappa) sqrt(T) (bounds/regret.rs, tests/it/regret.rs).
//!
//! Outliers: q_i is not 0 where the average gradient of task i is longer than gamma, which lies between 0 and |x|; with
//! beta > 0 it stays that long for a task whose p_i would have to be longer than gamma / beta. On ROM17's walk, where |x|
//! is about 10, kappa = 1, beta = 0.1, gamma = 0.2 mark the outlier alone (tests/it/robust.rs); they grow with |x|. The
//! defaults are for learning, on examples of length 1: with beta = 0 averages fade, and so do outlier parts.
//!
//! Departures: none. Before (11) the paper's average lacks 1/t, and the gradient in (13) is of F_tau; see the errata.
//! Reduces to: with large gamma there are no outlier parts; with large beta too, one model for all tasks; with large
//! alpha, tasks on their own.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{About, Algorithm, CostClass, Parameters, Protocol, check_not_negative, restored_tasks};
use crate::bounds::Theorem;
use crate::error::{ConfigError, ConfigProblem, StateError};
use crate::example::{Example, SparseView, TaskId, hinge, repeats};
use crate::learner::{
    Inspect, LearnOne, Outcome, OwnWeights, Part, Parts, Predict, SharedVector, in_task_order,
    influence_of_like_tasks,
};
use crate::stream::Batch;
use crate::table::{AHEAD, Locate};
use crate::tasks::Tasks;
use crate::weights::norm::NormsState;
use crate::weights::shared_own::{Dots, KeptParts};
use crate::weights::{LocatedSlots, Norm, SharedOwn, SlotTablesState};

/// Parameters of `rom-rda`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RomRdaConfig {
    /// How slowly weights move: theta = kappa sqrt(t)
    #[schemars(range(min = 1e-6))]
    pub kappa: f64,
    /// Penalty on the shared part; a large value leaves every task on its own
    #[schemars(range(min = 0.0))]
    pub alpha: f64,
    /// Penalty on the individual parts
    #[schemars(range(min = 0.0))]
    pub beta: f64,
    /// Penalty on the outlier parts: how much a task must differ to have one
    #[schemars(range(min = 0.0))]
    pub gamma: f64,
}

/// Below this theta hardly grows, and weights are rounding errors times a large number.
const LEAST_KAPPA: f64 = 1e-6;

impl Default for RomRdaConfig {
    /// For examples of length 1.
    fn default() -> Self {
        Self { kappa: 0.05, alpha: 0.0, beta: 0.0, gamma: 0.1 }
    }
}

impl Parameters for RomRdaConfig {
    fn validate(&self) -> Vec<ConfigProblem> {
        let mut problems = Vec::new();
        if !(self.kappa.is_finite() && self.kappa >= LEAST_KAPPA) {
            problems.push(ConfigProblem::new(
                "kappa",
                format!(
                    "must be at least {LEAST_KAPPA}, so that theta = kappa sqrt(t) grows with the rounds, got {}",
                    self.kappa
                ),
            ));
        }
        let penalties = [("alpha", self.alpha), ("beta", self.beta), ("gamma", self.gamma)];
        problems
            .extend(penalties.into_iter().filter_map(|(name, penalty)| check_not_negative(name, penalty)));
        problems
    }
}

/// Robust dual averaging; see the head of its file.
#[derive(Debug, Clone)]
pub struct RomRda {
    tasks: usize,
    weights: SharedOwn,
    averages: Averages,
    /// Scratch, not state.
    located: [LocatedSlots; AHEAD],
}

/// What makes weights of the sums.
#[derive(Debug, Clone)]
struct Averages {
    config: RomRdaConfig,
    /// t, by weight.
    rounds: f64,
    /// |G_i|.
    norms: Vec<Norm>,
    /// Scratch, not state.
    pairs: Vec<(u32, f64)>,
}

/// Factors of the sums that make the three parts.
#[derive(Debug, Clone, Copy, Default)]
struct Factors {
    /// u = shared G.
    shared: f64,
    /// p_i = individual G_i.
    individual: f64,
    /// q_i = outlier G_i.
    outlier: f64,
}

impl Factors {
    fn margin(self, dots: Dots) -> f64 {
        self.shared * dots.shared + (self.individual + self.outlier) * dots.own
    }
}

/// Times that an example is gone through one by one.
const COPIES: u32 = 100;

impl Averages {
    fn factors(&self, task: TaskId) -> Factors {
        self.factors_at(self.norms.get(task.index()).map_or(0.0, |norm| norm.get()), self.rounds)
    }

    /// The factors after t rounds, where |G_i| is this.
    fn factors_at(&self, norm: f64, t: f64) -> Factors {
        if t == 0.0 {
            return Factors::default();
        }
        let RomRdaConfig { kappa, alpha, beta, gamma } = self.config;
        let theta = kappa * t.sqrt();
        let kept = if norm > 0.0 { (1.0 - gamma * t / norm).max(0.0) } else { 0.0 };
        Factors {
            shared: 1.0 / (alpha * t + theta),    // (20)
            individual: 1.0 / (beta * t + theta), // (21)
            outlier: kept / theta,                // (22)
        }
    }

    fn margin(&self, task: TaskId, dots: Dots) -> f64 {
        self.factors(task).margin(dots)
    }

    /// How often the gradient of an example is added, which is seen as often as its weight says: where it has a loss, the
    /// first time by this margin.
    fn times(&self, example: Example<'_>, dots: Dots, mut margin: f64) -> f64 {
        let Example { task, features, label, weight, offset, .. } = example;
        if weight == 1.0 {
            return f64::from(u8::from(has_loss(example, margin)));
        }
        let squared = features.norm_squared();
        let norm = self.norms.get(task.index()).copied().unwrap_or(Norm::NEW);
        let factors = |times: f64, t: f64| {
            self.factors_at(norm.squared_after(label * times, dots.own, squared).sqrt(), t)
        };
        let margin_after = |times: f64, t: f64| {
            let more = label * times * squared;
            factors(times, t).margin(Dots { shared: dots.shared + more, own: dots.own + more }) + offset
        };
        let (mut left, mut t, mut times) = (weight, self.rounds, 0.0);
        for copy in 0..=COPIES {
            let part = if copy < COPIES { left.min(1.0) } else { left };
            if part == 0.0 {
                break;
            }
            if part > 1.0 {
                // Margins shrink as t grows, so it is the end that tells.
                margin = margin_after(times, t + part);
            }
            if has_loss(example, margin) {
                let gain = || {
                    let Factors { shared, individual, outlier } = factors(times, t + part);
                    (shared + individual + outlier) * squared
                };
                times += if part > 1.0 { repeats(part, label, margin - label, gain) } else { part };
            }
            (left, t) = (left - part, t + part);
            margin = margin_after(times, t);
        }
        times
    }

    /// Adds so many gradients of an example; right after the dots of the same example.
    fn add(
        &mut self,
        weights: &mut SharedOwn,
        example: Example<'_>,
        times: f64,
        dots: Dots,
        located: &mut LocatedSlots,
    ) {
        let Example { task, features, label, .. } = example;
        let label = label * times;
        weights.add(task, features, label, located);
        if self.norms.len() <= task.index() {
            self.norms.resize(task.index() + 1, Norm::NEW);
        }
        let norm = &mut self.norms[task.index()];
        let squared = norm.squared_after(label, dots.own, features.norm_squared());
        if norm.follow(squared, features.len()) {
            norm.count(weights.own_squares(task, &mut self.pairs));
        }
    }

    /// A round of one example whose features have been located.
    fn learn(
        &mut self,
        weights: &mut SharedOwn,
        example: Example<'_>,
        located: &mut LocatedSlots,
    ) -> Outcome {
        let dots = weights.dots(example.task, example.features, located);
        let margin = self.margin(example.task, dots) + example.offset;
        let times = self.times(example, dots, margin);
        if times > 0.0 {
            self.add(weights, example, times, dots, located);
        }
        self.rounds += example.weight;
        Outcome { margin, updated: times > 0.0 }
    }
}

/// Whether an example teaches anything.
fn has_loss(example: Example<'_>, margin: f64) -> bool {
    hinge(example.label, margin) > 0.0 && example.weight > 0.0
}

/// Both sums are kept.
const BOTH: KeptParts = KeptParts { shared: true, own: true };

impl RomRda {
    pub(super) const ABOUT: About = About {
        id: "rom-rda",
        title: "shared, individual and outlier parts, by dual averaging",
        paper: "ROM17 Alg. 2",
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
        theorems: &[Theorem::RobustTheorem6],
    };

    /// Learns from an example that had this margin, without counting the round; says whether anything changed.
    fn add(&mut self, example: Example<'_>, margin: f64) -> bool {
        if example.weight == 1.0 && !has_loss(example, margin) {
            return false;
        }
        let located = &mut self.located[0];
        self.weights.locate(example.task, example.features, located);
        let dots = self.weights.dots(example.task, example.features, located);
        let times = self.averages.times(example, dots, margin);
        if times > 0.0 {
            self.averages.add(&mut self.weights, example, times, dots, located);
        }
        times > 0.0
    }
}

impl Predict for RomRda {
    fn margin(&self, task: TaskId, x: SparseView<'_>) -> f64 {
        self.averages.margin(task, self.weights.dots_of(task, x))
    }
}

impl LearnOne for RomRda {
    fn update(&mut self, example: Example<'_>, margin: f64) -> bool {
        self.tasks = self.tasks.max(example.task.index() + 1);
        let updated = self.add(example, margin);
        self.averages.rounds += example.weight;
        updated
    }

    /// As margin then update, looking each feature up once.
    fn learn(&mut self, example: Example<'_>) -> Outcome {
        self.tasks = self.tasks.max(example.task.index() + 1);
        let Self { weights, averages, located, .. } = self;
        weights.locate(example.task, example.features, &mut located[0]);
        averages.learn(weights, example, &mut located[0])
    }

    /// The averages are over rounds that were learnt.
    fn skip(&mut self, task: TaskId) {
        self.tasks = self.tasks.max(task.index() + 1);
    }

    fn learn_batch(&mut self, batch: &Batch, outcomes: &mut Vec<Outcome>) {
        outcomes.clear();
        let Self { tasks, weights, averages, located } = self;
        weights.learn_ahead(batch, located, |weights, example, located| {
            *tasks = (*tasks).max(example.task.index() + 1);
            outcomes.push(averages.learn(weights, example, located));
        });
    }

    fn learn_round(&mut self, round: &Batch, outcomes: &mut Vec<Outcome>) {
        outcomes.clear();
        outcomes.extend(round.examples().map(|example| {
            let margin = self.margin(example.task, example.features) + example.offset;
            Outcome { margin, updated: false }
        }));
        for at in in_task_order(round) {
            let example = round.example(at);
            self.tasks = self.tasks.max(example.task.index() + 1);
            outcomes[at].updated = self.add(example, outcomes[at].margin);
        }
        let largest = round.examples().map(|example| example.weight).reduce(f64::max);
        self.averages.rounds += largest.unwrap_or(1.0);
    }
}

impl Inspect for RomRda {
    fn tasks(&self) -> usize {
        self.tasks
    }

    /// By how much of an example with a loss the weights move.
    fn relation(&self, to: TaskId, from: TaskId) -> f64 {
        let Factors { shared, individual, outlier } = self.averages.factors(to);
        if to == from { shared + individual + outlier } else { shared }
    }

    fn influence(&self, task: TaskId) -> f64 {
        influence_of_like_tasks(self, task)
    }

    fn weights(&self, task: TaskId) -> Vec<(u32, f64)> {
        let Factors { shared, individual, outlier } = self.averages.factors(task);
        self.weights.weights(task, Dots { shared, own: individual + outlier })
    }

    fn shared_vectors(&self) -> Vec<SharedVector> {
        vec![SharedVector { name: "shared".to_owned(), weights: self.weights.shared_weights() }]
    }

    fn own_weights(&self, task: TaskId) -> OwnWeights {
        let Factors { shared, individual, outlier } = self.averages.factors(task);
        OwnWeights { factors: vec![shared], own: self.weights.own_weights(task, individual + outlier) }
    }

    fn parts(&self, tasks: &[TaskId]) -> Option<Vec<Parts>> {
        let shared = self.weights.shared_squares().norm();
        let parts = |task: &TaskId| {
            let factors = self.averages.factors(*task);
            let norm = self.averages.norms.get(task.index()).map_or(0.0, |norm| norm.get());
            Parts {
                shared: factors.shared * shared,
                individual: factors.individual * norm,
                outlier: factors.outlier * norm,
                outlier_active: factors.outlier * norm > 0.0,
            }
        };
        Some(tasks.iter().map(parts).collect())
    }

    fn part(&self, part: Part, task: TaskId) -> Option<Vec<(u32, f64)>> {
        let factors = self.averages.factors(task);
        let scales = match part {
            Part::Shared => Dots { shared: factors.shared, own: 0.0 },
            Part::Individual => Dots { shared: 0.0, own: factors.individual },
            Part::Outlier => Dots { shared: 0.0, own: factors.outlier },
        };
        Some(self.weights.weights(task, scales))
    }

    fn heap_bytes(&self) -> usize {
        self.weights.heap_bytes() + self.averages.norms.capacity() * size_of::<Norm>()
    }
}

/// Saved form of [`RomRda`].
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct RomRdaState {
    tasks: u64,
    #[serde(with = "crate::count::weighted")]
    rounds: f64,
    weights: SlotTablesState,
    norms: NormsState,
}

impl Algorithm for RomRda {
    type Config = RomRdaConfig;
    type State = RomRdaState;

    fn build(config: &RomRdaConfig, tasks: &Tasks, _: Option<u32>) -> Result<Self, ConfigError> {
        let averages = Averages { config: config.clone(), rounds: 0.0, norms: Vec::new(), pairs: Vec::new() };
        Ok(Self {
            tasks: tasks.count(),
            weights: SharedOwn::new(BOTH),
            averages,
            located: Default::default(),
        })
    }

    fn state(&self) -> RomRdaState {
        RomRdaState {
            tasks: self.tasks as u64,
            rounds: self.averages.rounds,
            weights: self.weights.state(),
            norms: NormsState::of(self.averages.norms.iter().copied()),
        }
    }

    fn restore(&mut self, state: RomRdaState) -> Result<(), StateError> {
        let tasks = restored_tasks(state.tasks, self.tasks)?;
        let norms = state.norms.restore()?;
        if norms.len() > tasks {
            return Err(StateError::new("more norms than tasks"));
        }
        self.weights = SharedOwn::restore(BOTH, tasks, state.weights)?;
        self.averages.norms = norms;
        (self.averages.rounds, self.tasks) = (state.rounds, tasks);
        Ok(())
    }

    fn forget(&self, state: &mut RomRdaState, task: usize) -> bool {
        state.tasks -= 1;
        state.weights.remove_task(task);
        state.norms.remove_task(task);
        true
    }
}
