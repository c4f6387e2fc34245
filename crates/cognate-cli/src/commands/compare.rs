//! `cognate compare`: several learners over the same examples, which one to use, and what sharing gains.
//!
//! Every learner takes part in all its forms: sharing in part, independent, pooled. Learners with parameters to choose
//! learn a prefix with each of a few candidates first; the best goes on. All then learn the same shuffles. A paired test
//! decides whether one is better than another: the differences are those of the two at the same place of the same shuffle,
//! and shuffles of the same examples are not counted as new evidence.

mod command;
mod contest;
mod entries;
mod forms;
pub(crate) mod metric;
mod page;
mod ranking;
mod show;

use anyhow::{Context, bail};
use cognate::RunConfig;
use cognate::fit::Kind;
use cognate::stream::{Input, Labels, Memory, Order, Problem, ReadOptions, StreamConfig, StreamError};
use cognate_lab::parallel::Pool;
use cognate_plot::page::orders::merged;
use cognate_plot::page::report::Run;
use serde_json::json;

use super::{check_inputs, check_outputs, inputs, note_positive};
use crate::args::CompareArgs;
use crate::bad_lines::BadLineFile;
use crate::interrupt::Interrupt;
use crate::judging::label_name;
use crate::output::{self, Advised, Interrupted, say};
use crate::settings::stream_config;
use crate::times::taken_back;
use contest::{Contest, Results};
use entries::{Extras, Lineup, takers};
use metric::Metric;
use ranking::{Ranking, is_uneven, share_of_positives};

/// Runs the command.
pub(crate) fn run(args: &CompareArgs, quiet: bool) -> anyhow::Result<()> {
    let mut lineup = Lineup::of(args)?;
    let mut stream_args = args.stream.clone();
    let usual = if lineup.by_time { "file" } else { "shuffle" };
    stream_args.order.get_or_insert_with(|| usual.to_owned());
    let stream = stream_config(&stream_args, &args.data, json!({}))?;
    if lineup.by_time {
        keep_time(args, &stream)?;
    }
    if stream.order == Order::Adversarial {
        bail!("--order adversarial: every learner is served different examples; there is nothing to compare");
    }
    check_outputs(&[("report", &args.report)])?;
    let interrupt = Interrupt::listen()?;
    let (memory, real_label) = load(args, &stream, &mut lineup, &interrupt)?;
    let tasks = task_count(&memory);
    let metric = args.metric.unwrap_or_else(|| usual_metric(&memory, lineup.kind));
    check_labels(&memory, metric)?;
    lineup.fill(args, (tasks, Extras::of(&memory, !stream.class_weight.is_none())), metric)?;
    let contest = Contest {
        // Another order is a matter of the seed; one without a seed can be run only once.
        runs: if stream.order == Order::Shuffle { args.runs.get() } else { 1 },
        tasks,
        pool: Pool::new(args.threads, interrupt.flag(), quiet),
        query: lineup.query.clone(),
        kind: lineup.kind,
        real_label,
        metric,
        has_report: args.report.is_some(),
        stream,
        memory,
    };
    let results = contest.hold(&lineup)?;
    finish(args, &contest, &lineup, results)
}

/// Where a learner forgets by time, what takes times back is refused, and the order that is kept in place of shuffles is told.
fn keep_time(args: &CompareArgs, stream: &StreamConfig) -> anyhow::Result<()> {
    if let Some(flags) = taken_back(stream) {
        let message = format!("{flags}: a learner forgets by time (`forget`), and times would go back");
        return Err(Advised { message, advice: "--order file --passes 1".to_owned() }.into());
    }
    if args.stream.order.is_none() {
        say("note: a learner forgets by time (`forget`), so there is one run in the order of the file");
    }
    Ok(())
}

