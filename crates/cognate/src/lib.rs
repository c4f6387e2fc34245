//! cognate learns many related tasks from one stream, and how they are related.
//!
//! A *task* is anything that wants a predictor of its own and has relatives: a user's spam filter, a tenant, a
//! sensor. Every example of one task also teaches its relatives, as much as the relation between them says.
//!
//! Data flow through the modules in this order: a [`stream`] gives [`example`]s of named [`tasks`]; a [`learner`]
//! from the registry in [`algorithms`], chosen by a [`config`] and shaped by an [`interaction`], predicts and
//! learns; a [`query`] says which labels it asks for; [`run`] is the loop that counts into [`metrics`]; a [`model`] is what is kept, as [`snapshot`] files.
//! [`bounds`] sets the mistakes of a run beside those that the theorems allow.
//!
//! ```
//! use cognate::{Example, LearnerConfig, SparseView, Tasks};
//!
//! // Two tasks; half of what one learns, the other learns too.
//! let mut tasks = Tasks::open();
//! let (alice, bob) = (tasks.meet("alice").unwrap(), tasks.meet("bob").unwrap());
//! let config: LearnerConfig = serde_json::from_str(r#"{"perceptron": {"interaction": "coupled"}}"#)?;
//! let mut learner = config.build(&tasks)?;
//!
//! let spam = SparseView::try_new(&[3, 17], &[1.0, 0.5])?;
//! learner.as_learn_one().learn(Example { task: alice, features: spam, label: 1.0 });
//! assert_eq!(learner.as_predict().margin(alice, spam), 0.9375);
//! assert_eq!(learner.as_predict().margin(bob, spam), 0.3125);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod example;
pub mod feature_names;
pub mod tasks;

pub mod stream;

pub mod algorithms;
pub mod fit;
pub mod interaction;
pub mod kernel;
pub mod learner;
pub mod linalg;
pub mod query;
pub mod rng;

pub mod metrics;
pub mod run;

pub mod config;
pub mod model;
pub mod snapshot;

pub mod bounds;
pub mod checks;

pub mod error;

mod block;
mod choice;
mod hedge;
mod hint;
mod nearest;
mod table;
mod weights;

pub use algorithms::{Learner, LearnerConfig, REGISTRY};
pub use choice::Tunable;
pub use config::RunConfig;
pub use error::{ConfigError, SnapshotError, UnknownTask};
pub use example::{Example, SparseView, TaskId};
pub use feature_names::FeatureNames;
pub use hint::Hint;
pub use learner::{Inspect, LearnOne, Part, Parts, Predict, Support};
pub use metrics::Metrics;
pub use model::{Model, ModelConfig, Prediction, Rows};
pub use nearest::{nearest_first, nearest_names};
pub use query::QueryConfig;
pub use run::{Observer, RoundReport, RunError, RunOptions};
pub use stream::{Features, Input, ReadOptions, Stream, StreamError};
pub use tasks::Tasks;

/// The README's example is a test.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
