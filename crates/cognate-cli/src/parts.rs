//! The parts of tasks' weights, where a learner has them: shared, individual, outlier. As text, JSON and a page's table.

use cognate::{Model, Parts, TaskId};
use serde_json::{Value, json};

use crate::output::{shown_name, table};
use cognate_plot::page::table::{Cell, Kind, Table};

/// Most tasks that the table for people shows.
const LISTED: usize = 16;
/// Most tasks in the table of a page.
const ROWS: usize = 200;

/// The parts of some tasks, with their names; outliers first, else in the order given.
fn of(model: &Model, tasks: &[TaskId]) -> Option<Vec<(String, Parts)>> {
    let parts = model.learner().as_inspect().parts(tasks)?;
    let names = tasks.iter().map(|task| model.tasks().name(*task).to_owned());
    let mut named: Vec<_> = names.zip(parts).collect();
    named.sort_by_key(|(_, parts)| !parts.outlier_active);
    Some(named)
}

/// For `relations --json`; null where the learner has no parts.
pub(crate) fn as_json(model: &Model, tasks: &[TaskId]) -> Value {
    let row = |(task, parts): (String, Parts)| {
        json!({
            "task": task,
            "shared": parts.shared,
            "individual": parts.individual,
            "outlier": parts.outlier,
            "outlier_active": parts.outlier_active,
        })
    };
    of(model, tasks).map_or(Value::Null, |parts| parts.into_iter().map(row).collect())
}

/// What `relations` prints below the matrix; nothing where the learner has no parts.
pub(crate) fn as_text(model: &Model, tasks: &[TaskId]) -> String {
    let Some(parts) = of(model, tasks) else { return String::new() };
    let row = |(task, parts): &(String, Parts)| {
        let mut row = vec![shown_name(task)];
        row.extend([parts.shared, parts.individual, parts.outlier].map(|norm| format!("{norm:.4}")));
        row.push(if parts.outlier_active { "outlier" } else { "" }.to_owned());
        row
    };
    let rows = table(&["norms", "shared", "individual", "outlier", ""], parts.iter().take(LISTED).map(row));
    let more = parts.len().saturating_sub(LISTED);
    let rest =
        if more > 0 { format!("\n\n… and {more} more tasks: --json, or --only") } else { String::new() };
    format!("\n\n{}{rest}", rows.trim_fmt())
}

/// What a page shows.
pub(crate) fn as_table(model: &Model, tasks: &[TaskId]) -> Option<Table> {
    let row = |(task, parts): &(String, Parts)| {
        let mut row = vec![Cell::Text(task.clone())];
        let norms = [parts.shared, parts.individual, parts.outlier];
        row.extend(norms.map(|norm| Cell::Number(norm, format!("{norm:.4}"))));
        row.push(Cell::Text(if parts.outlier_active { "outlier" } else { "" }.to_owned()));
        row
    };
    let columns = vec![
        ("task", Kind::Text),
        ("shared", Kind::Number),
        ("individual", Kind::Number),
        ("outlier", Kind::Number),
        ("marked", Kind::Text),
    ];
    of(model, tasks).map(|parts| Table {
        columns,
        rows: parts.iter().take(ROWS).map(row).collect(),
        strong: None,
    })
}
