//! `cognate learn`: a stream, learnt as it comes.

use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, bail};
use cognate::algorithms::Protocol;
use cognate::metrics::Metrics;
use cognate::model::ModelConfig;
use cognate::run::{Observer, Progress, RoundReport, RunOptions, UnlabelledReport};
use cognate::stream::{Format, Input, Labels, ReadOptions, StreamConfig};
use cognate::{LearnerConfig, Model, QueryConfig, RunConfig, Tasks};
use serde::Serialize;
use serde_json::json;

use super::{check_outputs, inputs, load_model};
use crate::args::LearnArgs;
use crate::ask::Ask;
use crate::curves::Curves;
use crate::interrupt::Interrupt;
use crate::output::{self, Interrupted, say, shown_name, table};
use crate::peak_memory::peak_memory_bytes;
use crate::progressive::Progressive;
use crate::reporting::{command_line, page_run};
use crate::rounds::count_rounds;
use crate::settings::run_config;
use crate::trace::Trace;
use cognate_plot::numbers::duration;
use cognate_plot::numbers::{count, percent};
use cognate_plot::page::report::learn_page;

/// Runs the command.
pub(crate) fn run(args: &LearnArgs, quiet: bool) -> anyhow::Result<()> {
    let (mut model, stream_config) = prepare(args)?;
    let sources = inputs(&args.data)?;
    check_learn_outputs(args, &stream_config)?;
    let mut watch = Watch {
        trace: args.trace.as_deref().map(Trace::create).transpose()?,
        ask: args.ask.as_deref().map(|path| Ask::create(path, &stream_config.format)).transpose()?,
        curves: args.report.as_ref().map(|_| Curves::new()),
        interrupt: Interrupt::listen()?,
        table: Progressive::start(
            quiet,
            !model.config().query.is_all(),
            model.metrics().total(),
            known_size(&sources, &stream_config),
        ),
        stopped: false,
    };
    let counts = |metrics: &Metrics| [metrics.total().examples, metrics.unlabelled(), metrics.asked()];
    let before = counts(model.metrics());
    let read = ReadOptions::default()
        .labels(if args.ask.is_some() { Labels::Kept } else { Labels::Optional })
        .skip_bad(args.stream.skip_bad)
        .stop(watch.interrupt.flag());
    let mut stream = model.open(sources, &stream_config, read)?;
    let options = RunOptions { threads: args.threads, ..RunOptions::of(&stream_config) };
    let progress = model.learn(&mut *stream, &options, &mut watch)?;
    watch.interrupt.hold();
    watch.table.finish(model.metrics());
    let after = counts(model.metrics());
    let run = Finished {
        seconds: watch.table.elapsed(),
        examples: after[0] - before[0],
        unlabelled: after[1] - before[1],
        asked: after[2] - before[2],
        skipped: progress.skipped,
    };
    if let (Some(trace), Some(path)) = (watch.trace, &args.trace) {
        trace.finish(path)?;
    }
    if let (Some(ask), Some(path)) = (watch.ask, &args.ask) {
        ask.finish(path)?;
    }
    if let Some(path) = &args.model {
        model.save(path)?;
    }
    if let (Some(curves), Some(path)) = (&watch.curves, &args.report) {
        write_report(path, &model, curves, run.seconds)?;
    }
    warn(args, &run, watch.stopped);
    let shared = model.names().shared();
    if shared > 0 {
        let names = count(model.names().len() as u64);
        say(&format!(
            "note: {} of the slots of {names} feature names are shared (--bits)",
            count(shared as u64)
        ));
    }
    if !quiet {
        model.learner().as_inspect().remarks().iter().for_each(|remark| say(remark));
    }
    if args.json {
        output::print_json(&summary(&model, &run))?;
    } else {
        output::print(&summary_text(&model, &run))?;
    }
    // The system takes everything back at once; a hundred thousand tables one by one take longer.
    std::mem::forget(model);
    if watch.stopped { Err(Interrupted.into()) } else { Ok(()) }
}

