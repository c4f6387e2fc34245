//! A cache line of numbers: tables are made of these, so that whoever knows a place knows what is fetched for it.
#![expect(
    unsafe_code,
    reason = "lines as one slice of numbers; the casts are bytemuck's, the promise is ours"
)]

use bytemuck::{Pod, Zeroable};

/// Eight numbers, or sixteen words, or some of each: values of an array, or a bucket of values and their keys, so that a
/// search fetches one line.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
pub(crate) struct CacheLine([u64; 8]);

// SAFETY: integers of which every pattern of bits is one, and as many bytes as the alignment asks for, so no padding.
unsafe impl Zeroable for CacheLine {}
// SAFETY: as above.
unsafe impl Pod for CacheLine {}

impl CacheLine {
    pub(crate) const ZERO: Self = Self([0; 8]);
    /// Numbers of a line.
    pub(crate) const NUMBERS: usize = 8;

    #[inline]
    pub(crate) fn words(&self) -> &[u32; 16] {
        bytemuck::must_cast_ref(self)
    }

    #[inline]
    pub(crate) fn words_mut(&mut self) -> &mut [u32; 16] {
        bytemuck::must_cast_mut(self)
    }

    #[inline]
    pub(crate) fn all_words(lines: &[Self]) -> &[u32] {
        bytemuck::must_cast_slice(lines)
    }

    #[inline]
    pub(crate) fn all_words_mut(lines: &mut [Self]) -> &mut [u32] {
        bytemuck::must_cast_slice_mut(lines)
    }

    /// Lines as fours of words, each within a line.
    #[inline]
    pub(crate) fn fours(lines: &[Self]) -> &[[u32; 4]] {
        bytemuck::must_cast_slice(lines)
    }

    #[inline]
    pub(crate) fn fours_mut(lines: &mut [Self]) -> &mut [[u32; 4]] {
        bytemuck::must_cast_slice_mut(lines)
    }

    #[inline]
    pub(crate) fn all_numbers(lines: &[Self]) -> &[f64] {
        bytemuck::must_cast_slice(lines)
    }

    #[inline]
    pub(crate) fn all_numbers_mut(lines: &mut [Self]) -> &mut [f64] {
        bytemuck::must_cast_slice_mut(lines)
    }

    /// Lines as rows of N numbers; what is left over at the end is left out.
    #[inline]
    pub(crate) fn rows<const N: usize>(lines: &[Self]) -> &[[f64; N]] {
        bytemuck::must_cast_slice::<_, f64>(lines).as_chunks().0
    }

    #[inline]
    pub(crate) fn rows_mut<const N: usize>(lines: &mut [Self]) -> &mut [[f64; N]] {
        bytemuck::must_cast_slice_mut::<_, f64>(lines).as_chunks_mut().0
    }
}

/// One more than the lane that holds the key, 0 if none does; all are compared at once.
#[inline]
pub(crate) fn lane_among<const N: usize>(keys: &[u32; N], key: u32) -> u32 {
    let mut lane = 0;
    for (at, found) in keys.iter().enumerate() {
        lane |= if *found == key { at as u32 + 1 } else { 0 };
    }
    lane
}
