//! A comparator found in hindsight, on the stream that the learner met.
//!
//! A comparator is good when it loses little and costs little. Those on the frontier minimise `theta c u'Au + sum of
//! hinge losses` for some theta, c the rate of Theorem 1. For a few of them, dual coordinate ascent in the geometry of
//! A, in the order of the stream, gives a direction; then the length is searched. The best has the least right-hand side
//! *in advance*, with losses over all rounds: over mistaken rounds alone, u = 0 would promise whatever was found.
//! Beside them stands what labels alone say, where a feature is in every example: each task's usual label, and that of all.
//! Where none of these is better than u = 0, a longer search in more geometries makes sure. Nothing is random.

use super::Parts;
use super::comparator::Comparator;
use super::geometry::{Geometry, combine};
use super::perceptron::largest_possible_rate;
use super::transcript::Transcript;
use crate::example::{Example, TaskId};
use crate::table::IndexMap;

/// Weights of length against loss, largest first: a solution for more is a start for less.
const THETAS: [f64; 6] = [16.0, 4.0, 1.0, 0.25, 0.0625, 0.004];

/// Walks over the stream for each.
const PASSES: usize = 8;

/// The same of the longer search.
const MORE_THETAS: [f64; 10] = [256.0, 64.0, 32.0, 16.0, 8.0, 4.0, 2.0, 1.0, 0.5, 0.25];
const MORE_PASSES: usize = 20;

/// How long directions are sought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Search {
    Usual,
    Long,
}

/// Weights of length against loss, and walks for each.
pub(super) fn schedule(search: Search) -> (&'static [f64], usize) {
    match search {
        Search::Usual => (&THETAS, PASSES),
        Search::Long => (&MORE_THETAS, MORE_PASSES),
    }
}

/// Directions along features that every example has: the usual label of each task, and that of all of them.
pub(super) fn constant_directions(transcript: &Transcript) -> Vec<Comparator> {
    let tasks = transcript.tasks();
    let (mut counts, mut sums) = (IndexMap::<f64>::default(), vec![0.0; tasks]);
    for example in (0..transcript.len()).map(|at| transcript.example(at)) {
        example
            .features
            .iter()
            .filter(|pair| pair.1 == 1.0)
            .for_each(|(feature, _)| *counts.entry(feature) += 1.0);
        sums[example.task.index()] += example.label;
    }
    let everywhere = counts.sorted().into_iter().find(|(_, count)| *count == transcript.len() as f64);
    let Some((feature, _)) = everywhere else { return Vec::new() };
    let usual = sums.iter().sum::<f64>().signum();
    let of_all = Comparator::new((0..tasks).map(|_| [(feature, usual)]));
    let of_each =
        Comparator::new(sums.iter().map(|sum| [(feature, if *sum == 0.0 { 0.0 } else { sum.signum() })]));
    vec![of_all, of_each]
}

/// Directions of good comparators in a geometry.
pub(super) fn directions(transcript: &Transcript, geometry: &Geometry, search: Search) -> Vec<Comparator> {
    let (thetas, passes) = schedule(search);
    let rate = largest_possible_rate(transcript, geometry);
    if rate == 0.0 || !rate.is_finite() {
        return Vec::new();
    }
    let mut ascent = Ascent::new(transcript, geometry);
    let mut found = Vec::new();
    for theta in thetas {
        let most = 1.0 / (2.0 * theta * rate);
        for _ in 0..passes {
            (0..transcript.len()).for_each(|at| ascent.step(at, most));
        }
        found.push(ascent.comparator());
    }
    found
}

/// Dual coordinate ascent for `1/2 u'Au + most * sum of hinge losses`, where `u = sum_t alpha_t y_t psi_t`.
struct Ascent<'a> {
    transcript: &'a Transcript,
    geometry: &'a Geometry,
    alphas: Vec<f64>,
    /// `v_j = sum of alpha y x` over the examples of task j.
    sums: Vec<IndexMap<f64>>,
    /// The sum of those, which is all that uniform interactions need of the other tasks.
    total: IndexMap<f64>,
}

