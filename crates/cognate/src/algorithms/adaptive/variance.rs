//! How sure a margin is: the variance of w'x, from the precisions that the steps keep.
//!
//! A weight has the variance v_k = 1 / (m s_k^2 / (p r_k) + c_k) of `step`, and weights are taken to vary on their own, so that
//! V = sum_k v_k x_k^2. For a feature that is larger than ever before s_k is what it would be once learnt, and a learner that has
//! seen nothing has V = p.
//!
//! One vector on its own predicts with the variance [`ONLY`] V. A mixture weighs its parts, and what they are worth says how
//! much there is to know (`together/variance`).
//!
//! The true margins of streams are known where they are made, so the factors were chosen there: on 18 kinds of streams (1 to 10
//! tasks, 5 to 500 features, dense, sparse, binary and correlated, tasks that have all, some or nothing in common), each with 500,
//! 2,000 and 10,000 examples, on seeds other than those of the tests. docs/uncertainty.md has what came of it.

use super::rule::{Sizes, Usual};

/// What V of a single vector is multiplied by. One pass of a diagonal method gets less out of its examples than they hold.
pub(super) const ONLY: f64 = 1.25;

/// A variance that stays a number, whatever a file says.
const LARGEST: f64 = 1e300;

/// A variance that can be answered: finite and not negative.
pub(super) fn sound(variance: f64) -> f64 {
    if variance.is_finite() { variance.clamp(0.0, LARGEST) } else { LARGEST }
}

/// What turns precisions into variances, the same for all features of an example.
#[derive(Debug, Clone, Copy)]
pub(super) struct Spread {
    usual: Usual,
    /// m.
    mean: f64,
    /// The factor through which precisions are seen.
    seen: f64,
}

impl Spread {
    /// None before the first example: then a margin has its prior variance.
    pub(super) fn of(sizes: &Sizes, seen: f64) -> Option<Self> {
        let mean = sizes.mean();
        (mean.is_finite() && mean > 0.0).then(|| Self { usual: sizes.usual(), mean, seen })
    }

    /// v x^2 of a feature of size s, with 1 / p. In units of s, so that no square overflows.
    pub(super) fn share(&self, value: f64, size: f64, inverse_prior: f64, precision: f64) -> f64 {
        let size = size.max(value.abs());
        if size == 0.0 {
            return 0.0;
        }
        let (part, ratio) = (value / size, self.usual.normalised(size, size));
        part * part / (self.mean / ratio * inverse_prior + self.precision(precision) / size / size)
    }

    /// v of the feature that is always 1.
    pub(super) fn constant(&self, inverse_prior: f64, precision: f64) -> f64 {
        (self.mean * inverse_prior + self.precision(precision)).recip()
    }

    fn precision(&self, precision: f64) -> f64 {
        self.seen * precision.max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_those_of_the_steps_and_never_overflow() {
        let mut sizes = Sizes::default();
        assert!(Spread::of(&sizes, 1.0).is_none());
        sizes.grow(&mut 0.0, 2.0);
        sizes.count(1.5, 1, false);
        let spread = Spread::of(&sizes, 0.5).unwrap();
        // r = 1, so v = 1 / (m s^2 / p + seen c).
        let rate = 1.0 / (1.5 * 4.0 / 10.0 + 0.5 * 3.0);
        assert!((spread.share(1.0, 2.0, 0.1, 3.0) - rate).abs() < 1e-12);
        assert!((spread.constant(0.1, 3.0) - 1.0 / (0.15 + 1.5)).abs() < 1e-12);
        // What was never seen has the prior variance of its share, whatever its size: r is 4 at most.
        assert!((spread.share(1e200, 0.0, 0.1, 0.0) - 40.0 / 1.5).abs() < 1e-9);
        assert_eq!(spread.share(0.0, 0.0, 0.1, 0.0), 0.0);
        assert_eq!([sound(f64::NAN), sound(-1.0), sound(2.0)], [LARGEST, 0.0, 2.0]);
    }
}
