//! One shared weight vector and one own vector a task, touched weights only.
//!
//! Features are renumbered in the order in which they are first touched. Frequent features come first, so the
//! shared vector and the dense head of each own vector hold them side by side, in cache.

use serde::{Deserialize, Serialize};

use super::norm::Squares;
use crate::block::Block;
use crate::error::StateError;
use crate::example::{Example, SparseView, TaskId};
use crate::linalg::{check_finite, dot_at};
use crate::stream::Batch;
use crate::table::index_map::NOWHERE;
use crate::table::prefetch::prefetch;
use crate::table::{AHEAD, IndexMap, Locate, Search};

/// So few weights stay in the nearest cache by themselves.
const IN_CACHE_ANYWAY: usize = 1024;

/// Which of the two parts are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Parts {
    pub(crate) shared: bool,
    pub(crate) own: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct SharedOwn {
    parts: Parts,
    /// Feature to slot, from 1; a feature never touched reads as slot 0.
    slots: IndexMap<u32>,
    /// Slot to feature.
    features: Vec<u32>,
    /// Weight of each slot; that of slot 0 is 0 for ever, so that untouched features need no test.
    shared: Vec<f64>,
    own: Vec<IndexMap<f64>>,
}

/// An example's features as a learner finds them: filled by [`SharedOwn::locate`], used by the others.
#[derive(Debug, Clone, Default)]
pub(crate) struct Located {
    /// Where the features were when there were so many slots.
    slots: Vec<u32>,
    known_slots: usize,
    /// The slots in the task's own vector.
    own: Search,
    /// Slots that the task has no own weight for yet.
    fresh: Vec<u32>,
}

/// Inner products of one example with the two parts.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Dots {
    pub(crate) shared: f64,
    pub(crate) own: f64,
}

impl Locate for SharedOwn {
    type Located = Located;

    fn ask(&self, task: TaskId, x: SparseView<'_>) {
        // The task's own table says where its weights are.
        prefetch(&self.own, task.index());
        self.slots.prefetch_all(x.indices());
    }

    /// Finds the slots of an example's features, and asks for their weights to be there soon.
    fn locate(&self, task: TaskId, x: SparseView<'_>, located: &mut Located) {
        located.known_slots = self.features.len();
        located.slots.clear();
        located.slots.extend(x.indices().iter().map(|feature| self.slots.get(*feature)));
        if self.parts.shared && self.shared.len() > IN_CACHE_ANYWAY {
            located.slots.iter().for_each(|slot| prefetch(&self.shared, *slot as usize));
        }
        located.own.clear();
        self.own.get(task.index()).into_iter().for_each(|own| located.own.begin(own, &located.slots));
    }
}

impl SharedOwn {
    pub(crate) fn new(parts: Parts) -> Self {
        Self {
            parts,
            slots: IndexMap::default(),
            features: vec![u32::MAX],
            shared: vec![0.0],
            own: Vec::new(),
        }
    }

    /// Inner products of a located example with the shared vector and the task's own.
    pub(crate) fn dots(&self, task: TaskId, x: SparseView<'_>, located: &mut Located) -> Dots {
        debug_assert_eq!(located.slots.len(), x.len(), "the slots are those of this example");
        let mut dots = Dots::default();
        if self.parts.shared {
            dots.shared = dot_at(&self.shared, &located.slots, x.values());
        }
        if let Some(own) = self.own.get(task.index()).filter(|own| !own.values().is_empty()) {
            located.own.finish(own, &located.slots);
            dots.own = dot_at(own.values(), located.own.places(), x.values());
        }
        dots
    }

    /// The same for an example that has not been located.
    pub(crate) fn dots_of(&self, task: TaskId, x: SparseView<'_>) -> Dots {
        let mut located = Located::default();
        self.locate(task, x, &mut located);
        self.dots(task, x, &mut located)
    }

    /// Looks again for features that had no slot when the example was located; others may have come since.
    pub(crate) fn relocate(&self, x: SparseView<'_>, located: &mut Located) {
        if located.known_slots == self.features.len() {
            return;
        }
        for (feature, slot) in x.indices().iter().zip(&mut located.slots) {
            if *slot == NOWHERE {
                *slot = self.slots.get(*feature);
            }
        }
        located.own.forget();
    }

    /// Adds `step * x` to the parts kept; right after [`Self::dots`] of the same example.
    pub(crate) fn add(&mut self, task: TaskId, x: SparseView<'_>, step: f64, located: &mut Located) {
        // A task that never learnt has no places yet.
        let places = located.own.scratch(x.len());
        for ((feature, slot), place) in x.indices().iter().zip(&mut located.slots).zip(places) {
            if *slot == NOWHERE {
                *slot = self.features.len() as u32;
                *self.slots.entry(*feature) = *slot;
                self.features.push(*feature);
                // What was found was the place of slot 0, which stays 0 for ever.
                *place = NOWHERE;
            }
        }
        if self.parts.shared {
            self.shared.resize(self.features.len(), 0.0);
            for (slot, value) in located.slots.iter().zip(x.values()) {
                self.shared[*slot as usize] += step * value;
            }
        }
        if self.parts.own {
            if self.own.len() <= task.index() {
                self.own.resize_with(task.index() + 1, IndexMap::default);
            }
            add_own(&mut self.own[task.index()], x.values(), step, located);
        }
    }

    /// The same for an example that has not been located.
    pub(crate) fn add_to(&mut self, task: TaskId, x: SparseView<'_>, step: f64) {
        let mut located = Located::default();
        self.locate(task, x, &mut located);
        self.own.get(task.index()).into_iter().for_each(|own| located.own.finish(own, &located.slots));
        self.add(task, x, step, &mut located);
    }

