//! The multitask p-norm Perceptron.
//!
//! Paper: MP10 section 4.1.
//! Protocol: one task per round.
//!
//! State: the compound vector v = (v_1, …, v_K). For a uniform R = own I + shared 11', kept as u_i = sum of y x over
//! the mistakes of task i, and their sum s, so v_j = own u_j + shared s; for graphs and matrices, kept as it is. To
//! either belong sums of powers of |v|, a few per feature, kept as v changes (linalg/p_norm_rows.rs).
//!
//! Predict: w'(A^-1 phi) = sum_j R[j, i] g_j'x, g the gradient of (1/2) |v|_p^2, which is
//! sign(v) |v|^(p-1) / |v|_p^(p-2) and 0 at v = 0. Uniform: own g_i'x + shared (sum_j g_j)'x.
//! Update, after a mistake on task i: v_j += y R[j, i] x for all j. Uniform: u_i += y x, s += y x.
//!
//! Cost: predict O(s) for uniform R whatever K is, O(K' s) else, K' tasks in the component. Update O(K s): of a
//! feature, the tasks that have touched it, and log d. All is computed anew, O(touched weights), when the largest
//! |v| has moved by a factor of about 2^(600/p), and when p changes.
//! Memory: touched weights; of a component the weights of all its tasks.
//!
//! Bound: Theorem 6 (tests/it/certificates.rs).
//!
//! Departures: a margin of exactly 0 is a mistake whatever the label. p is 2 at least: 2 ln max(K, d) is less for
//! max(K, d) < 3. Where features are not declared, d is the number of those touched so far, rounded up to a power
//! of two, and so is K once tasks are met that were not declared: p then changes rarely. With tasks added as they
//! occur, R is that of the present K, applied to all mistakes so far; a task is predicted with the K of before it is met.
//! For `coupled` each new task has all computed anew, for the others none.
//! Reduces to: with p = 2, the Perceptron whose interaction matrix is A^2 (so not that of A, Remark 7); K plain
//! Perceptrons with `independent` and p = 2; with `pooled`, a single-task p-norm Perceptron, margins times
//! K^(2/p).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{About, Algorithm, CostClass, Parameters, Protocol, restored_tasks};
use crate::bounds::Theorem;
use crate::choice::NoParameters;
use crate::error::{ConfigError, ConfigProblem, StateError};
use crate::example::{Example, SparseView, TaskId, is_mistake};
use crate::interaction::{Blocks, Interaction, InteractionConfig, Scales, Uniform};
use crate::learner::{Inspect, LearnOne, Predict};
use crate::tasks::Tasks;
use crate::weights::p_norm_rows::{GroupView, Shape};
use crate::weights::{PNormRows, PNormRowsState};

/// Parameters of `p-norm-perceptron`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PNormPerceptronConfig {
    /// How tasks influence each other
    pub interaction: InteractionConfig,
    /// The norm, from 2 to 1000; left out, 2 ln max(K, d)
    #[schemars(range(min = 2.0, max = 1000.0))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p: Option<f64>,
}

/// A larger one makes no difference: only the largest weight counts.
const LARGEST_P: f64 = 1000.0;

impl Default for PNormPerceptronConfig {
    /// As in Theorem 6.
    fn default() -> Self {
        Self { interaction: InteractionConfig::Pairwise(NoParameters::default()), p: None }
    }
}

