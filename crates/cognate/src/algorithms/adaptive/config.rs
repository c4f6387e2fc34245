//! What a user writes, and what the parts of `adaptive` make of it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::again::Memory;
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
    /// Groups of tasks, each with shared weights of its own: a number of groups that tasks sort themselves into, or "auto": one, until
    /// tasks turn out to be of several kinds that have nothing in common. More than one only with b = "auto";
    /// "auto" is one group with real labels, `average` and a given interaction
    pub groups: GroupCount,
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
            groups: GroupCount::Auto,
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
        let problem = match self.groups {
            GroupCount::Auto | GroupCount::Fixed(1) => None,
            GroupCount::Fixed(groups) if !(1..=MOST_GROUPS).contains(&groups) => {
                Some(format!("{groups} is not between 1 and {MOST_GROUPS}"))
            }
            _ if !self.interaction.is_auto() => Some(
                "tasks sort themselves where the strength of sharing is found; leave `interaction` out"
                    .to_owned(),
            ),
            _ if self.average => {
                Some("means are of weights that all tasks share; take `average` or `groups`".to_owned())
            }
            GroupCount::Fixed(_) => None,
        };
        problems.extend(problem.map(|message| ConfigProblem::new("groups", message)));
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

    fn remembered_bytes(&self, _: usize) -> usize {
        let remembers = self.interaction.is_auto() && self.forget.is_none() && self.loss.real().is_none();
        if remembers { Memory::LARGEST } else { 0 }
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
pub(super) const MOST_GROUPS: usize = 64;

/// How many groups there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum GroupCount {
    /// As many as the tasks' own weights show; written "auto".
    #[default]
    Auto,
    /// So many.
    Fixed(usize),
}

impl Serialize for GroupCount {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Auto => Tunable::Auto.serialize(serializer),
            Self::Fixed(count) => (*count as u64).serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for GroupCount {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Tunable::deserialize(deserializer)? {
            Tunable::Auto => Ok(Self::Auto),
            Tunable::Fixed(count) if count.fract() == 0.0 && (0.0..=u32::MAX as f64).contains(&count) => {
                Ok(Self::Fixed(count as usize))
            }
            Tunable::Fixed(other) => {
                let expected = "a whole number or \"auto\"";
                Err(serde::de::Error::invalid_value(serde::de::Unexpected::Float(other), &expected))
            }
        }
    }
}

impl JsonSchema for GroupCount {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "GroupCount".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "anyOf": [
                {"type": "integer", "minimum": 1, "maximum": MOST_GROUPS},
                {"type": "string", "const": "auto"},
            ],
        })
    }

    fn inline_schema() -> bool {
        true
    }
}

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
    /// One where there is no mixture.
    pub(super) groups: GroupCount,
    pub(super) prior: Prior,
}

impl Settings {
    pub(super) fn of(config: &AdaptiveConfig, mixture: bool) -> Self {
        let AdaptiveConfig { loss, average, groups, intercept, rate, .. } = *config;
        // Means are of weights that all tasks share, and real labels are weighed by signs alone: too little to tell kinds apart.
        let finds_groups = mixture && !average && loss.real().is_none();
        let groups = if groups == GroupCount::Auto && !finds_groups { GroupCount::Fixed(1) } else { groups };
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
