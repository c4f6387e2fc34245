//! Which examples are worth learning from.
//!
//! The doubt about an example is the probability that was given to the other label. On long noisy streams most examples repeat what
//! is known, and learning from them costs time, and memory for weights that their tasks do not need. So of the examples with less
//! doubt than usual one in [`ONE_IN`] is learnt, if their task has had [`KNOWN_TASK`] examples; and a task gets no new weights of its
//! own from an example unless its doubt is well above the usual:
//!
//! ```text
//! usual = (mean doubt - LITTLE) (1 - FIRST / n)    after n > FIRST examples
//! doubt < LITTLE_NEW usual, of a known task: one in ONE_IN, known weights;   doubt < NEW usual: known weights
//! otherwise, and up to FIRST: all
//! ```
//!
//! Known weights are what tasks share, and those of the task that examples have moved before.
//!
//! [`LITTLE`] is taken off because on a stream with hardly any errors, examples that are right still teach much. The second factor
//! lets the usual grow from nothing: of few examples every one matters. If none of the examples with little doubt were learnt,
//! margins would shrink: what is left out always speaks for the larger margin. Of a task that has had few examples, none is left out: what
//! others have taught leaves little doubt about them, and its own weights are still to be learnt from them.
//!
//! Where one label is rare, all members are soon sure of the other one, and the gate (`rule`) would leave them next to nothing but the
//! rare one to learn from. So where a label has come more than [`ONE_SIDED`] times as often as the other one, its gate is farther out:
//!
//! ```text
//! gate = 1.5 + max(0, ln(odds of the label / ONE_SIDED))    odds = (1 + examples with it) / (1 + examples with the other one)
//! ```
//!
//! The last constant was chosen on streams with rare labels (dense features, 5 to 50 tasks), [`KNOWN_TASK`] on the streams A, B and D of
//! `bench_gen.py` with the seeds 7, 7, and 7 to 9, the others on those with seed 1, of D also seed 4.

use serde::{Deserialize, Serialize};

/// Examples before any is left out.
const FIRST: f64 = 32_768.0;
/// Mean doubt up to which all teach.
const LITTLE: f64 = 0.08;
/// Times the usual doubt: below the first an example has little to teach, below the second no new weights of its task.
const LITTLE_NEW: f64 = 0.7;
const NEW: f64 = 2.0;
/// Examples of a task before any of its own is left out.
const KNOWN_TASK: u64 = 1024;
/// Of the examples with little to teach, so many are left out for one that is learnt, and that one.
const ONE_IN: u64 = 4;
/// Examples of one label for one of the other, up to which labels are even.
const ONE_SIDED: f64 = 3.0;

/// What an example teaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lesson {
    /// Nothing.
    Nothing,
    /// What is shared, and those own weights that there are.
    Known,
    /// Everything.
    All,
}

/// What doubts there have been.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Doubts {
    sum: f64,
    #[serde(deserialize_with = "crate::count::saved")]
    examples: u64,
    /// With little to teach; older models left all of them out.
    #[serde(default, skip_serializing_if = "is_zero", deserialize_with = "crate::count::saved")]
    little: u64,
    /// Examples with the label -1 and with +1, by their importance; older models did not count them.
    #[serde(default, skip_serializing_if = "are_zero")]
    labels: [f64; 2],
}

fn are_zero(labels: &[f64; 2]) -> bool {
    *labels == [0.0; 2]
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Doubts {
    /// What an example with this doubt teaches, of a task that has had so many.
    #[inline]
    pub(super) fn weigh(&mut self, doubt: f64, of_task: u64) -> Lesson {
        self.sum += doubt;
        self.examples += 1;
        let examples = self.examples as f64;
        let usual = (self.sum / examples - LITTLE) * (1.0 - FIRST / examples);
        match examples > FIRST {
            true if of_task >= KNOWN_TASK && doubt < LITTLE_NEW * usual => {
                self.little += 1;
                if self.little.is_multiple_of(ONE_IN) { Lesson::Known } else { Lesson::Nothing }
            }
            true if doubt < NEW * usual => Lesson::Known,
            _ => Lesson::All,
        }
    }

    /// Counts a label.
    #[inline]
    pub(super) fn count(&mut self, label: f64, weight: f64) {
        self.labels[usize::from(label > 0.0)] += weight;
    }

    /// How far beyond its usual place the gate of a label is: that far are margins from 0 before anything is known of an example.
    #[inline]
    pub(super) fn one_sided(&self, label: f64) -> f64 {
        let at = usize::from(label > 0.0);
        let odds = (self.labels[at] + 1.0) / (self.labels[1 - at] + 1.0);
        if odds > ONE_SIDED { (odds / ONE_SIDED).ln() } else { 0.0 }
    }

    pub(super) fn is_sound(&self) -> bool {
        let counted = self.labels.iter().all(|count| (0.0..f64::INFINITY).contains(count));
        counted && self.sum >= 0.0 && self.sum <= self.examples as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(examples: u64, doubt: f64) -> Doubts {
        Doubts { sum: examples as f64 * doubt, examples, ..Doubts::default() }
    }

    #[test]
    fn little_doubt_teaches_little_where_there_is_much_and_many_examples() {
        let many = 5000;
        let lessons = |mut doubts: Doubts| [0.001, 0.3, 0.5].map(|doubt| doubts.weigh(doubt, many));
        assert_eq!(lessons(after(1_000_000, 0.3)), [Lesson::Nothing, Lesson::Known, Lesson::All]);
        let new_task = [0.001, 0.3, 0.5].map(|doubt| after(1_000_000, 0.3).weigh(doubt, 1000));
        assert_eq!(new_task, [Lesson::Known, Lesson::Known, Lesson::All], "none is left out");
        for everything in [after(30_000, 0.3), after(1_000_000, 0.05), Doubts::default()] {
            assert_eq!(lessons(everything), [Lesson::All; 3], "{everything:?}");
        }
        let mut doubts = after(1_000_000, 0.3);
        let little: Vec<Lesson> = (0..8).map(|_| doubts.weigh(0.001, many)).collect();
        assert_eq!(
            little.iter().filter(|lesson| **lesson == Lesson::Known).count(),
            2,
            "one in four: {little:?}"
        );
        assert_eq!(after(1_000_000, 0.3).weigh(f64::NAN, many), Lesson::All);
        doubts.count(1.0, 2.0);
        assert_eq!([1.0, -1.0].map(|label| doubts.one_sided(label)), [0.0; 2], "as good as even");
        (0..600).for_each(|_| doubts.count(-1.0, 1.0));
        assert_eq!(doubts.one_sided(1.0), 0.0);
        assert!((doubts.one_sided(-1.0) - (601.0_f64 / 9.0).ln()).abs() < 1e-12);
        assert!(
            after(10, 0.5).is_sound()
                && !Doubts { sum: f64::NAN, examples: 3, ..Doubts::default() }.is_sound()
        );
    }
}
