//! `scale-free`: R from how well each task's weights predict the labels of the others. Our own.
//!
//! LR11's rules read R off the inner products of the weights. Those depend on the scale of the examples and on the
//! number of mistakes, and what they say of two tasks is drowned in the noise of their weights: two equal tasks have
//! nearly orthogonal weights as long as both know little. Here R is an estimate of the correlation of the tasks
//! themselves, which is what the bound of MP10 wants R to be (evidence.rs).
//!
//! State: v_i, the sum of y x over the mistakes of task i, and |v_i|^2; the evidence; C = L L' with ones on the diagonal,
//! L of at most 15 columns; V L, and the sum of all v_i. C is formed anew when mistakes have grown by an eighth
//! (K, K^2/256 and 8 at least), so its O(K^3 + d K) are O(K^2) per mistake or less, and 1/K of an update of all tasks.
//!
//! Predict: the mean of four readings of the same weights: no sharing, C, and R with 1 on the diagonal and 0.1, or
//! 0.5, everywhere else (`coupled` with b = K/9 and b = K); each by how much it is trusted (hedge.rs). The mean is R
//! itself: R = sum_g p_g R_g, positive definite since all are. With V L and the sum at hand that is O(s).
//! Update, after a mistake: v_i += y x, and what follows from V, O(s). Because the weights are mixed when they are
//! read, what R learns counts for all that was learnt before. Examples taken as evidence cost O(K s).
//!
//! Scaling all examples changes nothing but the margins' scale.

use serde::{Deserialize, Serialize};

use super::config::RelationPerceptronConfig;
use super::evidence::{Evidence, EvidenceState, FACTORS, Factors, UNRELATED, correlation, factorize};
use crate::block::Block;
use crate::error::StateError;
use crate::example::{Example, SparseView, is_mistake};
use crate::hedge::{Hedge, HedgeState, mix};
use crate::kernel::square;
use crate::linalg::{Symmetric, check_finite, dot};
use crate::weights::{TaskRows, TaskRowsState};

/// No sharing, the learned correlation, and two uniform ones.
const READINGS: usize = 4;

/// What every pair of tasks has in common in the last two readings.
const UNIFORM: [f64; 2] = [0.1, 0.5];

#[derive(Debug, Clone)]
pub(super) struct ScaleFree {
    start: f64,
    shrink: f64,
    /// One row per feature: the sum of all v_i and V L, then V.
    rows: TaskRows,
    /// |v_i|^2.
    squares: Vec<f64>,
    /// 1 / |v_i|, 0 for a zero vector; follows from the squares.
    inverses: Vec<f64>,
    evidence: Evidence,
    factors: Factors,
    trust: Hedge<READINGS>,
    mistakes: u64,
    /// Mistakes at which C is formed anew.
    due: u64,
    /// Whether margins are read with R, since the first mistake after priming.
    moving: bool,
}

/// What is known of an example before it is learnt.
#[derive(Debug, Clone, Default)]
pub(super) struct Met {
    /// Its inner products with the sum of all v_i and with V L.
    mixed: [f64; FACTORS],
    /// With v_i of its task.
    own: f64,
    /// With all of them, if it is to be evidence: those of `mixed` first.
    all: Vec<f64>,
}

impl ScaleFree {
    pub(super) fn new(config: &RelationPerceptronConfig, start: f64, tasks: usize) -> Self {
        let mut learner = Self {
            start,
            shrink: config.shrink_or_default(),
            rows: TaskRows::new(FACTORS),
            squares: Vec::new(),
            inverses: Vec::new(),
            evidence: Evidence::default(),
            factors: Factors::new(),
            trust: Hedge::new(),
            mistakes: 0,
            due: 8,
            moving: false,
        };
        learner.grow(tasks);
        learner
    }

    /// A new task has no weights, so no other is disturbed; the uniform readings teach it from its first example.
    pub(super) fn grow(&mut self, tasks: usize) {
        self.rows.grow(FACTORS + tasks);
        self.squares.resize(tasks, 0.0);
        self.inverses.resize(tasks, 0.0);
        self.evidence.grow(tasks);
        self.factors.resize(tasks, UNRELATED);
    }

    /// Asks for the weights that the margin of an example needs.
    pub(super) fn ask_for(&self, task: usize, x: SparseView<'_>) {
        self.rows.ask_for_front(FACTORS + task.min(self.squares.len()), x);
    }

