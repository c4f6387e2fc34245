//! Learning curves of a run, for its report.

use cognate::TaskId;
use cognate::metrics::{Curve, CurvePoint};

/// Most points of the curve of the whole stream, and of a task's.
const STREAM_POINTS: usize = 1024;
const TASK_POINTS: usize = 128;

/// The curve of the whole stream and of each task.
#[derive(Debug, Clone)]
pub(crate) struct Curves {
    stream: Curve,
    tasks: Vec<Curve>,
}

impl Curves {
    /// Empty curves.
    pub(crate) fn new() -> Self {
        Self { stream: Curve::new(STREAM_POINTS), tasks: Vec::new() }
    }

    /// Counts an example.
    pub(crate) fn count(&mut self, task: TaskId, mistake: bool) {
        if self.tasks.len() <= task.index() {
            self.tasks.resize_with(task.index() + 1, || Curve::new(TASK_POINTS));
        }
        self.tasks[task.index()].count(mistake);
        self.stream.count(mistake);
    }

    /// (examples, error so far) of the whole stream.
    pub(crate) fn stream(&self) -> Vec<(f64, f64)> {
        points(&self.stream)
    }

    /// The same of a task.
    pub(crate) fn task(&self, task: TaskId) -> Vec<(f64, f64)> {
        self.tasks.get(task.index()).map(points).unwrap_or_default()
    }
}

fn points(curve: &Curve) -> Vec<(f64, f64)> {
    let error = |point: CurvePoint| (point.examples as f64, point.mistakes as f64 / point.examples as f64);
    curve.points().into_iter().map(error).collect()
}
