//! The members of a mixture, and how an example moves their weights; `together` decides whether it does.
//!
//! They keep their weights side by side in one table: what all tasks of a group share in a [`SharedRow`] per feature, what is a
//! task's own in an [`OwnRow`]. The step is that of `step`, for the three margins at once; rates and variances are found part
//! by part (`lanes`), and what a shared part says about its member's margin counts times the side of the task.
#![expect(clippy::inline_always, reason = "only what is inlined is compiled for wide vectors")]

use super::averages::Averages;
use super::lanes::{Lanes, rates_of};
use super::mixer::{ALONE, COUPLED_OWN, COUPLED_SHARED, PARTS, POOLED, PerPart};
use super::outgrown::{BELOW, EARLY, Outgrown, may_be_taken_back, precision_left};
use super::rows::{OwnRow, SharedRow};
use super::rule::{Grown, Sizes, Usual, gain};
use super::step::{Growth, Scale, Stepped};
use crate::example::{SparseView, TaskId};
use crate::weights::SideBySide;
use crate::weights::short_rows::ShortRows;
use crate::weights::side_by_side::Found;

/// Numbers of a [`SharedRow`] and of an [`OwnRow`].
pub(super) const SHARED: usize = 4;
pub(super) const OWN: usize = 3;
pub(super) type Table = SideBySide<SHARED, OWN, ShortRows>;

/// A number per member: `alone`, `coupled`, `pooled`, and one that is not there, so that they fill a vector.
pub(super) type PerMember = [f64; 4];

/// Adds what a feature says to the margins of the parts.
#[inline]
pub(super) fn add_parts(parts: &mut PerPart, shared: &[f64; SHARED], own: &[f64; OWN], value: f64) {
    let (shared, own) = (SharedRow::of(shared.each_ref()), OwnRow::of(own.each_ref()));
    parts[ALONE] += own.alone * value;
    parts[COUPLED_OWN] += own.coupled * value;
    parts[POOLED] += shared.pooled * value;
    parts[COUPLED_SHARED] += shared.coupled * value;
}

/// How far the weights of a feature move, and by what its precisions grow: in the order of an [`OwnRow`] and of a [`SharedRow`].
#[inline(always)]
fn moves(steps: &PerPart, rates: &PerPart, gain: f64) -> ([f64; OWN], [f64; SHARED]) {
    let by: PerPart = std::array::from_fn(|part| steps[part] * rates[part]);
    ([by[ALONE], by[COUPLED_OWN], gain], [by[POOLED], by[COUPLED_SHARED], gain, 0.0])
}

/// `row += by`.
#[inline(always)]
fn add<const N: usize>(row: &mut [f64; N], by: &[f64; N]) {
    for at in 0..N {
        row[at] += by[at];
    }
}

/// Shrinks the weights of a feature that has grown, and adds what that changes of each part; by which factors.
#[cold]
#[inline(never)]
fn shrink(
    growth: &Growth,
    grown: Grown,
    inverse_priors: &PerPart,
    (shared, own): (&mut [f64; SHARED], &mut [f64; OWN]),
    value: f64,
    changes: &mut PerPart,
) -> PerPart {
    let (shared, own) = (SharedRow::of(shared.each_mut()), OwnRow::of(own.each_mut()));
    let precisions = [*own.precision, *own.precision, *shared.precision, *shared.precision];
    let factors = std::array::from_fn(|part| growth.shrink(grown, inverse_priors[part], precisions[part]));
    let weights = [own.alone, own.coupled, shared.pooled, shared.coupled];
    for ((weight, factor), change) in weights.into_iter().zip(&factors).zip(changes) {
        *change += (factor - 1.0) * *weight * value;
        *weight *= factor;
    }
    factors
}

/// Holds own weights to what examples can have spoken for, and adds what that changes of each part.
#[inline]
fn hold(
    growth: &Growth,
    inverse_priors: &PerPart,
    (size, scale): (f64, f64),
    own: &mut [f64; OWN],
    value: f64,
    changes: &mut PerPart,
) {
    let own = OwnRow::of(own.each_mut());
    for (part, weight) in [(ALONE, own.alone), (COUPLED_OWN, own.coupled)] {
        let most = scale * growth.most(size, inverse_priors[part], *own.precision);
        let held = weight.max(-most).min(most);
        changes[part] += (held - *weight) * value;
        *weight = held;
    }
}

