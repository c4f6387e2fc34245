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
    pub(crate) fn count(&mut self, task: TaskId, mistake: bool, queried: bool) {
        if self.tasks.len() <= task.index() {
            self.tasks.resize_with(task.index() + 1, || Curve::new(TASK_POINTS));
        }
        self.tasks[task.index()].count(mistake, queried);
        self.stream.count(mistake, queried);
    }

    /// (labels asked for, error so far) of the whole stream: of equal numbers of labels the last.
    pub(crate) fn by_labels(&self) -> Vec<(f64, f64)> {
        let points = self.stream.points();
        let last_of_its_number = |(at, point): (usize, &CurvePoint)| {
            let last = points.get(at + 1).is_none_or(|next| next.queries > point.queries);
            last.then_some((point.queries as f64, error(*point)))
        };
        points
            .iter()
            .enumerate()
            .filter(|(_, point)| point.queries > 0)
            .filter_map(last_of_its_number)
            .collect()
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
    curve.points().into_iter().map(|point| (point.examples as f64, error(point))).collect()
}

fn error(point: CurvePoint) -> f64 {
    point.mistakes as f64 / point.examples as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_of_labels_has_one_point_on_the_curve() {
        let mut curves = Curves::new();
        for (mistake, queried) in [(false, false), (true, true), (true, false), (false, true), (false, false)]
        {
            curves.count(TaskId(0), mistake, queried);
        }
        assert_eq!(curves.by_labels(), [(1.0, 2.0 / 3.0), (2.0, 0.4)]);
        assert_eq!(curves.stream().len(), 5);
    }
}
