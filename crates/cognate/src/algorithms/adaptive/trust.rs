//! What sets a task apart from the others: how much it trusts its own part and the shared one, and which side it is on.
//!
//! Trust multiplies what the mixture makes of the two parts, z = (own, shared), by f = 1 + `more`. It is learnt per task by the
//! second-order step of `mixer`, in two dimensions, from `more` = 0: an outlier leaves what the others share, and nobody else
//! does.
//!
//! The side, from -1 to 1, is how sure the task is that its labels go with what the pooled member says, u cut to [-1, 1]. It is
//! found by a logistic regression of the labels on u, with weight `lean` and precision c:
//!
//! ```text
//! t = sigmoid(-(y lean u + u^2 t / c))      lean += y t u / c      c += h u^2      side = lean sqrt(c) cut to [-1, 1]
//! ```
//!
//! The task learns and uses the shared weights times its side. So tasks that are opposed teach each other, where they would undo
//! what the others learn, and one that is not sure teaches little. Sides and trusts are a learnt relation of rank one.
#![expect(clippy::inline_always, reason = "only what is inlined is compiled for wide vectors")]

use super::mixer::LONGEST;

/// Prior precision of `more`: most tasks trust like the others. Where one label is rare, both parts speak for the other one most of
/// all, and a trust that is sooner moved takes what sets levels apart for what sets parts apart.
const PRIOR: f64 = 20.0;
/// Lean before anything is known, and its precision: labels go with the pooled member, as those of a relative would. The side is 1
/// until a few examples speak against it.
const RELATED: Lean = Lean { weight: 1.0, precision: 6.0 };
/// u is cut to this: the pooled member speaks loudly before it knows anything, so that little more than its sign counts.
pub(super) const LOUDEST: f64 = 1.0;

/// How a task's labels go with what a pooled member says: a logistic regression on one number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Lean {
    pub(super) weight: f64,
    pub(super) precision: f64,
}

impl Default for Lean {
    fn default() -> Self {
        RELATED
    }
}

