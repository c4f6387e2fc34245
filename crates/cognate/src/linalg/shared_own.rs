//! One shared weight vector and one own vector a task, touched weights only.
//!
//! Features are renumbered in the order in which they are first touched. Frequent features come first, so the
//! shared vector and the dense head of each own vector hold them side by side, in cache.

use serde::{Deserialize, Serialize};

use super::IndexMap;
use super::index_map::Cell;
use crate::block::Block;
use crate::error::StateError;
use crate::example::{SparseView, TaskId};

/// Which of the two parts are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Parts {
    pub(crate) shared: bool,
    pub(crate) own: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct SharedOwn {
    parts: Parts,
    /// Feature to slot.
    slots: IndexMap<u32>,
    /// Slot to feature.
    features: Vec<u32>,
    shared: Vec<f64>,
    own: Vec<IndexMap<f64>>,
    /// Slots of the example at hand, so that learning looks each feature up once.
    located: Vec<u32>,
}

/// Inner products of one example with the two parts.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Dots {
    pub(crate) shared: f64,
    pub(crate) own: f64,
}

impl SharedOwn {
    pub(crate) fn new(parts: Parts) -> Self {
        Self {
            parts,
            slots: IndexMap::default(),
            features: Vec::new(),
            shared: Vec::new(),
            own: Vec::new(),
            located: Vec::new(),
        }
    }

    /// Inner products of `x` with the shared vector and the task's own.
    pub(crate) fn dots(&self, task: TaskId, x: SparseView<'_>) -> Dots {
        let own = self.own.get(task.index());
        let mut dots = Dots::default();
        for (feature, value) in x.iter() {
            let slot = self.slots.get(feature);
            if slot != u32::ABSENT {
                self.accumulate(&mut dots, own, slot, value);
            }
        }
        dots
    }

    /// The same, remembering the slots for [`Self::add_located`].
    pub(crate) fn dots_locating(&mut self, task: TaskId, x: SparseView<'_>) -> Dots {
        let mut located = std::mem::take(&mut self.located);
        located.clear();
        located.extend(x.indices().iter().map(|feature| self.slots.get(*feature)));
        let own = self.own.get(task.index());
        let mut dots = Dots::default();
        for (slot, value) in located.iter().zip(x.values()) {
            if *slot != u32::ABSENT {
                self.accumulate(&mut dots, own, *slot, *value);
            }
        }
        self.located = located;
        dots
    }

    #[inline]
    fn accumulate(&self, dots: &mut Dots, own: Option<&IndexMap<f64>>, slot: u32, value: f64) {
        if self.parts.shared {
            dots.shared += self.shared[slot as usize] * value;
        }
        if let Some(own) = own {
            dots.own += own.get(slot) * value;
        }
    }

    /// Adds `step * x` to the parts kept.
    pub(crate) fn add(&mut self, task: TaskId, x: SparseView<'_>, step: f64) {
        self.located.clear();
        self.located
            .extend(x.indices().iter().map(|feature| self.slots.get(*feature)));
        self.add_located(task, x, step);
    }

    /// Adds `step * x` right after [`Self::dots_locating`] of the same example.
    pub(crate) fn add_located(&mut self, task: TaskId, x: SparseView<'_>, step: f64) {
        debug_assert_eq!(self.located.len(), x.len(), "the slots are those of this example");
        for (feature, slot) in x.indices().iter().zip(&mut self.located) {
            if *slot == u32::ABSENT {
                *slot = self.features.len() as u32;
                *self.slots.entry(*feature) = *slot;
                self.features.push(*feature);
            }
        }
        if self.parts.shared {
            self.shared.resize(self.features.len(), 0.0);
            for (slot, value) in self.located.iter().zip(x.values()) {
                self.shared[*slot as usize] += step * value;
            }
        }
        if self.parts.own {
            if self.own.len() <= task.index() {
                self.own.resize_with(task.index() + 1, IndexMap::default);
            }
            let own = &mut self.own[task.index()];
            for (slot, value) in self.located.iter().zip(x.values()) {
                *own.entry(*slot) += step * value;
            }
        }
    }

