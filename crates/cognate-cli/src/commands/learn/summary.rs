//! What a run did: for people, and for programs.

use std::time::Duration;

use cognate::fit::Kind;
use cognate::metrics::{Measures, Tally};
use cognate::model::ModelConfig;
use cognate::{LearnerConfig, Model, QueryConfig, ShardReport, TaskId};
use serde::Serialize;

use crate::judging::{ClassTally, Judged, digits, second_sentence, sentence, shown};
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
    #[serde(flatten)]
    measures: Measures,
    #[serde(skip_serializing_if = "Option::is_none")]
    auc_error: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    auc_within_tasks: Option<f64>,
    #[serde(flatten)]
    classes: Option<ClassRow>,
    updates: u64,
    queries: u64,
    unlabelled: u64,
    asked: u64,
    skipped: u64,
    /// Over how many shards tasks are spread, where there are several, and how their rounds went.
    #[serde(skip_serializing_if = "Option::is_none")]
    shards: Option<ShardRow>,
    /// One by one, where there were several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    passes: Vec<PassRow>,
    /// What a reader of the numbers should know.
    notes: Vec<String>,
    tasks: TaskRows<'a>,
    learner: &'a LearnerConfig,
    query: &'a QueryConfig,
    config: &'a ModelConfig,
    run_examples: u64,
    seconds: f64,
    examples_per_second: f64,
    peak_memory_bytes: Option<u64>,
}

/// The summary behind the lines of a trace.
#[derive(Serialize)]
pub(super) struct LastLine<'a> {
    pub(super) summary: Summary<'a>,
}

/// The tasks of a model, one row each, made while they are written: there may be a million.
struct TaskRows<'a>(&'a Model, &'a Judged);

/// What became of the shards.
#[derive(Serialize)]
struct ShardRow {
    count: u32,
    /// Those that have a task.
    occupied: u32,
    /// Rounds that have ended, over the model's life.
    rounds: u64,
    /// Those of them whose summed changes were scaled down.
    scaled: u64,
}

impl From<ShardReport> for ShardRow {
    fn from(report: ShardReport) -> Self {
        let ShardReport { count, occupied, rounds, scaled, .. } = report;
        Self { count, occupied, rounds, scaled }
    }
}

impl ShardRow {
    fn sentence(&self) -> String {
        let Self { count: shards, occupied, rounds, scaled } = self;
        let occupied = match occupied {
            all if all == shards => String::new(),
            some => format!(", {} of them with tasks", count(u64::from(*some))),
        };
        let scaled = match scaled {
            0 => String::new(),
            some => format!(
                "; the changes of {} were scaled down, --mix of fewer examples may err less",
                count(*some)
            ),
        };
        format!("{} shards{occupied}, mixed {} times{scaled}", count(u64::from(*shards)), count(*rounds))
    }
}

/// A pass over the stream.
#[derive(Serialize)]
struct PassRow {
    pass: usize,
    /// Whether its examples had been seen: in an earlier pass, or as far as is known a fifth of them or more in another way.
    seen_before: bool,
    examples: u64,
    mistakes: u64,
    #[serde(flatten)]
    measures: Measures,
    #[serde(flatten)]
    classes: Option<ClassRow>,
}

/// Lines by the class that was predicted.
#[derive(Serialize)]
#[expect(clippy::struct_field_names, reason = "they stand beside the numbers of single examples")]
struct ClassRow {
    multiclass_examples: u64,
    multiclass_mistakes: u64,
    multiclass_error: Option<f64>,
    multiclass_constant_error: Option<f64>,
}

impl From<ClassTally> for ClassRow {
    fn from(tally: ClassTally) -> Self {
        Self {
            multiclass_examples: tally.lines,
            multiclass_mistakes: tally.mistakes,
            multiclass_error: tally.error(),
            multiclass_constant_error: tally.constant_error(),
        }
    }
}

impl Serialize for TaskRows<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Row<'a> {
            task: &'a str,
            examples: u64,
            mistakes: u64,
            #[serde(flatten)]
            measures: Measures,
            #[serde(skip_serializing_if = "Option::is_none")]
            auc_error: Option<f64>,
            updates: u64,
            queries: u64,
        }
        serializer.collect_seq(self.0.tasks().sorted().into_iter().map(|task| {
            let tally = self.0.metrics().task(task);
            Row {
                task: self.0.tasks().name(task),
                examples: tally.examples,
                mistakes: tally.mistakes,
                measures: tally.measures(self.1.task(task)),
                auc_error: self.1.task_error(task),
                updates: tally.updates,
                queries: tally.queries,
            }
        }))
    }
}

pub(super) fn summary<'a>(model: &'a Model, run: &Finished, judged: &'a Judged) -> Summary<'a> {
    let total = model.metrics().total();
    Summary {
        examples: total.examples,
        mistakes: total.mistakes,
        measures: total.measures(judged.total()),
        auc_error: judged.total_error(),
        auc_within_tasks: judged.within_tasks().filter(|_| model.tasks().len() > 1),
        classes: judged.classes.map(ClassRow::from),
        updates: total.updates,
        queries: total.queries,
        unlabelled: model.metrics().unlabelled(),
        asked: model.metrics().asked(),
        skipped: run.skipped,
        shards: model.learner().as_inspect().shards().map(ShardRow::from),
        passes: pass_rows(judged),
        notes: judged.plain_notes(model),
        tasks: TaskRows(model, judged),
        learner: &model.config().learner,
        query: &model.config().query,
        config: model.config(),
        run_examples: run.examples,
        seconds: run.seconds.as_secs_f64(),
        examples_per_second: run.rate(),
        peak_memory_bytes: peak_memory_bytes(),
    }
}

