//! Weights of the next examples are found while this one is learnt, so that they are in cache when they are needed.

use crate::example::{Example, SparseView, TaskId};
use crate::stream::Batch;

/// Examples whose weights are on their way at a time.
pub(crate) const AHEAD: usize = 4;

/// Tables of weights that are found in steps, each of which asks for the memory that the next one needs.
pub(crate) trait Locate {
    /// Where an example's weights are, as far as it is known.
    type Located: Default;

    /// Examples that are settled at a time: the one that comes now, and later ones where settling asks for memory too.
    const SETTLED: usize;

    /// Asks for what it takes to locate an example.
    fn ask(&self, task: TaskId, x: SparseView<'_>);

    /// Locates an example, and asks for its weights.
    fn locate(&self, task: TaskId, x: SparseView<'_>, located: &mut Self::Located);

    /// The same where it was located, and perhaps learnt, for an example of the same task that has the same features.
    #[inline]
    fn locate_again(&self, task: TaskId, x: SparseView<'_>, located: &mut Self::Located) {
        self.locate(task, x, located);
    }

    /// Brings what was located up to date with what has been learnt since.
    fn settle(&self, task: TaskId, x: SparseView<'_>, located: &mut Self::Located);

    /// Locates the given example of a batch, if there is one, and asks for what it takes to locate a later one.
    #[inline]
    fn locate_ahead(
        &self,
        batch: &Batch,
        at: usize,
        task_of: impl Fn(TaskId) -> TaskId,
        located: &mut [Self::Located; AHEAD],
    ) {
        if at + AHEAD < batch.len() && !batch.are_alike(at, at + AHEAD) {
            let (task, features) = batch.place(at + AHEAD);
            self.ask(task_of(task), features);
        }
        if at < batch.len() {
            let (task, features) = batch.place(at);
            let located = &mut located[at % AHEAD];
            if at >= AHEAD && batch.are_alike(at - AHEAD, at) {
                self.locate_again(task_of(task), features, located);
            } else {
                self.locate(task_of(task), features, located);
            }
        }
    }

    /// Settles the given example of a batch, and as many more as [`Self::SETTLED`] says.
    #[inline]
    fn settle_next(
        &self,
        batch: &Batch,
        at: usize,
        task_of: impl Fn(TaskId) -> TaskId,
        located: &mut [Self::Located; AHEAD],
    ) {
        for at in at..(at + Self::SETTLED).min(batch.len()) {
            let (task, features) = batch.place(at);
            self.settle(task_of(task), features, &mut located[at % AHEAD]);
        }
    }

    /// Shows the examples of a batch in order, settled.
    #[inline]
    fn read_ahead(
        &self,
        batch: &Batch,
        task_of: &dyn Fn(TaskId) -> TaskId,
        mut see: impl FnMut(TaskId, SparseView<'_>, &mut Self::Located),
    ) {
        let mut located: [Self::Located; AHEAD] = Default::default();
        (0..AHEAD - 1).for_each(|at| self.locate_ahead(batch, at, task_of, &mut located));
        for (at, example) in batch.examples().enumerate() {
            self.locate_ahead(batch, at + AHEAD - 1, task_of, &mut located);
            self.settle_next(batch, at, task_of, &mut located);
            see(task_of(example.task), example.features, &mut located[at % AHEAD]);
        }
    }

    /// Learns the examples of a batch in order, settled.
    #[expect(clippy::inline_always, reason = "only what is inlined is compiled for wide vectors")]
    #[inline(always)]
    fn learn_ahead(
        &mut self,
        batch: &Batch,
        located: &mut [Self::Located; AHEAD],
        mut learn: impl FnMut(&mut Self, Example<'_>, &mut Self::Located),
    ) {
        self.begin_ahead(batch, located);
        for (at, example) in batch.examples().enumerate() {
            learn(self, example, self.next_ahead(batch, at, located));
        }
    }

    /// Locates the first examples of a batch.
    fn begin_ahead(&self, batch: &Batch, located: &mut [Self::Located; AHEAD]) {
        (0..AHEAD - 1).for_each(|at| self.locate_ahead(batch, at, |task| task, located));
    }

    /// Settles an example of a batch that was begun and went on in order, and looks ahead.
    #[inline]
    fn next_ahead<'a>(
        &self,
        batch: &Batch,
        at: usize,
        located: &'a mut [Self::Located; AHEAD],
    ) -> &'a mut Self::Located {
        self.locate_ahead(batch, at + AHEAD - 1, |task| task, located);
        self.settle_next(batch, at, |task| task, located);
        &mut located[at % AHEAD]
    }
}
