//! Examples kept side by side, and their inner products with one more.
//!
//! An incoming example meets most of them along its own features. It is scattered into an array for the others, those that
//! are new or alone in being related: each of them gathers along its features. Either way an inner product is summed up in the order of the features, so it
//! has the same bits. Features are renumbered as they are first kept, so that array is as long as there are different ones.
//!
//! A support may be replaced or removed. What it leaves behind, entries and features that no support has, is cleared away
//! once it is a quarter of what is kept, so memory follows the supports that are there.

mod saved;

use std::cell::RefCell;

use pulp::{Simd, WithSimd};
pub(crate) use saved::SupportsState;

use super::KernelConfig;
use super::postings::Postings;
use crate::example::{SparseView, TaskId};
use crate::learner::Support;
use crate::linalg::Width;
use crate::table::{IndexMap, Search};

#[derive(Debug, Clone, Default)]
pub(crate) struct Supports {
    /// Feature to slot, from 1; 0 is a feature that no support has.
    slots: IndexMap<u32>,
    /// Slot to feature, from 0.
    features: Vec<u32>,
    tasks: Vec<TaskId>,
    /// |x|^2 of each.
    squares: Vec<f64>,
    /// Which example each was.
    examples: Vec<u64>,
    /// Where the entries of each are.
    spans: Vec<Span>,
    /// Entries of all spans, without what was left behind.
    live: usize,
    entry_slots: Vec<u32>,
    values: Vec<f64>,
    /// The same entries by slot.
    postings: Postings,
}

/// Entries of one support: `len` of them from `start` on, in a place that has room for more.
#[derive(Debug, Clone, Copy)]
struct Span {
    start: usize,
    len: usize,
    room: usize,
}

impl Span {
    fn range(self) -> std::ops::Range<usize> {
        self.start..self.start + self.len
    }
}

/// Entries and features that may be left behind whatever is kept.
const LEFT_BEHIND: usize = 64;

/// Supports whose inner products are gathered side by side.
const LANES: usize = 4;

/// Buffers of a prediction.
#[derive(Default)]
struct Scratch {
    search: Search,
    /// Slots of the example's features from 1, or 0.
    slots: Vec<u32>,
    /// Those that no support has.
    unknown: Vec<u32>,
    /// Slots of the example's features, with its values; those that no support has are left out.
    met: Vec<(u32, f64)>,
    /// The scattered example: all zeros between uses.
    scattered: Vec<f64>,
    /// How related each support's task is to the example's.
    relations: Vec<f64>,
}

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

/// |x|^2.
pub(crate) fn square(x: SparseView<'_>) -> f64 {
    x.values().iter().map(|value| value * value).sum()
}

/// x'z of two vectors, both walked through once.
pub(crate) fn merged_product(x: SparseView<'_>, z: SparseView<'_>) -> f64 {
    let (mut sum, mut rest) = (0.0, z.iter().peekable());
    for (feature, value) in x.iter() {
        while rest.next_if(|other| other.0 < feature).is_some() {}
        if let Some((_, other)) = rest.next_if(|other| other.0 == feature) {
            sum += value * other;
        }
    }
    sum
}

impl Supports {
    pub(crate) fn len(&self) -> usize {
        self.tasks.len()
    }

    pub(crate) fn task(&self, at: usize) -> TaskId {
        self.tasks[at]
    }

    pub(crate) fn square(&self, at: usize) -> f64 {
        self.squares[at]
    }

    /// Puts the kernel values k(x_s, x) into `row`, one per support.
    pub(crate) fn likenesses(&self, kernel: &KernelConfig, x: SparseView<'_>, row: &mut Vec<f64>) {
        SCRATCH.with_borrow_mut(|scratch| {
            self.meet(x, scratch);
            self.products(&scratch.met, &mut scratch.scattered, row);
        });
        kernel.values(row, square(x), &self.squares);
    }

