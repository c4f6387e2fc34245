//! Tasks related by a graph or a matrix, which says before anything is seen what they have in common.
//!
//! Prior: the weights of a feature in the tasks of a block have the correlations C of R, C_ij = R_ij / sqrt(R_ii R_jj), and each
//! has the variance p r / (m s^2) of `rule`. With B = C^1/2 this is w_i = sum_j B_ij v_j of independent v_j, each with a
//! precision of its own. Tasks that are in no block are on their own (`alone`).
//!
//! State: per block and feature a row ([`BlockRow`]) of v_j and a precision for each task j of the block, and s; per block what is
//! known about sizes, and the intercepts.
//!
//! Predict: w_i'x = sum_j v_j'(B_ij x). Update: the step of `step` on all v_j at once, for each of which the example is B_ij x:
//!
//! ```text
//! u_jk = 1 / (m s_k^2 / (p r_k) + c_jk)      V = sum_jk u_jk B_ij^2 x_k^2      t = -l'(y w_i'x + V t)
//! v_jk += y t u_jk B_ij x_k                  c_jk += h B_ij^2 x_k^2
//! ```

use serde::{Deserialize, Serialize};

use super::add_intercept;
use super::alone::{Alone, AloneState};
use super::averages::sum_to;
use super::config::Settings;
use super::rule::{Clock, Sizes, Usual, gain};
use super::step::{Growth, Scale, Start, Stepped, take_step};
use super::units::{Units, UnitsState};
use super::variance::{ONLY, Spread};
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
    /// One for each of the blocks.
    learners: Vec<BlockLearner>,
    outside: Alone,
}

/// What the tasks of a block have learnt.
#[derive(Debug, Clone)]
struct BlockLearner {
    /// B.
    root: Symmetric,
    /// A [`BlockRow`] per feature.
    rows: TaskRows,
    sizes: Sizes,
    clock: Clock,
    /// The row of the feature that is always 1, with an s that nobody reads.
    intercepts: Vec<f64>,
    /// Examples, where means predict; they are counted per block.
    examples: u64,
    /// Where labels are real, of the tasks by their columns. Weights are in units of their tasks.
    units: Option<Box<Units>>,
}

/// What a block keeps of a feature.
struct BlockRow<'a> {
    /// v of every task.
    v: &'a mut [f64],
    /// Their precisions.
    precisions: &'a mut [f64],
    /// s.
    size: &'a mut f64,
    /// Where means predict, the sums of `averages` for every task; otherwise nothing.
    sums: &'a mut [f64],
}

/// Where the numbers of a row are, for a block of so many tasks.
#[derive(Debug, Clone, Copy)]
struct Layout {
    tasks: usize,
}

impl Layout {
    /// Numbers per row.
    fn columns(self, settings: Settings) -> usize {
        if settings.average { 3 * self.tasks + 1 } else { 2 * self.tasks + 1 }
    }

    fn size(self) -> usize {
        2 * self.tasks
    }

    fn sums(self) -> usize {
        2 * self.tasks + 1
    }

    fn of(self, row: &mut [f64]) -> BlockRow<'_> {
        let (v, rest) = row.split_at_mut(self.tasks);
        let (precisions, rest) = rest.split_at_mut(self.tasks);
        let (size, sums) = rest.split_first_mut().expect("a row has a size");
        BlockRow { v, precisions, size, sums }
    }
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

/// A block and the example that it learns from.
struct BlockStep<'a> {
    /// B_i, of the example's task.
    root: &'a [f64],
    layout: Layout,
    rows: &'a mut TaskRows,
    features: SparseView<'a>,
    /// The row of the feature that is always 1, where there is one.
    intercepts: Option<&'a mut [f64]>,
    prior: f64,
    /// Where means predict, S of the examples before this one.
    before: Option<f64>,
}

impl BlockStep<'_> {
    /// What a feature adds to V: sum_j u_j B_ij^2 x^2.
    fn variance(&self, scale: &Scale, unit: f64, precisions: &[f64], value: f64) -> f64 {
        let each = self.root.iter().zip(precisions);
        let each = each.map(|(b, precision)| b * b * scale.rate(unit, self.prior, *precision));
        each.sum::<f64>() * value * value
    }
}

