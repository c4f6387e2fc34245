//! By what learners are judged, and what each example contributes to it.

use clap::ValueEnum;
use cognate::TaskId;
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
    tasks: Vec<u32>,
    labels: Vec<f64>,
    weights: Vec<f64>,
    pub(super) margins: Vec<f64>,
    mistakes: Vec<bool>,
}

impl Outcomes {
    /// An example, by label and weight, and what was predicted.
    pub(super) fn push(&mut self, task: TaskId, (label, weight): (f64, f64), margin: f64, mistake: bool) {
        self.tasks.push(task.index() as u32);
        self.labels.push(label);
        self.weights.push(weight);
        self.margins.push(margin);
        self.mistakes.push(mistake);
    }

    /// What each example contributes to the AUC of pairs within tasks; none where no task has both labels.
    pub(super) fn within_tasks(&self) -> Option<Vec<f32>> {
        let Self { tasks, labels, weights, margins, .. } = self;
        let contributions = influence::auc_within(tasks, labels, weights, margins)?;
        Some(contributions.into_iter().map(|one| one as f32).collect())
    }

    /// What each example contributes to a metric, given how margins become probabilities of +1, or values; none where
    /// the metric has no value.
    pub(super) fn contributions(
        &self,
        metric: Metric,
        probability: impl Fn(usize) -> Option<f64>,
        response: impl Fn(usize) -> f64,
    ) -> Option<Vec<f32>> {
        let Self { labels, weights, margins, mistakes, .. } = self;
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

/// A guess that knows no features: what learning must beat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Guess {
    /// The label of most weight, its share, or the mean, so far.
    SoFar,
    /// Always +1, or always -1.
    Always(bool),
    /// As `SoFar`, of each task for itself; of shares and means, drawn to those of all as if by one example more.
    SoFarByTask,
}

impl Guess {
    /// Its name in JSON.
    pub(super) fn id(self) -> &'static str {
        match self {
            Self::SoFar => "so-far",
            Self::Always(true) => "always-positive",
            Self::Always(false) => "always-negative",
            Self::SoFarByTask => "so-far-by-task",
        }
    }

    /// The guesses about such labels; of equal ones the first is named.
    pub(super) fn all(kind: Kind, tasks: usize, mostly_positive: bool) -> Vec<Self> {
        let mut all = match kind {
            Kind::Classification => {
                vec![Self::Always(mostly_positive), Self::SoFar, Self::Always(!mostly_positive)]
            }
            Kind::Regression => vec![Self::SoFar],
        };
        all.extend((tasks > 1).then_some(Self::SoFarByTask));
        all
    }
}

/// An example without its features.
#[derive(Clone, Copy)]
pub(super) struct Bare {
    pub(super) task: TaskId,
    pub(super) label: f64,
    pub(super) weight: f64,
}

