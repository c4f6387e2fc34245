//! In what units real labels are learnt: per task a centre c and a scale S, so that c + S M is predicted for a margin M.
//!
//! State per task: what is known about c, its precision n, and d, the mean of |y - c|. Of all tasks: the mean of labels, the mean
//! of ln d, the noise of `real`, and for quantiles a lift g per level (`mixer`).
//!
//! ```text
//! S       d^(n/(n + 6)) e^(6/(n + 6) mean of ln d), or d alone where the two are ten times apart; a d that is so small must
//!         be of 3 examples, for a label may be near c by chance
//! first   the first label of all is c; a task begins at the mean of labels, or at its first label if that is 10 S away
//! then    from the error of what was predicted, by a step of the loss with the variance 1 / (n + 4 h): c += S t / (n + 4 h), n += h;
//!         from y - c where the prediction had been cut, which says nothing about c and would let it go away from all labels
//! noise   sum of squares of errors in units of S, each cut to 4 (25 for `poisson`), over examples, from 1 on
//! lift    M is predicted as M + g; g += r mean |error| (q - [y below]), r = 1/20, or 5/4 |2 q - 1| / n while that is more,
//!         n examples after the first: weights that few examples were learnt into are off by most of a quantile's distance
//! most    margins that predict, and parts that the mixture weighs, are cut to 1.25 times the largest |y - c| / S so far, which is
//!         from 3 to 1000; own weights in units of S to most sqrt(n h c_k) / (u_k + c_k), n the task's examples (`step`)
//! ```
//!
//! c and S are renewed before an example teaches weights. Own weights are kept in units of the label and not of S, so that what a
//! task has learnt on its own stands when S changes; what is shared is in units of S, so that tasks in other units can share. With
//! one vector there is nothing to begin from and the 4 and the 6 are 0. For `poisson` S is 1, c is a logarithm and M is cut to
//! [-30, 30]. Without an intercept c is 0. The lift makes the share of labels below a quantile what it should be whatever else is wrong, as adaptive
//! conformal inference does (Gibbs and Candès 2021).

use serde::{Deserialize, Serialize};

use super::config::Settings;
use super::real::{MOST, Real, Target, density, rate};
use super::rule::{HalfLife, passed};
use crate::block::Block;
use crate::error::StateError;
use crate::example::{Example, TaskId};

/// Examples that the mean of all labels is worth as the centre of a task.
const CENTRE: f64 = 4.0;
/// Examples that the usual scale is worth as that of a task.
const SCALE: f64 = 6.0;
/// A label this many scales away is in other units, and so is a scale this many times another.
const OTHER_UNITS: f64 = 10.0;
/// Largest squares of errors that count as noise.
const LOUDEST: f64 = 4.0;
const LOUDEST_COUNT: f64 = 25.0;
/// The least noise.
const QUIETEST: f64 = 1e-9;
/// Examples of a task whose deviation may be believed to be so small.
const SURELY_SMALL: f64 = 3.0;
/// How fast the lift follows, times the mean absolute error.
const LIFT: f64 = 0.05;
/// How fast it follows the first example, times |2 q - 1|: the median is found without it.
const FIRST_LIFT: f64 = 1.25;
/// Share of the largest margin from which on one counts as cut.
const CUT: f64 = 1.0 - 1e-9;
/// An example lifts as so many at most.
const MOST_LIFTED: f64 = 10.0;

/// What is known about a task.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Known {
    /// Its examples.
    examples: f64,
    centre: f64,
    precision: f64,
    /// Examples that the deviation is the mean of, by importance.
    measured: f64,
    deviation: f64,
    /// The largest |y - c|.
    reach: f64,
    /// When its last example was, where time is what passes.
    latest: Option<f64>,
}

/// Numbers that this is saved as.
const NUMBERS: usize = 7;
/// The time of what has none, in a saved form.
const NEVER: f64 = f64::INFINITY;

impl Known {
    fn numbers(&self) -> [f64; NUMBERS] {
        let latest = self.latest.unwrap_or(NEVER);
        [self.examples, self.centre, self.precision, self.measured, self.deviation, self.reach, latest]
    }

    fn of(numbers: &[f64; NUMBERS]) -> Self {
        let [examples, centre, precision, measured, deviation, reach, latest] = *numbers;
        let latest = latest.is_finite().then_some(latest);
        Self { examples, centre, precision, measured, deviation, reach, latest }
    }
}

