//! Tasks that share nothing (`independent`) or everything (`pooled`): one vector per task, or one for all.
//!
//! State: per vector and feature a weight, its precision and s ([`VectorRow`]); per vector what is known about sizes, and the
//! intercept. Nothing is common to two vectors, so `independent` is K learners that have never heard of each other.
//!
//! Predict: w'x, or the mean of w in its place (`averages`). Update: the step of `step` with the prior variance of one member.

use serde::{Deserialize, Serialize};

use super::add_intercept;
use super::averages::{Averages, AveragesState, less};
use super::config::Settings;
use super::mixer::{ALONE, PARTS};
use super::real::Target;
use super::rows::VectorRow;
use super::rule::{Clock, Sizes, Usual, gain};
use super::step::{Growth, Scale, Start, Stepped, take_step};
use super::tempering::{Measure, Tempered, is_far};
use super::units::{Unit, Units, UnitsState};
use super::variance::{ONLY, Spread};
use crate::error::StateError;
use crate::example::{Example, SparseView, TaskId};
use crate::learner::Outcome;
use crate::stream::Batch;
use crate::table::{AHEAD, Locate};
use crate::weights::side_by_side::Found;
use crate::weights::{SideBySide, SlotTablesState};

/// Rows of [`VectorRow`]; nothing is shared, which the table keeps a number for.
type Table = SideBySide<1, 3>;

#[derive(Debug, Clone)]
pub(super) struct Alone {
    weights: Table,
    state: State,
    /// Scratch, not state.
    found: [Found; AHEAD],
}

/// All but the weights.
#[derive(Debug, Clone)]
struct State {
    settings: Settings,
    /// One vector for all tasks.
    pooled: bool,
    vectors: Vec<Vector>,
    averages: Option<Box<Averages>>,
    /// Of each vector, where labels are real; each knows one task.
    units: Vec<Units>,
    /// Scratch, not state: v x of each feature.
    rates: Vec<f64>,
}

/// What a vector knows beside its weights.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
struct Vector {
    sizes: Sizes,
    clock: Clock,
    /// Weight and precision of the feature that is always 1.
    intercept: (f64, f64),
}

/// A vector and the example that it learns from.
struct VectorStep<'a> {
    weights: &'a mut Table,
    found: &'a Found,
    vector: TaskId,
    features: SparseView<'a>,
    /// Weight and precision of the feature that is always 1, where there is one.
    intercept: Option<&'a mut (f64, f64)>,
    averages: Option<&'a mut Averages>,
    prior: f64,
    /// What weights are kept in, times the units of margins: 1 unless labels are real.
    scale: f64,
    /// v x of each feature, and of the one that is always 1.
    rates: &'a mut Vec<f64>,
    rate_of_intercept: f64,
}

impl Stepped<1> for VectorStep<'_> {
    fn grow(&mut self, sizes: &mut Sizes, growth: &Growth) -> [f64; 1] {
        let (mut indices, mut change) = (self.features.indices().iter(), 0.0);
        self.weights.for_each_mut(self.features, self.found, |_, row, value| {
            let row = VectorRow::of(row.each_mut());
            let (grown, feature) = (sizes.grow(row.size, value), indices.next());
            let Some(grown) = grown else { return };
            let shrink = growth.shrink(grown, self.prior.recip(), *row.precision);
            change += (shrink - 1.0) * *row.weight * value;
            *row.weight *= shrink;
            if let (Some(averages), Some(feature)) = (&mut self.averages, feature)
                && shrink < 1.0
            {
                averages.shrink(self.vector, *feature, &[shrink; PARTS]);
            }
        });
        [change / self.scale]
    }

    fn features(&self) -> (usize, bool) {
        (self.features.len(), self.intercept.is_some())
    }

    fn normalised(&mut self, usual: Usual) -> f64 {
        let mut sum = if self.intercept.is_some() { 1.0 } else { 0.0 };
        self.weights.for_each(self.features, self.found, |_, row, value| {
            sum += usual.normalised(value, VectorRow::of(*row).size);
        });
        sum
    }

    fn variances(&mut self, scale: &Scale) -> [f64; 1] {
        let mut variance = 0.0;
        self.rates.clear();
        self.weights.for_each(self.features, self.found, |_, row, value| {
            let VectorRow { precision, size, .. } = VectorRow::of(*row);
            let rate = scale.rate(scale.unit(size), self.prior, precision) * value;
            variance += rate * value;
            self.rates.push(rate);
        });
        if let Some((_, precision)) = self.intercept.as_deref() {
            self.rate_of_intercept = scale.rate(scale.unit_of_intercept(), self.prior, *precision);
        }
        [variance + self.rate_of_intercept]
    }

    fn apply(&mut self, _: &Scale, [step]: [f64; 1], h: f64) {
        let step = self.scale * step;
        let mut rates = self.rates.iter();
        self.weights.for_each_mut(self.features, self.found, |_, row, value| {
            let row = VectorRow::of(row.each_mut());
            if let Some(rate) = rates.next() {
                *row.weight += step * rate;
                *row.precision += gain(h, value);
            }
        });
        if let Some((weight, precision)) = self.intercept.as_deref_mut() {
            *weight += step * self.rate_of_intercept;
            *precision += h;
        }
        if let Some(averages) = self.averages.as_deref_mut() {
            let rate = |at: usize| self.rates.get(at).copied().unwrap_or(self.rate_of_intercept);
            averages.add(self.vector, self.features, self.intercept.is_some(), |at| {
                [step * rate(at), 0.0, 0.0, 0.0]
            });
        }
    }
}

