//! Tasks related by a graph or a matrix: what they have in common is drawn before anything is seen.
//!
//! Prior: a feature's weights in the tasks of a block have the correlations C of R (C_ij = R_ij / sqrt(R_ii R_jj)), and each the
//! variance that `rule` gives it. With B = C^1/2, w_i = sum_j B_ij v_j of independent v_j, of which every one has a
//! precision of its own. Tasks that are not in a block are on their own (`alone`).
//!
//! State: v and precisions, a row of all tasks of a block a feature; s; sizes and intercepts a block.
//! Predict: sum_j B_ij v_j'x. Update: v_jk += u_jk B_ij x_k y t, u_jk = 1 / (m s_k^2 / (p r_k) + sum h B_ij^2 x_k^2), t implicit
//! for the variance sum_jk u_jk B_ij^2 x_k^2 (`rule`).

use serde::{Deserialize, Serialize};

use super::alone::{Alone, AloneState};
use super::averages::sum_to;
use super::rule::{Clock, Sizes, gain, unit_of_intercept};
use super::{Settings, add_intercept};
use crate::block::Block;
use crate::error::{ConfigError, ConfigProblem, StateError};
use crate::example::{Example, SparseView, TaskId};
use crate::interaction::Blocks;
use crate::learner::Outcome;
use crate::linalg::{Symmetric, check_finite};
use crate::weights::{TaskRows, TaskRowsState};

#[derive(Debug, Clone)]
pub(super) struct Related {
    settings: Settings,
    blocks: Blocks,
    groups: Vec<Group>,
    outside: Alone,
}

/// The tasks of a block.
#[derive(Debug, Clone)]
struct Group {
    /// B.
    root: Symmetric,
    /// Of each feature: v of every task, their precisions, s, and where means predict, the sums of `averages`.
    rows: TaskRows,
    sizes: Sizes,
    clock: Clock,
    /// The same of the feature that is always 1, with an s that nobody reads.
    intercepts: Vec<f64>,
    /// Examples, where means predict; they are counted a block.
    examples: u64,
}

/// Numbers a feature.
fn columns(tasks: usize, settings: Settings) -> usize {
    if settings.average { 3 * tasks + 1 } else { 2 * tasks + 1 }
}

/// v of every task, their precisions, and what comes after them.
fn parts(row: &mut [f64], tasks: usize) -> (&mut [f64], &mut [f64], &mut [f64]) {
    let (v, rest) = row.split_at_mut(tasks);
    let (precisions, rest) = rest.split_at_mut(tasks);
    (v, precisions, rest)
}

/// sum_j B_ij v_j.
fn mixed(root: &[f64], v: &[f64]) -> f64 {
    root.iter().zip(v).map(|(b, v)| b * v).sum()
}

/// C^1/2 for R; none where the spectrum cannot be found.
fn root_of_correlations(relation: &Symmetric) -> Option<Symmetric> {
    let correlations = Symmetric::from_fn(relation.size(), |i, j| {
        relation.entry(i, j) / (relation.entry(i, i) * relation.entry(j, j)).sqrt()
    });
    let spectrum = correlations.spectrum()?;
    let roots: Vec<f64> = spectrum.values.iter().map(|value| value.max(0.0).sqrt()).collect();
    Some(spectrum.with_values(&roots))
}

impl Group {
    fn new(settings: Settings, relation: &Symmetric) -> Option<Self> {
        let (root, tasks) = (root_of_correlations(relation)?, relation.size());
        Some(Self {
            root,
            rows: TaskRows::new(columns(tasks, settings)),
            sizes: Sizes::default(),
            clock: Clock::default(),
            intercepts: vec![0.0; columns(tasks, settings)],
            examples: 0,
        })
    }

    /// The margin of the weights as they are.
    fn present(&self, column: usize, x: SparseView<'_>) -> f64 {
        let root = self.root.row(column);
        let mut margin = mixed(root, &self.intercepts[..root.len()]);
        self.rows.for_each_row(x, 0..root.len(), |v, value| margin += mixed(root, v) * value);
        margin
    }

