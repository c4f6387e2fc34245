//! The multitask Perceptron.
//!
//! Paper: MP10 section 3, Figure 1.
//! Protocol: one task per round.
//!
//! State: weights w_1, …, w_K. For a uniform R = own I + shared 11', kept as v_i = sum of y x over the mistakes of
//! task i, and their sum s = sum_i v_i; for graphs and matrices, kept as they are, a row of K weights per feature.
//!
//! Predict: w_i'x. Uniform: own(K) v_i'x + shared(K) s'x, where K counts the tasks met so far.
//! Update, after a mistake on task i: w_j += y R[j, i] x for all j. Uniform: v_i += y x, s += y x.
//!
//! An example of weight w: as many updates as it takes until it is no mistake, at most w; a fraction of w is a fraction of
//! an update.
//!
//! Cost: predict O(s). Update O(s) for uniform R whatever K is, O(K' s) else, K' tasks in the component.
//! Memory: touched weights; rows of K' weights per touched feature for graphs and matrices.
//!
//! Bound: Theorem 1, Corollaries 3, 4, 5 (tests/it/bounds.rs).
//!
//! Departures: a margin of exactly 0 is a mistake whatever the label (the paper's SGN predicts +1 there). With
//! tasks added as they occur, R is that of the present K; when one is forgotten, v_i and s are scaled so that the w of the
//! others stay, and s keeps what it taught. `pooled` is not in the paper: the limit b -> infinity of (5),
//! scaled so that it is one plain Perceptron.
//! MP10 leaves open how to adapt b as data arrive; `coupled` with b = "auto" does, see `perceptron/auto.rs`.
//! Reduces to: K Perceptrons with `independent` or b = 0; one Perceptron with `pooled` or K = 1; `pairwise` is
//! `coupled` with b = K.

mod auto;

use std::num::NonZeroUsize;

use auto::{Auto, AutoState};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{About, Algorithm, CostClass, Parameters, Protocol, restored_tasks};
use crate::bounds::Theorem;
use crate::choice::Tunable;
use crate::error::{ConfigError, ConfigProblem, StateError};
use crate::example::{Example, SparseView, TaskId, is_mistake, repeats};
use crate::interaction::{
    Blocks, CoupledConfig, Edges, GraphConfig, Interaction, InteractionConfig, Scales, Uniform,
};
use crate::learner::{
    Inspect, LearnOne, Outcome, OwnWeights, Predict, SharedVector, learn_one_by_one, margins_one_by_one,
};
use crate::shards::{Rule, ShardReport, Sharded, ShardedState, ShardsConfig};
use crate::stream::Batch;
use crate::table::{AHEAD, Locate};
use crate::tasks::Tasks;
use crate::weights::shared_own::{Dots, KeptParts};
use crate::weights::{LocatedSlots, SharedOwn, SlotTablesState, TaskRows, TaskRowsState};

/// Parameters of `perceptron`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PerceptronConfig {
    /// How tasks influence each other
    pub interaction: InteractionConfig,
}

impl Parameters for PerceptronConfig {
    fn validate(&self) -> Vec<ConfigProblem> {
        self.interaction.validate_tunable().into_iter().map(|problem| problem.within("interaction")).collect()
    }

    fn interaction(&self) -> Option<&InteractionConfig> {
        Some(&self.interaction)
    }

    fn interaction_mut(&mut self) -> Option<&mut InteractionConfig> {
        Some(&mut self.interaction)
    }

    fn unshardable(&self) -> Option<&'static str> {
        match &self.interaction {
            InteractionConfig::Coupled(CoupledConfig { b: Tunable::Auto }) => {
                Some("b = \"auto\" weighs strengths by every example in turn; give b a number")
            }
            InteractionConfig::Graph(
                GraphConfig { edges: Some(Edges::List(_)), .. } | GraphConfig { file: Some(_), .. },
            )
            | InteractionConfig::Matrix(_) => {
                Some("a mistake moves the relatives of its task, and those may be in other shards")
            }
            _ => None,
        }
    }
}

