//! The 2p-norm matrix Perceptron: tasks that span few dimensions learn from each other.
//!
//! Paper: MP10 section 6, Figure 3, Theorem 9; section 6.2.1 for the dual form.
//! Protocol: all tasks in one round; on a one-task stream a round has one example.
//!
//! State: V, one vector per task, the sum of y x over the task's mistakes; V'V; and C = (V'V)^(p-1) Tr((V'V)^p)^(1/p-1).
//!
//! Predict: w_i'x with W = V C, the gradient of half the squared Schatten 2p-norm of V.
//! With p = "auto", p = ceil(ln r), at least 1, with r the smaller of d, if it was declared, and the tasks met so far
//! (Remark 10): the norm of V is then close to the spectral norm, and that of a comparator to the trace norm.
//! Update, after a round with mistakes: v_i += y_i x_i for every mistaken task, then C follows.
//!
//! Cost: predict O(K s). Update O(K s) per mistaken task and O(K^3 log p) per round with mistakes; nothing is decomposed.
//! Memory: d K + K^2; with a kernel the mistaken examples + K^2.
//!
//! Bound: Theorem 9 (tests/it/certificates.rs).
//!
//! Departures: none; as in `perceptron` a margin of 0 is a mistake. A kernel other than the plain inner product gives
//! the dual form.
//! Reduces to: K independent Perceptrons with p = 1.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{About, Algorithm, CostClass, Parameters, Protocol, restored_tasks};
use crate::bounds::Theorem;
use crate::choice::Tunable;
use crate::error::{ConfigError, ConfigProblem, StateError};
use crate::example::{Example, SparseView, TaskId, is_mistake};
use crate::kernel::KernelConfig;
use crate::learner::{Inspect, LearnOne, Outcome, Predict, Support, in_task_order};
use crate::stream::Batch;
use crate::tasks::Tasks;
use crate::weights::{Columns, ColumnsState, HalfExponent};

/// Parameters of `schatten-perceptron`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SchattenPerceptronConfig {
    /// The norm, a whole number from 1 to 50: 1 shares nothing, a large value prefers tasks that span few dimensions; "auto": the logarithm of the smaller of K and d, rounded up
    #[schemars(schema_with = "p_schema")]
    pub p: Tunable,
    /// How the similarity of two examples is measured
    pub kernel: KernelConfig,
}

impl Default for SchattenPerceptronConfig {
    fn default() -> Self {
        Self { p: Tunable::Fixed(2.0), kernel: KernelConfig::default() }
    }
}

/// A whole number from 1 to 50, or "auto".
pub(super) fn p_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({
        "anyOf": [
            {"type": "integer", "minimum": 1, "maximum": 50},
            {"type": "string", "const": "auto"},
        ],
    })
}

/// What p is among so many features, if their number is known.
pub(super) fn half_exponent(p: Tunable, features: Option<u32>) -> HalfExponent {
    match p {
        Tunable::Fixed(p) => HalfExponent::Fixed(p as u32),
        Tunable::Auto => HalfExponent::Logarithm { features },
    }
}

/// What is wrong with a p that must be a whole number from 1 to 50.
pub(super) fn check_p(p: Tunable) -> Option<ConfigProblem> {
    let Tunable::Fixed(p) = p else { return None };
    let fits = p.fract() == 0.0 && (1.0..=50.0).contains(&p);
    (!fits).then(|| ConfigProblem::new("p", format!("must be a whole number from 1 to 50, got {p}")))
}

/// K x K matrices beyond this take gigabytes, and seconds per round.
pub(super) const MOST_TASKS: usize = 4000;

impl Parameters for SchattenPerceptronConfig {
    fn validate(&self) -> Vec<ConfigProblem> {
        let kernel = self.kernel.validate().into_iter().map(|problem| problem.within("kernel"));
        check_p(self.p).into_iter().chain(kernel).collect()
    }
}

/// The 2p-norm matrix Perceptron; see the head of its file.
#[derive(Debug, Clone)]
pub struct SchattenPerceptron {
    columns: Columns,
    /// Rounds seen.
    seen: u64,
}

