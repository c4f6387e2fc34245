//! The hinge, which has a corner: losses and penalty are taken apart and made to agree (the alternating direction method
//! of multipliers; Boyd, Parikh, Chu, Peleato, Eckstein 2011).
//!
//! Scores f and weights Z are variables of their own, held to f = phi'W + b and Z = W by multipliers. A round is one
//! least-squares problem a task for W and b, whose matrix never changes, and the proximal maps of the hinge at every f and
//! of the penalty at Z, all exact. The multipliers of f are slopes of the hinge, corner included, so they give the lower
//! bound; the objective is that of the best Z so far, with the best intercepts for it.

use super::alternating::Search;
use super::problem::{Observed, Point, Problem};
use super::{FitStatus, Stopped};
use crate::linalg::{Dense, dot};

/// Rounds from one look at objective and gap to the next.
const ROUNDS_A_LOOK: usize = 10;
/// Each step goes this much farther than the least-squares problem says, which needs fewer rounds.
const OVER: f64 = 1.6;
/// Where one of the two disagreements is this many times the other, the weight of the agreement changes, by at most so
/// much.
const UNEVEN: f64 = 2.0;
const LARGEST_CHANGE: f64 = 10.0;

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

/// The two parts and their multipliers, which are in units of the weight of the agreement.
struct Parts {
    z: Dense,
    z_multiplier: Dense,
    f: Vec<Vec<f64>>,
    f_multiplier: Vec<Vec<f64>>,
}

impl Search<'_> {
    /// So many rounds at most.
    pub(crate) fn split(&mut self, iterations: usize) -> FitStatus {
        let (problem, terms) = (self.problem, self.terms);
        let kappa = mean_curvature(problem);
        let factored: Option<Vec<Factored>> =
            problem.tasks.iter().map(|task| Factored::new(problem, task, kappa)).collect();
        let Some(factored) = factored else {
            return self.status(Stopped::Stalled);
        };
        let mut rho = self.weight() / problem.tasks.iter().map(|task| task.y.len() as f64).sum::<f64>();
        let mut parts = Parts {
            z_multiplier: Dense::zeros(self.point.w.rows(), self.point.w.columns()),
            z: self.point.w.clone(),
            f: problem.scores(&self.point),
            f_multiplier: problem.tasks.iter().map(|task| vec![0.0; task.y.len()]).collect(),
        };
        best_intercepts(problem, &mut self.point);
        let mut best = problem.value(&mut self.point) + self.omega(&self.point.w, &terms);
        let mut next_change = ROUNDS_A_LOOK;
        for round in 1..=iterations {
            let Some(uneven) = self.round(&mut parts, &factored, rho, kappa) else {
                return self.status(Stopped::Stalled);
            };
            if round % ROUNDS_A_LOOK == 0 || round == iterations {
                let mut point = Point { w: parts.z.clone(), b: vec![0.0; problem.tasks.len()] };
                best_intercepts(problem, &mut point);
                let value = problem.value(&mut point) + self.omega(&point.w, &terms);
                if value < best {
                    (self.point, best) = (point, value);
                }
                let pulls = |multipliers: &Vec<f64>| multipliers.iter().map(|u| -rho * u).collect();
                self.raise_bound(parts.f_multiplier.iter().map(pulls).collect());
                if self.is_close(best, best - self.bound) {
                    self.objectives.push(best);
                    return self.status(Stopped::Converged);
                }
                // Ever more rarely: rounds end surely only while it stays.
                if round >= next_change && !(1.0 / UNEVEN..=UNEVEN).contains(&uneven) {
                    let factor = uneven.sqrt().clamp(1.0 / LARGEST_CHANGE, LARGEST_CHANGE);
                    rho *= factor;
                    parts.scale_multipliers(1.0 / factor);
                    next_change = round + round / 4;
                }
            }
            self.objectives.push(best);
            if !(self.watch)(self.objectives.len(), best) {
                break;
            }
        }
        self.status(Stopped::OutOfIterations)
    }

    /// One round; by how much farther the parts are from W, by their length, than the multipliers from where they are
    /// going, by theirs.
    fn round(&self, parts: &mut Parts, factored: &[Factored], rho: f64, kappa: f64) -> Option<f64> {
        let problem = self.problem;
        // Squares: of the distance from W, of the way gone, of the parts, of the multipliers.
        let (mut apart, mut moved, mut length, mut pull) = (0.0, 0.0, 0.0, 0.0);
        let mut w = Dense::zeros(parts.z.rows(), parts.z.columns());
        for (task, observed) in problem.tasks.iter().enumerate() {
            let (f, multiplier) = (&mut parts.f[task], &mut parts.f_multiplier[task]);
            let near: Vec<f64> = parts
                .z
                .column(task)
                .iter()
                .zip(parts.z_multiplier.column(task))
                .map(|(z, u)| z - u)
                .collect();
            let mut wanted: Vec<f64> = f.iter().zip(&*multiplier).map(|(f, u)| f - u).collect();
            let center =
                if problem.intercept { wanted.iter().sum::<f64>() / wanted.len().max(1) as f64 } else { 0.0 };
            wanted.iter_mut().for_each(|wanted| *wanted -= center);
            let (found, scores) = factored[task].solve(&near, &wanted);
            w.column_mut(task).copy_from_slice(&found);
            for (at, y) in observed.y.iter().enumerate() {
                let score = scores[at] + center;
                let pulled = OVER * score + (1.0 - OVER) * f[at] + multiplier[at];
                let next = nearest_on_hinge(*y, pulled, observed.weight / rho);
                apart += (score - next).powi(2);
                moved += (next - f[at]).powi(2);
                (f[at], multiplier[at]) = (next, pulled - next);
                length += next * next;
                pull += multiplier[at] * multiplier[at];
            }
        }
        let mut pulled = parts.z.clone();
        pulled.combine(&w, |z, w| OVER * w + (1.0 - OVER) * z);
        pulled.combine(&parts.z_multiplier, |w, u| w + u);
        let (next, _) = self.proximal_map(&pulled, 1.0 / (rho * kappa), &self.terms)?;
        let square = |one: &Dense, other: &Dense| {
            let mut difference = one.clone();
            difference.combine(other, |one, other| one - other);
            kappa * difference.inner(&difference)
        };
        apart += square(&w, &next);
        moved += square(&parts.z, &next);
        pulled.combine(&next, |pulled, next| pulled - next);
        (parts.z, parts.z_multiplier) = (next, pulled);
        length += kappa * parts.z.inner(&parts.z);
        pull += kappa * parts.z_multiplier.inner(&parts.z_multiplier);
        let uneven = (apart * pull).sqrt() / (moved * length).sqrt().max(f64::MIN_POSITIVE);
        (apart.is_finite() && moved.is_finite()).then_some(uneven)
    }
}

