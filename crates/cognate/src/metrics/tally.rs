//! Counts and sums of one task, or of all.

use super::measures::Measures;
use super::scored::{SUMS, Scored, class, guesses_positive, real};
use crate::fit::Kind;

/// How many counts a tally has.
pub(super) const COUNTS: usize = 7;

/// Counts and sums of one task, or of all; in two cache lines.
///
/// Counts are of examples. Rates are of weight, an example of weight 2 as if it had come twice; where all
/// weights are 1 they are the ratios of the counts.
#[derive(Debug, Clone, Copy, Default)]
#[repr(align(64))]
pub struct Tally {
    /// Examples seen.
    pub examples: u64,
    /// Rounds with `label * margin <= 0`; none where labels are real numbers.
    pub mistakes: u64,
    /// Rounds that changed the state.
    pub updates: u64,
    /// Labels asked for.
    pub queries: u64,
    /// Label +1, predicted +1. A margin of exactly 0 is no success.
    pub true_positives: u64,
    /// Label -1, mistaken.
    pub false_positives: u64,
    /// Label +1, mistaken.
    pub false_negatives: u64,
    /// Sum of the weights.
    pub(super) weight: f64,
    /// Sum of weight times label.
    pub(super) labels: f64,
    /// Cost of the constant guess: weight of its mistakes, or its squared errors. NaN: unknown.
    pub(super) constant: f64,
    /// Further sums, by the places of their kind; NaN: unknown.
    pub(super) sums: [f64; SUMS],
    /// Kind of the labels, once there is one.
    pub(super) kind: Option<Kind>,
}

/// Unknown numbers are equals.
impl PartialEq for Tally {
    fn eq(&self, other: &Self) -> bool {
        let alike = |(one, two): (f64, f64)| one.to_bits() == two.to_bits() || (one.is_nan() && two.is_nan());
        self.kind == other.kind
            && self.counts() == other.counts()
            && self.floats().into_iter().zip(other.floats()).all(alike)
    }
}

impl Eq for Tally {}

fn ratio(part: f64, whole: f64) -> f64 {
    if whole == 0.0 { 0.0 } else { part / whole }
}

/// A ratio that may be unknown, or have no denominator.
fn known(part: f64, whole: f64) -> Option<f64> {
    Some(part / whole).filter(|ratio| ratio.is_finite())
}

impl Tally {
    /// Mistakes per example, by weight; 0 before the first weight, where [`Measures::error`] has none.
    pub fn error(&self) -> f64 {
        ratio(self.wrong(), self.weight)
    }

    /// The error of the constant guess: of the label that had most weight so far. None if it is unknown.
    pub fn constant_error(&self) -> Option<f64> {
        self.of(Kind::Classification).and_then(|tally| known(tally.constant, tally.weight))
    }

    /// The next constant guess: -1 or +1, the label that had most weight so far, or the mean of real labels so far. 0 before
    /// the first, and NaN if it is unknown.
    pub fn constant_guess(&self) -> f64 {
        match self.kind {
            Some(Kind::Classification) if self.weight > 0.0 => {
                if guesses_positive(self.weight, self.labels) {
                    1.0
                } else {
                    -1.0
                }
            }
            Some(Kind::Regression) if self.weight > 0.0 => self.labels / self.weight,
            _ => 0.0,
        }
    }

    /// Mean of -ln of the probability of the true label; none if the learner gives no probabilities.
    pub fn log_loss(&self) -> Option<f64> {
        self.mean(Kind::Classification, class::LOG_LOSS)
    }

    /// Mean of (probability - outcome)^2; none if the learner gives no probabilities.
    pub fn brier(&self) -> Option<f64> {
        self.mean(Kind::Classification, class::BRIER)
    }

    /// Precision: the share of +1 among those predicted +1; 0 if none was.
    pub fn precision(&self) -> f64 {
        let [right, false_positives, _] = self.cells();
        ratio(right, right + false_positives)
    }

    /// Recall: the share predicted +1 among those that are +1; 0 if none is.
    pub fn recall(&self) -> f64 {
        let [right, _, false_negatives] = self.cells();
        ratio(right, right + false_negatives)
    }

    /// The F-measure of the positive class.
    pub fn f1(&self) -> f64 {
        let [right, false_positives, false_negatives] = self.cells();
        ratio(2.0 * right, 2.0 * right + false_positives + false_negatives)
    }

    /// The mean of the errors on the two classes; none while there is only one.
    pub fn balanced_error(&self) -> Option<f64> {
        let [right, false_positives, false_negatives] = self.of(Kind::Classification)?.cells();
        let positives = right + false_negatives;
        let negatives = self.weight - positives;
        if self.true_positives + self.false_negatives == 0 || self.negatives() == 0 {
            return None;
        }
        known(false_negatives, positives)
            .zip(known(false_positives, negatives))
            .map(|(of_positives, of_negatives)| f64::midpoint(of_positives, of_negatives))
    }

