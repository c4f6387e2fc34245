//! Small random streams for the checks.

use rand::RngExt;

use crate::example::{Example, SparseView, TaskId};
use crate::rng::generator;
use crate::stream::Memory;

/// An owned example.
#[derive(Debug, Clone)]
pub(super) struct Sample {
    pub(super) task: TaskId,
    pub(super) indices: Vec<u32>,
    pub(super) values: Vec<f64>,
    pub(super) label: f64,
}

impl Sample {
    pub(super) fn new(task: TaskId, features: &[(u32, f64)], label: f64) -> Self {
        Self {
            task,
            indices: features.iter().map(|pair| pair.0).collect(),
            values: features.iter().map(|pair| pair.1).collect(),
            label,
        }
    }

    pub(super) fn features(&self) -> SparseView<'_> {
        SparseView::trusted(&self.indices, &self.values)
    }

    pub(super) fn example(&self) -> Example<'_> {
        Example::new(self.task, self.features(), self.label)
    }
}

/// Features in a stream, some side by side and some far apart.
const FEATURES: u32 = 40;

/// Related tasks on sparse features, one label in ten flipped: mistakes never end.
pub(super) fn samples(seed: u64, tasks: usize, count: usize) -> Vec<Sample> {
    let mut rng = generator(seed, 1);
    (0..count)
        .map(|_| {
            let task = rng.random_range(0..tasks);
            let mut features: Vec<(u32, f64)> = Vec::new();
            let mut score = 0.0;
            for feature in 0..FEATURES {
                if rng.random_bool(0.15) {
                    let value = rng.random_range(-1.0..1.0);
                    let angle = f64::from(feature);
                    score += value * (angle.cos() + 0.3 * (angle * (task + 2) as f64).cos());
                    features.push((feature.pow(3), value));
                }
            }
            let flipped = rng.random_bool(0.1);
            let label = if (score >= 0.0) == flipped { -1.0 } else { 1.0 };
            Sample::new(TaskId(task as u32), &features, label)
        })
        .collect()
}

/// The samples as a stream of named tasks.
pub(super) fn memory(samples: &[Sample], names: &[String]) -> Memory {
    let mut memory = Memory::new();
    for sample in samples {
        memory.push(&names[sample.task.index()], sample.example());
    }
    memory
}

/// The names in another order, and where each stood before.
pub(super) fn shuffled_names(names: &[String]) -> (Vec<String>, Vec<usize>) {
    let mut from: Vec<usize> = (0..names.len()).rev().collect();
    from.rotate_left(1);
    (from.iter().map(|at| names[*at].clone()).collect(), from)
}
