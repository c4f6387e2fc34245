//! What a step is made of: the loss and its implicit step, the sizes of features, and precisions that fade.
//!
//! A weight has the prior variance p r / (m s^2): s is the largest |x| that its feature has had, r its ratio to the usual s of
//! features, cut to 1/4 and 4, and m the mean over examples of sum r (x / s)^2. So a margin has the prior variance p, whatever
//! features are measured in and however many there are. In many data what is large matters (tf-idf, counts), and there r is
//! worth much; features in units of their own are off by a factor of two in deviation at most.
//!
//! The usual s is the geometric mean of s over the features met.
#![expect(clippy::inline_always, reason = "only what is inlined is compiled for wide vectors")]

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::tempering::{LEAST_TAUGHT, MOST_IN_A_ROW};
use crate::example::hinge;
use crate::linalg::exponential::exp_of_negative;

/// Loss to minimise.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[non_exhaustive]
pub enum Loss {
    /// ln(1 + exp(-y margin)): margins are log-odds, and probabilities follow from them
    #[default]
    Logistic,
    /// max(0, 1 - y margin)
    Hinge,
    /// (y - margin)^2 / 2: labels are real numbers, and their mean is predicted
    Squares,
    /// |y - margin|: labels are real numbers, and their median is predicted
    Absolute,
    /// Labels are real numbers, and that is predicted which the share q of them is below
    Quantile {
        /// Share of labels below what is predicted; between 0 and 1
        #[schemars(extend("exclusiveMinimum" = 0.0, "exclusiveMaximum" = 1.0))]
        q: f64,
    },
    /// exp(margin) - y margin: labels are counts, from 0 on, and exp(margin) is their mean
    Poisson,
}

/// Margin beyond which a member of a mixture has nothing to learn from an example.
const SURE: f64 = 1.5;
/// Halley's steps towards an implicit one, at most; two are usual.
const ROUNDS: usize = 60;
/// The last one is shorter than this.
const NEAR: f64 = 1e-4;

/// 1 / (1 + exp(-x)): the probability of the label +1 for a margin x.
#[inline(always)]
pub(super) fn sigmoid(x: f64) -> f64 {
    let e = exp_of_negative(-x.abs());
    (if x < 0.0 { e } else { 1.0 }) / (1.0 + e)
}

/// q (1 - q) for a margin.
#[inline]
pub(super) fn curvature(margin: f64) -> f64 {
    let q = sigmoid(-margin);
    q * (1.0 - q)
}

impl Loss {
    /// The margin y w'x beyond which an example has nothing to teach, in a mixture or for a member on its own.
    ///
    /// In a mixture this departs from the logistic loss, whose slope at [`SURE`] is 0.18: leaving out what is well learnt saves
    /// work and errs less. It makes margins too small, which the mixture corrects and a single member could not.
    pub(super) fn sure(self, mixture: bool) -> f64 {
        match self {
            Self::Logistic if mixture => SURE,
            Self::Hinge => 1.0,
            _ => f64::INFINITY,
        }
    }

    /// h, the curvature of the loss at a margin.
    #[inline]
    pub(super) fn curvature(self, margin: f64) -> f64 {
        match self {
            Self::Logistic => curvature(margin),
            _ => 1.0,
        }
    }

    /// t of implicit steps for labels of two kinds, where y w'x is `agreed` and V is `variance`.
    #[inline(always)]
    pub(super) fn steps<const N: usize>(self, agreed: [f64; N], variance: [f64; N]) -> [f64; N] {
        match self {
            Self::Logistic => implicit_steps(agreed, variance).steps,
            // As PA-I, in the metric of the rates.
            _ => std::array::from_fn(|at| {
                if variance[at] > 0.0 { (hinge(1.0, agreed[at]) / variance[at]).min(1.0) } else { 0.0 }
            }),
        }
    }
}

/// Implicit steps on the logistic loss, side by side.
#[derive(Debug, Clone, Copy)]
pub(super) struct Implicit<const N: usize> {
    /// t of each.
    pub(super) steps: [f64; N],
    /// h of each, at the margin where it began.
    pub(super) curvatures: [f64; N],
}