impl Stepped<1> for BlockStep<'_> {
    fn grow(&mut self, sizes: &mut Sizes, growth: &Growth) -> [f64; 1] {
        let (inverse_prior, mut change) = (self.prior.recip(), 0.0);
        self.rows.for_each_row_mut(self.features, |row, value| {
            let BlockRow { v, precisions, size, sums } = self.layout.of(row);
            let Some(grown) = sizes.grow(size, value) else { return };
            let factors = precisions.iter().map(|precision| growth.shrink(grown, inverse_prior, *precision));
            for (sum, factor) in sums.iter_mut().zip(factors.clone()) {
                *sum *= factor;
            }
            for ((b, v), factor) in self.root.iter().zip(v).zip(factors) {
                change += (factor - 1.0) * b * *v * value;
                *v *= factor;
            }
        });
        [change]
    }

    fn features(&self) -> (usize, bool) {
        (self.features.len(), self.intercepts.is_some())
    }

    fn normalised(&mut self, usual: Usual) -> f64 {
        let mut sum = if self.intercepts.is_some() { 1.0 } else { 0.0 };
        let size = self.layout.size();
        self.rows.for_each_row(self.features, size..size + 1, |size, value| {
            sum += usual.normalised(value, size[0]);
        });
        sum
    }

    fn variances(&mut self, scale: &Scale) -> [f64; 1] {
        let (mut total, tasks) = (0.0, self.layout.tasks);
        self.rows.for_each_row(self.features, tasks..self.layout.size() + 1, |row, value| {
            let (precisions, size) = row.split_at(tasks);
            total += self.variance(scale, scale.unit(size[0]), precisions, value);
        });
        if let Some(intercepts) = &self.intercepts {
            let precisions = &intercepts[tasks..self.layout.size()];
            total += self.variance(scale, scale.unit_of_intercept(), precisions, 1.0);
        }
        [total]
    }

    fn apply(&mut self, scale: &Scale, [step]: [f64; 1], h: f64) {
        let Self { root, layout, prior, before, .. } = *self;
        let change = |row: BlockRow<'_>, unit: f64, value: f64| {
            let BlockRow { v, precisions, sums, .. } = row;
            if let Some(before) = before {
                for ((b, sum), precision) in root.iter().zip(sums).zip(&*precisions) {
                    *sum += before * step * b * value * scale.rate(unit, prior, *precision);
                }
            }
            for ((b, v), precision) in root.iter().zip(v).zip(precisions) {
                *v += step * b * value * scale.rate(unit, prior, *precision);
                *precision += gain(h * b * b, value);
            }
        };
        self.rows.for_each_row_mut(self.features, |row, value| {
            let row = layout.of(row);
            let unit = scale.unit(*row.size);
            change(row, unit, value);
        });
        if let Some(intercepts) = self.intercepts.as_deref_mut() {
            change(layout.of(intercepts), scale.unit_of_intercept(), 1.0);
        }
    }
}

impl BlockLearner {
    fn new(settings: Settings, relation: &Symmetric) -> Option<Self> {
        let root = root_of_correlations(relation)?;
        let columns = Layout { tasks: relation.size() }.columns(settings);
        Some(Self {
            root,
            rows: TaskRows::new(columns),
            sizes: Sizes::default(),
            clock: Clock::default(),
            intercepts: vec![0.0; columns],
            examples: 0,
            units: Units::of_loss(&settings, true).map(Box::new),
        })
    }

    fn layout(&self) -> Layout {
        Layout { tasks: self.root.size() }
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
        let (root, sums) = (self.root.row(column), self.layout().sums());
        if self.intercepts.len() == sums {
            return 0.0;
        }
        let mut beyond = mixed(root, &self.intercepts[sums..]);
        self.rows.for_each_row(x, sums..sums + root.len(), |sums, value| beyond += mixed(root, sums) * value);
        beyond / sum_to(self.examples.max(1))
    }

    fn margin(&self, column: usize, x: SparseView<'_>) -> f64 {
        self.value(column, self.present(column, x) - self.beyond(column, x))
    }

    /// What a margin of the weights stands for.
    fn value(&self, column: usize, margin: f64) -> f64 {
        self.units.as_ref().map_or(margin, |units| units.of(TaskId(column as u32)).value(margin))
    }