/// A fresh model of the config, or the one to resume.
fn prepare(args: &LearnArgs) -> anyhow::Result<(Model, StreamConfig)> {
    let Some(path) = &args.resume else {
        let mut config = run_config(args, json!({}))?;
        if config.learner.about().protocol == Protocol::Batch {
            bail!(
                "`{}` does not learn from streams; it is fitted to all examples at once: cognate fit",
                config.learner.id()
            );
        }
        if config.learner.wants_rounds() {
            let rounds = count_rounds(&config, &inputs(&args.data)?, args.stream.skip_bad)?;
            config.learner.set_rounds(rounds);
        }
        return Ok((Model::new(&config)?, config.stream));
    };
    if args.tasks.is_some() {
        bail!("--tasks: a resumed model has its tasks already");
    }
    let mut model = load_model(path)?;
    let base = RunConfig { tasks: None, ..model.run_config() };
    let config = run_config(args, json!(base))?;
    config.validate()?;
    // What a model has learnt does not depend on how it asks from now on.
    model.set_query(config.query, config.stream.seed)?;
    let (known, asked) = (model.config(), ModelConfig::of(&config));
    if asked != *known {
        bail!(
            "--resume {}: the model was learnt with {}, but the flags or the config file say {}; \
             leave them out, or start a new model",
            path.display(),
            json!(known),
            json!(asked),
        );
    }
    Ok((model, config.stream))
}

/// Fails now rather than after an hour of learning, and before anything is overwritten.
fn check_learn_outputs(args: &LearnArgs, stream: &StreamConfig) -> anyhow::Result<()> {
    if args.ask.is_some() && matches!(stream.format, Format::Csv(_)) {
        bail!("--ask: rows of CSV mean nothing without their header; use `svm`, `vw` or `jsonl`");
    }
    if args.ask.is_some() && stream.one_vs_all {
        bail!(
            "--ask: with --one-vs-all a line is one question per class, and cannot be asked about as a whole"
        );
    }
    if args.ask.as_deref() == Some(Path::new("-")) {
        bail!("--ask -: standard output carries the summary; name a file");
    }
    let outputs =
        [("model", &args.model), ("trace", &args.trace), ("ask", &args.ask), ("report", &args.report)];
    check_outputs(&args.data, &outputs)
}

/// Bytes to read in one pass over files.
fn known_size(sources: &[Input], config: &StreamConfig) -> Option<u64> {
    let size: Option<u64> = sources.iter().map(Input::size).sum();
    size.filter(|_| config.passes == 1 && config.order.is_as_read())
}

/// All observers of a run.
struct Watch {
    trace: Option<Trace>,
    ask: Option<Ask>,
    curves: Option<Curves>,
    table: Progressive,
    interrupt: Interrupt,
    stopped: bool,
}

impl Observer for Watch {
    fn observe(&mut self, report: &RoundReport, tasks: &Tasks, metrics: &Metrics) {
        if let Some(trace) = &mut self.trace {
            trace.write(report, tasks);
        }
        if let Some(curves) = &mut self.curves {
            curves.count(report.task, report.mistake, report.queried);
        }
        self.table.observe(metrics);
    }

    fn observe_unlabelled(&mut self, report: &UnlabelledReport<'_>, tasks: &Tasks, _: &Metrics) {
        if let Some(trace) = &mut self.trace {
            trace.write_unlabelled(report, tasks);
        }
        if let Some(ask) = self.ask.as_mut().filter(|_| report.queried) {
            ask.write(report, tasks);
        }
    }