/// What a guess makes of the labels, in their order. It tells no examples apart, unless it `ranks` them by the share of +1
/// that it gives them.
pub(super) fn guessed(
    guess: Guess,
    examples: &[Bare],
    (kind, metric): (Kind, Metric),
    ranks: bool,
) -> (Tally, Measures, Option<Vec<f32>>) {
    let (mut tally, mut ranking) = (Tally::default(), Ranking::default());
    let mut of_tasks: Vec<Tally> = Vec::new();
    let mut outcomes = Outcomes::default();
    let (mut probabilities, mut responses) = (Vec::new(), Vec::new());
    for Bare { task, label, weight } in examples {
        if of_tasks.len() <= task.index() {
            of_tasks.resize(task.index() + 1, Tally::default());
        }
        let own = &mut of_tasks[task.index()];
        // Laplace's rule of succession.
        let share = (tally.positive_weight() + 1.0) / (tally.weight() + 2.0);
        let (answer, probability) = match guess {
            Guess::SoFar => (tally.constant_guess(), share),
            Guess::Always(positive) => {
                if positive {
                    (1.0, 1.0)
                } else {
                    (-1.0, 0.0)
                }
            }
            Guess::SoFarByTask => {
                let usual = if tally.weight() > 0.0 { tally.weight() / tally.examples as f64 } else { 1.0 };
                let drawn = |sum: f64, to: f64| (sum + usual * to) / (own.weight() + usual);
                let answer = match kind {
                    Kind::Classification if own.weight() > 0.0 => own.constant_guess(),
                    Kind::Classification => tally.constant_guess(),
                    Kind::Regression => drawn(own.constant_guess() * own.weight(), tally.constant_guess()),
                };
                (answer, drawn(own.positive_weight(), share))
            }
        };
        let scored = match kind {
            Kind::Classification => Scored::class(*label, *weight, answer, Some(probability)),
            Kind::Regression => Scored::real(*label, *weight, answer, None),
        };
        tally.count(&scored, false, false);
        own.count(&scored, false, false);
        let margin = if ranks { probability } else { 0.0 };
        ranking.count(*task, *label, *weight, margin);
        outcomes.push(*task, (*label, *weight), margin, scored.mistake());
        probabilities.push(probability);
        responses.push(answer);
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

    fn bare(labels: &[(u32, f64)]) -> Vec<Bare> {
        labels.iter().map(|(task, label)| Bare { task: TaskId(*task), label: *label, weight: 1.0 }).collect()
    }

    #[test]
    fn the_constant_guess_is_the_majority_or_the_mean_so_far() {
        let labels = bare(&[-1.0, -1.0, 1.0, 1.0, 1.0, -1.0].map(|label| (0, label)));
        let judged = (Kind::Classification, Metric::Error);
        let (tally, measures, contributions) = guessed(Guess::SoFar, &labels, judged, false);
        // Nothing to guess from; right; wrong; wrong; at a tie +1, right; wrong.
        assert_eq!(tally.mistakes, 4);
        assert_eq!(measures.error, tally.constant_error(), "the library's own guess");
        assert_eq!(measures.auc, Some(0.5));
        assert_eq!(contributions, Some(vec![1.0, 0.0, 1.0, 1.0, 0.0, 1.0]));
        let real = bare(&[2.0, 4.0, 6.0].map(|label| (0, label)));
        let judged = (Kind::Regression, Metric::Mae);
        let (tally, measures, contributions) = guessed(Guess::SoFar, &real, judged, false);
        assert_eq!(measures.mae, Some((2.0 + 2.0 + 3.0) / 3.0));
        assert_eq!(measures.rmse, tally.constant_rmse(), "the library's own guess");
        assert_eq!(contributions, Some(vec![2.0, 2.0, 3.0]));
    }

    #[test]
    fn always_the_same_is_always_the_same_and_tasks_have_guesses_of_their_own() {
        let labels = bare(&[(0, 1.0), (1, -1.0), (0, 1.0), (1, -1.0), (0, -1.0), (1, -1.0)]);
        let error = |guess: Guess| {
            let (_, measures, _) = guessed(guess, &labels, (Kind::Classification, Metric::Error), false);
            (measures.error.unwrap() * 6.0).round()
        };
        assert_eq!([true, false].map(|positive| error(Guess::Always(positive))), [4.0, 2.0]);
        // A task without labels has the guess of all.
        assert_eq!(error(Guess::SoFarByTask), 3.0);
        let f1 =
            |guess: Guess| guessed(guess, &labels, (Kind::Classification, Metric::F1), false).1.f1.unwrap();
        assert!((f1(Guess::Always(true)) - 4.0 / 8.0).abs() < 1e-15 && f1(Guess::Always(false)) == 0.0);
        // By the shares of tasks so far, +1 comes before -1 more often than not.
        let judged = (Kind::Classification, Metric::Auc);
        let auc = |ranks: bool| guessed(Guess::SoFarByTask, &labels, judged, ranks).1.auc.unwrap();
        assert!(auc(false) == 0.5 && auc(true) > 0.5);
        let real = bare(&[(0, 10.0), (1, -10.0), (0, 10.0), (1, -10.0)]);
        let mae = |guess: Guess| guessed(guess, &real, (Kind::Regression, Metric::Mae), false).1.mae.unwrap();
        // 0, then the mean of all, 10; then means of a task and of all, (10 + 0) / 2 and (-10 + 10/3) / 2.
        assert!((mae(Guess::SoFarByTask) - (10.0 + 20.0 + 5.0 + 20.0 / 3.0) / 4.0).abs() < 1e-12);
    }
}
