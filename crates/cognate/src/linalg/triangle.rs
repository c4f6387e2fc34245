//! The lower half of a K x K symmetric matrix, row by row: for matrices that change as a whole at every mistake.
//!
//! Half the memory to walk, and every loop treats entries by themselves, so it is as wide as the processor allows and
//! gives the same bits everywhere.

#![expect(clippy::inline_always, reason = "only what is inlined is compiled for wide vectors")]

use super::wide::{Simd, WithSimd, wide, wide_work};
use super::{Symmetric, check_finite};
use crate::error::StateError;

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Triangle {
    size: usize,
    /// Entry (row, column), column <= row, is at row (row + 1) / 2 + column.
    entries: Vec<f64>,
}

/// What becomes of a matrix when another changes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Blend<'a> {
    /// So much of what it was and so much of the other.
    Mixed { old: f64, new: f64 },
    /// So much of the other, and `factor v v'`.
    Replaced { new: f64, factor: f64, v: &'a [f64] },
}

/// [`Triangle::add_pair_and_blend`] as work of its own.
struct AddPairAndBlend<'a> {
    mine: &'a mut [f64],
    others: &'a mut [f64],
    a: &'a [f64],
    b: &'a [f64],
    blend: Blend<'a>,
}

impl WithSimd for AddPairAndBlend<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { mut mine, mut others, a, b, blend } = self;
        for row in 0..a.len() {
            let (entries, mine_below) = mine.split_at_mut(row + 1);
            let (blended, others_below) = others.split_at_mut(row + 1);
            let (a_row, b_row, a, b) = (a[row], b[row], &a[..=row], &b[..=row]);
            let both = entries.iter_mut().zip(blended).zip(a.iter().zip(b));
            match blend {
                Blend::Mixed { old, new } => {
                    for ((entry, other), (a, b)) in both {
                        *entry += a_row * b + b_row * a;
                        *other = old * *other + new * *entry;
                    }
                }
                Blend::Replaced { new, factor, v } => {
                    let v_row = factor * v[row];
                    for (((entry, other), (a, b)), v) in both.zip(&v[..=row]) {
                        *entry += a_row * b + b_row * a;
                        *other = new * *entry + v_row * v;
                    }
                }
            }
            (mine, others) = (mine_below, others_below);
        }
    }
}

impl Triangle {
    /// A multiple of the identity.
    pub(crate) fn diagonal(size: usize, value: f64) -> Self {
        let mut triangle = Self { size: 0, entries: Vec::new() };
        triangle.grow(size, value);
        triangle
    }

    /// More rows and columns, of zeros but for the diagonal.
    pub(crate) fn grow(&mut self, size: usize, diagonal: f64) {
        for row in self.size..size {
            self.entries.resize(self.entries.len() + row, 0.0);
            self.entries.push(diagonal);
        }
        self.size = self.size.max(size);
    }

    pub(crate) fn size(&self) -> usize {
        self.size
    }

    pub(crate) fn entry(&self, row: usize, column: usize) -> f64 {
        let (row, column) = (row.max(column), row.min(column));
        self.entries[row * (row + 1) / 2 + column]
    }

    /// One row of the whole matrix, into a list that is cleared first.
    pub(crate) fn row_into(&self, row: usize, list: &mut Vec<f64>) {
        list.clear();
        let start = row * (row + 1) / 2;
        list.extend_from_slice(&self.entries[start..=start + row]);
        list.extend((row + 1..self.size).map(|below| self.entries[below * (below + 1) / 2 + row]));
    }

    pub(crate) fn trace(&self) -> f64 {
        (0..self.size).map(|at| self.entry(at, at)).sum()
    }

    /// Adds to an entry, which is also the one mirrored.
    pub(crate) fn add(&mut self, row: usize, column: usize, amount: f64) {
        let (row, column) = (row.max(column), row.min(column));
        self.entries[row * (row + 1) / 2 + column] += amount;
    }

    pub(crate) fn add_diagonal(&mut self, amount: f64) {
        (0..self.size).for_each(|at| self.add(at, at, amount));
    }

    pub(crate) fn scale(&mut self, factor: f64) {
        wide(|| self.entries.iter_mut().for_each(|entry| *entry *= factor));
    }

