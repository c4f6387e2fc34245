//! Few keys as a list: by increasing key, without room to spare.

use std::hint::select_unpredictable;

use super::{CacheLine, IndexMap, NOWHERE, TableValue};

impl<V: TableValue> IndexMap<V> {
    /// Whether this is a list by increasing key, of [`Self::in_tail`] places from 1 on, rather than an array and buckets. Keys that
    /// room is reserved for are in it at once.
    #[inline]
    pub(crate) fn is_list(&self) -> bool {
        V::LISTED > 0 && self.factor == 0
    }

    /// Whether keys are those of the list, all of them and in order, as those of dense rows are: their places count up from 1.
    #[inline]
    pub(super) fn are_listed(&self, keys: &[u32]) -> bool {
        let listed = CacheLine::fours(&self.lines).get(1..=self.in_tail as usize).unwrap_or_default();
        let same = |one: usize| listed[one][V::FIRST_KEY] == keys[one];
        listed.len() == keys.len() && (0..keys.len()).all(same)
    }

    /// The place of a key in a list.
    #[inline]
    pub(super) fn find_listed(&self, key: u32) -> u32 {
        let fours = CacheLine::fours(&self.lines);
        // Halves what is left in as many steps whatever is found, without a branch.
        let (mut place, mut left) = (1, self.in_tail as usize);
        while left > 1 {
            let half = left / 2;
            place += select_unpredictable(fours[place + half][V::FIRST_KEY] <= key, half, 0);
            left -= half;
        }
        if left == 1 && fours[place][V::FIRST_KEY] == key { place as u32 } else { NOWHERE }
    }

    /// Puts keys that it does not have into a list, with zeros.
    pub(super) fn list(&mut self, keys: &[u32]) {
        let (before, after) = (self.in_tail as usize, self.in_tail as usize + keys.len());
        if after >= self.lines.len() * V::PER_LINE {
            // An eighth to spare: there may be very many lists.
            let mut lines = Vec::with_capacity((1 + after + after / 8).div_ceil(V::PER_LINE));
            lines.extend_from_slice(&self.lines);
            lines.resize(lines.capacity(), CacheLine::ZERO);
            self.lines = lines.into_boxed_slice();
            self.head_lines = self.lines.len();
        }
        let fours = CacheLine::fours_mut(&mut self.lines);
        let mut end = before + 1;
        let mut keys = keys.to_vec();
        keys.sort_unstable();
        // From behind: those after a new one move by as many places as new ones are before them.
        for (at, key) in keys.iter().enumerate().rev() {
            let first = 1 + fours[1..end].partition_point(|four| four[V::FIRST_KEY] < *key);
            fours.copy_within(first..end, first + at + 1);
            fours[first + at] = [0; 4];
            fours[first + at][V::FIRST_KEY] = *key;
            end = first;
        }
        (self.in_tail, self.moved, self.changed) =
            (after as u32, self.moved.wrapping_add(1), self.changed.wrapping_add(1));
    }
}
