//! Which tasks ROM marks as outliers: what the title of ROM17 is about, and its tables do not show.

use cognate::stream::synthetic::random_walk;
use serde_json::json;

use super::tuning::Grid;
use super::walk::ROUNDS;
use crate::findings::{Cell, Table};
use crate::runs::{Way, pass};
use crate::{Claim, Lab};

/// The variances of the last step at which one task is an outlier, and none is.
const FAR: f64 = 12.25;
const CLOSE: f64 = 0.09;

/// Out of ten streams, on how many the right tasks must be marked.
const MOST: f64 = 0.9;

/// What is found.
pub(super) struct Marks {
    pub(super) table: Table,
    pub(super) claims: Vec<Claim>,
    pub(super) notes: Vec<String>,
}

/// A pass: which tasks have an outlier part at its end, and its error in %.
struct Marked {
    tasks: Vec<bool>,
    mistakes: u64,
    error: f64,
}

fn mark(lab: &Lab, way: &Way, variance: f64, seed: u64) -> anyhow::Result<Marked> {
    let passed = pass(lab, way, random_walk(variance, ROUNDS, seed).stream)?;
    let tasks: Vec<_> = (1..=5).filter_map(|task| passed.model.tasks().find(&task.to_string())).collect();
    let parts = passed.model.learner().as_inspect().parts(&tasks).unwrap_or_default();
    Ok(Marked {
        tasks: parts.iter().map(|part| part.outlier_active).collect(),
        mistakes: passed.total().mistakes,
        error: 100.0 * passed.error(),
    })
}

/// Whether the fifth task is marked and no other, or none at all.
fn is_right(marked: &[bool], variance: f64) -> bool {
    marked == [false, false, false, false, variance == FAR]
}

/// The grid point with the fewest mistakes among those that mark task 5 alone far away and none nearby, on the stream for
/// tuning; if there is none, that with the fewest mistakes.
fn identifying(lab: &Lab, what: &str, grid: &Grid) -> anyhow::Result<Way> {
    const WRONG: u64 = 1 << 40;
    grid.best(lab, true, &|ways| {
        lab.pool.all(what, ways, |way| {
            let (far, close) = (mark(lab, way, FAR, 0)?, mark(lab, way, CLOSE, 0)?);
            let wrong = u64::from(!is_right(&far.tasks, FAR)) + u64::from(!is_right(&close.tasks, CLOSE));
            Ok(wrong * WRONG + far.mistakes)
        })
    })
}

/// Marks with the learners that table I's tuning chose at 12.25, ROM-PGD and ROM-RDA, and with ones tuned to identify.
pub(super) fn marked(lab: &Lab, tuned: &[Way], seeds: u64) -> anyhow::Result<Marks> {
    let auto = Way { simultaneous: true, ..Way::new(json!({ "rom-pgd": { "eta": "auto" } })) };
    let ways = [
        ("ROM-PGD, tuned by error", tuned[0].clone()),
        ("ROM-RDA, tuned by error", tuned[1].clone()),
        ("ROM-PGD, eta = \"auto\"", auto),
        ("ROM-PGD, eta = \"auto\", tuned to identify", identifying(lab, "outliers", &Grid::pgd_auto())?),
        ("ROM-RDA, tuned to identify", identifying(lab, "outliers", &Grid::rda())?),
    ];
    let mut rows = Vec::new();
    let [mut by_error, mut to_identify] = [
        "tuned by error, as table I is, ROM marks task 5 as the outlier at delta^2 = 12.25, and none at 0.09",
        "tuned to identify, it does",
    ]
    .map(Claim::ours);
    for (name, way) in &ways {
        let jobs: Vec<(f64, u64)> = [FAR, CLOSE]
            .into_iter()
            .flat_map(|variance| (1..=seeds).map(move |seed| (variance, seed)))
            .collect();
        let marks = lab.pool.all("outliers", &jobs, |(variance, seed)| mark(lab, way, *variance, *seed))?;
        let (far, close) = marks.split_at(seeds as usize);
        let right = |marks: &[Marked], variance: f64| {
            marks.iter().filter(|mark| is_right(&mark.tasks, variance)).count()
        };
        let (on_far, on_close) = (right(far, FAR), right(close, CLOSE));
        let of_task = |task: usize| {
            Cell::number(
                far.iter().filter(|mark| mark.tasks.get(task) == Some(&true)).count() as f64,
                None,
                0,
            )
        };
        let mut cells: Vec<Cell> = (0..5).map(of_task).collect();
        cells.push(Cell::of(&far.iter().map(|mark| mark.error).collect::<Vec<_>>(), None, 2));
        cells.push(Cell::number(on_close as f64, None, 0));
        rows.push(((*name).to_owned(), cells));
        let least = (MOST * seeds as f64).ceil() as usize;
        let condition = format!("{name}: exactly so on at least {least} of {seeds} streams each");
        let (holds, ours) = (on_far.min(on_close) >= least, format!("{on_far} and {on_close}"));
        if name.ends_with("by error") {
            by_error = by_error.test(condition, holds, ours);
        } else {
            to_identify = to_identify.test(condition, holds, ours);
        }
    }
    let mut columns: Vec<String> = (1..=5).map(|task| format!("12.25: task {task} marked")).collect();
    columns.extend(["12.25: error in %".to_owned(), "0.09: none marked".to_owned()]);
    Ok(Marks {
        table: Table { title: format!("Tasks with an outlier part, streams of {seeds}"), columns, rows },
        claims: vec![by_error, to_identify],
        notes: ways[3..].iter().map(|(name, way)| format!("{name}: {}.", way.learner)).collect(),
    })
}
