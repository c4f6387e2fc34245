//! R that follows W'W by one of the rules of LR11, and the weights that it teaches.
//!
//! W'W is kept by updates of rank two (linalg/gram_rows.rs) and R itself is kept, so `log-det` and `covariance` take
//! O(K s + K^2) per mistake and nothing is ever inverted. `von-neumann` keeps log R, where no exponential is: R is
//! exp(log R - largest eigenvalue), rescaled, which cannot overflow whatever eta is. `batch-optimal` takes the root on
//! the spectrum. Both are O(K^3) per mistake. So is `log-det` where A itself is the multiplier, which keeps A^-1 beside A.
//!
//! Safe steps, where numbers end: a change that would leave R infinite, or with `trace` none beyond 1e100 for examples
//! of length 1, is not made; `log-det` with an eta so large that eta W'W overflows goes to where it would go in the
//! limit, W'W rescaled; `covariance` does not move where weights have hardly any variance. R is looked at every K changes, at least 16,
//! and gets a billionth of its mean eigenvalue on its diagonal when it has lost its last digits of definiteness, as
//! happens with more tasks than features.

use serde::{Deserialize, Serialize};

use super::config::{Multiplier, Relation, RelationPerceptronConfig, Trace};
use crate::block::Block;
use crate::error::StateError;
use crate::example::{Example, SparseView};
use crate::linalg::{Blend, Symmetric, Triangle, dot};
use crate::weights::{Change, GramRows, GramRowsState};

#[derive(Debug, Clone)]
pub(super) struct Moved {
    weights: GramRows,
    relation: Triangle,
    /// log R, for `von-neumann`.
    logarithm: Option<Symmetric>,
    /// A^-1, for `log-det` with the multiplier `a`.
    precision: Option<Symmetric>,
    changes: u64,
    /// Changes up to the last look at R.
    looked: u64,
    rule: Rule,
    /// Scratch, not state.
    row: Vec<f64>,
}

/// How R moves.
#[derive(Debug, Clone, Copy)]
struct Rule {
    relation: Relation,
    multiplier: Multiplier,
    eta: f64,
    trace: Trace,
    shrink: f64,
    start: f64,
    features: Option<u32>,
}

/// With `trace` none R stops growing here.
const LARGEST: f64 = 1e100;

/// Where the variance is less than this of the mean square, as with one feature, the covariance is rounding errors.
const LEAST_VARIANCE: f64 = 1e-10;

/// Smallest eigenvalue that `von-neumann` leaves, by the largest: below it the matrix would not be definite in print.
const SMALLEST: f64 = 1e-13;

/// Changes of R after which it is looked at, in O(K^3).
fn changes_per_look(tasks: usize) -> u64 {
    (tasks as u64).max(16)
}

impl Rule {
    /// Whether R is a mixture of what it was, W'W and an outer product: then all change in one walk.
    fn is_blend(&self) -> bool {
        self.relation == Relation::Covariance || self.relation == Relation::LogDet && !self.is_inverted()
    }

    /// Whether what is kept is the inverse of what moves.
    fn is_inverted(&self) -> bool {
        self.relation == Relation::LogDet && self.multiplier == Multiplier::A
    }

    /// Changes W'W, and R as the rule wants it; says whether R has moved.
    fn follow(&self, relation: &mut Triangle, gram: &mut Triangle, change: &Change<'_>) -> bool {
        let trace = gram.trace() + 2.0 * dot(change.a, change.b);
        let blend = match self.relation {
            Relation::LogDet => self.log_det(relation, trace, change),
            _ => self.covariance(trace, change),
        };
        match blend {
            Some(blend) => {
                gram.add_pair_and_blend(change.a, change.b, relation, &blend);
                if self.shrink > 0.0 {
                    relation.add_diagonal(self.shrink * self.start);
                }
            }
            None => gram.add_pair(change.a, change.b),
        }
        blend.is_some()
    }

    /// The initial trace of R, for this many tasks.
    fn target(&self, tasks: usize) -> f64 {
        self.start * tasks as f64
    }

    /// The factor that a matrix of this trace gets, or the rule's own when the trace is left; none where R would leave
    /// the numbers. A positive definite matrix has no entry larger than its trace.
    fn factor(&self, trace: f64, own: f64, tasks: usize, unit: f64) -> Option<f64> {
        match self.trace {
            Trace::Start => Some(self.target(tasks) / trace).filter(|factor| factor.is_finite()),
            Trace::None => Some(own).filter(|own| own * trace * unit * unit <= LARGEST),
        }
    }

