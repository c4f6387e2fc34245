//! The implicit second-order step, once for all kinds of weights.
//!
//! A step moves the weights of one margin w'x, or of several margins of the same example at once. In the order in which
//! [`take_step`] takes it, with s, r and m from [`Sizes`]:
//!
//! ```text
//! grow      s_k = max(s_k, |x_k|), or less where only one value was that large (`outgrown`); where that is more than ten times as large, w_k *= s_k before / s_k after; for real labels,
//!           wherever it is larger, w_k *= (u + c_k) before / (u + c_k) after, u = m s_k^2 / (p r_k) with s_k before and after
//!           ([`Growth`])
//! measure   m = mean over examples of sum_k r_k (x_k / s_k)^2
//! rates     v_k = 1 / (m s_k^2 / (p r_k) + c_k),  c_k = sum h x_k^2 the precision of w_k;  V = sum_k v_k x_k^2
//! step      t = -w l'(y w'x + V t): the slope of the loss where the step ends, w the importance; for real labels see `real`
//! apply     w_k += y t v_k x_k,  c_k += h x_k^2, with h + (w - 1) h of where `coupled` or the only margin ends for w > 1,
//!           w h for w < 1
//! ```
//!
//! The step never overshoots, however large V is: y w'x + V t is where the margin is afterwards.
//!
//! Who takes it: a vector per task (`alone`), the members of a mixture (`together`), the tasks of a graph or a matrix
//! (`related`). They differ in where weights lie and in what x is for them, which is what [`Stepped`] asks.
#![expect(clippy::inline_always, reason = "only what is inlined is compiled for wide vectors")]

use super::real::Target;
use super::rule::{Grown, Loss, Sizes, TINY, Usual, weighted_curvature};

/// What turns a precision into a rate, the same for all features of an example.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scale {
    pub(super) usual: Usual,
    /// m, times the noise where labels are real.
    pub(super) mean: f64,
    /// The factor through which precisions are seen, see [`super::rule::Clock`].
    pub(super) seen: f64,
}

impl Scale {
    /// m s^2 / r of a feature.
    #[inline(always)]
    pub(super) fn unit(&self, size: f64) -> f64 {
        self.usual.unit(self.mean, size)
    }

    /// The same of the feature that is always 1, whose s and r are 1.
    #[inline(always)]
    pub(super) fn unit_of_intercept(&self) -> f64 {
        self.mean.max(TINY)
    }

    /// v = 1 / (m s^2 / (p r) + c).
    #[inline(always)]
    pub(super) fn rate(&self, unit: f64, prior: f64, precision: f64) -> f64 {
        (unit / prior + self.seen * precision).recip()
    }
}

/// By what weights shrink when their feature turns out to be larger than it was.
#[derive(Debug, Clone, Copy)]
pub(super) struct Growth {
    /// Priors as they were, where labels are real.
    priors: Option<Scale>,
    /// See [`Target::plausible`].
    plausible: f64,
    /// The factor through which precisions are seen.
    pub(super) seen: f64,
}

impl Growth {
    /// The factor for a weight with an inverse prior variance and a precision.
    ///
    /// A real prediction must not grow with a feature that nobody knows yet. So the prior, which is of the larger feature from
    /// now on, is believed as if it had always been so: a weight that few examples speak for shrinks by the square, and one that
    /// many do stands.
    #[inline(always)]
    pub(super) fn shrink(&self, grown: Grown, inverse_prior: f64, precision: f64) -> f64 {
        let Some(scale) = &self.priors else { return grown.other_units() };
        let seen = scale.seen * precision;
        let precise = |size: f64| scale.unit(size) * inverse_prior + seen;
        precise(grown.before) / precise(grown.after)
    }

    /// Whether labels are real.
    #[inline(always)]
    pub(super) fn is_real(&self) -> bool {
        self.priors.is_some()
    }

