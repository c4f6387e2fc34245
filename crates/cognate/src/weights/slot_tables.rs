//! Which features and tasks there are weights for: the skeleton of [`super::SharedOwn`] and [`super::SideBySide`].
//!
//! Features are renumbered in the order in which they are first touched: the number of a feature is its slot. Frequent
//! features come first, so what is kept by slot lies side by side for them, in cache. Each task has a table from slots to
//! a `V`: a weight of its own, or the number of a row of them.
//!
//! Slots begin at 1. Slot 0 stands for every feature that has never been touched; no table has an entry for it and what
//! is kept for it stays zero, so that looking up an unknown feature needs no test. Hence a saved table that has an entry
//! for slot 0 is refused.
//!
//! Finding an example's weights takes steps that wait for memory, so they are taken apart: [`SlotTables::ask`] for the
//! cache lines that the slots are in, [`SlotTables::find_slots`], [`SlotTables::begin_search`] of the task's table,
//! [`SlotTables::renew`] where slots have come since, and [`LocatedSlots::finish`].

use serde::{Deserialize, Serialize};

use super::lend::lend;
use super::norm::Squares;
use crate::block::Block;
use crate::error::StateError;
use crate::example::{SparseView, TaskId};
use crate::linalg::check_finite;
use crate::table::index_map::{NOWHERE, TableValue};
use crate::table::prefetch::prefetch;
use crate::table::{IndexMap, Search};

/// See the head of the file.
#[derive(Debug, Clone)]
pub(crate) struct SlotTables<V> {
    /// Feature to slot; 0 where there is none.
    slots: IndexMap<u32>,
    /// Slot to feature; slot 0 has none.
    features: Vec<u32>,
    /// Slot to what the task keeps for it, one table per task.
    of_task: Vec<IndexMap<V>>,
}

/// Where an example's features were found.
#[derive(Debug, Clone, Default)]
pub(crate) struct LocatedSlots {
    /// The slot of each feature, as it was when there were `known` slots.
    pub(crate) slots: Vec<u32>,
    known: usize,
    /// The search for the slots in the task's table.
    pub(crate) search: Search,
    /// Slots that the task's table has no entry for yet; scratch.
    pub(crate) fresh: Vec<u32>,
}

impl LocatedSlots {
    /// Finds the slots in the task's table: their places there, good until an entry is added.
    #[inline]
    pub(crate) fn finish<V: TableValue>(&mut self, table: &IndexMap<V>) -> &[u32] {
        self.search.finish(table, &self.slots);
        self.search.places()
    }
}

impl<V: TableValue> SlotTables<V> {
    pub(crate) fn new() -> Self {
        Self { slots: IndexMap::default(), features: vec![u32::MAX], of_task: Vec::new() }
    }

