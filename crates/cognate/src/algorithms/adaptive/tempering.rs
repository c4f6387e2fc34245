//! Examples in other units than all before: what do they count for?
//!
//! s of a feature is the largest |x| that it has had. One bad line, one huge value, or one task in other units, must not set it for all.
//! So an example is changed before anything is made of it. It is scaled as a whole where it is far, as one of those in other units is,
//! with q_k = |x_k| / s_k for its features with s_k > 0, m without the feature that is always 1, and L the logarithm of the mean of
//! r_k q_k^2 over them:
//!
//! ```text
//! far      q_k > 10 of one, and q_k > 3 of two or more and of more than two thirds of all its features, and sum_k r_k q_k^2 > 10^2 m
//! or       c_k >= 0.3 s_k^2 of eight features or more and of nine tenths of all, so that more than one example has said how large they
//!          are, and q_k > 1 of more than half of these; eight examples have taught, and
//!          L > median + max(5 (upper - lower quartile) / 1.35, 3.2), of the L of examples so far
//! known    three examples or more have taught
//! rare     fewer than 32 examples in a row, just before it, were scaled, and fewer than half as many as have taught
//! x *= min(1 / max q, sqrt(m / sum_k r_k q_k^2))
//! ```
//!
//! It predicts and teaches as one of the usual length, no known size grows by it, and features that are new get theirs in the units of
//! the others. A task in units of its own so learns from the directions of its examples. Where all that comes is far, it is the sizes
//! that are wrong, and they grow again: if the first lines were tiny, or all change their units.
//!
//! Where it is not far as a whole, a value with q_k > 10 counts as 1.125 s_k with its sign, if c_k >= 0.3 s_k^2. So s grows by an eighth at most, and follows a feature that goes on in other units, slowly. Others
//! grow at once, and weights change units with them (`rule`); what was in other units from the first value on is found by what comes after
//! it, where tasks share (`outgrown`).
//!
//! All of it where tasks share, for real labels, too. Vectors on their own (`independent`, `pooled`) only scale what is far by the first
//! rule, and not with real labels; for a graph or a matrix sizes grow at once. Not seen are tasks that are off by ten, and tasks off by
//! 30 that begin. docs/robust.md has what is left of the harm.
//!
//! 10 is what `rule` takes for other units; 3 and two thirds were chosen so that no text or table which the learner is measured on is
//! touched: in a short mail that comes after long ones, half of the words or a little more may be far. The rest was chosen on the seeds 1
//! to 4 of `cargo xtask robust --breaks`.

use super::rule::{OTHER_UNITS, Sizes};
use crate::example::SparseView;

/// Scaled examples in a row after which sizes grow again.
pub(super) const MOST_IN_A_ROW: u32 = 32;
/// Examples that have taught before any is scaled: of the first two nobody knows which one is in other units.
pub(super) const LEAST_TAUGHT: u64 = 3;

/// Features that are far, at least.
const FEWEST: usize = 2;
/// Times its size, beyond which a value goes with those that are far.
const BEYOND: f64 = 3.0;
/// Features with sizes that are supported, at least, by which a length is judged.
const COMPARABLE: usize = 8;
/// Precision in units of s^2 that more than one value of that size brings.
const SUPPORTED: f64 = 0.3;
/// By how much s grows where a single value is far.
const GROWS: f64 = 1.125;

/// What is known of a feature: s, which is 0 where it is new, and c as it is seen.
#[derive(Debug, Clone, Copy)]
pub(super) struct Measure {
    pub(super) size: f64,
    pub(super) precision: f64,
}

impl Measure {
    fn is_far(&self, value: f64) -> bool {
        value.abs() > OTHER_UNITS * self.size && self.size > 0.0
    }

    /// Whether more than one example has said how large the feature is.
    fn is_supported(&self) -> bool {
        self.precision >= SUPPORTED * self.size * self.size
    }

    /// Whether it is the value that is wrong, and not the size.
    fn is_beyond_doubt(&self, value: f64) -> bool {
        self.is_far(value) && self.is_supported()
    }
}

/// Values of an example as it counts.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Tempered {
    values: Box<[f64]>,
    /// L of an example that was scaled.
    length: Option<f64>,
}

/// Whether a value is beyond the size of its feature, which is 0 where it is new, by so much that a closer look is worth it.
#[inline(always)]
#[expect(clippy::inline_always, reason = "one comparison per feature")]
pub(super) fn is_far(value: f64, size: f64) -> bool {
    value.abs() > BEYOND * size && size > 0.0
}

/// Whether an example some of whose values are far can count as another one, from its values and the sizes of their features: for all
/// others nothing more need be found out.
#[cold]
pub(super) fn may_count_otherwise(pairs: impl Iterator<Item = (f64, f64)>) -> bool {
    let (mut all, mut beyond) = (0, 0);
    for (value, size) in pairs {
        if value.abs() > OTHER_UNITS * size && size > 0.0 {
            return true;
        }
        all += usize::from(value != 0.0);
        beyond += usize::from(value.abs() > size && size > 0.0);
    }
    // More than half of those that are comparable, which are nine tenths of all.
    20 * beyond > 9 * all
}

impl Tempered {
    /// An example some of whose values are far, if it counts as another one.
    #[cold]
    #[inline(never)]
    pub(super) fn new(
        x: SparseView<'_>,
        measures: &[Measure],
        sizes: &Sizes,
        intercept: bool,
    ) -> Option<Self> {
        if !sizes.are_rarely_left() {
            return None;
        }
        Self::scaled(x, measures, sizes, intercept, sizes.longest()).or_else(|| Self::cut(x, measures))
    }

