//! `cognate learn`: a stream, learnt as it comes.

mod summary;

use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

use anyhow::{anyhow, bail};
use cognate::algorithms::Protocol;
use cognate::metrics::Metrics;
use cognate::model::ModelConfig;
use cognate::run::{ClassReport, Observer, Progress, RoundReport, RunOptions, UnlabelledReport};
use cognate::stream::{Format, Input, Labels, ReadOptions, StreamConfig};
use cognate::{Model, ModelLock, RunConfig, RunError, Tasks};
use serde_json::json;

use super::{check_inputs, check_outputs, inputs, load_model, note_positive};
use crate::args::LearnArgs;
use crate::ask::Ask;
use crate::bad_lines::BadLineFile;
use crate::curves::Curves;
use crate::interrupt::Interrupt;
use crate::judging::{Judge, Judged};
use crate::model_file::claim;
use crate::output::{self, Ended, Interrupted, say};
use crate::progressive::Progressive;
use crate::reporting::{command_line, judged_run};
use crate::rounds::count_rounds;
use crate::same_file::is_same_file;
use crate::saving::{Fate, Saver};
use crate::settings::{differences, run_config};
use crate::threshold::Choosing;
use crate::times::Times;
use crate::trace::{self, Trace};
use cognate_plot::numbers::count;
use cognate_plot::page::report::learn_page;
use summary::{Counts, Finished, LastLine, summary, summary_text};

/// Runs the command.
pub(crate) fn run(args: &LearnArgs, quiet: bool) -> anyhow::Result<()> {
    let interrupt = Interrupt::listen_for_saves()?;
    // Held until the end of the run.
    let _lock = claim_model(args)?;
    let mut bad_lines = BadLineFile::new(args.stream.bad_lines.as_deref())?;
    let (mut model, stream_config) = prepare(args, &interrupt, &mut bad_lines)?;
    let sources = inputs(&args.data)?;
    check_learn_outputs(args, &stream_config)?;
    // What the first of several files taught is kept if another one is missing.
    check_inputs(if stream_config.order.is_as_read() { &sources[..1] } else { &sources })?;
    let read = ReadOptions::default()
        .labels(if args.ask.is_some() { Labels::Kept } else { Labels::Optional })
        .skip_bad(args.stream.skip_bad)
        .stop(interrupt.flag())
        .bad_lines(bad_lines.for_reader()?);
    let known_size = known_size(&sources, &stream_config);
    let stream = model.open(sources, &stream_config, read);
    let mut stream = stream.map_err(|error| nothing_learnt(args, &stream_config, error.into()))?;
    let mut watch = Watch {
        trace: args.trace.as_deref().map(Trace::create).transpose()?,
        ask: args.ask.as_deref().map(|path| Ask::create(path, &stream_config.format)).transpose()?,
        curves: args.report.as_ref().map(|_| Curves::new()),
        choosing: Choosing::start(&mut model, args.threshold.as_deref())?,
        times: Times::start(&model, &stream_config),
        interrupt,
        bad_lines,
        table: Progressive::start(quiet, &model, known_size),
        judge: Judge::new(&model, stream_config.passes, stream_config.order),
        saver: Saver::new(args.model.clone(), args.resume.is_some(), args.save_every, &model),
        stopped: false,
    };
    let before = Counts::of(&model);
    let processors = || std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let threads = args.threads.unwrap_or_else(processors);
    let options = RunOptions { threads, ..RunOptions::of(&stream_config) };
    let learnt = model.learn(&mut *stream, &options, &mut watch);
    watch.table.finish(model.metrics());
    let seconds = watch.table.elapsed();
    if let Some(choosing) = watch.choosing.take() {
        choosing.finish(&mut model);
    }
    let stopped = watch.stopped;
    let skipped = learnt.as_ref().map_or(0, |progress| progress.skipped);
    let run = Finished { seconds, skipped, ..before.until(&model) };
    let judge = std::mem::replace(&mut watch.judge, Judge::new(&model, 1, stream_config.order));
    let times = watch.times.as_ref().and_then(|times| times.warning(&model));
    let judged =
        judge.finish(model.metrics()).read_from(&stream_config.format, stream.remarks()).timed(times);
    let note = write_outputs(args, &model, &run, &judged, learnt.err(), &mut watch)?;
    warn(args, &run, stopped);
    tell_unlabelled(args, &run);
    watch.bad_lines.warn(run.skipped);
    note_shared_slots(&model);
    if run.examples > 0 {
        note_positive(model.config().positive.as_deref(), model.label_names());
    }
    if !quiet {
        model.learner().as_inspect().remarks().iter().for_each(|remark| say(remark));
        judged.gaps(&model).iter().for_each(|note| say(note));
    }
    // What misleads is said all the same; JSON has it in the summary.
    let is_silent = |note: &&String| quiet && args.json && !note.starts_with("warning: ");
    judged.notes(&model).iter().filter(|note| !is_silent(note)).for_each(|note| say(note));
    print_summary(args, &model, &run, &judged).map_err(|error| {
        if output::is_closed_pipe(&error) {
            return error;
        }
        Ended { problems: vec![error], model: note }.into()
    })?;
    // The system takes everything back at once; a hundred thousand tables one by one take longer.
    std::mem::forget(model);
    if stopped { Err(Interrupted.into()) } else { Ok(()) }
}