    /// Puts relation(s) k(x_s, x) into `row`, one per support, 0 for those of unrelated tasks; `relate` fills in the
    /// relations of tasks.
    pub(crate) fn related(
        &self,
        kernel: &KernelConfig,
        x: SparseView<'_>,
        relate: impl FnOnce(&[TaskId], &mut Vec<f64>),
        row: &mut Vec<f64>,
    ) {
        SCRATCH.with_borrow_mut(|scratch| {
            self.meet(x, scratch);
            let Scratch { met, scattered, relations, .. } = scratch;
            relations.clear();
            relate(&self.tasks, relations);
            let related = relations.iter().filter(|relation| **relation != 0.0).count();
            // Entries that are walked over, either way; a support taken by itself costs a few more.
            let along_x = || met.iter().map(|(slot, _)| self.postings.of(*slot).0.len()).sum::<usize>();
            if related < self.len() && related * (4 + self.live / self.len()) < along_x() {
                row.clear();
                row.resize(self.len(), 0.0);
                self.scattered(met, scattered, |scattered| {
                    for (at, relation) in relations.iter().enumerate().filter(|pair| *pair.1 != 0.0) {
                        let [product] = self.gather(scattered, |_| at);
                        row[at] = relation * kernel.value(product, square(x), self.squares[at]);
                    }
                });
            } else {
                self.products(met, scattered, row);
                kernel.values(row, square(x), &self.squares);
                Width::find().run(Relate { row, relations });
            }
        });
    }

    /// Looks up the features of an example.
    fn meet(&self, x: SparseView<'_>, scratch: &mut Scratch) {
        let Scratch { search, slots, met, .. } = scratch;
        self.look_up(x, search, slots);
        met.clear();
        let known = slots.iter().zip(x.values()).filter(|pair| *pair.0 > 0);
        met.extend(known.map(|(slot, value)| (slot - 1, *value)));
    }

    /// Inner products with all supports.
    fn products(&self, met: &[(u32, f64)], scattered: &mut Vec<f64>, row: &mut Vec<f64>) {
        row.clear();
        row.resize(self.len(), 0.0);
        let (listed, width) = (&mut row[..self.postings.count()], Width::find());
        for (slot, value) in met {
            let (supports, values) = self.postings.of(*slot);
            if supports.len() == listed.len() {
                width.add_scaled(listed, *value, values);
            } else {
                for (support, other) in supports.iter().zip(values) {
                    listed[*support as usize] += value * other;
                }
            }
        }
        self.scattered(met, scattered, |scattered| {
            let mut fours = self.postings.changed().chunks_exact(LANES);
            for four in fours.by_ref() {
                let products = self.gather::<LANES>(scattered, |lane| four[lane] as usize);
                four.iter().zip(products).for_each(|(at, product)| row[*at as usize] = product);
            }
            for at in fours.remainder() {
                [row[*at as usize]] = self.gather(scattered, |_| *at as usize);
            }
        });
    }

    /// Inner products of some supports with the scattered example, side by side: one sum alone waits for itself.
    fn gather<const N: usize>(&self, scattered: &[f64], at: impl Fn(usize) -> usize) -> [f64; N] {
        let entries: [_; N] = std::array::from_fn(|lane| {
            let range = self.spans[at(lane)].range();
            (&self.entry_slots[range.clone()], &self.values[range])
        });
        let all_have = entries.iter().map(|(slots, _)| slots.len()).min().unwrap_or(0);
        let heads = entries.map(|(slots, values)| (&slots[..all_have], &values[..all_have]));
        let mut sums = [0.0; N];
        for entry in 0..all_have {
            for (sum, (slots, values)) in sums.iter_mut().zip(&heads) {
                *sum += scattered[slots[entry] as usize] * values[entry];
            }
        }
        for (sum, (slots, values)) in sums.iter_mut().zip(&entries) {
            for (slot, value) in slots[all_have..].iter().zip(&values[all_have..]) {
                *sum += scattered[*slot as usize] * value;
            }
        }
        sums
    }

    /// Hands out the example scattered over the slots.
    fn scattered(&self, met: &[(u32, f64)], scattered: &mut Vec<f64>, visit: impl FnOnce(&[f64])) {
        if scattered.len() < self.features.len() {
            scattered.resize(self.features.len(), 0.0);
        }
        met.iter().for_each(|(slot, value)| scattered[*slot as usize] = *value);
        visit(scattered);
        met.iter().for_each(|(slot, _)| scattered[*slot as usize] = 0.0);
    }

