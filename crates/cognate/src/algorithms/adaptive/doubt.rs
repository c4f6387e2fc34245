//! Which examples are worth learning from.
//!
//! The doubt about an example is the probability that was given to the other label. On long noisy streams most examples repeat what
//! is known, and learning from them costs time, and memory for weights that their tasks do not need. So an example teaches all
//! parts if its doubt is well above the usual, only what tasks share if it is about that, and nothing if it is below:
//!
//! ```text
//! usual = (mean doubt - LITTLE) (1 - FIRST / n)    after n > FIRST examples
//! doubt < NOTHING usual: nothing;   doubt < SHARED usual: what tasks share;   otherwise, and up to FIRST examples: all
//! ```
//!
//! [`LITTLE`] is taken off because on a stream with hardly any errors, examples that are right still teach much. The second factor
//! lets the usual grow from nothing: of few examples every one matters.
//!
//! The constants were chosen on the streams of the benchmark: with smaller shares it errs a little less on stream B and takes
//! longer, with larger ones the other way round.

use serde::{Deserialize, Serialize};

/// Examples before any is left out.
const FIRST: f64 = 32_768.0;
/// Mean doubt up to which all teach.
const LITTLE: f64 = 0.08;
/// Times the usual doubt: below the first an example teaches nothing, below the second not the task's own parts.
const NOTHING: f64 = 0.7;
const SHARED: f64 = 2.0;

/// What an example teaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lesson {
    Nothing,
    Shared,
    All,
}

/// What doubts there have been.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Doubts {
    sum: f64,
    #[serde(deserialize_with = "crate::count::saved")]
    examples: u64,
}

impl Doubts {
    /// What an example with this doubt teaches.
    #[inline]
    pub(super) fn weigh(&mut self, doubt: f64) -> Lesson {
        self.sum += doubt;
        self.examples += 1;
        let examples = self.examples as f64;
        let usual = (self.sum / examples - LITTLE) * (1.0 - FIRST / examples);
        match examples > FIRST {
            true if doubt < NOTHING * usual => Lesson::Nothing,
            true if doubt < SHARED * usual => Lesson::Shared,
            _ => Lesson::All,
        }
    }

    pub(super) fn is_sound(&self) -> bool {
        self.sum >= 0.0 && self.sum <= self.examples as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(examples: u64, doubt: f64) -> Doubts {
        Doubts { sum: examples as f64 * doubt, examples }
    }

    #[test]
    fn little_doubt_teaches_little_where_there_is_much_and_many_examples() {
        let lessons = |mut doubts: Doubts| [0.001, 0.3, 0.5].map(|doubt| doubts.weigh(doubt));
        assert_eq!(lessons(after(1_000_000, 0.3)), [Lesson::Nothing, Lesson::Shared, Lesson::All]);
        for everything in [after(30_000, 0.3), after(1_000_000, 0.05), Doubts::default()] {
            assert_eq!(lessons(everything), [Lesson::All; 3], "{everything:?}");
        }
        assert_eq!(after(1_000_000, 0.3).weigh(f64::NAN), Lesson::All);
        assert!(after(10, 0.5).is_sound() && !Doubts { sum: f64::NAN, examples: 3 }.is_sound());
    }
}