    /// Learns from the margin of the weights as they are and what was predicted; whether anything changed.
    fn update(
        &mut self,
        settings: Settings,
        column: usize,
        example: Example<'_>,
        (present, margin): (f64, f64),
    ) -> bool {
        let Settings { loss, forget, intercept, prior, average, .. } = settings;
        let Example { features, label, weight, .. } = example;
        let place = Example { task: TaskId(column as u32), ..example };
        let units = self.units.as_mut();
        let renewed = units.map(|units| (units.learn(&place, margin), &*units));
        let target = renewed.map(|(unit, units)| (units.target(&unit, &place), unit.scale));
        let layout = self.layout();
        if let Some(factor) = self.clock.tick(forget, example.time) {
            let write_down =
                |row: &mut [f64]| layout.of(row).precisions.iter_mut().for_each(|entry| *entry *= factor);
            self.rows.change_rows(write_down);
            write_down(&mut self.intercepts);
        }
        if label * present > loss.sure(false) || !features.norm_squared().is_finite() {
            return forget.is_some();
        }
        if target.is_some_and(|(_, scale)| scale <= 0.0) {
            return true;
        }
        let mut step = BlockStep {
            root: self.root.row(column),
            layout,
            rows: &mut self.rows,
            features,
            intercepts: intercept.then_some(&mut self.intercepts),
            prior: prior.wide,
            before: average.then(|| sum_to(self.examples)),
        };
        let start = Start {
            loss,
            label,
            weight,
            target: target.map(|(target, _)| target),
            margins: [present],
            curvature: loss.curvature(present),
            seen: self.clock.factor(forget),
        };
        take_step(&mut step, &mut self.sizes, start);
        true
    }

    /// The variance of a margin: that of every v_j, of which the task has B_ij.
    fn variance(&self, settings: Settings, column: usize, x: SparseView<'_>) -> f64 {
        let Settings { forget, intercept, prior, .. } = settings;
        let (root, layout) = (self.root.row(column), self.layout());
        let Some(spread) = Spread::of(&self.sizes, self.clock.factor(forget)) else { return prior.wide };
        let inverse_prior = prior.wide.recip();
        let mixed = |precisions: &[f64], share: &dyn Fn(f64) -> f64| {
            root.iter().zip(precisions).map(|(b, precision)| b * b * share(*precision)).sum::<f64>()
        };
        let mut variance = 0.0;
        let unknown = vec![0.0; layout.tasks + 1];
        for (feature, value) in x.indices().iter().zip(x.values()) {
            let mut add = |row: &[f64]| {
                let (precisions, size) = row.split_at(layout.tasks);
                let share = |precision: f64| spread.share(*value, size[0], inverse_prior, precision);
                variance += mixed(precisions, &share);
            };
            let mut met = false;
            let one = SparseView::trusted(std::slice::from_ref(feature), std::slice::from_ref(value));
            self.rows.for_each_row(one, layout.tasks..layout.size() + 1, |row, _| {
                add(row);
                met = true;
            });
            if !met {
                add(&unknown);
            }
        }
        if intercept {
            let share = |precision: f64| spread.constant(inverse_prior, precision);
            variance += mixed(&self.intercepts[layout.tasks..layout.size()], &share);
        }
        ONLY * variance
    }

    fn weights(&self, column: usize) -> Vec<(u32, f64)> {
        let (root, sums) = (self.root.row(column), self.layout().sums());
        let weight = |row: &[f64]| {
            mixed(root, &row[..root.len()]) - mixed(root, &row[sums..]) / sum_to(self.examples.max(1))
        };
        let unit = self.units.as_ref().map(|units| units.of(TaskId(column as u32)));
        let scale = unit.map_or(1.0, |unit| unit.scale);
        let rows = self.rows.rows().map(|(feature, row)| (feature, scale * weight(row)));
        let mut weights: Vec<(u32, f64)> = rows.filter(|pair| pair.1 != 0.0).collect();
        weights.sort_unstable_by_key(|pair| pair.0);
        let intercept = weight(&self.intercepts);
        add_intercept(&mut weights, unit.map_or(intercept, |unit| unit.value(intercept)));
        weights
    }
}

