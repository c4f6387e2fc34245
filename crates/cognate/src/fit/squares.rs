//! Squares: the best weights of a task near to given ones, in the eigenvectors of its inputs.

use super::problem::{Observed, Point, Problem};
use super::splitting::{Disagreement, Losses};
use crate::linalg::{Dense, dot};

/// A task's losses are weight |R'w - c|^2 and a constant, where the columns of R are orthogonal.
struct Rotated {
    r: Dense,
    /// Squared lengths of the columns.
    squares: Vec<f64>,
    c: Vec<f64>,
    weight: f64,
}

impl Rotated {
    fn new(problem: &Problem, observed: &Observed) -> Option<Self> {
        let (size, count) = (problem.basis.size(), observed.inputs.len());
        let phi = |at: usize| problem.basis.phi.column(observed.inputs[at] as usize);
        let (mut mean, mut mean_y) = (vec![0.0; size], 0.0);
        if problem.intercept {
            let total = observed.count();
            for (at, (y, count)) in observed.y.iter().zip(&observed.counts).enumerate() {
                mean.iter_mut().zip(phi(at)).for_each(|(mean, x)| *mean += count * x / total);
                mean_y += count * y / total;
            }
        }
        let roots: Vec<f64> = observed.counts.iter().map(|count| count.sqrt()).collect();
        let p = Dense::from_fn(size, count, |row, at| roots[at] * (phi(at)[row] - mean[row]));
        let y = Dense::from_fn(count, 1, |at, _| roots[at] * (observed.y[at] - mean_y));
        let by_example = count <= size;
        let gram = if by_example { p.transposed_times(&p) } else { p.times_transposed(&p) };
        let (squares, vectors) = gram.eigen()?;
        let largest = squares.last().copied().unwrap_or(0.0);
        // What rounding left of a zero is a zero.
        let kept: Vec<usize> = (0..squares.len()).filter(|at| squares[*at] > 1e-13 * largest).collect();
        let directions = Dense::from_fn(vectors.rows(), kept.len(), |row, at| vectors.at(row, kept[at]));
        let squares: Vec<f64> = kept.iter().map(|at| squares[*at]).collect();
        let (r, c) = if by_example {
            (p.times(&directions), directions.transposed_times(&y))
        } else {
            let (mut r, mut c) = (directions.clone(), directions.transposed_times(&p.times(&y)));
            let roots: Vec<f64> = squares.iter().map(|square| square.sqrt()).collect();
            r.scale_columns(&roots);
            c.scale_rows(&roots.iter().map(|root| 1.0 / root).collect::<Vec<_>>());
            (r, c)
        };
        let c = if kept.is_empty() { Vec::new() } else { c.column(0).to_vec() };
        Some(Self { r, squares, c, weight: observed.weight })
    }

    /// argmin weight |R'w - c|^2 + rho/2 |w - near|^2.
    fn solve(&self, near: &[f64], rho: f64, out: &mut [f64]) {
        out.copy_from_slice(near);
        for (at, (square, c)) in self.squares.iter().zip(&self.c).enumerate() {
            let direction = self.r.column(at);
            let rest = (c - dot(direction, near)) / (square + 0.5 * rho / self.weight);
            out.iter_mut().zip(direction).for_each(|(w, r)| *w += rest * r);
        }
    }
}

/// The losses of all tasks, and the weights that suited them last.
pub(super) struct SquareLosses<'a> {
    problem: &'a Problem,
    tasks: Vec<Rotated>,
    kappa: f64,
    last: Point,
}

impl<'a> SquareLosses<'a> {
    pub(super) fn new(problem: &'a Problem, kappa: f64) -> Option<Self> {
        let tasks: Option<Vec<Rotated>> =
            problem.tasks.iter().map(|task| Rotated::new(problem, task)).collect();
        Some(Self { problem, tasks: tasks?, kappa, last: problem.origin() })
    }
}

impl Losses for SquareLosses<'_> {
    fn step(&mut self, near: &Dense, rho: f64) -> (Dense, Disagreement) {
        for (task, rotated) in self.tasks.iter().enumerate() {
            rotated.solve(near.column(task), rho * self.kappa, self.last.w.column_mut(task));
        }
        (self.last.w.clone(), Disagreement::default())
    }

    fn pulls(&self, _: f64) -> Vec<Vec<f64>> {
        let mut point = self.last.clone();
        self.best_intercepts(&mut point);
        self.problem.pulls(&point)
    }

    fn best_intercepts(&self, point: &mut Point) {
        self.problem.value(point);
    }

    fn change_unit(&mut self, _: f64) {}
}
