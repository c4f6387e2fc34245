//! Observers of a model while it learns: curves for pictures, the progressive table, and Ctrl-C.

use std::ops::ControlFlow;

use cognate::fit::Kind;
use cognate::metrics::{Auc, Curve, Metrics, Ranking, Tally};
use cognate::run::{Observer, Progress, RoundReport};
use cognate::{Model, TaskId, Tasks};
use pyo3::prelude::*;

use crate::background::Patience;

/// Most points of the curve of everything, and of a task's; most tasks that have one.
const POINTS: usize = 1024;
const TASK_POINTS: usize = 128;
const TASKS: usize = 64;

/// Learning curves and margins since the model came into this process.
pub(crate) struct Curves {
    all: Curve,
    tasks: Vec<Curve>,
    ranking: Ranking,
}

impl Default for Curves {
    fn default() -> Self {
        Self { all: Curve::new(POINTS), tasks: Vec::new(), ranking: Ranking::default() }
    }
}

impl Curves {
    pub(crate) fn count(&mut self, report: &RoundReport, is_class: bool) {
        let RoundReport { task, label, weight, margin, mistake, queried, .. } = *report;
        if is_class {
            self.ranking.count(task, label, weight, margin);
        }
        self.all.count(mistake, queried);
        let at = task.index();
        if at < TASKS {
            if self.tasks.len() <= at {
                self.tasks.resize_with(at + 1, || Curve::new(TASK_POINTS));
            }
            self.tasks[at].count(mistake, queried);
        }
    }

    /// Margins before learning beside labels.
    pub(crate) fn ranking(&self) -> &Ranking {
        &self.ranking
    }

    /// Examples and mistakes, of one of the first tasks or of all.
    pub(crate) fn points(&self, task: Option<TaskId>) -> Vec<(u64, u64)> {
        let curve = match task {
            None => Some(&self.all),
            Some(task) => self.tasks.get(task.index()),
        };
        let points = curve.map(Curve::points).unwrap_or_default();
        points.into_iter().map(|point| (point.examples, point.mistakes)).collect()
    }
}

/// A line of the progressive table: the counts and the area so far, the tasks met, and how wrong it was since the line before.
pub(crate) type Line = (Tally, Option<Auc>, usize, Option<f64>);

/// How wrong predictions were: the error, or the root mean squared error of real labels.
pub(crate) fn judged(tally: &Tally) -> Option<f64> {
    let measures = tally.measures(None);
    if tally.kind() == Some(Kind::Regression) { measures.rmse } else { measures.error }
}

/// The progressive table as `cognate learn` prints it: at 1, 2, 4, 8, … examples, and at the end.
pub(crate) struct Table {
    before: Tally,
    last: Tally,
    due: u64,
    pub(crate) lines: Vec<Line>,
}

impl Table {
    pub(crate) fn new(metrics: &Metrics) -> Self {
        Self { before: *metrics.total(), last: *metrics.total(), due: 1, lines: Vec::new() }
    }

    fn observe(&mut self, metrics: &Metrics, ranking: &Ranking) {
        if metrics.total().examples - self.before.examples >= self.due {
            self.due *= 2;
            self.line(metrics, ranking);
        }
    }

    fn line(&mut self, metrics: &Metrics, ranking: &Ranking) {
        let now = *metrics.total();
        let since = now.since(&self.last);
        self.lines.push((now, ranking.auc(), metrics.tasks_met(), judged(&since)));
        self.last = now;
    }

    pub(crate) fn finish(&mut self, metrics: &Metrics, ranking: &Ranking) {
        if metrics.total().examples > self.last.examples {
            self.line(metrics, ranking);
        }
    }
}

/// What a run looks after from turn to turn.
pub(crate) struct Looked<'a> {
    table: Option<&'a mut Table>,
    patience: Patience,
}

impl<'a> Looked<'a> {
    pub(crate) fn new(table: Option<&'a mut Table>) -> Self {
        Self { table, patience: Patience::new() }
    }

    /// Asks Python for signals.
    pub(crate) fn look(&mut self) {
        self.patience.go_on();
    }

    /// The exception of the signal that stopped the run.
    pub(crate) fn finish(self) -> PyResult<()> {
        self.patience.finish()
    }
}

/// All observers of a turn.
pub(crate) struct Watch<'a, 'b> {
    pub(crate) curves: &'a mut Curves,
    pub(crate) looked: &'a mut Looked<'b>,
}

impl Observer for Watch<'_, '_> {
    fn observe(&mut self, report: &RoundReport, _: &Tasks, metrics: &Metrics) {
        let is_class = metrics.total().kind() == Some(Kind::Classification);
        self.curves.count(report, is_class);
        if let Some(table) = &mut self.looked.table {
            table.observe(metrics, &self.curves.ranking);
        }
    }

    fn batch_done(&mut self, _: Progress, _: &Model) -> ControlFlow<()> {
        if self.looked.patience.interrupted.is_none() {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    }
}
