//! What is sent, and what does its schema say? The comments of fields become descriptions in `/openapi.json`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use crate::live::{Answer, Live};
use crate::tokens::Token;
use cognate::TaskId;

/// A number that is written without a point where it is whole.
#[derive(Debug, Clone, Copy, JsonSchema)]
#[schemars(transparent)]
pub(super) struct Plain(pub(super) f64);

impl Serialize for Plain {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0.fract() == 0.0 && self.0.abs() < 1e15 {
            serializer.serialize_i64(self.0 as i64)
        } else {
            serializer.serialize_f64(self.0)
        }
    }
}

/// All models.
#[derive(Serialize, JsonSchema)]
pub(super) struct ModelsAnswer {
    /// Summaries, by name
    pub(super) models: BTreeMap<String, SummaryAnswer>,
}

/// Points of the curve of a model.
const CURVE: usize = 64;

/// A model.
#[derive(Serialize, JsonSchema)]
pub(super) struct SummaryAnswer {
    /// The learner's id
    pub(super) learner: String,
    /// Labelled examples learnt
    pub(super) examples: u64,
    /// Examples whose label was mistaken before it was learnt; 0 where labels are numbers
    pub(super) mistakes: u64,
    /// Mistakes per example; where labels are numbers, the root of the mean squared error. Missing before the first example
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<f64>,
    /// What labels are: classes or numbers
    pub(super) labels: String,
    /// The error of who always answers the label that came most often; missing where labels are numbers, and for a token with a
    /// task prefix
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) constant_error: Option<f64>,
    /// Examples, and mistakes among them, along the way; nothing for a token with a task prefix
    pub(super) curve: Vec<[u64; 2]>,
    /// Number of tasks
    pub(super) tasks: usize,
    /// Last entry of the log that was applied
    pub(super) seq: u64,
    /// Entry after which the latest snapshot was made
    pub(super) snapshot_seq: u64,
    /// Predicted examples that wait for their labels
    pub(super) pending: usize,
    /// Examples that wait for people
    pub(super) queue: usize,
    /// Bytes held for the model, about
    pub(super) memory_bytes: usize,
    /// Why nothing is learnt any more, if so
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) stopped: Option<String>,
}

impl SummaryAnswer {
    /// As a token sees it: of its own tasks alone, if it has some.
    pub(super) fn of(live: &Live, who: &Token) -> Self {
        let summary = live.summary();
        let state = live.read();
        let model = &state.model;
        let metrics = model.metrics();
        let (mut examples, mut mistakes, mut tasks) =
            (metrics.total().examples, metrics.total().mistakes, model.tasks().len());
        let real = model.kind() == Some(cognate::fit::Kind::Regression);
        let mut error = if real { metrics.total().rmse() } else { Some(metrics.total().error()) };
        let mut memory_bytes = model.heap_bytes() + state.activity.heap_bytes() + state.queue.heap_bytes();
        memory_bytes += summary.memory_bytes;
        if !who.sees_all() {
            let own = model.tasks().names().enumerate().filter(|(_, name)| who.sees(name));
            let tallies = own.map(|(at, _)| metrics.task(TaskId(at as u32)));
            (examples, mistakes, tasks, memory_bytes) = (0, 0, 0, 0);
            let mut all = cognate::metrics::Tally::default();
            for tally in tallies {
                (examples, mistakes, tasks) =
                    (examples + tally.examples, mistakes + tally.mistakes, tasks + 1);
                all.merge(&tally);
            }
            error = if real { all.rmse() } else { Some(all.error()) };
        }
        Self {
            learner: model.learner().about().id.to_owned(),
            examples,
            mistakes,
            error: error.filter(|error| examples > 0 && error.is_finite()),
            labels: if real { "numbers" } else { "classes" }.to_owned(),
            constant_error: metrics.total().constant_error().filter(|_| who.sees_all() && !real),
            curve: if who.sees_all() { state.activity.course().curve(CURVE) } else { Vec::new() },
            tasks,
            seq: state.seq,
            snapshot_seq: state.snapshot_seq,
            pending: if who.sees_all() { state.pending } else { 0 },
            queue: state.queue.items().values().filter(|item| who.sees(&item.task)).count(),
            memory_bytes,
            stopped: summary.stopped,
        }
    }
}

/// A model that was made.
#[derive(Serialize, JsonSchema)]
pub(super) struct CreatedAnswer {
    /// Its name
    pub(super) model: String,
    /// Whether it is new; false if there was one of the same config
    pub(super) created: bool,
}

/// What was removed.
#[derive(Serialize, JsonSchema)]
pub(super) struct DeletedAnswer {
    /// Its name
    pub(super) deleted: String,
}

/// What was learnt.
#[derive(Serialize, JsonSchema)]
pub(super) struct LearnedAnswer {
    /// Entry of the log
    pub(super) seq: u64,
    /// Examples learnt
    pub(super) learned: usize,
    /// Margins of all examples before learning
    pub(super) margins: Vec<f64>,
    /// Examples whose label is `?`, which were only predicted; people are asked for some of them; missing where there are none
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) unlabelled: Option<usize>,
}

impl From<Answer> for LearnedAnswer {
    fn from(Answer { seq, margins, unlabelled, .. }: Answer) -> Self {
        Self {
            seq,
            learned: margins.len() - unlabelled,
            margins,
            unlabelled: Some(unlabelled).filter(|count| *count > 0),
        }
    }
}

