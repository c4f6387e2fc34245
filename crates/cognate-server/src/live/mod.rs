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
//! | `course` | how did the whole model do along the way? |
//! | `drift` | does a task err more than it used to? |
//! | `queue` | which examples wait for a person's label, and what have people said? |
//! | `asking` | how do people's answers become entries of the log? |
//! | `desk` | who is shown what? leases, and the order of the queue; in memory alone |

mod activity;
mod apply;
mod asking;
mod course;
mod desk;
mod drift;
mod engine;
mod memory;
mod queue;
mod shared;
mod worker;

pub use activity::{Activity, TaskActivity};
pub use asking::worth;
pub use course::Course;
pub use desk::{Desk, Leased, Lessee, Lost};
pub use drift::{Alert, Alerts};
pub use engine::{Durability, Engine, EngineOptions, Opened, write_snapshot};
pub use memory::Answer;
pub use queue::{Item, Queue, Said, Sample};
pub use shared::Shared;
pub(crate) use worker::now;
pub use worker::{Live, LiveError, Summary};

use cognate::Model;
use tokio::sync::oneshot;

use crate::entry::Key;
use crate::examples::Examples;
use crate::failure::Failure;
use crate::queue_entry::ItemId;

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
    /// Examples that wait for people.
    pub queue: Queue,
    /// Why nothing is learnt any more, if so.
    pub stopped: Option<String>,
}

/// What a person wishes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Wish {
    /// To answer an item.
    Answer {
        /// Which.
        id: ItemId,
        /// The label.
        label: f64,
    },
    /// To put an item at the end.
    Skip(ItemId),
    /// To take the last of these back.
    Undo(ItemId),
}

impl Wish {
    /// The item that it is about.
    pub fn id(&self) -> ItemId {
        match self {
            Self::Answer { id, .. } | Self::Skip(id) | Self::Undo(id) => *id,
        }
    }
}

/// What came of a wish.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Done {
    /// The last entry of the log.
    pub seq: u64,
    /// What was done.
    pub outcome: Outcome,
}

/// What was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The answer is durable, and held back for a while.
    Answered,
    /// It was so already.
    Again,
    /// The item is at the end.
    Skipped,
    /// The item waits again, as if nothing had been said.
    Undone,
    /// The answer had been learnt; the model was made again without it.
    Retracted,
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
    /// Do what a person wishes with an item of the queue.
    Queue {
        /// What.
        wish: Wish,
        /// Who.
        by: String,
        /// Milliseconds since 1970.
        time: u64,
        /// Where the answer goes.
        reply: Reply<Done>,
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
            Self::Snapshot { .. } | Self::Queue { .. } => 0,
        }
    }
}
