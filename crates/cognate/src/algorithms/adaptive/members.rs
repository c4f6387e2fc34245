//! The members of a mixture, and how an example moves their weights; `together` decides whether it does.
//!
//! They keep their weights side by side in one table: what all tasks of a group share in a [`SharedRow`] per feature, what is a
//! task's own in an [`OwnRow`]. The step is that of `step`, for the three margins at once; rates and variances are found part
//! by part (`lanes`), and what a shared part says about its member's margin counts times the side of the task.
#![expect(clippy::inline_always, reason = "only what is inlined is compiled for wide vectors")]

use super::averages::Averages;
use super::lanes::{Feature, FeatureLanes, rates_of};
use super::mixer::{ALONE, COUPLED_OWN, COUPLED_SHARED, PARTS, POOLED, PerPart};
use super::rows::{OwnRow, SharedRow};
use super::rule::{Grown, Sizes, Usual, gain};
use super::step::{Growth, Scale, Stepped};
use crate::example::{SparseView, TaskId};
use crate::weights::SideBySide;
use crate::weights::side_by_side::Found;

/// Numbers of a [`SharedRow`] and of an [`OwnRow`].
pub(super) const SHARED: usize = 4;
pub(super) const OWN: usize = 3;
pub(super) type Table = SideBySide<SHARED, OWN>;

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

/// Moves a task's own weights: own parts += y t v x, precision += h x^2.
#[inline(always)]
fn apply_own(own: &mut [f64; OWN], steps: &PerPart, rates: &PerPart, gain: f64) {
    let own = OwnRow::of(own.each_mut());
    *own.alone += steps[ALONE] * rates[ALONE];
    *own.coupled += steps[COUPLED_OWN] * rates[COUPLED_OWN];
    *own.precision += gain;
}

/// The same of what is shared.
#[inline(always)]
fn apply_shared(shared: &mut [f64; SHARED], steps: &PerPart, rates: &PerPart, gain: f64) {
    let shared = SharedRow::of(shared.each_mut());
    *shared.pooled += steps[POOLED] * rates[POOLED];
    *shared.coupled += steps[COUPLED_SHARED] * rates[COUPLED_SHARED];
    *shared.precision += gain;
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
    pub(super) lanes: &'a mut FeatureLanes,
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
}

impl Stepped<4> for MembersStep<'_> {
    #[inline(always)]
    fn grow(&mut self, sizes: &mut Sizes, growth: &Growth) -> PerMember {
        let (mut indices, mut changes) = (self.features.indices().iter(), [0.0; PARTS]);
        self.lanes.clear(self.features.len());
        let mut at = 0;
        self.weights.for_each_mut(self.features, self.found, |shared, own, value| {
            let feature = indices.next();
            if let Some(grown) = sizes.grow(SharedRow::of(shared.each_mut()).size, value) {
                let factors = shrink(
                    growth,
                    grown,
                    &self.inverse_priors,
                    (&mut *shared, &mut *own),
                    value,
                    &mut changes,
                );
                if let (Some(averages), Some(feature)) = (&mut self.averages, feature)
                    && factors.iter().any(|factor| *factor < 1.0)
                {
                    averages.shrink(self.task, *feature, &factors);
                }
            }
            let SharedRow { size, precision, .. } = SharedRow::of(*shared);
            if growth.is_real() {
                hold(growth, &self.inverse_priors, (size, self.own_scale), own, value, &mut changes);
            }
            // What does not move has nothing to say about where the step ends: a row that is missing is infinitely sure of its zeros.
            let own = match OwnRow::of(*own).precision {
                0.0 if !self.new_too => f64::INFINITY,
                known => known,
            };
            self.lanes.set(at, Feature { value, size, shared: precision, own });
            at += 1;
        });
        let [alone, coupled_own, pooled, coupled_shared] = changes;
        let own = self.own_scale.recip();
        [own * alone, own * coupled_own + self.side * coupled_shared, self.side * pooled, 0.0]
    }

    #[inline(always)]
    fn normalised(&mut self, usual: Usual) -> f64 {
        self.lanes.normalised(usual) + if self.intercepts.is_some() { 1.0 } else { 0.0 }
    }

    #[inline(always)]
    fn variances(&mut self, scale: &Scale) -> PerMember {
        let mut of_part = self.lanes.find_rates(scale, &self.inverse_priors);
        if let Some((shared, own)) = &self.intercepts {
            let (shared, own) = (SharedRow::of(**shared), OwnRow::of(**own));
            let always_1 =
                Feature { value: 1.0, size: shared.size, shared: shared.precision, own: own.precision };
            self.rates_of_intercept =
                rates_of(scale, &self.inverse_priors, scale.unit_of_intercept(), always_1);
            (0..PARTS).for_each(|part| of_part[part] += self.rates_of_intercept[part]);
        }
        // A weight that counts times the side has that much less to say about the margin.
        of_part[POOLED] *= self.side * self.side;
        of_part[COUPLED_SHARED] *= self.side * self.side;
        [of_part[ALONE], of_part[COUPLED_OWN] + of_part[COUPLED_SHARED], of_part[POOLED], 0.0]
    }

    #[inline(always)]
    fn apply(&mut self, _: &Scale, steps: PerMember, h: f64) {
        let (steps, new_too, mut at) = (self.per_part(steps), self.new_too, 0);
        self.weights.for_each_mut(self.features, self.found, |shared, own, value| {
            let (rates, gain) = (self.lanes.rates(at), gain(h, value));
            apply_shared(shared, &steps, &rates, gain);
            // Rows that are missing must stay zero.
            if new_too || rates[ALONE] != 0.0 {
                apply_own(own, &steps, &rates, gain);
            }
            at += 1;
        });
        if let Some((shared, own)) = &mut self.intercepts {
            apply_shared(shared, &steps, &self.rates_of_intercept, h);
            apply_own(own, &steps, &self.rates_of_intercept, h);
        }
        let (features, intercept) = (self.features, self.intercepts.is_some());
        if let Some(averages) = self.averages.as_deref_mut() {
            averages.add(self.task, features, intercept, |at| {
                let rates = if at < features.len() { self.lanes.rates(at) } else { self.rates_of_intercept };
                std::array::from_fn(|part| steps[part] * rates[part])
            });
        }
    }
}
