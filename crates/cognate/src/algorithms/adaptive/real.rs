//! Losses of real labels, and what an example with such a label asks of a margin.
//!
//! Labels are learnt in units of their own (`units`): with centre c and scale S of the task, a margin M stands for c + S M. A step
//! ends where the slope of the loss is, as for labels of two kinds, w the importance and y the label in these units:
//!
//! ```text
//! squares    t = w (y - M) / (1 + w V)                                            h = 1
//! quantile   t = (y - M) / V cut to [-w (1 - q), w q]; `absolute` is q = 1/2      h = 1 / (3 mean |error|)
//! poisson    t = w (y - exp(M + V t)), y as it is and M with c and the offset     h = exp(M + V t)
//! ```
//!
//! What a prior is worth depends on the noise ρ: the mean squared error for `squares`, (y - exp M)^2 / exp M for `poisson`,
//! q (1 - q) / h for `quantile`. h of a quantile stands for the density of errors there; of a normal distribution a third is
//! near enough for q from 0.05 to 0.95.

use super::rule::Loss;
use crate::error::ConfigProblem;
use crate::example::hinge;

/// A loss of real labels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Real {
    Squares,
    Quantile(f64),
    Poisson,
}

/// Times the mean absolute error: h of a quantile.
const DENSITY: f64 = 1.0 / 3.0;
/// Longest exponent of a rate: what is beyond is no count.
const LONGEST: f64 = 600.0;
/// Margins at most, in units of labels: predictions beyond are accidents, and their squares are no numbers.
pub(super) const MOST: f64 = 1e3;
/// Margins at most that a step begins at; weights go back from farther away, too, but not all at once.
const FARTHEST: f64 = 1e9;
/// Rounds of Newton's method, which is kept within brackets.
const ROUNDS: usize = 200;

impl Loss {
    /// The same as a loss of real labels; none if labels are of two kinds.
    #[inline]
    pub(super) fn real(self) -> Option<Real> {
        match self {
            Self::Logistic | Self::Hinge => None,
            Self::Squares => Some(Real::Squares),
            Self::Absolute => Some(Real::Quantile(0.5)),
            Self::Quantile { q } => Some(Real::Quantile(q)),
            Self::Poisson => Some(Real::Poisson),
        }
    }

    /// Of a margin.
    pub(super) fn value(self, label: f64, margin: f64) -> f64 {
        let error = label - margin;
        match self {
            Self::Logistic => (-label * margin).max(0.0) + (-(label * margin).abs()).exp().ln_1p(),
            Self::Hinge => hinge(label, margin),
            Self::Squares => 0.5 * error * error,
            Self::Absolute => error.abs(),
            Self::Quantile { q } => (q * error).max((q - 1.0) * error),
            Self::Poisson => rate(margin) - label * margin,
        }
    }

    /// What is wrong with it.
    pub(super) fn problem(self) -> Option<ConfigProblem> {
        match self {
            Self::Quantile { q } if !(q > 0.0 && q < 1.0) => {
                Some(ConfigProblem::new("loss.quantile.q", format!("{q} is not between 0 and 1")))
            }
            _ => None,
        }
    }
}

/// exp of the logarithm of a rate.
pub(super) fn rate(logarithm: f64) -> f64 {
    logarithm.clamp(-LONGEST, LONGEST).exp()
}

/// What an example asks of a margin.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Target {
    pub(super) loss: Real,
    /// y, in units of its task; as it is for `poisson`.
    pub(super) label: f64,
    /// What is added to margins, for `poisson`; otherwise 0, and the label is less it.
    pub(super) base: f64,
    /// Its importance.
    pub(super) weight: f64,
    /// ρ.
    pub(super) noise: f64,
    /// h of a quantile.
    pub(super) density: f64,
    /// The length of the task's labels at most, times the root of h: what bounds plausible weights.
    pub(super) plausible: f64,
}

/// h of a quantile, and the noise that goes with it.
pub(super) fn density(mean_absolute_error: f64) -> f64 {
    DENSITY / mean_absolute_error
}

impl Target {
    /// t, with the sign of the way that the margin goes.
    #[inline]
    pub(super) fn step(&self, margin: f64, variance: f64) -> f64 {
        let Self { label, weight, base, .. } = *self;
        let error = label - margin.clamp(-FARTHEST, FARTHEST);
        match self.loss {
            Real::Squares => weight * error / (1.0 + weight * variance),
            Real::Quantile(_) if variance <= 0.0 => 0.0,
            Real::Quantile(q) => (error / variance).clamp(-weight * (1.0 - q), weight * q),
            Real::Poisson => poisson_step(label, weight, base + margin, variance),
        }
    }