    fn log_det(&self, relation: &Triangle, trace: f64, change: &Change<'_>) -> Option<Blend<'static>> {
        let (tasks, unit) = (relation.size(), change.unit);
        let step = self.eta * unit * unit;
        let added = step * trace;
        let (old, new) = if added.is_finite() {
            let before = match self.trace {
                // Every step brings it back there.
                Trace::Start => self.target(tasks),
                Trace::None => relation.trace(),
            };
            let factor = self.factor(before + added, 1.0, tasks, unit)?;
            (factor, step * factor)
        } else {
            (0.0, self.factor(trace, f64::INFINITY, tasks, unit)?)
        };
        let keep = 1.0 - self.shrink;
        Some(Blend::Mixed { old: keep * old, new: keep * new })
    }

    /// The covariance of the columns of W over the coordinates declared, or those touched.
    fn covariance<'a>(&self, trace: f64, change: &Change<'a>) -> Option<Blend<'a>> {
        let (unit, sums) = (change.unit, change.sums);
        let count = self.features.map_or(0, |features| features as usize).max(change.features) as f64;
        let left = trace - dot(sums, sums) / count;
        if left < LEAST_VARIANCE * trace {
            return None;
        }
        let samples = (count - 1.0).max(1.0);
        let factor = self.factor(left / samples, unit * unit, sums.len(), unit)?;
        let new = (1.0 - self.shrink) * factor / samples;
        Some(Blend::Replaced { new, factor: -new / count, v: sums })
    }
}

impl Moved {
    pub(super) fn new(
        config: &RelationPerceptronConfig,
        start: f64,
        tasks: usize,
        features: Option<u32>,
    ) -> Self {
        let rule = Rule {
            relation: config.relation,
            multiplier: config.multiplier,
            eta: config.eta_or_default(),
            trace: config.trace_or_default(),
            shrink: config.shrink_or_default(),
            start,
            features,
        };
        let diagonal = |value: f64| Symmetric::from_fn(tasks, |i, j| if i == j { value } else { 0.0 });
        let logarithm = (config.relation == Relation::VonNeumann).then(|| diagonal(start.ln()));
        let precision = rule.is_inverted().then(|| diagonal(1.0 / start));
        let (weights, relation) = (GramRows::new(tasks), Triangle::diagonal(tasks, start));
        Self { weights, relation, logarithm, precision, changes: 0, looked: 0, rule, row: Vec::new() }
    }

    /// A new task is related to none, and no other is disturbed.
    pub(super) fn grow(&mut self, tasks: usize) {
        self.weights.grow(tasks);
        let before = self.relation.size();
        self.relation.grow(tasks, self.rule.start);
        let start = self.rule.start;
        for (matrix, diagonal) in [(&mut self.logarithm, start.ln()), (&mut self.precision, 1.0 / start)] {
            if let Some(matrix) = matrix {
                *matrix = matrix.grown(tasks);
                (before..tasks).for_each(|at| matrix.add(at, at, diagonal));
            }
        }
    }

    pub(super) fn relation(&self) -> &Triangle {
        &self.relation
    }

    /// w_i'x; 0 for a task not met.
    pub(super) fn margin(&self, column: usize, x: SparseView<'_>) -> f64 {
        if column < self.relation.size() { self.weights.rows().dot(column, x) } else { 0.0 }
    }

    /// The margin that R would read from W'x.
    pub(super) fn shade(&mut self, column: usize, products: &[f64]) -> f64 {
        self.relation.row_into(column, &mut self.row);
        dot(&self.row, products)
    }

    /// W'x.
    pub(super) fn products(&self, x: SparseView<'_>, products: &mut Vec<f64>) {
        self.weights.rows().project_into(x, products);
    }

    pub(super) fn weights(&self, column: usize) -> Vec<(u32, f64)> {
        if column < self.relation.size() { self.weights.rows().weights(column) } else { Vec::new() }
    }

    /// Asks for the weights that the margin of an example needs.
    pub(super) fn ask_for(&self, column: usize, x: SparseView<'_>) {
        self.weights.rows().ask_for_column(column, x);
    }