    /// Meets an example with the weights: those that its margin needs, or all of them if it is to be evidence.
    pub(super) fn meet(&self, task: usize, x: SparseView<'_>, evidence: bool, met: &mut Met) {
        met.all.clear();
        if evidence && self.evidence.wants(task) {
            self.rows.project_into(x, &mut met.all);
            met.mixed.copy_from_slice(&met.all[..FACTORS]);
            met.own = met.all.get(FACTORS + task).copied().unwrap_or(0.0);
        } else {
            (met.mixed, met.own) = self.rows.project_front(x, FACTORS + task);
        }
    }

    /// The readings of a task's margin; a task not met reads what it shares.
    fn readings(&self, task: usize, met: &Met) -> [f64; READINGS] {
        let Met { mixed, own, .. } = met;
        let uniform = UNIFORM.map(|shared| (1.0 - shared) * own + shared * mixed[0]);
        let factors = self.factors.get(task).unwrap_or(&UNRELATED);
        // L L' has too little on the diagonal.
        let (common, known) = (dot(&factors[1..], &mixed[1..]), dot(&factors[1..], &factors[1..]));
        [*own, common + (1.0 - known) * own, uniform[0], uniform[1]]
    }

    /// The margin of an example; by the weights of the task alone before R moves.
    pub(super) fn margin(&self, task: usize, met: &Met) -> f64 {
        let readings = self.readings(task, met);
        let mean = if self.moving { self.trust.margin(readings) } else { readings[0] };
        self.start * ((1.0 - self.shrink) * mean + self.shrink * readings[0])
    }

    /// Takes what the example says about the relation, and learns it if its margin was a mistake; says whether
    /// anything changed that a margin depends on.
    pub(super) fn learn(&mut self, example: Example<'_>, met: &Met, margin: f64, moves: bool) -> bool {
        let Example { task, features, label, .. } = example;
        let (task, length) = (task.index(), square(features).sqrt());
        let readings = self.readings(task, met);
        self.evidence.note(task, label, length, met.all.get(FACTORS..), &self.inverses);
        let mistake = is_mistake(label, margin);
        if mistake {
            self.squares[task] = (self.squares[task] + 2.0 * label * met.own + length * length).max(0.0);
            self.inverses[task] = inverse_root(self.squares[task]);
            self.rows.add_to_front(FACTORS + task, features, label, &self.factors[task]);
            self.mistakes += 1;
            self.moving |= moves;
            if self.mistakes >= self.due {
                self.estimate();
            }
        }
        let trusts = self.moving && self.trust.count(label, readings, margin);
        mistake || trusts
    }

    /// Forms C from the evidence, and V L.
    fn estimate(&mut self) {
        let k = self.squares.len() as u64;
        self.due = self.mistakes + (self.mistakes / 8).max(k).max(k * k / 256).max(8);
        if let Some(factors) = self.evidence.factors() {
            self.factors = factors;
            self.mix();
        }
    }

    /// V L from V.
    fn mix(&mut self) {
        self.rows.mix_front(&self.factors);
    }

    /// R of the mean reading.
    pub(super) fn relation(&self, to: usize, from: usize) -> f64 {
        let same = f64::from(u8::from(to == from));
        if !self.moving {
            return self.start * same;
        }
        let learned = correlation(&self.factors, to, from);
        let uniform = UNIFORM.map(|shared| (1.0 - shared) * same + shared);
        let mean = mix(self.trust.weights(), [same, learned, uniform[0], uniform[1]]);
        self.start * ((1.0 - self.shrink) * mean + self.shrink * same)
    }

    /// Weights of the mean margin, which is linear.
    pub(super) fn weights(&self, task: usize) -> Vec<(u32, f64)> {
        let row: Vec<f64> = (0..self.squares.len()).map(|from| self.relation(task, from)).collect();
        let weights = self.rows.rows().map(|(feature, weights)| (feature, dot(&row, &weights[FACTORS..])));
        let mut weights: Vec<(u32, f64)> = weights.filter(|pair| pair.1 != 0.0).collect();
        weights.sort_unstable_by_key(|pair| pair.0);
        weights
    }