    /// The largest weight that the examples of a task can have spoken for, where labels are real.
    ///
    /// The size of a feature is that of all tasks, and grows without the weights of tasks that are not there. What those learnt
    /// when it was small is held to what they could have learnt had its size been known: by least squares a weight is at most
    /// |y| / |x|, lengths over their examples, and the prior takes its share of that.
    #[inline(always)]
    pub(super) fn most(&self, size: f64, inverse_prior: f64, precision: f64) -> f64 {
        let Some(scale) = &self.priors else { return f64::INFINITY };
        let seen = scale.seen * precision;
        self.plausible * seen.sqrt() / (scale.unit(size) * inverse_prior + seen)
    }
}

/// Weights that a step moves, with the example that they learn from; M margins at once.
pub(super) trait Stepped<const M: usize> {
    /// Takes the sizes of the example's values over, where weights shrink; what that changes of each margin. Steps on real labels
    /// begin there, those on labels of two kinds where the margins were.
    fn grow(&mut self, sizes: &mut Sizes, growth: &Growth) -> [f64; M];

    /// The sum of r (x / s)^2, with 1 for the feature that is always 1.
    fn normalised(&mut self, usual: Usual) -> f64;

    /// How many features the example has, and whether there is one more that is always 1.
    fn features(&self) -> (usize, bool);

    /// V of each margin, from the rates of its weights.
    fn variances(&mut self, scale: &Scale) -> [f64; M];

    /// Moves weights by their rates times the y t of their margin, and adds h x^2 to their precisions.
    fn apply(&mut self, scale: &Scale, steps: [f64; M], h: f64);
}

/// Where the steps begin.
#[derive(Debug, Clone, Copy)]
pub(super) struct Start<const M: usize> {
    pub(super) loss: Loss,
    /// y.
    pub(super) label: f64,
    /// The importance of the example.
    pub(super) weight: f64,
    /// What is learnt in place of the label, where labels are real.
    pub(super) target: Option<Target>,
    /// w'x of each margin, of the weights as they are, with the offset.
    pub(super) margins: [f64; M],
    /// h.
    pub(super) curvature: f64,
    /// The factor through which precisions are seen.
    pub(super) seen: f64,
}

/// Takes one step; see the head of the file.
#[inline(always)]
pub(super) fn take_step<const M: usize>(
    weights: &mut impl Stepped<M>,
    sizes: &mut Sizes,
    Start { loss, label, weight, target, mut margins, curvature, seen }: Start<M>,
) {
    let priors = target.map(|target| Scale { usual: sizes.usual(), mean: sizes.mean() * target.noise, seen });
    let plausible = target.map_or(0.0, |target| target.plausible);
    let changes = weights.grow(sizes, &Growth { priors, plausible, seen });
    if target.is_some() {
        margins.iter_mut().zip(changes).for_each(|(margin, change)| *margin += change);
    }
    let usual = sizes.usual();
    let (features, intercept) = weights.features();
    sizes.count(weights.normalised(usual), features, intercept);
    // The member whose curvature stands for all: `coupled`, or the only one.
    let lead = usize::from(M > 1);
    if let Some(target) = target {
        let scale = Scale { usual, mean: sizes.mean() * target.noise, seen };
        let variances = weights.variances(&scale);
        let steps: [f64; M] = std::array::from_fn(|at| target.step(margins[at], variances[at]));
        let h = target.curvature(margins[lead] + variances[lead] * steps[lead]);
        weights.apply(&scale, steps, h / seen);
        return;
    }
    let scale = Scale { usual, mean: sizes.mean(), seen };
    let variances = weights.variances(&scale);
    let agreed = margins.map(|margin| label * margin);
    let steps = loss.steps(agreed, variances.map(|variance| weight * variance)).map(|t| weight * t);
    let h = weighted_curvature(weight, curvature, || {
        loss.curvature(agreed[lead] + variances[lead] * steps[lead])
    });
    // What is new is written down as it will be seen through the factor.
    weights.apply(&scale, steps.map(|t| label * t), h / seen);
}
