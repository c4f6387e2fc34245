//! The registry: every learner once. Program, docs, schema, conformance tests and benches follow from it.

mod adaptive;
mod budget_forgetron;
mod budget_projectron;
mod budget_random;
mod budget_shared_projectron;
mod collaborative;
mod convex;
mod kernel_perceptron;
mod p_norm_perceptron;
mod passive_aggressive;
mod perceptron;
mod relation_perceptron;
mod rom_pgd;
mod rom_rda;
mod schatten_perceptron;
mod second_order_perceptron;
mod shared_loss_perceptron;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use adaptive::{Adaptive, AdaptiveConfig, Forget, GroupCount, Loss};
pub use budget_forgetron::{BudgetForgetron, BudgetForgetronConfig};
pub use budget_projectron::{BudgetProjectron, BudgetProjectronConfig};
pub use budget_random::{BudgetRandom, BudgetRandomConfig};
pub use budget_shared_projectron::{BudgetSharedProjectron, BudgetSharedProjectronConfig};
pub use collaborative::{Collaborative, CollaborativeConfig};
pub use convex::{
    ClusterConfig, Convex, ConvexConfig, ConvexWeights, FixedConfig, LogDetConfig, PenaltyConfig,
    SchattenConfig,
};
pub use kernel_perceptron::{KernelPerceptron, KernelPerceptronConfig};
pub use p_norm_perceptron::{PNormPerceptron, PNormPerceptronConfig};
pub use passive_aggressive::{PassiveAggressive, PassiveAggressiveConfig, Scope, Variant};
pub use perceptron::{Perceptron, PerceptronConfig};
pub use relation_perceptron::{
    Multiplier, Priming, Relation, RelationPerceptron, RelationPerceptronConfig, Trace,
};
pub use rom_pgd::{RomPgd, RomPgdConfig, UStep};
pub use rom_rda::{RomRda, RomRdaConfig};
pub use schatten_perceptron::{SchattenPerceptron, SchattenPerceptronConfig};
pub use second_order_perceptron::{SecondOrderPerceptron, SecondOrderPerceptronConfig};
pub use shared_loss_perceptron::{LossNorm, SharedLossPerceptron, SharedLossPerceptronConfig};

use crate::bounds::Theorem;
use crate::choice::{allow_bare_names, choice};
use crate::error::{ConfigError, ConfigProblem, SnapshotError, StateError};
use crate::example::TaskId;
use crate::fit::Kind;
use crate::interaction::{InteractionConfig, InteractionFileError};
use crate::learner::{Inspect, LearnOne, Predict};
use crate::shards::{ShardsConfig, why_not};
use crate::tasks::Tasks;

/// How rounds reach a learner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Protocol {
    /// One example per round; runs on simultaneous streams too.
    OneTask,
    /// One example of every task per round; on other streams a round has one example.
    AllTasks,
    /// None: it is fitted to all examples at once.
    Batch,
}

/// What the cost of a round grows with, for a learner with its default parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum CostClass {
    /// The non-zeros of the example, and nothing else: O(s).
    PerFeature,
    /// The number of tasks as well: O(K s).
    PerTask,
    /// The pairs of tasks: K^2 or more.
    PerPair,
    /// The examples kept, which are more with every mistake.
    PerExample,
    /// The examples kept, of which there are never more than the budget.
    Budget,
    /// There are no rounds.
    Batch,
}

