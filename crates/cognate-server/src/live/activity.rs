//! How did each task do lately? Beside the counts of the model, which are over its whole life.

use serde::{Deserialize, Serialize};

use super::course::Course;
use super::drift::{Alert, Alerts, Drift};

/// Examples over which the recent error is taken, about.
const RECENT: f64 = 64.0;
/// Most points of a task's curve.
const POINTS: usize = 32;

/// What is known of a task beside the counts of the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskActivity {
    /// When its last example came, in milliseconds since 1970.
    pub last_seen: u64,
    /// Examples and mistakes, recent ones weighted more.
    recent: (f64, f64),
    /// Examples and mistakes so far.
    examples: u64,
    mistakes: u64,
    /// Mistakes after every so many examples.
    stride: u64,
    points: Vec<u64>,
    #[serde(default)]
    drift: Drift,
}

impl Default for TaskActivity {
    fn default() -> Self {
        Self {
            last_seen: 0,
            recent: (0.0, 0.0),
            examples: 0,
            mistakes: 0,
            stride: 1,
            points: Vec::new(),
            drift: Drift::default(),
        }
    }
}

impl TaskActivity {
    fn count(&mut self, mistake: bool, time: u64) {
        // A clock may go backwards; who was seen stays seen.
        self.last_seen = self.last_seen.max(time);
        let keep = 1.0 - 1.0 / RECENT;
        self.recent = (self.recent.0 * keep + 1.0, self.recent.1 * keep + f64::from(u8::from(mistake)));
        self.examples += 1;
        self.mistakes += u64::from(mistake);
        if self.examples.is_multiple_of(self.stride) {
            self.points.push(self.mistakes);
            if self.points.len() >= POINTS {
                self.stride *= 2;
                // Of points 1, 2, 3, … every second stays.
                self.points = self.points.iter().copied().skip(1).step_by(2).collect();
            }
        }
    }

    /// The error of about the last 64 examples; none before the first.
    pub fn recent_error(&self) -> Option<f64> {
        (self.recent.0 > 0.0).then(|| self.recent.1 / self.recent.0)
    }

    /// Examples, and mistakes among them, along the way.
    pub fn curve(&self) -> Vec<(u64, u64)> {
        let at = |(at, mistakes): (usize, &u64)| ((at as u64 + 1) * self.stride, *mistakes);
        let mut curve: Vec<(u64, u64)> = self.points.iter().enumerate().map(at).collect();
        if self.examples > 0 && curve.last().is_none_or(|last| last.0 < self.examples) {
            curve.push((self.examples, self.mistakes));
        }
        curve
    }
}

/// Of every task, by number.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Activity {
    tasks: Vec<TaskActivity>,
    /// Of all tasks together.
    #[serde(default)]
    course: Course,
    #[serde(default)]
    alerts: Alerts,
}

impl Activity {
    /// Counts an example.
    pub(crate) fn count(&mut self, (task, name): (usize, &str), (mistake, margin): (bool, f64), time: u64) {
        if self.tasks.len() <= task {
            self.tasks.resize_with(task + 1, TaskActivity::default);
        }
        self.tasks[task].count(mistake, time);
        self.course.count(mistake);
        let activity = &mut self.tasks[task];
        if let Some(found) = activity.drift.count(task, mistake, margin) {
            self.alerts.raise(Alert {
                number: 0,
                kind: "loss".to_owned(),
                task: name.to_owned(),
                time,
                examples: activity.examples,
                before: found.before,
                lately: found.lately,
            });
        }
    }

    /// Forgets a task; those after it move one number down.
    pub(crate) fn remove(&mut self, task: usize, name: &str) {
        self.alerts.forget(name);
        if task < self.tasks.len() {
            self.tasks.remove(task);
        }
    }

    /// What people should look at.
    pub fn alerts(&self) -> &Alerts {
        &self.alerts
    }

    /// Of all tasks together.
    pub fn course(&self) -> &Course {
        &self.course
    }

    /// Of a task; none before its first example.
    pub fn task(&self, task: usize) -> Option<&TaskActivity> {
        self.tasks.get(task)
    }

    /// Bytes held.
    pub fn heap_bytes(&self) -> usize {
        let points: usize = self.tasks.iter().map(|task| task.points.capacity() * size_of::<u64>()).sum();
        self.tasks.capacity() * size_of::<TaskActivity>() + points + self.alerts.heap_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_is_bounded_and_ends_with_the_last_example() {
        let mut activity = Activity::default();
        (0..1001_u64).for_each(|at| activity.count((2, "c"), (at.is_multiple_of(4), 1.0), at));
        let task = activity.task(2).unwrap();
        let curve = task.curve();
        assert!(curve.len() <= POINTS + 1 && curve.len() >= POINTS / 2, "{}", curve.len());
        assert_eq!(curve.last(), Some(&(1001, 251)));
        for (examples, mistakes) in curve {
            assert_eq!(mistakes, examples.div_ceil(4));
        }
        assert!((task.recent_error().unwrap() - 0.25).abs() < 0.02);
        assert_eq!((task.last_seen, activity.task(0).unwrap().recent_error()), (1000, None));
    }

    #[test]
    fn a_clock_that_goes_back_makes_nobody_unseen() {
        let mut activity = Activity::default();
        activity.count((0, "a"), (false, 1.0), 500);
        activity.count((0, "a"), (false, 1.0), 3);
        assert_eq!(activity.task(0).unwrap().last_seen, 500);
        activity.count((1, "b"), (true, 1.0), 7);
        activity.remove(0, "a");
        assert_eq!(activity.task(0).unwrap().last_seen, 7);
    }
}
