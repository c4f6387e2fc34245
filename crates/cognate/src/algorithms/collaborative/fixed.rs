//! COML with given parameters; see `collaborative.rs`.

use serde::{Deserialize, Serialize};

use super::super::passive_aggressive::Variant;
use crate::error::StateError;
use crate::example::{Example, SparseView, TaskId, hinge};
use crate::learner::Outcome;
use crate::stream::Batch;
use crate::table::{AHEAD, Locate};
use crate::weights::lagged::{Lagged, LaggedState};
use crate::weights::side_by_side::Found;
use crate::weights::{SideBySide, SlotTablesState};

/// Its parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Setting {
    /// e1 and e2.
    pub(super) own: f64,
    pub(super) global: f64,
    pub(super) c: f64,
    pub(super) c_global: f64,
}

impl Setting {
    /// What is left of u_k in z.
    pub(super) fn keep(&self) -> f64 {
        self.own / (self.own + self.global)
    }

    /// Most times of rounds that a task keeps, in bytes.
    pub(super) fn remembered_bytes(&self) -> usize {
        let rounds = 46.0 / (self.global / self.own).ln_1p();
        if rounds.is_finite() { 16 * rounds.ceil() as usize } else { 0 }
    }
}

/// One global model, and what each task makes of it.
#[derive(Debug, Clone)]
pub(super) struct Fixed {
    weights: Weights,
    mixing: Mixing,
    /// Scratch, not state.
    found: [Found; AHEAD],
}

/// A row holds u_k as it was after a number of rounds of the task.
type Weights = SideBySide<1, 2>;

/// All but the weights.
#[derive(Debug, Clone)]
struct Mixing {
    setting: Setting,
    lagged: Lagged,
    /// Scratch, not state.
    own: Vec<f64>,
    slots: Vec<u32>,
}

impl Mixing {
    /// u_k'x of an example whose rows have been found; leaves the weights behind.
    fn margin(&self, weights: &Weights, task: TaskId, x: SparseView<'_>, found: &Found) -> f64 {
        let held = weights.held(found).zip(x.values());
        let products =
            held.map(|((slot, _, row), value)| self.lagged.current(task.index(), slot, row) * value);
        // A sum of nothing is -0, and with an offset 0.
        products.sum::<f64>() + 0.0
    }

    fn learn(&mut self, weights: &mut Weights, example: Example<'_>, found: &mut Found) -> Outcome {
        let Example { task, features, label, weight, offset, .. } = example;
        let mut own = std::mem::take(&mut self.own);
        own.clear();
        own.extend(weights.held(found).map(|(slot, _, row)| self.lagged.current(task.index(), slot, row)));
        let margin = own.iter().zip(features.values()).map(|(own, value)| own * value).sum::<f64>() + offset;
        if weight == 0.0 {
            self.own = own;
            return Outcome { margin, updated: false };
        }
        let global: f64 = weights.held(found).zip(features.values()).map(|((_, g, _), x)| g[0] * x).sum();
        let Setting { own: e1, global: e2, c, c_global } = self.setting;
        let (squared, keep) = (features.norm_squared(), self.setting.keep());
        let step_global = Variant::Pa1.step(weight * c_global, hinge(label, global + offset), squared);
        // g after its step, z and its margin.
        let held = weights.held(found).zip(features.values()).zip(&mut own);
        let mut margin_z = 0.0;
        for (((_, g, _), value), own) in held {
            *own = keep * *own + (1.0 - keep) * (g[0] + step_global * label * value);
            margin_z += *own * value;
        }
        let loss = (e1 + e2) * hinge(label, margin_z + offset);
        let step = Variant::Pa1.step(weight * c, loss, squared) / (e1 + e2);
        self.lagged.begin(task.index());
        let updated = step_global > 0.0 || step > 0.0;
        if updated {
            self.change(weights, example, (step_global * label, step * label), &own, found);
        }
        self.own = own;
        Outcome { margin, updated }
    }

