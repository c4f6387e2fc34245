//! Examples seen again: which they are, and what they teach.
//!
//! Progressive validation is what the mixture lives on: a label says which members to believe because they did not know it. Members
//! that have learnt an example agree with it, the overfitted ones most of all. So of an example that was seen before the mixture,
//! the trust, the side and the opinions about groups may believe nothing, and it does not count as one more that its task has seen.
//! The members learn it with a weight that falls with its showings, since they can still gain:
//!
//! ```text
//! weight = 1/4 / (showings before)^2    where as many others have come since its last showing as half of all that are known
//!          0                            where they have not: what has just been learnt has nothing more to say
//! ```
//!
//! Twenty passes teach the members 1.4 times what one does.
//!
//! An example is known again by a fingerprint of task and features ([`crate::fingerprint`]). At most [`MOST`] are kept, in 4 MB;
//! when there are more, half of all possible fingerprints are kept no longer. An example of which nothing is known is taken to be
//! new as long as next to none of those come again of which it is known; otherwise it teaches the members what those teach.
//!
//! Where features are few, different examples look the same: surveys, counters, one category of a few. To take those for copies
//! would be a silent error, since a model that is held back goes on doubting what it is not taught. So copies are what has evidence:
//!
//! - Labels. Those of copies are the same, those of others differ as often as the model and the other label's share let expect. They are
//!   copies where less than a fourth of that is seen and next to none differ at all, as soon as eight were expected to. Not where
//!   fewer than 64 different ones are known, or each has been seen 40 times: so few weights cannot be overfitted by much.
//! - A share of new fingerprints, which is about the share of those that came once (Good and Turing). Where it falls below 0.3 of
//!   that, the stream is seen again, whatever the labels say; until it has risen to half of it.
//! - Examples that follow each other and look the same are copies from the first on, as long as labels differ in less than a fourth of
//!   what is expected, and up to 24 in a row in the mean: rows that come twenty times. Longer rows are what a sorted or constant stream is like.
//!
//! The constants were chosen on halves of the data sets (seeds 1 and 2).

use serde::{Deserialize, Serialize};

use super::rule::sigmoid;
use crate::block::Block;
use crate::error::StateError;
use crate::fingerprint::BITS;
use crate::table::prefetch::prefetch;

/// Fingerprints at most.
const MOST: usize = 1 << 17;
/// Slots at first; there are two for every fingerprint.
const FEWEST: usize = 1 << 6;

/// What the second showing of an example is worth.
const SECOND: f64 = 0.25;
/// Of the labels that were to be expected to differ, the share that must.
const DIFFER: f64 = 0.25;
/// Of all, the share that differs of copies at most; some do come by chance.
const RARELY: f64 = 0.02;
/// Labels that must have been expected to differ before anything is taken for copies.
const EVIDENCE: f64 = 8.0;
/// Different examples, below which all are new, and showings of each in the mean, from which on.
const FEW_DIFFERENT: usize = 64;
const MANY_SHOWINGS: u64 = 40;
/// Examples in a row that are taken for copies, in the mean of the rows.
const LONGEST_ROW: u64 = 24;
/// Share of copies among recent examples up to which those are new of which nothing is known.
const FEW_COPIES: f64 = 0.1;
/// Recent examples: so many.
const RECENT: f64 = 256.0;
/// Below this times the expected share of new fingerprints the stream is seen again, until there is that times the share.
const FEW_NEW: f64 = 0.3;
const NEW_AGAIN: f64 = 0.5;
/// The least expected share that says anything.
const LEAST_EXPECTED: f64 = 0.05;

/// In the lowest bits of a slot: showings, and whether the label of the last one was +1. Above them is the fingerprint.
const SHOWINGS: u64 = 0x3ff;
const POSITIVE: u64 = 0x400;
const LOW: u32 = 64 - BITS;

/// How an example comes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Showing {
    New,
    /// Again, and it teaches the members with this weight.
    Again(f64),
}

/// The examples that have been seen.
#[derive(Debug, Clone)]
pub(super) struct Memory {
    slots: Vec<Slot>,
    /// Slots in use.
    used: usize,
    known: Known,
}

#[derive(Debug, Clone, Copy, Default)]
struct Slot {
    /// Fingerprint, label and showings; 0 where there is none.
    entry: u64,
    /// The number of the last showing.
    last: u32,
}