    /// Non-zero weights `own_scale * own + shared_scale * shared` of a task, by feature.
    pub(crate) fn weights(&self, task: TaskId, scales: Dots) -> Vec<(u32, f64)> {
        let own = self.own.get(task.index());
        let mut weights: Vec<(u32, f64)> = Vec::new();
        let mut push = |slot: u32, weight: f64| {
            if weight != 0.0 {
                weights.push((self.features[slot as usize], weight));
            }
        };
        if self.parts.shared {
            for (slot, shared) in self.shared.iter().enumerate() {
                let own = own.map_or(0.0, |own| own.get(slot as u32));
                push(slot as u32, scales.own * own + scales.shared * shared);
            }
        } else if let Some(own) = own {
            own.iter()
                .for_each(|(slot, weight)| push(slot, scales.own * weight));
        }
        weights.sort_unstable_by_key(|pair| pair.0);
        weights
    }

    /// Bytes held.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.slots.heap_bytes()
            + self.features.capacity() * size_of::<u32>()
            + self.shared.capacity() * size_of::<f64>()
            + self.own.capacity() * size_of::<IndexMap<f64>>()
            + self.own.iter().map(IndexMap::heap_bytes).sum::<usize>()
    }

    /// The saved form: equal states give equal bytes, however they were reached.
    pub(crate) fn state(&self) -> SharedOwnState {
        let (mut ends, mut slots, mut own) = (Vec::new(), Vec::new(), Vec::new());
        // Tasks that never learnt hold nothing, so trailing ones need no entry.
        let last = self
            .own
            .iter()
            .rposition(|table| table.iter().next().is_some())
            .map_or(0, |at| at + 1);
        for table in &self.own[..last] {
            for (slot, weight) in table.sorted() {
                slots.push(slot);
                own.push(weight);
            }
            ends.push(slots.len() as u64);
        }
        SharedOwnState {
            features: Block(self.features.clone()),
            shared: Block(self.shared.clone()),
            own_ends: Block(ends),
            own_slots: Block(slots),
            own: Block(own),
        }
    }

    /// Takes a saved form, checking everything that later code trusts.
    pub(crate) fn restore(parts: Parts, tasks: usize, state: SharedOwnState) -> Result<Self, StateError> {
        let mut weights = Self::new(parts);
        let slots = state.features.0.len();
        for (slot, feature) in state.features.0.iter().enumerate() {
            if *feature == u32::MAX || weights.slots.get(*feature) != u32::ABSENT {
                return Err(StateError::new("a feature is listed twice or out of range"));
            }
            *weights.slots.entry(*feature) = slot as u32;
        }
        weights.features = state.features.0;
        if state.shared.0.len() != if parts.shared { slots } else { 0 } {
            return Err(StateError::new(
                "the shared vector does not have one weight a feature",
            ));
        }
        check_finite(&state.shared.0)?;
        check_finite(&state.own.0)?;
        weights.shared = state.shared.0;
        if state.own_ends.0.len() > tasks || (!parts.own && !state.own_ends.0.is_empty()) {
            return Err(StateError::new("more own vectors than tasks"));
        }
        if state.own_slots.0.len() != state.own.0.len()
            || state.own_ends.0.last().copied().unwrap_or(0) != state.own.0.len() as u64
        {
            return Err(StateError::new("own vectors and their ends disagree"));
        }
        let mut start = 0;
        for end in &state.own_ends.0 {
            let range = usize::try_from(*end)
                .ok()
                .filter(|end| *end >= start && *end <= state.own.0.len());
            let end = range.ok_or_else(|| StateError::new("own vectors and their ends disagree"))?;
            let keys = &state.own_slots.0[start..end];
            if keys.windows(2).any(|pair| pair[0] >= pair[1])
                || keys.last().is_some_and(|slot| *slot as usize >= slots)
            {
                return Err(StateError::new(
                    "an own vector's slots are not increasing and in range",
                ));
            }
            let mut table = IndexMap::default();
            for (slot, weight) in keys.iter().zip(&state.own.0[start..end]) {
                *table.entry(*slot) = *weight;
            }
            weights.own.push(table);
            start = end;
        }
        Ok(weights)
    }
}

/// Refuses NaN and infinities in saved weights.
pub(crate) fn check_finite(weights: &[f64]) -> Result<(), StateError> {
    match weights.iter().all(|weight| weight.is_finite()) {
        true => Ok(()),
        false => Err(StateError::new("a weight is not finite")),
    }
}

/// Saved form of [`SharedOwn`].
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct SharedOwnState {
    /// Features in order of slot.
    features: Block<u32>,
    /// Shared weight of each slot; empty where there is no shared part.
    shared: Block<f64>,
    /// Where each task's own weights end in the next two.
    own_ends: Block<u64>,
    own_slots: Block<u32>,
    own: Block<f64>,
}
