//! From a model and its curves to what a page shows.

use cognate::{Inspect, Model};

use crate::curves::Curves;
use crate::peak_memory::peak_memory_bytes;
use crate::relation::RelationTable;
use cognate_plot::page::report::{Labels, Relation, Run, Task, Totals};

/// Beyond this many tasks a page has no relation picture: the matrix alone would take gigabytes.
pub(crate) const LARGEST_RELATION: usize = 2000;

/// A run as a page shows it.
pub(crate) fn page_run(name: &str, model: &Model, curves: &Curves, seconds: f64) -> Run {
    let total = model.metrics().total();
    let sorted = model.tasks().sorted();
    let tasks = sorted.iter().map(|task| {
        let tally = model.metrics().task(*task);
        Task {
            name: model.tasks().name(*task).to_owned(),
            examples: tally.examples,
            mistakes: tally.mistakes,
            queries: tally.queries,
            f1: Some(tally.f1()),
            curve: curves.task(*task),
        }
    });
    let relation = (2..=LARGEST_RELATION).contains(&sorted.len()).then(|| {
        let table = RelationTable::of(model, &sorted);
        Relation {
            title: "How much the tasks teach each other".to_owned(),
            caption: "R: a mistake on the column's task moves the row's task by this much.".to_owned(),
            matrix: table.heatmap("R").clustered(&table.clustering()),
        }
    });
    Run {
        name: name.to_owned(),
        learner: model.config().learner.id().to_owned(),
        config: serde_json::json!(model.config()),
        totals: Totals {
            examples: total.examples,
            mistakes: total.mistakes,
            updates: total.updates,
            f1: Some(total.f1()),
            seconds,
            peak_memory_bytes: peak_memory_bytes(),
            unlabelled: model.metrics().unlabelled(),
        },
        curve: curves.stream(),
        labels: (!model.config().query.is_all())
            .then(|| Labels { asked: total.queries, curve: curves.by_labels() }),
        tasks: tasks.collect(),
        relation,
        parts: crate::parts::as_table(model, &sorted),
    }
}

/// The command as it was typed, for the foot of a page.
pub(crate) fn command_line() -> String {
    let quoted = std::env::args().enumerate().map(|(at, word)| match at {
        0 => "cognate".to_owned(),
        _ if word.chars().all(|c| c.is_alphanumeric() || "-_./=,:%+".contains(c)) => word,
        _ => format!("'{}'", word.replace('\'', r"'\''")),
    });
    quoted.collect::<Vec<_>>().join(" ")
}

/// Bytes that the learner and the tables around it hold.
pub(crate) fn model_bytes(model: &Model) -> u64 {
    let learner: &dyn Inspect = model.learner().as_inspect();
    (learner.heap_bytes() + model.tasks().heap_bytes() + model.names().heap_bytes()) as u64
}
