//! `scale-free`: R from how well each task's weights predict the labels of the others. Our own.
//!
//! LR11's rules read R off the inner products of the weights. Those depend on the scale of the examples and on the
//! number of mistakes, and what they say of two tasks is drowned in the noise of their weights: two equal tasks have
//! nearly orthogonal weights as long as both know little. Here R is an estimate of the correlation of the tasks
//! themselves, which is what the bound of MP10 wants R to be.
//!
//! State: v_i, the sum of y x over the mistakes of task i, and |v_i|^2. For every pair of tasks E\[i, j\], the sum of
//! y s_j over the examples of task i, where s_j = v_j'x / (|v_j| |x|), and Q\[i, j\], that of s_j^2; n_i examples.
//!
//! Evidence: v_j had not seen x, so E\[i, j\] / n_i is an unbiased "edge" of task j's weights on task i's labels: about
//! k r_ij a_j, where a_j is how well v_j knows its own task, r_ij the correlation of the tasks and k a constant; and
//! E\[j, j\] / n_j = o_j is about k a_j. Dividing by it takes the noise of the weights out (the correction for
//! attenuation, Spearman 1904): r_ij is estimated, least variance first, by
//!     (o_j E\[i, j\] + o_i E\[j, i\]) / (n_i o_j^2 + n_j o_i^2), with variance q / (n_i o_j^2 + n_j o_i^2),
//! q the mean of s^2. Estimates are shrunk towards their mean m by empirical Bayes, r_ij ~ N(m, t^2), m and t^2 found by
//! weighted moments: what a pair has no evidence for, it takes from all pairs. Then clipped to \[-1, 1\], eigenvalues
//! raised to at least 1/10, the diagonal brought back to 1: C. It is formed anew when mistakes have grown by an
//! eighth (K, K^2/256 and 8 at least), so its O(K^3) are O(K^2) a mistake or less.
//!
//! Predict: the mean of four readings of the same weights, z = V'x: no sharing, C, and R with 1 on the diagonal and
//! 0.1, or 0.5, everywhere else (`coupled` with b = K/9 and b = K); each by how much it is trusted (hedge.rs). The
//! mean is R itself: R = sum_g p_g R_g, positive definite since all are.
//! Update, after a mistake: v_i += y x. Because the weights are mixed when they are read, what R learns counts for all
//! that was learnt before.
//!
//! Scaling all examples changes nothing but the margins' scale.

use serde::{Deserialize, Serialize};

use super::config::RelationPerceptronConfig;
use crate::block::Block;
use crate::error::StateError;
use crate::example::{Example, SparseView, is_mistake};
use crate::hedge::{Hedge, HedgeState, mix};
use crate::kernel::square;
use crate::linalg::wide::wide;
use crate::linalg::{Symmetric, TaskRows, TaskRowsState, check_finite, dot};

/// No sharing, the learned correlation, and two uniform ones.
const READINGS: usize = 4;

/// What every pair of tasks has in common in the last two readings.
const UNIFORM: [f64; 2] = [0.1, 0.5];

/// Eigenvalues of C are at least this.
const LEAST_EIGENVALUE: f64 = 0.1;

/// t^2 where no pair says anything yet, with the weight of one pair.
const PRIOR_VARIANCE: f64 = 0.02;

#[derive(Debug, Clone)]
pub(super) struct ScaleFree {
    start: f64,
    shrink: f64,
    vectors: TaskRows,
    /// |v_i|^2.
    squares: Vec<f64>,
    /// 1 / |v_i|, 0 for a zero vector; follows from the squares.
    inverses: Vec<f64>,
    evidence: Vec<Evidence>,
    correlation: Symmetric,
    trust: Hedge<READINGS>,
    mistakes: u64,
    /// Mistakes at which C is formed anew.
    due: u64,
    /// Whether margins are read with R, since the first mistake after priming.
    moving: bool,
}

/// What the examples of a task say about all tasks' weights.
#[derive(Debug, Clone, Default)]
struct Evidence {
    examples: u64,
    /// E\[i, j\] by j; tasks not listed have 0.
    edges: Vec<f64>,
    /// Q\[i, j\].
    squares: Vec<f64>,
}

impl Evidence {
    fn edge(&self, task: usize) -> f64 {
        self.edges.get(task).copied().unwrap_or(0.0)
    }

