//! A table from `u32` keys to plain values: an array for the low keys, a hash table for the rest.
//!
//! The array grows whenever enough of the keys below its new end are present, so a dense vector is an array, a
//! few scattered keys are a small hash table, and a power law is both: the frequent features, which are numbered
//! first, sit side by side. Memory stays within a constant of the number of keys whatever the keys are.
//!
//! Which keys are present, and where, cannot be predicted, by people or by processors: looking many keys up
//! ([`IndexMap::places`], [`IndexMap::at`]) takes no branch that depends on it.

use super::prefetch::prefetch;

/// A value that the table can hold: zero says "nothing here".
pub(crate) trait Cell: Copy + PartialEq + Default {}

impl Cell for f64 {}
impl Cell for u32 {}

/// The array may be this many times larger than the number of its keys.
const SLACK: usize = 4;

/// No key is this large, see [`crate::example::BIAS_FEATURE`].
const EMPTY: u32 = u32::MAX;

/// Keys of a bucket, compared all at once: half a cache line.
const LANES: usize = 8;

const LANE_NUMBERS: [u32; LANES] = [1, 2, 3, 4, 5, 6, 7, 8];

/// Mean number of keys in a full table's buckets; few buckets overflow into the next then.
const MEAN_LANES: usize = 5;

/// Full buckets that a search may cross before the keys are taken to crowd, by chance or by malice.
const LONGEST_SEARCH: usize = 32;

/// Keys that [`IndexMap::places`] takes at a time.
const CHUNK: usize = 64;

/// The place of a key that is not there; its value is zero for ever.
pub(crate) const NOWHERE: u32 = 0;

#[derive(Debug, Clone)]
pub(crate) struct IndexMap<V> {
    /// The value of [`NOWHERE`], the array's values, then the values beside the keys of the buckets.
    values: Box<[V]>,
    /// Keys below this are in the array.
    head: usize,
    /// At least so many of them are present.
    in_head: usize,
    /// Buckets filled from their first lane on; a key that finds its bucket full goes to the next one.
    keys: Box<[[u32; LANES]]>,
    in_tail: usize,
    /// How often keys crowded, and another hash was chosen.
    crowded: u32,
}

impl<V: Cell> Default for IndexMap<V> {
    fn default() -> Self {
        Self { values: Box::default(), head: 0, in_head: 0, keys: Box::default(), in_tail: 0, crowded: 0 }
    }
}

impl<V: Cell> IndexMap<V> {
    /// The value of a key, zero where there is none.
    #[inline]
    pub(crate) fn get(&self, key: u32) -> V {
        if (key as usize) < self.head { self.values[key as usize + 1] } else { self.get_in_tail(key) }
    }

    #[inline(never)] // so that the array's path is inlined alone
    fn get_in_tail(&self, key: u32) -> V {
        self.at(self.find_in_tail(key))
    }

    /// The places of many keys for [`Self::at`] and [`Self::change_at`], good until a key is added.
    #[inline]
    pub(crate) fn places(&self, keys: &[u32], places: &mut [u32]) {
        let mut in_tail = [0_u32; CHUNK];
        for (keys, places) in keys.chunks(CHUNK).zip(places.chunks_mut(CHUNK)) {
            let mut tail = 0;
            for (at, (key, place)) in keys.iter().zip(places.iter_mut()).enumerate() {
                *place = key + 1;
                in_tail[tail % CHUNK] = at as u32;
                tail += usize::from(*key as usize >= self.head);
            }
            for at in &in_tail[..tail] {
                places[*at as usize] = self.find_in_tail(keys[*at as usize]);
            }
        }
    }

    /// The value at a place.
    #[inline]
    pub(crate) fn at(&self, place: u32) -> V {
        self.values.get(place as usize).copied().unwrap_or_default()
    }

    /// Changes the values at places; whatever is done to [`NOWHERE`] is undone.
    #[inline]
    pub(crate) fn change_at(&mut self, places: &[u32], mut change: impl FnMut(usize, &mut V)) {
        for (at, place) in places.iter().enumerate() {
            if let Some(value) = self.values.get_mut(*place as usize) {
                change(at, value);
            }
        }
        if let Some(nowhere) = self.values.first_mut() {
            *nowhere = V::default();
        }
    }

    /// Asks for the cache lines that looking a key up will need first.
    #[inline]
    pub(crate) fn prefetch(&self, key: u32) {
        let in_head = (key as usize) < self.head;
        let bucket = if in_head || self.keys.is_empty() { 0 } else { self.bucket(key) };
        prefetch(&self.keys, bucket);
        prefetch(&self.values, if in_head { key as usize + 1 } else { self.lane(bucket, 0) as usize });
    }

