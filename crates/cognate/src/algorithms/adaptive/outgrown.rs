//! Sizes that a single value has set: when are they taken back?
//!
//! Of the first example, or of a feature that is new, nobody knows whether it is in other units than all that comes. If it is, s stays
//! too large for good, and so does the precision that its square has brought. So s of a feature shrinks again, and its precision with
//! it, where a value x is far below it and no second one has come near it. With q = |x| / s of the example's features that have had
//! larger values, u the median of their ln q and d 1.5 times its median deviation:
//!
//! ```text
//! one feature   ln q < u - max(4 d, 3), q < 1/100, and c < 0.26 s^2: the precision of one value of that size, and a little
//!               s = |x| exp(2 d - u): x goes with the others, at their lower end
//! all           of six or more three fourths have q < 1/4, and u < -0.7 - d, and fewer than 6 examples have taught; or none has
//!               q > 1/25, as of the two lines before, and fewer than 16 have: s = 3 |x| where q < 1/4 or 0.3
//! c             at most s^2 / 4, as of one example, where it was more than a fiftieth of the old s^2
//! ```
//!
//! Where tasks share; `independent`, `pooled`, graphs and matrices keep what they have. With fewer features than six, all of them below 1/100, the first rule holds for fewer than 16 examples, with 30 |x|. What is compared
//! lies within an example, so features that vary by thousands (money, long texts after short ones) keep their sizes. Constants were
//! chosen on the seeds 1 to 4 of `cargo xtask robust --breaks`, and so that spam_b, whose mails are of all lengths, learns as before.

use super::rule::Sizes;

/// q below which a feature is looked at.
pub(super) const BELOW: f64 = 0.01;
/// Precision in units of s^2 that one value of that size brings at most, and a little more.
const SINGLE: f64 = 0.26;

/// Features that must be comparable.
const FEWEST: usize = 6;
/// Examples before which all sizes may be those of a bad one: where most are below, and where all are far below.
const FIRST: u64 = 6;
pub(super) const EARLY: u64 = 16;
const MOSTLY_BELOW: f64 = 0.25;
const ALL_BELOW: f64 = 0.04;
/// Deviations, and the least gap.
const DEVIATIONS: f64 = 4.0;
const LEAST_GAP: f64 = 3.0;
/// Precision of one example, in units of the square of its value, and what is less than anything.
const ONE: f64 = 0.25;
const NOTHING: f64 = 0.02;

/// Whether one of these can be taken back once [`EARLY`] examples have taught, of value, size and precision: for all others the
/// medians need not be found.
pub(super) fn may_be_taken_back(mut known: impl Iterator<Item = (f64, f64, f64)>) -> bool {
    known.any(|(value, size, precision)| {
        value != 0.0 && value.abs() < BELOW * size && precision < SINGLE * size * size
    })
}

/// Which sizes of an example's features are taken back.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Outgrown {
    /// q below which they are.
    below: f64,
    /// What they are in units of |x|.
    times: f64,
    /// Whatever speaks for them.
    all: bool,
}

impl Outgrown {
    /// From the values of an example and the sizes of their features, which have grown with them; `logs` is scratch.
    #[cold]
    pub(super) fn of(
        known: impl Iterator<Item = (f64, f64)>,
        sizes: &mut Sizes,
        logs: &mut Vec<f64>,
    ) -> Option<Self> {
        let had_larger = known.filter(|(value, size)| *value != 0.0 && value.abs() < *size);
        logs.clear();
        logs.extend(had_larger.map(|(value, size)| (value.abs() / size).ln()));
        let taught = sizes.taught();
        if logs.len() < FEWEST {
            let far = !logs.is_empty() && logs.iter().all(|q| *q < BELOW.ln());
            return (far && taught < EARLY).then_some(Self { below: BELOW, times: 30.0, all: false });
        }
        logs.sort_unstable_by(f64::total_cmp);
        let (smallest, largest) = (logs[0], logs[logs.len() - 1]);
        if taught < EARLY && largest < ALL_BELOW.ln() && sizes.are_left_below() {
            return Some(Self { below: 0.3, times: 3.0, all: true });
        }
        let mostly = 4 * logs.iter().filter(|q| **q < MOSTLY_BELOW.ln()).count() >= 3 * logs.len();
        let (median, deviation) = spread(logs);
        if taught < FIRST && mostly && median < -0.7 - deviation {
            return Some(Self { below: MOSTLY_BELOW, times: 3.0, all: true });
        }
        let least = (median - (DEVIATIONS * deviation).max(LEAST_GAP)).min(BELOW.ln());
        let times = (2.0 * deviation - median).exp();
        (smallest < least).then(|| Self { below: least.exp(), times, all: false })
    }

    /// The size that is left of one with this precision; none where it stands.
    pub(super) fn shrunk(self, value: f64, size: f64, precision: f64) -> Option<f64> {
        let value = value.abs();
        let single = self.all || precision < SINGLE * size * size;
        let left = self.times * value;
        (value > 0.0 && value < self.below * size && single && left < size).then_some(left)
    }
}

/// The precision that is left where s has become smaller, both as they are seen.
pub(super) fn precision_left(precision: f64, before: f64, now: f64) -> f64 {
    if precision > NOTHING * before * before { precision.min(ONE * now * now) } else { precision }
}

/// Median and deviation of sorted numbers, which are lost.
fn spread(sorted: &mut [f64]) -> (f64, f64) {
    let middle = sorted.len() / 2;
    let median = sorted[middle];
    sorted.iter_mut().for_each(|number| *number = (*number - median).abs());
    sorted.sort_unstable_by(f64::total_cmp);
    (median, 1.5 * sorted[middle])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(ratios: &[f64], taught: u64) -> Option<Outgrown> {
        let mut sizes = Sizes::default();
        (0..taught).for_each(|_| sizes.count(1.0, 1, false));
        Outgrown::of(ratios.iter().map(|q| (*q, 1.0)), &mut sizes, &mut Vec::new())
    }

    #[test]
    fn one_feature_is_told_from_an_example_that_is_small() {
        let usual = [0.5, 0.3, 0.2, 0.6, 0.4, 0.25, 0.7];
        assert_eq!(of(&usual, 100), None);
        assert_eq!(of(&usual.map(|q| 1e-3 * q), 100), None, "all are small");
        let mut one = usual;
        one[2] = 1e-4;
        let outgrown = of(&one, 100).unwrap();
        assert!(outgrown.shrunk(1e-4, 1.0, 0.25).unwrap() < 1e-2);
        assert_eq!(outgrown.shrunk(1e-4, 1.0, 5.0), None, "many values speak for it");
        assert_eq!(outgrown.shrunk(0.3, 1.0, 0.25), None, "the others stand");
    }

    #[test]
    fn after_a_first_line_in_other_units_all_shrink() {
        let far = [1e-6, 2e-6, 5e-7, 3e-6, 8e-7, 1e-6];
        let outgrown = of(&far, 1).unwrap();
        assert_eq!(outgrown.shrunk(1e-6, 1.0, 100.0), Some(3e-6));
        assert!(of(&far, 100).is_none());
        assert_eq!(precision_left(0.25, 1.0, 1e-3), 0.25e-6);
        assert_eq!(precision_left(1e-4, 1.0, 1e-3), 1e-4, "the large value taught nothing");
    }
}
