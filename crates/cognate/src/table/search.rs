//! Many keys looked for in a table at once: where the searches begin is known long before what they find is needed.

use super::IndexMap;
use super::index_map::{NOWHERE, TableValue};

/// Filled by [`Search::begin`], finished by [`Search::finish`].
#[derive(Debug, Clone, Default)]
pub(crate) struct Search {
    /// Where to look for each key, and then where it is.
    places: Vec<u32>,
    /// How often the table had moved then; none if the keys are others now, or have been found.
    moved: Option<u32>,
}

impl Search {
    /// Asks for the cache lines where the searches begin.
    #[inline]
    pub(crate) fn begin<V: TableValue>(&mut self, table: &IndexMap<V>, keys: &[u32]) {
        self.moved = Some(table.moved());
        table.begin_all(keys, &mut self.places);
    }

    /// Finds the keys, looking for all of them anew where the table has moved since; good until a key is added.
    #[inline]
    pub(crate) fn finish<V: TableValue>(&mut self, table: &IndexMap<V>, keys: &[u32]) {
        if self.moved != Some(table.moved()) {
            self.begin(table, keys);
        }
        table.finish_all(keys, &mut self.places);
        self.moved = None;
    }

    /// Nothing has been looked for.
    #[inline]
    pub(crate) fn clear(&mut self) {
        self.places.clear();
        self.moved = None;
    }

    /// The keys are others now.
    #[inline]
    pub(crate) fn forget(&mut self) {
        self.moved = None;
    }

    /// Where the keys are, after [`Self::finish`].
    #[inline]
    pub(crate) fn places(&self) -> &[u32] {
        &self.places
    }

    /// Gives the places away, after [`Self::finish`], for others that are not needed.
    #[inline]
    pub(crate) fn swap_places(&mut self, places: &mut Vec<u32>) {
        std::mem::swap(&mut self.places, places);
    }

    /// Places as scratch of this length; what was not looked for is [`NOWHERE`].
    pub(crate) fn scratch(&mut self, len: usize) -> &mut [u32] {
        self.places.resize(len, NOWHERE);
        &mut self.places
    }
}
