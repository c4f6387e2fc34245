//! Several weight vectors side by side: S shared ones, and O of every task's own.
//!
//! They see the same examples and differ in their weights: several learners, or several parts of one. A feature is
//! looked up once for all of them, and what they hold for it lies in one row, so a vector more costs arithmetic, not
//! memory accesses. Touched weights only: a row appears when the first of them needs it.
#![expect(clippy::inline_always, reason = "only what is inlined is compiled for wide vectors")]

use serde::{Deserialize, Serialize};

use super::norm::Squares;
use super::rows::Rows;
use crate::block::Block;
use crate::error::StateError;
use crate::example::{Example, SparseView, TaskId};
use crate::linalg::check_finite;
use crate::stream::Batch;
use crate::table::index_map::NOWHERE;
use crate::table::line::Line;
use crate::table::prefetch::prefetch;
use crate::table::{AHEAD, IndexMap, Locate, Search};

#[derive(Debug, Clone)]
pub(crate) struct SideBySide<const S: usize, const O: usize> {
    /// Feature to slot, from 1; a feature never touched reads as slot 0.
    slots: IndexMap<u32>,
    /// Slot to feature.
    features: Vec<u32>,
    /// Shared weights of each slot, a row a group of tasks, in lines so that a row lies in as few as can be; those of slot 0 are
    /// 0 for ever.
    shared: Vec<Line>,
    groups: usize,
    /// The group of each task; those that are not listed are where they begin.
    group_of: Vec<u32>,
    /// Slot to row, a table a task; 0 where there is none.
    own: Vec<IndexMap<u32>>,
    /// Own weights of all tasks; those of row 0 are 0 for ever.
    rows: Rows<O>,
}

/// An example's features as they were found: filled by [`SideBySide::locate`], used by the others.
#[derive(Debug, Clone, Default)]
pub(crate) struct Found {
    task: u32,
    /// Where the features were when there were so many slots.
    slots: Vec<u32>,
    known_slots: usize,
    /// The slots in the task's table.
    own: Search,
    /// Rows of the task's own weights, in its table as it was when it had changed so often.
    rows: Vec<u32>,
    changed: Option<u32>,
    /// Slots that the task has no row for yet.
    fresh: Vec<u32>,
}

impl<const S: usize, const O: usize> Locate for SideBySide<S, O> {
    type Located = Found;

    fn ask(&self, task: TaskId, x: SparseView<'_>) {
        // The task's own table says where its weights are.
        prefetch(&self.own, task.index());
        self.slots.prefetch_all(x.indices());
    }

    /// Finds the slots of an example's features, and asks for what hangs on them to be there soon.
    fn locate(&self, task: TaskId, x: SparseView<'_>, found: &mut Found) {
        found.known_slots = self.features.len();
        found.slots.clear();
        found.slots.extend(x.indices().iter().map(|feature| self.slots.get(*feature)));
        let (step, group) = (self.groups * S, self.group(task) * S);
        found
            .slots
            .iter()
            .for_each(|slot| prefetch(&self.shared, (*slot as usize * step + group) / Line::NUMBERS));
        found.task = task.0;
        found.changed = None;
        found.own.clear();
        self.own.get(task.index()).into_iter().for_each(|own| found.own.begin(own, &found.slots));
    }
}

impl<const S: usize, const O: usize> SideBySide<S, O> {
    pub(crate) fn new() -> Self {
        Self::with_groups(1)
    }

    /// Tables for tasks that share their weights with their group.
    pub(crate) fn with_groups(groups: usize) -> Self {
        Self {
            slots: IndexMap::default(),
            features: vec![u32::MAX],
            shared: vec![Line::ZERO; (groups * S).div_ceil(Line::NUMBERS)],
            groups,
            group_of: Vec::new(),
            own: Vec::new(),
            rows: Rows::new(),
        }
    }

    /// Shared rows by slot, and perhaps some more of zeros.
    #[inline]
    fn shared_rows(&self) -> &[[f64; S]] {
        Line::rows(&self.shared)
    }

    #[inline]
    fn shared_rows_mut(&mut self) -> &mut [[f64; S]] {
        Line::rows_mut(&mut self.shared)
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
        self.features.len() * self.groups
    }