    /// Writes down g and u_k after their steps, u_k from z.
    fn change(
        &mut self,
        weights: &mut Weights,
        example: Example<'_>,
        (step_global, step): (f64, f64),
        z: &[f64],
        found: &mut Found,
    ) {
        let (rounds, mut at) = (self.lagged.rounds(example.task.index()) as f64, 0);
        weights.change(example.task, example.features, found, |g, row, value| {
            g[0] += step_global * value;
            *row = [z[at] + step * value, rounds];
            at += 1;
        });
        if step_global == 0.0 {
            return;
        }
        self.slots.clear();
        self.slots.extend(
            weights
                .held(found)
                .map(|(slot, g, _)| (slot, g[0]))
                .filter_map(|(slot, g)| self.lagged.moved(slot, g).then_some(slot)),
        );
        for slot in &self.slots {
            for task in (0..self.lagged.tasks()).filter(|task| self.lagged.rounds(*task) > 0) {
                let rounds = self.lagged.rounds(task) as f64;
                let row = weights.row(TaskId(task as u32), *slot);
                *row = [self.lagged.current(task, *slot, *row), rounds];
            }
            self.lagged.forget(*slot);
        }
    }
}

impl Fixed {
    pub(super) fn new(setting: Setting) -> Self {
        let lagged = Lagged::new(setting.keep());
        let mixing = Mixing { setting, lagged, own: Vec::new(), slots: Vec::new() };
        Self { weights: Weights::new(), mixing, found: Default::default() }
    }

    pub(super) fn margin(&self, task: TaskId, x: SparseView<'_>) -> f64 {
        let mut found = Found::default();
        self.weights.find(task, x, &mut found);
        self.mixing.margin(&self.weights, task, x, &found)
    }

    pub(super) fn learn(&mut self, example: Example<'_>) -> Outcome {
        let found = &mut self.found[0];
        self.weights.find(example.task, example.features, found);
        self.mixing.learn(&mut self.weights, example, found)
    }

    pub(super) fn learn_batch(&mut self, batch: &Batch, outcomes: &mut Vec<Outcome>) {
        outcomes.clear();
        let Self { weights, mixing, found } = self;
        weights.learn_ahead(batch, found, |weights, example, found| {
            outcomes.push(mixing.learn(weights, example, found));
        });
    }

    /// What a task takes of the global model, which the others move.
    pub(super) fn taken(&self) -> f64 {
        1.0 - self.mixing.setting.keep()
    }

    pub(super) fn weights(&self, task: TaskId) -> Vec<(u32, f64)> {
        let current = |slot: u32, row: &[f64; 2]| self.mixing.lagged.current(task.index(), slot, *row);
        self.weights.weights_by_slot(task, |slot, _, row| current(slot, row))
    }

    /// The global model, as far as the task has features in common with it.
    pub(super) fn global(&self, task: TaskId) -> Vec<(u32, f64)> {
        self.weights.weights(task, |g, _| g[0])
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.weights.heap_bytes() + self.mixing.lagged.heap_bytes()
    }

    pub(super) fn state(&self) -> FixedState {
        let lagged = self.mixing.lagged.state(self.weights.slots());
        FixedState { weights: self.weights.state(|_, row| *row), lagged }
    }

    pub(super) fn restore(&mut self, tasks: usize, state: FixedState) -> Result<(), StateError> {
        let weights = Weights::restore(tasks, state.weights, |row: [f64; 2]| row)?;
        let keep = self.mixing.setting.keep();
        let lagged = Lagged::restore(keep, tasks, weights.slots(), state.lagged)?;
        for task in (0..tasks as u32).map(TaskId) {
            let rounds = lagged.rounds(task.index()) as f64;
            if weights.rows_of(task).any(|row| row[1].fract() != 0.0 || !(0.0..=rounds).contains(&row[1])) {
                return Err(StateError::new("a weight is from a round that its task has not had"));
            }
        }
        (self.weights, self.mixing.lagged) = (weights, lagged);
        Ok(())
    }
}

/// Saved form of [`Fixed`].
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct FixedState {
    pub(super) weights: SlotTablesState,
    pub(super) lagged: LaggedState,
}

impl FixedState {
    pub(crate) fn remove_task(&mut self, task: usize) {
        self.weights.remove_task(task);
        self.lagged.remove_task(task);
    }
}
