//! What a shard has added to the block in this round: few numbers, by slot.

use crate::linalg::dot_at;
use crate::table::IndexMap;

/// Numbers of the slots that were changed, in the order of their first change.
#[derive(Debug, Clone)]
pub(super) struct Changes {
    /// Slot to place; 0 where there is none.
    places: IndexMap<u32>,
    /// Place to slot, and to what was added; place 0 stands for all others, and is 0 for ever.
    slots: Vec<u32>,
    numbers: Vec<f64>,
}

impl Default for Changes {
    fn default() -> Self {
        Self { places: IndexMap::default(), slots: vec![0], numbers: vec![0.0] }
    }
}

impl Changes {
    pub(super) fn is_empty(&self) -> bool {
        self.slots.len() == 1
    }

    /// The slots that were changed.
    pub(super) fn slots(&self) -> &[u32] {
        &self.slots[1..]
    }

    /// What was added to each.
    pub(super) fn numbers(&self) -> &[f64] {
        &self.numbers[1..]
    }

    /// Slots with what was added to each, in the order of their first change.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, f64)> {
        self.slots().iter().copied().zip(self.numbers().iter().copied())
    }

    /// What was added to a slot.
    pub(super) fn get(&self, slot: u32) -> f64 {
        self.numbers[self.places.get(slot) as usize]
    }

    /// The inner product with values at slots.
    #[inline]
    pub(super) fn dot(&self, slots: &[u32], values: &[f64], scratch: &mut Vec<u32>) -> f64 {
        if self.is_empty() {
            return 0.0;
        }
        scratch.clear();
        scratch.extend(slots.iter().map(|slot| self.places.get(*slot)));
        dot_at(&self.numbers, scratch, values)
    }

    /// Adds to a slot.
    #[inline]
    pub(super) fn add(&mut self, slot: u32, number: f64) {
        let place = self.places.entry(slot);
        if *place == 0 {
            *place = self.slots.len() as u32;
            self.slots.push(slot);
            self.numbers.push(0.0);
        }
        self.numbers[*place as usize] += number;
    }

    /// Whether a slot has been changed.
    pub(super) fn has(&self, slot: u32) -> bool {
        self.places.get(slot) != 0
    }

    pub(super) fn squared(&self) -> f64 {
        self.numbers.iter().map(|number| number * number).sum()
    }

    pub(super) fn clear(&mut self) {
        if !self.is_empty() {
            self.places = IndexMap::default();
            self.slots.truncate(1);
            self.numbers.truncate(1);
        }
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.places.heap_bytes()
            + self.slots.capacity() * size_of::<u32>()
            + self.numbers.capacity() * size_of::<f64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_add_up_in_the_order_of_their_first() {
        let mut changes = Changes::default();
        assert!(changes.is_empty() && changes.dot(&[3], &[1.0], &mut Vec::new()) == 0.0);
        [(7, 1.0), (3, 0.5), (7, -3.0)].into_iter().for_each(|(slot, number)| changes.add(slot, number));
        assert_eq!(changes.iter().collect::<Vec<_>>(), [(7, -2.0), (3, 0.5)]);
        assert_eq!(changes.dot(&[3, 7, 9], &[2.0, 1.0, 5.0], &mut Vec::new()), -1.0);
        assert_eq!(
            (changes.get(9), changes.squared(), changes.has(9), changes.has(3)),
            (0.0, 4.25, false, true)
        );
        changes.clear();
        assert!(changes.is_empty() && changes.get(7) == 0.0);
    }
}
