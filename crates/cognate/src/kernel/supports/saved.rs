//! Supports as a model file holds them.

use serde::{Deserialize, Serialize};

use super::Supports;
use crate::block::Block;
use crate::error::StateError;
use crate::example::{SparseView, TaskId};

/// Saved form of [`Supports`].
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct SupportsState {
    tasks: Block<u32>,
    examples: Block<u64>,
    ends: Block<u64>,
    features: Block<u32>,
    values: Block<f64>,
}

impl Supports {
    pub(crate) fn state(&self) -> SupportsState {
        let lengths = self.spans.iter().map(|span| span.len as u64);
        let ends = lengths.scan(0, |end, length| {
            *end += length;
            Some(*end)
        });
        let entries = || (0..self.len()).flat_map(|at| self.entries(at));
        SupportsState {
            tasks: Block(self.tasks.iter().map(|task| task.0).collect()),
            examples: Block(self.examples.clone()),
            ends: Block(ends.collect()),
            features: Block(entries().map(|entry| entry.0).collect()),
            values: Block(entries().map(|entry| entry.1).collect()),
        }
    }

    /// Takes a saved form, checking everything that later code trusts: tasks below `tasks`, and examples up to `seen`,
    /// in the order in which they came.
    pub(crate) fn restore(tasks: usize, seen: u64, state: &SupportsState) -> Result<Self, StateError> {
        if state.examples.0.is_sorted() {
            Self::restore_in_any_order(tasks, seen, state)
        } else {
            Err(StateError::new("supports are not in order"))
        }
    }

    /// The same for supports that took the places of others.
    pub(crate) fn restore_in_any_order(
        tasks: usize,
        seen: u64,
        state: &SupportsState,
    ) -> Result<Self, StateError> {
        let count = state.tasks.0.len();
        if state.examples.0.len() != count
            || state.ends.0.len() != count
            || state.features.0.len() != state.values.0.len()
            || state.ends.0.last().copied().unwrap_or(0) != state.values.0.len() as u64
        {
            return Err(StateError::new("supports and their ends disagree"));
        }
        let mut supports = Self::default();
        let mut start = 0;
        for ((task, end), example) in state.tasks.0.iter().zip(&state.ends.0).zip(&state.examples.0) {
            let range =
                usize::try_from(*end).ok().filter(|end| *end >= start && *end <= state.values.0.len());
            let end = range.ok_or_else(|| StateError::new("supports and their ends disagree"))?;
            if *task as usize >= tasks {
                return Err(StateError::new("a support is of a task that is not there"));
            }
            if *example > seen {
                return Err(StateError::new("a support is later than the last example"));
            }
            let x = SparseView::try_new(&state.features.0[start..end], &state.values.0[start..end])
                .map_err(|error| StateError::new(format!("a support: {error}")))?;
            supports.push(TaskId(*task), x, *example);
            start = end;
        }
        Ok(supports)
    }
}
