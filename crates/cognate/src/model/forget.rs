//! Forgetting a task: its own weights, its counts, its name.

use super::Model;
use crate::class_weight::TaskCounts;
use crate::error::UnknownTask;
use crate::example::TaskId;

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
        let fresh = self.config.build(&tasks).ok();
        let without = fresh.and_then(|fresh| self.learner.without(task, fresh));
        self.learner = without.ok_or_else(inseparable)?;
        let known = self.knows_class_counts();
        self.tasks = tasks;
        self.metrics.remove(task);
        if known {
            self.class_counts.remove(task);
        } else {
            let of_task = |task: u32| {
                let tally = self.metrics.task(TaskId(task));
                let positive = tally.positives();
                TaskCounts { positive, negative: tally.examples.saturating_sub(positive) }
            };
            self.class_counts.recount((0..self.tasks.len() as u32).map(of_task));
        }
        Ok(())
    }

    /// Whether it is known how many labels of each class every task has taught, where classes are balanced by them.
    ///
    /// Models that an earlier version saved do not know it. When they forget a task, the classes are counted anew, from the
    /// examples of the other tasks, those whose labels were not asked for among them.
    pub fn knows_class_counts(&self) -> bool {
        self.class_counts.are_known_by_task()
    }
}