impl SchattenPerceptron {
    pub(super) const ABOUT: About = About {
        id: "schatten-perceptron",
        title: "2p-norm matrix Perceptron: tasks that span few dimensions",
        paper: "MP10 sec. 6",
        protocol: Protocol::AllTasks,
        predict_cost: "O(K s); O(m s) with a kernel",
        update_cost: "O(K^2 s + K^3)",
        memory: "d K + K^2; with a kernel the mistaken examples",
        most_tasks: Some(MOST_TASKS),
        cost_class: CostClass::PerPair,
        keeps_examples: false,
        probabilities: false,
        weights: false,
        offsets: true,
        shardable: false,
        theorems: &[Theorem::Theorem9],
    };
}

impl Predict for SchattenPerceptron {
    fn margin(&self, task: TaskId, x: SparseView<'_>) -> f64 {
        self.columns.margin(task, x)
    }
}

impl LearnOne for SchattenPerceptron {
    fn update(&mut self, example: Example<'_>, margin: f64) -> bool {
        self.columns.meet(example.task);
        self.seen += 1;
        let mistake = is_mistake(example.label, margin);
        if mistake {
            self.columns.add(example.task, example.features, example.label, self.seen);
            self.columns.follow();
        }
        mistake
    }

    fn skip(&mut self, task: TaskId) {
        self.columns.meet(task);
        self.seen += 1;
    }

    fn overflow(&self) -> Option<&'static str> {
        self.columns.overflow()
    }

    fn learn_round(&mut self, round: &Batch, outcomes: &mut Vec<Outcome>) {
        self.seen += 1;
        outcomes.clear();
        outcomes.extend(round.examples().map(|example| {
            let margin = self.margin(example.task, example.features) + example.offset;
            Outcome { margin, updated: is_mistake(example.label, margin) }
        }));
        for at in in_task_order(round) {
            let Example { task, features, label, .. } = round.example(at);
            self.columns.meet(task);
            if outcomes[at].updated {
                self.columns.add(task, features, label, self.seen);
            }
        }
        if outcomes.iter().any(|outcome| outcome.updated) {
            self.columns.follow();
        }
    }
}

impl Inspect for SchattenPerceptron {
    fn tasks(&self) -> usize {
        self.columns.tasks()
    }

    /// C\[to, from\]: how much of what `from` has learnt is in the weights of `to`.
    fn relation(&self, to: TaskId, from: TaskId) -> f64 {
        self.columns.relation(to, from)
    }

    fn weights(&self, task: TaskId) -> Vec<(u32, f64)> {
        self.columns.weights(task)
    }

    fn supports(&self) -> Option<Vec<Support>> {
        self.columns.supports()
    }

    fn heap_bytes(&self) -> usize {
        self.columns.heap_bytes()
    }
}

/// Saved form of [`SchattenPerceptron`].
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct SchattenPerceptronState {
    tasks: u64,
    #[serde(deserialize_with = "crate::count::saved")]
    seen: u64,
    columns: ColumnsState,
}

impl Algorithm for SchattenPerceptron {
    type Config = SchattenPerceptronConfig;
    type State = SchattenPerceptronState;

    fn build(
        config: &SchattenPerceptronConfig,
        tasks: &Tasks,
        features: Option<u32>,
    ) -> Result<Self, ConfigError> {
        let p = half_exponent(config.p, features);
        Ok(Self { columns: Columns::new(p, &config.kernel, tasks.count()), seen: 0 })
    }

    fn state(&self) -> SchattenPerceptronState {
        let tasks = self.columns.tasks() as u64;
        SchattenPerceptronState { tasks, seen: self.seen, columns: self.columns.state() }
    }

    fn restore(&mut self, state: SchattenPerceptronState) -> Result<(), StateError> {
        let tasks = restored_tasks(state.tasks, self.columns.tasks())?;
        self.columns.restore(tasks, state.seen, state.columns)?;
        self.seen = state.seen;
        Ok(())
    }
}
