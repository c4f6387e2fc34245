//! What a run did: for people, and for programs.

use std::time::Duration;

use cognate::model::ModelConfig;
use cognate::{LearnerConfig, Model, QueryConfig};
use serde::Serialize;

use crate::output::{self, shown_name, table};
use crate::peak_memory::peak_memory_bytes;
use cognate_plot::numbers::{count, duration, percent};

/// Counts of a model when a run begins.
pub(super) struct Counts([u64; 3]);

impl Counts {
    pub(super) fn of(model: &Model) -> Self {
        let metrics = model.metrics();
        Self([metrics.total().examples, metrics.unlabelled(), metrics.asked()])
    }

    /// What has been counted since.
    pub(super) fn until(&self, model: &Model) -> Finished {
        let Self([examples, unlabelled, asked]) = Self::of(model);
        let Self(before) = self;
        Finished {
            examples: examples - before[0],
            unlabelled: unlabelled - before[1],
            asked: asked - before[2],
            ..Finished::default()
        }
    }
}

/// What this run did, besides what the model counts over its life.
#[derive(Default)]
pub(super) struct Finished {
    pub(super) seconds: Duration,
    pub(super) examples: u64,
    /// Lines without a label, and those of them that were asked for.
    pub(super) unlabelled: u64,
    pub(super) asked: u64,
    pub(super) skipped: u64,
}

impl Finished {
    fn rate(&self) -> f64 {
        self.examples as f64 / self.seconds.as_secs_f64().max(1e-9)
    }
}

/// The summary that programs read; counts are over the model's life, times over this run.
#[derive(Serialize)]
pub(super) struct Summary<'a> {
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

pub(super) fn summary<'a>(model: &'a Model, run: &Finished) -> Summary<'a> {
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

pub(super) fn summary_text(model: &Model, run: &Finished) -> String {
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
