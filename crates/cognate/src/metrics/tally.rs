//! Mistakes, updates, queries and the four cells of the confusion table, per task and in total.

use serde::{Deserialize, Serialize};

use crate::block::Block;
use crate::count;
use crate::error::StateError;
use crate::example::{TaskId, is_mistake, predicted_label};
use crate::table::prefetch::prefetch;

/// Counts of one task, or of all; in one cache line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(align(64))]
pub struct Tally {
    /// Examples seen.
    pub examples: u64,
    /// Rounds with `label * margin <= 0`.
    pub mistakes: u64,
    /// Rounds that changed the state.
    pub updates: u64,
    /// Labels asked for.
    pub queries: u64,
    /// Label +1, predicted +1.
    pub true_positives: u64,
    /// Label -1, predicted +1.
    pub false_positives: u64,
    /// Label +1, predicted -1.
    pub false_negatives: u64,
}

/// How many counts a tally has.
const COUNTS: usize = 7;

fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

impl Tally {
    /// Mistakes per example; 0 before the first.
    pub fn error(&self) -> f64 {
        ratio(self.mistakes, self.examples)
    }

    /// Precision: the share of +1 among those predicted +1; 0 if none was.
    pub fn precision(&self) -> f64 {
        ratio(self.true_positives, self.true_positives + self.false_positives)
    }

    /// Recall: the share predicted +1 among those that are +1; 0 if none is.
    pub fn recall(&self) -> f64 {
        ratio(self.true_positives, self.true_positives + self.false_negatives)
    }

    /// The F-measure of the positive class.
    pub fn f1(&self) -> f64 {
        let twice = 2 * self.true_positives;
        ratio(twice, twice + self.false_positives + self.false_negatives)
    }

    #[inline]
    fn count(&mut self, label: f64, margin: f64, updated: bool, queried: bool) {
        let (positive, predicted) = (label > 0.0, predicted_label(margin) > 0.0);
        self.examples += 1;
        self.mistakes += u64::from(is_mistake(label, margin));
        self.updates += u64::from(updated);
        self.queries += u64::from(queried);
        self.true_positives += u64::from(positive && predicted);
        self.false_positives += u64::from(!positive && predicted);
        self.false_negatives += u64::from(positive && !predicted);
    }

    fn counts(&self) -> [u64; COUNTS] {
        [
            self.examples,
            self.mistakes,
            self.updates,
            self.queries,
            self.true_positives,
            self.false_positives,
            self.false_negatives,
        ]
    }

    fn from_counts(counts: &[u64]) -> Self {
        Self {
            examples: counts[0],
            mistakes: counts[1],
            updates: counts[2],
            queries: counts[3],
            true_positives: counts[4],
            false_positives: counts[5],
            false_negatives: counts[6],
        }
    }

    fn is_possible(&self) -> bool {
        let cells = [self.true_positives, self.false_positives, self.false_negatives];
        let cells = cells.iter().try_fold(0_u64, |sum, cell| sum.checked_add(*cell));
        self.mistakes <= self.examples
            && self.updates <= self.examples
            && self.queries <= self.examples
            && cells.is_some_and(|cells| cells <= self.examples)
    }
}

/// Counts of a run, in total and per task.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Metrics {
    total: Tally,
    tasks: Vec<Tally>,
    /// Tasks with at least one example.
    met: usize,
    unlabelled: u64,
    asked: u64,
}

impl Metrics {
    /// Counts over all tasks.
    pub fn total(&self) -> &Tally {
        &self.total
    }

    /// Number of tasks with at least one example.
    pub fn tasks_met(&self) -> usize {
        self.met
    }

    /// Number of lines without a label, which are predicted and counted only here.
    pub fn unlabelled(&self) -> u64 {
        self.unlabelled
    }

    /// Number of lines without a label whose label was asked for.
    pub fn asked(&self) -> u64 {
        self.asked
    }

    /// Number of examples, with and without a label.
    pub(crate) fn seen(&self) -> u64 {
        self.total.examples.saturating_add(self.unlabelled)
    }

    /// Counts a line without a label.
    pub(crate) fn count_unlabelled(&mut self, asked: bool) {
        self.unlabelled += 1;
        self.asked += u64::from(asked);
    }

    /// Counts of one task; zeros before its first example.
    pub fn task(&self, task: TaskId) -> Tally {
        self.tasks.get(task.index()).copied().unwrap_or_default()
    }

