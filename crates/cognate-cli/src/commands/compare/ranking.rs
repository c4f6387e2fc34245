//! Who is best, what sharing gains, and whether that could be chance.

use cognate::fit::Kind;
use cognate::metrics::Measures;
use cognate::stream::Memory;
use cognate_lab::statistics::{deviation, mean, paired_test};
use cognate_plot::numbers::{NO_VALUE, percent};

use super::contest::{Contest, Passed, Results};
use super::entries::{Family, Lineup};
use super::forms::Form;
use super::metric::{Guess, Metric, mean_of};

/// Significance level: a difference less likely by chance than this counts.
pub(super) const LEVEL: f64 = 0.05;

/// A rarer label than this makes the share of mistakes say little.
const RARE: f64 = 0.2;

/// Whether this share of one label makes the other so frequent, or rare, that mistakes say little. With one label only,
/// there is nothing to tell apart.
pub(super) fn is_uneven(positives: f64) -> bool {
    let rarer = positives.min(1.0 - positives);
    rarer > 0.0 && rarer < RARE
}

impl Results {
    /// The metric in every run.
    pub(super) fn values(&self, metric: Metric) -> Vec<f64> {
        self.runs.iter().map(|run| metric.of(&run.measures)).collect()
    }

    /// Its mean.
    pub(super) fn value(&self, metric: Metric) -> f64 {
        mean(&self.values(metric))
    }

    /// By what results are ranked, the smallest first; without a value they are last.
    fn key(&self, metric: Metric) -> f64 {
        let value = self.value(metric);
        match metric.rises() {
            _ if value.is_nan() => f64::INFINITY,
            true => -value,
            false => value,
        }
    }

    /// Its mean and deviation, as people read them.
    pub(super) fn shown(&self, metric: Metric) -> String {
        let values = self.values(metric);
        let value = metric.show(mean(&values));
        if values.len() > 1 {
            format!("{value} ± {}", metric.show_deviation(deviation(&values)))
        } else {
            value
        }
    }

    /// The mean of any measure, by name.
    pub(super) fn measure(&self, name: &str) -> Option<f64> {
        let measures: Vec<Measures> = self.runs.iter().map(|run| run.measures).collect();
        mean_of(&measures, name)
    }

    pub(super) fn mean_of(&self, value: impl Fn(&Passed) -> f64) -> f64 {
        mean(&self.runs.iter().map(value).collect::<Vec<_>>())
    }

    /// Examples per second.
    pub(super) fn rate(&self) -> f64 {
        let seconds: f64 = self.runs.iter().map(|run| run.seconds).sum();
        self.runs.iter().map(|run| run.total.examples as f64).sum::<f64>() / seconds.max(1e-9)
    }

    /// How likely chance alone makes so large a difference from another; `examples` are how many there are, however
    /// often each was learnt.
    fn chance(&self, other: &Self, examples: usize) -> f64 {
        let pairs = self
            .runs
            .iter()
            .zip(&other.runs)
            .filter_map(|(a, b)| Some(a.contributions.as_ref()?.iter().zip(b.contributions.as_ref()?)));
        let differences: Vec<f64> = pairs.flatten().map(|(a, b)| f64::from(*a) - f64::from(*b)).collect();
        if differences.is_empty() {
            f64::NAN
        } else {
            paired_test(&differences, examples.min(differences.len()))
        }
    }
}

/// A p-value as people read it.
pub(super) fn chance_text(chance: f64) -> String {
    match chance {
        chance if chance.is_nan() => NO_VALUE.to_owned(),
        chance if chance < 0.001 => "p < 0.001".to_owned(),
        chance => format!("p = {chance:.3}"),
    }
}

/// One beside its own independent form.
#[derive(Clone, Copy)]
pub(super) struct Gain {
    /// Who the independent form is.
    pub(super) of: usize,
    /// How likely the difference is chance.
    pub(super) chance: f64,
}

