//! By what learners are judged, and what each example contributes to it.

use clap::ValueEnum;
use cognate::fit::Kind;
use cognate::metrics::{Measures, Ranking, Scored, Tally};
use cognate_lab::influence;
use cognate_lab::statistics::mean;
use cognate_plot::numbers::{NO_VALUE, percent, significant};

/// A metric by which learners are judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Metric {
    /// Share of mistakes
    Error,
    /// Mean of -ln of the probability of the true label; for learners that give probabilities
    LogLoss,
    /// Area under the ROC curve: how often a positive example has a larger margin than a negative one
    Auc,
    /// F-measure of the label +1
    F1,
    /// Root of the mean squared error; for real labels
    Rmse,
    /// Mean absolute error; for real labels
    Mae,
}

impl Metric {
    /// Which labels it is for.
    pub(super) fn kind(self) -> Kind {
        match self {
            Self::Error | Self::LogLoss | Self::Auc | Self::F1 => Kind::Classification,
            Self::Rmse | Self::Mae => Kind::Regression,
        }
    }

    /// Its name on the command line.
    pub(super) fn flag(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::LogLoss => "log-loss",
            Self::Auc => "auc",
            Self::F1 => "f1",
            Self::Rmse => "rmse",
            Self::Mae => "mae",
        }
    }

    /// Its name in tables.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::LogLoss => "log loss",
            Self::Auc => "AUC",
            Self::F1 => "F1",
            Self::Rmse => "RMSE",
            Self::Mae => "MAE",
            Self::Error => "error",
        }
    }

    /// Whether more is better.
    pub(super) fn rises(self) -> bool {
        matches!(self, Self::Auc | Self::F1)
    }

    /// Its value among all measures; NaN where it has none.
    pub(super) fn of(self, measures: &Measures) -> f64 {
        let value = match self {
            Self::Error => measures.error,
            Self::LogLoss => measures.log_loss,
            Self::Auc => measures.auc,
            Self::F1 => measures.f1,
            Self::Rmse => measures.rmse,
            Self::Mae => measures.mae,
        };
        value.unwrap_or(f64::NAN)
    }

    /// A value as people read it.
    pub(super) fn show(self, value: f64) -> String {
        match self {
            _ if !value.is_finite() => NO_VALUE.to_owned(),
            Self::Error | Self::F1 => percent(value, 2),
            Self::LogLoss | Self::Auc => format!("{value:.4}"),
            Self::Rmse | Self::Mae => significant(value),
        }
    }

    /// A deviation beside a value.
    pub(super) fn show_deviation(self, deviation: f64) -> String {
        match self {
            Self::Error | Self::F1 => format!("{:.2}", 100.0 * deviation),
            Self::LogLoss | Self::Auc => format!("{deviation:.4}"),
            Self::Rmse | Self::Mae => significant(deviation),
        }
    }

    /// What `value` has changed from `before`: a share where the metric is a loss, else a difference.
    pub(super) fn change(self, value: f64, before: f64) -> f64 {
        if self.rises() { value - before } else { value / before - 1.0 }
    }

    /// The same as people read it.
    pub(super) fn show_change(self, value: f64, before: f64) -> String {
        let change = self.change(value, before);
        match self {
            _ if !change.is_finite() => NO_VALUE.to_owned(),
            Self::Auc => format!("{}{:.4}", sign(change), change.abs()),
            Self::F1 => format!("{}{:.2} pt", sign(change), 100.0 * change.abs()),
            _ => format!("{}{}", sign(change), percent(change.abs(), 1)),
        }
    }

    /// How much of the metric is gained by going from `before` to `value`, in words.
    pub(super) fn gain(self, value: f64, before: f64) -> String {
        let change = self.change(value, before).abs();
        match self {
            Self::Error => format!("saves {} of its mistakes", percent(change, 0)),
            Self::LogLoss => format!("lowers its log loss by {}", percent(change, 0)),
            Self::Rmse | Self::Mae => format!("lowers its {} by {}", self.name(), percent(change, 0)),
            Self::Auc => format!("adds {change:.4} to its AUC"),
            Self::F1 => format!("adds {:.2} points to its F1", 100.0 * change),
        }
    }
}

fn sign(change: f64) -> &'static str {
    if change < 0.0 { "−" } else { "+" }
}

/// Examples beside what was predicted for each before it was learnt.
#[derive(Default)]
pub(super) struct Outcomes {
    pub(super) labels: Vec<f64>,
    pub(super) weights: Vec<f64>,
    pub(super) margins: Vec<f64>,
    pub(super) mistakes: Vec<bool>,
}

