//! Several weight vectors side by side: S shared ones, and O of every task's own, on [`SlotTables`].
//!
//! They see the same examples and differ in their weights: several learners, or several parts of one. A feature is
//! looked up once for all of them, and what they hold for it lies in one row, so a vector more costs arithmetic, not
//! memory accesses. Touched weights only: a row appears when the first of them needs it.
#![expect(clippy::inline_always, reason = "only what is inlined is compiled for wide vectors")]

use super::chunked_rows::ChunkedRows;
use super::norm::Squares;
use super::own_rows::OwnRows;
use super::slot_tables::{LocatedSlots, SlotTables, SlotTablesState, rows_of};
use crate::error::StateError;
use crate::example::{SparseView, TaskId};
use crate::table::cache_line::CacheLine;
use crate::table::index_map::NOWHERE;
use crate::table::prefetch::prefetch;
use crate::table::{IndexMap, Locate};

/// See the head of the file.
#[derive(Debug, Clone)]
pub(crate) struct SideBySide<const S: usize, const O: usize, R: OwnRows<O> = ChunkedRows<O>> {
    /// What each task has for a slot: its row, or where that is.
    tables: SlotTables<R::Entry>,
    /// Own weights of all tasks.
    rows: R,
    /// Shared weights: of each slot one row per group of tasks, in as few cache lines as can be; those of slot 0 are 0 for
    /// ever.
    shared: Vec<CacheLine>,
    /// The first number of every group's row once more, side by side for each slot; empty where there is one group.
    firsts: Vec<CacheLine>,
    groups: usize,
    /// The group of each task; those that are not listed are where they begin.
    group_of: Vec<u32>,
}

/// Where an example's weights were found.
#[derive(Debug, Clone, Default)]
pub(crate) struct Found {
    task: u32,
    pub(super) located: LocatedSlots,
    /// Rows of the task's own weights, in its table as it was when it had changed so often.
    pub(super) rows: Vec<u32>,
    pub(super) changed: Option<u32>,
    /// The same of a table whose rows move, when it had moved so often.
    pub(super) moved: Option<u32>,
}

impl Found {
    /// The slot of each feature, and the row of the task's own numbers.
    #[inline(always)]
    pub(crate) fn places(&self) -> impl Iterator<Item = (u32, u32)> {
        self.located.slots.iter().copied().zip(self.rows.iter().copied())
    }
}

/// The rows of the task and the group of an example, by slot and row.
#[derive(Debug)]
pub(crate) struct Rows<'a, const S: usize, const O: usize, R> {
    shared: &'a [[f64; S]],
    kept: &'a R,
    lines: &'a [CacheLine],
    groups: usize,
    group: usize,
}

impl<'a, const S: usize, const O: usize, R: OwnRows<O>> Rows<'a, S, O, R> {
    #[inline(always)]
    pub(crate) fn shared(&self, slot: u32) -> &'a [f64; S] {
        &self.shared[slot as usize * self.groups + self.group]
    }

    #[inline(always)]
    pub(crate) fn own(&self, row: u32) -> [f64; O] {
        self.kept.at(self.lines, row)
    }
}

/// The same, to be changed.
#[derive(Debug)]
pub(crate) struct RowsMut<'a, const S: usize, const O: usize, R> {
    shared: &'a mut [[f64; S]],
    firsts: &'a mut [f64],
    kept: &'a mut R,
    lines: &'a mut [CacheLine],
    groups: usize,
    group: usize,
}

impl<const S: usize, const O: usize, R: OwnRows<O>> RowsMut<'_, S, O, R> {
    #[inline(always)]
    pub(crate) fn change_shared<T>(&mut self, slot: u32, change: impl FnOnce(&mut [f64; S]) -> T) -> T {
        let row = &mut self.shared[slot as usize * self.groups + self.group];
        let changed = change(row);
        if self.groups > 1 {
            self.firsts[slot as usize * side_by_side(self.groups) + self.group] = row[0];
        }
        changed
    }

    #[inline(always)]
    pub(crate) fn own(&self, row: u32) -> [f64; O] {
        self.kept.at(self.lines, row)
    }

    /// What is not there must stay zero.
    #[inline(always)]
    pub(crate) fn put(&mut self, row: u32, own: [f64; O]) {
        self.kept.put(self.lines, row, own);
    }
}

