//! The matrix Perceptron whose updates are divided among tasks by a norm of their losses.
//!
//! Paper: MP10 Remark 12, after Dekel, Long and Singer.
//! Protocol: all tasks in one round; on a one-task stream a round has one example.
//!
//! State: V, one vector per task; V'V; C = (V'V)^(p-1) Tr((V'V)^p)^(1/p-1), as in `schatten-perceptron`, with its p = "auto".
//!
//! Predict: w_i'x with W = V C.
//! Update, after a round with losses l_i = max(0, 1 - y_i w_i'x_i) > 0: v_i += tau_i y_i x_i, where tau maximises tau'l
//! among the vectors whose dual norm is at most c. l1: tau is c on every task with a loss. l2: c l / |l|. linf: c on the
//! task with the largest loss, the first of equals.
//!
//! Cost: predict O(K s). Update O(K s) per task with a share and O(K^3 log p) per round with losses.
//! Memory: d K + K^2; with a kernel the examples with a loss + K^2: nearly all examples have one, so mind the length of the stream.
//!
//! Bound: Remark 12 with (2p-1) in its last term, see the errata (tests/it/certificates.rs).
//!
//! Departures: with a kernel other than the plain inner product it is in dual form, as section 6.2.1 has it for mistakes,
//! with coefficients tau_i y_i; the remark says nothing of kernels. It learns on every round with a loss, not on mistakes only, as the remark's bound needs.
//! Reduces to: for p = 1 and l1 K Perceptrons with margin 1 and step c.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::schatten_perceptron::{MOST_TASKS, check_p, half_exponent, p_schema};
use super::{About, Algorithm, CostClass, Parameters, Protocol, check_positive, restored_tasks};
use crate::bounds::Theorem;
use crate::choice::Tunable;
use crate::error::{ConfigError, ConfigProblem, StateError};
use crate::example::{Example, SparseView, TaskId, hinge};
use crate::kernel::KernelConfig;
use crate::learner::{Inspect, LearnOne, Outcome, Predict, Support, in_task_order};
use crate::stream::Batch;
use crate::tasks::Tasks;
use crate::weights::{Columns, ColumnsState};

/// Parameters of `shared-loss-perceptron`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SharedLossPerceptronConfig {
    /// The norm of the weights, a whole number from 1 to 50: 1 shares nothing but the loss; "auto": the logarithm of the smaller of K and d, rounded up
    #[schemars(schema_with = "p_schema")]
    pub p: Tunable,
    /// How much is learnt per round, positive
    #[schemars(extend("exclusiveMinimum" = 0.0))]
    pub c: f64,
    /// Norm of the losses, which divides the update among the tasks
    pub norm: LossNorm,
    /// How the similarity of two examples is measured
    #[serde(skip_serializing_if = "KernelConfig::is_plain")]
    pub kernel: KernelConfig,
}

/// A norm of the vector of task losses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum LossNorm {
    /// Their sum: every task with a loss learns equally much
    #[default]
    L1,
    /// Their Euclidean norm: a task learns in proportion to its loss
    L2,
    /// The largest loss: only its task learns
    Linf,
}

impl LossNorm {
    /// The norm of non-negative losses.
    pub fn of(self, losses: &[f64]) -> f64 {
        let largest = losses.iter().copied().fold(0.0, f64::max);
        match self {
            Self::L1 => losses.iter().sum(),
            Self::L2 if largest == 0.0 => 0.0,
            // Scaled, so that no square overflows or vanishes.
            Self::L2 => largest * losses.iter().map(|loss| (loss / largest).powi(2)).sum::<f64>().sqrt(),
            Self::Linf => largest,
        }
    }

    /// The vector of dual norm c that has the largest inner product with the losses, 0 where there is no loss.
    pub fn shares(self, losses: &[f64], c: f64) -> Vec<f64> {
        let length = self.of(losses);
        match self {
            Self::L1 => losses.iter().map(|loss| if *loss > 0.0 { c } else { 0.0 }).collect(),
            Self::L2 if length == 0.0 => vec![0.0; losses.len()],
            Self::L2 => losses.iter().map(|loss| c * (loss / length)).collect(),
            Self::Linf => {
                let mut shares = vec![0.0; losses.len()];
                let first = losses.iter().position(|loss| *loss == length && length > 0.0);
                first.into_iter().for_each(|at| shares[at] = c);
                shares
            }
        }
    }
}

impl Default for SharedLossPerceptronConfig {
    fn default() -> Self {
        Self { p: Tunable::Fixed(1.0), c: 1.0, norm: LossNorm::default(), kernel: KernelConfig::default() }
    }
}

impl Parameters for SharedLossPerceptronConfig {
    fn validate(&self) -> Vec<ConfigProblem> {
        let mut problems: Vec<_> = check_p(self.p).into_iter().collect();
        problems.extend(check_positive("c", self.c));
        problems.extend(self.kernel.validate().into_iter().map(|problem| problem.within("kernel")));
        problems
    }
}