    /// Adds `a b' + b a'`.
    pub(crate) fn add_pair(&mut self, a: &[f64], b: &[f64]) {
        wide(|| {
            let mut rest = self.entries.as_mut_slice();
            for row in 0..self.size {
                let (entries, below) = rest.split_at_mut(row + 1);
                let (a_row, b_row) = (a[row], b[row]);
                for ((entry, a), b) in entries.iter_mut().zip(&a[..=row]).zip(&b[..=row]) {
                    *entry += a_row * b + b_row * a;
                }
                rest = below;
            }
        });
    }

    /// Adds `a b' + b a'`, and makes another matrix of it in the same walk.
    pub(crate) fn add_pair_and_blend(&mut self, a: &[f64], b: &[f64], other: &mut Self, blend: &Blend<'_>) {
        let (mine, others, blend) = (&mut self.entries, &mut other.entries, *blend);
        wide_work(AddPairAndBlend { mine, others, a, b, blend });
    }

    pub(crate) fn is_finite(&self) -> bool {
        self.entries.iter().all(|entry| entry.is_finite())
    }

    /// Both halves.
    pub(crate) fn whole(&self) -> Symmetric {
        Symmetric::from_fn(self.size, |row, column| self.entries[row * (row + 1) / 2 + column])
    }

    pub(crate) fn of(matrix: &Symmetric) -> Self {
        Self { size: matrix.size(), entries: matrix.lower() }
    }

    /// The entries, row by row.
    pub(crate) fn entries(&self) -> &[f64] {
        &self.entries
    }

    pub(crate) fn restore(size: usize, entries: Vec<f64>) -> Result<Self, StateError> {
        if size.checked_add(1).and_then(|next| size.checked_mul(next)) != entries.len().checked_mul(2) {
            return Err(StateError::new("there is not one number a pair of tasks"));
        }
        check_finite(&entries)?;
        Ok(Self { size, entries })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_matrix_does_what_a_whole_one_does() {
        let mut half = Triangle::diagonal(2, 2.0);
        half.grow(3, 5.0);
        let (a, b) = ([1.0, -2.0, 0.5], [0.25, 3.0, -1.0]);
        half.add_pair(&a, &b);
        let expected =
            |i: usize, j: usize| [2.0, 2.0, 5.0][i] * f64::from(u8::from(i == j)) + a[i] * b[j] + b[i] * a[j];
        let mut row = Vec::new();
        for i in 0..3 {
            half.row_into(i, &mut row);
            for (j, found) in row.iter().enumerate() {
                assert_eq!((*found, half.entry(i, j)), (expected(i, j), expected(i, j)));
            }
        }
        assert_eq!(half.trace(), (0..3).map(|i| expected(i, i)).sum::<f64>());
        assert_eq!(Triangle::of(&half.whole()), half);
        assert_eq!(Triangle::restore(3, half.entries().to_vec()).unwrap(), half);
        assert!(Triangle::restore(4, half.entries().to_vec()).is_err());
        assert!(Triangle::restore(1, vec![f64::NAN]).is_err());
        half.scale(0.5);
        assert_eq!(half.entry(2, 0), 0.5 * expected(2, 0));
    }

    #[test]
    fn one_walk_does_what_several_do() {
        let (a, b, v) = ([1.0, -2.0, 0.5], [0.25, 3.0, -1.0], [2.0, 0.5, 1.0]);
        let (mut gram, relation) = (Triangle::diagonal(3, 2.0), Triangle::diagonal(3, 7.0));
        let (mut walked, mut blended) = (gram.clone(), relation.clone());
        walked.add_pair_and_blend(&a, &b, &mut blended, &Blend::Mixed { old: 0.5, new: 4.0 });
        gram.add_pair(&a, &b);
        assert_eq!(walked, gram);
        for row in 0..3 {
            for column in 0..=row {
                let expected = 0.5 * relation.entry(row, column) + 4.0 * gram.entry(row, column);
                assert_eq!(blended.entry(row, column), expected);
            }
        }
        gram.add_pair(&a, &b);
        walked.add_pair_and_blend(&a, &b, &mut blended, &Blend::Replaced { new: 4.0, factor: -3.0, v: &v });
        assert_eq!(walked, gram);
        for row in 0..3 {
            for column in 0..=row {
                let expected = 4.0 * gram.entry(row, column) - 3.0 * v[row] * v[column];
                assert_eq!(blended.entry(row, column), expected);
            }
        }
    }
}