    fn square(&self, task: usize) -> f64 {
        self.squares.get(task).copied().unwrap_or(0.0)
    }
}

/// An estimate with its variance.
#[derive(Debug, Clone, Copy)]
struct Estimate {
    value: f64,
    variance: f64,
}

impl ScaleFree {
    pub(super) fn new(config: &RelationPerceptronConfig, tasks: usize) -> Self {
        Self {
            start: config.start,
            shrink: config.shrink_or_default(),
            vectors: TaskRows::new(tasks),
            squares: vec![0.0; tasks],
            inverses: vec![0.0; tasks],
            evidence: vec![Evidence::default(); tasks],
            correlation: identity(tasks),
            trust: Hedge::new(),
            mistakes: 0,
            due: 8,
            moving: false,
        }
    }

    /// A new task has no weights, so no other is disturbed; the uniform readings teach it from its first example.
    pub(super) fn grow(&mut self, tasks: usize) {
        self.vectors.grow(tasks);
        self.squares.resize(tasks, 0.0);
        self.inverses.resize(tasks, 0.0);
        self.evidence.resize_with(tasks, Evidence::default);
        let before = self.correlation.size();
        self.correlation = self.correlation.grown(tasks);
        (before..tasks).for_each(|at| self.correlation.add(at, at, 1.0));
    }

    /// V'x.
    pub(super) fn products(&self, x: SparseView<'_>, products: &mut Vec<f64>) {
        self.vectors.project_into(x, products);
    }

    /// The readings of a task's margin; a task not met reads what it shares.
    fn readings(&self, task: usize, products: &[f64]) -> [f64; READINGS] {
        let own = products.get(task).copied().unwrap_or(0.0);
        let all: f64 = products.iter().sum();
        let learned = if task < products.len() { dot(self.correlation.row(task), products) } else { own };
        let uniform = UNIFORM.map(|shared| (1.0 - shared) * own + shared * all);
        [own, learned, uniform[0], uniform[1]]
    }

    /// The margin from V'x; by the weights of the task alone before R moves.
    pub(super) fn margin(&self, task: usize, products: &[f64]) -> f64 {
        let readings = self.readings(task, products);
        let mean = if self.moving { self.trust.margin(readings) } else { readings[0] };
        self.start * ((1.0 - self.shrink) * mean + self.shrink * readings[0])
    }

    /// Takes what the example says about the relation, and learns it if its margin was a mistake; says whether
    /// anything changed that a margin depends on.
    pub(super) fn learn(&mut self, example: Example<'_>, products: &[f64], margin: f64, moves: bool) -> bool {
        let Example { task, features, label } = example;
        let (task, length) = (task.index(), square(features).sqrt());
        let readings = self.readings(task, products);
        self.note(task, label, length, products);
        let mistake = is_mistake(label, margin);
        if mistake {
            let product = products.get(task).copied().unwrap_or(0.0);
            self.squares[task] = (self.squares[task] + 2.0 * label * product + length * length).max(0.0);
            self.inverses[task] = inverse_root(self.squares[task]);
            self.vectors.add_to(task, features, label);
            self.mistakes += 1;
            self.moving |= moves;
            if self.mistakes >= self.due {
                self.estimate();
            }
        }
        let trusts = self.moving && self.trust.count(label, readings, margin);
        mistake || trusts
    }

    /// Counts an example as evidence.
    fn note(&mut self, task: usize, label: f64, length: f64, products: &[f64]) {
        let evidence = &mut self.evidence[task];
        evidence.examples += 1;
        evidence.edges.resize(products.len().max(evidence.edges.len()), 0.0);
        evidence.squares.resize(products.len().max(evidence.squares.len()), 0.0);
        let inverse = if length > 0.0 { 1.0 / length } else { 0.0 };
        wide(|| {
            let sums = evidence.edges.iter_mut().zip(&mut evidence.squares);
            for ((edge, total), (product, lengths)) in sums.zip(products.iter().zip(&self.inverses)) {
                let cosine = (product * lengths * inverse).clamp(-1.0, 1.0);
                *edge += label * cosine;
                *total += cosine * cosine;
            }
        });
    }

