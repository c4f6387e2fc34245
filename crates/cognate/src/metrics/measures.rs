//! What follows from the counts, by name.

use serde::ser::{Serialize, SerializeMap, Serializer};

use super::Tally;
use crate::fit::Kind;

/// The numbers by which a run is judged; none where one is unknown or has no meaning, as before the first weight.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[non_exhaustive]
pub struct Measures {
    /// Whether labels are real numbers.
    pub is_regression: bool,
    /// Mistakes per example.
    pub error: Option<f64>,
    /// The same of the constant guess so far.
    pub constant_error: Option<f64>,
    /// Mean of -ln of the probability of the true label.
    pub log_loss: Option<f64>,
    /// Mean squared difference of probability and outcome.
    pub brier: Option<f64>,
    /// The area under the ROC curve.
    pub auc: Option<f64>,
    /// The share of +1 among those predicted +1.
    pub precision: Option<f64>,
    /// The share predicted +1 among those that are +1.
    pub recall: Option<f64>,
    /// The F-measure of +1.
    pub f1: Option<f64>,
    /// The mean of the errors on the two classes.
    pub balanced_error: Option<f64>,
    /// The root of the mean squared error.
    pub rmse: Option<f64>,
    /// The same of the constant guess so far.
    pub constant_rmse: Option<f64>,
    /// The mean absolute error.
    pub mae: Option<f64>,
    /// The share of the constant guess's squared error that is explained.
    pub r2: Option<f64>,
    /// The mean of the learner's own loss.
    pub loss: Option<f64>,
}

impl Measures {
    pub(super) fn of(tally: &Tally, auc: Option<f64>) -> Self {
        if tally.kind() == Some(Kind::Regression) {
            return Self {
                is_regression: true,
                rmse: tally.rmse(),
                constant_rmse: tally.constant_rmse(),
                mae: tally.mae(),
                r2: tally.r2(),
                loss: tally.loss(),
                ..Self::default()
            };
        }
        // Rates of nothing are none; precision and the like are 0 where something was seen.
        let rate = |rate: f64| (tally.weight() > 0.0).then_some(rate);
        Self {
            error: rate(tally.error()),
            constant_error: tally.constant_error(),
            log_loss: tally.log_loss(),
            brier: tally.brier(),
            auc,
            precision: rate(tally.precision()),
            recall: rate(tally.recall()),
            f1: rate(tally.f1()),
            balanced_error: tally.balanced_error(),
            ..Self::default()
        }
    }

    /// Names and values of those that belong to the kind of labels.
    pub fn entries(&self) -> Vec<(&'static str, Option<f64>)> {
        if self.is_regression { self.of_real_labels() } else { self.of_classes() }
    }

    /// All names and values, whatever the kind of labels.
    pub fn all_entries(&self) -> Vec<(&'static str, Option<f64>)> {
        [self.of_classes(), self.of_real_labels()].concat()
    }

    fn of_real_labels(&self) -> Vec<(&'static str, Option<f64>)> {
        vec![
            ("rmse", self.rmse),
            ("constant_rmse", self.constant_rmse),
            ("mae", self.mae),
            ("r2", self.r2),
            ("loss", self.loss),
        ]
    }

    fn of_classes(&self) -> Vec<(&'static str, Option<f64>)> {
        vec![
            ("error", self.error),
            ("constant_error", self.constant_error),
            ("log_loss", self.log_loss),
            ("brier", self.brier),
            ("auc", self.auc),
            ("precision", self.precision),
            ("recall", self.recall),
            ("f1", self.f1),
            ("balanced_error", self.balanced_error),
        ]
    }
}

/// As an object of [`Measures::entries`], none as null; may be flattened into another.
impl Serialize for Measures {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let entries = self.entries();
        let mut map = serializer.serialize_map(Some(entries.len()))?;
        for (name, value) in entries {
            map.serialize_entry(name, &value)?;
        }
        map.end()
    }
}
