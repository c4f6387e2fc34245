//! Seeded streams with known true vectors.
//!
//! [`Related`] makes tasks around a common vector, with outliers, noise and, if wanted, a margin. [`random_walk`] is
//! the synthetic stream of ROM17 section IV-B, [`opposed_triple`] that of LR11 section 5.1.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

use super::Memory;
use crate::example::{Example, SparseView, TaskId};
use crate::rng::generator;

/// A stream and the vectors that made its labels, one per task.
#[derive(Debug, Clone)]
pub struct Synthetic {
    /// The examples; tasks are named `1`, `2`, ….
    pub stream: Memory,
    /// w_i with label = sign(w_i'x), but for flipped labels.
    pub truth: Vec<Vec<f64>>,
    /// Labels that were flipped.
    pub flipped: usize,
}

/// Tasks around a common vector.
#[derive(Debug, Clone, PartialEq)]
pub struct Related {
    /// K.
    pub tasks: usize,
    /// d.
    pub features: usize,
    /// n, spread evenly at random over the tasks.
    pub examples: usize,
    /// Length of each task's deviation from the common vector, which has length 1.
    pub spread: f64,
    /// Number of outliers, the last tasks, which have a vector of their own instead.
    pub outliers: usize,
    /// Least |w_i'x| of an example; 0 for none. Vectors w_i and x have length 1.
    pub margin: f64,
    /// Probability of a flipped label.
    pub flips: f64,
    /// Seed of everything.
    pub seed: u64,
}

impl Default for Related {
    fn default() -> Self {
        Self {
            tasks: 8,
            features: 50,
            examples: 4000,
            spread: 0.3,
            outliers: 0,
            margin: 0.0,
            flips: 0.0,
            seed: 1,
        }
    }
}

impl Related {
    /// Generates the stream. Two streams that differ only in the seed share nothing.
    pub fn generate(&self) -> Synthetic {
        let mut rng = generator(self.seed, 0);
        let common = unit(normal(&mut rng, self.features));
        let truth: Vec<Vec<f64>> = (0..self.tasks)
            .map(|task| {
                let own = unit(normal(&mut rng, self.features));
                let related = task + self.outliers < self.tasks;
                if related { unit(add(&common, &own, self.spread)) } else { own }
            })
            .collect();
        let mut made = Made::new(truth, self.flips, rng);
        for _ in 0..self.examples {
            let task = made.rng.random_range(0..self.tasks);
            let x = loop {
                let x = unit(normal(&mut made.rng, self.features));
                if dot(&made.truth[task], &x).abs() > self.margin {
                    break x;
                }
            };
            made.push(task, &x);
        }
        made.finish()
    }
}

/// ROM17 section IV-B: five tasks in R^100, each a Gaussian step from the one before; the last step has the given
/// variance, so that task 5 is an outlier when it is large. Rounds of one example per task, x ~ N(0, I), 1 % flips.
pub fn random_walk(outlier_variance: f64, rounds: usize, seed: u64) -> Synthetic {
    const FEATURES: usize = 100;
    let mut rng = generator(seed, 0);
    let first: Vec<f64> = (0..FEATURES).map(|at| if at < 60 { 1.0 } else { -1.5 }).collect();
    let mut truth = vec![first];
    for variance in [0.09, 0.09, 0.09, outlier_variance] {
        let step = normal(&mut rng, FEATURES);
        let next = add(&truth[truth.len() - 1], &step, f64::sqrt(variance));
        truth.push(next);
    }
    let mut made = Made::new(truth, 0.01, rng);
    for _ in 0..rounds {
        for task in 0..5 {
            let x = normal(&mut made.rng, FEATURES);
            made.push(task, &x);
        }
    }
    made.finish()
}

/// LR11 section 5.1: three tasks in R^10 with w_2 = -w_1 and w_3 uncorrelated with both; 100 examples each, in
/// random order of task.
pub fn opposed_triple(seed: u64) -> Synthetic {
    const FEATURES: usize = 10;
    let mut rng = generator(seed, 0);
    let first = unit(centred(normal(&mut rng, FEATURES)));
    let third = centred(normal(&mut rng, FEATURES));
    let third = unit(add(&third, &first, -dot(&third, &first)));
    let second = first.iter().map(|weight| -weight).collect();
    let mut left = [100_usize; 3];
    let mut made = Made::new(vec![first, second, third], 0.0, rng);
    while left != [0; 3] {
        let mut draw = made.rng.random_range(0..left.iter().sum::<usize>());
        let task = left
            .iter()
            .position(|count| {
                draw < *count || {
                    draw -= count;
                    false
                }
            })
            .unwrap_or(0);
        left[task] -= 1;
        let x = normal(&mut made.rng, FEATURES);
        made.push(task, &x);
    }
    made.finish()
}

