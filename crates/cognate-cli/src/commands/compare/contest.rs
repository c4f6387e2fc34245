//! The runs: parameters are chosen on a prefix, then all learn the same examples in the same orders.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::time::Instant;

use anyhow::{Context, bail};
use cognate::fit::Kind;
use cognate::metrics::{Areas, LabelRuns, Measures, Metrics, Overlap, Ranking, Tally};
use cognate::run::{ClassReport, Observer, Progress, RoundReport, RunOptions};
use cognate::stream::{Batch, Memory, Stream as _, StreamConfig};
use cognate::{Model, RunConfig, RunError, Tasks};
use serde_json::{Value, json};

use super::entries::{Entry, Lineup};
use super::metric::{Bare, Guess, Metric, Outcomes, guessed};
use crate::curves::Curves;
use crate::judging::{ClassGuess, ClassTally, label_name};
use crate::output::{Interrupted, say};
use crate::reporting::{counted_run, model_bytes, page_run};
use cognate_lab::parallel::Pool;
use cognate_plot::page::report::Run;

/// The share of the examples on which parameters are chosen, and the most of them.
const PREFIX: f64 = 0.2;
const LONGEST_PREFIX: usize = 5000;

/// What has a row of its own: the guess of the label of most weight, or of the mean, so far.
pub(super) const CONSTANT: &str = "constant";

/// The examples, and how they are learnt.
pub(super) struct Contest {
    pub(super) stream: StreamConfig,
    pub(super) memory: Memory,
    pub(super) tasks: usize,
    pub(super) runs: u64,
    pub(super) query: Value,
    pub(super) kind: Kind,
    /// Where nothing but the data says that labels are real numbers: the first that is no class.
    pub(super) real_label: Option<String>,
    pub(super) metric: Metric,
    /// Whether a page is to be written.
    pub(super) has_report: bool,
    pub(super) pool: Pool,
}

/// What one did in all runs.
pub(super) struct Results {
    pub(super) name: String,
    /// The config that was chosen; none of the constant guess.
    pub(super) learner: Value,
    /// Of how many it was chosen.
    pub(super) candidates: usize,
    pub(super) runs: Vec<Passed>,
}

/// What a run is to record.
#[derive(Clone, Copy, PartialEq)]
enum Wanted {
    Counts,
    /// Also what a page shows of every run.
    Curves,
    /// Also what it shows of one.
    Page,
    /// Counts of a prefix.
    First(usize),
}

/// Result of one run.
pub(super) struct Passed {
    pub(super) total: Tally,
    pub(super) measures: Measures,
    /// What each example contributes to the metric; none where it has no value.
    pub(super) contributions: Option<Vec<f32>>,
    /// Where AUC judges, the same for that of pairs within tasks.
    pub(super) within_tasks: Option<Vec<f32>>,
    /// Areas under ROC curves, of all and within tasks.
    pub(super) areas: Areas,
    /// Where lines are examples of every class, and come together.
    pub(super) classes: Option<ClassTally>,
    pub(super) seconds: f64,
    pub(super) bytes: u64,
    /// Examples whose like came before in the first pass, as far as the model knows.
    pub(super) repeated: Overlap,
    /// Runs of one label within tasks.
    pub(super) label_runs: LabelRuns,
    pub(super) page: Option<Run>,
}

impl Contest {
    /// What a label is called in the data.
    pub(super) fn label(&self, positive: bool) -> String {
        label_name(self.memory.label_names(), positive)
    }

    /// How many examples parameters are chosen on.
    pub(super) fn prefix(&self) -> usize {
        let examples = ((PREFIX * self.memory.len() as f64) as usize).clamp(1, LONGEST_PREFIX);
        // Rounds are whole.
        if self.stream.simultaneous { examples.next_multiple_of(self.tasks.max(1)) } else { examples }
    }

    /// Chooses parameters, then learns every order with everyone; the constant guess comes first. A learner that cannot
    /// learn the stream is left out, with a message.
    pub(super) fn hold(&self, lineup: &Lineup) -> anyhow::Result<Vec<Results>> {
        let mut results = vec![Results {
            name: CONSTANT.to_owned(),
            learner: Value::Null,
            candidates: 1,
            runs: Vec::new(),
        }];
        results.extend(self.choose(&lineup.entries)?);
        let jobs: Vec<(u64, usize)> =
            (0..self.runs).flat_map(|run| (0..results.len()).map(move |who| (run, who))).collect();
        let passed = self.pool.some("comparing", &jobs, |(run, who)| {
            let (Results { name, learner, .. }, seed) = (&results[*who], self.stream.seed + run);
            let wanted = match run {
                _ if !self.has_report => Wanted::Counts,
                0 => Wanted::Page,
                _ => Wanted::Curves,
            };
            if *who == 0 {
                self.guess(Guess::SoFar, seed, false).map(Ok)
            } else {
                self.pass(name, learner, seed, wanted)
            }
        })?;
        // Only runs that all have finished can be compared.
        let rounds =
            passed.chunks(results.len()).take_while(|round| round.iter().all(Option::is_some)).count();
        if rounds == 0 {
            say("interrupted before every learner had finished a run; there is nothing to compare yet");
            return Err(Interrupted.into());
        }
        let failures: Vec<(usize, String)> = (passed.into_iter().zip(&jobs).take(rounds * results.len()))
            .filter_map(|(passed, (_, who))| match passed? {
                Ok(passed) => {
                    results[*who].runs.push(passed);
                    None
                }
                Err(error) => Some((*who, error.to_string())),
            })
            .collect();
        for (at, (who, error)) in failures.iter().enumerate() {
            // Said once, whatever number of runs it happened in.
            if failures[..at].iter().all(|(before, _)| before != who) {
                say(&format!("{} is left out: {error}", results[*who].name));
            }
            results[*who].runs.clear();
        }
        results.retain(|results| !results.runs.is_empty());
        // Forms that are other learners are beside their own learner, or not at all.
        let living = lineup.living(&results);
        let is_form = |name: &str| living.iter().any(|family| family.has(name));
        let stays: Vec<bool> =
            results.iter().map(|one| one.learner.is_null() || is_form(&one.name)).collect();
        let mut stays = stays.into_iter();
        results.retain(|_| stays.next().unwrap_or_default());
        if results.len() < 2 {
            bail!("no learner could learn these examples; there is nothing to compare");
        }
        Ok(results)
    }

