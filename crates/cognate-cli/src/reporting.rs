//! From a model and its curves to what a page shows.

use cognate::fit::Kind;
use cognate::metrics::Tally;
use cognate::{Inspect, Model, TaskId};

use crate::curves::{Curves, judging};
use crate::judging::{Judged, digits, shown};
use crate::peak_memory::peak_memory_bytes;
use crate::relation::RelationTable;
use cognate_plot::numbers::{percent, significant};
use cognate_plot::page::Tile;
use cognate_plot::page::report::{Labels, Measure, Relation, Run, Task, Totals};
use cognate_plot::page::table::{Cell, Kind as Column};

/// Beyond this many tasks a page has no relation picture: the matrix alone would take gigabytes.
pub(crate) const LARGEST_RELATION: usize = 2000;

/// A run as a page shows it.
pub(crate) fn page_run(name: &str, model: &Model, curves: &Curves, seconds: f64) -> Run {
    shown_run(name, model, curves, None, seconds)
}

/// The same, with what it is judged by.
pub(crate) fn judged_run(name: &str, model: &Model, curves: &Curves, judged: &Judged, seconds: f64) -> Run {
    shown_run(name, model, curves, Some(judged), seconds)
}

fn shown_run(name: &str, model: &Model, curves: &Curves, judged: Option<&Judged>, seconds: f64) -> Run {
    let sorted = model.tasks().sorted();
    let what = if model.kind() == Some(Kind::Regression) { "an error" } else { "a mistake" };
    let relation = (2..=LARGEST_RELATION).contains(&sorted.len()).then(|| {
        let likeness = model.learner().as_inspect().likeness(&sorted);
        if let Some(likeness) = likeness.filter(crate::kin::says_anything) {
            let table = RelationTable::alike(model, &sorted, &likeness);
            return Relation {
                title: "How alike the tasks are".to_owned(),
                caption: "By what each has learnt by itself, noise taken out; empty where the evidence does not say."
                    .to_owned(),
                matrix: table.heatmap("alike").clustered(&table.clustering()),
            };
        }
        let table = RelationTable::of(model, &sorted);
        Relation {
            title: "How much the tasks teach each other".to_owned(),
            caption: format!("R: {what} on the column's task moves the row's task by this much."),
            matrix: table.heatmap("R").clustered(&table.clustering()),
        }
    });
    let parts = crate::parts::as_table(model, &sorted);
    Run { relation, parts, ..counted_run(name, model, curves, judged, seconds) }
}

/// The same without relation and parts: what is merged with another order of the same examples.
pub(crate) fn counted_run(
    name: &str,
    model: &Model,
    curves: &Curves,
    judged: Option<&Judged>,
    seconds: f64,
) -> Run {
    let total = model.metrics().total();
    let sorted = model.tasks().sorted();
    let tasks = sorted.iter().map(|task| {
        let tally = model.metrics().task(*task);
        Task {
            name: model.tasks().name(*task).to_owned(),
            examples: tally.examples,
            mistakes: tally.mistakes,
            value: judging(&tally),
            least: if tally.examples == 0 { f64::NAN } else { tally.surely_above() },
            queries: tally.queries,
            curve: curves.task(*task),
            cells: cells(&tally, judged, *task),
        }
    });
    Run {
        name: name.to_owned(),
        learner: model.config().learner.id().to_owned(),
        config: serde_json::json!(model.config()),
        measure: match model.kind() {
            Some(Kind::Regression) => Measure::Rmse,
            Some(Kind::Classification) | None => Measure::Error,
        },
        totals: Totals {
            examples: total.examples,
            mistakes: total.mistakes,
            value: judging(total),
            updates: total.updates,
            measures: judged.map_or_else(Vec::new, |judged| measures(total, judged)),
            notes: judged.map_or_else(Vec::new, |judged| judged.plain_notes(model)),
            seconds,
            peak_memory_bytes: peak_memory_bytes(),
            unlabelled: model.metrics().unlabelled(),
        },
        curve: curves.stream(),
        labels: (!model.config().query.is_all())
            .then(|| Labels { asked: total.queries, curve: curves.by_labels() }),
        tasks: tasks.collect(),
        relation: None,
        parts: None,
        tiles: tiles(total),
        columns: columns(total, judged.is_some()),
    }
}

