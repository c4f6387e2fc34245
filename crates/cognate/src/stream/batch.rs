//! A flat, reused run of examples: no allocation per example once the buffers have grown.

use std::sync::OnceLock;

use crate::example::{BIAS_FEATURE, Example, SparseView, TaskId};
use crate::feature_names::{FeatureNames, NameList, Naming};
use crate::fingerprint::fingerprint;
use crate::stream::{ColumnKind, LabelNames, Preprocess, StreamError};
use crate::tasks::Tasks;

/// A batch of examples, with the names of the tasks that appear in it for the first time.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Batch {
    tasks: Vec<TaskId>,
    labels: Vec<f64>,
    /// Where each example's features end.
    ends: Vec<usize>,
    pub(crate) indices: Vec<u32>,
    pub(crate) values: Vec<f64>,
    /// Which input each example came from, and its line there; 0 for generated ones.
    lines: Vec<u64>,
    pub(crate) file: u32,
    /// What examples have that few have: all 1, all 0 and none while these are empty.
    weights: Vec<f64>,
    offsets: Vec<f64>,
    times: Vec<Option<f64>>,
    /// Ids of examples, one after the other.
    ids: Vec<u8>,
    /// Which example each id is of, and where it ends.
    id_ends: Vec<(usize, usize)>,
    /// What the example under way has of these.
    open: Rare,
    /// Texts of the lines without a label, if they are kept, one after the other.
    texts: Vec<u8>,
    /// Which example each text is of, and where it ends.
    text_ends: Vec<(usize, usize)>,
    /// Names of tasks met for the first time, in order of their numbers.
    new_tasks: Vec<String>,
    /// The number of the first of them.
    first_new_task: u32,
    /// Names of features met for the first time, with their numbers.
    pub(crate) new_names: NameList,
    /// What columns of `csv` turned out to hold.
    pub(crate) new_columns: Vec<(String, ColumnKind)>,
    /// What the stream calls its labels, if that is news.
    pub(crate) new_labels: LabelNames,
    /// Bad lines skipped since the batch before.
    pub(crate) skipped: u64,
    /// Lines of them, each with the number of examples before it, if they are kept.
    skipped_lines: Vec<(usize, u64)>,
    /// Bytes of input read so far, as stored on disk.
    pub(crate) position: u64,
    /// Whether it is the last one of a pass.
    pub(crate) ends_pass: bool,
    /// Whether the task of an example is not known.
    pub(crate) has_unknown: bool,
    fingerprints: Fingerprints,
}

/// By what examples are known again, once somebody has asked. It follows from them, so batches are equal without it.
#[derive(Debug, Clone, Default)]
struct Fingerprints(OnceLock<Vec<u64>>);

impl PartialEq for Fingerprints {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// What few examples have.
#[derive(Debug, Clone, Default, PartialEq)]
struct Rare {
    weight: Option<f64>,
    offset: Option<f64>,
    time: Option<f64>,
    /// Where its id begins, if it has one.
    id: Option<usize>,
}

/// The same, taken out of a batch.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Extras {
    weight: Option<f64>,
    offset: Option<f64>,
    time: Option<f64>,
    id: Option<String>,
}

/// Appends the value of the newest of so many examples to a column that is empty while all values are usual.
#[inline]
fn push_rare<T: Copy>(column: &mut Vec<T>, examples: usize, value: Option<T>, usual: T) {
    if value.is_some() || !column.is_empty() {
        column.resize(examples - 1, usual);
        column.push(value.unwrap_or(usual));
    }
}

/// Label of an example that has none.
pub(crate) const NO_LABEL: f64 = f64::NAN;

impl Batch {
    /// Number of examples.
    pub fn len(&self) -> usize {
        self.tasks.len()
    }

