//! Random sparse streams of related tasks, as dense vectors and as text.

use cognate::internal::generator;
use cognate::stream::write_example;
use cognate::{Example, SparseView, TaskId};
use rand::RngExt;

/// An example of a task numbered from 0.
#[derive(Debug, Clone)]
pub(crate) struct Sample {
    pub(crate) task: usize,
    /// All features, most of them 0.
    pub(crate) x: Vec<f64>,
    pub(crate) label: f64,
}

/// Related tasks, one label in ten flipped.
pub(crate) fn samples(seed: u64, tasks: usize, features: usize, count: usize) -> Vec<Sample> {
    let mut rng = generator(seed, 2);
    let truth = |task: usize, feature: usize| {
        let (task, feature) = (task as f64, feature as f64);
        (7.0 * feature).sin() + 0.4 * (3.0 * feature * task + task).sin()
    };
    (0..count)
        .map(|_| {
            let task = rng.random_range(0..tasks);
            let entry = |_| if rng.random_bool(0.4) { rng.random_range(-1.0..1.0) } else { 0.0 };
            let x: Vec<f64> = (0..features).map(entry).collect();
            let score: f64 = x.iter().enumerate().map(|(at, x)| x * truth(task, at)).sum();
            let flipped = rng.random_bool(0.1);
            let label = if (score >= 0.0) == flipped { -1.0 } else { 1.0 };
            Sample { task, x, label }
        })
        .collect()
}

/// The samples as text, with tasks named by `name`.
pub(crate) fn text(samples: &[Sample], name: impl Fn(usize) -> String) -> String {
    let mut out = Vec::new();
    for sample in samples {
        let present = sample.x.iter().enumerate().filter(|(_, x)| **x != 0.0);
        let (indices, values): (Vec<u32>, Vec<f64>) = present.map(|(at, x)| (at as u32, *x)).unzip();
        let features = SparseView::try_new(&indices, &values).unwrap();
        let (task, label) = (TaskId(0), sample.label);
        write_example(&mut out, &name(sample.task), Example::new(task, features, label)).unwrap();
    }
    String::from_utf8(out).unwrap()
}