/// The registry's entry for a learner. `cognate algorithms` and the docs show it; code that has to treat learners
/// differently decides by it.
#[derive(Debug, Clone, Copy, Serialize)]
#[non_exhaustive]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct About {
    /// Id, as users write it.
    pub id: &'static str,
    /// Title, in one line.
    pub title: &'static str,
    /// Short name of the paper and the place in it.
    pub paper: &'static str,
    /// How rounds reach it.
    pub protocol: Protocol,
    /// Cost of a prediction in s non-zeros, K tasks, d features, for people to read.
    pub predict_cost: &'static str,
    /// Cost of an update, for people to read.
    pub update_cost: &'static str,
    /// Memory, for people to read.
    pub memory: &'static str,
    /// Largest number of tasks, if it keeps something for every pair of them.
    pub most_tasks: Option<usize>,
    /// What the cost of a round grows with.
    pub cost_class: CostClass,
    /// Whether it holds examples rather than weights, with its default parameters; see [`Inspect::supports`].
    pub keeps_examples: bool,
    /// Whether its margins are log-odds of which it knows how sure they are, with its default parameters; see
    /// [`Inspect::probability`] and [`Predict::variance`].
    pub probabilities: bool,
    /// Whether it learns an example of weight w as if it had been seen w times; others refuse weights.
    pub weights: bool,
    /// Whether it takes what is added to margins into account; others refuse offsets.
    pub offsets: bool,
    /// Whether its tasks can be spread over shards that learn side by side.
    pub shardable: bool,
    /// The theorems that bound its mistakes, for some parameters at least; see [`crate::bounds`].
    pub theorems: &'static [Theorem],
}

/// What the registry asks of a learner's parameters.
pub(crate) trait Parameters {
    /// All their problems.
    fn validate(&self) -> Vec<ConfigProblem>;

    /// Which labels the learner is for; a batch learner finds out.
    fn kind(&self) -> Kind {
        Kind::Classification
    }

    /// Why the learner cannot learn an example of this label, if it cannot.
    fn unfit(&self, label: f64) -> Option<Unfit> {
        let _ = label;
        None
    }

    /// Whether it needs to know when examples were.
    fn needs_times(&self) -> bool {
        false
    }

    /// The interaction among them, where there is one.
    fn interaction(&self) -> Option<&InteractionConfig> {
        None
    }

    /// The same, to be changed.
    fn interaction_mut(&mut self) -> Option<&mut InteractionConfig> {
        None
    }

    /// Why tasks of a learner of these parameters cannot be spread over shards, where others of its kind can.
    fn unshardable(&self) -> Option<&'static str> {
        None
    }

    /// Declares the tasks that they name.
    fn declare(&self, tasks: &mut Tasks) -> Result<(), ConfigError> {
        let declared = self.interaction().map_or(Ok(()), |interaction| interaction.declare(tasks));
        declared.map_err(|error| error.within("interaction"))
    }

    /// Replaces files by their contents; returns the task names that a file gives in its header.
    fn read_files(
        &mut self,
        declared: Option<&[String]>,
    ) -> Result<Option<Vec<String>>, InteractionFileError> {
        self.interaction_mut().map_or(Ok(None), |interaction| interaction.read_file(declared))
    }

    /// Whether a parameter is a fraction of the stream, so that the number of rounds must be known.
    fn wants_rounds(&self) -> bool {
        false
    }

    /// Tells how many rounds there will be.
    fn set_rounds(&mut self, _rounds: u64) {}

    /// How many numbers there may be about the pairs of this many kept examples.
    fn numbers_for_pairs(&self, _kept: usize) -> usize {
        0
    }

    /// How many bytes may be remembered at most beside weights, of so many tasks, however much is learnt.
    fn remembered_bytes(&self, _tasks: usize) -> usize {
        0
    }
}

/// What an algorithm file provides beside [`Predict`], [`Inspect`] and, unless it is a batch learner, [`LearnOne`].
pub(crate) trait Algorithm: Predict + Inspect + Sized {
    type Config: Parameters;
    type State: Serialize + for<'de> Deserialize<'de>;

    /// The only way to make a learner; `features` is their number where it was declared.
    fn build(config: &Self::Config, tasks: &Tasks, features: Option<u32>) -> Result<Self, ConfigError>;

    /// Spreads tasks over several shards; called before anything is learnt, and only where [`Parameters::unshardable`]
    /// says nothing against it.
    fn spread(&mut self, _config: ShardsConfig, _tasks: &Tasks) {}

    /// The saved form: equal states give equal bytes.
    fn state(&self) -> Self::State;