    /// Whether there are no examples.
    pub fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    /// One example; its label is NaN if the input had none.
    #[inline]
    pub fn example(&self, at: usize) -> Example<'_> {
        let (task, features) = self.place(at);
        Example {
            task,
            features,
            label: self.labels[at],
            weight: self.weights.get(at).copied().unwrap_or(1.0),
            offset: self.offsets.get(at).copied().unwrap_or(0.0),
            time: self.times.get(at).copied().flatten(),
        }
    }

    /// Task and features of an example.
    #[inline]
    pub(crate) fn place(&self, at: usize) -> (TaskId, SparseView<'_>) {
        let range = self.range(at);
        (self.tasks[at], SparseView::trusted(&self.indices[range.clone()], &self.values[range]))
    }

    /// Whether two examples are of one task and have the same features, as dense rows do.
    #[inline]
    pub(crate) fn are_alike(&self, one: usize, other: usize) -> bool {
        let indices = |at: usize| &self.indices[self.range(at)];
        self.tasks[one] == self.tasks[other] && indices(one) == indices(other)
    }

    #[inline]
    fn range(&self, at: usize) -> std::ops::Range<usize> {
        let start = if at == 0 { 0 } else { self.ends[at - 1] };
        start..self.ends[at]
    }

    /// The task of an example.
    #[inline]
    pub(crate) fn task(&self, at: usize) -> TaskId {
        self.tasks[at]
    }

    /// By what an example is known again: found for all at once, since several ask for it.
    #[inline]
    pub(crate) fn fingerprint(&self, at: usize) -> u64 {
        self.fingerprints.0.get_or_init(|| self.examples().map(fingerprint).collect())[at]
    }

    /// All examples in order.
    pub fn examples(&self) -> impl ExactSizeIterator<Item = Example<'_>> {
        (0..self.len()).map(|at| self.example(at))
    }

    /// Names of tasks met for the first time in this batch, in order of their numbers.
    pub fn new_tasks(&self) -> &[String] {
        &self.new_tasks
    }

    /// Adds the name of a task that appears here for the first time.
    pub(crate) fn push_task(&mut self, task: TaskId, name: &str) {
        if self.new_tasks.is_empty() {
            self.first_new_task = task.0;
        }
        self.new_tasks.push(name.to_owned());
    }

    /// Makes known the tasks that appear here for the first time.
    ///
    /// # Errors
    /// When the stream numbers its tasks differently.
    pub(crate) fn introduce_tasks(&self, tasks: &mut Tasks) -> Result<(), StreamError> {
        for (name, number) in self.new_tasks.iter().zip(self.first_new_task..) {
            if number as usize != tasks.len() || tasks.meet(name) != Ok(TaskId(number)) {
                return Err(StreamError::ForeignTask { task: name.clone() });
            }
        }
        let known = |task: &&TaskId| !self.has_unknown || **task != TaskId::UNKNOWN;
        match self.tasks.iter().filter(known).max() {
            Some(task) if task.index() >= tasks.len() => {
                Err(StreamError::ForeignTask { task: format!("number {}", task.0) })
            }
            _ => Ok(()),
        }
    }

    /// Makes known the names of features that appear here for the first time.
    ///
    /// # Errors
    /// When the stream numbers its names differently.
    pub(crate) fn introduce_names(&self, names: &mut FeatureNames) -> Result<(), StreamError> {
        for (name, feature) in self.new_names.iter() {
            if !names.adopt(name, feature) {
                return Err(StreamError::foreign_feature(name));
            }
        }
        if names.naming() != Naming::Kept {
            return Ok(());
        }
        // Of the features of an example the last has the largest number, but for the constant one.
        let largest = self.examples().filter_map(|example| {
            let indices = example.features.indices();
            indices.iter().rev().find(|index| **index != BIAS_FEATURE).copied()
        });
        match largest.max() {
            Some(feature) if feature as usize >= names.len() => {
                Err(StreamError::ForeignFeature { name: format!("number {feature}") })
            }
            _ => Ok(()),
        }
    }

    /// Bad lines skipped since the batch before.
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Bad lines skipped, each with the number of examples of the batch that come before it; only readers for predictions
    /// keep them.
    pub fn skipped_lines(&self) -> &[(usize, u64)] {
        &self.skipped_lines
    }

    /// Keeps the number of a line that is skipped.
    pub(crate) fn skip_line(&mut self, line: u64) {
        self.skipped_lines.push((self.len(), line));
    }

    /// Bytes of input read so far, as stored on disk.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// The line of an example in its file, 0 if there is none.
    pub fn line(&self, at: usize) -> u64 {
        self.lines[at]
    }

    /// Whether an example has a weight other than 1.
    pub fn has_weights(&self) -> bool {
        self.weights.iter().any(|weight| *weight != 1.0)
    }

    /// Whether an example has the weight 0.
    pub(crate) fn has_zero_weights(&self) -> bool {
        self.weights.contains(&0.0)
    }

    /// Whether an example has an offset other than 0.
    pub fn has_offsets(&self) -> bool {
        self.offsets.iter().any(|offset| *offset != 0.0)
    }

    /// The id of an example, if it has one.
    pub fn id(&self, at: usize) -> Option<&str> {
        let place = self.id_ends.binary_search_by_key(&at, |(example, _)| *example).ok()?;
        let start = if place == 0 { 0 } else { self.id_ends[place - 1].1 };
        std::str::from_utf8(&self.ids[start..self.id_ends[place].1]).ok()
    }

    /// Sets the weight of the example under way; its caller has checked that it can be one.
    pub(crate) fn set_weight(&mut self, weight: f64) {
        self.open.weight = Some(weight);
    }

    /// Sets the offset of the example under way; its caller has checked that it can be one.
    pub(crate) fn set_offset(&mut self, offset: f64) {
        self.open.offset = Some(offset);
    }

    /// Sets the time of the example under way, in seconds.
    pub(crate) fn set_time(&mut self, time: f64) {
        self.open.time = Some(time);
    }

    /// Whether the example under way has a time.
    pub(crate) fn has_open_time(&self) -> bool {
        self.open.time.is_some()
    }

    /// Sets the id of the example under way.
    pub(crate) fn set_id(&mut self, id: &str) {
        let start = *self.open.id.get_or_insert(self.ids.len());
        self.ids.truncate(start);
        self.ids.extend_from_slice(id.as_bytes());
    }

    /// Whether an example has no label.
    pub fn has_unlabelled(&self) -> bool {
        self.labels.iter().any(|label| label.is_nan())
    }

    /// The line of an example as it was read, if it has no label and the reader keeps such lines.
    pub fn text(&self, at: usize) -> Option<&[u8]> {
        let place = self.text_ends.binary_search_by_key(&at, |(example, _)| *example).ok()?;
        let start = if place == 0 { 0 } else { self.text_ends[place - 1].1 };
        Some(&self.texts[start..self.text_ends[place].1])
    }

    /// Keeps the line that the last example came from.
    pub(crate) fn keep_text(&mut self, line: &[u8]) {
        self.texts.extend_from_slice(line);
        self.text_ends.push((self.len() - 1, self.texts.len()));
    }

    /// Gives the next task number to this name; a stream does so before the first example of every new task.
    pub fn name_task(&mut self, name: impl Into<String>) {
        self.new_tasks.push(name.into());
    }

    /// Adds an example.
    pub fn push(&mut self, example: Example<'_>) {
        self.indices.extend_from_slice(example.features.indices());
        self.values.extend_from_slice(example.features.values());
        self.open.weight = Some(example.weight).filter(|weight| *weight != 1.0);
        self.open.offset = Some(example.offset).filter(|offset| *offset != 0.0);
        self.open.time = example.time;
        self.close(example.task, example.label, 0);
    }

    /// Adds an example of another batch, with its line and its id, under another task number.
    pub(crate) fn push_from(&mut self, other: &Self, at: usize, task: TaskId) {
        if let Some(id) = other.id(at) {
            self.set_id(id);
        }
        self.push(Example { task, ..other.example(at) });
        if let Some(line) = self.lines.last_mut() {
            *line = other.line(at);
        }
        if let Some(text) = other.text(at) {
            self.keep_text(text);
        }
    }

    /// Empties the batch, keeping its buffers unless one example made them huge.
    pub fn clear(&mut self) {
        self.tasks.clear();
        self.labels.clear();
        self.ends.clear();
        self.lines.clear();
        self.indices.clear();
        self.values.clear();
        self.indices.shrink_to(LARGEST_KEPT);
        self.values.shrink_to(LARGEST_KEPT);
        self.weights.clear();
        self.offsets.clear();
        self.times.clear();
        self.ids.clear();
        self.ids.shrink_to(LARGEST_KEPT);
        self.id_ends.clear();
        self.open = Rare::default();
        self.texts.clear();
        self.texts.shrink_to(LARGEST_KEPT);
        self.text_ends.clear();
        self.new_tasks.clear();
        self.first_new_task = 0;
        self.new_names.clear();
        self.new_columns.clear();
        self.new_labels = LabelNames::default();
        self.skipped = 0;
        self.skipped_lines.clear();
        self.ends_pass = false;
        self.has_unknown = false;
        self.fingerprints = Fingerprints::default();
    }

    /// Makes room for this many examples of usual size; does nothing once a batch has been used.
    pub(crate) fn reserve(&mut self, examples: usize) {
        self.tasks.reserve(examples);
        self.labels.reserve(examples);
        self.ends.reserve(examples);
        self.lines.reserve(examples);
        self.indices.reserve(16 * examples);
        self.values.reserve(16 * examples);
    }

    /// Where the features of the example under way begin.
    pub(crate) fn open_start(&self) -> usize {
        self.ends.last().copied().unwrap_or(0)
    }

    /// The last feature of the example under way.
    pub(crate) fn open_last(&self) -> Option<u32> {
        self.indices[self.open_start()..].last().copied()
    }

    /// Drops the features of the example under way, and whatever else is known of it.
    pub(crate) fn abandon(&mut self) {
        if let Some(start) = std::mem::take(&mut self.open).id {
            self.ids.truncate(start);
        }
        let start = self.open_start();
        self.indices.truncate(start);
        self.values.truncate(start);
    }

    /// Brings the features of the example under way into order, most of which are, and adds up those of one number.
    pub(crate) fn sort_open(&mut self) {
        let start = self.open_start();
        let (indices, values) = (&mut self.indices[start..], &mut self.values[start..]);
        if indices.is_sorted_by(|one, other| one < other) {
            return;
        }
        for next in 1..indices.len() {
            let mut at = next;
            while at > 0 && indices[at - 1] > indices[at] {
                indices.swap(at - 1, at);
                values.swap(at - 1, at);
                at -= 1;
            }
        }
        let mut last = 0;
        for at in 1..indices.len() {
            if indices[at] == indices[last] {
                values[last] += values[at];
            } else {
                last += 1;
                (indices[last], values[last]) = (indices[at], values[at]);
            }
        }
        self.indices.truncate(start + last + 1);
        self.values.truncate(start + last + 1);
    }

    /// Ends the example under way.
    #[inline]
    pub(crate) fn close(&mut self, task: TaskId, label: f64, line: u64) {
        self.tasks.push(task);
        self.labels.push(label);
        self.ends.push(self.indices.len());
        self.lines.push(line);
        self.fingerprints.0.take();
        if self.open != Rare::default() || self.has_rare() {
            self.close_rare();
        }
    }

    #[inline]
    fn has_rare(&self) -> bool {
        !(self.weights.is_empty() && self.offsets.is_empty() && self.times.is_empty())
    }

    /// Keeps what the example just closed has that few have.
    fn close_rare(&mut self) {
        let Rare { weight, offset, time, id } = std::mem::take(&mut self.open);
        let examples = self.len();
        push_rare(&mut self.weights, examples, weight, 1.0);
        push_rare(&mut self.offsets, examples, offset, 0.0);
        push_rare(&mut self.times, examples, time.map(Some), None);
        if id.is_some() {
            self.id_ends.push((examples - 1, self.ids.len()));
        }
    }

    /// Moves the features of the example under way to another place, and gives what else is known of it.
    pub(crate) fn take_open(&mut self, indices: &mut Vec<u32>, values: &mut Vec<f64>) -> Extras {
        let start = self.open_start();
        indices.clear();
        values.clear();
        indices.extend(self.indices.drain(start..));
        values.extend(self.values.drain(start..));
        let Rare { weight, offset, time, id } = std::mem::take(&mut self.open);
        let id = id.map(|start| String::from_utf8_lossy(&self.ids.split_off(start)).into_owned());
        Extras { weight, offset, time, id }
    }

    /// Gives the example under way what another had.
    pub(crate) fn set_extras(&mut self, extras: &Extras) {
        let Extras { weight, offset, time, id } = extras;
        (self.open.weight, self.open.offset, self.open.time) = (*weight, *offset, *time);
        if let Some(id) = id {
            self.set_id(id);
        }
    }

    /// Scales the example under way and adds the constant feature.
    pub(crate) fn preprocess(&mut self, preprocess: &Preprocess) {
        let start = self.open_start();
        preprocess.scale(&mut self.values[start..]);
        if let Some(bias) = preprocess.bias {
            self.indices.push(BIAS_FEATURE);
            self.values.push(bias);
        }
    }
}

/// Entries of a feature buffer that outlive a batch: 8 MiB of values.
const LARGEST_KEPT: usize = 1 << 20;
