//! The lower half of a K x K symmetric matrix, row by row: for matrices that change as a whole at every mistake.
//!
//! Half the memory to walk, in whole vectors, and every loop treats entries by themselves, so it is as wide as the
//! processor allows and gives the same bits everywhere.

#![expect(clippy::inline_always, reason = "only what is inlined is compiled for wide vectors")]

use super::wide::{Simd, WithSimd, wide, wide_work};
use super::{Symmetric, check_all_finite};
use crate::error::StateError;

/// Numbers in a vector of the processor: rows are kept in whole vectors, so no loop over one has a tail.
const LANES: usize = 4;

#[derive(Debug, Clone)]
pub(crate) struct Triangle {
    size: usize,
    /// Rows up to the diagonal and on to the end of a vector, one after the other. What is beyond the diagonal is never read.
    entries: Vec<f64>,
    /// Scratch.
    padded: [Vec<f64>; 3],
}

/// The length of a row.
#[inline]
fn length_of(row: usize) -> usize {
    (row / LANES + 1) * LANES
}

/// Where a row begins.
#[inline]
fn start_of(row: usize) -> usize {
    // Before it are rows of 1, 2, … vectors, so many of each as a vector has numbers.
    let vectors = row / LANES;
    (LANES * vectors * (vectors + 1) / 2 + row % LANES * (vectors + 1)) * LANES
}

/// A copy of a vector with zeros up to the end of its last row.
fn pad(vector: &[f64], padded: &mut Vec<f64>) {
    padded.clear();
    padded.extend_from_slice(vector);
    padded.resize(vector.len().next_multiple_of(LANES), 0.0);
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
    v: &'a [f64],
    blend: Blend<'a>,
}

impl WithSimd for AddPairAndBlend<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { mut mine, mut others, a, b, v, blend } = self;
        for row in 0..a.len() {
            let length = length_of(row);
            let (entries, mine_below) = mine.split_at_mut(length);
            let (blended, others_below) = others.split_at_mut(length);
            let (a_row, b_row, a, b) = (a[row], b[row], &a[..length], &b[..length]);
            let both = entries.iter_mut().zip(blended).zip(a.iter().zip(b));
            match blend {
                Blend::Mixed { old, new } => {
                    for ((entry, other), (a, b)) in both {
                        *entry += a_row * b + b_row * a;
                        *other = old * *other + new * *entry;
                    }
                }
                Blend::Replaced { new, factor, .. } => {
                    let v_row = factor * v[row];
                    for (((entry, other), (a, b)), v) in both.zip(&v[..length]) {
                        *entry += a_row * b + b_row * a;
                        *other = new * *entry + v_row * v;
                    }
                }
            }
            (mine, others) = (mine_below, others_below);
        }
    }
}

/// [`Triangle::add_pair`] as work of its own.
struct AddPair<'a> {
    mine: &'a mut [f64],
    a: &'a [f64],
    b: &'a [f64],
}

impl WithSimd for AddPair<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { mut mine, a, b } = self;
        for row in 0..a.len() {
            let length = length_of(row);
            let (entries, below) = mine.split_at_mut(length);
            let (a_row, b_row) = (a[row], b[row]);
            for ((entry, a), b) in entries.iter_mut().zip(&a[..length]).zip(&b[..length]) {
                *entry += a_row * b + b_row * a;
            }
            mine = below;
        }
    }
}

impl Triangle {
    /// A multiple of the identity.
    pub(crate) fn diagonal(size: usize, value: f64) -> Self {
        let mut triangle = Self { size: 0, entries: Vec::new(), padded: [const { Vec::new() }; 3] };
        triangle.grow(size, value);
        triangle
    }

    /// More rows and columns, of zeros but for the diagonal.
    pub(crate) fn grow(&mut self, size: usize, diagonal: f64) {
        if size <= self.size {
            return;
        }
        self.entries.resize(start_of(size.next_multiple_of(LANES)), 0.0);
        for row in self.size..size {
            let start = start_of(row);
            // Walks over the rows before may have left something here.
            self.entries[start..=start + row].fill(0.0);
            self.entries[start + row] = diagonal;
        }
        self.size = size;
    }

    pub(crate) fn size(&self) -> usize {
        self.size
    }

    pub(crate) fn entry(&self, row: usize, column: usize) -> f64 {
        let (row, column) = (row.max(column), row.min(column));
        self.entries[start_of(row) + column]
    }

    /// The entries of a row on and before the diagonal.
    fn half_row(&self, row: usize) -> &[f64] {
        &self.entries[start_of(row)..][..=row]
    }

    /// One row of the whole matrix, into a list that is cleared first.
    pub(crate) fn row_into(&self, row: usize, list: &mut Vec<f64>) {
        list.clear();
        list.extend_from_slice(self.half_row(row));
        list.extend((row + 1..self.size).map(|below| self.entry(below, row)));
    }

    pub(crate) fn trace(&self) -> f64 {
        (0..self.size).map(|at| self.entry(at, at)).sum()
    }

    /// Adds to an entry, which is also the one mirrored.
    pub(crate) fn add(&mut self, row: usize, column: usize, amount: f64) {
        let (row, column) = (row.max(column), row.min(column));
        self.entries[start_of(row) + column] += amount;
    }

    pub(crate) fn add_diagonal(&mut self, amount: f64) {
        (0..self.size).for_each(|at| self.add(at, at, amount));
    }

    pub(crate) fn scale(&mut self, factor: f64) {
        wide(|| self.entries.iter_mut().for_each(|entry| *entry *= factor));
    }

