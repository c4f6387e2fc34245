//! Rows of numbers in pieces that never move: growing costs no copy, and no memory that is not used soon.

use super::own_rows::OwnRows;
use super::side_by_side::Found;
use super::slot_tables::LocatedSlots;
use crate::table::IndexMap;
use crate::table::cache_line::CacheLine;
use crate::table::index_map::NOWHERE;
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
    fn zeros() -> Self {
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
}

/// The table of a task holds the numbers of its rows.
impl<const N: usize> OwnRows<N> for ChunkedRows<N> {
    type Entry = u32;
    // Rows of the next example too: they are on their way while this one learns.
    const SETTLED: usize = 2;

    fn new() -> Self {
        Self::zeros()
    }

    fn entry(&mut self, row: [f64; N]) -> u32 {
        self.push(row)
    }

    #[inline]
    fn row(&self, entry: u32) -> [f64; N] {
        *Self::at(self, entry)
    }

    #[inline]
    fn change(&mut self, entry: &mut u32, change: impl FnOnce(&mut [f64; N])) {
        change(self.at_mut(*entry));
    }

    /// Rows never move: those that are found stay where they are.
    fn find(&self, own: Option<&IndexMap<u32>>, Found { located, rows, changed, .. }: &mut Found) {
        let Some(own) = own else {
            rows.clear();
            rows.resize(located.slots.len(), NOWHERE);
            return;
        };
        match *changed {
            Some(changed) if changed == own.changed() => return,
            Some(_) => {
                let rows = located.slots.iter().zip(rows);
                rows.filter(|(_, row)| **row == NOWHERE).for_each(|(slot, row)| *row = own.get(*slot));
            }
            None => {
                rows.clear();
                rows.extend(located.finish(own).iter().map(|place| own.at(*place)));
                rows.iter().for_each(|row| self.prefetch(*row));
            }
        }
        *changed = Some(own.changed());
    }

    fn add(&mut self, own: &mut IndexMap<u32>, found: &mut Found) {
        let LocatedSlots { slots, fresh, .. } = &mut found.located;
        let missing = |(slot, row): (&u32, &u32)| (*row == NOWHERE).then_some(*slot);
        fresh.clear();
        fresh.extend(slots.iter().zip(&found.rows).filter_map(missing));
        own.reserve(fresh);
        let mut next = self.len();
        for (slot, row) in slots.iter().zip(&mut found.rows) {
            if *row == NOWHERE {
                *row = next as u32;
                *own.new_entry(*slot) = *row;
                next += 1;
            }
        }
        self.grow(next);
    }

    #[inline]
    fn at(&self, _: &[CacheLine], row: u32) -> [f64; N] {
        *Self::at(self, row)
    }

    #[inline]
    fn put(&mut self, _: &mut [CacheLine], row: u32, numbers: [f64; N]) {
        *self.at_mut(row) = numbers;
    }

    fn heap_bytes(&self) -> usize {
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
