//! Forgetting a task: its own weights, its counts, its name.

use super::Model;
use crate::error::UnknownTask;

/// Why a task was not forgotten.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ForgetError {
    /// There is no such task.
    #[error(transparent)]
    Unknown(#[from] UnknownTask),
    /// The config declares the tasks.
    #[error("task {task:?} was declared; only tasks that were added as they occurred can be forgotten")]
    Declared {
        /// The task.
        task: String,
    },
    /// The learner does not keep tasks apart.
    #[error("`{learner}` does not keep tasks apart, and cannot forget one")]
    Inseparable {
        /// The learner's id.
        learner: &'static str,
    },
}

impl Model {
    /// Forgets a task that was not declared: its own weights, its counts, its name. Tasks after it move one number down.
    ///
    /// What its examples taught the shared weights stays, and so do names of features. Streams that were made for
    /// the model before no longer fit it. Costs as much as saving and loading the model.
    ///
    /// # Errors
    /// When there is no such task, tasks were declared, or the learner does not keep tasks apart; the model is then unchanged.
    pub fn forget_task(&mut self, name: &str) -> Result<(), ForgetError> {
        let task = self.task(name)?;
        if self.tasks.limit().is_some() {
            return Err(ForgetError::Declared { task: name.to_owned() });
        }
        let mut tasks = self.tasks.clone();
        tasks.remove(task);
        let inseparable = || ForgetError::Inseparable { learner: self.learner.about().id };
        let without = self.learner.without(task, &self.config.learner, &tasks, self.config.features);
        self.learner = without.ok_or_else(inseparable)?;
        self.tasks = tasks;
        self.metrics.remove(task);
        Ok(())
    }
}
