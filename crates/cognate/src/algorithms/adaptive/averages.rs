//! Means of the weights: what predicts where averaging is asked for, while the weights step by their own margins.
//!
//! The weights after the n-th example count n times, for the first ones know little. With S_n = 1 + … + n,
//!
//! ```text
//! mean of w_1 … w_n = w_n - (1 / S_n) sum_i S_{i-1} (w_i - w_{i-1})
//! ```
//!
//! so it is enough to add every step up once more, times S of the examples before it. For a task's own weights the examples of
//! the task count, for the shared ones those of all tasks.

use serde::{Deserialize, Serialize};

use super::mixer::{ALONE, COUPLED_OWN, COUPLED_SHARED, PARTS, POOLED, PerPart};
use crate::block::Block;
use crate::error::StateError;
use crate::example::{SparseView, TaskId};
use crate::linalg::check_finite;
use crate::weights::side_by_side::Found;
use crate::weights::{SideBySide, SlotTablesState};

/// Sums of the steps of own weights (`alone`, `coupled`) or of shared ones (`pooled`, `coupled`).
type Pair = [f64; 2];

#[derive(Debug, Clone)]
pub(super) struct Averages {
    sums: SideBySide<2, 2>,
    /// Those of the feature that is always 1.
    shared_intercept: Pair,
    own_intercepts: Vec<Pair>,
    /// Examples of all tasks, and of each.
    examples: u64,
    of_task: Vec<u64>,
    /// Scratch, not state.
    found: Found,
}

/// S_n = 1 + … + n.
pub(super) fn sum_to(examples: u64) -> f64 {
    let n = examples as f64;
    0.5 * n * (n + 1.0)
}

fn per_part([alone, own]: Pair, [pooled, shared]: Pair) -> PerPart {
    [alone, own, pooled, shared]
}

fn add(parts: &mut PerPart, shared: Pair, own: Pair, value: f64) {
    for (part, sum) in parts.iter_mut().zip(per_part(own, shared)) {
        *part += sum * value;
    }
}

impl Averages {
    pub(super) fn new() -> Self {
        Self {
            sums: SideBySide::new(),
            shared_intercept: Pair::default(),
            own_intercepts: Vec::new(),
            examples: 0,
            of_task: Vec::new(),
            found: Found::default(),
        }
    }

    fn examples_of(&self, task: TaskId) -> u64 {
        self.of_task.get(task.index()).copied().unwrap_or(0)
    }

    /// 1 / S_n for each part; the mean of nothing is nothing.
    fn shares(&self, task: TaskId) -> PerPart {
        let [own, shared] = [self.examples_of(task), self.examples].map(|n| 1.0 / sum_to(n.max(1)));
        per_part([own; 2], [shared; 2])
    }

    /// How far the margins of the parts are beyond those of their means.
    pub(super) fn beyond(&self, task: TaskId, x: SparseView<'_>, intercept: bool) -> PerPart {
        let (mut parts, mut found) = ([0.0; PARTS], Found::default());
        self.sums.find(task, x, &mut found);
        self.sums.for_each(x, &found, |shared, own, value| add(&mut parts, *shared, *own, value));
        if intercept {
            let own = self.own_intercepts.get(task.index()).copied().unwrap_or_default();
            add(&mut parts, self.shared_intercept, own, 1.0);
        }
        let shares = self.shares(task);
        std::array::from_fn(|at| shares[at] * parts[at])
    }

    /// Shrinks the means of a feature's weights, which shrink because it came in other units.
    pub(super) fn shrink(&mut self, task: TaskId, feature: u32, factors: &PerPart) {
        let (indices, values) = ([feature], [1.0]);
        let x = SparseView::trusted(&indices, &values);
        self.sums.find(task, x, &mut self.found);
        self.sums.change(task, x, &mut self.found, |shared, own, _| {
            let sums = own.iter_mut().chain(shared);
            sums.zip(factors).for_each(|(sum, factor)| *sum *= factor);
        });
    }

