//! The Gram matrix H of examples that come and go, and P = H^-1: bordered by one, or one exchanged for another, in one
//! pass over P.
//!
//! Rounding errors grow with the condition of H and with every exchange, so P is formed anew by Cholesky once in a
//! while: after as many evictions as there are rows, which is O(B^2) per eviction; after an eighth of them where some
//! entries of HP - I, looked at in passing, say that P drifts.
#![expect(clippy::inline_always, reason = "only what is inlined is compiled for wide vectors")]

use pulp::{Simd, WithSimd};
use serde::{Deserialize, Serialize};

use super::{Symmetric, Width, all_finite, check_all_finite, dot};
use crate::block::Block;
use crate::error::StateError;

/// A Gram matrix and its inverse, both triangles stored.
#[derive(Debug, Clone, Default)]
pub(crate) struct InverseGram {
    size: usize,
    /// Numbers from one row to the next.
    stride: usize,
    gram: Vec<f64>,
    inverse: Vec<f64>,
    /// Rows taken out since P was formed.
    evictions: u64,
    /// Whether a look at HP - I has found too much since then.
    drifts: bool,
    /// Scratch: what is added to P, and what is taken from it.
    border: Vec<f64>,
    evicted: Vec<f64>,
}

/// Rows and columns of HP - I that are looked at after an exchange.
const WATCHED: usize = 8;

/// An example within this much of the span, of its own squared length, is projected with care.
const CLOSE: f64 = 1e-2;

/// An entry of HP - I above this, and P is formed anew.
const DRIFT: f64 = 1e-9;

/// An example as seen from those that are there.
#[derive(Debug, Clone, Default)]
pub(crate) struct Projected {
    /// k: its kernel values with them.
    pub(crate) row: Vec<f64>,
    /// K_tt: that with itself.
    pub(crate) own: f64,
    /// alpha = P k: its coefficients in their span.
    pub(crate) coefficients: Vec<f64>,
    /// r^2 = K_tt - k'alpha: its squared distance from their span.
    pub(crate) distance: f64,
    /// Scratch: k - H alpha.
    rest: Vec<f64>,
}

impl Projected {
    /// Finds r^2 from alpha.
    fn measure(&mut self) {
        self.distance = self.own - dot(&self.row, &self.coefficients);
        if !self.distance.is_finite() {
            // Values around the largest number: in units of K_tt, in which what overflows is in the span.
            let units =
                self.row.iter().zip(&self.coefficients).map(|(value, alpha)| value / self.own * alpha);
            let distance = self.own * (1.0 - units.sum::<f64>());
            self.distance = if distance.is_finite() { distance } else { 0.0 };
        }
    }

    /// Whether neither the example nor its projection overflows.
    pub(crate) fn is_finite(&self) -> bool {
        self.own.is_finite() && all_finite(&self.row) && all_finite(&self.coefficients)
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        (self.row.capacity() + self.coefficients.capacity() + self.rest.capacity()) * size_of::<f64>()
    }
}

impl InverseGram {
    /// A row of P.
    fn row(&self, at: usize) -> &[f64] {
        &self.inverse[at * self.stride..at * self.stride + self.size]
    }

    /// A row of H.
    fn gram_row(&self, at: usize) -> &[f64] {
        &self.gram[at * self.stride..at * self.stride + self.size]
    }

    /// Projects an example, whose kernel values are known, onto the others.
    pub(crate) fn project(&self, new: &mut Projected) {
        debug_assert_eq!(new.row.len(), self.size, "one value per example");
        new.coefficients.clear();
        new.coefficients.resize(self.size, 0.0);
        self.add_product(&self.inverse, 1.0, &new.row, &mut new.coefficients);
        new.measure();
        if new.distance < CLOSE * new.own {
            // What is wrong with alpha is divided by r^2 once the example is kept: one step of refinement, with H.
            new.rest.clone_from(&new.row);
            self.add_product(&self.gram, -1.0, &new.coefficients, &mut new.rest);
            // Values around the largest number overflow where H is close to singular.
            if new.rest.iter().all(|rest| rest.is_finite()) {
                self.add_product(&self.inverse, 1.0, &new.rest, &mut new.coefficients);
                new.measure();
            }
        }
    }