/// The members and the example that they learn from.
pub(super) struct MembersStep<'a> {
    pub(super) weights: &'a mut Table,
    pub(super) found: &'a Found,
    pub(super) lanes: &'a mut Lanes,
    pub(super) averages: Option<&'a mut Averages>,
    pub(super) task: TaskId,
    pub(super) features: SparseView<'a>,
    /// Rows of the feature that is always 1, where there is one.
    pub(super) intercepts: Option<(&'a mut [f64; SHARED], &'a mut [f64; OWN])>,
    pub(super) inverse_priors: PerPart,
    pub(super) side: f64,
    /// What own weights are kept in, times the units of margins: 1 unless labels are real.
    pub(super) own_scale: f64,
    /// Whether the task has a row for every feature; those that are missing read as zero, and stay so.
    pub(super) new_too: bool,
    /// Whether all three members are there, or `coupled` only.
    pub(super) mixture: bool,
    /// v x of the feature that is always 1.
    pub(super) rates_of_intercept: PerPart,
}

impl MembersStep<'_> {
    /// How far the weights of each part go per rate: y t of their member, on the side of the task where they are shared.
    #[inline(always)]
    fn per_part(&self, [alone, coupled, pooled, _]: PerMember) -> PerPart {
        let own = self.own_scale;
        let mut steps = [own * alone, own * coupled, self.side * pooled, self.side * coupled];
        if !self.mixture {
            (steps[ALONE], steps[POOLED]) = (0.0, 0.0);
        }
        steps
    }

    /// Takes over the size of a feature that has grown, and holds own weights where labels are real; the size. See
    /// [`Stepped::grow`].
    #[cold]
    #[inline(never)]
    fn grow_one(
        &mut self,
        at: usize,
        (slot, row): (u32, u32),
        sizes: &mut Sizes,
        growth: &Growth,
        changes: &mut PerPart,
    ) -> f64 {
        let (feature, value) = (self.features.indices()[at], self.features.values()[at]);
        let mut rows = self.weights.rows_mut(self.found);
        let mut own = rows.own(row);
        let size = rows.change_shared(slot, |shared| {
            if let Some(grown) = sizes.grow(SharedRow::of(shared.each_mut()).size, value) {
                let both = (&mut *shared, &mut own);
                let factors = shrink(growth, grown, &self.inverse_priors, both, value, changes);
                if let Some(averages) = &mut self.averages
                    && factors.iter().any(|factor| *factor < 1.0)
                {
                    averages.shrink(self.task, feature, &factors);
                }
            }
            SharedRow::of(*shared).size
        });
        if growth.is_real() {
            hold(growth, &self.inverse_priors, (size, self.own_scale), &mut own, value, changes);
        }
        rows.put(row, own);
        size
    }

    /// Takes sizes back that single values have set, with what follows from them.
    #[cold]
    #[inline(never)]
    fn take_back(&mut self, sizes: &mut Sizes, seen: f64) {
        let values = self.features.values();
        let rows = self.weights.rows(self.found);
        let known = self.found.places().zip(values).map(|((slot, _), value)| {
            let SharedRow { size, precision, .. } = SharedRow::of(*rows.shared(slot));
            (*value, size, seen * precision)
        });
        if sizes.taught() >= EARLY && !may_be_taken_back(known) {
            return;
        }
        let known = values.iter().zip(&self.lanes.sizes).map(|(value, size)| (*value, *size));
        let Some(outgrown) = Outgrown::of(known, sizes, &mut self.lanes.logs) else { return };
        let mut rows = self.weights.rows_mut(self.found);
        for (at, (slot, row)) in self.found.places().enumerate() {
            let mut own = rows.own(row);
            let taken_back = rows.change_shared(slot, |shared| {
                let SharedRow { size, precision, .. } = SharedRow::of(shared.each_mut());
                let now = outgrown.shrunk(values[at], *size, seen * *precision)?;
                let before = sizes.take_back(size, now);
                *precision = precision_left(seen * *precision, before, now) / seen;
                Some((before, now))
            });
            let Some((before, now)) = taken_back else { continue };
            self.lanes.sizes[at] = now;
            let left = |precision: f64| precision_left(seen * precision, before, now) / seen;
            let kept = OwnRow::of(own.each_mut()).precision;
            // Rows that are missing must stay zero.
            if *kept > 0.0 {
                *kept = left(*kept);
                rows.put(row, own);
            }
        }
    }
}

