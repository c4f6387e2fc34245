//! The best W for a given structure: the supervised step of CS15.
//!
//! Every loss is replaced by a parabola, h (z - f)^2, which squares are and others are touched by. Three
//! ways to the minimum of the sum of parabolas + tr(W E^-1 W'):
//!
//! - inputs that all tasks share, with all outputs, squares: one division per entry, in the eigenvectors of both sides
//!   (Sylvester's equation of CS15 section 3.2.1);
//! - structure on the side of the coordinates: every task on its own, by Cholesky on the smaller of its two sides;
//! - else conjugate gradients, preconditioned by what they would be if all tasks had the same inputs.
//!
//! Intercepts are eliminated: everything is centred at the task's mean under h.

use super::problem::{Point, Problem};
use super::structure::{Structure, Terms};
use crate::linalg::{Dense, dot};

/// Parabolas h (z - f)^2, one per example, task by task.
pub(crate) struct Parabolas {
    h: Vec<Vec<f64>>,
    /// h z.
    hz: Vec<Vec<f64>>,
}

impl Parabolas {
    /// Those that touch the losses at a point.
    pub(crate) fn at(problem: &Problem, point: &Point) -> Self {
        let (mut h, mut hz) = (Vec::new(), Vec::new());
        for (task, observed) in problem.tasks.iter().enumerate() {
            let (w, b) = (point.w.column(task), point.b[task]);
            let (mut h_task, mut hz_task) = (Vec::new(), Vec::new());
            for (at, (input, y)) in observed.inputs.iter().zip(&observed.y).enumerate() {
                let f = b + dot(problem.basis.phi.column(*input as usize), w);
                let weight = observed.weight_of(at);
                let curvature = 0.5 * weight * problem.loss.curvature(*y, f);
                h_task.push(curvature);
                // What is fixed is none of the parabola's variables.
                hz_task.push(
                    curvature * (f - observed.fixed.unwrap_or(0.0))
                        - 0.5 * weight * problem.loss.slope(*y, f),
                );
            }
            h.push(h_task);
            hz.push(hz_task);
        }
        Self { h, hz }
    }

    /// The best intercepts for W.
    pub(crate) fn intercepts(&self, problem: &Problem, w: &Dense, before: &[f64]) -> Vec<f64> {
        if !problem.intercept {
            return vec![0.0; w.columns()];
        }
        let of_task = |task: usize| {
            if !problem.frees(task) {
                return before[task];
            }
            let inputs = &problem.tasks[task].inputs;
            let (mut sum, mut weight) = (0.0, 0.0);
            for (input, (h, hz)) in inputs.iter().zip(self.h[task].iter().zip(&self.hz[task])) {
                sum += hz - h * dot(problem.basis.phi.column(*input as usize), w.column(task));
                weight += h;
            }
            if weight > 0.0 { sum / weight } else { before[task] }
        };
        (0..w.columns()).map(of_task).collect()
    }
}

/// Shared inputs with all outputs: W = argmin by one division per entry.
pub(crate) fn together_exactly(problem: &Problem, structure: &Structure, terms: &Terms) -> Option<Dense> {
    let shared = problem.shared.as_ref()?;
    let mut rotated = match &structure.vectors {
        Some(vectors) => shared.right.times(vectors),
        None => shared.right.clone(),
    };
    for (task, a) in structure.a.iter().enumerate() {
        let energy = terms.energy(*a);
        let column = rotated.column_mut(task).iter_mut();
        column.zip(&shared.spectrum).for_each(|(entry, s)| {
            *entry *= shared.weight * energy / (1.0 + shared.weight * energy * s);
        });
    }
    Some(
        structure
            .vectors
            .as_ref()
            .map_or_else(|| rotated.clone(), |vectors| rotated.times_transposed(vectors)),
    )
}

/// A task's inputs, centred and weighted: the sum of its parabolas is |P'w - c|^2 and a constant.
pub(crate) struct Apart {
    p: Vec<Dense>,
    c: Vec<Dense>,
}

