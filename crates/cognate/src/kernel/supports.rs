//! Examples kept side by side, and their inner products with one more.
//!
//! The incoming example is scattered into an array once; each support then gathers along its own features. Features
//! are renumbered as they are first kept, so the array is as long as there are different ones.

use std::cell::RefCell;

use serde::{Deserialize, Serialize};

use crate::block::Block;
use crate::error::StateError;
use crate::example::{SparseView, TaskId};
use crate::learner::Support;
use crate::linalg::IndexMap;

#[derive(Debug, Clone, Default)]
pub(crate) struct Supports {
    /// Feature to slot, from 1; 0 is a feature that no support has.
    slots: IndexMap<u32>,
    /// Slot to feature, from 0.
    features: Vec<u32>,
    tasks: Vec<TaskId>,
    /// |x|^2 of each.
    squares: Vec<f64>,
    /// Which example each was.
    examples: Vec<u64>,
    /// Where the features of each end.
    ends: Vec<usize>,
    entry_slots: Vec<u32>,
    values: Vec<f64>,
}

thread_local! {
    /// The scattered example: all zeros between uses.
    static SCATTERED: RefCell<Vec<f64>> = const { RefCell::new(Vec::new()) };
}

/// |x|^2.
pub(crate) fn square(x: SparseView<'_>) -> f64 {
    x.values().iter().map(|value| value * value).sum()
}

impl Supports {
    pub(crate) fn len(&self) -> usize {
        self.tasks.len()
    }

    pub(crate) fn task(&self, at: usize) -> TaskId {
        self.tasks[at]
    }

    pub(crate) fn square(&self, at: usize) -> f64 {
        self.squares[at]
    }

    /// Visits the supports whose task is wanted, in order, with their inner products with `x`.
    pub(crate) fn products(
        &self,
        x: SparseView<'_>,
        wanted: impl Fn(TaskId) -> bool,
        mut visit: impl FnMut(usize, f64),
    ) {
        SCATTERED.with_borrow_mut(|scattered| {
            if scattered.len() < self.features.len() {
                scattered.resize(self.features.len(), 0.0);
            }
            let known = |feature: u32| (self.slots.get(feature) as usize).checked_sub(1);
            for (feature, value) in x.iter() {
                known(feature).into_iter().for_each(|slot| scattered[slot] = value);
            }
            let mut start = 0;
            for (at, end) in self.ends.iter().enumerate() {
                if wanted(self.tasks[at]) {
                    let slots = &self.entry_slots[start..*end];
                    visit(at, gather(scattered, slots, &self.values[start..*end]));
                }
                start = *end;
            }
            for feature in x.indices() {
                known(*feature).into_iter().for_each(|slot| scattered[slot] = 0.0);
            }
        });
    }