impl State {
    /// The vector that a task learns with.
    fn vector(&self, task: TaskId) -> TaskId {
        if self.pooled { TaskId(0) } else { task }
    }

    /// The margin of the weights as they are, and the example as it counts where it was scaled.
    fn present(
        &self,
        weights: &Table,
        vector: TaskId,
        x: SparseView<'_>,
        found: &Found,
    ) -> (f64, Option<Tempered>) {
        let intercept = self.vectors.get(vector.index()).map_or(0.0, |vector| vector.intercept.0);
        let (mut margin, mut far) = (intercept, false);
        weights.for_each(x, found, |_, row, value| {
            let VectorRow { weight, size, .. } = VectorRow::of(*row);
            margin += weight * value;
            far |= is_far(value, size);
        });
        let tempered = if far { self.temper(weights, vector, x, found) } else { None };
        if let Some(tempered) = &tempered {
            margin = intercept;
            let scaled = Tempered::of(Some(tempered), x);
            weights.for_each(scaled, found, |_, row, value| margin += VectorRow::of(*row).weight * value);
        }
        (margin, tempered)
    }

    /// Scales an example if it is in other units.
    fn temper(&self, weights: &Table, vector: TaskId, x: SparseView<'_>, found: &Found) -> Option<Tempered> {
        if self.settings.loss.real().is_some() {
            return None;
        }
        let known = self.vectors.get(vector.index())?;
        let seen = known.clock.factor(self.settings.forget);
        let measure = |row: VectorRow<f64>| Measure { size: row.size, precision: seen * row.precision };
        let measures: Vec<Measure> =
            weights.held(found).map(|(_, _, row)| measure(VectorRow::of(row))).collect();
        Tempered::alone(x, &measures, &known.sizes, self.settings.intercept)
    }

    /// How far a margin is beyond that of the mean of the weights, where that is what predicts.
    fn beyond(&self, vector: TaskId, x: SparseView<'_>) -> f64 {
        let intercept = self.settings.intercept;
        self.averages.as_ref().map_or(0.0, |averages| averages.beyond(vector, x, intercept)[ALONE])
    }

    /// The unit of a vector, where labels are real.
    fn unit(&self, vector: TaskId) -> Option<Unit> {
        self.settings.loss.real()?;
        Some(match self.units.get(vector.index()) {
            Some(units) => units.of(TaskId(0)),
            None => Unit::unknown(),
        })
    }

    /// What a margin of the weights stands for.
    fn value(&self, vector: TaskId, margin: f64) -> f64 {
        self.unit(vector).map_or(margin, |unit| unit.value(margin * unit.inverse()))
    }

    /// Renews the units of a vector by an example of which this was predicted; what it asks, and the scale.
    fn renew(&mut self, example: Example<'_>, predicted: f64) -> Option<(Target, f64)> {
        self.settings.loss.real()?;
        let at = example.task.index();
        if self.units.len() <= at {
            self.units.resize(at + 1, Units::of_loss(&self.settings, false)?);
        }
        let only = Example { task: TaskId(0), ..example };
        let unit = self.units[at].learn(&only, predicted);
        Some((self.units[at].target(&unit, &only), unit.scale))
    }