    /// The root of the mean squared error; none unless labels are real numbers.
    pub fn rmse(&self) -> Option<f64> {
        self.mean(Kind::Regression, real::SQUARES).map(f64::sqrt)
    }

    /// The same of the constant guess: the mean of the labels so far.
    pub fn constant_rmse(&self) -> Option<f64> {
        self.of(Kind::Regression).and_then(|tally| known(tally.constant, tally.weight)).map(f64::sqrt)
    }

    /// The mean absolute error; none unless labels are real numbers.
    pub fn mae(&self) -> Option<f64> {
        self.mean(Kind::Regression, real::ABSOLUTES)
    }

    /// 1 - squared error / squared error of the mean so far; none unless labels are real numbers that differ.
    pub fn r2(&self) -> Option<f64> {
        let tally = self.of(Kind::Regression)?;
        known(tally.sums[real::SQUARES], tally.constant).map(|share| 1.0 - share)
    }

    /// The mean of the loss that the learner makes small; none if there is none, or labels are classes.
    pub fn loss(&self) -> Option<f64> {
        self.mean(Kind::Regression, real::LOSS)
    }

    /// A value that the error, or the root mean squared error of real labels, is surely above: the lower end of its
    /// 95 % confidence interval (Wilson's for errors). Sorted by it, a task with 1 mistake of 1 does not come first.
    pub fn surely_above(&self) -> f64 {
        const Z: f64 = 1.959_963_984_540_054;
        let n = self.examples as f64;
        if self.examples == 0 {
            return 0.0;
        }
        if self.kind == Some(Kind::Regression) {
            return self.rmse().unwrap_or(0.0) * (1.0 - Z / (2.0 * n).sqrt()).max(0.0);
        }
        // By weight, so that the bound is below the error that is shown beside it.
        let share = self.error();
        let middle = share + Z * Z / (2.0 * n);
        let spread = Z * (share * (1.0 - share) / n + Z * Z / (4.0 * n * n)).sqrt();
        ((middle - spread) / (1.0 + Z * Z / n)).max(0.0)
    }

    /// Sum of the weights.
    pub fn weight(&self) -> f64 {
        self.weight
    }

    /// Sum of the weights of the label +1; 0 where labels are real numbers.
    pub fn positive_weight(&self) -> f64 {
        let [right, _, false_negatives] = self.cells();
        right + false_negatives
    }

    /// Kind of the labels; none before the first.
    pub fn kind(&self) -> Option<Kind> {
        self.kind
    }

    /// Examples of label -1.
    pub fn negatives(&self) -> u64 {
        self.examples.saturating_sub(self.true_positives + self.false_negatives)
    }

    /// Examples of label +1.
    pub fn positives(&self) -> u64 {
        self.true_positives + self.false_negatives
    }

    /// Everything that follows from the counts; the area under the curve is counted elsewhere.
    pub fn measures(&self, auc: Option<f64>) -> Measures {
        Measures::of(self, auc)
    }

    /// Counts an example.
    #[inline]
    pub fn count(&mut self, scored: &Scored, updated: bool, queried: bool) {
        let positive = scored.label > 0.0;
        let is_class = scored.kind == Kind::Classification;
        self.examples += 1;
        self.mistakes += u64::from(scored.mistake);
        self.updates += u64::from(updated);
        self.queries += u64::from(queried);
        self.true_positives += u64::from(is_class && positive && !scored.mistake);
        self.false_positives += u64::from(!positive && scored.mistake);
        self.false_negatives += u64::from(positive && scored.mistake);
        self.constant += scored.constant(self.weight, self.labels);
        self.weight += scored.weight;
        self.labels += scored.weight * scored.label;
        self.sums.iter_mut().zip(scored.terms).for_each(|(sum, term)| *sum += term);
        self.kind = Some(scored.kind);
    }

    /// Adds the counts of another; constant guesses stay those that each made.
    pub fn merge(&mut self, other: &Self) {
        let (mut counts, mut floats) = (self.counts(), self.floats());
        counts.iter_mut().zip(other.counts()).for_each(|(sum, count)| *sum += count);
        floats.iter_mut().zip(other.floats()).for_each(|(sum, term)| *sum += term);
        *self = Self::of_parts(&counts, &floats, self.kind.or(other.kind));
    }