/// The multitask Perceptron; see the head of its file.
#[derive(Debug, Clone)]
pub struct Perceptron {
    tasks: usize,
    weights: Weights,
    /// Scratch, not state.
    located: [LocatedSlots; AHEAD],
}

#[derive(Debug, Clone)]
enum Weights {
    Uniform { rule: Uniform, weights: SharedOwn },
    Blocks { blocks: Blocks, rows: Vec<TaskRows>, outside: SharedOwn },
    Auto(Box<Auto>),
    Sharded { rule: Uniform, sharded: Box<Sharded> },
}

/// What weights and examples come to, where tasks are in shards.
impl Rule for Uniform {
    fn scales(&self, tasks: usize) -> Scales {
        (*self).scales(tasks)
    }

    fn step(&self, tasks: usize, example: Example<'_>, margin: f64) -> Option<f64> {
        let Example { task, features, label, weight, .. } = example;
        let gain = || self.relation(task, task, tasks) * features.norm_squared();
        let is_learnt = is_mistake(label, margin) && weight > 0.0;
        is_learnt.then(|| label * repeats(weight, label, margin, gain))
    }
}

/// Tasks outside every block have weights of their own only.
const OUTSIDE: KeptParts = KeptParts { shared: false, own: true };

fn parts(rule: Uniform) -> KeptParts {
    KeptParts { shared: rule != Uniform::Independent, own: rule != Uniform::Pooled }
}

/// The margin from the two inner products.
fn combine(scales: Scales, dots: Dots) -> f64 {
    scales.own * dots.own + scales.shared * dots.shared
}

impl Perceptron {
    pub(super) const ABOUT: About = About {
        id: "perceptron",
        title: "multitask Perceptron",
        paper: "MP10 Fig. 1",
        protocol: Protocol::OneTask,
        predict_cost: "O(s)",
        update_cost: "O(s); O(K s) for graph and matrix",
        memory: "touched weights; d K for graph and matrix",
        most_tasks: None,
        cost_class: CostClass::PerFeature,
        keeps_examples: false,
        probabilities: false,
        weights: true,
        offsets: true,
        shardable: true,
        theorems: &[Theorem::Theorem1, Theorem::Corollary3, Theorem::Corollary4, Theorem::Corollary5],
    };

    /// Finds the weights of an example some examples ahead, the given one of a batch, and asks for them.
    pub(super) fn ask_for(&mut self, at: usize, example: Example<'_>) {
        if let Weights::Uniform { weights, .. } = &self.weights {
            weights.locate(example.task, example.features, &mut self.located[at % AHEAD]);
        }
    }

    /// Learns the given example of a batch, which was the last that was asked for in its place.
    pub(super) fn learn_asked(&mut self, at: usize, example: Example<'_>) -> Outcome {
        let tasks = self.tasks_with(example.task);
        let Weights::Uniform { rule, weights } = &mut self.weights else {
            return self.learn(example);
        };
        self.tasks = tasks;
        let located = &mut self.located[at % AHEAD];
        weights.settle(example.task, example.features, located);
        learn_located(*rule, weights, tasks, example, located)
    }

    /// Adds `step * weights` to those of a task; for `independent` only.
    pub(super) fn add_own(&mut self, task: TaskId, weights: SparseView<'_>, step: f64) {
        self.tasks = self.tasks_with(task);
        match &mut self.weights {
            Weights::Uniform { rule: Uniform::Independent, weights: table } => {
                table.add_to(task, weights, step);
            }
            _ => debug_assert!(false, "only independent tasks have weights of their own"),
        }
    }

    /// K as it is once the given task has been met.
    fn tasks_with(&self, task: TaskId) -> usize {
        self.tasks.max(task.index() + 1)
    }
}

impl Predict for Perceptron {
    fn margin(&self, task: TaskId, x: SparseView<'_>) -> f64 {
        match &self.weights {
            Weights::Uniform { rule, weights } => {
                combine(rule.scales(self.tasks_with(task)), weights.dots_of(task, x))
            }
            Weights::Blocks { blocks, rows, outside } => match blocks.place(task) {
                Some(place) => rows[place.block].dot(place.column, x),
                None => outside.dots_of(task, x).own,
            },
            Weights::Auto(auto) => auto.margin(self.tasks_with(task), task, x),
            Weights::Sharded { rule, sharded } => sharded.margin(rule, task, x),
        }
    }