impl Outcomes {
    /// What each example contributes to a metric, given how margins become probabilities of +1, or values; none where
    /// the metric has no value.
    pub(super) fn contributions(
        &self,
        metric: Metric,
        probability: impl Fn(usize) -> Option<f64>,
        response: impl Fn(usize) -> f64,
    ) -> Option<Vec<f32>> {
        let Self { labels, weights, margins, mistakes } = self;
        let gaps = || (0..labels.len()).map(|at| labels[at] - response(at)).collect::<Vec<f64>>();
        let contributions = match metric {
            Metric::Error => {
                let wrong: Vec<f64> = mistakes.iter().map(|mistake| f64::from(*mistake)).collect();
                influence::mean(weights, &wrong)
            }
            Metric::LogLoss => {
                let losses = (0..labels.len()).map(|at| {
                    let positive = probability(at)?;
                    let of_label = if labels[at] > 0.0 { positive } else { 1.0 - positive };
                    Some(-of_label.max(f64::EPSILON).ln())
                });
                influence::mean(weights, &losses.collect::<Option<Vec<f64>>>()?)
            }
            Metric::Auc => influence::auc(labels, weights, margins)?,
            Metric::F1 => influence::f1(labels, weights, mistakes)?,
            Metric::Rmse => influence::root_mean_square(weights, &gaps()),
            Metric::Mae => influence::mean(weights, &gaps().into_iter().map(f64::abs).collect::<Vec<f64>>()),
        };
        // Half the memory: there are as many as examples, of every learner in every run.
        Some(contributions.into_iter().map(|one| one as f32).collect())
    }
}

/// What guessing without features makes of the labels, in their order: the label of most weight, or the mean, so far.
pub(super) fn constant_guess(
    examples: &[(f64, f64)],
    kind: Kind,
    metric: Metric,
) -> (Tally, Measures, Option<Vec<f32>>) {
    let (mut tally, mut ranking) = (Tally::default(), Ranking::default());
    let mut outcomes = Outcomes::default();
    let (mut weights, mut positives, mut labels) = (0.0, 0.0, 0.0);
    let (mut probabilities, mut responses) = (Vec::new(), Vec::new());
    for (label, weight) in examples {
        // Before the first label there is nothing to guess from.
        let guess = if weights == 0.0 {
            0.0
        } else if labels >= 0.0 {
            1.0
        } else {
            -1.0
        };
        // Laplace's rule of succession.
        let probability = (positives + 1.0) / (weights + 2.0);
        let response = if weights > 0.0 { labels / weights } else { 0.0 };
        let scored = match kind {
            Kind::Classification => Scored::class(*label, *weight, guess, Some(probability)),
            Kind::Regression => Scored::real(*label, *weight, response, None),
        };
        tally.count(&scored, false, false);
        // It does not tell examples apart, whatever it guesses when.
        ranking.count(cognate::TaskId(0), *label, *weight, 0.0);
        outcomes.labels.push(*label);
        outcomes.weights.push(*weight);
        outcomes.margins.push(0.0);
        outcomes.mistakes.push(scored.mistake());
        probabilities.push(probability);
        responses.push(response);
        weights += weight;
        labels += weight * label;
        positives += if *label > 0.0 { *weight } else { 0.0 };
    }
    let measures = tally.measures(ranking.auc().map(|auc| auc.value));
    let contributions = outcomes.contributions(metric, |at| Some(probabilities[at]), |at| responses[at]);
    (tally, measures, contributions)
}

/// The mean of a measure over runs; none where a run has none.
pub(super) fn mean_of(measures: &[Measures], name: &str) -> Option<f64> {
    let of_run = |measures: &Measures| {
        measures.entries().into_iter().find(|(known, _)| *known == name).and_then(|(_, value)| value)
    };
    measures.iter().map(of_run).collect::<Option<Vec<f64>>>().map(|values| mean(&values))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_and_changes_read_well() {
        assert_eq!(Metric::Error.show(0.0409), "4.09\u{202f}%");
        assert_eq!(Metric::Auc.show(0.81234), "0.8123");
        assert_eq!(Metric::LogLoss.show(f64::NAN), "–");
        assert_eq!(
            ["0.01234", "1.234", "123.4", "12345", "0", "1e-9"]
                .map(|text| Metric::Rmse.show(text.parse().unwrap())),
            ["0.0123", "1.234", "123.4", "12345", "0.0000", "1.000e-9"]
        );
        assert_eq!(Metric::Auc.show_change(0.75, 0.8), "−0.0500");
        assert_eq!(Metric::Error.show_change(0.06, 0.08), "−25.0\u{202f}%");
        assert_eq!(Metric::Error.gain(0.06, 0.08), "saves 25\u{202f}% of its mistakes");
    }

    #[test]
    fn the_constant_guess_is_the_majority_or_the_mean_so_far() {
        let labels = [-1.0, -1.0, 1.0, 1.0, 1.0, -1.0].map(|label| (label, 1.0));
        let (tally, measures, contributions) = constant_guess(&labels, Kind::Classification, Metric::Error);
        // Nothing to guess from; right; wrong; wrong; at a tie +1, right; wrong.
        assert_eq!(tally.mistakes, 4);
        assert_eq!(measures.error, tally.constant_error(), "the library's own guess");
        assert_eq!(measures.auc, Some(0.5));
        assert_eq!(contributions, Some(vec![1.0, 0.0, 1.0, 1.0, 0.0, 1.0]));
        let real = [2.0, 4.0, 6.0].map(|label| (label, 1.0));
        let (tally, measures, contributions) = constant_guess(&real, Kind::Regression, Metric::Mae);
        assert_eq!(measures.mae, Some((2.0 + 2.0 + 3.0) / 3.0));
        assert_eq!(measures.rmse, tally.constant_rmse(), "the library's own guess");
        assert_eq!(contributions, Some(vec![2.0, 2.0, 3.0]));
    }
}