impl<const S: usize, const O: usize, R: OwnRows<O>> Locate for SideBySide<S, O, R> {
    type Located = Found;

    const SETTLED: usize = R::SETTLED;

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
        if self.groups > 1 {
            let step = side_by_side(self.groups);
            let ask = |slot: &u32| prefetch(&self.firsts, *slot as usize * step / CacheLine::NUMBERS);
            located.slots.iter().for_each(ask);
        }
        self.tables.begin_search(task, located);
        found.task = task.0;
        (found.changed, found.moved) = (None, None);
    }

    /// What is known of all features stays so.
    #[inline]
    fn locate_again(&self, task: TaskId, x: SparseView<'_>, found: &mut Found) {
        if found.located.slots.contains(&NOWHERE) || found.rows.contains(&NOWHERE) {
            self.locate(task, x, found);
        }
    }

    fn settle(&self, task: TaskId, x: SparseView<'_>, found: &mut Found) {
        if self.tables.renew(x, &mut found.located) {
            // Rows that are missing are looked for again.
            found.changed = found.changed.map(|changed| changed.wrapping_sub(1));
        }
        self.rows.find(self.tables.table(task), found);
    }
}

impl<const S: usize, const O: usize, R: OwnRows<O>> SideBySide<S, O, R> {
    pub(crate) fn new() -> Self {
        Self::with_groups(1)
    }

    /// Tables for tasks that share their weights with their group.
    pub(crate) fn with_groups(groups: usize) -> Self {
        Self {
            tables: SlotTables::new(),
            rows: R::new(),
            shared: vec![CacheLine::ZERO; (groups * S).div_ceil(CacheLine::NUMBERS)],
            firsts: vec![CacheLine::ZERO; lines_of_firsts(groups, 1)],
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
        let (end, slots) = (self.end(), self.tables.len());
        grow(&mut self.shared, (end * S).div_ceil(CacheLine::NUMBERS));
        grow(&mut self.firsts, lines_of_firsts(self.groups, slots));
    }

    /// Copies the first numbers of all rows, where those have changed.
    fn renew_firsts(&mut self) {
        if self.groups == 1 {
            return;
        }
        let step = side_by_side(self.groups);
        let rows = CacheLine::rows::<S>(&self.shared).chunks_exact(self.groups);
        for (firsts, rows) in CacheLine::all_numbers_mut(&mut self.firsts).chunks_exact_mut(step).zip(rows) {
            firsts.iter_mut().zip(rows).for_each(|(first, row)| *first = row[0]);
        }
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
        let rows = self.rows(found);
        for ((slot, row), value) in found.places().zip(x.values()) {
            see(rows.shared(slot), &rows.own(row), *value);
        }
    }

    /// Locates an example and finds its rows.
    pub(crate) fn find(&self, task: TaskId, x: SparseView<'_>, found: &mut Found) {
        self.locate(task, x, found);
        self.rows.find(self.tables.table(task), found);
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
        let mut rows = self.rows_mut(found);
        for ((slot, row), value) in found.places().zip(x.values()) {
            let mut own = rows.own(row);
            rows.change_shared(slot, |shared| change(shared, &mut own, *value));
            rows.put(row, own);
        }
    }

    /// The rows of an example that has been found, by its places.
    #[inline(always)]
    pub(crate) fn rows(&self, found: &Found) -> Rows<'_, S, O, R> {
        let task = TaskId(found.task);
        Rows {
            shared: self.shared_rows(),
            kept: &self.rows,
            lines: self.tables.table(task).map_or(&[], IndexMap::lines),
            groups: self.groups,
            group: self.group(task),
        }
    }

