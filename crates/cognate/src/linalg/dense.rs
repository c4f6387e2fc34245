//! Dense matrices, column by column, and what batch solvers do with them; beside `symmetric` the only file that knows
//! the linear algebra crate.
//!
//! Everything runs on one thread, so that results have the same bits whatever the machine has.

use faer::linalg::matmul::matmul;
use faer::linalg::solvers::{Llt, Solve};
use faer::{Accum, Mat, MatRef, Par, Side};

use super::{Symmetric, dot};

/// A matrix; its columns are contiguous.
#[derive(Debug, Clone)]
pub(crate) struct Dense(Mat<f64>);

impl Dense {
    pub(crate) fn zeros(rows: usize, columns: usize) -> Self {
        Self(Mat::zeros(rows, columns))
    }

    pub(crate) fn from_fn(rows: usize, columns: usize, entry: impl FnMut(usize, usize) -> f64) -> Self {
        Self(Mat::from_fn(rows, columns, entry))
    }

    pub(crate) fn rows(&self) -> usize {
        self.0.nrows()
    }

    pub(crate) fn columns(&self) -> usize {
        self.0.ncols()
    }

    #[inline]
    pub(crate) fn at(&self, row: usize, column: usize) -> f64 {
        self.0[(row, column)]
    }

    #[inline]
    pub(crate) fn set(&mut self, row: usize, column: usize, value: f64) {
        self.0[(row, column)] = value;
    }

    #[inline]
    pub(crate) fn column(&self, column: usize) -> &[f64] {
        self.0.col_as_slice(column)
    }

    #[inline]
    pub(crate) fn column_mut(&mut self, column: usize) -> &mut [f64] {
        self.0.col_as_slice_mut(column)
    }

    /// The product with another.
    pub(crate) fn times(&self, other: &Self) -> Self {
        product(self.0.as_ref(), other.0.as_ref())
    }

    /// The transpose of this one times another.
    pub(crate) fn transposed_times(&self, other: &Self) -> Self {
        product(self.0.transpose(), other.0.as_ref())
    }

    /// This one times the transpose of another.
    pub(crate) fn times_transposed(&self, other: &Self) -> Self {
        product(self.0.as_ref(), other.0.transpose())
    }

    /// The columns multiplied by a number each.
    pub(crate) fn scale_columns(&mut self, factors: &[f64]) {
        for (column, factor) in factors.iter().enumerate() {
            self.column_mut(column).iter_mut().for_each(|entry| *entry *= factor);
        }
    }

    /// The rows multiplied by a number each.
    pub(crate) fn scale_rows(&mut self, factors: &[f64]) {
        for column in 0..self.columns() {
            self.column_mut(column).iter_mut().zip(factors).for_each(|(entry, factor)| *entry *= factor);
        }
    }

    /// Every entry replaced by a function of it and of the same entry of another matrix.
    pub(crate) fn combine(&mut self, other: &Self, entry: impl Fn(f64, f64) -> f64) {
        for column in 0..self.columns() {
            let theirs = other.0.col_as_slice(column);
            self.column_mut(column)
                .iter_mut()
                .zip(theirs)
                .for_each(|(mine, their)| *mine = entry(*mine, *their));
        }
    }

    /// The sum of the products of entries.
    pub(crate) fn inner(&self, other: &Self) -> f64 {
        (0..self.columns()).map(|column| dot(self.column(column), other.column(column))).sum()
    }

    /// The largest size of an entry.
    pub(crate) fn largest(&self) -> f64 {
        let sizes = (0..self.columns()).flat_map(|column| self.column(column)).map(|entry| entry.abs());
        sizes.fold(0.0, f64::max)
    }

    pub(crate) fn is_finite(&self) -> bool {
        (0..self.columns()).all(|column| self.column(column).iter().all(|entry| entry.is_finite()))
    }

    /// Eigenvalues, increasing, and vectors of a symmetric matrix, of which the lower triangle is read; none where they
    /// cannot be found.
    pub(crate) fn eigen(&self) -> Option<(Vec<f64>, Self)> {
        if !self.is_finite() {
            return None;
        }
        let found = self.0.self_adjoint_eigen(Side::Lower).ok()?;
        let values: Vec<f64> = (0..self.rows()).map(|at| found.S()[at]).collect();
        values.iter().all(|value| value.is_finite()).then(|| (values, Self(found.U().to_owned())))
    }

    /// X of (this) X = `right` for a positive definite matrix, of which the lower triangle is read; none where it is
    /// not.
    pub(crate) fn solve_positive(&self, right: &Self) -> Option<Self> {
        let factor = Llt::new(self.0.as_ref(), Side::Lower).ok()?;
        let solved = Self(factor.solve(&right.0));
        solved.is_finite().then_some(solved)
    }

    /// The lower triangle of a square matrix as a symmetric one.
    pub(crate) fn to_symmetric(&self) -> Symmetric {
        Symmetric::from_fn(self.rows(), |row, column| {
            f64::midpoint(self.at(row, column), self.at(column, row))
        })
    }

    pub(crate) fn from_symmetric(matrix: &Symmetric) -> Self {
        Self::from_fn(matrix.size(), matrix.size(), |row, column| matrix.entry(row, column))
    }

    /// All entries, column by column.
    pub(crate) fn to_vec(&self) -> Vec<f64> {
        (0..self.columns()).flat_map(|column| self.column(column).iter().copied()).collect()
    }
}

fn product(left: MatRef<'_, f64>, right: MatRef<'_, f64>) -> Dense {
    let mut out = Mat::zeros(left.nrows(), right.ncols());
    matmul(out.as_mut(), Accum::Replace, left, right, 1.0, Par::Seq);
    Dense(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_eigenvalues_and_solutions_of_a_small_matrix() {
        let a = Dense::from_fn(2, 3, |i, j| (3 * i + j) as f64);
        let gram = a.times_transposed(&a);
        assert_eq!([gram.at(0, 0), gram.at(0, 1), gram.at(1, 1)], [5.0, 14.0, 50.0]);
        assert_eq!(a.transposed_times(&a).at(2, 2), 29.0);
        let (values, vectors) = gram.eigen().unwrap();
        assert!((values[0] + values[1] - 55.0).abs() < 1e-12 && values[0] < values[1]);
        assert!((vectors.transposed_times(&vectors).at(0, 1)).abs() < 1e-14);
        let solved = gram.solve_positive(&gram).unwrap();
        assert!((solved.at(0, 0) - 1.0).abs() < 1e-12 && solved.at(1, 0).abs() < 1e-12);
        assert!(Dense::from_fn(1, 1, |_, _| f64::NAN).eigen().is_none());
        assert!(Dense::from_fn(2, 2, |_, _| 1.0).solve_positive(&gram).is_none());
    }
}