/// The best, and those as good as far as these examples tell. The first is the constant guess.
pub(super) struct Ranking<'a> {
    pub(super) contest: &'a Contest,
    pub(super) results: &'a [Results],
    /// What knows no features.
    pub(super) guesses: &'a [(Guess, Results)],
    pub(super) families: Vec<&'a Family>,
    pub(super) best: usize,
    /// P-values of the difference from the best, and from the constant guess.
    pub(super) to_best: Vec<f64>,
    pub(super) to_constant: Vec<f64>,
    /// Beside the own independent form, where there is one and it is another.
    pub(super) gains: Vec<Option<Gain>>,
    /// Share of the label +1, where labels are classes.
    pub(super) positives: f64,
}

impl<'a> Ranking<'a> {
    /// Ranks all but the constant guess.
    pub(super) fn of(
        contest: &'a Contest,
        lineup: &'a Lineup,
        results: &'a [Results],
        guesses: &'a [(Guess, Results)],
    ) -> Self {
        let metric = contest.metric;
        let key = |who: usize| results[who].key(metric);
        let best = (1..results.len()).min_by(|a, b| key(*a).total_cmp(&key(*b))).unwrap_or(0);
        let examples = contest.memory.len();
        let to = |other: usize| results.iter().map(|one| one.chance(&results[other], examples)).collect();
        let mut ranking = Self {
            contest,
            results,
            guesses,
            families: lineup.living(results),
            best,
            to_best: to(best),
            to_constant: to(0),
            gains: Vec::new(),
            positives: share_of_positives(&contest.memory),
        };
        ranking.gains = (0..results.len()).map(|who| ranking.gain_of(who, examples)).collect();
        ranking
    }

    fn gain_of(&self, who: usize, examples: usize) -> Option<Gain> {
        let of = self.form(self.family(who)?, Form::Independent).filter(|of| *of != who)?;
        Some(Gain { of, chance: self.results[who].chance(&self.results[of], examples) })
    }

