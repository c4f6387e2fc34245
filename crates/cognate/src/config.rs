//! The one config tree, for TOML files, `--set`, Python keywords and code.

use std::fmt;

use schemars::JsonSchema;
use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::algorithms::LearnerConfig;
use crate::error::{ConfigError, ConfigProblem};
use crate::fit::Kind;
use crate::interaction::InteractionFileError;
use crate::query::QueryConfig;
use crate::stream::NamingConfig;
use crate::tasks::Tasks;

pub use crate::choice::{NoParameters, Tunable};
pub use crate::class_weight::{ClassWeightConfig, GivenClassWeights};
pub use crate::interaction::{
    CoupledConfig, Edge, Edges, GraphConfig, InteractionConfig, MatrixConfig, TaskGraphConfig,
};
pub use crate::kernel::{Budget, GaussianConfig, KernelConfig, LinearConfig, PolynomialConfig};
pub use crate::query::{MarginQueryConfig, RelationQueryConfig, UncertaintyQueryConfig};
pub use crate::shards::{Mix, ShardsConfig};
pub use crate::stream::StreamConfig;

/// Everything that can be set for a run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RunConfig {
    /// Number of tasks, or their names; left out, tasks are added as they occur
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tasks: Option<TasksConfig>,
    /// Number of features; left out, as many as the data have
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub features: Option<u32>,
    /// How the stream is read
    pub stream: StreamConfig,
    /// The learner
    pub learner: LearnerConfig,
    /// Which labels to ask for
    pub query: QueryConfig,
    /// Shards that learn side by side
    #[serde(skip_serializing_if = "ShardsConfig::is_one")]
    pub shards: ShardsConfig,
}

/// Most tasks that can be declared by their number alone, so that a small file cannot ask for much work.
pub(crate) const MOST_COUNTED: u32 = 1 << 20;

/// Tasks as they are declared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum TasksConfig {
    /// This many, named as they occur
    Count(u32),
    /// These
    Names(Vec<String>),
}

impl<'de> Deserialize<'de> for TasksConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TasksVisitor;
        impl<'de> Visitor<'de> for TasksVisitor {
            type Value = TasksConfig;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a number of tasks, or a list of their names")
            }

            fn visit_u64<E: serde::de::Error>(self, count: u64) -> Result<TasksConfig, E> {
                let most = || E::invalid_value(serde::de::Unexpected::Unsigned(count), &self);
                u32::try_from(count).map(TasksConfig::Count).map_err(|_| most())
            }

            fn visit_i64<E: serde::de::Error>(self, count: i64) -> Result<TasksConfig, E> {
                let negative = || E::invalid_value(serde::de::Unexpected::Signed(count), &self);
                u32::try_from(count).map(TasksConfig::Count).map_err(|_| negative())
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut names: A) -> Result<TasksConfig, A::Error> {
                let mut list = Vec::new();
                while let Some(name) = names.next_element()? {
                    list.push(name);
                }
                Ok(TasksConfig::Names(list))
            }
        }
        deserializer.deserialize_any(TasksVisitor)
    }
}

impl RunConfig {
    /// Reads the files that the config names into the config itself, so that a model does not depend on them.
    ///
    /// # Errors
    /// When a file cannot be read or its content is invalid, with the place.
    pub fn read_files(&mut self) -> Result<(), InteractionFileError> {
        let declared = match &self.tasks {
            Some(TasksConfig::Names(names)) => Some(names.as_slice()),
            _ => None,
        };
        if let Some(names) = self.learner.read_files(declared)? {
            let fits = match &self.tasks {
                None => true,
                // Another number is refused when the tasks are declared.
                Some(TasksConfig::Count(count)) => *count as usize == names.len(),
                Some(TasksConfig::Names(_)) => false,
            };
            if fits {
                self.tasks = Some(TasksConfig::Names(names));
            }
        }
        Ok(())
    }

    /// Checks the whole tree.
    ///
    /// # Errors
    /// With every problem and its path.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let within = |outer: &'static str| move |problem: ConfigProblem| problem.within(outer);
        let mut problems: Vec<ConfigProblem> = Vec::new();
        problems.extend(self.stream.validate().into_iter().map(within("stream")));
        problems.extend(self.learner.validate().into_iter().map(within("learner")));
        let class_weight = self.stream.class_weight.validate(self).into_iter();
        problems.extend(class_weight.map(within("class-weight")).map(within("stream")));
        problems.extend(
            self.query.validate(self.learner.about(), self.learner.kind()).into_iter().map(within("query")),
        );
        let shards = self.shards.validate(&self.learner, self.tasks.as_ref()).into_iter();
        problems.extend(shards.map(within("shards")));
        if self.features.is_some() && matches!(self.stream.naming, NamingConfig::Hashed(_)) {
            let message = "`stream.naming.hashed.bits` says how many there are; give one of the two";
            problems.push(ConfigProblem::new("features", message));
        }
        if self.stream.positive.is_some() && self.learner.kind() == Kind::Regression {
            let message = format!("labels of this `{}` are numbers; they have no names", self.learner.id());
            problems.push(ConfigProblem::new("stream.positive", message));
        }
        if self.features == Some(0) {
            problems.push(ConfigProblem::new("features", "must be at least 1, got 0"));
        }
        ConfigError::check(problems)
    }

    /// The tasks as they are before the first example.
    ///
    /// # Errors
    /// When names repeat, or contradict those in the interaction.
    pub fn declared_tasks(&self) -> Result<Tasks, ConfigError> {
        let mut tasks = match &self.tasks {
            None => Tasks::open(),
            Some(TasksConfig::Count(0)) => {
                return Err(ConfigProblem::new("tasks", "must be at least 1, got 0").into());
            }
            Some(TasksConfig::Count(count)) if *count > MOST_COUNTED => {
                let message = format!("at most {MOST_COUNTED} can be declared without names, got {count}");
                return Err(ConfigProblem::new("tasks", message).into());
            }
            Some(TasksConfig::Count(count)) => Tasks::counted(*count as usize),
            Some(TasksConfig::Names(names)) => {
                Tasks::named(names.iter().map(String::as_str)).map_err(|name| {
                    let what = if name.is_empty() { "is empty" } else { "is given twice" };
                    ConfigProblem::new("tasks", format!("the name {name:?} {what}"))
                })?
            }
        };
        self.learner.declare(&mut tasks).map_err(|error| error.within("learner"))?;
        Ok(tasks)
    }
}