    /// Adds up the steps of an example: those of each feature in order, then those of the intercept, if there is one.
    pub(super) fn add(
        &mut self,
        task: TaskId,
        x: SparseView<'_>,
        intercept: bool,
        step: impl Fn(usize) -> PerPart,
    ) {
        let [own, shared] = [self.examples_of(task), self.examples].map(sum_to);
        let change = |at: usize, sums: &mut Pair, owns: &mut Pair| {
            let step = step(at);
            owns[0] += own * step[ALONE];
            owns[1] += own * step[COUPLED_OWN];
            sums[0] += shared * step[POOLED];
            sums[1] += shared * step[COUPLED_SHARED];
        };
        self.sums.find(task, x, &mut self.found);
        let mut at = 0;
        self.sums.change(task, x, &mut self.found, |shared, own, _| {
            change(at, shared, own);
            at += 1;
        });
        if intercept {
            if self.own_intercepts.len() <= task.index() {
                self.own_intercepts.resize(task.index() + 1, Pair::default());
            }
            change(at, &mut self.shared_intercept, &mut self.own_intercepts[task.index()]);
        }
    }

    /// Counts an example.
    pub(super) fn count(&mut self, task: TaskId) {
        if self.of_task.len() <= task.index() {
            self.of_task.resize(task.index() + 1, 0);
        }
        self.of_task[task.index()] += 1;
        self.examples += 1;
    }

    /// How far the weights of the margin are beyond their mean, by feature, and the intercept's.
    pub(super) fn weights_beyond(&self, task: TaskId, mixture: &PerPart) -> (Vec<(u32, f64)>, f64) {
        let shares = self.shares(task);
        let weight = |shared: Pair, own: Pair| {
            let mut parts = [0.0; PARTS];
            add(&mut parts, shared, own, 1.0);
            (0..PARTS).map(|at| mixture[at] * shares[at] * parts[at]).sum::<f64>()
        };
        let own = self.own_intercepts.get(task.index()).copied().unwrap_or_default();
        (self.sums.weights(task, |shared, own| weight(*shared, *own)), weight(self.shared_intercept, own))
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.sums.heap_bytes()
            + self.own_intercepts.capacity() * size_of::<Pair>()
            + self.of_task.capacity() * size_of::<u64>()
    }

    pub(super) fn state(&self) -> AveragesState {
        AveragesState {
            sums: self.sums.state(|_, row| *row),
            shared_intercept: Block(self.shared_intercept.to_vec()),
            own_intercepts: Block(self.own_intercepts.concat()),
            examples: self.examples,
            of_task: Block(self.of_task.clone()),
        }
    }

    pub(super) fn restore(&mut self, tasks: usize, state: AveragesState) -> Result<(), StateError> {
        let (own, rest) = state.own_intercepts.0.as_chunks();
        let shared = Pair::try_from(state.shared_intercept.0.as_slice());
        check_finite(&state.shared_intercept.0)?;
        check_finite(&state.own_intercepts.0)?;
        match shared {
            Ok(shared) if own.len() <= tasks && rest.is_empty() && state.of_task.0.len() <= tasks => {
                (self.shared_intercept, self.own_intercepts) = (shared, own.to_vec());
            }
            _ => return Err(StateError::new("the means do not fit the tasks")),
        }
        self.sums = SideBySide::restore(tasks, state.sums, |row: Pair| row)?;
        (self.examples, self.of_task) = (state.examples, state.of_task.0);
        Ok(())
    }
}

/// Takes saved means where there are to be some, and only there.
pub(super) fn restore(
    averages: Option<&mut Averages>,
    tasks: usize,
    state: Option<AveragesState>,
) -> Result<(), StateError> {
    match (averages, state) {
        (Some(averages), Some(state)) => averages.restore(tasks, state),
        (None, None) => Ok(()),
        _ => Err(StateError::new("means of the weights are kept here and not there")),
    }
}

/// Subtracts what is beyond the mean from weights by feature.
pub(super) fn less(weights: Vec<(u32, f64)>, beyond: Vec<(u32, f64)>) -> Vec<(u32, f64)> {
    let mut all: std::collections::BTreeMap<u32, f64> = weights.into_iter().collect();
    for (feature, amount) in beyond {
        *all.entry(feature).or_default() -= amount;
    }
    all.into_iter().filter(|pair| pair.1 != 0.0).collect()
}

/// Saved form of [`Averages`].
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct AveragesState {
    sums: SlotTablesState,
    shared_intercept: Block<f64>,
    own_intercepts: Block<f64>,
    #[serde(deserialize_with = "crate::count::saved")]
    examples: u64,
    of_task: Block<u64>,
}

impl AveragesState {
    /// Takes out the means of a task; those after it come one number earlier.
    pub(super) fn remove_task(&mut self, task: usize) {
        self.sums.remove_task(task);
        self.own_intercepts.remove_row(task, size_of::<Pair>() / size_of::<f64>());
        self.of_task.remove_row(task, 1);
    }
}
