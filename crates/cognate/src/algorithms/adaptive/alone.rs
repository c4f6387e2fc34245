//! Tasks that share nothing (`independent`), or everything (`pooled`): one learner a vector, by the steps of `rule`.
//!
//! State: w, precision and s a feature, and what is known about sizes, of every vector. Nothing is common to two of them,
//! so `independent` is K learners that have never heard of each other.

use serde::{Deserialize, Serialize};

use super::averages::{Averages, AveragesState, less};
use super::rule::{Clock, Sizes, gain, unit_of_intercept};
use super::{Settings, add_intercept};
use crate::error::StateError;
use crate::example::{Example, SparseView, TaskId};
use crate::learner::Outcome;
use crate::stream::Batch;
use crate::table::{AHEAD, Locate};
use crate::weights::side_by_side::Found;
use crate::weights::{SideBySide, SlotTablesState};

/// w, precision, s; nothing is shared, which the table keeps a number for.
type Table = SideBySide<1, 3>;

#[derive(Debug, Clone)]
pub(super) struct Alone {
    weights: Table,
    mind: Mind,
    /// Scratch, not state.
    found: [Found; AHEAD],
}

#[derive(Debug, Clone)]
struct Mind {
    settings: Settings,
    /// One vector for all tasks.
    pooled: bool,
    vectors: Vec<Vector>,
    averages: Option<Box<Averages>>,
    /// Rates times values; scratch, not state.
    rates: Vec<f64>,
}

/// What a learner knows beside its weights.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
struct Vector {
    sizes: Sizes,
    clock: Clock,
    /// Weight and precision of the feature that is always 1.
    intercept: (f64, f64),
}

impl Mind {
    /// The vector that a task learns with.
    fn vector(&self, task: TaskId) -> TaskId {
        if self.pooled { TaskId(0) } else { task }
    }

    fn margin(&self, weights: &Table, vector: TaskId, x: SparseView<'_>, found: &Found) -> f64 {
        let mut margin = self.vectors.get(vector.index()).map_or(0.0, |vector| vector.intercept.0);
        weights.for_each(x, found, |_, row, value| margin += row[0] * value);
        margin
    }

    /// How far a margin is beyond that of the mean of the weights, where that is what predicts.
    fn beyond(&self, vector: TaskId, x: SparseView<'_>) -> f64 {
        let intercept = self.settings.intercept;
        self.averages.as_ref().map_or(0.0, |averages| averages.beyond(vector, x, intercept)[0])
    }

    /// Learns from the margin of the weights as they are, on an example whose rows have been found; whether anything changed.
    fn update(&mut self, weights: &mut Table, example: Example<'_>, margin: f64, found: &mut Found) -> bool {
        let Example { task: vector, features, label } = example;
        let Settings { loss, forget, intercept, prior, .. } = self.settings;
        if self.vectors.len() <= vector.index() {
            self.vectors.resize(vector.index() + 1, Vector::default());
        }
        let mind = &mut self.vectors[vector.index()];
        if let Some(factor) = mind.clock.tick(forget) {
            weights.change_rows(vector, |row| row[1] *= factor);
            mind.intercept.1 *= factor;
        }
        if label * margin > loss.sure(false) || !features.norm_squared().is_finite() {
            return forget.is_some();
        }
        weights.make_rows(vector, features, found);
        let mut indices = features.indices().iter();
        weights.for_each_mut(features, found, |_, row, value| {
            let (shrink, feature) = (mind.sizes.grow(&mut row[2], value), indices.next());
            row[0] *= shrink;
            if let (Some(averages), Some(feature)) = (&mut self.averages, feature)
                && shrink < 1.0
            {
                averages.shrink(vector, *feature, shrink);
            }
        });
        let (usual, mut sum) = (mind.sizes.usual(), if intercept { 1.0 } else { 0.0 });
        weights.for_each(features, found, |_, row, value| sum += usual.normalised(value, row[2]));
        mind.sizes.count(sum);
        let (mean, seen) = (mind.sizes.mean(), mind.clock.factor(forget));
        let rate = |unit: f64, precision: f64| (unit / prior.wide + seen * precision).recip();
        let mut variance = 0.0;
        self.rates.clear();
        weights.for_each(features, found, |_, row, value| {
            let step = rate(usual.unit(mean, row[2]), row[1]) * value;
            variance += step * value;
            self.rates.push(step);
        });
        let of_intercept = if intercept { rate(unit_of_intercept(mean), mind.intercept.1) } else { 0.0 };
        let step = label * loss.step(label * margin, variance + of_intercept);
        let precision = loss.curvature(margin) / seen;
        let mut rates = self.rates.iter();
        weights.for_each_mut(features, found, |_, row, value| {
            if let Some(rate) = rates.next() {
                row[0] += step * rate;
                row[1] += gain(precision, value);
            }
        });
        if intercept {
            mind.intercept.0 += step * of_intercept;
            mind.intercept.1 += precision;
        }
        if let Some(averages) = &mut self.averages {
            let rate = |at: usize| self.rates.get(at).copied().unwrap_or(of_intercept);
            averages.add(vector, features, intercept, |at| [step * rate(at), 0.0, 0.0, 0.0]);
        }
        true
    }

