//! Rows of three short numbers, which lie in the table of their task: whoever finds the slot has the row, in the same cache line.
//!
//! A number is the upper half of a double, rounded to nearest: as large and as small as any, with 21 binary digits, so within 4.8e-7
//! of what it stands for, relatively. Sums stop growing where a term is less than that of them: after two million examples
//! alike of one feature and task. Whoever changes a row reads doubles, and they are rounded once when they are put back.
#![expect(clippy::inline_always, reason = "only what is inlined is compiled for wide vectors")]

use super::own_rows::OwnRows;
use super::side_by_side::Found;
use crate::table::IndexMap;
use crate::table::cache_line::CacheLine;
use crate::table::index_map::NOWHERE;

/// Nothing is kept beside the tables.
#[derive(Debug, Clone)]
pub(crate) struct ShortRows;

type Short = [u32; 3];

#[inline(always)]
fn long<const N: usize>(short: [u32; N]) -> [f64; N] {
    short.map(|half| f64::from_bits(u64::from(half) << 32))
}

#[inline(always)]
fn short<const N: usize>(row: [f64; N]) -> [u32; N] {
    // The largest of all numbers are cut.
    let half_a_digit = |number: f64| if number.abs() < f64::MAX / 2.0 { 1 << 31 } else { 0 };
    row.map(|number| ((number.to_bits() + half_a_digit(number)) >> 32) as u32)
}

impl OwnRows<3> for ShortRows {
    type Entry = Short;
    const SETTLED: usize = 1;

    fn new() -> Self {
        Self
    }

    fn entry(&mut self, row: [f64; 3]) -> Short {
        short(row)
    }

    #[inline]
    fn row(&self, entry: Short) -> [f64; 3] {
        long(entry)
    }

    #[inline]
    fn change(&mut self, entry: &mut Short, change: impl FnOnce(&mut [f64; 3])) {
        let mut row = long(*entry);
        change(&mut row);
        *entry = short(row);
    }

    #[inline]
    fn find(&self, own: Option<&IndexMap<Short>>, Found { located, rows, moved, .. }: &mut Found) {
        match own {
            Some(own) if *moved == Some(own.moved()) => {
                let same = |(slot, row): (&u32, &u32)| own.get(*slot) == own.at(*row);
                debug_assert!(located.slots.iter().zip(&*rows).all(same), "rows are where they were");
            }
            Some(own) => {
                located.finish(own);
                located.search.swap_places(rows);
                *moved = Some(own.moved());
            }
            None => {
                rows.clear();
                rows.resize(located.slots.len(), NOWHERE);
            }
        }
    }

    fn add(&mut self, own: &mut IndexMap<Short>, found: &mut Found) {
        if !found.rows.contains(&NOWHERE) {
            return;
        }
        let slots = &found.located.slots;
        let fresh = &mut found.located.fresh;
        fresh.clear();
        let missing = |(slot, row): (&u32, &u32)| (*row == NOWHERE).then_some(*slot);
        fresh.extend(slots.iter().zip(&found.rows).filter_map(missing));
        let moved = own.moved();
        own.reserve(fresh);
        if own.is_list() {
            // They are in it already.
            found.located.search.forget();
            self.find(Some(own), found);
            return;
        }
        for (slot, row) in slots.iter().zip(&mut found.rows).filter(|(_, row)| **row == NOWHERE) {
            *row = own.place_of_new(*slot);
        }
        if own.moved() != moved {
            found.located.search.forget();
            self.find(Some(own), found);
        }
    }

    #[inline(always)]
    fn at(&self, lines: &[CacheLine], row: u32) -> [f64; 3] {
        // With the key, as four numbers at once.
        let [a, b, c, _] = long(CacheLine::fours(lines).get(row as usize).copied().unwrap_or_default());
        [a, b, c]
    }

    #[inline(always)]
    fn put(&mut self, lines: &mut [CacheLine], row: u32, [a, b, c]: [f64; 3]) {
        if let Some(four) = CacheLine::fours_mut(lines).get_mut(row as usize) {
            let [a, b, c, _] = short([a, b, c, 0.0]);
            *four = [a, b, c, four[3]];
        }
    }

    fn heap_bytes(&self) -> usize {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_rounded_to_nearest_and_stay_what_they_are_then() {
        let third = 1.0 / 3.0;
        for number in
            [0.0, 1.0, -1.5, third, -third, 1e-300, -7.1e290, f64::MAX, f64::MIN, 5e-310, 0.1 + 2e-8]
        {
            let [kept, ..] = long(short([number; 3]));
            let [again, ..] = long(short([kept; 3]));
            assert_eq!(kept.to_bits(), again.to_bits(), "{number}");
            // Half a digit of normal numbers, of those below that a digit of the smallest normal one, a digit where they are cut.
            let digits = if number.abs() < 1e300 { 22 } else { 21 };
            let near = number.abs().max(f64::MIN_POSITIVE) * 2.0_f64.powi(1 - digits);
            assert!((kept - number).abs() <= near, "{kept} for {number}");
        }
        assert_eq!(
            long(short([1.0 + 2.0_f64.powi(-21), 0.0, 0.0]))[0],
            1.0 + 2.0_f64.powi(-20),
            "half goes up"
        );
    }
}
