//! What examples say about how tasks are related, and the correlations that follow from it.
//!
//! For every pair of tasks E\[i, j\], the sum of y s_j over the examples of task i, where s_j = v_j'x / (|v_j| |x|) for
//! weights v_j that had not seen x; Q\[i, j\], that of s_j^2; n_i examples.
//!
//! E\[i, j\] / n_i is an unbiased "edge" of task j's weights on task i's labels: about k r_ij a_j, where a_j is how well
//! v_j knows its own task, r_ij the correlation of the tasks and k a constant; and E\[j, j\] / n_j = o_j is about k a_j.
//! Dividing by it takes the noise of the weights out (the correction for attenuation, Spearman 1904): r_ij is
//! estimated, least variance first, by
//!     (o_j E\[i, j\] + o_i E\[j, i\]) / (n_i o_j^2 + n_j o_i^2), with variance q / (n_i o_j^2 + n_j o_i^2),
//! q the mean of s^2. Estimates are shrunk towards their mean m by empirical Bayes, r_ij ~ N(m, t^2), m and t^2 found by
//! weighted moments: what a pair has no evidence for, it takes from all pairs.
//!
//! Of the matrix of these the largest eigenvalues are kept, at most 15, less the 1/10 that is the diagonal's: C = L L'
//! off the diagonal, with ones on it. Rows of L are at most sqrt(9/10) long, so C is positive definite with eigenvalues
//! of at least 1/10. What is cut off is
//! mostly noise, and with L margins need no more than 15 numbers per feature, whatever K is.
//!
//! With `forget` = N old evidence fades: E, Q and n_i of a task halve with every N of its examples, so that C follows tasks
//! that change, and what they were is told from what they are by the last few N examples alone.
//!
//! An example has to meet the weights of all tasks to be evidence, which costs more than to learn it: a task's first
//! 64 are all taken, of the others one in eight.

use crate::error::StateError;
use crate::linalg::wide::wide;
use crate::linalg::{Symmetric, check_finite, dot};

/// Numbers of a row of [`Factors`].
pub(super) const FACTORS: usize = 16;

/// Eigenvalues of C are at least this.
const LEAST_EIGENVALUE: f64 = 0.1;

/// t^2 where no pair says anything yet, with the weight of one pair.
const PRIOR_VARIANCE: f64 = 0.02;

/// Examples of a task that are all taken as evidence, and how many there are to one taken later.
const ALL_TAKEN: u64 = 64;
const ONE_IN: u64 = 8;

/// One row per task: 1, then its row of L.
pub(super) type Factors = Vec<[f64; FACTORS]>;

/// The factors of a task that is correlated with none.
pub(super) const UNRELATED: [f64; FACTORS] = {
    let mut row = [0.0; FACTORS];
    row[0] = 1.0;
    row
};

/// Entry of C; 1 on the diagonal.
pub(super) fn correlation(factors: &Factors, i: usize, j: usize) -> f64 {
    match (factors.get(i), factors.get(j)) {
        _ if i == j => 1.0,
        (Some(one), Some(other)) => dot(&one[1..], &other[1..]),
        _ => 0.0,
    }
}

/// The factors of a correlation matrix whose eigenvalues shall be at least this; none where they cannot be found.
pub(super) fn factorize(correlations: &Symmetric, least: f64) -> Option<Factors> {
    let spectrum = correlations.spectrum()?;
    // The least is what the diagonal gets; for what is off it, that makes no difference.
    let largest = spectrum.largest_factors(FACTORS - 1, least);
    let rows = largest.into_iter().map(|factors| {
        let mut row = UNRELATED;
        row[1..=factors.len()].copy_from_slice(&factors);
        let square = dot(&row[1..], &row[1..]);
        if square > 1.0 - least {
            let scale = ((1.0 - least) / square).sqrt();
            row[1..].iter_mut().for_each(|factor| *factor *= scale);
        }
        row
    });
    Some(rows.collect())
}

/// The evidence of all tasks.
#[derive(Debug, Clone, Default)]
pub(super) struct Evidence {
    tasks: Vec<OfTask>,
    /// N, if evidence fades.
    half_life: Option<f64>,
}

/// What the examples of a task say about all tasks' weights.
#[derive(Debug, Clone, Default)]
struct OfTask {
    /// Examples seen, and those taken as evidence.
    seen: u64,
    taken: u64,
    /// n_i: those taken, each as far as it has not faded.
    count: f64,
    /// E\[i, j\] by j; tasks not listed have 0.
    edges: Vec<f64>,
    /// Q\[i, j\].
    squares: Vec<f64>,
}

impl OfTask {
    fn edge(&self, task: usize) -> f64 {
        self.edges.get(task).copied().unwrap_or(0.0)
    }

