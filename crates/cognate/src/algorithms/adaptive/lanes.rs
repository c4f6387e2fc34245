//! How far each feature of an example may move the weights of each part.
//!
//! Sizes are gathered, so that what depends on them alone is found for many features at once. Rates are rows of one number per
//! part, which fill a vector.
#![expect(clippy::inline_always, reason = "only what is inlined is compiled for wide vectors")]

use super::mixer::{PARTS, PerPart};
use super::rule::Usual;
use super::step::Scale;

/// Sums side by side.
const WIDTH: usize = 4;

/// v x of each part, for a feature with this value, m s^2 / r, and precisions of what is the task's own and of what is shared.
#[inline(always)]
pub(super) fn rates_of(
    scale: &Scale,
    inverse_priors: &PerPart,
    value: f64,
    unit: f64,
    (own, shared): (f64, f64),
) -> PerPart {
    let (own, shared) = (scale.seen * own, scale.seen * shared);
    // What is the task's own counts for the own parts of `alone` and `coupled`, what is shared for the other two.
    let precisions = [own, own, shared, shared];
    std::array::from_fn(|part| value / (unit * inverse_priors[part] + precisions[part]))
}

/// What is known of the features of an example, in its order; scratch that is used again.
#[derive(Debug, Clone, Default)]
pub(super) struct Lanes {
    /// s.
    pub(super) sizes: Vec<f64>,
    /// m s^2 / r.
    pub(super) units: Vec<f64>,
    /// v x of each part.
    pub(super) rates: Vec<PerPart>,
    /// Scratch of [`super::outgrown`].
    pub(super) logs: Vec<f64>,
}

impl Lanes {
    /// Room for so many features.
    #[inline(always)]
    pub(super) fn clear(&mut self, features: usize) {
        self.sizes.resize(features, 0.0);
        self.units.resize(features, 0.0);
        self.rates.resize(features, [0.0; PARTS]);
    }

    /// Whether a value is below its size by this factor.
    #[inline(always)]
    pub(super) fn any_below(&self, values: &[f64], low: f64) -> bool {
        let pairs = values.iter().zip(&self.sizes);
        pairs.fold(false, |any, (value, size)| any | (value.abs() < low * size && *value != 0.0))
    }

    /// The sum of r (x / s)^2.
    #[inline(always)]
    pub(super) fn normalised(&self, values: &[f64], usual: Usual) -> f64 {
        let (values, last_values) = values.as_chunks::<WIDTH>();
        let (sizes, last_sizes) = self.sizes.as_chunks::<WIDTH>();
        let mut sums = [0.0; WIDTH];
        for (values, sizes) in values.iter().zip(sizes) {
            for at in 0..WIDTH {
                sums[at] += usual.normalised(values[at], sizes[at]);
            }
        }
        for ((sum, value), size) in sums.iter_mut().zip(last_values).zip(last_sizes) {
            *sum += usual.normalised(*value, *size);
        }
        (sums[0] + sums[2]) + (sums[1] + sums[3])
    }

    /// Finds m s^2 / r of every feature.
    #[inline(always)]
    pub(super) fn find_units(&mut self, scale: &Scale) {
        for (unit, size) in self.units.iter_mut().zip(&self.sizes) {
            *unit = scale.unit(*size);
        }
    }
}