    /// After a mistake: `w_j += y R[j, i] x` for every task j; then R follows, if it moves.
    pub(super) fn learn(&mut self, example: Example<'_>, moves: bool) {
        let Self { weights, relation, rule, row, .. } = self;
        relation.row_into(example.task.index(), row);
        if moves && rule.is_blend() {
            let mut moved = false;
            weights.add_with(example.features, row, example.label, |gram, change| {
                moved = rule.follow(relation, gram, change);
            });
            self.count(moved);
        } else {
            weights.add(example.features, row, example.label);
            if moves {
                self.follow();
            }
        }
    }

    /// The same in the shade: only the task itself learns, as at the start. W'x is known.
    pub(super) fn learn_shaded(&mut self, example: Example<'_>, products: &[f64]) {
        let step = self.rule.start * example.label;
        self.weights.add_to(example.task.index(), example.features, step, products);
        self.follow();
    }

    /// What is not finite, as far as the diagonals tell: no update makes a NaN or an infinity finite again.
    pub(super) fn overflow(&self) -> Option<&'static str> {
        let finite = self.weights.gram().trace().is_finite() && self.relation.trace().is_finite();
        (!finite).then_some("the relation of tasks or what it follows from")
    }

    /// How often R has changed.
    pub(super) fn changes(&self) -> u64 {
        self.changes
    }

    /// R as the rule wants it for the weights of now.
    pub(super) fn follow(&mut self) {
        let moved = match self.rule.relation {
            Relation::LogDet if self.rule.is_inverted() => self.log_det_of_a().is_some(),
            Relation::LogDet | Relation::Covariance => {
                let Self { weights, relation, rule, row, .. } = self;
                row.clear();
                row.resize(relation.size(), 0.0);
                weights.with_gram(row, |gram, change| rule.follow(relation, gram, change))
            }
            Relation::BatchOptimal => self.batch_optimal().is_some(),
            Relation::VonNeumann => self.von_neumann().is_some(),
            Relation::ScaleFree => false,
        };
        self.count(moved);
    }

    /// Counts a change of R, and looks at R once in a while.
    fn count(&mut self, moved: bool) {
        self.changes += u64::from(moved);
        // Counted from the last look: among tasks met on the way every change may be a multiple of their number.
        if moved && self.changes >= self.looked.saturating_add(changes_per_look(self.relation.size())) {
            self.looked = self.changes;
            self.keep_definite();
        }
    }

    fn batch_optimal(&mut self) -> Option<()> {
        let spectrum = self.weights.gram().whole().spectrum()?;
        let roots: Vec<f64> = spectrum.values.iter().map(|value| value.max(0.0).sqrt()).collect();
        let trace: f64 = roots.iter().sum();
        let factor = self.rule.factor(trace, 1.0 / trace, roots.len(), self.weights.unit())?;
        self.relation = Triangle::of(&spectrum.with_values(&roots));
        self.relation.scale(factor * (1.0 - self.rule.shrink));
        self.relation.add_diagonal(self.rule.shrink * self.rule.start);
        Some(())
    }

    /// A = (A^-1 + eta W'W)^-1, (3.7) as printed.
    fn log_det_of_a(&mut self) -> Option<()> {
        let rule = self.rule;
        let step = rule.eta * self.weights.unit() * self.weights.unit();
        let mut precision = self.precision.clone()?;
        precision.combine(&self.weights.gram().whole(), |precision, product| precision + step * product);
        let inverse = precision.is_finite().then(|| precision.cholesky_inverse()).flatten()?;
        let mut matrix = Triangle::of(&inverse);
        let factor = rule.factor(matrix.trace(), 1.0, matrix.size(), self.weights.unit())?;
        if rule.trace == Trace::Start || rule.shrink > 0.0 {
            matrix.scale(factor * (1.0 - rule.shrink));
            matrix.add_diagonal(rule.shrink * rule.start);
            precision = matrix.whole().cholesky_inverse()?;
        }
        (self.relation, self.precision) = (matrix, Some(precision));
        Some(())
    }

    fn von_neumann(&mut self) -> Option<()> {
        let (rule, gram) = (self.rule, self.weights.gram());
        let sign = if rule.multiplier == Multiplier::A { -1.0 } else { 1.0 };
        let step = sign * rule.eta * self.weights.unit() * self.weights.unit();
        let mut logarithm = self.logarithm.clone()?;
        logarithm.combine(&gram.whole(), |logarithm, product| logarithm + step * product);
        let spectrum = logarithm.is_finite().then(|| logarithm.spectrum()).flatten()?;
        let largest = *spectrum.values.last()?;
        let mut values: Vec<f64> =
            spectrum.values.iter().map(|value| (value - largest).exp().max(SMALLEST)).collect();
        let factor = match rule.trace {
            Trace::Start => rule.target(values.len()) / values.iter().sum::<f64>(),
            Trace::None => largest.min(LARGEST.ln()).exp(),
        };
        // A has no logarithm where it underflows.
        Some(factor).filter(|factor| *factor >= f64::MIN_POSITIVE)?;
        values.iter_mut().for_each(|value| *value *= factor);
        logarithm.add_diagonal(factor.ln() - largest);
        if rule.shrink > 0.0 {
            let shrunk = |value: &mut f64| *value = (1.0 - rule.shrink) * *value + rule.shrink * rule.start;
            values.iter_mut().for_each(shrunk);
            let logarithms: Vec<f64> = values.iter().map(|value| value.ln()).collect();
            logarithm = spectrum.with_values(&logarithms);
        }
        let relation = Some(Triangle::of(&spectrum.with_values(&values))).filter(Triangle::is_finite)?;
        rule.factor(relation.trace(), 1.0, values.len(), self.weights.unit())?;
        (self.relation, self.logarithm) = (relation, Some(logarithm));
        Some(())
    }

    /// Puts back what rounding has taken from the smallest eigenvalues.
    fn keep_definite(&mut self) {
        if self.relation.whole().log_determinant().is_none() {
            let trace = self.relation.trace();
            self.relation.add_diagonal(1e-9 * trace / self.relation.size() as f64);
            self.relation.scale(1.0 / (1.0 + 1e-9));
        }
    }

    /// When R would have been looked at, had there always been as many tasks.
    fn last_multiple(&self) -> u64 {
        self.changes - self.changes % changes_per_look(self.relation.size())
    }

    pub(super) fn heap_bytes(&self) -> usize {
        let pairs = self.relation.size().pow(2);
        let beside = [&self.logarithm, &self.precision].into_iter().flatten().count();
        let numbers = pairs / 2 + beside * pairs;
        self.weights.heap_bytes() + numbers * size_of::<f64>()
    }

    pub(super) fn state(&self) -> MovedState {
        MovedState {
            weights: self.weights.state(),
            relation: Block(self.relation.lower()),
            logarithm: self.logarithm.as_ref().map(|matrix| Block(matrix.lower())),
            precision: self.precision.as_ref().map(|matrix| Block(matrix.lower())),
            changes: self.changes,
            looked: Some(self.looked).filter(|looked| *looked != self.last_multiple()),
        }
    }

    pub(super) fn restore(&mut self, tasks: usize, state: MovedState) -> Result<(), StateError> {
        if state.logarithm.is_some() != self.logarithm.is_some() {
            return Err(StateError::new("the logarithm of R is kept by `von-neumann` only"));
        }
        if state.precision.is_some() != self.precision.is_some() {
            return Err(StateError::new(
                "the inverse of A is kept by `log-det` with the multiplier `a` only",
            ));
        }
        self.weights = GramRows::restore(tasks, state.weights)?;
        self.relation = Triangle::restore(tasks, &state.relation.0)?;
        self.logarithm = state.logarithm.map(|matrix| Symmetric::from_lower(tasks, &matrix.0)).transpose()?;
        self.precision = state.precision.map(|matrix| Symmetric::from_lower(tasks, &matrix.0)).transpose()?;
        self.changes = state.changes;
        self.looked = state.looked.unwrap_or_else(|| self.last_multiple());
        if self.looked > self.changes {
            return Err(StateError::new("R was looked at after it changed for the last time"));
        }
        Ok(())
    }
}

/// Saved form of [`Moved`].
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct MovedState {
    weights: GramRowsState,
    /// On and below the diagonal, as the next.
    relation: Block<f64>,
    logarithm: Option<Block<f64>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    precision: Option<Block<f64>>,
    #[serde(deserialize_with = "crate::count::saved")]
    changes: u64,
    /// Where it is not the last multiple of the changes between looks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    looked: Option<u64>,
}