    /// For every entry, the candidate that is best on a prefix.
    fn choose(&self, entries: &[Entry]) -> anyhow::Result<Vec<Results>> {
        // An order of its own, so that no shuffle begins with the very examples that parameters were chosen on.
        let (length, seed) = (self.prefix(), self.stream.seed.wrapping_sub(1));
        let several = |entry: &&Entry| entry.candidates.len() > 1;
        let jobs: Vec<&Value> = entries.iter().filter(several).flat_map(|entry| &entry.candidates).collect();
        let values = self.pool.all("choosing parameters", &jobs, |learner| {
            let passed = self.pass("", learner, seed, Wanted::First(length))?;
            Ok(passed.map_or(f64::INFINITY, |passed| {
                let value = self.metric.of(&passed.measures);
                match self.metric.rises() {
                    // A prefix of one label only has no AUC: fewer mistakes are better.
                    _ if value.is_nan() => passed.measures.error.unwrap_or(f64::INFINITY),
                    true => -value,
                    false => value,
                }
            }))
        })?;
        let mut values = values.into_iter();
        let best = |entry: &Entry| {
            let candidates = &entry.candidates;
            let of_each: Vec<f64> = match candidates.len() {
                0 | 1 => vec![0.0],
                several => values.by_ref().take(several).collect(),
            };
            let best = (0..candidates.len()).min_by(|a, b| of_each[*a].total_cmp(&of_each[*b])).unwrap_or(0);
            Results {
                name: entry.name.clone(),
                learner: candidates[best].clone(),
                candidates: candidates.len(),
                runs: Vec::new(),
            }
        };
        Ok(entries.iter().map(best).collect())
    }

    fn ordered(&self, seed: u64) -> Memory {
        self.memory.clone().ordered(self.stream.order, seed, self.stream.simultaneous)
    }

    /// What guesses that know no features make of the same orders, beside the one that has a row.
    pub(super) fn guesses(
        &self,
        runs: usize,
        mostly_positive: bool,
    ) -> anyhow::Result<Vec<(Guess, Results)>> {
        // Where tasks have one label each, telling them apart is all that margins can do.
        let ranks = self.metric == Metric::Auc && !self.has_mixed_task();
        let guesses = Guess::all(self.kind, self.tasks, mostly_positive).into_iter();
        let of_guess = |guess: Guess| {
            let runs = (0..runs as u64)
                .map(|run| self.guess(guess, self.stream.seed + run, ranks && guess == Guess::SoFarByTask));
            let runs = runs.collect::<anyhow::Result<Vec<Passed>>>()?;
            Ok((guess, Results { name: guess.id().to_owned(), learner: Value::Null, candidates: 1, runs }))
        };
        guesses.map(of_guess).collect()
    }

    /// Whether some task has both labels.
    fn has_mixed_task(&self) -> bool {
        let mut seen: BTreeMap<&str, bool> = BTreeMap::new();
        let mut weighty = self.memory.examples().filter(|(_, example)| example.weight > 0.0);
        weighty.any(|(task, example)| {
            let positive = example.label > 0.0;
            *seen.entry(task).or_insert(positive) != positive
        })
    }

    /// A guess over one order.
    fn guess(&self, guess: Guess, seed: u64, ranks: bool) -> anyhow::Result<Passed> {
        let (mut stream, mut batch, mut examples) = (self.ordered(seed), Batch::default(), Vec::new());
        let started = Instant::now();
        for pass in 0..self.stream.passes {
            if pass > 0 {
                stream.rewind()?;
            }
            loop {
                stream.fill(&mut batch)?;
                if batch.is_empty() {
                    break;
                }
                examples.extend(batch.examples().map(|example| Bare {
                    task: example.task,
                    label: example.label,
                    weight: example.weight,
                }));
            }
        }
        let (total, measures, contributions) = guessed(guess, &examples, (self.kind, self.metric), ranks);
        let seconds = started.elapsed().as_secs_f64();
        Ok(Passed {
            total,
            measures,
            contributions,
            within_tasks: None,
            areas: Areas::default(),
            classes: None,
            seconds,
            bytes: 0,
            repeated: Overlap::default(),
            label_runs: LabelRuns::default(),
            page: None,
        })
    }

