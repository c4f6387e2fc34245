//! The protocol: what every learner can do.

use crate::example::{Example, SparseView, TaskId};
use crate::stream::Batch;

/// Gives margins.
pub trait Predict {
    /// The real-valued score of an example; its sign is the prediction. Changes nothing, and works on a fresh
    /// learner and for a task never seen.
    fn margin(&self, task: TaskId, x: SparseView<'_>) -> f64;
}

/// What one round of learning did.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outcome {
    /// The margin before learning.
    pub margin: f64,
    /// Whether the state changed.
    pub updated: bool,
}

/// Learns from one task a round.
pub trait LearnOne: Predict {
    /// Learns from an example whose margin was just computed; says whether the state changed.
    fn update(&mut self, example: Example<'_>, margin: f64) -> bool;

    /// Margin, then update. A learner may do both in one walk over the features, with the same bits.
    fn learn(&mut self, example: Example<'_>) -> Outcome {
        let margin = self.margin(example.task, example.features);
        let updated = self.update(example, margin);
        Outcome { margin, updated }
    }

    /// Learns a batch in order, an outcome an example; as [`Self::learn`] one by one, with the same bits.
    ///
    /// A learner larger than the cache fetches what the next examples need while it learns this one.
    fn learn_batch(&mut self, batch: &Batch, outcomes: &mut Vec<Outcome>) {
        outcomes.clear();
        outcomes.extend(batch.examples().map(|example| self.learn(example)));
    }
}

/// Tells what a learner holds.
pub trait Inspect {
    /// K: the tasks declared or met so far.
    fn tasks(&self) -> usize;

    /// R\[to, from\]: how much an update of the task `from` moves the task `to`.
    fn relation(&self, to: TaskId, from: TaskId) -> f64;

    /// Non-zero weights of a task, by feature.
    fn weights(&self, task: TaskId) -> Vec<(u32, f64)>;

    /// Bytes held on the heap.
    fn heap_bytes(&self) -> usize;
}