    /// Puts a saved form into a learner just built from the same config.
    fn restore(&mut self, state: Self::State) -> Result<(), StateError>;

    /// Removes a task, by number, from a saved form; those after it move one number down. False if a learner does not
    /// keep tasks apart.
    fn forget(&self, _state: &mut Self::State, _task: usize) -> bool {
        false
    }
}

macro_rules! registry {
    (
        streams { $($stream:ident($stream_config:ident, $stream_learner:ident) = $stream_id:literal,)* }
        batch { $($batch:ident($batch_config:ident, $batch_learner:ident) = $batch_id:literal,)* }
    ) => {
        registry! {
            @all $($stream($stream_config, $stream_learner) = $stream_id,)*
            $($batch($batch_config, $batch_learner) = $batch_id,)*
        }

        impl Learner {
            /// The learner as one that learns from streams; none for a batch learner.
            pub fn as_online(&mut self) -> Option<&mut dyn LearnOne> {
                match self {
                    $(Self::$stream(learner) => Some(learner),)*
                    $(Self::$batch(_) => None,)*
                }
            }
        }
    };
    (@all $($variant:ident($config:ident, $learner:ident) = $id:literal,)*) => {
        /// A learner and its parameters, chosen by id.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(remote = "Self")]
        #[schemars(transform = allow_bare_names)]
        #[non_exhaustive]
        pub enum LearnerConfig {
            $(#[doc = concat!("Parameters of `", $id, "`")] #[serde(rename = $id)] $variant($config),)*
        }

        /// A learner of the registry.
        #[derive(Debug, Clone)]
        #[non_exhaustive]
        pub enum Learner {
            $(#[doc = concat!("The learner `", $id, "`.")] $variant($learner),)*
        }

        /// Every learner.
        pub const REGISTRY: &[About] = &[$($learner::ABOUT,)*];

        impl LearnerConfig {
            /// The learner's id.
            pub fn id(&self) -> &'static str {
                match self { $(Self::$variant(_) => $id,)* }
            }

            /// The registry's entry for the learner.
            pub fn about(&self) -> &'static About {
                match self { $(Self::$variant(_) => const { &$learner::ABOUT },)* }
            }

            /// The default parameters of a learner, by id.
            pub fn from_id(id: &str) -> Option<Self> {
                match id { $($id => Some(Self::$variant($config::default())),)* _ => None }
            }

            /// Makes a new learner for any number of features.
            ///
            /// # Errors
            /// When a parameter is out of range or does not fit the tasks; all problems with their paths.
            pub fn build(&self, tasks: &Tasks) -> Result<Learner, ConfigError> {
                self.build_for(tasks, None)
            }

            /// Makes a new learner for a number of features, if it is known.
            ///
            /// # Errors
            /// As [`Self::build`].
            pub fn build_for(&self, tasks: &Tasks, features: Option<u32>) -> Result<Learner, ConfigError> {
                ConfigError::check(self.validate())?;
                check_task_count(self.about(), tasks.count())?;
                match self {
                    $(Self::$variant(config) => $learner::build(config, tasks, features)
                        .map(Learner::$variant)
                        .map_err(|error| error.within($id)),)*
                }
            }

            /// Declares the tasks that the parameters name.
            pub(crate) fn declare(&self, tasks: &mut Tasks) -> Result<(), ConfigError> {
                let declared = match self { $(Self::$variant(config) => config.declare(tasks),)* };
                declared.map_err(|error| error.within(self.id()))
            }

            /// Replaces files by their contents; returns the task names that a file gives in its header.
            pub(crate) fn read_files(
                &mut self,
                declared: Option<&[String]>,
            ) -> Result<Option<Vec<String>>, InteractionFileError> {
                match self { $(Self::$variant(config) => config.read_files(declared),)* }
            }

            /// The interaction among the parameters, if there is one, to be changed.
            pub(crate) fn interaction_mut(&mut self) -> Option<&mut InteractionConfig> {
                match self { $(Self::$variant(config) => config.interaction_mut(),)* }
            }

            /// Whether a parameter is a fraction of the stream: [`Self::set_rounds`] must be called before a learner
            /// is built.
            pub fn wants_rounds(&self) -> bool {
                match self { $(Self::$variant(config) => config.wants_rounds(),)* }
            }

            /// Why tasks cannot be spread over several shards, if they cannot.
            pub(crate) fn unshardable(&self) -> Option<&'static str> {
                why_not(self.about()).or_else(|| match self {
                    $(Self::$variant(config) => config.unshardable(),)*
                })
            }

            /// Sets the number of rounds, which turns fractions of the stream into numbers of rounds.
            pub fn set_rounds(&mut self, rounds: u64) {
                match self { $(Self::$variant(config) => config.set_rounds(rounds),)* }
            }

            /// Which labels the learner is for; a batch learner finds out.
            pub fn kind(&self) -> Kind {
                match self { $(Self::$variant(config) => config.kind(),)* }
            }

            /// Why the learner cannot learn an example of this label, if it cannot.
            pub(crate) fn unfit(&self, label: f64) -> Option<Unfit> {
                match self { $(Self::$variant(config) => config.unfit(label),)* }
            }

            /// Whether the learner needs to know when examples were.
            pub fn needs_times(&self) -> bool {
                match self { $(Self::$variant(config) => config.needs_times(),)* }
            }

            /// How many numbers the learner may hold about the pairs of this many kept examples.
            pub(crate) fn numbers_for_pairs(&self, kept: usize) -> usize {
                match self { $(Self::$variant(config) => config.numbers_for_pairs(kept),)* }
            }

            /// How many bytes the learner may remember beside weights, of so many tasks.
            pub(crate) fn remembered_bytes(&self, tasks: usize) -> usize {
                match self { $(Self::$variant(config) => config.remembered_bytes(tasks),)* }
            }

            /// All problems of the parameters themselves.
            pub(crate) fn validate(&self) -> Vec<ConfigProblem> {
                let problems = match self { $(Self::$variant(config) => config.validate(),)* };
                problems.into_iter().map(|problem| problem.within(self.id())).collect()
            }
        }

        impl Learner {
            /// The registry's entry for this learner.
            pub fn about(&self) -> &'static About {
                match self { $(Self::$variant(_) => const { &$learner::ABOUT },)* }
            }

            /// The learner as one that learns from streams.
            ///
            /// # Panics
            /// For a batch learner; see [`Self::as_online`].
            pub fn as_learn_one(&mut self) -> &mut dyn LearnOne {
                let id = self.about().id;
                self.as_online().unwrap_or_else(|| panic!("`{id}` does not learn from streams"))
            }

            /// The learner as one that predicts.
            pub fn as_predict(&self) -> &dyn Predict {
                match self { $(Self::$variant(learner) => learner,)* }
            }

            /// The learner as one that shows what it holds.
            pub fn as_inspect(&self) -> &dyn Inspect {
                match self { $(Self::$variant(learner) => learner,)* }
            }

            /// Spreads tasks over several shards, before anything is learnt.
            pub(crate) fn spread(&mut self, config: ShardsConfig, tasks: &Tasks) {
                match self { $(Self::$variant(learner) => learner.spread(config, tasks),)* }
            }

            /// The state as MessagePack with field names.
            pub(crate) fn to_bytes(&self) -> Vec<u8> {
                let bytes = match self { $(Self::$variant(learner) => rmp_serde::to_vec_named(&learner.state()),)* };
                bytes.expect("learner state holds only what MessagePack can hold")
            }

            /// The learner without one task, put into a fresh one of the same config for the tasks that remain; none if it
            /// does not keep tasks apart.
            pub(crate) fn without(&self, task: TaskId, mut fresh: Self) -> Option<Self> {
                match (self, &mut fresh) {
                    $((Self::$variant(learner), Self::$variant(fresh)) => {
                        let mut state = learner.state();
                        if !learner.forget(&mut state, task.index()) {
                            return None;
                        }
                        fresh.restore(state).expect("a saved form without a task is a saved form");
                    })*
                    _ => return None,
                }
                Some(fresh)
            }

            /// Puts saved state into a learner just built from the same config.
            pub(crate) fn restore(&mut self, bytes: &[u8]) -> Result<(), SnapshotError> {
                match self {
                    $(Self::$variant(learner) => {
                        let state = rmp_serde::from_slice(bytes)
                            .map_err(|error| SnapshotError::Inconsistent(format!("learner state: {error}")))?;
                        learner.restore(state)?;
                    })*
                }
                Ok(())
            }
        }
    };
}