/// How labels go with those of the same fingerprint.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
struct Labels {
    differ: f64,
    expected: f64,
    /// How many there were.
    #[serde(default, skip_serializing_if = "is_none", deserialize_with = "crate::count::saved")]
    count: u64,
}

impl Labels {
    /// Counts a label, where the other one has this share of all.
    fn count(&mut self, before: f64, label: f64, margin: f64, other: f64) {
        let doubt = sigmoid(-before * margin).min(other);
        self.differ += f64::from(before != label);
        self.expected += if doubt.is_nan() { 0.0 } else { doubt };
        self.count += 1;
    }

    /// Whether they differ as those of examples that are drawn anew.
    fn differ_as_expected(self) -> bool {
        self.differ > DIFFER * self.expected
    }

    /// Whether there is evidence of copies.
    fn are_of_copies(self) -> bool {
        let rarely = self.differ <= RARELY * self.count as f64;
        self.expected >= EVIDENCE && rarely && !self.differ_as_expected()
    }

    fn is_sound(self) -> bool {
        self.differ >= 0.0 && self.differ.is_finite() && self.expected >= 0.0 && self.expected.is_finite()
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn is_none(count: &u64) -> bool {
    *count == 0
}

/// What is known beside the fingerprints.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct Known {
    /// Fingerprints of at most so many bits are kept.
    bits: u32,
    /// The example before.
    #[serde(deserialize_with = "crate::count::saved")]
    before: u64,
    label_before: f64,
    /// Showings whose fingerprints were to be kept.
    #[serde(deserialize_with = "crate::count::saved")]
    showings: u64,
    /// Fingerprints shown once.
    #[serde(deserialize_with = "crate::count::saved")]
    once: u64,
    adjacent: Labels,
    apart: Labels,
    /// Recent share of new fingerprints, and the one that was to be expected.
    new: f64,
    expected: f64,
    /// Where the stream is seen again: the share of new fingerprints from which on it is not; otherwise 0.
    until: f64,
    /// Recent share of examples seen again, and what recent ones are worth.
    again: f64,
    worth: f64,
    /// Examples with the label +1, and all.
    #[serde(default, skip_serializing_if = "is_none", deserialize_with = "crate::count::saved")]
    positive: u64,
    #[serde(default, skip_serializing_if = "is_none", deserialize_with = "crate::count::saved")]
    all: u64,
    /// Rows of examples that look the same, and how many in them were taken for copies.
    #[serde(default, skip_serializing_if = "is_none", deserialize_with = "crate::count::saved")]
    rows: u64,
    #[serde(default, skip_serializing_if = "is_none", deserialize_with = "crate::count::saved")]
    copies: u64,
}

impl Known {
    /// The share of the other label among all examples, of which one more with each label is taken to be known.
    fn share_of_other(&self, label: f64) -> f64 {
        let others = if label > 0.0 { self.all.saturating_sub(self.positive) } else { self.positive };
        (others + 1) as f64 / (self.all + 2) as f64
    }

    /// Notes an example; whether it is a copy of the one just before it, and whether it looks like that.
    fn follow(&mut self, fingerprint: u64, label: f64, margin: f64) -> (bool, bool) {
        let (before, label_before) = (self.before, self.label_before);
        (self.before, self.label_before) = (fingerprint, label);
        let adjacent = fingerprint == before;
        if adjacent {
            self.adjacent.count(label_before, label, margin, self.share_of_other(label_before));
        } else {
            self.rows += 1;
        }
        self.positive += u64::from(label > 0.0);
        self.all += 1;
        let few = self.copies < LONGEST_ROW.saturating_mul(self.rows);
        let copy = adjacent && few && !self.adjacent.differ_as_expected();
        self.copies += u64::from(copy);
        (copy, adjacent)
    }

    fn new() -> Self {
        Self {
            bits: BITS,
            before: 0,
            label_before: 0.0,
            showings: 0,
            once: 0,
            adjacent: Labels::default(),
            apart: Labels::default(),
            new: 0.0,
            expected: 0.0,
            until: 0.0,
            again: 0.0,
            worth: 1.0,
            positive: 0,
            all: 0,
            rows: 0,
            copies: 0,
        }
    }

    /// Takes it in whether a fingerprint is new; how much the latest counts in recent shares.
    fn expect(&mut self, new: bool) -> f64 {
        let chance = self.once as f64 / self.showings.max(1) as f64;
        self.showings += 1;
        let rate = (self.showings as f64).recip().max(RECENT.recip());
        self.expected += rate * (chance - self.expected);
        self.new += rate * (f64::from(new) - self.new);
        if self.until > 0.0 {
            if self.new > self.until {
                self.until = 0.0;
            }
        } else if self.showings as f64 > RECENT
            && self.expected > LEAST_EXPECTED
            && self.new < FEW_NEW * self.expected
        {
            self.until = NEW_AGAIN * self.expected;
        }
        rate
    }

