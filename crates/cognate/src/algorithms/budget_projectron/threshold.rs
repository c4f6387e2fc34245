//! When is an example as good as one of the span of those kept? Both projectrons ask.

use crate::error::{ConfigProblem, StateError};

/// How far from the span an example may be, and the longest one that asked.
#[derive(Debug, Clone, Copy)]
pub(in crate::algorithms) struct Threshold {
    threshold: f64,
    /// The largest squared length of a mistaken example.
    longest: f64,
}

impl Threshold {
    pub(in crate::algorithms) fn new(threshold: f64) -> Self {
        Self { threshold, longest: 0.0 }
    }

    /// What is wrong with one that a user writes.
    pub(in crate::algorithms) fn problem(threshold: f64) -> Option<ConfigProblem> {
        let message = format!("must be positive and finite, got {threshold}");
        (!(threshold.is_finite() && threshold > 0.0)).then(|| ConfigProblem::new("threshold", message))
    }

    /// Whether an example of this squared length, at this squared distance from the span of at most `slots`, is in it.
    pub(in crate::algorithms) fn reaches(&mut self, distance: f64, own: f64, slots: usize) -> bool {
        self.longest = self.longest.max(own);
        let rounding = 64.0 * f64::EPSILON * slots as f64 * own;
        distance <= (self.threshold * self.threshold).max(rounding)
    }

    /// What is said where no example can ever be kept.
    pub(in crate::algorithms) fn remark(self) -> Option<String> {
        let Self { threshold, longest } = self;
        let never = longest > 0.0 && longest <= threshold * threshold;
        let length = longest.sqrt();
        never.then(|| {
            format!(
                "nothing was learnt: the longest mistaken example has the length {length} under the multitask kernel, \
                 which is within the threshold of {threshold}; a smaller threshold keeps it"
            )
        })
    }

    /// What is saved of it.
    pub(in crate::algorithms) fn longest(self) -> f64 {
        self.longest
    }

    pub(in crate::algorithms) fn restore(&mut self, longest: f64) -> Result<(), StateError> {
        if !(longest.is_finite() && longest >= 0.0) {
            return Err(StateError::new("the length of the longest example is not a number"));
        }
        self.longest = longest;
        Ok(())
    }
}