    /// Shows the inner products of a batch's examples in order, finding the weights of some examples ahead.
    pub(crate) fn dots_ahead(
        &self,
        batch: &Batch,
        task_of: &dyn Fn(TaskId) -> TaskId,
        mut see: impl FnMut(TaskId, Dots),
    ) {
        let mut located: [Located; AHEAD] = Default::default();
        (0..AHEAD - 1).for_each(|at| self.locate_ahead(batch, at, task_of, &mut located));
        for (at, example) in batch.examples().enumerate() {
            self.locate_ahead(batch, at + AHEAD - 1, task_of, &mut located);
            let task = task_of(example.task);
            see(task, self.dots(task, example.features, &mut located[at % AHEAD]));
        }
    }

    /// Learns a batch in order, finding the weights of some examples ahead so that they are in cache when needed.
    pub(crate) fn learn_ahead(
        &mut self,
        batch: &Batch,
        located: &mut [Located; AHEAD],
        mut learn: impl FnMut(&mut Self, Example<'_>, &mut Located),
    ) {
        (0..AHEAD - 1).for_each(|at| self.locate_ahead(batch, at, |task| task, located));
        for (at, example) in batch.examples().enumerate() {
            self.locate_ahead(batch, at + AHEAD - 1, |task| task, located);
            let located = &mut located[at % AHEAD];
            self.relocate(example.features, located);
            learn(self, example, located);
        }
    }

    /// The squares of a task's own weights, in an order that does not depend on the history.
    pub(crate) fn own_squares(&self, task: TaskId, scratch: &mut Vec<(u32, f64)>) -> Squares {
        scratch.clear();
        scratch.extend(self.own.get(task.index()).into_iter().flat_map(IndexMap::iter));
        scratch.sort_unstable_by_key(|pair| pair.0);
        Squares::of(scratch.iter().map(|pair| pair.1))
    }

    /// The squares of the shared weights.
    pub(crate) fn shared_squares(&self) -> Squares {
        Squares::of(self.shared.iter().copied())
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
            for (slot, shared) in self.shared.iter().enumerate().skip(1) {
                let own = own.map_or(0.0, |own| own.get(slot as u32));
                push(slot as u32, scales.own * own + scales.shared * shared);
            }
        } else if let Some(own) = own {
            own.iter().for_each(|(slot, weight)| push(slot, scales.own * weight));
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
        let last = self.own.iter().rposition(|table| table.iter().next().is_some()).map_or(0, |at| at + 1);
        for table in &self.own[..last] {
            for (slot, weight) in table.sorted() {
                slots.push(slot);
                own.push(weight);
            }
            ends.push(slots.len() as u64);
        }
        SharedOwnState {
            features: Block(self.features[1..].to_vec()),
            shared: Block(if self.parts.shared { self.shared[1..].to_vec() } else { Vec::new() }),
            own_ends: Block(ends),
            own_slots: Block(slots),
            own: Block(own),
        }
    }

    /// Takes a saved form, checking everything that later code trusts.
    pub(crate) fn restore(parts: Parts, tasks: usize, state: SharedOwnState) -> Result<Self, StateError> {
        let mut weights = Self::new(parts);
        let slots = state.features.0.len() + 1;
        for feature in state.features.0 {
            if feature == u32::MAX || weights.slots.get(feature) != NOWHERE {
                return Err(StateError::new("a feature is listed twice or out of range"));
            }
            *weights.slots.entry(feature) = weights.features.len() as u32;
            weights.features.push(feature);
        }
        if state.shared.0.len() != if parts.shared { slots - 1 } else { 0 } {
            return Err(StateError::new("the shared vector does not have one weight a feature"));
        }
        check_finite(&state.shared.0)?;
        check_finite(&state.own.0)?;
        weights.shared.extend(state.shared.0);
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
            let range = usize::try_from(*end).ok().filter(|end| *end >= start && *end <= state.own.0.len());
            let end = range.ok_or_else(|| StateError::new("own vectors and their ends disagree"))?;
            let keys = &state.own_slots.0[start..end];
            if keys.windows(2).any(|pair| pair[0] >= pair[1])
                || keys.first() == Some(&NOWHERE)
                || keys.last().is_some_and(|slot| *slot as usize >= slots)
            {
                return Err(StateError::new(
                    "a task's slots are not increasing, from 1 to the number of features",
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

/// Adds `step * values` to a task's own weights.
fn add_own(own: &mut IndexMap<f64>, values: &[f64], step: f64, located: &mut Located) {
    // Known places first: a new weight may move the others.
    let places = located.own.scratch(values.len());
    own.change_at(places, |at, weight| *weight += step * values[at]);
    // The rest at the front of the places, chosen without a branch.
    let mut missing = 0;
    for at in 0..values.len() {
        let absent = places[at] == NOWHERE;
        places[missing] = at as u32;
        missing += usize::from(absent);
    }
    let missing = &places[..missing];
    located.fresh.clear();
    located.fresh.extend(missing.iter().map(|at| located.slots[*at as usize]));
    own.reserve(&located.fresh);
    for at in missing {
        *own.new_entry(located.slots[*at as usize]) += step * values[*at as usize];
    }
}

/// Saved form of [`SharedOwn`].
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct SharedOwnState {
    /// Features in order of slot, from 1.
    features: Block<u32>,
    /// Shared weight of each slot; empty where there is no shared part.
    shared: Block<f64>,
    /// Where each task's own weights end in the next two.
    own_ends: Block<u64>,
    own_slots: Block<u32>,
    own: Block<f64>,
}