impl<'a> Ascent<'a> {
    fn new(transcript: &'a Transcript, geometry: &'a Geometry) -> Self {
        Self {
            transcript,
            geometry,
            alphas: vec![0.0; transcript.len()],
            sums: (0..transcript.tasks()).map(|_| IndexMap::default()).collect(),
            total: IndexMap::default(),
        }
    }

    /// Makes the dual largest in the coordinate of one example.
    fn step(&mut self, at: usize, most: f64) {
        let Example { task, features, label, .. } = self.transcript.example(at);
        let tasks = self.transcript.tasks();
        let length = self.geometry.relation(task, task, tasks) * features.norm_squared();
        if length == 0.0 {
            return;
        }
        let dot = |sum: &IndexMap<f64>| -> f64 {
            features.iter().map(|(feature, value)| sum.get(feature) * value).sum()
        };
        let margin: f64 = match self.geometry.uniform(tasks) {
            Some((own, shared)) => own * dot(&self.sums[task.index()]) + shared * dot(&self.total),
            None => {
                let column = self.geometry.column(task, tasks);
                column.iter().map(|(from, rate)| rate * dot(&self.sums[from.index()])).sum()
            }
        };
        let wanted = (self.alphas[at] + (1.0 - label * margin) / length).clamp(0.0, most);
        let change = (wanted - self.alphas[at]) * label;
        self.alphas[at] = wanted;
        if change != 0.0 {
            for (feature, value) in features.iter() {
                *self.sums[task.index()].entry(feature) += change * value;
                *self.total.entry(feature) += change * value;
            }
        }
    }

    /// `u_i = sum_j R_ij v_j`.
    fn comparator(&self) -> Comparator {
        let sums: Vec<_> = self.sums.iter().map(IndexMap::sorted).collect();
        let total = self.total.sorted();
        let tasks = self.transcript.tasks();
        combine(tasks, |task| match self.geometry.uniform(tasks) {
            Some((own, shared)) => vec![(own, &sums[task][..]), (shared, &total[..])],
            None => {
                let column = self.geometry.column(TaskId(task as u32), tasks);
                column.into_iter().map(|(from, rate)| (rate, &sums[from.index()][..])).collect()
            }
        })
    }
}

/// The length s that makes the right-hand side of `s u` least, and that right-hand side; `loss` is that of `s u`.
pub(super) fn best_length(parts: &Parts, margins: &[f64], loss: impl Fn(f64) -> f64) -> (f64, f64) {
    let bound = |s: f64| {
        let complexity = s * s * parts.complexity + parts.constant;
        let bound = parts.formula.bound(loss(s), complexity);
        if bound.is_nan() { f64::INFINITY } else { bound }
    };
    let mean = margins.iter().map(|margin| margin.abs()).sum::<f64>() / margins.len().max(1) as f64;
    if mean == 0.0 || !mean.is_finite() {
        return (0.0, bound(0.0));
    }
    let length = |power: f64| 2.0_f64.powf(power) / mean;
    let powers = (-20..=20).map(|half| f64::from(half) / 2.0);
    let best = powers.min_by(|a, b| bound(length(*a)).total_cmp(&bound(length(*b)))).unwrap_or(0.0);
    // Golden section between the neighbours.
    let golden = (5.0_f64.sqrt() - 1.0) / 2.0;
    let (mut low, mut high) = (best - 0.5, best + 0.5);
    for _ in 0..20 {
        let (left, right) = (high - golden * (high - low), low + golden * (high - low));
        if bound(length(left)) <= bound(length(right)) {
            high = right;
        } else {
            low = left;
        }
    }
    let candidates = [0.0, length(best), length(f64::midpoint(low, high))];
    let least = candidates.into_iter().min_by(|a, b| bound(*a).total_cmp(&bound(*b))).unwrap_or(0.0);
    (least, bound(least))
}
