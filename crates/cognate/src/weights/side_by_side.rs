//! Several weight vectors side by side: S shared ones, and O of every task's own, on [`SlotTables`].
//!
//! They see the same examples and differ in their weights: several learners, or several parts of one. A feature is
//! looked up once for all of them, and what they hold for it lies in one row, so a vector more costs arithmetic, not
//! memory accesses. Touched weights only: a row appears when the first of them needs it.
#![expect(clippy::inline_always, reason = "only what is inlined is compiled for wide vectors")]

use super::chunked_rows::ChunkedRows;
use super::norm::Squares;
use super::slot_tables::{LocatedSlots, SlotTables, SlotTablesState, rows_of};
use crate::error::StateError;
use crate::example::{SparseView, TaskId};
use crate::table::cache_line::CacheLine;
use crate::table::index_map::NOWHERE;
use crate::table::prefetch::prefetch;
use crate::table::{IndexMap, Locate};

/// See the head of the file.
#[derive(Debug, Clone)]
pub(crate) struct SideBySide<const S: usize, const O: usize> {
    /// The row of each task's own weights; 0 where there is none.
    tables: SlotTables<u32>,
    /// Own weights of all tasks; those of row 0 are 0 for ever.
    rows: ChunkedRows<O>,
    /// Shared weights: of each slot one row per group of tasks, in as few cache lines as can be; those of slot 0 are 0 for
    /// ever.
    shared: Vec<CacheLine>,
    groups: usize,
    /// The group of each task; those that are not listed are where they begin.
    group_of: Vec<u32>,
}

/// Where an example's weights were found.
#[derive(Debug, Clone, Default)]
pub(crate) struct Found {
    task: u32,
    located: LocatedSlots,
    /// Rows of the task's own weights, in its table as it was when it had changed so often.
    rows: Vec<u32>,
    changed: Option<u32>,
}

impl<const S: usize, const O: usize> Locate for SideBySide<S, O> {
    type Located = Found;

    // Rows of the next example too: they are on their way while this one learns.
    const SETTLED: usize = 2;

    fn ask(&self, task: TaskId, x: SparseView<'_>) {
        self.tables.ask(task, x);
    }

    fn locate(&self, task: TaskId, x: SparseView<'_>, found: &mut Found) {
        let located = &mut found.located;
        self.tables.find_slots(x, located);
        let (step, group) = (self.groups * S, self.group(task) * S);
        located
            .slots
            .iter()
            .for_each(|slot| prefetch(&self.shared, (*slot as usize * step + group) / CacheLine::NUMBERS));
        self.tables.begin_search(task, located);
        found.task = task.0;
        found.changed = None;
    }

    fn settle(&self, task: TaskId, x: SparseView<'_>, found: &mut Found) {
        if self.tables.renew(x, &mut found.located) {
            // Rows that are missing are looked for again.
            found.changed = found.changed.map(|changed| changed.wrapping_sub(1));
        }
        self.find_rows(task, found);
    }
}

impl<const S: usize, const O: usize> SideBySide<S, O> {
    pub(crate) fn new() -> Self {
        Self::with_groups(1)
    }

    /// Tables for tasks that share their weights with their group.
    pub(crate) fn with_groups(groups: usize) -> Self {
        Self {
            tables: SlotTables::new(),
            rows: ChunkedRows::new(),
            shared: vec![CacheLine::ZERO; (groups * S).div_ceil(CacheLine::NUMBERS)],
            groups,
            group_of: Vec::new(),
        }
    }

    /// Shared rows by slot, and perhaps some more of zeros.
    #[inline]
    fn shared_rows(&self) -> &[[f64; S]] {
        CacheLine::rows(&self.shared)
    }

    #[inline]
    fn shared_rows_mut(&mut self) -> &mut [[f64; S]] {
        CacheLine::rows_mut(&mut self.shared)
    }

    /// The group of a task.
    #[inline]
    pub(crate) fn group(&self, task: TaskId) -> usize {
        if self.groups == 1 {
            return 0;
        }
        self.group_of
            .get(task.index())
            .map_or_else(|| first_group(task.0, self.groups), |group| *group as usize)
    }

    /// Puts a task into a group, from now on.
    pub(crate) fn set_group(&mut self, task: TaskId, group: usize) {
        debug_assert!(group < self.groups, "there are {} groups", self.groups);
        if self.group_of.len() <= task.index() {
            let known = self.group_of.len() as u32;
            let groups = self.groups;
            self.group_of.extend((known..=task.0).map(|task| first_group(task, groups) as u32));
        }
        self.group_of[task.index()] = group as u32;
    }