    /// The family in which somebody is a form: that of its own learner, if there is one.
    pub(super) fn family(&self, who: usize) -> Option<&'a Family> {
        let name = self.results[who].name.as_str();
        let has = |family: &&Family| family.has(name);
        let of_own = |family: &&Family| name.split(' ').next() == Some(family.learner);
        let all = || self.families.iter().copied();
        all().filter(has).find(of_own).or_else(|| all().find(has))
    }

    /// The form of a family, if it has it and could learn the examples.
    pub(super) fn form(&self, family: &Family, form: Form) -> Option<usize> {
        let name = family.entry(form)?;
        self.results.iter().position(|results| results.name == name)
    }

    /// What tasks share in one.
    pub(super) fn form_of(&self, who: usize) -> Option<Form> {
        let family = self.family(who)?;
        [Form::Independent, Form::Pooled, Form::Shared]
            .into_iter()
            .find(|form| self.form(family, *form) == Some(who))
    }

    /// `*` for the best, `=` for those as good.
    pub(super) fn mark(&self, who: usize) -> &'static str {
        match who {
            _ if who == self.best => "*",
            0 => "",
            _ if self.to_best[who] >= LEVEL => "=",
            _ => "",
        }
    }

    /// What always answering the more frequent label is called.
    pub(super) fn always(&self) -> String {
        format!("always answering {}", self.contest.label(self.positives >= 0.5))
    }

    /// What a guess is called, where this judges.
    pub(super) fn guess_name(&self, guess: Guess, metric: Metric) -> String {
        let is_share = matches!(metric, Metric::LogLoss | Metric::Auc);
        match (self.contest.kind, guess) {
            (Kind::Regression, Guess::SoFarByTask) => "answering the mean of each task so far".to_owned(),
            (Kind::Regression, _) => "always answering the mean so far".to_owned(),
            (_, Guess::Always(positive)) => format!("always answering {}", self.contest.label(positive)),
            // A probability is what log loss judges.
            (_, Guess::SoFar) if is_share => format!("{} (with its share so far)", self.always()),
            (_, Guess::SoFar) => "answering the most frequent label so far".to_owned(),
            (_, Guess::SoFarByTask) if is_share => {
                format!("answering the share of {} in each task so far", self.contest.label(true))
            }
            (_, Guess::SoFarByTask) => "answering the most frequent label of each task so far".to_owned(),
        }
    }

    /// The best of the guesses that know no features, by a metric.
    pub(super) fn best_guess(&self, metric: Metric) -> (Guess, &'a Results) {
        let best = self.guesses.iter().min_by(|a, b| a.1.key(metric).total_cmp(&b.1.key(metric)));
        best.map_or((Guess::SoFar, &self.results[0]), |(guess, results)| (*guess, results))
    }

    /// How likely chance alone makes so large a difference of one from a guess.
    pub(super) fn chance_beside(&self, who: usize, guess: &Results) -> f64 {
        self.results[who].chance(guess, self.contest.memory.len())
    }

    /// Where AUC judges several tasks: that of pairs within tasks, and how likely margins that tell nothing within tasks
    /// make it as far from 1/2.
    fn within_tasks(&self, who: usize) -> Option<(f64, f64)> {
        let runs = &self.results[who].runs;
        let of_run = |run: &'a Passed| run.within_tasks.as_ref();
        let all: Vec<f64> =
            runs.iter().filter_map(of_run).flatten().map(|one| f64::from(*one) - 0.5).collect();
        let independent = self.contest.memory.len().min(all.len());
        (self.contest.tasks > 1 && !all.is_empty())
            .then(|| (0.5 + mean(&all), paired_test(&all, independent)))
    }

    /// Whether the labels are so uneven that mistakes say little.
    pub(super) fn is_uneven(&self) -> bool {
        self.contest.kind == Kind::Classification && is_uneven(self.positives)
    }

    fn shows(&self, who: usize) -> String {
        self.contest.metric.show(self.results[who].value(self.contest.metric))
    }

    /// Whether the best is better than the best guess, by more than chance.
    fn beats_guesses(&self) -> bool {
        let (metric, (_, guess)) = (self.contest.metric, self.best_guess(self.contest.metric));
        let (value, guessed) = (self.results[self.best].value(metric), guess.value(metric));
        let better = if metric.rises() { value > guessed } else { value < guessed };
        better && self.chance_beside(self.best, guess) < LEVEL
    }

    /// Whether it also tells examples of one task apart, where AUC judges.
    fn is_recommended(&self) -> bool {
        let within = self.within_tasks(self.best);
        self.beats_guesses() && within.is_none_or(|(within, chance)| within > 0.5 && chance < LEVEL)
    }

    /// The conclusion, a sentence or a few.
    pub(super) fn verdict(&self) -> Vec<String> {
        let (metric, best) = (self.contest.metric, &self.results[self.best]);
        let (guess, guessed) = self.best_guess(metric);
        let (name, guessed_value) = (self.guess_name(guess, metric), metric.show(guessed.value(metric)));
        let within = self.within_tasks(self.best);
        let mut lines = Vec::new();
        if !self.beats_guesses() {
            lines.push(format!(
                "{} is the best here, but no better than {name}: {} {} beside {guessed_value} ({}).",
                best.name,
                metric.name(),
                self.shows(self.best),
                chance_text(self.chance_beside(self.best, guessed)),
            ));
        } else if let Some((within, chance)) = within.filter(|_| !self.is_recommended()) {
            lines.push(format!(
                "{} is the best here, but within tasks no better than {name}: {} {}, of pairs within tasks {} ({}); it tells \
                 tasks apart, not their examples.",
                best.name,
                metric.name(),
                self.shows(self.best),
                metric.show(within),
                chance_text(chance),
            ));
        } else {
            lines.push(format!(
                "Use {}: {} {}, where {name} has {guessed_value}. {}",
                best.name,
                metric.name(),
                self.shows(self.best),
                self.sharing(),
            ));
            if let Some((within, _)) = within.filter(|_| self.is_above_tasks(self.best)) {
                lines.push(format!(
                    "That is above the AUC of nearly every task: of pairs within tasks it is {}; what is above tells tasks \
                     apart rather than examples.",
                    metric.show(within),
                ));
            }
        }
        let equals: Vec<&str> = (1..self.results.len())
            .filter(|who| self.mark(*who) == "=")
            .map(|who| self.results[who].name.as_str())
            .collect();
        if !equals.is_empty() {
            lines.push(format!("As good, as far as these examples tell: {}.", equals.join(", ")));
        }
        lines.extend(self.mistakes());
        if self.is_uneven() && metric == Metric::Error {
            let rare = percent(self.positives.min(1.0 - self.positives), 1);
            lines.push(format!(
                "Only {rare} of the labels are {}: mistakes tell little; --metric auc and --metric log-loss tell more.",
                self.contest.label(self.positives < 0.5),
            ));
        }
        lines
    }

    /// Whether in most runs the area of all examples is above those of nearly all tasks.
    fn is_above_tasks(&self, who: usize) -> bool {
        let runs = &self.results[who].runs;
        2 * runs.iter().filter(|run| run.areas.below_total().is_some()).count() > runs.len()
    }

    /// Says where the best by another metric errs no less often than the best guess: its sign is then no answer.
    fn mistakes(&self) -> Option<String> {
        let is_judged = self.contest.metric == Metric::Error || self.contest.kind == Kind::Regression;
        let (guess, guessed) = self.best_guess(Metric::Error);
        let (own, of_guess) = (self.results[self.best].value(Metric::Error), guessed.value(Metric::Error));
        (!is_judged && self.is_recommended() && own >= of_guess).then(|| {
            format!(
                "By mistakes it is no better than {}: error {} beside {}; rank by the margin, or let learn choose a \
                 threshold (--threshold f1).",
                self.guess_name(guess, Metric::Error),
                Metric::Error.show(own),
                Metric::Error.show(of_guess),
            )
        })
    }

    /// The share of lines that are given another class, where lines are examples of every class and come together.
    pub(super) fn multiclass_error(&self, who: usize) -> Option<f64> {
        let of_run = |run: &Passed| {
            let classes = run.classes?;
            if who == 0 { classes.constant_error() } else { classes.error() }
        };
        // The guess is the same beside every learner.
        let values: Option<Vec<f64>> = self.results[who.max(1)].runs.iter().map(of_run).collect();
        values.map(|values| mean(&values))
    }

    /// What sharing gains, like for like.
    fn sharing(&self) -> String {
        let metric = self.contest.metric;
        let value = |who: usize| self.results[who].value(metric);
        match (self.form_of(self.best), self.gains[self.best]) {
            (Some(Form::Independent), _) => {
                let shared = self.family(self.best).and_then(|family| {
                    let forms = [Form::Shared, Form::Pooled].into_iter();
                    forms.filter_map(|form| self.form(family, form)).find(|who| *who != self.best)
                });
                let Some(shared) = shared else { return "Its tasks share nothing.".to_owned() };
                format!(
                    "Sharing does not help: {} has {} ({}).",
                    self.results[shared].name,
                    self.shows(shared),
                    chance_text(self.to_best[shared]),
                )
            }
            (form, Some(Gain { of, chance })) => {
                let what = if form == Some(Form::Pooled) { "one model for all tasks" } else { "sharing" };
                let (own, chance_text) = (self.shows(of), chance_text(chance));
                if chance < LEVEL {
                    let gain = metric.gain(value(self.best), value(of));
                    format!("Its own independent form has {own}: {what} {gain} ({chance_text}).")
                } else {
                    format!(
                        "Its own independent form has {own}: what {what} gains is within chance ({chance_text})."
                    )
                }
            }
            (_, None) => "It has no independent form to compare with.".to_owned(),
        }
    }
}

/// Share of the label +1, by weight.
pub(super) fn share_of_positives(memory: &Memory) -> f64 {
    let (mut positives, mut all) = (0.0, 0.0);
    for (_, example) in memory.examples() {
        all += example.weight;
        positives += if example.label > 0.0 { example.weight } else { 0.0 };
    }
    positives / all
}
