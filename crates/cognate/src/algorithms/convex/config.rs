//! The settings of a batch learner, and what they become.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::algorithms::{Parameters, check_not_negative, check_positive};
use crate::choice::{NoParameters, allow_bare_names, choice};
use crate::error::{ConfigError, ConfigProblem};
use crate::example::TaskId;
use crate::fit::{Cluster, Loss, Penalty, Terms};
use crate::interaction::{InteractionConfig, InteractionFileError};
use crate::kernel::KernelConfig;
use crate::linalg::Symmetric;
use crate::tasks::Tasks;

/// Parameters of `convex`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct ConvexConfig {
    /// Loss of a prediction
    pub loss: Loss,
    /// Sum the losses of each task, or average them so that tasks count equally
    pub weights: ConvexWeights,
    /// How the similarity of two examples is measured
    pub kernel: KernelConfig,
    /// Penalty on the structure A of the tasks
    pub penalty: PenaltyConfig,
    /// Weight of the penalty, positive
    #[schemars(extend("exclusiveMinimum" = 0.0))]
    pub lambda: f64,
    /// Weight of the squared norm of all weights, whatever the structure; MTRL's lambda_1
    #[schemars(range(min = 0.0))]
    pub ridge: f64,
    /// Give every task an intercept, without a penalty
    pub intercept: bool,
    /// Weight of a barrier: delta^2 tr(A^-1) keeps A away from singular matrices; 0 solves the problem itself
    #[schemars(range(min = 0.0))]
    pub delta: f64,
    /// How far above the minimum the objective may end, relative to it
    #[schemars(extend("exclusiveMinimum" = 0.0))]
    pub tolerance: f64,
    /// Largest number of iterations
    #[schemars(range(min = 1))]
    pub max_iterations: u32,
}

impl Default for ConvexConfig {
    fn default() -> Self {
        Self {
            loss: Loss::Squares,
            weights: ConvexWeights::Sum,
            kernel: KernelConfig::default(),
            penalty: PenaltyConfig::default(),
            lambda: 1.0,
            ridge: 0.0,
            intercept: true,
            delta: 0.0,
            tolerance: 1e-6,
            max_iterations: 2000,
        }
    }
}

/// How the losses of a task are combined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ConvexWeights {
    /// Summed: every example counts equally
    #[default]
    Sum,
    /// Averaged: every task counts equally (CS15 eq. 1)
    Mean,
}

/// Penalty on the structure A of the tasks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "Self", rename_all = "kebab-case")]
#[schemars(transform = allow_bare_names)]
#[non_exhaustive]
pub enum PenaltyConfig {
    /// F(A) = |A|_p^p: p = 1 prefers tasks that span few dimensions (MTFL), p = 2 is output kernel learning (OKL)
    Schatten(SchattenConfig),
    /// Tr A = 1 (MTRL, which has a `ridge` too)
    TraceOne(NoParameters),
    /// Tasks in groups (MTCL)
    Cluster(ClusterConfig),
    /// F(A) = tau tr A - mu log det A
    LogDet(LogDetConfig),
    /// The same few features for all tasks: the (2,1)-norm, for the linear kernel
    Rows(NoParameters),
    /// A is known: from an interaction (graph, variance, matrix), or from a code of the labels
    Fixed(FixedConfig),
    /// Separate tasks: A = I
    None(NoParameters),
}

choice!(PenaltyConfig, "a penalty");

impl Default for PenaltyConfig {
    fn default() -> Self {
        Self::Schatten(SchattenConfig::default())
    }
}

/// Parameters of the penalty `schatten`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SchattenConfig {
    /// The norm, at least 1
    #[schemars(range(min = 1.0))]
    pub p: f64,
}

impl Default for SchattenConfig {
    fn default() -> Self {
        Self { p: 1.0 }
    }
}

/// Parameters of the penalty `cluster`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ClusterConfig {
    /// Number of groups, at most the number of tasks
    #[schemars(range(min = 1))]
    pub clusters: u32,
    /// Cost of the mean of all tasks, positive
    #[schemars(extend("exclusiveMinimum" = 0.0))]
    pub mean: f64,
    /// Cost of the differences between groups, positive
    #[schemars(extend("exclusiveMinimum" = 0.0))]
    pub between: f64,
    /// Cost of the differences within groups, more than `between`
    #[schemars(extend("exclusiveMinimum" = 0.0))]
    pub within: f64,
}

