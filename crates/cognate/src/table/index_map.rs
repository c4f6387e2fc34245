//! A table from `u32` keys to plain values: an array for the low keys, a hash table for the rest.
//!
//! The array grows whenever enough of the keys below its new end are present, so a dense vector is an array, a
//! few scattered keys are a small hash table, and a power law is both: the frequent features, which are numbered
//! first, sit side by side. Memory stays within a constant of the number of keys whatever the keys are. Few short rows are a list
//! instead (`list`).
//!
//! Which keys are present, and where, cannot be predicted, by people or by processors: looking many keys up
//! ([`super::search::Search`]) takes no branch that depends on it.

use std::marker::PhantomData;

use super::cache_line::CacheLine;
use super::prefetch::prefetch;
pub(crate) use super::table_value::TableValue;

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
    /// from their first lane on; a key that finds its bucket full goes to the next one. The keys of the last two lanes are in order
    /// as long as no key has gone on from the bucket, and out of order from then on: so a search ends where none has.
    lines: Box<[CacheLine]>,
    /// Keys below this are in the array.
    head: usize,
    /// Lines of the array, or of a list; the others are buckets.
    head_lines: usize,
    /// At least so many of the array's keys are present.
    in_head: u32,
    in_tail: u32,
    /// What keys are multiplied with, which nobody outside can know; 0 of a list.
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

impl IndexMap<f64> {
    /// The values by place.
    #[inline]
    pub(crate) fn values(&self) -> &[f64] {
        CacheLine::all_numbers(&self.lines)
    }
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

    /// Where the search for a key begins, in a table with buckets; without a branch, for nobody can predict it.
    #[inline]
    fn begin(&self, key: u32) -> u32 {
        let bucket = Self::lane(self.bucket(key), 0);
        if (key as usize) < self.head { key + 1 } else { bucket }
    }

    /// Asks for the cache line where the search for a key begins.
    #[inline]
    pub(crate) fn prefetch(&self, key: u32) {
        self.prefetch_all(&[key]);
    }

    /// Asks for the cache lines where the searches for keys begin.
    #[inline]
    pub(crate) fn prefetch_all(&self, keys: &[u32]) {
        let ask = |place: u32| prefetch(&self.lines, place as usize / V::PER_LINE);
        if self.buckets().is_empty() {
            keys.iter().for_each(|key| ask(key + 1));
        } else {
            keys.iter().for_each(|key| ask(self.begin(*key)));
        }
    }

    /// Where the searches for keys begin; cache lines are asked for.
    #[inline]
    pub(crate) fn begin_all(&self, keys: &[u32], places: &mut Vec<u32>) {
        places.clear();
        if self.is_list() {
            places.resize(keys.len(), NOWHERE);
            (0..self.lines.len()).for_each(|line| prefetch(&self.lines, line));
            return;
        }
        let asked = |place: u32| {
            prefetch(&self.lines, place as usize / V::PER_LINE);
            place
        };
        if self.buckets().is_empty() {
            let place = |key: &u32| if (*key as usize) < self.head { key + 1 } else { NOWHERE };
            places.extend(keys.iter().map(|key| asked(place(key))));
        } else {
            places.extend(keys.iter().map(|key| asked(self.begin(*key))));
        }
    }

