//! Counts in model files: no larger than anyone can have counted, so that counting on never overflows.

use serde::{Deserialize, Deserializer};

/// Largest count that is read. A stream of a million examples a second takes 285 years to get there; sums and small
/// multiples of such counts stay whole numbers of 64 bits, and up to here they are exact as real numbers.
pub(crate) const MOST: u64 = 1 << 53;

/// Reads a count, for `#[serde(deserialize_with)]`.
pub(crate) fn saved<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    check(u64::deserialize(deserializer)?)
}

/// The same for several.
pub(crate) fn saved_list<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u64>, D::Error> {
    Vec::<u64>::deserialize(deserializer)?.into_iter().map(check).collect()
}

/// Refuses a count that nobody can have counted.
pub(crate) fn check<E: serde::de::Error>(count: u64) -> Result<u64, E> {
    if count <= MOST { Ok(count) } else { Err(E::custom(format_args!("a count of {count}; at most {MOST}"))) }
}

#[cfg(test)]
mod tests {
    use crate::block::Block;
    use crate::hedge::HedgeState;

    #[test]
    fn counts_that_could_overflow_are_refused() {
        for count in [super::MOST + 1, u64::MAX] {
            let packed = rmp_serde::to_vec_named(&Block(vec![1, count])).unwrap();
            let error = rmp_serde::from_slice::<Block<u64>>(&packed).unwrap_err().to_string();
            assert_eq!(error, format!("a count of {count}; at most 9007199254740992"));
            let hedge = |losses: [u64; 2], mistakes: u64| {
                let text = format!(
                    r#"{{"losses": {losses:?}, "disagreements": 0, "expected": 0.0, "mistakes": {mistakes}}}"#
                );
                serde_json::from_str::<HedgeState>(&text)
            };
            assert!(
                hedge([1, 2], 3).is_ok() && hedge([1, count], 3).is_err() && hedge([1, 2], count).is_err()
            );
        }
    }
}