    /// h of an example whose step ends at a margin, its importance counted.
    #[inline]
    pub(super) fn curvature(&self, end: f64) -> f64 {
        self.weight
            * match self.loss {
                Real::Squares => 1.0,
                Real::Quantile(_) => self.density,
                Real::Poisson => rate(self.base + end),
            }
    }

    /// Whether the label is above what is predicted where nothing is known, or below it.
    pub(super) fn sign(&self) -> f64 {
        let above = match self.loss {
            Real::Poisson => self.label > rate(self.base),
            _ => self.label > 0.0,
        };
        if above { 1.0 } else { -1.0 }
    }

    /// The same with the noise so many times as large.
    pub(super) fn noisier(self, times: f64) -> Self {
        Self { noise: self.noise * times, ..self }
    }
}

/// t = w (y - exp(u)) with u = u_0 + V t, by Newton's method.
fn poisson_step(label: f64, weight: f64, start: f64, variance: f64) -> f64 {
    let first = weight * (label - rate(start));
    if variance <= 0.0 || first == 0.0 {
        return first;
    }
    // The step neither changes its sign nor goes beyond the label.
    let end = start + variance * first;
    let goal = label.max(f64::MIN_POSITIVE).ln();
    let (mut low, mut high) = if first > 0.0 { (start, end.min(goal)) } else { (end.max(goal), start) };
    let mut u = start + variance * first / (1.0 + variance * weight * rate(start));
    for _ in 0..ROUNDS {
        if !(u > low && u < high) {
            u = 0.5 * low + 0.5 * high;
        }
        let mean = rate(u);
        let beyond = u - start - variance * weight * (label - mean);
        (low, high) = if beyond > 0.0 { (low, u) } else { (u, high) };
        let change = beyond / (1.0 + variance * weight * mean);
        u -= change;
        if change.abs() <= 1e-14 * (1.0 + u.abs()) {
            break;
        }
    }
    (u - start) / variance
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(loss: Real, label: f64, weight: f64) -> Target {
        Target { loss, label, base: 0.0, weight, noise: 1.0, density: 0.5, plausible: 1.0 }
    }

    #[test]
    fn steps_end_where_their_slope_is() {
        for weight in [1e-6, 0.5, 1.0, 2.0, 1e6] {
            for variance in [1e-6, 0.3, 1.0, 40.0, 1e6] {
                for (margin, label) in [(0.0, 0.0), (0.0, 7.0), (-3.0, 2.0), (5.0, 0.0), (2.0, 1e6)] {
                    let squares = target(Real::Squares, label, weight).step(margin, variance);
                    let there = weight * (label - margin - variance * squares);
                    assert!((squares - there).abs() <= 1e-6 * (1.0 + weight * label), "{squares} {there}");
                    let poisson = target(Real::Poisson, label, weight).step(margin, variance);
                    let there = margin + variance * poisson;
                    let wanted = weight * variance * (label - rate(there));
                    assert!(
                        (there - margin - wanted).abs()
                            <= 1e-8 * (1.0 + wanted.abs() + weight * variance * label),
                        "{weight} {variance} {margin} {label}: {poisson}"
                    );
                }
            }
        }
        let quantile = target(Real::Quantile(0.9), 3.0, 2.0);
        assert_eq!(quantile.step(0.0, 100.0), 0.03);
        assert_eq!((quantile.step(0.0, 1.0), quantile.step(9.0, 1.0)), (1.8, -2.0 * (1.0 - 0.9)));
        assert_eq!(quantile.step(0.0, 0.0), 0.0);
    }

    #[test]
    fn counts_that_are_far_away_are_no_trouble() {
        for start in [-1e9, -700.0, 0.0, 700.0, 1e9] {
            for label in [0.0, 0.5, 1e100] {
                for weight in [1e-6, 1.0, 1e6] {
                    for variance in [1e-9, 1.0, 1e9] {
                        let step = poisson_step(label, weight, start, variance);
                        assert!(step.is_finite(), "{start} {label} {weight} {variance}: {step}");
                    }
                }
            }
        }
    }
}
