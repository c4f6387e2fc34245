//! A learner with what it needs to go on: its tasks, its counts, and how its stream was scaled.

use serde::{Deserialize, Serialize};

use crate::algorithms::{Convex, Learner, LearnerConfig};
use crate::config::RunConfig;
use crate::error::{ConfigError, ConfigProblem};
use crate::feature_names::FeatureNames;
use crate::fit::{Examples, FitError, FitOptions, Fitted, Fitter, Kind, Watch};
use crate::learner::Predict;
use crate::metrics::Metrics;
use crate::query::QueryConfig;
use crate::stream::{Preprocess, Reading};
use crate::tasks::Tasks;

/// The part of a config that a model must remember: a resumed run or a prediction without it would be another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelConfig {
    /// Number of features, where it was declared.
    pub features: Option<u32>,
    /// What text was read, and how its features got their numbers.
    #[serde(default, skip_serializing_if = "Reading::is_default")]
    pub reading: Reading,
    /// What is done to every example.
    pub preprocess: Preprocess,
    /// Whether rounds hold one example of every task.
    pub simultaneous: bool,
    /// The learner and its parameters.
    pub learner: LearnerConfig,
    /// Which labels are asked for.
    #[serde(default, skip_serializing_if = "QueryConfig::is_all")]
    pub query: QueryConfig,
    /// Seed of the draws of the query, where it draws.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
}

/// A learner, its tasks and its counts.
#[derive(Debug, Clone)]
pub struct Model {
    pub(crate) config: ModelConfig,
    pub(crate) tasks: Tasks,
    pub(crate) names: FeatureNames,
    pub(crate) learner: Learner,
    pub(crate) metrics: Metrics,
    pub(crate) rounds: u64,
}

impl Model {
    /// A fresh model of a config whose files have been read.
    ///
    /// # Errors
    /// With every problem of the config, each with its path.
    pub fn new(config: &RunConfig) -> Result<Self, ConfigError> {
        config.validate()?;
        let tasks = config.declared_tasks()?;
        let learner =
            config.learner.build_for(&tasks, config.features).map_err(|error| error.within("learner"))?;
        let config = ModelConfig {
            features: config.features,
            reading: config.stream.reading(),
            preprocess: config.stream.preprocess(),
            simultaneous: config.stream.simultaneous,
            learner: config.learner.clone(),
            query: config.query,
            seed: seed_of(config.query, config.stream.seed),
        };
        let names = fresh_names(&config);
        Ok(Self { config, tasks, names, learner, metrics: Metrics::default(), rounds: 0 })
    }

    /// Fits a batch learner to examples, whose tasks become those of the model.
    ///
    /// In classification the counts are those of the fitted margins on the same examples; real labels are not counted.
    ///
    /// # Errors
    /// With every problem of the config; when it names a learner of streams; when it does not suit the examples.
    pub fn fit(
        config: &RunConfig,
        examples: &Examples,
        options: &FitOptions,
        watch: &Watch<'_>,
    ) -> Result<(Self, Fitted), FitError> {
        config.validate()?;
        let LearnerConfig::Convex(parameters) = &config.learner else {
            let message =
                format!("`{}` learns from streams and cannot be fitted; `convex` can", config.learner.id());
            return Err(ConfigError::from(ConfigProblem::new("learner", message)).into());
        };
        let within = |error: FitError| match error {
            FitError::Config(error) => FitError::Config(error.within("learner.convex")),
            other => other,
        };
        let fitter = Fitter::new(parameters, examples, options.memory).map_err(within)?;
        let fitted = fitter.fit(parameters, None, options, watch).map_err(within)?;
        let convex = Convex::from_fit(parameters, examples, &fitted);
        let mut metrics = Metrics::default();
        if examples.kind() == Kind::Classification {
            for example in examples.examples() {
                let margin = convex.margin(example.task, example.features);
                metrics.count(example.task, example.label, margin, false, true);
            }
        }
        let config = ModelConfig {
            features: config.features,
            reading: config.stream.reading(),
            preprocess: config.stream.preprocess(),
            simultaneous: false,
            learner: config.learner.clone(),
            query: config.query,
            seed: None,
        };
        let (tasks, rounds) = (examples.tasks().clone(), examples.len() as u64);
        let (names, learner) = (fresh_names(&config), Learner::Convex(convex));
        Ok((Self { config, tasks, names, learner, metrics, rounds }, fitted))
    }

    /// What labels were, where the learner was fitted to them.
    pub fn kind(&self) -> Option<Kind> {
        match &self.learner {
            Learner::Convex(convex) => convex.kind(),
            _ => None,
        }
    }

    /// Asks for labels in another way from now on; `seed` is that of its draws.
    ///
    /// # Errors
    /// When a parameter is out of range, or the model's learner needs every label.
    pub fn set_query(&mut self, query: QueryConfig, seed: u64) -> Result<(), ConfigError> {
        let problems = query.validate(self.learner.about());
        ConfigError::check(problems).map_err(|error| error.within("query"))?;
        (self.config.query, self.config.seed) = (query, seed_of(query, seed));
        Ok(())
    }

    /// A model of the same config that has learnt nothing, to run a stream again.
    ///
    /// Declared tasks keep their numbers; tasks that were met on the way are met anew.
    ///
    /// # Errors
    /// As [`Self::new`]; not for a config that has made a model before.
    pub fn unlearnt(&self) -> Result<Self, ConfigError> {
        let mut tasks = self.tasks.clone();
        if tasks.limit().is_none() {
            tasks = Tasks::open();
            self.config.learner.declare(&mut tasks)?;
        }
        let learner = self.config.learner.build_for(&tasks, self.config.features)?;
        let (config, names) = (self.config.clone(), fresh_names(&self.config));
        Ok(Self { config, tasks, names, learner, metrics: Metrics::default(), rounds: 0 })
    }

    /// What the model remembers of its config.
    pub fn config(&self) -> &ModelConfig {
        &self.config
    }

    /// The tasks declared or met.
    pub fn tasks(&self) -> &Tasks {
        &self.tasks
    }

    /// Names of features, where they have names.
    pub fn names(&self) -> &FeatureNames {
        &self.names
    }

    /// Takes over the names of the stream that a batch learner was fitted to.
    ///
    /// # Panics
    /// When the stream was read otherwise than the model's config says.
    pub fn set_names(&mut self, names: FeatureNames) {
        assert_eq!(names.naming(), self.names.naming(), "the names are those of another stream");
        self.names = names;
    }

    /// The learner.
    pub fn learner(&self) -> &Learner {
        &self.learner
    }

    /// The counts of everything learnt so far.
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// Rounds learnt so far.
    pub fn rounds(&self) -> u64 {
        self.rounds
    }
}

/// No name yet.
fn fresh_names(config: &ModelConfig) -> FeatureNames {
    FeatureNames::new(config.reading.naming(), config.features)
}

/// The seed, where a query draws.
fn seed_of(query: QueryConfig, seed: u64) -> Option<u64> {
    (!query.is_all()).then_some(seed)
}