/// The matrix Perceptron with a shared loss; see the head of its file.
#[derive(Debug, Clone)]
pub struct SharedLossPerceptron {
    columns: Columns,
    c: f64,
    norm: LossNorm,
    /// Rounds seen.
    seen: u64,
}

impl SharedLossPerceptron {
    pub(super) const ABOUT: About = About {
        id: "shared-loss-perceptron",
        title: "matrix Perceptron with updates shared by a norm of the losses",
        paper: "MP10 Remark 12",
        protocol: Protocol::AllTasks,
        predict_cost: "O(K s); O(m s) with a kernel",
        update_cost: "O(K^2 s + K^3)",
        memory: "d K + K^2; with a kernel the examples with a loss",
        most_tasks: Some(MOST_TASKS),
        cost_class: CostClass::PerPair,
        keeps_examples: false,
        probabilities: false,
        weights: false,
        offsets: true,
        shardable: false,
        theorems: &[Theorem::Remark12],
    };
}

impl Predict for SharedLossPerceptron {
    fn margin(&self, task: TaskId, x: SparseView<'_>) -> f64 {
        self.columns.margin(task, x)
    }
}

impl LearnOne for SharedLossPerceptron {
    fn update(&mut self, example: Example<'_>, margin: f64) -> bool {
        let Example { task, features, label, .. } = example;
        self.columns.meet(task);
        self.seen += 1;
        let share = self.norm.shares(&[hinge(label, margin)], self.c)[0];
        if share > 0.0 {
            self.columns.add(task, features, share * label, self.seen);
            self.columns.follow();
        }
        share > 0.0
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
        outcomes.extend(round.examples().map(|example| Outcome {
            margin: self.margin(example.task, example.features) + example.offset,
            updated: false,
        }));
        let order = in_task_order(round);
        let losses: Vec<f64> =
            order.iter().map(|at| hinge(round.example(*at).label, outcomes[*at].margin)).collect();
        for (at, share) in order.into_iter().zip(self.norm.shares(&losses, self.c)) {
            let Example { task, features, label, .. } = round.example(at);
            self.columns.meet(task);
            if share > 0.0 {
                self.columns.add(task, features, share * label, self.seen);
                outcomes[at].updated = true;
            }
        }
        if outcomes.iter().any(|outcome| outcome.updated) {
            self.columns.follow();
        }
    }
}

impl Inspect for SharedLossPerceptron {
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

/// Saved form of [`SharedLossPerceptron`].
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct SharedLossPerceptronState {
    tasks: u64,
    #[serde(deserialize_with = "crate::count::saved")]
    seen: u64,
    columns: ColumnsState,
}

impl Algorithm for SharedLossPerceptron {
    type Config = SharedLossPerceptronConfig;
    type State = SharedLossPerceptronState;

    fn build(
        config: &SharedLossPerceptronConfig,
        tasks: &Tasks,
        features: Option<u32>,
    ) -> Result<Self, ConfigError> {
        let columns = Columns::new(half_exponent(config.p, features), &config.kernel, tasks.count());
        Ok(Self { columns, c: config.c, norm: config.norm, seen: 0 })
    }

    fn state(&self) -> SharedLossPerceptronState {
        let tasks = self.columns.tasks() as u64;
        SharedLossPerceptronState { tasks, seen: self.seen, columns: self.columns.state() }
    }

    fn restore(&mut self, state: SharedLossPerceptronState) -> Result<(), StateError> {
        let tasks = restored_tasks(state.tasks, self.columns.tasks())?;
        self.columns.restore(tasks, state.seen, state.columns)?;
        self.seen = state.seen;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_by_hand() {
        let losses = [0.0, 3.0, 4.0, 4.0];
        assert_eq!(LossNorm::L1.shares(&losses, 2.0), [0.0, 2.0, 2.0, 2.0]);
        assert_eq!(LossNorm::L2.shares(&losses[..3], 2.0), [0.0, 1.2, 1.6]);
        assert_eq!(LossNorm::Linf.shares(&losses, 2.0), [0.0, 0.0, 2.0, 0.0]);
        assert_eq!(LossNorm::L2.of(&[3e-200, 4e-200]), 5e-200);
        for norm in [LossNorm::L1, LossNorm::L2, LossNorm::Linf] {
            assert_eq!(norm.shares(&[0.0, 0.0], 1.0), [0.0, 0.0]);
            // tau'l is c times the norm of the losses.
            let shares = norm.shares(&losses, 2.0);
            let product: f64 = shares.iter().zip(&losses).map(|(share, loss)| share * loss).sum();
            assert!((product - 2.0 * norm.of(&losses)).abs() < 1e-12, "{norm:?}");
        }
    }
}
