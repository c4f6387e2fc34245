//! Which labels to ask for: all, or those whose predictions are uncertain.
//!
//! LR11 section 4: the label of an example with margin m is asked for with probability b / (b + |m|). `margin` takes a
//! given b (Cesa-Bianchi, Gentile, Zaniboni, *Worst-Case Analysis of Selective Sampling for Linear Classification*,
//! JMLR 2006); `relation` takes b = scale * sum_j |R\[i, j\]|, so that a task tied to many others is asked more often.
//! `uncertainty` is ours: b^2 / (b^2 + (m / s)^2) for a margin with the standard deviation s. What is far from 0 in units of s has
//! a sure sign, and is asked for much less often than the first power would; what is far from all that was learnt has a large s.
//! Where labels are real numbers, a margin near 0 is a prediction like others, and none of them is allowed.
//! At margin 0 the probability is 1. In print, `relation` sums the precision A; R is what is similar when it is large.
//!
//! A label is asked for when a draw from \[0, 1) is below the probability. Draw t belongs to example t of the model's
//! life and follows from the model's seed and t alone: neither threads nor a break in the run change it.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::algorithms::{About, Learner, Protocol};
use crate::choice::{NoParameters, allow_bare_names, choice};
use crate::error::{ConfigError, ConfigProblem};
use crate::example::{Example, SparseView, TaskId};
use crate::fit::Kind;
use crate::learner::Inspect;
use crate::rng::{QUERY_STREAM, generator};

/// Which labels to ask for.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "Self", rename_all = "kebab-case")]
#[schemars(transform = allow_bare_names)]
#[non_exhaustive]
pub enum QueryConfig {
    /// Every label
    All(NoParameters),
    /// Each label with probability b/(b + |margin|): less often the surer the prediction
    Margin(MarginQueryConfig),
    /// The same with b = scale * sum_j |R[i, j]|: more often for tasks with many relatives
    Relation(RelationQueryConfig),
    /// Each label with probability b^2/(b^2 + (margin/deviation)^2), by the standard deviation of the margin; for `adaptive`
    Uncertainty(UncertaintyQueryConfig),
}

choice!(QueryConfig, "a query");

impl Default for QueryConfig {
    fn default() -> Self {
        Self::All(NoParameters {})
    }
}

/// Parameters of the query `margin`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct MarginQueryConfig {
    /// Margin at which half of the labels are asked for, positive; a larger value asks for more
    #[schemars(extend("exclusiveMinimum" = 0.0))]
    pub b: f64,
}

impl Default for MarginQueryConfig {
    /// b = 1: the scale of margins of examples of norm 1 after a few updates.
    fn default() -> Self {
        Self { b: 1.0 }
    }
}

/// Parameters of the query `relation`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RelationQueryConfig {
    /// Factor of sum_j |R[i, j]|, positive; a larger value asks for more
    #[schemars(extend("exclusiveMinimum" = 0.0))]
    pub scale: f64,
}

impl Default for RelationQueryConfig {
    /// scale = 1: the sum as LR11 uses it.
    fn default() -> Self {
        Self { scale: 1.0 }
    }
}

/// Parameters of the query `uncertainty`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct UncertaintyQueryConfig {
    /// Standard deviations from 0 at which half of the labels are asked for, positive; a larger value asks for more
    #[schemars(extend("exclusiveMinimum" = 0.0))]
    pub b: f64,
}

impl Default for UncertaintyQueryConfig {
    /// b = 0.5: about as many labels as `margin` asks for, on spam and on reviews.
    fn default() -> Self {
        Self { b: 0.5 }
    }
}

impl QueryConfig {
    /// Whether every label is asked for, without a draw.
    pub fn is_all(&self) -> bool {
        matches!(self, Self::All(_))
    }

