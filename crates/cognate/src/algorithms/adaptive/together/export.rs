//! The weights of tasks that share, as vectors that they share and what is their own.
//!
//! The margin is linear: of the parts, P_g and Q_g are shared, and a task takes them times its a, trust and side; what is left is
//! its own. Where means predict, shared vectors and tasks have means of different examples, and every task has all its weights.

use super::{SharedRow, Together};
use crate::algorithms::adaptive::add_intercept;
use crate::algorithms::adaptive::mixer::{ALONE, COUPLED_OWN, COUPLED_SHARED, POOLED};
use crate::algorithms::adaptive::rows::OwnRow;
use crate::example::TaskId;
use crate::learner::{Likeness, OwnWeights, Place, SharedVector};

impl Together {
    /// Of every group the weights of `pooled`, where there is a mixture, and the shared ones of `coupled`.
    pub(in crate::algorithms::adaptive) fn shared_vectors(&self) -> Vec<SharedVector> {
        if self.state.averages.is_some() {
            return Vec::new();
        }
        let groups = self.state.shared_intercepts.len();
        let vector = |name: &str, group: usize, weight: fn(SharedRow<f64>) -> f64| {
            let mut weights = self.weights.shared_weights(group, |row| weight(SharedRow::of(*row)));
            add_intercept(&mut weights, weight(SharedRow::of(self.state.shared_intercepts[group])));
            let name = if groups == 1 { name.to_owned() } else { format!("{name} {}", group + 1) };
            SharedVector { name, weights }
        };
        (0..groups)
            .flat_map(|group| {
                let pooled = self.is_mixture().then(|| vector("pooled", group, |row| row.pooled));
                pooled.into_iter().chain([vector("coupled", group, |row| row.coupled)])
            })
            .collect()
    }

    /// How alike tasks are by their own weights.
    pub(in crate::algorithms::adaptive) fn likeness(&self, tasks: &[TaskId]) -> Likeness {
        self.state.likeness(&self.weights, tasks)
    }

    /// The group and the side of a task.
    pub(in crate::algorithms::adaptive) fn place(&self, task: TaskId) -> Place {
        Place { group: self.weights.group(task), side: self.state.side(task) }
    }

    pub(in crate::algorithms::adaptive) fn own_weights(&self, task: TaskId) -> OwnWeights {
        if self.state.averages.is_some() {
            return OwnWeights { factors: Vec::new(), own: self.weights(task) };
        }
        let (mixture, side) = (self.state.mixture(task), self.state.side(task));
        let own = |row: OwnRow<f64>| mixture[ALONE] * row.alone + mixture[COUPLED_OWN] * row.coupled;
        let mut weights = self.weights.own_weights(task, |row| own(OwnRow::of(*row)));
        let intercept = self.state.own_intercepts.get(task.index()).copied().unwrap_or_default();
        add_intercept(&mut weights, own(OwnRow::of(intercept)));
        let of_group = if self.is_mixture() {
            vec![side * mixture[POOLED], side * mixture[COUPLED_SHARED]]
        } else {
            vec![side * mixture[COUPLED_SHARED]]
        };
        let (groups, width) = (self.state.shared_intercepts.len(), of_group.len());
        let mut factors = vec![0.0; groups * width];
        factors[self.weights.group(task) * width..][..width].copy_from_slice(&of_group);
        OwnWeights { factors, own: weights }
    }
}
