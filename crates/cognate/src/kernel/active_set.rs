//! Shared by all learners on a budget: the examples they keep, the multitask kernel between them, and how
//! many fit.

use std::borrow::Cow;
use std::cell::RefCell;

use serde::{Deserialize, Serialize};

use super::{Budget, KernelConfig, Overhead, Supports, SupportsState, square};
use crate::algorithms::{Parameters, restored_tasks};
use crate::error::{ConfigError, ConfigProblem, StateError};
use crate::example::{SparseView, TaskId};
use crate::interaction::{InteractionFileError, TaskGraph, TaskGraphConfig};
use crate::learner::{Inspect, Support};
use crate::linalg::dot;
use crate::tasks::Tasks;

thread_local! {
    /// Kernel values of a prediction that has no buffer of its own.
    static VALUES: RefCell<Vec<f64>> = const { RefCell::new(Vec::new()) };
}

/// The active set of MB12 section 2, without coefficients.
#[derive(Debug, Clone)]
pub(crate) struct ActiveSet {
    tasks: usize,
    graph: TaskGraph,
    kernel: KernelConfig,
    supports: Supports,
    budget: Budget,
    /// What the learner keeps beside examples, at least.
    overhead: Overhead,
    /// Examples seen.
    seen: u64,
    /// Non-zeros of the longest example that was to be kept.
    longest: usize,
    /// Examples too long for the whole budget.
    unfit: u64,
}

impl ActiveSet {
    pub(crate) fn build<C: BudgetParameters>(config: &C, tasks: &Tasks) -> Result<Self, ConfigError> {
        let Common { graph, kernel, budget } = config.common();
        if let Some(least) = budget.short_of(tasks.count(), C::OVERHEAD) {
            let message = format!("{} tasks and an example take {least}, got {budget}", tasks.count());
            return Err(ConfigProblem::new("budget", message).into());
        }
        Ok(Self {
            tasks: tasks.count(),
            graph: graph.build(tasks)?,
            kernel: kernel.clone(),
            supports: Supports::default(),
            budget,
            overhead: C::OVERHEAD,
            seen: 0,
            longest: 0,
            unfit: 0,
        })
    }

    pub(crate) fn tasks(&self) -> usize {
        self.tasks
    }

    pub(crate) fn graph(&self) -> &TaskGraph {
        &self.graph
    }

    pub(crate) fn kernel(&self) -> &KernelConfig {
        &self.kernel
    }

    pub(crate) fn supports(&self) -> &Supports {
        &self.supports
    }

    pub(crate) fn len(&self) -> usize {
        self.supports.len()
    }

    /// Meets a task, and counts an example.
    pub(crate) fn see(&mut self, task: TaskId) {
        self.tasks = self.tasks.max(task.index() + 1);
        self.seen += 1;
    }

    /// Puts the values of the multitask kernel R\[i, i_s\] k(x_s, x) into `row`, one per example.
    pub(crate) fn values(&self, task: TaskId, x: SparseView<'_>, row: &mut Vec<f64>) {
        let relations = self.graph.row(task, self.tasks.max(task.index() + 1));
        self.supports.related(&self.kernel, x, |from, into| relations.fill(from, into), row);
    }

    /// sum_s beta_s R\[i, i_s\] k(x_s, x).
    pub(crate) fn margin(&self, coefficients: &[f64], task: TaskId, x: SparseView<'_>) -> f64 {
        VALUES.with_borrow_mut(|row| {
            self.values(task, x, row);
            dot(coefficients, row)
        })
    }

    /// Puts the values of the kernel k itself into `row`, one per example.
    pub(crate) fn likenesses(&self, x: SparseView<'_>, row: &mut Vec<f64>) {
        self.supports.likenesses(&self.kernel, x, row);
    }

    /// What `visit` makes of the values of the kernel k itself.
    pub(crate) fn with_likenesses<R>(&self, x: SparseView<'_>, visit: impl FnOnce(&[f64]) -> R) -> R {
        VALUES.with_borrow_mut(|row| {
            self.likenesses(x, row);
            visit(row)
        })
    }

    /// R\[to, from\].
    pub(crate) fn relation(&self, to: TaskId, from: TaskId) -> f64 {
        self.graph.row(to, self.tasks.max(to.index() + 1)).entry(from)
    }

    /// k(x, x).
    pub(crate) fn square(&self, x: SparseView<'_>) -> f64 {
        self.kernel.square(square(x))
    }

