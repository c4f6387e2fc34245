//! A row of K weights per feature, and W'W beside it: kept by one update of rank two per change, never formed anew to be used.
//!
//! Rounding errors add up as updates do, so W'W is formed anew once in a while: after 16 updates per row, which is
//! less than K^2 operations per update. Inner products are in units of a power of two, so that weights of examples
//! around 1e150 do not overflow when they are squared.

use serde::{Deserialize, Serialize};

use super::{TaskRows, TaskRowsState};
use crate::block::Block;
use crate::error::StateError;
use crate::example::SparseView;
use crate::kernel::square;
use crate::linalg::{Triangle, check_finite};

#[derive(Debug, Clone)]
pub(crate) struct GramRows {
    rows: TaskRows,
    /// W'W / unit^2.
    gram: Triangle,
    /// Sums of the columns of W / unit.
    sums: Vec<f64>,
    unit: f64,
    /// Updates since W'W was formed.
    updates: u64,
    /// Scratch.
    products: Vec<f64>,
}

/// A change of W: W'W gets `a b' + b a'` in units of the unit squared; the sums of the columns have changed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Change<'a> {
    pub(crate) a: &'a [f64],
    pub(crate) b: &'a [f64],
    pub(crate) sums: &'a [f64],
    pub(crate) unit: f64,
    /// Coordinates touched.
    pub(crate) features: usize,
}

/// Updates per row after which W'W is formed anew.
const REFRESH: u64 = 16;

/// Examples this long in the present unit make it larger.
const LONG: f64 = 1e200;

impl GramRows {
    pub(crate) fn new(tasks: usize) -> Self {
        let gram = Triangle::diagonal(tasks, 0.0);
        let (sums, products) = (vec![0.0; tasks], Vec::new());
        Self { rows: TaskRows::new(tasks), gram, sums, unit: 1.0, updates: 0, products }
    }

    /// Makes room for more tasks, whose weights are zero.
    pub(crate) fn grow(&mut self, tasks: usize) {
        self.rows.grow(tasks);
        self.gram.grow(tasks, 0.0);
        self.sums.resize(tasks, 0.0);
    }

    pub(crate) fn rows(&self) -> &TaskRows {
        &self.rows
    }

    /// W'W in units of [`Self::unit`] squared.
    pub(crate) fn gram(&self) -> &Triangle {
        &self.gram
    }

    pub(crate) fn unit(&self) -> f64 {
        self.unit
    }