    /// How far it is beyond that of the mean of the weights, where that is what predicts.
    fn beyond(&self, column: usize, x: SparseView<'_>) -> f64 {
        let (root, sums) = (self.root.row(column), 2 * self.root.size() + 1);
        if self.intercepts.len() == sums {
            return 0.0;
        }
        let mut beyond = mixed(root, &self.intercepts[sums..]);
        self.rows.for_each_row(x, sums..sums + root.len(), |sums, value| beyond += mixed(root, sums) * value);
        beyond / sum_to(self.examples.max(1))
    }

    fn margin(&self, column: usize, x: SparseView<'_>) -> f64 {
        self.present(column, x) - self.beyond(column, x)
    }

    /// Learns from the margin of the weights as they are; whether anything changed.
    fn update(&mut self, settings: Settings, column: usize, example: Example<'_>, margin: f64) -> bool {
        let Settings { loss, forget, intercept, prior, average, groups: _ } = settings;
        let Example { features, label, .. } = example;
        let (root, tasks) = (self.root.row(column), self.root.size());
        if let Some(factor) = self.clock.tick(forget) {
            let write_down =
                |row: &mut [f64]| parts(row, tasks).1.iter_mut().for_each(|entry| *entry *= factor);
            self.rows.change_rows(write_down);
            write_down(&mut self.intercepts);
        }
        if label * margin > loss.sure(false) || !features.norm_squared().is_finite() {
            return forget.is_some();
        }
        self.rows.for_each_row_mut(features, |row, value| {
            let (v, _, rest) = parts(row, tasks);
            if let [s, sums @ ..] = rest {
                let shrink = self.sizes.grow(s, value);
                if shrink < 1.0 {
                    v.iter_mut().chain(sums).for_each(|weight| *weight *= shrink);
                }
            }
        });
        let (usual, mut sum) = (self.sizes.usual(), if intercept { 1.0 } else { 0.0 });
        self.rows.for_each_row(features, 2 * tasks..2 * tasks + 1, |s, value| {
            sum += usual.normalised(value, s[0]);
        });
        self.sizes.count(sum);
        let (mean, seen) = (self.sizes.mean(), self.clock.factor(forget));
        let rate = |unit: f64, precision: f64| (unit / prior.wide + seen * precision).recip();
        let variance = |unit: f64, precisions: &[f64], value: f64| -> f64 {
            let each = root.iter().zip(precisions).map(|(b, precision)| b * b * rate(unit, *precision));
            each.sum::<f64>() * value * value
        };
        let mut total = 0.0;
        self.rows.for_each_row(features, tasks..2 * tasks + 1, |row, value| {
            let (precisions, s) = row.split_at(tasks);
            total += variance(usual.unit(mean, s[0]), precisions, value);
        });
        if intercept {
            total += variance(unit_of_intercept(mean), &self.intercepts[tasks..2 * tasks], 1.0);
        }
        let step = label * loss.step(label * margin, total);
        let h = loss.curvature(margin) / seen;
        let before = sum_to(self.examples);
        let change = |row: &mut [f64], unit: f64, value: f64| {
            let (v, precisions, rest) = parts(row, tasks);
            if average {
                for ((b, sum), precision) in root.iter().zip(&mut rest[1..]).zip(&*precisions) {
                    *sum += before * step * b * value * rate(unit, *precision);
                }
            }
            for ((b, v), precision) in root.iter().zip(v).zip(precisions) {
                *v += step * b * value * rate(unit, *precision);
                *precision += gain(h * b * b, value);
            }
        };
        self.rows.for_each_row_mut(features, |row, value| {
            let unit = usual.unit(mean, row[2 * tasks]);
            change(row, unit, value);
        });
        if intercept {
            change(&mut self.intercepts, unit_of_intercept(mean), 1.0);
        }
        true
    }