    /// `into += sign * matrix * factors` for H or P.
    fn add_product(&self, matrix: &[f64], sign: f64, factors: &[f64], into: &mut [f64]) {
        Width::find().run(AddProduct { into, sign, factors, matrix, stride: self.stride });
    }

    /// Entry (at, at) of the inverse with the new example: one over the squared distance of `at` from all others.
    pub(crate) fn bordered_diagonal(&self, new: &Projected, at: usize) -> f64 {
        let alpha = new.coefficients[at] / new.distance.sqrt();
        self.row(at)[at] + alpha * alpha
    }

    /// Entry (at, at) of P.
    pub(crate) fn diagonal(&self, at: usize) -> f64 {
        self.row(at)[at]
    }

    /// Whether the diagonal of P is what that of an inverse can be. Where P overflows, its diagonal does.
    pub(crate) fn is_sound(&self) -> bool {
        (0..self.size).all(|at| self.diagonal(at).is_finite() && self.diagonal(at) > 0.0)
    }

    /// Adds an example; there will be at most this many.
    pub(crate) fn push(&mut self, new: &Projected, most: usize) {
        let size = self.size;
        if size == self.stride {
            self.widen((2 * size).clamp(4, most.max(size + 1).max(4)));
        }
        let r = new.distance.sqrt();
        self.border.clear();
        self.border.extend(new.coefficients.iter().map(|alpha| alpha / r));
        // [P + aa', -a/r; -a'/r, 1/r^2] with a = alpha / r.
        let width = Width::find();
        for (at, a) in self.border.iter().enumerate() {
            width.add_scaled(&mut self.inverse[at * self.stride..][..size], *a, &self.border);
        }
        self.size += 1;
        for other in 0..size {
            self.set(size, other, new.row[other], -self.border[other] / r);
        }
        self.set(size, size, new.own, 1.0 / r / r);
    }

    /// Sets an entry of H and of P, and the ones mirrored.
    fn set(&mut self, row: usize, column: usize, gram: f64, inverse: f64) {
        for place in [row * self.stride + column, column * self.stride + row] {
            (self.gram[place], self.inverse[place]) = (gram, inverse);
        }
    }

    fn widen(&mut self, stride: usize) {
        for entries in [&mut self.gram, &mut self.inverse] {
            let mut wide = vec![0.0; stride * stride];
            for (row, old) in entries.chunks_exact(self.stride.max(1)).take(self.size).enumerate() {
                wide[row * stride..][..self.size].copy_from_slice(&old[..self.size]);
            }
            *entries = wide;
        }
        self.stride = stride;
    }

    /// Puts the coefficients of example `at` in the span of the others and the new one into `gamma`; that of the new
    /// one stands where its own would.
    pub(crate) fn bordered_projection(&self, new: &Projected, at: usize, gamma: &mut Vec<f64>) {
        let r = new.distance.sqrt();
        let a = new.coefficients[at] / r;
        let diagonal = self.bordered_diagonal(new, at);
        let column = self.row(at).iter().zip(&new.coefficients);
        gamma.clear();
        // Column `at` of the bordered inverse, over minus its diagonal.
        gamma.extend(column.map(|(entry, alpha)| -(entry + a * (alpha / r)) / diagonal));
        gamma[at] = a / r / diagonal;
    }

    /// The same without a new one; `at` itself gets 0.
    pub(crate) fn projection(&self, at: usize, gamma: &mut Vec<f64>) {
        let diagonal = self.diagonal(at);
        gamma.clear();
        gamma.extend(self.row(at).iter().map(|entry| -entry / diagonal));
        gamma[at] = 0.0;
    }

