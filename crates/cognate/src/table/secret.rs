//! What nobody outside of this process knows, so that nobody can choose keys or names that crowd in a table.
//!
//! Where things lie in a table follows from it, and nothing else may: no result, no saved byte, no size of a table.

use std::hash::{BuildHasher, RandomState};
use std::sync::OnceLock;

use foldhash::SharedSeed;
use foldhash::fast::{FoldHasher, SeedableRandomState};

/// One of many secret numbers; the same for the same question as long as the process lives.
fn secret(question: (&str, u32)) -> u64 {
    static KEYS: OnceLock<RandomState> = OnceLock::new();
    KEYS.get_or_init(RandomState::new).hash_one(question)
}

/// A factor for multiplicative hashing of `u32` keys by the upper bits of a product; each draw gives another.
///
/// As a share of 2^64 it is a continued fraction of small terms, as the golden ratio is: no fraction is close to it, so
/// runs of neighbouring keys spread as evenly as they can. Whoever does not know the terms cannot say more of any keys.
pub(super) fn factor(draw: u32) -> u64 {
    let mut share = 0.0;
    for word in 0..2 {
        let mut terms = secret(("terms", 2 * draw + word));
        for _ in 0..u64::BITS / 2 {
            share = 1.0 / ((1 + terms % 4) as f64 + share);
            terms /= 4;
        }
    }
    // The bits that a double has no room for.
    let rest = secret(("rest", draw)) >> f64::MANTISSA_DIGITS;
    (share * 2.0_f64.powi(64)) as u64 | rest | 1
}

/// The first draw, which nearly every table stays with.
pub(super) fn first_factor() -> u64 {
    static FIRST: OnceLock<u64> = OnceLock::new();
    *FIRST.get_or_init(|| factor(0))
}

/// Hashes of names that differ from process to process.
#[derive(Debug, Clone)]
pub(crate) struct SecretState(SeedableRandomState);

impl Default for SecretState {
    fn default() -> Self {
        // Both parts must be unknown: with a known one names can be made that all hash to the same number.
        static SHARED: OnceLock<SharedSeed> = OnceLock::new();
        let shared = SHARED.get_or_init(|| SharedSeed::from_u64(secret(("shared", 0))));
        Self(SeedableRandomState::with_seed(secret(("names", 0)), shared))
    }
}

impl BuildHasher for SecretState {
    type Hasher = FoldHasher<'static>;

    #[inline]
    fn build_hasher(&self) -> FoldHasher<'static> {
        self.0.build_hasher()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_differ_and_stay_the_same() {
        let factors: Vec<u64> = (0..100).map(factor).collect();
        assert_eq!(factors, (0..100).map(factor).collect::<Vec<_>>());
        let mut distinct = factors.clone();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), factors.len());
    }

    #[test]
    fn no_product_with_a_small_number_is_close_to_a_whole_one() {
        for factor in (0..20).map(factor) {
            for small in 1..10_000_u64 {
                let product = small.wrapping_mul(factor) as f64 / 2.0_f64.powi(64);
                let distance = product.min(1.0 - product);
                assert!(distance * small as f64 > 0.15, "{factor:#x}, {small}: {distance}");
            }
        }
    }

    /// Names that crowd under the hash that everybody knows do not crowd under ours, wherever a table looks.
    #[test]
    fn names_made_to_crowd_do_not() {
        let (known, ours) = (foldhash::fast::FixedState::default(), SecretState::default());
        let crowd =
            (0..100_000).map(|at| format!("name {at}")).filter(|name| known.hash_one(name) % 256 == 7);
        let crowd: Vec<u64> = crowd.map(|name| ours.hash_one(name)).collect();
        assert!(crowd.len() > 300, "{} names", crowd.len());
        for shift in [0, 57] {
            let mut found = [0; 128];
            crowd.iter().for_each(|hash| found[(hash >> shift) as usize % 128] += 1);
            let most = found.iter().max().copied();
            assert!(most < Some(crowd.len() / 10), "{most:?} of {} names", crowd.len());
        }
        assert_eq!(ours.hash_one("spam"), SecretState::default().hash_one("spam"));
    }
}
