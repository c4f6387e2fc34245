//! Larger tables: of which size, and how everything moves there.

use super::{CacheLine, EMPTY, IndexMap, KEYS_PER_CROSSING, LONGEST_SEARCH, TableValue, key_of};
use crate::table::secret;

impl<V: TableValue> IndexMap<V> {
    /// Chooses new sizes with room for more keys, and moves everything.
    pub(super) fn rebuild(&mut self, more: &[u32]) {
        let (head, in_head) = self.best_head(more);
        let needed = self.in_head as usize + self.in_tail as usize + more.len() - in_head;
        let buckets = match needed {
            few if few < V::LANES => usize::from(few > 0),
            needed => (needed * V::ROOM).div_ceil(V::MEAN_OF_FOUR),
        };
        self.move_all(head, in_head, buckets);
    }

    /// Moves everything to where another factor has it; sizes stay, so that none depends on the secret.
    #[cold]
    pub(super) fn draw_again(&mut self) {
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
        (0..V::LANES).for_each(|lane| empty.words_mut()[V::FIRST_KEY + lane * V::NEXT_KEY] = EMPTY);
        let mut lines = Vec::with_capacity(self.head_lines + buckets);
        lines.extend_from_slice(if old.is_list() { &[] } else { &old.lines[..old.head_lines] });
        lines.resize(self.head_lines, CacheLine::ZERO);
        lines.resize(self.head_lines + buckets, empty);
        self.lines = lines.into_boxed_slice();
        (self.in_tail, self.patience) = (0, (LONGEST_SEARCH + self.tail_limit() / KEYS_PER_CROSSING) as u32);
        if old.is_list() {
            return (1..=old.in_tail as usize)
                .all(|place| self.take_over(old.key_at(place), V::at(&old.lines, place)));
        }
        // Every key but those of the last rebuild is moved some times in its life: no more is done for it than must be.
        old.lines[old.head_lines..].iter().all(|line| {
            let keys = (0..V::LANES).map(|lane| (lane, key_of::<V>(line, lane)));
            let mut held = keys.take_while(|(_, key)| *key != EMPTY);
            held.all(|(lane, key)| self.take_over(key, V::at(std::slice::from_ref(line), lane)))
        })
    }

    /// Takes over a key of another table; false if keys crowd.
    #[inline]
    fn take_over(&mut self, key: u32, value: Option<&V>) -> bool {
        let Some(place) = self.claim(key) else { return false };
        if let (Some(taken), Some(value)) = (V::at_mut(&mut self.lines, place as usize), value) {
            *taken = *value;
        }
        true
    }

    /// The largest power of two of which at least one in [`TableValue::SLACK`] keys is present, and how many are.
    fn best_head(&self, more: &[u32]) -> (usize, usize) {
        let in_head = self.in_head as usize;
        let known = in_head + self.in_tail as usize + more.len();
        let mut best = (self.head, in_head);
        let least = 4.max(2 * self.head).next_power_of_two();
        for power in (least.ilog2()..31).take_while(|power| 1 << power <= known * V::SLACK) {
            let end = 1_u32 << power;
            let present = in_head + self.in_tail_below(end) + more.iter().filter(|key| **key < end).count();
            if present * V::SLACK >= 1 << power {
                best = (1 << power, present);
            }
        }
        best
    }

    /// How many keys of the tail are below this one.
    fn in_tail_below(&self, end: u32) -> usize {
        if self.is_list() {
            return (1..=self.in_tail as usize).filter(|place| self.key_at(*place) < end).count();
        }
        // What is empty is not below any.
        let below = |line: &CacheLine| {
            (0..V::LANES).map(|lane| u32::from(key_of::<V>(line, lane) < end)).sum::<u32>() as usize
        };
        self.buckets().iter().map(below).sum()
    }
}