    /// One run; the error of a learner does not end the others.
    fn pass(
        &self,
        name: &str,
        learner: &Value,
        seed: u64,
        wanted: Wanted,
    ) -> anyhow::Result<Result<Passed, RunError>> {
        let mut stream = self.ordered(seed);
        let mut passes = self.stream.passes;
        if let Wanted::First(examples) = wanted {
            (stream, passes) = (stream.up_to(examples), 1);
        }
        let mut tree = json!({ "learner": learner, "stream": self.stream });
        if !self.query.is_null() {
            tree["query"] = self.query.clone();
        }
        let mut config: RunConfig = serde_json::from_value(tree).context("the config of a run")?;
        config.read_files()?;
        let in_a_round = if self.stream.simultaneous { self.tasks.max(1) } else { 1 };
        config.learner.set_rounds(u64::from(self.stream.passes) * (stream.len() / in_a_round) as u64);
        let mut model = Model::new(&config)?;
        stream = stream.numbered_as(model.tasks());
        let options = RunOptions { passes, ..RunOptions::default() };
        let mut watch = Watch {
            pool: &self.pool,
            outcomes: Outcomes::default(),
            ranking: Ranking::default(),
            // The examples of a line come together in the order of the file.
            classes: (model.config().one_vs_all && self.stream.order.is_as_read())
                .then(|| (ClassGuess::default(), ClassTally::default())),
            repeated: None,
            curves: matches!(wanted, Wanted::Page | Wanted::Curves).then(Curves::new),
        };
        let started = Instant::now();
        let learnt = model.learn(&mut stream, &options, &mut watch);
        let seconds = started.elapsed().as_secs_f64();
        if self.pool.asked() {
            return Err(Interrupted.into());
        }
        if let Err(error) = learnt {
            return match error {
                RunError::Stream(error) => Err(error.into()),
                other => Ok(Err(other)),
            };
        }
        Ok(Ok(self.result(name, &model, watch, seconds, wanted)))
    }

    fn result(&self, name: &str, model: &Model, watch: Watch<'_>, seconds: f64, wanted: Wanted) -> Passed {
        let Watch { outcomes, ranking, curves, classes, repeated, .. } = watch;
        let (is_final, areas) = (!matches!(wanted, Wanted::First(_)), ranking.areas());
        let total = *model.metrics().total();
        let inspect = model.learner().as_inspect();
        let contributions = || {
            let (probability, response) = (
                |at: usize| inspect.probability(outcomes.margins[at]),
                |at: usize| inspect.response(outcomes.margins[at]),
            );
            outcomes.contributions(self.metric, probability, response)
        };
        Passed {
            total,
            measures: total.measures(areas.total().map(|auc| auc.value)),
            contributions: is_final.then(contributions).flatten(),
            within_tasks: (is_final && self.metric == Metric::Auc).then(|| outcomes.within_tasks()).flatten(),
            areas,
            classes: classes.map(|(_, tally)| tally),
            seconds,
            bytes: model_bytes(model),
            repeated: repeated.unwrap_or_else(|| model.metrics().learnt().repeated()),
            label_runs: ranking.label_runs(),
            page: curves.map(|curves| match wanted {
                Wanted::Page => page_run(name, model, &curves, seconds),
                _ => counted_run(name, model, &curves, None, seconds),
            }),
        }
    }
}

/// Remembers what was predicted, and curves for the page.
struct Watch<'a> {
    pool: &'a Pool,
    outcomes: Outcomes,
    ranking: Ranking,
    classes: Option<(ClassGuess, ClassTally)>,
    /// What came twice, once the first pass has ended.
    repeated: Option<Overlap>,
    curves: Option<Curves>,
}

impl Observer for Watch<'_> {
    fn observe(&mut self, report: &RoundReport, _: &Tasks, metrics: &Metrics) {
        let RoundReport { task, label, weight, margin, mistake, .. } = *report;
        self.outcomes.push(task, (label, weight), margin, mistake);
        self.ranking.count(task, label, weight, margin);
        if let Some(curves) = &mut self.curves {
            curves.follow(task, metrics);
        }
    }

    fn follows_classes(&self) -> bool {
        self.classes.is_some()
    }

    fn observe_class(&mut self, report: &ClassReport) {
        if let Some((guess, tally)) = &mut self.classes {
            let is_mistaken_guess = guess.is_mistaken(Some(report.class), report.weight);
            tally.count(report.is_mistake(), is_mistaken_guess, report.weight);
        }
    }

    fn batch_done(&mut self, progress: Progress, model: &Model) -> ControlFlow<()> {
        if progress.passes > 0 {
            self.repeated.get_or_insert_with(|| model.metrics().learnt().repeated());
        }
        if self.pool.asked() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}