/// What is known about all tasks.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct All {
    /// Of labels: their importance, and the mean.
    labels: f64,
    mean: f64,
    /// Tasks that have a deviation, and the sum of the logarithms.
    deviations: f64,
    logarithms: f64,
    /// Sums over examples by importance: of those, of squares of errors, of errors.
    examples: f64,
    squares: f64,
    errors: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    latest: Option<f64>,
}

/// The unit of a task.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Unit {
    /// c.
    pub(super) centre: f64,
    /// S; 0 while nothing is known.
    pub(super) scale: f64,
    /// g, 0 but for quantiles.
    pub(super) lift: f64,
    /// Margins at most.
    most: f64,
}

/// Predictions at most, times the largest deviation of a label so far: what is far beyond all labels is an accident.
const BEYOND: f64 = 1.25;
/// The same in units of S, whatever labels have been.
const NEAREST: f64 = 3.0;

/// Margins of `poisson` at most: a rate that many times as large as another is an accident.
const MOST_LOGARITHM: f64 = 30.0;

impl Unit {
    /// While nothing is known.
    pub(super) fn unknown() -> Self {
        Self { centre: 0.0, scale: 0.0, lift: 0.0, most: f64::INFINITY }
    }

    /// 1 / S, or 0.
    #[inline]
    pub(super) fn inverse(&self) -> f64 {
        if self.scale > 0.0 { self.scale.recip() } else { 0.0 }
    }

    /// A margin that is no farther away than labels are.
    #[inline]
    pub(super) fn within(&self, margin: f64) -> f64 {
        margin.clamp(-self.most, self.most)
    }