    /// What was counted since an earlier state of this tally.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        let (mut counts, mut floats) = (self.counts(), self.floats());
        counts.iter_mut().zip(before.counts()).for_each(|(sum, count)| *sum = sum.saturating_sub(count));
        floats.iter_mut().zip(before.floats()).for_each(|(sum, term)| *sum -= term);
        Self::of_parts(&counts, &floats, self.kind)
    }

    fn wrong(&self) -> f64 {
        let [_, false_positives, false_negatives] = self.cells();
        false_positives + false_negatives
    }

    /// Weights of the true positives, false positives and false negatives.
    fn cells(&self) -> [f64; 3] {
        match self.kind {
            Some(Kind::Classification) => {
                [class::TRUE_POSITIVE, class::FALSE_POSITIVE, class::FALSE_NEGATIVE].map(|at| self.sums[at])
            }
            Some(Kind::Regression) | None => [0.0; 3],
        }
    }

    fn of(&self, kind: Kind) -> Option<&Self> {
        (self.kind == Some(kind)).then_some(self)
    }

    fn mean(&self, kind: Kind, at: usize) -> Option<f64> {
        self.of(kind).and_then(|tally| known(tally.sums[at], tally.weight))
    }

    pub(super) fn counts(&self) -> [u64; COUNTS] {
        [
            self.examples,
            self.mistakes,
            self.updates,
            self.queries,
            self.true_positives,
            self.false_positives,
            self.false_negatives,
        ]
    }

    /// Weight, labels, constant guess, and the further sums.
    pub(super) fn floats(&self) -> [f64; 3 + SUMS] {
        let [a, b, c, d, e] = self.sums;
        [self.weight, self.labels, self.constant, a, b, c, d, e]
    }

    pub(super) fn of_parts(counts: &[u64; COUNTS], floats: &[f64; 3 + SUMS], kind: Option<Kind>) -> Self {
        let [examples, mistakes, updates, queries, true_positives, false_positives, false_negatives] =
            *counts;
        let [weight, labels, constant, a, b, c, d, e] = *floats;
        Self {
            examples,
            mistakes,
            updates,
            queries,
            true_positives,
            false_positives,
            false_negatives,
            weight,
            labels,
            constant,
            sums: [a, b, c, d, e],
            kind,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tally of classes: so many examples that are mistaken and right, of these weights.
    fn classes(mistaken: (u64, f64), right: (u64, f64)) -> Tally {
        let mut tally = Tally::default();
        for ((examples, weight), margin) in [(mistaken, -1.0), (right, 1.0)] {
            (0..examples).for_each(|_| tally.count(&Scored::class(1.0, weight, margin, None), false, false));
        }
        tally
    }

    #[test]
    fn the_bound_is_where_the_error_is_one_interval_away() {
        // The 97.5 % quantile of the normal distribution, from tables.
        let z = 1.959_963_984_540_054_2;
        // Wilson's bound p solves (error - p)^2 = z^2 p (1 - p) / n, here without the formula that is tested.
        for tally in
            [classes((81, 1.0), (182, 1.0)), classes((15, 3.0), (133, 0.5)), classes((2, 1.0), (0, 1.0))]
        {
            let (bound, error, n) = (tally.surely_above(), tally.error(), tally.examples as f64);
            assert!(bound > 0.0 && bound < error, "{bound} {error}");
            let found = (error - bound) / (bound * (1.0 - bound) / n).sqrt();
            assert!((found - z).abs() < 1e-12, "{found} of {tally:?}");
        }
        // Newcombe (1998), table I.
        assert!((classes((81, 1.0), (182, 1.0)).surely_above() - 0.2553).abs() < 5e-5);
        assert_eq!(classes((0, 1.0), (20, 1.0)).surely_above(), 0.0);
        assert_eq!(Tally::default().surely_above(), 0.0);
    }

    #[test]
    fn the_bound_is_of_the_weighted_error_and_of_examples() {
        // 10 of 100 examples are mistaken, with half of the weight.
        let weighted = classes((10, 9.0), (90, 1.0));
        assert_eq!(weighted.error(), 0.5);
        let plain = classes((50, 1.0), (50, 1.0));
        assert_eq!(weighted.surely_above(), plain.surely_above());
        assert!(weighted.surely_above() > classes((10, 1.0), (90, 1.0)).surely_above());
        // Weights in other units are no more evidence.
        assert_eq!(classes((10, 9e6), (90, 1e6)).surely_above(), weighted.surely_above());
    }

    #[test]
    fn the_bound_of_real_labels_is_below_the_rmse_by_its_spread() {
        let mut tally = Tally::default();
        for at in 0..200 {
            let error = if at % 2 == 0 { 3.0 } else { -3.0 };
            tally.count(&Scored::real(1.0, 1.0, 1.0 + error, None), false, false);
        }
        // The deviation of an RMSE of n normal errors is RMSE / sqrt(2 n), here a twentieth.
        let expected = 3.0 * (1.0 - 1.959_963_984_540_054 / 20.0);
        assert!((tally.surely_above() - expected).abs() < 1e-12, "{}", tally.surely_above());
        let mut one = Tally::default();
        one.count(&Scored::real(1.0, 1.0, 100.0, None), false, false);
        assert_eq!(one.surely_above(), 0.0, "one error says nothing");
    }
}