/// t = sigmoid(-u) where u = agreed + V t, by Halley's method, which is Newton's with the curvature, kept within brackets.
///
/// Each takes some rounds that wait for each other, so several at once take little longer than one.
#[inline(always)]
pub(super) fn implicit_steps<const N: usize>(agreed: [f64; N], variance: [f64; N]) -> Implicit<N> {
    let (mut first, mut curvatures) = ([0.0; N], [0.0; N]);
    for at in 0..N {
        first[at] = sigmoid(-agreed[at]);
        curvatures[at] = first[at] * (1.0 - first[at]);
    }
    let (mut low, mut high, mut u, mut steps) = (agreed, agreed, agreed, first);
    // 1 for those that go on, 0 for those that have arrived.
    let mut open = [1.0; N];
    for at in 0..N {
        high[at] += variance[at] * first[at];
        u[at] += variance[at] * first[at] / (1.0 + variance[at] * curvatures[at]);
    }
    for _ in 0..ROUNDS {
        for at in 0..N {
            let within = u[at] > low[at] && u[at] < high[at];
            let from = if within { u[at] } else { 0.5 * low[at] + 0.5 * high[at] };
            let t = sigmoid(-from);
            let (beyond, slope) = (from - agreed[at] - variance[at] * t, t * (1.0 - t));
            let (steep, bend) = (1.0 + variance[at] * slope, slope * (1.0 - 2.0 * t));
            // No bend takes more than a third off Newton's step, or adds more than as much again: far away it says little.
            let most = steep * steep;
            let bent = (variance[at] * beyond * bend).max(-most).min(most);
            let change = 2.0 * beyond * steep / (2.0 * most + bent);
            // What is left after a short one is of the order of its cube.
            let near = change.abs() <= NEAR;
            let reached = if near { t + change * (slope + 0.5 * change * bend) } else { t };
            steps[at] = if open[at] > 0.0 { reached } else { steps[at] };
            open[at] = if near { 0.0 } else { open[at] };
            high[at] = if beyond > 0.0 { from } else { high[at] };
            low[at] = if beyond > 0.0 { low[at] } else { from };
            // Where a step would cross half of what is left, halving that is safer: such steps may go to and fro.
            let wild = change.abs() > 0.5 * (high[at] - low[at]);
            u[at] = if wild { 0.5 * low[at] + 0.5 * high[at] } else { from - change };
        }
        if open.iter().all(|open| *open == 0.0) {
            break;
        }
    }
    Implicit { steps, curvatures }
}

/// h of an example of some importance w: its first showing counts where it began, the others where its step ends.
///
/// Of an example that is seen again and again the later ones teach ever less. A part of a showing counts as that part.
#[inline]
pub(super) fn weighted_curvature(weight: f64, start: f64, end: impl FnOnce() -> f64) -> f64 {
    match weight {
        1.0 => start,
        weight if weight < 1.0 => weight * start,
        weight => start + (weight - 1.0) * end(),
    }
}

/// What is known about the features' sizes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Sizes {
    /// Of r (x / s)^2, over features and examples.
    sum: f64,
    #[serde(deserialize_with = "crate::count::saved")]
    examples: u64,
    /// Of ln s over features.
    #[serde(default)]
    logarithms: f64,
    #[serde(default)]
    #[serde(deserialize_with = "crate::count::saved")]
    features: u64,
    /// Examples in a row, up to now, that were scaled; see `tempering`.
    #[serde(default, skip_serializing_if = "is_none")]
    scaled: u32,
    /// Quartiles of the logarithms of examples' mean r (x / s)^2 over their features.
    #[serde(default, skip_serializing_if = "are_unknown")]
    lengths: [f64; 3],
    /// Twice the examples that left all sizes far below them, less the others; see `outgrown`.
    #[serde(default, skip_serializing_if = "is_none")]
    below: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn is_none(count: &u32) -> bool {
    *count == 0
}

fn are_unknown(lengths: &[f64; 3]) -> bool {
    *lengths == [0.0; 3]
}

/// A value this many times larger than any of its feature before is taken to be in other units.
pub(super) const OTHER_UNITS: f64 = 10.0;

/// r and 1 / r at most.
const MOST: f64 = 4.0;

/// Examples by which lengths are known; deviations, and the least gap, by which one is longer than any; see `tempering`.
const ENOUGH: u64 = 8;
const DEVIATIONS: f64 = 5.0;
const LEAST_LONGER: f64 = 3.2;