    fn batch_done(&mut self, progress: Progress, _: &Tasks, _: &Metrics) -> ControlFlow<()> {
        self.table.position(progress.position);
        self.stopped = self.interrupt.asked();
        self.ask.iter_mut().for_each(Ask::flush);
        let failed = self.trace.as_ref().is_some_and(Trace::has_failed)
            || self.ask.as_ref().is_some_and(Ask::has_failed);
        if self.stopped || failed { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// What this run did, besides what the model counts over its life.
struct Finished {
    seconds: Duration,
    examples: u64,
    /// Lines without a label, and those of them that were asked for.
    unlabelled: u64,
    asked: u64,
    skipped: u64,
}

impl Finished {
    fn rate(&self) -> f64 {
        self.examples as f64 / self.seconds.as_secs_f64().max(1e-9)
    }
}

fn warn(args: &LearnArgs, run: &Finished, stopped: bool) {
    if stopped {
        say("interrupted: what was learnt so far is kept");
    } else if run.examples + run.unlabelled == 0 {
        say(&format!("warning: {} holds no examples", args.data[0].display()));
    }
    match &args.ask {
        Some(path) => say(&format!(
            "ask: {} holds {} of {} lines without a label",
            path.display(),
            count(run.asked),
            count(run.unlabelled),
        )),
        None if run.unlabelled > 0 => say(&format!(
            "warning: {} lines without a label were predicted only; --ask FILE lists them to be labelled",
            count(run.unlabelled),
        )),
        None => {}
    }
    if run.skipped > 0 {
        say(&format!("warning: skipped {} bad lines", run.skipped));
    }
}

fn write_report(path: &Path, model: &Model, curves: &Curves, seconds: Duration) -> anyhow::Result<()> {
    let name = model.config().learner.id();
    let page = learn_page(&page_run(name, model, curves, seconds.as_secs_f64()), &command_line());
    std::fs::write(path, page).with_context(|| format!("--report {}", path.display()))?;
    say(&format!("report: {}", path.display()));
    Ok(())
}

/// The summary that programs read; counts are over the model's life, times over this run.
#[derive(Serialize)]
struct Summary<'a> {
    examples: u64,
    mistakes: u64,
    error: f64,
    f1: f64,
    updates: u64,
    queries: u64,
    unlabelled: u64,
    asked: u64,
    skipped: u64,
    tasks: TaskRows<'a>,
    learner: &'a LearnerConfig,
    query: &'a QueryConfig,
    config: &'a ModelConfig,
    run_examples: u64,
    seconds: f64,
    examples_per_second: f64,
    peak_memory_bytes: Option<u64>,
}

/// The tasks of a model, one row each, made while they are written: there may be a million.
struct TaskRows<'a>(&'a Model);

impl Serialize for TaskRows<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Row<'a> {
            task: &'a str,
            examples: u64,
            mistakes: u64,
            error: f64,
            precision: f64,
            recall: f64,
            f1: f64,
            updates: u64,
            queries: u64,
        }
        serializer.collect_seq(self.0.tasks().sorted().into_iter().map(|task| {
            let tally = self.0.metrics().task(task);
            Row {
                task: self.0.tasks().name(task),
                examples: tally.examples,
                mistakes: tally.mistakes,
                error: tally.error(),
                precision: tally.precision(),
                recall: tally.recall(),
                f1: tally.f1(),
                updates: tally.updates,
                queries: tally.queries,
            }
        }))
    }
}

fn summary<'a>(model: &'a Model, run: &Finished) -> Summary<'a> {
    let total = model.metrics().total();
    Summary {
        examples: total.examples,
        mistakes: total.mistakes,
        error: total.error(),
        f1: total.f1(),
        updates: total.updates,
        queries: total.queries,
        unlabelled: model.metrics().unlabelled(),
        asked: model.metrics().asked(),
        skipped: run.skipped,
        tasks: TaskRows(model),
        learner: &model.config().learner,
        query: &model.config().query,
        config: model.config(),
        run_examples: run.examples,
        seconds: run.seconds.as_secs_f64(),
        examples_per_second: run.rate(),
        peak_memory_bytes: peak_memory_bytes(),
    }
}

/// Most tasks that the summary for people lists.
const LISTED: usize = 20;

fn summary_text(model: &Model, run: &Finished) -> String {
    let total = model.metrics().total();
    let asks_all = model.config().query.is_all();
    let row = |name: String, tally: &cognate::metrics::Tally| {
        let mut row = vec![
            name,
            count(tally.examples),
            count(tally.mistakes),
            percent(tally.error(), 2),
            percent(tally.f1(), 2),
            count(tally.updates),
        ];
        row.extend((!asks_all).then(|| count(tally.queries)));
        row
    };
    let sorted = model.tasks().sorted();
    let mut rows: Vec<_> = sorted
        .iter()
        .take(LISTED)
        .map(|task| row(shown_name(model.tasks().name(*task)), &model.metrics().task(*task)))
        .collect();
    if sorted.len() > LISTED {
        rows.push(vec![format!("… {} more", count((sorted.len() - LISTED) as u64))]);
    }
    rows.push(row("all".to_owned(), total));
    let mut header = vec!["task", "examples", "mistakes", "error", "F1", "updates"];
    header.extend((!asks_all).then_some("labels asked"));
    let table = table(&header, rows).trim_fmt();
    let memory =
        peak_memory_bytes().map_or(String::new(), |peak| format!(", peak memory {}", output::bytes(peak)));
    let unlabelled = match run.unlabelled {
        0 => String::new(),
        some => format!(" and {} lines without a label", count(some)),
    };
    format!(
        "{table}\n\n{} examples{unlabelled} in {} ({} per second){memory}",
        count(run.examples),
        duration(run.seconds.as_secs_f64()),
        count(run.rate() as u64),
    )
}
