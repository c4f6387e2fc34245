//! What made one margin: the part of every feature, of what tasks share and of what is the task's own. And whether the label of
//! an example would be asked for.

use super::{ExportError, Model};
use crate::example::{BIAS_FEATURE, Example};
use crate::fit::Kind;
use crate::query::{Asker, Draws};
use crate::stream::{Features, StreamError, TableError};

/// What made a margin.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Contributions {
    /// The margin.
    pub margin: f64,
    /// The features of the example that have a weight, largest part first; they add up to the margin, but for rounding, and but
    /// for predictions of real labels that were cut to where labels have been.
    pub features: Vec<Contribution>,
}

/// The part of one feature in a margin.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Contribution {
    /// The feature; [`BIAS_FEATURE`] is the constant one.
    pub feature: u32,
    /// Its value, scaled as the model scales examples.
    pub value: f64,
    /// Its value times the weight that tasks share.
    pub shared: f64,
    /// Its value times the weight that is the task's own.
    pub own: f64,
}

impl Contribution {
    /// Both parts.
    pub fn total(&self) -> f64 {
        self.shared + self.own
    }
}

/// Why a margin cannot be taken apart.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ContributionError {
    /// The example is bad.
    #[error(transparent)]
    Stream(#[from] StreamError),
    /// The learner has no weights that give its margins.
    #[error(transparent)]
    Export(#[from] ExportError),
}

impl Model {
    /// What makes the margin of an example: which features, by what tasks share and by what is the task's own.
    ///
    /// # Errors
    /// As [`Self::predict_row`]; when no weights give the margins of the learner.
    pub fn contributions(
        &self,
        task: Option<&str>,
        features: Features<'_>,
    ) -> Result<Contributions, ContributionError> {
        let (export, real) = (self.export()?, self.config.learner.kind() == Kind::Regression);
        let found = self.looked_up(task, features, |example| {
            let Example { task, features, .. } = example;
            let margin = self.learner.as_predict().margin(task, features);
            let mut weights = export.task(task);
            let total = std::mem::take(&mut weights.own);
            // Of real labels what is not a task's own is shared, in units that only the learner knows.
            weights.own = if real { self.learner.as_inspect().own_weights(task).own } else { total.clone() };
            let of = |weights: &[(u32, f64)], feature: u32| {
                weights.binary_search_by_key(&feature, |(at, _)| *at).map_or(0.0, |at| weights[at].1)
            };
            let part = |(feature, value): (u32, f64)| {
                let vectors = weights.factors.iter().zip(export.shared());
                let of_vectors: f64 =
                    vectors.map(|(factor, vector)| factor * of(&vector.weights, feature)).sum();
                let own = of(&weights.own, feature);
                let shared = if real { of(&total, feature) - own } else { of_vectors };
                Contribution { feature, value, shared: value * shared, own: value * own }
            };
            // An export is for a constant feature of 1, the stream's and the learner's own in one.
            let named = features.iter().filter(|(feature, _)| *feature != BIAS_FEATURE);
            let mut found: Vec<_> = named.chain([(BIAS_FEATURE, 1.0)]).map(part).collect();
            found.retain(|part| part.shared != 0.0 || part.own != 0.0);
            found.sort_by(|one, other| other.total().abs().total_cmp(&one.total().abs()));
            Contributions { margin, features: found }
        });
        found.map_err(|problem| StreamError::from(TableError::Row { row: 0, problem }).into())
    }

    /// Whether the query would ask for the label of an example, were it the next one; always where labels are not drawn.
    ///
    /// # Errors
    /// As [`Self::predict_row`].
    pub fn would_ask(&self, task: Option<&str>, features: Features<'_>) -> Result<bool, StreamError> {
        let asked = self.looked_up(task, features, |example| {
            let margin = self.learner.as_predict().margin(example.task, example.features);
            let mut asker =
                Asker::new(self.config.query, self.config.seed.unwrap_or_default(), &Draws::Seeded);
            asker.asks(self.metrics.seen(), &self.learner, example, margin)
        });
        asked.map_err(|problem| TableError::Row { row: 0, problem }.into())
    }
}

#[cfg(test)]
mod tests {
    use crate::{Model, RunConfig};

    fn config(json: &str) -> RunConfig {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn parts_add_up_to_the_margin_with_a_constant_feature_of_either_kind() {
        let real = r#"{"learner": {"adaptive": {"loss": "squares"}}}"#;
        for json in ["{}", r#"{"stream": {"bias": 2.0}}"#, r#"{"learner": "perceptron"}"#, real] {
            let mut model = Model::new(&config(json)).unwrap();
            for turn in 0..40 {
                let label = if turn % 3 == 0 { 1.0 } else { -1.0 };
                let task = ["a", "b"][turn % 2];
                let pairs = [(turn as u32 % 5, 1.0), (7, turn as f64 / 40.0)];
                model.learn_one(task, &pairs, label).unwrap();
            }
            let parts = model.contributions(Some("a"), (&[(0, 1.0), (7, 2.0)]).into()).unwrap();
            let sum: f64 = parts.features.iter().map(super::Contribution::total).sum();
            assert!((sum - parts.margin).abs() < 1e-9 * sum.abs().max(1.0), "{json}: {sum} {}", parts.margin);
            assert_eq!(parts.margin, model.predict_one("a", &[(0, 1.0), (7, 2.0)]).unwrap().margin);
            assert!(parts.features.len() >= 2);
        }
    }

    #[test]
    fn what_would_be_asked_is_what_is_asked() {
        let mut model =
            Model::new(&config(r#"{"learner": "perceptron", "query": {"margin": {"b": 0.5}}}"#)).unwrap();
        let mut asked = 0;
        for turn in 0..200 {
            let pairs = [(turn % 7, 1.0), (9, f64::from(turn % 3))];
            let would = model.would_ask(Some("a"), (&pairs).into()).unwrap();
            let report = model.learn_one("a", &pairs, if turn % 7 < 3 { 1.0 } else { -1.0 }).unwrap();
            assert_eq!(would, report.queried, "round {turn}");
            asked += u32::from(would);
        }
        assert!((20..180).contains(&asked), "{asked}");
    }
}