impl Sizes {
    /// Takes the largest |x| of a feature over into s; how it grew, unless it did not or was new.
    #[inline]
    pub(super) fn grow(&mut self, s: &mut f64, value: f64) -> Option<Grown> {
        let size = value.abs();
        if size <= *s {
            return None;
        }
        self.meet(*s, size);
        let before = std::mem::replace(s, size);
        // A feature that is new here may have weights elsewhere, which stand.
        (before > 0.0).then_some(Grown { before, after: size })
    }

    /// The s of a feature has changed.
    fn meet(&mut self, before: f64, now: f64) {
        if before > 0.0 {
            self.logarithms -= before.ln();
        } else {
            self.features += 1;
        }
        self.logarithms += now.ln();
    }

    /// Counts the features of an older model, which did not know what is usual.
    pub(super) fn recall(&mut self, s: impl Iterator<Item = f64>) {
        if self.features == 0 {
            s.filter(|s| *s > 0.0).for_each(|s| self.meet(0.0, s));
        }
    }

    /// Counts all features anew, where there are more or fewer rows of them.
    pub(super) fn recount(&mut self, s: impl Iterator<Item = f64>) {
        (self.features, self.logarithms) = (0, 0.0);
        self.recall(s);
    }

    /// What follows from the features met so far.
    #[inline]
    pub(super) fn usual(&self) -> Usual {
        let features = self.features.max(1) as f64;
        Usual {
            inverse: if self.features == 0 { 0.0 } else { (-self.logarithms / features).exp().min(f64::MAX) },
        }
    }

    /// Counts an example, by its sum of r (x / s)^2.
    pub(super) fn count(&mut self, sum: f64, features: usize, intercept: bool) {
        self.sum += sum;
        self.examples += 1;
        self.below = self.below.saturating_sub(1);
        let sum = sum - f64::from(intercept);
        if features > 0 && sum > 0.0 {
            self.measure((sum / features as f64).ln());
        }
    }

    /// Moves the quartiles towards the length of an example.
    fn measure(&mut self, length: f64) {
        if self.lengths[0] == self.lengths[2] {
            self.lengths = [length - 0.5, length, length + 0.5];
            return;
        }
        let step = (2.0 / self.examples.max(1) as f64).max(0.05);
        for (quartile, share) in self.lengths.iter_mut().zip([0.25, 0.5, 0.75]) {
            *quartile += step * if length < *quartile { share - 1.0 } else { share };
        }
    }

    /// Beyond this an example is longer than any, as soon as that is known.
    pub(super) fn longest(&self) -> Option<f64> {
        let [lower, median, upper] = self.lengths;
        let known = self.examples >= ENOUGH && lower < upper;
        known.then(|| median + (DEVIATIONS * (upper - lower) / 1.35).max(LEAST_LONGER))
    }

    /// How many examples have taught.
    pub(super) fn taught(&self) -> u64 {
        self.examples
    }

    /// Notes an example far below all sizes; whether so many have been.
    pub(super) fn are_left_below(&mut self) -> bool {
        self.below = self.below.saturating_add(2);
        self.below >= 4
    }

    /// A size is taken back.
    pub(super) fn take_back(&mut self, size: &mut f64, now: f64) -> f64 {
        self.meet(*size, now);
        std::mem::replace(size, now)
    }

    /// Notes whether the newest example was scaled, and how long it was before that.
    #[inline(always)]
    pub(super) fn note(&mut self, scaled: Option<f64>) {
        self.scaled = if scaled.is_some() { self.scaled.saturating_add(1) } else { 0 };
        // Where many are long, none is too long.
        if let Some(length) = scaled {
            self.measure(length);
        }
    }

    /// Whether it is the newest examples that are in other units, and not the sizes.
    pub(super) fn are_rarely_left(&self) -> bool {
        let few = self.scaled < MOST_IN_A_ROW && 2 * u64::from(self.scaled) < self.examples;
        few && self.examples >= LEAST_TAUGHT
    }

    /// m.
    pub(super) fn mean(&self) -> f64 {
        self.sum / self.examples as f64
    }

    pub(super) fn is_sound(&self) -> bool {
        let lengths = self.lengths.iter().all(|length| length.is_finite());
        self.sum.is_finite() && self.sum >= 0.0 && self.logarithms.is_finite() && lengths
    }
}

/// The s of a feature that has become larger.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Grown {
    pub(super) before: f64,
    pub(super) after: f64,
}

