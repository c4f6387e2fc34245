//! What a table can hold, and how values and their keys lie in its cache lines.

use super::cache_line::{CacheLine, lane_among};

/// A value that the table can hold: zero says "nothing here".
pub(crate) trait TableValue: Copy + PartialEq + Default {
    /// Values that fill a cache line.
    const PER_LINE: usize;
    /// Values of a bucket, which are the first of its line; their keys are the last of it.
    const LANES: usize;
    /// Mean number of keys in four of a full table's buckets; few buckets overflow into the next then.
    const MEAN_OF_FOUR: usize;
    /// The array may be this many times larger than the number of its keys.
    const SLACK: usize;
    /// Eighths of four buckets' keys that a new table has buckets for, for every key: twice as many, or half as many again. Moving
    /// costs little then, and memory stays within a constant of what is used.
    const ROOM: usize;
    /// Up to so many keys are a list: no room to spare, and a search of some steps, each in memory that is near. A key lies right
    /// behind its value there, and both fill four words. 0 if there are no lists.
    const LISTED: usize;
    /// The word of a line that the key of the first lane is, and how far it is to the next one.
    const FIRST_KEY: usize;
    const NEXT_KEY: usize;

    /// The value at a place; some places are those of keys.
    fn at(lines: &[CacheLine], place: usize) -> Option<&Self>;
    fn at_mut(lines: &mut [CacheLine], place: usize) -> Option<&mut Self>;

    /// One more than the lane that holds the key, 0 if none does; all are compared at once.
    fn lane_of(line: &CacheLine, key: u32) -> u32;
}

impl TableValue for f64 {
    const PER_LINE: usize = 8;
    const LANES: usize = 5;
    const MEAN_OF_FOUR: usize = 12;
    const SLACK: usize = 8;
    const ROOM: usize = 8;
    const LISTED: usize = 0;
    const FIRST_KEY: usize = 11;
    const NEXT_KEY: usize = 1;

    #[inline]
    fn at(lines: &[CacheLine], place: usize) -> Option<&Self> {
        CacheLine::all_numbers(lines).get(place)
    }

    #[inline]
    fn at_mut(lines: &mut [CacheLine], place: usize) -> Option<&mut Self> {
        CacheLine::all_numbers_mut(lines).get_mut(place)
    }

    #[inline]
    fn lane_of(line: &CacheLine, key: u32) -> u32 {
        lane_among(line.words()[11..].first_chunk::<5>().expect("five keys"), key)
    }
}

impl TableValue for u32 {
    const PER_LINE: usize = 16;
    const LANES: usize = 8;
    const MEAN_OF_FOUR: usize = 20;
    const SLACK: usize = 8;
    const ROOM: usize = 8;
    const LISTED: usize = 0;
    const FIRST_KEY: usize = 8;
    const NEXT_KEY: usize = 1;

    #[inline]
    fn at(lines: &[CacheLine], place: usize) -> Option<&Self> {
        CacheLine::all_words(lines).get(place)
    }

    #[inline]
    fn at_mut(lines: &mut [CacheLine], place: usize) -> Option<&mut Self> {
        CacheLine::all_words_mut(lines).get_mut(place)
    }

    #[inline]
    fn lane_of(line: &CacheLine, key: u32) -> u32 {
        lane_among(line.words()[8..].first_chunk::<8>().expect("eight keys"), key)
    }
}

/// A row of three short numbers (`weights::short_rows`), and its key beside it.
impl TableValue for [u32; 3] {
    const PER_LINE: usize = 4;
    const LANES: usize = 4;
    const MEAN_OF_FOUR: usize = 9;
    const SLACK: usize = 2;
    const ROOM: usize = 6;
    const LISTED: usize = 96;
    const FIRST_KEY: usize = 3;
    const NEXT_KEY: usize = 4;

    #[inline]
    fn at(lines: &[CacheLine], place: usize) -> Option<&Self> {
        CacheLine::fours(lines).get(place)?.first_chunk()
    }

    #[inline]
    fn at_mut(lines: &mut [CacheLine], place: usize) -> Option<&mut Self> {
        CacheLine::fours_mut(lines).get_mut(place)?.first_chunk_mut()
    }

    #[inline]
    fn lane_of(line: &CacheLine, key: u32) -> u32 {
        let words = line.words();
        lane_among(&[words[3], words[7], words[11], words[15]], key)
    }
}
