//! One shared vector, changed in shards, and one vector per task.

use super::changes::Changes;
use crate::example::{SparseView, TaskId};
use crate::linalg::dot_at;
use crate::weights::shared_own::{Dots, KeptParts, add_own};
use crate::weights::{LocatedSlots, SlotTables};

/// The block, its changes, and what is each task's own.
///
/// Unlike those of one stream, weights have a slot as soon as their feature occurs in an example that is learnt: who is first to
/// change one depends on the shards.
#[derive(Debug, Clone)]
pub(super) struct Weights {
    pub(super) kept: KeptParts,
    /// Slots of features, and each task's own weights.
    pub(super) tables: SlotTables<f64>,
    /// Shared weight of each slot as the round found it; that of slot 0 is 0 for ever. Empty where nothing is shared.
    pub(super) block: Vec<f64>,
    /// Its squared length.
    pub(super) squared: f64,
    /// What each shard has added to it.
    pub(super) changes: Vec<Changes>,
    /// Scratch: the sum of the changes.
    sum: Changes,
    located: LocatedSlots,
    pub(super) places: Vec<u32>,
}

impl Weights {
    pub(super) fn new(kept: KeptParts, shards: usize) -> Self {
        Self {
            kept,
            tables: SlotTables::new(),
            block: vec![0.0],
            squared: 0.0,
            changes: vec![Changes::default(); if kept.shared { shards } else { 0 }],
            sum: Changes::default(),
            located: LocatedSlots::default(),
            places: Vec::new(),
        }
    }

    /// Gives every feature of an example a slot, and appends them.
    #[inline]
    pub(super) fn number(&mut self, x: SparseView<'_>, slots: &mut Vec<u32>) {
        self.tables.number_all(x, slots);
        if self.kept.shared {
            self.block.resize(self.tables.len(), 0.0);
        }
    }

    /// Inner products with the shared vector as a shard sees it, and with the task's own.
    pub(super) fn dots(&self, shard: Option<usize>, task: TaskId, x: SparseView<'_>) -> Dots {
        let (mut located, mut dots) = (LocatedSlots::default(), Dots::default());
        self.tables.find_slots(x, &mut located);
        if self.kept.shared {
            let changes = shard.map(|shard| &self.changes[shard]);
            let changed = changes.map_or(0.0, |own| own.dot(&located.slots, x.values(), &mut Vec::new()));
            dots.shared = dot_at(&self.block, &located.slots, x.values()) + changed;
        }
        if let Some(own) = self.tables.table(task).filter(|own| !own.values().is_empty()) {
            dots.own = dot_at(own.values(), located.finish(own), x.values());
        }
        dots
    }

    /// Adds `step * x` to what a shard may change.
    pub(super) fn add(&mut self, shard: usize, task: TaskId, x: SparseView<'_>, step: f64) {
        let mut located = std::mem::take(&mut self.located);
        located.slots.clear();
        self.number(x, &mut located.slots);
        if self.kept.shared {
            add_changes(&mut self.changes[shard], &located.slots, x.values(), step);
        }
        if self.kept.own {
            let own = self.tables.table_mut(task);
            located.search.forget();
            located.finish(own);
            add_own(own, x.values(), step, &mut located);
        }
        self.located = located;
    }

    /// Ends a round: adds what all shards have changed to the block; whether the guard scaled it down.
    pub(super) fn mix(&mut self) -> bool {
        let Self { block, squared, changes, sum, .. } = self;
        sum.clear();
        let (mut apart, mut changed) = (0.0, 0);
        for of_shard in changes.iter_mut().filter(|changes| !changes.is_empty()) {
            of_shard.iter().for_each(|(slot, number)| sum.add(slot, number));
            apart += of_shard.squared();
            changed += 1;
            of_shard.clear();
        }
        let factor = if changed > 1 { guard(sum.squared(), apart.max(*squared)) } else { 1.0 };
        for (slot, number) in sum.iter() {
            let old = block[slot as usize];
            let new = old + factor * number;
            block[slot as usize] = new;
            *squared += new * new - old * old;
        }
        *squared = squared.max(0.0);
        factor < 1.0
    }

