//! A row of K weights per feature, contiguous: an update of all tasks walks memory once.
#![expect(clippy::inline_always, reason = "only what is inlined is compiled for wide vectors")]

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::block::Block;
use crate::error::StateError;
use crate::example::SparseView;
use crate::linalg::check_finite;
use crate::linalg::wide::{Simd, Width, WithSimd, wide_work};
use crate::table::IndexMap;
use crate::table::prefetch::prefetch;

#[derive(Debug, Clone)]
pub(crate) struct TaskRows {
    tasks: usize,
    /// Feature to row, from 1; 0 is a feature never touched.
    rows: IndexMap<u32>,
    /// Row to feature, from 0.
    features: Vec<u32>,
    /// Row-major, `stride` weights per row; those beyond `tasks` are zeros.
    weights: Vec<f64>,
    stride: usize,
}

/// Features whose rows are on their way at a time.
const AHEAD: usize = 4;

/// Weights in a cache line, and lines of a row that are asked for; the processor guesses the rest.
const LINE: usize = 8;
const LINES: usize = 13;

/// Columns that [`TaskRows::project_front`] takes together.
const FRONT: usize = 16;

/// [`TaskRows::project_front`] as work of its own.
struct ProjectFront<'a> {
    rows: &'a TaskRows,
    x: SparseView<'a>,
    column: usize,
}

impl WithSimd for ProjectFront<'_> {
    type Output = ([f64; FRONT], f64);

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> Self::Output {
        let Self { rows, x, column } = self;
        let (mut front, mut one) = ([0.0; FRONT], 0.0);
        for (feature, value) in x.indices().iter().zip(x.values()) {
            let row = rows.rows.get(*feature) as usize;
            if row != 0 {
                let weights = &rows.weights[(row - 1) * rows.stride..][..rows.tasks];
                let first = weights.first_chunk::<FRONT>().expect("there are that many columns");
                for (sum, weight) in front.iter_mut().zip(first) {
                    *sum += value * weight;
                }
                one += weights.get(column).map_or(0.0, |weight| value * weight);
            }
        }
        (front, one)
    }
}

/// [`TaskRows::mix_front`] as work of its own.
struct MixFront<'a> {
    weights: &'a mut [f64],
    stride: usize,
    rates: &'a [[f64; FRONT]],
}

impl WithSimd for MixFront<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        for row in self.weights.chunks_exact_mut(self.stride) {
            let (front, others) = row.split_first_chunk_mut::<FRONT>().expect("there are that many columns");
            let mut sums = [0.0; FRONT];
            for (weight, rates) in others.iter().zip(self.rates) {
                for (sum, rate) in sums.iter_mut().zip(rates) {
                    *sum += *weight * rate;
                }
            }
            *front = sums;
        }
    }
}

impl TaskRows {
    pub(crate) fn new(tasks: usize) -> Self {
        Self { tasks, rows: IndexMap::default(), features: Vec::new(), weights: Vec::new(), stride: tasks }
    }

    /// Features touched.
    pub(crate) fn len(&self) -> usize {
        self.features.len()
    }

    /// Walks the rows of an example's features that have one, asking for those some features ahead.
    #[inline]
    pub(crate) fn for_each_row(
        &self,
        x: SparseView<'_>,
        columns: Range<usize>,
        mut each: impl FnMut(&[f64], f64),
    ) {
        let (indices, values) = (x.indices(), x.values());
        let mut found = [0_u32; AHEAD];
        for at in 0..indices.len() + AHEAD {
            if at >= AHEAD {
                let row = found[at % AHEAD] as usize;
                if row != 0 {
                    each(&self.weights[(row - 1) * self.stride..][columns.clone()], values[at - AHEAD]);
                }
            }
            if let Some(feature) = indices.get(at) {
                let row = self.rows.get(*feature);
                found[at % AHEAD] = row;
                if row != 0 {
                    self.ask_for((row as usize - 1) * self.stride, columns.clone());
                }
            }
        }
    }

    /// Asks for columns of the row that begins here to be there soon.
    #[inline]
    fn ask_for(&self, start: usize, columns: Range<usize>) {
        for column in columns.step_by(LINE).take(LINES) {
            prefetch(&self.weights, start + column);
        }
    }

    /// Asks for what [`Self::dot`] needs.
    pub(crate) fn ask_for_column(&self, column: usize, x: SparseView<'_>) {
        for feature in x.indices() {
            let row = self.rows.get(*feature) as usize;
            if row != 0 {
                prefetch(&self.weights, (row - 1) * self.stride + column);
            }
        }
    }

