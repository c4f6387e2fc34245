//! `cognate compare`: several learners over the same examples, and which one to use.
//!
//! Learners with parameters to choose learn a prefix with each of a few candidates first; the one with the fewest
//! mistakes goes on. All then learn the same shuffles. A paired test decides whether one is better than another: the
//! differences are those of the two at the same place of the same shuffle, and shuffles of the same examples are not
//! counted as new evidence.

use std::ops::ControlFlow;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, bail};
use cognate::algorithms::Protocol;
use cognate::internal::nearest_names;
use cognate::metrics::{Metrics, Tally};
use cognate::run::{Observer, Progress, RoundReport, RunOptions};
use cognate::stream::{Labels, Memory, Order, ReadOptions, StreamConfig};
use cognate::{LearnerConfig, Model, REGISTRY, RunConfig, RunError, Tasks};
use serde_json::{Value, json};

use super::{check_outputs, inputs};
use crate::args::CompareArgs;
use crate::curves::Curves;
use crate::interrupt::Interrupt;
use crate::output::{self, Interrupted, say, table};
use crate::reporting::{command_line, model_bytes, page_run};
use crate::settings::stream_config;
use cognate_lab::parallel::Pool;
use cognate_lab::statistics::{deviation, mean, paired_test};
use cognate_plot::numbers::duration;
use cognate_plot::numbers::{count, percent};
use cognate_plot::page::demo::{Demo, demo_page};
use cognate_plot::page::report::Run;

/// Compared by default: from nothing shared to everything, and those that find out themselves.
const DEFAULT: [&str; 7] = [
    "pooled",
    "perceptron",
    "relation-perceptron",
    "passive-aggressive",
    "collaborative",
    "rom-pgd",
    "adaptive",
];

/// The baseline, always included.
const INDEPENDENT: &str = "independent";

/// The share of the examples on which parameters are chosen, and the most of them.
const PREFIX: f64 = 0.2;
const LONGEST_PREFIX: usize = 5000;

/// Significance level: a difference less likely by chance than this counts.
const LEVEL: f64 = 0.05;

/// Runs the command.
pub(crate) fn run(args: &CompareArgs, quiet: bool) -> anyhow::Result<()> {
    let mut stream_args = args.stream.clone();
    stream_args.order.get_or_insert_with(|| "shuffle".to_owned());
    let stream = stream_config(&stream_args, json!({}))?;
    if stream.order == Order::Adversarial {
        bail!("--order adversarial: every learner is served different examples; there is nothing to compare");
    }
    check_outputs(&[("report", &args.report)])?;
    let interrupt = Interrupt::listen()?;
    let memory = load(args, &stream, &interrupt)?;
    let contest = Contest {
        // Another order is a matter of the seed; one without a seed can be run only once.
        runs: if stream.order == Order::Shuffle { args.runs.get() } else { 1 },
        tasks: task_count(&memory),
        pool: Pool::new(args.threads, interrupt.flag(), quiet),
        query: args.query.clone(),
        stream,
        memory,
    };
    let learners = learners(&args.learners, contest.tasks)?;
    let results = contest.hold(&learners)?;
    finish(args, &contest, results)
}

fn load(args: &CompareArgs, stream: &StreamConfig, interrupt: &Interrupt) -> anyhow::Result<Memory> {
    let read =
        ReadOptions::default().labels(Labels::Required).skip_bad(args.stream.skip_bad).stop(interrupt.flag());
    let config = RunConfig { stream: stream.clone(), ..RunConfig::default() };
    let memory = config.reader(inputs(&args.data)?, read)?.into_memory()?;
    if memory.is_empty() {
        bail!("{} holds no examples", args.data[0].display());
    }
    Ok(memory)
}

fn task_count(memory: &Memory) -> usize {
    memory.examples().map(|(task, _)| task).collect::<std::collections::BTreeSet<_>>().len()
}

/// A contestant: a name, and configs to choose from.
struct Contestant {
    name: String,
    candidates: Vec<Value>,
}