impl Grown {
    /// The factor by which weights shrink that decide between two labels.
    ///
    /// A feature that is suddenly a thousand times larger must not predict so: w s stays as it was, as in normalized online
    /// learning. Below that, sizes vary by nature, and what has been learnt stands.
    #[inline]
    pub(super) fn other_units(self) -> f64 {
        if self.after > OTHER_UNITS * self.before { self.before / self.after } else { 1.0 }
    }
}

/// The usual s of features, their geometric mean.
#[derive(Debug, Clone, Copy)]
pub(super) struct Usual {
    /// 1 over it; 0 where no feature is known.
    inverse: f64,
}

/// Below this a square is no number to divide by.
pub(super) const TINY: f64 = 1e-300;

impl Usual {
    /// r.
    #[inline(always)]
    fn ratio(self, s: f64) -> f64 {
        (s * self.inverse).clamp(1.0 / MOST, MOST)
    }

    /// r (x / s)^2, 0 where the feature has only been 0.
    #[inline(always)]
    pub(super) fn normalised(self, value: f64, s: f64) -> f64 {
        let share = if s > 0.0 { value / s } else { 0.0 };
        self.ratio(s) * share * share
    }

    /// m s^2 / r.
    #[inline(always)]
    pub(super) fn unit(self, mean: f64, s: f64) -> f64 {
        (mean * s * s / self.ratio(s)).max(TINY)
    }
}

/// What a value adds to a precision; the largest of squares stop short of infinity.
#[inline]
pub(super) fn gain(curvature: f64, value: f64) -> f64 {
    (curvature * value * value).min(1e290)
}

/// After how much what was learnt counts half.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum HalfLife {
    Examples(f64),
    Seconds(f64),
}

impl HalfLife {
    /// What is left after an example, where they are counted.
    pub(super) fn of_example(self) -> f64 {
        match self {
            Self::Examples(half_life) => (-1.0 / half_life).exp2(),
            Self::Seconds(_) => 1.0,
        }
    }
}

/// The half-lives between the last time and this one, which is the last from now on. Time that goes backwards takes nothing back,
/// and a time that is not known has not passed.
pub(super) fn passed(last: &mut Option<f64>, now: Option<f64>, half_life: f64) -> f64 {
    let Some(now) = now else { return 0.0 };
    let half_lives = last.map_or(0.0, |last| ((now - last) / half_life).max(0.0));
    *last = Some(last.map_or(now, |last| last.max(now)));
    half_lives
}

/// Precisions that fade: what was seen a half-life ago, in examples or in time, counts half.
///
/// Instead of shrinking every precision with every example, new ones are added in ever larger units, and all are seen through a
/// factor that shrinks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Clock {
    /// Examples since the factor was 1.
    #[serde(deserialize_with = "crate::count::saved")]
    age: u64,
    /// Half-lives since then, where time is what passes, and the latest time.
    #[serde(default, skip_serializing_if = "is_zero")]
    half_lives: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    latest: Option<f64>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn is_zero(number: &f64) -> bool {
    *number == 0.0
}

/// Half-lives after which all precisions are written down as they are seen, long before numbers overflow.
const LONGEST: f64 = 200.0;

impl Clock {
    /// The factor through which precisions are seen.
    #[inline]
    pub(super) fn factor(self, half_life: Option<HalfLife>) -> f64 {
        half_life.map_or(1.0, |half_life| match half_life {
            HalfLife::Examples(half_life) => (-(self.age as f64) / half_life).exp2(),
            HalfLife::Seconds(_) => (-self.half_lives).exp2(),
        })
    }

    /// Counts an example. When it is time to write all precisions down, the factor to do it with, which is 1 from then on.
    #[inline]
    pub(super) fn tick(&mut self, half_life: Option<HalfLife>, time: Option<f64>) -> Option<f64> {
        let half_life = half_life?;
        match half_life {
            HalfLife::Examples(half_life) => {
                self.age += 1;
                if (self.age as f64) < LONGEST * half_life {
                    return None;
                }
            }
            HalfLife::Seconds(seconds) => {
                // After a very long time there is nothing left, whatever is added to it.
                let passed = passed(&mut self.latest, time, seconds);
                self.half_lives = (self.half_lives + passed).min(MOST_HALF_LIVES);
                if self.half_lives < LONGEST {
                    return None;
                }
            }
        }
        let factor = self.factor(Some(half_life));
        (self.age, self.half_lives) = (0, 0.0);
        Some(factor)
    }

