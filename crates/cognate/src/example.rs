//! What a learner sees: a task, sparse features, a label.

/// Number of a task, in the order in which tasks were declared or met; names live in [`crate::Tasks`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskId(pub u32);

impl TaskId {
    /// The task of a line that says that its task is not known; no task has this number.
    pub(crate) const UNKNOWN: Self = Self(u32::MAX);

    /// The number as an index into per-task tables.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Feature number of the constant feature that `bias` adds; beyond every number a file can hold.
pub const BIAS_FEATURE: u32 = u32::MAX - 1;

/// Largest size of a value: products of two, summed over a stream, stay below the largest number.
pub const LARGEST_VALUE: f64 = 1e150;

/// Features of one example: strictly increasing indices (from 0) and equally many finite values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SparseView<'a> {
    indices: &'a [u32],
    values: &'a [f64],
}

/// Whether a number can be the value of a feature.
#[inline]
pub(crate) fn is_valid(value: f64) -> bool {
    value.abs() <= LARGEST_VALUE
}

/// Why two slices are not a sparse vector.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SparseError {
    /// The slices have different lengths.
    #[error("{indices} indices and {values} values; there must be as many of each")]
    Length {
        /// Number of indices.
        indices: usize,
        /// Number of values.
        values: usize,
    },
    /// An index does not exceed the one before it.
    #[error("feature index {index} after {previous}; indices must increase")]
    Order {
        /// The index before.
        previous: u32,
        /// The offending index.
        index: u32,
    },
    /// An index above [`BIAS_FEATURE`].
    #[error("feature index {index}; the largest is {BIAS_FEATURE}")]
    Index {
        /// The offending index.
        index: u32,
    },
    /// A value is NaN, infinite, or beyond [`LARGEST_VALUE`].
    #[error("feature {index} has the value {value}; values must be finite and at most {LARGEST_VALUE:e}")]
    Value {
        /// The feature.
        index: u32,
        /// Its value.
        value: f64,
    },
}

impl<'a> SparseView<'a> {
    /// Checks the slices and wraps them.
    ///
    /// # Errors
    /// When the lengths differ, indices do not strictly increase, or a value is not finite.
    pub fn try_new(indices: &'a [u32], values: &'a [f64]) -> Result<Self, SparseError> {
        if indices.len() != values.len() {
            return Err(SparseError::Length { indices: indices.len(), values: values.len() });
        }
        if let Some(pair) = indices.windows(2).find(|pair| pair[0] >= pair[1]) {
            return Err(SparseError::Order { previous: pair[0], index: pair[1] });
        }
        if let Some(&index) = indices.last().filter(|index| **index > BIAS_FEATURE) {
            return Err(SparseError::Index { index });
        }
        if let Some(at) = values.iter().position(|value| !is_valid(*value)) {
            return Err(SparseError::Value { index: indices[at], value: values[at] });
        }
        Ok(Self { indices, values })
    }

    /// Wraps slices that the stream has checked already.
    #[inline]
    pub(crate) fn trusted(indices: &'a [u32], values: &'a [f64]) -> Self {
        debug_assert!(Self::try_new(indices, values).is_ok(), "the stream hands out checked examples");
        Self { indices, values }
    }

    /// The feature numbers, strictly increasing.
    #[inline]
    pub fn indices(self) -> &'a [u32] {
        self.indices
    }

    /// The values, one per feature.
    #[inline]
    pub fn values(self) -> &'a [f64] {
        self.values
    }

    /// Pairs of feature number and value.
    #[inline]
    pub fn iter(self) -> impl Iterator<Item = (u32, f64)> + 'a {
        self.indices.iter().copied().zip(self.values.iter().copied())
    }

    /// Number of stored features.
    #[inline]
    pub fn len(self) -> usize {
        self.indices.len()
    }

    /// Whether no feature is stored.
    #[inline]
    pub fn is_empty(self) -> bool {
        self.indices.is_empty()
    }

    /// Squared Euclidean length.
    pub fn norm_squared(self) -> f64 {
        self.values.iter().map(|value| value * value).sum()
    }

    /// Whether that is finite; nearly always told without waiting for one sum after the other.
    #[inline]
    pub(crate) fn has_norm(self) -> bool {
        const LARGE: u64 = 1e140_f64.to_bits();
        let largest = self.values.iter().fold(0, |largest, value| largest.max(value.abs().to_bits()));
        largest < LARGE || self.norm_squared().is_finite()
    }
}

