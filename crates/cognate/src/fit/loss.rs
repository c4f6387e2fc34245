//! Losses of a prediction f for a label y, with what solvers and certificates need of them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Loss of a prediction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Loss {
    /// (y - f)^2, for real labels or for classes
    #[default]
    Squares,
    /// log(1 + exp(-y f)), for classes
    Logistic,
    /// max(0, 1 - y f), for classes
    Hinge,
}

impl Loss {
    /// The loss's name, as users write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Squares => "squares",
            Self::Logistic => "logistic",
            Self::Hinge => "hinge",
        }
    }

    /// The loss.
    pub(crate) fn value(self, y: f64, f: f64) -> f64 {
        match self {
            Self::Squares => (y - f) * (y - f),
            Self::Logistic => {
                let m = y * f;
                if m > 0.0 { (-m).exp().ln_1p() } else { m.exp().ln_1p() - m }
            }
            Self::Hinge => (1.0 - y * f).max(0.0),
        }
    }

    /// Its derivative in f; at the corner of the hinge that on the side of smaller losses.
    pub(crate) fn slope(self, y: f64, f: f64) -> f64 {
        match self {
            Self::Squares => 2.0 * (f - y),
            Self::Logistic => -y / (1.0 + (y * f).exp()),
            Self::Hinge => {
                if y * f < 1.0 {
                    -y
                } else {
                    0.0
                }
            }
        }
    }

    /// Its second derivative, at least a little where Newton's step divides by it.
    pub(crate) fn curvature(self, y: f64, f: f64) -> f64 {
        match self {
            Self::Squares => 2.0,
            Self::Logistic => {
                let p = 1.0 / (1.0 + (y * f).exp());
                (p * (1.0 - p)).max(1e-10)
            }
            Self::Hinge => 0.0,
        }
    }

    /// The largest second derivative.
    pub(crate) fn largest_curvature(self) -> f64 {
        match self {
            Self::Squares => 2.0,
            Self::Logistic => 0.25,
            Self::Hinge => f64::INFINITY,
        }
    }

    /// -loss*(-theta): what an example contributes to the dual objective.
    pub(crate) fn dual(self, y: f64, theta: f64) -> f64 {
        let entropy = |p: f64| if p > 0.0 { -p * p.ln() } else { 0.0 };
        let share = (y * theta).clamp(0.0, 1.0);
        match self {
            Self::Squares => theta * y - 0.25 * theta * theta,
            Self::Logistic => entropy(share) + entropy(1.0 - share),
            Self::Hinge => share,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slopes_are_derivatives_and_duals_are_below() {
        for loss in [Loss::Squares, Loss::Logistic, Loss::Hinge] {
            for y in [-1.0, 1.0] {
                for at in -40..40 {
                    let f = 0.1 * f64::from(at) + 0.013;
                    let step = 1e-6;
                    let value = |f: f64| loss.value(y, f);
                    let slope = (value(f + step) - value(f - step)) / (2.0 * step);
                    assert!((slope - loss.slope(y, f)).abs() < 1e-5, "{loss:?} {y} {f}");
                    // Fenchel: loss(f) + loss*(-theta) >= -theta f, with equality at theta = -slope.
                    let theta = -loss.slope(y, f);
                    let gap = loss.value(y, f) - loss.dual(y, theta) + theta * f;
                    assert!(gap.abs() < 1e-12, "{loss:?} {y} {f}: {gap}");
                }
            }
        }
    }
}