registry! {
    streams {
        Adaptive(AdaptiveConfig, Adaptive) = "adaptive",
        Perceptron(PerceptronConfig, Perceptron) = "perceptron",
        KernelPerceptron(KernelPerceptronConfig, KernelPerceptron) = "kernel-perceptron",
        PNormPerceptron(PNormPerceptronConfig, PNormPerceptron) = "p-norm-perceptron",
        SecondOrderPerceptron(SecondOrderPerceptronConfig, SecondOrderPerceptron) = "second-order-perceptron",
        RelationPerceptron(RelationPerceptronConfig, RelationPerceptron) = "relation-perceptron",
        BudgetRandom(BudgetRandomConfig, BudgetRandom) = "budget-random",
        BudgetForgetron(BudgetForgetronConfig, BudgetForgetron) = "budget-forgetron",
        BudgetProjectron(BudgetProjectronConfig, BudgetProjectron) = "budget-projectron",
        BudgetSharedProjectron(BudgetSharedProjectronConfig, BudgetSharedProjectron) = "budget-shared-projectron",
        SchattenPerceptron(SchattenPerceptronConfig, SchattenPerceptron) = "schatten-perceptron",
        SharedLossPerceptron(SharedLossPerceptronConfig, SharedLossPerceptron) = "shared-loss-perceptron",
        PassiveAggressive(PassiveAggressiveConfig, PassiveAggressive) = "passive-aggressive",
        Collaborative(CollaborativeConfig, Collaborative) = "collaborative",
        RomPgd(RomPgdConfig, RomPgd) = "rom-pgd",
        RomRda(RomRdaConfig, RomRda) = "rom-rda",
    }
    batch {
        Convex(ConvexConfig, Convex) = "convex",
    }
}