    pub(super) fn heap_bytes(&self) -> usize {
        let numbers = 2 * self.squares.capacity() + FACTORS * self.factors.capacity();
        self.rows.heap_bytes() + self.evidence.heap_bytes() + numbers * size_of::<f64>()
    }

    pub(super) fn state(&self) -> ScaleFreeState {
        let (mixed, vectors) = self.rows.state().split(FACTORS);
        let EvidenceState { seen, taken, edges, squares } = self.evidence.state();
        ScaleFreeState {
            vectors,
            squares: Block(self.squares.clone()),
            seen: Block(seen),
            examples: Block(taken),
            edges: Block(edges),
            edge_squares: Block(squares),
            correlation: None,
            factors: Some(Block(self.factors.iter().flat_map(|row| row[1..].iter().copied()).collect())),
            mixed: Some(mixed),
            trust: self.trust.state(),
            mistakes: self.mistakes,
            due: self.due,
            moving: self.moving,
        }
    }

    pub(super) fn restore(&mut self, tasks: usize, state: ScaleFreeState) -> Result<(), StateError> {
        let squares = state.squares.0;
        check_finite(&squares)?;
        if squares.len() != tasks {
            return Err(StateError::new("the lengths of the vectors do not fit the tasks"));
        }
        // Models saved before examples were left out have seen what they have taken.
        let (seen, taken) = (state.seen.0, state.examples.0);
        let seen = if seen.is_empty() { taken.clone() } else { seen };
        let evidence = EvidenceState { seen, taken, edges: state.edges.0, squares: state.edge_squares.0 };
        self.evidence = Evidence::restore(tasks, &evidence)?;
        self.inverses = squares.iter().map(|square| inverse_root(*square)).collect();
        self.squares = squares;
        self.trust = Hedge::restore(&state.trust)?;
        (self.mistakes, self.due, self.moving) = (state.mistakes, state.due, state.moving);
        let columns = FACTORS + tasks;
        match (state.factors, state.mixed, state.correlation) {
            (Some(factors), Some(mixed), None) => {
                check_finite(&factors.0)?;
                if Some(factors.0.len()) != tasks.checked_mul(FACTORS - 1) {
                    return Err(StateError::new("the factors of the correlations do not fit the tasks"));
                }
                let row = |factors: &[f64]| {
                    let mut row = UNRELATED;
                    row[1..].copy_from_slice(factors);
                    row
                };
                self.factors = factors.0.chunks_exact(FACTORS - 1).map(row).collect();
                self.rows = TaskRows::restore(columns, state.vectors.joined(&mixed, FACTORS, tasks)?)?;
            }
            (None, None, Some(correlation)) => {
                let correlation = Symmetric::from_lower(tasks, &correlation.0)?;
                let least = correlation.eigenvalues().into_iter().fold(1.0, f64::min);
                let factors = factorize(&correlation, least.max(0.0));
                self.factors =
                    factors.ok_or_else(|| StateError::new("the correlations have no eigenvalues"))?;
                let zeros = Block(vec![0.0; state.vectors.len() * FACTORS]);
                self.rows = TaskRows::restore(columns, state.vectors.joined(&zeros, FACTORS, tasks)?)?;
                self.mix();
            }
            _ => return Err(StateError::new("the correlations of the tasks are missing")),
        }
        Ok(())
    }
}

/// 1 / sqrt(x), 0 where that is not finite.
fn inverse_root(square: f64) -> f64 {
    let inverse = 1.0 / square.sqrt();
    if inverse.is_finite() { inverse } else { 0.0 }
}

/// Saved form of [`ScaleFree`].
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ScaleFreeState {
    vectors: TaskRowsState,
    squares: Block<f64>,
    /// Examples seen and taken as evidence, and what they say: one row per task.
    #[serde(default)]
    seen: Block<u64>,
    examples: Block<u64>,
    edges: Block<f64>,
    edge_squares: Block<f64>,
    /// All of C on and below the diagonal, in models saved before it was kept in factors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    correlation: Option<Block<f64>>,
    /// Rows of L, and of the sum of all vectors and V L.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    factors: Option<Block<f64>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mixed: Option<Block<f64>>,
    trust: HedgeState,
    #[serde(deserialize_with = "crate::count::saved")]
    mistakes: u64,
    #[serde(deserialize_with = "crate::count::saved")]
    due: u64,
    moving: bool,
}