    fn margins(&self, examples: &Batch, task_of: &dyn Fn(TaskId) -> TaskId, margins: &mut Vec<f64>) {
        match &self.weights {
            Weights::Uniform { rule, weights } => weights.dots_ahead(examples, task_of, |task, dots| {
                margins.push(combine(rule.scales(self.tasks_with(task)), dots));
            }),
            _ => margins_one_by_one(self, examples, task_of, margins),
        }
    }
}

impl LearnOne for Perceptron {
    fn update(&mut self, example: Example<'_>, margin: f64) -> bool {
        let Example { task, features, label, weight, .. } = example;
        if let Weights::Sharded { rule, sharded } = &mut self.weights {
            return sharded.update(rule, &mut self.tasks, example, margin);
        }
        self.tasks = self.tasks_with(task);
        if let Weights::Auto(auto) = &mut self.weights {
            return auto.update(self.tasks, example, margin);
        }
        let mistake = is_mistake(label, margin) && weight > 0.0;
        if mistake {
            let updates =
                |relation: f64| label * repeats(weight, label, margin, || relation * features.norm_squared());
            match &mut self.weights {
                Weights::Uniform { rule, weights } => {
                    let step = updates(rule.relation(task, task, self.tasks));
                    weights.add_to(task, features, step);
                }
                Weights::Blocks { blocks, rows, outside } => match blocks.place(task) {
                    Some(place) => {
                        // Column i of R is row i, since R is symmetric.
                        let rates = blocks.relations()[place.block].row(place.column);
                        rows[place.block].add(features, rates, updates(rates[place.column]));
                    }
                    None => outside.add_to(task, features, updates(1.0)),
                },
                Weights::Auto(_) | Weights::Sharded { .. } => {}
            }
        }
        mistake
    }

    /// As margin then update, looking each feature up once.
    fn learn(&mut self, example: Example<'_>) -> Outcome {
        let tasks = self.tasks_with(example.task);
        match &mut self.weights {
            Weights::Uniform { rule, weights } => {
                self.tasks = tasks;
                let located = &mut self.located[0];
                weights.locate(example.task, example.features, located);
                return learn_located(*rule, weights, tasks, example, located);
            }
            Weights::Auto(auto) => {
                self.tasks = tasks;
                return auto.learn(tasks, example);
            }
            Weights::Blocks { .. } | Weights::Sharded { .. } => {}
        }
        let margin = self.margin(example.task, example.features) + example.offset;
        Outcome { margin, updated: self.update(example, margin) }
    }

    /// As one by one, finding the weights of some examples ahead so that they are in cache when needed.
    fn learn_batch(&mut self, batch: &Batch, outcomes: &mut Vec<Outcome>) {
        outcomes.clear();
        let (rule, weights) = match &mut self.weights {
            Weights::Uniform { rule, weights } => (rule, weights),
            Weights::Auto(auto) => return auto.learn_batch(&mut self.tasks, batch, outcomes),
            Weights::Blocks { .. } => {
                outcomes.extend(batch.examples().map(|example| self.learn(example)));
                return;
            }
            Weights::Sharded { rule, sharded } => {
                return sharded.learn_batch(rule, &mut self.tasks, batch, outcomes);
            }
        };
        let tasks = &mut self.tasks;
        weights.learn_ahead(batch, &mut self.located, |weights, example, located| {
            *tasks = (*tasks).max(example.task.index() + 1);
            outcomes.push(learn_located(*rule, weights, *tasks, example, located));
        });
    }

    fn skip(&mut self, task: TaskId) {
        match &mut self.weights {
            Weights::Sharded { sharded, .. } => sharded.skip(&mut self.tasks, task),
            _ => self.tasks = self.tasks_with(task),
        }
    }