    /// Features and values of a support.
    pub(crate) fn entries(&self, at: usize) -> impl Iterator<Item = (u32, f64)> + '_ {
        let start = if at == 0 { 0 } else { self.ends[at - 1] };
        let range = start..self.ends[at];
        let features = self.entry_slots[range.clone()].iter().map(|slot| self.features[*slot as usize]);
        features.zip(self.values[range].iter().copied())
    }

    /// Keeps an example, which was the learner's `example`-th.
    pub(crate) fn push(&mut self, task: TaskId, x: SparseView<'_>, example: u64) {
        for (feature, value) in x.iter() {
            let slot = self.slots.entry(feature);
            if *slot == 0 {
                self.features.push(feature);
                *slot = self.features.len() as u32;
            }
            self.entry_slots.push(*slot - 1);
            self.values.push(value);
        }
        self.tasks.push(task);
        self.squares.push(square(x));
        self.examples.push(example);
        self.ends.push(self.values.len());
    }

    /// `sum_s coefficient(s) x_s`, its non-zero entries by feature.
    pub(crate) fn combined(&self, coefficient: impl Fn(usize) -> f64) -> Vec<(u32, f64)> {
        let mut sums = vec![0.0; self.features.len()];
        let mut start = 0;
        for (at, end) in self.ends.iter().enumerate() {
            let coefficient = coefficient(at);
            for (slot, value) in self.entry_slots[start..*end].iter().zip(&self.values[start..*end]) {
                sums[*slot as usize] += coefficient * value;
            }
            start = *end;
        }
        let mut weights: Vec<(u32, f64)> =
            self.features.iter().copied().zip(sums).filter(|pair| pair.1 != 0.0).collect();
        weights.sort_unstable_by_key(|pair| pair.0);
        weights
    }

    /// The supports as they are shown, with their coefficients.
    pub(crate) fn listed(&self, coefficients: &[f64]) -> Vec<Support> {
        let support = |(at, coefficient): (usize, &f64)| Support {
            example: self.examples[at],
            task: self.tasks[at],
            coefficient: *coefficient,
        };
        coefficients.iter().enumerate().map(support).collect()
    }

    /// Calls `visit` with every support as a view whose features are sorted.
    pub(crate) fn for_each(&self, mut visit: impl FnMut(usize, SparseView<'_>)) {
        let (mut indices, mut values) = (Vec::new(), Vec::new());
        for at in 0..self.len() {
            indices.clear();
            values.clear();
            for (feature, value) in self.entries(at) {
                indices.push(feature);
                values.push(value);
            }
            visit(at, SparseView::trusted(&indices, &values));
        }
    }

    /// Bytes held.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.slots.heap_bytes()
            + (self.features.capacity() + self.tasks.capacity() + self.entry_slots.capacity()) * 4
            + (self.squares.capacity() + self.examples.capacity()) * 8
            + (self.ends.capacity() + self.values.capacity()) * 8
    }

    pub(crate) fn state(&self) -> SupportsState {
        SupportsState {
            tasks: Block(self.tasks.iter().map(|task| task.0).collect()),
            examples: Block(self.examples.clone()),
            ends: Block(self.ends.iter().map(|end| *end as u64).collect()),
            features: Block(self.entry_slots.iter().map(|slot| self.features[*slot as usize]).collect()),
            values: Block(self.values.clone()),
        }
    }

    /// Takes a saved form, checking everything that later code trusts: tasks below `tasks`, and examples up to `seen`.
    pub(crate) fn restore(tasks: usize, seen: u64, state: &SupportsState) -> Result<Self, StateError> {
        let count = state.tasks.0.len();
        if state.examples.0.len() != count
            || state.ends.0.len() != count
            || state.features.0.len() != state.values.0.len()
            || state.ends.0.last().copied().unwrap_or(0) != state.values.0.len() as u64
        {
            return Err(StateError::new("supports and their ends disagree"));
        }
        let mut supports = Self::default();
        let (mut start, mut last) = (0, 0);
        for ((task, end), example) in state.tasks.0.iter().zip(&state.ends.0).zip(&state.examples.0) {
            let range =
                usize::try_from(*end).ok().filter(|end| *end >= start && *end <= state.values.0.len());
            let end = range.ok_or_else(|| StateError::new("supports and their ends disagree"))?;
            if *task as usize >= tasks {
                return Err(StateError::new("a support is of a task that is not there"));
            }
            if *example < last || *example > seen {
                return Err(StateError::new("supports are not in order, or later than the last example"));
            }
            let x = SparseView::try_new(&state.features.0[start..end], &state.values.0[start..end])
                .map_err(|error| StateError::new(format!("a support: {error}")))?;
            supports.push(TaskId(*task), x, *example);
            (start, last) = (end, *example);
        }
        Ok(supports)
    }
}

/// Inner product of a support with the scattered example, in four sums side by side.
#[inline]
fn gather(scattered: &[f64], slots: &[u32], values: &[f64]) -> f64 {
    let mut sums = [0.0; 4];
    for (at, (slot, value)) in slots.iter().zip(values).enumerate() {
        sums[at % 4] += scattered[*slot as usize] * value;
    }
    (sums[0] + sums[2]) + (sums[1] + sums[3])
}

/// Saved form of [`Supports`].
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct SupportsState {
    tasks: Block<u32>,
    examples: Block<u64>,
    ends: Block<u64>,
    features: Block<u32>,
    values: Block<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_those_of_the_examples() {
        let mut supports = Supports::default();
        let x =
            |indices: &'static [u32], values: &'static [f64]| SparseView::try_new(indices, values).unwrap();
        supports.push(TaskId(0), x(&[1, 5], &[2.0, 3.0]), 1);
        supports.push(TaskId(1), x(&[], &[]), 2);
        supports.push(TaskId(0), x(&[0, 5, 4_000_000_000], &[1.0, -1.0, 4.0]), 7);
        let products = |z: SparseView<'_>, wanted: &dyn Fn(TaskId) -> bool| {
            let mut found = Vec::new();
            supports.products(z, wanted, |at, product| found.push((at, product)));
            found
        };
        let z = x(&[5, 9, 4_000_000_000], &[10.0, 1.0, 0.5]);
        assert_eq!(products(z, &|_| true), [(0, 30.0), (1, 0.0), (2, -8.0)]);
        // Nothing of an example is left behind for the next.
        assert_eq!(products(x(&[1], &[1.0]), &|task| task == TaskId(0)), [(0, 2.0), (2, 0.0)]);
        assert_eq!(supports.square(2), 18.0);
        let restored = Supports::restore(2, 7, &supports.state()).unwrap();
        assert_eq!(restored.entries(2).collect::<Vec<_>>(), supports.entries(2).collect::<Vec<_>>());
        assert!(Supports::restore(1, 7, &supports.state()).is_err());
        assert!(Supports::restore(2, 6, &supports.state()).is_err());
    }
}
