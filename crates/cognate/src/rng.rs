//! The only random generator: seeded, reproducible, with independent streams.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

/// The stream of the draws of a query; those of orders count passes from 0.
pub(crate) const QUERY_STREAM: u64 = u64::MAX;

/// The stream of the draws of `budget-random`.
pub(crate) const EVICTION_STREAM: u64 = u64::MAX - 1;

/// A generator for a seed; different `stream` numbers give independent sequences.
pub fn generator(seed: u64, stream: u64) -> ChaCha8Rng {
    let mut generator = ChaCha8Rng::seed_from_u64(seed);
    generator.set_stream(stream);
    generator
}