    /// Non-zero weights `scales.own * own + scales.shared * shared` of a task, by feature.
    pub(super) fn weights(&self, shard: Option<usize>, task: TaskId, scales: Dots) -> Vec<(u32, f64)> {
        let own = self.tables.table(task);
        if !self.kept.shared {
            let own = self.tables.entries(task).map(|(slot, own)| (slot, scales.own * own));
            return self.tables.by_feature(own);
        }
        let changes = shard.map(|shard| &self.changes[shard]);
        self.tables.by_feature((0..).zip(&self.block).skip(1).map(|(slot, block)| {
            let own = own.map_or(0.0, |own| own.get(slot));
            let changed = changes.map_or(0.0, |changes| changes.get(slot));
            (slot, scales.own * own + scales.shared * (block + changed))
        }))
    }

    /// Non-zero weights of the block, by feature.
    pub(super) fn block_weights(&self) -> Vec<(u32, f64)> {
        self.tables.by_feature((0..).zip(self.block.iter().copied()).skip(1))
    }

    /// What a task's weights have beside the block times `scales.shared`.
    pub(super) fn own_weights(&self, shard: Option<usize>, task: TaskId, scales: Dots) -> Vec<(u32, f64)> {
        let changes = shard.and_then(|shard| self.changes.get(shard));
        let changed = |slot: u32| changes.map_or(0.0, |changes| scales.shared * changes.get(slot));
        let own = self.tables.entries(task).map(|(slot, own)| (slot, scales.own * own + changed(slot)));
        let table = self.tables.table(task);
        let only_changed = changes.into_iter().flat_map(Changes::iter);
        let only_changed = only_changed.filter(|(slot, _)| table.is_none_or(|own| own.get(*slot) == 0.0));
        let only_changed = only_changed.map(|(slot, number)| (slot, scales.shared * number));
        self.tables.by_feature(own.chain(only_changed))
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.tables.heap_bytes()
            + self.block.capacity() * size_of::<f64>()
            + self.changes.capacity() * size_of::<Changes>()
            + self.changes.iter().chain([&self.sum]).map(Changes::heap_bytes).sum::<usize>()
    }
}

/// What a sum of changes is multiplied by, so that its square is at most `most`.
fn guard(squared: f64, most: f64) -> f64 {
    if squared > most { (most / squared).sqrt() } else { 1.0 }
}

/// Adds `step * values` at slots.
#[inline]
pub(super) fn add_changes(changes: &mut Changes, slots: &[u32], values: &[f64], step: f64) {
    slots.iter().zip(values).for_each(|(slot, value)| changes.add(*slot, step * value));
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOTH: KeptParts = KeptParts { shared: true, own: true };

    fn added(steps: &[(usize, u32, f64)]) -> Weights {
        let mut weights = Weights::new(BOTH, 2);
        for (shard, feature, step) in steps {
            let x = SparseView::trusted(std::slice::from_ref(feature), &[1.0]);
            weights.add(*shard, TaskId(*shard as u32), x, *step);
        }
        weights
    }

    #[test]
    fn a_shard_sees_the_block_and_its_own_changes() {
        let mut weights = added(&[(0, 5, 1.0), (1, 5, 0.25)]);
        let x = SparseView::trusted(&[5], &[2.0]);
        let dots = |weights: &Weights, shard, task| {
            let Dots { shared, own } = weights.dots(shard, TaskId(task), x);
            (shared, own)
        };
        assert_eq!(dots(&weights, Some(0), 0), (2.0, 2.0));
        assert_eq!(dots(&weights, Some(1), 1), (0.5, 0.5));
        assert_eq!(dots(&weights, None, 7), (0.0, 0.0));
        let scales = Dots { own: 1.0, shared: 0.5 };
        assert_eq!(weights.weights(Some(0), TaskId(0), scales), [(5, 1.5)]);
        assert_eq!(weights.own_weights(Some(0), TaskId(0), scales), [(5, 1.5)]);
        assert_eq!(weights.block_weights(), []);
        // 1.25 is longer than sqrt(1 + 1/16), and the block is 0.
        assert!(weights.mix());
        let block = (1.0_f64 + 0.0625).sqrt();
        assert!((weights.block[1] - block).abs() < 1e-15 && (weights.squared - block * block).abs() < 1e-15);
        assert_eq!(weights.own_weights(Some(0), TaskId(0), scales), [(5, 1.0)]);
    }

    #[test]
    fn changes_without_much_in_common_are_added_as_they_are() {
        let mut weights = added(&[(0, 5, 1.0), (1, 6, 0.25)]);
        assert!(!weights.mix());
        assert_eq!((&weights.block[1..], weights.squared), (&[1.0, 0.25][..], 1.0625));
        // One shard is never scaled down.
        weights.add(0, TaskId(0), SparseView::trusted(&[5], &[1.0]), 8.0);
        assert!(!weights.mix() && weights.block[1] == 9.0);
    }
}