    fn square(&self, task: usize) -> f64 {
        self.squares.get(task).copied().unwrap_or(0.0)
    }

    /// o_i, at least 0.
    fn own_edge(&self, task: usize) -> f64 {
        if self.taken == 0 { 0.0 } else { (self.edge(task) / self.count).max(0.0) }
    }

    /// Fades, by what the task has seen since the last example that was taken.
    fn fade(&mut self, half_life: f64) {
        // The first of the one in eight follows the last of those that are all taken.
        let since = if self.seen <= ALL_TAKEN + 1 { 1.0 } else { ONE_IN as f64 };
        let kept = (-since / half_life).exp2();
        self.count *= kept;
        wide(|| self.edges.iter_mut().chain(&mut self.squares).for_each(|sum| *sum *= kept));
    }
}

/// An estimate with its variance.
#[derive(Debug, Clone, Copy)]
struct Estimate {
    value: f64,
    variance: f64,
}

impl Evidence {
    pub(super) fn new(half_life: Option<f64>) -> Self {
        Self { tasks: Vec::new(), half_life }
    }

    pub(super) fn grow(&mut self, tasks: usize) {
        self.tasks.resize_with(tasks, OfTask::default);
    }

    /// Whether the task's next example is taken as evidence.
    pub(super) fn wants(&self, task: usize) -> bool {
        let seen = self.tasks.get(task).map_or(0, |of| of.seen);
        seen < ALL_TAKEN || seen.is_multiple_of(ONE_IN)
    }

    /// Counts an example, and takes it as evidence if it has met the weights of all tasks: `products` are V'x,
    /// `inverses` 1 / |v_j|.
    pub(super) fn note(
        &mut self,
        task: usize,
        label: f64,
        length: f64,
        products: Option<&[f64]>,
        inverses: &[f64],
    ) {
        let of = &mut self.tasks[task];
        of.seen += 1;
        let Some(products) = products else {
            return;
        };
        if let Some(half_life) = self.half_life {
            of.fade(half_life);
        }
        of.taken += 1;
        of.count += 1.0;
        of.edges.resize(products.len().max(of.edges.len()), 0.0);
        of.squares.resize(products.len().max(of.squares.len()), 0.0);
        let inverse = if length > 0.0 { 1.0 / length } else { 0.0 };
        wide(|| {
            let sums = of.edges.iter_mut().zip(&mut of.squares);
            for ((edge, total), (product, lengths)) in sums.zip(products.iter().zip(inverses)) {
                let cosine = (product * lengths * inverse).clamp(-1.0, 1.0);
                *edge += label * cosine;
                *total += cosine * cosine;
            }
        });
    }

    /// The factors of C; none where they cannot be found.
    pub(super) fn factors(&self) -> Option<Factors> {
        let tasks = self.tasks.len();
        let own: Vec<f64> = self.tasks.iter().enumerate().map(|(task, of)| of.own_edge(task)).collect();
        let estimates: Vec<Option<Estimate>> = (0..tasks)
            .flat_map(|i| (0..i).map(move |j| (i, j)))
            .map(|(i, j)| self.pair(i, j, &own))
            .collect();
        let (mean, spread) = moments(&estimates);
        let correlations = Symmetric::from_fn(tasks, |i, j| {
            if i == j {
                return 1.0;
            }
            let shrunk = estimates[i * (i - 1) / 2 + j].map_or(mean, |estimate| {
                (estimate.value * spread + mean * estimate.variance) / (spread + estimate.variance)
            });
            shrunk.clamp(-1.0, 1.0)
        });
        factorize(&correlations, LEAST_EIGENVALUE)
    }

    /// The correlation of two tasks by itself; none where nothing is known.
    fn pair(&self, i: usize, j: usize, own: &[f64]) -> Option<Estimate> {
        let (one, other) = (&self.tasks[i], &self.tasks[j]);
        let counts = (one.count, other.count);
        let weight = counts.0 * own[j] * own[j] + counts.1 * own[i] * own[i];
        let value = (own[j] * one.edge(j) + own[i] * other.edge(i)) / weight;
        let variance = (one.square(j) + other.square(i)) / (counts.0 + counts.1) / weight;
        (weight > 0.0 && value.is_finite() && variance.is_finite()).then_some(Estimate { value, variance })
    }

    pub(super) fn heap_bytes(&self) -> usize {
        let of_task = |of: &OfTask| {
            (of.edges.capacity() + of.squares.capacity()) * size_of::<f64>() + size_of::<OfTask>()
        };
        self.tasks.iter().map(of_task).sum()
    }