/// One labelled example, borrowed from its stream.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Example<'a> {
    /// Which task it belongs to.
    pub task: TaskId,
    /// Its features.
    pub features: SparseView<'a>,
    /// Its label: +1 or -1 in classification.
    pub label: f64,
    /// Its importance: it is learnt as if it had been seen so many times. At least 0, which teaches nothing; usually 1.
    pub weight: f64,
    /// What is added to its margin, and not learnt; usually 0.
    pub offset: f64,
    /// When it was, in seconds; none if that is unknown.
    pub time: Option<f64>,
}

impl<'a> Example<'a> {
    /// An example of weight 1, without offset and time.
    #[inline]
    pub fn new(task: TaskId, features: SparseView<'a>, label: f64) -> Self {
        Self { task, features, label, weight: 1.0, offset: 0.0, time: None }
    }
}

/// Whether a number can be the weight of an example.
#[inline]
pub(crate) fn is_weight(value: f64) -> bool {
    (0.0..=LARGEST_VALUE).contains(&value)
}

/// How many updates a Perceptron makes on a mistake that is seen `weight` times, each of which moves label times margin up by
/// `gain`: until it is no mistake any more, and at most `weight`, the last of them in part where that is no whole number.
#[inline]
pub(crate) fn repeats(weight: f64, label: f64, margin: f64, gain: impl FnOnce() -> f64) -> f64 {
    if weight == 1.0 {
        return 1.0;
    }
    let until = (-label * margin / gain()).floor() + 1.0;
    if until.is_finite() { weight.min(until.max(1.0)) } else { weight }
}

/// Whether a margin is a mistake for a label: at exactly 0 it is, whatever the label, and NaN is too.
#[inline]
pub(crate) fn is_mistake(label: f64, margin: f64) -> bool {
    let product = label * margin;
    product <= 0.0 || product.is_nan()
}

/// The hinge loss of a margin.
#[inline]
pub(crate) fn hinge(label: f64, margin: f64) -> f64 {
    (1.0 - label * margin).max(0.0)
}

/// The label that a margin predicts; +1 at exactly 0.
#[inline]
pub(crate) fn predicted_label(margin: f64) -> f64 {
    if margin >= 0.0 { 1.0 } else { -1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_refuses_what_a_learner_must_not_see() {
        assert!(SparseView::try_new(&[0, 3], &[1.0, -2.0]).is_ok());
        assert!(SparseView::try_new(&[], &[]).is_ok());
        for (indices, values, message) in [
            (&[0u32, 1][..], &[1.0][..], "2 indices and 1 values; there must be as many of each"),
            (&[3, 3], &[1.0, 1.0], "feature index 3 after 3; indices must increase"),
            (&[u32::MAX], &[1.0], "feature index 4294967295; the largest is 4294967294"),
            (&[1], &[f64::NAN], "feature 1 has the value NaN; values must be finite and at most 1e150"),
        ] {
            assert_eq!(SparseView::try_new(indices, values).unwrap_err().to_string(), message);
        }
    }

    #[test]
    fn zero_margin_is_a_mistake_and_predicts_plus() {
        assert!(is_mistake(1.0, 0.0) && is_mistake(-1.0, 0.0));
        assert!(is_mistake(1.0, -0.1) && !is_mistake(-1.0, -0.1) && is_mistake(1.0, f64::NAN));
        assert!((predicted_label(0.0) - 1.0).abs() < f64::EPSILON);
    }

    /// The closed form is what a loop does.
    #[test]
    fn repeats_are_updates_until_it_is_no_mistake() {
        for (label, margin, gain) in [(1.0, -3.2, 1.0), (-1.0, 0.0, 2.0), (1.0, -7.0, 3.5), (-1.0, 2.0, 0.1)]
        {
            for weight in 1..50 {
                let (mut now, mut updates) = (margin, 0);
                while updates < weight && is_mistake(label, now) {
                    updates += 1;
                    now = margin + f64::from(updates) * label * gain;
                }
                let found = repeats(f64::from(weight), label, margin, || gain);
                assert_eq!(found, f64::from(updates), "{label} {margin} {gain} {weight}");
            }
            assert_eq!([0.0, 0.25].map(|weight| repeats(weight, label, margin, || gain)), [0.0, 0.25]);
        }
        assert_eq!(repeats(3.0, 1.0, -1.0, || 0.0), 3.0, "an example that is 0");
    }

    #[test]
    fn weights_are_finite_and_not_negative() {
        assert!([0.0, 0.5, 1.0, 1e9].into_iter().all(is_weight));
        assert!(![-1.0, f64::NAN, f64::INFINITY, 1e200].into_iter().any(is_weight));
    }
}