    /// Features and values of a support.
    pub(crate) fn entries(&self, at: usize) -> impl Iterator<Item = (u32, f64)> + '_ {
        let range = self.spans[at].range();
        let features = self.entry_slots[range.clone()].iter().map(|slot| self.features[*slot as usize]);
        features.zip(self.values[range].iter().copied())
    }

    /// Keeps an example, which was the learner's `example`-th.
    pub(crate) fn push(&mut self, task: TaskId, x: SparseView<'_>, example: u64) {
        let span = self.append(x);
        self.live += span.len;
        self.spans.push(span);
        self.tasks.push(task);
        self.squares.push(square(x));
        self.examples.push(example);
        self.changed(self.len() - 1);
    }

    /// Has a support that changed left out of the lists, until they are made anew.
    fn changed(&mut self, at: usize) {
        if self.postings.change(at as u32, self.len()) {
            self.make_postings();
        }
    }

    fn make_postings(&mut self) {
        let entries = |span: &Span| (&self.entry_slots[span.range()], &self.values[span.range()]);
        self.postings.make(self.features.len(), || self.spans.iter().map(entries));
    }

    /// Writes the entries of an example behind all others.
    fn append(&mut self, x: SparseView<'_>) -> Span {
        let span = Span { start: self.values.len(), len: x.len(), room: x.len() };
        self.with_slots(x, |supports, slots| supports.entry_slots.extend_from_slice(slots));
        self.values.extend_from_slice(x.values());
        span
    }

    /// Hands out the slots of an example's features, new where no support has had them.
    fn with_slots(&mut self, x: SparseView<'_>, take: impl FnOnce(&mut Self, &[u32])) {
        SCRATCH.with_borrow_mut(|scratch| {
            let Scratch { search, slots, unknown, .. } = scratch;
            self.look_up(x, search, slots);
            unknown.clear();
            let zeros = slots.iter().zip(x.indices()).filter(|pair| *pair.0 == 0);
            unknown.extend(zeros.map(|(_, feature)| *feature));
            self.slots.reserve(unknown);
            let mut next = unknown.iter();
            for slot in slots.iter_mut() {
                if *slot == 0
                    && let Some(feature) = next.next()
                {
                    self.features.push(*feature);
                    *slot = self.features.len() as u32;
                    *self.slots.new_entry(*feature) = *slot;
                }
                *slot -= 1;
            }
            take(self, slots);
        });
    }

    /// Looks up the slots of an example's features, from 1, or 0.
    fn look_up(&self, x: SparseView<'_>, search: &mut Search, slots: &mut Vec<u32>) {
        // All searches begin before the first ends, so that they wait for memory together.
        search.begin(&self.slots, x.indices());
        search.finish(&self.slots, x.indices());
        slots.clear();
        slots.extend(search.places().iter().map(|place| self.slots.at(*place)));
    }

    /// Keeps an example in the place of another.
    pub(crate) fn replace(&mut self, at: usize, task: TaskId, x: SparseView<'_>, example: u64) {
        let old = self.spans[at];
        if x.len() <= old.room {
            let range = old.start..old.start + x.len();
            self.values[range.clone()].copy_from_slice(x.values());
            self.with_slots(x, |supports, slots| supports.entry_slots[range].copy_from_slice(slots));
            self.spans[at].len = x.len();
        } else {
            self.spans[at] = self.append(x);
        }
        self.live = self.live - old.len + x.len();
        (self.tasks[at], self.squares[at], self.examples[at]) = (task, square(x), example);
        self.changed(at);
        self.tidy();
    }

    /// Forgets an example; the last one takes its place.
    pub(crate) fn swap_remove(&mut self, at: usize) {
        self.live -= self.spans.swap_remove(at).len;
        self.tasks.swap_remove(at);
        self.squares.swap_remove(at);
        self.examples.swap_remove(at);
        self.postings.clear(self.len());
        self.tidy();
    }

    /// Clears away what was left behind, once it is a quarter of what is kept.
    fn tidy(&mut self) {
        let most = self.live + self.live / 4 + LEFT_BEHIND;
        if self.features.len() > most {
            self.number_anew(most);
        } else if self.values.len() > most {
            self.close_ranks(most);
        }
    }

    /// Forgets features that no support has.
    fn number_anew(&mut self, most: usize) {
        self.close_ranks(most);
        // From 1; 0 is a feature without a number.
        let (mut numbers, mut features) = (vec![0; self.features.len()], Vec::new());
        for slot in &mut self.entry_slots {
            let number = &mut numbers[*slot as usize];
            if *number == 0 {
                features.push(self.features[*slot as usize]);
                *number = features.len() as u32;
            }
            *slot = *number - 1;
        }
        self.slots = IndexMap::default();
        self.slots.reserve(&features);
        (1..).zip(&features).for_each(|(number, feature)| *self.slots.new_entry(*feature) = number);
        self.features = features;
        self.make_postings();
    }

    /// Moves the entries of all supports together.
    fn close_ranks(&mut self, most: usize) {
        let (mut slots, mut values) = (Vec::with_capacity(most), Vec::with_capacity(most));
        for span in &mut self.spans {
            let start = values.len();
            slots.extend_from_slice(&self.entry_slots[span.range()]);
            values.extend_from_slice(&self.values[span.range()]);
            *span = Span { start, len: span.len, room: span.len };
        }
        (self.entry_slots, self.values) = (slots, values);
    }

    /// Copies a support into buffers, its features sorted.
    pub(crate) fn copy(&self, at: usize, indices: &mut Vec<u32>, values: &mut Vec<f64>) {
        indices.clear();
        values.clear();
        for (feature, value) in self.entries(at) {
            indices.push(feature);
            values.push(value);
        }
    }

    /// Which of the learner's examples a support was, from 1.
    pub(crate) fn example(&self, at: usize) -> u64 {
        self.examples[at]
    }

    /// `sum_s coefficient(s) x_s`, its non-zero entries by feature.
    pub(crate) fn combined(&self, coefficient: impl Fn(usize) -> f64) -> Vec<(u32, f64)> {
        let mut sums = vec![0.0; self.features.len()];
        for (at, span) in self.spans.iter().enumerate() {
            let coefficient = coefficient(at);
            for (slot, value) in self.entry_slots[span.range()].iter().zip(&self.values[span.range()]) {
                sums[*slot as usize] += coefficient * value;
            }
        }
        let mut weights: Vec<(u32, f64)> =
            self.features.iter().copied().zip(sums).filter(|pair| pair.1 != 0.0).collect();
        weights.sort_unstable_by_key(|pair| pair.0);
        weights
    }

    /// The supports as they are shown, with their coefficients.
    pub(crate) fn listed(&self, coefficients: &[f64]) -> Vec<Support> {
        let support = |(at, coefficient): (usize, &f64)| Support {
            example: self.examples[at],
            task: self.tasks[at],
            coefficient: *coefficient,
        };
        coefficients.iter().enumerate().map(support).collect()
    }

    /// Calls `visit` with every support as a view whose features are sorted.
    pub(crate) fn for_each(&self, mut visit: impl FnMut(usize, SparseView<'_>)) {
        let (mut indices, mut values) = (Vec::new(), Vec::new());
        for at in 0..self.len() {
            self.copy(at, &mut indices, &mut values);
            visit(at, SparseView::trusted(&indices, &values));
        }
    }

    /// Bytes held.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.slots.heap_bytes()
            + self.postings.heap_bytes()
            + (self.features.capacity() + self.tasks.capacity() + self.entry_slots.capacity()) * 4
            + (self.squares.capacity() + self.examples.capacity() + self.values.capacity()) * 8
            + self.spans.capacity() * size_of::<Span>()
    }
}