impl Default for ClusterConfig {
    fn default() -> Self {
        Self { clusters: 2, mean: 1.0, between: 1.0, within: 10.0 }
    }
}

/// Parameters of the penalty `log-det`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LogDetConfig {
    /// Weight of -log det A, positive
    #[schemars(extend("exclusiveMinimum" = 0.0))]
    pub mu: f64,
    /// Weight of tr A, positive
    #[schemars(extend("exclusiveMinimum" = 0.0))]
    pub tau: f64,
}

impl Default for LogDetConfig {
    fn default() -> Self {
        Self { mu: 1.0, tau: 1.0 }
    }
}

/// Parameters of the penalty `fixed`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FixedConfig {
    /// The inverse of A: `coupled` with b is the variance of the tasks around their mean, `graph` is I + L
    pub interaction: InteractionConfig,
    /// Instead of `interaction`: a code L of the labels, with one row per dimension and one column per task; A = L'L
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coding: Option<Vec<Vec<f64>>>,
}

/// K x K matrices beyond this take gigabytes, and minutes per iteration.
pub(super) const MOST_TASKS: usize = 4000;

impl PenaltyConfig {
    /// Whether the features themselves are what counts.
    pub(crate) fn is_rows(&self) -> bool {
        matches!(self, Self::Rows(_))
    }

    fn validate(&self) -> Vec<ConfigProblem> {
        match self {
            Self::Schatten(SchattenConfig { p }) => {
                let good = p.is_finite() && *p >= 1.0;
                let problem =
                    || ConfigProblem::new("schatten.p", format!("must be finite and at least 1, got {p}"));
                (!good).then(problem).into_iter().collect()
            }
            Self::Cluster(ClusterConfig { clusters, mean, between, within }) => {
                let mut problems: Vec<ConfigProblem> =
                    [("mean", mean), ("between", between), ("within", within)]
                        .iter()
                        .filter_map(|(name, value)| check_positive(&format!("cluster.{name}"), **value))
                        .collect();
                if *clusters == 0 {
                    problems.push(ConfigProblem::new("cluster.clusters", "must be at least 1, got 0"));
                }
                if problems.is_empty() && within <= between {
                    let message = format!("must be more than `between`, which is {between}, got {within}");
                    problems.push(ConfigProblem::new("cluster.within", message));
                }
                problems
            }
            Self::LogDet(LogDetConfig { mu, tau }) => {
                [check_positive("log-det.mu", *mu), check_positive("log-det.tau", *tau)]
                    .into_iter()
                    .flatten()
                    .collect()
            }
            Self::Fixed(FixedConfig { coding: Some(rows), .. }) => check_coding(rows).into_iter().collect(),
            Self::Fixed(FixedConfig { interaction, coding: None }) => interaction
                .validate()
                .into_iter()
                .map(|problem| problem.within("fixed.interaction"))
                .collect(),
            Self::TraceOne(_) | Self::Rows(_) | Self::None(_) => Vec::new(),
        }
    }
}

fn check_coding(rows: &[Vec<f64>]) -> Option<ConfigProblem> {
    let tasks = rows.first().map_or(0, Vec::len);
    let wrong = if tasks == 0 {
        "is empty".to_owned()
    } else if let Some(row) = rows.iter().position(|row| row.len() != tasks) {
        format!("row {} has {} numbers, the first {tasks}", row + 1, rows[row].len())
    } else if rows.iter().flatten().any(|entry| !entry.is_finite()) {
        "must be finite".to_owned()
    } else if rows.iter().flatten().all(|entry| *entry == 0.0) {
        "is all zeros".to_owned()
    } else {
        return None;
    };
    Some(ConfigProblem::new("fixed.coding", wrong))
}

impl Parameters for ConvexConfig {
    fn validate(&self) -> Vec<ConfigProblem> {
        let mut problems: Vec<ConfigProblem> = Vec::new();
        problems.extend(self.kernel.validate().into_iter().map(|problem| problem.within("kernel")));
        problems.extend(self.penalty.validate().into_iter().map(|problem| problem.within("penalty")));
        problems.extend(check_positive("lambda", self.lambda));
        problems.extend(check_not_negative("ridge", self.ridge));
        problems.extend(check_not_negative("delta", self.delta));
        problems.extend(check_positive("tolerance", self.tolerance));
        if self.max_iterations == 0 {
            problems.push(ConfigProblem::new("max-iterations", "must be at least 1, got 0"));
        }
        if self.penalty.is_rows() && !self.kernel.is_plain() {
            let message = "`rows` chooses features, which only the linear kernel has (without `normalize`)";
            problems.push(ConfigProblem::new("penalty", message));
        }
        problems
    }