impl Parts {
    fn scale_multipliers(&mut self, factor: f64) {
        self.f_multiplier.iter_mut().flatten().for_each(|u| *u *= factor);
        let columns = vec![factor; self.z_multiplier.columns()];
        self.z_multiplier.scale_columns(&columns);
    }
}

/// The score next to `pulled` that the hinge, times `step`, draws to itself.
fn nearest_on_hinge(y: f64, pulled: f64, step: f64) -> f64 {
    let margin = y * pulled;
    y * if margin >= 1.0 { margin } else { (margin + step).min(1.0) }
}

/// How much a task's inputs curve along a coordinate, in the mean; 1 where there are none.
fn mean_curvature(problem: &Problem) -> f64 {
    let square = |input: &u32| {
        let phi = problem.basis.phi.column(*input as usize);
        dot(phi, phi)
    };
    let total: f64 = problem.tasks.iter().flat_map(|task| &task.inputs).map(square).sum();
    let mean = total / (problem.tasks.len() * problem.basis.size()).max(1) as f64;
    if mean > 0.0 { mean } else { 1.0 }
}

/// Intercepts that make the hinge of each task smallest: between corners it is straight, so one of them is at a corner.
fn best_intercepts(problem: &Problem, point: &mut Point) {
    if !problem.intercept {
        return;
    }
    point.b.fill(0.0);
    for (task, scores) in problem.scores(point).iter().enumerate() {
        let y = &problem.tasks[task].y;
        let mut corners: Vec<f64> = y.iter().zip(scores).map(|(y, score)| y - score).collect();
        corners.sort_unstable_by(f64::total_cmp);
        // To the left of all corners every positive pulls; each corner passed lets one go, or makes a negative pull back.
        let positives = y.iter().filter(|y| **y > 0.0).count();
        let at = positives.saturating_sub(1).min(corners.len().saturating_sub(1));
        point.b[task] = corners.get(at).copied().unwrap_or(0.0);
    }
}
