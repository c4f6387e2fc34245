//! P = H^-1 of the Gram matrix H of examples that come and go: bordered by one, or one exchanged for another, in one
//! pass over P.
//!
//! Rounding errors grow with the condition of H and with every exchange, so whoever holds H forms P anew once in a
//! while ([`InverseGram::wants_refresh`]): after as many evictions as there are rows, which is O(B^2) an eviction.

use super::{Symmetric, check_finite, dot};
use crate::error::StateError;

/// The inverse of a Gram matrix, both triangles stored.
#[derive(Debug, Clone, Default)]
pub(crate) struct InverseGram {
    size: usize,
    /// Numbers from one row to the next.
    stride: usize,
    entries: Vec<f64>,
    /// Rows taken out since P was formed.
    evictions: u64,
    /// Scratch: what is added to P, and what is taken from it.
    border: Vec<f64>,
    evicted: Vec<f64>,
}

/// Where an example lies as seen from those that are there.
#[derive(Debug, Clone, Default)]
pub(crate) struct Projected {
    /// alpha = P k: its coefficients in their span.
    pub(crate) coefficients: Vec<f64>,
    /// r^2 = K_tt - k'alpha: its squared distance from their span.
    pub(crate) distance: f64,
}

impl InverseGram {
    fn row(&self, at: usize) -> &[f64] {
        &self.entries[at * self.stride..at * self.stride + self.size]
    }

    /// Projects an example with kernel values `k` onto the others, `own` being its value with itself.
    pub(crate) fn project(&self, k: &[f64], own: f64, into: &mut Projected) {
        debug_assert_eq!(k.len(), self.size, "a value an example");
        into.coefficients.clear();
        into.coefficients.extend((0..self.size).map(|at| dot(self.row(at), k)));
        into.distance = own - dot(k, &into.coefficients);
    }

    /// Entry (at, at) of the inverse with the new example: one over the squared distance of `at` from all others.
    pub(crate) fn bordered_diagonal(&self, new: &Projected, at: usize) -> f64 {
        let alpha = new.coefficients[at] / new.distance.sqrt();
        self.row(at)[at] + alpha * alpha
    }

    /// Entry (at, at).
    pub(crate) fn diagonal(&self, at: usize) -> f64 {
        self.row(at)[at]
    }

    /// Adds an example.
    pub(crate) fn push(&mut self, new: &Projected, most: usize) {
        let size = self.size;
        if size == self.stride {
            self.widen((2 * size).clamp(4, most.max(size + 1)));
        }
        let r = new.distance.sqrt();
        self.border.clear();
        self.border.extend(new.coefficients.iter().map(|alpha| alpha / r));
        // [P + aa', -a/r; -a'/r, 1/r^2] with a = alpha / r.
        for (at, a) in self.border.iter().enumerate() {
            let row = &mut self.entries[at * self.stride..][..=size];
            row[..size].iter_mut().zip(&self.border).for_each(|(entry, b)| *entry += a * b);
            row[size] = -a / r;
        }
        let (above, last) = self.entries.split_at_mut(size * self.stride);
        for (at, entry) in last[..size].iter_mut().enumerate() {
            *entry = above[at * self.stride + size];
        }
        last[size] = 1.0 / r / r;
        self.size += 1;
    }

    fn widen(&mut self, stride: usize) {
        let mut entries = vec![0.0; stride * stride];
        for at in 0..self.size {
            entries[at * stride..][..self.size].copy_from_slice(self.row(at));
        }
        (self.entries, self.stride) = (entries, stride);
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
        let column = &self.entries[at * self.stride..at * self.stride + self.size];
        self.evicted.extend(column.iter().zip(&self.border).map(|(entry, b)| (entry + a * b) / root));
        // The new one's entry of that column.
        let last = -a / r / root;
        // Mirrored entries get the same two products, so they stay equal to the last bit.
        for row in 0..self.size {
            let (b, e) = (self.border[row], self.evicted[row]);
            if row != at && (b != 0.0 || e != 0.0) {
                let entries = &mut self.entries[row * self.stride..][..self.size];
                for ((entry, border), evicted) in entries.iter_mut().zip(&self.border).zip(&self.evicted) {
                    *entry += b * border - e * evicted;
                }
            }
        }
        for other in 0..self.size {
            let entry = -self.border[other] / r - last * self.evicted[other];
            self.entries[other * self.stride + at] = entry;
            self.entries[at * self.stride + other] = entry;
        }
        self.entries[at * self.stride + at] = 1.0 / r / r - last * last;
        self.evictions += 1;
    }

