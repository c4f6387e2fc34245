//! The mean of all weights that there have been: what predicts where averaging is asked for.
//!
//! The weights after the t-th example count t times: first ones know little. With S_n = 1 + … + n, the mean of w_1 … w_n is
//! w_n - (1/S_n) sum_t S_{t-1} (w_t - w_{t-1}), so it is enough to add every step up once more, times S of the examples before it.
//! Those of a task count for its own weights, those of all tasks for the shared ones.

use serde::{Deserialize, Serialize};

use super::mixer::{Each, PARTS};
use crate::block::Block;
use crate::error::StateError;
use crate::example::{SparseView, TaskId};
use crate::linalg::check_finite;
use crate::weights::side_by_side::Found;
use crate::weights::{SideBySide, SlotTablesState};

/// Sums of an own or a shared weight's steps: two members keep each kind.
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

/// S_n.
pub(super) fn sum_to(examples: u64) -> f64 {
    let n = examples as f64;
    0.5 * n * (n + 1.0)
}

fn add(parts: &mut Each, shared: Pair, own: Pair, value: f64) {
    for (part, sum) in parts.iter_mut().zip([own[0], own[1], shared[0], shared[1]]) {
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
    fn shares(&self, task: TaskId) -> Each {
        let [own, shared] = [self.examples_of(task), self.examples].map(|n| 1.0 / sum_to(n.max(1)));
        [own, own, shared, shared]
    }

    /// How far the margins of the parts are beyond those of their means.
    pub(super) fn beyond(&self, task: TaskId, x: SparseView<'_>, intercept: bool) -> Each {
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

    /// The weights of a feature that came in other units shrink, and so does their mean.
    pub(super) fn shrink(&mut self, task: TaskId, feature: u32, factor: f64) {
        let (indices, values) = ([feature], [1.0]);
        let x = SparseView::trusted(&indices, &values);
        self.sums.find(task, x, &mut self.found);
        self.sums.change(task, x, &mut self.found, |shared, own, _| {
            shared.iter_mut().chain(own).for_each(|sum| *sum *= factor);
        });
    }

    /// Adds the steps of an example up: those of each feature in order, then those of the intercept, if there is one.
    pub(super) fn add(
        &mut self,
        task: TaskId,
        x: SparseView<'_>,
        intercept: bool,
        step: impl Fn(usize) -> Each,
    ) {
        let [own, shared] = [self.examples_of(task), self.examples].map(sum_to);
        let change = |at: usize, sums: &mut Pair, owns: &mut Pair| {
            let step = step(at);
            for k in 0..2 {
                owns[k] += own * step[k];
                sums[k] += shared * step[2 + k];
            }
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

    /// An example has gone by.
    pub(super) fn count(&mut self, task: TaskId) {
        if self.of_task.len() <= task.index() {
            self.of_task.resize(task.index() + 1, 0);
        }
        self.of_task[task.index()] += 1;
        self.examples += 1;
    }

    /// How far the weights of the margin are beyond their mean, by feature, and the intercept's.
    pub(super) fn weights_beyond(&self, task: TaskId, mixture: &Each) -> (Vec<(u32, f64)>, f64) {
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
    examples: u64,
    of_task: Block<u64>,
}
