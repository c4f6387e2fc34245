//! R that follows W'W by one of the rules of LR11, and the weights that it teaches.
//!
//! W'W is kept by updates of rank two (linalg/gram_rows.rs) and R itself is kept, so `log-det` and `covariance` take
//! O(K s + K^2) a mistake and nothing is ever inverted. `von-neumann` keeps log R, where no exponential is: R is
//! exp(log R - largest eigenvalue), rescaled, which cannot overflow whatever eta is. `batch-optimal` takes the root on
//! the spectrum. Both are O(K^3) a mistake.
//!
//! Safe steps, where numbers end: a change that would leave R infinite, or with `trace` none beyond 1e100 for examples
//! of length 1, is not made; `log-det` with an eta so large that eta W'W overflows goes to where it would go in the
//! limit, W'W rescaled. R is looked at every K changes, at least 16,
//! and gets a billionth of its mean eigenvalue on its diagonal when it has lost its last digits of definiteness, as
//! happens with more tasks than features.

use serde::{Deserialize, Serialize};

use super::config::{Relation, RelationPerceptronConfig, Trace};
use crate::block::Block;
use crate::error::StateError;
use crate::example::{Example, SparseView};
use crate::linalg::{GramRows, GramRowsState, Symmetric};

#[derive(Debug, Clone)]
pub(super) struct Moved {
    weights: GramRows,
    relation: Symmetric,
    /// log R, for `von-neumann`.
    logarithm: Option<Symmetric>,
    changes: u64,
    rule: Rule,
}

/// How R moves.
#[derive(Debug, Clone, Copy)]
struct Rule {
    relation: Relation,
    eta: f64,
    trace: Trace,
    shrink: f64,
    start: f64,
    features: Option<u32>,
}

/// With `trace` none R stops growing here.
const LARGEST: f64 = 1e100;

/// Smallest eigenvalue that `von-neumann` leaves, by the largest: below it the matrix would not be definite in print.
const SMALLEST: f64 = 1e-13;

impl Moved {
    pub(super) fn new(config: &RelationPerceptronConfig, tasks: usize, features: Option<u32>) -> Self {
        let rule = Rule {
            relation: config.relation,
            eta: config.eta_or_default(),
            trace: config.trace,
            shrink: config.shrink_or_default(),
            start: config.start,
            features,
        };
        let diagonal = |value: f64| Symmetric::from_fn(tasks, |i, j| if i == j { value } else { 0.0 });
        let logarithm = (config.relation == Relation::VonNeumann).then(|| diagonal(config.start.ln()));
        Self { weights: GramRows::new(tasks), relation: diagonal(config.start), logarithm, changes: 0, rule }
    }

    /// A new task is related to none, and no other is disturbed.
    pub(super) fn grow(&mut self, tasks: usize) {
        self.weights.grow(tasks);
        let before = self.relation.size();
        let grown = |matrix: &Symmetric, diagonal: f64| {
            let mut matrix = matrix.grown(tasks);
            (before..tasks).for_each(|at| matrix.add(at, at, diagonal));
            matrix
        };
        self.relation = grown(&self.relation, self.rule.start);
        self.logarithm = self.logarithm.as_ref().map(|matrix| grown(matrix, self.rule.start.ln()));
    }

    pub(super) fn relation(&self) -> &Symmetric {
        &self.relation
    }

    /// w_i'x; 0 for a task not met.
    pub(super) fn margin(&self, column: usize, x: SparseView<'_>) -> f64 {
        if column < self.relation.size() { self.weights.rows().dot(column, x) } else { 0.0 }
    }

    /// W'x.
    pub(super) fn products(&self, x: SparseView<'_>, products: &mut Vec<f64>) {
        self.weights.rows().project_into(x, products);
    }

    pub(super) fn weights(&self, column: usize) -> Vec<(u32, f64)> {
        if column < self.relation.size() { self.weights.rows().weights(column) } else { Vec::new() }
    }

    /// After a mistake: `w_j += y R[j, i] x`, or only w_i as at the start; then R follows, if it moves.
    pub(super) fn learn(&mut self, example: Example<'_>, shares: bool, moves: bool) {
        let column = example.task.index();
        if shares {
            self.weights.add(example.features, self.relation.row(column), example.label);
        } else {
            let mut rates = vec![0.0; self.relation.size()];
            rates[column] = self.rule.start;
            self.weights.add(example.features, &rates, example.label);
        }
        if moves {
            self.follow();
        }
    }