    /// The place of a key's value; a new key starts as zero.
    #[inline]
    pub(crate) fn entry(&mut self, key: u32) -> &mut V {
        debug_assert!(key != EMPTY, "keys stay below u32::MAX");
        let place = if (key as usize) < self.head { key + 1 } else { self.find_in_tail(key) };
        let place = if place == NOWHERE { self.insert(key) } else { place };
        &mut self.values[place as usize]
    }

    /// Present pairs in increasing order of key.
    pub(crate) fn sorted(&self) -> Vec<(u32, V)> {
        let mut pairs: Vec<_> = self.iter().collect();
        pairs.sort_unstable_by_key(|pair| pair.0);
        pairs
    }

    /// Present pairs; the order depends on the history of the table.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, V)> + '_ {
        let head = (0..self.head as u32).map(|key| (key, self.at(key + 1)));
        let tail = self.keys.iter().enumerate().flat_map(move |(bucket, keys)| {
            let present = &keys[..filled(keys)];
            present.iter().enumerate().map(move |(lane, key)| (*key, self.at(self.lane(bucket, lane))))
        });
        head.chain(tail).filter(|pair| pair.1 != V::default())
    }

    /// Bytes held by the table, without its own struct.
    pub(crate) fn heap_bytes(&self) -> usize {
        size_of_val(&*self.values) + size_of_val(&*self.keys)
    }

    #[inline]
    fn bucket(&self, key: u32) -> usize {
        // Fibonacci hashing, then the product's share of the number of buckets, whatever that is.
        let factor = 0x9E37_79B1_u32.wrapping_add(self.crowded.wrapping_mul(0x3C6E_F372));
        let hash = u64::from(key.wrapping_mul(factor));
        ((hash * self.keys.len() as u64) >> 32) as usize
    }

    /// The place of a lane.
    #[inline]
    fn lane(&self, bucket: usize, lane: usize) -> u32 {
        (1 + self.head + bucket * LANES + lane) as u32
    }

    #[inline]
    fn after(&self, bucket: usize) -> usize {
        if bucket + 1 == self.keys.len() { 0 } else { bucket + 1 }
    }

    #[inline]
    fn find_in_tail(&self, key: u32) -> u32 {
        if self.keys.is_empty() {
            return NOWHERE;
        }
        let mut at = self.bucket(key);
        loop {
            let keys = &self.keys[at];
            // One more than the lane, of which at most one holds the key; all are compared at once.
            let numbered = keys.iter().zip(&LANE_NUMBERS);
            let lane: u32 = numbered.map(|(found, number)| if *found == key { *number } else { 0 }).sum();
            // A bucket that is not full ends the search, and most are not: the branch is predicted.
            if keys[LANES - 1] == EMPTY || lane != 0 {
                let first = self.lane(at, 0);
                return if lane == 0 { NOWHERE } else { first + lane - 1 };
            }
            at = self.after(at);
        }
    }

    /// How many keys the tail may hold: one bucket always has an empty lane, so that searches end.
    fn tail_limit(&self) -> usize {
        match self.keys.len() {
            1 => LANES - 1,
            buckets => buckets * MEAN_LANES,
        }
    }

    #[cold]
    fn insert(&mut self, key: u32) -> u32 {
        self.reserve(&[key]);
        if (key as usize) < self.head {
            return key + 1;
        }
        match self.claim(key) {
            Some(place) => place,
            None => {
                self.rebuild(&[key]);
                self.entry_place(key)
            }
        }
    }

    /// The place of a key that a table just rebuilt for it has room for.
    fn entry_place(&mut self, key: u32) -> u32 {
        if (key as usize) < self.head { key + 1 } else { self.claim(key).expect("a table rebuilt has room") }
    }

    /// Makes room for keys that are about to be added.
    pub(crate) fn reserve(&mut self, keys: &[u32]) {
        if self.in_tail + keys.len() > self.tail_limit() {
            self.rebuild(keys);
        }
    }

    /// Takes a lane for a key that is not in the tail; none when too many keys crowd around its bucket.
    fn claim(&mut self, key: u32) -> Option<u32> {
        let mut at = self.bucket(key);
        for _ in 0..LONGEST_SEARCH.max(64 * self.crowded as usize) {
            let lane = filled(&self.keys[at]);
            if lane < LANES {
                self.keys[at][lane] = key;
                self.in_tail += 1;
                return Some(self.lane(at, lane));
            }
            at = self.after(at);
        }
        None
    }

    /// Chooses new sizes with room for more keys, and moves everything; with another hash while keys crowd.
    fn rebuild(&mut self, more: &[u32]) {
        let (head, in_head) = self.best_head(more);
        let old = std::mem::take(self);
        let needed = old.in_head + old.in_tail + more.len() - in_head;
        // Twice as much: moving costs little then, and memory stays within a constant of what is used.
        let buckets =
            if needed < LANES { usize::from(needed > 0) } else { (needed * 2).div_ceil(MEAN_LANES) };
        (self.head, self.in_head, self.crowded) = (head, in_head, old.crowded);
        while !self.refill(&old, buckets, more) {
            self.crowded += 1;
        }
    }

    /// Fills a table of this size with what another holds; false if keys crowd.
    fn refill(&mut self, old: &Self, buckets: usize, more: &[u32]) -> bool {
        self.in_tail = 0;
        self.keys = vec![[EMPTY; LANES]; buckets].into_boxed_slice();
        self.values = vec![V::default(); 1 + self.head + buckets * LANES].into_boxed_slice();
        let kept = old.values.len().min(1 + old.head);
        self.values[..kept].copy_from_slice(&old.values[..kept]);
        for (bucket, keys) in old.keys.iter().enumerate() {
            for (lane, key) in keys[..filled(keys)].iter().enumerate() {
                let in_head = (*key as usize) < self.head;
                let Some(place) = (if in_head { Some(key + 1) } else { self.claim(*key) }) else {
                    return false;
                };
                self.values[place as usize] = old.at(old.lane(bucket, lane));
            }
        }
        self.has_room_for(more)
    }

    /// Whether new keys find a lane near their buckets, were they added now.
    fn has_room_for(&self, more: &[u32]) -> bool {
        let limit = LONGEST_SEARCH.max(64 * self.crowded as usize);
        more.iter().filter(|key| **key as usize >= self.head).all(|key| {
            let mut at = self.bucket(*key);
            (0..limit).any(|_| {
                let free = filled(&self.keys[at]) < LANES;
                at = self.after(at);
                free
            })
        })
    }

    /// The largest power of two of which at least one in [`SLACK`] keys is present, and how many are.
    fn best_head(&self, more: &[u32]) -> (usize, usize) {
        // below[p]: keys k of the tail with 2^(p-1) <= k < 2^p.
        let mut below = [0_usize; 33];
        let tail = self.keys.iter().flat_map(|keys| &keys[..filled(keys)]);
        for key in tail.chain(more) {
            below[(u32::BITS - key.leading_zeros()) as usize] += 1;
        }
        let (mut present, mut best) = (self.in_head, (self.head, self.in_head));
        for (power, count) in below.iter().enumerate().take(31) {
            present += count;
            if present * SLACK >= 1 << power && 1 << power >= 4.max(2 * self.head) {
                best = (1 << power, present);
            }
        }
        best
    }
}

