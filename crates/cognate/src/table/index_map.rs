//! A table from `u32` keys to plain values: an array for the low keys, a hash table for the rest.
//!
//! The array grows whenever enough of the keys below its new end are present, so a dense vector is an array, a
//! few scattered keys are a small hash table, and a power law is both: the frequent features, which are numbered
//! first, sit side by side. Memory stays within a constant of the number of keys whatever the keys are.
//!
//! Which keys are present, and where, cannot be predicted, by people or by processors: looking many keys up
//! ([`super::search::Search`]) takes no branch that depends on it.

use std::marker::PhantomData;

use super::cache_line::{CacheLine, lane_among};
use super::prefetch::prefetch;
use super::secret;

/// A value that the table can hold: zero says "nothing here".
pub(crate) trait TableValue: Copy + PartialEq + Default {
    /// Values that fill a cache line.
    const PER_LINE: usize;
    /// Values of a bucket, which are the first of its line; their keys are the last of it.
    const LANES: usize;
    /// Mean number of keys in a full table's buckets; few buckets overflow into the next then.
    const MEAN_LANES: usize;

    /// All values of lines, by place; some places are those of keys.
    fn values(lines: &[CacheLine]) -> &[Self];
    fn values_mut(lines: &mut [CacheLine]) -> &mut [Self];
    fn keys(line: &CacheLine) -> &[u32];
    fn keys_mut(line: &mut CacheLine) -> &mut [u32];

    /// One more than the lane that holds the key, 0 if none does; all are compared at once.
    fn lane_of(line: &CacheLine, key: u32) -> u32;
}

impl TableValue for f64 {
    const PER_LINE: usize = 8;
    const LANES: usize = 5;
    const MEAN_LANES: usize = 3;

    #[inline]
    fn values(lines: &[CacheLine]) -> &[Self] {
        CacheLine::all_numbers(lines)
    }

    #[inline]
    fn values_mut(lines: &mut [CacheLine]) -> &mut [Self] {
        CacheLine::all_numbers_mut(lines)
    }

    #[inline]
    fn keys(line: &CacheLine) -> &[u32] {
        &line.words()[11..]
    }

    #[inline]
    fn keys_mut(line: &mut CacheLine) -> &mut [u32] {
        &mut line.words_mut()[11..]
    }

    #[inline]
    fn lane_of(line: &CacheLine, key: u32) -> u32 {
        lane_among(line.words()[11..].first_chunk::<5>().expect("five keys"), key)
    }
}

impl TableValue for u32 {
    const PER_LINE: usize = 16;
    const LANES: usize = 8;
    const MEAN_LANES: usize = 5;

    #[inline]
    fn values(lines: &[CacheLine]) -> &[Self] {
        CacheLine::all_words(lines)
    }

    #[inline]
    fn values_mut(lines: &mut [CacheLine]) -> &mut [Self] {
        CacheLine::all_words_mut(lines)
    }

    #[inline]
    fn keys(line: &CacheLine) -> &[u32] {
        &line.words()[8..]
    }

    #[inline]
    fn keys_mut(line: &mut CacheLine) -> &mut [u32] {
        &mut line.words_mut()[8..]
    }

    #[inline]
    fn lane_of(line: &CacheLine, key: u32) -> u32 {
        lane_among(line.words()[8..].first_chunk::<8>().expect("eight keys"), key)
    }
}

/// The array may be this many times larger than the number of its keys.
const SLACK: usize = 8;

/// No key is this large, see [`crate::example::BIAS_FEATURE`].
const EMPTY: u32 = u32::MAX;

/// Full buckets that one search may cross before the keys are taken to crowd, which takes bad luck.
const LONGEST_SEARCH: usize = 64;

/// All searches together may cross a bucket for so many keys that there is room for; it takes bad luck, too: among random
/// keys it is one in 15 at most.
const KEYS_PER_CROSSING: usize = 4;

/// The place of a key that is not there; its value is zero for ever.
pub(crate) const NOWHERE: u32 = 0;

/// See the head of the file. It fits one cache line itself: with many tables every lookup misses.
#[derive(Debug, Clone)]
#[repr(align(64))]
pub(crate) struct IndexMap<V> {
    /// The value of [`NOWHERE`] and the array's values, then from a new line on the buckets. Buckets are filled
    /// from their first lane on; a key that finds its bucket full goes to the next one.
    lines: Box<[CacheLine]>,
    /// Keys below this are in the array.
    head: usize,
    /// Lines of the array; the others are buckets.
    head_lines: usize,
    /// At least so many of the array's keys are present.
    in_head: u32,
    in_tail: u32,
    /// What keys are multiplied with, which nobody outside can know.
    factor: u64,
    /// How often another factor was drawn because keys crowded.
    draws: u32,
    /// Buckets that searches for a free lane may still cross.
    patience: u32,
    /// How often everything moved.
    moved: u32,
    /// How often entries were given out to be changed.
    changed: u32,
    values: PhantomData<V>,
}

