//! Comparators: one fixed vector per task, which the learner did not know.

use std::collections::BTreeMap;

use crate::example::{Example, SparseView};
use crate::linalg::Symmetric;

/// u = (u_1, …, u_K), each by its non-zero entries in order of feature.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Comparator {
    vectors: Vec<Vec<(u32, f64)>>,
}

impl Comparator {
    /// The zero vector for every task.
    pub fn zero(tasks: usize) -> Self {
        Self { vectors: vec![Vec::new(); tasks] }
    }

    /// One vector per task, by feature; the last of two entries for one feature counts.
    pub fn new(vectors: impl IntoIterator<Item = impl IntoIterator<Item = (u32, f64)>>) -> Self {
        let sorted = |vector: BTreeMap<u32, f64>| vector.into_iter().filter(|(_, value)| *value != 0.0);
        let vectors = vectors.into_iter().map(|vector| sorted(vector.into_iter().collect()).collect());
        Self { vectors: vectors.collect() }
    }

    /// One dense vector per task.
    pub fn dense(vectors: &[Vec<f64>]) -> Self {
        Self::new(vectors.iter().map(|vector| (0..).zip(vector.iter().copied())))
    }

    /// Whether every task has the zero vector.
    pub fn is_zero(&self) -> bool {
        self.vectors.iter().all(Vec::is_empty)
    }

    /// The non-zero entries of a task's vector in order of feature.
    pub fn vector(&self, task: usize) -> &[(u32, f64)] {
        self.vectors.get(task).map_or(&[], Vec::as_slice)
    }

    /// The same for this many tasks; added ones have the zero vector.
    #[must_use]
    pub fn with_tasks(mut self, tasks: usize) -> Self {
        self.vectors.resize(tasks, Vec::new());
        self
    }

    /// `s u`.
    #[must_use]
    pub fn scaled(&self, s: f64) -> Self {
        let scale = |vector: &Vec<(u32, f64)>| vector.iter().map(|(at, value)| (*at, s * value)).collect();
        Self { vectors: self.vectors.iter().map(scale).collect() }
    }

    pub(super) fn vectors(&self) -> &[Vec<(u32, f64)>] {
        &self.vectors
    }

    /// `u_i'x` of an example of task i.
    pub(super) fn margin(&self, example: Example<'_>) -> f64 {
        let vector = self.vector(example.task.index());
        let entry = |feature: u32| {
            let found = vector.binary_search_by_key(&feature, |pair| pair.0);
            found.map_or(0.0, |at| vector[at].1)
        };
        example.features.iter().map(|(feature, value)| entry(feature) * value).sum()
    }

    /// `sum_i |u_i|^2`.
    pub(super) fn norm_squared(&self) -> f64 {
        self.vectors.iter().flatten().map(|(_, value)| value * value).sum()
    }

    /// The centroid, and the sum of the squared distances from it, which is `K VAR[u]`.
    pub(super) fn centroid(&self) -> (Vec<(u32, f64)>, f64) {
        let mut sum = BTreeMap::<u32, f64>::new();
        for (feature, value) in self.vectors.iter().flatten() {
            *sum.entry(*feature).or_default() += value;
        }
        let tasks = self.vectors.len().max(1) as f64;
        sum.values_mut().for_each(|value| *value /= tasks);
        let whole: f64 = sum.values().map(|value| value * value).sum();
        let distance = |vector: &Vec<(u32, f64)>| {
            let mut beyond = whole;
            let mut inside = 0.0;
            for (feature, value) in vector {
                let mean = sum[feature];
                beyond -= mean * mean;
                inside += (value - mean) * (value - mean);
            }
            inside + if beyond > ROUNDING * whole { beyond } else { 0.0 }
        };
        let distances = self.vectors.iter().map(distance).sum();
        (sum.into_iter().collect(), distances)
    }

    /// The norm with exponent q of all entries of all tasks.
    pub(super) fn norm(&self, q: f64) -> f64 {
        norm(self.vectors.iter().flatten().map(|pair| pair.1), q)
    }

    /// `U'U`, K x K, of the matrix whose columns are the vectors.
    pub(super) fn gram(&self) -> Symmetric {
        Symmetric::from_fn(self.vectors.len(), |i, j| merge_dot(&self.vectors[i], &self.vectors[j]))
    }
}

/// What is left of a sum of squares after its parts were taken away, when nothing should be.
const ROUNDING: f64 = 1e-13;

/// `(sum |v|^p)^(1/p)`; divided by the largest entry first, so that no power overflows.
pub(super) fn norm(values: impl Iterator<Item = f64> + Clone, p: f64) -> f64 {
    let largest = values.clone().fold(0.0_f64, |largest, value| largest.max(value.abs()));
    if largest == 0.0 || !largest.is_finite() {
        return largest;
    }
    largest * values.map(|value| (value.abs() / largest).powf(p)).sum::<f64>().powf(1.0 / p)
}

/// Inner product of two vectors in order of feature.
pub(super) fn merge_dot(a: &[(u32, f64)], b: &[(u32, f64)]) -> f64 {
    let (mut i, mut j, mut sum) = (0, 0, 0.0);
    while i < a.len() && j < b.len() {
        match a[i].0.cmp(&b[j].0) {
            std::cmp::Ordering::Less => i += 1,
            std::cmp::Ordering::Greater => j += 1,
            std::cmp::Ordering::Equal => {
                sum += a[i].1 * b[j].1;
                (i, j) = (i + 1, j + 1);
            }
        }
    }
    sum
}

/// Inner product of two examples.
pub(super) fn dot(a: SparseView<'_>, b: SparseView<'_>) -> f64 {
    let (mut i, mut j, mut sum) = (0, 0, 0.0);
    while i < a.len() && j < b.len() {
        match a.indices()[i].cmp(&b.indices()[j]) {
            std::cmp::Ordering::Less => i += 1,
            std::cmp::Ordering::Greater => j += 1,
            std::cmp::Ordering::Equal => {
                sum += a.values()[i] * b.values()[j];
                (i, j) = (i + 1, j + 1);
            }
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_from_the_centroid() {
        let u = Comparator::dense(&[vec![1.0, 0.0, 2.0], vec![0.0, 4.0, 2.0]]);
        let (centroid, distances) = u.centroid();
        assert_eq!(centroid, [(0, 0.5), (1, 2.0), (2, 2.0)]);
        assert!((distances - 2.0 * (0.25 + 4.0)).abs() < 1e-12);
        assert_eq!(u.norm_squared(), 25.0);
        assert_eq!(u.gram().entry(1, 0), 4.0);
        // Equal vectors are at distance 0, not at that of a rounding error.
        assert_eq!(Comparator::dense(&vec![vec![0.1, 0.7, 1.3]; 3]).centroid().1.max(1e-30), 1e-30);
    }

    #[test]
    fn norms_do_not_overflow() {
        assert_eq!(norm([3.0, -4.0].into_iter(), 2.0), 5.0);
        assert_eq!(norm([1e200, 0.0].into_iter(), 50.0), 1e200);
        assert_eq!(norm([0.0].into_iter(), 1.0), 0.0);
    }
}