    /// The same of a vector on its own, which few examples may have taught: only where nearly all is far.
    #[cold]
    #[inline(never)]
    pub(super) fn alone(
        x: SparseView<'_>,
        measures: &[Measure],
        sizes: &Sizes,
        intercept: bool,
    ) -> Option<Self> {
        sizes.are_rarely_left().then(|| Self::scaled(x, measures, sizes, intercept, None))?
    }

    /// Scaled as a whole, where it is far, or beyond the longest if that is known.
    fn scaled(
        x: SparseView<'_>,
        measures: &[Measure],
        sizes: &Sizes,
        intercept: bool,
        longest: Option<f64>,
    ) -> Option<Self> {
        let known =
            || x.values().iter().zip(measures).filter(|(value, known)| **value != 0.0 && known.size > 0.0);
        let far = known().filter(|(value, known)| value.abs() > BEYOND * known.size).count();
        let all = x.values().iter().filter(|value| **value != 0.0).count();
        // In units of the largest, so that no square overflows.
        let most = known().map(|(value, known)| (value / known.size).abs()).fold(0.0, f64::max);
        let usual = sizes.usual();
        let length: f64 = known().map(|(value, known)| usual.normalised(value / most, known.size)).sum();
        let mean = sizes.mean() - if intercept { 1.0 } else { 0.0 };
        let usual_length = if mean > 0.0 { (mean / length).sqrt() } else { 1.0 };
        let far = far >= FEWEST && 3 * far > 2 * all && most > OTHER_UNITS * usual_length.max(1.0);
        let logarithm = (length / known().count() as f64).ln() + 2.0 * most.ln();
        let long = || {
            let supported = || known().filter(|(_, known)| known.is_supported());
            let (beyond, comparable) =
                (supported().filter(|(value, known)| value.abs() > known.size).count(), supported().count());
            comparable >= COMPARABLE && 10 * comparable >= 9 * all && 2 * beyond > comparable
        };
        if !(far || longest.is_some_and(|longest| logarithm > longest) && long()) {
            return None;
        }
        let scaled = |(value, Measure { size, .. }): (&f64, &Measure)| {
            let scaled = value / most * usual_length.min(1.0);
            // What is rounded up must not make a size grow.
            if *size > 0.0 { scaled.clamp(-size, *size) } else { scaled }
        };
        Some(Self { values: x.values().iter().zip(measures).map(scaled).collect(), length: Some(logarithm) })
    }

    /// Single values cut.
    fn cut(x: SparseView<'_>, measures: &[Measure]) -> Option<Self> {
        let pairs = || x.values().iter().zip(measures);
        if !pairs().any(|(value, known)| known.is_beyond_doubt(*value)) {
            return None;
        }
        let cut = |(value, known): (&f64, &Measure)| {
            if known.is_beyond_doubt(*value) { (GROWS * known.size).copysign(*value) } else { *value }
        };
        Some(Self { values: pairs().map(cut).collect(), length: None })
    }

    /// The example as it counts.
    pub(super) fn of<'a>(tempered: Option<&'a Self>, x: SparseView<'a>) -> SparseView<'a> {
        tempered.map_or(x, |Self { values, .. }| SparseView::trusted(x.indices(), values))
    }

    /// L of an example that was scaled, as it came.
    pub(super) fn length(tempered: Option<&Self>) -> Option<f64> {
        tempered.and_then(|tempered| tempered.length)
    }
}

#[cfg(test)]
mod tests {
    use rand::RngExt;

    use super::*;
    use crate::rng::generator;

    /// What is asked first of an example lets nothing through that is scaled or cut.
    #[test]
    fn whatever_counts_otherwise_is_looked_at() {
        let mut rng = generator(3, 0);
        let (mut changed, mut passed_over) = ([0, 0], 0);
        for _ in 0..20_000 {
            let mut sizes = Sizes::default();
            for _ in 0..12 {
                sizes.count(rng.random_range(0.5..2.0), 1, false);
                sizes.note(Some(rng.random_range(-3.0..0.0)));
                sizes.note(None);
            }
            let features = rng.random_range(1..16_u32);
            let far = if rng.random_bool(0.5) { rng.random_range(0.0..4.0) } else { 0.0 };
            let value = |_| match rng.random_range(0..10) {
                0 => 0.0,
                1 => rng.random_range(-3.0..4.0_f64).exp(),
                _ => rng.random_range(-1.0..1.0_f64) * f64::exp(far),
            };
            let values: Vec<f64> = (0..features).map(value).collect();
            let size = |_| Measure {
                size: f64::from(rng.random_range(0..20_u32).min(1)),
                precision: rng.random_range(0.0..4.0),
            };
            let measures: Vec<Measure> = (0..features).map(size).collect();
            let indices: Vec<u32> = (0..features).collect();
            let x = SparseView::trusted(&indices, &values);
            let pairs = values.iter().copied().zip(measures.iter().map(|known| known.size));
            let may = may_count_otherwise(pairs);
            passed_over += usize::from(!may);
            if let Some(tempered) = Tempered::new(x, &measures, &sizes, false) {
                assert!(may, "{values:?} {measures:?}");
                changed[usize::from(tempered.length.is_some())] += 1;
            }
        }
        assert!(changed.iter().all(|count| *count > 100) && passed_over > 1000, "{changed:?} {passed_over}");
    }
}