impl<V: TableValue> Default for IndexMap<V> {
    fn default() -> Self {
        Self {
            lines: Box::default(),
            head: 0,
            head_lines: 0,
            in_head: 0,
            in_tail: 0,
            factor: 0,
            draws: 0,
            patience: 0,
            moved: 0,
            changed: 0,
            values: PhantomData,
        }
    }
}

impl<V: TableValue> IndexMap<V> {
    /// The value of a key, zero where there is none.
    #[inline]
    pub(crate) fn get(&self, key: u32) -> V {
        if (key as usize) < self.head { self.at(key + 1) } else { self.get_in_tail(key) }
    }

    #[inline(never)] // so that the array's path is inlined alone
    fn get_in_tail(&self, key: u32) -> V {
        self.at(self.find_in_tail(key))
    }

    /// Changes whenever a key may have come.
    #[inline]
    pub(crate) fn changed(&self) -> u32 {
        self.changed
    }

    /// Changes whenever keys move: what [`Self::begin_all`] said holds no longer then.
    #[inline]
    pub(crate) fn moved(&self) -> u32 {
        self.moved
    }

    /// Asks for the cache line where the search for a key begins.
    #[inline]
    pub(crate) fn prefetch(&self, key: u32) {
        let line =
            if (key as usize) < self.head { (key as usize + 1) / V::PER_LINE } else { self.bucket(key) };
        prefetch(&self.lines, line);
    }

    /// The same for many keys.
    #[inline]
    pub(crate) fn prefetch_all(&self, keys: &[u32]) {
        if self.buckets().is_empty() {
            keys.iter().for_each(|key| prefetch(&self.lines, (*key as usize + 1) / V::PER_LINE));
        } else {
            keys.iter().for_each(|key| self.prefetch(*key));
        }
    }

    /// Where the searches for keys begin, and which of the keys are not in the array; cache lines are asked for.
    ///
    /// Whether a key is in the array cannot be predicted: those that are not are put aside without a branch.
    #[inline]
    pub(crate) fn begin_all(&self, keys: &[u32], places: &mut Vec<u32>, behind: &mut Vec<u32>) {
        places.clear();
        places.extend(keys.iter().map(|key| key.wrapping_add(1)));
        behind.resize(keys.len(), 0);
        let (mut count, head) = (0, self.head as u32);
        for (at, key) in keys.iter().enumerate() {
            behind[count] = at as u32;
            count += usize::from(*key >= head);
        }
        behind.truncate(count);
        let has_buckets = !self.buckets().is_empty();
        for at in &*behind {
            let at = *at as usize;
            places[at] = if has_buckets { Self::lane(self.bucket(keys[at]), 0) } else { NOWHERE };
        }
        places.iter().for_each(|place| prefetch(&self.lines, *place as usize / V::PER_LINE));
    }

    /// Turns the places where searches begin into those of the keys, for [`Self::at`] and [`Self::change_at`]; good
    /// until a key is added.
    #[inline]
    pub(crate) fn finish_all(&self, keys: &[u32], places: &mut [u32], behind: &[u32]) {
        if self.buckets().is_empty() {
            return;
        }
        for at in behind {
            let place = &mut places[*at as usize];
            *place = self.find_from(*place as usize / V::PER_LINE, keys[*at as usize]);
        }
    }

    /// The value at a place.
    #[inline]
    pub(crate) fn at(&self, place: u32) -> V {
        self.values().get(place as usize).copied().unwrap_or_default()
    }

    /// The values by place.
    #[inline]
    pub(crate) fn values(&self) -> &[V] {
        V::values(&self.lines)
    }

    /// Changes the values at places; whatever is done to [`NOWHERE`] is undone.
    #[inline]
    pub(crate) fn change_at(&mut self, places: &[u32], mut change: impl FnMut(usize, &mut V)) {
        let values = V::values_mut(&mut self.lines);
        for (at, place) in places.iter().enumerate() {
            if let Some(value) = values.get_mut(*place as usize) {
                change(at, value);
            }
        }
        if let Some(value) = values.first_mut() {
            *value = V::default();
        }
    }