    /// The number of slots, slot 0 included.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.features.len()
    }

    /// Tasks up to the last one that has a table.
    pub(crate) fn tasks(&self) -> usize {
        self.of_task.len()
    }

    /// The table of a task; none if the task has never needed one.
    #[inline]
    pub(crate) fn table(&self, task: TaskId) -> Option<&IndexMap<V>> {
        self.of_task.get(task.index())
    }

    /// The table of a task, to be changed where it is.
    #[inline]
    pub(crate) fn known_mut(&mut self, task: TaskId) -> Option<&mut IndexMap<V>> {
        self.of_task.get_mut(task.index())
    }

    /// The table of a task, made if there is none.
    #[inline]
    pub(crate) fn table_mut(&mut self, task: TaskId) -> &mut IndexMap<V> {
        if self.of_task.len() <= task.index() {
            self.of_task.resize_with(task.index() + 1, IndexMap::default);
        }
        &mut self.of_task[task.index()]
    }

    /// The tables of some tasks, by increasing number, to be changed side by side; made if there are none.
    pub(crate) fn lend(&mut self, tasks: &[TaskId]) -> Vec<&mut IndexMap<V>> {
        if let Some(last) = tasks.last() {
            self.table_mut(*last);
        }
        lend(&mut self.of_task, tasks.iter().map(|task| task.index()))
    }

    /// Gives a slot to every feature of an example, and appends them.
    #[inline]
    pub(crate) fn number_all(&mut self, x: SparseView<'_>, slots: &mut Vec<u32>) {
        let first = slots.len();
        slots.extend(x.indices().iter().map(|feature| self.slots.get(*feature)));
        self.number(x, &mut slots[first..], |_| ());
    }

    /// Asks for the memory that it takes to locate an example.
    #[inline]
    pub(crate) fn ask(&self, task: TaskId, x: SparseView<'_>) {
        // The task's table says where its entries are.
        prefetch(&self.of_task, task.index());
        self.slots.prefetch_all(x.indices());
    }

    /// Finds the slots of an example's features.
    #[inline]
    pub(crate) fn find_slots(&self, x: SparseView<'_>, located: &mut LocatedSlots) {
        located.known = self.features.len();
        located.slots.clear();
        located.slots.extend(x.indices().iter().map(|feature| self.slots.get(*feature)));
    }

    /// Begins to look for the slots in the task's table, and asks for the memory that it takes.
    #[inline]
    pub(crate) fn begin_search(&self, task: TaskId, located: &mut LocatedSlots) {
        located.search.clear();
        self.table(task).into_iter().for_each(|table| located.search.begin(table, &located.slots));
    }

    /// Looks again for features that had no slot when the example was located; whether any slot has come since.
    #[inline]
    pub(crate) fn renew(&self, x: SparseView<'_>, located: &mut LocatedSlots) -> bool {
        if located.known == self.features.len() {
            return false;
        }
        located.known = self.features.len();
        for (feature, slot) in x.indices().iter().zip(&mut located.slots) {
            if *slot == NOWHERE {
                *slot = self.slots.get(*feature);
            }
        }
        located.search.forget();
        true
    }

    /// Gives a slot to every feature of an example that has none, and says which of them that were.
    #[inline]
    pub(crate) fn number(&mut self, x: SparseView<'_>, slots: &mut [u32], mut numbered: impl FnMut(usize)) {
        for (at, (feature, slot)) in x.indices().iter().zip(slots).enumerate() {
            if *slot == NOWHERE {
                *slot = self.add_slot(*feature);
                numbered(at);
            }
        }
    }

    /// The slot of a feature that has none.
    fn add_slot(&mut self, feature: u32) -> u32 {
        let slot = self.features.len() as u32;
        *self.slots.entry(feature) = slot;
        self.features.push(feature);
        slot
    }

    /// What a task keeps, by slot; the order depends on the history of its table and on a secret.
    pub(crate) fn entries(&self, task: TaskId) -> impl Iterator<Item = (u32, V)> {
        self.table(task).into_iter().flat_map(IndexMap::iter)
    }

    /// The squares of a number per entry of a task, in an order that does not depend on the history.
    pub(crate) fn squares(
        &self,
        task: TaskId,
        scratch: &mut Vec<(u32, V)>,
        number: impl Fn(V) -> f64,
    ) -> Squares {
        scratch.clear();
        scratch.extend(self.entries(task));
        scratch.sort_unstable_by_key(|pair| pair.0);
        Squares::of(scratch.iter().map(|(_, value)| number(*value)))
    }

    /// Weights by slot as weights by feature, zeros left out.
    pub(crate) fn by_feature(&self, weights: impl Iterator<Item = (u32, f64)>) -> Vec<(u32, f64)> {
        let non_zero = weights.filter(|(_, weight)| *weight != 0.0);
        let mut weights: Vec<_> =
            non_zero.map(|(slot, weight)| (self.features[slot as usize], weight)).collect();
        weights.sort_unstable_by_key(|pair| pair.0);
        weights
    }

    /// Bytes held.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.slots.heap_bytes()
            + self.features.capacity() * size_of::<u32>()
            + self.of_task.capacity() * size_of::<IndexMap<V>>()
            + self.of_task.iter().map(IndexMap::heap_bytes).sum::<usize>()
    }

    /// The saved form, with what is shared, and N numbers per entry of a task.
    ///
    /// Equal states give equal bytes, however they were reached: entries of zeros are left out, and so are trailing
    /// tasks that have no others.
    pub(crate) fn state<const N: usize>(
        &self,
        shared: Vec<f64>,
        numbers: impl Fn(TaskId, V) -> [f64; N],
    ) -> SlotTablesState {
        let (mut ends, mut slots, mut own) = (Vec::new(), Vec::new(), Vec::new());
        for (task, table) in self.of_task.iter().enumerate() {
            for (slot, value) in table.sorted() {
                let numbers = numbers(TaskId(task as u32), value);
                if numbers.iter().any(|number| *number != 0.0) {
                    slots.push(slot);
                    own.extend_from_slice(&numbers);
                }
            }
            ends.push(slots.len() as u64);
        }
        while ends.last().is_some_and(|end| *end == ends.len().checked_sub(2).map_or(0, |at| ends[at])) {
            ends.pop();
        }
        SlotTablesState {
            features: Block(self.features[1..].to_vec()),
            shared: Block(shared),
            own_ends: Block(ends),
            own_slots: Block(slots),
            own: Block(own),
        }
    }

    /// Takes a saved form, with the entry that each N numbers stand for; also what is shared.
    ///
    /// Checks all that later code trusts but the number of shared weights.
    pub(crate) fn restore<const N: usize>(
        tasks: usize,
        state: SlotTablesState,
        mut entry: impl FnMut([f64; N]) -> V,
    ) -> Result<(Self, Vec<f64>), StateError> {
        let mut tables = Self::new();
        for feature in state.features.0 {
            if feature == u32::MAX || tables.slots.get(feature) != NOWHERE {
                return Err(StateError::new("a feature is listed twice or out of range"));
            }
            tables.add_slot(feature);
        }
        check_finite(&state.shared.0)?;
        check_finite(&state.own.0)?;
        let (slots, ends) = (state.own_slots.0, state.own_ends.0);
        let mut numbers = rows_of::<N>(&state.own.0, slots.len())?.iter();
        if ends.len() > tasks {
            return Err(StateError::new("there are own weights of more tasks than there are"));
        }
        let disagree = || StateError::new("own weights and their ends disagree");
        if ends.last().copied().unwrap_or(0) != slots.len() as u64 {
            return Err(disagree());
        }
        let mut start = 0;
        for end in ends {
            let end = usize::try_from(end).map_err(|_| disagree())?;
            let keys = slots.get(start..end).ok_or_else(disagree)?;
            let increasing = keys.windows(2).all(|pair| pair[0] < pair[1]);
            let known = |slot: &u32| *slot != NOWHERE && (*slot as usize) < tables.len();
            if !(increasing && keys.first().is_none_or(known) && keys.last().is_none_or(known)) {
                return Err(StateError::new(
                    "a task's slots are not increasing, from 1 to the number of features",
                ));
            }
            let mut table = IndexMap::default();
            for (slot, numbers) in keys.iter().zip(&mut numbers) {
                *table.entry(*slot) = entry(*numbers);
            }
            tables.of_task.push(table);
            start = end;
        }
        Ok((tables, state.shared.0))
    }
}

