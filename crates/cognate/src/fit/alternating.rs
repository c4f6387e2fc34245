//! Alternating minimisation (CS15 Algorithm 1): the best W for A, the best A for W, and again.
//!
//! The objective after a step on W is taken with the best A for it, so what is followed is one function of W alone,
//! loss(W) + Omega(W), and every step lowers a bound of it that touches it where the step begins. A step that does not
//! lower the function itself (others than squares are only touched by parabolas) is halved until it does.
//!
//! Near singular A the steps become tiny and fool a test on the objective alone. So the barrier delta starts at the
//! scale of W and falls to the one that was asked for, or goes on falling where that is 0; and the end is told by the
//! gap.

use super::gap::lower_bound;
use super::penalty::Penalty;
use super::problem::{Point, Problem};
use super::structure::{BesideMean, Side, Structure, Terms};
use super::supervised::{Apart, Parabolas, together, together_exactly};
use super::{FitStatus, Loss, Stopped};
use crate::linalg::Dense;

/// A minimum that is looked for, and how far the search has come.
pub(crate) struct Search<'a> {
    pub(crate) problem: &'a Problem,
    pub(crate) penalty: &'a Penalty,
    pub(crate) given: Option<Structure>,
    pub(crate) terms: Terms,
    /// Relative gap at which to stop.
    pub(crate) tolerance: f64,
    pub(crate) point: Point,
    /// The objective after every iteration, with the barrier that it was taken with.
    pub(crate) objectives: Vec<f64>,
    /// The best lower bound so far.
    pub(crate) bound: f64,
    /// The barrier that is worked with.
    pub(crate) delta: f64,
    /// Told after every iteration; may end the search.
    pub(crate) watch: &'a dyn Fn(usize, f64) -> bool,
}

/// How much the barrier falls at a time.
const FALL: f64 = 0.4;
/// It falls once what it costs is more than this share of the gap.
const FOLLOWS: f64 = 0.2;
/// Iterations without progress after which nothing more is expected.
const PATIENCE: u32 = 6;
/// The gap costs about as much as an iteration.
const ITERATIONS_A_GAP: usize = 3;

