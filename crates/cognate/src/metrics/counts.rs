//! Counts over a model's life, in total and per task, and their saved form.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::learnt::{Learnt, LearntState};
use super::scored::{SUMS, Scored};
use super::tally::{COUNTS, Tally};
use crate::block::Block;
use crate::count;
use crate::error::StateError;
use crate::example::TaskId;
use crate::fit::Kind;
use crate::table::prefetch::prefetch;

/// Counts of a run, in total and per task.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Metrics {
    total: Tally,
    tasks: Vec<Tally>,
    /// Tasks with at least one example.
    met: usize,
    unlabelled: u64,
    asked: u64,
    learnt: Learnt,
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

    /// A sample of the examples that were learnt.
    pub fn learnt(&self) -> &Learnt {
        &self.learnt
    }

    /// A run begins: what was learnt before is told from what it learns.
    pub(crate) fn begin_run(&mut self) {
        self.learnt.begin_run();
    }

    /// Samples an example that is learnt, by its fingerprint.
    #[inline]
    pub(crate) fn learn(&mut self, fingerprint: u64) {
        self.learnt.learn(fingerprint);
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

    /// Asks for the counts of a task that comes soon: both of their cache lines.
    #[inline]
    pub(crate) fn prefetch(&self, task: TaskId) {
        prefetch(&self.tasks, task.index());
        if let Some(tally) = self.tasks.get(task.index()) {
            prefetch(&tally.sums, SUMS - 1);
        }
    }

    /// Counts one example.
    #[inline]
    pub fn count(&mut self, task: TaskId, scored: &Scored, updated: bool, queried: bool) {
        if self.tasks.len() <= task.index() {
            self.tasks.resize(task.index() + 1, Tally::default());
        }
        let tally = &mut self.tasks[task.index()];
        self.met += usize::from(tally.examples == 0);
        tally.count(scored, updated, queried);
        self.total.count(scored, updated, queried);
    }

    /// Forgets the counts of a task; those after it move one number down.
    ///
    /// Where a task is gone, what the constant guess of all tasks would have cost without it is no longer known.
    pub(crate) fn remove(&mut self, task: TaskId) {
        if task.index() >= self.tasks.len() {
            return;
        }
        let gone = self.tasks.remove(task.index());
        if gone.examples == 0 {
            return;
        }
        self.met -= 1;
        // Nothing tells which of the sample were the task's.
        self.learnt = Learnt::default();
        let mut total = Tally::default();
        self.tasks.iter().for_each(|row| total.merge(row));
        if total.examples > 0 {
            total.constant = f64::NAN;
        }
        self.total = total;
    }

    pub(crate) fn state(&self) -> MetricsState {
        let rows = || self.tasks.iter().chain([&self.total]);
        let mut sums = BTreeMap::new();
        if let Some(kind) = self.total.kind {
            for (at, name) in columns(kind) {
                // Sums that follow from the counts, and those of which nothing is known, are left out.
                if rows().any(|row| !alike(row.floats()[at], implied(row, kind)[at])) {
                    let sum =
                        |row: &Tally| Some(row.floats()[at]).filter(|sum| !sum.is_nan()).unwrap_or(f64::NAN);
                    sums.insert(name.to_owned(), Block(rows().map(sum).collect()));
                }
            }
        }
        MetricsState {
            counts: Block(self.tasks.iter().flat_map(Tally::counts).collect()),
            sums,
            unlabelled: self.unlabelled,
            asked: self.asked,
            learnt: self.learnt.state(),
        }
    }

    pub(crate) fn restore(tasks: usize, kind: Kind, state: &MetricsState) -> Result<Self, StateError> {
        let impossible = || StateError::new("the counts are impossible");
        let (rows, rest) = state.counts.0.as_chunks::<COUNTS>();
        let MetricsState { unlabelled, asked, .. } = *state;
        if !rest.is_empty() || rows.len() > tasks || asked > unlabelled {
            return Err(impossible());
        }
        let with_counts = |row: &[u64; COUNTS]| {
            let tally = Tally::of_parts(row, &[0.0; 3 + SUMS], (row[0] > 0).then_some(kind));
            Tally::of_parts(row, &implied(&tally, kind), tally.kind)
        };
        let (mut total, mut tallies) = ([0_u64; COUNTS], Vec::with_capacity(rows.len() + 1));
        for row in rows {
            let mut row = *row;
            check(&mut row, kind).ok_or_else(impossible)?;
            for (sum, count) in total.iter_mut().zip(row) {
                // Two counts that can be read never overflow, so that a third is not added to them if they would.
                *sum += count;
                if *sum > count::MOST {
                    return Err(impossible());
                }
            }
            tallies.push(with_counts(&row));
        }
        tallies.push(with_counts(&total));
        for (at, name) in columns(kind) {
            let Some(Block(column)) = state.sums.get(name) else { continue };
            if column.len() != tallies.len() {
                return Err(impossible());
            }
            for (tally, sum) in tallies.iter_mut().zip(column) {
                let mut floats = tally.floats();
                floats[at] = *sum;
                *tally = Tally::of_parts(&tally.counts(), &floats, tally.kind);
            }
        }
        if !tallies.iter().all(|tally| is_possible(tally, kind)) {
            return Err(impossible());
        }
        let total = tallies.pop().unwrap_or_default();
        let met = tallies.iter().filter(|row| row.examples > 0).count();
        let learnt = state.learnt.as_ref().map(Learnt::restore).transpose()?.unwrap_or_default();
        if learnt.examples() > total.examples {
            return Err(impossible());
        }
        Ok(Self { total, tasks: tallies, met, unlabelled, asked, learnt })
    }
}

