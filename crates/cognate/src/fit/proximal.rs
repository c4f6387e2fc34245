//! A proximal method on W alone: gradient steps on the losses, each followed by the proximal map of the penalty.
//!
//! Omega(W) = min_A … is a function of singular values for the spectral penalties, and of the norms of rows for `rows`,
//! so its proximal map acts on these numbers: sigma = x + step * 2 x (lambda/a(x) + ridge) is solved for x, where a(x) is
//! the eigenvalue of the best A. At delta = 0 and p = 1 that is the soft threshold of the trace norm. Steps are
//! accelerated (FISTA), never raise the objective (the best point is kept), and start again where they would.

use super::alternating::Search;
use super::penalty::{Cluster, Penalty};
use super::problem::{Observed, Point};
use super::structure::{BesideMean, Terms};
use super::{FitStatus, Loss, Stopped};
use crate::linalg::Dense;

/// Iterations from one look at the gap to the next.
const ITERATIONS_A_GAP: usize = 10;
/// Looks without a lower objective after which nothing more is expected.
const PATIENCE: u32 = 3;

impl Search<'_> {
    /// At most this many proximal steps.
    pub(crate) fn descend(&mut self, iterations: usize) -> FitStatus {
        let lipschitz = self.largest_square() * self.problem.loss.largest_curvature();
        if lipschitz <= 0.0 {
            return self.status(Stopped::Converged);
        }
        let terms = self.terms;
        let mut best = self.problem.value(&mut self.point) + self.omega(&self.point.w, &terms);
        let (mut ahead, mut before, mut t) = (self.point.clone(), self.point.clone(), 1.0_f64);
        let (mut still, mut at_last_look) = (0, f64::INFINITY);
        for iteration in 0..iterations {
            let (descent, sums) = self.problem.descent(&mut ahead);
            let mut next = ahead.clone();
            next.w.combine(&descent, |w, g| w + g / lipschitz);
            if self.problem.intercept && self.problem.loss != Loss::Squares {
                next.b.iter_mut().zip(&sums).for_each(|(b, sum)| *b += sum / lipschitz);
            }
            let Some((w, omega)) = self.proximal_map(&next.w, 1.0 / lipschitz, &terms) else {
                return self.status(Stopped::Stalled);
            };
            next.w = w;
            let value = self.problem.value(&mut next) + omega;
            let t_next = 0.5 * (1.0 + (1.0 + 4.0 * t * t).sqrt());
            if value <= best {
                let momentum = (t - 1.0) / t_next;
                before = std::mem::replace(&mut self.point, next);
                ahead = self.point.clone();
                extrapolate(&mut ahead, &before, momentum);
                (best, t) = (value, t_next);
            } else if t > 1.0 {
                // The momentum has carried too far.
                (ahead, t) = (self.point.clone(), 1.0);
            }
            self.objectives.push(best);
            if !(self.watch)(self.objectives.len(), best) {
                return self.status(Stopped::OutOfIterations);
            }
            if (iteration + 1) % ITERATIONS_A_GAP == 0 {
                let (objective, gap) = self.check();
                if self.is_close(objective, gap) {
                    return self.status(Stopped::Converged);
                }
                still = if at_last_look - best > 1e-14 * best.abs() { 0 } else { still + 1 };
                at_last_look = best;
                if still >= PATIENCE {
                    return self.status(Stopped::Stalled);
                }
            }
        }
        drop(before);
        let (objective, gap) = self.check();
        let closed = self.is_close(objective, gap);
        self.status(if closed { Stopped::Converged } else { Stopped::OutOfIterations })
    }

    /// The sum of the weights of all losses.
    pub(crate) fn weight(&self) -> f64 {
        self.problem.tasks.iter().map(|task| task.weight * task.count()).sum()
    }

    /// The largest eigenvalue of any task's weighted phi phi', with the constant of the intercept where that is a
    /// coordinate too.
    fn largest_square(&self) -> f64 {
        if let Some(shared) = &self.problem.shared {
            return shared.weight * shared.spectrum.first().copied().unwrap_or(0.0);
        }
        let constant = self.problem.intercept && self.problem.loss != Loss::Squares;
        let of_task = |task: &Observed| {
            let n = task.inputs.len();
            let size = self.problem.basis.size() + usize::from(constant);
            let phi = Dense::from_fn(size, n, |k, i| {
                let column = self.problem.basis.phi.column(task.inputs[i] as usize);
                task.counts[i].sqrt() * column.get(k).copied().unwrap_or(1.0)
            });
            let gram = if n < size { phi.transposed_times(&phi) } else { phi.times_transposed(&phi) };
            task.weight * gram.to_symmetric().eigenvalues().last().copied().unwrap_or(0.0)
        };
        self.problem.tasks.iter().map(of_task).fold(0.0, f64::max)
    }

    /// The proximal map of a step, and Omega there.
    pub(crate) fn proximal_map(&self, v: &Dense, step: f64, terms: &Terms) -> Option<(Dense, f64)> {
        let shrunk = match (self.penalty, &self.given) {
            (_, Some(given)) => Some(shrunk_along(v, given.vectors.as_ref(), &given.a, step, terms)),
            (Penalty::None, _) => Some(shrunk_along(v, None, &vec![1.0; v.columns()], step, terms)),
            (Penalty::Cluster(cluster), _) => {
                let beside = BesideMean::of(v)?;
                let lengths: Vec<f64> = beside.squares.iter().map(|square| square.sqrt()).collect();
                let shrunk = |a: f64| 1.0 / (1.0 + 2.0 * step / terms.energy(a));
                let a = shrinking_cluster(cluster, &lengths, step, terms);
                let factors: Vec<f64> = a.into_iter().map(shrunk).collect();
                Some(beside.scaled(&factors, shrunk(1.0 / cluster.mean)))
            }
            _ => None,
        };
        if let Some(w) = shrunk {
            let omega = self.omega(&w, terms);
            return Some((w, omega));
        }
        if matches!(self.penalty, Penalty::Rows) {
            let shrunk = |row: usize| {
                let norm = (0..v.columns()).map(|j| v.at(row, j).powi(2)).sum::<f64>().sqrt();
                let left = (norm - step * terms.lambda).max(0.0) / (1.0 + 2.0 * step * terms.ridge);
                if norm > 0.0 { left / norm } else { 0.0 }
            };
            let factors: Vec<f64> = (0..v.rows()).map(shrunk).collect();
            let mut w = v.clone();
            w.scale_rows(&factors);
            let omega = self.omega(&w, terms);
            return Some((w, omega));
        }
        let on_rows = v.rows() < v.columns();
        let gram = if on_rows { v.times_transposed(v) } else { v.transposed_times(v) };
        let (squares, vectors) = gram.eigen()?;
        let mut lengths: Vec<f64> = squares.iter().map(|square| square.max(0.0).sqrt()).collect();
        let size = lengths.len();
        lengths.resize(v.columns().max(size), 0.0);
        let x = shrunk_lengths(self.penalty, &lengths, step, terms);
        let factors: Vec<f64> =
            (0..size).map(|at| if lengths[at] > 0.0 { x[at] / lengths[at] } else { 0.0 }).collect();
        let barrier = terms.delta * terms.delta;
        let m: Vec<f64> = x[..v.columns()].iter().map(|x| x * x + barrier).collect();
        let a = self.penalty.step(&m, terms.lambda);
        let paid =
            m.iter().zip(&a).filter(|(m, _)| **m > 0.0).map(|(m, a)| terms.lambda * m / a).sum::<f64>();
        let squares: f64 = x.iter().map(|x| x * x).sum();
        let omega = paid + self.penalty.value(&a) + terms.ridge * squares;
        let mut scaled = vectors.clone();
        scaled.scale_columns(&factors);
        let w = if on_rows {
            scaled.times(&vectors.transposed_times(v))
        } else {
            v.times(&scaled).times_transposed(&vectors)
        };
        Some((w, omega))
    }
}

