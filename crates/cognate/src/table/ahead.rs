//! Weights of the next examples are found while this one is learnt, so that they are in cache when they are needed.

use crate::example::{Example, SparseView, TaskId};
use crate::stream::Batch;

/// Examples whose weights are on their way at a time.
pub(crate) const AHEAD: usize = 4;

/// Tables of weights that are found in two steps.
pub(crate) trait Locate {
    /// Where an example's weights are, as far as it is known.
    type Located;

    /// Asks for what it takes to locate an example.
    fn ask(&self, task: TaskId, x: SparseView<'_>);

    /// Locates an example, and asks for its weights.
    fn locate(&self, task: TaskId, x: SparseView<'_>, located: &mut Self::Located);

    /// Locates an example of a batch, where there is such a one, and asks for what it takes to locate a later one.
    #[inline]
    fn locate_ahead(
        &self,
        batch: &Batch,
        at: usize,
        task_of: impl Fn(TaskId) -> TaskId,
        located: &mut [Self::Located; AHEAD],
    ) {
        if at + AHEAD < batch.len() {
            let Example { task, features, .. } = batch.example(at + AHEAD);
            self.ask(task_of(task), features);
        }
        if at < batch.len() {
            let Example { task, features, .. } = batch.example(at);
            self.locate(task_of(task), features, &mut located[at % AHEAD]);
        }
    }
}