impl Parameters for PNormPerceptronConfig {
    fn validate(&self) -> Vec<ConfigProblem> {
        let mut problems: Vec<_> =
            self.interaction.validate().into_iter().map(|problem| problem.within("interaction")).collect();
        if let Some(p) = self.p.filter(|p| !(2.0..=LARGEST_P).contains(p)) {
            problems
                .push(ConfigProblem::new("p", format!("must be a number from 2 to {LARGEST_P}, got {p}")));
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

/// The multitask p-norm Perceptron; see the head of its file.
#[derive(Debug, Clone)]
pub struct PNormPerceptron {
    tasks: usize,
    norm: Norm,
    groups: Groups,
    rows: PNormRows,
}

/// What p follows from.
#[derive(Debug, Clone, Copy)]
struct Norm {
    p: Option<f64>,
    features: Option<u32>,
    declared_tasks: usize,
}

impl Norm {
    fn p(self, tasks: usize, touched: usize) -> f64 {
        let p = || {
            let k = if tasks > self.declared_tasks { tasks.next_power_of_two() } else { tasks };
            let d = self.features.map_or_else(|| touched.next_power_of_two(), |features| features as usize);
            2.0 * (k.max(d) as f64).ln()
        };
        self.p.unwrap_or_else(p).max(2.0)
    }
}

/// R, and how tasks share cells: a block is a group with the number of its first task, any other task one by
/// itself.
#[derive(Debug, Clone)]
struct Groups {
    interaction: Interaction,
    first_tasks: Vec<u32>,
}

impl Groups {
    fn new(interaction: Interaction, tasks: usize) -> Self {
        let mut first_tasks = Vec::new();
        if let Interaction::Blocks(blocks) = &interaction {
            first_tasks.resize(blocks.relations().len(), u32::MAX);
            let places = (0..tasks as u32).filter_map(|task| Some((task, blocks.place(TaskId(task))?)));
            places.for_each(|(task, place)| first_tasks[place.block] = first_tasks[place.block].min(task));
        }
        Self { interaction, first_tasks }
    }

    /// The task's group, with the column of R that is the task's.
    fn group(&self, task: TaskId) -> GroupView<'_> {
        match &self.interaction {
            Interaction::Blocks(blocks) if let Some(place) = blocks.place(task) => GroupView {
                at: self.first_tasks[place.block] as usize,
                // Column i of R is row i, since R is symmetric.
                rates: blocks.relations()[place.block].row(place.column),
            },
            _ => GroupView { at: task.index(), rates: &[1.0] },
        }
    }

    /// Number of cells of a group, if there is one with that number.
    fn size(&self, group: u32, tasks: usize) -> Option<usize> {
        let exists = (group as usize) < tasks && self.has_own();
        let place = |blocks: &Blocks| blocks.place(TaskId(group));
        match &self.interaction {
            Interaction::Blocks(blocks) if let Some(place) = place(blocks) => (exists
                && self.first_tasks[place.block] == group)
                .then(|| blocks.relations()[place.block].size()),
            _ => exists.then_some(1),
        }
    }

    fn has_own(&self) -> bool {
        self.interaction != Interaction::Uniform(Uniform::Pooled)
    }

    fn has_shared(&self) -> bool {
        matches!(self.interaction, Interaction::Uniform(rule) if rule != Uniform::Independent)
    }

    fn scales(&self, tasks: usize) -> Scales {
        match self.interaction {
            Interaction::Uniform(rule) => rule.scales(tasks),
            Interaction::Blocks(_) => Scales { own: 1.0, shared: 0.0 },
        }
    }

    /// What a uniform R is divided by before v is made of it. The gradient is homogeneous, so it can be put back
    /// later, and for most interactions the rest does not depend on K.
    fn scale(&self, tasks: usize) -> f64 {
        let Scales { own, shared } = self.scales(tasks);
        own + shared
    }

    fn shape(&self, tasks: usize, p: f64) -> Shape {
        let (scales, scale) = (self.scales(tasks), self.scale(tasks));
        Shape { p, own: scales.own / scale, shared: scales.shared / scale }
    }
}

impl PNormPerceptron {
    pub(super) const ABOUT: About = About {
        id: "p-norm-perceptron",
        title: "multitask p-norm Perceptron",
        paper: "MP10 sec. 4.1",
        protocol: Protocol::OneTask,
        predict_cost: "O(s); O(K s) for graph and matrix",
        update_cost: "O(K s)",
        memory: "touched weights; d K for graph and matrix",
        most_tasks: None,
        cost_class: CostClass::PerTask,
        keeps_examples: false,
        probabilities: false,
        weights: false,
        offsets: true,
        shardable: false,
        theorems: &[Theorem::Equation9, Theorem::Theorem6],
    };
}

impl Predict for PNormPerceptron {
    fn margin(&self, task: TaskId, x: SparseView<'_>) -> f64 {
        let scale = self.groups.scale(self.tasks);
        self.rows.dot(self.groups.group(task), self.tasks, x) * scale * scale
    }
}

impl LearnOne for PNormPerceptron {
    fn update(&mut self, example: Example<'_>, margin: f64) -> bool {
        let Example { task, features, label, .. } = example;
        self.tasks = self.tasks.max(task.index() + 1);
        let mistake = is_mistake(label, margin);
        if mistake {
            if self.groups.has_own() {
                self.rows.add_own(self.groups.group(task), features, label);
            }
            if self.groups.has_shared() {
                self.rows.add_shared(features, label);
            }
        }
        let p = self.norm.p(self.tasks, self.rows.touched());
        if !self.rows.reshape(self.groups.shape(self.tasks, p)) && mistake {
            self.rows.refresh(features);
        }
        mistake
    }

    fn skip(&mut self, task: TaskId) {
        self.tasks = self.tasks.max(task.index() + 1);
        let p = self.norm.p(self.tasks, self.rows.touched());
        self.rows.reshape(self.groups.shape(self.tasks, p));
    }
}

impl Inspect for PNormPerceptron {
    fn tasks(&self) -> usize {
        self.tasks
    }

    fn relation(&self, to: TaskId, from: TaskId) -> f64 {
        self.groups.interaction.relation(to, from, self.tasks)
    }

    fn influence(&self, task: TaskId) -> f64 {
        self.groups.interaction.influence(task, self.tasks)
    }

    /// sum_j R[j, i] g_j, whose inner product with x is the margin.
    fn weights(&self, task: TaskId) -> Vec<(u32, f64)> {
        let scale = self.groups.scale(self.tasks);
        let mut weights = self.rows.gradient(self.groups.group(task), self.tasks);
        weights.iter_mut().for_each(|pair| pair.1 *= scale * scale);
        weights
    }

    fn heap_bytes(&self) -> usize {
        self.rows.heap_bytes()
    }
}

/// Saved form of [`PNormPerceptron`]; R follows from the config.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct PNormPerceptronState {
    tasks: u64,
    /// K as it was declared; the default p depends on it.
    declared_tasks: u64,
    rows: PNormRowsState,
}

impl Algorithm for PNormPerceptron {
    type Config = PNormPerceptronConfig;
    type State = PNormPerceptronState;