/// Writes the model first, whatever ended the run, then everything else, and tells all that went wrong; gives what became of
/// the model.
fn write_outputs(
    args: &LearnArgs,
    model: &Model,
    run: &Finished,
    judged: &Judged,
    ended_by: Option<RunError>,
    watch: &mut Watch,
) -> Result<Option<String>, Ended> {
    let examples = run.examples + run.unlabelled;
    let saved = watch.saver.finish(model, ended_by.as_ref(), examples);
    let mut note = watch.saver.note(&saved, examples);
    let is_whole = ended_by.is_none() && !matches!(saved, Fate::Nothing);
    let mut problems: Vec<anyhow::Error> = ended_by.into_iter().map(anyhow::Error::new).collect();
    match saved {
        Fate::Failed(error) => problems.push(error.into()),
        Fate::Nothing if watch.stopped => note.iter().for_each(|note| say(note)),
        Fate::Nothing => {
            tell_unlabelled(args, run);
            watch.bad_lines.warn(run.skipped);
            problems.push(anyhow!(nothing_read(args, run, note.take())));
        }
        Fate::NotAsked | Fate::Saved | Fate::Left => {}
    }
    if let (Some(trace), Some(path)) = (watch.trace.as_mut(), &args.trace) {
        problems.extend(trace.finish(path).err());
    }
    problems.extend(watch.bad_lines.finish().err());
    if let (Some(ask), Some(path)) = (watch.ask.take(), &args.ask) {
        problems.extend(ask.finish(path).err());
    }
    if let (true, Some(curves), Some(path)) = (is_whole, &watch.curves, &args.report) {
        problems.extend(write_report(path, model, curves, judged, run.seconds).err());
    }
    if !problems.is_empty() {
        return Err(Ended { problems, model: note });
    }
    if let (true, Some(note)) = (watch.output_is_closed(), &note) {
        say(&format!("standard output was closed, which ended the run; {note}"));
    }
    Ok(note)
}

/// Prints the result where the trace is not.
fn print_summary(args: &LearnArgs, model: &Model, run: &Finished, judged: &Judged) -> anyhow::Result<()> {
    match (args.json, args.trace.as_deref().is_some_and(trace::is_stdout)) {
        (true, true) => output::print_json_line(&LastLine { summary: summary(model, run, judged) }),
        (true, false) => output::print_json(&summary(model, run, judged)),
        (false, true) => {
            output::print_aside(&summary_text(model, run, judged));
            Ok(())
        }
        (false, false) => output::print(&summary_text(model, run, judged)),
    }
}

/// The right to write the model, if one is to be written.
fn claim_model(args: &LearnArgs) -> anyhow::Result<Option<ModelLock>> {
    let Some(model) = &args.model else { return Ok(None) };
    let goes_on = args.resume.as_ref().is_some_and(|resumed| is_same_file(resumed, model));
    let shown = model.display();
    let advice = format!("--resume {shown} learns on from it, --overwrite replaces it; or name another file");
    claim(model, args.overwrite || goes_on, &advice).map(Some)
}