impl Lean {
    /// Learns from what was said, cut to [`LOUDEST`], by a signed implicit step y t and the curvature where it began.
    #[inline(always)]
    pub(super) fn learn(&mut self, said: f64, step: f64, h: f64) {
        self.weight += step * said / self.precision;
        self.precision += h * said * said;
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Trust {
    /// More than 1: of the own part, of the shared.
    more: [f64; 2],
    /// Precision: of the own, of both, of the shared.
    precision: [f64; 3],
    lean: Lean,
}

/// What a trust makes of an example before it learns: two implicit steps are to be taken, with these margins and variances.
#[derive(Debug, Clone, Copy)]
pub(super) struct Weighed {
    /// Of what it trusts, and of how it leans.
    pub(super) agreed: [f64; 2],
    pub(super) variance: [f64; 2],
    parts: [f64; 2],
    solved: [f64; 2],
    pooled: f64,
}

/// Numbers that a trust is saved as.
pub(super) const NUMBERS: usize = 7;

impl Default for Trust {
    fn default() -> Self {
        Self { more: [0.0; 2], precision: [PRIOR, 0.0, PRIOR], lean: Lean::default() }
    }
}

fn towards(entry: &mut f64, keep: f64, start: f64) {
    *entry = keep * *entry + (1.0 - keep) * start;
}

impl Trust {
    /// What own and shared parts are multiplied by, the side not counted.
    #[inline(always)]
    pub(super) fn factors(&self) -> [f64; 2] {
        self.more.map(|more| 1.0 + more)
    }

    /// Whether the labels go with the pooled member or against it: one deviation from nothing is sure.
    #[inline(always)]
    pub(super) fn side(&self) -> f64 {
        (self.lean.weight * self.lean.precision.sqrt()).clamp(-1.0, 1.0)
    }

    /// Takes over how the labels go with another pooled member.
    pub(super) fn turn(&mut self, lean: Lean) {
        self.lean = lean;
    }

    /// Trusts as the others do; the side stays.
    pub(super) fn begin_again(&mut self) {
        *self = Self { lean: self.lean, ..Self::default() };
    }

    /// How much of the precisions is left.
    pub(super) fn fade(&mut self, keep: f64) {
        let start = Self::default();
        self.precision.iter_mut().zip(start.precision).for_each(|(entry, start)| towards(entry, keep, start));
        towards(&mut self.lean.precision, keep, start.lean.precision);
    }

    /// Weighs what the mixture makes of the two parts, on the task's side, and what the pooled member says to all; none where
    /// that is no number.
    #[inline(always)]
    pub(super) fn weigh(&self, label: f64, parts: [f64; 2], pooled: f64) -> Option<Weighed> {
        if !(parts[0].is_finite() && parts[1].is_finite() && pooled.is_finite()) {
            return None;
        }
        let longest = parts[0].abs().max(parts[1].abs());
        let shorten = if longest > LONGEST { LONGEST / longest } else { 1.0 };
        let z = parts.map(|part| part * shorten);
        let [own, both, shared] = self.precision;
        let determinant = own * shared - both * both;
        let solved = [(shared * z[0] - both * z[1]) / determinant, (own * z[1] - both * z[0]) / determinant];
        let factors = self.factors();
        let (pooled, lean) = (pooled.clamp(-LOUDEST, LOUDEST), self.lean);
        Some(Weighed {
            agreed: [label * (factors[0] * z[0] + factors[1] * z[1]), label * lean.weight * pooled],
            variance: [solved[0] * z[0] + solved[1] * z[1], pooled * pooled / lean.precision],
            parts: z,
            solved,
            pooled,
        })
    }

    /// Learns from an example that it has weighed, by the two implicit steps, signed, and the curvatures where they began.
    #[inline(always)]
    pub(super) fn learn(&mut self, weighed: &Weighed, steps: [f64; 2], curvatures: [f64; 2]) {
        let Weighed { parts: z, solved, pooled, .. } = *weighed;
        let ([step, turn], [h, h_of_lean]) = (steps, curvatures);
        self.more[0] += step * solved[0];
        self.more[1] += step * solved[1];
        self.precision[0] += h * z[0] * z[0];
        self.precision[1] += h * z[0] * z[1];
        self.precision[2] += h * z[1] * z[1];
        self.lean.learn(pooled, turn, h_of_lean);
    }

    pub(super) fn numbers(&self) -> [f64; NUMBERS] {
        let Self { more, precision, lean } = *self;
        [more[0], more[1], precision[0], precision[1], precision[2], lean.weight, lean.precision]
    }

    /// From before sides had shades: the side comes before the lean, which is on that side.
    pub(super) fn from_sided(numbers: &[f64; NUMBERS + 1]) -> Option<Self> {
        let [own, shared, a, b, c, side, lean, sure] = *numbers;
        let certain = side * lean.max(1.0 / sure.sqrt());
        (side.abs() == 1.0).then(|| Self::from_numbers(&[own, shared, a, b, c, certain, sure]))?
    }

    /// None where the numbers are no trust.
    pub(super) fn from_numbers(numbers: &[f64; NUMBERS]) -> Option<Self> {
        let [own, shared, a, b, c, weight, sure] = *numbers;
        let sound = numbers.iter().all(|number| number.is_finite())
            && a > 0.0
            && (a * c - b * b).is_finite()
            && a * c > b * b
            && sure > 0.0;
        sound.then_some(Self {
            more: [own, shared],
            precision: [a, b, c],
            lean: Lean { weight, precision: sure },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::rule::implicit_steps;
    use super::*;

    fn learn(trust: &mut Trust, label: f64, parts: [f64; 2], pooled: f64) {
        let weighed = trust.weigh(label, parts, pooled).unwrap();
        let taken = implicit_steps(weighed.agreed, weighed.variance);
        trust.learn(&weighed, taken.steps.map(|t| label * t), taken.curvatures);
    }

    #[test]
    fn an_outlier_leaves_what_the_others_share_and_an_opponent_turns_it_round() {
        let (mut outlier, mut opponent, mut relative) =
            (Trust::default(), Trust::default(), Trust::default());
        for round in 0..1600 {
            let label = if round % 2 == 0 { 1.0 } else { -1.0 };
            let unrelated = if round % 4 < 2 { 1.0 } else { -1.0 };
            let mostly = if round % 5 == 0 { -label } else { label };
            learn(&mut outlier, label, [mostly, unrelated], unrelated);
            let side = opponent.side();
            learn(&mut opponent, label, [0.5 * label, -label * side], -label);
            learn(&mut relative, label, [0.5 * label, label], label);
        }
        assert!(outlier.factors()[1].abs() < 0.2 && outlier.factors()[0] > 1.0, "{outlier:?}");
        assert!(opponent.side() < 0.0 && opponent.factors()[1] > 1.0, "{opponent:?}");
        assert!(relative.side() > 0.0 && relative.factors()[1] > 1.0, "{relative:?}");
        for trust in [outlier, opponent, relative] {
            assert_eq!(Trust::from_numbers(&trust.numbers()), Some(trust));
        }
        assert_eq!(Trust::from_numbers(&[0.0; NUMBERS]), None);
        assert!(outlier.weigh(1.0, [f64::NAN, 1.0], 1.0).is_none());
    }
}