    fn is_sound(&self) -> bool {
        let shares = [self.new, self.expected, self.until, self.again, self.worth];
        (1..=BITS).contains(&self.bits)
            && shares.iter().all(|share| (0.0..=1.0).contains(share))
            && self.label_before.is_finite()
            && self.positive <= self.all
            && self.adjacent.is_sound()
            && self.apart.is_sound()
    }
}

impl Memory {
    /// Bytes at most.
    pub(super) const LARGEST: usize = 2 * MOST * size_of::<Slot>();

    pub(super) fn new() -> Self {
        Self { slots: Vec::new(), used: 0, known: Known::new() }
    }

    /// By what an example with this fingerprint is known again.
    #[inline]
    pub(super) fn known_by(fingerprint: u64) -> u64 {
        // 0 is an empty slot.
        fingerprint.max(1)
    }

    /// Asks for what is known of an example.
    #[inline]
    pub(super) fn prefetch(&self, fingerprint: u64) {
        prefetch(&self.slots, fingerprint as usize & self.slots.len().wrapping_sub(1));
    }

    /// How an example comes, with this fingerprint and label, of which this margin was predicted.
    #[inline]
    pub(super) fn meet(&mut self, fingerprint: u64, label: f64, margin: f64) -> Showing {
        let (copy, adjacent) = self.known.follow(fingerprint, label, margin);
        if copy {
            return Showing::Again(0.0);
        }
        if self.is_kept(fingerprint) && 2 * (self.used + 1) > self.slots.len() {
            self.make_room();
        }
        let showing =
            if self.is_kept(fingerprint) { self.show(fingerprint, label, margin) } else { self.guess() };
        if adjacent { Showing::New } else { showing }
    }

    #[inline]
    fn is_kept(&self, fingerprint: u64) -> bool {
        fingerprint >> self.known.bits == 0
    }

    /// How an example comes of which nothing is known.
    fn guess(&self) -> Showing {
        let Known { again, worth, .. } = self.known;
        if again > FEW_COPIES { Showing::Again(worth) } else { Showing::New }
    }

    /// How an example comes whose fingerprint is kept, with room for it.
    fn show(&mut self, fingerprint: u64, label: f64, margin: f64) -> Showing {
        let at = self.find(fingerprint);
        let (slot, known) = (&mut self.slots[at], &mut self.known);
        let Slot { entry, last } = *slot;
        let rate = known.expect(entry == 0);
        let now = known.showings as u32;
        let showings = entry & SHOWINGS;
        let positive = if label > 0.0 { POSITIVE } else { 0 };
        *slot = Slot { entry: fingerprint << LOW | positive | (showings + 1).min(SHOWINGS), last: now };
        let mut showing = Showing::New;
        if entry == 0 {
            self.used += 1;
            known.once += 1;
        } else {
            known.once -= u64::from(showings == 1);
            let before = if entry & POSITIVE == 0 { -1.0 } else { 1.0 };
            known.apart.count(before, label, margin, known.share_of_other(before));
            let many = self.used >= FEW_DIFFERENT && known.showings < MANY_SHOWINGS * self.used as u64;
            if many && known.apart.are_of_copies() || known.until > 0.0 {
                let long_ago = 2 * now.wrapping_sub(last) as usize >= self.used;
                let worth = SECOND / (showings * showings) as f64;
                showing = Showing::Again(if long_ago { worth } else { 0.0 });
            }
        }
        let (again, worth) = match showing {
            Showing::New => (0.0, 1.0),
            Showing::Again(worth) => (1.0, worth),
        };
        known.again += rate * (again - known.again);
        known.worth += rate * (worth - known.worth);
        showing
    }

    /// The slot of a fingerprint, or the empty one where it goes.
    #[inline]
    fn find(&self, fingerprint: u64) -> usize {
        let mask = self.slots.len() - 1;
        let mut at = fingerprint as usize & mask;
        while self.slots[at].entry != 0 && self.slots[at].entry >> LOW != fingerprint {
            at = (at + 1) & mask;
        }
        at
    }