    /// R as the rule wants it for the weights of now.
    fn follow(&mut self) {
        let rule = self.rule;
        let target = rule.start * self.relation.size() as f64;
        let next = match rule.relation {
            Relation::LogDet => self.log_det(),
            Relation::Covariance => {
                let unit = self.weights.unit();
                Some(rule.mixed(self.weights.covariance(rule.features), target, unit * unit))
            }
            Relation::BatchOptimal => self.weights.gram().spectrum().map(|spectrum| {
                let roots: Vec<f64> = spectrum.values.iter().map(|value| value.max(0.0).sqrt()).collect();
                rule.mixed(spectrum.with_values(&roots), target, 1.0 / roots.iter().sum::<f64>())
            }),
            Relation::VonNeumann => self.von_neumann(target),
            Relation::ScaleFree => None,
        };
        let unit = self.weights.unit();
        let fits = |next: &Symmetric| {
            next.is_finite() && (rule.trace == Trace::Start || next.trace() * unit * unit <= LARGEST)
        };
        if let Some(next) = next.filter(fits) {
            self.relation = next;
            self.changes += 1;
            if self.changes.is_multiple_of((self.relation.size() as u64).max(16)) {
                self.keep_definite();
            }
        }
    }

    fn log_det(&self) -> Option<Symmetric> {
        let (rule, gram) = (self.rule, self.weights.gram());
        let target = rule.start * gram.size() as f64;
        let step = rule.eta * self.weights.unit() * self.weights.unit();
        let mut next = self.relation.clone();
        if (step * gram.trace()).is_finite() {
            next.combine(gram, |relation, product| relation + step * product);
        } else if rule.trace == Trace::Start {
            next = gram.clone();
        } else {
            return None;
        }
        Some(rule.mixed(next, target, 1.0))
    }

    fn von_neumann(&mut self, target: f64) -> Option<Symmetric> {
        let (rule, gram) = (self.rule, self.weights.gram());
        let step = rule.eta * self.weights.unit() * self.weights.unit();
        let mut logarithm = self.logarithm.clone()?;
        logarithm.combine(gram, |logarithm, product| logarithm + step * product);
        let spectrum = logarithm.is_finite().then(|| logarithm.spectrum()).flatten()?;
        let largest = *spectrum.values.last()?;
        let mut values: Vec<f64> =
            spectrum.values.iter().map(|value| (value - largest).exp().max(SMALLEST)).collect();
        let factor = match rule.trace {
            Trace::Start => target / values.iter().sum::<f64>(),
            Trace::None => largest.min(LARGEST.ln()).exp(),
        };
        values.iter_mut().for_each(|value| *value *= factor);
        logarithm.add_diagonal(factor.ln() - largest);
        if rule.shrink > 0.0 {
            let shrunk = |value: &mut f64| *value = (1.0 - rule.shrink) * *value + rule.shrink * rule.start;
            values.iter_mut().for_each(shrunk);
            let logarithms: Vec<f64> = values.iter().map(|value| value.ln()).collect();
            logarithm = spectrum.with_values(&logarithms);
        }
        self.logarithm = Some(logarithm);
        Some(spectrum.with_values(&values))
    }

    /// Puts back what rounding has taken from the smallest eigenvalues.
    fn keep_definite(&mut self) {
        if self.relation.log_determinant().is_none() {
            let trace = self.relation.trace();
            self.relation.add_diagonal(1e-9 * trace / self.relation.size() as f64);
            self.relation.scale(1.0 / (1.0 + 1e-9));
        }
    }

    pub(super) fn heap_bytes(&self) -> usize {
        let matrices = 1 + usize::from(self.logarithm.is_some());
        self.weights.heap_bytes() + matrices * self.relation.size().pow(2) * size_of::<f64>()
    }

    pub(super) fn state(&self) -> MovedState {
        MovedState {
            weights: self.weights.state(),
            relation: Block(self.relation.lower()),
            logarithm: self.logarithm.as_ref().map(|matrix| Block(matrix.lower())),
            changes: self.changes,
        }
    }

    pub(super) fn restore(&mut self, tasks: usize, state: MovedState) -> Result<(), StateError> {
        if state.logarithm.is_some() != self.logarithm.is_some() {
            return Err(StateError::new("the logarithm of R is kept by `von-neumann` only"));
        }
        self.weights = GramRows::restore(tasks, state.weights)?;
        self.relation = Symmetric::from_lower(tasks, &state.relation.0)?;
        self.logarithm = state.logarithm.map(|matrix| Symmetric::from_lower(tasks, &matrix.0)).transpose()?;
        self.changes = state.changes;
        Ok(())
    }
}

impl Rule {
    /// Rescaled to the trace it should have, or by the rule's own factor, then mixed with the start.
    fn mixed(self, mut matrix: Symmetric, target: f64, factor: f64) -> Symmetric {
        let factor = match self.trace {
            Trace::Start => target / matrix.trace(),
            Trace::None => factor,
        };
        matrix.scale(factor * (1.0 - self.shrink));
        matrix.add_diagonal(self.shrink * self.start);
        matrix
    }
}

/// Saved form of [`Moved`].
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct MovedState {
    weights: GramRowsState,
    /// On and below the diagonal, as the next.
    relation: Block<f64>,
    logarithm: Option<Block<f64>>,
    changes: u64,
}
