//! The hinge, which has a corner: its scores are variables of their own.
//!
//! f is held to f = phi'W + b by multipliers, which are slopes of the hinge, corner included. The best f is one number per
//! example, and the matrix of the least-squares problem for W and b never changes.

use super::problem::{Observed, Point, Problem};
use super::splitting::{Disagreement, Losses, OVER};
use crate::linalg::{Dense, dot};

/// The least-squares problem of a task.
struct Factored {
    /// Inputs, centred where there is an intercept.
    inputs: Dense,
    /// (P'P + kappa I)^-1 or (P P' + kappa I)^-1, the smaller.
    inverse: Dense,
    by_example: bool,
    kappa: f64,
}

impl Factored {
    fn new(problem: &Problem, observed: &Observed, kappa: f64) -> Option<Self> {
        let (size, count) = (problem.basis.size(), observed.inputs.len());
        let phi = |at: usize| problem.basis.phi.column(observed.inputs[at] as usize);
        let mut mean = vec![0.0; size];
        if problem.intercept {
            for at in 0..count {
                mean.iter_mut().zip(phi(at)).for_each(|(mean, x)| *mean += x / count as f64);
            }
        }
        let inputs = Dense::from_fn(size, count, |row, at| phi(at)[row] - mean[row]);
        let by_example = count <= size;
        let mut gram =
            if by_example { inputs.transposed_times(&inputs) } else { inputs.times_transposed(&inputs) };
        (0..gram.rows()).for_each(|at| gram.set(at, at, gram.at(at, at) + kappa));
        let identity = Dense::from_fn(gram.rows(), gram.rows(), |i, j| f64::from(u8::from(i == j)));
        let inverse = gram.solve_positive(&identity)?;
        Some(Self { inputs, inverse, by_example, kappa })
    }

    /// The w nearest to `near` and with scores nearest to `wanted`, and its scores before the intercept.
    fn solve(&self, near: &[f64], wanted: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let scores =
            |w: &[f64]| -> Vec<f64> { (0..wanted.len()).map(|at| dot(self.inputs.column(at), w)).collect() };
        let back = |numbers: &[f64], out: &mut [f64]| {
            for (at, number) in numbers.iter().enumerate() {
                out.iter_mut().zip(self.inputs.column(at)).for_each(|(out, x)| *out += number * x);
            }
        };
        let inverse = |right: &[f64]| -> Vec<f64> {
            (0..right.len()).map(|at| dot(self.inverse.column(at), right)).collect()
        };
        let w = if self.by_example {
            let mut w = near.to_vec();
            let rest: Vec<f64> =
                scores(near).iter().zip(wanted).map(|(score, wanted)| wanted - score).collect();
            back(&inverse(&rest), &mut w);
            w
        } else {
            let mut right: Vec<f64> = near.iter().map(|near| self.kappa * near).collect();
            back(wanted, &mut right);
            inverse(&right)
        };
        let found = scores(&w);
        (w, found)
    }
}

/// The scores of all examples and their multipliers.
pub(super) struct HingeLosses<'a> {
    problem: &'a Problem,
    factored: Vec<Factored>,
    f: Vec<Vec<f64>>,
    multiplier: Vec<Vec<f64>>,
}

impl<'a> HingeLosses<'a> {
    /// From the scores of a point; weights near to others count kappa times as much as scores.
    pub(super) fn new(problem: &'a Problem, point: &Point, kappa: f64) -> Option<Self> {
        let factored: Option<Vec<Factored>> =
            problem.tasks.iter().map(|task| Factored::new(problem, task, kappa)).collect();
        Some(Self {
            problem,
            factored: factored?,
            f: problem.scores(point),
            multiplier: problem.tasks.iter().map(|task| vec![0.0; task.y.len()]).collect(),
        })
    }
}

impl Losses for HingeLosses<'_> {
    fn step(&mut self, near: &Dense, rho: f64) -> (Dense, Disagreement) {
        let problem = self.problem;
        let mut sum = Disagreement::default();
        let mut w = Dense::zeros(near.rows(), near.columns());
        for (task, observed) in problem.tasks.iter().enumerate() {
            let (f, multiplier) = (&mut self.f[task], &mut self.multiplier[task]);
            let mut wanted: Vec<f64> = f.iter().zip(&*multiplier).map(|(f, u)| f - u).collect();
            let center =
                if problem.intercept { wanted.iter().sum::<f64>() / wanted.len().max(1) as f64 } else { 0.0 };
            wanted.iter_mut().for_each(|wanted| *wanted -= center);
            let (found, scores) = self.factored[task].solve(near.column(task), &wanted);
            w.column_mut(task).copy_from_slice(&found);
            for (at, y) in observed.y.iter().enumerate() {
                let score = scores[at] + center;
                let pulled = OVER * score + (1.0 - OVER) * f[at] + multiplier[at];
                let next = nearest_on_hinge(*y, pulled, observed.weight_of(at) / rho);
                sum.apart += (score - next).powi(2);
                sum.moved += (next - f[at]).powi(2);
                (f[at], multiplier[at]) = (next, pulled - next);
                sum.length += next * next;
                sum.pull += multiplier[at] * multiplier[at];
            }
        }
        (w, sum)
    }

    fn pulls(&self, rho: f64) -> Vec<Vec<f64>> {
        self.multiplier.iter().map(|multipliers| multipliers.iter().map(|u| -rho * u).collect()).collect()
    }

    fn best_intercepts(&self, point: &mut Point) {
        best_intercepts(self.problem, point);
    }

    fn change_unit(&mut self, factor: f64) {
        self.multiplier.iter_mut().flatten().for_each(|u| *u *= factor);
    }
}

/// The score next to `pulled` that the hinge, times `step`, draws to itself.
fn nearest_on_hinge(y: f64, pulled: f64, step: f64) -> f64 {
    let margin = y * pulled;
    y * if margin >= 1.0 { margin } else { (margin + step).min(1.0) }
}

/// Intercepts that make the hinge of each task smallest: between corners it is straight, so one of them is at a corner.
fn best_intercepts(problem: &Problem, point: &mut Point) {
    if !problem.intercept {
        return;
    }
    point.b.fill(0.0);
    for (task, scores) in problem.scores(point).iter().enumerate() {
        let Observed { y, counts, .. } = &problem.tasks[task];
        let corner = |((y, score), count): ((&f64, &f64), &f64)| (y - score, *count);
        let mut corners: Vec<(f64, f64)> = y.iter().zip(scores).zip(counts).map(corner).collect();
        corners.sort_unstable_by(|one, other| one.0.total_cmp(&other.0));
        // To the left of all corners every positive pulls; each corner passed lets one go, or makes a negative pull back.
        let mut pull: f64 = y.iter().zip(counts).filter(|(y, _)| **y > 0.0).map(|(_, count)| count).sum();
        let last = corners.len().saturating_sub(1);
        let lets_go = |(_, count): &(f64, f64)| {
            pull -= count;
            pull <= 0.0
        };
        let at = corners.iter().position(lets_go).unwrap_or(last);
        point.b[task] = corners.get(at).map_or(0.0, |(corner, _)| *corner);
    }
}
