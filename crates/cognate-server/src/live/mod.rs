//! How does a model learn live? Requests become entries of a log; what the log holds is learnt, and then answered.
//!
//! ```text
//! request -> admit (is it one that can be learnt?) -> group -> log, synced -> learn -> answer
//! ```
//!
//! | file | question it answers |
//! |---|---|
//! | `engine` | what does one group of requests change, and what after a crash? no threads, no clock, any disk |
//! | `apply` | how is an entry learnt, the first time or again? |
//! | `shared` | who may look at a model when? many read, one changes and gives way |
//! | `worker` | who runs the engine? one thread per model, which takes what has come since the last group |
//! | `memory` | what is remembered beside the model: examples that wait for labels, answers to requests that come again |
//! | `activity` | how did each task do lately? |

mod activity;
mod apply;
mod engine;
mod memory;
mod shared;
mod worker;

pub use activity::{Activity, TaskActivity};
pub use engine::{Durability, Engine, EngineOptions, Opened, write_snapshot};
pub use memory::Answer;
pub use shared::Shared;
pub(crate) use worker::now;
pub use worker::{Live, LiveError, Summary};

use cognate::Model;
use tokio::sync::oneshot;

use crate::entry::Key;
use crate::examples::Examples;
use crate::failure::Failure;

/// What readers see: the model as it is after an entry, which is durable.
#[derive(Debug)]
pub struct State {
    /// The model.
    pub model: Model,
    /// How each task did lately.
    pub activity: Activity,
    /// The last entry that was applied.
    pub seq: u64,
    /// The entry after which the latest snapshot was made.
    pub snapshot_seq: u64,
    /// Predicted examples that wait for their labels.
    pub pending: usize,
}

/// Where an answer goes. Who does not wait any more misses nothing: what was learnt stays learnt.
pub type Reply<T> = oneshot::Sender<Result<T, Failure>>;

/// What is asked of a model's thread.
#[derive(Debug)]
pub enum Job {
    /// Learn examples.
    Learn {
        /// Those.
        examples: Examples,
        /// By what the request is known again.
        key: Option<Key>,
        /// Milliseconds since 1970.
        time: u64,
        /// Where the answer goes.
        reply: Reply<Answer>,
    },
    /// Learn remembered examples.
    Label {
        /// Whose ids these are.
        whose: String,
        /// Ids and labels.
        labels: Vec<(String, f64)>,
        /// By what the request is known again.
        key: Option<Key>,
        /// Milliseconds since 1970.
        time: u64,
        /// Where the answer goes.
        reply: Reply<Answer>,
    },
    /// Remember examples that were predicted.
    Remember {
        /// Whose ids these are.
        whose: String,
        /// Examples with ids, without labels.
        examples: Examples,
        /// Milliseconds since 1970.
        time: u64,
    },
    /// Forget a task.
    Forget {
        /// Its name.
        task: String,
        /// Milliseconds since 1970.
        time: u64,
        /// Where the answer goes.
        reply: Reply<u64>,
    },
    /// Make a snapshot; its entry.
    Snapshot {
        /// Where the answer goes.
        reply: Reply<u64>,
    },
}

impl Job {
    /// Bytes that it holds, about.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Learn { examples, .. } | Self::Remember { examples, .. } => examples.bytes.len(),
            Self::Label { labels, .. } => labels.iter().map(|(id, _)| id.len() + 40).sum(),
            Self::Forget { task, .. } => task.len(),
            Self::Snapshot { .. } => 0,
        }
    }
}
