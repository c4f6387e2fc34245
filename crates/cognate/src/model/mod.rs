//! The one door: a model learns, predicts, explains, forgets and is saved.
//!
//! `config` is the part of its config that a model keeps; `reading` makes streams that fit it; `learn` and `rows` teach it,
//! `prepare` checks what it is to learn later, `predict` asks it, `threshold` says from which margin on it answers +1, `fit` makes one from all examples at once,
//! `explain` shows what it holds, `contributions` what made one margin, `dense` is `predict` for dense rows, `export` hands its weights out, `unusual` shows what few models hold, `forget` removes a task.
//! Saving and loading are in `snapshot.rs`.

mod config;
mod contributions;
mod dense;
mod explain;
mod export;
mod fit;
mod forget;
mod learn;
mod predict;
mod prepare;
mod reading;
mod rows;
mod threshold;
mod unknown_task;
mod unusual;

pub use config::ModelConfig;
pub use contributions::{Contribution, ContributionError, Contributions};
pub use explain::{Explanation, FeatureLabels, FeatureWeight};
pub use export::{Export, ExportError};
pub use forget::ForgetError;
pub use predict::{Prediction, Predictions, Scratch};
pub use prepare::{Prepared, Preparing};
pub use reading::OpenError;
pub use rows::{Beside, Rows};
pub use threshold::Threshold;
pub use unusual::Unusual;

use crate::algorithms::Learner;
use crate::class_weight::ClassCounts;
use crate::config::RunConfig;
use crate::error::{ConfigError, ConfigProblem, UnknownTask};
use crate::example::TaskId;
use crate::feature_names::{FeatureNames, Naming};
use crate::fit::Kind;
use crate::metrics::Metrics;
use crate::nearest::nearest_names;
use crate::query::QueryConfig;
use crate::stream::{ColumnKinds, Given, LabelNames};
use crate::tasks::Tasks;

/// A learner with everything it needs to continue: its config, tasks, names of features and counts.
#[derive(Debug, Clone)]
pub struct Model {
    pub(crate) config: ModelConfig,
    pub(crate) tasks: Tasks,
    /// What columns of `csv` hold, as far as it is known.
    pub(crate) columns: ColumnKinds,
    /// What streams have called the labels.
    pub(crate) labels: LabelNames,
    pub(crate) names: FeatureNames,
    pub(crate) learner: Learner,
    pub(crate) metrics: Metrics,
    pub(crate) rounds: u64,
    /// Labels learnt, where classes are balanced by them.
    pub(crate) class_counts: ClassCounts,
    /// The margin from which on the label +1 is predicted, if it was chosen.
    pub(crate) threshold: Option<f64>,
    /// Buffers for examples that are given one by one; not part of what is learnt.
    pub(crate) given: Given,
}

impl Model {
    /// A new model from a config whose files have been read.
    ///
    /// # Errors
    /// With every problem of the config, each with its path.
    pub fn new(config: &RunConfig) -> Result<Self, ConfigError> {
        config.validate()?;
        let tasks = config.declared_tasks()?;
        let kept = ModelConfig::of(config);
        let learner = kept.build(&tasks).map_err(|error| error.within("learner"))?;
        config.query.check(&learner).map_err(|error| error.within("query"))?;
        Ok(Self::made(kept, tasks, learner))
    }

    /// A model that has learnt nothing yet, or that the caller fills.
    fn made(config: ModelConfig, tasks: Tasks, learner: Learner) -> Self {
        let (names, metrics) = (config.fresh_names(), Metrics::default());
        let given = Given::new(config.learner.kind());
        Self {
            config,
            tasks,
            columns: ColumnKinds::default(),
            labels: LabelNames::default(),
            names,
            learner,
            metrics,
            rounds: 0,
            class_counts: ClassCounts::default(),
            threshold: None,
            given,
        }
    }

    /// A model of the same config that has learnt nothing, to run a stream again.
    ///
    /// Declared tasks keep their numbers; other tasks are added again as they occur.
    ///
    /// # Errors
    /// As [`Self::new`]; never for a config that has made a model before.
    pub fn unlearnt(&self) -> Result<Self, ConfigError> {
        let mut tasks = self.tasks.clone();
        if tasks.limit().is_none() {
            tasks = Tasks::open();
            self.config.learner.declare(&mut tasks)?;
        }
        let learner = self.config.build(&tasks)?;
        Ok(Self::made(self.config.clone(), tasks, learner))
    }

    /// Replaces the query, which decides which labels to ask for; `seed` is that of its draws.
    ///
    /// # Errors
    /// When a parameter is out of range, or the model's learner needs every label.
    pub fn set_query(&mut self, query: QueryConfig, seed: u64) -> Result<(), ConfigError> {
        let problems = query.validate(self.learner.about(), self.config.learner.kind());
        ConfigError::check(problems)
            .and_then(|()| query.check(&self.learner))
            .map_err(|error| error.within("query"))?;
        (self.config.query, self.config.seed) = (query, config::seed_of(query, seed));
        Ok(())
    }

    /// The part of the config that the model keeps.
    pub fn config(&self) -> &ModelConfig {
        &self.config
    }

    /// The config of a run that continues this model.
    pub fn run_config(&self) -> RunConfig {
        self.config.to_run(&self.tasks)
    }

    /// Kind of the labels; none for a batch learner that has not been fitted to any.
    pub fn kind(&self) -> Option<Kind> {
        match &self.learner {
            Learner::Convex(convex) => convex.kind(),
            _ => Some(self.config.learner.kind()),
        }
    }

    /// What the streams that it has learnt call the labels; not used where labels are real numbers.
    pub fn label_names(&self) -> &LabelNames {
        &self.labels
    }

    /// Names the labels, as a stream does that calls them so; names that are known stay. No name is -1, or 1.
    ///
    /// # Errors
    /// When a name is none that a file can hold, or both are the same.
    pub fn name_labels(&mut self, negative: Option<&str>, positive: Option<&str>) -> Result<(), ConfigError> {
        let mut names = self.labels.clone();
        names.adopt(&LabelNames::new(negative, positive));
        if let Some(problem) = names.problem() {
            return Err(ConfigProblem::new("labels", problem).into());
        }
        self.labels = names;
        Ok(())
    }

    /// The tasks, declared or added as they occurred.
    pub fn tasks(&self) -> &Tasks {
        &self.tasks
    }

    /// The task of a name.
    ///
    /// # Errors
    /// When there is no such task; the error lists the nearest names.
    pub fn task(&self, name: &str) -> Result<TaskId, UnknownTask> {
        self.tasks.find(name).ok_or_else(|| {
            let near = nearest_names(name, self.tasks.names());
            UnknownTask {
                name: name.to_owned(),
                nearest: near.iter().take(5).map(|name| (*name).to_owned()).collect(),
            }
        })
    }

    /// Names of features, if they have names.
    pub fn names(&self) -> &FeatureNames {
        &self.names
    }

    /// Whether features have names; false while that is undecided.
    pub fn has_names(&self) -> bool {
        self.names.naming() != Naming::Numbered
    }

    /// The learner.
    pub fn learner(&self) -> &Learner {
        &self.learner
    }

    /// Counts of everything learnt so far.
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// Number of rounds learnt so far.
    pub fn rounds(&self) -> u64 {
        self.rounds
    }

    /// Bytes held on the heap by the learner, the tasks and the names of features.
    pub fn heap_bytes(&self) -> usize {
        self.learner.as_inspect().heap_bytes() + self.tasks.heap_bytes() + self.names.heap_bytes()
    }
}