/// W of which the coordinates along given directions of tasks are shrunk: x + 2 step x (lambda/a + ridge) = v.
fn shrunk_along(v: &Dense, vectors: Option<&Dense>, a: &[f64], step: f64, terms: &Terms) -> Dense {
    // Where A is 0 nothing may be.
    let factor = |a: &f64| if *a > 0.0 { 1.0 / (1.0 + 2.0 * step / terms.energy(*a)) } else { 0.0 };
    let factors: Vec<f64> = a.iter().map(factor).collect();
    let mut w = vectors.map_or_else(|| v.clone(), |vectors| v.times(vectors));
    w.scale_columns(&factors);
    vectors.map_or_else(|| w.clone(), |vectors| w.times_transposed(vectors))
}

/// Eigenvalues of the best A beside the direction of equal tasks for what is left of lengths sigma after the step: at every
/// one of them, not at a limit, sigma^2 lambda / (a + 2 step (lambda + ridge a))^2 + lambda delta^2 / a^2 is the same
/// number, which is found so that they add up.
fn shrinking_cluster(cluster: &Cluster, lengths: &[f64], step: f64, terms: &Terms) -> Vec<f64> {
    let Terms { lambda, ridge, delta } = *terms;
    let (lowest, highest, total) = cluster.range(lengths.len() + 1);
    let gain = |sigma: f64, a: f64| {
        lambda * ((sigma / (a + 2.0 * step * (lambda + ridge * a))).powi(2) + (delta / a).powi(2))
    };
    let all = |price: f64| -> Vec<f64> {
        let best = |sigma: &f64| {
            if delta == 0.0 {
                let a = (sigma * (lambda / price).sqrt() - 2.0 * step * lambda) / (1.0 + 2.0 * step * ridge);
                return if *sigma > 0.0 { a.clamp(lowest, highest) } else { lowest };
            }
            lowest + bisected(highest - lowest, |over| price - gain(*sigma, lowest + over))
        };
        lengths.iter().map(best).collect()
    };
    let dearest = lengths.iter().map(|sigma| gain(*sigma, lowest)).fold(0.0, f64::max);
    let price = bisected(dearest, |price| total - all(price).iter().sum::<f64>());
    all(price)
}