fn pass_rows(judged: &Judged) -> Vec<PassRow> {
    let row = |(at, pass): (usize, &crate::judging::Pass)| PassRow {
        pass: at + 1,
        seen_before: pass.seen_before.is_some(),
        examples: pass.tally.examples,
        mistakes: pass.tally.mistakes,
        measures: pass.tally.measures(pass.auc),
        classes: pass.classes.map(ClassRow::from),
    };
    judged.passes.iter().enumerate().map(row).collect()
}

/// Most tasks that the summary for people lists.
const LISTED: usize = 20;

pub(super) fn summary_text(model: &Model, run: &Finished, judged: &Judged) -> String {
    let total = model.metrics().total();
    let columns = Columns::of(model);
    let (listed, heading) = listed_tasks(model);
    let mut rows: Vec<_> = listed
        .iter()
        .map(|task| {
            let name = shown_name(model.tasks().name(*task));
            columns.row(name, &model.metrics().task(*task), judged.task(*task))
        })
        .collect();
    if model.tasks().len() > listed.len() {
        rows.push(vec![format!("… {} more", count((model.tasks().len() - listed.len()) as u64))]);
    }
    rows.push(columns.row("all".to_owned(), total, judged.total()));
    let table = table(&columns.header(), rows).trim_fmt();
    let memory =
        peak_memory_bytes().map_or(String::new(), |peak| format!(", peak memory {}", output::bytes(peak)));
    let unlabelled = match run.unlabelled {
        0 => String::new(),
        some => format!(" and {} lines without a label", count(some)),
    };
    let passes = judged.passes.iter().enumerate().map(|(at, pass)| {
        let seen = match pass.seen_before {
            None => String::new(),
            Some(share) if at == 0 => {
                format!(
                    ", about {} of it of examples seen before",
                    percent(share, 0).replace('\u{202f}', " ")
                )
            }
            Some(_) => ", of examples seen before".to_owned(),
        };
        let classes = pass.classes.map_or_else(String::new, |classes| format!(", {}", classes.sentence()));
        format!("pass {}{seen}: {}{classes}\n", at + 1, sentence(&pass.tally, pass.auc))
    });
    let all = (total.examples > 0).then(|| sentence(total, judged.total()));
    let classes = judged.classes.filter(|classes| classes.lines > 0).map(|classes| classes.sentence());
    let all = all
        .into_iter()
        .chain(second_sentence(total))
        .chain(classes)
        .chain(model.learner().as_inspect().shards().map(|report| ShardRow::from(report).sentence()))
        .map(|line| line + "\n")
        .collect::<String>();
    format!(
        "{heading}{table}\n\n{all}{}{} examples{unlabelled} in {} ({} per second){memory}",
        passes.collect::<String>(),
        count(run.examples),
        duration(run.seconds.as_secs_f64()),
        count(run.rate() as u64),
    )
}

/// The tasks to list, all by name or those that surely err most, and a heading that says so.
fn listed_tasks(model: &Model) -> (Vec<TaskId>, String) {
    let mut tasks = model.tasks().sorted();
    if tasks.len() <= LISTED {
        return (tasks, String::new());
    }
    let surely = |task: &TaskId| model.metrics().task(*task).surely_above();
    tasks.sort_by(|one, other| surely(other).total_cmp(&surely(one)));
    let what = if model.kind() == Some(Kind::Regression) { "RMSE" } else { "error" };
    let heading = format!(
        "{LISTED} of {} tasks: those of highest {what} that chance does not explain (lower 95 % bound)\n",
        count(tasks.len() as u64)
    );
    tasks.truncate(LISTED);
    (tasks, heading)
}

/// Columns of the table for people.
struct Columns {
    is_class: bool,
    probabilities: bool,
    asks_all: bool,
}

impl Columns {
    fn of(model: &Model) -> Self {
        Self {
            is_class: model.kind() != Some(Kind::Regression),
            probabilities: model.learner().as_inspect().probability(0.0).is_some(),
            asks_all: model.config().query.is_all(),
        }
    }

    fn header(&self) -> Vec<&'static str> {
        let mut header = vec!["task", "examples"];
        if self.is_class {
            header.extend(["mistakes", "error", "constant"]);
            header.extend(self.probabilities.then_some("log loss"));
            header.extend(["AUC", "F1"]);
        } else {
            header.extend(["RMSE", "mean so far", "MAE", "R2", "loss"]);
        }
        header.push("updates");
        header.extend((!self.asks_all).then_some("labels asked"));
        header
    }

    fn row(&self, name: String, tally: &Tally, auc: Option<f64>) -> Vec<String> {
        let mut row = vec![name, count(tally.examples)];
        let places = |value: Option<f64>| shown(value, |value| format!("{value:.4}"));
        if self.is_class {
            row.push(count(tally.mistakes));
            let (measures, share) = (tally.measures(auc), |value: f64| percent(value, 2));
            row.extend([measures.error, measures.constant_error].map(|value| shown(value, share)));
            row.extend(self.probabilities.then(|| places(measures.log_loss)));
            row.push(places(measures.auc));
            row.push(shown(measures.f1, share));
        } else {
            row.extend([tally.rmse(), tally.constant_rmse(), tally.mae()].map(|value| shown(value, digits)));
            row.extend([places(tally.r2()), shown(tally.loss(), digits)]);
        }
        row.push(count(tally.updates));
        row.extend((!self.asks_all).then(|| count(tally.queries)));
        row
    }
}