    /// Asks for the counts of a task that comes soon.
    #[inline]
    pub(crate) fn prefetch(&self, task: TaskId) {
        prefetch(&self.tasks, task.index());
    }

    /// Counts one example.
    #[inline]
    pub fn count(&mut self, task: TaskId, label: f64, margin: f64, updated: bool, queried: bool) {
        if self.tasks.len() <= task.index() {
            self.tasks.resize(task.index() + 1, Tally::default());
        }
        let tally = &mut self.tasks[task.index()];
        self.met += usize::from(tally.examples == 0);
        tally.count(label, margin, updated, queried);
        self.total.count(label, margin, updated, queried);
    }

    /// Forgets the counts of a task; those after it move one number down.
    pub(crate) fn remove(&mut self, task: TaskId) {
        if task.index() < self.tasks.len() {
            let gone = self.tasks.remove(task.index());
            self.met -= usize::from(gone.examples > 0);
            let mut total = self.total.counts();
            total.iter_mut().zip(gone.counts()).for_each(|(sum, count)| *sum -= count);
            self.total = Tally::from_counts(&total);
        }
    }

    pub(crate) fn state(&self) -> MetricsState {
        MetricsState {
            counts: Block(self.tasks.iter().flat_map(Tally::counts).collect()),
            unlabelled: self.unlabelled,
            asked: self.asked,
        }
    }

    pub(crate) fn restore(tasks: usize, state: &MetricsState) -> Result<Self, StateError> {
        let counts = &state.counts.0;
        let rows: Vec<Tally> = counts.chunks_exact(COUNTS).map(Tally::from_counts).collect();
        let MetricsState { unlabelled, asked, .. } = *state;
        let whole = counts.len().is_multiple_of(COUNTS) && rows.len() <= tasks;
        if !whole || !rows.iter().all(Tally::is_possible) || asked > unlabelled {
            return Err(StateError::new("the counts are impossible"));
        }
        let mut total = [0_u64; COUNTS];
        for row in &rows {
            for (sum, count) in total.iter_mut().zip(row.counts()) {
                // Two counts that can be read never overflow, so that a third is not added to them if they would.
                *sum += count;
                if *sum > count::MOST {
                    return Err(StateError::new("the counts are impossible"));
                }
            }
        }
        let met = rows.iter().filter(|row| row.examples > 0).count();
        Ok(Self { total: Tally::from_counts(&total), tasks: rows, met, unlabelled, asked })
    }
}

/// Saved form of [`Metrics`]: seven counts per task, and the lines without a label where there are some.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct MetricsState {
    counts: Block<u64>,
    #[serde(default, skip_serializing_if = "is_zero", deserialize_with = "crate::count::saved")]
    unlabelled: u64,
    #[serde(default, skip_serializing_if = "is_zero", deserialize_with = "crate::count::saved")]
    asked: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_and_rates() {
        let mut metrics = Metrics::default();
        for (label, margin) in [(1.0, 2.0), (1.0, -1.0), (-1.0, 3.0), (-1.0, -3.0), (1.0, 0.0)] {
            metrics.count(TaskId(1), label, margin, margin == 0.0, true);
        }
        let tally = metrics.task(TaskId(1));
        // A margin of 0 is a mistake, yet it predicts +1.
        assert_eq!((tally.examples, tally.mistakes, tally.updates, tally.queries), (5, 3, 1, 5));
        assert!((tally.precision() - 2.0 / 3.0).abs() < 1e-15);
        assert!((tally.recall() - 2.0 / 3.0).abs() < 1e-15 && (tally.f1() - 2.0 / 3.0).abs() < 1e-15);
        assert_eq!((metrics.task(TaskId(0)), metrics.tasks_met()), (Tally::default(), 1));
        let restored = Metrics::restore(2, &metrics.state()).unwrap();
        assert_eq!(restored, metrics);
        assert!(Metrics::restore(1, &metrics.state()).is_err());
        assert!(!rmp_serde::to_vec_named(&metrics.state()).unwrap().windows(5).any(|part| part == b"asked"));
        [true, false, true].into_iter().for_each(|asked| metrics.count_unlabelled(asked));
        assert_eq!((metrics.unlabelled(), metrics.asked(), metrics.seen()), (3, 2, 8));
        assert_eq!(Metrics::restore(2, &metrics.state()).unwrap(), metrics);
        assert!(Metrics::restore(2, &MetricsState { unlabelled: 1, ..metrics.state() }).is_err());
    }
}