impl Apart {
    pub(crate) fn new(problem: &Problem, parabolas: &Parabolas) -> Self {
        let size = problem.basis.size();
        let (mut p, mut c) = (Vec::new(), Vec::new());
        for (task, observed) in problem.tasks.iter().enumerate() {
            let (h, hz) = (&parabolas.h[task], &parabolas.hz[task]);
            let total: f64 = h.iter().sum();
            let mut mean = vec![0.0; size];
            let mut mean_z = 0.0;
            if problem.frees(task) && total > 0.0 {
                for (input, h) in observed.inputs.iter().zip(h) {
                    let phi = problem.basis.phi.column(*input as usize);
                    mean.iter_mut().zip(phi).for_each(|(mean, phi)| *mean += h / total * phi);
                }
                mean_z = hz.iter().sum::<f64>() / total;
            }
            let mut inputs = Dense::zeros(size, h.len());
            let mut targets = Dense::zeros(h.len(), 1);
            for (at, input) in observed.inputs.iter().enumerate() {
                let root = h[at].sqrt();
                let phi = problem.basis.phi.column(*input as usize);
                let entries = inputs.column_mut(at).iter_mut().zip(phi.iter().zip(&mean));
                entries.for_each(|(entry, (phi, mean))| *entry = root * (phi - mean));
                targets.set(at, 0, hz[at] / root - root * mean_z);
            }
            p.push(inputs);
            c.push(targets);
        }
        Self { p, c }
    }

    /// The best W for a structure on the coordinates, from E^(1/2).
    pub(crate) fn solve(&self, root: impl Fn(&Dense) -> Dense) -> Option<Dense> {
        let size = self.p.first().map_or(0, Dense::rows);
        let mut out = Dense::zeros(size, self.p.len());
        for (task, (p, c)) in self.p.iter().zip(&self.c).enumerate() {
            let q = root(p);
            // (I + Q Q')^-1 Q c = Q (I + Q'Q)^-1 c: whichever is smaller.
            let z = if p.columns() < size {
                let mut inner = q.transposed_times(&q);
                add_identity(&mut inner);
                q.times(&inner.solve_positive(c)?)
            } else {
                let mut inner = q.times_transposed(&q);
                add_identity(&mut inner);
                inner.solve_positive(&q.times(c))?
            };
            out.column_mut(task).copy_from_slice(root(&z).column(0));
        }
        Some(out)
    }
}

fn add_identity(matrix: &mut Dense) {
    (0..matrix.rows()).for_each(|at| matrix.set(at, at, matrix.at(at, at) + 1.0));
}

/// Steps of conjugate gradients at most.
const MOST_STEPS: usize = 200;
/// How much of the residual may be left: the structure moves anyway.
const LEFT: f64 = 1e-4;

