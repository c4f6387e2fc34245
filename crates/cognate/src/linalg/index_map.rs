//! A table from `u32` keys to plain values: an array for the low keys, a hash table for the rest.
//!
//! The array grows whenever enough of the keys below its new end are present, so a dense vector is an array, a
//! few scattered keys are a small hash table, and a power law is both: the frequent features, which are numbered
//! first, sit side by side. Memory stays within a constant of the number of keys whatever the keys are.

/// A value that the table can hold: one bit pattern says "nothing here".
pub(crate) trait Cell: Copy + PartialEq {
    /// What an absent key reads as.
    const ABSENT: Self;
    /// The array may be this many times larger than the number of its keys.
    const SLACK: usize;
}

impl Cell for f64 {
    const ABSENT: Self = 0.0;
    const SLACK: usize = 2;
}

impl Cell for u32 {
    const ABSENT: Self = u32::MAX;
    const SLACK: usize = 4;
}

/// No key is this large, see [`crate::example::BIAS_FEATURE`].
const EMPTY: u32 = u32::MAX;

#[derive(Debug, Clone)]
pub(crate) struct IndexMap<V> {
    head: Box<[V]>,
    /// Open addressing with linear probing; a power of two long, or empty.
    keys: Box<[u32]>,
    values: Box<[V]>,
    in_tail: usize,
}

impl<V> Default for IndexMap<V> {
    fn default() -> Self {
        Self {
            head: Box::default(),
            keys: Box::default(),
            values: Box::default(),
            in_tail: 0,
        }
    }
}

impl<V: Cell> IndexMap<V> {
    /// The value of a key, [`Cell::ABSENT`] where there is none.
    #[inline]
    pub(crate) fn get(&self, key: u32) -> V {
        match self.head.get(key as usize) {
            Some(value) => *value,
            None if self.in_tail == 0 => V::ABSENT,
            None => self.find(key).map_or(V::ABSENT, |at| self.values[at]),
        }
    }

    /// The place of a key's value; a new key starts as [`Cell::ABSENT`].
    #[inline]
    pub(crate) fn entry(&mut self, key: u32) -> &mut V {
        debug_assert!(key != EMPTY, "keys stay below u32::MAX");
        if (key as usize) < self.head.len() {
            return &mut self.head[key as usize];
        }
        let at = match self.find(key) {
            Some(at) => at,
            None => return self.insert(key),
        };
        &mut self.values[at]
    }

    /// Present pairs in increasing order of key.
    pub(crate) fn sorted(&self) -> Vec<(u32, V)> {
        let mut pairs: Vec<_> = self.iter().collect();
        pairs.sort_unstable_by_key(|pair| pair.0);
        pairs
    }

