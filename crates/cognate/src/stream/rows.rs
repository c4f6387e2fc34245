//! Examples given one by one by whoever holds a model: features by number or by name, tasks by name.
//!
//! Names get their numbers as those of a line of JSON do, in the model itself, so that nothing is copied however many
//! it knows.

use super::batch::{Batch, NO_LABEL};
use super::error::{Problem, shown};
use super::labels::{LabelRule, UNNAMED_TASK, is_task_name, meet_task, unknown_task};
use super::named::{NamedLine, Repeats};
use super::{Labels, Stream, StreamError, TableError};
use crate::example::{BIAS_FEATURE, TaskId, is_valid};
use crate::feature_names::Naming;
use crate::model::Model;

/// The features of an example.
#[derive(Debug)]
pub enum Features<'a> {
    /// None, which fits models of either kind.
    Nothing,
    /// By number, from 0, in any order; they are put in order.
    Numbered(&'a mut Vec<(u32, f64)>),
    /// By name.
    Named(&'a [(&'a str, Cell<'a>)]),
}

/// What is known under a name.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Cell<'a> {
    /// The value of the feature.
    Number(f64),
    /// The feature `<name>=<text>` has the value 1.
    Text(&'a str),
}

/// Examples, gathered for a model to learn or to predict.
#[derive(Debug)]
pub struct Rows {
    batch: Batch,
    line: NamedLine,
    rule: LabelRule,
    /// Names of features and tasks that the model knew before.
    known: Option<(usize, usize)>,
}

impl Default for Rows {
    fn default() -> Self {
        Self {
            batch: Batch::default(),
            line: NamedLine::new(Repeats::Refused),
            rule: LabelRule::new(Labels::Optional),
            known: None,
        }
    }
}

impl Rows {
    /// Forgets all examples, and keeps the room that they took.
    pub fn clear(&mut self) {
        self.batch.clear();
        self.rule.restart();
        self.known = None;
    }

    /// Adds an example to be learnt: names that are new to the model are new no more.
    ///
    /// # Errors
    /// When features, task or label cannot be such; [`Self::undo`] then takes back what the examples before it left.
    pub fn push(
        &mut self,
        model: &mut Model,
        task: Option<&str>,
        features: &mut Features<'_>,
        label: Option<f64>,
    ) -> Result<(), TableError> {
        let (names, tasks) = *self.known.get_or_insert((model.names.len(), model.tasks.len()));
        let row = self.batch.len();
        let known = model.names.len();
        debug_assert!(names <= known && tasks <= model.tasks.len(), "the rows are of one model");
        let added = self.add(model, features, label).and_then(|label| {
            let met = task_name(task).and_then(|name| meet_task(&mut model.tasks, name));
            met.inspect_err(|_| model.names.keep_first(known)).map(|task| (task, label))
        });
        self.close(added, model).map_err(|problem| TableError::Row { row, problem })
    }

    /// Adds an example to be predicted: the model stays as it is.
    ///
    /// # Errors
    /// As [`Self::push`].
    pub fn push_unlearnt(
        &mut self,
        model: &mut Model,
        task: Option<&str>,
        features: &mut Features<'_>,
    ) -> Result<(), TableError> {
        let known = model.names.len();
        let row = self.batch.len();
        let added = self.add(model, features, None).and_then(|label| {
            model.names.keep_first(known);
            Ok((known_task(model, task_name(task)?)?, label))
        });
        self.close(added, model).map_err(|problem| TableError::Row { row, problem })
    }

    /// Makes a model forget the names that it has from these examples.
    pub fn undo(&self, model: &mut Model) {
        if let Some((names, tasks)) = self.known {
            model.names.keep_first(names);
            model.tasks.keep_first(tasks);
        }
    }

    /// The examples.
    pub fn batch(&self) -> &Batch {
        &self.batch
    }

    /// Puts the features into the batch and gives the label, read.
    fn add(
        &mut self,
        model: &mut Model,
        features: &mut Features<'_>,
        label: Option<f64>,
    ) -> Result<f64, Problem> {
        let label = match label {
            None => NO_LABEL,
            Some(label) if self.rule.is_label(label) => self.rule.accept(label)?,
            Some(label) => return Err(Problem::Label { found: label.to_string() }),
        };
        match features {
            Features::Nothing => {}
            Features::Numbered(pairs) => numbered(pairs, model, &mut self.batch)?,
            Features::Named(cells) => {
                self.gather(cells, model.names.naming())?;
                self.line.place(&mut self.batch, &mut model.names).map_err(|(_, problem)| problem)?;
            }
        }
        Ok(label)
    }

    /// Ends the example, or leaves nothing of it.
    fn close(&mut self, added: Result<(TaskId, f64), Problem>, model: &Model) -> Result<(), Problem> {
        match added {
            Ok((task, label)) => {
                self.batch.preprocess(&model.config.preprocess);
                self.batch.close(task, label, self.batch.len() as u64 + 1);
                Ok(())
            }
            Err(problem) => {
                self.batch.abandon();
                Err(problem)
            }
        }
    }

    /// The features of a line that has names.
    fn gather(&mut self, cells: &[(&str, Cell<'_>)], naming: Naming) -> Result<(), Problem> {
        if naming == Naming::Numbered {
            return Err(Problem::Named);
        }
        self.line.clear();
        for (name, cell) in cells {
            match cell {
                Cell::Number(value) if is_valid(*value) => self.line.push(&[], &[name], 0, 0, *value),
                Cell::Number(value) => {
                    let (found, feature) = (value.to_string(), shown(name.as_bytes()));
                    return Err(Problem::FeatureValue { found, feature });
                }
                // Two features may not share a name.
                Cell::Text(_) if name.contains('=') => {
                    return Err(Problem::ColumnOfTexts { column: shown(name.as_bytes()) });
                }
                Cell::Text(text) => self.line.push(&[], &[name, "=", text], 0, 0, 1.0),
            }
        }
        Ok(())
    }
}

/// Features by number, into the batch.
fn numbered(pairs: &mut [(u32, f64)], model: &Model, batch: &mut Batch) -> Result<(), Problem> {
    if model.names.naming() != Naming::Numbered {
        return Err(Problem::Numbered);
    }
    pairs.sort_unstable_by_key(|(index, _)| *index);
    let end = model.config.features.unwrap_or(BIAS_FEATURE).min(BIAS_FEATURE);
    let mut previous = None;
    for (index, value) in pairs.iter() {
        if *index >= end {
            return Err(Problem::Beyond { index: *index, largest: end.saturating_sub(1) });
        }
        if let Some(previous) = previous.filter(|previous| previous == index) {
            return Err(Problem::Order { previous, index: *index });
        }
        if !is_valid(*value) {
            return Err(Problem::Value { found: value.to_string() });
        }
        previous = Some(*index);
    }
    batch.indices.extend(pairs.iter().map(|(index, _)| *index));
    batch.values.extend(pairs.iter().map(|(_, value)| *value));
    Ok(())
}

/// All examples at once; the model has met their tasks and names already. They are given out once.
impl Stream for Rows {
    fn fill(&mut self, batch: &mut Batch) -> Result<(), StreamError> {
        batch.clear();
        std::mem::swap(batch, &mut self.batch);
        Ok(())
    }

    fn rewind(&mut self) -> Result<(), StreamError> {
        Ok(())
    }
}

/// The name of a task, if it can be one.
fn task_name(task: Option<&str>) -> Result<&str, Problem> {
    let name = task.unwrap_or(UNNAMED_TASK);
    if is_task_name(name) { Ok(name) } else { Err(Problem::TaskName { found: shown(name.as_bytes()) }) }
}

/// The task of a name; every one that a model has not met is the next one that it would meet.
fn known_task(model: &Model, name: &str) -> Result<TaskId, Problem> {
    match (model.tasks.find(name), model.tasks.limit()) {
        (Some(task), _) => Ok(task),
        (None, Some(declared)) if model.tasks.len() >= declared => {
            Err(unknown_task(&model.tasks, name, declared))
        }
        (None, _) => Ok(TaskId(model.learner.as_inspect().tasks() as u32)),
    }
}