/// Checks that there are not more tasks than the learner can take.
fn check_task_count(about: &About, tasks: usize) -> Result<(), ConfigError> {
    match about.most_tasks {
        Some(most) if tasks > most => Err(ConfigProblem::new(
            about.id,
            format!("keeps a number for every pair of tasks; {tasks} tasks are too many; the most is {most}"),
        )
        .into()),
        _ => Ok(()),
    }
}

/// Checks that a saved state can be one of so many tasks, before room is made for something about every pair of them.
pub(crate) fn check_state_of_pairs(about: &About, tasks: usize, state: &[u8]) -> Result<(), StateError> {
    let pairs = tasks.saturating_mul(tasks + 1) / 2;
    if about.most_tasks.is_some() && pairs.saturating_mul(size_of::<f64>()) > state.len() {
        let length = state.len();
        return Err(StateError::new(format!("{length} bytes do not hold the pairs of {tasks} tasks")));
    }
    Ok(())
}

/// Why an example cannot be learnt.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Unfit {
    /// It has no time, and what was learnt is forgotten by time.
    NoTime,
    /// Its label is negative, and counts are learnt.
    NegativeCount(f64),
    /// Its label is too large to be squared.
    HugeLabel(f64),
}

impl std::fmt::Display for Unfit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NoTime => f.write_str("the example has no time, and `forget` is a time"),
            Self::NegativeCount(label) => {
                write!(f, "the label {label} is no count: with the loss `poisson` labels are 0 or more")
            }
            Self::HugeLabel(label) => {
                write!(f, "the label {label:e} is too large; labels are between -1e100 and 1e100")
            }
        }
    }
}

