//! Examples in other units than all before: what do they count for?
//!
//! s of a feature is the largest |x| that it has had, and nothing makes it smaller again. One bad line, or one task in other units,
//! must not set it for all. So an example is scaled as a whole before anything is made of it, if all of this is true, with
//! q_k = |x_k| / s_k for its features with s_k > 0 and m without the feature that is always 1:
//!
//! ```text
//! far      q_k > 10 of one, and q_k > 3 of two or more and of more than two thirds of all its features
//! long     sum_k r_k q_k^2 > 10^2 m
//! known    three examples or more have taught
//! rare     fewer than 32 examples in a row, just before it, were scaled, and fewer than half as many as have taught
//! x *= min(1 / max q, sqrt(m / sum_k r_k q_k^2))
//! ```
//!
//! It predicts and teaches as one of the usual length, no known size grows by it, and features that are new get theirs in the units of
//! the others. A task in units of its own so learns from the directions of its examples. Where all that comes is far, it is the sizes
//! that are wrong, and they grow again: if the first lines were tiny, or all change their units.
//!
//! Single values that are far grow their sizes as others do, and weights change units with them (`rule`): in many data values of one
//! feature vary by more than ten times. What was in other units from the first example on, or is that much smaller, is not known
//! from what is usual. For real labels, and for a graph or a matrix, sizes grow at once.
//!
//! 10 is what `rule` takes for other units; 3 and two thirds were chosen among a few on normal numbers in units of 30 and 100 (seeds
//! 1 to 3), so that no text or table which the learner is measured on is touched: in a short mail that comes after long ones, half of
//! the words or a little more may be far.

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

/// Values of an example that was scaled.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Tempered(Box<[f64]>);

/// Whether a value is far beyond the size of its feature, which is 0 where it is new.
#[inline(always)]
#[expect(clippy::inline_always, reason = "one comparison per feature")]
pub(super) fn is_far(value: f64, size: f64) -> bool {
    value.abs() > OTHER_UNITS * size && size > 0.0
}

impl Tempered {
    /// An example some of whose values are far, with the size of each of its features, if it is to be scaled.
    #[cold]
    #[inline(never)]
    pub(super) fn new(
        x: SparseView<'_>,
        of_features: &[f64],
        sizes: &Sizes,
        intercept: bool,
    ) -> Option<Self> {
        let known =
            || x.values().iter().zip(of_features).filter(|(value, size)| **value != 0.0 && **size > 0.0);
        let far = known().filter(|(value, size)| value.abs() > BEYOND * **size).count();
        let features = x.values().iter().filter(|value| **value != 0.0).count();
        if far < FEWEST || 3 * far <= 2 * features || !sizes.are_rarely_left() {
            return None;
        }
        let most = known().map(|(value, size)| (value / size).abs()).fold(0.0, f64::max);
        // In units of the largest, so that no square overflows.
        let usual = sizes.usual();
        let length: f64 = known().map(|(value, size)| usual.normalised(value / most, *size)).sum();
        let mean = sizes.mean() - if intercept { 1.0 } else { 0.0 };
        let usual_length = if mean > 0.0 { (mean / length).sqrt() } else { 1.0 };
        if most <= OTHER_UNITS * usual_length {
            return None;
        }
        let scaled = |(value, size): (&f64, &f64)| {
            let scaled = value / most * usual_length.min(1.0);
            // What is rounded up must not make a size grow.
            if *size > 0.0 { scaled.clamp(-size, *size) } else { scaled }
        };
        Some(Self(x.values().iter().zip(of_features).map(scaled).collect()))
    }

    /// The example as it counts.
    pub(super) fn of<'a>(tempered: Option<&'a Self>, x: SparseView<'a>) -> SparseView<'a> {
        tempered.map_or(x, |Self(values)| SparseView::trusted(x.indices(), values))
    }
}