/// A stream under way.
struct Made {
    truth: Vec<Vec<f64>>,
    flips: f64,
    rng: ChaCha8Rng,
    stream: Memory,
    flipped: usize,
    indices: Vec<u32>,
    names: Vec<String>,
}

impl Made {
    fn new(truth: Vec<Vec<f64>>, flips: f64, rng: ChaCha8Rng) -> Self {
        let indices = (0..truth.first().map_or(0, Vec::len) as u32).collect();
        let names = (1..=truth.len()).map(|task| task.to_string()).collect();
        Self { truth, flips, rng, stream: Memory::new(), flipped: 0, indices, names }
    }

    fn push(&mut self, task: usize, x: &[f64]) {
        let flip = self.flips > 0.0 && self.rng.random_bool(self.flips);
        self.flipped += usize::from(flip);
        let positive = (dot(&self.truth[task], x) >= 0.0) != flip;
        let features = SparseView::trusted(&self.indices, x);
        let label = if positive { 1.0 } else { -1.0 };
        self.stream.push(&self.names[task], Example::new(TaskId(0), features, label));
    }

    fn finish(self) -> Synthetic {
        Synthetic { stream: self.stream, truth: self.truth, flipped: self.flipped }
    }
}

fn normal(rng: &mut ChaCha8Rng, size: usize) -> Vec<f64> {
    StandardNormal.sample_iter(rng).take(size).collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn add(a: &[f64], b: &[f64], factor: f64) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a + factor * b).collect()
}

fn unit(mut vector: Vec<f64>) -> Vec<f64> {
    let norm = dot(&vector, &vector).sqrt();
    vector.iter_mut().for_each(|entry| *entry /= norm);
    vector
}

fn centred(mut vector: Vec<f64>) -> Vec<f64> {
    let mean = vector.iter().sum::<f64>() / vector.len() as f64;
    vector.iter_mut().for_each(|entry| *entry -= mean);
    vector
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels_follow_truth(made: &Synthetic) -> usize {
        let wrong = made.stream.examples().filter(|(task, example)| {
            let w = &made.truth[task.parse::<usize>().unwrap() - 1];
            dot(w, example.features.values()) * example.label <= 0.0
        });
        wrong.count()
    }

    #[test]
    fn related_tasks_have_the_truth_they_say() {
        let config = Related { outliers: 1, margin: 0.05, ..Related::default() };
        let made = config.generate();
        assert_eq!((made.stream.len(), made.truth.len(), made.flipped), (4000, 8, 0));
        assert_eq!(labels_follow_truth(&made), 0);
        let cosine = |a: usize, b: usize| dot(&made.truth[a], &made.truth[b]);
        assert!(cosine(0, 1) > 0.8 && cosine(5, 6) > 0.8 && cosine(0, 7).abs() < 0.5);
        let noisy = Related { flips: 0.1, ..config.clone() }.generate();
        assert_eq!(labels_follow_truth(&noisy), noisy.flipped);
        assert!((noisy.flipped as f64 / 4000.0 - 0.1).abs() < 0.03);
        let again = config.generate();
        assert!(again.stream.examples().eq(made.stream.examples()));
    }

    #[test]
    fn the_papers_streams_are_as_described() {
        let walk = random_walk(12.25, 200, 3);
        assert_eq!((walk.stream.len(), walk.truth.len()), (1000, 5));
        assert_eq!(labels_follow_truth(&walk), walk.flipped);
        let distance = |a: usize, b: usize| {
            let gap = add(&walk.truth[a], &walk.truth[b], -1.0);
            dot(&gap, &gap) / 100.0
        };
        assert!((distance(0, 1) - 0.09).abs() < 0.05 && (distance(3, 4) - 12.25).abs() < 6.0);
        let triple = opposed_triple(3);
        assert_eq!((triple.stream.len(), labels_follow_truth(&triple)), (300, 0));
        assert!((dot(&triple.truth[0], &triple.truth[1]) + 1.0).abs() < 1e-12);
        assert!(dot(&triple.truth[0], &triple.truth[2]).abs() < 1e-12);
        let per_task = |name: &str| triple.stream.examples().filter(|(task, _)| *task == name).count();
        assert_eq!(["1", "2", "3"].map(per_task), [100, 100, 100]);
    }
}