    /// Doubles the slots, or keeps half of the fingerprints.
    #[cold]
    fn make_room(&mut self) {
        let mut slots = self.slots.len();
        if self.used < MOST {
            slots = (2 * slots).max(FEWEST);
        } else {
            self.known.bits -= 1;
        }
        let before = std::mem::replace(&mut self.slots, vec![Slot::default(); slots]);
        self.fill(before.into_iter().filter(|slot| slot.entry != 0));
    }

    /// Takes in what is to be kept, and counts it.
    fn fill(&mut self, slots: impl Iterator<Item = Slot>) {
        (self.used, self.known.once) = (0, 0);
        for slot in slots {
            let fingerprint = slot.entry >> LOW;
            if self.is_kept(fingerprint) {
                let at = self.find(fingerprint);
                self.slots[at] = slot;
                self.used += 1;
                self.known.once += u64::from(slot.entry & SHOWINGS == 1);
            }
        }
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.slots.capacity() * size_of::<Slot>()
    }

    /// None as long as there is nothing to save.
    pub(super) fn state(&self) -> Option<MemoryState> {
        let mut kept: Vec<Slot> = self.slots.iter().copied().filter(|slot| slot.entry != 0).collect();
        kept.sort_unstable_by_key(|slot| slot.entry);
        let low = (1 << LOW) - 1;
        (self.known.before != 0).then(|| MemoryState {
            fingerprints: Block(kept.iter().map(|slot| slot.entry >> LOW).collect()),
            showings: Block(kept.iter().map(|slot| (slot.entry & low) as u32).collect()),
            last: Block(kept.iter().map(|slot| slot.last).collect()),
            known: self.known,
        })
    }

    pub(super) fn restore(state: MemoryState) -> Result<Self, StateError> {
        let MemoryState { fingerprints: Block(fingerprints), showings, last, known } = state;
        let sound = known.is_sound()
            && fingerprints.len() <= MOST
            && fingerprints.len() as u64 <= known.showings
            && [showings.0.len(), last.0.len()] == [fingerprints.len(); 2]
            && fingerprints.first() != Some(&0)
            && fingerprints.windows(2).all(|pair| pair[0] < pair[1])
            && fingerprints.last().is_none_or(|largest| largest >> known.bits == 0)
            && showings.0.iter().all(|showings| showings >> LOW == 0 && u64::from(*showings) & SHOWINGS > 0);
        if !sound {
            return Err(StateError::new("what is known of examples seen before is impossible"));
        }
        let slots = (2 * fingerprints.len()).next_power_of_two().max(FEWEST);
        let mut memory = Self { slots: vec![Slot::default(); slots], used: 0, known };
        memory.fill(fingerprints.iter().zip(&showings.0).zip(&last.0).map(
            |((fingerprint, showings), last)| Slot {
                entry: fingerprint << LOW | u64::from(*showings),
                last: *last,
            },
        ));
        Ok(memory)
    }
}

/// Saved form of [`Memory`].
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct MemoryState {
    /// Increasing.
    fingerprints: Block<u64>,
    /// Showings and label of each, and the number of its last showing.
    showings: Block<u32>,
    last: Block<u32>,
    known: Known,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A fingerprint for a number, spread over all that there are.
    fn spread(number: u64) -> u64 {
        number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> LOW
    }

    fn label(number: u64) -> f64 {
        if spread(number).is_multiple_of(3) { 1.0 } else { -1.0 }
    }

    /// Share of a pass over these that is new.
    fn pass(memory: &mut Memory, numbers: std::ops::Range<u64>) -> f64 {
        let count = (numbers.end - numbers.start) as f64;
        let show = |number| memory.meet(spread(number), label(number), -0.5) == Showing::New;
        numbers.map(show).filter(|new| *new).count() as f64 / count
    }

    #[test]
    fn passes_are_seen_again_and_weigh_less_and_less() {
        let mut memory = Memory::new();
        assert_eq!(pass(&mut memory, 0..1000), 1.0);
        for showings in 1..5_u64 {
            let worth = 0.25 / (showings * showings) as f64;
            for number in 0..1000 {
                let showing = memory.meet(spread(number), label(number), 0.5);
                // There is no evidence at first.
                let early = showings == 1 && number < 64;
                assert!(showing == Showing::Again(worth) || early && showing == Showing::New, "{number}");
            }
        }
        assert_eq!(pass(&mut memory, 1000..2000), 1.0, "what is new remains so");
    }

    #[test]
    fn what_has_just_been_seen_teaches_nothing() {
        let mut memory = Memory::new();
        for number in 0..500 {
            assert_eq!(memory.meet(spread(number), label(number), 0.3), Showing::New);
            for _ in 0..19 {
                assert_eq!(memory.meet(spread(number), label(number), 0.3), Showing::Again(0.0));
            }
            let earlier = memory.meet(spread(number / 2), label(number / 2), 0.3);
            assert!(number < 100 || matches!(earlier, Showing::Again(_)), "{number}");
        }
    }

    #[test]
    fn examples_that_look_the_same_are_new_while_their_labels_differ() {
        let mut memory = Memory::new();
        let mut random = 1_u64;
        let mut new = 0;
        for _ in 0..5000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let drawn = if (random >> 40).is_multiple_of(4) { 1.0 } else { -1.0 };
            new += u32::from(memory.meet(spread((random >> 50) % 20), drawn, -1.1) == Showing::New);
        }
        assert!(new > 4900, "{new}");
    }