/// `row *= relations`; an infinite value is 0 for an unrelated task.
struct Relate<'a> {
    row: &'a mut [f64],
    relations: &'a [f64],
}

impl WithSimd for Relate<'_> {
    type Output = ();

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "only what is inlined is compiled for wide vectors")]
    fn with_simd<S: Simd>(self, _: S) {
        for (value, relation) in self.row.iter_mut().zip(self.relations) {
            *value = if *relation == 0.0 { 0.0 } else { *relation * *value };
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::RngExt as _;

    use super::*;
    use crate::rng::generator;

    #[test]
    fn products_are_those_of_the_examples() {
        let mut supports = Supports::default();
        let x =
            |indices: &'static [u32], values: &'static [f64]| SparseView::try_new(indices, values).unwrap();
        supports.push(TaskId(0), x(&[1, 5], &[2.0, 3.0]), 1);
        supports.push(TaskId(1), x(&[], &[]), 2);
        supports.push(TaskId(0), x(&[0, 5, 4_000_000_000], &[1.0, -1.0, 4.0]), 7);
        let (linear, mut row) = (KernelConfig::default(), Vec::new());
        let z = x(&[5, 9, 4_000_000_000], &[10.0, 1.0, 0.5]);
        supports.likenesses(&linear, z, &mut row);
        assert_eq!(row, [30.0, 0.0, -8.0]);
        let only = |wanted: u32| {
            let factor = move |task: &TaskId| if task.0 == wanted { 3.0 } else { 0.0 };
            move |tasks: &[TaskId], relations: &mut Vec<f64>| relations.extend(tasks.iter().map(factor))
        };
        supports.related(&linear, z, only(0), &mut row);
        assert_eq!(row, [90.0, 0.0, -24.0]);
        // Nothing of an example is left behind for the next.
        supports.related(&linear, x(&[1], &[1.0]), only(0), &mut row);
        assert_eq!(row, [6.0, 0.0, 0.0]);
        supports.related(&linear, z, only(1), &mut row);
        assert_eq!(row, [0.0; 3]);
        assert_eq!(supports.square(2), 18.0);
        let restored = Supports::restore(2, 7, &supports.state()).unwrap();
        assert_eq!(restored.entries(2).collect::<Vec<_>>(), supports.entries(2).collect::<Vec<_>>());
        assert!(Supports::restore(1, 7, &supports.state()).is_err());
        assert!(Supports::restore(2, 6, &supports.state()).is_err());
    }

    #[test]
    fn what_is_replaced_leaves_nothing_behind() {
        let (mut supports, mut naive) = (Supports::default(), Vec::new());
        let (mut largest, mut rng) = (0, generator(3, 0));
        for round in 0..5_000_u64 {
            // Features that never come again, and two that all have.
            let mut indices = vec![1, 7];
            indices.extend((0..rng.random_range(0..12_u32)).map(|at| 100 + round as u32 * 12 + at));
            let values: Vec<f64> = indices.iter().map(|_| rng.random_range(-1.0..1.0)).collect();
            let (x, task) = (SparseView::trusted(&indices, &values), TaskId(round as u32 % 3));
            let kept = (task, indices.clone(), values.clone());
            if naive.len() < 20 {
                supports.push(task, x, round);
                naive.push(kept);
            } else if round % 50 == 0 {
                let at = rng.random_range(0..20);
                supports.swap_remove(at);
                naive.swap_remove(at);
            } else {
                let at = rng.random_range(0..20);
                supports.replace(at, task, x, round);
                naive[at] = kept;
            }
            if round == 200 {
                largest = supports.heap_bytes();
            }
        }
        assert!(supports.heap_bytes() < 2 * largest, "{} bytes after {largest}", supports.heap_bytes());
        let restored = Supports::restore_in_any_order(3, 5_000, &supports.state()).unwrap();
        assert!(Supports::restore(3, 5_000, &supports.state()).is_err());
        for set in [&supports, &restored] {
            set.for_each(|at, x| {
                assert_eq!((set.task(at), x.indices(), x.values()), {
                    let (task, indices, values) = &naive[at];
                    (*task, &indices[..], &values[..])
                });
            });
            // Along the features of the example, and along those of supports.
            let (_, indices, values) = &naive[7];
            let (probe, mut row) = (SparseView::trusted(indices, values), Vec::new());
            set.likenesses(&KernelConfig::default(), probe, &mut row);
            assert_eq!(row.len(), naive.len());
            for (at, product) in row.iter().enumerate() {
                let (_, indices, values) = &naive[at];
                let expected = merged_product(probe, SparseView::trusted(indices, values));
                assert_eq!(product.to_bits(), expected.to_bits());
                let mut alone = Vec::new();
                let only = |tasks: &[TaskId], relations: &mut Vec<f64>| {
                    relations.extend((0..tasks.len()).map(|other| f64::from(u8::from(other == at))));
                };
                set.related(&KernelConfig::default(), probe, only, &mut alone);
                assert_eq!(alone[at].to_bits(), expected.to_bits());
                assert_eq!(alone.iter().filter(|value| **value != 0.0).count(), 1);
            }
        }
    }
}