    /// Exchanges example `at` for the new one: bordering and taking out fused into one pass of rank two.
    pub(crate) fn replace(&mut self, new: &Projected, at: usize) {
        let r = new.distance.sqrt();
        let root = self.bordered_diagonal(new, at).sqrt();
        self.border.clear();
        self.border.extend(new.coefficients.iter().map(|alpha| alpha / r));
        let a = self.border[at];
        self.evicted.clear();
        let column = &self.inverse[at * self.stride..at * self.stride + self.size];
        self.evicted.extend(column.iter().zip(&self.border).map(|(entry, b)| (entry + a * b) / root));
        // The new one's entry of that column.
        let last = -a / r / root;
        let (border, evicted) = (&self.border, &self.evicted);
        let change = RankTwo { matrix: &mut self.inverse, stride: self.stride, border, evicted, but: at };
        Width::find().run(change);
        for other in 0..self.size {
            let entry = -self.border[other] / r - last * self.evicted[other];
            self.set(at, other, new.row[other], entry);
        }
        self.set(at, at, new.own, 1.0 / r / r - last * last);
        self.tend();
    }

    /// Takes example `at` out; the last one takes its place.
    pub(crate) fn swap_remove(&mut self, at: usize) {
        let root = self.diagonal(at).sqrt();
        self.evicted.clear();
        let column = &self.inverse[at * self.stride..at * self.stride + self.size];
        self.evicted.extend(column.iter().map(|entry| entry / root));
        let width = Width::find();
        for (row, e) in self.evicted.iter().enumerate() {
            width.add_scaled(&mut self.inverse[row * self.stride..][..self.size], -e, &self.evicted);
        }
        let last = self.size - 1;
        if at != last {
            let corner = last * self.stride + last;
            let (gram, inverse) = (self.gram[corner], self.inverse[corner]);
            for other in 0..last {
                let place = last * self.stride + other;
                self.set(at, other, self.gram[place], self.inverse[place]);
            }
            self.set(at, at, gram, inverse);
        }
        self.size = last;
        self.tend();
    }

    /// Counts an eviction, looks at some entries of HP - I, and forms P anew when it is time.
    fn tend(&mut self) {
        self.evictions += 1;
        if self.size == 0 {
            return;
        }
        let place = |at: usize, step: usize| (self.evictions as usize * WATCHED + at * step) % self.size;
        let entries = (0..WATCHED).flat_map(|i| (0..WATCHED).map(move |j| (i, j)));
        let drifts =
            entries.map(|(i, j)| (place(i, 1), place(j, self.size.div_ceil(WATCHED)))).any(|(i, j)| {
                let entry = dot(self.gram_row(i), self.row(j));
                (entry - f64::from(u8::from(i == j))).abs() > DRIFT
            });
        self.drifts |= drifts;
        if self.evictions > self.size as u64 / if self.drifts { 8 } else { 1 } {
            self.refresh();
        }
    }

    /// Inverts H; P stays as it is where H is too close to singular.
    fn refresh(&mut self) {
        (self.evictions, self.drifts) = (0, false);
        let gram = Symmetric::from_fn(self.size, |row, column| self.gram_row(row)[column]);
        if let Some(inverse) = gram.cholesky_inverse() {
            for at in 0..self.size {
                self.inverse[at * self.stride..][..self.size].copy_from_slice(inverse.row(at));
            }
        }
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        let matrices = self.gram.capacity() + self.inverse.capacity();
        (matrices + self.border.capacity() + self.evicted.capacity()) * size_of::<f64>()
    }

    pub(crate) fn state(&self) -> InverseGramState {
        let rows = || 0..self.size;
        InverseGramState {
            gram: Block(rows().flat_map(|at| self.gram_row(at)[..=at].iter().copied()).collect()),
            inverse: Block(rows().flat_map(|at| self.row(at)[..=at].iter().copied()).collect()),
            evictions: self.evictions,
            drifts: self.drifts,
        }
    }