    /// A model that is held back would go on doubting, so that nothing ever spoke against copies.
    #[test]
    fn few_that_look_the_same_are_new_even_if_labels_never_differ() {
        for (different, least) in [(1, 0.97), (2, 0.97), (20, 0.95), (60, 0.95)] {
            let mut memory = Memory::new();
            let show = |at: u64| memory.meet(spread(at % different), label(at % different), 0.1);
            let new = (0..4000).map(show).filter(|showing| *showing == Showing::New).count() as f64;
            assert!(new >= least * 4000.0, "{different}: {new}");
        }
    }

    #[test]
    fn long_rows_are_no_copies() {
        let mut memory = Memory::new();
        let show = |at: u64| memory.meet(spread(at / 300), label(at / 300), 0.1);
        let new = (0..30_000).map(show).filter(|showing| *showing == Showing::New).count();
        assert!(new > 27_000, "{new}");
    }

    /// Half of what comes looks like something that came before, and labels differ: learnt, but not in a second pass.
    #[test]
    fn a_second_pass_is_known_by_what_is_not_new() {
        let mut memory = Memory::new();
        let draws: Vec<(u64, f64)> = (0..4000_u64)
            .map(|at| (spread(spread(at) % 4000), if spread(7 * at).is_multiple_of(2) { 1.0 } else { -1.0 }))
            .collect();
        let mut pass = |draws: &[(u64, f64)]| {
            draws.iter().filter(|(example, label)| memory.meet(*example, *label, 0.0) == Showing::New).count()
        };
        assert!(pass(&draws) > 3900);
        assert!(pass(&draws) < 600);
        assert_eq!(pass(&draws), 0);
        let others: Vec<(u64, f64)> =
            draws.iter().map(|(example, label)| (example ^ 0x5_5555, *label)).collect();
        assert!(pass(&others) > 3000, "what is new is learnt again");
    }

    #[test]
    fn of_many_a_sample_is_kept_that_speaks_for_all() {
        let (mut memory, many) = (Memory::new(), 3 * MOST as u64);
        assert_eq!(pass(&mut memory, 0..many), 1.0);
        assert!(memory.used <= MOST && memory.heap_bytes() <= Memory::LARGEST);
        assert!(pass(&mut memory, 0..many) < 0.01);
        let saved = memory.state().unwrap();
        let mut restored = Memory::restore(memory.state().unwrap()).unwrap();
        assert_eq!(restored.state().unwrap().fingerprints, saved.fingerprints);
        for number in many - 1000..many + 1000 {
            let one = memory.meet(spread(number), 1.0, 0.1);
            assert_eq!(restored.meet(spread(number), 1.0, 0.1), one);
        }
    }

    #[test]
    fn impossible_memories_are_refused() {
        let mut memory = Memory::new();
        assert!(memory.state().is_none());
        pass(&mut memory, 0..10);
        let spoilt = |spoil: fn(&mut MemoryState)| {
            let mut state = memory.state().unwrap();
            spoil(&mut state);
            Memory::restore(state).is_err()
        };
        assert!(!spoilt(|_| ()));
        assert!(spoilt(|state| state.fingerprints.0.swap(0, 1)));
        assert!(spoilt(|state| state.showings.0[3] = 0));
        assert!(spoilt(|state| state.last.0.clear()));
        assert!(spoilt(|state| state.known.bits = 0));
        assert!(spoilt(|state| state.known.worth = f64::NAN));
        assert!(spoilt(|state| state.known.showings = 3));
    }
}