    /// Adds `a b' + b a'`.
    pub(crate) fn add_pair(&mut self, a: &[f64], b: &[f64]) {
        let [padded_a, padded_b, _] = &mut self.padded;
        pad(a, padded_a);
        pad(b, padded_b);
        wide_work(AddPair { mine: &mut self.entries, a: padded_a, b: padded_b });
    }

    /// Adds `a b' + b a'`, and makes another matrix of it in the same walk.
    pub(crate) fn add_pair_and_blend(&mut self, a: &[f64], b: &[f64], other: &mut Self, blend: &Blend<'_>) {
        let [padded_a, padded_b, padded_v] = &mut self.padded;
        pad(a, padded_a);
        pad(b, padded_b);
        if let Blend::Replaced { v, .. } = blend {
            pad(v, padded_v);
        }
        let (mine, others) = (&mut self.entries, &mut other.entries);
        wide_work(AddPairAndBlend { mine, others, a: padded_a, b: padded_b, v: padded_v, blend: *blend });
    }

    pub(crate) fn is_finite(&self) -> bool {
        (0..self.size).all(|row| self.half_row(row).iter().all(|entry| entry.is_finite()))
    }

    /// Both halves.
    pub(crate) fn whole(&self) -> Symmetric {
        Symmetric::from_fn(self.size, |row, column| self.entry(row, column))
    }

    pub(crate) fn of(matrix: &Symmetric) -> Self {
        Self::from_lower(matrix.size(), &matrix.lower())
    }

    /// The entries on and below the diagonal, row by row.
    pub(crate) fn lower(&self) -> Vec<f64> {
        (0..self.size).flat_map(|row| self.half_row(row)).copied().collect()
    }

    fn from_lower(size: usize, mut entries: &[f64]) -> Self {
        let mut triangle = Self::diagonal(size, 0.0);
        for row in 0..size {
            let (half, below) = entries.split_at(row + 1);
            triangle.entries[start_of(row)..][..=row].copy_from_slice(half);
            entries = below;
        }
        triangle
    }

    pub(crate) fn restore(size: usize, entries: &[f64]) -> Result<Self, StateError> {
        if size.checked_add(1).and_then(|next| size.checked_mul(next)) != entries.len().checked_mul(2) {
            return Err(StateError::new("there is not one number per pair of tasks"));
        }
        check_all_finite("an entry of a matrix of tasks", entries)?;
        Ok(Self::from_lower(size, entries))
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
        assert_eq!(Triangle::of(&half.whole()).lower(), half.lower());
        assert_eq!(Triangle::restore(3, &half.lower()).unwrap().lower(), half.lower());
        assert!(Triangle::restore(4, &half.lower()).is_err());
        assert!(Triangle::restore(1, &[f64::NAN]).is_err());
        half.scale(0.5);
        assert_eq!(half.entry(2, 0), 0.5 * expected(2, 0));
    }

    /// What walks leave above the diagonal of the last band is not there when the matrix grows over it.
    #[test]
    fn a_matrix_grows_over_what_walks_left() {
        let (mut small, mut relation) = (Triangle::diagonal(2, 1.0), Triangle::diagonal(2, 1.0));
        let blend = Blend::Replaced { new: 2.0, factor: 1.0, v: &[3.0, 4.0] };
        small.add_pair_and_blend(&[1.0, 2.0], &[5.0, 6.0], &mut relation, &blend);
        for size in 3..11 {
            small.grow(size, size as f64);
            relation.grow(size, 0.5);
            for column in 0..size {
                assert_eq!(small.entry(size - 1, column), if column + 1 == size { size as f64 } else { 0.0 });
            }
            let (a, b): (Vec<f64>, Vec<f64>) = (0..size).map(|at| (at as f64, 0.5 - at as f64)).unzip();
            let before = small.clone();
            small.add_pair_and_blend(&a, &b, &mut relation, &Blend::Mixed { old: 0.25, new: 1.0 });
            for row in 0..size {
                for column in 0..=row {
                    let added = a[row] * b[column] + b[row] * a[column];
                    assert_eq!(small.entry(row, column), before.entry(row, column) + added);
                }
            }
        }
    }

    #[test]
    fn one_walk_does_what_several_do() {
        let (a, b, v) = ([1.0, -2.0, 0.5], [0.25, 3.0, -1.0], [2.0, 0.5, 1.0]);
        let (mut gram, relation) = (Triangle::diagonal(3, 2.0), Triangle::diagonal(3, 7.0));
        let (mut walked, mut blended) = (gram.clone(), relation.clone());
        walked.add_pair_and_blend(&a, &b, &mut blended, &Blend::Mixed { old: 0.5, new: 4.0 });
        gram.add_pair(&a, &b);
        assert_eq!(walked.lower(), gram.lower());
        for row in 0..3 {
            for column in 0..=row {
                let expected = 0.5 * relation.entry(row, column) + 4.0 * gram.entry(row, column);
                assert_eq!(blended.entry(row, column), expected);
            }
        }
        gram.add_pair(&a, &b);
        walked.add_pair_and_blend(&a, &b, &mut blended, &Blend::Replaced { new: 4.0, factor: -3.0, v: &v });
        assert_eq!(walked.lower(), gram.lower());
        for row in 0..3 {
            for column in 0..=row {
                let expected = 4.0 * gram.entry(row, column) - 3.0 * v[row] * v[column];
                assert_eq!(blended.entry(row, column), expected);
            }
        }
    }
}