    /// Asks for what [`Self::project_front`] needs.
    pub(crate) fn ask_for_front(&self, column: usize, x: SparseView<'_>) {
        for feature in x.indices() {
            let row = self.rows.get(*feature) as usize;
            if row != 0 {
                let start = (row - 1) * self.stride;
                self.ask_for(start, 0..FRONT);
                prefetch(&self.weights, start + column);
            }
        }
    }

    /// Inner products of `x` with the first columns, and with one more, 0 if there is none such.
    pub(crate) fn project_front(&self, x: SparseView<'_>, column: usize) -> ([f64; FRONT], f64) {
        wide_work(ProjectFront { rows: self, x, column })
    }

    /// `step * x` times the rates to the first columns, and as it is to one more.
    pub(crate) fn add_to_front(&mut self, column: usize, x: SparseView<'_>, step: f64, rates: &[f64; FRONT]) {
        let width = Width::find();
        for (feature, value) in x.iter() {
            let start = self.start_of(feature);
            let (amount, weights) = (step * value, &mut self.weights[start..start + self.stride]);
            width.add_scaled(&mut weights[..FRONT], amount, rates);
            weights[column] += amount;
        }
    }

    /// The first columns of every row become a mixture of the others, each with its rates.
    pub(crate) fn mix_front(&mut self, rates: &[[f64; FRONT]]) {
        if self.tasks > FRONT {
            wide_work(MixFront { weights: &mut self.weights, stride: self.stride, rates });
        }
    }

    /// Inner product of `x` with the weights of the task in the given column.
    pub(crate) fn dot(&self, column: usize, x: SparseView<'_>) -> f64 {
        let mut sum = 0.0;
        self.for_each_row(x, column..column + 1, |weights, value| sum += weights[0] * value);
        sum
    }

    /// Inner products of `x` with the weights of every task.
    pub(crate) fn project(&self, x: SparseView<'_>) -> Vec<f64> {
        let mut products = Vec::new();
        self.project_into(x, &mut products);
        products
    }

    /// The same, into a list that is cleared first.
    pub(crate) fn project_into(&self, x: SparseView<'_>, products: &mut Vec<f64>) {
        products.clear();
        products.resize(self.tasks, 0.0);
        let width = Width::find();
        self.for_each_row(x, 0..self.tasks, |weights, value| width.add_scaled(products, value, weights));
    }

    /// [`Self::project_into`], then [`Self::add`], in one walk over the rows.
    pub(crate) fn project_and_add(
        &mut self,
        x: SparseView<'_>,
        rates: &[f64],
        step: f64,
        products: &mut Vec<f64>,
    ) {
        products.clear();
        products.resize(self.tasks, 0.0);
        let width = Width::find();
        self.for_each_row_mut(x, |weights, value| {
            width.add_scaled_then_move(products, value, weights, step * value, rates);
        });
    }

    /// Walks the rows of an example's features, making those that are missing.
    #[inline]
    pub(crate) fn for_each_row_mut(&mut self, x: SparseView<'_>, mut each: impl FnMut(&mut [f64], f64)) {
        let (indices, values) = (x.indices(), x.values());
        let mut found = [0_usize; AHEAD];
        for at in 0..indices.len() + AHEAD {
            if at >= AHEAD {
                let start = found[at % AHEAD];
                each(&mut self.weights[start..start + self.stride], values[at - AHEAD]);
            }
            if let Some(feature) = indices.get(at) {
                let start = self.start_of(*feature);
                found[at % AHEAD] = start;
                self.ask_for(start, 0..self.tasks);
            }
        }
    }

    /// Changes every row.
    pub(crate) fn change_rows(&mut self, change: impl FnMut(&mut [f64])) {
        self.weights.chunks_exact_mut(self.stride.max(1)).for_each(change);
    }

    /// `w_i += step * x` for the task in the given column.
    pub(crate) fn add_to(&mut self, column: usize, x: SparseView<'_>, step: f64) {
        for (feature, value) in x.iter() {
            let start = self.start_of(feature);
            self.weights[start + column] += step * value;
        }
    }

    /// Where the row of a feature begins; a new one is all zeros.
    fn start_of(&mut self, feature: u32) -> usize {
        let row = self.rows.entry(feature);
        if *row == 0 {
            self.features.push(feature);
            *row = self.features.len() as u32;
            self.weights.resize(self.features.len() * self.stride, 0.0);
        }
        (*row as usize - 1) * self.stride
    }

