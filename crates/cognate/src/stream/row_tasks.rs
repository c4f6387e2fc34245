//! The tasks of rows in borrowed memory, numbered before the rows are read.

use super::TableError;
use super::error::Problem;
use super::labels::{is_task_name, unknown_task};
use crate::example::TaskId;
use crate::tasks::{TaskLimit, Tasks};

/// The tasks of rows, numbered as a model numbers them; new ones come after those that it knows.
#[derive(Debug, Clone)]
pub struct RowTasks {
    /// One for every row, or one for all.
    pub(super) ids: Vec<TaskId>,
    /// Tasks that the model knows.
    pub(super) known: usize,
    pub(super) new: Tasks,
    limit: Option<usize>,
}

impl RowTasks {
    /// No row yet.
    pub fn new(known: &Tasks) -> Self {
        Self { ids: Vec::new(), known: known.len(), new: Tasks::open(), limit: known.limit() }
    }

    /// Adds the task of the next row, by name.
    ///
    /// # Errors
    /// When it is new and all declared tasks are in use.
    pub fn push(&mut self, known: &Tasks, name: &str) -> Result<(), TableError> {
        if !is_task_name(name) {
            let problem = Problem::TaskName { found: format!("{name:?}") };
            return Err(TableError::Row { row: self.ids.len(), problem });
        }
        let id = known.find(name).map_or_else(|| self.meet(name), Ok);
        let id = id.map_err(|limit| self.refuse(known, name, limit))?;
        self.ids.push(id);
        Ok(())
    }

    /// Adds the task of the next row, by number.
    ///
    /// # Errors
    /// As [`Self::push`].
    pub fn push_number(&mut self, known: &Tasks, number: u32) -> Result<(), TableError> {
        match known.find_number(number) {
            Some(id) => self.ids.push(id),
            None => self.push(known, &number.to_string())?,
        }
        Ok(())
    }

    /// The task of every row, or of all.
    pub(crate) fn ids(&self) -> &[TaskId] {
        &self.ids
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    fn meet(&mut self, name: &str) -> Result<TaskId, TaskLimit> {
        let count = self.known + self.new.len();
        match self.limit {
            Some(declared) if count >= declared && self.new.find(name).is_none() => {
                Err(TaskLimit { declared })
            }
            _ => self.new.meet(name).map(|task| TaskId(task.0 + self.known as u32)),
        }
    }

    fn refuse(&self, known: &Tasks, name: &str, limit: TaskLimit) -> TableError {
        let problem = unknown_task(known, name, limit.declared);
        TableError::Row { row: self.ids.len(), problem }
    }
}
