//! The settings of an interaction.

use std::fmt;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::de::{Error as _, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::choice::{NoParameters, Tunable, allow_bare_names, choice};
use crate::error::{ConfigError, ConfigProblem};
use crate::tasks::Tasks;

/// How tasks influence each other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "Self", rename_all = "kebab-case")]
#[schemars(transform = allow_bare_names)]
#[non_exhaustive]
pub enum InteractionConfig {
    /// Tasks share nothing: K separate learners (R = I)
    Independent(NoParameters),
    /// One learner for all tasks (R is all ones)
    Pooled(NoParameters),
    /// A mistake moves its task by 2/(K+1) and every other by 1/(K+1) (MP10 eq. 4)
    Pairwise(NoParameters),
    /// The strength of sharing is a parameter (MP10 eq. 5)
    Coupled(CoupledConfig),
    /// A = I + L, L the Laplacian of a task graph
    Graph(GraphConfig),
    /// A itself, symmetric positive definite
    Matrix(MatrixConfig),
}

choice!(InteractionConfig, "an interaction");

impl Default for InteractionConfig {
    fn default() -> Self {
        Self::Coupled(CoupledConfig::default())
    }
}

/// Parameters of the interaction `coupled`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CoupledConfig {
    /// Strength of sharing: 0 shares nothing, K equals `pairwise`, large values approach `pooled`; "auto" finds it (`adaptive`, `perceptron`)
    #[schemars(schema_with = "Tunable::at_least_zero")]
    pub b: Tunable,
}

impl Default for CoupledConfig {
    /// b = 1: a task's own mistakes and those of all tasks count equally.
    fn default() -> Self {
        Self { b: Tunable::Fixed(1.0) }
    }
}

/// Parameters of the interaction `graph`: either `edges` or `file`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct GraphConfig {
    /// Pairs of task names, each with an optional weight; or "complete"
    #[serde(skip_serializing_if = "Option::is_none")]
    pub edges: Option<Edges>,
    /// File with one edge per line: two task names and an optional weight
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
}

/// Parameters of the interaction `matrix`: either `rows` or `file`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct MatrixConfig {
    /// The rows of A, in the order of the declared tasks, or of the names 1, 2, … where none are declared
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows: Option<Vec<Vec<f64>>>,
    /// CSV (with or without a header of task names) or JSON file with the rows of A
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
}

/// Edges of a task graph.
#[derive(Debug, Clone, PartialEq, JsonSchema)]
#[schemars(untagged)]
#[non_exhaustive]
pub enum Edges {
    /// Every pair of tasks
    #[schemars(with = "String")]
    Complete,
    /// These pairs
    List(Vec<Edge>),
}

impl Edges {
    /// The edges written out; none for [`Edges::Complete`].
    pub(crate) fn list(&self) -> &[Edge] {
        match self {
            Self::Complete => &[],
            Self::List(edges) => edges,
        }
    }
}

/// An edge: two task names and a positive weight (1 if left out).
#[derive(Debug, Clone, PartialEq)]
pub struct Edge {
    /// One task.
    pub from: String,
    /// The other.
    pub to: String,
    /// Weight of the edge.
    pub weight: f64,
}

impl JsonSchema for Edge {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Edge".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "array",
            "description": "Two task names and an optional weight",
            "prefixItems": [{"type": ["string", "integer"]}, {"type": ["string", "integer"]}, {"type": "number"}],
            "minItems": 2,
            "maxItems": 3,
        })
    }
}

impl Serialize for Edges {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Complete => serializer.serialize_str("complete"),
            Self::List(edges) => edges.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Edges {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct EdgesVisitor;
        impl<'de> Visitor<'de> for EdgesVisitor {
            type Value = Edges;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("\"complete\" or a list of edges [\"a\", \"b\"]")
            }

            fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<Edges, E> {
                match name {
                    "complete" => Ok(Edges::Complete),
                    _ => Err(E::unknown_variant(name, &["complete"])),
                }
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut edges: A) -> Result<Edges, A::Error> {
                let mut list = Vec::new();
                while let Some(edge) = edges.next_element()? {
                    list.push(edge);
                }
                Ok(Edges::List(list))
            }
        }
        deserializer.deserialize_any(EdgesVisitor)
    }
}

impl Serialize for Edge {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if (self.weight - 1.0).abs() < f64::EPSILON {
            (&self.from, &self.to).serialize(serializer)
        } else {
            (&self.from, &self.to, self.weight).serialize(serializer)
        }
    }
}

impl<'de> Deserialize<'de> for Edge {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct EdgeVisitor;
        impl<'de> Visitor<'de> for EdgeVisitor {
            type Value = Edge;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an edge: two task names and an optional weight")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Edge, A::Error> {
                let from: TaskName =
                    parts.next_element()?.ok_or_else(|| A::Error::invalid_length(0, &self))?;
                let to: TaskName = parts.next_element()?.ok_or_else(|| A::Error::invalid_length(1, &self))?;
                let weight = parts.next_element()?.unwrap_or(1.0);
                match parts.next_element::<serde::de::IgnoredAny>()? {
                    None => Ok(Edge { from: from.0, to: to.0, weight }),
                    Some(_) => Err(A::Error::invalid_length(4, &self)),
                }
            }
        }
        deserializer.deserialize_seq(EdgeVisitor)
    }
}

