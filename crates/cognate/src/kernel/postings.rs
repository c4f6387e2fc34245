//! The entries of kept examples once more, by feature: which of them have it, and its value.
//!
//! One more example meets all of them along its own features only, so features that two examples do not share cost
//! nothing. A list is sorted by support; one that all supports are in is a row of numbers without gaps.
//!
//! Lists lie in one array, in places of 1, 2, 4, … entries. A list that outgrows its place, or shrinks to a quarter of
//! it, moves to another; places that were left are used again by lists of their size.

#[derive(Debug, Clone, Default)]
pub(super) struct Postings {
    lists: Vec<List>,
    supports: Vec<u32>,
    values: Vec<f64>,
    /// Starts of places that nobody is in: those of 1 entry, of 2, of 4, …
    free: Vec<Vec<u32>>,
}

/// A list: so many entries from `start` on, in a place that has room for more.
#[derive(Debug, Clone, Copy, Default)]
struct List {
    start: u32,
    len: u32,
    /// A power of two, or 0.
    room: u32,
}

impl List {
    fn range(self) -> std::ops::Range<usize> {
        self.start as usize..(self.start + self.len) as usize
    }
}

impl Postings {
    /// Empty lists that will be so long.
    pub(super) fn with_lengths(lengths: &[u32]) -> Self {
        let mut postings = Self::default();
        let rooms = || lengths.iter().map(|length| length.next_power_of_two());
        postings.grow(rooms().map(|room| room as usize).sum());
        postings.lists = rooms().map(|room| List { len: 0, ..postings.place(room) }).collect();
        postings
    }

    /// Supports that have the feature of a slot, and its values.
    #[inline]
    pub(super) fn of(&self, slot: usize) -> (&[u32], &[f64]) {
        let range = self.lists[slot].range();
        (&self.supports[range.clone()], &self.values[range])
    }

    /// Entries of all places, with or without a list.
    pub(super) fn room(&self) -> usize {
        self.values.len()
    }

    /// Makes the value of a support that of the feature of a slot.
    pub(super) fn put(&mut self, slot: usize, support: u32, value: f64) {
        if slot >= self.lists.len() {
            self.lists.resize(slot + 1, List::default());
        }
        let mut list = self.lists[slot];
        // Examples mostly come last.
        let last = list.range().end.checked_sub(1).filter(|last| *last >= list.start as usize);
        let offset = match last {
            Some(last) if self.supports[last] >= support => {
                self.supports[list.range()].partition_point(|other| *other < support)
            }
            _ => list.len as usize,
        };
        if offset < list.len as usize && self.supports[list.start as usize + offset] == support {
            self.values[list.start as usize + offset] = value;
            return;
        }
        if list.len == list.room {
            list = self.moved(list, (2 * list.room).max(1));
        }
        let (at, end) = (list.start as usize + offset, list.range().end);
        self.supports.copy_within(at..end, at + 1);
        self.values.copy_within(at..end, at + 1);
        (self.supports[at], self.values[at]) = (support, value);
        list.len += 1;
        self.lists[slot] = list;
    }

    /// Takes a support out of the list of a slot.
    pub(super) fn remove(&mut self, slot: usize, support: u32) {
        let mut list = self.lists[slot];
        let offset = self.supports[list.range()].partition_point(|other| *other < support);
        let (at, end) = (list.start as usize + offset, list.range().end);
        debug_assert!(self.supports[list.range()].get(offset) == Some(&support), "the list has the support");
        self.supports.copy_within(at + 1..end, at);
        self.values.copy_within(at + 1..end, at);
        list.len -= 1;
        if list.len <= list.room / 4 {
            list = self.moved(list, if list.len == 0 { 0 } else { list.room / 2 });
        }
        self.lists[slot] = list;
    }

    /// Moves a list to another place.
    fn moved(&mut self, from: List, room: u32) -> List {
        let to = List { len: from.len, ..self.place(room) };
        self.supports.copy_within(from.range(), to.start as usize);
        self.values.copy_within(from.range(), to.start as usize);
        if from.room > 0 {
            let size = from.room.ilog2() as usize;
            if self.free.len() <= size {
                self.free.resize(size + 1, Vec::new());
            }
            self.free[size].push(from.start);
        }
        to
    }

    /// A place for so many entries.
    fn place(&mut self, room: u32) -> List {
        if room == 0 {
            return List::default();
        }
        let left = self.free.get_mut(room.ilog2() as usize).and_then(Vec::pop);
        let start = left.unwrap_or_else(|| {
            let start = self.values.len();
            if start + room as usize > self.values.capacity() {
                self.grow((start / 4).max(room as usize));
            }
            self.supports.resize(start + room as usize, 0);
            self.values.resize(start + room as usize, 0.0);
            start as u32
        });
        List { start, len: 0, room }
    }

    /// Asks for room for so many more entries, and no more than that.
    fn grow(&mut self, entries: usize) {
        self.supports.reserve_exact(entries);
        self.values.reserve_exact(entries);
    }

    pub(super) fn heap_bytes(&self) -> usize {
        let free: usize = self.free.iter().map(Vec::capacity).sum();
        self.lists.capacity() * size_of::<List>()
            + (self.supports.capacity() + free) * 4
            + self.values.capacity() * 8
            + self.free.capacity() * size_of::<Vec<u32>>()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use rand::RngExt as _;

    use super::*;
    use crate::rng::generator;

    const SLOTS: usize = 5;

    #[test]
    fn lists_are_those_of_sorted_maps() {
        let (mut postings, mut naive) = (Postings::default(), vec![BTreeMap::new(); SLOTS]);
        let mut rng = generator(6, 0);
        // Lists grow for a while, then shrink, several times.
        for round in 0..20_000 {
            let (slot, support) = (rng.random_range(0..SLOTS), rng.random_range(0..200_u32));
            if rng.random_bool(if round / 2_000 % 2 == 0 { 0.8 } else { 0.1 }) {
                postings.put(slot, support, f64::from(round));
                naive[slot].insert(support, f64::from(round));
            } else if naive[slot].remove(&support).is_some() {
                postings.remove(slot, support);
            }
            let (supports, values) =
                if slot < postings.lists.len() { postings.of(slot) } else { (&[][..], &[][..]) };
            assert!(supports.iter().eq(naive[slot].keys()) && values.iter().eq(naive[slot].values()));
        }
        // No place belongs to two lists or is lost.
        let held: usize = postings.lists.iter().map(|list| list.room as usize).sum();
        let free: usize = postings.free.iter().enumerate().map(|(size, starts)| starts.len() << size).sum();
        assert_eq!(held + free, postings.room());
        assert!(postings.room() <= 4 * 256 * SLOTS, "{}", postings.room());
    }

    #[test]
    fn lists_of_known_length_leave_nothing_free() {
        let mut postings = Postings::with_lengths(&[3, 0, 1]);
        (0..3).for_each(|support| postings.put(0, support, 1.5));
        postings.put(2, 9, 2.5);
        assert_eq!(
            (postings.of(0), postings.of(2)),
            ((&[0, 1, 2][..], &[1.5; 3][..]), (&[9][..], &[2.5][..]))
        );
        assert_eq!((postings.room(), postings.free.len()), (6, 0));
    }
}
