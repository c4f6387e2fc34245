//! Where the rows of tasks' own numbers are, and how they are found.

use std::fmt::Debug;

use super::side_by_side::Found;
use crate::table::IndexMap;
use crate::table::cache_line::CacheLine;
use crate::table::index_map::TableValue;

/// Rows of O numbers, each of one task and slot. Row 0 is that of no slot: it reads as zeros.
pub(crate) trait OwnRows<const O: usize>: Debug + Clone {
    /// What the table of a task holds for a slot.
    type Entry: TableValue;
    /// See [`crate::table::Locate::SETTLED`].
    const SETTLED: usize;

    fn new() -> Self;

    /// The entry of a new row.
    fn entry(&mut self, row: [f64; O]) -> Self::Entry;

    /// The row of an entry.
    fn row(&self, entry: Self::Entry) -> [f64; O];

    /// Changes the row of an entry; zeros must stay zeros.
    fn change(&mut self, entry: &mut Self::Entry, change: impl FnOnce(&mut [f64; O]));

    /// Finds the rows of an example whose slots are known, and asks for them.
    fn find(&self, own: Option<&IndexMap<Self::Entry>>, found: &mut Found);

    /// Makes rows for the slots that have none.
    fn add(&mut self, own: &mut IndexMap<Self::Entry>, found: &mut Found);

    /// A row that was found, in the lines of the task's table.
    fn at(&self, lines: &[CacheLine], row: u32) -> [f64; O];

    /// Puts a row where one was found; what is not there must stay zero.
    fn put(&mut self, lines: &mut [CacheLine], row: u32, numbers: [f64; O]);

    /// Bytes held beside the tables.
    fn heap_bytes(&self) -> usize;
}
