//! One vector per task and all their inner products: V and V'V, with the gradient of a Schatten norm of V.
//!
//! With the plain inner product V is a row of K weights per feature; with a kernel it is the examples that it is a sum
//! of. Either way the gradient is W = V C, and C follows from V'V alone: nothing is ever decomposed in d dimensions.

use serde::{Deserialize, Serialize};

use super::{TaskRows, TaskRowsState};
use crate::block::Block;
use crate::error::StateError;
use crate::example::{SparseView, TaskId};
use crate::kernel::{KernelConfig, Supports, SupportsState, square};
use crate::learner::Support;
use crate::linalg::{Symmetric, all_finite, check_all_finite, dot};

#[derive(Debug, Clone)]
pub(crate) struct Columns {
    /// The gradient is of half the squared Schatten 2p-norm.
    p: HalfExponent,
    tasks: usize,
    vectors: Vectors,
    /// V'V.
    gram: Symmetric,
    /// C, as it was when last asked to follow, when there were so many tasks.
    mixing: Symmetric,
    followed: usize,
    /// Whether an inner product was not finite when it was changed.
    overflowed: bool,
}

/// p, which may follow the number of tasks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum HalfExponent {
    /// This number.
    Fixed(u32),
    /// MP10 Remark 10: the logarithm of the smaller of d, if it is known, and K, rounded up.
    Logarithm { features: Option<u32> },
}

impl HalfExponent {
    pub(crate) fn among(self, tasks: usize) -> u32 {
        match self {
            Self::Fixed(p) => p,
            Self::Logarithm { features } => {
                let rank = features.map_or(tasks, |features| tasks.min(features as usize));
                (rank.max(1) as f64).ln().ceil().max(1.0) as u32
            }
        }
    }
}

#[derive(Debug, Clone)]
enum Vectors {
    Weights(TaskRows),
    Sums { kernel: KernelConfig, supports: Box<Supports>, steps: Vec<f64> },
}

impl Columns {
    pub(crate) fn new(p: HalfExponent, kernel: &KernelConfig, tasks: usize) -> Self {
        let vectors = if kernel.is_plain() {
            Vectors::Weights(TaskRows::new(tasks))
        } else {
            Vectors::Sums { kernel: kernel.clone(), supports: Box::default(), steps: Vec::new() }
        };
        let nothing = Symmetric::from_fn(tasks, |_, _| 0.0);
        Self { p, tasks, vectors, mixing: nothing.clone(), gram: nothing, followed: 0, overflowed: false }
    }

    pub(crate) fn tasks(&self) -> usize {
        self.tasks
    }

    /// Makes room for a task.
    pub(crate) fn meet(&mut self, task: TaskId) {
        if task.index() < self.tasks {
            return;
        }
        self.tasks = task.index() + 1;
        if let Vectors::Weights(rows) = &mut self.vectors {
            rows.grow(self.tasks);
        }
        // A new column of zeros changes no other, and its own gradient is zero until it learns.
        self.gram = self.gram.grown(self.tasks);
        self.mixing = self.mixing.grown(self.tasks);
    }

    /// V'x.
    fn project(&self, x: SparseView<'_>) -> Vec<f64> {
        match &self.vectors {
            Vectors::Weights(rows) => rows.project(x),
            Vectors::Sums { kernel, supports, steps } => {
                let (mut products, mut row) = (vec![0.0; self.tasks], Vec::new());
                supports.likenesses(kernel, x, &mut row);
                for (at, (step, likeness)) in steps.iter().zip(row).enumerate() {
                    products[supports.task(at).index()] += step * likeness;
                }
                products
            }
        }
    }

    /// w_i'x for the column of a task; 0 for a task not met.
    pub(crate) fn margin(&self, task: TaskId, x: SparseView<'_>) -> f64 {
        if task.index() >= self.tasks {
            return 0.0;
        }
        dot(self.mixing.row(task.index()), &self.project(x))
    }

    /// `v_i += step * x`, where x was the `example`-th seen; [`Self::follow`] brings the gradient up to it.
    pub(crate) fn add(&mut self, task: TaskId, x: SparseView<'_>, step: f64, example: u64) {
        let column = task.index();
        for (other, product) in self.project(x).into_iter().enumerate() {
            // v_i'v_i gets the product twice.
            let times = if other == column { 2.0 } else { 1.0 };
            self.gram.add(column, other, times * step * product);
        }
        match &mut self.vectors {
            Vectors::Weights(rows) => {
                rows.add_to(column, x, step);
                self.gram.add(column, column, step * step * square(x));
            }
            Vectors::Sums { kernel, supports, steps } => {
                supports.push(task, x, example);
                steps.push(step);
                self.gram.add(column, column, step * step * kernel.square(square(x)));
            }
        }
        self.overflowed |= !all_finite(self.gram.row(column));
    }