    /// Where the shared row of a slot is.
    #[inline]
    fn at(&self, slot: u32, group: usize) -> usize {
        slot as usize * self.groups + group
    }

    /// Where the shared rows end.
    fn end(&self) -> usize {
        self.tables.len() * self.groups
    }

    /// Shared rows of every slot, with little room to spare: this is one of the largest arrays that a learner has.
    fn grow_shared(&mut self) {
        let lines = (self.end() * S).div_ceil(CacheLine::NUMBERS);
        if lines > self.shared.capacity() {
            self.shared.reserve_exact((lines - self.shared.len()).max(self.shared.len() / 4));
        }
        self.shared.resize(lines, CacheLine::ZERO);
    }

    /// Finds the rows of a located example, and asks for them; those that are found stay where they are.
    fn find_rows(&self, task: TaskId, found: &mut Found) {
        let Some(own) = self.tables.table(task) else {
            found.rows.clear();
            found.rows.resize(found.located.slots.len(), NOWHERE);
            return;
        };
        match found.changed {
            Some(changed) if changed == own.changed() => return,
            Some(_) => {
                let rows = found.located.slots.iter().zip(&mut found.rows);
                rows.filter(|(_, row)| **row == NOWHERE).for_each(|(slot, row)| *row = own.get(*slot));
            }
            None => {
                found.rows.clear();
                found.rows.extend(found.located.finish(own).iter().map(|place| own.at(*place)));
                found.rows.iter().for_each(|row| self.rows.prefetch(*row));
            }
        }
        found.changed = Some(own.changed());
    }

    /// Shows what is held for each feature of an example whose rows have been found, with the feature's value.
    #[inline(always)]
    pub(crate) fn for_each(
        &self,
        x: SparseView<'_>,
        found: &Found,
        mut see: impl FnMut(&[f64; S], &[f64; O], f64),
    ) {
        debug_assert!(
            found.located.slots.len() == x.len() && found.rows.len() == x.len(),
            "found for this example"
        );
        let (shared, group) = (self.shared_rows(), self.group(TaskId(found.task)));
        for ((slot, row), value) in found.located.slots.iter().zip(&found.rows).zip(x.values()) {
            see(&shared[self.at(*slot, group)], self.rows.at(*row), *value);
        }
    }

    /// Locates an example and finds its rows.
    pub(crate) fn find(&self, task: TaskId, x: SparseView<'_>, found: &mut Found) {
        self.locate(task, x, found);
        self.find_rows(task, found);
    }

    /// Changes what is held for each feature of an example whose rows have been found; rows that are missing come first.
    #[inline]
    pub(crate) fn change(
        &mut self,
        task: TaskId,
        x: SparseView<'_>,
        found: &mut Found,
        change: impl FnMut(&mut [f64; S], &mut [f64; O], f64),
    ) {
        self.make_rows(task, x, found);
        self.for_each_mut(x, found, change);
    }

    /// The same where no row is missing.
    #[inline(always)]
    pub(crate) fn for_each_mut(
        &mut self,
        x: SparseView<'_>,
        found: &Found,
        mut change: impl FnMut(&mut [f64; S], &mut [f64; O], f64),
    ) {
        let (groups, group) = (self.groups, self.group(TaskId(found.task)));
        let shared = CacheLine::rows_mut(&mut self.shared);
        for ((slot, row), value) in found.located.slots.iter().zip(&found.rows).zip(x.values()) {
            change(&mut shared[*slot as usize * groups + group], self.rows.at_mut(*row), *value);
        }
    }

    /// Makes slots and rows for the features of an example that have none.
    pub(crate) fn make_rows(&mut self, task: TaskId, x: SparseView<'_>, found: &mut Found) {
        self.make_slots(x, found);
        self.add_rows(task, found);
    }

    /// Makes slots only: rows that are missing read as zero, and must stay so.
    pub(crate) fn make_slots(&mut self, x: SparseView<'_>, found: &mut Found) {
        self.tables.number(x, &mut found.located.slots, |_| {});
        self.grow_shared();
    }

