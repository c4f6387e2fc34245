//! cognate learns many related tasks from one stream, and learns how they are related.
//!
//! A *task* is anything that wants a predictor of its own and has relatives: a user's spam filter, a tenant, a sensor, a
//! topic. Every example that one task sees also teaches its relatives, in proportion to how related they are. The relation
//! is given (nothing, everything, a graph, a matrix) or learned as the stream goes.
//!
//! [`Model`] is the one door. It learns and predicts one example at a time, by name, and is saved as one file:
//!
//! ```
//! use cognate::{Model, RunConfig};
//!
//! let mut model = Model::new(&RunConfig::default())?; // the default learner; features by name or by number
//! for _ in 0..3 {
//!     model.learn_one("alice", &[("offer", 1.0), ("hello", 0.5)], 1.0)?;
//!     model.learn_one("bob", &[("meeting", 1.0), ("hello", 0.5)], -1.0)?;
//! }
//! let answer = model.predict_one("carol", &[("offer", 1.0)])?; // nobody has seen carol's mail
//! assert_eq!(answer.label, 1.0);
//! assert!(answer.probability > Some(0.5));
//!
//! let strongest = &model.explain("alice")?.weights[0];
//! assert_eq!(strongest.name, "offer");
//! assert_eq!(Model::from_bytes(&model.to_bytes())?.tasks().len(), 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! It also learns whole streams, from files, pipes, tables or code of yours, in one pass and constant memory per task.
//! An [`Observer`] sees every example and may stop the run:
//!
//! ```
//! use cognate::{Input, Model, ReadOptions, RunConfig, RunOptions};
//!
//! let config: RunConfig = serde_json::from_str(r#"{"stream": {"normalize": "l2"}}"#)?;
//! let mut model = Model::new(&config)?;
//! let text = "+1 task:alice 3:1 17:0.5\n-1 task:bob 4:1 17:0.5\n".repeat(20);
//! let input = Input::Bytes { name: "mail".to_owned(), bytes: text.into_bytes().into() };
//!
//! let mut reader = model.reader(vec![input], ReadOptions::default())?;
//! model.learn(&mut reader, &RunOptions::default(), &mut ())?;
//! let total = model.metrics().total();
//! assert_eq!((total.examples, model.tasks().len()), (40, 2));
//! assert!(total.error() < 0.1); // counted before each example was learnt
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Who does what
//!
//! **Configs.** [`RunConfig`] holds everything that can be set for a run: which [learner](algorithms), which
//! [stream](stream::StreamConfig), which [labels to ask for](QueryConfig). It is plain serde: TOML, JSON, or structs.
//! [`REGISTRY`] lists every learner with its costs and its paper; `adaptive` is the default and the one to try first.
//!
//! **Models.** [`Model`] owns the config, the names of tasks and features, the learner and its counts. Its verbs are
//! [`learn_one`](Model::learn_one), [`learn`](Model::learn), [`predict_one`](Model::predict_one),
//! [`predict`](Model::predict), [`fit`](Model::fit), [`explain`](Model::explain), [`forget_task`](Model::forget_task),
//! [`save`](Model::save) and [`load`](Model::load). Equal streams give equal bytes, whatever the number of threads.
//!
//! **Streams.** [`Model::reader`] and [`Model::open`] read text in the formats of [`stream`]; [`Model::table`] takes rows that
//! are in memory already; [`Stream`] is a trait of two methods for anything else.
//!
//! **Learners.** Below the door, [`Predict`], [`LearnOne`] and [`Inspect`] are what every learner can do, on task numbers
//! and [`SparseView`]s. [`LearnerConfig::build`] makes one without a model around it.
//!
//! **Judging.** [`metrics`] counts, [`bounds`] sets the mistakes of a run beside those that the theorems of the papers allow,
//! [`fit`] finds the optimum for all examples at once.
//!
//! Errors say what was found, where, and what was expected; their [`Hint`] is a kind, so that a program can name its flags and
//! a service its fields.

pub mod algorithms;
pub mod bounds;
pub mod config;
pub mod fit;
pub mod metrics;
pub mod model;
pub mod run;
pub mod stream;

mod block;
mod checks;
mod choice;
mod class_weight;
mod count;
mod error;
mod example;
mod feature_names;
mod fingerprint;
mod hedge;
mod hint;
mod interaction;
mod kernel;
mod learner;
mod linalg;
mod nearest;
mod query;
mod readable;
mod rng;
mod shards;
mod snapshot;
mod table;
mod tasks;
mod weights;

pub use algorithms::{Learner, LearnerConfig, REGISTRY};
pub use config::RunConfig;
pub use error::{ConfigError, ConfigProblem, SnapshotError, UnknownTask};
pub use example::{BIAS_FEATURE, Example, LARGEST_VALUE, SparseError, SparseView, TaskId};
pub use feature_names::{FeatureNames, NamesByFeature, Naming};
pub use hint::{Hint, NamedColumn};
pub use interaction::InteractionFileError;
pub use learner::{
    Inspect, LearnOne, Likeness, Outcome, OwnWeights, Part, Parts, Place, Predict, SharedVector, Support,
};
pub use metrics::Metrics;
pub use model::{Model, ModelConfig, Prediction, Rows};
pub use query::QueryConfig;
pub use run::{Observer, Progress, RoundReport, RunError, RunOptions};
pub use shards::ShardReport;
pub use snapshot::ModelLock;
pub use stream::{FeatureValue, Features, Input, ReadOptions, Stream, StreamError};
pub use tasks::{TaskLimit, Tasks};

/// What the project's own crates and tests need beyond the API; it may change at any time.
#[doc(hidden)]
pub mod internal {
    pub use crate::checks::{CHECKS, Check};
    pub use crate::linalg::{Symmetric, SymmetricError};
    pub use crate::nearest::{nearest_first, nearest_names};
    pub use crate::readable::{readable, readable_lines};
    pub use crate::rng::generator;
    pub use crate::snapshot::{FORMAT_VERSION, check_replaceable, replace_file};
    pub use crate::stream::pipeline::for_each_batch;
}

/// The README's example is a test.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