    pub(super) fn state(&self) -> EvidenceState {
        let tasks = self.tasks.len();
        let table = |entry: fn(&OfTask, usize) -> f64| {
            self.tasks.iter().flat_map(|row| (0..tasks).map(move |task| entry(row, task))).collect()
        };
        let counts = self.tasks.iter().map(|of| of.count);
        EvidenceState {
            seen: self.tasks.iter().map(|of| of.seen).collect(),
            taken: self.tasks.iter().map(|of| of.taken).collect(),
            counts: self.half_life.map(|_| counts.collect()),
            edges: table(OfTask::edge),
            squares: table(OfTask::square),
        }
    }

    pub(super) fn restore(
        tasks: usize,
        half_life: Option<f64>,
        state: &EvidenceState,
    ) -> Result<Self, StateError> {
        let EvidenceState { seen, taken, counts: faded, edges, squares } = state;
        let counts = [seen.len(), taken.len()].map(|length| length == tasks);
        let pairs = tasks.checked_mul(tasks);
        let tables = [edges.len(), squares.len()].map(|length| Some(length) == pairs);
        let fits = faded.as_ref().map(|faded| faded.len() == tasks) == half_life.map(|_| true);
        if counts.contains(&false) || tables.contains(&false) || !fits {
            return Err(StateError::new("the evidence does not fit the tasks"));
        }
        let faded = faded.as_deref().unwrap_or_default();
        check_finite(faded)?;
        let is_count = |(count, taken): (&f64, &u64)| (0.0..=*taken as f64).contains(count);
        if !faded.iter().zip(taken).all(is_count) {
            return Err(StateError::new("more evidence has been taken than there was"));
        }
        check_finite(edges)?;
        check_finite(squares)?;
        let of_task = |at: usize| OfTask {
            seen: seen[at],
            taken: taken[at],
            count: faded.get(at).copied().unwrap_or(taken[at] as f64),
            edges: edges[at * tasks..][..tasks].to_vec(),
            squares: squares[at * tasks..][..tasks].to_vec(),
        };
        Ok(Self { tasks: (0..tasks).map(of_task).collect(), half_life })
    }
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

/// [`Evidence`] as lists, row by row.
#[derive(Debug)]
pub(super) struct EvidenceState {
    pub(super) seen: Vec<u64>,
    pub(super) taken: Vec<u64>,
    pub(super) counts: Option<Vec<f64>>,
    pub(super) edges: Vec<f64>,
    pub(super) squares: Vec<f64>,
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

    /// What is kept is the sum of everything taken, halved with every half-life that the task has seen since.
    #[test]
    fn evidence_fades_by_half_lives() {
        let half_life = 20.0;
        let mut evidence = Evidence::new(Some(half_life));
        evidence.grow(2);
        let mut taken = Vec::new();
        for at in 0..400_u32 {
            let product = f64::from(at % 7) / 7.0 - 0.4;
            let wanted = evidence.wants(0);
            evidence.note(0, 1.0, 1.0, wanted.then_some(&[product, 0.0][..]), &[1.0, 1.0]);
            if wanted {
                taken.push((at, product));
            }
        }
        let (last, _) = *taken.last().unwrap();
        let kept = |at: u32| (-f64::from(last - at) / half_life).exp2();
        let sum =
            |of: fn(f64) -> f64| taken.iter().map(|(at, product)| kept(*at) * of(*product)).sum::<f64>();
        let of = &evidence.tasks[0];
        let found = [of.count, of.edge(0), of.square(0)];
        for (found, expected) in found.into_iter().zip([sum(|_| 1.0), sum(|x| x), sum(|x| x * x)]) {
            assert!((found - expected).abs() <= 1e-9 * expected.abs(), "{found} {expected}");
        }
    }

    #[test]
    fn factors_keep_groups_and_a_definite_matrix() {
        // Three groups of ten, the third the negative of the first, with noise that no eigenvalue is kept for.
        let sign = |task: usize| [1.0, 0.0, -1.0][task / 10];
        let group = |i: usize, j: usize| if i / 10 == j / 10 { 0.85 } else { 0.85 * sign(i) * sign(j) };
        let noise = |i: usize, j: usize| 0.04 * f64::from(((i * 7 + j * 7 + i * j) % 11) as u8) / 10.0;
        let truth = Symmetric::from_fn(30, |i, j| if i == j { 1.0 } else { group(i, j) - noise(i, j) });
        let factors = factorize(&truth, LEAST_EIGENVALUE).unwrap();
        let found = Symmetric::from_fn(30, |i, j| correlation(&factors, i, j));
        for i in 0..30 {
            for j in 0..i {
                let gap = (found.entry(i, j) - truth.entry(i, j)).abs();
                assert!(gap < 0.12, "{i} {j}: {} for {}", found.entry(i, j), truth.entry(i, j));
            }
        }
        let smallest = found.eigenvalues().into_iter().fold(f64::INFINITY, f64::min);
        assert!(smallest >= LEAST_EIGENVALUE - 1e-9, "{smallest}");
    }
}
