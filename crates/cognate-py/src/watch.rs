//! Observers of a model while it learns: curves for pictures, the progressive table, and Ctrl-C.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use cognate::metrics::{Curve, Metrics, Tally};
use cognate::run::{Observer, Progress, RoundReport};
use cognate::{Model, TaskId, Tasks};
use pyo3::prelude::*;

/// Most points of the curve of everything, and of a task's; most tasks that have one.
const POINTS: usize = 1024;
const TASK_POINTS: usize = 128;
const TASKS: usize = 64;

/// How often Python is asked for signals.
const PATIENCE: Duration = Duration::from_millis(100);

/// The exception of a signal, such as Ctrl-C.
#[expect(
    clippy::redundant_closure_for_method_calls,
    reason = "the method is not general enough in its lifetime"
)]
pub(crate) fn signals() -> PyResult<()> {
    Python::attach(|py| py.check_signals())
}

/// Learning curves since the model came into this process.
pub(crate) struct Curves {
    all: Curve,
    tasks: Vec<Curve>,
}

impl Default for Curves {
    fn default() -> Self {
        Self { all: Curve::new(POINTS), tasks: Vec::new() }
    }
}

impl Curves {
    fn count(&mut self, task: TaskId, mistake: bool, queried: bool) {
        self.all.count(mistake, queried);
        let at = task.index();
        if at < TASKS {
            if self.tasks.len() <= at {
                self.tasks.resize_with(at + 1, || Curve::new(TASK_POINTS));
            }
            self.tasks[at].count(mistake, queried);
        }
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

/// A line of the progressive table: the counts so far, the tasks met, and the error since the line before.
pub(crate) type Line = (Tally, usize, f64);

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

    fn observe(&mut self, metrics: &Metrics) {
        if metrics.total().examples - self.before.examples >= self.due {
            self.due *= 2;
            self.line(metrics);
        }
    }

    fn line(&mut self, metrics: &Metrics) {
        let now = *metrics.total();
        let since = Tally {
            examples: now.examples - self.last.examples,
            mistakes: now.mistakes - self.last.mistakes,
            ..Tally::default()
        };
        self.lines.push((now, metrics.tasks_met(), since.error()));
        self.last = now;
    }

    pub(crate) fn finish(&mut self, metrics: &Metrics) {
        if metrics.total().examples > self.last.examples {
            self.line(metrics);
        }
    }
}

/// All observers of a run.
pub(crate) struct Watch<'a> {
    curves: &'a mut Curves,
    table: Option<&'a mut Table>,
    looked: Instant,
    interrupted: Option<PyErr>,
}

impl<'a> Watch<'a> {
    pub(crate) fn new(curves: &'a mut Curves, table: Option<&'a mut Table>) -> Self {
        Self { curves, table, looked: Instant::now(), interrupted: None }
    }

    /// The exception of the signal that stopped the run.
    pub(crate) fn finish(self) -> PyResult<()> {
        self.interrupted.map_or(Ok(()), Err)
    }
}

impl Observer for Watch<'_> {
    fn observe(&mut self, report: &RoundReport, _: &Tasks, metrics: &Metrics) {
        self.curves.count(report.task, report.mistake, report.queried);
        if let Some(table) = &mut self.table {
            table.observe(metrics);
        }
    }

    fn batch_done(&mut self, _: Progress, _: &Model) -> ControlFlow<()> {
        if self.looked.elapsed() < PATIENCE {
            return ControlFlow::Continue(());
        }
        self.looked = Instant::now();
        match signals() {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                self.interrupted = Some(error);
                ControlFlow::Break(())
            }
        }
    }
}