/// The best W for a structure on the tasks, by preconditioned conjugate gradients from `start`.
///
/// The unknown is Z in W = Z E^(1/2), with columns along the eigenvectors of A.
pub(crate) fn together(
    problem: &Problem,
    parabolas: &Parabolas,
    structure: &Structure,
    terms: &Terms,
    start: &Dense,
) -> Dense {
    let tasks = problem.tasks.len();
    let roots: Vec<f64> = structure.a.iter().map(|a| terms.energy(*a).sqrt()).collect();
    let to_w = |z: &Dense| {
        let mut scaled = z.clone();
        scaled.scale_columns(&roots);
        structure.vectors.as_ref().map_or_else(|| scaled.clone(), |vectors| scaled.times_transposed(vectors))
    };
    let to_z = |g: &Dense| {
        let mut rotated = structure.vectors.as_ref().map_or_else(|| g.clone(), |vectors| g.times(vectors));
        rotated.scale_columns(&roots);
        rotated
    };
    let (right, spectrum) = right_and_spectrum(problem, parabolas);
    let inverse_roots: Vec<f64> =
        roots.iter().map(|root| if *root > 0.0 { 1.0 / root } else { 0.0 }).collect();
    let mut z = structure.vectors.as_ref().map_or_else(|| start.clone(), |vectors| start.times(vectors));
    z.scale_columns(&inverse_roots);
    let weights = Dense::from_fn(z.rows(), tasks, |k, j| 1.0 / (1.0 + roots[j] * roots[j] * spectrum[k]));
    let apply = |z: &Dense| {
        let mut out = to_z(&curve(problem, parabolas, &to_w(z)));
        out.combine(z, |g, z| g + z);
        out
    };
    let mut residual = to_z(&right);
    let preconditioned = |residual: &Dense| {
        let mut out = residual.clone();
        out.combine(&weights, |r, weight| r * weight);
        out
    };
    let scale = residual.inner(&preconditioned(&residual));
    residual.combine(&apply(&z), |r, a| r - a);
    let mut direction = preconditioned(&residual);
    let mut size = residual.inner(&direction);
    // Down to a share of what it was at the start, but not below what rounding lets it be.
    let goal = (LEFT * LEFT * size).max(1e-30 * scale);
    for _ in 0..MOST_STEPS {
        if size <= goal || size <= 0.0 {
            break;
        }
        let applied = apply(&direction);
        let step = size / direction.inner(&applied);
        z.combine(&direction, |z, d| z + step * d);
        residual.combine(&applied, |r, a| r - step * a);
        let next = preconditioned(&residual);
        let grown = residual.inner(&next);
        let ratio = grown / size;
        direction.combine(&next, |d, n| n + ratio * d);
        size = grown;
    }
    to_w(&z)
}

/// phi h z of every task, centred; and the mean over tasks of the diagonal of phi h phi'.
fn right_and_spectrum(problem: &Problem, parabolas: &Parabolas) -> (Dense, Vec<f64>) {
    let (size, tasks) = (problem.basis.size(), problem.tasks.len());
    let (mut right, mut spectrum) = (Dense::zeros(size, tasks), vec![0.0; size]);
    for (task, observed) in problem.tasks.iter().enumerate() {
        let (h, hz) = (&parabolas.h[task], &parabolas.hz[task]);
        let total: f64 = h.iter().sum();
        let mean = if problem.frees(task) && total > 0.0 { hz.iter().sum::<f64>() / total } else { 0.0 };
        let column = right.column_mut(task);
        for (at, input) in observed.inputs.iter().enumerate() {
            let phi = problem.basis.phi.column(*input as usize);
            let share = hz[at] - h[at] * mean;
            for ((sum, square), phi) in column.iter_mut().zip(&mut spectrum).zip(phi) {
                *sum += share * phi;
                *square += h[at] * phi * phi / tasks as f64;
            }
        }
    }
    (right, spectrum)
}

/// phi h phi'w of every task, centred.
fn curve(problem: &Problem, parabolas: &Parabolas, w: &Dense) -> Dense {
    let mut out = Dense::zeros(w.rows(), w.columns());
    let mut fits = Vec::new();
    for (task, observed) in problem.tasks.iter().enumerate() {
        let (h, column) = (&parabolas.h[task], w.column(task));
        let phi = |input: &u32| problem.basis.phi.column(*input as usize);
        fits.clear();
        fits.extend(observed.inputs.iter().map(|input| dot(phi(input), column)));
        let total: f64 = h.iter().sum();
        let mean = if problem.frees(task) && total > 0.0 { dot(h, &fits) / total } else { 0.0 };
        let sums = out.column_mut(task);
        for (at, input) in observed.inputs.iter().enumerate() {
            let share = h[at] * (fits[at] - mean);
            if share != 0.0 {
                sums.iter_mut().zip(phi(input)).for_each(|(sum, phi)| *sum += share * phi);
            }
        }
    }
    out
}