impl Search<'_> {
    /// Which side of W the structure is put on: where it makes tasks come apart, if that is the smaller one.
    fn side(&self) -> Side {
        let (size, tasks) = (self.problem.basis.size(), self.problem.tasks.len());
        let apart = match self.penalty {
            Penalty::None => true,
            penalty => penalty.is_spectral() && size <= tasks,
        };
        if apart && self.problem.shared.is_none() { Side::Coordinates } else { Side::Tasks }
    }

    /// The objective that was asked for, at the present point.
    pub(crate) fn objective(&mut self) -> f64 {
        let mut point = self.point.clone();
        let value = self.total(&mut point, &self.terms.clone());
        self.point = point;
        value
    }

    /// Loss and penalty of a point; infinite where the penalty cannot be found.
    fn total(&self, point: &mut Point, terms: &Terms) -> f64 {
        self.problem.value(point) + self.omega(&point.w, terms)
    }

    /// The penalty of W under the best A.
    pub(crate) fn omega(&self, w: &Dense, terms: &Terms) -> f64 {
        if matches!(self.penalty, Penalty::Rows) {
            let norm = |row: usize| (0..w.columns()).map(|j| w.at(row, j).powi(2)).sum::<f64>().sqrt();
            return terms.lambda * (0..w.rows()).map(norm).sum::<f64>() + terms.ridge * w.inner(w);
        }
        if let Penalty::Cluster(cluster) = self.penalty {
            return BesideMean::of(w).map_or(f64::INFINITY, |beside| beside.penalty(cluster, terms));
        }
        let smaller = self.penalty.is_spectral() && w.rows() < w.columns();
        let side = if smaller { Side::Coordinates } else { Side::Tasks };
        let found = Structure::of(w, self.penalty, self.given.as_ref(), terms, side);
        found.map_or(f64::INFINITY, |structure| structure.value)
    }

    /// Status at the present point, for the objective that was asked for.
    pub(crate) fn check(&mut self) -> (f64, f64) {
        let objective = self.objective();
        let pulls = self.problem.pulls(&self.point);
        self.raise_bound(pulls);
        (objective, (objective - self.bound).max(0.0))
    }

    /// The bound that pulls give, where it is a better one.
    pub(crate) fn raise_bound(&mut self, mut pulls: Vec<Vec<f64>>) {
        self.problem.balance(&mut pulls);
        let given = self.given.as_ref();
        let bound = lower_bound(self.problem, self.penalty, given, &self.terms, &self.point, &pulls);
        self.bound = self.bound.max(bound);
    }

    pub(crate) fn is_close(&self, objective: f64, gap: f64) -> bool {
        gap <= self.tolerance * objective.abs().max(f64::MIN_POSITIVE)
    }

    /// Alternates for at most this many iterations, until the gap is closed or nothing moves any more.
    pub(crate) fn alternate(&mut self, iterations: usize) -> FitStatus {
        let side = self.side();
        self.first_point(side);
        let squares = (self.problem.loss == Loss::Squares && side == Side::Coordinates)
            .then(|| Apart::new(self.problem, &Parabolas::at(self.problem, &self.point)));
        let smooth = self.penalty.reaches_zero();
        let scale = (self.point.w.inner(&self.point.w) / self.problem.tasks.len() as f64).sqrt();
        if smooth {
            self.delta = self.terms.delta.max(if self.delta > 0.0 { self.delta } else { 0.3 * scale });
        } else {
            self.delta = self.terms.delta;
        }
        let (mut still, mut objective, mut last) = (0, f64::NAN, f64::INFINITY);
        for iteration in 0..iterations {
            let terms = Terms { delta: self.delta, ..self.terms };
            let Some(structure) =
                Structure::of(&self.point.w, self.penalty, self.given.as_ref(), &terms, side)
            else {
                return self.status(Stopped::Stalled);
            };
            let mut before = self.point.clone();
            // Where barriers are tiny, the same objective computed twice differs by more than a step gains.
            let from = (self.problem.value(&mut before) + structure.value).min(last);
            let moved = self.step(side, &structure, &terms, squares.as_ref());
            objective = from;
            if let Some(next) = moved.and_then(|next| self.lowered(&before, &next, from, &terms)) {
                (self.point, objective) = next;
            }
            self.objectives.push(objective);
            last = objective;
            let gain = from - objective;
            let may_fall = smooth && self.delta > self.terms.delta.max(1e-11 * scale);
            still = if may_fall || gain > 1e-14 * objective.abs() { 0 } else { still + 1 };
            if iteration % ITERATIONS_A_GAP == 0 || still > 0 {
                let (target, gap) = self.check();
                if self.is_close(target, gap) {
                    return self.status(Stopped::Converged);
                }
                // The barrier follows the gap: ahead of it, what is not yet large would be frozen out.
                if smooth && (objective - target > FOLLOWS * gap || gain <= 1e-12 * objective.abs()) {
                    self.delta = (FALL * self.delta).max(self.terms.delta);
                }
            }
            if still >= PATIENCE {
                return self.status(Stopped::Stalled);
            }
            if !(self.watch)(self.objectives.len(), objective) {
                break;
            }
        }
        debug_assert!(iterations == 0 || !objective.is_nan());
        let (target, gap) = self.check();
        let closed = self.is_close(target, gap);
        self.status(if closed { Stopped::Converged } else { Stopped::OutOfIterations })
    }

    /// From nothing, the best W for A = I: where W is 0, so is the best A, and nothing would move.
    fn first_point(&mut self, side: Side) {
        if self.point.w.largest() > 0.0 || !self.penalty.is_learnt() {
            return;
        }
        let size = if side == Side::Tasks { self.problem.tasks.len() } else { self.problem.basis.size() };
        let share = if matches!(self.penalty, Penalty::TraceOne) { 1.0 / size as f64 } else { 1.0 };
        let start = Structure { vectors: None, a: vec![share; size], value: 0.0 };
        let terms = self.terms;
        if let Some(next) = self.step(side, &start, &terms, None) {
            self.point = next;
        }
    }

    /// The best point for a structure, as far as parabolas tell.
    fn step(
        &self,
        side: Side,
        structure: &Structure,
        terms: &Terms,
        squares: Option<&Apart>,
    ) -> Option<Point> {
        if self.problem.shared.is_some() {
            let w = together_exactly(self.problem, structure, terms)?;
            return w.is_finite().then(|| Point { w, b: self.point.b.clone() });
        }
        if let (Side::Coordinates, Some(squares)) = (side, squares) {
            let w = squares.solve(structure.root(terms))?;
            return Some(Point { w, b: self.point.b.clone() });
        }
        let parabolas = Parabolas::at(self.problem, &self.point);
        let w: Dense = match side {
            Side::Coordinates => Apart::new(self.problem, &parabolas).solve(structure.root(terms))?,
            Side::Tasks => together(self.problem, &parabolas, structure, terms, &self.point.w),
        };
        let b = parabolas.intercepts(self.problem, &w, &self.point.b);
        w.is_finite().then_some(Point { w, b })
    }

    /// The step, halved until the objective is lower; none where it never is.
    fn lowered(&self, before: &Point, step: &Point, from: f64, terms: &Terms) -> Option<(Point, f64)> {
        let mut point = step.clone();
        let mut share = 1.0;
        for _ in 0..40 {
            let value = self.total(&mut point, terms);
            if value <= from {
                return Some((point, value));
            }
            share *= 0.5;
            point = before.clone();
            point.w.combine(&step.w, |from, to| from + share * (to - from));
            point.b.iter_mut().zip(&step.b).for_each(|(from, to)| *from += share * (to - *from));
        }
        None
    }

    /// What is told of the search as it stands.
    pub(crate) fn status(&mut self, stopped: Stopped) -> FitStatus {
        let (objective, gap) = self.check();
        FitStatus { stopped, iterations: self.objectives.len(), objective, gap }
    }
}