    /// What a margin in units of the task stands for.
    #[inline]
    pub(super) fn value(&self, margin: f64) -> f64 {
        self.centre + self.scale * self.within(margin + self.lift)
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Units {
    loss: Real,
    intercept: bool,
    /// Whether tasks begin from what is known about others.
    shared: bool,
    forget: Option<HalfLife>,
    tasks: Vec<Known>,
    all: All,
    /// By level, while they are met in order.
    lifts: Vec<f64>,
}

impl Units {
    /// None where labels are of two kinds. They are shared where tasks begin from what is known about others.
    pub(super) fn of_loss(settings: &Settings, shared: bool) -> Option<Self> {
        let all = All {
            labels: 0.0,
            mean: 0.0,
            deviations: 0.0,
            logarithms: 0.0,
            examples: 1.0,
            squares: 1.0,
            errors: 1.0,
            latest: None,
        };
        let Settings { intercept, forget, .. } = *settings;
        let loss = settings.loss.real()?;
        Some(Self { loss, intercept, shared, forget, tasks: Vec::new(), all, lifts: vec![0.0] })
    }

    /// What is left of what was learnt until some example, after another.
    fn keep(&self, latest: &mut Option<f64>, now: Option<f64>) -> f64 {
        match self.forget {
            None => 1.0,
            Some(HalfLife::Seconds(seconds)) => (-passed(latest, now, seconds)).exp2(),
            Some(half_life) => half_life.of_example(),
        }
    }

    fn known(&self, task: TaskId) -> Known {
        self.tasks.get(task.index()).copied().unwrap_or_default()
    }

    fn level(known: &Known) -> usize {
        (u64::BITS - (known.examples as u64).leading_zeros()) as usize
    }

    /// The unit of a task, also of one that has not been met.
    pub(super) fn of(&self, task: TaskId) -> Unit {
        let known = self.known(task);
        let lift = self.lifts[Self::level(&known).min(self.lifts.len() - 1)];
        if self.loss == Real::Poisson {
            let centre = self.centre(&known);
            return Unit { centre, scale: 1.0, lift: 0.0, most: MOST_LOGARITHM };
        }
        let (centre, scale) = (self.centre(&known), self.scale(&known));
        let reach = if known.reach > 0.0 { BEYOND * known.reach / scale } else { 0.0 };
        Unit { centre, scale, lift, most: reach.clamp(NEAREST, MOST) }
    }

    fn centre(&self, known: &Known) -> f64 {
        match () {
            () if !self.intercept => 0.0,
            () if known.examples > 0.0 || !self.shared => known.centre,
            () if self.loss == Real::Poisson => {
                ((self.all.mean * self.all.labels + 0.5) / (self.all.labels + 0.5)).ln()
            }
            () => self.all.mean,
        }
    }

    fn scale(&self, known: &Known) -> f64 {
        let All { deviations, logarithms, .. } = self.all;
        let own = known.deviation;
        if !self.shared || deviations <= 0.0 {
            return own;
        }
        let usual = logarithms / deviations;
        if own <= 0.0 {
            return usual.exp();
        }
        let apart = own.ln() - usual;
        let by_chance = apart < 0.0 && known.measured < SURELY_SMALL;
        if apart.abs() > OTHER_UNITS.ln() && !by_chance {
            return own;
        }
        (usual + apart * known.measured / (known.measured + SCALE)).exp()
    }

    /// ρ and h of a quantile.
    fn noise(&self) -> (f64, f64) {
        let All { examples, squares, errors, .. } = self.all;
        let h = density((errors / examples).max(QUIETEST));
        match self.loss {
            Real::Quantile(q) => (q * (1.0 - q) / h, h),
            _ => ((squares / examples).max(QUIETEST), h),
        }
    }

    /// What an example asks of margins in this unit.
    pub(super) fn target(&self, unit: &Unit, example: &Example<'_>) -> Target {
        let (noise, density) = self.noise();
        let (label, base) = match self.loss {
            Real::Poisson => (example.label, unit.centre + example.offset),
            _ => ((example.label - example.offset - unit.centre) * unit.inverse(), 0.0),
        };
        let mut target = Target { loss: self.loss, label, base, weight: 1.0, noise, density, plausible: 0.0 };
        let examples = self.known(example.task).examples.max(1.0);
        target.plausible = unit.most * (examples * target.curvature(0.0)).sqrt();
        Target { weight: example.weight, ..target }
    }

    /// Learns from an example and what was predicted for it, offset included; its unit from now on.
    pub(super) fn learn(&mut self, example: &Example<'_>, predicted: f64) -> Unit {
        let (task, weight) = (example.task, example.weight);
        if self.tasks.len() <= task.index() {
            self.tasks.resize(task.index() + 1, Known::default());
        }
        let before = self.of(task);
        let mut known = self.known(task);
        let (mut of_task, mut of_all) = (known.latest, self.all.latest);
        let keep = [self.keep(&mut of_task, example.time), self.keep(&mut of_all, example.time)];
        (known.latest, self.all.latest) = (of_task, of_all);
        known.precision *= keep[0];
        known.measured *= keep[0];
        self.all.labels *= keep[1];
        self.raise(&known, example, predicted);
        known.centre = self.centred(&known, &before, example, predicted);
        if self.loss == Real::Poisson {
            known.precision += weight * rate(known.centre + example.offset);
        } else {
            known.precision += weight * self.precision_of_one();
            let deviation = (example.label - example.offset - before.centre).abs();
            if known.examples > 0.0 || !self.intercept {
                known.reach = known.reach.max(deviation);
            }
            // The first of a task is about where it is.
            if known.examples > 0.0 || !self.intercept {
                self.deviate(&mut known, deviation, weight);
            }
        }
        known.examples += 1.0;
        self.tasks[task.index()] = known;
        let (label, exposure) = match self.loss {
            Real::Poisson => (example.label, rate(example.offset)),
            _ => (example.label - example.offset, 1.0),
        };
        self.all.labels += weight * exposure;
        self.all.mean += (label - self.all.mean * exposure) * weight / self.all.labels;
        let after = self.of(task);
        self.hear(&after, example, predicted, keep[1]);
        after
    }

    /// n of an example.
    fn precision_of_one(&self) -> f64 {
        match self.loss {
            Real::Quantile(_) => self.noise().1,
            _ => 1.0,
        }
    }

    /// c after an example.
    fn centred(&self, known: &Known, unit: &Unit, example: &Example<'_>, predicted: f64) -> f64 {
        if !self.intercept {
            return 0.0;
        }
        let label = example.label - example.offset;
        let first = known.examples == 0.0;
        if self.loss == Real::Poisson {
            let each = rate(unit.centre + example.offset);
            let precision = known.precision + if self.shared { CENTRE * each } else { 0.5 };
            let target = Target { base: predicted, ..self.target(unit, example) };
            return unit.centre + target.step(0.0, precision.recip()) / precision;
        }
        let far = (predicted - example.offset - unit.centre).abs();
        let is_cut = far >= CUT * unit.scale * unit.most;
        let error = if is_cut { label - unit.centre } else { example.label - predicted };
        let nothing = self.all.labels == 0.0 || (first && !self.shared);
        if nothing || (first && error.abs() > OTHER_UNITS * unit.scale) {
            return label;
        }
        if unit.scale <= 0.0 {
            return unit.centre + error * example.weight / (known.precision + example.weight);
        }
        let one = self.precision_of_one();
        let known = if self.shared { known.precision + CENTRE * one } else { known.precision };
        // The mean of one label is the label, but a quantile is not found so fast.
        let precision = if self.loss == Real::Squares { known } else { known.max(one) };
        let target = Target { label: error * unit.inverse(), ..self.target(unit, example) };
        unit.centre + unit.scale * target.step(0.0, precision.recip()) / precision
    }

    /// Takes a deviation of a task into account.
    fn deviate(&mut self, known: &mut Known, deviation: f64, weight: f64) {
        if known.deviation > 0.0 {
            self.all.logarithms -= known.deviation.ln();
            self.all.deviations -= 1.0;
        }
        known.measured += weight;
        known.deviation += (deviation - known.deviation) * weight / known.measured;
        if known.deviation > 0.0 {
            self.all.logarithms += known.deviation.ln();
            self.all.deviations += 1.0;
        }
    }

    /// Takes the error of what was predicted into account as noise.
    fn hear(&mut self, unit: &Unit, example: &Example<'_>, predicted: f64, keep: f64) {
        let (square, error) = match self.loss {
            Real::Poisson => {
                let mean = rate(predicted);
                let error = example.label - mean;
                ((error * error / mean).min(LOUDEST_COUNT), 0.0)
            }
            _ if unit.scale <= 0.0 => return,
            _ => {
                let error = ((example.label - predicted) * unit.inverse()).abs().min(LOUDEST.sqrt());
                (error * error, error)
            }
        };
        let all = &mut self.all;
        for (sum, new) in [(&mut all.examples, 1.0), (&mut all.squares, square), (&mut all.errors, error)] {
            *sum = keep * *sum + example.weight * new;
        }
    }

    /// Moves the lift of the task's level by whether the label was below.
    fn raise(&mut self, known: &Known, example: &Example<'_>, predicted: f64) {
        let Real::Quantile(q) = self.loss else { return };
        let (level, last) = (Self::level(known), self.lifts[self.lifts.len() - 1]);
        if self.lifts.len() <= level {
            self.lifts.resize(level + 1, last);
        }
        let below = if example.label <= predicted { 1.0 } else { 0.0 };
        let typical = (self.all.errors / self.all.examples).max(QUIETEST);
        if self.scale(known) > 0.0 {
            let weight = example.weight.min(MOST_LIFTED);
            let first = FIRST_LIFT * (2.0 * q - 1.0).abs() * weight / (self.all.examples + weight - 1.0);
            self.lifts[level] += first.max(LIFT * weight) * typical * (q - below);
        }
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.tasks.capacity() * size_of::<Known>() + self.lifts.capacity() * size_of::<f64>()
    }

    pub(super) fn state(&self) -> UnitsState {
        UnitsState {
            tasks: Block(self.tasks.iter().flat_map(Known::numbers).collect()),
            all: self.all,
            lifts: Block(self.lifts.clone()),
        }
    }

    pub(super) fn restore(&mut self, tasks: usize, state: UnitsState) -> Result<(), StateError> {
        let UnitsState { tasks: known, all, lifts } = state;
        let (known, rest) = known.0.as_chunks::<NUMBERS>();
        let sound = |numbers: &[f64; NUMBERS]| {
            let [examples, centre, precision, measured, deviation, reach, _] = *numbers;
            let sizes = [examples, precision, measured, deviation, reach];
            centre.is_finite() && sizes.iter().all(|size| size.is_finite() && *size >= 0.0)
        };
        let All { labels, mean, deviations, logarithms, examples, squares, errors, latest } = all;
        let positive = |sum: f64| sum.is_finite() && sum > 0.0;
        let fits = rest.is_empty() && known.len() <= tasks && known.iter().all(sound);
        let whole = [labels, mean, deviations, logarithms].iter().all(|number| number.is_finite())
            && positive(examples)
            && [squares, errors].iter().all(|sum| sum.is_finite() && *sum >= 0.0);
        let lifted = (1..=u64::BITS as usize + 1).contains(&lifts.0.len())
            && lifts.0.iter().all(|lift| lift.is_finite());
        let timed = latest.is_none_or(f64::is_finite);
        if !(fits && whole && timed && labels >= 0.0 && deviations >= 0.0 && lifted) {
            return Err(StateError::new("the units of labels do not fit the tasks"));
        }
        (self.tasks, self.all, self.lifts) = (known.iter().map(Known::of).collect(), all, lifts.0);
        Ok(())
    }
}

/// Takes saved units where there are to be some, and only there.
pub(super) fn restore(
    units: Option<&mut Units>,
    tasks: usize,
    state: Option<UnitsState>,
) -> Result<(), StateError> {
    match (units, state) {
        (Some(units), Some(state)) => units.restore(tasks, state),
        (None, None) => Ok(()),
        _ => Err(StateError::new("units of real labels are kept here and not there")),
    }
}

/// Saved form of [`Units`].
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct UnitsState {
    tasks: Block<f64>,
    all: All,
    lifts: Block<f64>,
}

impl UnitsState {
    /// Takes out a task; those after it come one number earlier.
    pub(super) fn remove_task(&mut self, task: usize) {
        let (tasks, _) = self.tasks.0.as_chunks();
        let deviation = tasks.get(task).map_or(0.0, |numbers| Known::of(numbers).deviation);
        if deviation > 0.0 {
            self.all.logarithms -= deviation.ln();
            self.all.deviations -= 1.0;
        }
        self.tasks.remove_row(task, NUMBERS);
    }
}

#[cfg(test)]
mod tests {
    use super::super::config::AdaptiveConfig;
    use super::*;
    use crate::example::SparseView;

    fn units(loss: &str) -> Units {
        let config: AdaptiveConfig = serde_json::from_value(serde_json::json!({ "loss": loss })).unwrap();
        Units::of_loss(&Settings::of(&config, true), true).unwrap()
    }

    fn learn(units: &mut Units, task: u32, label: f64, predicted: impl Fn(&Unit) -> f64) -> Unit {
        let example = Example::new(TaskId(task), SparseView::trusted(&[], &[]), label);
        let predicted = predicted(&units.of(TaskId(task)));
        units.learn(&example, predicted)
    }

    /// Of 20 tasks, with labels from 10 to 30.
    fn usual(units: &mut Units) {
        for at in 0..400 {
            learn(units, at % 20, 10.0 + f64::from((7 * at + at / 20) % 21), |unit| unit.value(0.0));
        }
    }

    #[test]
    fn a_label_that_is_near_the_centre_by_chance_makes_no_small_scale() {
        let mut units = units("squares");
        usual(&mut units);
        let (ordinary, task) = (units.of(TaskId(3)).scale, 50);
        learn(&mut units, task, 21.0, |unit| unit.value(0.0));
        for at in 1..=3 {
            let label = units.of(TaskId(task)).centre + 1e-3;
            let unit = learn(&mut units, task, label, |unit| unit.value(0.0));
            let is_small = unit.scale < 0.01 * ordinary;
            assert_eq!(is_small, at == 3, "after {at}: {unit:?}, usual {ordinary}");
            assert!(is_small || unit.scale > 0.05 * ordinary, "after {at}: {unit:?}");
        }
        // What is large is at once.
        let unit = learn(&mut units, 51, 21.0, |unit| unit.value(0.0));
        assert!(learn(&mut units, 51, 1e5, |unit| unit.value(0.0)).scale > 1e3 * unit.scale);
    }

    #[test]
    fn a_centre_stays_among_labels_though_predictions_are_cut() {
        for loss in ["squares", "absolute"] {
            let mut units = units(loss);
            usual(&mut units);
            for at in 0..500 {
                // Far too low, whatever the label: what is left of it is the least that may be predicted.
                let label = 10.0 + f64::from(13 * at % 21);
                let unit = learn(&mut units, 50, label, |unit| unit.value(-1e6));
                assert!((10.0..=30.0).contains(&unit.centre), "{loss}, after {at}: {unit:?}");
                assert!(unit.value(-1e6) > -20.0 && unit.value(1e6) < 60.0, "{loss}, after {at}: {unit:?}");
            }
        }
    }
}
