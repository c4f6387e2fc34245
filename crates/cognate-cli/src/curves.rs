//! Learning curves of a run, for its report.
//!
//! Points are read off the model's own counts, so that the end of a curve is the number that tables show: by weight, with
//! real labels, and of all that the model has learnt where a run goes on with it.

use cognate::TaskId;
use cognate::fit::Kind;
use cognate::metrics::{Metrics, Tally};

/// Most points of the curve of the whole stream, and of a task's.
const STREAM_POINTS: usize = 1024;
const TASK_POINTS: usize = 128;

/// The curve of the whole stream and of each task.
#[derive(Debug, Clone)]
pub(crate) struct Curves {
    stream: Track,
    tasks: Vec<Track>,
}

/// A point: the number that judges, after so many examples and labels asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Point {
    examples: u64,
    queries: u64,
    value: f64,
}

/// Evenly spaced points, with the spacing doubled when there are too many.
#[derive(Debug, Clone)]
struct Track {
    points: Vec<Point>,
    most: usize,
    stride: u64,
    last: Point,
}

/// What judges the predictions so far: the error, or of real labels the root mean squared error.
pub(crate) fn judging(tally: &Tally) -> f64 {
    match tally.kind() {
        Some(Kind::Regression) => tally.rmse().unwrap_or(f64::NAN),
        Some(Kind::Classification) => tally.measures(None).error.unwrap_or(f64::NAN),
        None => f64::NAN,
    }
}

impl Track {
    fn new(most: usize) -> Self {
        Self { points: Vec::new(), most, stride: 1, last: Point::default() }
    }

    fn follow(&mut self, tally: &Tally) {
        // Of a round that was counted as a whole, the first call tells all.
        if tally.examples <= self.last.examples {
            return;
        }
        self.last = Point { examples: tally.examples, queries: tally.queries, value: judging(tally) };
        if self.last.examples.is_multiple_of(self.stride) {
            self.points.push(self.last);
            if self.points.len() >= self.most {
                self.stride *= 2;
                let stride = self.stride;
                self.points.retain(|point| point.examples.is_multiple_of(stride));
            }
        }
    }

    /// The points, ending with the last example counted.
    fn points(&self) -> Vec<Point> {
        let mut points = self.points.clone();
        // Values may be no numbers, which are never equal.
        if points.last().map_or(0, |point| point.examples) < self.last.examples {
            points.push(self.last);
        }
        points
    }

    fn by_examples(&self) -> Vec<(f64, f64)> {
        self.points().into_iter().map(|point| (point.examples as f64, point.value)).collect()
    }
}

impl Curves {
    /// Empty curves.
    pub(crate) fn new() -> Self {
        Self { stream: Track::new(STREAM_POINTS), tasks: Vec::new() }
    }

    /// After an example of a task was counted.
    pub(crate) fn follow(&mut self, task: TaskId, metrics: &Metrics) {
        if self.tasks.len() <= task.index() {
            self.tasks.resize_with(task.index() + 1, || Track::new(TASK_POINTS));
        }
        self.tasks[task.index()].follow(&metrics.task(task));
        self.stream.follow(metrics.total());
    }

    /// (labels asked for, error so far) of the whole stream: of equal numbers of labels the last.
    pub(crate) fn by_labels(&self) -> Vec<(f64, f64)> {
        let points = self.stream.points();
        let last_of_its_number = |(at, point): (usize, &Point)| {
            let last = points.get(at + 1).is_none_or(|next| next.queries > point.queries);
            last.then_some((point.queries as f64, point.value))
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
        self.stream.by_examples()
    }

    /// The same of a task.
    pub(crate) fn task(&self, task: TaskId) -> Vec<(f64, f64)> {
        self.tasks.get(task.index()).map(Track::by_examples).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cognate::metrics::Scored;

    fn class(mistake: bool) -> Scored {
        Scored::class(1.0, 1.0, if mistake { -1.0 } else { 1.0 }, None)
    }

    #[test]
    fn a_number_of_labels_has_one_point_on_the_curve() {
        let (mut curves, mut tally) = (Curves::new(), Tally::default());
        for (mistake, queried) in [(false, false), (true, true), (true, false), (false, true), (false, false)]
        {
            tally.count(&class(mistake), false, queried);
            curves.stream.follow(&tally);
        }
        assert_eq!(curves.by_labels(), [(1.0, 2.0 / 3.0), (2.0, 0.4)]);
        assert_eq!(curves.stream().len(), 5);
    }

    #[test]
    fn a_curve_keeps_its_ends_and_its_size() {
        let (mut track, mut tally) = (Track::new(16), Tally::default());
        for at in 0..1000 {
            tally.count(&class(at % 3 == 0), false, true);
            track.follow(&tally);
            track.follow(&tally);
        }
        let points = track.by_examples();
        assert!((8..=17).contains(&points.len()), "{}", points.len());
        assert_eq!(points.last(), Some(&(1000.0, 0.334)));
        assert!(points.windows(2).all(|pair| pair[0].0 < pair[1].0));
        assert!(Track::new(4).points().is_empty());
    }

    #[test]
    fn real_labels_and_weights_are_followed() {
        let (mut real, mut tally) = (Track::new(16), Tally::default());
        for (label, predicted) in [(3.0, 0.0), (4.0, 0.0)] {
            tally.count(&Scored::real(label, 1.0, predicted, None), true, true);
            real.follow(&tally);
        }
        assert_eq!(real.by_examples(), [(1.0, 3.0), (2.0, 12.5f64.sqrt())]);
        let (mut weighted, mut tally) = (Track::new(16), Tally::default());
        for (weight, margin) in [(1.0, -1.0), (3.0, 1.0)] {
            tally.count(&Scored::class(1.0, weight, margin, None), true, true);
            weighted.follow(&tally);
        }
        assert_eq!(weighted.by_examples(), [(1.0, 1.0), (2.0, 0.25)]);
    }
}