    /// Takes a saved form, checking what later code trusts.
    pub(crate) fn restore(size: usize, state: &InverseGramState) -> Result<Self, StateError> {
        let (gram, inverse) = (&state.gram.0, &state.inverse.0);
        let doubled = size.checked_add(1).and_then(|next| size.checked_mul(next));
        if doubled != gram.len().checked_mul(2) || gram.len() != inverse.len() {
            return Err(StateError::new("the Gram matrix is not a triangle with one row per support"));
        }
        check_all_finite("the inner product of two supports", gram)?;
        check_all_finite("an entry of the inverse of the Gram matrix", inverse)?;
        let entry = |row: usize, column: usize| row * (row + 1) / 2 + column;
        if (0..size).any(|at| gram[entry(at, at)] <= 0.0 || inverse[entry(at, at)] <= 0.0) {
            return Err(StateError::new("the diagonal of the Gram matrix or its inverse is not positive"));
        }
        let square = || vec![0.0; size * size];
        let (evictions, drifts) = (state.evictions, state.drifts);
        let mut restored = Self {
            size,
            stride: size,
            gram: square(),
            inverse: square(),
            evictions,
            drifts,
            ..Self::default()
        };
        for row in 0..size {
            for column in 0..=row {
                let at = entry(row, column);
                restored.set(row, column, gram[at], inverse[at]);
            }
        }
        Ok(restored)
    }
}

/// `into += sign * matrix * factors`, the matrix being symmetric: a sum of its rows, four at a time.
struct AddProduct<'a> {
    into: &'a mut [f64],
    sign: f64,
    factors: &'a [f64],
    matrix: &'a [f64],
    stride: usize,
}

impl WithSimd for AddProduct<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { into, sign, factors, matrix, stride } = self;
        let size = into.len();
        let row = |at: usize| &matrix[at * stride..][..size];
        let whole = factors.len() / 4 * 4;
        for at in (0..whole).step_by(4) {
            let rows = [row(at), row(at + 1), row(at + 2), row(at + 3)];
            let f = [0, 1, 2, 3].map(|lane| sign * factors[at + lane]);
            for (column, sum) in into.iter_mut().enumerate() {
                *sum += (f[0] * rows[0][column] + f[1] * rows[1][column])
                    + (f[2] * rows[2][column] + f[3] * rows[3][column]);
            }
        }
        for at in whole..factors.len() {
            let factor = sign * factors[at];
            into.iter_mut().zip(row(at)).for_each(|(sum, entry)| *sum += factor * entry);
        }
    }
}

/// `matrix += border border' - evicted evicted'` but for one row.
///
/// Mirrored entries get the same two products, so they stay equal to the last bit.
struct RankTwo<'a> {
    matrix: &'a mut [f64],
    stride: usize,
    border: &'a [f64],
    evicted: &'a [f64],
    but: usize,
}

impl WithSimd for RankTwo<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { matrix, stride, border, evicted, but } = self;
        for (row, (b, e)) in border.iter().zip(evicted).enumerate() {
            if row != but && (*b != 0.0 || *e != 0.0) {
                let entries = matrix[row * stride..].iter_mut().zip(border).zip(evicted);
                for ((entry, border), evicted) in entries {
                    *entry += b * border - e * evicted;
                }
            }
        }
    }
}

/// Saved form of [`InverseGram`]: what is on and below the diagonals.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct InverseGramState {
    gram: Block<f64>,
    inverse: Block<f64>,
    #[serde(deserialize_with = "crate::count::saved")]
    evictions: u64,
    drifts: bool,
}

#[cfg(test)]
mod tests {
    use rand::RngExt as _;

    use super::*;
    use crate::rng::generator;

    const SIZE: usize = 24;

    fn kernel(x: &[f64], z: &[f64]) -> f64 {
        let distance: f64 = x.iter().zip(z).map(|(a, b)| (a - b) * (a - b)).sum();
        (-distance).exp()
    }

