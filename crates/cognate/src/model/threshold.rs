//! From which margin on the label +1 is predicted.

use super::Model;
use crate::error::{ConfigError, ConfigProblem};
use crate::fit::Kind;

/// Where the label +1 begins.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Threshold {
    /// At this margin.
    Margin(f64),
    /// At this probability of the label +1, for learners that give one.
    Probability(f64),
}

impl Model {
    /// The margin from which on the label +1 is predicted: 0, unless another was chosen.
    pub fn threshold(&self) -> f64 {
        self.threshold.unwrap_or(0.0)
    }

    /// Predicts the label +1 from here on; the model keeps it when it is saved. Mistakes that are counted while learning
    /// are those of the margin's sign, whatever the threshold is.
    ///
    /// # Errors
    /// When a margin is not finite, a probability not between 0 and 1, the learner's margins give no probability, or
    /// labels are real numbers.
    pub fn set_threshold(&mut self, threshold: Threshold) -> Result<(), ConfigError> {
        let margin = self.margin_at(threshold).map_err(|message| ConfigProblem::new("threshold", message))?;
        self.threshold = Some(margin).filter(|margin| *margin != 0.0);
        Ok(())
    }

    fn margin_at(&self, threshold: Threshold) -> Result<f64, String> {
        let learner = self.learner.as_inspect();
        let id = self.learner.about().id;
        match threshold {
            _ if self.kind() == Some(Kind::Regression) => {
                Err(format!("labels of this `{id}` are real numbers; there is nothing to decide"))
            }
            Threshold::Margin(margin) if margin.is_finite() => Ok(margin),
            Threshold::Margin(margin) => Err(format!("must be a finite number, got {margin}")),
            Threshold::Probability(p) if !(p > 0.0 && p < 1.0) => {
                Err(format!("a probability must be between 0 and 1, got {p}"))
            }
            Threshold::Probability(p) => match learner.probability(0.0) {
                None => Err(format!(
                    "margins of this `{id}` are not probabilities; those of `adaptive` with the logistic loss are"
                )),
                Some(_) => Ok(root(|margin| learner.probability(margin).is_some_and(|found| found >= p))),
            },
        }
    }
}

/// Beyond this, log-odds are 0 or 1 to the last bit.
const LARGEST_LOG_ODDS: f64 = 1e3;

/// The least number from which on something holds that holds from some number on.
fn root(holds: impl Fn(f64) -> bool) -> f64 {
    let (mut below, mut above) = (-LARGEST_LOG_ODDS, LARGEST_LOG_ODDS);
    loop {
        let middle = f64::midpoint(below, above);
        if middle <= below || middle >= above {
            return above;
        }
        if holds(middle) {
            above = middle;
        } else {
            below = middle;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::RunConfig;

    #[test]
    fn a_threshold_is_a_margin_or_a_probability() {
        let mut model = Model::new(&RunConfig::default()).unwrap();
        model.set_threshold(Threshold::Probability(0.3)).unwrap();
        let expected = (0.3_f64 / 0.7).ln();
        assert!((model.threshold() - expected).abs() < 1e-12, "{}", model.threshold());
        model.set_threshold(Threshold::Margin(0.5)).unwrap();
        assert_eq!(model.threshold(), 0.5);
        for (bad, message) in [
            (Threshold::Margin(f64::NAN), "threshold: must be a finite number, got NaN"),
            (Threshold::Probability(1.0), "threshold: a probability must be between 0 and 1, got 1"),
        ] {
            assert_eq!(model.set_threshold(bad).unwrap_err().to_string(), message);
        }
        assert_eq!(model.threshold(), 0.5);
    }
}