    /// Present pairs; the order depends on the history of the table.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, V)> + '_ {
        let head = self
            .head
            .iter()
            .enumerate()
            .map(|(key, value)| (key as u32, *value));
        let tail = self
            .keys
            .iter()
            .zip(&self.values)
            .filter(|pair| *pair.0 != EMPTY)
            .map(|pair| (*pair.0, *pair.1));
        head.chain(tail).filter(|pair| pair.1 != V::ABSENT)
    }

    /// Bytes held by the table, without its own struct.
    pub(crate) fn heap_bytes(&self) -> usize {
        (self.head.len() + self.values.len()) * size_of::<V>() + self.keys.len() * size_of::<u32>()
    }

    #[inline]
    fn bucket(&self, key: u32) -> usize {
        // Fibonacci hashing: the top bits of the product.
        (key.wrapping_mul(0x9E37_79B1) as usize) >> (32 - self.keys.len().trailing_zeros())
    }

    #[inline]
    fn find(&self, key: u32) -> Option<usize> {
        if self.keys.is_empty() {
            return None;
        }
        let mask = self.keys.len() - 1;
        let mut at = self.bucket(key);
        loop {
            let found = self.keys[at & mask];
            if found == key {
                return Some(at & mask);
            }
            if found == EMPTY {
                return None;
            }
            at += 1;
        }
    }

    #[cold]
    fn insert(&mut self, key: u32) -> &mut V {
        // At most three quarters full, so that probes stay short and always end.
        if (self.in_tail + 1) * 4 > self.keys.len() * 3 {
            self.rebuild(key);
            if (key as usize) < self.head.len() {
                return &mut self.head[key as usize];
            }
        }
        let at = self.claim(key);
        &mut self.values[at]
    }

    /// Takes the slot of a key that is not in the tail.
    fn claim(&mut self, key: u32) -> usize {
        let mask = self.keys.len() - 1;
        let mut at = self.bucket(key) & mask;
        while self.keys[at] != EMPTY {
            at = (at + 1) & mask;
        }
        self.keys[at] = key;
        self.in_tail += 1;
        at
    }

    /// Chooses new sizes with room for `key`, and moves everything.
    fn rebuild(&mut self, key: u32) {
        let head = self.best_head(key);
        if head > self.head.len() {
            let mut grown = vec![V::ABSENT; head].into_boxed_slice();
            grown[..self.head.len()].copy_from_slice(&self.head);
            self.head = grown;
        }
        let (keys, values) = (std::mem::take(&mut self.keys), std::mem::take(&mut self.values));
        let stays = |key: u32| key != EMPTY && key as usize >= head;
        let needed = keys.iter().filter(|key| stays(**key)).count() + usize::from(stays(key));
        let capacity = if needed == 0 {
            0
        } else {
            (needed * 4 / 3 + 1).next_power_of_two().max(4)
        };
        self.keys = vec![EMPTY; capacity].into_boxed_slice();
        self.values = vec![V::ABSENT; capacity].into_boxed_slice();
        self.in_tail = 0;
        for (key, value) in keys.into_iter().zip(values) {
            if stays(key) {
                let at = self.claim(key);
                self.values[at] = value;
            } else if key != EMPTY {
                self.head[key as usize] = value;
            }
        }
    }

    /// The largest power of two of which at least one in [`Cell::SLACK`] keys is present.
    fn best_head(&self, key: u32) -> usize {
        // below[p]: keys k with 2^(p-1) <= k < 2^p.
        let mut below = [0_usize; 33];
        let keys = self.iter().map(|pair| pair.0);
        for key in keys.chain([key]) {
            below[(u32::BITS - key.leading_zeros()) as usize] += 1;
        }
        let (mut present, mut best) = (0, self.head.len());
        for (power, count) in below.iter().enumerate().take(31) {
            present += count;
            if present * V::SLACK >= 1 << power && 1 << power >= 4 {
                best = best.max(1 << power);
            }
        }
        best
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn consecutive_keys_become_an_array() {
        let mut map = IndexMap::<f64>::default();
        for key in 0..1000 {
            *map.entry(key) = f64::from(key) + 1.0;
        }
        assert_eq!((map.head.len(), map.in_tail), (1024, 0));
        assert!((map.get(999) - 1000.0).abs() < f64::EPSILON);
        assert!(map.get(1000).abs() < f64::EPSILON && map.get(5000).abs() < f64::EPSILON);
    }

    #[test]
    fn a_huge_key_costs_nothing_to_speak_of() {
        let mut map = IndexMap::<u32>::default();
        *map.entry(u32::MAX - 1) = 7;
        assert_eq!((map.get(u32::MAX - 1), map.get(3)), (7, u32::MAX));
        assert!(map.heap_bytes() < 100);
    }

    proptest! {
        #[test]
        fn it_is_a_map(keys in prop::collection::vec(prop_oneof![0u32..40, 0u32..5000, 0..u32::MAX], 0..400)) {
            let (mut map, mut expected) = (IndexMap::<f64>::default(), BTreeMap::new());
            for (at, key) in keys.iter().enumerate() {
                *map.entry(*key) += at as f64 + 1.0;
                *expected.entry(*key).or_insert(0.0) += at as f64 + 1.0;
            }
            prop_assert_eq!(map.sorted(), expected.clone().into_iter().collect::<Vec<_>>());
            for key in keys.iter().flat_map(|key| [*key, key.saturating_add(1).min(EMPTY - 1)]) {
                prop_assert_eq!(map.get(key), expected.get(&key).copied().unwrap_or(0.0));
            }
            // Memory follows the number of keys, not their size.
            prop_assert!(map.heap_bytes() <= 64 + expected.len() * 64);
        }
    }
}