    /// Whether the tasks that have come leave no room for any of the examples kept; all of them must go then.
    pub(crate) fn is_crowded_out(&mut self, overhead: Overhead) -> bool {
        let out = self.len() > 0 && self.budget.slots(self.longest, self.tasks, overhead) == 0;
        if out {
            self.longest = 0;
        }
        out
    }

    /// How many examples fit once one like this is among them; none where it alone is too large.
    pub(crate) fn slots_with(&mut self, x: SparseView<'_>, overhead: Overhead) -> usize {
        let longest = self.longest.max(x.len());
        let slots = self.budget.slots(longest, self.tasks, overhead);
        if slots == 0 {
            self.unfit += 1;
        } else {
            self.longest = longest;
        }
        slots
    }

    /// Keeps the example just seen.
    pub(crate) fn push(&mut self, task: TaskId, x: SparseView<'_>) {
        self.supports.push(task, x, self.seen);
    }

    /// Keeps the example just seen in the place of another.
    pub(crate) fn replace(&mut self, at: usize, task: TaskId, x: SparseView<'_>) {
        self.supports.replace(at, task, x, self.seen);
    }

    /// Forgets an example; the last one takes its place.
    pub(crate) fn swap_remove(&mut self, at: usize) {
        self.supports.swap_remove(at);
    }

    /// The oldest of some examples.
    pub(crate) fn oldest(&self, among: impl Iterator<Item = usize>) -> Option<usize> {
        among.min_by_key(|at| self.supports.example(*at))
    }

    /// The example with the least score; among those within 1e-9 of the least, the oldest.
    ///
    /// Unrelated tasks and coefficients of one make equal scores frequent; rounding must not decide then. Where no score
    /// is a number, which a run notices later, it is the oldest of all.
    pub(crate) fn least(&self, scores: &[f64]) -> Option<usize> {
        let least = scores.iter().copied().fold(f64::INFINITY, f64::min);
        let close = |at: &usize| scores[*at] <= least + 1e-9 * least.abs();
        self.oldest((0..scores.len()).filter(close)).or_else(|| self.oldest(0..scores.len()))
    }

    pub(crate) fn listed(&self, coefficients: &[f64]) -> Vec<Support> {
        self.supports.listed(coefficients)
    }

    /// The weights of a task that follow from coefficients; none where a kernel has no weights.
    pub(crate) fn weights(&self, task: TaskId, coefficients: &[f64]) -> Vec<(u32, f64)> {
        let row = self.graph.row(task, self.tasks.max(task.index() + 1));
        self.combined(|at| coefficients[at] * row.entry(self.supports.task(at)))
    }

    /// `sum_s coefficient(s) x_s`; none where a kernel has no weights.
    pub(crate) fn combined(&self, coefficient: impl Fn(usize) -> f64) -> Vec<(u32, f64)> {
        if self.kernel.is_plain() { self.supports.combined(coefficient) } else { Vec::new() }
    }

    /// The least budget that is enough for so many tasks, where the present one is not.
    pub(crate) fn budget_for(&self, tasks: usize) -> Option<Budget> {
        self.budget.short_of(tasks, self.overhead)
    }

    /// Notes for the user about the budget.
    pub(crate) fn remarks(&self) -> Vec<String> {
        let unfit = format!(
            "{} mistaken examples were not kept: each is larger than the whole budget of {}",
            self.unfit, self.budget
        );
        (self.unfit > 0).then_some(unfit).into_iter().collect()
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.supports.heap_bytes()
    }

    pub(crate) fn state(&self) -> ActiveSetState {
        ActiveSetState {
            tasks: self.tasks as u64,
            seen: self.seen,
            longest: self.longest as u64,
            unfit: self.unfit,
            supports: self.supports.state(),
        }
    }

    pub(crate) fn restore(&mut self, state: &ActiveSetState) -> Result<(), StateError> {
        self.tasks = restored_tasks(state.tasks, self.tasks)?;
        self.supports = Supports::restore_in_any_order(self.tasks, state.seen, &state.supports)?;
        (self.seen, self.unfit) = (state.seen, state.unfit);
        self.longest = usize::try_from(state.longest)
            .map_err(|_| StateError::new("the longest example does not fit in memory"))?;
        // Older models did not count tasks; what is too much goes with the next mistake.
        let most = self.budget.slots(self.longest, 0, Overhead::default());
        if self.len() > most {
            return Err(StateError::new("there are more supports than the budget allows"));
        }
        Ok(())
    }
}