/// Reads the examples. Where nothing but the data can tell what labels are, the first that is a number but no class makes
/// all of them real numbers; it is given back, with its place.
fn load(
    args: &CompareArgs,
    stream: &StreamConfig,
    lineup: &mut Lineup,
    interrupt: &Interrupt,
) -> anyhow::Result<(Memory, Option<String>)> {
    let mut sources = inputs(&args.data)?;
    check_inputs(&sources)?;
    let mut bad_lines = BadLineFile::new(args.stream.bad_lines.as_deref())?;
    let options = || {
        ReadOptions::default().labels(Labels::Required).skip_bad(args.stream.skip_bad).stop(interrupt.flag())
    };
    let are_classes = stream.one_vs_all || stream.positive.is_some() || !stream.class_weight.is_none();
    let (mut real_label, mut first) = (None, None);
    if !lineup.is_said && !are_classes {
        // A pipe cannot be read twice.
        let flag = interrupt.flag();
        sources = sources.into_iter().map(|source| source.held(&flag)).collect::<Result<_, _>>()?;
        let read = read(stream, lineup, sources.clone(), options())?;
        match &read {
            Err(error) if let Some(found) = real_label_of(error) => {
                (real_label, lineup.kind) = (Some(found), Kind::Regression);
            }
            // Otherwise bad lines are still to be kept.
            _ if args.stream.bad_lines.is_none() => first = Some(read),
            _ => {}
        }
    }
    let read = match first {
        Some(read) => read,
        None => read(stream, lineup, sources, options().bad_lines(bad_lines.for_reader()?))?,
    };
    let is_real = lineup.kind == Kind::Classification
        && read.as_ref().is_err_and(|error| real_label_of(error).is_some());
    let read = bad_lines.finish_with(read);
    let memory = if is_real {
        read.with_context(|| {
            format!("--metric rmse (or mae) compares learners of real labels; {}", takers())
        })?
    } else {
        read?
    };
    bad_lines.warn(memory.skipped());
    if memory.is_empty() {
        bail!("{} holds no examples", args.data[0].display());
    }
    note_positive(stream.positive.as_deref(), memory.label_names());
    Ok((memory, real_label))
}

/// Reads all examples, with labels of the kind that is compared.
fn read(
    stream: &StreamConfig,
    lineup: &Lineup,
    sources: Vec<Input>,
    options: ReadOptions,
) -> anyhow::Result<Result<Memory, StreamError>> {
    let mut config = RunConfig { stream: stream.clone(), ..RunConfig::default() };
    if let Some(learner) = lineup.reads_with()? {
        config.learner = learner;
    }
    Ok(config.reader(sources, options)?.into_memory())
}

/// The label for which a line was refused, and its place, if it is a number but no class.
fn real_label_of(error: &StreamError) -> Option<String> {
    let StreamError::Bad { problem: Problem::Label { found }, place, .. } = error else { return None };
    let found = found.trim_matches('"');
    found.parse::<f64>().is_ok_and(f64::is_finite).then(|| format!("{place} has {found}"))
}

fn task_count(memory: &Memory) -> usize {
    memory.examples().map(|(task, _)| task).collect::<std::collections::BTreeSet<_>>().len()
}

/// What judges unless another metric is asked for: mistakes tell little where one label is rare.
fn usual_metric(memory: &Memory, kind: Kind) -> Metric {
    if kind == Kind::Regression {
        return Metric::Rmse;
    }
    if is_uneven(share_of_positives(memory)) { Metric::Auc } else { Metric::Error }
}

/// Refuses a metric that has no value for these labels: nobody could be the best by it.
fn check_labels(memory: &Memory, metric: Metric) -> anyhow::Result<()> {
    let positives = share_of_positives(memory);
    if memory.examples().all(|(_, example)| example.weight == 0.0) {
        bail!("every example has weight 0; there is nothing to compare by");
    }
    let name = |positive: bool| label_name(memory.label_names(), positive);
    match metric {
        Metric::Auc if !(positives > 0.0 && positives < 1.0) => bail!(
            "--metric auc: every label is {}; the area under the curve needs both labels",
            name(positives > 0.0)
        ),
        Metric::F1 if positives.is_nan() || positives == 0.0 => {
            bail!("--metric f1: no label is {}, of which F1 is the F-measure", name(true))
        }
        _ => Ok(()),
    }
}

fn finish(
    args: &CompareArgs,
    contest: &Contest,
    lineup: &Lineup,
    mut results: Vec<Results>,
) -> anyhow::Result<()> {
    let pages: Vec<Run> = results
        .iter_mut()
        .filter_map(|results| merged(results.runs.iter_mut().filter_map(|run| run.page.take()).collect()))
        .collect();
    let (runs, is_chosen) = (results[0].runs.len(), args.metric.is_none());
    let guesses = contest.guesses(runs, share_of_positives(&contest.memory) >= 0.5)?;
    let ranking = Ranking::of(contest, lineup, &results, &guesses);
    if let Some(path) = &args.report {
        page::write_report(path, pages, &ranking, is_chosen)?;
    }
    if args.json {
        output::print_json(&show::as_json(&ranking, is_chosen))?;
    } else {
        output::print(&show::as_text(&ranking, is_chosen))?;
    }
    if (runs as u64) < contest.runs {
        say(&format!("interrupted: {runs} of {} runs are compared", contest.runs));
        return Err(Interrupted.into());
    }
    Ok(())
}
