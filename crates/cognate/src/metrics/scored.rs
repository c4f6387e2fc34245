//! One example beside what was predicted for it before it was learnt: what there is to count.

use crate::example::{is_mistake, predicted_label};
use crate::fit::Kind;
use crate::learner::Inspect;

/// Sums of a tally beside its counts.
pub(super) const SUMS: usize = 5;

/// Places of the sums of a classification.
pub(super) mod class {
    pub(in crate::metrics) const TRUE_POSITIVE: usize = 0;
    pub(in crate::metrics) const FALSE_POSITIVE: usize = 1;
    pub(in crate::metrics) const FALSE_NEGATIVE: usize = 2;
    pub(in crate::metrics) const LOG_LOSS: usize = 3;
    pub(in crate::metrics) const BRIER: usize = 4;
}

/// Places of the sums of a regression.
pub(super) mod real {
    pub(in crate::metrics) const SQUARES: usize = 0;
    pub(in crate::metrics) const ABSOLUTES: usize = 1;
    pub(in crate::metrics) const LOSS: usize = 2;
}

/// An example's label and weight beside the prediction made before it was learnt.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scored {
    pub(super) kind: Kind,
    pub(super) label: f64,
    pub(super) weight: f64,
    pub(super) mistake: bool,
    pub(super) predicted_positive: bool,
    /// What the example adds to the sums, by the places above.
    pub(super) terms: [f64; SUMS],
}

impl Scored {
    /// An example, as the learner that gave its margin understands it.
    #[inline]
    pub fn of(learner: &dyn Inspect, kind: Kind, label: f64, weight: f64, margin: f64) -> Self {
        match kind {
            Kind::Classification => Self::class(label, weight, margin, learner.probability(margin)),
            Kind::Regression => {
                Self::real(label, weight, learner.response(margin), learner.loss(label, margin))
            }
        }
    }

    /// An example of label -1 or +1; `probability` is that of +1, where the learner gives one.
    ///
    /// A margin of exactly 0 is a mistake, and no success of either class.
    #[inline]
    pub fn class(label: f64, weight: f64, margin: f64, probability: Option<f64>) -> Self {
        let (positive, mistake) = (label > 0.0, is_mistake(label, margin));
        let of = |holds: bool| if holds { weight } else { 0.0 };
        let (log_loss, brier) = probability.map_or((f64::NAN, f64::NAN), |probability| {
            let of_label = if positive { probability } else { 1.0 - probability };
            (weight * log_loss(of_label), weight * (1.0 - of_label) * (1.0 - of_label))
        });
        Self {
            kind: Kind::Classification,
            label,
            weight,
            mistake,
            predicted_positive: predicted_label(margin) > 0.0,
            terms: [
                of(positive && !mistake),
                of(!positive && mistake),
                of(positive && mistake),
                log_loss,
                brier,
            ],
        }
    }

    /// An example of a real label; `predicted` is the value predicted, `loss` what the learner makes small.
    #[inline]
    pub fn real(label: f64, weight: f64, predicted: f64, loss: Option<f64>) -> Self {
        let gap = label - predicted;
        let mut terms = [0.0; SUMS];
        terms[real::SQUARES] = weight * gap * gap;
        terms[real::ABSOLUTES] = weight * gap.abs();
        terms[real::LOSS] = weight * loss.unwrap_or(f64::NAN);
        Self {
            kind: Kind::Regression,
            label,
            weight,
            mistake: false,
            predicted_positive: predicted > 0.0,
            terms,
        }
    }

    /// Whether the margin was a mistake; never for real labels.
    #[inline]
    pub fn mistake(&self) -> bool {
        self.mistake
    }

    /// What a constant guess costs here: the label of most weight so far, or the mean so far.
    ///
    /// Before the first label there is nothing to guess from: a mistake, or the value 0. Labels of equal weight guess +1.
    #[inline]
    pub(super) fn constant(&self, weight: f64, labels: f64) -> f64 {
        match self.kind {
            Kind::Classification => {
                let right = (self.label > 0.0) == guesses_positive(weight, labels) && weight > 0.0;
                if right { 0.0 } else { self.weight }
            }
            Kind::Regression => {
                let gap = self.label - if weight > 0.0 { labels / weight } else { 0.0 };
                self.weight * gap * gap
            }
        }
    }
}

/// Whether labels of this sum, by weight, have the weight of +1 at least: up to a billionth of all weight, which sums of
/// decimal weights may be wrong by. Sums of whole weights are exact.
#[inline]
pub(super) fn guesses_positive(weight: f64, labels: f64) -> bool {
    labels >= -1e-9 * weight
}

/// -ln of the probability of what occurred. A probability of 0 is costly, but not infinite.
#[inline]
pub(super) fn log_loss(of_label: f64) -> f64 {
    -of_label.max(f64::EPSILON).ln()
}