    /// What is not finite, as far as additions have noticed.
    pub(crate) fn overflow(&self) -> Option<&'static str> {
        self.overflowed.then_some("the inner product of two tasks' vectors")
    }

    /// Computes the gradient after additions.
    pub(crate) fn follow(&mut self) {
        self.mixing = self.gram.schatten_gradient(self.p.among(self.tasks));
        self.followed = self.tasks;
    }

    /// C\[to, from\]: how much of the column `from` is in the gradient's column `to`.
    pub(crate) fn relation(&self, to: TaskId, from: TaskId) -> f64 {
        let (to, from) = (to.index(), from.index());
        if to < self.tasks && from < self.tasks { self.mixing.entry(to, from) } else { 0.0 }
    }

    /// Non-zero entries of a task's column of the gradient; none with a kernel.
    pub(crate) fn weights(&self, task: TaskId) -> Vec<(u32, f64)> {
        let Vectors::Weights(rows) = &self.vectors else {
            return Vec::new();
        };
        if task.index() >= self.tasks {
            return Vec::new();
        }
        let mixing = self.mixing.row(task.index());
        let weights = rows.rows().map(|(feature, row)| (feature, dot(mixing, row)));
        let mut weights: Vec<(u32, f64)> = weights.filter(|pair| pair.1 != 0.0).collect();
        weights.sort_unstable_by_key(|pair| pair.0);
        weights
    }

    /// The examples that V is a sum of, where it is kept so.
    pub(crate) fn supports(&self) -> Option<Vec<Support>> {
        match &self.vectors {
            Vectors::Weights(_) => None,
            Vectors::Sums { supports, steps, .. } => Some(supports.listed(steps)),
        }
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        let vectors = match &self.vectors {
            Vectors::Weights(rows) => rows.heap_bytes(),
            Vectors::Sums { supports, steps, .. } => {
                supports.heap_bytes() + steps.capacity() * size_of::<f64>()
            }
        };
        vectors + 2 * self.tasks * self.tasks * size_of::<f64>()
    }

    pub(crate) fn state(&self) -> ColumnsState {
        let (weights, supports, steps) = match &self.vectors {
            Vectors::Weights(rows) => (Some(rows.state()), None, None),
            Vectors::Sums { supports, steps, .. } => {
                (None, Some(supports.state()), Some(Block(steps.clone())))
            }
        };
        let followed = self.followed as u64;
        ColumnsState { weights, supports, steps, gram: Block(self.gram.lower()), followed }
    }

    /// Puts a saved form into columns just made for the same norm and kernel.
    pub(crate) fn restore(&mut self, tasks: usize, seen: u64, state: ColumnsState) -> Result<(), StateError> {
        match (&mut self.vectors, state.weights, state.supports, state.steps) {
            (Vectors::Weights(rows), Some(saved), None, None) => *rows = TaskRows::restore(tasks, saved)?,
            (Vectors::Sums { supports, steps, .. }, None, Some(saved), Some(saved_steps)) => {
                **supports = Supports::restore(tasks, seen, &saved)?;
                check_all_finite("the coefficient of a support", &saved_steps.0)?;
                if saved_steps.0.len() != supports.len() {
                    return Err(StateError::new("there is not one step a support"));
                }
                *steps = saved_steps.0;
            }
            _ => return Err(StateError::new("the vectors are not of the kind that the kernel keeps")),
        }
        self.tasks = tasks;
        self.gram = Symmetric::from_lower(tasks, &state.gram.0)?;
        // As it was computed, so that not a bit differs: tasks met since have zeros.
        self.followed = usize::try_from(state.followed)
            .ok()
            .filter(|followed| *followed <= tasks)
            .ok_or_else(|| StateError::new("the gradient is of more tasks than there are"))?;
        let then = Symmetric::from_fn(self.followed, |row, column| self.gram.entry(row, column));
        self.mixing = then.schatten_gradient(self.p.among(self.followed)).grown(tasks);
        // Inner products of no vectors at all may have a gradient that is no number.
        if !self.mixing.is_finite() {
            return Err(StateError::new("the inner products of the tasks' vectors have no finite gradient"));
        }
        Ok(())
    }
}

/// Saved form of [`Columns`]; the gradient follows from it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ColumnsState {
    weights: Option<TaskRowsState>,
    supports: Option<SupportsState>,
    steps: Option<Block<f64>>,
    /// V'V, on and below the diagonal.
    gram: Block<f64>,
    followed: u64,
}