/// A task name; a number stands for its digits.
pub(crate) struct TaskName(pub(crate) String);

impl<'de> Deserialize<'de> for TaskName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NameVisitor;
        impl Visitor<'_> for NameVisitor {
            type Value = TaskName;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a task name")
            }

            fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<TaskName, E> {
                Ok(TaskName(name.to_owned()))
            }

            fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<TaskName, E> {
                Ok(TaskName(number.to_string()))
            }

            fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<TaskName, E> {
                Ok(TaskName(number.to_string()))
            }
        }
        deserializer.deserialize_any(NameVisitor)
    }
}

impl InteractionConfig {
    /// Whether the learner has to find out how strongly tasks are coupled.
    pub(crate) fn is_auto(&self) -> bool {
        matches!(self, Self::Coupled(CoupledConfig { b: Tunable::Auto }))
    }

    /// All problems of the parameters themselves, for a learner that takes R as given.
    pub(crate) fn validate(&self) -> Vec<ConfigProblem> {
        if self.is_auto() {
            let message = "must be a number of at least 0; only `adaptive` and `perceptron` can find b themselves (\"auto\")";
            return vec![ConfigProblem::new("coupled.b", message)];
        }
        self.validate_tunable()
    }

    /// The same for a learner that can find the strength itself.
    pub(crate) fn validate_tunable(&self) -> Vec<ConfigProblem> {
        match self {
            Self::Independent(_)
            | Self::Pooled(_)
            | Self::Pairwise(_)
            | Self::Coupled(CoupledConfig { b: Tunable::Auto }) => Vec::new(),
            Self::Coupled(CoupledConfig { b: Tunable::Fixed(b) }) if b.is_finite() && *b >= 0.0 => Vec::new(),
            Self::Coupled(CoupledConfig { b: Tunable::Fixed(b) }) => {
                vec![ConfigProblem::new(
                    "coupled.b",
                    format!("must be a finite number of at least 0, got {b}"),
                )]
            }
            Self::Graph(graph) => graph.validate(),
            Self::Matrix(matrix) => match (&matrix.rows, &matrix.file) {
                (Some(_), None) => Vec::new(),
                _ => vec![one_of("matrix", "rows", matrix.rows.is_some(), matrix.file.is_some())],
            },
        }
    }

    /// Declares the tasks that the interaction names.
    pub(crate) fn declare(&self, tasks: &mut Tasks) -> Result<(), ConfigError> {
        match self {
            Self::Graph(GraphConfig { edges: Some(Edges::List(edges)), .. }) => {
                for name in edges.iter().flat_map(|edge| [&edge.from, &edge.to]) {
                    tasks.meet(name).map_err(|limit| {
                        let message =
                            format!("task {name:?} is not one of the {} declared tasks", limit.declared);
                        ConfigProblem::new("graph.edges", message)
                    })?;
                }
                Ok(())
            }
            Self::Matrix(MatrixConfig { rows: Some(rows), .. }) => {
                if let Some(declared) = tasks.limit().filter(|declared| *declared != rows.len()) {
                    let message = format!("{} rows, but {declared} tasks are declared", rows.len());
                    return Err(ConfigProblem::new("matrix.rows", message).into());
                }
                tasks.set_limit(Some(rows.len()));
                tasks.name_by_number();
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

impl GraphConfig {
    fn validate(&self) -> Vec<ConfigProblem> {
        if self.edges.is_some() == self.file.is_some() {
            return vec![one_of("graph", "edges", self.edges.is_some(), self.file.is_some())];
        }
        let mut seen = std::collections::BTreeSet::new();
        let mut problems = Vec::new();
        for Edge { from, to, weight } in self.edges.as_ref().map_or(&[][..], Edges::list) {
            let mut add = |message| problems.push(ConfigProblem::new("graph.edges", message));
            if from.is_empty() || to.is_empty() {
                add(format!("the edge {from:?} - {to:?} has a task without a name"));
            }
            if from == to {
                add(format!("the edge {from:?} - {to:?} joins a task to itself"));
            }
            if !(weight.is_finite() && *weight > 0.0) {
                add(format!(
                    "the edge {from:?} - {to:?} has the weight {weight}; weights must be positive and finite"
                ));
            }
            if !seen.insert((from.min(to), from.max(to))) {
                add(format!("the edge {from:?} - {to:?} is given twice"));
            }
        }
        problems
    }
}

fn one_of(path: &str, inline: &str, has_inline: bool, has_file: bool) -> ConfigProblem {
    let message = match (has_inline, has_file) {
        (true, true) => format!("`{inline}` and `file` are both given; expected one of them"),
        (false, true) => "`file` has not been read; resolve the config first".to_owned(),
        _ => format!("`{inline}` or `file` is missing"),
    };
    ConfigProblem::new(path, message)
}
