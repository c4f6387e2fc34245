//! Forgetting a task.

use super::Model;
use crate::error::UnknownTask;

/// Why a task was not forgotten.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ForgetError {
    /// There is no such task.
    #[error(transparent)]
    Unknown(#[from] UnknownTask),
}

impl Model {
    /// Placeholder.
    ///
    /// # Errors
    /// When no task is called so.
    pub fn forget_task(&mut self, name: &str) -> Result<(), ForgetError> {
        self.task(name)?;
        Ok(())
    }
}
