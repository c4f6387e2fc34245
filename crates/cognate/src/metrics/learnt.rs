//! Which examples a model has learnt, as far as a small sample tells.
//!
//! The examples with the smallest hashes, 256 of them, are a sample of all that were learnt, however often each came.
//! Of examples with hashes as small, it is known whether they were learnt; of others nothing is known, and their
//! share is taken to be the same.

use serde::{Deserialize, Serialize};

use crate::block::Block;
use crate::error::StateError;
use crate::example::Example;
use crate::fingerprint::fingerprint as hash;

/// Most hashes that are kept.
const MOST: usize = 256;

/// A sample of the examples that a model has learnt.
#[derive(Debug, Clone, Default)]
pub struct Learnt {
    /// The smallest hashes, increasing.
    kept: Vec<Kept>,
    /// Examples learnt since the sample began.
    examples: u64,
}

#[derive(Debug, Clone, Copy)]
struct Kept {
    hash: u64,
    /// Whether it was learnt before this run.
    before: bool,
    /// How often it came in this run.
    times: u64,
}

/// How many of a sample of examples were learnt before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Overlap {
    /// Examples of which it is known.
    pub sampled: u64,
    /// Those of them that were learnt before.
    pub known: u64,
}

impl Overlap {
    /// Counts what [`Learnt::knows`] said of an example.
    pub fn count(&mut self, known: Option<bool>) {
        self.sampled += u64::from(known.is_some());
        self.known += u64::from(known == Some(true));
    }

    /// The share of examples learnt before; none without a sample.
    pub fn share(&self) -> Option<f64> {
        (self.sampled > 0).then(|| self.known as f64 / self.sampled as f64)
    }
}

/// What is saved is compared; what is known of this run alone is not.
impl PartialEq for Learnt {
    fn eq(&self, other: &Self) -> bool {
        self.examples == other.examples && self.hashes().eq(other.hashes())
    }
}

impl Eq for Learnt {}

impl Learnt {
    /// Whether an example of the same task and features was learnt; none if the sample cannot tell.
    ///
    /// False is certain only where the sample holds all that was learnt: [`Self::examples`] says of how many it is.
    pub fn knows(&self, example: Example<'_>) -> Option<bool> {
        let hash = hash(example);
        match self.kept.binary_search_by_key(&hash, |kept| kept.hash) {
            Ok(_) => Some(true),
            Err(at) => {
                (self.examples > 0 && (at < self.kept.len() || self.kept.len() < MOST)).then_some(false)
            }
        }
    }

    /// Examples learnt since the sample began: those of the model's life, unless its file comes from a version without
    /// samples, or a task was forgotten.
    pub fn examples(&self) -> u64 {
        self.examples
    }

    /// Examples of this run whose like was learnt in an earlier one.
    pub fn from_earlier_runs(&self) -> Overlap {
        let known = self.kept.iter().filter(|kept| kept.before).map(|kept| kept.times).sum();
        Overlap { sampled: self.kept.iter().map(|kept| kept.times).sum(), known }
    }

    /// Examples of this run whose like came before in it.
    pub fn repeated(&self) -> Overlap {
        let times = || self.kept.iter().filter(|kept| !kept.before).map(|kept| kept.times);
        Overlap { sampled: times().sum(), known: times().map(|times| times.saturating_sub(1)).sum() }
    }

    /// Examples of this run whose like was learnt before, in it or in an earlier one.
    pub fn seen_before(&self) -> Overlap {
        let [earlier, repeated] = [self.from_earlier_runs(), self.repeated()];
        Overlap { sampled: earlier.sampled, known: earlier.known + repeated.known }
    }

    /// A new run begins.
    pub(crate) fn begin_run(&mut self) {
        self.kept.iter_mut().for_each(|kept| (kept.before, kept.times) = (true, 0));
    }

    /// An example with this fingerprint is learnt.
    #[inline]
    pub(crate) fn learn(&mut self, hash: u64) {
        self.examples += 1;
        if self.kept.len() < MOST || self.kept.last().is_some_and(|last| hash <= last.hash) {
            self.keep(hash);
        }
    }

    #[cold]
    fn keep(&mut self, hash: u64) {
        match self.kept.binary_search_by_key(&hash, |kept| kept.hash) {
            Ok(at) => self.kept[at].times += 1,
            Err(at) => {
                self.kept.truncate(MOST - 1);
                self.kept.insert(at, Kept { hash, before: false, times: 1 });
            }
        }
    }