/// Saved form of [`ActiveSet`]; graph, kernel and budget follow from the config.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ActiveSetState {
    tasks: u64,
    #[serde(deserialize_with = "crate::count::saved")]
    seen: u64,
    #[serde(deserialize_with = "crate::count::saved")]
    longest: u64,
    #[serde(deserialize_with = "crate::count::saved")]
    unfit: u64,
    supports: SupportsState,
}

/// The parameters that all learners on a budget have.
pub(crate) struct Common<'a> {
    pub(crate) graph: &'a TaskGraphConfig,
    pub(crate) kernel: &'a KernelConfig,
    pub(crate) budget: Budget,
}

/// Parameters of a learner on a budget: what is done with them follows from those that all have.
pub(crate) trait BudgetParameters {
    /// What the learner keeps beside examples.
    const OVERHEAD: Overhead;

    fn common(&self) -> Common<'_>;

    fn graph_mut(&mut self) -> &mut TaskGraphConfig;

    /// What is wrong with a parameter that not all have.
    fn other_problem(&self) -> Option<ConfigProblem> {
        None
    }
}

impl<C: BudgetParameters> Parameters for C {
    fn validate(&self) -> Vec<ConfigProblem> {
        let Common { graph, kernel, budget } = self.common();
        let kernel = kernel.validate().into_iter().map(|problem| problem.within("kernel"));
        // The paths of a graph's problems begin with `graph` already.
        let problems = graph.validate().into_iter().chain(kernel).chain(budget.validate(Self::OVERHEAD));
        problems.chain(self.other_problem()).collect()
    }

    fn declare(&self, tasks: &mut Tasks) -> Result<(), ConfigError> {
        self.common().graph.declare(tasks)
    }

    fn read_files(
        &mut self,
        declared: Option<&[String]>,
    ) -> Result<Option<Vec<String>>, InteractionFileError> {
        self.graph_mut().read_file(declared)
    }

    /// Two matrices, where there are any, which may be twice as wide as they are full.
    fn numbers_for_pairs(&self, kept: usize) -> usize {
        if Self::OVERHEAD.pair > 0 { 8 * kept * kept } else { 0 }
    }
}

/// A learner whose hypothesis is a sum over an active set: what it tells of itself follows from that.
pub(crate) trait OnBudget {
    /// The examples kept.
    fn active(&self) -> &ActiveSet;

    /// The coefficient of each in the sum.
    fn coefficients(&self) -> Cow<'_, [f64]>;

    /// Weights of a task; none where a kernel has no weights.
    fn weights_of(&self, task: TaskId) -> Vec<(u32, f64)> {
        self.active().weights(task, &self.coefficients())
    }

    /// Notes for the user beyond those about the budget.
    fn other_remarks(&self) -> Option<String> {
        None
    }

    /// Bytes held beside the examples.
    fn other_bytes(&self) -> usize;
}

impl<L: OnBudget> Inspect for L {
    fn tasks(&self) -> usize {
        self.active().tasks()
    }

    fn relation(&self, to: TaskId, from: TaskId) -> f64 {
        self.active().relation(to, from)
    }

    fn influence(&self, task: TaskId) -> f64 {
        self.active().graph().influence(task, self.active().tasks())
    }

    fn weights(&self, task: TaskId) -> Vec<(u32, f64)> {
        self.weights_of(task)
    }

    fn supports(&self) -> Option<Vec<Support>> {
        Some(self.active().listed(&self.coefficients()))
    }

    fn budget_for(&self, tasks: usize) -> Option<Budget> {
        self.active().budget_for(tasks)
    }

    fn remarks(&self) -> Vec<String> {
        self.active().remarks().into_iter().chain(self.other_remarks()).collect()
    }

    fn heap_bytes(&self) -> usize {
        self.active().heap_bytes() + self.other_bytes()
    }
}

/// Coefficients of kept examples, one each.
pub(crate) fn restored_coefficients(coefficients: Vec<f64>, supports: usize) -> Result<Vec<f64>, StateError> {
    if coefficients.len() != supports {
        return Err(StateError::new("there is not one coefficient per support"));
    }
    crate::linalg::check_all_finite("the coefficient of a support", &coefficients)?;
    Ok(coefficients)
}
