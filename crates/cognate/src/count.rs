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

/// A count by weight, for `#[serde(with)]`: a whole number where it is one, so that weights of 1 are saved as counts are.
pub(crate) mod weighted {
    use serde::de::{Error, Visitor};
    use serde::{Deserializer, Serializer};

    use super::{MOST, check};

    /// Writes it.
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
    pub(crate) fn serialize<S: Serializer>(count: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        if count.fract() == 0.0 && *count <= MOST as f64 {
            serializer.serialize_u64(*count as u64)
        } else {
            serializer.serialize_f64(*count)
        }
    }

    /// Reads it.
    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        deserializer.deserialize_any(Count)
    }

    struct Count;

    impl Visitor<'_> for Count {
        type Value = f64;

        fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            formatter.write_str("a count")
        }

        fn visit_u64<E: Error>(self, count: u64) -> Result<f64, E> {
            check(count).map(|count| count as f64)
        }

        fn visit_f64<E: Error>(self, count: f64) -> Result<f64, E> {
            // Far below what sums of weights can overflow to.
            if (0.0..1e300).contains(&count) {
                Ok(count)
            } else {
                Err(E::custom(format_args!("a count of {count}; expected a finite one that is not negative")))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn counts_by_weight_are_whole_numbers_where_they_can_be() {
        #[derive(serde::Serialize, serde::Deserialize)]
        struct Saved(#[serde(with = "super::weighted")] f64);
        let packed = |count: f64| rmp_serde::to_vec_named(&Saved(count)).unwrap();
        for whole in [0, 7, super::MOST] {
            assert_eq!(packed(whole as f64), rmp_serde::to_vec_named(&whole).unwrap());
        }
        for count in [0.0, 0.25, 3.0, 1e15, 1e150] {
            assert_eq!(rmp_serde::from_slice::<Saved>(&packed(count)).unwrap().0.to_bits(), count.to_bits());
        }
        for bad in [-0.5, f64::NAN, f64::INFINITY, 1e301] {
            assert!(rmp_serde::from_slice::<Saved>(&packed(bad)).is_err(), "{bad}");
        }
        assert!(rmp_serde::from_slice::<Saved>(&rmp_serde::to_vec_named(&u64::MAX).unwrap()).is_err());
    }

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