    /// Shared rows of every slot, with little room to spare: this is one of the largest arrays that a learner has.
    fn grow_shared(&mut self) {
        let lines = (self.end() * S).div_ceil(Line::NUMBERS);
        if lines > self.shared.capacity() {
            self.shared.reserve_exact((lines - self.shared.len()).max(self.shared.len() / 4));
        }
        self.shared.resize(lines, Line::ZERO);
    }

    /// Looks again for features that had no slot when the example was located; others may have come since.
    fn relocate(&self, x: SparseView<'_>, found: &mut Found) {
        if found.known_slots == self.features.len() {
            return;
        }
        found.known_slots = self.features.len();
        for (feature, slot) in x.indices().iter().zip(&mut found.slots) {
            if *slot == NOWHERE {
                *slot = self.slots.get(*feature);
            }
        }
        found.own.forget();
        // Rows that are missing are looked for again.
        found.changed = found.changed.map(|changed| changed.wrapping_sub(1));
    }

    /// Finds the rows of a located example, and asks for them; those that are found stay where they are.
    fn find_rows(&self, task: TaskId, found: &mut Found) {
        let Some(own) = self.own.get(task.index()) else {
            found.rows.clear();
            found.rows.resize(found.slots.len(), NOWHERE);
            return;
        };
        match found.changed {
            Some(changed) if changed == own.changed() => return,
            Some(_) => {
                for (slot, row) in found.slots.iter().zip(&mut found.rows).filter(|(_, row)| **row == NOWHERE)
                {
                    *row = own.get(*slot);
                }
            }
            None => {
                found.own.finish(own, &found.slots);
                found.rows.clear();
                found.rows.extend(found.own.places().iter().map(|place| own.at(*place)));
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
        debug_assert!(found.slots.len() == x.len() && found.rows.len() == x.len(), "found for this example");
        let (shared, group) = (self.shared_rows(), self.group(TaskId(found.task)));
        for ((slot, row), value) in found.slots.iter().zip(&found.rows).zip(x.values()) {
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
        let shared = Line::rows_mut(&mut self.shared);
        for ((slot, row), value) in found.slots.iter().zip(&found.rows).zip(x.values()) {
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
        for (feature, slot) in x.indices().iter().zip(&mut found.slots) {
            if *slot == NOWHERE {
                *slot = self.features.len() as u32;
                *self.slots.entry(*feature) = *slot;
                self.features.push(*feature);
            }
        }
        self.grow_shared();
    }

    /// What is held for the features of an example, one by one: the slot, what is shared, the task's own.
    pub(crate) fn held<'a>(
        &'a self,
        found: &'a Found,
    ) -> impl Iterator<Item = (u32, &'a [f64; S], &'a [f64; O])> {
        let (shared, group) = (self.shared_rows(), self.group(TaskId(found.task)));
        let rows = found.slots.iter().zip(&found.rows);
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
        for (slot, value) in found.slots.iter().zip(x.values()) {
            see(&shared[self.at(*slot, 0)..self.at(*slot, self.groups)], *value);
        }
    }

    /// The number of slots; 0 is that of features never touched.
    pub(crate) fn slots(&self) -> usize {
        self.features.len()
    }

    /// What all tasks share, feature by feature.
    pub(crate) fn shared(&self) -> impl Iterator<Item = &[f64; S]> {
        self.shared_rows()[self.groups..self.end()].iter()
    }

    /// The rows of a task; their order depends on the history of the table.
    pub(crate) fn rows_of(&self, task: TaskId) -> impl Iterator<Item = &[f64; O]> {
        let rows = self.own.get(task.index()).into_iter().flat_map(IndexMap::iter);
        rows.map(|(_, row)| self.rows.at(row))
    }

    /// A task's row for a slot, made if there is none.
    pub(crate) fn row(&mut self, task: TaskId, slot: u32) -> &mut [f64; O] {
        if self.own.len() <= task.index() {
            self.own.resize_with(task.index() + 1, IndexMap::default);
        }
        let row = self.own[task.index()].entry(slot);
        if *row == NOWHERE {
            *row = self.rows.len() as u32;
            self.rows.grow(*row as usize + 1);
        }
        self.rows.at_mut(*row)
    }

    /// Shows the examples of a batch in order with their rows, finding those of some examples ahead.
    pub(crate) fn find_ahead(
        &self,
        batch: &Batch,
        task_of: &dyn Fn(TaskId) -> TaskId,
        mut see: impl FnMut(TaskId, SparseView<'_>, &Found),
    ) {
        let mut found: [Found; AHEAD] = Default::default();
        (0..AHEAD - 1).for_each(|at| self.locate_ahead(batch, at, task_of, &mut found));
        for (at, example) in batch.examples().enumerate() {
            self.locate_ahead(batch, at + AHEAD - 1, task_of, &mut found);
            for at in at..(at + 2).min(batch.len()) {
                self.find_rows(task_of(batch.example(at).task), &mut found[at % AHEAD]);
            }
            see(task_of(example.task), example.features, &found[at % AHEAD]);
        }
    }

    /// Learns a batch in order, finding the rows of some examples ahead so that they are in cache when needed.
    #[inline(always)]
    pub(crate) fn learn_ahead(
        &mut self,
        batch: &Batch,
        found: &mut [Found; AHEAD],
        mut learn: impl FnMut(&mut Self, Example<'_>, &mut Found),
    ) {
        (0..AHEAD - 1).for_each(|at| self.locate_ahead(batch, at, |task| task, found));
        for (at, example) in batch.examples().enumerate() {
            self.locate_ahead(batch, at + AHEAD - 1, |task| task, found);
            // Those of the next one too: they are on their way while this one learns.
            for at in at..(at + 2).min(batch.len()) {
                let Example { task, features, .. } = batch.example(at);
                let found = &mut found[at % AHEAD];
                self.relocate(features, found);
                self.find_rows(task, found);
            }
            learn(self, example, &mut found[at % AHEAD]);
        }
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

    /// Changes every row of a task; their order depends on the history of the table.
    pub(crate) fn change_rows(&mut self, task: TaskId, mut change: impl FnMut(&mut [f64; O])) {
        for (_, row) in self.own.get(task.index()).into_iter().flat_map(IndexMap::iter) {
            change(self.rows.at_mut(row));
        }
    }

    /// Adds up the squares of a number of each row of a task, in an order that does not depend on the history.
    pub(crate) fn sum_squares(
        &self,
        task: TaskId,
        scratch: &mut Vec<(u32, u32)>,
        number: impl Fn(&[f64; O]) -> f64,
    ) -> Squares {
        scratch.clear();
        scratch.extend(self.own.get(task.index()).into_iter().flat_map(IndexMap::iter));
        scratch.sort_unstable();
        Squares::of(scratch.iter().map(|(_, row)| number(self.rows.at(*row))))
    }

    /// Makes rows for the slots that the task has none for.
    fn add_rows(&mut self, task: TaskId, found: &mut Found) {
        if self.own.len() <= task.index() {
            self.own.resize_with(task.index() + 1, IndexMap::default);
        }
        let own = &mut self.own[task.index()];
        let missing = |(slot, row): (&u32, &u32)| (*row == NOWHERE).then_some(*slot);
        found.fresh.clear();
        found.fresh.extend(found.slots.iter().zip(&found.rows).filter_map(missing));
        own.reserve(&found.fresh);
        let mut next = self.rows.len();
        for (slot, row) in found.slots.iter().zip(&mut found.rows) {
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
        let own = self.own.get(task.index());
        let mut weights: Vec<(u32, f64)> = Vec::new();
        let (shared, group) = (self.shared_rows(), self.group(task));
        for slot in 1..self.slots() {
            let shared = &shared[self.at(slot as u32, group)];
            let row = self.rows.at(own.map_or(NOWHERE, |own| own.get(slot as u32)));
            let weight = weight(slot as u32, shared, row);
            if weight != 0.0 {
                weights.push((self.features[slot], weight));
            }
        }
        weights.sort_unstable_by_key(|pair| pair.0);
        weights
    }

    /// Bytes held.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.slots.heap_bytes()
            + self.features.capacity() * size_of::<u32>()
            + self.shared.capacity() * size_of::<Line>()
            + self.group_of.capacity() * size_of::<u32>()
            + self.rows.heap_bytes()
            + self.own.capacity() * size_of::<IndexMap<u32>>()
            + self.own.iter().map(IndexMap::heap_bytes).sum::<usize>()
    }

    /// The saved form, with this of each of a task's rows: equal states give equal bytes, however they were reached.
    pub(crate) fn state<const N: usize>(
        &self,
        saved: impl Fn(TaskId, &[f64; O]) -> [f64; N],
    ) -> SideBySideState {
        let (mut ends, mut slots, mut own) = (Vec::new(), Vec::new(), Vec::new());
        for (task, table) in self.own.iter().enumerate() {
            for (slot, row) in table.sorted() {
                let row = saved(TaskId(task as u32), self.rows.at(row));
                if row.iter().any(|weight| *weight != 0.0) {
                    slots.push(slot);
                    own.extend_from_slice(&row);
                }
            }
            ends.push(slots.len() as u64);
        }
        // Tasks that hold nothing need no entry when no other comes after them.
        while ends.last().is_some_and(|end| *end == ends.len().checked_sub(2).map_or(0, |at| ends[at])) {
            ends.pop();
        }
        SideBySideState {
            features: Block(self.features[1..].to_vec()),
            shared: Block(self.shared_rows()[self.groups..self.end()].concat()),
            own_ends: Block(ends),
            own_slots: Block(slots),
            own: Block(own),
        }
    }

    /// Takes a saved form, making a row of each that was saved, and checks everything that later code trusts.
    pub(crate) fn restore<const N: usize>(
        tasks: usize,
        state: SideBySideState,
        row: impl Fn([f64; N]) -> [f64; O],
    ) -> Result<Self, StateError> {
        Self::restore_groups(1, tasks, state, row)
    }

    /// The same with so many groups.
    pub(crate) fn restore_groups<const N: usize>(
        groups: usize,
        tasks: usize,
        state: SideBySideState,
        row: impl Fn([f64; N]) -> [f64; O],
    ) -> Result<Self, StateError> {
        let mut weights = Self::with_groups(groups);
        for feature in state.features.0 {
            if feature == u32::MAX || weights.slots.get(feature) != NOWHERE {
                return Err(StateError::new("a feature is listed twice or out of range"));
            }
            *weights.slots.entry(feature) = weights.features.len() as u32;
            weights.features.push(feature);
        }
        let slots = weights.features.len();
        check_finite(&state.shared.0)?;
        check_finite(&state.own.0)?;
        weights.grow_shared();
        let shared = weights.shared_rows_mut()[groups..].iter_mut();
        shared.zip(lanes(&state.shared.0, (slots - 1) * groups)?).for_each(|(row, saved)| *row = saved);
        for saved in lanes::<N>(&state.own.0, state.own_slots.0.len())? {
            weights.rows.push(row(saved));
        }
        let (keys, ends) = (state.own_slots.0, state.own_ends.0);
        if ends.len() > tasks || ends.last().copied().unwrap_or(0) != keys.len() as u64 {
            return Err(StateError::new("own vectors and their ends disagree"));
        }
        let mut start = 0;
        for end in ends {
            let range = usize::try_from(end).ok().filter(|end| *end >= start && *end <= keys.len());
            let end = range.ok_or_else(|| StateError::new("own vectors and their ends disagree"))?;
            let keys = &keys[start..end];
            if keys.windows(2).any(|pair| pair[0] >= pair[1])
                || keys.first() == Some(&NOWHERE)
                || keys.last().is_some_and(|slot| *slot as usize >= slots)
            {
                return Err(StateError::new(
                    "a task's slots are not increasing, from 1 to the number of features",
                ));
            }
            let mut table = IndexMap::default();
            for (at, slot) in keys.iter().enumerate() {
                *table.entry(*slot) = (start + at) as u32 + 1;
            }
            weights.own.push(table);
            start = end;
        }
        Ok(weights)
    }
}

/// The group that a task begins in: as good as drawn, for numbers in turn may follow the tasks' true kinds.
fn first_group(task: u32, groups: usize) -> usize {
    let drawn = u64::from(task).wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    ((drawn ^ (drawn >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 33) as usize % groups
}

/// Numbers cut into so many rows.
fn lanes<const N: usize>(numbers: &[f64], rows: usize) -> Result<impl Iterator<Item = [f64; N]>, StateError> {
    let (cut, rest) = numbers.as_chunks::<N>();
    if cut.len() != rows || !rest.is_empty() {
        return Err(StateError::new("a row does not have one weight a vector"));
    }
    Ok(cut.iter().copied())
}

/// Saved form of [`SideBySide`].
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct SideBySideState {
    /// Features in order of slot, from 1.
    features: Block<u32>,
    /// Shared weights of each slot, a row after the other.
    shared: Block<f64>,
    /// Where each task's rows end in the next two.
    own_ends: Block<u64>,
    own_slots: Block<u32>,
    own: Block<f64>,
}