    fn weights(&self, column: usize) -> Vec<(u32, f64)> {
        let (root, sums) = (self.root.row(column), 2 * self.root.size() + 1);
        let weight = |row: &[f64]| {
            mixed(root, &row[..root.len()]) - mixed(root, &row[sums..]) / sum_to(self.examples.max(1))
        };
        let rows = self.rows.rows().map(|(feature, row)| (feature, weight(row)));
        let mut weights: Vec<(u32, f64)> = rows.filter(|pair| pair.1 != 0.0).collect();
        weights.sort_unstable_by_key(|pair| pair.0);
        add_intercept(&mut weights, weight(&self.intercepts));
        weights
    }
}

impl Related {
    pub(super) fn new(settings: Settings, blocks: Blocks) -> Result<Self, ConfigError> {
        let groups: Option<Vec<Group>> =
            blocks.relations().iter().map(|relation| Group::new(settings, relation)).collect();
        let groups =
            groups.ok_or_else(|| ConfigProblem::new("interaction", "its spectrum cannot be found"))?;
        Ok(Self { settings, blocks, groups, outside: Alone::new(settings, false) })
    }

    pub(super) fn blocks(&self) -> &Blocks {
        &self.blocks
    }

    pub(super) fn margin(&self, task: TaskId, x: SparseView<'_>) -> f64 {
        match self.blocks.place(task) {
            Some(place) => self.groups[place.block].margin(place.column, x),
            None => self.outside.margin(task, x),
        }
    }

    pub(super) fn learn(&mut self, example: Example<'_>) -> Outcome {
        let Some(place) = self.blocks.place(example.task) else { return self.outside.learn(example) };
        let group = &mut self.groups[place.block];
        let present = group.present(place.column, example.features);
        let margin = present - group.beyond(place.column, example.features);
        let updated = group.update(self.settings, place.column, example, present);
        group.examples += u64::from(self.settings.average);
        Outcome { margin, updated: updated || self.settings.average }
    }

    pub(super) fn weights(&self, task: TaskId) -> Vec<(u32, f64)> {
        match self.blocks.place(task) {
            Some(place) => self.groups[place.block].weights(place.column),
            None => self.outside.weights(task),
        }
    }

    pub(super) fn heap_bytes(&self) -> usize {
        let of = |group: &Group| {
            group.rows.heap_bytes()
                + (group.intercepts.capacity() + group.root.size() * group.root.size()) * size_of::<f64>()
        };
        self.outside.heap_bytes() + self.groups.iter().map(of).sum::<usize>()
    }

    pub(super) fn state(&self) -> RelatedState {
        let state = |group: &Group| GroupState {
            rows: group.rows.state(),
            sizes: group.sizes,
            clock: group.clock,
            intercepts: Block(group.intercepts.clone()),
            examples: group.examples,
        };
        RelatedState { groups: self.groups.iter().map(state).collect(), outside: self.outside.state() }
    }

    pub(super) fn restore(&mut self, tasks: usize, state: RelatedState) -> Result<(), StateError> {
        if state.groups.len() != self.groups.len() {
            return Err(StateError::new("the graph or matrix has another number of blocks"));
        }
        for (group, saved) in self.groups.iter_mut().zip(state.groups) {
            let columns = columns(group.root.size(), self.settings);
            check_finite(&saved.intercepts.0)?;
            if saved.intercepts.0.len() != columns || !saved.sizes.is_sound() {
                return Err(StateError::new("the intercepts do not fit the tasks"));
            }
            group.rows = TaskRows::restore(columns, saved.rows)?;
            group.examples = saved.examples;
            (group.sizes, group.clock, group.intercepts) = (saved.sizes, saved.clock, saved.intercepts.0);
        }
        self.outside.restore(tasks.max(1), state.outside)
    }
}

/// Saved form of [`Related`]; B follows from the config.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct RelatedState {
    groups: Vec<GroupState>,
    outside: AloneState,
}

#[derive(Debug, Serialize, Deserialize)]
struct GroupState {
    rows: TaskRowsState,
    sizes: Sizes,
    clock: Clock,
    intercepts: Block<f64>,
    examples: u64,
}