    /// The place of a key's value; a new key starts as zero.
    #[inline]
    pub(crate) fn entry(&mut self, key: u32) -> &mut V {
        debug_assert!(key != EMPTY, "keys stay below u32::MAX");
        let place = if (key as usize) < self.head { key + 1 } else { self.find_in_tail(key) };
        let place = if place == NOWHERE { self.insert(key) } else { place };
        self.value_mut(place)
    }

    /// Present pairs in increasing order of key.
    pub(crate) fn sorted(&self) -> Vec<(u32, V)> {
        let mut pairs: Vec<_> = self.iter().collect();
        pairs.sort_unstable_by_key(|pair| pair.0);
        pairs
    }

    /// Present pairs; the order depends on the history of the table and on a secret, so no result may depend on it.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, V)> + '_ {
        let head = (0..self.head as u32).map(|key| (key, self.at(key + 1)));
        let tail = self.buckets().iter().flat_map(|line| {
            let keys = V::keys(line)[..filled::<V>(line)].iter().copied();
            keys.zip(V::values(std::slice::from_ref(line)).iter().copied())
        });
        head.chain(tail).filter(|pair| pair.1 != V::default())
    }

    /// Bytes held by the table, without its own struct.
    pub(crate) fn heap_bytes(&self) -> usize {
        size_of_val(&*self.lines)
    }

    #[inline]
    fn value_mut(&mut self, place: u32) -> &mut V {
        self.changed = self.changed.wrapping_add(1);
        &mut V::values_mut(&mut self.lines)[place as usize]
    }

    fn buckets(&self) -> &[CacheLine] {
        &self.lines[self.head_lines..]
    }

    /// The line of a key's bucket; past the end when there are none.
    #[inline]
    fn bucket(&self, key: u32) -> usize {
        // Multiplicative hashing, then the product's share of the number of buckets, whatever that is.
        let hash = u64::from(key).wrapping_mul(self.factor);
        let buckets = (self.lines.len() - self.head_lines) as u128;
        self.head_lines + ((u128::from(hash) * buckets) >> 64) as usize
    }

    /// The place of a lane.
    #[inline]
    fn lane(line: usize, lane: usize) -> u32 {
        (line * V::PER_LINE + lane) as u32
    }

    #[inline]
    fn find_in_tail(&self, key: u32) -> u32 {
        self.find_from(self.bucket(key), key)
    }

    #[inline]
    fn find_from(&self, bucket: usize, key: u32) -> u32 {
        let mut at = bucket;
        loop {
            // The line after the last is the first bucket; no buckets, nothing found.
            let Some(line) = self.lines.get(at) else {
                if self.lines.len() == self.head_lines {
                    return NOWHERE;
                }
                at = self.head_lines;
                continue;
            };
            let lane = V::lane_of(line, key);
            // A bucket that is not full ends the search, and most are not: the branch is predicted.
            if V::keys(line)[V::LANES - 1] == EMPTY || lane != 0 {
                let first = Self::lane(at, 0);
                return if lane == 0 { NOWHERE } else { first + lane - 1 };
            }
            at += 1;
        }
    }

    /// How many keys the tail may hold: one bucket always has an empty lane, so that searches end.
    fn tail_limit(&self) -> usize {
        match self.buckets().len() {
            1 => V::LANES - 1,
            buckets => buckets * V::MEAN_LANES,
        }
    }

    #[cold]
    fn insert(&mut self, key: u32) -> u32 {
        self.reserve(&[key]);
        self.place_of_new(key)
    }

    /// The place of a value that [`NOWHERE`] was found for, in a table with room reserved for it.
    #[inline]
    pub(crate) fn new_entry(&mut self, key: u32) -> &mut V {
        let place = self.place_of_new(key);
        self.value_mut(place)
    }

    #[inline]
    fn place_of_new(&mut self, key: u32) -> u32 {
        loop {
            if let Some(place) = self.claim(key) {
                return place;
            }
            self.draw_again();
        }
    }

    /// Makes room for keys that are about to be added.
    pub(crate) fn reserve(&mut self, keys: &[u32]) {
        if self.in_tail as usize + keys.len() > self.tail_limit() {
            self.rebuild(keys);
        }
    }

    /// The place of a key that is in the array or nowhere yet; none when too many keys crowd around its bucket.
    #[inline]
    fn claim(&mut self, key: u32) -> Option<u32> {
        if (key as usize) < self.head {
            return Some(key + 1);
        }
        let bucket = self.bucket(key);
        self.claim_in(bucket, key).or_else(|| self.claim_behind(bucket, key))
    }

    /// A lane of a later bucket than the one that a key belongs in, as far as patience goes.
    #[cold]
    fn claim_behind(&mut self, bucket: usize, key: u32) -> Option<u32> {
        let (first, end) = (self.head_lines, self.lines.len());
        let longest = LONGEST_SEARCH.min(self.patience as usize);
        let behind = (bucket + 1..end).chain((first..end).cycle()).take(longest);
        let (crossed, place) =
            (1..).zip(behind).find_map(|(crossed, at)| Some((crossed, self.claim_in(at, key)?)))?;
        self.patience -= crossed;
        Some(place)
    }

    /// A lane of this bucket.
    #[inline]
    fn claim_in(&mut self, at: usize, key: u32) -> Option<u32> {
        let lane = filled::<V>(&self.lines[at]);
        *V::keys_mut(&mut self.lines[at]).get_mut(lane)? = key;
        self.in_tail += 1;
        Some(Self::lane(at, lane))
    }

    /// Chooses new sizes with room for more keys, and moves everything.
    fn rebuild(&mut self, more: &[u32]) {
        let (head, in_head) = self.best_head(more);
        let needed = self.in_head as usize + self.in_tail as usize + more.len() - in_head;
        // Twice as much: moving costs little then, and memory stays within a constant of what is used.
        let buckets =
            if needed < V::LANES { usize::from(needed > 0) } else { (needed * 2).div_ceil(V::MEAN_LANES) };
        self.move_all(head, in_head, buckets);
    }

    /// Moves everything to where another factor has it; sizes stay, so that none depends on the secret.
    #[cold]
    fn draw_again(&mut self) {
        self.draws += 1;
        self.factor = secret::factor(self.draws);
        self.move_all(self.head, self.in_head as usize, self.buckets().len());
    }

    /// Moves everything into a table of these sizes, with another factor as long as keys crowd.
    fn move_all(&mut self, head: usize, in_head: usize, buckets: usize) {
        let old = std::mem::take(self);
        (self.head, self.in_head, self.draws) = (head, in_head as u32, old.draws);
        self.head_lines = (1 + head).div_ceil(V::PER_LINE);
        (self.moved, self.changed) = (old.moved.wrapping_add(1), old.changed);
        self.factor = if old.factor == 0 { secret::first_factor() } else { old.factor };
        while !self.refill(&old, buckets) {
            self.draws += 1;
            self.factor = secret::factor(self.draws);
        }
    }

    /// Fills a table of this size with what another holds; false if keys crowd.
    fn refill(&mut self, old: &Self, buckets: usize) -> bool {
        let mut empty = CacheLine::ZERO;
        V::keys_mut(&mut empty).fill(EMPTY);
        let mut lines = Vec::with_capacity(self.head_lines + buckets);
        lines.extend_from_slice(&old.lines[..old.head_lines]);
        lines.resize(self.head_lines, CacheLine::ZERO);
        lines.resize(self.head_lines + buckets, empty);
        self.lines = lines.into_boxed_slice();
        (self.in_tail, self.patience) = (0, (LONGEST_SEARCH + self.tail_limit() / KEYS_PER_CROSSING) as u32);
        for line in old.buckets() {
            let values = V::values(std::slice::from_ref(line));
            for (key, value) in V::keys(line)[..filled::<V>(line)].iter().zip(values) {
                let Some(place) = self.claim(*key) else {
                    return false;
                };
                *self.value_mut(place) = *value;
            }
        }
        true
    }

    /// The largest power of two of which at least one in [`SLACK`] keys is present, and how many are.
    fn best_head(&self, more: &[u32]) -> (usize, usize) {
        // below[p]: keys k of the tail with 2^(p-1) <= k < 2^p.
        let mut below = [0_usize; 33];
        let tail = self.buckets().iter().flat_map(|line| &V::keys(line)[..filled::<V>(line)]);
        for key in tail.chain(more) {
            below[(u32::BITS - key.leading_zeros()) as usize] += 1;
        }
        let in_head = self.in_head as usize;
        let (mut present, mut best) = (in_head, (self.head, in_head));
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
fn filled<V: TableValue>(line: &CacheLine) -> usize {
    V::keys(line).iter().map(|key| u32::from(*key != EMPTY)).sum::<u32>() as usize
}

#[cfg(test)]
mod crowding;

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
        assert!(map.heap_bytes() <= 128);
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
            prop_assert!(map.heap_bytes() <= 192 + expected.len() * 64);
        }
    }
}