fn tiles(total: &Tally) -> Vec<Tile> {
    if total.kind() == Some(Kind::Regression) {
        return Vec::new();
    }
    vec![Tile { name: "F-measure", value: shown(total.measures(None).f1, |f1| percent(f1, 2)) }]
}

/// What the table of tasks shows beside counts; [`cells`] are its cells.
fn columns(total: &Tally, judged: bool) -> Vec<(&'static str, Column)> {
    let mut columns = match total.kind() {
        Some(Kind::Regression) => vec![("RMSE of the mean so far", Column::Number)],
        _ => vec![("F-measure", Column::Number), ("constant guess", Column::Number)],
    };
    columns.extend((judged && total.kind() != Some(Kind::Regression)).then_some(("AUC", Column::Number)));
    columns
}

fn cells(tally: &Tally, judged: Option<&Judged>, task: TaskId) -> Vec<Cell> {
    let cell = |value: Option<f64>, text: fn(f64) -> String| {
        Cell::Number(value.unwrap_or(f64::NAN), shown(value, text))
    };
    let share = |value: f64| percent(value, 2);
    if tally.kind() == Some(Kind::Regression) {
        return vec![cell(tally.constant_rmse(), significant)];
    }
    let mut cells = vec![cell(tally.measures(None).f1, share), cell(tally.constant_error(), share)];
    cells.extend(judged.map(|judged| cell(judged.task(task), digits)));
    cells
}

/// What a run is judged by, in words.
fn measures(total: &Tally, judged: &Judged) -> Vec<(&'static str, String)> {
    let share = |value: Option<f64>| shown(value, |value| percent(value, 2));
    if total.kind() == Some(Kind::Regression) {
        return vec![
            ("root mean squared error", shown(total.rmse(), significant)),
            ("the same of the mean so far", shown(total.constant_rmse(), significant)),
            ("mean absolute error", shown(total.mae(), significant)),
            ("R2 against the mean so far", shown(total.r2(), digits)),
            ("loss", shown(total.loss(), significant)),
        ];
    }
    let of_total = total.measures(None);
    let mut measures = vec![
        ("error", share(of_total.error)),
        ("error of the constant guess so far", share(of_total.constant_error)),
        ("balanced error", share(of_total.balanced_error)),
        ("precision", share(of_total.precision)),
        ("recall", share(of_total.recall)),
        ("AUC", shown(judged.total(), digits)),
        ("log loss", shown(total.log_loss(), digits)),
        ("Brier score", shown(total.brier(), digits)),
    ];
    measures.extend(judged.classes.iter().flat_map(|classes| {
        let constant = "multiclass error of the constant guess so far";
        [("multiclass error", share(classes.error())), (constant, share(classes.constant_error()))]
    }));
    measures
}

/// The command as it was typed, for the foot of a page.
pub(crate) fn command_line() -> String {
    let words = std::env::args_os().enumerate().map(|(at, word)| match at {
        0 => "cognate".to_owned(),
        _ => shell_word(&word.to_string_lossy()),
    });
    words.collect::<Vec<_>>().join(" ")
}

/// A word as a shell takes it.
pub(crate) fn shell_word(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./=,:%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// Bytes that the learner and the tables around it hold.
pub(crate) fn model_bytes(model: &Model) -> u64 {
    let learner: &dyn Inspect = model.learner().as_inspect();
    (learner.heap_bytes() + model.tasks().heap_bytes() + model.names().heap_bytes()) as u64
}