    fn hashes(&self) -> impl Iterator<Item = u64> {
        self.kept.iter().map(|kept| kept.hash)
    }

    pub(super) fn state(&self) -> Option<LearntState> {
        let hashes = || Block(self.hashes().collect());
        (self.examples > 0).then(|| LearntState { hashes: hashes(), examples: self.examples })
    }

    pub(super) fn restore(state: &LearntState) -> Result<Self, StateError> {
        let hashes = &state.hashes.0;
        let possible = hashes.len() <= MOST
            && hashes.len() as u64 <= state.examples
            && hashes.windows(2).all(|pair| pair[0] < pair[1]);
        if !possible {
            return Err(StateError::new("the sample of examples is impossible"));
        }
        let kept = hashes.iter().map(|hash| Kept { hash: *hash, before: true, times: 0 });
        Ok(Self { kept: kept.collect(), examples: state.examples })
    }
}

/// Saved form of [`Learnt`].
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct LearntState {
    hashes: Block<u64>,
    #[serde(deserialize_with = "crate::count::saved")]
    examples: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example::{SparseView, TaskId};

    /// The example of a number, learnt or looked up.
    fn with<R>(number: u32, used: impl FnOnce(Example<'_>) -> R) -> R {
        let values: Vec<f64> = (0..40).map(|at| f64::from((number >> (at % 20)) & 1)).collect();
        let indices: Vec<u32> = (0..40).collect();
        used(Example::new(TaskId(number % 3), SparseView::try_new(&indices, &values).unwrap(), 1.0))
    }

    fn learn(learnt: &mut Learnt, numbers: std::ops::Range<u32>) {
        numbers.for_each(|number| with(number, |example| learnt.learn(hash(example))));
    }

    fn overlap(learnt: &Learnt, numbers: std::ops::Range<u32>) -> Overlap {
        let mut overlap = Overlap::default();
        numbers.for_each(|number| overlap.count(with(number, |example| learnt.knows(example))));
        overlap
    }

    #[test]
    fn a_few_are_all_known() {
        let mut learnt = Learnt::default();
        assert_eq!(overlap(&learnt, 0..10).share(), None);
        learn(&mut learnt, 0..100);
        assert_eq!(overlap(&learnt, 50..250), Overlap { sampled: 200, known: 50 });
        assert_eq!(learnt.repeated(), Overlap { sampled: 100, known: 0 });
        learn(&mut learnt, 0..50);
        assert_eq!(learnt.repeated(), Overlap { sampled: 150, known: 50 });
    }

    #[test]
    fn many_are_known_by_a_sample() {
        let mut learnt = Learnt::default();
        learn(&mut learnt, 0..20_000);
        assert_eq!(learnt.repeated().known, 0);
        assert_eq!(overlap(&learnt, 0..20_000), Overlap { sampled: 256, known: 256 });
        let half = overlap(&learnt, 10_000..30_000);
        assert!((half.share().unwrap() - 0.5).abs() < 0.15, "{half:?}");
        assert_eq!(overlap(&learnt, 100_000..120_000).known, 0);
        // Saved, and learnt again: every example is from an earlier run.
        let state = learnt.state().unwrap();
        let mut again = Learnt::restore(&state).unwrap();
        assert_eq!(again, learnt);
        learn(&mut again, 0..20_000);
        assert_eq!(again.from_earlier_runs().share(), Some(1.0));
        learnt.begin_run();
        learn(&mut learnt, 20_000..40_000);
        learn(&mut learnt, 20_000..40_000);
        assert_eq!((learnt.from_earlier_runs().known, learnt.repeated().share()), (0, Some(0.5)));
    }

    #[test]
    fn impossible_samples_are_refused() {
        let state = |hashes: Vec<u64>, examples| LearntState { hashes: Block(hashes), examples };
        assert!(Learnt::restore(&state(vec![1, 2], 2)).is_ok());
        assert!(Learnt::restore(&state(vec![2, 1], 2)).is_err());
        assert!(Learnt::restore(&state(vec![1, 2], 1)).is_err());
        assert!(Learnt::restore(&state((0..257).collect(), 1000)).is_err());
    }
}