    fn meet(&mut self, tasks: &Tasks) {
        if let Weights::Sharded { sharded, .. } = &mut self.weights {
            sharded.meet(tasks, self.tasks);
        }
    }

    fn use_threads(&mut self, threads: NonZeroUsize) {
        if let Weights::Sharded { sharded, .. } = &mut self.weights {
            sharded.use_threads(threads);
        }
    }

    fn learn_round(&mut self, round: &Batch, outcomes: &mut Vec<Outcome>) {
        match &mut self.weights {
            Weights::Auto(auto) => {
                outcomes.clear();
                auto.learn_round(&mut self.tasks, round, outcomes);
            }
            _ => learn_one_by_one(self, round, outcomes),
        }
    }
}

/// Margin and update of an example whose features have been located.
fn learn_located(
    rule: Uniform,
    weights: &mut SharedOwn,
    tasks: usize,
    example: Example<'_>,
    located: &mut LocatedSlots,
) -> Outcome {
    let Example { task, features, label, weight, offset, .. } = example;
    let margin = combine(rule.scales(tasks), weights.dots(task, features, located)) + offset;
    let updated = is_mistake(label, margin) && weight > 0.0;
    if updated {
        let gain = || rule.relation(task, task, tasks) * features.norm_squared();
        weights.add(task, features, label * repeats(weight, label, margin, gain), located);
    }
    Outcome { margin, updated }
}

impl Inspect for Perceptron {
    fn tasks(&self) -> usize {
        self.tasks
    }

    fn relation(&self, to: TaskId, from: TaskId) -> f64 {
        match &self.weights {
            Weights::Uniform { rule, .. } | Weights::Sharded { rule, .. } => {
                rule.relation(to, from, self.tasks)
            }
            Weights::Blocks { blocks, .. } => blocks.relation(to, from),
            // R of the mean: that of every strength, by its weight.
            Weights::Auto(auto) => auto.mean_scales(self.tasks).relation(to, from),
        }
    }

    fn influence(&self, task: TaskId) -> f64 {
        let tasks = self.tasks_with(task);
        match &self.weights {
            Weights::Uniform { rule, .. } | Weights::Sharded { rule, .. } => rule.influence(tasks),
            Weights::Blocks { blocks, .. } => blocks.influence(task),
            Weights::Auto(auto) => auto.mean_scales(tasks).influence(tasks),
        }
    }

    fn weights(&self, task: TaskId) -> Vec<(u32, f64)> {
        match &self.weights {
            Weights::Uniform { rule, weights } => {
                let scales = rule.scales(self.tasks);
                weights.weights(task, Dots { own: scales.own, shared: scales.shared })
            }
            Weights::Blocks { blocks, rows, outside } => match blocks.place(task) {
                Some(place) => rows[place.block].weights(place.column),
                None => outside.weights(task, Dots { own: 1.0, shared: 0.0 }),
            },
            Weights::Auto(auto) => auto.weights(self.tasks, task),
            Weights::Sharded { rule, sharded } => sharded.weights(rule, task),
        }
    }

    fn shared_vectors(&self) -> Vec<SharedVector> {
        match &self.weights {
            Weights::Uniform { weights, .. } => {
                vec![SharedVector { name: "shared".to_owned(), weights: weights.shared_weights() }]
            }
            Weights::Sharded { sharded, .. } => sharded.shared_vectors(),
            _ => Vec::new(),
        }
    }

    fn own_weights(&self, task: TaskId) -> OwnWeights {
        match &self.weights {
            Weights::Uniform { rule, weights } => {
                let Scales { own, shared } = rule.scales(self.tasks);
                OwnWeights { factors: vec![shared], own: weights.own_weights(task, own) }
            }
            Weights::Sharded { rule, sharded } => sharded.own_weights(rule, task),
            _ => OwnWeights { factors: Vec::new(), own: self.weights(task) },
        }
    }

    fn strengths(&self) -> Option<Vec<(f64, f64)>> {
        match &self.weights {
            Weights::Auto(auto) => Some(auto.strengths(self.tasks)),
            _ => None,
        }
    }