impl Related {
    pub(super) fn new(settings: Settings, blocks: Blocks) -> Result<Self, ConfigError> {
        let learners = blocks.relations().iter().map(|relation| BlockLearner::new(settings, relation));
        let learners: Option<Vec<BlockLearner>> = learners.collect();
        let learners =
            learners.ok_or_else(|| ConfigProblem::new("interaction", "its spectrum cannot be found"))?;
        Ok(Self { settings, blocks, learners, outside: Alone::new(settings, false) })
    }

    pub(super) fn blocks(&self) -> &Blocks {
        &self.blocks
    }

    pub(super) fn margin(&self, task: TaskId, x: SparseView<'_>) -> f64 {
        match self.blocks.place(task) {
            Some(place) => self.learners[place.block].margin(place.column, x),
            None => self.outside.margin(task, x),
        }
    }

    /// The variance of a margin.
    pub(super) fn variance(&self, task: TaskId, x: SparseView<'_>) -> f64 {
        match self.blocks.place(task) {
            Some(place) => self.learners[place.block].variance(self.settings, place.column, x),
            None => self.outside.variance(task, x),
        }
    }

    pub(super) fn learn(&mut self, example: Example<'_>) -> Outcome {
        let Some(place) = self.blocks.place(example.task) else { return self.outside.learn(example) };
        let learner = &mut self.learners[place.block];
        let present = learner.present(place.column, example.features);
        let mean = present - learner.beyond(place.column, example.features);
        let margin = learner.value(place.column, mean) + example.offset;
        if example.weight <= 0.0 {
            return Outcome { margin, updated: false };
        }
        let present = if learner.units.is_some() { present } else { present + example.offset };
        let updated = learner.update(self.settings, place.column, example, (present, margin));
        learner.examples += u64::from(self.settings.average);
        Outcome { margin, updated: updated || self.settings.average }
    }

    pub(super) fn weights(&self, task: TaskId) -> Vec<(u32, f64)> {
        match self.blocks.place(task) {
            Some(place) => self.learners[place.block].weights(place.column),
            None => self.outside.weights(task),
        }
    }

    pub(super) fn heap_bytes(&self) -> usize {
        let of = |learner: &BlockLearner| {
            let root = learner.root.size() * learner.root.size();
            let units = learner.units.as_ref().map_or(0, |units| units.heap_bytes());
            units + learner.rows.heap_bytes() + (learner.intercepts.capacity() + root) * size_of::<f64>()
        };
        self.outside.heap_bytes() + self.learners.iter().map(of).sum::<usize>()
    }

    pub(super) fn state(&self) -> RelatedState {
        let state = |learner: &BlockLearner| BlockLearnerState {
            rows: learner.rows.state(),
            sizes: learner.sizes,
            clock: learner.clock,
            intercepts: Block(learner.intercepts.clone()),
            examples: learner.examples,
            units: learner.units.as_ref().map(|units| units.state()),
        };
        RelatedState { groups: self.learners.iter().map(state).collect(), outside: self.outside.state() }
    }

    pub(super) fn restore(&mut self, tasks: usize, state: RelatedState) -> Result<(), StateError> {
        if state.groups.len() != self.learners.len() {
            return Err(StateError::new("the graph or matrix has another number of blocks"));
        }
        for (learner, saved) in self.learners.iter_mut().zip(state.groups) {
            let columns = learner.layout().columns(self.settings);
            check_finite(&saved.intercepts.0)?;
            if saved.intercepts.0.len() != columns || !saved.sizes.is_sound() || !saved.clock.is_sound() {
                return Err(StateError::new("the intercepts do not fit the tasks"));
            }
            learner.rows = TaskRows::restore(columns, saved.rows)?;
            learner.examples = saved.examples;
            let size = learner.root.size();
            super::units::restore(learner.units.as_deref_mut(), size, saved.units)?;
            (learner.sizes, learner.clock, learner.intercepts) =
                (saved.sizes, saved.clock, saved.intercepts.0);
        }
        self.outside.restore(tasks.max(1), state.outside)
    }
}

/// Saved form of [`Related`]; B follows from the config.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct RelatedState {
    /// Of each block.
    groups: Vec<BlockLearnerState>,
    outside: AloneState,
}

#[derive(Debug, Serialize, Deserialize)]
struct BlockLearnerState {
    rows: TaskRowsState,
    sizes: Sizes,
    clock: Clock,
    intercepts: Block<f64>,
    #[serde(deserialize_with = "crate::count::saved")]
    examples: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    units: Option<UnitsState>,
}
