//! The entries of kept examples once more, by feature: which of them have it, and its value.
//!
//! One more example meets all of them along its own features only, so features that two examples do not share cost
//! nothing. A list is sorted by support; one that all supports are in is a row of numbers without gaps.
//!
//! Lists are not changed but made anew, after about 2 sqrt(B) of B supports have changed: that balances what making them
//! costs per change, O(B s), against what supports outside them cost per prediction, O(s) each.

/// Lists of a while ago, and the supports that have changed since.
#[derive(Debug, Clone, Default)]
pub(super) struct Postings {
    /// Where the list of a slot begins; one more for the end of the last.
    starts: Vec<u32>,
    supports: Vec<u32>,
    values: Vec<f64>,
    /// Supports that there were.
    count: usize,
    /// Supports whose entries in the lists are not theirs, or that are in none.
    changed: Vec<u32>,
}

impl Postings {
    /// Supports that had the feature of a slot, and its values.
    #[inline]
    pub(super) fn of(&self, slot: u32) -> (&[u32], &[f64]) {
        let slot = slot as usize;
        match self.starts.get(slot..slot + 2) {
            Some(&[start, end]) => {
                let range = start as usize..end as usize;
                (&self.supports[range.clone()], &self.values[range])
            }
            _ => (&[], &[]),
        }
    }

    /// Supports that there were when the lists were made.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Supports of which the lists say nothing.
    pub(super) fn changed(&self) -> &[u32] {
        &self.changed
    }

    /// Learns that a support has changed; says whether lists for this many should be made anew.
    pub(super) fn change(&mut self, support: u32, supports: usize) -> bool {
        if !self.changed.contains(&support) {
            self.changed.push(support);
        }
        self.changed.len() > (4 * supports).isqrt()
    }

    /// Empties the lists; all of this many supports have changed.
    pub(super) fn clear(&mut self, supports: usize) {
        self.starts.clear();
        self.count = 0;
        self.changed.clear();
        self.changed.extend(0..supports as u32);
    }

    /// Makes lists for this many slots from the slots and values of all supports, in order.
    pub(super) fn make<'a, I: Iterator<Item = (&'a [u32], &'a [f64])>>(
        &mut self,
        slots: usize,
        entries: impl Fn() -> I,
    ) {
        self.changed.clear();
        self.starts.clear();
        // Counted two further on, summed up, and moved one back as the lists are filled.
        self.starts.reserve_exact(slots + 2);
        self.starts.resize(slots + 2, 0);
        (entries().flat_map(|support| support.0)).for_each(|slot| self.starts[*slot as usize + 2] += 1);
        let mut total = 0;
        for start in &mut self.starts {
            total += *start;
            *start = total;
        }
        self.supports.clear();
        self.values.clear();
        self.supports.reserve_exact(total as usize);
        self.values.reserve_exact(total as usize);
        self.supports.resize(total as usize, 0);
        self.values.resize(total as usize, 0.0);
        self.count = 0;
        for (slots, values) in entries() {
            for (slot, value) in slots.iter().zip(values) {
                let place = &mut self.starts[*slot as usize + 1];
                (self.supports[*place as usize], self.values[*place as usize]) = (self.count as u32, *value);
                *place += 1;
            }
            self.count += 1;
        }
        self.starts.pop();
    }

    pub(super) fn heap_bytes(&self) -> usize {
        let small = self.starts.capacity() + self.supports.capacity() + self.changed.capacity();
        small * 4 + self.values.capacity() * 8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_sorted_and_say_what_has_changed() {
        let entries: [(&[u32], &[f64]); 4] =
            [(&[2, 0], &[1.0, 2.0]), (&[], &[]), (&[2], &[3.0]), (&[3, 2], &[4.0, 5.0])];
        let mut postings = Postings::default();
        assert_eq!(postings.of(0), (&[][..], &[][..]));
        postings.make(4, || entries.into_iter());
        assert_eq!(postings.of(0), (&[0][..], &[2.0][..]));
        assert_eq!(postings.of(1), (&[][..], &[][..]));
        assert_eq!(postings.of(2), (&[0, 2, 3][..], &[1.0, 3.0, 5.0][..]));
        assert_eq!(postings.of(3), (&[3][..], &[4.0][..]));
        assert_eq!((postings.of(4), postings.count()), ((&[][..], &[][..]), 4));
        // 2 sqrt(1) is below 3.
        assert_eq!([3, 3, 1, 0].map(|support| postings.change(support, 1)), [false, false, false, true]);
        assert_eq!(postings.changed(), [3, 1, 0]);
        postings.clear(2);
        assert_eq!(
            (postings.of(2), postings.count(), postings.changed()),
            ((&[][..], &[][..]), 0, &[0, 1][..])
        );
    }
}
