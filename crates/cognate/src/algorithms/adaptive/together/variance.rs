//! How sure tasks that share are of a margin.
//!
//! A part p that counts a_p in the margin a'z, and whose margin has the variance V_p, leaves a_p V_p of what is to be known
//! unknown: with noise of variance 1 / c and a true variance T around what the other parts say, the best weight of a part is
//! a = T / (T + 1 / c), and what is left is 1 / (1 / T + c) = a / c. So parts count by a, not by its square, and what they leave is
//! put in proportion to what they are worth together:
//!
//! ```text
//! left(own)    = |a_A V_A + a_B V_B|, at least LEAST of its terms' sizes;     left(shared) likewise, times |side|
//! worth        = a_A + side a_P + (a_B + side a_Q) / 2, at least SMALLEST     `coupled` has two parts
//! variance     = (OWN left(own) + SHARED left(shared)) / worth + MIXTURE z'H_l^-1 z + u'F_i^-1 u
//! ```
//!
//! with u the own and the shared half of a'z. Signs matter within own and within shared parts, which have learnt the same
//! examples. What the gate leaves out is in no precision; `variance` says how the factors were chosen.

use super::{SharedRow, Together};
use crate::algorithms::adaptive::mixer::{ALONE, COUPLED_OWN, COUPLED_SHARED, Doubt, PARTS, POOLED, PerPart};
use crate::algorithms::adaptive::rows::OwnRow;
use crate::algorithms::adaptive::tempering::Tempered;
use crate::algorithms::adaptive::variance::{ONLY, Spread};
use crate::example::{SparseView, TaskId};
use crate::weights::side_by_side::Found;

const OWN: f64 = 1.6;
const SHARED: f64 = 0.6;
const MIXTURE: f64 = 0.2;
const LEAST: f64 = 0.25;
const SMALLEST: f64 = 0.1;

/// What two parts leave unknown that have learnt the same examples.
fn left([one, other]: [f64; 2]) -> f64 {
    (one + other).max(LEAST * (one.abs() + other.abs()))
}

impl Together {
    /// The variance of a margin.
    pub(in crate::algorithms::adaptive) fn variance(
        &self,
        tasks: usize,
        task: TaskId,
        x: SparseView<'_>,
    ) -> f64 {
        let mut found = Found::default();
        self.weights.find(task, x, &mut found);
        let seen = self.state.see(&self.weights, task, x, &found);
        let x = Tempered::of(seen.tempered.as_ref(), x);
        let v = self.part_variances(tasks, task, x, &found);
        let (a, side) = (self.state.mixture(task), self.state.side(task));
        if !self.is_mixture() {
            return ONLY * (v[COUPLED_OWN] + v[COUPLED_SHARED]);
        }
        let own = left([a[ALONE] * v[ALONE], a[COUPLED_OWN] * v[COUPLED_OWN]]);
        let shared = left([a[POOLED] * v[POOLED], a[COUPLED_SHARED] * v[COUPLED_SHARED]]) * side.abs();
        let worth = a[ALONE] + side * a[POOLED] + 0.5 * (a[COUPLED_OWN] + side * a[COUPLED_SHARED]);
        let Doubt { mixture, trust } = self.state.mixer.doubt(task, &seen.parts);
        (OWN * own + SHARED * shared) / worth.abs().max(SMALLEST) + MIXTURE * mixture + trust
    }

    /// V of each part, the side not counted.
    fn part_variances(&self, tasks: usize, task: TaskId, x: SparseView<'_>, found: &Found) -> PerPart {
        let inverse_priors = self.state.inverse_priors(tasks);
        let seen = self.state.clock.factor(self.state.settings.forget);
        let Some(spread) = Spread::of(&self.state.sizes, seen) else { return inverse_priors.map(f64::recip) };
        let mut variances = [0.0; PARTS];
        let precisions = |shared: SharedRow<f64>, own: OwnRow<f64>| {
            [own.precision, own.precision, shared.precision, shared.precision]
        };
        self.weights.for_each(x, found, |shared, own, value| {
            let (shared, own) = (SharedRow::of(*shared), OwnRow::of(*own));
            let precisions = precisions(shared, own);
            for part in 0..PARTS {
                variances[part] += spread.share(value, shared.size, inverse_priors[part], precisions[part]);
            }
        });
        if self.state.settings.intercept {
            let own = self.state.own_intercepts.get(task.index()).copied().unwrap_or_default();
            let shared = self.state.shared_intercepts[self.weights.group(task)];
            let precisions = precisions(SharedRow::of(shared), OwnRow::of(own));
            for part in 0..PARTS {
                variances[part] += spread.constant(inverse_priors[part], precisions[part]);
            }
        }
        variances
    }
}
