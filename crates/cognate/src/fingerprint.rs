//! A number for the task and the features of an example, by which it is known again.

use crate::example::Example;

/// Bits of a fingerprint, as many as a saved whole number has.
pub(crate) const BITS: u32 = 53;
/// Most features of an example that enter its fingerprint; of longer ones, so many at even distances.
const LOOKED_AT: usize = 64;

/// A hash of task and features; the same on every machine.
#[inline]
pub(crate) fn fingerprint(example: Example<'_>) -> u64 {
    let (indices, values) = (example.features.indices(), example.features.values());
    let step = indices.len().div_ceil(LOOKED_AT).max(1);
    let begin = mixed(u64::from(example.task.0) << 32 | indices.len() as u64);
    // Products do not wait for each other; only their sum does.
    let add = |hash: u64, (index, value): (&u32, &f64)| {
        let (value, place) = (value.to_bits() ^ 0x9e37_79b9_7f4a_7c15, u64::from(*index));
        let product = u128::from(value) * u128::from(place ^ 0xd1b5_4a32_d192_ed03);
        hash.wrapping_add((product >> 64) as u64 ^ product as u64)
    };
    let pairs = indices.iter().zip(values);
    let hash = if step == 1 { pairs.fold(begin, add) } else { pairs.step_by(step).fold(begin, add) };
    mixed(hash) >> (64 - BITS)
}

/// Spreads all bits over all.
#[inline]
fn mixed(bits: u64) -> u64 {
    let bits = (bits ^ (bits >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    let bits = (bits ^ (bits >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    bits ^ (bits >> 32)
}