    fn build(
        config: &PNormPerceptronConfig,
        tasks: &Tasks,
        features: Option<u32>,
    ) -> Result<Self, ConfigError> {
        let interaction = config.interaction.build(tasks).map_err(|error| error.within("interaction"))?;
        let groups = Groups::new(interaction, tasks.len());
        let tasks = tasks.count();
        let norm = Norm { p: config.p, features, declared_tasks: tasks };
        let rows = PNormRows::new(groups.shape(tasks, norm.p(tasks, 0)));
        Ok(Self { tasks, norm, groups, rows })
    }

    fn state(&self) -> PNormPerceptronState {
        PNormPerceptronState {
            tasks: self.tasks as u64,
            declared_tasks: self.norm.declared_tasks as u64,
            rows: self.rows.state(),
        }
    }

    fn restore(&mut self, state: PNormPerceptronState) -> Result<(), StateError> {
        let tasks = restored_tasks(state.tasks, self.tasks)?;
        if state.declared_tasks > state.tasks {
            return Err(StateError::new("more tasks were declared than there are"));
        }
        let norm = Norm { declared_tasks: state.declared_tasks as usize, ..self.norm };
        let groups = &self.groups;
        self.rows = PNormRows::restore(
            &state.rows,
            |group| groups.size(group, tasks),
            |touched| groups.shape(tasks, norm.p(tasks, touched)),
        )?;
        (self.tasks, self.norm) = (tasks, norm);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn build(json: &str, features: Option<u32>) -> PNormPerceptron {
        let config: PNormPerceptronConfig = serde_json::from_str(json).unwrap();
        PNormPerceptron::build(&config, &Tasks::numbered(3), features).unwrap()
    }

    fn assert_close(found: f64, expected: f64, what: &str) {
        assert!(
            (found - expected).abs() <= 1e-12 * (1.0 + expected.abs()),
            "{what}: {found}, not {expected}"
        );
    }

    /// One mistake on the first of three tasks, x = (2, 1): v_j = R[j, 1] x, and the rest by hand for p = 3.
    #[test]
    fn one_update_and_the_gradient_by_hand() {
        for (interaction, r) in [
            (r#""independent""#, [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]),
            (r#""pooled""#, [[1.0; 3]; 3]),
            (r#""pairwise""#, [[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.25, 0.25, 0.5]]),
            (r#"{"graph": {"edges": [["1", "2"]]}}"#, {
                let (a, b) = (2.0 / 3.0, 1.0 / 3.0);
                [[a, b, 0.0], [b, a, 0.0], [0.0, 0.0, 1.0]]
            }),
        ] {
            let mut learner = build(&format!(r#"{{"interaction": {interaction}, "p": 3}}"#), None);
            let (x, task) = ([2.0, 1.0], |task: usize| TaskId(task as u32));
            let features = SparseView::try_new(&[4, 9], &x).unwrap();
            assert!(learner.learn(Example::new(task(0), features, -1.0)).updated);
            let v = |j: usize, f: usize| -r[j][0] * x[f];
            let cubes: f64 = (0..3).flat_map(|j| (0..2).map(move |f| v(j, f).abs().powi(3))).sum();
            let gradient = |j: usize, f: usize| v(j, f).abs() * v(j, f) / cubes.cbrt();
            for i in 0..3 {
                let weight = |f: usize| (0..3).map(|j| r[j][i] * gradient(j, f)).sum::<f64>();
                let margin = learner.margin(task(i), features);
                assert_close(margin, 2.0 * weight(0) + weight(1), interaction);
                let weights = learner.weights(task(i));
                if weight(0) == 0.0 {
                    assert!(weights.is_empty(), "{interaction}");
                } else {
                    assert_eq!((weights.len(), weights[0].0, weights[1].0), (2, 4, 9), "{interaction}");
                    assert_close(weights[0].1, weight(0), interaction);
                    assert_close(weights[1].1, weight(1), interaction);
                }
                assert_close(learner.relation(task(i), task(0)), r[i][0], interaction);
            }
        }
    }

    #[test]
    fn the_default_p_follows_tasks_and_features() {
        let p = |tasks, declared_tasks, features, touched| {
            Norm { p: None, features, declared_tasks }.p(tasks, touched)
        };
        let exact = |n: f64| 2.0 * n.ln();
        assert_close(p(4, 4, Some(9), 5), exact(9.0), "features");
        assert_close(p(11, 11, Some(9), 5), exact(11.0), "tasks");
        assert_close(p(11, 0, Some(9), 5), exact(16.0), "tasks met on the way");
        assert_close(p(11, 11, None, 40), exact(64.0), "features met on the way");
        assert_close(p(0, 0, None, 0), 2.0, "nothing");
        assert_close(p(2, 2, Some(2), 2), 2.0, "less than 3");
        assert_close(Norm { p: Some(7.5), features: None, declared_tasks: 0 }.p(99, 99), 7.5, "given");
    }

    #[test]
    fn p_is_refused_by_name() {
        for (p, found) in [("1.9", "1.9"), ("1e9", "1000000000"), ("-3", "-3")] {
            let config: PNormPerceptronConfig = serde_json::from_str(&format!(r#"{{"p": {p}}}"#)).unwrap();
            let problems = config.validate();
            assert_eq!(problems.len(), 1);
            assert_eq!(problems[0].path, "p");
            assert_eq!(problems[0].message, format!("must be a number from 2 to 1000, got {found}"));
        }
        assert_eq!(PNormPerceptronConfig { p: Some(f64::NAN), ..Default::default() }.validate().len(), 1);
    }
}