/// Lanes in use, which are the first ones.
#[inline]
fn filled(keys: &[u32; LANES]) -> usize {
    keys.iter().map(|key| u32::from(*key != EMPTY)).sum::<u32>() as usize
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
        assert_eq!((map.head, map.in_tail), (1024, 0));
        assert!((map.get(999) - 1000.0).abs() < f64::EPSILON);
        assert!(map.get(1000).abs() < f64::EPSILON && map.get(5000).abs() < f64::EPSILON);
    }

    #[test]
    fn a_huge_key_costs_nothing_to_speak_of() {
        let mut map = IndexMap::<u32>::default();
        *map.entry(u32::MAX - 1) = 7;
        assert_eq!((map.get(u32::MAX - 1), map.get(3)), (7, 0));
        assert!(map.heap_bytes() < 100);
    }

    /// Keys whose products with the first factor all begin alike.
    #[test]
    fn keys_made_to_crowd_do_not() {
        // The inverse of the factor modulo 2^32 turns small products into keys.
        let inverse =
            (0..5).fold(1_u32, |x, _| x.wrapping_mul(2_u32.wrapping_sub(0x9E37_79B1_u32.wrapping_mul(x))));
        let keys: Vec<u32> = (1..50_000_u32).map(|product| product.wrapping_mul(inverse)).collect();
        let mut map = IndexMap::<u32>::default();
        for (at, key) in keys.iter().enumerate().filter(|(_, key)| **key != EMPTY) {
            *map.entry(*key) = at as u32 + 1;
        }
        assert!(map.crowded > 0, "the keys crowd under the first factor");
        let longest = map.keys.iter().fold((0, 0), |(longest, run), keys| {
            let run = if filled(keys) == LANES { run + 1 } else { 0 };
            (run.max(longest), run)
        });
        assert!(longest.0 <= 64 * map.crowded as usize, "{longest:?}");
        for (at, key) in keys.iter().enumerate().filter(|(_, key)| **key != EMPTY) {
            assert_eq!(map.get(*key), at as u32 + 1);
        }
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
            prop_assert!(map.heap_bytes() <= 128 + expected.len() * 64);
        }
    }
}
