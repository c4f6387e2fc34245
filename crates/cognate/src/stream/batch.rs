//! A flat, reused run of examples: no allocation per example once the buffers have grown.

use crate::example::{BIAS_FEATURE, Example, SparseView, TaskId};
use crate::feature_names::{FeatureNames, NameList, Naming};
use crate::stream::{ColumnKind, Preprocess, StreamError};
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
    /// Bad lines skipped since the batch before.
    pub(crate) skipped: u64,
    /// Bytes of input read so far, as stored on disk.
    pub(crate) position: u64,
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
        let start = if at == 0 { 0 } else { self.ends[at - 1] };
        let end = self.ends[at];
        Example {
            task: self.tasks[at],
            features: SparseView::trusted(&self.indices[start..end], &self.values[start..end]),
            label: self.labels[at],
        }
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
        match self.tasks.iter().max() {
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

    /// Bytes of input read so far, as stored on disk.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// The line of an example in its file, 0 if there is none.
    pub(crate) fn line(&self, at: usize) -> u64 {
        self.lines[at]
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
        self.close(example.task, example.label, 0);
    }

    /// Adds an example with its line, if lines are kept.
    pub(crate) fn push_with_text(&mut self, example: Example<'_>, text: Option<&[u8]>) {
        self.push(example);
        if let Some(text) = text {
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
        self.texts.clear();
        self.texts.shrink_to(LARGEST_KEPT);
        self.text_ends.clear();
        self.new_tasks.clear();
        self.first_new_task = 0;
        self.new_names.clear();
        self.new_columns.clear();
        self.skipped = 0;
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

    /// Drops the features of the example under way.
    pub(crate) fn abandon(&mut self) {
        let start = self.open_start();
        self.indices.truncate(start);
        self.values.truncate(start);
    }

    /// Ends the example under way.
    #[inline]
    pub(crate) fn close(&mut self, task: TaskId, label: f64, line: u64) {
        self.tasks.push(task);
        self.labels.push(label);
        self.ends.push(self.indices.len());
        self.lines.push(line);
    }

    /// Moves the features of the example under way to another place.
    pub(crate) fn take_open(&mut self, indices: &mut Vec<u32>, values: &mut Vec<f64>) {
        let start = self.open_start();
        indices.clear();
        values.clear();
        indices.extend(self.indices.drain(start..));
        values.extend(self.values.drain(start..));
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