impl Stepped<4> for MembersStep<'_> {
    fn features(&self) -> (usize, bool) {
        (self.features.len(), self.intercepts.is_some())
    }

    #[inline(always)]
    fn grow(&mut self, sizes: &mut Sizes, growth: &Growth) -> PerMember {
        let mut changes = [0.0; PARTS];
        self.lanes.clear(self.features.len());
        let (rows, mut have_grown) = (self.weights.rows(self.found), growth.is_real());
        let known = self.lanes.sizes.iter_mut().zip(self.found.places());
        for ((known, (slot, _)), value) in known.zip(self.features.values()) {
            *known = SharedRow::of(*rows.shared(slot)).size;
            have_grown |= value.abs() > *known;
        }
        if have_grown {
            for (at, (places, value)) in self.found.places().zip(self.features.values()).enumerate() {
                if value.abs() > self.lanes.sizes[at] || growth.is_real() {
                    self.lanes.sizes[at] = self.grow_one(at, places, sizes, growth, &mut changes);
                }
            }
        }
        if self.lanes.any_below(self.features.values(), BELOW) || sizes.taught() < EARLY {
            self.take_back(sizes, growth.seen);
        }
        let [alone, coupled_own, pooled, coupled_shared] = changes;
        let own = self.own_scale.recip();
        [own * alone, own * coupled_own + self.side * coupled_shared, self.side * pooled, 0.0]
    }

    #[inline(always)]
    fn normalised(&mut self, usual: Usual) -> f64 {
        self.lanes.normalised(self.features.values(), usual)
            + if self.intercepts.is_some() { 1.0 } else { 0.0 }
    }

    #[inline(always)]
    fn variances(&mut self, scale: &Scale) -> PerMember {
        let mut of_part = [0.0; PARTS];
        self.lanes.find_units(scale);
        let (rows, Lanes { units, rates, .. }) = (self.weights.rows(self.found), &mut *self.lanes);
        let values = self.features.values().iter().zip(units).zip(rates);
        for ((slot, row), ((value, unit), rates)) in self.found.places().zip(values) {
            // What does not move has nothing to say about where the step ends: a row that is missing is infinitely sure of its zeros.
            let own = match OwnRow::of(rows.own(row)).precision {
                0.0 if !self.new_too => f64::INFINITY,
                known => known,
            };
            let precisions = (own, SharedRow::of(*rows.shared(slot)).precision);
            *rates = rates_of(scale, &self.inverse_priors, *value, *unit, precisions);
            (0..PARTS).for_each(|part| of_part[part] += rates[part] * value);
        }
        if let Some((shared, own)) = &self.intercepts {
            let precisions = (OwnRow::of(**own).precision, SharedRow::of(**shared).precision);
            let unit = scale.unit_of_intercept();
            self.rates_of_intercept = rates_of(scale, &self.inverse_priors, 1.0, unit, precisions);
            (0..PARTS).for_each(|part| of_part[part] += self.rates_of_intercept[part]);
        }
        // A weight that counts times the side has that much less to say about the margin.
        of_part[POOLED] *= self.side * self.side;
        of_part[COUPLED_SHARED] *= self.side * self.side;
        [of_part[ALONE], of_part[COUPLED_OWN] + of_part[COUPLED_SHARED], of_part[POOLED], 0.0]
    }

    #[inline(always)]
    fn apply(&mut self, _: &Scale, steps: PerMember, h: f64) {
        let (steps, new_too) = (self.per_part(steps), self.new_too);
        let mut rows = self.weights.rows_mut(self.found);
        let values = self.features.values().iter().zip(&self.lanes.rates);
        for ((slot, row), (value, rates)) in self.found.places().zip(values) {
            let (by_own, by_shared) = moves(&steps, rates, gain(h, *value));
            rows.change_shared(slot, |shared| add(shared, &by_shared));
            // Rows that are missing must stay zero.
            if new_too || rates[ALONE] != 0.0 {
                let mut own = rows.own(row);
                add(&mut own, &by_own);
                rows.put(row, own);
            }
        }
        if let Some((shared, own)) = &mut self.intercepts {
            let (by_own, by_shared) = moves(&steps, &self.rates_of_intercept, h);
            add(shared, &by_shared);
            add(own, &by_own);
        }
        let (features, intercept) = (self.features, self.intercepts.is_some());
        if let Some(averages) = self.averages.as_deref_mut() {
            averages.add(self.task, features, intercept, |at| {
                let rates = self.lanes.rates.get(at).copied().unwrap_or(self.rates_of_intercept);
                std::array::from_fn(|part| steps[part] * rates[part])
            });
        }
    }
}
