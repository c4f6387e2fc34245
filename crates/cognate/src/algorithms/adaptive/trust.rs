//! What sets a task apart from the others: how much it trusts its own part and the shared one, and on which side it is.
//!
//! Trust multiplies what the mixture makes of the two parts, by 1 + more; `more` is learnt by a second-order step a task, from
//! 0, so that an outlier leaves what the others share, and nobody else does.
//!
//! The side, from -1 to 1, is how sure the task is that its labels go with what the pooled member says: it learns and uses the
//! shared weights times its side. Tasks that are opposed teach each other so, where they would undo what the others learn, and
//! one that is not sure teaches little. Sides and trusts make a relation of rank one, which is learnt.

use super::rule::{curvature, implicit_logistic};

/// Precision of trusting like the others.
const PRIOR: f64 = 5.0;
/// Longer margins are shortened before they teach: one example must not turn everything over.
const LONGEST: f64 = 20.0;
/// How the labels go with the pooled member before anything is known: as with a relative's, and how sure that is.
const RELATED: [f64; 2] = [1.0, 6.0];
/// What the pooled member says before it knows anything is said loudly; little more than its sign counts.
const LOUDEST: f64 = 1.0;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Trust {
    /// More than 1: of the own part, of the shared.
    more: [f64; 2],
    /// Precision: of the own, of both, of the shared.
    precision: [f64; 3],
    /// How the labels go with the pooled member, with its precision.
    lean: [f64; 2],
    /// What follows from that, at hand.
    side: f64,
}

/// Numbers that a trust is saved as.
pub(super) const NUMBERS: usize = 7;

impl Default for Trust {
    fn default() -> Self {
        Self { more: [0.0; 2], precision: [PRIOR, 0.0, PRIOR], lean: RELATED, side: 1.0 }.seen()
    }
}

fn towards(entry: &mut f64, keep: f64, start: f64) {
    *entry = keep * *entry + (1.0 - keep) * start;
}

impl Trust {
    /// What own and shared parts are multiplied by, the side not counted.
    #[inline]
    pub(super) fn factors(&self) -> [f64; 2] {
        self.more.map(|more| 1.0 + more)
    }

    #[inline]
    pub(super) fn side(&self) -> f64 {
        self.side
    }

    /// How much of the precisions is left.
    pub(super) fn fade(&mut self, keep: f64) {
        let start = Self::default();
        self.precision.iter_mut().zip(start.precision).for_each(|(entry, start)| towards(entry, keep, start));
        towards(&mut self.lean[1], keep, start.lean[1]);
    }

    /// Whether the labels go with the pooled member or against it: one deviation from nothing is sure.
    fn seen(self) -> Self {
        let [lean, precision] = self.lean;
        Self { side: (lean * precision.sqrt()).clamp(-1.0, 1.0), ..self }
    }

    /// Learns from what the mixture makes of the two parts, on the task's side, and from what the pooled member says to all.
    pub(super) fn learn(&mut self, label: f64, parts: [f64; 2], pooled: f64) {
        if !(parts[0].is_finite() && parts[1].is_finite() && pooled.is_finite()) {
            return;
        }
        let longest = parts[0].abs().max(parts[1].abs());
        let shorten = if longest > LONGEST { LONGEST / longest } else { 1.0 };
        let z = parts.map(|part| part * shorten);
        let [own, both, shared] = self.precision;
        let determinant = own * shared - both * both;
        let solved = [(shared * z[0] - both * z[1]) / determinant, (own * z[1] - both * z[0]) / determinant];
        let [own, shared] = self.factors();
        let margin = own * z[0] + shared * z[1];
        let step = label * implicit_logistic(label * margin, solved[0] * z[0] + solved[1] * z[1]);
        let h = curvature(margin);
        self.more[0] += step * solved[0];
        self.more[1] += step * solved[1];
        self.precision[0] += h * z[0] * z[0];
        self.precision[1] += h * z[0] * z[1];
        self.precision[2] += h * z[1] * z[1];
        self.lean(label, pooled.clamp(-LOUDEST, LOUDEST));
    }

    fn lean(&mut self, label: f64, z: f64) {
        let [lean, precision] = &mut self.lean;
        let step = label * implicit_logistic(label * *lean * z, z * z / *precision);
        let h = curvature(*lean * z);
        *lean += step * z / *precision;
        *precision += h * z * z;
        *self = self.seen();
    }

    pub(super) fn numbers(&self) -> [f64; NUMBERS] {
        let Self { more, precision, lean, side: _ } = *self;
        [more[0], more[1], precision[0], precision[1], precision[2], lean[0], lean[1]]
    }

    /// From before sides had shades: the side comes before the lean, which is on that side.
    pub(super) fn from_sided(numbers: &[f64; NUMBERS + 1]) -> Option<Self> {
        let [own, shared, a, b, c, side, lean, sure] = *numbers;
        let certain = side * lean.max(1.0 / sure.sqrt());
        (side.abs() == 1.0).then(|| Self::from_numbers(&[own, shared, a, b, c, certain, sure]))?
    }

    /// None where the numbers are no trust.
    pub(super) fn from_numbers(numbers: &[f64; NUMBERS]) -> Option<Self> {
        let [own, shared, a, b, c, lean, sure] = *numbers;
        let sound = numbers.iter().all(|number| number.is_finite())
            && a > 0.0
            && (a * c - b * b).is_finite()
            && a * c > b * b
            && sure > 0.0;
        sound
            .then(|| Self { more: [own, shared], precision: [a, b, c], lean: [lean, sure], side: 0.0 }.seen())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outlier_leaves_what_the_others_share_and_an_opponent_turns_it_round() {
        let (mut outlier, mut opponent, mut relative) =
            (Trust::default(), Trust::default(), Trust::default());
        for round in 0..400 {
            let label = if round % 2 == 0 { 1.0 } else { -1.0 };
            let unrelated = if round % 4 < 2 { 1.0 } else { -1.0 };
            let mostly = if round % 5 == 0 { -label } else { label };
            outlier.learn(label, [mostly, unrelated], unrelated);
            let side = opponent.side();
            opponent.learn(label, [0.5 * label, -label * side], -label);
            relative.learn(label, [0.5 * label, label], label);
        }
        assert!(outlier.factors()[1].abs() < 0.2 && outlier.factors()[0] > 1.0, "{outlier:?}");
        assert!(opponent.side() < 0.0 && opponent.factors()[1] > 1.0, "{opponent:?}");
        assert!(relative.side() > 0.0 && relative.factors()[1] > 1.0, "{relative:?}");
        for trust in [outlier, opponent, relative] {
            assert_eq!(Trust::from_numbers(&trust.numbers()), Some(trust));
        }
        assert_eq!(Trust::from_numbers(&[0.0; NUMBERS]), None);
    }
}