/// The contestants, the independent one first.
fn learners(wanted: &[String], tasks: usize) -> anyhow::Result<Vec<Contestant>> {
    let mut names = vec![INDEPENDENT];
    if wanted.is_empty() {
        names.extend(DEFAULT);
    }
    for name in wanted {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    names.into_iter().map(|name| contestant(name, tasks)).collect()
}

fn contestant(name: &str, tasks: usize) -> anyhow::Result<Contestant> {
    let perceptron = |interaction: Value| json!({ "perceptron": { "interaction": interaction } });
    let candidates = match name {
        INDEPENDENT | "pooled" => vec![perceptron(json!(name))],
        "perceptron" => [1, 4, 16, tasks.max(2)]
            .into_iter()
            .map(|b| perceptron(json!({ "coupled": { "b": b } })))
            .chain([perceptron(json!({ "coupled": { "b": "auto" } }))])
            .collect(),
        "relation-perceptron" => {
            ["log-det", "scale-free"].map(|relation| json!({ name: { "relation": relation } })).to_vec()
        }
        "passive-aggressive" => ["individual", "global"]
            .into_iter()
            .flat_map(|scope| [0.01, 0.1, 1.0].map(|c| json!({ name: { "scope": scope, "c": c } })))
            .collect(),
        "collaborative" => [0.3, 3.0, 30.0]
            .into_iter()
            .flat_map(|own| [0.1, 1.0].map(|c| json!({ name: { "own": own, "c": c } })))
            .collect(),
        other => {
            let Some(config) = LearnerConfig::from_id(other) else {
                let known = REGISTRY.iter().map(|about| about.id).chain([INDEPENDENT, "pooled"]);
                bail!(
                    "--learners: unknown learner {other:?}; known: {}",
                    nearest_names(other, known).join(", ")
                );
            };
            if config.about().protocol == Protocol::Batch {
                bail!("--learners {other}: it does not learn from streams; see `cognate fit`");
            }
            vec![json!({ other: {} })]
        }
    };
    Ok(Contestant { name: name.to_owned(), candidates })
}

/// The examples, and how they are learnt.
struct Contest {
    stream: StreamConfig,
    memory: Memory,
    tasks: usize,
    runs: u64,
    query: Option<String>,
    pool: Pool,
}

/// What one learner did in all runs.
struct Results {
    name: String,
    learner: Value,
    /// Whether it was chosen of several.
    chosen: bool,
    runs: Vec<Passed>,
}

/// What a run is to record.
#[derive(Clone, Copy, PartialEq)]
enum Wanted {
    Counts,
    /// Also what a page shows.
    Page,
    /// Counts of a prefix.
    First(usize),
}

/// Result of one run.
struct Passed {
    total: Tally,
    seconds: f64,
    bytes: u64,
    mistakes: Vec<bool>,
    page: Option<Run>,
}

impl Contest {
    /// Chooses parameters, then learns every shuffle with everyone. A learner that cannot learn the stream is left out, with a message.
    fn hold(&self, contestants: &[Contestant]) -> anyhow::Result<Vec<Results>> {
        let chosen = self.choose(contestants)?;
        let jobs: Vec<(u64, usize)> =
            (0..self.runs).flat_map(|run| (0..chosen.len()).map(move |who| (run, who))).collect();
        let passed = self.pool.some("comparing", &jobs, |(run, who)| {
            let (name, learner) = &chosen[*who];
            let shuffled = self.shuffled(self.stream.seed + run);
            self.pass(name, learner, shuffled, if *run == 0 { Wanted::Page } else { Wanted::Counts })
        })?;
        // Only runs that all have finished can be compared.
        let rounds =
            passed.chunks(chosen.len()).take_while(|round| round.iter().all(Option::is_some)).count();
        if rounds == 0 {
            say("interrupted before every learner had finished a run; there is nothing to compare yet");
            return Err(Interrupted.into());
        }
        let mut results: Vec<Results> = chosen
            .into_iter()
            .zip(contestants)
            .map(|((name, learner), contestant)| Results {
                name,
                learner,
                chosen: contestant.candidates.len() > 1,
                runs: Vec::new(),
            })
            .collect();
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
        if results.first().is_none_or(|first| first.name != INDEPENDENT) {
            bail!("independent models could not be learnt; there is nothing to compare with");
        }
        Ok(results)
    }

    /// For every contestant, the candidate with the fewest mistakes on a prefix.
    fn choose(&self, contestants: &[Contestant]) -> anyhow::Result<Vec<(String, Value)>> {
        let length = ((PREFIX * self.memory.len() as f64) as usize).clamp(1, LONGEST_PREFIX);
        // An order of its own, so that no run begins with the very examples that parameters were chosen on.
        let seed = self.stream.seed.wrapping_sub(1);
        let jobs: Vec<&Value> = contestants
            .iter()
            .filter(|contestant| contestant.candidates.len() > 1)
            .flat_map(|contestant| &contestant.candidates)
            .collect();
        let mistakes = self.pool.all("choosing parameters", &jobs, |learner| {
            let passed = self.pass("", learner, self.shuffled(seed), Wanted::First(length))?;
            Ok(passed.map_or(u64::MAX, |passed| passed.total.mistakes))
        })?;
        let mut mistakes = mistakes.into_iter();
        let best = |contestant: &Contestant| {
            let candidates = &contestant.candidates;
            let of_each: Vec<u64> = if candidates.len() > 1 {
                mistakes.by_ref().take(candidates.len()).collect()
            } else {
                vec![0]
            };
            let best = (0..candidates.len()).min_by_key(|at| of_each[*at]).unwrap_or(0);
            (contestant.name.clone(), candidates[best].clone())
        };
        Ok(contestants.iter().map(best).collect())
    }

    fn shuffled(&self, seed: u64) -> Memory {
        self.memory.clone().ordered(self.stream.order, seed, self.stream.simultaneous)
    }

    /// One run; the error of a learner does not end the others.
    fn pass(
        &self,
        name: &str,
        learner: &Value,
        mut stream: Memory,
        wanted: Wanted,
    ) -> anyhow::Result<Result<Passed, RunError>> {
        let mut tree = json!({ "learner": learner, "stream": self.stream });
        if let Some(query) = &self.query {
            tree["query"] = json!(query);
        }
        let mut config: RunConfig = serde_json::from_value(tree).context("--query")?;
        let in_a_round = if self.stream.simultaneous { self.tasks.max(1) } else { 1 };
        config.learner.set_rounds(u64::from(self.stream.passes) * (stream.len() / in_a_round) as u64);
        let mut model = Model::new(&config)?;
        let options = RunOptions { passes: self.stream.passes, ..RunOptions::default() };
        let mut watch = Watch {
            pool: &self.pool,
            mistakes: Vec::with_capacity(stream.len()),
            curves: (wanted == Wanted::Page).then(Curves::new),
            limit: if let Wanted::First(limit) = wanted { limit } else { usize::MAX },
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
        Ok(Ok(Passed {
            total: *model.metrics().total(),
            seconds,
            bytes: model_bytes(&model),
            page: watch.curves.map(|curves| page_run(name, &model, &curves, seconds)),
            mistakes: watch.mistakes,
        }))
    }
}

/// Remembers mistakes, and curves for the page.
struct Watch<'a> {
    pool: &'a Pool,
    mistakes: Vec<bool>,
    curves: Option<Curves>,
    limit: usize,
}

impl Observer for Watch<'_> {
    fn observe(&mut self, report: &RoundReport, _: &Tasks, _: &Metrics) {
        self.mistakes.push(report.mistake);
        if let Some(curves) = &mut self.curves {
            curves.count(report.task, report.mistake, report.queried);
        }
    }

    fn batch_done(&mut self, _: Progress, _: &Model) -> ControlFlow<()> {
        let enough = self.mistakes.len() >= self.limit;
        if enough || self.pool.asked() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

impl Results {
    fn errors(&self) -> Vec<f64> {
        self.runs.iter().map(|run| run.total.error()).collect()
    }

    fn error(&self) -> f64 {
        mean(&self.errors())
    }

    fn mean_of(&self, value: impl Fn(&Passed) -> f64) -> f64 {
        mean(&self.runs.iter().map(value).collect::<Vec<_>>())
    }

    fn rate(&self) -> f64 {
        let seconds: f64 = self.runs.iter().map(|run| run.seconds).sum();
        self.runs.iter().map(|run| run.total.examples as f64).sum::<f64>() / seconds.max(1e-9)
    }

    /// How likely chance alone makes so large a difference from another.
    fn chance(&self, other: &Self) -> f64 {
        let pairs = self.runs.iter().zip(&other.runs).flat_map(|(a, b)| a.mistakes.iter().zip(&b.mistakes));
        let differences: Vec<f64> = pairs.map(|(a, b)| f64::from(*a) - f64::from(*b)).collect();
        paired_test(&differences, differences.len() / self.runs.len().max(1))
    }

    /// The parameters that were chosen, as `--set` takes them.
    fn parameters(&self) -> Vec<String> {
        let mut settings = Vec::new();
        let of_learner = self.learner.as_object().and_then(|tree| tree.values().next());
        flatten("", of_learner.unwrap_or(&Value::Null), &mut settings);
        settings
    }

    /// The flags that select this learner.
    fn flags(&self) -> String {
        let id = self.learner.as_object().and_then(|tree| tree.keys().next()).map_or("", String::as_str);
        self.parameters().into_iter().fold(format!("--learner {id}"), |flags, set| flags + " --set " + &set)
    }
}

fn flatten(path: &str, value: &Value, settings: &mut Vec<String>) {
    match value {
        Value::Object(tree) => {
            let join = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
            tree.iter().for_each(|(key, value)| flatten(&join(key), value, settings));
        }
        Value::String(text) => settings.push(format!("{path}={text}")),
        Value::Null => {}
        other => settings.push(format!("{path}={other}")),
    }
}

/// The best, and those as good as far as these examples tell.
struct Ranking<'a> {
    results: &'a [Results],
    best: usize,
    /// P-values of the difference from the best, and from the independent one.
    to_best: Vec<f64>,
    to_independent: Vec<f64>,
}

impl<'a> Ranking<'a> {
    fn of(results: &'a [Results]) -> Self {
        let best = (0..results.len())
            .min_by(|a, b| results[*a].error().total_cmp(&results[*b].error()))
            .unwrap_or(0);
        let to = |other: usize| results.iter().map(|one| one.chance(&results[other])).collect();
        Self { results, best, to_best: to(best), to_independent: to(0) }
    }

    fn mark(&self, who: usize) -> &'static str {
        match who {
            _ if who == self.best => "* ",
            _ if self.to_best[who] >= LEVEL => "= ",
            _ => "  ",
        }
    }

    /// Mistakes saved against independent models, as a share of theirs.
    fn gain(&self, who: usize) -> f64 {
        1.0 - self.results[who].error() / self.results[0].error()
    }

    /// The conclusion.
    fn advice(&self) -> String {
        let (best, independent) = (&self.results[self.best], &self.results[0]);
        let equals: Vec<&str> = (0..self.results.len())
            .filter(|who| *who != self.best && self.to_best[*who] >= LEVEL)
            .map(|who| self.results[who].name.as_str())
            .collect();
        let error = percent(best.error(), 2);
        let mut text = if self.best == 0 {
            format!("Nothing beats independent models here ({error} mistakes).")
        } else if self.to_independent[self.best] >= LEVEL {
            format!(
                "{} makes the fewest mistakes, {error}, but the gain over independent models ({}) is within chance ({}).",
                best.name,
                percent(independent.error(), 2),
                chance_text(self.to_independent[self.best]),
            )
        } else {
            format!(
                "Use {}: {error} mistakes where independent models make {}, {} fewer ({}).",
                best.name,
                percent(independent.error(), 2),
                percent(self.gain(self.best), 0),
                chance_text(self.to_independent[self.best]),
            )
        };
        if !equals.is_empty() {
            text += &format!("\nAs good, as far as these examples tell: {}.", equals.join(", "));
        }
        text + &format!("\n\n  cognate learn DATA {} --model m.cog", best.flags())
    }
}