    /// Everything wrong with the parameters, or with asking this learner, with labels of this kind, so.
    pub(crate) fn validate(&self, about: &About, kind: Kind) -> Vec<ConfigProblem> {
        let mut problems = Vec::new();
        let mut require_positive = |path: &str, value: f64| {
            if !(value.is_finite() && value > 0.0) {
                problems.push(ConfigProblem::new(path, format!("must be positive and finite, got {value}")));
            }
        };
        match self {
            Self::All(_) => return problems,
            Self::Margin(config) => require_positive("margin.b", config.b),
            Self::Relation(config) => require_positive("relation.scale", config.scale),
            Self::Uncertainty(config) => {
                require_positive("uncertainty.b", config.b);
                if !about.probabilities {
                    problems.push(ConfigProblem::new("", unsure(about)));
                }
            }
        }
        if kind == Kind::Regression && matches!(self, Self::Margin(_) | Self::Relation(_)) {
            let message = format!(
                "must be `all`: labels of this `{}` are real numbers, and how far a prediction is from 0 does not say how \
                 sure it is",
                about.id
            );
            problems.push(ConfigProblem::new("", message));
        }
        if about.protocol == Protocol::Batch {
            let message = format!("must be `all`: `{}` is fitted to all labels at once", about.id);
            problems.push(ConfigProblem::new("", message));
        }
        if about.protocol == Protocol::AllTasks {
            let message = format!(
                "must be `all`: `{}` learns from all tasks of a round at once and needs all their labels",
                about.id
            );
            problems.push(ConfigProblem::new("", message));
        }
        problems
    }

    /// What is wrong with asking this learner so, as it is built; its config may take from it what others of its kind have.
    pub(crate) fn check(&self, learner: &Learner) -> Result<(), ConfigError> {
        let nothing = SparseView::trusted(&[], &[]);
        let unknown = matches!(self, Self::Uncertainty(_))
            && learner.as_predict().variance(TaskId(0), nothing).is_none();
        ConfigError::check(
            unknown.then(|| ConfigProblem::new("", unsure(learner.about()))).into_iter().collect(),
        )
    }

    /// The probability with which the label of an example of this task, margin and standard deviation of it is asked for; a
    /// deviation that is not known asks for all that need it.
    pub fn probability(
        &self,
        learner: &dyn Inspect,
        task: TaskId,
        margin: f64,
        deviation: &dyn Fn() -> Option<f64>,
    ) -> f64 {
        let b = match self {
            Self::All(_) => return 1.0,
            Self::Margin(config) => config.b,
            Self::Relation(config) => config.scale * learner.influence(task),
            Self::Uncertainty(config) => {
                let Some(deviation) = deviation() else { return 1.0 };
                let ratio = margin.abs() / deviation / config.b;
                return if margin == 0.0 { 1.0 } else { 1.0 / (1.0 + ratio * ratio) };
            }
        };
        // b / (b + |margin|), in a form that no b, however large or small, can overflow. b may be 0 where R is learnt.
        if margin == 0.0 { 1.0 } else { 1.0 / (1.0 + margin.abs() / b) }
    }
}

/// Why a learner cannot be asked by uncertainty.
fn unsure(about: &About) -> String {
    format!(
        "must not be `uncertainty`: this `{}` does not know how sure its margins are; `adaptive` with the logistic loss does",
        about.id
    )
}

/// Where the draws of a run come from.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Draws {
    /// The model's seed.
    #[default]
    Seeded,
    /// These numbers from \[0, 1), one per example of the model's life; after the last one every label is asked for.
    Given(Vec<f64>),
}

/// Decides, example by example, whether a label is asked for.
#[derive(Debug)]
pub(crate) struct Asker {
    query: QueryConfig,
    source: Source,
}

#[derive(Debug)]
enum Source {
    /// A generator that stands before draw `next`.
    Seeded {
        rng: Box<ChaCha8Rng>,
        next: u64,
    },
    Given(Vec<f64>),
}