/// A fresh model of the config, or the one to resume.
fn prepare(
    args: &LearnArgs,
    interrupt: &Interrupt,
    bad_lines: &mut BadLineFile,
) -> anyhow::Result<(Model, StreamConfig)> {
    let Some(path) = &args.resume else {
        let mut config = run_config(args, json!({}))?;
        if config.learner.about().protocol == Protocol::Batch {
            bail!(
                "`{}` does not learn from streams; it is fitted to all examples at once: cognate fit",
                config.learner.id()
            );
        }
        if config.learner.wants_rounds() {
            let sources = inputs(&args.data)?;
            check_inputs(&sources)?;
            let read = ReadOptions::default()
                .skip_bad(args.stream.skip_bad)
                .stop(interrupt.flag())
                .bad_lines(bad_lines.for_reader()?);
            let counted = count_rounds(&config, &sources, read, interrupt);
            config.learner.set_rounds(bad_lines.finish_with(counted)?);
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
    if asked.shards.count != known.shards.count {
        bail!(
            "--resume {}: the model learns in {}, and {} are asked for; what shards have learnt cannot be divided anew: \
             leave out --shards, or start a new model",
            path.display(),
            if known.shards.count == 1 {
                "one shard".to_owned()
            } else {
                format!("{} shards", known.shards.count)
            },
            asked.shards.count,
        );
    }
    if asked != *known {
        let (known, asked) = differences(&json!(known), &json!(asked));
        bail!(
            "--resume {}: the model was learnt with {}, but the flags or the config file say {}; \
             leave them out, or start a new model",
            path.display(),
            known,
            asked,
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
    let outputs = [("trace", &args.trace), ("ask", &args.ask), ("report", &args.report)];
    check_outputs(&outputs)
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
    choosing: Option<Choosing>,
    times: Option<Times>,
    table: Progressive,
    judge: Judge,
    interrupt: Interrupt,
    bad_lines: BadLineFile,
    saver: Saver,
    stopped: bool,
}

impl Watch {
    /// Whether nobody reads the trace on standard output any more.
    fn output_is_closed(&self) -> bool {
        self.trace.as_ref().is_some_and(Trace::is_closed_pipe)
    }

    /// Saves and flushes what is due; breaks where the run is to end.
    fn between_batches(&mut self, model: &Model) -> ControlFlow<()> {
        self.saver.batch_done(model, self.interrupt.take_save())?;
        self.stopped = self.interrupt.asked();
        self.trace.iter_mut().for_each(Trace::flush);
        self.ask.iter_mut().for_each(Ask::flush);
        let failed = self.trace.as_ref().is_some_and(Trace::has_failed)
            || self.ask.as_ref().is_some_and(Ask::has_failed)
            || self.bad_lines.has_failed();
        if self.stopped || failed { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

impl Observer for Watch {
    fn observe(&mut self, report: &RoundReport, tasks: &Tasks, metrics: &Metrics) {
        if let Some(trace) = &mut self.trace {
            trace.write(report, tasks);
        }
        if let Some(curves) = &mut self.curves {
            curves.follow(report.task, metrics);
        }
        self.judge.observe(report);
        if let Some(times) = &mut self.times {
            times.observe(report);
        }
        if let Some(choosing) = &mut self.choosing {
            choosing.count(report.label, report.margin, report.weight);
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

    fn follows_classes(&self) -> bool {
        self.judge.follows_classes()
    }

    fn observe_class(&mut self, report: &ClassReport) {
        self.judge.observe_class(report);
    }

    fn batch_done(&mut self, progress: Progress, model: &Model) -> ControlFlow<()> {
        self.table.position(progress.position);
        self.judge.batch_done(progress, model.metrics());
        let flow = self.between_batches(model);
        if flow.is_break() {
            // The next line of a pipe may be long in coming.
            self.interrupt.end_reading();
        }
        flow
    }
}

/// Why a run has taught a new model nothing, and what became of the one that is there.
fn nothing_read(args: &LearnArgs, run: &Finished, left: Option<String>) -> String {
    let what = if run.unlabelled > 0 { "example with a label" } else { "example" };
    let data = match &args.data[..] {
        [one] => format!("{} holds no {what}", data_name(one)),
        more => format!("none of the {} files holds an {what}", more.len()),
    };
    let left = left.unwrap_or_else(|| "no model is saved".to_owned());
    format!("{data}, and nothing was learnt; {left}")
}

/// An input as messages name it.
fn data_name(path: &Path) -> String {
    if path.as_os_str() == "-" { "standard input".to_owned() } else { path.display().to_string() }
}

/// An error before the first example, where that needs to be said: all lines are read first.
fn nothing_learnt(args: &LearnArgs, stream: &StreamConfig, error: anyhow::Error) -> anyhow::Error {
    if stream.order.is_as_read() {
        return error;
    }
    let left = args.model.as_ref().filter(|path| path.exists());
    let left = left.map_or_else(String::new, |path| format!("; {} is left as it was", path.display()));
    let note = format!("nothing was learnt, because all lines are read before they are put in order{left}");
    Ended { problems: vec![error], model: Some(note) }.into()
}

fn warn(args: &LearnArgs, run: &Finished, stopped: bool) {
    if stopped {
        say("interrupted: what was learnt so far is kept");
    } else if run.examples + run.unlabelled == 0 {
        say(&format!("warning: {} holds no examples", data_name(&args.data[0])));
    }
}

/// How many lines had no label, and where those are that are asked for.
fn tell_unlabelled(args: &LearnArgs, run: &Finished) {
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
}

fn note_shared_slots(model: &Model) {
    let shared = model.names().shared();
    if shared > 0 {
        let names = count(model.names().len() as u64);
        say(&format!(
            "note: {} of the slots of {names} feature names are shared (--bits)",
            count(shared as u64)
        ));
    }
}

fn write_report(
    path: &Path,
    model: &Model,
    curves: &Curves,
    judged: &Judged,
    seconds: Duration,
) -> anyhow::Result<()> {
    let name = model.config().learner.id();
    let page = learn_page(&judged_run(name, model, curves, judged, seconds.as_secs_f64()), &command_line());
    output::write_file("--report", path, page)?;
    say(&format!("report: {}", path.display()));
    Ok(())
}
