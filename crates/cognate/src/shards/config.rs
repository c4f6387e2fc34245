//! The settings of shards.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::algorithms::{About, CostClass, LearnerConfig, Protocol};
use crate::config::TasksConfig;
use crate::error::ConfigProblem;

/// Most shards: each holds a little even where it has no task.
const MOST: u32 = 1 << 16;

/// Shards that learn side by side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ShardsConfig {
    /// Number of shards, each with tasks of its own; part of the model
    #[schemars(range(min = 1, max = 65536))]
    pub count: u32,
    /// After how many examples shards tell each other what they have learnt; "auto" follows the number of tasks
    pub mix: Mix,
}

impl Default for ShardsConfig {
    fn default() -> Self {
        Self { count: 1, mix: Mix::Auto }
    }
}

/// When shards are mixed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mix {
    /// About as often as there are tasks; written "auto".
    Auto,
    /// After so many examples.
    Every(u64),
}

const AUTO: &str = "auto";

impl JsonSchema for Mix {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Mix".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "anyOf": [{"type": "integer", "minimum": 1}, {"type": "string", "const": AUTO}],
        })
    }
}

impl Serialize for Mix {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Auto => serializer.serialize_str(AUTO),
            Self::Every(examples) => serializer.serialize_u64(*examples),
        }
    }
}

impl<'de> Deserialize<'de> for Mix {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MixVisitor;
        impl serde::de::Visitor<'_> for MixVisitor {
            type Value = Mix;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a number of examples or \"auto\"")
            }

            fn visit_u64<E: serde::de::Error>(self, examples: u64) -> Result<Mix, E> {
                Ok(Mix::Every(examples))
            }

            fn visit_i64<E: serde::de::Error>(self, examples: i64) -> Result<Mix, E> {
                let refused = |_| E::invalid_value(serde::de::Unexpected::Signed(examples), &self);
                u64::try_from(examples).map(Mix::Every).map_err(refused)
            }

            fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<Mix, E> {
                match name {
                    AUTO => Ok(Mix::Auto),
                    _ => Err(E::invalid_value(serde::de::Unexpected::Str(name), &self)),
                }
            }
        }
        deserializer.deserialize_any(MixVisitor)
    }
}

impl ShardsConfig {
    /// Whether there is one shard, which is no sharding.
    pub fn is_one(&self) -> bool {
        *self == Self::default()
    }

    /// Everything wrong with it, for a learner and the tasks that are declared.
    pub(crate) fn validate(
        &self,
        learner: &LearnerConfig,
        tasks: Option<&TasksConfig>,
    ) -> Vec<ConfigProblem> {
        let mut problems = Vec::new();
        if !(1..=MOST).contains(&self.count) {
            let message = format!("must be from 1 to {MOST}, got {}", self.count);
            problems.push(ConfigProblem::new("count", message));
        }
        match self.mix {
            Mix::Every(0) => {
                let message = "must be \"auto\" or at least 1, got 0; 1 mixes after every example";
                problems.push(ConfigProblem::new("mix", message));
            }
            Mix::Every(most) if most > crate::count::MOST => {
                let message = format!("must be at most {}, got {most}", crate::count::MOST);
                problems.push(ConfigProblem::new("mix", message));
            }
            Mix::Every(_) if self.count == 1 => {
                let message =
                    "there is one shard, which has nothing to mix; set the number of shards as well";
                problems.push(ConfigProblem::new("mix", message));
            }
            Mix::Every(_) | Mix::Auto => {}
        }
        if self.count <= 1 {
            return problems;
        }
        if let Some(why) = learner.unshardable() {
            let message = format!("`{}` learns in one shard only: {why}", learner.id());
            problems.push(ConfigProblem::new("count", message));
        }
        let declared = tasks.map(|tasks| match tasks {
            TasksConfig::Count(count) => *count as usize,
            TasksConfig::Names(names) => names.len(),
        });
        if let Some(declared) = declared.filter(|declared| (self.count as usize) > *declared) {
            let message =
                format!("{} shards for {declared} declared tasks; at most one per task", self.count);
            problems.push(ConfigProblem::new("count", message));
        }
        problems
    }
}

/// Why the tasks of a learner cannot be spread over shards, whatever its parameters, if they cannot.
pub(crate) fn why_not(about: &About) -> Option<&'static str> {
    (!about.shardable).then_some(match about.cost_class {
        CostClass::Batch => "it is fitted to all examples at once",
        CostClass::PerPair => {
            "it keeps a number for every pair of tasks, and a shard would know its own tasks only"
        }
        CostClass::PerExample | CostClass::Budget => "it keeps examples of all tasks together",
        CostClass::PerTask => "every example moves all tasks",
        CostClass::PerFeature if about.protocol == Protocol::AllTasks => {
            "a round needs an example of every task"
        }
        CostClass::PerFeature => {
            "what its tasks share is more than sums, and changes to it cannot be added up yet"
        }
    })
}