    /// The same, to be changed.
    #[inline(always)]
    pub(crate) fn rows_mut(&mut self, found: &Found) -> RowsMut<'_, S, O, R> {
        let task = TaskId(found.task);
        RowsMut {
            groups: self.groups,
            group: self.group(task),
            shared: CacheLine::rows_mut(&mut self.shared),
            firsts: CacheLine::all_numbers_mut(&mut self.firsts),
            kept: &mut self.rows,
            lines: self.tables.known_mut(task).map_or(&mut [], IndexMap::lines_mut),
        }
    }

    /// Makes slots and rows for the features of an example that have none.
    pub(crate) fn make_rows(&mut self, task: TaskId, x: SparseView<'_>, found: &mut Found) {
        self.make_slots(x, found);
        self.rows.add(self.tables.table_mut(task), found);
    }

    /// Makes slots only: rows that are missing read as zero, and must stay so.
    pub(crate) fn make_slots(&mut self, x: SparseView<'_>, found: &mut Found) {
        let Found { located, rows, .. } = found;
        if located.slots.contains(&NOWHERE) {
            // They were found at the place of slot 0.
            self.tables.number(x, &mut located.slots, |at| rows[at] = NOWHERE);
            self.grow_shared();
        }
    }

    /// What is held for the features of an example, one by one: the slot, what is shared, the task's own.
    pub(crate) fn held<'a>(
        &'a self,
        found: &'a Found,
    ) -> impl Iterator<Item = (u32, &'a [f64; S], [f64; O])> {
        let rows = self.rows(found);
        found.places().map(move |(slot, row)| (slot, rows.shared(slot), rows.own(row)))
    }

    /// What the first number of every group's shared rows, times the values of an example that has been found, adds up to.
    #[inline(always)]
    pub(crate) fn sum_of_groups(&self, x: SparseView<'_>, found: &Found, sums: &mut [f64]) {
        debug_assert!(self.groups > 1, "one group's are not side by side");
        let step = side_by_side(self.groups);
        let (fours, _) = CacheLine::all_numbers(&self.firsts).as_chunks::<FIRSTS>();
        for (at, sums) in sums.chunks_mut(FIRSTS).enumerate() {
            let mut total = [0.0; FIRSTS];
            for (slot, value) in found.located.slots.iter().zip(x.values()) {
                let firsts = &fours[*slot as usize * (step / FIRSTS) + at];
                for at in 0..FIRSTS {
                    total[at] += firsts[at] * value;
                }
            }
            sums.copy_from_slice(&total[..sums.len()]);
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
        (self.shared, self.firsts) = (Vec::new(), Vec::new());
        self.grow_shared();
        let chunks = self.shared_rows_mut()[..rows.len() * groups].chunks_exact_mut(groups);
        chunks.zip(rows).for_each(|(chunk, row)| chunk.fill(row));
        self.renew_firsts();
    }

    /// The first rows of all groups, slot by slot from slot 0 on.
    pub(crate) fn slots_of_groups(&self) -> impl Iterator<Item = &[[f64; S]]> {
        self.shared_rows()[..self.end()].chunks_exact(self.groups)
    }

    /// The rows of a task for the first slots, in order; zeros where it has none.
    pub(crate) fn first_own(&self, task: TaskId, slots: usize) -> impl Iterator<Item = [f64; O]> {
        let own = self.tables.table(task);
        (0..slots as u32).map(move |slot| own.map_or([0.0; O], |own| self.rows.row(own.get(slot))))
    }

    /// Changes every row of a task, each for itself, beside the shared one.
    pub(crate) fn change_beside_shared(
        &mut self,
        task: TaskId,
        mut change: impl FnMut(&mut [f64; O], &[f64; S]),
    ) {
        let (groups, group) = (self.groups, self.group(task));
        let shared = CacheLine::rows::<S>(&self.shared);
        for (slot, mut entry) in self.tables.entries(task).collect::<Vec<_>>() {
            self.rows.change(&mut entry, |own| change(own, &shared[slot as usize * groups + group]));
            *self.tables.table_mut(task).entry(slot) = entry;
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
    pub(crate) fn rows_of(&self, task: TaskId) -> impl Iterator<Item = [f64; O]> {
        let rows = self.tables.table(task).into_iter().flat_map(IndexMap::sorted);
        rows.map(|(_, entry)| self.rows.row(entry))
    }

    /// Changes everything that is held.
    pub(crate) fn change_all(
        &mut self,
        shared: impl FnMut(&mut [f64; S]),
        mut own: impl FnMut(&mut [f64; O]),
    ) {
        self.change_shared(shared);
        for task in 0..self.tables.tasks() as u32 {
            self.change_rows(TaskId(task), &mut own);
        }
    }

    /// Changes what all tasks share, of every feature; zeros must stay zeros.
    pub(crate) fn change_shared(&mut self, change: impl FnMut(&mut [f64; S])) {
        let first = self.groups;
        self.shared_rows_mut()[first..].iter_mut().for_each(change);
        self.renew_firsts();
    }

    /// The squares of one of the shared vectors.
    pub(crate) fn shared_squares(&self, at: usize) -> Squares {
        Squares::of(self.shared_rows()[..self.end()].iter().map(|row| row[at]))
    }

    /// Changes every row of a task, each for itself: their order depends on the history of the table and on a secret.
    pub(crate) fn change_rows(&mut self, task: TaskId, mut change: impl FnMut(&mut [f64; O])) {
        let Self { tables, rows, .. } = self;
        if let Some(table) = tables.known_mut(task) {
            table.for_each_mut(|entry| rows.change(entry, &mut change));
        }
    }

    /// The squares of a number per row of a task.
    pub(crate) fn sum_squares(
        &self,
        task: TaskId,
        scratch: &mut Vec<(u32, R::Entry)>,
        number: impl Fn(&[f64; O]) -> f64,
    ) -> Squares {
        self.tables.squares(task, scratch, |entry| number(&self.rows.row(entry)))
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
            let row = own.map_or([0.0; O], |own| self.rows.row(own.get(slot)));
            (slot, weight(slot, &shared[self.at(slot, group)], &row))
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
        self.tables.by_feature(rows.map(|(slot, entry)| (slot, weight(&self.rows.row(entry)))))
    }

    /// Bytes held.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.tables.heap_bytes()
            + (self.shared.capacity() + self.firsts.capacity()) * size_of::<CacheLine>()
            + self.group_of.capacity() * size_of::<u32>()
            + self.rows.heap_bytes()
    }

    /// The saved form, with N numbers per row of a task.
    pub(crate) fn state<const N: usize>(
        &self,
        saved: impl Fn(TaskId, &[f64; O]) -> [f64; N],
    ) -> SlotTablesState {
        let shared = self.shared_rows()[self.groups..self.end()].concat();
        self.tables.state(shared, |task, entry| saved(task, &self.rows.row(entry)))
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
        let (tables, shared) = SlotTables::restore(tasks, state, |saved| rows.entry(row(saved)))?;
        weights.tables = tables;
        weights.grow_shared();
        let saved = rows_of(&shared, weights.end() - groups)?;
        weights.shared_rows_mut()[groups..].iter_mut().zip(saved).for_each(|(row, saved)| *row = *saved);
        weights.renew_firsts();
        Ok(weights)
    }
}

impl<const S: usize, const O: usize> SideBySide<S, O> {
    /// A task's row for a slot, made if there is none.
    pub(crate) fn row(&mut self, task: TaskId, slot: u32) -> &mut [f64; O] {
        let row = self.tables.table_mut(task).entry(slot);
        if *row == NOWHERE {
            *row = self.rows.len() as u32;
            self.rows.grow(*row as usize + 1);
        }
        self.rows.at_mut(*row)
    }
}

/// First numbers that are summed up at once.
const FIRSTS: usize = 4;

/// Numbers of a slot among the first numbers of so many groups.
#[inline(always)]
fn side_by_side(groups: usize) -> usize {
    groups.next_multiple_of(FIRSTS)
}

/// Lines of the first numbers of so many groups and slots.
fn lines_of_firsts(groups: usize, slots: usize) -> usize {
    if groups == 1 { 0 } else { (slots * side_by_side(groups)).div_ceil(CacheLine::NUMBERS) }
}

/// Lengthens by zeros, with little room to spare: these are among the largest arrays that a learner has.
fn grow(lines: &mut Vec<CacheLine>, length: usize) {
    if length > lines.capacity() {
        lines.reserve_exact((length - lines.len()).max(lines.len() / 4));
    }
    lines.resize(length, CacheLine::ZERO);
}

/// The group that a task begins in: as good as drawn, for numbers in turn may follow the tasks' true kinds.
fn first_group(task: u32, groups: usize) -> usize {
    let drawn = u64::from(task).wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    ((drawn ^ (drawn >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 33) as usize % groups
}

#[cfg(test)]
mod tests;