fn alike(one: f64, other: f64) -> bool {
    one.to_bits() == other.to_bits() || (one.is_nan() && other.is_nan())
}

/// The sums of a kind: places among [`Tally::floats`], and names in files.
fn columns(kind: Kind) -> impl Iterator<Item = (usize, &'static str)> {
    let names: &[&str] = match kind {
        Kind::Classification => &[
            "weight",
            "labels",
            "constant",
            "true_positive",
            "false_positive",
            "false_negative",
            "log_loss",
            "brier",
        ],
        Kind::Regression => &["weight", "labels", "constant", "squares", "absolutes", "loss"],
    };
    names.iter().copied().enumerate()
}

/// The sums of examples that all weigh 1, as far as they follow from the counts; the others are unknown.
fn implied(tally: &Tally, kind: Kind) -> [f64; 3 + SUMS] {
    let unknown = if tally.examples == 0 { 0.0 } else { f64::NAN };
    let examples = tally.examples as f64;
    match kind {
        Kind::Classification => {
            let labels = 2.0 * tally.positives() as f64 - examples;
            let [right, false_positives, false_negatives] =
                [tally.true_positives, tally.false_positives, tally.false_negatives]
                    .map(|count| count as f64);
            [examples, labels, unknown, right, false_positives, false_negatives, unknown, unknown]
        }
        Kind::Regression => [examples, unknown, unknown, unknown, unknown, unknown, 0.0, 0.0],
    }
}

/// Checks the counts of a row, and makes successes at a margin of exactly 0, which earlier versions counted, mistakes.
fn check(row: &mut [u64; COUNTS], kind: Kind) -> Option<()> {
    let [examples, mistakes, updates, queries, true_positives, false_positives, false_negatives] = row;
    if updates > examples || queries > examples {
        return None;
    }
    if kind == Kind::Regression {
        return ([mistakes, true_positives, false_positives, false_negatives]
            .iter()
            .all(|count| **count == 0))
        .then_some(());
    }
    let zeros = mistakes.checked_sub(*false_positives)?.checked_sub(*false_negatives)?;
    *true_positives = true_positives.checked_sub(zeros)?;
    *false_negatives += zeros;
    let cells = true_positives.checked_add(*false_positives)?.checked_add(*false_negatives)?;
    (cells <= *examples).then_some(())
}

/// Whether sums can be those of a stream; unknown ones can.
fn is_possible(tally: &Tally, kind: Kind) -> bool {
    let floats = tally.floats();
    let least = match kind {
        Kind::Classification => &floats[3..6],
        Kind::Regression => &[],
    };
    // Examples of weight 0 are counted and weigh nothing.
    let weights = tally.weight >= 0.0 && tally.weight.is_finite();
    let empty = tally.examples > 0 || floats.iter().all(|sum| *sum == 0.0);
    weights && empty && least.iter().all(|weight| (0.0..=tally.weight).contains(weight))
}