    /// Learns from the margin of the weights as they are, on an example whose rows have been found; whether anything changed.
    fn update(
        &mut self,
        weights: &mut Table,
        example: Example<'_>,
        present: f64,
        renewed: Option<(Target, f64)>,
        found: &mut Found,
    ) -> bool {
        let Example { task: vector, features, label, weight, .. } = example;
        let Settings { loss, forget, intercept, prior, .. } = self.settings;
        if self.vectors.len() <= vector.index() {
            self.vectors.resize(vector.index() + 1, Vector::default());
        }
        let known = &mut self.vectors[vector.index()];
        if let Some(factor) = known.clock.tick(forget, example.time) {
            weights.change_rows(vector, |row| *VectorRow::of(row.each_mut()).precision *= factor);
            known.intercept.1 *= factor;
        }
        if label * present > loss.sure(false) || !features.norm_squared().is_finite() {
            return forget.is_some();
        }
        let (target, scale) = renewed.map_or((None, 1.0), |(target, scale)| (Some(target), scale));
        if scale <= 0.0 {
            return true;
        }
        weights.make_rows(vector, features, found);
        let mut step = VectorStep {
            weights,
            found,
            vector,
            features,
            intercept: intercept.then_some(&mut known.intercept),
            averages: self.averages.as_deref_mut(),
            prior: prior.wide,
            scale,
            rates: &mut self.rates,
            rate_of_intercept: 0.0,
        };
        let start = Start {
            loss,
            label,
            weight,
            target,
            margins: [present / scale],
            curvature: loss.curvature(present),
            seen: known.clock.factor(forget),
        };
        take_step(&mut step, &mut known.sizes, start);
        true
    }

    fn learn(&mut self, weights: &mut Table, example: Example<'_>, found: &mut Found) -> Outcome {
        let (present, tempered) = self.present(weights, example.task, example.features, found);
        let features = Tempered::of(tempered.as_ref(), example.features);
        let example = Example { features, ..example };
        let mean = present - self.beyond(example.task, example.features);
        let margin = self.value(example.task, mean) + example.offset;
        if example.weight <= 0.0 {
            return Outcome { margin, updated: false };
        }
        let renewed = self.renew(example, margin);
        let present = if renewed.is_some() { present } else { present + example.offset };
        let updated = self.update(weights, example, present, renewed, found);
        if updated && let Some(known) = self.vectors.get_mut(example.task.index()) {
            known.sizes.note(Tempered::length(tempered.as_ref()));
        }
        let Some(averages) = &mut self.averages else { return Outcome { margin, updated } };
        averages.count(example.task);
        Outcome { margin, updated: true }
    }
}

impl Alone {
    pub(super) fn new(settings: Settings, pooled: bool) -> Self {
        Self {
            weights: Table::new(),
            state: State {
                settings,
                pooled,
                vectors: Vec::new(),
                averages: settings.average.then(|| Box::new(Averages::new())),
                units: Vec::new(),
                rates: Vec::new(),
            },
            found: Default::default(),
        }
    }

    pub(super) fn margin(&self, task: TaskId, x: SparseView<'_>) -> f64 {
        let (mut found, vector) = (Found::default(), self.state.vector(task));
        self.weights.find(vector, x, &mut found);
        let (present, tempered) = self.state.present(&self.weights, vector, x, &found);
        let margin = present - self.state.beyond(vector, Tempered::of(tempered.as_ref(), x));
        self.state.value(vector, margin)
    }

    /// The variance of a margin.
    pub(super) fn variance(&self, task: TaskId, x: SparseView<'_>) -> f64 {
        let (mut found, vector) = (Found::default(), self.state.vector(task));
        let Settings { forget, intercept, prior, .. } = self.state.settings;
        let known = self.state.vectors.get(vector.index()).copied().unwrap_or_default();
        let Some(spread) = Spread::of(&known.sizes, known.clock.factor(forget)) else { return prior.wide };
        self.weights.find(vector, x, &mut found);
        let (_, tempered) = self.state.present(&self.weights, vector, x, &found);
        let x = Tempered::of(tempered.as_ref(), x);
        let inverse_prior = prior.wide.recip();
        let mut variance = if intercept { spread.constant(inverse_prior, known.intercept.1) } else { 0.0 };
        self.weights.for_each(x, &found, |_, row, value| {
            let VectorRow { precision, size, .. } = VectorRow::of(*row);
            variance += spread.share(value, size, inverse_prior, precision);
        });
        ONLY * variance
    }

