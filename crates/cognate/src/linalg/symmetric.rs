//! K x K symmetric matrices, row by row, and the few factorisations that tasks need.

use faer::linalg::solvers::{DenseSolveCore, Llt};
use faer::{Mat, Side};
use serde::{Deserialize, Serialize};

use super::check_all_finite;
use crate::error::StateError;

/// A symmetric matrix, both triangles stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Symmetric {
    size: usize,
    entries: Vec<f64>,
}

/// Why a table of numbers is not a symmetric positive definite matrix.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SymmetricError {
    /// No rows.
    #[error("the matrix is empty")]
    Empty,
    /// A row has another length than there are rows.
    #[error("row {row} has {found} numbers; a matrix of {size} rows needs {size}")]
    Shape {
        /// The row, from 1.
        row: usize,
        /// Its length.
        found: usize,
        /// Number of rows.
        size: usize,
    },
    /// An entry is NaN or infinite.
    #[error("entry ({row}, {column}) is {value}; entries must be finite")]
    NotFinite {
        /// Row, from 1.
        row: usize,
        /// Column, from 1.
        column: usize,
        /// The entry.
        value: f64,
    },
    /// Mirrored entries differ.
    #[error(
        "entry ({row}, {column}) is {value} but entry ({column}, {row}) is {mirrored}; the matrix must be symmetric"
    )]
    NotSymmetric {
        /// Row, from 1.
        row: usize,
        /// Column, from 1.
        column: usize,
        /// The entry.
        value: f64,
        /// The mirrored entry.
        mirrored: f64,
    },
    /// The inverse has entries beyond the largest number.
    #[error("the largest eigenvalue is {largest:e}; the inverse of so small a matrix overflows")]
    Tiny {
        /// Largest eigenvalue.
        largest: f64,
    },
    /// An eigenvalue is not clearly positive.
    #[error(
        "the smallest eigenvalue is {smallest:e} (the largest {largest:e}); the matrix must be positive definite"
    )]
    NotPositive {
        /// Smallest eigenvalue.
        smallest: f64,
        /// Largest eigenvalue.
        largest: f64,
    },
}

/// Below this ratio of smallest to largest eigenvalue the inverse has hardly any correct digits.
const LEAST_CONDITION: f64 = 1e-13;

impl Symmetric {
    /// Makes the matrix whose entry (row, column) is `entry(row, column)`, reading the lower triangle only.
    pub fn from_fn(size: usize, mut entry: impl FnMut(usize, usize) -> f64) -> Self {
        let mut entries = vec![0.0; size * size];
        for row in 0..size {
            for column in 0..=row {
                let value = entry(row, column);
                entries[row * size + column] = value;
                entries[column * size + row] = value;
            }
        }
        Self { size, entries }
    }

    /// Takes rows as a user wrote them.
    ///
    /// # Errors
    /// When the rows are not square, finite and symmetric (to 1e-9 of the larger of two mirrored entries).
    pub fn try_from_rows(rows: &[Vec<f64>]) -> Result<Self, SymmetricError> {
        let size = rows.len();
        if size == 0 {
            return Err(SymmetricError::Empty);
        }
        for (at, row) in rows.iter().enumerate() {
            if row.len() != size {
                return Err(SymmetricError::Shape { row: at + 1, found: row.len(), size });
            }
            if let Some(column) = row.iter().position(|value| !value.is_finite()) {
                return Err(SymmetricError::NotFinite {
                    row: at + 1,
                    column: column + 1,
                    value: row[column],
                });
            }
        }
        for row in 0..size {
            for column in 0..row {
                let (value, mirrored) = (rows[row][column], rows[column][row]);
                if (value - mirrored).abs() > 1e-9 * value.abs().max(mirrored.abs()) {
                    return Err(SymmetricError::NotSymmetric {
                        row: row + 1,
                        column: column + 1,
                        value,
                        mirrored,
                    });
                }
            }
        }
        Ok(Self::from_fn(size, |row, column| rows[row][column]))
    }

    /// Number of rows.
    pub fn size(&self) -> usize {
        self.size
    }

    /// One row, which is also one column.
    #[inline]
    pub fn row(&self, row: usize) -> &[f64] {
        &self.entries[row * self.size..(row + 1) * self.size]
    }

    /// One entry.
    #[inline]
    pub fn entry(&self, row: usize, column: usize) -> f64 {
        self.row(row)[column]
    }

