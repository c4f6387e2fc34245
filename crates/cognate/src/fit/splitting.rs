//! Losses and penalty taken apart and made to agree (the alternating direction method of multipliers; Boyd, Parikh, Chu,
//! Peleato, Eckstein 2011).
//!
//! The penalty has weights Z of its own, held to Z = W by multipliers. A round is the best W for the losses and near to Z,
//! which is one least-squares problem per task ([`Losses`]), and the proximal map of the penalty at Z: all exact, so that
//! neither inputs that hardly vary nor tasks that hang together slow it down. The objective is that of the best Z so far,
//! with the best intercepts for it; the losses' pulls give the lower bound.

use super::alternating::Search;
use super::hinge::HingeLosses;
use super::loss::Loss;
use super::problem::{Point, Problem};
use super::squares::SquareLosses;
use super::{FitStatus, Stopped};
use crate::linalg::{Dense, dot};

/// Rounds from one look at objective and gap to the next.
const ROUNDS_A_LOOK: usize = 10;
/// Each step goes this much farther than the losses' problem says, which needs fewer rounds.
pub(super) const OVER: f64 = 1.6;
/// Where one of the two disagreements is this many times the other, the weight of the agreement changes, by at most so
/// much.
const UNEVEN: f64 = 2.0;
const LARGEST_CHANGE: f64 = 10.0;

/// Looks without a lower objective or a higher bound after which nothing more is expected.
const PATIENCE: u32 = 30;

/// The losses' side of the agreement.
pub(super) trait Losses {
    /// The W best for the losses and near to these weights, where being near counts `rho`.
    fn step(&mut self, near: &Dense, rho: f64) -> (Dense, Disagreement);

    /// Minus slopes of the losses, one per example.
    fn pulls(&self, rho: f64) -> Vec<Vec<f64>>;

    /// The best intercepts for a point's weights.
    fn best_intercepts(&self, point: &mut Point);

    /// Whatever is kept in units of rho is to be in those of another one.
    fn change_unit(&mut self, factor: f64);
}

/// Squares: of the distance from W, of the way gone, of the parts, of the multipliers.
#[derive(Default)]
pub(super) struct Disagreement {
    pub(super) apart: f64,
    pub(super) moved: f64,
    pub(super) length: f64,
    pub(super) pull: f64,
}

impl Disagreement {
    /// By how much farther the parts are from W, by their length, than the multipliers from where they are going, by
    /// theirs.
    fn uneven(&self) -> Option<f64> {
        let Self { apart, moved, length, pull } = self;
        let uneven = (apart * pull).sqrt() / (moved * length).sqrt().max(f64::MIN_POSITIVE);
        (apart.is_finite() && moved.is_finite()).then_some(uneven)
    }
}

/// The penalty's weights, and their multipliers in units of the weight of the agreement.
struct Parts {
    z: Dense,
    multiplier: Dense,
}

impl Search<'_> {
    /// At most this many rounds, for losses that have a corner or are squares.
    pub(crate) fn split(&mut self, iterations: usize) -> FitStatus {
        let problem = self.problem;
        let kappa = mean_curvature(problem);
        let examples = problem.tasks.iter().map(|task| task.y.len() as f64).sum::<f64>();
        let rho = self.weight() / examples;
        let losses: Option<Box<dyn Losses>> = match problem.loss {
            Loss::Hinge => HingeLosses::new(problem, &self.point, kappa)
                .map(|losses| Box::new(losses) as Box<dyn Losses>),
            _ => SquareLosses::new(problem, kappa).map(|losses| Box::new(losses) as Box<dyn Losses>),
        };
        match losses {
            Some(mut losses) => self.agree(losses.as_mut(), rho, kappa, iterations),
            None => self.status(Stopped::Stalled),
        }
    }

    fn agree(&mut self, losses: &mut dyn Losses, rho: f64, kappa: f64, iterations: usize) -> FitStatus {
        let (problem, terms, mut rho) = (self.problem, self.terms, rho);
        let mut parts = Parts {
            multiplier: Dense::zeros(self.point.w.rows(), self.point.w.columns()),
            z: self.point.w.clone(),
        };
        losses.best_intercepts(&mut self.point);
        let mut best = problem.value(&mut self.point) + self.omega(&self.point.w, &terms);
        let (mut next_change, mut still) = (ROUNDS_A_LOOK, 0);
        for round in 1..=iterations {
            let Some(uneven) = self.round(&mut parts, losses, rho, kappa) else {
                return self.status(Stopped::Stalled);
            };
            if round % ROUNDS_A_LOOK == 0 || round == iterations {
                let mut point = Point { w: parts.z.clone(), b: vec![0.0; problem.tasks.len()] };
                losses.best_intercepts(&mut point);
                let value = problem.value(&mut point) + self.omega(&point.w, &terms);
                let (objective_before, bound_before) = (best, self.bound);
                if value < best {
                    (self.point, best) = (point, value);
                }
                self.raise_bound(losses.pulls(rho));
                let moved = best < objective_before || self.bound > bound_before;
                still = if moved { 0 } else { still + 1 };
                if self.is_close(best, best - self.bound) {
                    self.objectives.push(best);
                    return self.status(Stopped::Converged);
                }
                if still >= PATIENCE {
                    self.objectives.push(best);
                    return self.status(Stopped::Stalled);
                }
                // Ever more rarely: rounds end surely only while it stays.
                if round >= next_change && !(1.0 / UNEVEN..=UNEVEN).contains(&uneven) {
                    let factor = uneven.sqrt().clamp(1.0 / LARGEST_CHANGE, LARGEST_CHANGE);
                    rho *= factor;
                    scale(&mut parts.multiplier, 1.0 / factor);
                    losses.change_unit(1.0 / factor);
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

    /// One round, and how uneven the disagreements are.
    fn round(&self, parts: &mut Parts, losses: &mut dyn Losses, rho: f64, kappa: f64) -> Option<f64> {
        let mut near = parts.z.clone();
        near.combine(&parts.multiplier, |z, u| z - u);
        let (w, mut disagreement) = losses.step(&near, rho);
        let mut pulled = parts.z.clone();
        pulled.combine(&w, |z, w| OVER * w + (1.0 - OVER) * z);
        pulled.combine(&parts.multiplier, |w, u| w + u);
        let (next, _) = self.proximal_map(&pulled, 1.0 / (rho * kappa), &self.terms)?;
        let square = |one: &Dense, other: &Dense| {
            let mut difference = one.clone();
            difference.combine(other, |one, other| one - other);
            kappa * difference.inner(&difference)
        };
        disagreement.apart += square(&w, &next);
        disagreement.moved += square(&parts.z, &next);
        pulled.combine(&next, |pulled, next| pulled - next);
        (parts.z, parts.multiplier) = (next, pulled);
        disagreement.length += kappa * parts.z.inner(&parts.z);
        disagreement.pull += kappa * parts.multiplier.inner(&parts.multiplier);
        disagreement.uneven()
    }
}

fn scale(matrix: &mut Dense, factor: f64) {
    let columns = vec![factor; matrix.columns()];
    matrix.scale_columns(&columns);
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