    /// What is held for the features of an example, one by one: the slot, what is shared, the task's own.
    pub(crate) fn held<'a>(
        &'a self,
        found: &'a Found,
    ) -> impl Iterator<Item = (u32, &'a [f64; S], &'a [f64; O])> {
        let (shared, group) = (self.shared_rows(), self.group(TaskId(found.task)));
        let rows = found.located.slots.iter().zip(&found.rows);
        rows.map(move |(slot, row)| (*slot, &shared[self.at(*slot, group)], self.rows.at(*row)))
    }

    /// Shows what every group holds for each feature of an example that has been located, with the feature's value.
    pub(crate) fn for_each_group(
        &self,
        x: SparseView<'_>,
        found: &Found,
        mut see: impl FnMut(&[[f64; S]], f64),
    ) {
        let shared = self.shared_rows();
        for (slot, value) in found.located.slots.iter().zip(x.values()) {
            see(&shared[self.at(*slot, 0)..self.at(*slot, self.groups)], *value);
        }
    }

    /// The number of groups.
    pub(crate) fn groups(&self) -> usize {
        self.groups
    }

    /// So many groups from now on, each with a copy of the rows that come of those of the old ones, slot by slot; no task has been
    /// put into one.
    pub(crate) fn regroup(&mut self, groups: usize, row: impl Fn(&[[f64; S]]) -> [f64; S]) {
        let rows: Vec<[f64; S]> =
            self.shared_rows()[..self.end()].chunks_exact(self.groups).map(row).collect();
        self.groups = groups;
        self.group_of.clear();
        self.shared = Vec::new();
        self.grow_shared();
        let chunks = self.shared_rows_mut()[..rows.len() * groups].chunks_exact_mut(groups);
        chunks.zip(rows).for_each(|(chunk, row)| chunk.fill(row));
    }

    /// The first rows of all groups, slot by slot from slot 0 on.
    pub(crate) fn slots_of_groups(&self) -> impl Iterator<Item = &[[f64; S]]> {
        self.shared_rows()[..self.end()].chunks_exact(self.groups)
    }

    /// The rows of a task, by slot in no order.
    pub(crate) fn each_own(&self, task: TaskId, mut see: impl FnMut(u32, &[f64; O])) {
        self.tables.entries(task).for_each(|(slot, row)| see(slot, self.rows.at(row)));
    }

    /// Changes every row of a task, each for itself, beside the shared one.
    pub(crate) fn change_beside_shared(
        &mut self,
        task: TaskId,
        mut change: impl FnMut(&mut [f64; O], &[f64; S]),
    ) {
        let (groups, group) = (self.groups, self.group(task));
        let shared = CacheLine::rows::<S>(&self.shared);
        for (slot, row) in self.tables.entries(task) {
            change(self.rows.at_mut(row), &shared[slot as usize * groups + group]);
        }
    }

    /// Tasks up to the last one that has weights of its own.
    pub(crate) fn tasks(&self) -> usize {
        self.tables.tasks()
    }

    /// The number of slots; 0 is that of features never touched.
    pub(crate) fn slots(&self) -> usize {
        self.tables.len()
    }

    /// What all tasks share, feature by feature.
    pub(crate) fn shared(&self) -> impl Iterator<Item = &[f64; S]> {
        self.shared_rows()[self.groups..self.end()].iter()
    }

    /// The rows of a task, by slot.
    pub(crate) fn rows_of(&self, task: TaskId) -> impl Iterator<Item = &[f64; O]> {
        let rows = self.tables.table(task).into_iter().flat_map(IndexMap::sorted);
        rows.map(|(_, row)| self.rows.at(row))
    }

    /// A task's row for a slot, made if there is none.
    pub(crate) fn row(&mut self, task: TaskId, slot: u32) -> &mut [f64; O] {
        let row = self.tables.table_mut(task).entry(slot);
        if *row == NOWHERE {
            *row = self.rows.len() as u32;
            self.rows.grow(*row as usize + 1);
        }
        self.rows.at_mut(*row)
    }

    /// Changes everything that is held.
    pub(crate) fn change_all(&mut self, shared: impl FnMut(&mut [f64; S]), own: impl FnMut(&mut [f64; O])) {
        self.change_shared(shared);
        self.rows.for_each_mut(own);
    }

    /// Changes what all tasks share, of every feature; zeros must stay zeros.
    pub(crate) fn change_shared(&mut self, change: impl FnMut(&mut [f64; S])) {
        let first = self.groups;
        self.shared_rows_mut()[first..].iter_mut().for_each(change);
    }

    /// The squares of one of the shared vectors.
    pub(crate) fn shared_squares(&self, at: usize) -> Squares {
        Squares::of(self.shared_rows()[..self.end()].iter().map(|row| row[at]))
    }

    /// Changes every row of a task, each for itself: their order depends on the history of the table and on a secret.
    pub(crate) fn change_rows(&mut self, task: TaskId, mut change: impl FnMut(&mut [f64; O])) {
        for (_, row) in self.tables.entries(task) {
            change(self.rows.at_mut(row));
        }
    }

    /// The squares of a number per row of a task.
    pub(crate) fn sum_squares(
        &self,
        task: TaskId,
        scratch: &mut Vec<(u32, u32)>,
        number: impl Fn(&[f64; O]) -> f64,
    ) -> Squares {
        self.tables.squares(task, scratch, |row| number(self.rows.at(row)))
    }

    /// Makes rows for the slots that the task has none for.
    fn add_rows(&mut self, task: TaskId, found: &mut Found) {
        let own = self.tables.table_mut(task);
        let LocatedSlots { slots, fresh, .. } = &mut found.located;
        let missing = |(slot, row): (&u32, &u32)| (*row == NOWHERE).then_some(*slot);
        fresh.clear();
        fresh.extend(slots.iter().zip(&found.rows).filter_map(missing));
        own.reserve(fresh);
        let mut next = self.rows.len();
        for (slot, row) in slots.iter().zip(&mut found.rows) {
            if *row == NOWHERE {
                *row = next as u32;
                *own.new_entry(*slot) = *row;
                next += 1;
            }
        }
        self.rows.grow(next);
    }

    /// Non-zero weights by feature, of what is shared and a task's own.
    pub(crate) fn weights(
        &self,
        task: TaskId,
        weight: impl Fn(&[f64; S], &[f64; O]) -> f64,
    ) -> Vec<(u32, f64)> {
        self.weights_by_slot(task, |_, shared, own| weight(shared, own))
    }

    /// The same of weights that depend on the slot too.
    pub(crate) fn weights_by_slot(
        &self,
        task: TaskId,
        weight: impl Fn(u32, &[f64; S], &[f64; O]) -> f64,
    ) -> Vec<(u32, f64)> {
        let own = self.tables.table(task);
        let (shared, group) = (self.shared_rows(), self.group(task));
        self.tables.by_feature((1..self.slots() as u32).map(|slot| {
            let row = self.rows.at(own.map_or(NOWHERE, |own| own.get(slot)));
            (slot, weight(slot, &shared[self.at(slot, group)], row))
        }))
    }

    /// Non-zero numbers by feature, of what the tasks of a group share.
    pub(crate) fn shared_weights(&self, group: usize, weight: impl Fn(&[f64; S]) -> f64) -> Vec<(u32, f64)> {
        let shared = self.shared_rows();
        let slots = 1..self.slots() as u32;
        self.tables.by_feature(slots.map(|slot| (slot, weight(&shared[self.at(slot, group)]))))
    }

    /// Non-zero numbers by feature, of what is a task's own.
    pub(crate) fn own_weights(&self, task: TaskId, weight: impl Fn(&[f64; O]) -> f64) -> Vec<(u32, f64)> {
        let rows = self.tables.entries(task);
        self.tables.by_feature(rows.map(|(slot, row)| (slot, weight(self.rows.at(row)))))
    }

    /// Bytes held.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.tables.heap_bytes()
            + self.shared.capacity() * size_of::<CacheLine>()
            + self.group_of.capacity() * size_of::<u32>()
            + self.rows.heap_bytes()
    }

    /// The saved form, with N numbers per row of a task.
    pub(crate) fn state<const N: usize>(
        &self,
        saved: impl Fn(TaskId, &[f64; O]) -> [f64; N],
    ) -> SlotTablesState {
        let shared = self.shared_rows()[self.groups..self.end()].concat();
        self.tables.state(shared, |task, row| saved(task, self.rows.at(row)))
    }

    /// Takes a saved form, with the row that each N numbers stand for, and checks everything that later code trusts.
    pub(crate) fn restore<const N: usize>(
        tasks: usize,
        state: SlotTablesState,
        row: impl Fn([f64; N]) -> [f64; O],
    ) -> Result<Self, StateError> {
        Self::restore_groups(1, tasks, state, row)
    }

    /// The same with so many groups.
    pub(crate) fn restore_groups<const N: usize>(
        groups: usize,
        tasks: usize,
        state: SlotTablesState,
        row: impl Fn([f64; N]) -> [f64; O],
    ) -> Result<Self, StateError> {
        let mut weights = Self::with_groups(groups);
        let rows = &mut weights.rows;
        let (tables, shared) = SlotTables::restore(tasks, state, |saved| rows.push(row(saved)))?;
        weights.tables = tables;
        weights.grow_shared();
        let saved = rows_of(&shared, weights.end() - groups)?;
        weights.shared_rows_mut()[groups..].iter_mut().zip(saved).for_each(|(row, saved)| *row = *saved);
        Ok(weights)
    }
}

/// The group that a task begins in: as good as drawn, for numbers in turn may follow the tasks' true kinds.
fn first_group(task: u32, groups: usize) -> usize {
    let drawn = u64::from(task).wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    ((drawn ^ (drawn >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 33) as usize % groups
}
