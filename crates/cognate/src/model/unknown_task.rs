//! An example of an unknown task: whose is it?
//!
//! LR11, section 7, leaves as future work what to do where the task of an example is revealed only if one asks for it. The
//! answer here is our own, and needs no label: the task whose margin m is surest, |m| / sqrt(1 + pi v / 8), with v the
//! variance of the margin where the learner knows it (`adaptive`), else 0. For log-odds that is how far the probability,
//! averaged over what is not known, is from 1/2. The lead is by how much it is surer than the next: a query that asks for
//! labels near a margin of 0 asks for the task near a lead of 0. Among equals it is the task met first. Nothing is learnt
//! from such an example.
//!
//! Cost: O(K) margins.

use super::Model;
use crate::example::{SparseView, TaskId};

/// The task that an example of an unknown one is taken for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct SurestTask {
    pub(crate) task: TaskId,
    pub(crate) margin: f64,
    /// By how much its margin is surer than any other.
    pub(crate) lead: f64,
}

impl Model {
    /// The task whose margin of an example is surest; none if the model knows no task.
    pub(crate) fn surest_task(&self, x: SparseView<'_>, offset: f64) -> Option<SurestTask> {
        let learner = self.learner.as_predict();
        let (mut best, mut first, mut second): (Option<(TaskId, f64)>, f64, f64) = (None, 0.0, 0.0);
        for task in (0..self.tasks.len() as u32).map(TaskId) {
            let margin = learner.margin(task, x) + offset;
            let variance = learner.variance(task, x).unwrap_or(0.0);
            let sureness = margin.abs() / (1.0 + std::f64::consts::PI / 8.0 * variance).sqrt();
            // A margin that is not finite is to be noticed.
            if best.is_none() || sureness > first || sureness.is_nan() {
                (best, second, first) = (Some((task, margin)), first, sureness);
            } else {
                second = second.max(sureness);
            }
        }
        best.map(|(task, margin)| SurestTask { task, margin, lead: first - second })
    }
}