    fn learn(&mut self, weights: &mut Table, example: Example<'_>, found: &mut Found) -> Outcome {
        let present = self.margin(weights, example.task, example.features, found);
        let margin = present - self.beyond(example.task, example.features);
        let updated = self.update(weights, example, present, found);
        let Some(averages) = &mut self.averages else { return Outcome { margin, updated } };
        averages.count(example.task);
        Outcome { margin, updated: true }
    }
}

impl Alone {
    pub(super) fn new(settings: Settings, pooled: bool) -> Self {
        Self {
            weights: Table::new(),
            mind: Mind {
                settings,
                pooled,
                vectors: Vec::new(),
                averages: settings.average.then(|| Box::new(Averages::new())),
                rates: Vec::new(),
            },
            found: Default::default(),
        }
    }

    pub(super) fn margin(&self, task: TaskId, x: SparseView<'_>) -> f64 {
        let (mut found, vector) = (Found::default(), self.mind.vector(task));
        self.weights.find(vector, x, &mut found);
        self.mind.margin(&self.weights, vector, x, &found) - self.mind.beyond(vector, x)
    }

    pub(super) fn learn(&mut self, example: Example<'_>) -> Outcome {
        let (found, task) = (&mut self.found[0], self.mind.vector(example.task));
        self.weights.find(task, example.features, found);
        self.mind.learn(&mut self.weights, Example { task, ..example }, found)
    }

    pub(super) fn learn_batch(&mut self, batch: &Batch, outcomes: &mut Vec<Outcome>) {
        if self.mind.pooled {
            outcomes.extend(batch.examples().map(|example| self.learn(example)));
            return;
        }
        let Self { weights, mind, found } = self;
        weights.learn_ahead(batch, found, |weights, example, found| {
            outcomes.push(mind.learn(weights, example, found));
        });
    }

    pub(super) fn weights(&self, task: TaskId) -> Vec<(u32, f64)> {
        let vector = self.mind.vector(task);
        let mut weights = self.weights.weights(vector, |_, row| row[0]);
        let mut intercept = self.mind.vectors.get(vector.index()).map_or(0.0, |vector| vector.intercept.0);
        if let Some(averages) = &self.mind.averages {
            let (beyond, beyond_intercept) = averages.weights_beyond(vector, &[1.0, 0.0, 0.0, 0.0]);
            weights = less(weights, beyond);
            intercept -= beyond_intercept;
        }
        add_intercept(&mut weights, intercept);
        weights
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.weights.heap_bytes()
            + self.mind.vectors.capacity() * size_of::<Vector>()
            + self.mind.averages.as_ref().map_or(0, |averages| averages.heap_bytes())
    }

    pub(super) fn state(&self) -> AloneState {
        AloneState {
            weights: self.weights.state(|_, row| *row),
            vectors: self.mind.vectors.clone(),
            averages: self.mind.averages.as_ref().map(|averages| averages.state()),
        }
    }

    pub(super) fn restore(&mut self, tasks: usize, state: AloneState) -> Result<(), StateError> {
        self.weights = Table::restore(tasks, state.weights, |row: [f64; 3]| row)?;
        let sound = |vector: &Vector| {
            let (weight, precision) = vector.intercept;
            vector.sizes.is_sound() && weight.is_finite() && precision.is_finite()
        };
        if state.vectors.len() > tasks || !state.vectors.iter().all(sound) {
            return Err(StateError::new("what the learners know does not fit the tasks"));
        }
        super::averages::restore(self.mind.averages.as_deref_mut(), tasks, state.averages)?;
        self.mind.vectors = state.vectors;
        for (task, vector) in self.mind.vectors.iter_mut().enumerate() {
            vector.sizes.recall(self.weights.rows_of(TaskId(task as u32)).map(|row| row[2]));
        }
        Ok(())
    }
}

/// Saved form of [`Alone`].
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct AloneState {
    weights: SlotTablesState,
    vectors: Vec<Vector>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    averages: Option<AveragesState>,
}
