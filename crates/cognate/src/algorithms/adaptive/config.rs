//! What a user writes, and what the parts of `adaptive` make of it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::forget::Forget;
use super::real::Real;
use super::rule::{HalfLife, Loss};
use crate::algorithms::{Parameters, Unfit, check_positive};
use crate::choice::Tunable;
use crate::error::ConfigProblem;
use crate::fit::Kind;
use crate::interaction::{CoupledConfig, InteractionConfig};

/// Parameters of `adaptive`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AdaptiveConfig {
    /// How tasks influence each other
    pub interaction: InteractionConfig,
    /// Loss to minimise
    pub loss: Loss,
    /// Half-life in examples, or as a time like "7d" where examples have times (s, m, h, d or w): what was learnt that long ago
    /// counts half as much as what is new; left out, nothing is forgotten
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forget: Option<Forget>,
    /// Predict with averaged weights, recent ones weighted more: steadier, seldom better; not with `forget`
    pub average: bool,
    /// Groups that tasks sort themselves into, each with shared weights of its own: for tasks of several kinds; with b = "auto"
    #[schemars(range(min = 1, max = 64))]
    pub groups: usize,
    /// Learn a weight for a feature that is always 1
    pub intercept: bool,
    /// Length of the first steps, relative to what suits most data; positive
    #[schemars(extend("exclusiveMinimum" = 0.0))]
    pub rate: f64,
}

impl Default for AdaptiveConfig {
    fn default() -> Self {
        Self {
            interaction: InteractionConfig::Coupled(CoupledConfig { b: Tunable::Auto }),
            loss: Loss::default(),
            forget: None,
            average: false,
            groups: 1,
            intercept: true,
            rate: 1.0,
        }
    }
}

impl Parameters for AdaptiveConfig {
    fn validate(&self) -> Vec<ConfigProblem> {
        let problems = self.interaction.validate_tunable().into_iter();
        let mut problems: Vec<ConfigProblem> =
            problems.map(|problem| problem.within("interaction")).collect();
        problems.extend(check_positive("rate", self.rate));
        problems.extend(self.forget.as_ref().and_then(Forget::problem));
        problems.extend(self.loss.problem());
        if self.average && self.forget.is_some() {
            let message = "the mean of all weights forgets nothing; take `average` or `forget`";
            problems.push(ConfigProblem::new("average", message));
        }
        if !(1..=MOST_GROUPS).contains(&self.groups) {
            let message = format!("{} is not between 1 and {MOST_GROUPS}", self.groups);
            problems.push(ConfigProblem::new("groups", message));
        } else if self.groups > 1 && !self.interaction.is_auto() {
            let message =
                "tasks sort themselves where the strength of sharing is found; leave `interaction` out";
            problems.push(ConfigProblem::new("groups", message));
        } else if self.groups > 1 && self.average {
            let message = "means are of weights that all tasks share; take `average` or `groups`";
            problems.push(ConfigProblem::new("groups", message));
        }
        problems
    }

    fn kind(&self) -> Kind {
        if self.loss.real().is_some() { Kind::Regression } else { Kind::Classification }
    }

    fn unfit(&self, label: f64) -> Option<Unfit> {
        match self.loss.real()? {
            Real::Poisson if label < 0.0 => Some(Unfit::NegativeCount(label)),
            _ if label.abs() > MOST => Some(Unfit::HugeLabel(label)),
            _ => None,
        }
    }

    fn needs_times(&self) -> bool {
        matches!(self.forget, Some(Forget::Time(_)))
    }

    fn interaction(&self) -> Option<&InteractionConfig> {
        Some(&self.interaction)
    }

    fn interaction_mut(&mut self) -> Option<&mut InteractionConfig> {
        Some(&mut self.interaction)
    }
}

/// Labels at most, so that squares of them are numbers.
const MOST: f64 = 1e100;

/// Groups at most: every example is weighed against each.
const MOST_GROUPS: usize = 64;

/// Prior variance of the margins of `alone` and `pooled`, as members of a mixture.
///
/// This and the next two were measured on 22 data sets and 4 streams: few data and little noise want wide priors, many noisy
/// data narrow ones. The mixture has both; one member on its own has to do with something between.
const WIDE: f64 = 50.0;
/// Of the member `coupled` of a mixture, its own part and the shared one together.
const NARROW: f64 = 5.0;
/// Of a member that is the only one.
const ONLY: f64 = 10.0;

/// Of members for real labels, in units of the labels' deviation: it is known there how much there is to explain.
const WIDE_REAL: f64 = 10.0;
const NARROW_REAL: f64 = 1.0;

/// p: the prior variance of a member's margin, `rate` taken into account.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Prior {
    /// Of the members that are on their own or pooled, and where there is one member only.
    pub(super) wide: f64,
    /// Of the coupled member of the mixture.
    pub(super) narrow: f64,
}

/// What the parts are told.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Settings {
    pub(super) loss: Loss,
    pub(super) forget: Option<HalfLife>,
    pub(super) intercept: bool,
    pub(super) average: bool,
    pub(super) groups: usize,
    pub(super) prior: Prior,
}

impl Settings {
    pub(super) fn of(config: &AdaptiveConfig, mixture: bool) -> Self {
        let AdaptiveConfig { loss, average, groups, intercept, rate, .. } = *config;
        let forget = config.forget.as_ref().and_then(Forget::half_life);
        let (wide, narrow) = match loss.real() {
            None => (if mixture { WIDE } else { ONLY }, NARROW),
            Some(_) => (WIDE_REAL, NARROW_REAL),
        };
        Self {
            loss,
            forget,
            average,
            groups,
            intercept,
            prior: Prior { wide: wide * rate, narrow: narrow * rate },
        }
    }
}