    /// Forms C from the evidence.
    fn estimate(&mut self) {
        let tasks = self.evidence.len();
        let k = tasks as u64;
        self.due = self.mistakes + (self.mistakes / 8).max(k).max(k * k / 256).max(8);
        let own: Vec<f64> = (0..tasks).map(|task| self.own_edge(task)).collect();
        let estimates: Vec<Option<Estimate>> = (0..tasks)
            .flat_map(|i| (0..i).map(move |j| (i, j)))
            .map(|(i, j)| self.pair(i, j, &own))
            .collect();
        let (mean, spread) = moments(&estimates);
        let raw = Symmetric::from_fn(tasks, |i, j| {
            if i == j {
                return 1.0;
            }
            let shrunk = estimates[i * (i - 1) / 2 + j].map_or(mean, |estimate| {
                (estimate.value * spread + mean * estimate.variance) / (spread + estimate.variance)
            });
            shrunk.clamp(-1.0, 1.0)
        });
        if let Some(spectrum) = raw.spectrum() {
            let raised: Vec<f64> = spectrum.values.iter().map(|value| value.max(LEAST_EIGENVALUE)).collect();
            self.correlation = spectrum.with_values(&raised).correlation();
        }
    }

    /// o_i, at least 0.
    fn own_edge(&self, task: usize) -> f64 {
        let evidence = &self.evidence[task];
        if evidence.examples == 0 { 0.0 } else { (evidence.edge(task) / evidence.examples as f64).max(0.0) }
    }

    /// The correlation of two tasks by itself; none where nothing is known.
    fn pair(&self, i: usize, j: usize, own: &[f64]) -> Option<Estimate> {
        let (one, other) = (&self.evidence[i], &self.evidence[j]);
        let counts = (one.examples as f64, other.examples as f64);
        let weight = counts.0 * own[j] * own[j] + counts.1 * own[i] * own[i];
        let value = (own[j] * one.edge(j) + own[i] * other.edge(i)) / weight;
        let variance = (one.square(j) + other.square(i)) / (counts.0 + counts.1) / weight;
        (weight > 0.0 && value.is_finite() && variance.is_finite()).then_some(Estimate { value, variance })
    }

    /// R of the mean reading.
    pub(super) fn relation(&self, to: usize, from: usize) -> f64 {
        let same = f64::from(u8::from(to == from));
        if !self.moving {
            return self.start * same;
        }
        let size = self.correlation.size();
        let learned = if to < size && from < size { self.correlation.entry(to, from) } else { same };
        let uniform = UNIFORM.map(|shared| (1.0 - shared) * same + shared);
        let mean = mix(self.trust.weights(), [same, learned, uniform[0], uniform[1]]);
        self.start * ((1.0 - self.shrink) * mean + self.shrink * same)
    }

    /// Weights of the mean margin, which is linear.
    pub(super) fn weights(&self, task: usize) -> Vec<(u32, f64)> {
        let row: Vec<f64> = (0..self.squares.len()).map(|from| self.relation(task, from)).collect();
        let weights = self.vectors.rows().map(|(feature, vectors)| (feature, dot(&row, vectors)));
        let mut weights: Vec<(u32, f64)> = weights.filter(|pair| pair.1 != 0.0).collect();
        weights.sort_unstable_by_key(|pair| pair.0);
        weights
    }

    pub(super) fn heap_bytes(&self) -> usize {
        let evidence = |evidence: &Evidence| {
            (evidence.edges.capacity() + evidence.squares.capacity()) * size_of::<f64>()
                + size_of::<Evidence>()
        };
        self.vectors.heap_bytes()
            + self.evidence.iter().map(evidence).sum::<usize>()
            + (self.squares.capacity() + self.correlation.size().pow(2)) * size_of::<f64>()
    }

    pub(super) fn state(&self) -> ScaleFreeState {
        let tasks = self.evidence.len();
        let table = |entry: fn(&Evidence, usize) -> f64| {
            let rows = self.evidence.iter().flat_map(|row| (0..tasks).map(move |task| entry(row, task)));
            Block(rows.collect())
        };
        ScaleFreeState {
            vectors: self.vectors.state(),
            squares: Block(self.squares.clone()),
            examples: Block(self.evidence.iter().map(|evidence| evidence.examples).collect()),
            edges: table(Evidence::edge),
            edge_squares: table(Evidence::square),
            correlation: Block(self.correlation.lower()),
            trust: self.trust.state(),
            mistakes: self.mistakes,
            due: self.due,
            moving: self.moving,
        }
    }