    fn heap_bytes(&self) -> usize {
        match &self.weights {
            Weights::Uniform { weights, .. } => weights.heap_bytes(),
            Weights::Blocks { rows, outside, .. } => {
                rows.iter().map(TaskRows::heap_bytes).sum::<usize>() + outside.heap_bytes()
            }
            Weights::Auto(auto) => auto.heap_bytes(),
            Weights::Sharded { sharded, .. } => sharded.heap_bytes(),
        }
    }

    fn shards(&self) -> Option<ShardReport> {
        match &self.weights {
            Weights::Sharded { sharded, .. } => Some(sharded.report()),
            _ => None,
        }
    }
}

/// Saved form of [`Perceptron`]; R follows from the config.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct PerceptronState {
    tasks: u64,
    uniform: Option<SlotTablesState>,
    blocks: Option<Vec<TaskRowsState>>,
    outside: Option<SlotTablesState>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    auto: Option<AutoState>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sharded: Option<ShardedState>,
}

impl Algorithm for Perceptron {
    type Config = PerceptronConfig;
    type State = PerceptronState;

    fn build(config: &PerceptronConfig, tasks: &Tasks, _: Option<u32>) -> Result<Self, ConfigError> {
        let located = Default::default();
        if config.interaction.is_auto() {
            let weights = Weights::Auto(Box::new(Auto::new()));
            return Ok(Self { tasks: tasks.count(), weights, located });
        }
        let interaction = config.interaction.build(tasks).map_err(|error| error.within("interaction"))?;
        let weights = match interaction {
            Interaction::Uniform(rule) => Weights::Uniform { rule, weights: SharedOwn::new(parts(rule)) },
            Interaction::Blocks(blocks) => Weights::Blocks {
                rows: blocks.relations().iter().map(|relation| TaskRows::new(relation.size())).collect(),
                outside: SharedOwn::new(OUTSIDE),
                blocks,
            },
        };
        Ok(Self { tasks: tasks.count(), weights, located })
    }

    fn spread(&mut self, config: ShardsConfig, tasks: &Tasks) {
        if let Weights::Uniform { rule, .. } = self.weights {
            let sharded = Box::new(Sharded::new(config, parts(rule), tasks));
            self.weights = Weights::Sharded { rule, sharded };
        }
    }

    fn state(&self) -> PerceptronState {
        let tasks = self.tasks as u64;
        let nothing =
            PerceptronState { tasks, uniform: None, blocks: None, outside: None, auto: None, sharded: None };
        match &self.weights {
            Weights::Uniform { weights, .. } => PerceptronState { uniform: Some(weights.state()), ..nothing },
            Weights::Blocks { rows, outside, .. } => PerceptronState {
                blocks: Some(rows.iter().map(TaskRows::state).collect()),
                outside: Some(outside.state()),
                ..nothing
            },
            Weights::Auto(auto) => PerceptronState { auto: Some(auto.state()), ..nothing },
            Weights::Sharded { sharded, .. } => PerceptronState { sharded: Some(sharded.state()), ..nothing },
        }
    }

    fn restore(&mut self, state: PerceptronState) -> Result<(), StateError> {
        let tasks = restored_tasks(state.tasks, self.tasks)?;
        match (&mut self.weights, state) {
            (
                Weights::Uniform { rule, weights },
                PerceptronState {
                    uniform: Some(saved),
                    blocks: None,
                    outside: None,
                    auto: None,
                    sharded: None,
                    ..
                },
            ) => {
                *weights = SharedOwn::restore(parts(*rule), tasks, saved)?;
            }
            (
                Weights::Blocks { rows, outside, blocks },
                PerceptronState {
                    uniform: None,
                    blocks: Some(saved),
                    outside: Some(saved_outside),
                    auto: None,
                    sharded: None,
                    ..
                },
            ) => {
                if saved.len() != rows.len() {
                    return Err(StateError::new("the graph or matrix has another number of blocks"));
                }
                for ((rows, relation), saved) in rows.iter_mut().zip(blocks.relations()).zip(saved) {
                    *rows = TaskRows::restore(relation.size(), saved)?;
                }
                *outside = SharedOwn::restore(OUTSIDE, tasks, saved_outside)?;
            }
            (
                Weights::Auto(auto),
                PerceptronState {
                    uniform: None,
                    blocks: None,
                    outside: None,
                    auto: Some(saved),
                    sharded: None,
                    ..
                },
            ) => auto.restore(tasks, saved)?,
            (
                Weights::Sharded { sharded, .. },
                PerceptronState {
                    uniform: None,
                    blocks: None,
                    outside: None,
                    auto: None,
                    sharded: Some(saved),
                    ..
                },
            ) => sharded.restore(tasks, saved)?,
            _ => {
                return Err(StateError::new("the weights are not of the kind that the interaction keeps"));
            }
        }
        self.tasks = tasks;
        Ok(())
    }