    /// The correlation form: every entry divided by the roots of its two diagonal entries, 0 where one is 0.
    #[must_use]
    pub fn correlation(&self) -> Self {
        let scale: Vec<f64> = (0..self.size).map(|at| self.entry(at, at).max(0.0).sqrt()).collect();
        Self::from_fn(self.size, |row, column| {
            let product = scale[row] * scale[column];
            if row == column && product > 0.0 {
                1.0
            } else if product > 0.0 {
                self.entry(row, column) / product
            } else {
                0.0
            }
        })
    }

    /// C = B^(p-1) Tr(B^p)^(1/p - 1) of a Gram matrix B = V'V: the gradient of half the squared Schatten 2p-norm of V
    /// is V C.
    ///
    /// Zero for a zero matrix. C does not change when B is scaled, so its powers are taken of B / Tr(B), whose
    /// eigenvalues are between 0 and 1.
    pub(crate) fn schatten_gradient(&self, p: u32) -> Self {
        let trace: f64 = (0..self.size).map(|at| self.entry(at, at)).sum();
        if trace == 0.0 {
            return Self::from_fn(self.size, |_, _| 0.0);
        }
        if p == 1 {
            return Self::from_fn(self.size, |row, column| f64::from(u8::from(row == column)));
        }
        let base = Mat::from_fn(self.size, self.size, |row, column| self.entry(row, column) / trace);
        let (mut power, mut square) = (Mat::identity(self.size, self.size), base.clone());
        let mut exponent = p - 1;
        while exponent > 0 {
            if exponent % 2 == 1 {
                power = &power * &square;
            }
            exponent /= 2;
            if exponent > 0 {
                square = &square * &square;
            }
        }
        // Tr(B^p) without another product.
        let rows = 0..self.size;
        let trace: f64 = rows
            .clone()
            .flat_map(|i| rows.clone().map(move |j| (i, j)))
            .map(|(i, j)| power[(i, j)] * base[(j, i)])
            .sum();
        let scale = trace.powf(1.0 / f64::from(p) - 1.0);
        Self::from_fn(self.size, |row, column| {
            scale * f64::midpoint(power[(row, column)], power[(column, row)])
        })
    }

    /// Eigenvalues with their vectors; none where they cannot be found.
    pub(crate) fn spectrum(&self) -> Option<Spectrum> {
        let matrix = Mat::from_fn(self.size, self.size, |row, column| self.entry(row, column));
        let found = matrix.self_adjoint_eigen(Side::Lower).ok()?;
        let values: Vec<f64> = (0..self.size).map(|at| found.S()[at]).collect();
        let sound = values.iter().all(|value| value.is_finite());
        sound.then(|| Spectrum { values, vectors: found.U().to_owned() })
    }

    /// Whether no entry is infinite or NaN.
    pub(crate) fn is_finite(&self) -> bool {
        self.entries.iter().all(|entry| entry.is_finite())
    }

    /// Replaces every entry by a function of it and of the same entry of another matrix.
    pub(crate) fn combine(&mut self, other: &Self, entry: impl Fn(f64, f64) -> f64) {
        self.entries.iter_mut().zip(&other.entries).for_each(|(mine, theirs)| *mine = entry(*mine, *theirs));
    }

    /// Adds to every entry of the diagonal.
    pub(crate) fn add_diagonal(&mut self, amount: f64) {
        (0..self.size).for_each(|at| self.entries[at * self.size + at] += amount);
    }

    /// Takes the entries on and below the diagonal, row by row.
    pub(crate) fn from_lower(size: usize, lower: &[f64]) -> Result<Self, StateError> {
        if size.checked_add(1).and_then(|next| size.checked_mul(next)) != lower.len().checked_mul(2) {
            return Err(StateError::new("there is not one number per pair of tasks"));
        }
        check_all_finite("an entry of a matrix of tasks", lower)?;
        Ok(Self::from_fn(size, |row, column| lower[row * (row + 1) / 2 + column]))
    }

    /// The same matrix with more rows and columns, of zeros.
    pub(crate) fn grown(&self, size: usize) -> Self {
        let inside = |row: usize, column: usize| row < self.size && column < self.size;
        Self::from_fn(size, |row, column| if inside(row, column) { self.entry(row, column) } else { 0.0 })
    }