/// The JSON schema of [`RunConfig`].
pub fn schema() -> serde_json::Value {
    schemars::schema_for!(RunConfig).to_value()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(json: &str) -> String {
        let config: RunConfig = serde_json::from_str(json).unwrap();
        let checked = config.validate().and_then(|()| {
            let tasks = config.declared_tasks()?;
            config.learner.build(&tasks).map(drop).map_err(|error| error.within("learner"))
        });
        checked.unwrap_err().to_string()
    }

    /// What becomes of the tasks and rows of a config whose matrix is in a file with a header.
    fn with_file(tasks: &str) -> Result<(Tasks, String), String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv");
        std::fs::write(&path, "b,a,7\n3,1,0\n1,4,0.5\n0,0.5,5\n").unwrap();
        let learner =
            format!("{{\"perceptron\": {{\"interaction\": {{\"matrix\": {{\"file\": {path:?}}}}}}}}}");
        let json = format!("{{\"tasks\": {tasks}, \"learner\": {learner}}}");
        let mut config: RunConfig = serde_json::from_str(&json).unwrap();
        let shown = format!("{}/", folder.path().display());
        config.read_files().map_err(|error| error.to_string().replace(&shown, ""))?;
        let tasks = config.declared_tasks().map_err(|error| error.to_string())?;
        let rows = serde_json::to_value(&config.learner).unwrap();
        Ok((tasks, rows["perceptron"]["interaction"]["matrix"]["rows"].to_string()))
    }

    #[test]
    fn a_matrix_whose_file_names_its_tasks_belongs_to_those_tasks() {
        for (tasks, names, rows) in [
            ("null", ["b", "a", "7"], "[[3.0,1.0,0.0],[1.0,4.0,0.5],[0.0,0.5,5.0]]"),
            ("3", ["b", "a", "7"], "[[3.0,1.0,0.0],[1.0,4.0,0.5],[0.0,0.5,5.0]]"),
            (r#"["a", "7", "b"]"#, ["a", "7", "b"], "[[4.0,0.5,1.0],[0.5,5.0,0.0],[1.0,0.0,3.0]]"),
        ] {
            let (found, found_rows) = with_file(tasks).unwrap();
            assert_eq!((found.names().collect::<Vec<_>>(), found_rows.as_str()), (names.to_vec(), rows));
        }
        assert_eq!(
            with_file(r#"["a", "b", "c"]"#).unwrap_err(),
            "a.csv:1:1: the header names b, a, 7; the declared tasks are a, b, c"
        );
        assert_eq!(
            with_file("2").unwrap_err(),
            "learner.perceptron.interaction.matrix.rows: 3 rows, but 2 tasks are declared"
        );
    }

    #[test]
    fn every_problem_is_named_with_its_path() {
        assert_eq!(
            problems(
                r#"{"features": 0, "stream": {"passes": 0, "clip": -1},
                    "learner": {"perceptron": {"interaction": {"coupled": {"b": -1}}}}}"#
            ),
            "stream.clip: must be positive and finite, got -1\n\
             stream.passes: must be at least 1, got 0\n\
             learner.perceptron.interaction.coupled.b: must be a finite number of at least 0, got -1\n\
             features: must be at least 1, got 0"
        );
        assert_eq!(problems(r#"{"tasks": ["a", "a"]}"#), "tasks: the name \"a\" is given twice");
        let matrix = |rows: &str, tasks: &str| {
            let learner = format!(r#"{{"perceptron": {{"interaction": {{"matrix": {{"rows": {rows}}}}}}}}}"#);
            problems(&format!(r#"{{"tasks": {tasks}, "learner": {learner}}}"#))
        };
        assert_eq!(
            matrix("[[1, 0], [0, 1]]", "3"),
            "learner.perceptron.interaction.matrix.rows: 2 rows, but 3 tasks are declared"
        );
        assert_eq!(
            matrix("[[1, 2], [2, 1]]", "2"),
            "learner.perceptron.interaction.matrix.rows: the smallest eigenvalue is -1e0 (the largest 3e0); \
             the matrix must be positive definite"
        );
        assert_eq!(
            problems(
                r#"{"tasks": ["a", "b"],
                    "learner": {"perceptron": {"interaction": {"graph": {"edges": [["a", "c"]]}}}}}"#
            ),
            "learner.perceptron.interaction.graph.edges: task \"c\" is not one of the 2 declared tasks"
        );
    }
}
