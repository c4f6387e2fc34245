//! Which `-b` a careful user of Vowpal Wabbit would choose: the smallest at which collisions do no harm.

use anyhow::{Context, Result};

use super::contest::Arena;
use super::files::Stream;
use super::measure::{Cost, measure};
use super::peers::Reported;

/// Sizes tried; 18 is VW's default.
const BITS: [u32; 6] = [18, 20, 22, 23, 24, 26];
/// The size the others are compared with, and how much worse they may be.
const REFERENCE: u32 = 24;
const TOLERANCE: f64 = 0.002;

/// Errors are the same every time; costs are the smallest of this many runs.
const ROUNDS: usize = 3;

/// VW on one stream with one table size.
pub(super) struct Sized {
    /// Bits of the weight table's index.
    pub(super) bits: u32,
    /// The cheapest run, including the start of Python.
    pub(super) cost: Cost,
    /// Progressive error.
    pub(super) error: f64,
}

/// Runs VW with every size, in turns.
pub(super) fn run(arena: &Arena, stream: &Stream) -> Result<Vec<Sized>> {
    let mut sizes: Vec<Sized> = Vec::new();
    for round in 1..=ROUNDS {
        eprintln!("{}: sweep of VW's -b, round {round} of {ROUNDS}", stream.preset.name);
        for (at, bits) in BITS.into_iter().enumerate() {
            let (cost, printed) = measure(arena.folders, &arena.vw(&stream.vw, bits, &[]))?;
            let reported = Reported::from_json(&serde_json::from_str(&printed)?)?;
            let error = reported.error.context("VW reports an error")?;
            match sizes.get_mut(at) {
                None => sizes.push(Sized { bits, cost, error }),
                Some(size) if cost.cpu < size.cost.cpu => size.cost = cost,
                Some(_) => {}
            }
        }
    }
    Ok(sizes)
}

/// The smallest size whose error is within the tolerance of the reference's.
pub(super) fn choice(sizes: &[Sized]) -> Option<u32> {
    let reference = sizes.iter().find(|size| size.bits == REFERENCE)?.error;
    sizes.iter().find(|size| size.error <= reference + TOLERANCE).map(|size| size.bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_harmless_size_is_chosen() {
        let cost = Cost { cpu: 1.0, wall: 1.0, peak: 1.0 };
        let sizes: Vec<Sized> = [(18, 0.2), (22, 0.181), (23, 0.179), (24, 0.1775), (26, 0.176)]
            .map(|(bits, error)| Sized { bits, cost, error })
            .into();
        assert_eq!(choice(&sizes), Some(23));
        assert_eq!(choice(&[]), None);
    }
}