    /// Adds to an entry and to the one mirrored, or once on the diagonal.
    pub(crate) fn add(&mut self, row: usize, column: usize, amount: f64) {
        self.entries[row * self.size + column] += amount;
        if row != column {
            self.entries[column * self.size + row] += amount;
        }
    }

    /// The entries on and below the diagonal, row by row.
    pub(crate) fn lower(&self) -> Vec<f64> {
        (0..self.size).flat_map(|row| self.row(row)[..=row].iter().copied()).collect()
    }

    /// The eigenvalues, increasing; NaN where they cannot be found.
    pub fn eigenvalues(&self) -> Vec<f64> {
        let matrix = Mat::from_fn(self.size, self.size, |row, column| self.entry(row, column));
        matrix.self_adjoint_eigenvalues(Side::Lower).unwrap_or_else(|_| vec![f64::NAN; self.size])
    }

    /// The logarithm of the determinant, by Cholesky; none where the matrix is not positive definite.
    pub fn log_determinant(&self) -> Option<f64> {
        let matrix = Mat::from_fn(self.size, self.size, |row, column| self.entry(row, column));
        let cholesky = Llt::new(matrix.as_ref(), Side::Lower).ok()?;
        Some((0..self.size).map(|at| 2.0 * cholesky.L()[(at, at)].ln()).sum())
    }

    /// The inverse by Cholesky, without a look at how close to singular the matrix is; none where it is not positive
    /// definite, or an entry of the inverse not finite.
    pub(crate) fn cholesky_inverse(&self) -> Option<Self> {
        let matrix = Mat::from_fn(self.size, self.size, |row, column| self.entry(row, column));
        let inverse = Llt::new(matrix.as_ref(), Side::Lower).ok()?.inverse();
        let inverse = Self::from_fn(self.size, |row, column| {
            f64::midpoint(inverse[(row, column)], inverse[(column, row)])
        });
        let sound = inverse.is_finite() && (0..self.size).all(|at| inverse.entry(at, at) > 0.0);
        sound.then_some(inverse)
    }

    /// The pseudo-inverse of a positive semi-definite matrix; none for another, or for one that is 0 but for rounding.
    pub(crate) fn pseudo_inverse(&self) -> Option<Self> {
        let spectrum = self.is_finite().then(|| self.spectrum()).flatten()?;
        let largest = *spectrum.values.last()?;
        let least = LEAST_CONDITION * largest * self.size as f64;
        if largest <= 0.0 || spectrum.values[0] < -least {
            return None;
        }
        let inverse = |value: &f64| if *value > least { 1.0 / value } else { 0.0 };
        let inverses: Vec<f64> = spectrum.values.iter().map(inverse).collect();
        Some(spectrum.with_values(&inverses)).filter(Self::is_finite)
    }

    /// The inverse of a positive definite matrix.
    ///
    /// # Errors
    /// When the matrix is not positive definite, or so close to singular that its inverse would be noise.
    pub fn try_inverse(&self) -> Result<Self, SymmetricError> {
        if self.size == 0 {
            return Err(SymmetricError::Empty);
        }
        // Entries around 1, so that no square overflows; a power of two changes no digit.
        let largest_entry = self.entries.iter().fold(0.0_f64, |largest, entry| largest.max(entry.abs()));
        let exponent =
            if largest_entry > 0.0 { largest_entry.log2().clamp(-1000.0, 1000.0) as i32 } else { 0 };
        let shrink = 2.0_f64.powi(-exponent);
        let matrix = Mat::from_fn(self.size, self.size, |row, column| shrink * self.entry(row, column));
        let Ok(eigenvalues) = matrix.self_adjoint_eigenvalues(Side::Lower) else {
            return Err(SymmetricError::NotPositive { smallest: f64::NAN, largest: f64::NAN });
        };
        let (smallest, largest) = (eigenvalues[0], eigenvalues[self.size - 1]);
        let not_positive =
            SymmetricError::NotPositive { smallest: smallest / shrink, largest: largest / shrink };
        if smallest.is_nan() || smallest <= LEAST_CONDITION * largest {
            return Err(not_positive);
        }
        let cholesky = Llt::new(matrix.as_ref(), Side::Lower).map_err(|_| not_positive)?;
        let inverse = cholesky.inverse();
        let inverse = Self::from_fn(self.size, |row, column| {
            shrink * f64::midpoint(inverse[(row, column)], inverse[(column, row)])
        });
        if inverse.entries.iter().all(|entry| entry.is_finite()) {
            Ok(inverse)
        } else {
            Err(SymmetricError::Tiny { largest: largest / shrink })
        }
    }
}