impl Asker {
    pub(crate) fn new(query: QueryConfig, seed: u64, draws: &Draws) -> Self {
        let source = match draws {
            // Without a draw a generator would be made for nothing, for every example that comes alone.
            _ if query.is_all() => Source::Given(Vec::new()),
            Draws::Seeded => Source::Seeded { rng: Box::new(generator(seed, QUERY_STREAM)), next: 0 },
            Draws::Given(draws) => Source::Given(draws.clone()),
        };
        Self { query, source }
    }

    /// Whether every label is asked for.
    pub(crate) fn asks_all(&self) -> bool {
        self.query.is_all()
    }

    /// Whether the label of an example is asked for; `at` counts the examples of the model's life before it.
    pub(crate) fn asks(&mut self, at: u64, learner: &Learner, example: Example<'_>, margin: f64) -> bool {
        let Example { task, features, .. } = example;
        let deviation = || learner.as_predict().variance(task, features).map(f64::sqrt);
        self.asks_all()
            || self.source.draw(at) < self.query.probability(learner.as_inspect(), task, margin, &deviation)
    }
}

/// 32-bit words that a draw takes.
const WORDS: u128 = 2;

impl Source {
    /// Draw number `at`, in [0, 1).
    fn draw(&mut self, at: u64) -> f64 {
        match self {
            Self::Seeded { rng, next } => {
                if *next != at {
                    rng.set_word_pos(u128::from(at) * WORDS);
                }
                *next = at.wrapping_add(1);
                // 53 bits: every double that is a multiple of 2^-53.
                (rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
            }
            Self::Given(draws) => {
                usize::try_from(at).ok().and_then(|at| draws.get(at)).copied().unwrap_or(0.0)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithms::{LearnerConfig, REGISTRY};
    use crate::tasks::Tasks;

    fn query(json: &str) -> QueryConfig {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn choices_are_tagged_or_bare() {
        let full = [
            r#"{"all":{}}"#,
            r#"{"margin":{"b":1.0}}"#,
            r#"{"relation":{"scale":1.0}}"#,
            r#"{"uncertainty":{"b":0.5}}"#,
        ];
        let names = [r#""all""#, r#""margin""#, r#""relation""#, r#""uncertainty""#];
        for (name, full) in names.into_iter().zip(full) {
            assert_eq!(serde_json::to_string(&query(name)).unwrap(), full);
            assert_eq!(query(name), query(full));
        }
        let parse = |json: &str| serde_json::from_str::<QueryConfig>(json).unwrap_err().to_string();
        assert!(parse(r#"{"margin": {"c": 2}}"#).starts_with("unknown field `c`, expected `b`"));
        assert!(parse(r#""some""#).starts_with("unknown variant `some`, expected one of `all`, `margin`"));
        assert!(parse("7").contains("expected a query: a name, or a table"));
    }

    #[test]
    fn probabilities_are_those_of_the_formula_at_any_size() {
        let learner = LearnerConfig::from_id("perceptron").unwrap().build(&Tasks::numbered(4)).unwrap();
        let at = |json: &str, margin: f64| {
            query(json).probability(learner.as_inspect(), TaskId(1), margin, &|| Some(2.0))
        };
        assert_eq!(at(r#""all""#, 1e9).to_bits(), 1.0_f64.to_bits());
        for b in [5e-324, 1e-300, 1.0, 2.5, 1e300, f64::MAX] {
            let json = format!(r#"{{"margin": {{"b": {b:e}}}}}"#);
            assert_eq!(at(&json, 0.0).to_bits(), 1.0_f64.to_bits(), "b = {b}");
            assert!((at(&json, -b) - 0.5).abs() < 1e-15, "b = {b}");
            assert!((0.0..=1.0).contains(&at(&json, f64::MAX)), "b = {b}");
        }
        assert!((at(r#"{"margin": {"b": 2}}"#, 3.0) - 0.4).abs() < 1e-15);
        // Rows of R add up to 1 with `coupled`.
        assert!((at(r#"{"relation": {"scale": 2}}"#, 3.0) - 0.4).abs() < 1e-15);
        // The deviation is 2.
        assert!((at(r#"{"uncertainty": {"b": 1.5}}"#, -3.0) - 0.5).abs() < 1e-15);
        assert!((at(r#"{"uncertainty": {"b": 0.5}}"#, 3.0) - 0.1).abs() < 1e-15);
        assert_eq!(at(r#""uncertainty""#, 0.0).to_bits(), 1.0_f64.to_bits());
        assert!((0.0..=1.0).contains(&at(r#"{"uncertainty": {"b": 5e-324}}"#, f64::MAX)));
    }

    #[test]
    fn bad_parameters_and_learners_of_whole_rounds_are_refused() {
        let about = |id: &str| REGISTRY.iter().find(|about| about.id == id).unwrap();
        let problems = |json: &str, id: &str| {
            let problems = query(json).validate(about(id), Kind::Classification).into_iter();
            problems.map(|problem| format!("{}: {}", problem.path, problem.message)).collect::<Vec<_>>()
        };
        for (json, path) in
            [(r#"{"margin":{"b":B}}"#, "margin.b"), (r#"{"relation":{"scale":B}}"#, "relation.scale")]
        {
            for bad in ["0", "-1", "-0.5"] {
                let expected = format!("{path}: must be positive and finite, got {bad}");
                assert_eq!(problems(&json.replace('B', bad), "perceptron"), [expected]);
            }
            assert!(problems(&json.replace('B', "1e-300"), "perceptron").is_empty());
        }
        assert!(problems(r#""uncertainty""#, "adaptive").is_empty());
        assert!(
            problems(r#""uncertainty""#, "perceptron")[0].contains("`perceptron` does not know how sure")
        );
        let infinite = QueryConfig::Margin(MarginQueryConfig { b: f64::INFINITY });
        assert_eq!(infinite.validate(about("perceptron"), Kind::Classification).len(), 1);
        for name in [r#""margin""#, r#""relation""#] {
            let refused = query(name).validate(about("adaptive"), Kind::Regression);
            assert!(refused[0].message.starts_with("must be `all`: labels of this `adaptive` are real"));
            assert!(query(name).validate(about("adaptive"), Kind::Classification).is_empty());
        }
        assert!(query(r#""all""#).validate(about("adaptive"), Kind::Regression).is_empty());
        assert!(problems(r#""all""#, "schatten-perceptron").is_empty());
        assert_eq!(
            problems(r#""margin""#, "schatten-perceptron"),
            [
                ": must be `all`: `schatten-perceptron` learns from all tasks of a round at once and needs all their labels"
            ]
        );
    }

    #[test]
    fn a_draw_follows_from_the_seed_and_its_number() {
        let fresh = |seed| Asker::new(query(r#""margin""#), seed, &Draws::Seeded).source;
        let mut source = fresh(7);
        let draws: Vec<u64> = (0..200).map(|at| source.draw(at).to_bits()).collect();
        for at in [0, 199, 3, 4, 64, 63] {
            assert_eq!(fresh(7).draw(at).to_bits(), draws[at as usize], "draw {at} on its own");
            assert_eq!(source.draw(at).to_bits(), draws[at as usize], "draw {at} after others");
        }
        assert_ne!(fresh(8).draw(0).to_bits(), draws[0]);
        let mean = draws.iter().map(|bits| f64::from_bits(*bits)).sum::<f64>() / 200.0;
        assert!((mean - 0.5).abs() < 0.1 && draws.iter().all(|bits| f64::from_bits(*bits) < 1.0), "{mean}");
        let mut given = Source::Given(vec![0.25]);
        assert_eq!([given.draw(0), given.draw(1)].map(f64::to_bits), [0.25, 0.0].map(f64::to_bits));
    }
}
