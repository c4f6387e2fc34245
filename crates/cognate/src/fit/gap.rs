//! How far from the minimum a W can be: the objective less a lower bound by duality.
//!
//! With Omega(W) = min_A lambda tr(A^-1 (W'W + delta^2 I)) + ridge tr(W'W) + F(A), which is convex in W, every theta gives
//!
//! ```text
//! min_W loss(W) + Omega(W) >= - loss*(-theta) - Omega*(Gamma),    Gamma = phi theta
//! Omega*(Gamma) = max_A tr(Gamma E Gamma')/4 - lambda delta^2 tr A^-1 - F(A),    E = (lambda A^-1 + ridge I)^-1
//! ```
//!
//! and the maximum is one over eigenvalues, aligned with those of Gamma'Gamma. At the minimum, theta = minus the slopes of
//! the losses closes the gap; elsewhere it is scaled down where Omega* would be infinite. Sums of eigenvalues that are
//! prescribed (`trace-one`, `cluster`) have a multiplier; any multiplier gives a bound, so the bound holds however well
//! it was found.

use super::penalty::Penalty;
use super::problem::{Point, Problem};
use super::structure::{BesideMean, Structure, Terms};
use crate::linalg::Dense;

/// A lower bound of the minimum from pulls, those of the point or others; minus infinity where there is none.
pub(crate) fn lower_bound(
    problem: &Problem,
    penalty: &Penalty,
    given: Option<&Structure>,
    terms: &Terms,
    point: &Point,
    pulls: &[Vec<f64>],
) -> f64 {
    let gamma = problem.gradient(point, pulls);
    let Some(conjugate) = Conjugate::new(&gamma, penalty, given, terms) else {
        return f64::NEG_INFINITY;
    };
    let scale = conjugate.largest_scale();
    let bound = problem.dual(point, pulls, scale) - conjugate.value(scale);
    if bound.is_nan() { f64::NEG_INFINITY } else { bound }
}

/// Omega* along a ray.
struct Conjugate<'a> {
    penalty: &'a Penalty,
    terms: &'a Terms,
    /// Squared lengths of Gamma along the directions of A; norms of its rows for `rows`.
    squares: Vec<f64>,
    /// What A is along them, where that does not depend on Gamma; for `cluster` that of the last.
    given: Vec<f64>,
}

impl<'a> Conjugate<'a> {
    fn new(gamma: &Dense, penalty: &'a Penalty, given: Option<&Structure>, terms: &'a Terms) -> Option<Self> {
        let tasks = gamma.columns();
        let new = |squares, given| Some(Self { penalty, terms, squares, given });
        let lengths = |matrix: &Dense| -> Vec<f64> {
            (0..matrix.columns()).map(|j| matrix.column(j).iter().map(|x| x * x).sum()).collect()
        };
        match (penalty, given) {
            (Penalty::None, _) => new(lengths(gamma), vec![1.0; tasks]),
            (_, Some(structure)) => {
                let rotated = structure.vectors.as_ref().map(|vectors| gamma.times(vectors));
                new(lengths(rotated.as_ref().unwrap_or(gamma)), structure.a.clone())
            }
            (Penalty::Rows, _) => {
                let square = |row: usize| (0..tasks).map(|j| gamma.at(row, j).powi(2)).sum();
                new((0..gamma.rows()).map(square).collect(), Vec::new())
            }
            (Penalty::Cluster(cluster), _) => {
                let beside = BesideMean::of(gamma)?;
                let mean = beside.mean_square();
                let mut squares = beside.squares;
                squares.push(mean);
                new(squares, vec![1.0 / cluster.mean])
            }
            _ => {
                let smaller = gamma.rows() < tasks;
                let gram =
                    if smaller { gamma.times_transposed(gamma) } else { gamma.transposed_times(gamma) };
                let mut values = gram.eigen()?.0;
                values.iter_mut().for_each(|value| *value = value.max(0.0));
                values.resize(tasks, 0.0);
                new(values, Vec::new())
            }
        }
    }