/// Numbers cut into rows, of which there must be so many.
pub(crate) fn rows_of<const N: usize>(numbers: &[f64], rows: usize) -> Result<&[[f64; N]], StateError> {
    let (cut, rest) = numbers.as_chunks::<N>();
    if cut.len() != rows || !rest.is_empty() {
        return Err(StateError::new("a row does not have one weight per vector"));
    }
    Ok(cut)
}

/// Saved form of [`SlotTables`] and of what is shared beside them; docs/formats.md has its fields.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct SlotTablesState {
    /// Features in order of slot, from 1.
    features: Block<u32>,
    /// Shared weights of each slot, one row after the other; empty where nothing is shared.
    shared: Block<f64>,
    /// Where each task's entries end in the next two.
    own_ends: Block<u64>,
    own_slots: Block<u32>,
    own: Block<f64>,
}

impl SlotTablesState {
    /// Multiplies all weights; of rows, each number by its factor.
    pub(crate) fn scale(&mut self, own: &[f64], shared: &[f64]) {
        for (weights, factors) in [(&mut self.own, own), (&mut self.shared, shared)] {
            weights.0.iter_mut().zip(factors.iter().cycle()).for_each(|(weight, factor)| *weight *= factor);
        }
    }

    /// Takes out a task's own entries; tasks after it come one number earlier.
    pub(crate) fn remove_task(&mut self, task: usize) {
        let Some(end) = self.own_ends.0.get(task).copied() else { return };
        let start = if task == 0 { 0 } else { self.own_ends.0[task - 1] };
        let width = self.own.0.len().checked_div(self.own_slots.0.len()).unwrap_or(0);
        let entries = start as usize..end as usize;
        self.own.0.drain(entries.start * width..entries.end * width);
        self.own_slots.0.drain(entries);
        self.own_ends.0.remove(task);
        self.own_ends.0[task..].iter_mut().for_each(|later| *later -= end - start);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Features 7 and 3, in slots 1 and 2; the second task keeps a weight for each, the first none.
    fn saved(ends: &[u64], slots: &[u32], own: &[f64]) -> SlotTablesState {
        SlotTablesState {
            features: Block(vec![7, 3]),
            shared: Block(Vec::new()),
            own_ends: Block(ends.to_vec()),
            own_slots: Block(slots.to_vec()),
            own: Block(own.to_vec()),
        }
    }

    fn refusal(tasks: usize, state: SlotTablesState) -> String {
        SlotTables::restore(tasks, state, |[weight]| weight).map(|_| ()).unwrap_err().to_string()
    }

    #[test]
    fn features_get_slots_in_the_order_in_which_they_are_touched() {
        let mut tables = SlotTables::<f64>::new();
        let x = SparseView::trusted(&[3, 7], &[1.0, 1.0]);
        let (mut located, mut numbered) = (LocatedSlots::default(), Vec::new());
        for touched in [SparseView::trusted(&[7], &[1.0]), x] {
            tables.find_slots(touched, &mut located);
            tables.number(touched, &mut located.slots, |at| numbered.push((touched.indices()[at], at)));
        }
        assert_eq!((numbered, &located.slots[..], tables.len()), (vec![(7, 0), (3, 0)], &[2, 1][..], 3));
        let mut before = LocatedSlots::default();
        SlotTables::<f64>::new().find_slots(x, &mut before);
        assert!(tables.renew(x, &mut before) && !tables.renew(x, &mut before));
        assert_eq!(before.slots, [2, 1]);
    }

    #[test]
    fn what_is_saved_comes_back_without_zeros_and_trailing_tasks() {
        let (mut tables, shared) =
            SlotTables::restore(2, saved(&[0, 2], &[1, 2], &[0.5, -2.0]), |[weight]| weight).unwrap();
        assert!(shared.is_empty());
        *tables.table_mut(TaskId(4)).entry(1) = 0.0;
        let state = tables.state(vec![1.0, 2.0], |_, weight| [weight]);
        assert_eq!((state.features.0, state.shared.0), (vec![7, 3], vec![1.0, 2.0]));
        assert_eq!(
            (state.own_ends.0, state.own_slots.0, state.own.0),
            (vec![0, 2], vec![1, 2], vec![0.5, -2.0])
        );
        assert_eq!(tables.by_feature(tables.entries(TaskId(1))), [(3, -2.0), (7, 0.5)]);
    }

    #[test]
    fn what_cannot_have_been_saved_is_refused() {
        let slots = "a task's slots are not increasing, from 1 to the number of features";
        for keys in [[0, 1], [1, 1], [2, 1], [1, 3]] {
            assert_eq!(refusal(1, saved(&[2], &keys, &[1.0, 1.0])), slots, "{keys:?}");
        }
        let ends = "own weights and their ends disagree";
        for [one, two] in [[2, 1], [3, 2], [0, 1]] {
            assert_eq!(refusal(2, saved(&[one, two], &[1, 2], &[1.0, 1.0])), ends, "{one}, {two}");
        }
        let rows = refusal(2, saved(&[2], &[1, 2], &[1.0, 1.0, 1.0]));
        assert_eq!(rows, "a row does not have one weight per vector");
        let tasks = refusal(1, saved(&[0, 2], &[1, 2], &[1.0, 1.0]));
        assert_eq!(tasks, "there are own weights of more tasks than there are");
        let twice = SlotTablesState { features: Block(vec![7, 7]), ..saved(&[], &[], &[]) };
        assert_eq!(refusal(2, twice), "a feature is listed twice or out of range");
    }
}