    pub(super) fn restore(&mut self, tasks: usize, state: ScaleFreeState) -> Result<(), StateError> {
        let (squares, examples) = (state.squares.0, state.examples.0);
        let pairs = tasks.checked_mul(tasks);
        let counts = [squares.len() == tasks, examples.len() == tasks];
        let tables = [state.edges.0.len(), state.edge_squares.0.len()].map(|length| Some(length) == pairs);
        if counts.contains(&false) || tables.contains(&false) {
            return Err(StateError::new("the evidence does not fit the tasks"));
        }
        for numbers in [&squares, &state.edges.0, &state.edge_squares.0] {
            check_finite(numbers)?;
        }
        self.evidence = (0..tasks)
            .map(|at| Evidence {
                examples: examples[at],
                edges: state.edges.0[at * tasks..][..tasks].to_vec(),
                squares: state.edge_squares.0[at * tasks..][..tasks].to_vec(),
            })
            .collect();
        self.vectors = TaskRows::restore(tasks, state.vectors)?;
        self.inverses = squares.iter().map(|square| inverse_root(*square)).collect();
        self.squares = squares;
        self.correlation = Symmetric::from_lower(tasks, &state.correlation.0)?;
        self.trust = Hedge::restore(&state.trust)?;
        (self.mistakes, self.due, self.moving) = (state.mistakes, state.due, state.moving);
        Ok(())
    }
}

/// 1 / sqrt(x), 0 where that is no number.
fn inverse_root(square: f64) -> f64 {
    let inverse = 1.0 / square.sqrt();
    if inverse.is_finite() { inverse } else { 0.0 }
}

fn identity(size: usize) -> Symmetric {
    Symmetric::from_fn(size, |row, column| f64::from(u8::from(row == column)))
}

/// Mean and variance of what is estimated, from estimates with variances of their own.
///
/// The mean has the prior N(0, 1), the variance one pair of [`PRIOR_VARIANCE`].
fn moments(estimates: &[Option<Estimate>]) -> (f64, f64) {
    let (mut mean, mut spread) = (0.0_f64, PRIOR_VARIANCE);
    // Each depends on the other; a few turns settle both.
    for _ in 0..10 {
        let (mut weight, mut sum) = (1.0, 0.0);
        for Estimate { value, variance } in estimates.iter().flatten() {
            weight += 1.0 / (variance + spread);
            sum += value / (variance + spread);
        }
        mean = (sum / weight).clamp(-1.0, 1.0);
        let prior = 1.0 / (spread * spread);
        let (mut weight, mut sum) = (prior, prior * PRIOR_VARIANCE);
        for Estimate { value, variance } in estimates.iter().flatten() {
            let trust = 1.0 / ((variance + spread) * (variance + spread));
            weight += trust;
            sum += trust * ((value - mean) * (value - mean) - variance);
        }
        spread = (sum / weight).clamp(1e-4, 1.0);
    }
    (mean, spread)
}

/// Saved form of [`ScaleFree`].
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ScaleFreeState {
    vectors: TaskRowsState,
    squares: Block<f64>,
    examples: Block<u64>,
    /// Row by row, as the next.
    edges: Block<f64>,
    edge_squares: Block<f64>,
    /// On and below the diagonal.
    correlation: Block<f64>,
    trust: HedgeState,
    mistakes: u64,
    due: u64,
    moving: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_pair_does_not_know_it_takes_from_all() {
        let sure = |value| Some(Estimate { value, variance: 1e-4 });
        let (mean, spread) = moments(&[sure(0.5), sure(0.5), sure(0.52), sure(0.48), None]);
        assert!((mean - 0.5).abs() < 0.01 && spread < 0.02, "{mean} {spread}");
        let (mean, spread) = moments(&[sure(0.9), sure(-0.9), sure(0.9), sure(-0.9)]);
        assert!(mean.abs() < 0.01 && spread > 0.5, "{mean} {spread}");
        let (mean, spread) = moments(&[None, None]);
        assert!(mean == 0.0 && (spread - PRIOR_VARIANCE).abs() < 1e-12);
    }
}
