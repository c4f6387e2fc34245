//! `collaborative` with global = "auto": three settings side by side, and the data say which to trust.
//!
//! How far a task should follow the global model differs by powers of ten: tasks that have nothing in common want it a
//! thousandth as much as their own, similar ones want to begin every step from it. So three learners with the parameters
//! below learn next to each other, each exactly as if it were alone; predictions are exponentially weighted means of
//! their margins, see `hedge.rs` for weights and guarantee. This is ours; ROM17 tunes the parameters.
//!
//! An example of weight w makes every member learn as it does alone; who was wrong is counted once, whatever w is.
//!
//! Cost: three times that of one member, in time and memory.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::CollaborativeConfig;
use super::fixed::{Fixed, FixedState, Setting};
use crate::error::StateError;
use crate::example::{Example, SparseView, TaskId};
use crate::hedge::{Hedge, HedgeState, mix};
use crate::learner::{Outcome, in_task_order};
use crate::stream::Batch;

const MEMBERS: usize = 3;

/// One number per member.
type Lanes = [f64; MEMBERS];

/// The members' parameters as multiples of own, c and c-global: global, c, c-global. Chosen on shuffle 101 of five sets
/// with unit rows (tdt2, movielens, mhc, school, spam_b): tasks apart, tasks that lean on the global model, tasks that
/// begin every step half-way to it.
const SHARES: [[f64; 3]; MEMBERS] = [[0.001, 1.0, 0.01], [0.03, 0.1, 10.0], [1.0, 1.0, 1.0]];

/// The members' parameters.
pub(super) fn settings(config: &CollaborativeConfig) -> [Setting; MEMBERS] {
    SHARES.map(|[global, c, c_global]| Setting {
        own: config.own,
        global: global * config.own,
        c: c * config.c,
        c_global: c_global * config.c_global,
    })
}

#[derive(Debug, Clone)]
pub(super) struct Auto {
    members: [Fixed; MEMBERS],
    hedge: Hedge<MEMBERS>,
    /// Scratch, not state.
    outcomes: [Vec<Outcome>; MEMBERS],
    margins: Vec<Lanes>,
}

impl Auto {
    pub(super) fn new(config: &CollaborativeConfig) -> Self {
        Self {
            members: settings(config).map(Fixed::new),
            hedge: Hedge::new(),
            outcomes: Default::default(),
            margins: Vec::new(),
        }
    }

    /// Margins of the members.
    fn each(&self, task: TaskId, x: SparseView<'_>) -> Lanes {
        std::array::from_fn(|at| self.members[at].margin(task, x))
    }

    pub(super) fn margin(&self, task: TaskId, x: SparseView<'_>) -> f64 {
        self.hedge.margin(self.each(task, x))
    }

    /// Counts who was right on an example that the members have learnt; whether that or they changed anything.
    fn count(&mut self, example: Example<'_>, margins: Lanes, margin: f64, updated: bool) -> bool {
        if example.weight == 0.0 {
            return false;
        }
        self.hedge.count(example.label, margins, margin) || updated
    }

    pub(super) fn learn(&mut self, example: Example<'_>) -> Outcome {
        // To the last digit the margin without the offset, and the offset.
        let beside =
            (example.offset != 0.0).then(|| self.margin(example.task, example.features) + example.offset);
        let outcomes: [Outcome; MEMBERS] = std::array::from_fn(|at| self.members[at].learn(example));
        let margins = outcomes.map(|outcome| outcome.margin);
        let updated = outcomes.iter().any(|outcome| outcome.updated);
        let margin = beside.unwrap_or_else(|| self.hedge.margin(margins));
        Outcome { margin, updated: self.count(example, margins, margin, updated) }
    }

    /// One member after the other learns the batch; then their margins are weighed, example by example.
    pub(super) fn learn_batch(&mut self, batch: &Batch, outcomes: &mut Vec<Outcome>) {
        if batch.examples().any(|example| example.offset != 0.0) {
            outcomes.clear();
            outcomes.extend(batch.examples().map(|example| self.learn(example)));
            return;
        }
        let mut each = std::mem::take(&mut self.outcomes);
        for (member, outcomes) in self.members.iter_mut().zip(&mut each) {
            member.learn_batch(batch, outcomes);
        }
        outcomes.clear();
        for (at, example) in batch.examples().enumerate() {
            let margins: Lanes = std::array::from_fn(|member| each[member][at].margin);
            let (margin, updated) = (self.hedge.margin(margins), each.iter().any(|each| each[at].updated));
            outcomes.push(Outcome { margin, updated: self.count(example, margins, margin, updated) });
        }
        self.outcomes = each;
    }

    /// All margins first, those of the members too, then updates in task order.
    pub(super) fn learn_round(&mut self, round: &Batch, outcomes: &mut Vec<Outcome>) {
        let mut margins = std::mem::take(&mut self.margins);
        margins.clear();
        outcomes.clear();
        for example in round.examples() {
            let each = self.each(example.task, example.features);
            margins.push(each.map(|margin| margin + example.offset));
            outcomes.push(Outcome { margin: self.hedge.margin(each) + example.offset, updated: false });
        }
        for at in in_task_order(round) {
            let example = round.example(at);
            let updates: [bool; MEMBERS] = std::array::from_fn(|at| self.members[at].learn(example).updated);
            let (margin, updated) = (outcomes[at].margin, updates.contains(&true));
            outcomes[at].updated = self.count(example, margins[at], margin, updated);
        }
        self.margins = margins;
    }

    /// What a task takes of the global models.
    pub(super) fn taken(&self) -> f64 {
        mix(self.hedge.weights(), std::array::from_fn(|at| self.members[at].taken()))
    }

    /// The mean of vectors of the members, which margins are linear in.
    fn mean(&self, of: impl Fn(&Fixed) -> Vec<(u32, f64)>) -> Vec<(u32, f64)> {
        let mut sums: BTreeMap<u32, f64> = BTreeMap::new();
        for (member, weight) in self.members.iter().zip(self.hedge.weights()) {
            of(member)
                .into_iter()
                .for_each(|(feature, value)| *sums.entry(feature).or_default() += weight * value);
        }
        sums.into_iter().filter(|(_, value)| *value != 0.0).collect()
    }

    pub(super) fn weights(&self, task: TaskId) -> Vec<(u32, f64)> {
        self.mean(|member| member.weights(task))
    }

    pub(super) fn global(&self, task: TaskId) -> Vec<(u32, f64)> {
        self.mean(|member| member.global(task))
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.members.iter().map(Fixed::heap_bytes).sum()
    }

    pub(super) fn state(&self) -> AutoState {
        AutoState { members: self.members.iter().map(Fixed::state).collect(), hedge: self.hedge.state() }
    }

    pub(super) fn restore(&mut self, tasks: usize, state: AutoState) -> Result<(), StateError> {
        if state.members.len() != MEMBERS {
            return Err(StateError::new("there are not three settings side by side"));
        }
        for (member, state) in self.members.iter_mut().zip(state.members) {
            member.restore(tasks, state)?;
        }
        self.hedge = Hedge::restore(&state.hedge)?;
        Ok(())
    }
}

/// Saved form of [`Auto`].
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct AutoState {
    members: Vec<FixedState>,
    hedge: HedgeState,
}

impl AutoState {
    pub(crate) fn remove_task(&mut self, task: usize) {
        self.members.iter_mut().for_each(|member| member.remove_task(task));
    }
}