    /// Makes room for more tasks, whose weights are zero.
    pub(crate) fn grow(&mut self, tasks: usize) {
        self.tasks = tasks;
        if tasks <= self.stride {
            return;
        }
        // Room for as many again, so that tasks met one by one do not move all weights each time.
        let stride = if self.features.is_empty() { tasks } else { tasks.max(2 * self.stride) };
        let mut weights = vec![0.0; self.features.len() * stride];
        if self.stride > 0 {
            let rows = weights.chunks_exact_mut(stride).zip(self.weights.chunks_exact(self.stride));
            rows.for_each(|(new, old)| new[..old.len()].copy_from_slice(old));
        }
        (self.stride, self.weights) = (stride, weights);
    }

    /// Features and their rows of weights.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (u32, &[f64])> {
        let rows = self.weights.chunks_exact(self.stride.max(1)).map(|row| &row[..self.tasks]);
        self.features.iter().copied().zip(rows)
    }

    /// `w_j += step * rates[j] * x` for every task j.
    pub(crate) fn add(&mut self, x: SparseView<'_>, rates: &[f64], step: f64) {
        let width = Width::find();
        self.for_each_row_mut(x, |weights, value| width.add_scaled(weights, step * value, rates));
    }

    /// Non-zero weights of the task in the given column, by feature.
    pub(crate) fn weights(&self, column: usize) -> Vec<(u32, f64)> {
        let column = self.weights.iter().skip(column).step_by(self.stride.max(1));
        let mut weights: Vec<_> =
            self.features.iter().copied().zip(column.copied()).filter(|pair| pair.1 != 0.0).collect();
        weights.sort_unstable_by_key(|pair| pair.0);
        weights
    }

    /// Bytes held.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.rows.heap_bytes()
            + self.features.capacity() * size_of::<u32>()
            + self.weights.capacity() * size_of::<f64>()
    }

    pub(crate) fn state(&self) -> TaskRowsState {
        let weights = self.rows().flat_map(|(_, row)| row.iter().copied()).collect();
        TaskRowsState { features: Block(self.features.clone()), weights: Block(weights) }
    }

    pub(crate) fn restore(tasks: usize, state: TaskRowsState) -> Result<Self, StateError> {
        if Some(state.weights.0.len()) != state.features.0.len().checked_mul(tasks) {
            return Err(StateError::new("a row does not have one weight per task"));
        }
        check_finite(&state.weights.0)?;
        let mut rows = Self::new(tasks);
        for (row, feature) in state.features.0.iter().enumerate() {
            if *feature == u32::MAX || rows.rows.get(*feature) != 0 {
                return Err(StateError::new("a feature is listed twice or out of range"));
            }
            *rows.rows.entry(*feature) = row as u32 + 1;
        }
        rows.features = state.features.0;
        rows.weights = state.weights.0;
        Ok(rows)
    }
}

/// Saved form of [`TaskRows`].
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct TaskRowsState {
    features: Block<u32>,
    weights: Block<f64>,
}

impl TaskRowsState {
    /// Rows.
    pub(crate) fn len(&self) -> usize {
        self.features.0.len()
    }

    /// Takes the first columns off the others.
    pub(crate) fn split(self, front: usize) -> (Block<f64>, Self) {
        let columns = self.weights.0.len() / self.features.0.len().max(1);
        let part = |range: Range<usize>| {
            let rows = self.weights.0.chunks_exact(columns.max(1));
            Block(rows.flat_map(|row| row[range.clone()].iter().copied()).collect())
        };
        let (first, rest) = (part(0..front.min(columns)), part(front.min(columns)..columns));
        (first, Self { features: self.features, weights: rest })
    }

    /// Puts columns before the others, of which there are so many.
    pub(crate) fn joined(self, first: &Block<f64>, front: usize, rest: usize) -> Result<Self, StateError> {
        let rows = self.features.0.len();
        let fits = |numbers: usize, columns: usize| Some(numbers) == rows.checked_mul(columns);
        if !fits(first.0.len(), front) || !fits(self.weights.0.len(), rest) {
            return Err(StateError::new("a row does not have one weight per task"));
        }
        let row = |at: usize| {
            let (first, rest) = (&first.0[at * front..][..front], &self.weights.0[at * rest..][..rest]);
            first.iter().chain(rest).copied()
        };
        let weights = Block((0..rows).flat_map(row).collect());
        Ok(Self { features: self.features, weights })
    }
}
