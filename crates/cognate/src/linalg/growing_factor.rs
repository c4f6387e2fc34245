//! The Cholesky factor of a positive definite matrix that grows by a row and a column at a time.

use super::dot;
use crate::error::StateError;

/// L with LL' = A, the rows of its lower triangle one after the other.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct GrowingFactor {
    size: usize,
    entries: Vec<f64>,
}

impl GrowingFactor {
    fn row(&self, at: usize) -> &[f64] {
        let start = at * (at + 1) / 2;
        &self.entries[start..=start + at]
    }

    /// Turns b into L^-1 b.
    pub(crate) fn solve(&self, b: &mut [f64]) {
        debug_assert_eq!(b.len(), self.size, "one number per row");
        for at in 0..self.size {
            let (diagonal, left) = self.row(at).split_last().expect("a row has a diagonal");
            b[at] = (b[at] - dot(left, &b[..at])) / diagonal;
        }
    }

    /// Turns b into (L')^-1 b.
    pub(crate) fn solve_transposed(&self, b: &mut [f64]) {
        for at in (0..self.size).rev() {
            let (diagonal, left) = self.row(at).split_last().expect("a row has a diagonal");
            b[at] /= diagonal;
            let known = b[at];
            for (entry, factor) in b[..at].iter_mut().zip(left) {
                *entry -= factor * known;
            }
        }
    }

    /// Grows A by the row that makes L's last row (left, diagonal).
    pub(crate) fn push_row(&mut self, left: &[f64], diagonal: f64) {
        debug_assert_eq!(left.len(), self.size, "one number per row");
        self.entries.extend_from_slice(left);
        self.entries.push(diagonal);
        self.size += 1;
    }

    /// The rows one after the other.
    pub(crate) fn entries(&self) -> &[f64] {
        &self.entries
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.entries.capacity() * size_of::<f64>()
    }

    /// Takes saved rows, checking what later code trusts.
    pub(crate) fn restore(size: usize, entries: Vec<f64>) -> Result<Self, StateError> {
        if size.checked_add(1).and_then(|next| size.checked_mul(next)) != entries.len().checked_mul(2) {
            return Err(StateError::new("the factor is not a triangle with one row per support"));
        }
        super::check_all_finite("an entry of the factor of the Gram matrix", &entries)?;
        let factor = Self { size, entries };
        if (0..size).any(|at| factor.row(at)[at] <= 0.0) {
            return Err(StateError::new("the factor's diagonal is not positive"));
        }
        Ok(factor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A = [[4, 2, 2], [2, 5, 3], [2, 3, 6]] has L = [[2], [1, 2], [1, 1, 2]].
    #[test]
    fn bordering_is_factoring() {
        let mut factor = GrowingFactor::default();
        for column in [vec![4.0], vec![2.0, 5.0], vec![2.0, 3.0, 6.0]] {
            let (corner, border) = column.split_last().unwrap();
            let mut left = border.to_vec();
            factor.solve(&mut left);
            factor.push_row(&left, (corner - dot(&left, &left)).sqrt());
        }
        assert_eq!(factor.entries(), [2.0, 1.0, 2.0, 1.0, 1.0, 2.0]);
        // A x = (12, 17, 22) has x = (1, 2, 2.5), by hand: 4 + 4 + 5 = 13; take b = A (1, 2, 3).
        let mut b = vec![4.0 + 4.0 + 6.0, 2.0 + 10.0 + 9.0, 2.0 + 6.0 + 18.0];
        factor.solve(&mut b);
        factor.solve_transposed(&mut b);
        assert!(b.iter().zip([1.0, 2.0, 3.0]).all(|(found, x)| (found - x).abs() < 1e-14), "{b:?}");
        assert!(GrowingFactor::restore(3, factor.entries().to_vec()).is_ok());
        assert!(GrowingFactor::restore(2, factor.entries().to_vec()).is_err());
        assert!(GrowingFactor::restore(1, vec![0.0]).is_err());
    }
}