    /// Takes example `at` out; the last one takes its place.
    pub(crate) fn swap_remove(&mut self, at: usize) {
        let root = self.diagonal(at).sqrt();
        self.evicted.clear();
        let column = &self.entries[at * self.stride..at * self.stride + self.size];
        self.evicted.extend(column.iter().map(|entry| entry / root));
        for (row, e) in self.evicted.iter().enumerate() {
            let entries = &mut self.entries[row * self.stride..][..self.size];
            entries.iter_mut().zip(&self.evicted).for_each(|(entry, evicted)| *entry -= e * evicted);
        }
        let last = self.size - 1;
        if at != last {
            for other in 0..self.size {
                let entry = self.entries[last * self.stride + other];
                self.entries[at * self.stride + other] = entry;
                self.entries[other * self.stride + at] = entry;
            }
            self.entries[at * self.stride + at] = self.entries[last * self.stride + last];
        }
        self.size = last;
        self.evictions += 1;
    }

    /// Whether it is time to form P anew.
    pub(crate) fn wants_refresh(&self) -> bool {
        self.evictions > self.size as u64
    }

    /// Takes the inverse of H as it is; P stays as it is where H is too close to singular.
    pub(crate) fn refresh(&mut self, gram: &Symmetric) {
        self.evictions = 0;
        let Some(inverse) = gram.cholesky_inverse() else { return };
        for at in 0..self.size {
            self.entries[at * self.stride..][..self.size].copy_from_slice(inverse.row(at));
        }
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        let numbers = self.entries.capacity() + self.border.capacity() + self.evicted.capacity();
        numbers * size_of::<f64>()
    }

    /// The entries on and below the diagonal, and the evictions since P was formed.
    pub(crate) fn state(&self) -> (Vec<f64>, u64) {
        let lower = (0..self.size).flat_map(|at| self.row(at)[..=at].iter().copied()).collect();
        (lower, self.evictions)
    }

    /// Takes saved entries, checking what later code trusts.
    pub(crate) fn restore(size: usize, lower: &[f64], evictions: u64) -> Result<Self, StateError> {
        if size.checked_add(1).and_then(|next| size.checked_mul(next)) != lower.len().checked_mul(2) {
            return Err(StateError::new("the inverse is not a triangle of a row a support"));
        }
        check_finite(lower)?;
        let entry = |row: usize, column: usize| lower[row * (row + 1) / 2 + column];
        if (0..size).any(|at| entry(at, at) <= 0.0) {
            return Err(StateError::new("the inverse's diagonal is not positive"));
        }
        let mut entries = vec![0.0; size * size];
        for row in 0..size {
            for column in 0..=row {
                entries[row * size + column] = entry(row, column);
                entries[column * size + row] = entry(row, column);
            }
        }
        Ok(Self { size, stride: size, entries, evictions, ..Self::default() })
    }
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
            let point: Vec<f64> = (0..2).map(|_| rng.random_range(-3.0..3.0)).collect();
            let k: Vec<f64> = points.iter().map(|other: &Vec<f64>| kernel(&point, other)).collect();
            inverse.project(&k, 1.0, &mut new);
            if new.distance <= 1e-4 {
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
            if inverse.wants_refresh() {
                inverse.refresh(&gram(&points));
            }
            if evictions % 997 == 0 {
                worst = worst.max(drift(&points, &inverse));
                let eigenvalues = gram(&points).eigenvalues();
                condition = condition.max(eigenvalues[SIZE - 1] / eigenvalues[0]);
            }
        }
        assert!(worst < 1e-6, "{worst}");
        assert!(worst > 0.0 && condition > 1e4, "nothing could drift: {worst}, condition {condition}");
    }

    #[test]
    fn coming_and_going_is_inverting() {
        let mut rng = generator(2, 0);
        let (mut inverse, mut points) = (InverseGram::default(), Vec::<Vec<f64>>::new());
        let (mut new, mut gamma) = (Projected::default(), Vec::new());
        for round in 0..200 {
            let point: Vec<f64> = (0..5).map(|_| rng.random_range(-1.0..1.0)).collect();
            let k: Vec<f64> = points.iter().map(|other| kernel(&point, other)).collect();
            inverse.project(&k, 1.0, &mut new);
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
        let (lower, evictions) = inverse.state();
        assert!(InverseGram::restore(points.len(), &lower, evictions).is_ok());
        assert!(InverseGram::restore(points.len() + 1, &lower, evictions).is_err());
        assert!(InverseGram::restore(1, &[-1.0], 0).is_err());
    }
}