    pub(super) fn learn(&mut self, example: Example<'_>) -> Outcome {
        let (found, task) = (&mut self.found[0], self.state.vector(example.task));
        self.weights.find(task, example.features, found);
        self.state.learn(&mut self.weights, Example { task, ..example }, found)
    }

    pub(super) fn learn_batch(&mut self, batch: &Batch, outcomes: &mut Vec<Outcome>) {
        if self.state.pooled {
            outcomes.extend(batch.examples().map(|example| self.learn(example)));
            return;
        }
        let Self { weights, state, found } = self;
        weights.learn_ahead(batch, found, |weights, example, found| {
            outcomes.push(state.learn(weights, example, found));
        });
    }

    pub(super) fn weights(&self, task: TaskId) -> Vec<(u32, f64)> {
        let vector = self.state.vector(task);
        let mut weights = self.weights.weights(vector, |_, row| VectorRow::of(*row).weight);
        let mut intercept = self.state.vectors.get(vector.index()).map_or(0.0, |vector| vector.intercept.0);
        if let Some(averages) = &self.state.averages {
            let mut mixture = [0.0; PARTS];
            mixture[ALONE] = 1.0;
            let (beyond, beyond_intercept) = averages.weights_beyond(vector, &mixture);
            weights = less(weights, beyond);
            intercept -= beyond_intercept;
        }
        let intercept = self.state.value(vector, intercept);
        add_intercept(&mut weights, intercept);
        weights
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.weights.heap_bytes()
            + self.state.vectors.capacity() * size_of::<Vector>()
            + self.state.averages.as_ref().map_or(0, |averages| averages.heap_bytes())
            + self.state.units.iter().map(|units| size_of::<Units>() + units.heap_bytes()).sum::<usize>()
    }

    pub(super) fn state(&self) -> AloneState {
        AloneState {
            weights: self.weights.state(|_, row| *row),
            vectors: self.state.vectors.clone(),
            averages: self.state.averages.as_ref().map(|averages| averages.state()),
            units: self.state.units.iter().map(Units::state).collect(),
        }
    }

    pub(super) fn restore(&mut self, tasks: usize, state: AloneState) -> Result<(), StateError> {
        self.weights = Table::restore(tasks, state.weights, |row: [f64; 3]| row)?;
        let sound = |vector: &Vector| {
            let (weight, precision) = vector.intercept;
            vector.sizes.is_sound() && vector.clock.is_sound() && weight.is_finite() && precision.is_finite()
        };
        // A task learns its first weight together with what else is known about it.
        let fits = self.weights.tasks() <= state.vectors.len() && state.vectors.len() <= tasks;
        if !fits || !state.vectors.iter().all(sound) {
            return Err(StateError::new("what the learners know does not fit the tasks"));
        }
        super::averages::restore(self.state.averages.as_deref_mut(), tasks, state.averages)?;
        self.state.vectors = state.vectors;
        let units = Units::of_loss(&self.state.settings, false);
        if state.units.len() != units.as_ref().map_or(0, |_| self.state.vectors.len()) {
            return Err(StateError::new("the units of labels do not fit the tasks"));
        }
        self.state.units.clear();
        for saved in state.units {
            let Some(mut units) = units.clone() else { break };
            units.restore(1, saved)?;
            self.state.units.push(units);
        }
        for (task, vector) in (0..).zip(&mut self.state.vectors) {
            vector.sizes.recall(self.weights.rows_of(TaskId(task)).map(|row| VectorRow::of(row).size));
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
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    units: Vec<UnitsState>,
}

impl AloneState {
    /// Takes out the vector of a task, unless one vector serves all; those after it come one number earlier.
    pub(super) fn remove_task(&mut self, task: usize, pooled: bool) {
        if pooled {
            return;
        }
        self.weights.remove_task(task);
        if task < self.vectors.len() {
            self.vectors.remove(task);
        }
        if task < self.units.len() {
            self.units.remove(task);
        }
        self.averages.iter_mut().for_each(|averages| averages.remove_task(task));
    }
}