/// Checks that a parameter is a positive number.
pub(crate) fn check_positive(name: &str, value: f64) -> Option<ConfigProblem> {
    let good = value.is_finite() && value > 0.0;
    (!good).then(|| ConfigProblem::new(name, format!("must be positive and finite, got {value}")))
}

/// Checks that a parameter is 0 or a positive number.
pub(crate) fn check_not_negative(name: &str, value: f64) -> Option<ConfigProblem> {
    let good = value.is_finite() && value >= 0.0;
    (!good).then(|| ConfigProblem::new(name, format!("must be finite and at least 0, got {value}")))
}

/// The number of tasks in a saved state, which must be that for which the learner was built.
pub(crate) fn restored_tasks(saved: u64, built_for: usize) -> Result<usize, StateError> {
    if saved == built_for as u64 {
        Ok(built_for)
    } else {
        Err(StateError::new(format!("the learner has {saved} tasks, the model {built_for}")))
    }
}

choice!(LearnerConfig, "a learner");

impl Default for LearnerConfig {
    fn default() -> Self {
        Self::Adaptive(AdaptiveConfig::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_and_metadata_agree() {
        for about in REGISTRY {
            let config = LearnerConfig::from_id(about.id).unwrap();
            assert_eq!(config.id(), about.id);
            assert_eq!(config.build(&Tasks::open()).unwrap().about().id, about.id);
        }
        assert!(LearnerConfig::from_id("nobody").is_none());
    }

    /// What the registry says of a learner is what the learner does.
    #[test]
    fn facts_are_those_of_the_learners() {
        for about in REGISTRY {
            let id = about.id;
            let mut learner = LearnerConfig::from_id(id).unwrap().build(&Tasks::open()).unwrap();
            assert_eq!(learner.as_inspect().supports().is_some(), about.keeps_examples, "{id}");
            assert_eq!(learner.as_inspect().probability(0.0).is_some(), about.probabilities, "{id}");
            let variance = learner.as_predict().variance(TaskId(0), crate::SparseView::trusted(&[], &[]));
            assert_eq!(variance.is_some(), about.probabilities, "{id}");
            assert_eq!(learner.as_online().is_none(), about.protocol == Protocol::Batch, "{id}");
            let counted = matches!(about.cost_class, CostClass::PerExample | CostClass::Budget);
            assert_eq!(counted, about.keeps_examples, "{id}: the cost grows with the examples kept");
            let batch = about.cost_class == CostClass::Batch;
            assert_eq!(batch, about.protocol == Protocol::Batch, "{id}: no rounds, and no cost of a round");
            if about.cost_class == CostClass::PerPair {
                assert!(about.most_tasks.is_some(), "{id}: pairs of tasks are limited");
            }
            if about.shardable {
                assert_eq!(about.cost_class, CostClass::PerFeature, "{id}: a shard knows its own tasks only");
            }
        }
    }

    #[test]
    fn choices_are_tagged_or_bare() {
        let parse =
            |json: &str| serde_json::from_str::<LearnerConfig>(json).map_err(|error| error.to_string());
        let full = r#"{"perceptron":{"interaction":{"coupled":{"b":1.0}}}}"#;
        assert_eq!(serde_json::to_string(&parse("\"perceptron\"").unwrap()).unwrap(), full);
        assert_eq!(parse(r#"{"perceptron": {"interaction": "coupled"}}"#), parse(full));
        assert!(parse(r#"{"perceptron": {"interaction": "pairwise"}}"#).is_ok());
        assert_eq!(
            parse(r#"{"perceptron": {"interaction": {"coupled": {"c": 2}}}}"#).unwrap_err(),
            "unknown field `c`, expected `b` at line 1 column 47"
        );
        let unknown = parse(r#"{"perceptron": {"interaction": "couple"}}"#).unwrap_err();
        assert!(
            unknown.starts_with("unknown variant `couple`, expected one of `independent`, `pooled`"),
            "{unknown}"
        );
        assert!(parse(r#"{"perceptron": {}, "other": {}}"#).is_err());
        assert!(parse("7").unwrap_err().contains("expected a learner: a name, or a table"));
    }
}