fn chance_text(chance: f64) -> String {
    if chance < 0.001 { "p < 0.001".to_owned() } else { format!("p = {chance:.3}") }
}

fn finish(args: &CompareArgs, contest: &Contest, mut results: Vec<Results>) -> anyhow::Result<()> {
    let pages: Vec<Run> = results.iter_mut().filter_map(|results| results.runs[0].page.take()).collect();
    let ranking = Ranking::of(&results);
    let runs = results[0].runs.len();
    if let Some(path) = &args.report {
        write_report(path, pages, &ranking)?;
    }
    if args.json {
        output::print_json(&as_json(contest, &ranking))?;
    } else {
        output::print(&as_text(contest, &ranking))?;
    }
    if (runs as u64) < contest.runs {
        say(&format!("interrupted: {runs} of {} runs are compared", contest.runs));
        return Err(Interrupted.into());
    }
    Ok(())
}

fn as_text(contest: &Contest, ranking: &Ranking<'_>) -> String {
    let rows = ranking.results.iter().enumerate().map(|(who, results)| {
        let errors = results.errors();
        vec![
            format!("{}{}", ranking.mark(who), results.name),
            format!("{} ± {:.2}", percent(mean(&errors), 2), 100.0 * deviation(&errors)),
            if who == 0 { String::new() } else { percent(-ranking.gain(who), 1) },
            if who == 0 { String::new() } else { chance_text(ranking.to_independent[who]) },
            percent(results.mean_of(|run| run.total.f1()), 1),
            count(results.mean_of(|run| run.total.updates as f64).round() as u64),
            count(results.mean_of(|run| run.total.queries as f64).round() as u64),
            output::bytes(results.mean_of(|run| run.bytes as f64) as u64),
            count(results.rate() as u64),
        ]
    });
    let header =
        ["  learner", "error", "to indep.", "by chance", "F1", "updates", "labels", "memory", "examples/s"];
    let table = table(&header, rows).trim_fmt();
    let runs = ranking.results[0].runs.len();
    let chosen: Vec<String> = ranking
        .results
        .iter()
        .filter(|results| results.chosen)
        .map(|results| format!("{} {}", results.name, results.parameters().join(" ")))
        .collect();
    let chosen = if chosen.is_empty() {
        String::new()
    } else {
        format!("\nChosen on a prefix: {}.", chosen.join("; "))
    };
    format!(
        "{} examples of {} tasks, {} {}; * fewest mistakes, = no difference to it beyond chance\n\n{table}\n{chosen}\n\n{}",
        count(contest.memory.len() as u64),
        count(contest.tasks as u64),
        runs,
        if runs == 1 { "run" } else { "shuffles" },
        ranking.advice(),
    )
}