fn extrapolate(point: &mut Point, before: &Point, momentum: f64) {
    point.w.combine(&before.w, |now, before| now + momentum * (now - before));
    point.b.iter_mut().zip(&before.b).for_each(|(now, before)| *now += momentum * (*now - before));
}

/// x of sigma = x + 2 step x (lambda/a(x) + ridge), one per length.
fn shrunk_lengths(penalty: &Penalty, lengths: &[f64], step: f64, terms: &Terms) -> Vec<f64> {
    let Terms { lambda, ridge, delta } = *terms;
    let stretch = 1.0 + 2.0 * step * ridge;
    // stretch x + pull x / sqrt(x^2 + delta^2) = sigma.
    let soft = |sigma: f64, pull: f64| {
        if delta == 0.0 {
            return (sigma - pull).max(0.0) / stretch;
        }
        bisected(sigma / stretch, |x| stretch * x + pull * x / (x * x + delta * delta).sqrt() - sigma)
    };
    match penalty {
        Penalty::Schatten { p: 1.0 } => {
            lengths.iter().map(|sigma| soft(*sigma, 2.0 * step * lambda.sqrt())).collect()
        }
        Penalty::TraceOne => {
            // Omega = lambda u^2 + ridge tr, u the sum of the roots: u is found so that it fits what it leads to.
            let sum = |u: f64| -> f64 {
                let root = |sigma: &f64| soft(*sigma, 2.0 * step * lambda * u).hypot(delta);
                lengths.iter().map(root).sum()
            };
            let u = bisected(sum(0.0), |u| u - sum(u));
            lengths.iter().map(|sigma| soft(*sigma, 2.0 * step * lambda * u)).collect()
        }
        _ => {
            let pull = |x: f64| {
                let a = penalty.separable(x * x + delta * delta, lambda).unwrap_or(1.0);
                if x > 0.0 { 2.0 * step * lambda * x / a } else { 0.0 }
            };
            let solve = |sigma: &f64| bisected(sigma / stretch, |x| stretch * x + pull(x) - sigma);
            lengths.iter().map(solve).collect()
        }
    }
}

/// Where an increasing function that is at most 0 at 0 and at least 0 at `most` is 0.
fn bisected(most: f64, function: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (0.0, most);
    for _ in 0..100 {
        let middle = f64::midpoint(low, high);
        if middle <= low || middle >= high {
            break;
        }
        *(if function(middle) < 0.0 { &mut low } else { &mut high }) = middle;
    }
    f64::midpoint(low, high)
}
