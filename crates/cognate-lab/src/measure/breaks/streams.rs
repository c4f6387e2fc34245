//! Streams of related tasks, and what may be broken in them.

use anyhow::Result;
use cognate::stream::Memory;
use cognate::{Example, SparseView, TaskId};

use crate::measure::bench::random::Draws;

pub(super) const TASKS: usize = 10;
const EXAMPLES: usize = 4000;
/// Lines between two that are broken, where that happens again and again.
const EVERY: usize = 100;

/// An example before it is handed to a learner.
#[derive(Debug, Clone)]
pub(super) struct Line {
    pub(super) task: usize,
    pub(super) label: f64,
    features: Vec<u32>,
    values: Vec<f64>,
    /// Whether nothing about it or its task is broken: these are counted.
    pub(super) counts: bool,
}

/// Which stream.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Kind {
    /// Twenty normal features, all of them in every line.
    Dense,
    /// The same with real labels.
    Real,
    /// Some twelve of four hundred features, frequent and rare ones.
    Sparse,
    /// Twenty features whose logarithms are normal with this deviation; labels follow the logarithms.
    LogNormal(f64),
    /// The logarithms themselves.
    Logged(f64),
}

/// What is broken.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Break {
    /// A line with the wrong label, all its values so many times as large.
    Line(Place),
    /// One value of a line.
    Value(Place),
    /// Five features are 0 until the middle, and then their first values are too large.
    Late,
    /// A task measures in other units.
    Units,
    /// The same, and it begins.
    UnitsFirst,
}

/// Where it is broken.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Place {
    At(usize),
    Middle,
    Repeatedly,
}

impl Place {
    fn lines(self) -> Vec<usize> {
        match self {
            Self::At(at) => vec![at],
            Self::Middle => vec![EXAMPLES / 2],
            Self::Repeatedly => (0..EXAMPLES).step_by(EVERY).collect(),
        }
    }
}

impl Line {
    /// A line that is only counted, or not.
    pub(super) fn counted(counts: bool) -> Self {
        Self { task: 0, label: 0.0, features: Vec::new(), values: Vec::new(), counts }
    }
}

fn normals(draws: &mut Draws, count: usize) -> Vec<f64> {
    (0..count).map(|_| f64::from(draws.normal())).collect()
}

impl Kind {
    fn features(self) -> usize {
        if self == Self::Sparse { 400 } else { 20 }
    }

    /// The stream of a seed.
    pub(super) fn lines(self, seed: u64) -> Vec<Line> {
        let mut draws = Draws::new(seed, 0);
        let features = self.features();
        let shared = normals(&mut draws, features);
        let tasks: Vec<Vec<f64>> = (0..TASKS)
            .map(|_| shared.iter().map(|weight| weight + 0.5 * f64::from(draws.normal())).collect())
            .collect();
        (1..=EXAMPLES as u64)
            .map(|row| {
                let mut draws = Draws::new(seed, row);
                let task = draws.below(TASKS as u64) as usize;
                let (features, values) = self.example(&mut draws);
                let margin: f64 =
                    features.iter().zip(&values).map(|(at, x)| tasks[task][*at as usize] * x).sum();
                let noisy = margin + f64::from(draws.normal());
                let label = if self == Self::Real { noisy } else { noisy.signum() };
                let value = |z: &f64| match self {
                    Self::LogNormal(deviation) => (deviation * z).exp(),
                    Self::Logged(deviation) => deviation * z,
                    _ => *z,
                };
                Line { task, label, features, values: values.iter().map(value).collect(), counts: true }
            })
            .collect()
    }

    /// Features and values of a line.
    fn example(self, draws: &mut Draws) -> (Vec<u32>, Vec<f64>) {
        if self != Self::Sparse {
            let values = normals(draws, self.features());
            return ((0..self.features() as u32).collect(), values);
        }
        let all = self.features() as f64;
        let mut features: Vec<u32> = (0..12).map(|_| (all * draws.uniform().powi(2)) as u32).collect();
        features.sort_unstable();
        features.dedup();
        let values = features.iter().map(|_| 0.5 + draws.uniform()).collect();
        (features, values)
    }
}

fn times(values: &mut [f64], factor: f64) {
    values.iter_mut().for_each(|value| *value *= factor);
}

impl Break {
    /// Breaks a stream with this factor; with 1 only what is counted is decided, so that it can be compared.
    pub(super) fn apply(self, lines: &mut [Line], factor: f64) {
        match self {
            Self::Line(place) => {
                for at in place.lines() {
                    let line = &mut lines[at];
                    line.counts = false;
                    if factor != 1.0 {
                        line.label = -line.label;
                        times(&mut line.values, factor);
                    }
                }
            }
            Self::Value(place) => {
                for (round, at) in place.lines().into_iter().enumerate() {
                    let line = &mut lines[at];
                    let which = round % line.values.len();
                    line.counts = false;
                    line.values[which] *= factor;
                }
            }
            Self::Late => late(lines, factor),
            Self::Units => units(&mut lines[..], 20, factor),
            Self::UnitsFirst => {
                lines[0].task = 0;
                units(lines, 0, factor);
            }
        }
    }
}

/// The first task measures in other units; it has none of so many first lines.
fn units(lines: &mut [Line], first: usize, factor: f64) {
    lines.iter_mut().take(first).for_each(|line| line.task = line.task.max(1));
    for line in lines.iter_mut().filter(|line| line.task == 0) {
        line.counts = false;
        times(&mut line.values, factor);
    }
}

fn late(lines: &mut [Line], factor: f64) {
    let late = |feature: u32| feature.is_multiple_of(4);
    let mut met = std::collections::BTreeSet::new();
    for (at, line) in lines.iter_mut().enumerate() {
        for (feature, value) in line.features.iter().zip(&mut line.values) {
            if late(*feature) && at < EXAMPLES / 2 {
                *value = 0.0;
            } else if late(*feature) && met.insert(*feature) {
                *value *= factor;
                line.counts = false;
            }
        }
    }
}

/// The stream as a learner reads it.
pub(super) fn memory(lines: &[Line]) -> Result<Memory> {
    let mut stream = Memory::new();
    for line in lines {
        let (mut features, mut values) = (Vec::new(), Vec::new());
        for (feature, value) in line.features.iter().zip(&line.values).filter(|(_, value)| **value != 0.0) {
            features.push(*feature);
            values.push(*value);
        }
        let x = SparseView::try_new(&features, &values)?;
        stream.push(&(line.task + 1).to_string(), Example::new(TaskId(0), x, line.label));
    }
    Ok(stream)
}