/// Saved form of [`Metrics`]: seven counts per task, sums of every task and of all where they do not follow from the
/// counts, and the lines without a label where there are some.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct MetricsState {
    counts: Block<u64>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    sums: BTreeMap<String, Block<f64>>,
    #[serde(default, skip_serializing_if = "is_zero", deserialize_with = "crate::count::saved")]
    unlabelled: u64,
    #[serde(default, skip_serializing_if = "is_zero", deserialize_with = "crate::count::saved")]
    asked: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    learnt: Option<LearntState>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(label: f64, margin: f64) -> Scored {
        Scored::class(label, 1.0, margin, None)
    }

    #[test]
    fn counts_and_rates() {
        let mut metrics = Metrics::default();
        for (label, margin) in [(1.0, 2.0), (1.0, -1.0), (-1.0, 3.0), (-1.0, -3.0), (1.0, 0.0)] {
            metrics.count(TaskId(1), &class(label, margin), margin == 0.0, true);
        }
        let tally = metrics.task(TaskId(1));
        // A margin of 0 is a mistake, and no success of +1.
        assert_eq!((tally.examples, tally.mistakes, tally.updates, tally.queries), (5, 3, 1, 5));
        assert_eq!((tally.true_positives, tally.false_positives, tally.false_negatives), (1, 1, 2));
        assert!((tally.precision() - 1.0 / 2.0).abs() < 1e-15);
        assert!((tally.recall() - 1.0 / 3.0).abs() < 1e-15 && (tally.f1() - 2.0 / 5.0).abs() < 1e-15);
        assert_eq!((metrics.task(TaskId(0)), metrics.tasks_met()), (Tally::default(), 1));
        let restore = |tasks, state: MetricsState| Metrics::restore(tasks, Kind::Classification, &state);
        let restored = restore(2, metrics.state()).unwrap();
        assert_eq!(restored, metrics);
        assert!(restore(1, metrics.state()).is_err());
        assert!(!rmp_serde::to_vec_named(&metrics.state()).unwrap().windows(5).any(|part| part == b"asked"));
        [true, false, true].into_iter().for_each(|asked| metrics.count_unlabelled(asked));
        assert_eq!((metrics.unlabelled(), metrics.asked(), metrics.seen()), (3, 2, 8));
        assert_eq!(restore(2, metrics.state()).unwrap(), metrics);
        assert!(restore(2, MetricsState { unlabelled: 1, ..metrics.state() }).is_err());
    }

    /// A task all of whose examples weigh nothing is counted, and its counts come back.
    #[test]
    fn a_task_of_weight_0_is_restored() {
        let mut metrics = Metrics::default();
        metrics.count(TaskId(0), &Scored::class(1.0, 2.5, 0.5, None), true, true);
        metrics.count(TaskId(1), &Scored::class(-1.0, 0.0, 0.5, None), false, true);
        assert_eq!((metrics.tasks_met(), metrics.task(TaskId(1)).weight), (2, 0.0));
        assert_eq!(Metrics::restore(2, Kind::Classification, &metrics.state()).unwrap(), metrics);
        // What no example has given is still refused.
        let forged = MetricsState { counts: Block(vec![0; 2 * COUNTS]), ..metrics.state() };
        assert!(Metrics::restore(2, Kind::Classification, &forged).is_err());
    }

    /// Sums of squares and the like are compared to what the definitions say, one example after the other.
    #[test]
    fn sums_are_by_weight() {
        let mut metrics = Metrics::default();
        let given =
            [(1.0, 2.0, 0.8_f64), (-1.0, 1.0, 0.6), (-1.0, 3.0, 0.1), (1.0, 0.5, 0.3), (1.0, 1.0, 0.5)];
        for (label, weight, probability) in given {
            let margin: f64 = (probability / (1.0 - probability)).ln();
            metrics.count(TaskId(0), &Scored::class(label, weight, margin, Some(probability)), true, true);
        }
        let tally = metrics.total();
        let near = |found: Option<f64>, expected: f64| {
            let found = found.unwrap();
            assert!((found - expected).abs() < 1e-15, "{found} {expected}");
        };
        assert_eq!((tally.weight(), tally.mistakes), (7.5, 3));
        near(Some(tally.error()), (1.0 + 0.5 + 1.0) / 7.5);
        // Guesses: none, +1, +1, -1, -1 (sums of labels 0, 2, 1, -2, -1.5).
        near(tally.constant_error(), (2.0 + 1.0 + 3.0 + 0.5 + 1.0) / 7.5);
        let logarithms =
            2.0 * 0.8_f64.ln() + 0.4_f64.ln() + 3.0 * 0.9_f64.ln() + 0.5 * 0.3_f64.ln() + 0.5_f64.ln();
        near(tally.log_loss(), -logarithms / 7.5);
        near(tally.brier(), (2.0 * 0.04 + 0.36 + 3.0 * 0.01 + 0.5 * 0.49 + 0.25) / 7.5);
        near(Some(tally.precision()), 2.0 / 3.0);
        near(Some(tally.recall()), 2.0 / 3.5);
        near(tally.balanced_error(), f64::midpoint(1.5 / 3.5, 1.0 / 4.0));
        assert_eq!((tally.rmse(), tally.r2(), tally.loss(), tally.mae()), (None, None, None, None));
        let back = Metrics::restore(1, Kind::Classification, &metrics.state()).unwrap();
        assert_eq!(back, metrics);
        assert!(Metrics::restore(1, Kind::Regression, &metrics.state()).is_err());
    }

    #[test]
    fn real_labels_have_sums_of_their_own() {
        let mut metrics = Metrics::default();
        for (label, weight, predicted) in [(3.0_f64, 1.0, 0.0), (5.0, 2.0, 4.0), (-1.0, 1.0, 1.0)] {
            let loss = Some((label - predicted).abs() / 2.0);
            metrics.count(TaskId(0), &Scored::real(label, weight, predicted, loss), true, true);
        }
        let tally = metrics.total();
        // Means so far: 0 before the first, then 3, then 13/3.
        let constant = 9.0 + 2.0 * 4.0 + (1.0 + 13.0 / 3.0_f64).powi(2);
        for (found, expected) in [
            (tally.rmse(), (15.0_f64 / 4.0).sqrt()),
            (tally.constant_rmse(), (constant / 4.0).sqrt()),
            (tally.mae(), 7.0 / 4.0),
            (tally.loss(), 3.5 / 4.0),
            (tally.r2(), 1.0 - 15.0 / constant),
        ] {
            assert!((found.unwrap() - expected).abs() < 1e-14, "{found:?} {expected}");
        }
        assert_eq!((tally.mistakes, tally.true_positives, tally.constant_error()), (0, 0, None));
        let names: Vec<_> = tally.measures(None).entries().into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["rmse", "constant_rmse", "mae", "r2", "loss"]);
        let back = Metrics::restore(1, Kind::Regression, &metrics.state()).unwrap();
        assert_eq!(back, metrics);
        // A label whose square is infinite leaves numbers unknown, not infinite.
        metrics.count(TaskId(0), &Scored::real(1e308, 1.0, 0.0, None), true, true);
        let tally = metrics.total();
        assert_eq!((tally.rmse(), tally.r2(), tally.loss()), (None, None, None));
        assert_eq!(Metrics::restore(1, Kind::Regression, &metrics.state()).unwrap(), metrics);
    }

    /// 0.1 + 0.2 is not 0.3 in binary, whichever of the labels has the sum.
    #[test]
    fn decimal_weights_that_are_equal_guess_positive() {
        for sign in [1.0, -1.0] {
            let mut tally = Tally::default();
            let given = [(sign, 0.1), (sign, 0.2), (-sign, 0.3)];
            given.iter().for_each(|(label, weight)| {
                tally.count(&Scored::class(*label, *weight, 1.0, None), true, true);
            });
            assert_eq!(tally.constant_guess(), 1.0, "{sign}");
        }
        // Many ties: the same weights in another order.
        let (mut tally, mut cost) = (Tally::default(), 0.0);
        for at in 0..3000 {
            let block: [(f64, f64); 6] =
                [(-1.0, 7.3), (-1.0, 0.1), (-1.0, 0.7), (1.0, 0.7), (1.0, 0.1), (1.0, 7.3)];
            let (label, weight) = block[at % 6];
            let is_tie = at % 6 == 0;
            cost += if is_tie || label > 0.0 { weight } else { 0.0 };
            tally.count(&Scored::class(label, weight, 1.0, None), true, true);
        }
        assert!((tally.constant_error().unwrap() - cost / tally.weight()).abs() < 1e-12);
        // Whole weights are exact.
        let mut tally = Tally::default();
        (0..1000).for_each(|_| tally.count(&class(1.0, 1.0), true, true));
        (0..1001).for_each(|_| tally.count(&class(-1.0, 1.0), true, true));
        assert_eq!(tally.constant_guess(), -1.0);
    }

    #[test]
    fn rates_of_no_weight_are_none() {
        let mut tally = Tally::default();
        assert_eq!(tally.measures(None).error, None);
        tally.count(&Scored::class(1.0, 0.0, 1.0, Some(0.7)), false, true);
        assert!(tally.measures(None).entries().iter().all(|(_, value)| value.is_none()), "{tally:?}");
        tally.count(&Scored::class(-1.0, 2.0, -1.0, Some(0.3)), true, true);
        let measures = tally.measures(None);
        assert_eq!((measures.error, measures.precision, measures.f1), (Some(0.0), Some(0.0), Some(0.0)));
        assert_eq!((tally.positive_weight(), tally.constant_error()), (0.0, Some(1.0)));
    }

    #[test]
    fn one_class_has_no_balanced_error_and_no_probabilities_no_log_loss() {
        let mut tally = Tally::default();
        assert_eq!((tally.constant_error(), tally.balanced_error(), tally.log_loss()), (None, None, None));
        (0..3).for_each(|_| tally.count(&class(1.0, 1.0), true, true));
        assert_eq!((tally.balanced_error(), tally.log_loss(), tally.brier()), (None, None, None));
        assert_eq!(tally.constant_error(), Some(1.0 / 3.0));
        tally.count(&class(-1.0, 1.0), true, true);
        assert_eq!(tally.balanced_error(), Some(0.5));
        let mut twice = tally;
        twice.merge(&tally);
        assert_eq!((twice.examples, twice.since(&tally)), (8, tally));
    }

    /// Counts of versions that knew no sums, and took a margin of 0 for a success of +1.
    #[test]
    fn counts_without_sums_leave_them_unknown() {
        // Examples, mistakes, updates, queries, true positives, false positives, false negatives.
        let counts = vec![10, 4, 4, 10, 3, 2, 1, 0, 0, 0, 0, 0, 0, 0];
        let state = |counts: Vec<u64>| MetricsState {
            counts: Block(counts),
            sums: BTreeMap::new(),
            unlabelled: 0,
            asked: 0,
            learnt: None,
        };
        let mut metrics = Metrics::restore(2, Kind::Classification, &state(counts)).unwrap();
        let tally = *metrics.total();
        assert_eq!((tally.true_positives, tally.false_positives, tally.false_negatives), (2, 2, 2));
        assert_eq!((tally.error(), tally.constant_error(), tally.log_loss()), (0.4, None, None));
        let scored = Scored::class(1.0, 1.0, 1.0, Some(0.9));
        [0, 1].into_iter().for_each(|task| metrics.count(TaskId(task), &scored, true, true));
        assert_eq!(metrics.total().log_loss(), None);
        assert!(metrics.task(TaskId(1)).log_loss().is_some());
        assert_eq!(Metrics::restore(2, Kind::Classification, &metrics.state()).unwrap(), metrics);
        // More mistakes than examples of label +1 can explain.
        assert!(Metrics::restore(1, Kind::Classification, &state(vec![10, 9, 0, 0, 3, 2, 1])).is_err());
    }

    #[test]
    fn a_task_that_is_forgotten_leaves_no_count() {
        let (mut both, mut one) = (Metrics::default(), Metrics::default());
        for at in 0..20 {
            let label = if at % 3 == 0 { 1.0 } else { -1.0 };
            let scored = Scored::class(label, 1.0, label * f64::from(at % 5) - label, Some(0.25));
            both.count(TaskId(at % 2), &scored, true, true);
            if at % 2 == 1 {
                one.count(TaskId(0), &scored, true, true);
            }
        }
        both.remove(TaskId(0));
        assert_eq!((both.task(TaskId(0)), both.tasks_met()), (one.task(TaskId(0)), 1));
        assert_eq!(
            (both.total().counts(), both.total().log_loss()),
            (one.total().counts(), one.total().log_loss())
        );
        assert_eq!(both.total().constant_error(), None);
    }
}