    pub(super) fn is_sound(&self) -> bool {
        (0.0..=MOST_HALF_LIVES).contains(&self.half_lives) && self.latest.is_none_or(f64::is_finite)
    }
}

/// Half-lives at most, for factors that are no zeros.
const MOST_HALF_LIVES: f64 = 1000.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_implicit_step_ends_where_its_slope_is() {
        for agreed in [-300.0, -5.0, -0.1, 0.0, 0.7, 4.0, 30.0] {
            for variance in [0.0, 1e-3, 1.0, 50.0, 1e4, 1e9] {
                let [step] = Loss::Logistic.steps([agreed], [variance]);
                let there = sigmoid(-(agreed + variance * step));
                assert!(
                    (step - there).abs() <= 1e-10 * (1.0 + variance),
                    "{agreed} {variance}: {step} and {there}"
                );
            }
        }
        assert_eq!(Loss::Hinge.steps([0.5], [0.25]), [1.0]);
        assert_eq!(Loss::Hinge.steps([0.5], [5.0]), [0.1]);
        assert_eq!(Loss::Hinge.steps([1.5], [5.0]), [0.0]);
    }

    #[test]
    fn scales_grow_and_weights_shrink() {
        let (mut sizes, mut s) = (Sizes::default(), 0.0);
        assert_eq!(sizes.grow(&mut s, -2.0), None);
        assert_eq!((sizes.grow(&mut s, 1.0), s), (None, 2.0));
        assert_eq!(sizes.grow(&mut s, 8.0), Some(Grown { before: 2.0, after: 8.0 }));
        assert_eq!((sizes.grow(&mut s, 800.0).unwrap().other_units(), s), (0.01, 800.0));
        assert!((sizes.usual().normalised(400.0, s) - 0.25).abs() < 1e-12);
        assert_eq!(sizes.usual().normalised(0.0, 0.0), 0.0);
        assert_eq!(sizes.grow(&mut s, 900.0).unwrap().other_units(), 1.0);
    }

    #[test]
    fn what_is_large_counts_more_within_bounds() {
        let mut sizes = Sizes::default();
        for size in [1.0, 4.0, 1000.0, 0.001] {
            sizes.grow(&mut 0.0, size);
        }
        // The geometric mean is sqrt 2.
        for (s, ratio) in
            [(1.0, 0.5_f64.sqrt()), (4.0, 8.0_f64.sqrt()), (1000.0, 4.0), (0.001, 0.25), (0.0, 0.25)]
        {
            assert!((sizes.usual().ratio(s) - ratio).abs() < 1e-12, "{s}");
        }
        assert_eq!(sizes.usual().unit(3.0, 1000.0), 3e6 / 4.0);
        let mut recalled = Sizes::default();
        recalled.recall([1.0, 0.0, 4.0, 1000.0, 0.001].into_iter());
        assert_eq!(recalled, sizes);
    }

    #[test]
    fn half_lives_halve_and_begin_anew() {
        let (mut clock, half_life) = (Clock::default(), Some(HalfLife::Examples(10.0)));
        for _ in 0..10 {
            assert_eq!(clock.tick(half_life, None), None);
        }
        assert!((clock.factor(half_life) - 0.5).abs() < 1e-12);
        let written = (0..1990).find_map(|_| clock.tick(half_life, None)).unwrap();
        assert!((written * 200.0_f64.exp2() - 1.0).abs() < 1e-9);
        assert_eq!((clock.factor(half_life), clock.factor(None)), (1.0, 1.0));
        assert_eq!(clock.tick(None, None), None);
    }

    #[test]
    fn time_halves_and_never_goes_backwards() {
        let (mut clock, half_life) = (Clock::default(), Some(HalfLife::Seconds(60.0)));
        let mut factor = |time: Option<f64>| {
            let written = clock.tick(half_life, time);
            (written, clock.factor(half_life))
        };
        assert_eq!(factor(Some(1e9)), (None, 1.0), "the first begins");
        assert_eq!(factor(Some(1e9 + 60.0)), (None, 0.5));
        assert_eq!(factor(Some(1e9)), (None, 0.5), "backwards");
        assert_eq!(factor(None), (None, 0.5), "unknown");
        assert_eq!(factor(Some(1e9 + 120.0)), (None, 0.25));
        let (written, factor) = factor(Some(2e9));
        assert!(written.unwrap() > 0.0 && written.unwrap() < 1e-200 && factor == 1.0);
    }
}