/// Eigenvalues, increasing, with their vectors.
#[derive(Debug, Clone)]
pub(crate) struct Spectrum {
    pub(crate) values: Vec<f64>,
    vectors: Mat<f64>,
}

impl Spectrum {
    /// Rows l_i of the matrix L with L L' closest to the matrix less a multiple of the identity, of at most this many
    /// columns.
    pub(crate) fn largest_factors(&self, most: usize, less: f64) -> Vec<Vec<f64>> {
        let size = self.values.len();
        let kept: Vec<(usize, f64)> = (0..size)
            .rev()
            .take(most)
            .map(|at| (at, self.values[at] - less))
            .filter(|pair| pair.1 > 0.0)
            .map(|(at, value)| (at, value.sqrt()))
            .collect();
        (0..size).map(|row| kept.iter().map(|(at, root)| root * self.vectors[(row, *at)]).collect()).collect()
    }

    /// The matrix with the same vectors and these eigenvalues.
    pub(crate) fn with_values(&self, values: &[f64]) -> Symmetric {
        let size = values.len();
        let scaled = Mat::from_fn(size, size, |row, column| self.vectors[(row, column)] * values[column]);
        let product = scaled * self.vectors.transpose();
        Symmetric::from_fn(size, |row, column| f64::midpoint(product[(row, column)], product[(column, row)]))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn bad_matrices_are_refused_with_the_reason() {
        let message = |rows: &[Vec<f64>]| match Symmetric::try_from_rows(rows) {
            Err(error) => error.to_string(),
            Ok(matrix) => matrix.try_inverse().unwrap_err().to_string(),
        };
        assert_eq!(message(&[]), "the matrix is empty");
        assert_eq!(message(&[vec![1.0, 0.0], vec![0.0]]), "row 2 has 1 numbers; a matrix of 2 rows needs 2");
        assert_eq!(message(&[vec![f64::NAN]]), "entry (1, 1) is NaN; entries must be finite");
        assert_eq!(
            message(&[vec![1.0, 0.5], vec![0.4, 1.0]]),
            "entry (2, 1) is 0.4 but entry (1, 2) is 0.5; the matrix must be symmetric"
        );
        assert!(message(&[vec![1.0, 2.0], vec![2.0, 1.0]]).starts_with("the smallest eigenvalue is -1"));
        assert!(message(&[vec![1.0, 1.0], vec![1.0, 1.0]]).contains("must be positive definite"));
    }

    #[test]
    fn eigenvalues_and_determinant_of_a_small_matrix() {
        let matrix = Symmetric::from_fn(2, |i, j| if i == j { 2.0 } else { 1.0 });
        let found = matrix.eigenvalues();
        assert!((found[0] - 1.0).abs() < 1e-12 && (found[1] - 3.0).abs() < 1e-12);
        assert!((matrix.log_determinant().unwrap() - 3.0_f64.ln()).abs() < 1e-12);
        assert_eq!(Symmetric::from_fn(2, |_, _| 1.0 - 2.0).log_determinant(), None);
        assert_eq!(Symmetric::from_fn(0, |_, _| 0.0).log_determinant(), Some(0.0));
        assert!(Symmetric::from_fn(0, |_, _| 0.0).eigenvalues().is_empty());
    }

    proptest! {
        #[test]
        fn inverse_times_matrix_is_the_identity(size in 1usize..12, noise in prop::collection::vec(-1.0..1.0f64, 144)) {
            // B B' + I is symmetric positive definite.
            let product = |i: usize, j: usize| (0..size).map(|k| noise[i * 12 + k] * noise[j * 12 + k]).sum::<f64>();
            let matrix = Symmetric::from_fn(size, |i, j| product(i, j) + f64::from(u8::from(i == j)));
            let inverse = matrix.try_inverse().unwrap();
            for i in 0..size {
                for j in 0..size {
                    let sum: f64 = (0..size).map(|k| matrix.entry(i, k) * inverse.entry(k, j)).sum();
                    prop_assert!((sum - f64::from(u8::from(i == j))).abs() < 1e-9);
                    prop_assert!((inverse.entry(i, j) - inverse.entry(j, i)).abs() == 0.0);
                }
            }
        }
    }
}