    /// Not where a graph or a matrix names its tasks. R is that of one task fewer, and what is stored is scaled so that
    /// the margins of the others stay.
    fn forget(&self, state: &mut PerceptronState, task: usize) -> bool {
        state.tasks -= 1;
        if let Weights::Sharded { rule, sharded } = &self.weights {
            // Another number of tasks is another R, which begins with a round.
            let mut settled = sharded.state_between_rounds(self.tasks);
            settled.remove_task(task, |weights| {
                let Scales { own, shared } = rule.scales(self.tasks - 1).from(rule.scales(self.tasks));
                weights.scale(&[own], &[shared]);
                shared
            });
            state.sharded = Some(settled);
            return true;
        }
        if let (Weights::Uniform { rule, .. }, Some(weights)) = (&self.weights, &mut state.uniform) {
            weights.remove_task(task);
            let Scales { own, shared } = rule.scales(self.tasks - 1).from(rule.scales(self.tasks));
            weights.scale(&[own], &[shared]);
        }
        state.auto.iter_mut().for_each(|auto| auto.remove_task(task, self.tasks));
        state.blocks.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One mistake on the first of three tasks moves every task by R's first column.
    #[test]
    fn one_update_writes_a_column_of_r() {
        let tasks = Tasks::numbered(3);
        for (json, column) in [
            (r#""independent""#, [1.0, 0.0, 0.0]),
            (r#""pooled""#, [1.0, 1.0, 1.0]),
            (r#""pairwise""#, [0.5, 0.25, 0.25]),
            (r#"{"coupled": {"b": 2}}"#, [5.0 / 9.0, 2.0 / 9.0, 2.0 / 9.0]),
            (r#"{"graph": {"edges": [["1", "2"]]}}"#, [2.0 / 3.0, 1.0 / 3.0, 0.0]),
            (r#"{"graph": {"edges": "complete"}}"#, [0.5, 0.25, 0.25]),
            (r#"{"matrix": {"rows": [[2, 0, 0], [0, 1, 0], [0, 0, 1]]}}"#, [0.5, 0.0, 0.0]),
        ] {
            let config = PerceptronConfig { interaction: serde_json::from_str(json).unwrap() };
            let mut learner = Perceptron::build(&config, &tasks, None).unwrap();
            let features = SparseView::try_new(&[4], &[2.0]).unwrap();
            assert!(learner.learn(Example::new(TaskId(0), features, -1.0)).updated);
            for (task, rate) in column.into_iter().enumerate() {
                let task = TaskId(task as u32);
                assert!((learner.margin(task, features) + 4.0 * rate).abs() < 1e-12, "{json} {task:?}");
                assert!((learner.relation(task, TaskId(0)) - rate).abs() < 1e-12, "{json} {task:?}");
                let weights = if rate == 0.0 { vec![] } else { vec![(4, -2.0 * rate)] };
                let close = learner
                    .weights(task)
                    .iter()
                    .zip(&weights)
                    .all(|(a, b)| a.0 == b.0 && (a.1 - b.1).abs() < 1e-12);
                assert!(close && learner.weights(task).len() == weights.len(), "{json} {task:?}");
            }
        }
    }
}