    fn gram(points: &[Vec<f64>]) -> Symmetric {
        Symmetric::from_fn(points.len(), |i, j| kernel(&points[i], &points[j]))
    }

    /// The largest entry of HP - I.
    fn drift(points: &[Vec<f64>], inverse: &InverseGram) -> f64 {
        let (gram, mut worst) = (gram(points), 0.0_f64);
        for i in 0..points.len() {
            for j in 0..points.len() {
                assert_eq!(inverse.row(i)[j].to_bits(), inverse.row(j)[i].to_bits(), "P is symmetric");
                let entry = dot(gram.row(i), inverse.row(j)) - f64::from(u8::from(i == j));
                worst = worst.max(entry.abs());
            }
        }
        worst
    }

    /// Points of a plane with a smooth kernel: H is close to singular, with a condition of about a million.
    #[test]
    fn a_hundred_thousand_evictions_do_not_drift() {
        let (mut rng, mut inverse, mut points) = (generator(9, 0), InverseGram::default(), Vec::new());
        let (mut new, mut evictions, mut worst, mut condition) = (Projected::default(), 0, 0.0_f64, 0.0_f64);
        while evictions < 100_000 {
            let point: Vec<f64> = (0..2).map(|_| rng.random_range(-1.5..1.5)).collect();
            let k: Vec<f64> = points.iter().map(|other: &Vec<f64>| kernel(&point, other)).collect();
            (new.row, new.own) = (k, 1.0);
            inverse.project(&mut new);
            if new.distance <= 1e-5 {
                continue;
            }
            if points.len() < SIZE {
                inverse.push(&new, SIZE);
                points.push(point);
                continue;
            }
            let at = rng.random_range(0..SIZE);
            inverse.replace(&new, at);
            points[at] = point;
            evictions += 1;
            if evictions % 997 == 0 {
                worst = worst.max(drift(&points, &inverse));
                let eigenvalues = gram(&points).eigenvalues();
                condition = condition.max(eigenvalues[SIZE - 1] / eigenvalues[0]);
            }
        }
        assert!(worst < 1e-6, "{worst}");
        assert!(worst > 0.0 && condition > 1e5, "nothing could drift: {worst}, condition {condition}");
    }

    #[test]
    fn coming_and_going_is_inverting() {
        let mut rng = generator(2, 0);
        let (mut inverse, mut points) = (InverseGram::default(), Vec::<Vec<f64>>::new());
        let (mut new, mut gamma) = (Projected::default(), Vec::new());
        for round in 0..200 {
            let point: Vec<f64> = (0..5).map(|_| rng.random_range(-1.0..1.0)).collect();
            let k: Vec<f64> = points.iter().map(|other| kernel(&point, other)).collect();
            (new.row, new.own) = (k, 1.0);
            inverse.project(&mut new);
            if points.len() < 12 {
                inverse.push(&new, 12);
                points.push(point);
            } else if round % 3 == 0 {
                let at = rng.random_range(0..12);
                inverse.swap_remove(at);
                points.swap_remove(at);
            } else {
                let at = rng.random_range(0..12);
                inverse.bordered_projection(&new, at, &mut gamma);
                let old = std::mem::replace(&mut points[at], point);
                inverse.replace(&new, at);
                // What gamma leaves of the old point is orthogonal to every other.
                for other in &points {
                    let spanned: f64 = gamma.iter().zip(&points).map(|(g, x)| g * kernel(x, other)).sum();
                    assert!((spanned - kernel(&old, other)).abs() < 1e-9);
                }
            }
            assert!(drift(&points, &inverse) < 1e-9);
        }
        let mut state = inverse.state();
        assert!(InverseGram::restore(points.len(), &state).is_ok());
        assert!(InverseGram::restore(points.len() + 1, &state).is_err());
        (state.gram.0, state.inverse.0) = (vec![1.0], vec![-1.0]);
        assert!(InverseGram::restore(1, &state).is_err());
    }
}