/// What labels taught.
#[derive(Serialize, JsonSchema)]
pub(super) struct LabelledAnswer {
    /// Entry of the log
    pub(super) seq: u64,
    /// Examples learnt
    pub(super) learned: usize,
    /// Their margins before learning
    pub(super) margins: Vec<f64>,
    /// Ids of which nothing is remembered
    pub(super) unknown: Vec<String>,
    /// Ids whose example was learnt before
    pub(super) again: Vec<String>,
}

impl From<Answer> for LabelledAnswer {
    fn from(Answer { seq, margins, unknown, again, .. }: Answer) -> Self {
        Self { seq, learned: margins.len(), margins, unknown, again }
    }
}

/// Predictions, in the order of the examples.
#[derive(Serialize, JsonSchema)]
pub(super) struct PredictionsAnswer {
    /// One per example
    pub(super) predictions: Vec<PredictionAnswer>,
}

/// A prediction.
#[derive(Serialize, JsonSchema)]
pub(super) struct PredictionAnswer {
    /// The label: -1 or 1, or a number
    pub(super) label: Plain,
    /// The score, whose sign is the label
    pub(super) margin: f64,
    /// The probability of the label 1, where the learner gives one
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) probability: Option<f64>,
    /// The standard deviation of the margin, where the learner knows it
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) uncertainty: Option<f64>,
}

/// A snapshot that was made.
#[derive(Serialize, JsonSchema)]
pub(super) struct SnapshotAnswer {
    /// Entry after which it was made
    pub(super) snapshot_seq: u64,
}

/// How the server is.
#[derive(Serialize, JsonSchema)]
pub(super) struct ReadyAnswer {
    /// Whether everything can be asked
    pub(super) ready: bool,
    /// Why not
    pub(super) troubles: Vec<String>,
}

/// A page of tasks.
#[derive(Serialize, JsonSchema)]
pub(super) struct TasksAnswer {
    /// How many match
    pub(super) total: usize,
    /// Those of this page
    pub(super) tasks: Vec<TaskRow>,
    /// Asks for the next page; missing on the last one
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) next_cursor: Option<String>,
}

/// A task in a table.
#[derive(Serialize, JsonSchema)]
pub(super) struct TaskRow {
    /// Its name
    pub(super) task: String,
    /// Labelled examples learnt
    pub(super) examples: u64,
    /// Those whose label was mistaken before it was learnt
    pub(super) mistakes: u64,
    /// Mistakes per example; where labels are numbers, the root of the mean squared error
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<f64>,
    /// The error of about the last 64 examples; missing where labels are numbers
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) recent_error: Option<f64>,
    /// By how much the recent error is above the error; below 0 the task gets better
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) trend: Option<f64>,
    /// When its last example came, in seconds since 1970; missing where nobody has looked
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) last_seen: Option<f64>,
}

/// One task.
#[derive(Serialize, JsonSchema)]
pub(super) struct TaskAnswer {
    /// Its row in the table
    pub(super) row: TaskRow,
    /// Examples, and mistakes among them, along the way
    pub(super) curve: Vec<[u64; 2]>,
    /// The group that it shares with, where the learner has groups
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) group: Option<usize>,
    /// The tasks that teach it most
    pub(super) nearest: Vec<NearAnswer>,
    /// Its strongest features; none for a token with a task prefix
    pub(super) features: Vec<FeatureAnswer>,
}

/// Another task.
#[derive(Serialize, JsonSchema)]
pub(super) struct NearAnswer {
    /// Its name
    pub(super) task: String,
    /// How much its examples move the task that was asked for
    pub(super) strength: f64,
}

/// A feature.
#[derive(Serialize, JsonSchema)]
pub(super) struct FeatureAnswer {
    /// Its name, or its number from 1
    pub(super) feature: String,
    /// Its weight
    pub(super) weight: f64,
}

/// A task that was forgotten.
#[derive(Serialize, JsonSchema)]
pub(super) struct ForgottenAnswer {
    /// Its name
    pub(super) forgotten: String,
    /// Entry of the log
    pub(super) seq: u64,
    /// What stays
    pub(super) note: String,
}

/// How tasks influence each other.
#[derive(Serialize, JsonSchema)]
pub(super) struct RelationsAnswer {
    /// Number of tasks that were looked at
    pub(super) among: usize,
    /// The strongest first
    pub(super) pairs: Vec<PairAnswer>,
}

/// A pair of tasks.
#[derive(Serialize, JsonSchema)]
pub(super) struct PairAnswer {
    /// The one that is taught
    pub(super) to: String,
    /// The one that teaches
    pub(super) from: String,
    /// How much
    pub(super) strength: f64,
}

/// All tasks in the plane.
#[derive(Serialize, JsonSchema)]
pub(super) struct MapAnswer {
    /// Last entry of the log that was applied
    pub(super) seq: u64,
    /// Tasks that teach each other much lie close together
    pub(super) points: Vec<PointAnswer>,
}

/// A task in the plane.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(super) struct PointAnswer {
    /// Its name
    pub(super) task: String,
    /// To the right
    pub(super) x: f64,
    /// Up
    pub(super) y: f64,
    /// Labelled examples learnt
    pub(super) examples: u64,
    /// The group that it shares with, where the learner has groups
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) group: Option<usize>,
    /// Whether the learner takes it for an outlier
    pub(super) outlier: bool,
}