    /// How far along the ray Omega* is finite, at most 1.
    fn largest_scale(&self) -> f64 {
        let Terms { lambda, ridge, .. } = *self.terms;
        let largest = self.squares.iter().fold(0.0_f64, |largest, square| largest.max(*square)).sqrt();
        let limit = match self.penalty {
            _ if ridge > 0.0 => f64::INFINITY,
            Penalty::Schatten { p: 1.0 } => 2.0 * lambda.sqrt(),
            // Close to the limit it is finite and of no use.
            Penalty::LogDet { tau, .. } => 0.999 * 2.0 * (lambda * tau).sqrt(),
            Penalty::Rows => lambda,
            _ => f64::INFINITY,
        };
        if largest > limit { (1.0 - 1e-14) * limit / largest } else { 1.0 }
    }

    fn value(&self, scale: f64) -> f64 {
        let Terms { lambda, ridge, delta } = *self.terms;
        let curved: Vec<f64> = self.squares.iter().map(|square| 0.25 * scale * scale * square).collect();
        let fixed = |c: f64, a: f64| {
            let barrier = if delta > 0.0 { lambda * delta * delta / a } else { 0.0 };
            c * self.terms.energy(a) - barrier
        };
        match self.penalty {
            Penalty::None | Penalty::Fixed(_) => {
                curved.iter().zip(&self.given).map(|(c, a)| c * self.terms.energy(*a)).sum()
            }
            Penalty::Rows => {
                let over = |c: &f64| (2.0 * c.sqrt() - lambda).max(0.0);
                curved.iter().map(|c| if ridge > 0.0 { over(c).powi(2) / (4.0 * ridge) } else { 0.0 }).sum()
            }
            Penalty::TraceOne => self.with_total(&curved, 0.0, 1.0, 1.0),
            Penalty::Cluster(cluster) => {
                let (lowest, highest, total) = cluster.range(curved.len());
                let (mean, rest) = curved.split_last().expect("there is a task");
                fixed(*mean, self.given[0]) + self.with_total(rest, lowest, highest, total)
            }
            Penalty::Schatten { .. } | Penalty::LogDet { .. } => {
                curved.iter().map(|c| self.best(*c, 0.0, 0.0, f64::MAX).1).sum()
            }
        }
    }

    /// max over a in [lowest, highest] of c a/(lambda + ridge a) - lambda delta^2/a - F(a) - nu a, which is concave, with
    /// the a.
    fn best(&self, c: f64, nu: f64, lowest: f64, highest: f64) -> (f64, f64) {
        let Terms { lambda, ridge, delta } = *self.terms;
        let slope = |a: f64| {
            let barrier = if delta > 0.0 { lambda * delta * delta / (a * a) } else { 0.0 };
            c * lambda / (lambda + ridge * a).powi(2) + barrier - self.penalty.slope(a) - nu
        };
        let value = |a: f64| {
            let barrier = if delta > 0.0 { lambda * delta * delta / a } else { 0.0 };
            c * self.terms.energy(a) - barrier - self.penalty.value(&[a]) - nu * a
        };
        let (mut low, mut high) = (lowest.max(1e-140), highest.min(1e140));
        if slope(low) <= 0.0 {
            return (low, value(low));
        }
        if slope(high) >= 0.0 {
            return (high, value(high));
        }
        for _ in 0..120 {
            let middle = low.sqrt() * high.sqrt();
            *(if slope(middle) > 0.0 { &mut low } else { &mut high }) = middle;
        }
        (low, value(low).max(value(high)))
    }

    /// The same over all eigenvalues, which add up to `total`; from above.
    fn with_total(&self, curved: &[f64], lowest: f64, highest: f64, total: f64) -> f64 {
        if curved.is_empty() {
            return 0.0;
        }
        let at = |nu: f64| {
            let all = curved.iter().map(|c| self.best(*c, nu, lowest, highest));
            all.fold((0.0, nu * total), |(sum, value), (a, best)| (sum + a, value + best))
        };
        let largest = curved.iter().fold(0.0_f64, |largest, c| largest.max(*c));
        let mut high = (largest / self.terms.lambda).max(1e-12);
        while at(high).0 > total * (1.0 + 1e-9) && high < 1e100 {
            high *= 2.0;
        }
        let mut low = 0.0;
        if at(low).0 < total {
            (low, high) = (-high, 0.0);
            while at(low).0 < total && low > -1e100 {
                low *= 2.0;
            }
        }
        for _ in 0..60 {
            let middle = f64::midpoint(low, high);
            *(if at(middle).0 > total { &mut low } else { &mut high }) = middle;
        }
        at(low).1.min(at(high).1)
    }
}
