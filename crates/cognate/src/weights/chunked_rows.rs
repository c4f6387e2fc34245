//! Rows of numbers in pieces that never move: growing costs no copy, and no memory that is not used soon.

use crate::table::prefetch::prefetch;

/// See the head of the file.
#[derive(Debug, Clone)]
pub(crate) struct ChunkedRows<const N: usize> {
    pieces: Vec<Vec<[f64; N]>>,
    length: usize,
}

/// Rows of a piece, as a power of two; the first grows as it is needed, so that small tables are small.
const PIECE: u32 = 16;

impl<const N: usize> ChunkedRows<N> {
    /// Row 0, of zeros.
    pub(crate) fn new() -> Self {
        Self { pieces: vec![vec![[0.0; N]]], length: 1 }
    }

    pub(crate) fn len(&self) -> usize {
        self.length
    }

    #[inline]
    pub(crate) fn at(&self, row: u32) -> &[f64; N] {
        &self.pieces[(row >> PIECE) as usize][(row & ((1 << PIECE) - 1)) as usize]
    }

    #[inline]
    pub(crate) fn at_mut(&mut self, row: u32) -> &mut [f64; N] {
        &mut self.pieces[(row >> PIECE) as usize][(row & ((1 << PIECE) - 1)) as usize]
    }

    #[inline]
    pub(crate) fn prefetch(&self, row: u32) {
        if let Some(piece) = self.pieces.get((row >> PIECE) as usize) {
            let (numbers, first) = (piece.as_flattened(), (row & ((1 << PIECE) - 1)) as usize * N);
            // Rows may end in another line than they begin in.
            prefetch(numbers, first);
            prefetch(numbers, first + N - 1);
        }
    }

    /// Adds a row; its number.
    pub(crate) fn push(&mut self, row: [f64; N]) -> u32 {
        let number = self.length as u32;
        self.grow(self.length + 1);
        *self.at_mut(number) = row;
        number
    }

    /// Lengthens by zeros; only the first piece ever moves.
    pub(crate) fn grow(&mut self, length: usize) {
        while self.length < length {
            let (piece, within) = (self.length >> PIECE, self.length & ((1 << PIECE) - 1));
            let end = (within + length - self.length).min(1 << PIECE);
            if piece == self.pieces.len() {
                self.pieces.push(Vec::with_capacity(1 << PIECE));
            }
            if piece == 0 {
                grow(&mut self.pieces[0], end);
            } else {
                self.pieces[piece].resize(end, [0.0; N]);
            }
            self.length += end - within;
        }
    }

    /// All but row 0.
    pub(crate) fn for_each_mut(&mut self, change: impl FnMut(&mut [f64; N])) {
        self.pieces.iter_mut().flatten().skip(1).for_each(change);
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        let rows: usize = self.pieces.iter().map(Vec::capacity).sum();
        rows * size_of::<[f64; N]>() + self.pieces.capacity() * size_of::<Vec<[f64; N]>>()
    }
}

/// Lengthens by zeros, with little room to spare: these are the largest arrays that a learner has.
fn grow<const N: usize>(rows: &mut Vec<[f64; N]>, length: usize) {
    if length > rows.capacity() {
        rows.reserve_exact((length - rows.len()).max(rows.len() / 4));
    }
    rows.resize(length, [0.0; N]);
}