fn as_json(contest: &Contest, ranking: &Ranking<'_>) -> Value {
    let row = |(who, results): (usize, &Results)| {
        json!({
            "name": results.name,
            "learner": results.learner,
            "errors": results.errors(),
            "error": results.error(),
            "f1": results.mean_of(|run| run.total.f1()),
            "updates": results.mean_of(|run| run.total.updates as f64),
            "queries": results.mean_of(|run| run.total.queries as f64),
            "model_bytes": results.mean_of(|run| run.bytes as f64),
            "examples_per_second": results.rate(),
            "chance_to_best": ranking.to_best[who],
            "chance_to_independent": ranking.to_independent[who],
        })
    };
    json!({
        "examples": contest.memory.len(),
        "tasks": contest.tasks,
        "runs": ranking.results[0].runs.len(),
        "best": ranking.results[ranking.best].name,
        "learners": ranking.results.iter().enumerate().map(row).collect::<Vec<_>>(),
    })
}

fn write_report(path: &Path, runs: Vec<Run>, ranking: &Ranking<'_>) -> anyhow::Result<()> {
    let advice = ranking.advice();
    let (lead, _) = advice.split_once("\n\n").unwrap_or((&advice, ""));
    let orders = ranking.results[0].runs.len();
    let seconds: f64 = ranking.results.iter().flat_map(|results| &results.runs).map(|run| run.seconds).sum();
    let errors = ranking.results.iter().map(|results| {
        let errors = results.errors();
        format!("{} {} ± {:.2}", results.name, percent(mean(&errors), 2), 100.0 * deviation(&errors))
    });
    let page = demo_page(&Demo {
        title: "Which learner suits these tasks?".to_owned(),
        lead: lead.replace('\n', " "),
        notes: vec![format!(
            "Mean and deviation over {orders} orders of the same examples: {}. All runs together took {}. Curves, tasks \
             and relations below are those of the first order.",
            errors.collect::<Vec<_>>().join(", "),
            duration(seconds),
        )],
        runs,
        highlight: ranking.best,
        outliers: Vec::new(),
        truth: None,
        command: command_line(),
    });
    std::fs::write(path, page).with_context(|| format!("--report {}", path.display()))?;
    say(&format!("report: {}", path.display()));
    Ok(())
}
