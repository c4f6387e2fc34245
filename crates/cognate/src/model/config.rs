//! The part of a config that a model keeps, and the config of a run that continues it.

use serde::{Deserialize, Serialize};

use crate::algorithms::{Learner, LearnerConfig};
use crate::class_weight::ClassWeightConfig;
use crate::config::{RunConfig, ShardsConfig, TasksConfig};
use crate::error::ConfigError;
use crate::feature_names::{FeatureNames, Naming};
use crate::query::QueryConfig;
use crate::stream::{Format, NamingConfig, Preprocess, StreamConfig};
use crate::tasks::Tasks;

/// The part of a config that a model keeps, since resumed runs and predictions depend on it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ModelConfig {
    /// Number of features, where it was declared.
    pub features: Option<u32>,
    /// Format of the text.
    pub format: Format,
    /// How features get their numbers.
    pub naming: NamingConfig,
    /// Name of the label +1, where labels have names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub positive: Option<String>,
    /// Whether labels are classes.
    pub one_vs_all: bool,
    /// What is done to every example.
    pub preprocess: Preprocess,
    /// Whether rounds hold one example of every task.
    pub simultaneous: bool,
    /// The learner and its parameters.
    pub learner: LearnerConfig,
    /// Which labels to ask for.
    #[serde(default, skip_serializing_if = "QueryConfig::is_all")]
    pub query: QueryConfig,
    /// Seed of the draws of the query, where it draws.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// How much the examples of each label count when they are learnt.
    #[serde(default, skip_serializing_if = "ClassWeightConfig::is_none")]
    pub class_weight: ClassWeightConfig,
    /// Over how many shards tasks are spread, and when those are mixed.
    #[serde(default, skip_serializing_if = "ShardsConfig::is_one")]
    pub shards: ShardsConfig,
}

impl ModelConfig {
    /// The part of a config that a model keeps.
    pub fn of(config: &RunConfig) -> Self {
        let StreamConfig { format, naming, positive, one_vs_all, simultaneous, seed, .. } = &config.stream;
        Self {
            features: config.features,
            format: format.clone(),
            naming: *naming,
            positive: positive.clone(),
            one_vs_all: *one_vs_all,
            preprocess: config.stream.preprocess(),
            simultaneous: *simultaneous,
            learner: config.learner.clone(),
            query: config.query,
            seed: seed_of(config.query, *seed),
            class_weight: config.stream.class_weight,
            shards: config.shards,
        }
    }

    /// The config of a run that continues a model of these tasks; what a model does not keep has its default.
    pub fn to_run(&self, tasks: &Tasks) -> RunConfig {
        let names = || TasksConfig::Names(tasks.names().map(str::to_owned).collect());
        let declared =
            |limit: usize| if limit == tasks.len() { names() } else { TasksConfig::Count(limit as u32) };
        let Preprocess { normalize, clip, bias } = self.preprocess;
        let defaults = StreamConfig::default();
        RunConfig {
            tasks: tasks.limit().map(declared),
            features: self.features,
            stream: StreamConfig {
                format: self.format.clone(),
                naming: self.naming,
                positive: self.positive.clone(),
                one_vs_all: self.one_vs_all,
                normalize,
                clip,
                bias,
                simultaneous: self.simultaneous,
                seed: self.seed.unwrap_or(defaults.seed),
                class_weight: self.class_weight,
                ..defaults
            },
            learner: self.learner.clone(),
            query: self.query,
            shards: self.shards,
        }
    }

    /// A learner of these tasks that has learnt nothing.
    pub(crate) fn build(&self, tasks: &Tasks) -> Result<Learner, ConfigError> {
        let mut learner = self.learner.build_for(tasks, self.features)?;
        if self.shards.count > 1 {
            learner.spread(self.shards, tasks);
        }
        Ok(learner)
    }

    /// No name yet.
    pub(super) fn fresh_names(&self) -> FeatureNames {
        FeatureNames::new(self.naming.decided().unwrap_or(Naming::Numbered), self.features)
    }
}

/// The seed, where a query draws.
pub(super) fn seed_of(query: QueryConfig, seed: u64) -> Option<u64> {
    (!query.is_all()).then_some(seed)
}