    /// Turns the places where searches begin into those of the keys, for [`Self::at`] and [`Self::change_at`]; good
    /// until a key is added.
    #[inline]
    #[expect(
        clippy::needless_bitwise_bool,
        reason = "one branch, which is predicted, in place of three that are not"
    )]
    pub(crate) fn finish_all(&self, keys: &[u32], places: &mut [u32]) {
        if self.is_list() {
            if self.are_listed(keys) {
                (1..).zip(places).for_each(|(at, place)| *place = at);
            } else {
                keys.iter().zip(places).for_each(|(key, place)| *place = self.find_listed(*key));
            }
            return;
        }
        if self.buckets().is_empty() {
            return;
        }
        for (key, place) in keys.iter().zip(places) {
            let (at, in_array) = (*place as usize / V::PER_LINE, (*key as usize) < self.head);
            let line = &self.lines[at];
            // Of a line of the array, which has no keys, this says nothing.
            let lane = V::lane_of(line, *key);
            let found = if lane == 0 { NOWHERE } else { Self::lane(at, 0) + lane - 1 };
            *place = if in_array { *place } else { found };
            // A bucket from which no key has gone on ends the search, and most are such: the branch is predicted.
            if !in_array & (lane == 0) & goes_on::<V>(line) {
                *place = self.find_from(at + 1, *key);
            }
        }
    }

    /// The value at a place.
    #[inline]
    pub(crate) fn at(&self, place: u32) -> V {
        V::at(&self.lines, place as usize).copied().unwrap_or_default()
    }

    /// All values, to be changed by their places; that at [`NOWHERE`] must stay zero.
    #[inline]
    pub(crate) fn lines_mut(&mut self) -> &mut [CacheLine] {
        &mut self.lines
    }

    /// All values, by their places.
    #[inline]
    pub(crate) fn lines(&self) -> &[CacheLine] {
        &self.lines
    }

    /// Changes the values at places; whatever is done to [`NOWHERE`] is undone.
    #[inline]
    pub(crate) fn change_at(&mut self, places: &[u32], mut change: impl FnMut(usize, &mut V)) {
        for (at, place) in places.iter().enumerate() {
            if let Some(value) = V::at_mut(&mut self.lines, *place as usize) {
                change(at, value);
            }
        }
        if let Some(value) = V::at_mut(&mut self.lines, NOWHERE as usize) {
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
        head.chain(self.tail()).filter(|pair| pair.1 != V::default())
    }

    /// Pairs that are not in the array, in any order.
    fn tail(&self) -> impl Iterator<Item = (u32, V)> + '_ {
        let listed = 1..=if self.is_list() { self.in_tail as usize } else { 0 };
        let in_buckets = (self.head_lines..self.lines.len()).flat_map(|line| {
            let first = line * V::PER_LINE;
            first..first + filled::<V>(&self.lines[line])
        });
        listed.chain(in_buckets).map(|place| (self.key_at(place), self.at(place as u32)))
    }

    /// Changes all values that are present; zeros must stay zeros.
    pub(crate) fn for_each_mut(&mut self, mut change: impl FnMut(&mut V)) {
        let mut change_at =
            |lines: &mut [CacheLine], place| V::at_mut(lines, place).into_iter().for_each(&mut change);
        let listed = if self.is_list() { self.in_tail as usize } else { 0 };
        (1..=self.head.max(listed)).for_each(|place| change_at(&mut self.lines, place));
        for line in &mut self.lines[self.head_lines..] {
            (0..filled::<V>(line)).for_each(|lane| change_at(std::slice::from_mut(line), lane));
        }
    }

    /// Bytes held by the table, without its own struct.
    pub(crate) fn heap_bytes(&self) -> usize {
        size_of_val(&*self.lines)
    }

    #[inline]
    fn value_mut(&mut self, place: u32) -> &mut V {
        self.changed = self.changed.wrapping_add(1);
        V::at_mut(&mut self.lines, place as usize).expect("the place of a key")
    }

    fn buckets(&self) -> &[CacheLine] {
        &self.lines[self.head_lines..]
    }

    /// The line of a key's bucket; past the end when there are none.
    #[inline]
    fn bucket(&self, key: u32) -> usize {
        // Multiplicative hashing, then the product's share of the number of buckets, whatever that is.
        let hash = u64::from(key).wrapping_mul(self.factor) >> 32;
        let buckets = (self.lines.len() - self.head_lines) as u64;
        self.head_lines + ((hash * buckets) >> 32) as usize
    }

    /// The place of a lane.
    #[inline]
    fn lane(line: usize, lane: usize) -> u32 {
        (line * V::PER_LINE + lane) as u32
    }

    /// The key at a place that is not in the array.
    #[inline]
    fn key_at(&self, place: usize) -> u32 {
        key_of::<V>(&self.lines[place / V::PER_LINE], place % V::PER_LINE)
    }

    #[inline]
    fn find_in_tail(&self, key: u32) -> u32 {
        if self.is_list() { self.find_listed(key) } else { self.find_from(self.bucket(key), key) }
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
            // A bucket from which no key has gone on ends the search, and most are such: the branch is predicted.
            if lane != 0 || !goes_on::<V>(line) {
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
            buckets => buckets * V::MEAN_OF_FOUR / 4,
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

    /// Gives a key that has none a place, in a table with room reserved for it; others move where [`Self::moved`] changes.
    #[inline]
    pub(crate) fn place_of_new(&mut self, key: u32) -> u32 {
        loop {
            if let Some(place) = self.claim(key) {
                return place;
            }
            self.draw_again();
        }
    }

    /// Makes room for keys that are about to be added and are not there.
    pub(crate) fn reserve(&mut self, keys: &[u32]) {
        if self.is_list() && self.in_tail as usize + keys.len() <= V::LISTED {
            self.list(keys);
        } else if self.in_tail as usize + keys.len() > self.tail_limit() {
            self.rebuild(keys);
        }
    }

    /// The place of a key that is in the array or nowhere yet; none when too many keys crowd around its bucket.
    #[inline]
    fn claim(&mut self, key: u32) -> Option<u32> {
        if (key as usize) < self.head {
            return Some(key + 1);
        }
        if self.is_list() {
            return Some(self.find_listed(key));
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
        let (mut full, mut crossed) = (bucket, 0);
        for at in behind {
            // Everybody who looks for the key goes on from here.
            if !goes_on::<V>(&self.lines[full]) {
                self.swap_last(full);
            }
            crossed += 1;
            if let Some(place) = self.claim_in(at, key) {
                self.patience -= crossed;
                return Some(place);
            }
            full = at;
        }
        None
    }

    /// Swaps the last two lanes of a bucket.
    fn swap_last(&mut self, at: usize) {
        let [one, other] = [V::LANES - 2, V::LANES - 1].map(|lane| Self::lane(at, lane) as usize);
        let values = [one, other].map(|place| V::at(&self.lines, place).copied().unwrap_or_default());
        for (place, value) in [one, other].into_iter().zip([values[1], values[0]]) {
            V::at_mut(&mut self.lines, place).into_iter().for_each(|kept| *kept = value);
        }
        let first = V::FIRST_KEY + (V::LANES - 2) * V::NEXT_KEY;
        self.lines[at].words_mut().swap(first, first + V::NEXT_KEY);
        self.moved = self.moved.wrapping_add(1);
    }

    /// A lane of this bucket.
    #[inline]
    fn claim_in(&mut self, at: usize, key: u32) -> Option<u32> {
        let lane = filled::<V>(&self.lines[at]);
        if lane == V::LANES {
            return None;
        }
        self.lines[at].words_mut()[V::FIRST_KEY + lane * V::NEXT_KEY] = key;
        self.in_tail += 1;
        if goes_on::<V>(&self.lines[at]) {
            // It came last, and nobody has gone on.
            self.swap_last(at);
            return Some(Self::lane(at, lane - 1));
        }
        Some(Self::lane(at, lane))
    }
}

/// Lanes in use, which are the first ones.
#[inline]
fn filled<V: TableValue>(line: &CacheLine) -> usize {
    (0..V::LANES).map(|lane| u32::from(key_of::<V>(line, lane) != EMPTY)).sum::<u32>() as usize
}

/// The key of a lane.
#[inline]
fn key_of<V: TableValue>(line: &CacheLine, lane: usize) -> u32 {
    line.words()[V::FIRST_KEY + lane * V::NEXT_KEY]
}

/// Whether a key has gone on from a bucket that was full. The last lane of others is empty, which is beyond every key.
#[inline]
fn goes_on<V: TableValue>(line: &CacheLine) -> bool {
    key_of::<V>(line, V::LANES - 2) > key_of::<V>(line, V::LANES - 1)
}

mod growth;
mod list;

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

    /// A table of such values against one that everybody knows, one key at a time and many at once.
    fn is_a_map<V: TableValue + std::fmt::Debug>(keys: &[u32], value: impl Fn(u32) -> V, most: usize) {
        let (mut map, mut expected) = (IndexMap::<V>::default(), BTreeMap::new());
        for (at, key) in keys.iter().enumerate() {
            *map.entry(*key) = value(at as u32 + 1);
            expected.insert(*key, value(at as u32 + 1));
            if at % 7 == 6 {
                // What is made room for comes next, and may be put there in any order.
                let mut more: Vec<u32> = (0..5).map(|step| key.saturating_add(step * 3) % EMPTY).collect();
                more.sort_unstable();
                more.dedup();
                more.retain(|key| !expected.contains_key(key));
                map.reserve(&more);
                for key in more.iter().rev() {
                    // Keys of the array have places, though nothing may be there.
                    let place = if map.get(*key) == V::default() { map.place_of_new(*key) } else { NOWHERE };
                    *map.value_mut(place) = value(*key + 1);
                    expected.insert(*key, value(*key + 1));
                }
            }
        }
        assert_eq!(map.sorted(), expected.clone().into_iter().collect::<Vec<_>>());
        let asked: Vec<u32> =
            keys.iter().flat_map(|key| [*key, key.saturating_add(1).min(EMPTY - 1)]).collect();
        let mut places = Vec::new();
        map.begin_all(&asked, &mut places);
        map.finish_all(&asked, &mut places);
        for (key, place) in asked.iter().zip(places) {
            let known = expected.get(key).copied().unwrap_or_default();
            assert_eq!((map.get(*key), map.at(place)), (known, known), "{key}");
        }
        // Memory follows the number of keys, not their size.
        assert!(
            map.heap_bytes() <= 192 + expected.len() * most,
            "{} for {}",
            map.heap_bytes(),
            expected.len()
        );
        map.for_each_mut(|value| *value = V::default());
        assert!(map.sorted().is_empty());
    }

    #[test]
    fn few_short_rows_are_a_list_without_room_to_spare() {
        let mut map = IndexMap::<[u32; 3]>::default();
        for key in (0..90).rev() {
            *map.entry(1000 + 7 * key) = [key + 1; 3];
        }
        assert!(map.is_list() && map.heap_bytes() <= 90 * 16 * 9 / 8 + 128, "{}", map.heap_bytes());
        assert_eq!(map.get(1000 + 7 * 41), [42; 3]);
        (0..90).for_each(|key| *map.entry(key) = [key + 1; 3]);
        assert!(!map.is_list() && map.get(41) == [42; 3] && map.get(1000 + 7 * 41) == [42; 3]);
    }

    proptest! {
        #[test]
        fn it_is_a_map(keys in prop::collection::vec(prop_oneof![0u32..40, 0u32..5000, 0..u32::MAX], 0..400)) {
            is_a_map(&keys, f64::from, 64);
            is_a_map(&keys, |number| number, 32);
            is_a_map(&keys, |number| [number, number % 5, 0], 64);
        }
    }
}