    /// W'W with a change of nothing, for what else follows from it.
    pub(crate) fn with_gram<R>(
        &mut self,
        zeros: &[f64],
        apply: impl FnOnce(&mut Triangle, &Change<'_>) -> R,
    ) -> R {
        let (sums, unit, features) = (&self.sums, self.unit, self.rows.len());
        apply(&mut self.gram, &Change { a: zeros, b: zeros, sums, unit, features })
    }

    /// `w_j += step * rates[j] * x` for every task j.
    pub(crate) fn add(&mut self, x: SparseView<'_>, rates: &[f64], step: f64) {
        self.add_with(x, rates, step, |gram, change| gram.add_pair(change.a, change.b));
    }

    /// The same; what becomes of W'W is left to `apply`, which must add `a b' + b a'`.
    pub(crate) fn add_with(
        &mut self,
        x: SparseView<'_>,
        rates: &[f64],
        step: f64,
        apply: impl FnOnce(&mut Triangle, &Change<'_>),
    ) {
        let length = self.make_room(x);
        self.rows.project_and_add(x, rates, step, &mut self.products);
        // (w + s r x)'(w + s r x): the change is r q' + q r' with q = s w'x + s^2 |x|^2 / 2 r.
        let (half, inverse) = (step * step * length / 2.0, 1.0 / self.unit);
        for (product, rate) in self.products.iter_mut().zip(rates) {
            *product = step * *product * inverse * inverse + half * rate;
        }
        let sum: f64 = x.values().iter().map(|value| value * inverse).sum();
        self.sums.iter_mut().zip(rates).for_each(|(total, rate)| *total += step * rate * sum);
        let features = self.rows.len();
        let change = Change { a: rates, b: &self.products, sums: &self.sums, unit: self.unit, features };
        apply(&mut self.gram, &change);
        self.count_update();
    }

    /// `w_i += step * x` for one task, whose inner products with all tasks are known.
    pub(crate) fn add_to(&mut self, column: usize, x: SparseView<'_>, step: f64, products: &[f64]) {
        let length = self.make_room(x);
        self.rows.add_to(column, x, step);
        // The unit is a power of two, so its inverse is exact.
        let inverse = 1.0 / self.unit;
        for (other, product) in products.iter().enumerate() {
            self.gram.add(column, other, step * product * inverse * inverse);
        }
        // w_i'w_i gets the product twice.
        self.gram.add(column, column, step * products[column] * inverse * inverse + step * step * length);
        self.sums[column] += step * x.values().iter().map(|value| value * inverse).sum::<f64>();
        self.count_update();
    }

    /// Makes the unit fit an example; its squared length in the unit.
    fn make_room(&mut self, x: SparseView<'_>) -> f64 {
        let length = square(x);
        if length / self.unit / self.unit > LONG {
            let unit = length.sqrt().log2().ceil().exp2();
            self.gram.scale((self.unit / unit) * (self.unit / unit));
            self.sums.iter_mut().for_each(|sum| *sum *= self.unit / unit);
            self.unit = unit;
        }
        length / self.unit / self.unit
    }

    fn count_update(&mut self) {
        self.updates += 1;
        if self.updates > REFRESH * self.rows.len() as u64 {
            self.refresh();
        }
    }

    /// Forms W'W and the sums from the weights.
    fn refresh(&mut self) {
        self.updates = 0;
        self.gram.scale(0.0);
        self.sums.fill(0.0);
        let mut row = vec![0.0; self.sums.len()];
        for (_, weights) in self.rows.rows() {
            row.iter_mut().zip(weights).for_each(|(scaled, weight)| *scaled = weight / self.unit);
            self.sums.iter_mut().zip(&row).for_each(|(sum, weight)| *sum += weight);
            let half: Vec<f64> = row.iter().map(|weight| weight / 2.0).collect();
            self.gram.add_pair(&row, &half);
        }
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        let tasks = self.sums.len();
        self.rows.heap_bytes() + (tasks * tasks / 2 + 2 * tasks) * size_of::<f64>()
    }

    pub(crate) fn state(&self) -> GramRowsState {
        GramRowsState {
            rows: self.rows.state(),
            gram: Block(self.gram.lower()),
            sums: Block(self.sums.clone()),
            unit: self.unit,
            updates: self.updates,
        }
    }

    pub(crate) fn restore(tasks: usize, state: GramRowsState) -> Result<Self, StateError> {
        let sums = state.sums.0;
        check_finite(&sums)?;
        if sums.len() != tasks || !state.unit.is_finite() || state.unit <= 0.0 {
            return Err(StateError::new("the sums of the weights do not fit the tasks"));
        }
        Ok(Self {
            rows: TaskRows::restore(tasks, state.rows)?,
            gram: Triangle::restore(tasks, &state.gram.0)?,
            sums,
            unit: state.unit,
            updates: state.updates,
            products: Vec::new(),
        })
    }
}

/// Saved form of [`GramRows`].
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct GramRowsState {
    rows: TaskRowsState,
    /// On and below the diagonal.
    gram: Block<f64>,
    sums: Block<f64>,
    unit: f64,
    #[serde(deserialize_with = "crate::count::saved")]
    updates: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::generator;
    use rand::RngExt as _;

    /// A million updates of random rank-two changes leave W'W within 1e-6 of what the weights say.
    #[test]
    fn a_million_updates_do_not_drift() {
        let (tasks, features) = (6, 40);
        let mut rng = generator(5, 0);
        let mut weights = GramRows::new(tasks);
        let mut worst = 0.0_f64;
        for round in 0..1_000_000_u32 {
            let indices: Vec<u32> = (0..features).filter(|_| rng.random::<f64>() < 0.2).collect();
            let values: Vec<f64> = indices.iter().map(|_| rng.random::<f64>() - 0.5).collect();
            let rates: Vec<f64> = (0..tasks).map(|_| rng.random::<f64>() - 0.3).collect();
            // As mistakes do: towards zero more often than away from it.
            let x = SparseView::trusted(&indices, &values);
            let step = if weights.rows.dot(0, x) > 0.0 { -1.0 } else { 1.0 };
            weights.add(x, &rates, step);
            if round % 50_000 == 49_999 {
                let mut exact = weights.clone();
                exact.refresh();
                let scale = exact.gram.trace();
                for row in 0..tasks {
                    let gap =
                        |column| (weights.gram.entry(row, column) - exact.gram.entry(row, column)).abs();
                    worst = (0..tasks).map(gap).fold(worst, |worst, gap| worst.max(gap / scale));
                }
            }
        }
        assert!(worst < 1e-6, "{worst}");
        assert!(worst > 0.0, "rounding shows somewhere");
    }

    #[test]
    fn weights_beyond_the_root_of_the_largest_number_do_not_overflow() {
        let mut weights = GramRows::new(2);
        for scale in [1.0, 4e149, 1e-150] {
            weights.add(SparseView::trusted(&[0, 1], &[scale, 2.0 * scale]), &[1.0, -0.5], 1.0);
        }
        assert!(weights.gram().is_finite() && weights.unit() > 1e140);
        let correlation = weights.gram().whole().correlation();
        assert!((correlation.entry(0, 1) + 1.0).abs() < 1e-12);
    }
}