    fn interaction(&self) -> Option<&InteractionConfig> {
        match &self.penalty {
            PenaltyConfig::Fixed(FixedConfig { interaction, coding: None }) => Some(interaction),
            _ => None,
        }
    }

    fn interaction_mut(&mut self) -> Option<&mut InteractionConfig> {
        match &mut self.penalty {
            PenaltyConfig::Fixed(FixedConfig { interaction, coding: None }) => Some(interaction),
            _ => None,
        }
    }

    fn declare(&self, tasks: &mut Tasks) -> Result<(), ConfigError> {
        let declared = self.interaction().map_or(Ok(()), |interaction| interaction.declare(tasks));
        declared.map_err(|error| error.within("penalty.fixed.interaction"))
    }

    fn read_files(
        &mut self,
        declared: Option<&[String]>,
    ) -> Result<Option<Vec<String>>, InteractionFileError> {
        self.interaction_mut().map_or(Ok(None), |interaction| interaction.read_file(declared))
    }
}

impl ConvexConfig {
    /// Checks the parameters themselves.
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        ConfigError::check(self.validate())
    }

    /// The numbers of the objective; a given structure needs no barrier.
    pub(crate) fn terms(&self) -> Terms {
        let learnt = !matches!(
            self.penalty,
            PenaltyConfig::Fixed(_) | PenaltyConfig::None(_) | PenaltyConfig::Rows(_)
        );
        Terms { lambda: self.lambda, ridge: self.ridge, delta: if learnt { self.delta } else { 0.0 } }
    }

    /// Whether examples are prepared in the same way for both.
    pub(crate) fn is_prepared_alike(&self, other: &Self) -> bool {
        (self.loss, self.weights, self.intercept) == (other.loss, other.weights, other.intercept)
            && self.kernel == other.kernel
            && self.penalty.is_rows() == other.penalty.is_rows()
    }

    /// The penalty among tasks that are known.
    pub(crate) fn penalty_for(&self, tasks: &Tasks) -> Result<Penalty, ConfigError> {
        let count = tasks.len();
        Ok(match &self.penalty {
            PenaltyConfig::Schatten(SchattenConfig { p }) => Penalty::Schatten { p: *p },
            PenaltyConfig::TraceOne(_) => Penalty::TraceOne,
            PenaltyConfig::Cluster(ClusterConfig { clusters, mean, between, within }) => {
                if *clusters as usize > count {
                    let message =
                        format!("{clusters} clusters of {count} tasks; there cannot be more than tasks");
                    return Err(ConfigProblem::new("penalty.cluster.clusters", message).into());
                }
                let clusters = f64::from(*clusters);
                Penalty::Cluster(Cluster { clusters, mean: *mean, between: *between, within: *within })
            }
            PenaltyConfig::LogDet(LogDetConfig { mu, tau }) => Penalty::LogDet { mu: *mu, tau: *tau },
            PenaltyConfig::Rows(_) => Penalty::Rows,
            PenaltyConfig::None(_) => Penalty::None,
            PenaltyConfig::Fixed(FixedConfig { coding: Some(rows), .. }) => {
                if rows[0].len() != count {
                    let message = format!("{} columns for {count} tasks", rows[0].len());
                    return Err(ConfigProblem::new("penalty.fixed.coding", message).into());
                }
                // A = L'L (CS15, appendix).
                Penalty::Fixed(Symmetric::from_fn(count, |i, j| rows.iter().map(|row| row[i] * row[j]).sum()))
            }
            PenaltyConfig::Fixed(FixedConfig { interaction, coding: None }) => {
                let built = interaction.build(tasks);
                let built = built.map_err(|error| error.within("penalty.fixed.interaction"))?;
                let task = |at: usize| TaskId(at as u32);
                Penalty::Fixed(Symmetric::from_fn(count, |i, j| built.relation(task(i), task(j), count)))
            }
        })
    }
}
